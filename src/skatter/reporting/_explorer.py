"""The path explorer: components for every β, δ and k, computed in one go.

One factorisation and one Krylov space serve every β and δ (:class:`skatter._solve.DualPath`), and
components are nested in k. So the page holds them all, and a slider shows another solution without
computing one.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from skatter._components import ScatterComponents
from skatter._tensors import Array
from skatter.domains import UNLABELLED, Codes, Domains
from skatter.reporting._measures import NAMES
from skatter.reporting._model_parts import ModelParts, Space
from skatter.reporting._samples import draw_rows
from skatter.reporting._views import FULL, pack
from skatter.sca import SCA, KernelFisher, beta_of, learns_from_numbers
from skatter.scatter import Geometry, Scatters, measure
from skatter.selection import nearest_labels
from skatter.selection._folds import FoldSolver
from skatter.selection.criteria._scatters import ScatterJudge

BETAS = (0.0, 0.1, 0.3, 0.6, 0.9, 1.0)
DELTAS = (0.0, 0.1, 1.0, 10.0, 100.0, 1000.0)
FEWEST, MOST = 10, 20  # components that can be shown, where the model has fewer or more
BUDGET = 2_400_000  # bytes of all coordinates
MAX_WORK = 1e10
"""Products of two numbers that the criterion of all settings may take: a few seconds."""
KERNEL = ("kernel", "degree", "coef0", "kernel_params")
SOLUTION = ("ridge", "normalize", "scale", "tol", "reading")
"""Parameters that the path has in common with the model."""


SLIDERS = ("betas", "deltas", "k", "start", "values", "steps", "ranks", "figures", "exact", "rows")
"""What the script needs of a path."""


def explore(
    parts: ModelParts, space: Space, prepared: Any, domains: Domains, truth: Codes
) -> dict[str, Any] | str:
    """Solve SCA for all settings on some samples; return why not, where that makes no sense.

    ``prepared`` are the samples that all models are given, by which predictions are judged;
    ``truth`` are all labels that are known. In what is returned ``values`` are coordinates in units
    of ``steps``, setting by setting (β, then δ), component by component, row by row; ``figures``
    are measured for each setting and k; ``exact`` says whether the model is a point of the path.
    """
    family = parts.components
    if family is None:
        return f"{parts.name} has no path over β and δ."
    if np.count_nonzero(domains.class_counts) < 2:
        return "A path over β and δ needs labels of two classes or more."
    template, beta, delta = _template(family, space)
    betas, deltas = sorted({*BETAS, beta}), sorted({*DELTAS, delta})
    k = min(max(family.n_components_, FEWEST), MOST, domains.n_samples - 1)
    settings = list(product(betas, deltas))
    rows = np.sort(draw_rows(domains, 0)[: BUDGET // (2 * len(settings) * k)])
    part = domains.take(rows)
    solver = FoldSolver(template, space.rows[rows], part)
    judge = _Judge(prepared[rows], part, truth[rows], k, len(settings))
    solved = (Z for Z, _ in solver.solve(part, settings, k))
    # Components that a setting does not have are zero.
    found = [np.hstack([Z, np.zeros((len(Z), max(k - Z.shape[1], 0)))])[:, :k] for Z in solved]
    measured = [judge(Z) for Z in found]
    sizes = [np.abs(Z).max(axis=0) / FULL for Z in found]
    units = [np.where(size > 0, size, 1.0) for size in sizes]
    columns = [(Z / unit).T.ravel() for Z, unit in zip(found, units, strict=True)]
    return {
        "betas": betas,
        "deltas": deltas,
        "k": k,
        "start": (betas.index(beta), deltas.index(delta), min(family.n_components_, k)),
        "rows": rows,
        "values": pack(np.concatenate(columns)),
        "steps": [[float(f"{each:.6g}") for each in size.tolist()] for size in sizes],
        "ranks": [max(int(np.count_nonzero(size)), 1) for size in sizes],
        "figures": {name: [each[name] for each in measured] for name in measured[0]},
        "judged": judge.words,
        "words": _words(parts, family, k),
        "exact": _on_path(parts.learner) and family.n_components_ <= k,
    }


def _template(family: ScatterComponents, space: Space) -> tuple[SCA, float, float]:
    """Return SCA in the model's own feature space, and where on the path the model is."""
    shared = {name: getattr(family, name) for name in (*KERNEL, *SOLUTION) if hasattr(family, name)}
    template = SCA(**shared)
    gamma = family.kernel_.params.get("gamma")
    template.set_params(gamma=family.gamma if gamma is None else gamma, random_state=0)
    if space.kernel is None:
        template.set_params(kernel="linear", gamma="median", kernel_params=None)
    if isinstance(family, SCA):
        template.set_params(conditional_delta=family.conditional_delta)
        return template, beta_of(family), float(family.delta)
    # KernelFisher is β = 1 and δ = 0; the others have no class terms, and β = 0 is nearest.
    labels = bool(family.__sklearn_tags__().target_tags.required)
    return template, float(labels), float(getattr(family, "delta", 0.0))


def _words(parts: ModelParts, family: ScatterComponents, k: int) -> str:
    if parts.candidate is not None:
        return (
            "Shown is SCA in the feature space of the leading candidate, from the given labels "
            "alone: one solution, before any self-training."
        )
    if _on_path(parts.learner):
        own = family.n_components_
        with_few = f", with {k} of its {own} components" if own > k else ""
        return f"The sliders begin where the model was fitted{with_few}."
    labels = "classes of this page" if learns_from_numbers(family) else "the same labels"
    return f"Shown is SCA in the feature space of {parts.name}, from {labels}."


def _on_path(learner: Any) -> bool:
    return type(learner) in (SCA, KernelFisher) and not learns_from_numbers(learner)


class _Judge:
    def __init__(self, X: Any, domains: Domains, truth: Codes, k: int, n_settings: int) -> None:
        self._domains, self._truth = domains, truth
        self._ks = range(1, k + 1)
        self._asked = np.flatnonzero(domains.target & ~domains.labelled)
        by_criterion = len(self._asked) and domains.labelled[domains.source].any()
        work = n_settings * k * domains.n_domains * X.shape[0] * X.shape[1] * len(domains.classes)
        self._criterion = ScatterJudge(X, domains) if by_criterion and work <= MAX_WORK else None
        self._known = truth[self._asked] != UNLABELLED

    @property
    def words(self) -> str:
        if self._known.any():
            return "unlabelled target rows, their labels hidden from every solution"
        if len(self._asked) or np.count_nonzero(self._domains.domain_counts) < 2:
            return ""
        return "each domain predicted from the others, with labels that the solution has seen"

    def __call__(self, Z: Array) -> dict[str, list[float | None]]:
        """Return scatters as shares of the total, the accuracy of 1NN, and the criterion."""
        scatters = [measure(Geometry.of_features(Z[:, :k]), self._domains) for k in self._ks]
        out: dict[str, list[float | None]] = {
            name: [_share(each, name) for each in scatters] for name in NAMES
        }
        guesses = list(self._guess(Z))
        out["accuracy"] = [self._accuracy(guess) for guess in guesses]
        out["criterion"] = [self._trust(guess) for guess in guesses]
        return out

    def _guess(self, Z: Array) -> Iterator[Codes]:
        """Predict rows by the nearest labelled ones, for each k; -1 where nothing is asked."""
        known, domain = self._domains.labelled, self._domains.domain
        groups = [(known, self._asked)]
        if not len(self._asked):  # each domain from the others
            groups = [
                (known & (domain != d), np.flatnonzero(known & (domain == d)))
                for d in range(self._domains.n_domains)
            ]
        answers = [
            (rows, nearest_labels(Z[train], self._domains.label[train], Z[rows], self._ks))
            for train, rows in groups
            if train.any() and len(rows)
        ]
        for _ in self._ks:
            guess = np.full(len(Z), UNLABELLED, dtype=np.intp)
            for rows, answer in answers:
                guess[rows] = next(answer)
            yield guess

    def _accuracy(self, guess: Codes) -> float | None:
        asked = (guess != UNLABELLED) & (self._truth != UNLABELLED)
        if not (self.words and asked.any()):
            return None
        return round(float(np.mean(guess[asked] == self._truth[asked])), 5)

    def _trust(self, guess: Codes) -> float | None:
        if self._criterion is None:
            return None
        label = np.where(self._domains.labelled, self._domains.label, guess)
        return round(self._criterion(label).criterion, 5)


def _share(scatters: Scatters, name: str) -> float:
    if name == "total":
        return float(f"{scatters.total:.6g}")
    return round(scatters.share(name), 6)
