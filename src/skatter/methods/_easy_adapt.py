"""EasyAdapt: one copy of the features for all domains, and one more for each.

A sample is c ⊗ x with coefficients c of the copies, so that in a kernel's feature space

    k~((x, c), (x', c')) = (cᵀc') k(x, x') = (a + [same domain]) k(x, x').

EA++ adds, for each source and each unlabelled target sample u, a sample with coefficients 1 in the
source's copy and -1 in the target's, once with label +1 and once with -1. Together, the hinge
losses of the two are 2 + max(0, |f| − 1): they cost something where the classifiers of source and
target are more than one margin apart.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from skatter._parameters import NON_NEGATIVE, POSITIVE, parameter
from skatter._tensors import Array
from skatter.domains import Codes, Domains, which_domain
from skatter.kernels import require_memory
from skatter.methods._base import RivalTransformer, Transfer, one_against_rest
from skatter.methods._machines import Expansion, KernelMachine, support_vector_machines
from skatter.methods._record import method, tried


class _Copies(NamedTuple):
    """The copies of the features: the shared one, the target's, and one for each source."""

    ids: Array
    shared_weight: float

    @classmethod
    def of(cls, domains: Domains, shared_weight: float) -> _Copies:
        """Where there is a single domain, it is the target's copy that stands for it."""
        order = np.argsort(~domains.is_target, kind="stable")
        return cls(np.array(domains.domain_ids[order]), float(shared_weight))

    @property
    def n_copies(self) -> int:
        return 1 + len(self.ids)

    def coefficients(self, sample_domain: Any, n_samples: int) -> Array:
        """Return c of each sample; a new domain has no copy, and none named means the target."""
        private = np.zeros(n_samples, dtype=np.intp)
        if sample_domain is not None:
            private = which_domain(sample_domain, self.ids, n_samples=n_samples)
        c = np.zeros((n_samples, self.n_copies))
        c[:, 0] = np.sqrt(self.shared_weight)
        known = np.flatnonzero(private >= 0)
        c[known, 1 + private[known]] = 1
        return c


@method(
    "easyadapt",
    when="a few labels in the target, and a linear classifier to follow",
    uses=("several sources",),
    cost="n p (m + 1), m domains",
    linear=True,
    wants=("target labels",),
)
class EasyAdapt(RivalTransformer):
    """EasyAdapt: one copy of the features for all domains, one more for each.

        source s: x -> (√a x, 0, .., x, .., 0)        target: x -> (√a x, x, 0, .., 0)

    The shared copy comes first, then the target's, then those of the sources in the sorted order
    of their ids. A sample of a domain that was not there in ``fit`` has the shared copy only;
    without ``sample_domain``, a sample is the target's. A linear classifier after it, trained on
    source labels and a few target labels, weighs what the domains have in common against what each
    has of its own: ``make_domain_pipeline(EasyAdapt(), LinearSVC())``. For other kernels, see
    :class:`EasyAdaptSVM`. Sparse samples give sparse features.

    Parameters
    ----------
    shared_weight : float > 0
        a, the weight of the shared copy; 1 is the published method.

    Attributes
    ----------
    n_components_ : int
        Number of features: those of the samples times one plus the number of domains.
    copy_ids_ : ndarray of shape (n_domains,)
        Whose copy is whose, after the shared one: the domains, the target first.

    References
    ----------
    H. Daumé III: Frustratingly Easy Domain Adaptation. ACL, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter.methods import EasyAdapt
    >>> X, site = np.array([[1.0, 2.0], [3.0, 4.0]]), [1, -2]  # a negative id is the target
    >>> EasyAdapt().fit_transform(X, sample_domain=site)
    array([[1., 2., 0., 0., 1., 2.],
           [3., 4., 3., 4., 0., 0.]])
    """

    shared_weight: float = tried(POSITIVE, 0.25, 0.5, 1.0, 2.0, 4.0, default=1.0)
    _takes_sparse = True

    def _fit(self, transfer: Transfer) -> Any:
        self._copies = _Copies.of(transfer.domains, self.shared_weight)
        self.copy_ids_ = self._copies.ids
        self.n_components_ = transfer.X.shape[1] * self._copies.n_copies
        return self._features(transfer.X, self.domain_ids_[transfer.domains.domain])

    def _features(self, X: Any, sample_domain: Any) -> Any:
        return copied(X, self._copies.coefficients(sample_domain, X.shape[0]))


def copied(X: Any, c: Array) -> Any:
    """Return c ⊗ x for each sample: its features times the coefficient of each copy."""
    c = c.astype(X.dtype)
    if sparse.issparse(X):
        # Nothing is stored of a sample in a copy whose coefficient is zero.
        scales = (sparse.diags_array(column, format="csr") for column in c.T)
        return sparse.hstack([scale @ X for scale in scales], format="csr")
    copies = np.zeros((*c.shape, X.shape[1]), dtype=X.dtype)
    # Where the coefficient is zero, so is the copy, never -0.0.
    np.multiply(c[:, :, None], X[:, None, :], out=copies, where=(c != 0)[:, :, None])
    return copies.reshape(X.shape[0], -1)


@method(
    "ea++",
    when="a few labels in the target, and many target samples without",
    uses=("several sources",),
    cost="n² p + C support vector machines of n_l + 2 S n_u samples, S sources",
)
class EasyAdaptSVM(KernelMachine):
    """EasyAdapt SVM (EA++): shared and private machines that agree on unlabelled target samples.

        k~(x, x') = (a + [same domain]) k(x, x')

    and, for each unlabelled target sample u and each source, the sample φ(u) in the source's copy
    minus φ(u) in the target's, with both labels: source and target should not contradict each
    other where target samples lie. ``unlabelled_weight=0`` leaves them out: that is EasyAdapt.
    Several classes are told apart one against the rest.

    With ``kernel="linear"`` and ``unlabelled_weight=0`` it is a linear support vector machine on
    the features of :class:`EasyAdapt`. The intercept is common to all domains.

    Parameters
    ----------
    C : float > 0
        Cost of a labelled sample on the wrong side of the margin.
    unlabelled_weight : float >= 0
        Cost, relative to ``C``, of a source and the target disagreeing about an unlabelled sample.
    shared_weight : float > 0
        a, the weight of what all domains share; 1 is the published method.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_support, n_copies, n_machines)
        Their coefficients in the shared copy, the target's and those of the sources; one machine
        for each class, or one for two classes.
    copy_ids_ : ndarray of shape (n_domains,)
        Whose copy is whose, after the shared one: the domains, the target first.

    References
    ----------
    H. Daumé III, A. Kumar, A. Saha: Frustratingly Easy Semi-Supervised Domain Adaptation. DANLP
    Workshop, 2010.

    H. Daumé III: Frustratingly Easy Domain Adaptation. ACL, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter.methods import EasyAdaptSVM
    >>> rng = np.random.default_rng(0)
    >>> y, site = np.tile([0, 1], 50), np.repeat([1, -2], 50)  # a negative id is the target
    >>> X = rng.normal(size=(100, 2)) + 4 * y[:, None] + 3 * (site < 0)[:, None]
    >>> known = np.where((site > 0) | (np.arange(100) >= 94), y, -1)
    >>> EasyAdaptSVM().fit(X, known, sample_domain=site).score(X[site < 0], y[site < 0])
    0.92
    """

    C: float = tried(POSITIVE, 0.01, 0.1, 1.0, 10.0, 100.0, default=1.0, kw_only=False)
    unlabelled_weight: float = tried(NON_NEGATIVE, 0.0, 0.1, 1.0, default=1.0)
    shared_weight: float = parameter(POSITIVE, default=1.0)
    needs = ("source labels", "one target", "target labels")

    def _learn(self, transfer: Transfer) -> Expansion:
        self._copies = _Copies.of(transfer.domains, self.shared_weight)
        self.copy_ids_ = self._copies.ids
        rows = np.flatnonzero(transfer.labelled | (transfer.target & (self.unlabelled_weight > 0)))
        sample, c, signs = _training_set(transfer.domains.take(rows), self._copies)
        require_memory(len(sample), np.dtype(np.float64).itemsize)
        weight = np.where(transfer.labelled[rows][sample], 1.0, self.unlabelled_weight)
        K = (c @ c.T) * self._gram(transfer.X, rows)[np.ix_(sample, sample)]
        coef, intercept = support_vector_machines(K, signs, self.C, self.tol, weight)
        in_copies = np.zeros((len(rows), self._copies.n_copies, coef.shape[1]))
        np.add.at(in_copies, sample, c[:, :, None] * coef[:, None, :])
        return rows, in_copies, intercept

    def _values(self, X: Any, sample_domain: Any) -> Array:
        c = self._copies.coefficients(sample_domain, X.shape[0])
        return np.einsum("ic,icm->im", c, self._expand(X)) + self.intercept_


def _training_set(domains: Domains, copies: _Copies) -> tuple[Codes, Array, Array]:
    """Return rows, coefficients and signs: labelled samples, then disagreements with both signs."""
    labelled, unlabelled = np.flatnonzero(domains.labelled), np.flatnonzero(~domains.labelled)
    signs = one_against_rest(domains.label[labelled], len(domains.classes))
    own_copies = copies.coefficients(domains.domain_ids[domains.domain[labelled]], len(labelled))
    n_sources = len(copies.ids) - 1
    less_target = np.hstack([np.tile([0.0, -1.0], (n_sources, 1)), np.eye(n_sources)])
    disagreements = np.repeat(less_target, len(unlabelled), axis=0)
    again = np.tile(unlabelled, n_sources)
    both = np.ones((len(again), signs.shape[1]))
    samples = np.concatenate([labelled, again, again])
    c = np.vstack([own_copies, disagreements, disagreements])
    return samples, c, np.vstack([signs, both, -both])
