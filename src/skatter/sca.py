"""SCA and its family: presets of one objective, shaped for scikit-learn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from skatter import _objective as objectives
from skatter._checks import n_rows
from skatter._components import LabelledComponents, RidgedComponents, ScatterComponents
from skatter._objective import Objective
from skatter._parameters import NON_NEGATIVE, SHARE, choice, declared, integer, optional, parameter
from skatter._spaces import MakeSpace, PaddedSpace
from skatter.domains import Domains
from skatter.labels import (
    MOST_LEVELS,
    NOT_IN_PARTS,
    classes_of,
    edges_of,
    read_numbers,
    spline_memberships,
)

__all__ = ["KPCA", "SCA", "USCA", "KernelFisher"]

DEFAULT_RIDGE = 1e-3  # share of the total scatter, where scatters are means
DEFAULT_BETA = 0.1
NUMBERS_RIDGE, NUMBERS_BETA = 1e-2, 1.0
"""The same where labels are numbers; chosen by ``benchmarks/label_splines.py``."""


@declared
class SCA(RidgedComponents, LabelledComponents):
    """Scatter Component Analysis.

    Finds directions in a kernel's feature space in which samples and classes are spread while
    domains and the members of one class lie together:

        maximise    (1-β) total scatter + β between-class scatter
        subject to  within-class scatter + δ domain scatter + δ_c conditional domain scatter
                    + ridge · ‖W‖² = 1

    Give it the samples of all domains, labelled or not: several sources, several targets or none,
    and targets with some labels need nothing special.

    Parameters
    ----------
    n_components : int or None
        Components to keep. None: 2(C-1) for C classes and at least 10; where ``beta=1``, C-1, the
        rank of the problem.
    beta : float in [0, 1] or None
        Share of between-class scatter in the numerator. None: 0.1, and 1 with ``label_splines``.
    delta : float >= 0
        Weight of domain scatter: the means of domains, whatever their samples are.
    conditional_delta : float >= 0
        Weight δ_c of conditional domain scatter: for each class, the scatter of its means over the
        domains, averaged over the classes. It acts where a class has labels in two domains or more,
        and does not mind that domains differ in how frequent each class is. 0, as in the paper:
        left out.
    label_splines : int >= 2 or None
        For labels that are numbers: so many B-splines of their ranks take the place of the classes
        in all scatters; 8 is a good start. Fewer different labels are a class each; more than 256
        are cut into 256 levels of equal counts. ``classes_`` are then the numbers of the levels,
        NaN is the mark of an unlabelled sample, and -1 a number; in ``y`` of integers -1 is
        refused, unless ``labelled`` is given. None: labels are classes.
    ridge : float > 0 or None
        Weight of the size of the projection, ‖W‖². With ``normalize=True`` in units of the total
        scatter, so that the scale of the kernel does not matter; None is 1e-3, and 1e-2 with
        ``label_splines``. With ``normalize=False`` as it is; None is the paper's 1.
    normalize : bool
        True: every scatter is a mean, so that ``beta`` and ``delta`` mean the same at any sample
        size. False: the paper's own scaling, where class scatters are sums.
    reading : {"full", "printed"}
        ``"full"``: class scatters are those of the projections, over the rows of all samples.
        ``"printed"``: P and Q as Algorithm 1 of the paper has them: their rows are those of
        labelled samples and zero elsewhere, their kernel is not yet centred, and class means are
        compared with the mean of all samples. To the letter it is ``SCA(reading="printed",
        normalize=False, scale="numerator")``; other scales are other readings of its last line. It
        needs memory for two Gram matrices.

    References
    ----------
    M. Ghifary, D. Balduzzi, W. B. Kleijn, M. Zhang: Scatter Component Analysis: A Unified
    Framework for Domain Adaptation and Domain Generalization. IEEE TPAMI 39(7), 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter import SCA
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1, 0, 1], 20)
    >>> site = np.repeat(["here", "there"], 40)
    >>> X = rng.normal(size=(80, 5)) + 2 * y[:, None] + np.where(site == "there", 1, 0)[:, None]
    >>> known = np.where(site == "here", y, -1)
    >>> sca = SCA(n_components=2).fit(X, known, sample_domain=site)
    >>> sca.transform(X[:3]).shape
    (3, 2)
    >>> before, after = sca.scatter_["before"], sca.scatter_["after"]
    >>> after.share("domain") < before.share("domain")
    True
    """

    beta: float | None = parameter(optional(SHARE), default=None)
    delta: float = parameter(NON_NEGATIVE, default=1.0)
    conditional_delta: float = parameter(NON_NEGATIVE, default=0.0)
    label_splines: int | None = parameter(optional(integer(2)), default=None)
    reading: str = parameter(choice("full", "printed"), default="full")

    _own_equation = "reading='printed'"

    def _own_space(self) -> MakeSpace | None:
        return PaddedSpace if self.reading == "printed" else None

    def read(self, X: Any, y: Any, sample_domain: Any, labelled: Any) -> tuple[Any, Domains]:
        """Rank labels that are numbers, and check everything."""
        if self.label_splines is None or y is None:
            return super().read(X, y, sample_domain, labelled)
        self.check_parameters()
        numbers = read_numbers(y, labelled=labelled, n_samples=n_rows(X))
        levels = classes_of(numbers, edges_of(numbers, MOST_LEVELS))
        X, domains = super().read(X, levels, sample_domain, ~np.isnan(numbers))
        memberships = spline_memberships(domains.class_counts, self.label_splines)
        return X, replace(domains, memberships=memberships)

    def why_not_moments(self) -> str | None:
        """Return why moments of explicit features do not suffice; None where they do."""
        return super().why_not_moments() if self.label_splines is None else NOT_IN_PARTS

    def _two_classes(self) -> tuple[str, str] | None:
        return ("beta=1", "choose beta < 1") if beta_of(self) == 1 else None

    def objective(self, domains: Domains, total: float) -> Objective:
        """Return the weights of the scatters, given the total scatter in feature space."""
        default = DEFAULT_RIDGE if self.label_splines is None else NUMBERS_RIDGE
        return objectives.sca(
            beta_of(self),
            self.delta,
            conditional_delta=self.conditional_delta,
            ridge=ridge_weight(self.ridge, self.normalize, total, default),
            normalize=self.normalize,
            n_labelled=domains.n_labelled,
        )


def check_sca(name: str, value: Any) -> None:
    """Refuse what is neither None nor an SCA itself, for those that search or train with one."""
    if not (value is None or type(value) is SCA):
        raise TypeError(f"{name} must be an SCA, got {type(value).__name__}.")


@declared
class USCA(RidgedComponents):
    """Unsupervised SCA: total scatter large, domain scatter small; labels are not used.

        maximise    total scatter
        subject to  δ domain scatter + ridge · ‖W‖² = 1

    Parameters
    ----------
    n_components : int or None
        Components to keep; None is 20, or fewer where the rank is lower.
    delta : float >= 0
        Weight of domain scatter; 0 is kernel PCA.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter import USCA
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(size=(30, 4)), rng.normal(1.0, size=(30, 4))])
    >>> usca = USCA(n_components=2).fit(X, sample_domain=np.repeat([1, -2], 30))
    >>> usca.transform(X).shape
    (60, 2)
    """

    delta: float = parameter(NON_NEGATIVE, default=1.0)

    def objective(self, domains: Domains, total: float) -> Objective:
        """Return the weights of the scatters, given the total scatter in feature space."""
        ridge = ridge_weight(self.ridge, self.normalize, total)
        return Objective(domain=self.delta, ridge=ridge)


@declared
class KernelFisher(RidgedComponents, LabelledComponents):
    """Kernel Fisher discriminant: between-class scatter large, within-class scatter small.

        maximise    between-class scatter
        subject to  within-class scatter + ridge · ‖W‖² = 1

    It is :class:`SCA` with β = 1 and δ = 0, and has at most C-1 components. With the linear kernel
    and a ridge that goes to zero it is linear discriminant analysis.

    Parameters
    ----------
    n_components : int or None
        Components to keep; None is C-1 for C classes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skatter import KernelFisher
    >>> X, y = load_iris(return_X_y=True)
    >>> KernelFisher().fit(X, y).n_components_
    2
    """

    def _two_classes(self) -> tuple[str, str] | None:
        return "KernelFisher", "use USCA or SCA with beta < 1"

    def objective(self, domains: Domains, total: float) -> Objective:
        """Return the weights of the scatters, given the total scatter in feature space."""
        return objectives.sca(
            1.0,
            0.0,
            ridge=ridge_weight(self.ridge, self.normalize, total),
            normalize=self.normalize,
            n_labelled=domains.n_labelled,
        )


@declared
class KPCA(ScatterComponents):
    """Kernel principal component analysis of all domains pooled; labels are not used.

    It is :class:`USCA` with δ = 0, and equals :class:`sklearn.decomposition.KernelPCA` up to
    signs. ``eigenvalues_`` are those of the objective, the eigenvalues of K over n.

    Parameters
    ----------
    n_components : int or None
        Components to keep; None is 20, or fewer where the rank is lower.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skatter import KPCA
    >>> KPCA(n_components=2).fit_transform(load_iris().data).shape
    (150, 2)
    """

    def objective(self, domains: Domains, total: float) -> Objective:
        """Return the weights of the scatters, given the total scatter in feature space."""
        return Objective()


def learns_from_numbers(estimator: Any) -> bool:
    """Whether an estimator is SCA with labels that are numbers."""
    return isinstance(estimator, SCA) and estimator.label_splines is not None


def beta_of(sca: SCA) -> float:
    """Return β as the user gave it, or its default."""
    if sca.beta is not None:
        return float(sca.beta)
    return DEFAULT_BETA if sca.label_splines is None else NUMBERS_BETA


def ridge_weight(
    ridge: float | None, normalize: bool, total: float, default: float = DEFAULT_RIDGE
) -> float:
    """Return the weight ρ of ‖W‖²: in units of the total scatter, or the paper's."""
    if not normalize:
        return 1.0 if ridge is None else float(ridge)
    relative = default if ridge is None else float(ridge)
    return relative * total if total > 0 else relative
