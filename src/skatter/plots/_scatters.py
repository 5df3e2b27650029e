"""The five scatters before and after, as shares of the total scatter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from skatter._components import ScatterComponents
from skatter._formatting import percent
from skatter.diagnosis._variance import in_two_domains
from skatter.domains import Domains
from skatter.plots import _canvas as canvas
from skatter.plots._models import components_of
from skatter.scatter import Scatters

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HEIGHT = 0.36  # of a bar; two of them and a gap make a row


class Measure(NamedTuple):
    name: str
    words: str
    hope: str
    missing: str


MEASURES = (
    Measure("domain", "domain", "smaller is better", "there is one domain"),
    Measure(
        "conditional_domain",
        "conditional domain",
        "smaller is better",
        "no class is labelled in two domains",
    ),
    Measure("between_class", "between-class", "larger is better", "no two classes are labelled"),
    Measure("within_class", "within-class", "smaller is better", "no sample is labelled"),
)


def plot_scatters(
    model: Any,
    *,
    ax: Axes | None = None,
    title: str | None = None,
    names: tuple[str, str] = ("before", "after"),
) -> Axes:
    """Draw the scatters of a fitted estimator before and after, each over the total scatter.

    Before is the feature space of the kernel, after the components. Their sizes differ, so that
    scatters compare only as shares: the fifth scatter, the total, is the line at 100 %. Class
    scatters are those of the labelled samples, and may pass it. A scatter that the data do not
    have, such as domain scatter with a single domain, is named with the reason.

    Parameters
    ----------
    model : SCA, USCA, KernelFisher, KPCA, SCACV or pipeline
        Fitted; of a pipeline the step that is one of these.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.
    title : str or None
        Title of the panel; None names the estimator.
    names : tuple of two str
        What the two bars show.

    Returns
    -------
    matplotlib Axes
        The panel; ``ax.figure`` is its figure.

    Examples
    --------
    >>> from skatter import SCA
    >>> from skatter.datasets import make_figure1
    >>> from skatter.plots import plot_scatters
    >>> data = make_figure1()
    >>> model = SCA().fit(data.X, data.y, sample_domain=data.domain)
    >>> ax = plot_scatters(model)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['before', 'after']
    """
    found = components_of(model)
    pair = _shares(found, "before"), _shares(found, "after")
    # No class that is labelled in two domains: zero, and not only small.
    in_two = found.scatter_["before"].conditional_domain > 0
    absent = _reasons(len(found.domain_ids_), len(found.classes_), in_two)
    if ax is None:
        ax = canvas.new_figure(figsize=(6.5, 4)).subplots()
    from matplotlib.patheffects import withStroke

    looks = ((canvas.BEFORE_COLOUR, -_HEIGHT / 2), (canvas.AFTER_COLOUR, _HEIGHT / 2))
    for shares, name, (colour, shift) in zip(pair, names, looks, strict=True):
        bars = ax.barh(np.arange(len(MEASURES)) + shift, shares, _HEIGHT, color=colour, label=name)
        rows = zip(MEASURES, shares, strict=True)
        numbers = ["" if each.name in absent else percent(share) for each, share in rows]
        for text in ax.bar_label(bars, numbers, fontsize="small", padding=3):
            # A number may stand on the line.
            text.set_path_effects([withStroke(linewidth=3, foreground="white")])
    for row, each in enumerate(MEASURES):
        if each.name in absent:
            words = f" none: {each.missing}"
            ax.text(0, row, words, va="center", fontsize="small", color=canvas.QUIET)
    title = f"Scatters of {type(found).__name__}" if title is None else title
    canvas.write_title(ax, title, "as shares of the total scatter, the line at 100 %")
    _lay_out(ax, max(1.0, *pair[0], *pair[1]))
    return ax


def _shares(model: ScatterComponents, when: str) -> list[float]:
    scatters: Scatters = model.scatter_[when]
    if not scatters.total > 0:
        raise ValueError(
            f"The total scatter {when} is zero: all samples coincide there, and there are no "
            "shares to draw."
        )
    return [scatters.share(measure.name) for measure in MEASURES]


def absent_scatters(domains: Domains) -> dict[str, str]:
    n_classes = int(np.count_nonzero(domains.class_counts))
    return _reasons(domains.n_domains, n_classes, in_two_domains(domains))


def _reasons(n_domains: int, n_classes: int, in_two: bool) -> dict[str, str]:
    """Return the scatters that cannot be measured, and why."""
    there = (n_domains > 1, in_two, n_classes > 1, n_classes > 0)
    return {m.name: m.missing for m, has in zip(MEASURES, there, strict=True) if not has}


def _lay_out(ax: Axes, longest: float) -> None:
    ax.set_yticks(range(len(MEASURES)), [f"{m.words}\n{m.hope}" for m in MEASURES])
    ax.invert_yaxis()
    ax.axvline(1, color=canvas.QUIET, linewidth=1, linestyle=(0, (4, 3)), zorder=0)
    ax.set_xlim(0, 1.13 * longest)
    canvas.count_in_percent(ax.xaxis)
    # Above the panel, where no bar can reach it.
    place: dict[str, Any] = {"loc": "lower right", "bbox_to_anchor": (1, 1), "ncols": 2}
    ax.legend(**place, frameon=False, fontsize="small", borderpad=0)
    canvas.open_frame(ax, grid="x")
    ax.tick_params(axis="y", length=0, colors="0.15")
