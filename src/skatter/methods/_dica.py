"""Domain-invariant component analysis: kernel components that domains share.

The centred kernel of the labels, K_y, 1 for equal classes and 0 for others, has rank C−1, and so
has Ω: with F the orthonormal factor of SCA's between-class scatter and Y the class indicators, the
eigenvectors V and eigenvalues s of the (C−1) × (C−1) matrix Fᵀ Y Yᵀ F give

    Ω = F V diag(s/(s + n ε)) Vᵀ Fᵀ,

SCA's between-class coefficients with the rare classes shrunk. So DICA is SCA's objective without
within-class scatter, and is solved as SCA is.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from skatter._components import LabelledComponents, ScatterComponents
from skatter._objective import Factors, Objective
from skatter._parameters import NON_NEGATIVE, POSITIVE, choice, declared, parameter
from skatter._spaces import SCALES, MakeSpace, NuggetSpace
from skatter._tensors import Array
from skatter.domains import Domains
from skatter.methods._record import CLASS_COMPONENTS, COMPONENTS, Tuning, method, tried
from skatter.scatter import class_factor


def central_factor(domains: Domains, epsilon: float) -> Array:
    """Return U with U Uᵀ = Ω = K_y (K_y + n ε I)⁻¹ over the labelled samples."""
    F = class_factor(domains)
    indicators = domains.label[:, None] == np.arange(len(domains.classes))
    s, V = np.linalg.eigh(F.T @ indicators @ indicators.T @ F)
    return np.asarray(F @ (V * np.sqrt(s / (s + domains.n_labelled * epsilon))))


@declared
class _InvariantComponents(ScatterComponents):
    """What DICA and UDICA share: a ridge as published, and a nugget.

    Parameters
    ----------
    ridge : float > 0
        ρ, weight of the size of the projection ‖W‖²; 1 as published.
    nugget : float >= 0
        r, weight of the size of the coefficients ‖b‖². Above 0 the problem is factorised as a
        whole, which is slower and takes memory for one more Gram matrix.
    scale : {"eigenvalue", "denominator", "numerator", "coefficients"}
        Length of the components, as in :class:`~skatter.SCA`; ``"numerator"`` is the authors'.
    """

    ridge: float = tried(POSITIVE, 1e-3, 1e-2, 1e-1, 1.0, default=1.0)
    nugget: float = tried(NON_NEGATIVE, 0.0, 1e-3, 1e-1, 1e1, 1e3, default=0.0)
    scale: str = parameter(choice(*SCALES), default="denominator")

    _own_equation = "nugget > 0"

    def _own_space(self) -> MakeSpace | None:
        return partial(NuggetSpace, nugget=self.nugget) if self.nugget > 0 else None


@method(
    "dica",
    when="several labelled sources whose classes overlap little",
    needs=("source labels",),
    uses=("target labels", "several sources"),
    cost="n²p + C n²",
    grid={"epsilon": (1e-3, 1e-1, 1e1, 1e3)},
    nested=True,
    wants=("several sources",),
    coarse=Tuning(
        {"epsilon": (0.001, 0.1), "ridge": (0.001, 0.1, 1.0)},
        why="Muandet et al. 2013, fewer values",
    ),
)
class DICA(_InvariantComponents, LabelledComponents):
    """Domain-invariant component analysis: what labels say of the samples, where domains agree.

        K Ω K b = λ (ρ K + K L K + r I) b,      Ω = K_y (K_y + n ε I)⁻¹

    Ω spans the central subspace, what the labels say of the samples; L is domain scatter. There
    are at most C-1 components for C classes. Unlabelled samples count in domain scatter alone.

    Parameters
    ----------
    n_components : int or None
        Components to keep; None is C-1 for C classes, the rank of the problem.
    epsilon : float >= 0
        ε: how much rare classes are shrunk. With classes equally frequent only the scale changes.
    form : {"symmetric", "released"}
        ``"released"`` is the problem that the authors' program solves, Ω K² b on the left. It is
        not symmetric, so that components are not uncorrelated and may be complex; real parts are
        kept, as there. It needs ``nugget`` > 0.

    Notes
    -----
    The authors' program solves a problem that is not symmetric, and centres the kernel of new
    samples by the mean of these new samples, so that the answer for a sample depends on which
    others come with it. Here the variance form is the default, and training statistics centre.

    With classes equally frequent, eigenvalues are those of SCA with β = 1 and without within-class
    scatter, over 1 + C ε; the components are the same.

    References
    ----------
    K. Muandet, D. Balduzzi, B. Schölkopf: Domain Generalization via Invariant Feature
    Representation. ICML, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter.methods import DICA
    >>> rng = np.random.default_rng(0)
    >>> y, site = np.tile([0, 1, 2], 40), np.repeat([1, 2, 3], 40)
    >>> X = rng.normal(size=(120, 5)) + 3 * np.eye(3, 5)[y] + site[:, None]
    >>> dica = DICA().fit(X, y, sample_domain=site)
    >>> dica.transform(X[:4]).shape
    (4, 2)
    """

    epsilon: float = parameter(NON_NEGATIVE, default=1e-3)
    form: str = parameter(choice("symmetric", "released"), default="symmetric")

    def _check_together(self) -> None:
        super()._check_together()
        if self.form == "released" and self.nugget == 0:
            raise ValueError("form='released' needs nugget > 0, such as 1e-3.")

    def _two_classes(self) -> tuple[str, str] | None:
        return "DICA", "use UDICA"

    def _factors(self) -> Factors:
        return Factors(between=partial(central_factor, epsilon=float(self.epsilon)))

    def objective(self, domains: Domains, total: float) -> Objective:
        between = float(domains.n_labelled)
        return Objective(total=0.0, between_class=between, domain=1.0, ridge=float(self.ridge))

    def _own_space(self) -> MakeSpace | None:
        if self.form == "released":
            return partial(NuggetSpace, nugget=self.nugget, symmetric=False)
        return super()._own_space()


@method(
    "udica",
    when="several sources, and labels that come later",
    needs=(),
    uses=("several sources",),
    cost="n²p + k n²",
    grid={"n_components": COMPONENTS},
    nested=True,
    wants=("several sources",),
    coarse=Tuning(
        {"n_components": CLASS_COMPONENTS, "ridge": (0.001, 0.1, 1.0)},
        why="Muandet et al. 2013, fewer values",
    ),
)
class UDICA(_InvariantComponents):
    """Unsupervised DICA: largest variance, domains together, without labels.

        K K b = λ (ρ K + K L K + r I) b

    Total scatter is large and domain scatter small; labels are not used. With r = 0 it is
    :class:`~skatter.USCA` with ``delta=1`` and ``normalize=False``, whose eigenvalues are those
    here over n.

    Parameters
    ----------
    n_components : int or None
        Components to keep; None is 20, or fewer where the rank is lower.

    References
    ----------
    K. Muandet, D. Balduzzi, B. Schölkopf: Domain Generalization via Invariant Feature
    Representation. ICML, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter.methods import UDICA
    >>> rng = np.random.default_rng(0)
    >>> site = np.repeat([1, 2, 3], 30)
    >>> X = rng.normal(size=(90, 5)) + site[:, None]
    >>> UDICA(n_components=2).fit(X, sample_domain=site).transform(X[:4]).shape
    (4, 2)
    """

    def objective(self, domains: Domains, total: float) -> Objective:
        return Objective(total=float(domains.n_samples), domain=1.0, ridge=float(self.ridge))
