"""The page of all methods, made from the registry: ``python docs/methods_page.py``.

What is said of a method stands in its own file: a row of the table in its entry, and where it
departs from its publication in the section "Notes" of its estimator's docstring.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable

from skatter.methods import METHODS, Method
from skatter.methods._generalization import Generalizer
from skatter.methods._record import Kind, say_needs

GROUPS: dict[Kind, tuple[str, str]] = {
    "features": (
        "Features",
        "`transform` gives features in which the domains lie together; any classifier may follow.",
    ),
    "classifier": ("Classifiers", "`predict` gives classes; nothing needs to follow."),
    "weights": (
        "Weights",
        "`weights_` says how much each source sample counts; a classifier of your choice is "
        "trained with them, and `predict` is its answer.",
    ),
}
"""Heading and explanation of every kind of method, in the order of the page."""

COLUMNS = ("method", "what it does", "when to reach for it", "needs", "cost of a fit", "from")

PAGE = """\
<!-- Made by `python docs/methods_page.py > docs/methods.md`: change the registry, not this. -->

# Methods

Every method learns from samples of several domains and is used in the same way, so that trying
another one means changing a name.

## How to pick

{advice}

## One interface

```python
from sklearn.neighbors import KNeighborsClassifier
from skatter import make_domain_pipeline
from skatter.methods import get_method

model = make_domain_pipeline(get_method("sca").estimator(), KNeighborsClassifier(1))
model.fit(X, y, sample_domain=site)  # all samples; y = -1, NaN or None where unknown
model.predict(X_new)  # samples of the target, seen before or not
```

`site` holds one integer or string per sample. A method that predicts is itself the last step, or
needs no pipeline at all. `get_method("sca").grid` holds values of the parameters worth trying, and
`skatter methods sca` prints all that is known of a method.

- **Source and target.** A domain without any label is the target. A target with some labels is
  told apart by its sign: name the domains by integers, the target by a negative one.
- **Several sources** are pooled, unless the table lists "several sources": such a method keeps
  them apart, or brings them together with the target.
- **One target:** a method that lists it takes exactly one. Fit one model for each, or pool several
  targets under one id. A method that does not list it takes any number of targets, or none; one
  that is made for domain generalization learns nothing from them.
- **New samples** belong to the target, unless `sample_domain` names a source that `fit` has seen.
  An answer never depends on which other samples are asked for at the same time, except where a
  method lists "a set of new samples": it must see some of a domain to predict it.
- **Which settings?** For a target that nobody has seen, choose by domains left out:
  `GridSearchCV(model, grid, cv=LeaveOneDomainOut()).fit(X, y, groups=site, sample_domain=site)`.

## The methods

Cost counts the leading operations of a fit: n samples, of which n_l are labelled, n_s from sources
and n_t from the target; p features; k components; C classes.

{table}{notes}"""

NOTES = """
## Notes

Where a method departs from its publication, or its figures from the published ones.

"""


def methods_table() -> str:
    """Return all methods as Markdown: one table for every kind of them."""
    groups = []
    for kind, (heading, explanation) in GROUPS.items():
        members = [method for method in METHODS.values() if method.kind == kind]
        if members:
            groups.append(f"### {heading}\n\n{explanation}\n\n{_rows(members)}")
    return "\n".join(groups)


def page() -> str:
    """Return the whole page: how to pick, how to use, the table and the notes."""
    return PAGE.format(advice=_advice(), table=methods_table(), notes=_notes())


def _rows(methods: Iterable[Method]) -> str:
    lines = [COLUMNS, ("---",) * len(COLUMNS), *(_cells(method) for method in methods)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _cells(method: Method) -> tuple[str, ...]:
    """Name and class, linked to the file and to notes; then what the columns say."""
    path = f"../src/{method.estimator.__module__.replace('.', '/')}.py"
    link = f"`{method.name}` [{method.estimator.__name__}]({path})"
    link = f"{link} ([note](#{method.name}))" if read_notes(method) else link
    texts = (method.summary, method.when, say_needs(method), method.cost, method.citation)
    # Markdown would read these as a border, an emphasis or a tag.
    escaped = (re.sub(r"([|*<\\])", r"\\\1", " ".join(text.split())) for text in texts)
    return (link, *escaped)


ADVICE: tuple[tuple[str, Callable[[Method], bool]], ...] = (
    (
        "The target cannot be seen yet, or there are several",
        lambda method: not {"one target", "target labels"} & set(method.needs),
    ),
    (
        "Nothing is learnt from a target, even if there is one",
        lambda method: issubclass(method.estimator, Generalizer),
    ),
    (
        "There are no labels while features are learnt",
        lambda method: not {"source labels", "target labels"} & set(method.needs),
    ),
    (
        "Some target samples are labelled, and shall help",
        lambda method: "target labels" in method.needs + method.uses,
    ),
    (
        "The sources differ among themselves, and shall not be pooled",
        lambda method: "several sources" in method.needs + method.uses,
    ),
)
"""Situations, and which methods are made for them."""


def _advice() -> str:
    lines = [
        "- **First** see what you get without any method, with the same classifier on the samples "
        "as they\n  are: adapting can hurt. Then start with `sca`."
    ]
    for situation, fits in ADVICE:
        names = [f"`{method.name}`" for method in METHODS.values() if fits(method)]
        if names:
            lines.append(f"- **{situation}:** {', '.join(names)}.")
    lines.append("- **Else** any: the tables say when to reach for each, and what it costs.")
    return "\n".join(lines)


def read_notes(method: Method) -> str:
    """Return the section "Notes" of an estimator's docstring as Markdown, or nothing."""
    text = inspect.cleandoc(method.estimator.__doc__ or "")
    found = re.search(r"^Notes\n-+\n(.*?)(?=^\S[^\n]*\n-{3,}$|\Z)", text, re.MULTILINE | re.DOTALL)
    return re.sub(r":\w+:`(?:~[\w.]*\.)?([^`]+)`", r"`\1`", found[1]).strip() if found else ""


def _notes() -> str:
    notes = {method.name: read_notes(method) for method in METHODS.values()}
    sections = [f"### {name}\n\n{text}\n" for name, text in notes.items() if text]
    return NOTES + "\n".join(sections) if sections else ""


if __name__ == "__main__":
    sys.stdout.write(page())
