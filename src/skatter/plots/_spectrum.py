"""The spectrum: how much each component keeps for what it pays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from skatter._formatting import percent
from skatter.plots import _canvas as canvas
from skatter.plots._models import components_of
from skatter.sca import KPCA

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 0.9  # share that the dark bars hold together
_NUMBERED = 12  # bars that have room for a number


def plot_spectrum(model: Any, *, ax: Axes | None = None, title: str | None = None) -> Axes:
    """Draw the eigenvalues of a fitted estimator, one bar a component.

    An eigenvalue is what a component keeps, the numerator of the objective, over what it pays, the
    denominator. Numbers are shares of the sum of the eigenvalues that were kept; in kernel PCA they
    are shares of the total scatter. Dark bars are the components that hold nine tenths of it.

    Parameters
    ----------
    model : SCA, USCA, KernelFisher, KPCA, SCACV or pipeline
        Fitted; of a pipeline the step that is one of these.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.
    title : str or None
        Title of the panel; None names the estimator.

    Returns
    -------
    matplotlib Axes
        The panel; ``ax.figure`` is its figure.

    Examples
    --------
    >>> from skatter import SCA
    >>> from skatter.datasets import make_figure1
    >>> from skatter.plots import plot_spectrum
    >>> data = make_figure1()
    >>> model = SCA(n_components=3).fit(data.X, data.y, sample_domain=data.domain)
    >>> ax = plot_spectrum(model)
    >>> len(ax.patches)
    3
    """
    found = components_of(model)
    eigenvalues = np.asarray(found.eigenvalues_, dtype=float)
    whole, words = float(np.sum(eigenvalues)), "the sum of these eigenvalues"
    if isinstance(found, KPCA):
        whole, words = found.scatter_["before"].total, "the total scatter"
    shares = eigenvalues / whole if whole > 0 else np.zeros_like(eigenvalues)
    k = len(shares)
    # The components that hold most of the whole; rounding must not ask for one more.
    reached = np.flatnonzero(np.cumsum(shares) >= MOST - 1e-12)
    leading = int(reached[0]) + 1 if len(reached) else k
    if ax is None:
        ax = canvas.new_figure(figsize=(6, 4)).subplots()
    places = np.arange(1, k + 1)
    colours = np.where(places <= leading, canvas.AFTER_COLOUR, canvas.BEFORE_COLOUR).tolist()
    bars = ax.bar(places, eigenvalues, width=0.8, color=colours)
    if k <= _NUMBERED:
        ax.bar_label(bars, [percent(share, 0) for share in shares], fontsize="small", padding=2)
    note = f"together {percent(shares.sum(), 0)} of {words}"
    if leading < k:
        held = f"{'holds' if leading == 1 else 'hold'} {percent(shares[:leading].sum(), 0)}"
        note = f"{leading} of {k} components (dark) {held} of {words}"
    title = f"Spectrum of {type(found).__name__}" if title is None else title
    canvas.write_title(ax, title, note)
    ax.set(xlabel="component", ylabel="eigenvalue λ", xlim=(0.4, k + 0.6))
    ax.margins(y=0.08)
    canvas.count_in_integers(ax.xaxis)
    canvas.open_frame(ax)
    return ax
