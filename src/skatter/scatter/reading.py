"""Reading what the user gives to a measure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils import check_array

from skatter.checks import FLOATS
from skatter.domains import Domains, read_domains
from skatter.kernels import check_gram, gram, resolve_kernel
from skatter.scatter.geometry import Geometry
from skatter.tensors import Array

Projection = Callable[[Any], Array]


def check_table(X: Any, name: str) -> Any:
    """Check one table of finite numbers, dense or sparse."""
    return check_array(X, accept_sparse="csr", dtype=list(FLOATS), input_name=name)


def read_samples(X: Any, projection: Projection | None) -> Any:
    """Check samples, or what a projection makes of them."""
    if projection is None:
        return check_table(X, "X")
    return check_table(projection(X), "the projection of X")


def read_geometry(
    X: Any, kernel: Any, gamma: Any, projection: Projection | None
) -> tuple[Any, Geometry]:
    """Return the samples, projected where asked, and the geometry of their feature space."""
    X = read_samples(X, projection)
    resolved = resolve_kernel(X, kernel, gamma=gamma)
    if resolved.linear:
        return X, Geometry.of_features(X)
    if resolved.precomputed:
        return X, Geometry.of_gram(check_gram(X))
    return X, Geometry.of_gram(gram(X, resolved))


def labelled_view(y: Any, n_samples: int) -> Domains:
    """Read labels, of which there must be some."""
    domains = read_domains(y, n_samples=n_samples)
    if not domains.n_labelled:
        raise ValueError("y has no labelled sample; a class scatter needs at least one.")
    return domains


def check_weights(sample_weight: Any, n_samples: int) -> Array:
    """Return weights that sum to one."""
    try:
        weights = np.asarray(sample_weight, float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight must hold numbers ({error}).") from error
    if weights.shape != (n_samples,):
        raise ValueError(
            f"sample_weight must hold one weight per row of X ({n_samples}), got shape "
            f"{weights.shape}."
        )
    if not (np.all(weights >= 0) and 0 < weights.sum() < np.inf):
        raise ValueError("sample_weight must be finite, non-negative and not all zero.")
    return weights / weights.sum()
