"""``skatter adapt``: labels for the rows that have none, a model to keep, and a report to show."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from skatter.adaptation import Adaptation, adapt
from skatter.adaptation.model import Answer
from skatter.adaptation.plan import AUTO, HEDGED
from skatter.adaptation.words import SCALED, quantiles
from skatter.cli.console import announced, result_console, said_in_one_line, say_all, say_files
from skatter.cli.files import Job, check_outputs, write_together
from skatter.cli.options import (
    METRIC,
    Domain,
    Features,
    Force,
    Frequencies,
    Ignored,
    KeyFile,
    Label,
    LabelTask,
    Out,
    Scored,
    Seed,
    TableFile,
    class_frequencies,
    read_key,
    read_shares,
    split_names,
)
from skatter.formatting import printable
from skatter.methods import METHODS, get_method
from skatter.methods.hedging import HEDGED_REGRESSOR
from skatter.saving import pack_model
from skatter.tables import (
    ColumnPlan,
    open_table,
    read_table,
)

MAX_LISTED = 12
"""Classes that are listed one by one."""

LEFT_OUT = "left out"
"""What is done to a column that is not used."""


def adapt_file(
    file: TableFile,
    label: Label,
    out: Out,
    domain: Domain = None,
    task: LabelTask = None,
    method: Annotated[
        str, typer.Option(metavar="NAME", help="auto, or a name that 'skatter methods' lists.")
    ] = AUTO,
    tune: Annotated[
        bool, typer.Option("--tune", help="Choose the method's settings, without a target label.")
    ] = False,
    metric: Scored = "accuracy",
    frequencies: Frequencies = None,
    checked: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="The sheet that 'skatter ask' wrote, with labels filled in: they decide which "
            "model to ship.",
        ),
    ] = None,
    features: Features = None,
    ignore: Ignored = None,
    model: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Save the model, e.g. as model.skatter.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a report, e.g. as report.html.")
    ] = None,
    key_file: KeyFile = None,
    seed: Seed = 0,
    force: Force = False,
) -> None:
    """Predict the labels that a table lacks, from those that it has in other domains.

    Rows whose label cell is empty are predicted, with a confidence, by a model that adapts to them.
    A plain model that does not adapt is fitted beside it; the two are compared without a label of
    the target, and the better one fills the column predicted_LABEL. All columns and the order of
    the rows are kept. A few labels are surer than any comparison without: 'skatter ask' says which
    rows to label, and --checked takes them.

    Example:

    skatter adapt digits.csv --label digit --domain collection --out predictions.parquet
    --model model.skatter --report report.html
    """
    check_method(method)
    shares, key = read_shares(frequencies), read_key(key_file)
    with said_in_one_line("adapt"):
        paths = check_outputs({"--out": out, "--model": model, "--report": report}, force=force)
        with announced() as say, ExitStack() as stack:
            say("reading the table")
            table = stack.enter_context(open_table(file))
            frame = table.frame
            result = adapt(
                frame,
                label=label,
                domain=domain,
                task=task,
                method=method,
                tune=tune,
                metric=METRIC[metric],
                class_frequencies=class_frequencies(shares, frame, label),
                checked=None if checked is None else read_table(checked),
                features=split_names(features, frame.columns) or None,
                ignore=split_names(ignore, frame.columns),
                random_state=seed,
                progress=say,
            )
            jobs = _jobs(result, paths, key, say)
            say("writing the files")
            added = result.predictions.iloc[:, frame.shape[1] :]
            write_together(jobs, lambda: table.write_with(added, out, force=force))
        _show(result_console(out), result, paths)


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


# --- files ----------------------------------------------------------------------------------------


def _jobs(
    result: Adaptation, paths: dict[str, Path], key: bytes | None, say: Callable[[str], None]
) -> list[Job]:
    """Return what is written beside the predictions."""
    jobs: list[Job] = []
    if "--model" in paths:
        jobs.append(
            (paths["--model"], lambda part: part.write_bytes(pack_model(result.model, key=key)))
        )
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
        benefit=result.judgement if result.model.task == "classes" else result.by_labels,
        predictions=result.predictions,
        settings={**result.settings, "seconds": round(result.seconds, 1)},
        random_state=result.settings["random_state"],
        progress=say,
    )


# --- words ----------------------------------------------------------------------------------------


def _show(console: Console, result: Adaptation, paths: dict[str, Path]) -> None:
    say_all(console, result.words)
    console.print()
    console.print(answer_table(result.answer, result.model.label))
    if result.settings["method"] in (HEDGED, HEDGED_REGRESSOR.name):
        console.print(_members(result))
    console.print(_columns(result))
    say_files(console, paths)
    console.print(f"It took {result.seconds:.0f} s.")


def answer_table(answer: Answer, label: str) -> Table:
    """Lay out what was predicted: classes and how many rows, or how numbers are spread."""
    return _class_table(answer, label) if answer.interval is None else _number_table(answer, label)


def _number_table(answer: Answer, label: str) -> Table:
    """Lay out quantiles of the predictions, with the ends of their intervals."""
    table = Table(title="Predicted", title_justify="left", title_style="bold")
    for name in ("rows", printable(label), "low", "high"):
        table.add_column(Text(name), justify="left" if name == "rows" else "right")
    for name, values in quantiles(answer):
        table.add_row(name, *(f"{value:.4g}" for value in values))
    return table


def _class_table(answer: Answer, label: str) -> Table:
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


def _members(result: Adaptation) -> Table:
    """Lay out who voted, how much each counted, and why."""
    table = Table(title="Who voted", title_justify="left", title_style="bold")
    numbers = result.model.task == "numbers"
    table.add_column("regressor" if numbers else "classifier")
    table.add_column("standardised")
    for head in ("weight", "agreement", f"held-out source labels{', R²' if numbers else ''}"):
        table.add_column(head, justify="right")
    for each in result.settings["members"]:
        known = each["source_score"]
        table.add_row(
            each["name"],
            SCALED[each["scaling"]],
            f"{each['weight']:.0%}",
            f"{each['agreement']:.0%}",
            "-" if known is None else f"{known:.2f}" if numbers else f"{known:.0%}",
        )
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
