"""Which space suits the samples, where the user does not say."""

from __future__ import annotations

import warnings

from skatter._spaces.base import Problem, Space
from skatter._spaces.gram import GramSpace
from skatter._spaces.moments import MomentSpace
from skatter._spaces.tiles import TileSpace
from skatter._tensors import device_of, free_memory, host_dtype
from skatter.domains import Domains
from skatter.kernels import require_memory


def automatic(problem: Problem, domains: Domains) -> Space:
    """Moments where there are fewer features than samples; the Gram matrix, if it fits, if not."""
    n_samples = problem.X.shape[0]
    if problem.explicit and problem.features(problem.X[:1]).shape[1] < n_samples:
        return MomentSpace(problem, domains)
    return (GramSpace if _gram_fits(problem) else TileSpace)(problem, domains)


def _gram_fits(problem: Problem) -> bool:
    """Say no, with a warning, where a graphics card has too little memory; a host raises."""
    X, device = problem.X, device_of(problem.X)
    if free_memory(device) is None:
        return True
    try:
        require_memory(X.shape[0], host_dtype(X).itemsize, device)
    except MemoryError as error:
        message = str(error).split(" Use ")[0]
        warnings.warn(f"{message} It is recomputed in tiles: solver='iterative'.", stacklevel=6)
        return False
    return True
