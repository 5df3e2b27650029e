"""TCA, and what its kin share: kernel features Z = K W from the leading eigenvectors of a pencil.

With K the (uncentred) Gram matrix of source and target and H the centring projection, TCA, SSTCA,
TJM, JDA and BDA look for

    K N K w = λ C w,     largest λ,     N = H, or more about labels between two H,

and differ in C, which is small where the domains agree. C is a positive diagonal plus a few
columns (or, for SSTCA, has a Cholesky factor), so that products with K are all that it takes. That
of TCA is μ I + K e eᵀ K, with e holding 1/n_s on source and -1/n_t on target rows.
"""

from __future__ import annotations

import warnings
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import qr
from sklearn.utils import gen_batches
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from skatter import _tensors as tensors
from skatter._components import BATCH
from skatter._parameters import BOOLEAN, COUNT, POSITIVE, choice, declared, optional, parameter
from skatter._solve import Eigenpairs, solve_pencil, solve_squared
from skatter._solve.blas import dot
from skatter._solve.lanczos import Operator
from skatter._solve.small import column_signs
from skatter._solve.symmetric import Root
from skatter._spaces import product as dense_product
from skatter._tensors import Array, Tall, fortran, is_tensor, like
from skatter.domains import Mask
from skatter.kernels import Kernel, WithKernel, check_gram, gram, kernel_of
from skatter.methods._base import RivalTransformer, Transfer, WithComponents
from skatter.methods._record import CLASS_COMPONENTS, COMPONENTS, Tuning, method, tried

FEW_FEATURES = 1000  # up to so many, a linear kernel is looked at in coordinates of its features
EIGEN_TOL = 1e-8  # residual of a component relative to its eigenvalue, inside iterative methods


class GramProduct:
    """W -> K W in double precision, without the Gram matrix where features are fewer.

    The pencil squares the condition number of K, which single precision would not survive.
    """

    def __init__(self, X: Any, kernel: Kernel) -> None:
        X = X.double() if is_tensor(X) else X.astype(np.float64, copy=False)
        self.n, self.device = X.shape[0], tensors.device_of(X)
        self._features: Any = X if kernel.linear and X.shape[1] < self.n else None
        self._gram: Tall | None = None
        if self._features is None:
            self._gram = check_gram(X) if kernel.precomputed else gram(X, kernel)

    def __call__(self, W: Tall) -> Tall:
        X = self._features
        if self._gram is not None:
            return dot(self._gram, W)
        if sparse.issparse(X):
            return np.asfortranarray(X @ (X.T @ W))
        return dot(X, dot(X.T, W))

    def like(self, array: Array) -> Tall:
        return tensors.to_device(array, self.device)

    @cached_property
    def coordinates(self) -> tuple[Operator, Array | None]:
        """The product in an orthonormal basis Q of the range of K, and Q; None: K as it is."""
        X = self._features
        if not isinstance(X, np.ndarray) or X.shape[1] > FEW_FEATURES:
            return self, None
        Q, R = qr(X, mode="economic", check_finite=False)
        gram = dot(R, R.T)
        return lambda W: dot(gram, W), np.asfortranarray(Q)

    def dense(self) -> Array:
        """Return K, which is not to be written to."""
        if self._gram is None:
            self._gram = safe_sparse_dot(self._features, self._features.T, dense_output=True)
        return self._gram


def centred(W: Tall) -> Tall:
    """Return H W, overwriting W."""
    W -= W.mean(axis=0)
    return W


@declared
class TransferComponents(WithComponents, WithKernel, RivalTransformer):
    """Base of TCA, SSTCA, TJM and JDA, which implement ``_solve``. The kernel is not centred.

    Parameters
    ----------
    n_components : int or None
        Components to keep. None is 30 (100 in JDA and BDA, 20 in TJM), or the rank if lower.
    scale : {"unit", "constraint"}
        Length of the coefficients. ``"constraint"``: as the problem has it, all components of the
        same variance. ``"unit"``: ‖w‖ = 1, as in every release, so that leading ones weigh more.
    normalize_mmd : bool
        Divide the matrix of the mean discrepancy by its Frobenius norm, as some implementations
        do; its weight then means something else.
    random_state : int, RandomState instance or None
        Seeds Lanczos and, for large samples, the median heuristic. None is a fixed seed.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components_,)
        λ, largest first.
    dual_coef_ : ndarray of shape (n_samples, n_components_)
        W.
    components_ : ndarray of shape (n_components_, n_features)
        Directions in input space (linear kernel only).
    residuals_ : ndarray of shape (n_components_,)
        How exactly each component solves its equation, relative to its eigenvalue.
    """

    n_components: int | None = tried(optional(COUNT), *COMPONENTS, default=None, kw_only=False)
    scale: str = parameter(choice("unit", "constraint"), default="unit")
    normalize_mmd: bool = parameter(BOOLEAN, default=False)
    _takes_sparse = True
    _default_n_components = 30

    def to(self, place: str) -> Any:
        """Return a copy that works elsewhere: ``"numpy"``, or a device such as ``"cuda:0"``."""
        check_is_fitted(self)
        return tensors.moved(self, ("X_fit_", "dual_coef_", "components_"), place)

    def _solve(self, transfer: Transfer, product: GramProduct, k: int) -> Eigenpairs:
        raise NotImplementedError

    def _fit(self, transfer: Transfer) -> Tall:
        kernel = kernel_of(self, transfer.X)
        product = GramProduct(transfer.X, kernel)
        k = min(self.n_components or self._default_n_components, product.n)
        pairs = self._solve(transfer, product, k)
        found = len(pairs.values)
        if not found:
            warnings.warn(
                "No direction has any variance to keep: all samples coincide. One component of "
                "zeros is returned.",
                stacklevel=4,
            )
            nothing = product.like(np.zeros((product.n, 1)))
            pairs = Eigenpairs(np.zeros(1), nothing, np.zeros(1))
        else:
            self._warn_of_rank(found, stacklevel=5)
        Z = product(fortran(pairs.vectors))
        signs = product.like(column_signs(Z))
        self._keep(transfer.X, kernel, pairs._replace(vectors=pairs.vectors * signs))
        return self._finish(like(Z * signs, transfer.X))

    def _mean_difference(self, transfer: Transfer) -> Array:
        """Return √α e in one column, α e eᵀ the MMD matrix, of Frobenius norm one where asked."""
        e = transfer.mean_difference.astype(np.float64)[:, None]
        size = float(np.linalg.norm(e))
        return e / size if self.normalize_mmd and size > 0 else e

    def _match_means(
        self, product: GramProduct, E: Array, mu: float, k: int, *, tol: float
    ) -> Eigenpairs:
        """Solve K H K w = λ (μ I + K E Eᵀ K) w."""
        times, Q = product.coordinates
        beside = product.like(E)
        h = product.like(np.full((product.n, 1), product.n**-0.5))
        if Q is not None:
            h, beside = dot(Q.T, h), dot(Q.T, E)
        pairs = solve_squared(times, h, beside, mu, k, tol=tol, random_state=self.random_state)
        return pairs if Q is None else pairs._replace(vectors=dot(Q, pairs.vectors))

    def _pencil(
        self, product: GramProduct, root: Root, k: int, *, tol: float, numerator: Operator = centred
    ) -> Eigenpairs:
        """Solve K N K w = λ C w for the N that ``numerator`` applies and the R Rᵀ = C⁻¹ given."""

        def times(W: Tall) -> Tall:
            return product(numerator(product(W)))

        options = {"tol": tol, "device": product.device, "random_state": self.random_state}
        return solve_pencil(times, root, product.n, k, **options)

    def _scaled(self, pairs: Eigenpairs) -> Eigenpairs:
        """Scale w to unit length, or to a numerator of one as the constraint has it."""
        W = pairs.vectors
        length = tensors.column_norms(W) if self.scale == "unit" else np.sqrt(pairs.values)
        return pairs._replace(vectors=W / like(length, W))

    def _keep(self, X: Any, kernel: Kernel, pairs: Eigenpairs) -> None:
        for name in {"components_", "X_fit_"} & set(vars(self)):
            delattr(self, name)
        self.kernel_, self.n_components_ = kernel, len(pairs.values)
        self.eigenvalues_, self.residuals_ = pairs.values, pairs.residuals
        self.dual_coef_ = like(pairs.vectors, X)
        if kernel.linear:
            rows = X.T.double() if is_tensor(X) else X.T
            self.components_ = like(tensors.multiply(rows, pairs.vectors), X).T
        else:
            self.X_fit_ = None if kernel.precomputed else tensors.copied_rows(X)

    def _transform(self, X: Any, from_source: Mask) -> Tall:
        tensors.require_same_place(X, self.dual_coef_, "X")
        batches = [self._project(X[rows]) for rows in gen_batches(X.shape[0], BATCH)]
        return self._finish(tensors.vstack(batches))

    def _project(self, X: Any) -> Tall:
        if not hasattr(self, "components_"):
            return like(tensors.multiply(self.kernel_(X, self.X_fit_), self.dual_coef_), X)
        return like(dense_product(X, self.components_.T), X)

    def _finish(self, Z: Tall) -> Tall:
        return Z


@method(
    "tca",
    when="a fast baseline that needs no labels at all",
    cost="n²p + k n²",
    nested=True,
    coarse=Tuning(
        {"n_components": CLASS_COMPONENTS, "mu": (0.01, 0.1, 1.0, 10.0, 100.0)},
        why="Pan et al. 2011",
    ),
)
class TCA(TransferComponents):
    """Transfer component analysis: means of source and target together, variance kept.

        minimise    ‖mean_s(Z) − mean_t(Z)‖² + μ ‖W‖²     subject to    scatter of Z = K W is I

    Sources are pooled. Labels are not used. Torch tensors are worked on where they are.

    Parameters
    ----------
    mu : float > 0
        Weight of the size of the coefficients; small values trust the distance of the means.
    tol : float > 0
        Residual of each component relative to its own eigenvalue.

    Notes
    -----
    On Office+Caltech SURF, twelve tasks with the nearest neighbour, the defaults give 33.95 % on
    z-scores, the preprocessing of the SCA paper, which prints 35.30 % with tuned settings. Scaled
    to unit length, the same samples give 44.21 % (``benchmarks/results/surf.md``): do so first.

    References
    ----------
    S. J. Pan, I. W. Tsang, J. T. Kwok, Q. Yang: Domain Adaptation via Transfer Component Analysis.
    IEEE Transactions on Neural Networks 22(2), 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter.methods import TCA
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(size=(40, 5)), rng.normal(size=(30, 5)) + [3, 0, 0, 0, 0]])
    >>> site = np.repeat([1, -2], [40, 30])  # a negative id is the target
    >>> Z = TCA(n_components=2, mu=1e-3).fit_transform(X, sample_domain=site)
    >>> gap = np.linalg.norm(Z[site > 0].mean(axis=0) - Z[site < 0].mean(axis=0))
    >>> bool(gap < 0.1 * Z.std())
    True
    """

    _takes_tensors = True
    mu: float = tried(POSITIVE, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1e3, default=1.0)
    tol: float = parameter(POSITIVE, default=1e-6)

    def _solve(self, transfer: Transfer, product: GramProduct, k: int) -> Eigenpairs:
        e = self._mean_difference(transfer)
        return self._scaled(self._match_means(product, e, self.mu, k, tol=self.tol))
