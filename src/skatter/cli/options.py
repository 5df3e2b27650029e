"""Arguments and options that several commands take."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Annotated

import typer

TableFile = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="The table: .csv, .tsv, .parquet, .npz or .mat; - is standard input.",
        show_default=False,
    ),
]
Out = Annotated[
    str,
    typer.Option(
        "--out",
        "-o",
        metavar="FILE",
        help="Table with predictions, .parquet or .csv; - is standard output.",
        show_default=False,
    ),
]
Features = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="Look at this column alone; give it repeatedly, or several names with commas.",
    ),
]
Ignored = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="Leave this column out; give it repeatedly, or several names with commas.",
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of everything that is random.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")]


def split_names(given: Sequence[str] | None, names: Collection[str]) -> list[str]:
    """Split lists at their commas; a column that has a comma in its name is taken as it is.

    Examples
    --------
    >>> split_names(["age,dose", "a,b"], {"age", "dose", "a,b"})
    ['age', 'dose', 'a,b']
    """
    parts: list[str] = []
    for text in given or ():
        parts += [text] if text in names else [name.strip() for name in text.split(",")]
    return [part for part in parts if part]
