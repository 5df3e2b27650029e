"""What the experiments tune beyond the registry: variants, classifiers, and the paper's figures.

*Full* grids are the ``grid`` of a registry entry, values worth trying from the literature. *Coarse*
grids are its ``coarse``, what the published tables of this project were made with: they keep what
matters most and let slow methods finish.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from skatter.methods._record import CLASS_COMPONENTS, Method, Tuning

Grid = Mapping[str, tuple[Any, ...]]

C_VALUES = (0.001, 0.01, 0.1, 1.0, 10.0)  # costs of a linear classifier

BETAS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)

PRINTED_BETAS = (0.0, 1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.1, 0.5, 0.9, 1.0)
"""Between-class scatter is a sum in the printed algorithm and total scatter a mean, so that beta
acts near one over the number of samples and does nothing more from 0.1 on."""


class Variant(NamedTuple):
    """A contestant that is a method with other parameters, and what is tried of it."""

    method: str
    parameters: Mapping[str, Any]
    coarse: Tuning
    unseen: Tuning


def _printed(scale: str) -> Variant:
    """Return Algorithm 1 of the paper with one reading of its last line."""
    return Variant(
        "sca",
        {"reading": "printed", "normalize": False, "scale": scale},
        Tuning(
            {"n_components": CLASS_COMPONENTS, "beta": PRINTED_BETAS},
            why="the paper tunes k and beta, with delta = 1; its beta acts near 1/n",
        ),
        Tuning(
            {"n_components": (2, 5, "C-1"), "delta": (1.0, 1e2, 1e3, 1e4, 1e5)},
            {"beta": 1.0},
            why="the paper tunes k and delta, with beta = 1",
        ),
    )


def _printed_unsupervised(scale: str) -> Variant:
    """Return the same without class terms, where there is nothing to pad."""
    coarse = Tuning({"n_components": CLASS_COMPONENTS}, why="the paper tunes k, with delta = 1")
    return Variant("usca", {"normalize": False, "scale": scale}, coarse, coarse)


VARIANTS: Mapping[str, Variant] = {
    "sca-printed": _printed("numerator"),
    "sca-printed-unit": _printed("coefficients"),
    "sca-printed-unscaled": _printed("denominator"),
    "usca-printed": _printed_unsupervised("numerator"),
    "usca-printed-unscaled": _printed_unsupervised("denominator"),
}
"""The paper's algorithm to the letter, Z = KᵀB Λ^(−½) with BᵀCB = I, and two other readings: B with
columns of unit length, and Z = KᵀB."""

CLASSIFIERS: Mapping[str, Grid] = {
    "1nn": {},
    "svm": {"C": C_VALUES},
    "logistic": {"C": C_VALUES},
    "dam": {"C": (0.1, 1.0, 10.0)},
}
"""Classifiers behind features, and on raw samples, and what is tuned of them."""

REGRESSORS: Mapping[str, Grid] = {
    "ridge": {"alpha": (0.1, 1.0, 10.0, 100.0, 1000.0)},
    "forest": {},
    "boosting": {},
}
"""The same where labels are numbers."""

NUMBERS: Mapping[str, Tuning] = {
    "sca": Tuning(
        {"n_components": (1, 2, 4, 7), "ridge": (0.001, 0.01, 0.1)},
        {"label_splines": 8},
        why="benchmarks/label_splines.py; at most 7 components, and the rest at its default",
    )
}
"""Methods that give features where labels are numbers."""

_GAMMAS = (0.01, 0.03, 0.1, 0.3, 1.0)

FIGURE1: Mapping[str, Tuning] = {
    "kpca": Tuning({"gamma": _GAMMAS}, {"n_components": 2}),
    "sstca": Tuning(
        {"gamma": _GAMMAS, "mu": (0.1, 1.0, 10.0), "dependence": (0.1, 0.5)}, {"n_components": 2}
    ),
    "tjm": Tuning(
        {"gamma": _GAMMAS, "penalty": (0.01, 0.1, 1.0, 10.0)}, {"n_components": 2, "kernel": "rbf"}
    ),
    "sca": Tuning(
        {"gamma": _GAMMAS, "beta": BETAS, "delta": (1.0, 10.0, 100.0)}, {"n_components": 2}
    ),
}
"""For the picture of figure 1: two components, and the bandwidth is tuned as well."""


FIGURE2: Mapping[str, Tuning] = {
    "kpca": Tuning({"n_components": (20, 40)}),
    "sstca": Tuning({}, {"n_components": 20, "mu": 10.0}),
    "sa": Tuning({"n_components": (20, 50)}),
    "tjm": Tuning({}, {"n_components": 20}),
    "sca": Tuning({"n_components": (20,), "beta": (0.0, 0.1)}),
    "sca-printed": Tuning({"n_components": (20,), "beta": (0.0, 3e-4)}),
}
"""For figure 2, where the cost of a classifier is tuned as well: few values."""


GENERALIZATION: Mapping[str, Tuning] = {
    "undo-bias": Tuning(dict.fromkeys(("C_shared", "C_domain", "bias_weight"), (0.1, 1.0))),
    "lre-svm": Tuning(
        dict.fromkeys(("C_positive", "C_negative", "rank_weight", "tie_weight"), (1.0, 10.0))
    ),
    "dica": Tuning(
        {"n_components": (2, "C-1"), "epsilon": (1e-3, 1e-1, 1e1), "nugget": (1e-3, 1e-1, 1e1)}
    ),
}
"""For the paper's tables of generalization, which tune the same parameters; values are ours."""


def tuning(name: str, method: Method, setting: str, grid: str) -> Tuning:
    """Return what is tuned of a contestant, by the coarse grid, the full one, or none."""
    entry = VARIANTS.get(name, method)
    if grid == "none":
        return Tuning()
    if grid == "full" or entry.coarse is None:
        return Tuning(method.grid, why="the registry")
    return entry.unseen or entry.coarse if setting == "generalization" else entry.coarse
