"""Pictures: representations, spectra, scatters, distances of domains, paths and rounds.

Matplotlib is imported when a picture is drawn, never before. Figures are made without pyplot, so
no backend, window or setting of the session is touched; show one as the last line of a notebook
cell or save it with ``figure.savefig``. Colours stay apart under colour-vision deficiencies, and
nothing is told by colour alone.
"""

from skatter.plots._canvas import MARKERS, PALETTE, UNLABELLED_COLOUR
from skatter.plots._distances import domain_distances, plot_domain_distances
from skatter.plots._embedding import MAX_POINTS, plot_before_after, plot_embedding
from skatter.plots._path import Path, plot_path, solve_path
from skatter.plots._rounds import plot_rounds
from skatter.plots._scatters import plot_scatters
from skatter.plots._spectrum import plot_spectrum

__all__ = [
    "MARKERS",
    "MAX_POINTS",
    "PALETTE",
    "UNLABELLED_COLOUR",
    "Path",
    "domain_distances",
    "plot_before_after",
    "plot_domain_distances",
    "plot_embedding",
    "plot_path",
    "plot_rounds",
    "plot_scatters",
    "plot_spectrum",
    "solve_path",
]
