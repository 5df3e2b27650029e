"""Maps: explicit features whose linear kernel approximates another kernel.

With D samples L as *landmarks*, and only the directions of their kernel matrix that stand above
rounding,

    φ(x) = k(x, L) U Σ^-½        where k(L, L) = U Σ Uᵀ

is x's image in the kernel's feature space, projected on the span of the landmarks' images
(Nyström's method; C. Williams, M. Seeger, NIPS 2000). So φ(x)ᵀφ(x') = k(x, x') exactly where x or
x' is a landmark, and the squared norm that is lost elsewhere, k(x, x) − ‖φ(x)‖², is never negative.
What n samples cost is then linear in n: they need n × D numbers and not n × n.

How much is lost depends on which samples are landmarks. Three ways to choose them:

*uniform*: every sample has the same chance.
*k-means++* (D. Arthur, S. Vassilvitskii, SODA 2007): the next landmark is drawn with a probability
proportional to the squared distance to the nearest one so far.
*leverage* (A. El Alaoui, M. Mahoney, NIPS 2015): a sample is drawn with a probability proportional
to its ridge leverage score, estimated from P landmarks drawn uniformly,

    ℓ(x) ∝ k(x, x) − k(x, P) (k(P, P) + λ I)⁻¹ k(P, x)

which is what the pilot P does not explain of it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import eigh
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.cluster import kmeans_plusplus
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.utils import check_array, gen_batches
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from skatter import _tensors as tensors
from skatter._checks import check_choice, check_samples, seeded
from skatter._parameters import COUNT, declared, parameter
from skatter._solve.small import column_signs
from skatter._threads import one_thread
from skatter.domains import Codes
from skatter.kernels import Kernel, WithKernel, kernel_of

__all__ = ["LandmarkMap"]

CANDIDATES = 5_000
"""Samples that k-means++ chooses landmarks from, unless ``PER_LANDMARK`` asks for more."""
PER_LANDMARK = 5  # candidates for each landmark, at least
SCORED = 50_000  # samples whose leverage is estimated, unless ``PER_LANDMARK`` asks for more
PILOT = 256  # landmarks, drawn uniformly, that leverage is estimated from
DRAWS_PER_DIRECTION = 10
"""Landmarks that a draw by leverage takes for each direction that it is to resolve."""
BATCH = 8192  # samples looked at together
_EUCLIDEAN = ("linear", "rbf")  # kernels whose distances in feature space grow with Euclidean ones
_DENSE_ONLY = ("additive_chi2", "chi2")
_NEGATIVE = 1e-6  # share of negative eigenvalues that rounding does not explain


def _check_landmarks(name: str, value: Any) -> None:
    if isinstance(value, str):
        check_choice(name, value, tuple(_CHOICES))
    elif value is None:
        raise TypeError(
            f"{name} must be one of {', '.join(_CHOICES)}, or an array of samples; got None."
        )


@declared
class LandmarkMap(WithKernel, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Explicit features of a kernel, from landmarks among the samples (Nyström's method).

    ``SCA(feature_map=LandmarkMap(D))`` approximates ``SCA()``: the kernel and its bandwidth are
    chosen as there, and work and memory are linear in the number of samples. The map is exact where
    all samples are landmarks.

    Parameters
    ----------
    n_components : int
        Number of landmarks D. All samples are landmarks where there are no more than that.
    kernel : str or callable
        Any kernel of :mod:`sklearn.metrics.pairwise`, or a function of two arrays that returns the
        matrix of kernel values.
    landmarks : {"kmeans++", "leverage", "uniform"} or array of shape (n_landmarks, n_features)
        How landmarks are chosen. ``"kmeans++"``: spread over the samples, the lowest error in our
        measurements; it chooses from 5,000 samples or 5 D, whichever is more, drawn uniformly.
        ``"leverage"``: cheaper where D is large; it scores 50,000 samples or 5 D. ``"uniform"``:
        costs nothing, and misses what is rare. An array is used as it is, whatever ``n_components``
        says.
    random_state : int, RandomState instance or None
        Seeds the choice of landmarks and, for large samples, the median heuristic. None is a fixed
        seed.

    Attributes
    ----------
    landmarks_ : ndarray or sparse matrix of shape (n_landmarks, n_features)
        The landmarks.
    normalization_ : ndarray of shape (n_landmarks, n_features_out_)
        U Σ^-½; the features are ``kernel_(X, landmarks_) @ normalization_``, the direction in which
        the landmarks spread most first.
    n_features_out_ : int
        Number of features: fewer than landmarks where some of these lie in the span of others.
    kernel_ : Kernel
        The kernel, its bandwidth resolved.

    See Also
    --------
    sklearn.kernel_approximation.Nystroem : Landmarks drawn uniformly, bandwidth 1 / n_features.
    sklearn.kernel_approximation.RBFSampler : Random features, which look at no sample.

    Notes
    -----
    The order of the rows decides nothing: the same samples give the same landmarks. (Rows whose
    projections on one random direction agree to the last digit are the exception.)

    Torch tensors are mapped where they live; the fitted attributes are NumPy arrays. A callable
    kernel must know the arrays that it gets.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter import SCA
    >>> from skatter.maps import LandmarkMap
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(300, 4)), np.arange(300) % 3
    >>> X[:, 0] += 3 * y
    >>> exact = SCA(2).fit(X, y).eigenvalues_
    >>> mapped = SCA(2, feature_map=LandmarkMap(100)).fit(X, y).eigenvalues_
    >>> bool(np.allclose(mapped, exact, rtol=0.05))
    True

    Copies add no features:

    >>> LandmarkMap(50).fit(np.repeat(X[:10], 8, axis=0)).n_features_out_
    10
    """

    n_components: int = parameter(COUNT, default=256, kw_only=False)
    landmarks: Any = parameter(_check_landmarks, default="kmeans++")

    def fit(self, X: Any, y: Any = None) -> Any:
        """Choose the landmarks from samples, labelled or not, of all domains; ``y`` is ignored."""
        self.check_parameters()
        X = check_samples(self, X, reset=True, sparse=self._takes_sparse, tensors=True, least=1)
        kernel = kernel_of(self, X)
        if kernel.origin is not None:
            kernel = replace(kernel, origin=tensors.host(kernel.origin))
        landmarks = self._choose(X, kernel) if isinstance(self.landmarks, str) else self._given(X)
        K, dtype = _kernel_of_landmarks(landmarks, kernel), tensors.host_dtype(X)
        sizes, root = _inverse_root(K, np.finfo(dtype).eps, tensors.device_of(X))
        _warn_if_indefinite(K, sizes)
        self.normalization_ = root.astype(dtype)
        self.landmarks_ = _on_host(landmarks)
        self.n_features_out_ = self.normalization_.shape[1]
        self.kernel_ = kernel
        return self

    def transform(self, X: Any) -> Any:
        """Map samples, seen before or not, to features of the kind and floating type of ``X``."""
        check_is_fitted(self)
        X = check_samples(self, X, reset=False, sparse=self._takes_sparse, tensors=True)
        landmarks = tensors.like(self.landmarks_, X) if tensors.is_tensor(X) else self.landmarks_
        K = self.kernel_(X, landmarks)
        return tensors.multiply(K, tensors.like(self.normalization_, K))

    @property
    def _n_features_out(self) -> int:
        return self.n_features_out_

    @property
    def _takes_sparse(self) -> bool:
        return callable(self.kernel) or self.kernel not in _DENSE_ONLY

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse
        tags.input_tags.positive_only = not self._takes_sparse
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _check_together(self) -> None:
        if isinstance(self.kernel, str) and self.kernel == "precomputed":
            raise ValueError(
                "kernel='precomputed' leaves no samples to choose landmarks from. Give LandmarkMap "
                "the samples and a kernel, which may be a callable; for a Gram matrix, use "
                "SCA(kernel='precomputed')."
            )

    def _given(self, X: Any) -> Any:
        """Return the user's landmarks, checked, at the place of the samples."""
        landmarks = check_array(
            _on_host(self.landmarks),
            accept_sparse="csr" if sparse.issparse(X) else False,
            dtype=tensors.host_dtype(X),
            copy=True,
            input_name="landmarks",
        )
        if landmarks.shape[1] != X.shape[1]:
            raise ValueError(
                f"landmarks have {landmarks.shape[1]} features, and the samples in X have "
                f"{X.shape[1]}. Landmarks are samples: give rows of the same features."
            )
        return tensors.like(landmarks, X) if tensors.is_tensor(X) else landmarks

    def _choose(self, X: Any, kernel: Kernel) -> Any:
        """Return landmarks among the samples, at their place."""
        rng = seeded(self.random_state)
        drawn = _in_random_order(X, rng)
        if len(drawn) > self.n_components:
            drawn = _CHOICES[self.landmarks](X, drawn, kernel, self.n_components, rng)
        return tensors.take(X, drawn)


# --- the choice of landmarks: from rows in random order to those of the landmarks ---------------


def _in_random_order(X: Any, rng: Any) -> Codes:
    """Return all rows in an order that is random, and yet the same however they were given.

    They are sorted by their projection on a fixed direction, then shuffled.
    """
    direction = np.random.RandomState(0).standard_normal(X.shape[1])
    if tensors.is_tensor(X):
        keys = tensors.projections_on(X, direction)
    else:
        batches = gen_batches(X.shape[0], BATCH)
        keys = np.concatenate([_in_double(X[rows]) @ direction for rows in batches])
    return tensors.ascending(keys)[rng.permutation(X.shape[0])]


def _spread_rows(X: Any, drawn: Codes, kernel: Kernel, n_landmarks: int, rng: Any) -> Codes:
    """Return rows that k-means++ draws, by distances that suit the kernel."""
    candidates = drawn[: max(CANDIDATES, PER_LANDMARK * n_landmarks)]
    pool = _in_double(tensors.take(X, candidates))
    if kernel.metric not in _EUCLIDEAN:
        return candidates[_kernel_kmeans_plusplus(pool, kernel, n_landmarks, rng)]
    if tensors.is_tensor(pool):
        return candidates[tensors.spread_rows(pool - pool.mean(dim=0), n_landmarks, rng)]
    if not sparse.issparse(pool):
        # Distances are blind to a shift, but not to the digits that it costs.
        pool = pool - pool.mean(axis=0)
    # A thousand small products: two threads would spend their time waiting for each other.
    with one_thread("blas"):
        return candidates[kmeans_plusplus(pool, n_landmarks, random_state=rng)[1]]


def _kernel_kmeans_plusplus(X: Any, kernel: Kernel, n_landmarks: int, rng: Any) -> Codes:
    """Draw by ‖Φ(x) − Φ(l)‖² = k(x, x) + k(l, l) − 2 k(x, l): one column of the kernel a landmark.

    Where every sample coincides with a landmark, there are no more of them to draw.
    """
    diagonal = _finite(kernel.diagonal(X))
    rounding = 10 * np.finfo(diagonal.dtype).eps * np.abs(diagonal)
    nearest = np.full(len(diagonal), np.inf)
    rows = [0]
    while len(rows) < n_landmarks:
        last = rows[-1]
        column = tensors.host(kernel(X, X[last : last + 1])).ravel()
        distance = diagonal + diagonal[last] - 2 * column
        distance[distance <= rounding + rounding[last]] = 0
        nearest = np.minimum(nearest, distance)
        reach = np.cumsum(nearest)
        if reach[-1] == 0:
            break
        rows.append(int(np.searchsorted(reach, rng.uniform() * reach[-1], side="right")))
    return np.array(rows)


def _leverage_rows(X: Any, drawn: Codes, kernel: Kernel, n_landmarks: int, rng: Any) -> Codes:
    """Return rows drawn without replacement by their ridge leverage scores.

    The largest of log ℓ + Gumbel noise are such a draw (T. Vieira 2014).
    """
    candidates = drawn[: max(SCORED, PER_LANDMARK * n_landmarks)]
    scores = _leverage_scores(X, candidates, kernel, n_landmarks)
    keys = np.log(np.maximum(scores, np.finfo(scores.dtype).tiny)) + rng.gumbel(size=len(scores))
    return candidates[np.argsort(-keys, kind="stable")[:n_landmarks]]


def _leverage_scores(X: Any, candidates: Codes, kernel: Kernel, n_landmarks: int) -> tensors.Array:
    """Return the ridge leverage scores of candidates, the first ``PILOT`` of which are the pilot.

    With φ the features that the pilot P gives and σ the eigenvalues of k(P, P),

        λ ℓ(x) = k(x, x) − k(x, P) (k(P, P) + λ I)⁻¹ k(P, x) = k(x, x) − ‖φ‖² + Σ φ_j² λ / (σ_j + λ)

    where the last sum takes no small number from a large one. λ is the sum of the eigenvalues
    beyond the leading ones, over the number of these (C. Musco, C. Musco, NIPS 2017), and large
    enough to drown the rounding of k(x, x) − ‖φ‖² where the pilot explains everything.
    """
    eps = np.finfo(np.float64).eps
    pilot = _in_double(tensors.take(X, candidates[:PILOT]))
    sizes, root = _inverse_root(_kernel_of_landmarks(pilot, kernel), eps, tensors.device_of(X))
    leading = max(min(n_landmarks // DRAWS_PER_DIRECTION, len(sizes) // 2), 1)
    ridge = max(sizes[leading:].sum() / leading, np.sqrt(eps) * sizes.sum()) or 1.0
    scores = []
    for rows in gen_batches(len(candidates), BATCH):
        batch = _in_double(tensors.take(X, candidates[rows]))
        squares = np.square(tensors.host(kernel(batch, pilot)) @ root)
        missed = _finite(kernel.diagonal(batch)) - squares.sum(axis=1)
        scores.append(missed / ridge + squares @ (1 / (sizes + ridge)))
    return np.concatenate(scores)


_CHOICES: dict[str, Callable[[Any, Codes, Kernel, int, Any], Codes]] = {
    "kmeans++": _spread_rows,
    "leverage": _leverage_rows,
    "uniform": lambda X, drawn, kernel, n_landmarks, rng: drawn[:n_landmarks],
}


# --- from landmarks to features -----------------------------------------------------------------


def _in_double(X: Any) -> Any:
    return X.double() if tensors.is_tensor(X) else X.astype(np.float64, copy=False)


def _on_host(X: Any) -> Any:
    return tensors.host(X) if tensors.is_tensor(X) else X


def _kernel_of_landmarks(landmarks: tensors.Tall, kernel: Kernel) -> tensors.Array:
    return _finite(tensors.host(kernel(_in_double(landmarks))))


def _finite(values: tensors.Array) -> tensors.Array:
    if not np.isfinite(values).all():
        raise ValueError(
            "The kernel has values that are not finite. Scale X, for instance with "
            "sklearn.preprocessing.StandardScaler, or choose a smaller gamma or degree."
        )
    return values


def _inverse_root(K: tensors.Array, eps: float, device: Any) -> tuple[tensors.Array, tensors.Array]:
    """Return Σ and U Σ^-½ of the directions above rounding, largest first.

    Where there is none, one of zeros: downstream steps need a column.
    """
    if tensors.on_card(device):
        values, U = tensors.leading_on_card(K, len(K), device)
    else:
        values, U = (each[..., ::-1] for each in eigh(K))
    # Eigenvalues have an error of their own, which grows with the root of their number.
    rounding = max(eps, 4 * np.sqrt(len(K)) * np.finfo(K.dtype).eps)
    rank = np.count_nonzero(values > rounding * np.abs(values).sum())
    if not rank:
        return np.zeros(1), np.zeros((len(K), 1))
    values, U = values[:rank], U[:, :rank]
    return values, np.asarray(U * (column_signs(U) / np.sqrt(values)))


def _warn_if_indefinite(K: tensors.Array, sizes: tensors.Array) -> None:
    """Warn where the trace is less than the sum of the positive eigenvalues by too much."""
    if sizes.sum() - np.trace(K) > _NEGATIVE * sizes.sum():
        warnings.warn(
            "The kernel is not positive semi-definite on the landmarks. Directions with a negative "
            "eigenvalue have no features, so that these approximate another kernel; choose rbf, "
            "laplacian, linear, cosine or polynomial with coef0 >= 0 for one that is.",
            stacklevel=3,
        )


# --- any transformer as a map -------------------------------------------------------------------


def fitted_map(feature_map: Any, X: Any) -> Any:
    """Return a copy of a feature map, fitted to samples; a frozen one as it is.

    scikit-learn's own maps know no tensors: they are fitted to rows on the host, at most
    ``SCORED`` of them, evenly spaced.
    """
    if feature_map is None:
        return None
    feature_map = clone(feature_map)
    if tensors.is_tensor(X) and not isinstance(_thawed(feature_map), LandmarkMap):
        step = max(ceil(X.shape[0] / SCORED), 1)
        X = tensors.host(X[::step])
    return feature_map.fit(X, None)


def explicit_features(feature_map: Any, X: Any) -> Any:
    """Explicit features in the floating type and at the place of X; X itself without a map.

    On tensors, random and Nystroem features are computed where the samples are. A map that knows
    NumPy alone is given a copy on the host.
    """
    if feature_map is None:
        return X
    if tensors.is_tensor(X):
        return _features_of_tensor(_thawed(feature_map), X)
    features = feature_map.transform(X)
    if sparse.issparse(features):
        return features.tocsr().astype(X.dtype)
    return np.asarray(features, dtype=X.dtype)


@dataclass(frozen=True)
class MappedLinear:
    """The linear kernel of an explicit map, for when there are more features than samples."""

    feature_map: Any

    def __call__(self, X: Any, Y: Any) -> Any:
        """Return the inner products of the features of rows of ``X`` and ``Y``."""
        left, right = (explicit_features(self.feature_map, W) for W in (X, Y))
        if tensors.is_tensor(left):
            return tensors.multiply(left, right.T)
        return safe_sparse_dot(left, right.T, dense_output=True)


def _thawed(feature_map: Any) -> Any:
    return feature_map.estimator if isinstance(feature_map, FrozenEstimator) else feature_map


def _features_of_tensor(feature_map: Any, X: Any) -> Any:
    if isinstance(feature_map, LandmarkMap):
        return feature_map.transform(X)
    if type(feature_map) is RBFSampler:
        # √(2/D) cos(xᵀ w + b)
        phase: Any = tensors.multiply(X, tensors.like(feature_map.random_weights_, X))
        phase += tensors.like(feature_map.random_offset_, X)
        return phase.cos_().mul_(np.sqrt(2 / phase.shape[1]))
    if type(feature_map) is Nystroem and feature_map.kernel in ("linear", "rbf"):
        K = Kernel(feature_map.kernel, {"gamma": feature_map.gamma})(X, feature_map.components_)
        return tensors.multiply(K, tensors.like(feature_map.normalization_.T, X))
    features = feature_map.transform(tensors.host(X))
    return tensors.like(features.toarray() if sparse.issparse(features) else features, X)
