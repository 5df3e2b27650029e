"""What happened while an SCAClassifier trained itself, round by round."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from skatter._formatting import percent
from skatter.plots import _canvas as canvas
from skatter.plots._models import classifier_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PANELS = {
    "trust": "Criterion",
    "changed": "Predictions that changed",
    "agreement": "Votes for the winning class",
}
"""Attribute of a round, and what its panel shows."""
_COLOURS = dict(zip(("none", "ranks", "domain"), canvas.PALETTE, strict=False))
_MARKERS = "o^sDvPX*"


def plot_rounds(classifier: Any, *, title: str | None = None) -> Figure:
    """Draw what happened while an SCAClassifier trained itself: one line a candidate.

    Three panels over the rounds: the criterion that each round is judged by, larger is better; the
    share of the predictions that differ from the round before; and the mean share of the votes
    that the winning class had. A large marker is the round that was kept, the one with the highest
    criterion. A wider line weighs more in the final vote; a dotted one has no vote.

    Parameters
    ----------
    classifier : SCAClassifier or pipeline
        Fitted with unlabelled samples; of a pipeline the step that is one.
    title : str or None
        Title of the whole figure.

    Returns
    -------
    matplotlib Figure
        Three panels.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter import SCAClassifier
    >>> from skatter.datasets import make_figure1
    >>> from skatter.plots import plot_rounds
    >>> data = make_figure1()
    >>> known = np.where(data.domain == "source", data.y, -1)
    >>> model = SCAClassifier(n_rounds=3).fit(data.X, known, sample_domain=data.domain)
    >>> figure = plot_rounds(model)
    >>> [ax.get_title(loc="left") for ax in figure.axes]
    ['Criterion', 'Predictions that changed', 'Votes for the winning class']
    """
    candidates = classifier_of(classifier).candidates_
    if not any(candidate.rounds for candidate in candidates):
        raise ValueError(
            "The SCAClassifier was fitted without unlabelled samples: there were no rounds to draw."
        )
    figure = canvas.new_figure(figsize=(11, 3.8))
    axes = figure.subplots(1, len(PANELS))
    heaviest, ridges = max(c.weight for c in candidates), sorted({c.ridge for c in candidates})
    for ax, (attribute, words) in zip(axes, PANELS.items(), strict=True):
        for candidate in candidates:
            look: dict[str, Any] = {
                "color": _COLOURS[candidate.scaling],
                "marker": _MARKERS[ridges.index(candidate.ridge) % len(_MARKERS)],
                "linewidth": 0.8 + 1.6 * candidate.weight / heaviest,
                "linestyle": "-" if candidate.weight > 0 else ":",
            }
            numbers = [each.number for each in candidate.rounds]
            values = [getattr(each, attribute) for each in candidate.rounds]
            ax.plot(numbers, values, markersize=3.5, gid="candidate", **look)
            kept = candidate.kept
            if kept is not None:
                look |= {"linestyle": "", "markersize": 9, "markeredgecolor": "white"}
                ax.plot([kept.number], [getattr(kept, attribute)], **look)
        ax.set_title(words, loc="left", fontsize="medium")
        ax.set_xlabel("round")
        canvas.count_in_integers(ax.xaxis)
        if attribute != "trust":
            canvas.count_in_percent(ax.yaxis)
        canvas.open_frame(ax, grid="y")
    rounds = [each for candidate in candidates for each in candidate.rounds]
    later = max((each.changed for each in rounds if each.number > 1), default=0.0)
    if later > 0:  # in a first round all is new: lines come in from above, or it would flatten them
        axes[1].set_ylim(-0.04 * later, 1.15 * later)
    scaling = {"none": "as they are", "domain": "scaled", "ranks": "ranks"}
    names = [f"{scaling[c.scaling]}, {c.ridge:g}: {percent(c.weight)}" for c in candidates]
    handles = [line for line in axes[-1].lines if line.get_gid() == "candidate"]
    canvas.legend_beside(axes[-1], handles, names, title="samples, ridge: weight")
    if title is not None:
        figure.suptitle(title)
    canvas.add_note(figure, "Large markers: the round that was kept, with the highest criterion.")
    return figure
