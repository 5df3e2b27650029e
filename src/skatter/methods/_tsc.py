"""Transfer sparse coding: codes that are sparse, smooth, and alike in source and target.

Both halves are convex and solved in turn: the codes of all samples together
(:mod:`skatter.methods._sparse_codes`), and the dictionary by its Lagrange dual
(:mod:`skatter.methods._dictionary`).
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize

from skatter._parameters import BOOLEAN, COUNT, NON_NEGATIVE, POSITIVE, parameter
from skatter._tensors import Array
from skatter.domains import Codes, Mask
from skatter.methods._base import RivalTransformer, Seeded, Transfer, WithComponents
from skatter.methods._dictionary import Dictionary, update_dictionary
from skatter.methods._iteration import Iterations, Iterative
from skatter.methods._neighbourhood import Neighbourhood
from skatter.methods._record import Tuning, method, tried
from skatter.methods._sparse_codes import CodeProblem, Coupling

STEPS = 10  # proximal steps for the codes after each change of the dictionary
STEPS_ALONE = 10_000  # for the codes of samples that stand alone, at most
WORK = 10**6  # small problems are given more steps in the end: so many codes times steps


@method(
    "tsc",
    when="samples are made of parts that recur in both domains, and time is no matter",
    cost="n²p + t (n r p + n r² + r³)",
    grid={"n_components": (32, 64, 128, 256)},
    coarse=Tuning(
        {"mmd": (1000.0, 100000.0)}, {"n_components": 128}, why="Long et al. 2013: 128 atoms"
    ),
)
class TSC(WithComponents, Seeded, Iterative, RivalTransformer):
    """Transfer sparse coding (TSC): sparse codes, smooth over neighbours, domains together.

    Learns a dictionary B, and for every sample a sparse code: the atoms it is made of. Codes of
    neighbours are alike, and source and target have the same mean code as far as possible:

        minimise    ‖X − S Bᵀ‖² + ``mmd`` ‖mean_s(S) − mean_t(S)‖²
                    + ½ ``smoothness`` Σ_ij w_ij ‖s_i − s_j‖² + ``sparsity`` Σ|S|
        subject to  ‖b_j‖ ≤ 1

    The weights multiply sums over samples, not means; half of our ``sparsity`` is the λ of the
    authors' program, which has a ½ before the squares. A new sample is coded as the training
    samples were, with their codes, the dictionary and the difference of the means fixed:

        minimise over s  ‖x − B s‖² + 2 ``mmd`` e ⟨mean_s(S) − mean_t(S), s⟩
                         + ``smoothness`` Σ_j w_j ‖s − s_j‖² + ``sparsity`` ‖s‖₁

    where e = 1/n_s for a sample of a source and −1/n_t for one of the target. A training sample
    gets back the code that it was given in ``fit``.

    Parameters
    ----------
    n_components : int or None
        Atoms, at most as many as there are samples. None: 128, but no more than twice the number
        of features and half the number of samples.
    mmd : float >= 0
        Weight of the distance between the mean codes of source and target.
    smoothness : float >= 0
        Weight of the graph.
    sparsity : float > 0
        Weight of the size of the codes: the larger, the more of them are zero.
    n_neighbors : int
        Every sample is joined to so many nearest ones, and to those that count it among theirs,
        all with weight one. At most the number of other samples.
    unit_norm : bool
        Scale every sample, but for zeros, to unit length first, which the default weights expect.
    max_iter : int
        Changes of the dictionary, at most.
    random_state : int, RandomState instance or None
        Chooses the samples that are the first atoms. None is a fixed seed. The problem is not
        convex: another seed finds another dictionary.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Atoms. One that no sample uses is kept as it was when it fell out of use.
    codes_ : ndarray of shape (n_samples, n_components_)
        Codes of the training samples, each the best one given the others.

    Notes
    -----
    Labels are not used, and several sources are pooled. The first atoms are samples. Random ones,
    as in the authors' program, may have so little in common with samples of many features that all
    codes are zero at first, and remain so. Neighbours at the same distance are all joined or none,
    so that equal samples of one domain have equal codes.

    On Office+Caltech SURF, twelve tasks with the nearest neighbour, the defaults give 42.58 %
    (``benchmarks/results/surf.md``); the SCA paper prints 40.80 %.

    References
    ----------
    M. Long, G. Ding, J. Wang, J. Sun, Y. Guo, P. S. Yu: Transfer Sparse Coding for Robust Image
    Representation. CVPR 2013.

    H. Lee, A. Battle, R. Raina, A. Y. Ng: Efficient Sparse Coding Algorithms. NIPS 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter.methods import TSC
    >>> rng = np.random.default_rng(0)
    >>> y, site = np.repeat([0, 1, 0, 1], 20), np.repeat(["here", "there"], 40)
    >>> X = rng.normal(size=(80, 5)) + 2 * y[:, None] + np.where(site == "there", 1, 0)[:, None]
    >>> known = np.where(site == "here", y, -1)
    >>> tsc = TSC(n_components=8).fit(X, known, sample_domain=site)
    >>> here, there = tsc.codes_[site == "here"], tsc.codes_[site == "there"]
    >>> bool(np.abs(here.mean(axis=0) - there.mean(axis=0)).max() < 1e-3)
    True
    """

    mmd: float = tried(NON_NEGATIVE, 0.0, 1e3, 1e4, 1e5, 1e6, default=1e5)
    smoothness: float = tried(NON_NEGATIVE, 0.1, 1.0, 10.0, default=1.0)
    sparsity: float = tried(POSITIVE, 0.02, 0.1, 0.2, 0.5, default=0.2)
    n_neighbors: int = parameter(COUNT, default=5)
    unit_norm: bool = parameter(BOOLEAN, default=True)
    max_iter: int = 200
    tol: float = 1e-4
    _takes_sparse = True

    def _fit(self, transfer: Transfer) -> Array:
        n_samples, n_features = transfer.X.shape
        self._check_dimension(n_samples, "one atom for each sample")
        default = max(min(128, 2 * n_features, n_samples // 2), 1)
        self.n_components_ = int(self.n_components or default)
        X = self._scaled(transfer.X)
        order = _canonical_order(X, transfer.source)
        X = X[order]
        self._shares = (1 / transfer.source.sum(), -1 / transfer.target.sum())
        e = (self._shares[0] * transfer.source + self._shares[1] * transfer.target)[order]
        self._neighbourhood = Neighbourhood(X, self.n_neighbors)
        graph = self._neighbourhood.graph(X)
        pulls = self.smoothness * graph if self.smoothness else None
        contrast = e if self.mmd > 0 and e.any() else None
        coupling = Coupling(self.smoothness * graph.sum(axis=1), pulls, contrast, self.mmd)
        dictionary, self._anchors = self._learn(X, coupling)
        self.components_ = np.ascontiguousarray(dictionary.atoms.T)
        self._mean_gap = e @ self._anchors
        codes = self._code(X, e, graph + sparse.eye_array(len(e), format="csr"))
        if not codes.any():
            warnings.warn(
                f"All codes are zero: sparsity={self.sparsity} is too high for these samples. "
                "Lower it, or scale the samples up.",
                stacklevel=4,
            )
        self.codes_ = np.empty_like(codes, dtype=transfer.X.dtype)
        self.codes_[order] = codes
        return self.codes_

    def _scaled(self, X: Any) -> Any:
        X = X.astype(np.float64) if sparse.issparse(X) else np.array(X, np.float64, order="C")
        return normalize(X, copy=False) if self.unit_norm else X

    def _learn(self, X: Any, coupling: Coupling) -> tuple[Dictionary, Array]:
        dictionary = _first_dictionary(X, self.n_components_, self._rng())
        problem = _problem(X, dictionary, coupling, self.sparsity)
        S, _ = problem.descend(np.zeros((X.shape[0], self.n_components_)), STEPS)
        values = X.data if sparse.issparse(X) else X
        size = float(np.vdot(values, values))
        iterations = Iterations.of(self)
        for _ in iterations:
            dictionary = update_dictionary(dictionary, S.T @ S, X.T @ S)
            problem = _problem(X, dictionary, coupling, self.sparsity)
            S, value = problem.descend(S, STEPS)
            iterations.record(size + 2 * value)
        return dictionary, problem.solve(S, tol=1e-9, steps=max(300, WORK // S.size))[0]

    def _transform(self, X: Any, from_source: Mask) -> Array:
        dtype, X = X.dtype, self._scaled(X)
        codes = np.empty((X.shape[0], self.n_components_), dtype=dtype)
        e = np.where(from_source, *self._shares)
        for rows in self._neighbourhood.batches(X.shape[0]):
            codes[rows] = self._code(X[rows], e[rows], self._neighbourhood.edges(X[rows]))
        return codes

    def _code(self, X: Any, e: Array, edges: Any) -> Array:
        """Code samples, each by itself, with all that was learnt fixed."""
        C = X @ self.components_.T
        C += self.smoothness * (edges @ self._anchors)
        C -= np.outer(e, self.mmd * self._mean_gap)
        pull, gram = self.smoothness * edges.sum(axis=1), self.components_ @ self.components_.T
        problem = CodeProblem(gram, C, Coupling(pull), self.sparsity)
        # So exactly that no company makes a difference.
        codes, converged = problem.solve(np.zeros_like(C), tol=1e-12, steps=STEPS_ALONE)
        if not converged:
            warnings.warn(
                f"The codes of {type(self).__name__} are exact to {problem.violation(codes):.1g} "
                "only. Raise smoothness or sparsity, or choose fewer atoms.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return codes


def _canonical_order(X: Any, source: Mask) -> Codes:
    """Return an order of the samples by a random direction, along which no two of them agree."""
    direction = np.random.RandomState(0).standard_normal(X.shape[1])
    # A sum of its own for each row: a BLAS product may round equal rows differently.
    key = X @ direction if sparse.issparse(X) else np.einsum("ij,j->i", X, direction)
    return np.lexsort((source, key))


def _first_dictionary(X: Any, n_atoms: int, rng: np.random.RandomState) -> Dictionary:
    """Return atoms that are samples at unit length; where a sample is zero, a random one."""
    chosen = X[rng.choice(X.shape[0], n_atoms, replace=False)]
    rows = chosen.toarray() if sparse.issparse(chosen) else chosen
    spare = rng.standard_normal(rows.shape)
    rows = normalize(np.where(rows.any(axis=1, keepdims=True), rows, spare))
    return Dictionary(np.ascontiguousarray(rows.T), np.zeros(n_atoms))


def _problem(X: Any, dictionary: Dictionary, coupling: Coupling, sparsity: float) -> CodeProblem:
    B = dictionary.atoms
    return CodeProblem(B.T @ B, X @ B, coupling, sparsity)
