"""Colours that can be told from the page, whether it is light or dark."""

from __future__ import annotations

_TOO_DARK = 0.2


def page_colour(colour: str) -> str:
    """Return greys as shades of the page's ink, and dark colours lighter where the page is dark.

    Examples
    --------
    >>> page_colour("#000000")
    'color-mix(in srgb, currentColor 100%, var(--card))'
    >>> page_colour("#bd1f01")
    'light-dark(#bd1f01, color-mix(in oklab, #bd1f01 55%, white))'
    >>> page_colour("#ffa90e")
    '#ffa90e'
    """
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    if red == green == blue:
        return f"color-mix(in srgb, currentColor {100 * (1 - red):.0f}%, var(--card))"
    brightness = 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2
    if brightness > _TOO_DARK:
        return colour
    return f"light-dark({colour}, color-mix(in oklab, {colour} 55%, white))"
