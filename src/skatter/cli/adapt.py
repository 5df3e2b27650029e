"""``skatter adapt``: labels for the rows that have none, a model to keep, and a report to show."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from skatter.adaptation import Adaptation, adapt
from skatter.adaptation.model import Answer
from skatter.adaptation.plan import AUTO
from skatter.methods import METHODS, get_method
from skatter.saving import save_model
from skatter.tables import (
    ColumnPlan,
    TableError,
    check_target,
    printable,
    read_table,
    table_kind,
    write_atomically,
    write_table,
)

STANDARD = "-"
"""Standard input or output."""

EXPECTED = (ValueError, OSError, MemoryError, ImportError)
"""What goes wrong with a table, a file or a missing library, and is said in one line."""

MAX_LISTED = 12
"""Classes that are listed one by one."""

LEFT_OUT = "left out"
"""What is done to a column that is not used."""

Job = tuple[Path, Callable[[Path], object]]


def adapt_file(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="The table: .csv, .tsv, .parquet, .npz or .mat; - is standard input.",
            show_default=False,
        ),
    ],
    label: Annotated[
        str,
        typer.Option(
            "--label",
            "-l",
            metavar="COLUMN",
            help="Column of classes; its cells are empty where the row is to be predicted.",
            show_default=False,
        ),
    ],
    out: Annotated[
        str,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Table with predictions, .parquet or .csv; - is standard output.",
            show_default=False,
        ),
    ],
    domain: Annotated[
        str | None,
        typer.Option(
            "--domain",
            "-d",
            metavar="COLUMN",
            help="Column that says where a row comes from. Without it, rows with a label are one "
            "domain and rows without another.",
        ),
    ] = None,
    method: Annotated[
        str, typer.Option(metavar="NAME", help="auto, or a name that 'skatter methods' lists.")
    ] = AUTO,
    tune: Annotated[
        bool, typer.Option("--tune", help="Choose the method's settings, without a target label.")
    ] = False,
    features: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Learn from this column; may be given repeatedly."),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Leave this column out; may be given repeatedly."),
    ] = None,
    model: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Save the model, e.g. as model.skops.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a report, e.g. as report.html.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything that is random.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")] = False,
) -> None:
    """Predict the labels that a table lacks, from those that it has in other domains.

    Rows whose label cell is empty are predicted, with a confidence, by a model that adapts to them.
    A plain model that does not adapt is fitted beside it; the two are compared without a label of
    the target, and the better one fills the column predicted_LABEL. All columns and the order of
    the rows are kept.

    Example:

    skatter adapt digits.csv --label digit --domain collection --out predictions.parquet
    --model model.skops --report report.html
    """
    check_method(method)
    with said_in_one_line("adapt"):
        paths = check_outputs({"--out": out, "--model": model, "--report": report}, force=force)
        with announced() as say:
            say("reading the table")
            frame = read_table(file)
            result = adapt(
                frame,
                label=label,
                domain=domain,
                method=method,
                tune=tune,
                features=features or None,
                ignore=ignore or (),
                random_state=seed,
                progress=say,
            )
            jobs = _jobs(result, paths, say)
            say("writing the files")
            write_together(jobs, lambda: write_table(result.predictions, out, force=force))
        _show(result_console(out), result, paths)


# --- what both commands share ---------------------------------------------------------------------


def check_method(name: str) -> None:
    """Refuse a method that is not there as wrong usage."""
    if name != AUTO:
        try:
            get_method(name)
        except ValueError:
            known = ", ".join((AUTO, *METHODS))
            raise typer.BadParameter(
                f"no method {name!r}; there are {known}.", param_hint="--method"
            ) from None


@contextmanager
def said_in_one_line(command: str) -> Iterator[None]:
    """Turn what goes wrong into one line on the error stream, and warnings into notes."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", UserWarning)
        try:
            yield
        except EXPECTED as error:
            text = str(error) or type(error).__name__
            typer.echo(f"skatter {command}: {printable(text)}", err=True)
            raise typer.Exit(1) from None
    for text in dict.fromkeys(str(each.message).splitlines()[0] for each in heard):
        typer.echo(f"Note: {printable(text)}", err=True)


@contextmanager
def announced() -> Iterator[Callable[[str], None]]:
    """Show the step at work on the error stream, where it is a terminal."""
    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as progress:
        task = progress.add_task("", total=None)
        yield lambda step: progress.update(task, description=printable(step))


def check_outputs(targets: dict[str, Any], *, force: bool) -> dict[str, Path]:
    """Check that all files can be written, before any work; return those that are asked for."""
    paths: dict[str, Path] = {}
    for name, target in targets.items():
        if target is None or str(target) == STANDARD:
            continue
        path = check_target(target, force=force, name=name)
        if any(path.resolve() == other.resolve() for other in paths.values()):
            raise TableError(f"{name}: {path} is named twice; give each output its own file.")
        paths[name] = path
    if "--out" in paths:
        table_kind(paths["--out"])
    return paths


def write_together(jobs: Sequence[Job], last: Callable[[], object]) -> None:
    """Write several files: all of them are complete before the first one gets its name.

    Parameters
    ----------
    jobs : sequence of (Path, callable)
        Files, and what writes each of them to the path that it is given.
    last : callable
        Writes one more file, or to standard output, when the others are complete.
    """
    if not jobs:
        last()
        return
    (path, write), *others = jobs

    def write_this_then_others(part: Path) -> None:
        write(part)
        write_together(others, last)

    write_atomically(path, write_this_then_others)


def result_console(out: str) -> Console:
    """Speak on standard output, unless the table goes there."""
    return Console(stderr=out == STANDARD, highlight=False)


def say_all(console: Console, sentences: Iterable[str]) -> None:
    """Print sentences, the first one bold."""
    for place, sentence in enumerate(sentences):
        console.print(Text(printable(sentence), style="" if place else "bold"))


def say_files(console: Console, paths: dict[str, Path]) -> None:
    """Print where the files are, never broken into lines."""
    names = {"--out": "Predictions", "--model": "Model", "--report": "Report"}
    for option, path in paths.items():
        console.print(Text(f"{names[option]}: {printable(str(path))}"), soft_wrap=True)


# --- files ----------------------------------------------------------------------------------------


def _jobs(result: Adaptation, paths: dict[str, Path], say: Callable[[str], None]) -> list[Job]:
    """Return what is written beside the predictions."""
    jobs: list[Job] = []
    if "--model" in paths:
        jobs.append((paths["--model"], lambda part: save_model(result.model, part)))
    if "--report" in paths:
        page = _report(result, say)
        jobs.append((paths["--report"], lambda part: part.write_text(page, encoding="utf-8")))
    return jobs


def _report(result: Adaptation, say: Callable[[str], None]) -> str:
    from skatter.reporting import report

    samples = result.samples
    say("making the report")
    return report(
        result.model,
        samples.X,
        samples.y,
        samples.sample_domain,
        labelled=samples.labelled,
        benefit=result.benefit,
        predictions=result.predictions,
        settings={**result.settings, "seconds": round(result.seconds, 1)},
        random_state=result.settings["random_state"],
        progress=say,
    )


# --- words ----------------------------------------------------------------------------------------


def _show(console: Console, result: Adaptation, paths: dict[str, Path]) -> None:
    say_all(console, result.words)
    console.print()
    console.print(class_table(result.answer, result.model.label))
    console.print(_columns(result))
    say_files(console, paths)
    console.print(f"It took {result.seconds:.0f} s.")


def class_table(answer: Answer, label: str) -> Table:
    """Lay out how many rows each class got, the most frequent first, and how sure the model is."""
    names, counts = np.unique(answer.label, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    table = Table(title="Predicted", title_justify="left", title_style="bold")
    table.add_column(Text(printable(label)))
    table.add_column("rows", justify="right")
    table.add_column("mean confidence", justify="right")
    for place in order[:MAX_LISTED]:
        sure = float(answer.confidence[answer.label == names[place]].mean())
        table.add_row(
            Text(printable(str(names[place]))),
            f"{counts[place]:,}",
            "-" if np.isnan(sure) else f"{sure:.2f}",
        )
    if len(order) > MAX_LISTED:
        left = order[MAX_LISTED:]
        table.add_row(f"{len(left):,} others", f"{counts[left].sum():,}", "")
    return table


def _columns(result: Adaptation) -> Table:
    """Lay out what becomes of the columns, those of one fate together."""
    fates: dict[tuple[str, str], list[ColumnPlan]] = {}
    for plan in result.columns:
        fates.setdefault((plan.kind, plan.action), []).append(plan)
    table = Table(title="Columns", title_justify="left", title_style="bold")
    table.add_column("kind")
    table.add_column("columns", justify="right")
    table.add_column("what is done")
    table.add_column("such as", overflow="fold")
    for (kind, action), plans in fates.items():
        first = plans[0]
        example = f"{first.name} ({first.why})" if action == LEFT_OUT else first.name
        table.add_row(kind, f"{len(plans):,}", action, Text(printable(example)))
    return table
