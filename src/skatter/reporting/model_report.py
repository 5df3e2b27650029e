"""One HTML file that shows what a model did: :func:`report`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from skatter.adaptation.model import TableModel
from skatter.formatting import printable
from skatter.pages import (
    check_path,
    json_island,
    read_part,
    render_page,
    require_engine,
    write_page,
)
from skatter.reporting.about import citations, shown_settings, steps_of, versions
from skatter.reporting.findings import Findings, find
from skatter.reporting.model_parts import take_apart
from skatter.reporting.number_report import number_page
from skatter.reporting.samples import read_samples
from skatter.reporting.views import palette_style
from skatter.reporting.words import default_title, summary
from skatter.tables import align_columns

HERE = "skatter.reporting"
SCRIPTS = ("points.js", "rows.js", "explorer.js")


def report(
    model: Any,
    X: Any,
    y: Any = None,
    sample_domain: Any = None,
    *,
    labelled: Any = None,
    names: Sequence[str] | None = None,
    diagnosis: Any = None,
    benefit: Any = None,
    predictions: Any = None,
    settings: Mapping[str, Any] | None = None,
    title: str | None = None,
    path: str | os.PathLike[str] | None = None,
    force: bool = False,
    random_state: Any = 0,
    progress: Callable[[str], None] | None = None,
) -> str:
    """Show what a fitted model did, in one HTML file that needs nothing but a browser.

    Embeddings before and after, the five scatters, the spectrum, distances between the domains,
    accuracy where labels exist, and sliders for β, δ and k. What does not apply to the model is
    left out, with a word. The same input gives the same bytes. A table's model of numbers has a
    page of its own: what moved, the error to expect, predictions with intervals, rows to look at.

    Parameters
    ----------
    model : fitted estimator
        One of the family of SCA, :class:`~skatter.SCAClassifier`, any registered method, a
        pipeline that holds one, a search over one, or the model of
        :func:`skatter.adaptation.adapt`.
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
        What :func:`skatter.does_it_help` said. For a model of numbers, ``by_labels`` of
        :func:`skatter.adapt`; its own judgement the model brings along.
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
    str
        The page.

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
    target = None if path is None else check_path(path, force=force)
    require_engine()
    tell = progress or (lambda step: None)
    tell("reading the samples")
    if isinstance(model, TableModel) and model.task == "numbers":
        page = number_page(
            model,
            X,
            y,
            sample_domain,
            labelled=labelled,
            diagnosis=diagnosis,
            benefit=benefit,
            predictions=predictions,
            settings=settings,
            title=title,
            random_state=random_state,
            tell=tell,
        )
        if target is not None:
            write_page(target, page, force=force)
        return page
    shown = dict[Any, str]()
    if isinstance(model, TableModel):
        shown = {number: name for name, number in model.numbers.items()}
        X, sample_domain = align_columns(X, model.adapted[0]), model.ids(sample_domain)
        model = model.adapted
    parts = take_apart(model)
    numbers = getattr(parts.learner, "label_splines", None) is not None
    samples = read_samples(X, y, sample_domain, labelled, names, numbers, shown)
    found = find(parts, samples, sample_domain, predictions, random_state, tell)
    tell("writing the page")
    page = render_page(
        HERE,
        "report.html.j2",
        style="".join([palette_style(), read_part(HERE, "report.css")]),
        script="".join(read_part(HERE, name) for name in SCRIPTS),
        content=_content(found, diagnosis, benefit, settings, title),
    )
    if target is not None:
        write_page(target, page, force=force)
    return page


def _content(
    found: Findings,
    diagnosis: Any,
    benefit: Any,
    settings: Mapping[str, Any] | None,
    title: str | None,
) -> dict[str, Any]:
    """Return what the template shows."""
    parts, samples = found.parts, found.samples
    software = versions()
    name = parts.name
    return {
        "title": default_title(name, samples) if title is None else printable(title),
        "version": software["skatter"],
        "versions": software,
        "summary": summary(name, samples, found.scatters[1], found.distances, found.score, benefit),
        "diagnosis": _sentences(diagnosis),
        "benefit": [] if benefit is None else benefit.summary.split("\n")[1:],
        "found": found,
        "steps": steps_of(parts),
        "settings": shown_settings(settings),
        "citations": citations(parts),
        "island": json_island(found.to_dict()),
    }


def _sentences(diagnosis: Any) -> list[str]:
    return [] if diagnosis is None else [printable(line) for line in diagnosis.words.split("\n")]
