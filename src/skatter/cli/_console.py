"""How commands speak: results on one stream, progress and what goes wrong on the other."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table
from rich.text import Text

from skatter._formatting import printable
from skatter._notebook import Section
from skatter.cli._files import STANDARD

EXPECTED = (ValueError, OSError, MemoryError, ImportError)
"""What goes wrong with a table, a file or a missing library, and is said in one line."""


@contextmanager
def said_in_one_line(command: str) -> Iterator[None]:
    """Turn what goes wrong into one line on the error stream, and warnings into notes."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", UserWarning)
        try:
            yield
        except BrokenPipeError:
            raise  # the reader has seen enough, as in "| head": typer ends without a word
        except EXPECTED as error:
            said = printable(str(error) or type(error).__name__)
            typer.echo(f"skatter {command}: {said}", err=True)
            raise typer.Exit(1) from None
    for text in dict.fromkeys(str(each.message).splitlines()[0] for each in heard):
        typer.echo(f"Note: {printable(text)}", err=True)


@contextmanager
def announced(n_steps: int | None = None) -> Iterator[Callable[[str], None]]:
    """Show the step at work on the error stream, where it is a terminal; count them if known."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda step: None
        return
    counted = () if n_steps is None else (BarColumn(), MofNCompleteColumn())
    words = TextColumn("{task.description}", markup=False)
    with Progress(
        SpinnerColumn(), words, *counted, TimeElapsedColumn(), console=console, transient=True
    ) as progress:
        task = progress.add_task("", total=n_steps)

        def say(step: str) -> None:
            progress.update(task, description=printable(step), advance=int(n_steps is not None))

        yield say


def result_console(out: str) -> Console:
    return Console(stderr=out == STANDARD, highlight=False)


def print_json(content: Mapping[str, Any], out: str = "") -> None:
    stream = sys.stderr if out == STANDARD else sys.stdout
    json.dump(content, stream, indent=2, allow_nan=False)
    stream.write("\n")


def as_table(section: Section) -> Table:
    table = Table(title=section.title, title_justify="left", title_style="bold")
    for place, head in enumerate(section.heads):
        side: Literal["left", "right"] = "left" if place < section.names else "right"
        table.add_column(Text(printable(head)), justify=side, overflow="fold")
    for line in section.lines:
        table.add_row(*(Text(printable(cell)) for cell in line))
    return table


def say_all(console: Console, sentences: Iterable[str]) -> None:
    for place, sentence in enumerate(sentences):
        console.print(Text(printable(sentence), style="" if place else "bold"))


def say_files(console: Console, paths: dict[str, Path]) -> None:
    names = {"--out": "Predictions", "--model": "Model", "--report": "Report"}
    for option, path in paths.items():
        console.print(Text(f"{names[option]}: {printable(str(path))}"), soft_wrap=True)
