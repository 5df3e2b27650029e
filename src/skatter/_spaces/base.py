"""What all spaces have in common: measure, solve for many settings at once, project.

A space is a set of samples as a feature space shows them, with their labels and domains. An
estimator says what to solve there (:class:`~skatter._objective.Objective`) and keeps what it finds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.extmath import safe_sparse_dot

from skatter._objective import SCA_FACTORS, Coefficients, Factors, Objective
from skatter._solve import Found
from skatter._solve.small import column_signs
from skatter._tensors import Array, column_norms, is_tensor, like, multiply, take
from skatter.domains import Domains
from skatter.kernels import Kernel
from skatter.maps import explicit_features
from skatter.scatter import Geometry, Scatters, measure

SCALES = ("eigenvalue", "denominator", "numerator", "coefficients")


@dataclass(frozen=True, eq=False)
class Problem:
    """Samples, the feature space they are seen in, and how exactly to solve there.

    ``feature_map`` is fitted, or None; ``explicit`` says whether the features are at hand, be it
    by a map or because the kernel is linear.
    """

    X: Any
    kernel: Kernel
    feature_map: Any = None
    explicit: bool = False
    factors: Factors = SCA_FACTORS
    tol: float = 1e-6
    random_state: Any = None

    def features(self, X: Any) -> Any:
        return explicit_features(self.feature_map, X)


class Space(ABC):
    """Samples in a feature space, with their labels and domains."""

    on_features: ClassVar[bool] = False
    """Whether coefficients are directions in explicit features, and not weights of samples."""

    problem: Problem
    domains: Domains
    dtype: Any

    @property
    @abstractmethod
    def mean(self) -> Any:
        """What centring subtracts: the mean of the features, or of the kernel's columns."""

    @property
    @abstractmethod
    def scatters(self) -> Scatters:
        """The scatters in feature space."""

    @abstractmethod
    def solve(self, objectives: Sequence[Objective], k: int) -> Iterator[Solved]:
        """Yield the ``k`` leading components, or fewer, of settings with one ridge."""

    @abstractmethod
    def cross(self, X: Any) -> Any:
        """Return what new samples are projected from: kernel values with these, or features."""

    @abstractmethod
    def _with(self, domains: Domains) -> Space:
        """Return the same samples with other labels or domains."""

    def relabelled(self, domains: Domains) -> Space:
        """Return the same samples with other labels or domains; what they share is made once."""
        own = self.domains
        same = np.array_equal(domains.label, own.label) and np.array_equal(
            domains.domain, own.domain
        )
        return self if same else self._with(domains)


class Solved(ABC):
    """One setting solved in a space: components with a denominator of one."""

    def __init__(self, space: Space, objective: Objective, eigenvalues: Array) -> None:
        self.space, self.objective, self.eigenvalues = space, objective, eigenvalues

    @property
    @abstractmethod
    def coefficients(self) -> Any:
        """On samples or on features, a column for each component."""

    @property
    @abstractmethod
    def projections(self) -> Any:
        """Of the samples."""

    @property
    @abstractmethod
    def residuals(self) -> Array:
        """How exactly each component solves its equation, relative to its own size."""

    @abstractmethod
    def norms(self) -> Array:
        """Return ‖b‖ of the coefficients on samples."""

    @abstractmethod
    def directions(self) -> Any:
        """Return what signs are read from: components in explicit features, or projections."""

    @abstractmethod
    def scatters(self, factor: Array) -> Scatters:
        """Return the scatters of the components times one number each."""

    @property
    def nothing(self) -> bool:
        """Whether there is no component, or β = 1 and class means coincide but for rounding."""
        if not len(self.eigenvalues):
            return True
        if not self.objective.between_only:
            return False
        before = self.space.scatters
        return before.between_class <= 100 * np.finfo(self.space.dtype).eps * before.total

    def project(self, cross: Any) -> Any:
        """Return projections of what :meth:`Space.cross` gave for new samples."""
        return product(cross, self.coefficients) - multiply(self.space.mean, self.coefficients)

    def signs(self) -> Array:
        """Return signs with which the largest entry of each component is positive."""
        return column_signs(self.directions())

    def scale(self, name: str) -> Array:
        """Return the factors that one of ``SCALES`` puts on the components; see SCA."""
        root = np.sqrt(self.eigenvalues)
        if name == "denominator":
            return np.ones_like(root)
        if name == "eigenvalue":
            return root
        whitening = 1 / np.where(root > 0, root, 1)
        if name == "numerator":
            return whitening
        length = self.norms()
        return whitening / np.where(length > 0, length, 1)


class OnSamples(Solved):
    """Components with coefficients on the samples; the order of the solution's rows is undone."""

    def __init__(
        self,
        space: Space,
        objective: Objective,
        solution: Found,
        back: Any = None,
        norms: Array | None = None,
    ) -> None:
        super().__init__(space, objective, solution.eigenvalues)
        self._solution, self._back, self._norms = solution, back, norms

    def _rows(self, tall: Any) -> Any:
        return tall if self._back is None else take(tall, self._back)

    @cached_property
    def projections(self) -> Any:
        return self._rows(self._solution.projections)

    @cached_property
    def coefficients(self) -> Any:
        return self._rows(self._solution.coefficients)

    @property
    def residuals(self) -> Array:
        return self._solution.residuals

    def norms(self) -> Array:
        """Return ‖b‖; where the kernel leaves b open, that of b = (N z/λ − M z)/ρ."""
        if self._norms is not None:
            return self._norms
        Z, objective = self.projections, self.objective
        coefficients = Coefficients.like(Z, self.space.domains, self.space.problem.factors)
        size = like(np.where(self.eigenvalues > 0, self.eigenvalues, 1), Z)
        numerator = coefficients.numerator(objective, Z) / size
        return column_norms((numerator - coefficients.denominator(objective, Z)) / objective.ridge)

    def directions(self) -> Any:
        """Return projections, or components where features are explicit, so that signs agree."""
        problem = self.space.problem
        if not problem.explicit:
            return self.projections
        return product(problem.features(problem.X).T, self.coefficients)

    def scatters(self, factor: Array) -> Scatters:
        Z = self.projections * like(factor, self.projections)
        return measure(Geometry.of_features(Z), self.space.domains)


def product(X: Any, W: Any) -> Any:
    """Return X W as a dense array of the kind of X."""
    return multiply(X, W) if is_tensor(X) else safe_sparse_dot(X, W, dense_output=True)
