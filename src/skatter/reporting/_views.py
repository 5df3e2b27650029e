"""Points of a picture: two coordinates of every drawn row, its colour, and what it is.

Coordinates travel as 16-bit integers in base64, which a browser reads without a library. Nothing
that is shown needs more.
"""

from __future__ import annotations

import base64
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from skatter._formatting import shorten
from skatter._pages import page_colour
from skatter._tensors import Array
from skatter.domains import UNLABELLED, Codes
from skatter.plots import MARKERS, PALETTE
from skatter.reporting._model_parts import Space
from skatter.sca import KPCA

FULL = 32767  # largest number of 16 bits
MAX_STYLES = len(PALETTE) * len(MARKERS)
OTHERS = "all others"


def palette_style() -> str:
    lines = []
    for i, colour in enumerate(PALETTE):
        # Near black is a colour of its own here, and must not take the ink of the text around it.
        grey = len({colour[i : i + 2] for i in (1, 3, 5)}) == 1
        readable = f"light-dark({colour}, #f4f4f4)" if grey else page_colour(colour)
        lines.append(f"  --c{i}: {readable};")
    return "\n".join([":root {", *lines, "}", ""])


class Category(NamedTuple):
    name: str
    n: int
    colour: int
    marker: int


@dataclass(frozen=True, eq=False)
class Colouring:
    key: str
    title: str
    categories: list[Category]
    codes: Codes
    grey: str = ""

    def to_dict(self) -> dict[str, Any]:
        return {
            "key": self.key,
            "categories": [category._asdict() for category in self.categories],
            "codes": self.codes.tolist(),
            "grey": self.grey,
        }


def colour_by(key: str, title: str, names: list[str], codes: Codes, grey: str = "") -> Colouring:
    """Give every category a colour, and a marker: a new one on every round through the colours."""
    counts = np.bincount(codes[codes >= 0], minlength=len(names))
    shown = np.flatnonzero(counts)
    if len(shown) > MAX_STYLES:
        shown = np.sort(np.argsort(-counts, kind="stable")[: MAX_STYLES - 1])
    place = np.full(len(names) + 1, len(shown))
    place[shown] = np.arange(len(shown))
    place[UNLABELLED] = UNLABELLED
    rounds, colours = np.divmod(np.arange(MAX_STYLES), len(PALETTE))
    categories = [
        Category(shorten(names[c]), int(counts[c]), int(colours[i]), int(rounds[i]))
        for i, c in enumerate(shown)
    ]
    rest = int(counts.sum() - counts[shown].sum())
    if rest:
        categories.append(Category(OTHERS, rest, int(colours[-1]), int(rounds[-1])))
    return Colouring(key, title, categories, place[codes], grey if (codes < 0).any() else "")


def view(space: Space, learn: Codes) -> Array:
    """Return two kernel principal components of samples, learnt from some of them."""
    kernel = "linear" if space.kernel is None else space.kernel
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # one direction can be drawn as well
        model = KPCA(2, kernel=kernel, random_state=0).fit(space.rows[learn])
    return two_columns(np.asarray(model.transform(space.rows)))


def two_columns(Z: Array) -> Array:
    """Return two columns; where there is one, heights without a meaning spread the points."""
    if Z.shape[1] > 1:
        return Z[:, :2]
    heights = np.modf(np.arange(len(Z)) * 0.6180339887498949)[0] - 0.5
    return np.column_stack([Z[:, 0], heights * (np.ptp(Z) or 1.0) / 3])


def pack_view(Z: Array) -> str:
    """Return coordinates as text: the longer side of the picture takes all 16 bits."""
    low, high = Z.min(axis=0), Z.max(axis=0)
    half = float(np.max(high - low)) / 2 or 1.0
    return pack((Z - (low + high) / 2) / half * FULL)


def pack(numbers: Array) -> str:
    """Return numbers as base64 of 16-bit integers, the lower byte first."""
    whole = np.clip(np.rint(numbers), -FULL, FULL).astype("<i2")
    return base64.b64encode(whole.tobytes()).decode("ascii")


Place = tuple[str, str, int, list[float] | None, list[float] | None]
"""Where a group of points lies: its name, what it is a group by, its rows, and its mean in both
pictures, for readers who cannot see them."""


def places(colourings: list[Colouring], before: Array, after: Array | None) -> Iterator[Place]:
    """Say where every group lies, in units of each picture's own spread."""
    scaled = [
        None if Z is None else (Z - Z.mean(axis=0)) / (Z.std() or 1.0) for Z in (before, after)
    ]
    for colouring in colourings:
        for c, category in enumerate(colouring.categories):
            own = colouring.codes == c
            was, now = (None if Z is None else Z[own].mean(axis=0).tolist() for Z in scaled)
            yield category.name, colouring.title, category.n, was, now
