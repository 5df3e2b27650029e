"""One HTML file that shows what a model did: :func:`report`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from skatter import _pages as pages
from skatter._formatting import percent, printable, shorten
from skatter.adaptation import Adaptation, TableModel
from skatter.diagnosis._samples import check_numbers
from skatter.reporting._about import about, who_voted
from skatter.reporting._findings import Findings, find
from skatter.reporting._model_parts import take_apart
from skatter.reporting._number_report import number_page
from skatter.reporting._row_lists import pick_rows
from skatter.reporting._samples import Asked, Samples, read_samples
from skatter.reporting._shift import Shift, find_shift
from skatter.reporting._views import palette_style
from skatter.reporting._words import default_title, four_questions, say_done, say_expected
from skatter.sca import learns_from_numbers
from skatter.tables import align_columns, to_numbers

HERE = "skatter.reporting"
SCRIPTS = ("points.js", "rows.js", "explorer.js")
CONTENTS = {
    "shift": "Shift",
    "accuracy": "How well",
    "rows": "Rows to look at",
    "settle": "What would settle it",
    "pictures": "Before and after",
    "scatters": "Scatters",
    "spectrum": "Spectrum",
    "distances": "Distances",
    "members": "Who voted",
    "training": "Self-training",
    "explorer": "Path explorer",
    "about": "Settings",
    "cite": "How to cite",
}


def report(
    model: Any,
    X: Any = None,
    y: Any = None,
    sample_domain: Any = None,
    *,
    labelled: Any = None,
    names: Sequence[str] | None = None,
    diagnosis: Any = None,
    benefit: Any = None,
    by_labels: Any = None,
    predictions: Any = None,
    settings: Mapping[str, Any] | None = None,
    title: str | None = None,
    path: str | os.PathLike[str] | None = None,
    force: bool = False,
    random_state: Any = 0,
    progress: Callable[[str], None] | None = None,
) -> str | Path:
    """Show what a fitted model did, in one HTML file that needs nothing but a browser.

    Four questions come first: is there a shift, and where; how well will it do there; which rows
    should I look at; what would settle it. Behind them: embeddings before and after, the five
    scatters, the spectrum, distances between the domains, and sliders for β, δ and k. What does
    not apply to the model is left out, with a word. The same input gives the same bytes.

    Parameters
    ----------
    model : Adaptation or fitted estimator
        What :func:`skatter.adapt` returned, which needs nothing else. Or one of the family of SCA,
        :class:`~skatter.SCAClassifier`, any registered method, a pipeline that holds one, a search
        over one, or the ``model`` of an adaptation.
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        The samples that it was fitted on, as they were given to it.
    y : array-like of shape (n_samples,) or None
        Classes; -1, NaN or None where unknown. For a model of numbers: numbers, NaN where unknown.
    sample_domain : array-like of shape (n_samples,) or None
        Domain of each sample.
    labelled : array-like of bool of shape (n_samples,) or None
        Which labels the fit saw. Labels in ``y`` that it did not see score it, and nothing else.
    names : sequence of str or None
        Names of the features; None: the columns of ``X``, or numbers.
    diagnosis : Diagnosis or None
        What :func:`skatter.diagnosis.diagnose` said of the samples.
    benefit : Benefit or None
        What :func:`skatter.does_it_help` said.
    by_labels : LabelVerdict, NumberVerdict or None
        What labels of the target say, as of :func:`skatter.adapt`.
    predictions : mapping, DataFrame or None
        One entry a sample: ``"predicted"``, and where known ``"confidence"`` and ``"plain"``, what
        a model says that does not adapt; or the table of :func:`skatter.adaptation.adapt`. None:
        at most 5,000 rows are predicted here.
    settings : mapping or None
        What else to show of how the model was made, such as seconds.
    title : str or None
        Heading of the page; None says which method went from where to where.
    path : path or None
        Where to write the page. It appears whole or not at all.
    force : bool
        Replace a file that is there.
    random_state : int, RandomState instance or None
        Draws the rows that are shown where there are many.
    progress : callable or None
        Told the name of each step before it starts.

    Returns
    -------
    str or Path
        The page; with ``path``, where it was written.

    Raises
    ------
    FileExistsError, FileNotFoundError, IsADirectoryError
        If ``path`` cannot be written.
    ImportError
        If jinja2 is not installed.
    TypeError, ValueError
        If something does not fit ``X``.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter import SCA, report
    >>> rng = np.random.default_rng(0)
    >>> y, site = np.tile([0, 1], 40), np.repeat(["here", "there"], 40)
    >>> X = rng.normal(size=(80, 4)) + 2 * y[:, None] + (site == "there")[:, None]
    >>> seen = site == "here"
    >>> model = SCA().fit(X, y, sample_domain=site, labelled=seen)
    >>> page = report(model, X, y, site, labelled=seen)
    >>> page[:15], "SCA: from here to there" in page
    ('<!DOCTYPE html>', True)
    """
    target = None if path is None else pages.check_path(path, force=force)
    pages.require_engine()
    tell = progress or (lambda step: None)
    tell("reading the samples")
    if isinstance(model, Adaptation):
        read, settings = model.samples, {**model.settings, **(settings or {})}
        X, y, sample_domain, labelled = read.X, read.y, read.sample_domain, read.labelled
        benefit, by_labels, predictions = model.judgement, model.by_labels, model.predictions
        model = model.model
    if X is None:
        raise TypeError("X is missing: give the samples that the model was fitted on.")
    known = (diagnosis, benefit, by_labels, predictions, settings, title, random_state, tell)
    asked = Asked(X, y, sample_domain, labelled, names, *known)
    if isinstance(model, TableModel) and model.task == "numbers":
        page = number_page(model, asked)
    else:
        page = _class_page(model, asked)
    if target is None:
        return page
    pages.write_page(target, page, force=force)
    return target


def _class_page(model: Any, asked: Asked) -> str:
    shown, prepare, label, table = dict[Any, str](), None, None, None
    if isinstance(model, TableModel):
        shown, prepare = {number: name for name, number in model.numbers.items()}, model.adapted[0]
        table, ids = asked.X, model.ids(asked.sample_domain)
        X = align_columns(table, prepare)[list(prepare.feature_names_in_)]
        asked = asked._replace(X=X, sample_domain=ids)
        model, label = model.adapted, shorten(model.label)
    parts = take_apart(model)
    samples = read_samples(asked, learns_from_numbers(parts.learner), shown)
    if table is not None:
        samples = samples.written_as(table)
    found = find(parts, samples, asked)
    asked.tell("looking for a shift")
    shift = _shift(samples, prepare, asked.diagnosis)
    asked.tell("writing the page")
    return pages.render_page(
        HERE,
        "report.html.j2",
        style=palette_style() + pages.read_part(HERE, "report.css"),
        script="".join(pages.read_part(HERE, name) for name in SCRIPTS),
        content=_content(found, shift, asked, label) | about(parts, asked.settings),
    )


def _shift(samples: Samples, prepare: Any, diagnosis: Any) -> Shift:
    """Diagnose the columns of a table, or samples that are numbers; others are not looked at."""
    X, names = samples.X, samples.columns
    if prepare is not None:
        X, names = to_numbers(samples.table, prepare)
    elif sparse.issparse(X):
        return Shift([], [])
    try:
        numbers = check_numbers(X)
    except ValueError:
        return Shift([], [])
    label = samples.domains.label if samples.domains.n_labelled else None
    return find_shift(np.asarray(numbers), names, label, samples.domains, "classes", diagnosis)


def _content(found: Findings, shift: Shift, asked: Asked, label: str | None) -> dict[str, Any]:
    name, samples = found.parts.name, found.samples
    rows = None if found.predictions is None else pick_rows(samples, found.predictions)
    benefit, by_labels, title = asked.benefit, asked.by_labels, asked.title
    members = [] if found.parts.hedge is None else who_voted(found.parts.hedge, percent)
    shown = found.shown()
    there = {**shown, "distances": found.distances, "members": members}
    questions, settled = four_questions(found, shift, rows, benefit, by_labels, label is not None)
    return {
        "title": default_title(label or name, samples) if title is None else printable(title),
        "contents": [each for each in CONTENTS.items() if there.get(each[0], True)],
        "lead": say_done(name, samples) + asked.drawn,
        "summary": questions,
        "shift": shift,
        "expected": list(say_expected(benefit, by_labels)),
        "rows": rows,
        "members": members,
        "settled": settled,
        "found": found,
        "island": pages.json_island(found.to_dict()),
        **shown,
    }
