"""SCA and its family: presets of one objective, shaped for scikit-learn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from skatter import objective as objectives
from skatter.checks import n_rows
from skatter.components import LabelledComponents, ScatterComponents
from skatter.domains import Domains
from skatter.labels import MOST_LEVELS, classes_of, edges_of, read_numbers, spline_memberships
from skatter.objective import Objective
from skatter.parameters import NON_NEGATIVE, POSITIVE, SHARE, Rules, choice, integer, optional
from skatter.spaces import MakeSpace, PaddedSpace

DEFAULT_RIDGE = 1e-3
"""Share of the total scatter, where scatters are means."""

DEFAULT_BETA = 0.1

RIDGE = optional(POSITIVE)
"""Rule of a ridge that has a default."""

NUMBERS_RIDGE, NUMBERS_BETA = 1e-2, 1.0
"""The same where labels are numbers; chosen by ``benchmarks/label_splines.py``."""


class SCA(LabelledComponents):
    """Scatter Component Analysis.

    Finds directions in a kernel's feature space in which samples and classes are spread while
    domains and the members of one class lie together:

        maximise    (1-β) total scatter + β between-class scatter
        subject to  within-class scatter + δ domain scatter + δ_c conditional domain scatter
                    + ridge · ‖W‖² = 1

    Give it the samples of all domains, labelled or not, and it serves domain adaptation
    (an unlabelled target at fit), domain generalization (no target at fit) and everything
    between; several sources, several targets and targets with some labels need nothing special.

    Parameters
    ----------
    n_components : int or None
        Components to keep. None: 2(C-1) for C classes and at least 10; where ``beta=1``, C-1, the
        rank of the problem. See ``n_components_``.
    beta : float in [0, 1] or None
        Share of between-class scatter in the numerator. None: 0.1, and 1 with ``label_splines``.
    delta : float >= 0
        Weight of domain scatter: the means of domains, whatever their samples are.
    conditional_delta : float >= 0
        Weight δ_c of conditional domain scatter: for each class, the scatter of its means over the
        domains, averaged over the classes. It acts where a class has labels in two domains or more
        (several sources, or a target with some labels). Unlike domain scatter it does not mind
        that domains differ in how frequent each class is. 0, as in the paper: left out.
    label_splines : int >= 2 or None
        For labels that are numbers: a kernel of labels takes the place of the classes in all
        scatters. It is spanned by so many B-splines of the ranks of the labels; 8 is a good start.
        Between-class scatter is what these explain, within-class scatter what they leave, and only
        the order of the labels counts. Fewer different labels are a class each; more than 256 are
        cut into 256 levels of equal counts. NaN is then the mark of an unlabelled sample, and -1 a
        number; in ``y`` of integers -1 is refused, unless ``labelled`` is given. None: labels are
        classes.
    kernel : str or callable
        Any kernel of :mod:`sklearn.metrics.pairwise`, ``"precomputed"``, or a function of two
        arrays that returns the matrix of kernel values.
    gamma : "median", "printed", float or None
        Bandwidth; see :func:`skatter.kernels.resolve_kernel`.
    degree, coef0 : float
        For the polynomial and sigmoid kernels.
    kernel_params : dict or None
        Extra arguments of a callable kernel.
    feature_map : transformer or None
        An explicit map, such as :class:`sklearn.kernel_approximation.Nystroem`, that replaces the
        kernel; work and memory are then linear in the number of samples.
    ridge : float > 0 or None
        Weight of the size of the projection, ‖W‖². With ``normalize=True`` in units of the total
        scatter, so that the scale of the kernel does not matter; None is 1e-3, and 1e-2 with
        ``label_splines``. With ``normalize=False`` as it is; None is the paper's 1.
    normalize : bool
        True: every scatter is a mean, so that ``beta`` and ``delta`` mean the same at any sample
        size. False: the paper's own scaling, where class scatters are sums.
    scale : {"eigenvalue", "denominator", "numerator", "coefficients"}
        Length of the components. ``"denominator"``: the denominator of each is one, Z = K B with
        BᵀCB = I. ``"eigenvalue"``: times Λ^½, so that leading components weigh more.
        ``"numerator"``: times Λ^-½, the printed rule: the numerator of each is one.
        ``"coefficients"``: unit-norm b times Λ^-½, as in public code.
    reading : {"full", "printed"}
        ``"full"``: class scatters are those of the projections, over the rows of all samples.
        ``"printed"``: P and Q as Algorithm 1 of the paper has them, which are something else. Their
        rows are those of labelled samples and zero elsewhere, their kernel is not yet centred, and
        class means are compared with the mean of all samples. To the letter it is
        ``SCA(reading="printed", normalize=False, scale="numerator")``; ``scale="coefficients"``
        and ``"denominator"`` are other readings of its last line. It needs memory for two Gram
        matrices.
    solver : {"auto", "lanczos", "dense", "primal", "iterative"}
        ``"primal"`` works on explicit features (linear kernel or ``feature_map``), the others on
        the Gram matrix; ``"iterative"`` recomputes it in tiles and never stores it, for samples
        whose Gram matrix does not fit into memory. All give the same components.
    tol : float > 0
        Residual of each component relative to its own eigenvalue at which Lanczos stops.
    random_state : int, RandomState instance or None
        Seeds Lanczos and, for large samples, the median heuristic. None is a fixed seed.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components_,)
        λ of A b = λ C b, largest first.
    n_components_ : int
        Number of components.
    dual_coef_ : ndarray of shape (n_samples, n_components_)
        Coefficients on the training samples (dual routes).
    components_ : ndarray of shape (n_components_, n_features)
        Directions in explicit feature space (primal route).
    residuals_ : ndarray of shape (n_components_,)
        ‖A b − λ C b‖ / ‖A b‖: how exactly each component solves its equation.
    scatter_ : dict
        ``"before"`` and ``"after"``: the five :class:`~skatter.scatter.Scatters`, in feature
        space and of the projections.
    classes_, domain_ids_ : ndarray
        Classes and domains seen in ``fit``; with ``label_splines``, the numbers of the levels.
    class_counts_, domain_counts_ : ndarray of int
        Labelled samples of each class, and samples of each domain.

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
    >>> bool(after.domain / after.total < before.domain / before.total)
    True
    """

    _parameters: ClassVar[Rules] = {
        "beta": optional(SHARE),
        "delta": NON_NEGATIVE,
        "conditional_delta": NON_NEGATIVE,
        "label_splines": optional(integer(2)),
        "ridge": RIDGE,
        "reading": choice("full", "printed"),
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        beta: float | None = None,
        delta: float = 1.0,
        conditional_delta: float = 0.0,
        label_splines: int | None = None,
        kernel: Any = "rbf",
        gamma: Any = "median",
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        feature_map: Any = None,
        ridge: float | None = None,
        normalize: bool = True,
        scale: str = "eigenvalue",
        reading: str = "full",
        solver: str = "auto",
        tol: float = 1e-6,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.beta = beta
        self.delta = delta
        self.conditional_delta = conditional_delta
        self.label_splines = label_splines
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.feature_map = feature_map
        self.ridge = ridge
        self.normalize = normalize
        self.scale = scale
        self.reading = reading
        self.solver = solver
        self.tol = tol
        self.random_state = random_state

    def _check_together(self) -> None:
        super()._check_together()
        if self._needs_gram and (self.feature_map is not None or self.solver != "auto"):
            raise ValueError("reading='printed' needs solver='auto' and no feature_map.")

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


class USCA(ScatterComponents):
    """Unsupervised SCA: total scatter large, domain scatter small; labels are not used.

        maximise    total scatter
        subject to  δ domain scatter + ridge · ‖W‖² = 1

    Parameters
    ----------
    n_components : int or None
        Components to keep; None is 20, or fewer where the rank is lower.
    delta : float >= 0
        Weight of domain scatter; 0 is kernel PCA.
    kernel, gamma, degree, coef0, kernel_params, feature_map
        Feature space, as in :class:`SCA`.
    ridge, normalize, scale, solver, tol, random_state
        As in :class:`SCA`.

    Attributes
    ----------
    eigenvalues_, n_components_, dual_coef_, components_, residuals_, scatter_
        As in :class:`SCA`.

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

    _parameters: ClassVar[Rules] = {"delta": NON_NEGATIVE, "ridge": RIDGE}

    def __init__(
        self,
        n_components: int | None = None,
        *,
        delta: float = 1.0,
        kernel: Any = "rbf",
        gamma: Any = "median",
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        feature_map: Any = None,
        ridge: float | None = None,
        normalize: bool = True,
        scale: str = "eigenvalue",
        solver: str = "auto",
        tol: float = 1e-6,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.delta = delta
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.feature_map = feature_map
        self.ridge = ridge
        self.normalize = normalize
        self.scale = scale
        self.solver = solver
        self.tol = tol
        self.random_state = random_state

    def objective(self, domains: Domains, total: float) -> Objective:
        """Return the weights of the scatters, given the total scatter in feature space."""
        return objectives.usca(self.delta, ridge=ridge_weight(self.ridge, self.normalize, total))


class KernelFisher(LabelledComponents):
    """Kernel Fisher discriminant: between-class scatter large, within-class scatter small.

        maximise    between-class scatter
        subject to  within-class scatter + ridge · ‖W‖² = 1

    It is :class:`SCA` with β = 1 and δ = 0, and has at most C-1 components. With the linear kernel
    and a ridge that goes to zero it is linear discriminant analysis.

    Parameters
    ----------
    n_components : int or None
        Components to keep; None is C-1 for C classes.
    kernel, gamma, degree, coef0, kernel_params, feature_map
        Feature space, as in :class:`SCA`.
    ridge, normalize, scale, solver, tol, random_state
        As in :class:`SCA`.

    Attributes
    ----------
    eigenvalues_, n_components_, dual_coef_, components_, residuals_, scatter_
        As in :class:`SCA`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skatter import KernelFisher
    >>> X, y = load_iris(return_X_y=True)
    >>> KernelFisher().fit(X, y).n_components_
    2
    """

    _parameters: ClassVar[Rules] = {"ridge": RIDGE}

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: Any = "rbf",
        gamma: Any = "median",
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        feature_map: Any = None,
        ridge: float | None = None,
        normalize: bool = True,
        scale: str = "eigenvalue",
        solver: str = "auto",
        tol: float = 1e-6,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.feature_map = feature_map
        self.ridge = ridge
        self.normalize = normalize
        self.scale = scale
        self.solver = solver
        self.tol = tol
        self.random_state = random_state

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


class KPCA(ScatterComponents):
    """Kernel principal component analysis of all domains pooled; labels are not used.

    It is :class:`USCA` with δ = 0, and equals :class:`sklearn.decomposition.KernelPCA` up to
    signs. ``eigenvalues_`` are those of the objective, the eigenvalues of K over n.

    Parameters
    ----------
    n_components : int or None
        Components to keep; None is 20, or fewer where the rank is lower.
    kernel, gamma, degree, coef0, kernel_params, feature_map
        Feature space, as in :class:`SCA`.
    solver, tol, random_state
        As in :class:`SCA`.

    Attributes
    ----------
    eigenvalues_, n_components_, dual_coef_, components_, residuals_, scatter_
        As in :class:`SCA`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skatter import KPCA
    >>> KPCA(n_components=2).fit_transform(load_iris().data).shape
    (150, 2)
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: Any = "rbf",
        gamma: Any = "median",
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        feature_map: Any = None,
        solver: str = "auto",
        tol: float = 1e-6,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.feature_map = feature_map
        self.solver = solver
        self.tol = tol
        self.random_state = random_state

    def objective(self, domains: Domains, total: float) -> Objective:
        """Return the weights of the scatters, given the total scatter in feature space."""
        return objectives.usca(0.0, ridge=1.0)


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
