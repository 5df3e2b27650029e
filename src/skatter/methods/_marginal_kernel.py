"""Marginal kernel support vector machine: what a domain is like decides how its samples are read.

The mean of P in the feature space of a second kernel k' is μ_P = E k'(x, ·); of samples,
⟨μ_P, μ_P'⟩ is the mean of a block of its Gram matrix. Every source counts the same,

    minimise  ½ ‖f‖² + (C/S) Σ_d (n/n_d) Σ_{i in d} max(0, 1 − y_i (f(P_d, x_i) + b)),

S sources of n_d samples, n together: a support vector machine with weights n/(S n_d), and one sum
of kernel functions for each source, mixed by how much like each source a new domain is,

    f(P, x) = Σ_d k_P(P_d, P) f_d(x),    f_d(x) = Σ_{i in d} α_i k(x_i, x).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import gen_batches

from skatter._components import BATCH
from skatter._parameters import NON_NEGATIVE, POSITIVE, named_or, parameter
from skatter._tensors import Array
from skatter.domains import Codes, Domains, read_domains, which_domain
from skatter.kernels import Kernel, resolve_kernel
from skatter.methods._base import Transfer, one_against_rest
from skatter.methods._generalization import Generalizer
from skatter.methods._machines import Expansion, KernelMachine, support_vector_machines
from skatter.methods._record import Tuning, method


@method(
    "marginal-svm",
    when="many sources whose classifiers change with their distributions",
    uses=("one target",),
    cost="n² p + C support vector machines; for new samples n n_new p + n_new² p",
    grid={
        "C": (0.1, 1.0, 10.0, 100.0),
        "marginal_gamma": ("median", 0.0, 1.0, 3.0, 10.0, 30.0, 100.0),
    },
    coarse=Tuning({"C": (1.0, 10.0)}, why="Blanchard et al. 2011, fewer values"),
)
class MarginalKernelSVM(Generalizer, KernelMachine):
    """Marginal kernel SVM: kernel on pairs of a domain's distribution and a sample.

        k̄((P, x), (P', x')) = exp(−γ_P ‖μ_P − μ_P'‖²) k(x, x')

    with the mean μ_P of a domain in the feature space of a Gaussian kernel: domains that look
    alike learn from each other, and a new domain is answered for most by the sources that it looks
    like. Every source counts the same in the loss, whatever its size. Several classes are told
    apart one against the rest.

    The answer for a sample depends on the **distribution of its domain**, which is to be estimated
    from a set of samples: the method is transductive at the level of the marginal, unlike
    :class:`~skatter.SCA` or DICA, which need nothing of a new domain. Which set tells it:

    - of a source of ``fit``: its labelled samples there;
    - of a target that ``fit`` was given, two samples or more: those samples, which serve for this
      alone. So named or, where there was one target, without ``sample_domain``, samples are
      answered for one at a time;
    - of any other domain: all samples that carry its id in the same call, or all samples of the
      call where there is no ``sample_domain``; two at least. Of a few samples, the mean is known
      poorly, and the domain seems farther from all sources than it is.

    Where ``fit`` saw one domain without a name, new samples without ``sample_domain`` are of it.

    The intercepts are common to all domains, unlike f. About a domain that is far from all
    sources, f says little and the intercepts decide: compare ``marginal_distances_`` of a target
    with those of the sources, and choose a smaller ``marginal_gamma`` if they are much larger.

    Parameters
    ----------
    C : float > 0
        Cost of a sample on the wrong side of the margin, where all sources are of a size; else
        times n/(S n_d), for a source of n_d among S sources of n samples.
    marginal_gamma : "median" or float >= 0
        γ_P. ``"median"``: half of 1 / median of ‖μ_P − μ_P'‖² over pairs of sources that differ.
        0 pools the sources. Above a few times the median rule, a new domain is like no source.
    embedding_gamma : "median" or float > 0
        Bandwidth of the Gaussian kernel exp(−γ' ‖x − x'‖²) that μ_P is the mean of;
        ``"median"``: 1 / median of ‖x − x'‖² over the samples of the sources.
    kernel : str or callable
        k, as in :class:`~skatter.SCA`. A precomputed one also takes the place of the Gaussian
        kernel, and new samples must then be of a domain of ``fit``: their kernel among themselves
        is not known.

    Attributes
    ----------
    marginal_gamma_ : float
        γ_P.
    marginal_ids_ : ndarray of shape (n_marginals,)
        Domains whose marginal is known: sources, sorted by their ids, then the targets of ``fit``.
    marginal_distances_ : ndarray of shape (n_marginals, n_sources)
        ‖μ_P − μ_d‖² between these domains and the sources.
    dual_coef_ : ndarray of shape (n_support, n_sources, n_machines)
        Their coefficients in f_d of each source, zero but for their own; one machine for each
        class, or one for two classes.

    References
    ----------
    G. Blanchard, G. Lee, C. Scott: Generalizing from Several Related Classification Tasks to a New
    Unlabeled Sample. NIPS, 2011.

    Examples
    --------
    In each town, the threshold is where the town is: only the distribution tells which one holds.

    >>> import numpy as np
    >>> from skatter.methods import MarginalKernelSVM
    >>> rng = np.random.default_rng(0)
    >>> town = np.repeat(np.arange(9), 40)
    >>> X = rng.normal(size=(360, 1)) + town[:, None] / 2
    >>> y = (X[:, 0] > town / 2).astype(int)
    >>> seen = town != 4
    >>> for marginal_gamma in (0, "median"):  # 0 pools the towns
    ...     model = MarginalKernelSVM(marginal_gamma=marginal_gamma)
    ...     model.fit(X[seen], y[seen], sample_domain=town[seen]).score(X[~seen], y[~seen])
    0.225
    0.95
    """

    C: float = parameter(POSITIVE, default=1.0, kw_only=False)
    marginal_gamma: Any = parameter(named_or(NON_NEGATIVE, "median"), default="median")
    embedding_gamma: Any = parameter(named_or(POSITIVE, "median"), default="median")
    needs = ("source labels", "several sources", "a set of new samples")

    def _values(self, X: Any, sample_domain: Any) -> Array:
        likeness = np.exp(-self.marginal_gamma_ * self._squared_distances(X, sample_domain))
        return np.einsum("id,idm->im", likeness, self._expand(X)) + self.intercept_

    def _pair(self, X: Any, domains: Domains, *, unnamed: bool) -> Transfer:
        """Keep the labelled samples of the sources, and all there is for the marginals."""
        kept = super()._pair(X, domains, unnamed=unnamed)
        return _Given(**vars(kept), X_given=X, domains_given=domains, unnamed=unnamed)

    def _fit(self, transfer: Transfer) -> None:
        super()._fit(transfer)
        assert isinstance(transfer, _Given)
        # Compare targets with the sources; say who is meant where no domain is named.
        domains = transfer.domains_given
        targets = np.flatnonzero(domains.is_target & (domains.domain_counts > 1))
        rows = [np.flatnonzero(domains.domain == target) for target in targets]
        distances = [self._distances_to_sources(transfer.X_given, own) for own in rows]
        self.marginal_ids_ = np.concatenate([self.source_ids_, domains.domain_ids[targets]])
        self.marginal_distances_ = np.vstack([self._embeddings.between(), *distances])
        single = 0 if transfer.unnamed and domains.n_domains == 1 else None
        self._unnamed = len(self.source_ids_) if len(targets) == 1 else single

    def _learn(self, transfer: Transfer) -> Expansion:
        domains, n_sources = transfer.domains, transfer.domains.n_domains
        kernel = self.kernel_
        if not self._precomputed:
            settings = {"gamma": self.embedding_gamma, "random_state": self.random_state}
            kernel = resolve_kernel(transfer.X, "rbf", **settings)
        self._embeddings = MeanEmbeddings.of(transfer, kernel)
        distances = self._embeddings.between()
        named = isinstance(self.marginal_gamma, str)
        self.marginal_gamma_ = median_bandwidth(distances) if named else float(self.marginal_gamma)
        rows = np.arange(domains.n_samples)
        K = self._gram(transfer.X, rows)
        times_blocks(K, np.exp(-self.marginal_gamma_ * distances), domains.domain)
        signs = one_against_rest(domains.label, len(domains.classes))
        weight = (domains.n_samples / n_sources / domains.domain_counts)[domains.domain]
        coef, intercept = support_vector_machines(K, signs, self.C, self.tol, weight)
        by_source = np.zeros((len(rows), n_sources, coef.shape[1]))
        by_source[rows, domains.domain] = coef
        return rows, by_source, intercept

    def _distances_to_sources(self, X: Any, own: Codes) -> Array:
        if self._precomputed:
            rows = self._embeddings.rows
            return self._embeddings.to(X[np.ix_(own, rows)], X[np.ix_(own, own)])
        return self._embeddings.to(X[own], X[own])

    def _squared_distances(self, X: Any, sample_domain: Any) -> Array:
        """Return ‖μ_P − μ_d‖² for the domain P of each new sample and each source d."""
        n = X.shape[0]
        new = {}
        if sample_domain is not None:
            seen = which_domain(sample_domain, self.marginal_ids_, n_samples=n)
            domains = read_domains(None, sample_domain, n_samples=n)
            for d in np.unique(domains.domain[seen < 0]):
                new[str(domains.domain_ids[d])] = np.flatnonzero(domains.domain == d)
        elif self._unnamed is not None:
            seen = np.full(n, self._unnamed)
        else:
            seen, new = np.full(n, -1), {"the new domain": np.arange(n)}
        distances = np.empty((n, len(self.source_ids_)))
        distances[seen >= 0] = self.marginal_distances_[seen[seen >= 0]]
        for name, own in new.items():
            self._check_set(name, len(own))
            distances[own] = self._distances_to_sources(X, own)
        return distances

    def _check_set(self, domain: str, n_samples: int) -> None:
        name = type(self).__name__
        if self._precomputed:
            raise ValueError(
                f"{name} cannot tell what a new domain ({domain}) is like from a precomputed "
                "kernel with the samples of fit. Give unlabelled samples of it to fit, as a "
                "target, or name a domain of fit in sample_domain."
            )
        if n_samples < 2:
            raise ValueError(
                f"{name} needs a set of samples to tell what a new domain is like, and {domain} "
                "has 1 sample. Give more samples of it at once, or unlabelled ones to fit, as a "
                "target, or name a domain of fit in sample_domain."
            )


@dataclass(frozen=True, eq=False)
class _Given(Transfer):
    """What is learnt from and, beside it, what the user gave."""

    X_given: Any
    domains_given: Domains
    unnamed: bool


class MeanEmbeddings(NamedTuple):
    """Means μ_d of the sources in the feature space of a kernel."""

    kernel: Kernel
    X: Any
    rows: Codes
    shares: Array
    inner: Array

    @classmethod
    def of(cls, sources: Transfer, kernel: Kernel) -> MeanEmbeddings:
        """Average the blocks of the Gram matrix, which is never there as a whole."""
        X, domain = sources.X.astype(np.float64, copy=False), sources.domains.domain
        counts = sources.domains.domain_counts
        shares = (domain[:, None] == np.arange(len(counts))) / counts
        means = [mean_of_rows(kernel, X[domain == d], X) for d in range(len(counts))]
        inner = np.array(means) @ shares
        kept = None if kernel.precomputed else X
        return cls(kernel, kept, sources.rows, shares, (inner + inner.T) / 2)

    def between(self) -> Array:
        norms = np.diagonal(self.inner)
        return _squared_distance(norms[:, None], norms, self.inner)

    def to(self, X: Any, X_own: Any) -> Array:
        """Return ‖μ − μ_d‖² between a new set of samples and each source."""
        X, X_own = X.astype(np.float64, copy=False), X_own.astype(np.float64, copy=False)
        own = mean_of_rows(self.kernel, X_own, X_own).mean()
        cross = mean_of_rows(self.kernel, X, self.X) @ self.shares
        return _squared_distance(own, np.diagonal(self.inner), cross)


def mean_of_rows(kernel: Kernel, X: Any, Y: Any) -> Array:
    """Return the mean over x of k(x, y) for each y, a batch at a time to save memory."""
    total = sum(kernel(X[rows], Y).sum(axis=0) for rows in gen_batches(X.shape[0], BATCH))
    return np.asarray(total / X.shape[0])


def _squared_distance(first: Array, second: Array, inner: Array) -> Array:
    """Return ‖a‖² + ‖b‖² − 2⟨a, b⟩, zero where only rounding is left."""
    squared = first + second - 2 * inner
    rounding = 100 * np.finfo(np.float64).eps * (np.abs(first) + np.abs(second))
    return np.where(squared > rounding, squared, 0.0)


def median_bandwidth(distances: Array) -> float:
    """Return 1/2 / median over pairs of domains that differ, 1 where none do."""
    pairs = distances[np.triu_indices_from(distances, k=1)]
    return float(0.5 / np.median(pairs[pairs > 0])) if pairs.any() else 1.0


def times_blocks(K: Array, factors: Array, domain: Codes) -> None:
    for row, d in zip(K, domain, strict=True):
        row *= factors[d, domain]
