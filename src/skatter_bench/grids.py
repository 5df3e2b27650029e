"""One table of what is tuned: the values that the benchmark tries for every method.

*Full* grids are those of the registry, values worth trying from the literature. *Coarse* grids,
below, are what the published tables of this project were made with: they keep what matters most
and let slow methods finish. Names that are not here are tuned over their full grid.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from skatter.methods.record import Method

Grid = Mapping[str, tuple[Any, ...]]

VARIANTS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "sca-printed": ("sca", {"normalize": False, "scale": "numerator"}),
}
"""Contestants that are a method with other parameters: which method, and which parameters."""

KERNEL_COMPONENTS = (2, 5, "C-1", "C", 12, 15, 20, 30, 40, 60)
"""C is the number of classes."""

C_VALUES = (0.001, 0.01, 0.1, 1.0, 10.0)
"""Costs of a linear classifier."""

BETAS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)

PRINTED_BETAS = (0.0, 1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.1, 0.5, 0.9, 1.0)
"""Between-class scatter is a sum in the printed algorithm and total scatter a mean, so that beta
acts near one over the number of samples and does nothing more from 0.1 on."""


@dataclass(frozen=True)
class Tuning:
    """What is tuned and what is fixed.

    Attributes
    ----------
    grid : mapping
        Values of each parameter that is tuned.
    fixed : mapping
        Parameters that differ from the default and are not tuned.
    why : str
        Where the values come from.
    """

    grid: Grid = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    why: str = ""


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
    ),
}
"""Methods that give features where labels are numbers."""

COARSE: Mapping[str, Tuning] = {
    "sca": Tuning(
        {"n_components": KERNEL_COMPONENTS, "beta": BETAS},
        why="the paper tunes k and beta, with delta = 1",
    ),
    "sca-printed": Tuning(
        {"n_components": KERNEL_COMPONENTS, "beta": PRINTED_BETAS},
        why="the paper tunes k and beta, with delta = 1; its beta acts near 1/n",
    ),
    "sca-classifier": Tuning({}, why="it chooses by itself, without a label of the target"),
    "hedged": Tuning({}, why="it weighs its members by itself, without a label of the target"),
    "champion": Tuning({}, why="it chooses by itself, on held-out source labels"),
    "usca": Tuning(
        {"n_components": KERNEL_COMPONENTS, "delta": (1.0, 10.0, 100.0, 1000.0)},
        why="values of public code",
    ),
    "kpca": Tuning({"n_components": KERNEL_COMPONENTS}, why="k alone"),
    "kfd": Tuning({"ridge": (0.001, 0.01, 0.1, 1.0)}, why="k is the number of classes less one"),
    "tca": Tuning(
        {"n_components": KERNEL_COMPONENTS, "mu": (0.01, 0.1, 1.0, 10.0, 100.0)},
        why="Pan et al. 2011",
    ),
    "sstca": Tuning(
        {"n_components": KERNEL_COMPONENTS, "mu": (0.1, 10.0), "dependence": (0.1, 0.5)},
        why="Pan et al. 2011, fewer values",
    ),
    "jda": Tuning(
        {"n_components": (20, 100), "penalty": (0.1, 1.0)},
        {"max_iter": 10},
        why="Long et al. 2013: 100 bases, 10 iterations",
    ),
    "tjm": Tuning(
        {"n_components": (10, 20, 40, 100), "penalty": (1.0,)},
        why="Long et al. 2014: penalty 1 on images",
    ),
    "tsc": Tuning(
        {"mmd": (1000.0, 100000.0)}, {"n_components": 128}, why="Long et al. 2013: 128 atoms"
    ),
    "landmarks": Tuning({}, why="Gong et al. 2013 tune nothing"),
    "lre-svm": Tuning({}, why="Xu et al. 2014 fix all"),
    "lre-svm-da": Tuning({}, why="Xu et al. 2014 fix all"),
    "dip": Tuning({"n_components": (10, 20, 50, 100)}, why="subspace dimensions of GFK and SA"),
    "dip-cc": Tuning(
        {"n_components": (20, 100), "lam": (1.0,)}, why="subspace dimensions of GFK and SA"
    ),
    "sgf": Tuning({"n_components": (5, 10, 20, 30, 50)}, why="subspace dimensions of GFK and SA"),
    "kmm": Tuning({}, why="Huang et al. 2007: weights up to 1000"),
    "dam": Tuning(
        {"C": (0.1, 1.0, 10.0), "theta": (0.1, 1.0)}, why="Duan et al. 2012, fewer values"
    ),
    "cidg": Tuning({"conditional_weight": (0.1, 1.0, 10.0)}, why="Li et al. 2018, fewer values"),
    "mda": Tuning({"domain_weight": (0.1, 1.0, 10.0)}, why="Hu et al. 2019, fewer values"),
    "dica": Tuning(
        {"epsilon": (0.001, 0.1), "ridge": (0.001, 0.1, 1.0)},
        why="Muandet et al. 2013, fewer values",
    ),
    "udica": Tuning(
        {"n_components": KERNEL_COMPONENTS, "ridge": (0.001, 0.1, 1.0)},
        why="Muandet et al. 2013, fewer values",
    ),
    "domain-generalizer": Tuning({}, why="it chooses by itself, by leaving sources out"),
    "mtae": Tuning({}, why="Ghifary et al. 2015 fix all"),
    "uml": Tuning({"own_weight": (0.3, 0.7)}, why="Fang et al. 2013, fewer values"),
    "undo-bias": Tuning({}, why="defaults: a fit is slow"),
    "marginal-svm": Tuning({"C": (1.0, 10.0)}, why="Blanchard et al. 2011, fewer values"),
}
"""Coarse grids by contestant."""

GENERALIZATION: Mapping[str, Tuning] = {
    "sca": Tuning(
        {
            "n_components": KERNEL_COMPONENTS,
            "delta": (0.1, 1.0, 10.0, 100.0),
            "beta": (0.0, 0.1, 0.5, 1.0),
        },
        why="all three, since whole domains can be held out",
    ),
    "sca-printed": Tuning(
        {"n_components": (2, 5, "C-1"), "delta": (1.0, 1e2, 1e3, 1e4, 1e5)},
        {"beta": 1.0},
        why="the paper tunes k and delta, with beta = 1",
    ),
}
"""Coarse grids that differ where no target is seen."""


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
    "kpca": Tuning({"n_components": (10, 20, 40)}),
    "sstca": Tuning({"n_components": (10, 20, 40)}, {"mu": 10.0}),
    "sa": Tuning({"n_components": (10, 20, 50)}),
    "tjm": Tuning({"n_components": (20, 40)}),
    "sca": Tuning({"n_components": (10, 20, 40), "beta": (0.0, 0.1, 0.5)}),
    "sca-printed": Tuning({"n_components": (10, 20, 40), "beta": (0.0, 3e-4, 0.01)}),
}
"""For figure 2, where the cost of a classifier is tuned as well: few values."""


def tuning(name: str, method: Method | None, setting: str, grid: str) -> Tuning:
    """Return what is tuned of a contestant.

    Examples
    --------
    >>> tuning("kpca", None, "adaptation", "coarse").grid["n_components"][:3]
    (2, 5, 'C-1')
    """
    if grid == "none":
        return Tuning()
    if grid == "full" or name not in COARSE:
        return Tuning({} if method is None else method.grid, why="the registry")
    if setting == "generalization" and name in GENERALIZATION:
        return GENERALIZATION[name]
    return COARSE[name]
