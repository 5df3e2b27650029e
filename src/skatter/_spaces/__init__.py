"""Spaces: samples in a feature space, one file for each way to hold them.

=====================  =========================================================================
:class:`GramSpace`     the Gram matrix, stored: one factorisation for all settings
:class:`TileSpace`     the Gram matrix in tiles, never stored
:class:`MomentSpace`   explicit features by their moments: samples may be elsewhere, or gone
:class:`PaddedSpace`   the Gram matrix, with class terms that see labelled rows alone
:class:`NuggetSpace`   the Gram matrix, with a penalty on the coefficients themselves
=====================  =========================================================================

Each measures the scatters, solves for many settings at once and projects (:class:`Space`). Another
solver is a file with a space and a line in ``SOLVERS``.
"""

from collections.abc import Callable
from functools import partial

from skatter._spaces.automatic import automatic
from skatter._spaces.base import SCALES, Problem, Solved, Space, product
from skatter._spaces.gram import GramSpace, ordered_gram
from skatter._spaces.moments import MomentSpace
from skatter._spaces.nugget import NuggetSpace
from skatter._spaces.padded import PaddedSpace
from skatter._spaces.tiles import TileSpace
from skatter.domains import Domains

MakeSpace = Callable[[Problem, Domains], Space]

SOLVERS: dict[str, MakeSpace] = {
    "auto": automatic,
    "lanczos": partial(GramSpace, basis="lanczos"),
    "dense": partial(GramSpace, basis="dense"),
    "primal": MomentSpace,
    "iterative": TileSpace,
}
"""What ``solver=`` names."""

__all__ = [
    "SCALES",
    "SOLVERS",
    "GramSpace",
    "MakeSpace",
    "MomentSpace",
    "NuggetSpace",
    "PaddedSpace",
    "Problem",
    "Solved",
    "Space",
    "TileSpace",
    "ordered_gram",
    "product",
]
