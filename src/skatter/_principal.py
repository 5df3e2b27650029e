"""Leading kernel principal components as explicit features.

Self-training solves one problem after another that differ in labels alone. On a few hundred
leading components of the kernel each of them is small, and what was left out carries little
scatter. A randomised solver (Halko, Martinsson and Tropp, 2011) finds these components in a few
products with the Gram matrix, in single precision; that is all the accuracy a basis needs, for
whatever it spans, features in it are exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted

from skatter import _tensors as tensors
from skatter._checks import TakesSparse, check_samples, seeded
from skatter._parameters import COUNT, declared, parameter
from skatter._solve.blas import combine, dot, inner, plain_qr
from skatter._solve.small import leading
from skatter._tensors import Array, Tall
from skatter.kernels import WithKernel, centre, gram, kernel_of

DENSE = 1500
"""Samples up to which all components are computed, and then cut: rows in any order then give the
same basis to rounding."""
PRODUCTS = 2  # of the randomised solver, between its sketch and where components are read
OVERSAMPLED = 10  # directions of the randomised solver beyond the components
ROUNDING = {"float64": 1e-12, "float32": 2e-7}
"""Share of the largest eigenvalue below which another one is zero, as in KernelPCA."""
BATCH = 4096  # new samples mapped at a time


@declared
class PrincipalMap(
    TakesSparse, WithKernel, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Map samples to the leading principal components of a kernel.

    It is :class:`sklearn.decomposition.KernelPCA` with the kernels of :class:`~skatter.SCA`, for
    ``SCA(feature_map=PrincipalMap(300))``.

    Parameters
    ----------
    n_components : int
        Components to keep; fewer where there are no more samples than that.
    random_state : int, RandomState instance or None
        Seeds the solver where there are more than 1,500 samples, and the median heuristic for
        large ones. None is a fixed seed.
    """

    n_components: int = parameter(COUNT, default=300, kw_only=False)

    def fit(self, X: Any, y: Any = None) -> PrincipalMap:
        """Find the components of the samples; ``y`` is not used."""
        self._fit(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Tall:
        """Find the components, and return the features of ``X``."""
        return self._fit(X)

    def transform(self, X: Any) -> Tall:
        """Return the features of samples, seen before or not; shape (n_samples, n_components)."""
        check_is_fitted(self)
        X = check_samples(self, X, reset=False, tensors=True)
        tensors.require_same_place(X, self.X_fit_, "X")
        batches = [
            tensors.multiply(self.kernel_(X[rows], self.X_fit_), self.dual_coef_) - self.offset_
            for rows in gen_batches(X.shape[0], BATCH)
        ]
        return tensors.vstack(batches)

    def _fit(self, X: Any) -> Tall:
        """Fit, and return the features of the samples, which come with the components."""
        self.check_parameters()
        X = check_samples(self, X, reset=True, tensors=True)
        self.kernel_ = kernel_of(self, X)
        self.X_fit_ = tensors.copied_rows(X)
        K = gram(X, self.kernel_)
        row_means, size = centre(K), min(self.n_components, len(K) - 1)
        values, vectors, images = self._components_of(K, size)
        least = ROUNDING[tensors.host_dtype(K).name] * values.max(initial=0)
        lengths = np.sqrt(np.where(values > least, values, 0))
        self.eigenvalues_ = np.square(lengths)
        inverse = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        self.dual_coef_ = vectors * tensors.like(inverse, vectors)
        # Coefficients that sum to zero centre the kernel values but for one constant.
        self.dual_coef_ -= self.dual_coef_.mean(axis=0)
        self.offset_ = tensors.multiply(row_means, self.dual_coef_)
        return images * tensors.like(inverse, images)

    def _components_of(self, K: Tall, size: int) -> tuple[Array, Tall, Tall]:
        """Return the leading eigenpairs of a Gram matrix, of a large one nearly these, and images.

        An image is the product of the Gram matrix with a vector.
        """
        device = tensors.device_of(K)
        if len(K) <= DENSE:
            values, found = leading(tensors.host(K), size, device)
            vectors = tensors.like(found, K)
            return values, vectors, vectors * tensors.like(values, vectors)
        rough = tensors.single(K)
        basis, _ = plain_qr(_sketch(rough, size + OVERSAMPLED, seeded(self.random_state)))
        for _ in range(PRODUCTS):
            basis, _ = plain_qr(dot(rough, basis))
        basis = tensors.like(basis, K)
        image = dot(K, basis)
        values, turn = leading(inner(basis, image), size, device)
        return values, combine(basis, turn), combine(image, turn)

    def _check_together(self) -> None:
        if isinstance(self.kernel, str) and self.kernel == "precomputed":
            raise ValueError(
                "kernel='precomputed' is not taken here: give the samples, and the kernel as a "
                "function of two arrays."
            )

    @property
    def _n_features_out(self) -> int:
        return len(self.eigenvalues_)


def _sketch(K: Tall, size: int, random: np.random.RandomState) -> Tall:
    """Return K Ω for a random Ω; beside arrays one entry of ±1 in a row, for one pass over K."""
    if tensors.is_tensor(K):
        return dot(K, tensors.random_columns(random, size, K))
    n = len(K)
    signs = random.choice(np.array([-1, 1], dtype=K.dtype), n)
    members = csr_array((signs, (random.permutation(n) % size, np.arange(n))), (size, n))
    return np.asfortranarray((members @ K).T)
