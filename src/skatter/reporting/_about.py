"""Small print of the report: settings, versions, whom to cite."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from skatter._formatting import printable, shorten
from skatter._versions import versions
from skatter.adaptation._words import SCALED
from skatter.hedging import HedgedClassifier, HedgedRegressor
from skatter.reporting._model_parts import ModelParts

PAPER = (
    "M. Ghifary, D. Balduzzi, W. B. Kleijn, M. Zhang: Scatter Component Analysis: A Unified "
    "Framework for Domain Adaptation and Domain Generalization. IEEE TPAMI 39(7), 2017, "
    "arXiv:1510.04373."
)
_LONGEST = 400  # characters of a setting that are shown
_MOST = 6  # entries of a list that are shown


def about(parts: ModelParts, settings: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what the foot of a page shows, and the version that every page has."""
    software, own = versions(), parts.citation
    cited = [] if not own or "Scatter Component Analysis" in own else [own]
    # Members have a table of their own.
    shown = {name: value for name, value in (settings or {}).items() if name != "members"}
    return {
        "version": software["skatter"],
        "versions": software,
        "steps": list(_steps_of(parts)),
        "settings": list(shown_settings(shown)),
        "citations": [*cited, PAPER],
    }


def who_voted(
    hedge: HedgedClassifier | HedgedRegressor, say: Callable[[float], str]
) -> list[tuple[Any, ...]]:
    return [
        (
            each.name,
            SCALED[each.scaling],
            each.weight,
            each.agreement,
            None if each.source_score is None else say(each.source_score),
        )
        for each in sorted(hedge.members_, key=lambda each: -each.weight)
    ]


def _steps_of(parts: ModelParts) -> Iterator[tuple[str, str]]:
    steps = [step for step in (*parts.head, parts.learner) if step is not None]
    for step in steps or [parts.model]:
        given = step.get_params(deep=False) if hasattr(step, "get_params") else {}
        said = (f"{name}={_said(value)}" for name, value in sorted(given.items()))
        yield type(step).__name__, ", ".join(said) or "no parameters"


def shown_settings(settings: Mapping[Any, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """Yield settings as names and words; what is inside others gets a name with a dot."""
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from shown_settings(value, f"{above}{name}.")
        elif value or not isinstance(value, str | list | tuple):
            yield printable(f"{above}{name}"), _said(value)


def _said(value: Any) -> str:
    """Return a value in words that do not change from run to run."""
    if isinstance(value, float | np.floating):
        text = f"{value:.6g}"
    elif callable(value):
        text = str(getattr(value, "__name__", type(value).__name__))
    elif isinstance(value, list | tuple) and value:
        shown = [_said(each) for each in value[:_MOST]]
        more = len(value) - len(shown)
        text = "; ".join([*shown, f"and {more:,} more"] if more else shown)
    else:
        text = printable(" ".join(str(value).split()))
    return shorten(text, _LONGEST)
