"""Samples in pieces: chunks of files and arrays, and blocks of Dask collections.

Moments of two sets of samples add up to those of both (:mod:`skatter.moments`), so pieces fit what
one fit on all samples does. The modules, in the order in which data passes through them:

- ``chunks``, ``tables``: sources that are read chunk by chunk; ``blocks``: Dask collections;
- ``survey``: which values are labels, told from the distinct ones of all pieces;
- ``learning``: how each step of a model learns from pieces, wherever they lie;
- ``streaming``, ``dask``: chunks one after the other, and blocks on the workers of a cluster.
"""

from skatter.pieces._chunks import ArrayChunks, Chunk
from skatter.pieces._streaming import fit_chunks, moments_of_chunks, predict_chunks
from skatter.pieces._tables import TableChunks

__all__ = [
    "ArrayChunks",
    "Chunk",
    "TableChunks",
    "fit_chunks",
    "moments_of_chunks",
    "predict_chunks",
]
