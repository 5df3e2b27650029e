"""What a fitted estimator learnt, as a small table that a notebook shows under its diagram.

An estimator says what it learnt as sections of plain text (:class:`Section`); here they become
HTML. All text is escaped, so that names from data stay text, and nothing is loaded from elsewhere.
An estimator that is not fitted shows scikit-learn's diagram alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

MOST_NAMES = 10
"""Domains, classes or candidates that are listed; the others are counted."""

LONGEST_NAME = 40
"""Letters of a name."""

SCATTERS = {
    "total": "total",
    "domain": "domain",
    "conditional_domain": "conditional domain",
    "between_class": "between-class",
    "within_class": "within-class",
}

_STYLE = """
.skatter-learnt {font-size: 0.9em; margin: 0.5em 0; line-height: 1.45}
.skatter-learnt summary {cursor: pointer}
.skatter-learnt table {border-collapse: collapse; margin: 0.3em 0 0.6em; background: none}
.skatter-learnt caption {text-align: left; font-weight: bold; padding: 0.3em 0; color: inherit}
.skatter-learnt tr {background: none}
.skatter-learnt th, .skatter-learnt td {padding: 0.15em 1em 0.15em 0; text-align: left;
  vertical-align: top; border: none; border-bottom: 1px solid rgba(128, 128, 128, 0.3)}
.skatter-learnt th {font-weight: normal; opacity: 0.75; white-space: nowrap}
.skatter-learnt thead th + th, .skatter-learnt td.number {text-align: right;
  font-variant-numeric: tabular-nums}
"""


@dataclass(frozen=True)
class Section:
    """One table: facts, each a name and a value, and lines under heads. All is plain text.

    Attributes
    ----------
    title : str
        What it is about.
    facts : tuple of (str, str)
        Names and values.
    heads : tuple of str
        Names of columns; the first column names its line.
    lines : tuple of tuple of str
        Cells under the heads.
    """

    title: str
    facts: tuple[tuple[str, str], ...] = ()
    heads: tuple[str, ...] = ()
    lines: tuple[tuple[str, ...], ...] = ()


class ShowsLearnt(BaseEstimator):
    """Base of estimators that show in a notebook what they learnt.

    One implements ``_learnt``. ``_repr_html_`` and ``_repr_mimebundle_`` are what notebooks ask
    for; scikit-learn answers according to ``sklearn.set_config(display=...)``.
    """

    def _learnt(self) -> list[Section]:
        """Return what was learnt; nothing where the estimator is not fitted."""
        raise NotImplementedError

    @property
    def _repr_html_(self) -> Callable[[], str]:
        diagram = super()._repr_html_  # not there where displays are text
        return lambda: diagram() + html_of(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += html_of(self)
        return bundle


def html_of(estimator: ShowsLearnt) -> str:
    """Return a table of what an estimator learnt; nothing where it learnt nothing.

    Examples
    --------
    >>> from skatter import SCA
    >>> html_of(SCA())
    ''
    """
    try:
        sections = estimator._learnt()
    except Exception:  # whatever state a model is in, showing it must not stop a notebook
        return ""
    if not sections:
        return ""
    tables = "".join(_table(section) for section in sections)
    return (
        f'<div class="skatter-learnt"><style>{_STYLE}</style>'
        f"<details open><summary>What was learnt</summary>{tables}</details></div>"
    )


# --- what the estimators say ----------------------------------------------------------------------


def learnt_components(model: Any) -> list[Section]:
    """Say what an estimator of the family of SCA learnt.

    Nothing is solved for here: a stream whose components nobody has asked for says so.
    """
    own = vars(model)
    title = type(model).__name__
    if "eigenvalues_" in own:
        return [Section(title, _component_facts(own), *_scatter_lines(own["scatter_"]))]
    if "moments_" not in own:
        return []
    cells = own["moments_"].cells
    facts = (
        ("components", "solved for when they are asked for"),
        (
            "stream",
            f"{_count(own['n_chunks_seen_'], 'chunk')}, {_count(cells.n_samples, 'sample')}",
        ),
        ("domains", listed(cells.domain_ids, cells.domain_counts)),
        ("classes", listed(cells.classes, cells.class_counts)),
    )
    return [Section(title, facts)]


def learnt_search(model: Any) -> list[Section]:
    """Say what an SCACV chose, and what its best estimator learnt."""
    own = vars(model)
    if "best_params_" not in own:
        return []
    results, best = own["cv_results_"], own["best_index_"]
    score = f"{own['best_score_']:.3f}"
    if own["criterion_"] != "accuracy":
        judged = f"{own['criterion_']} of the target's predictions, {score}"
    else:
        spread = results["std_test_score"][best]
        judged = f"accuracy on held-out source labels, {score} ± {spread:.3f} over the folds"
    chosen = ", ".join(f"{name} = {value:g}" for name, value in own["best_params_"].items())
    facts = (
        ("chosen", f"{chosen}, of {_count(len(results['params']), 'setting')}"),
        ("judged by", judged),
    )
    refitted = own.get("best_estimator_")
    return [
        Section(type(model).__name__, facts),
        *([] if refitted is None else learnt_components(refitted)),
    ]


def learnt_panel(model: Any) -> list[Section]:
    """Say how an SCAClassifier trained itself: its candidates, their rounds and agreement."""
    own = vars(model)
    if "candidates_" not in own:
        return []
    names, counts = np.unique(own["transduction_"], return_counts=True)
    facts = (
        ("samples", f"{len(own['transduction_']):,}"),
        ("classes, given or predicted", listed(names, counts)),
    )
    heads = ("samples", "ridge", "rounds", "kept", "criterion", "agreement", "weight")
    lines = tuple(
        (
            "as they are" if each.scaling == "none" else "scaled in each domain",
            f"{each.ridge:g}",
            str(len(each.rounds)),
            "–" if each.kept is None else f"round {each.kept.number}",
            "–" if each.kept is None else f"{each.kept.trust:.3g}",
            percent(each.agreement),
            percent(each.weight),
        )
        for each in own["candidates_"]
    )
    return [Section(type(model).__name__, facts, heads, lines)]


def learnt_steps(model: Any) -> list[Section]:
    """Say what the steps of a pipeline learnt, those that have something to say."""
    found = []
    for name, step in model.steps:
        for section in step._learnt() if isinstance(step, ShowsLearnt) else ():
            title = f"Step {name}: {section.title}"
            found.append(Section(title, section.facts, section.heads, section.lines))
    return found


def _component_facts(own: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    values = own["eigenvalues_"]
    spectrum = f"eigenvalues {number(values[0])} to {number(values[-1])}"
    solved = f"solved to {np.max(own['residuals_']):.0e}"
    return (
        ("components", f"{len(values)}, {spectrum}, {solved}"),
        ("route", _route(own)),
        ("domains", listed(own["domain_ids_"], own.get("domain_counts_"))),
        ("classes", listed(own["classes_"], own.get("class_counts_")))
        if own.get("label_splines") is None
        else ("labels", f"numbers, {own['label_splines']} splines"),
    )


def _route(own: dict[str, Any]) -> str:
    """Say what was solved on."""
    solver = f"solver {own['solver']}"
    if "dual_coef_" in own:
        return f"Gram matrix of {_count(own['dual_coef_'].shape[0], 'sample')}, {solver}"
    return f"moments of {_count(own['components_'].shape[1], 'explicit feature')}, {solver}"


def _scatter_lines(
    scatter: dict[str, Any],
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Return the scatters before and after, those that there are, and their shares of the total."""
    lines = []
    for name, words in SCATTERS.items():
        pair = [(getattr(scatters, name), scatters.total) for scatters in scatter.values()]
        if any(value > 0 for value, _ in pair):
            shares = [(number(value), percent(value / (total or 1))) for value, total in pair]
            lines.append((words, *shares[0], *shares[1]))
    return ("scatter", "before", "of total", "after", "of total"), tuple(lines)


# --- words and numbers ----------------------------------------------------------------------------


def listed(names: Iterable[Any], counts: Iterable[int] | None = None) -> str:
    """Return names in one line, with their counts; of many the first ones.

    Examples
    --------
    >>> listed(["here", "there"], [1200, 3])
    'here (1,200), there (3)'
    >>> listed(range(13))
    '0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 3 more'
    """
    words = [shortened(name) for name in names]
    if counts is not None:
        words = [f"{word} ({count:,})" for word, count in zip(words, counts, strict=True)]
    if len(words) > MOST_NAMES + 1:
        return f"{', '.join(words[:MOST_NAMES])} and {len(words) - MOST_NAMES} more"
    return ", ".join(words) or "none"


def shortened(name: Any) -> str:
    """Return a name in one line of printable text, long ones without their middle."""
    line = _printable(name)
    half = LONGEST_NAME // 2
    return line if len(line) <= LONGEST_NAME else f"{line[:half]}…{line[-half:]}"


def number(value: float) -> str:
    """Return three digits that count, without powers of ten where there is no need.

    Examples
    --------
    >>> number(0.0123456), number(2204.7), number(1.5e9)
    ('0.0123', '2,205', '1.5e+09')
    """
    return f"{value:,.0f}" if 999.5 <= abs(value) < 1e7 else f"{value:.3g}"


def percent(share: float) -> str:
    """Return a share in percent, with two digits that count.

    Examples
    --------
    >>> percent(0.123), percent(0.0123), percent(0.00123), percent(0.0000123), percent(0)
    ('12 %', '1.2 %', '0.12 %', '<0.01 %', '0 %')
    """
    value = 100 * float(share)
    if 0 < value < 0.005:
        return "<0.01 %"
    digits = 0 if value == 0 or value >= 9.95 else 1 if value >= 0.995 else 2
    return f"{value:.{digits}f} %"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"


# --- HTML -----------------------------------------------------------------------------------------


def _table(section: Section) -> str:
    facts = "".join(f"<tr>{_head(name, 'row')}{_cell(value)}</tr>" for name, value in section.facts)
    table = f"<table><caption>{_text(section.title)}</caption>{facts}</table>"
    if not section.heads:
        return table
    heads = "".join(_head(name, "col") for name in section.heads)
    lines = "".join(f"<tr>{_line(line)}</tr>" for line in section.lines)
    return f"{table}<table><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table>"


def _line(cells: tuple[str, ...]) -> str:
    return _head(cells[0], "row") + "".join(_cell(cell, is_number=True) for cell in cells[1:])


def _head(text: str, scope: str) -> str:
    return f'<th scope="{scope}">{_text(text)}</th>'


def _cell(text: str, *, is_number: bool = False) -> str:
    kind = ' class="number"' if is_number else ""
    return f"<td{kind}>{_text(text)}</td>"


def _text(text: str) -> str:
    """Escape text, and keep its direction of writing to itself."""
    return f"<bdi>{escape(_printable(text))}</bdi>"


def _printable(text: Any) -> str:
    return "".join(c if c.isprintable() else "�" for c in " ".join(str(text).split()))
