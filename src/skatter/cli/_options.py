"""Arguments and options that several commands take."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from typer import Argument, BadParameter, Option

from skatter._files import read_regular
from skatter._formatting import listed
from skatter.adaptation._sheet import class_code
from skatter.hedging._champion import Metric
from skatter.labels import Task
from skatter.tables import TableError, read_labels

if TYPE_CHECKING:
    import pandas as pd

label_option = partial(Option, "--label", "-l", metavar="COLUMN")
domain_option = partial(Option, "--domain", "-d", metavar="COLUMN")
out_option = partial(Option, "--out", "-o", metavar="FILE")
TableFile = Annotated[
    str,
    Argument(
        metavar="FILE",
        help="The table: .csv, .tsv, .xlsx, .parquet, .npz or .mat; - is standard input.",
    ),
]
Label = Annotated[
    str,
    label_option(
        help="Column of classes or numbers; its cells are empty where the row is to be predicted."
    ),
]
Domain = Annotated[
    str | None,
    domain_option(
        help="Column that says where a row comes from. Without it, rows with a label are one "
        "domain and rows without another."
    ),
]
Out = Annotated[
    str, out_option(help="Table with predictions, .parquet or .csv; - is standard output.")
]
_AGAIN = "give it repeatedly, or several names with commas."
Features = Annotated[
    list[str] | None, Option(metavar="COLUMN", help=f"Look at this column alone; {_AGAIN}")
]
Ignored = Annotated[
    list[str] | None, Option(metavar="COLUMN", help=f"Leave this column out; {_AGAIN}")
]
Categorical = Annotated[
    list[str] | None,
    Option(
        metavar="COLUMN",
        help="Take the numbers of this column for names of categories; repeatedly, or with commas.",
    ),
]
Missing = Annotated[
    list[str] | None,
    Option(
        metavar="TEXT",
        help="What stands for an empty cell beside NA and the like, such as ? or -99; repeatedly, "
        "or with commas.",
    ),
]
Score = Literal["accuracy", "balanced-accuracy"]
Scored = Annotated[Score, Option(help="What counts.")]
METRIC: dict[Score, Metric] = {"accuracy": "accuracy", "balanced-accuracy": "balanced accuracy"}
"""What the functions call it."""
LabelTask = Annotated[
    Task | None, Option(help="What the labels are, where they do not tell it themselves.")
]
Frequencies = Annotated[
    str | None,
    Option(
        metavar="SHARES",
        help="How frequent the classes are in the target, where that is known, such as "
        "yes=0.1,no=0.9; every class needs its share.",
    ),
]
Seed = Annotated[int, Option(min=0, help="Seed of everything that is random.")]
KeyFile = Annotated[
    Path | None,
    Option(
        metavar="FILE", help="Holds the secret that signs the model, 16 bytes or more as they are."
    ),
]
AsJson = Annotated[bool, Option("--json", help="Print everything as JSON, for scripts.")]
Force = Annotated[bool, Option("--force", help="Overwrite files that exist.")]


def read_key(path: Path | None) -> bytes | None:
    try:
        return None if path is None else read_regular(path, limit=2**16)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BadParameter(f"{path}: {reason}.", param_hint="--key-file") from error


def split_names(given: Sequence[str] | None, names: Collection[str] = ()) -> list[str]:
    """Split lists at their commas; a column that has a comma in its name is taken as it is."""
    parts: list[str] = []
    for text in given or ():
        parts += [text] if text in names else [name.strip() for name in text.split(",")]
    return [part for part in parts if part]


def choose_columns(
    names: Collection[str],
    features: Sequence[str] | None,
    ignore: Sequence[str] | None,
    categorical: Sequence[str] | None,
) -> dict[str, Any]:
    """Return what functions take in the place of the three options that choose columns."""
    return {
        "features": split_names(features, names) or None,
        "ignore": split_names(ignore, names),
        "categorical": split_names(categorical, names),
    }


def read_shares(given: str | None) -> dict[str, float]:
    """Return shares of classes, by the names that were given; wrong usage is refused."""
    shares: dict[str, float] = {}
    for part in given.split(",") if given is not None else ():
        name, equals, number = part.rpartition("=")
        name = name.strip()
        if not equals or not name:
            raise _bad_shares(f"{part.strip()!r} is not like yes=0.1.")
        if name in shares:
            raise _bad_shares(f"{name!r} is there twice.")
        try:
            shares[name] = float(number)
        except ValueError:
            raise _bad_shares(f"{number.strip()!r} is no number.") from None
        if not 0 <= shares[name] < np.inf:
            raise _bad_shares(f"{number.strip()} is no share; give numbers from 0 on.")
    return shares


def _bad_shares(reason: str) -> BadParameter:
    return BadParameter(reason, param_hint="--frequencies")


def class_frequencies(
    shares: dict[str, float], frame: pd.DataFrame, label: str
) -> dict[Any, float] | None:
    """Return shares by the classes of a table; all of them must be named."""
    if not shares or label not in frame.columns:
        return None
    values, known = read_labels(frame[label])
    classes = np.unique(np.array(values[known].tolist()))
    codes = {name: class_code(name, classes, "--frequencies") for name in shares}
    missing = np.delete(classes, list(codes.values())).tolist()
    if missing:
        raise TableError(f"--frequencies: every class needs its share, {listed(missing)} too.")
    return {classes[codes[name]].item(): share for name, share in shares.items()}
