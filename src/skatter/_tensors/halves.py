"""Float32 products as sums of three products of float16 halves, which hold 22 bits together."""

from __future__ import annotations

from collections.abc import Sequence
from math import frexp

from skatter._tensors.places import on_card, torch

TOP_OF_HALVES = 15  # float16 numbers are scaled to at most two to this power

HALVES_PAY = frozenset({(7, 0), (7, 5), (8, 0), (9, 0), (10, 0), (10, 3)})
"""Compute capabilities of cards that multiply float16 matrices more than three times as fast as
float32 ones."""


def products_of_halves_pay(A: torch.Tensor) -> bool:
    """Say whether float32 products are faster as sums of three float16 ones, here."""
    if A.dtype != torch.float32 or not on_card(A.device) or torch.version.cuda is None:
        return False
    release = tuple(int(part) for part in torch.version.__version__.split(".")[:2])
    return release >= (2, 8) and torch.cuda.get_device_capability(A.device) in HALVES_PAY


def scale_of_halves(largest: torch.Tensor) -> float:
    """Return the power of two that brings the largest number to the top of the range."""
    value = float(largest)
    return 2.0 ** (TOP_OF_HALVES - frexp(value)[1]) if 1e-30 < value < 1e30 else 1.0


def halves(
    A: torch.Tensor, scale: float, *beside: Sequence[torch.Tensor]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return float16 matrices L and R with L Rᵀ ≈ scale² A Aᵀ: rows of one meet rows of the other.

    With A scaled = high + low, each of eleven bits, the product of the low parts alone is left out.
    Small terms are added up before large ones, for matrix units cut off what they cannot hold.
    Columns of ``beside`` come last, on the left and on the right, and zeros that make their number
    one that these units like.
    """
    scaled = A * scale
    high = scaled.half()
    low = (scaled - high).half()
    columns = beside or ([], [])
    width = 3 * A.shape[1] + len(columns[0])
    room = high.new_zeros((len(A), -width % 8))
    left = torch.cat([low, high, high, *columns[0], room], dim=1)
    return left, torch.cat([high, low, high, *columns[1], room], dim=1)
