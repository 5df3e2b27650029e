"""Pictures for the gallery: what the last line of a block is, if it is a figure.

The figures of :mod:`skatter.plots` are made without pyplot, so that no session is touched; the
gallery's own way finds those of pyplot alone.
"""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst


def _get_sg_image_scraper():
    return scrape


def scrape(block, block_vars, gallery_conf):
    """Save the figure at the end of a block, and return the text that shows it."""
    last = block_vars["example_globals"].get("___")
    figure = last.figure if isinstance(last, Axes) else last
    if not isinstance(figure, Figure):
        return ""
    path = next(block_vars["image_path_iterator"])
    figure.savefig(path, format="png", dpi=110)
    return figure_rst([path], gallery_conf["src_dir"], fig_titles=block_vars.get("title", ""))
