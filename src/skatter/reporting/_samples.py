"""What the user gave, read once: samples, labels that the fit saw, labels that it did not see."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from skatter._checks import n_rows, take_rows
from skatter._formatting import printable, shorten
from skatter._out_of_core import backend_of
from skatter._tensors import Array, is_tensor
from skatter.domains import UNLABELLED, Codes, Domains, is_unlabelled, read_domains
from skatter.labels import classes_of, edges_of, read_numbers

MAX_DRAWN = 5000
"""Points of a picture at most; also the rows that are predicted where no predictions are given."""
MAX_MEASURED = 1500  # rows that scatters, distances and paths are computed from at most
SHOWN_FEATURES = 6  # features that are shown of a row
SHOWN_BINS = 5  # classes that labels are shown as where they are numbers


class Asked(NamedTuple):
    X: Any
    y: Any
    sample_domain: Any
    labelled: Any
    names: Sequence[str] | None
    diagnosis: Any
    benefit: Any
    by_labels: Any
    predictions: Any
    settings: Mapping[str, Any] | None
    title: str | None
    random_state: Any
    tell: Callable[[str], None]

    @property
    def drawn(self) -> str:
        given = self.settings or {}
        n_rows, n_table = given.get("n_rows"), given.get("n_rows_of_table")
        return "" if n_rows == n_table else f" These are a sample of the table's {n_table:,} rows."


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples of all domains; ``table`` and its ``columns`` are as they were written."""

    X: Any
    table: Any
    domains: Domains
    truth: Codes
    class_names: list[str]
    domain_names: list[str]
    columns: list[str]

    def written_as(self, table: Any) -> Samples:
        return replace(self, table=table, columns=_feature_names(table, None))

    @property
    def n(self) -> int:
        return self.domains.n_samples

    @property
    def hidden(self) -> NDArray[np.bool_]:
        """True where a label is known that the fit did not see."""
        return np.asarray((self.truth != UNLABELLED) & ~self.domains.labelled)

    def codes(self, names: Any) -> Codes:
        """Return classes as codes; a new class joins the others, and -1 stands for none."""
        values = np.asarray(names, dtype=object).reshape(-1)
        codes = np.full(len(values), UNLABELLED, dtype=np.intp)
        there = np.flatnonzero(~is_unlabelled(names, self.domains.classes))
        shown, place = np.unique([shown_name(values[i]) for i in there], return_inverse=True)
        known = self.class_names
        known += [name for name in shown.tolist() if name not in known]
        codes[there] = np.array([known.index(name) for name in shown], dtype=np.intp)[place]
        return codes

    def values(self, rows: Codes) -> list[list[Any]]:
        """Return the first columns of some rows, one by one: numbers, or text."""
        part = take_rows(self.table, rows)
        if hasattr(part, "iloc"):
            first = part.iloc[:, :SHOWN_FEATURES]
            columns = [np.asarray(column, dtype=object) for _, column in first.items()]
        else:
            first = part[:, :SHOWN_FEATURES]
            columns = list(np.asarray(first.toarray() if sparse.issparse(first) else first).T)
        return [[_shown_value(value) for value in column] for column in columns]


def read_samples(
    asked: Asked, numbers: bool = False, domain_names: Mapping[Any, str] | None = None
) -> Samples:
    X, y, sample_domain, labelled, names = asked[:5]
    if backend_of(X) or is_tensor(X):
        raise TypeError(
            f"X must be an array, a sparse matrix or a DataFrame, got {type(X).__name__}: give a "
            "part of it that fits in memory, X.compute() or X.numpy(force=True)."
        )
    X = X.tocsr() if sparse.issparse(X) else X if hasattr(X, "iloc") else np.asarray(X)
    if X.ndim != 2 or not X.shape[0]:
        raise ValueError(f"X must have a row for each sample, got shape {X.shape}.")
    edges = None
    if y is not None and numbers:
        values = read_numbers(y, n_samples=n_rows(X))
        edges, known = edges_of(values, SHOWN_BINS), ~np.isnan(values)
        y = classes_of(values, edges)
        labelled = known if labelled is None else known & np.asarray(labelled, dtype=bool)
    one_domain = np.zeros(n_rows(X), int) if y is None and sample_domain is None else sample_domain
    domains = read_domains(y, one_domain, labelled=labelled, n_samples=n_rows(X))
    called, classes = domain_names or {}, domains.classes.tolist()
    samples = Samples(
        X,
        X,
        domains,
        np.array(domains.label),
        [shown_name(each) if edges is None else _bin_name(each, edges) for each in classes],
        [shorten(shown_name(called.get(each, each))) for each in domains.domain_ids.tolist()],
        _feature_names(X, names),
    )
    if y is not None and labelled is not None and edges is None:
        # Labels that are there and that the fit was not shown.
        unseen = ~domains.labelled
        samples.truth[unseen] = samples.codes(y)[unseen]
    return samples


def _bin_name(code: int, edges: Array) -> str:
    low = f"above {edges[code - 1]:.4g}" if code else ""
    high = f"up to {edges[code]:.4g}" if code < len(edges) else ""
    return ", ".join(filter(None, (low, high)))


def shown_name(name: Any) -> str:
    """Return a name of the user as it is shown: every character of it can be seen."""
    return printable(int(name) if isinstance(name, float) and name.is_integer() else name)


def _shown_value(value: Any) -> Any:
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number):
        missing = value is None or value != value  # NaN and NaT differ from themselves
        return "" if missing is True else shorten(shown_name(value))
    number = float(value)
    return float(f"{number:.5g}") if np.isfinite(number) else ""


def _feature_names(X: Any, names: Sequence[str] | None) -> list[str]:
    if names is None:
        given = getattr(X, "columns", None)
        names = [f"feature {j}" for j in range(X.shape[1])] if given is None else list(given)
    if isinstance(names, str | Mapping) or len(names) != X.shape[1]:
        raise ValueError(
            f"names must hold a name for each of the {X.shape[1]} columns of X, got {len(names)}."
        )
    return [shorten(shown_name(name)) for name in names]


def draw_rows(domains: Domains, random_state: Any) -> Codes:
    """Return all rows, those first that stand for the others: draws are beginnings of it.

    A few rows of every class in every domain come first, so that no group is missing from a
    picture; all others come in random order.
    """
    mixed = check_random_state(random_state).permutation(domains.n_samples)
    cells, cell = domains.cells()
    each = max(1, min(5, MAX_MEASURED // (4 * cells.n_rows)))
    by_cell = np.argsort(cell[mixed], kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(cell, minlength=cells.n_rows))[:-1]])
    rank = np.empty(len(mixed), dtype=np.intp)
    rank[by_cell] = np.arange(len(mixed)) - starts[cell[mixed][by_cell]]
    return mixed[np.argsort(rank >= each, kind="stable")].astype(np.intp)
