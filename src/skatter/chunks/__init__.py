"""Data larger than memory on one machine: read it by chunks, fit as if it were in memory."""

from skatter.chunks.sources import ArrayChunks, Chunk
from skatter.chunks.streaming import fit_chunks, moments_of_chunks, predict_chunks
from skatter.chunks.tables import TableChunks

__all__ = [
    "ArrayChunks",
    "Chunk",
    "TableChunks",
    "fit_chunks",
    "moments_of_chunks",
    "predict_chunks",
]
