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

from sklearn.base import BaseEstimator

from skatter._formatting import join, number, printable, shorten

MOST_NAMES = 10  # domains, classes or candidates that are listed; the others are counted
LONGEST_NAME = 40  # letters of a name

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
    """One table of plain text: facts, each a name and a value, and lines of cells under heads.

    The first columns, as many as ``names`` says, hold names, and the others figures.
    """

    title: str
    facts: tuple[tuple[str, str], ...] = ()
    heads: tuple[str, ...] = ()
    lines: tuple[tuple[str, ...], ...] = ()
    names: int = 1
    note: str = ""


class ShowsLearnt(BaseEstimator):
    """Base of estimators that show in a notebook what they learnt.

    One implements :meth:`learnt`. ``_repr_html_`` and ``_repr_mimebundle_`` are what notebooks ask
    for; scikit-learn answers according to ``sklearn.set_config(display=...)``.
    """

    def learnt(self) -> list[Section]:
        """Return what a notebook shows of the fit, as tables of text; empty before the fit."""
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
    """Return a table of what an estimator learnt; nothing where it learnt nothing."""
    try:
        sections = estimator.learnt()
    except Exception:  # whatever state a model is in, showing it must not stop a notebook
        return ""
    if not sections:
        return ""
    tables = "".join(_table(section) for section in sections)
    return _styled(f"<details open><summary>What was learnt</summary>{tables}</details>")


def text_and_tables(
    sentences: Iterable[str], sections: Iterable[Section], *, folded: bool = False
) -> str:
    """Return sentences and tables as HTML, all of it escaped."""
    words = "".join(f"<p>{_text(sentence)}</p>" for sentence in sentences)
    show = _foldable if folded else _table
    return _styled(words + "".join(show(section) for section in sections))


def _styled(content: str) -> str:
    return f'<div class="skatter-learnt"><style>{_STYLE}</style>{content}</div>'


def say_cell(value: Any) -> str:
    """Return a value as the text of a cell; numbers with three digits that count."""
    if isinstance(value, float):
        return "–" if value != value else number(value)
    return f"{value:,}" if isinstance(value, int) else str(value)


def listed_with_counts(names: Iterable[Any], counts: Iterable[int] | None = None) -> str:
    """Return names in one line, with their counts; of many the first ones."""
    words = [shorten(_one_line(name), LONGEST_NAME) for name in names]
    if counts is not None:
        words = [f"{word} ({count:,})" for word, count in zip(words, counts, strict=True)]
    return join(words, MOST_NAMES) or "none"


def _foldable(section: Section) -> str:
    note = f"<p>{_text(section.note)}</p>" if section.note else ""
    table = f'<div style="font-family: monospace">{_lines(section)}</div>'
    return f"<details><summary>{_text(section.title)}</summary>{table}{note}</details>"


def _table(section: Section) -> str:
    facts = "".join(
        f"<tr>{_cell(name, 'th', 'row')}{_cell(value)}</tr>" for name, value in section.facts
    )
    table = f"<table><caption>{_text(section.title)}</caption>{facts}</table>"
    return table + (_lines(section) if section.heads else "")


def _lines(section: Section) -> str:
    heads = "".join(_cell(name, "th", "col") for name in section.heads)
    lines = "".join(
        f"<tr>{_cell(first, 'th', 'row')}"
        + "".join(_cell(cell, is_number=i >= section.names) for i, cell in enumerate(others, 1))
        + "</tr>"
        for first, *others in section.lines
    )
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table>"


def _cell(text: str, tag: str = "td", scope: str = "", *, is_number: bool = False) -> str:
    kind = ' class="number"' if is_number else f' scope="{scope}"' if scope else ""
    return f"<{tag}{kind}>{_text(text)}</{tag}>"


def _text(text: str) -> str:
    """Escape text, and keep its direction of writing to itself."""
    return f"<bdi>{escape(_one_line(text))}</bdi>"


def _one_line(text: Any) -> str:
    return printable(" ".join(str(text).split()))
