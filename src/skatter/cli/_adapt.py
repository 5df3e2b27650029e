"""``skatter adapt``: labels for the rows that have none, a model to keep, and a report to show."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from rich.console import Console
from typer import BadParameter, Option

from skatter._formatting import duration, join, percent
from skatter._notebook import Section
from skatter.adaptation import Adaptation, adapt
from skatter.adaptation._plan import AUTO, HEDGED
from skatter.adaptation._words import SCALED
from skatter.cli import _options as options
from skatter.cli._console import (
    announced,
    as_table,
    print_json,
    result_console,
    said_in_one_line,
    say_all,
    say_files,
)
from skatter.cli._files import Job, PieceByPiece, check_outputs, write_together
from skatter.methods import METHODS, get_method
from skatter.methods._entries import HEDGED_REGRESSOR
from skatter.saving import pack_model
from skatter.tables import OpenTable, open_table, read_table

MAX_NAMED = 40  # columns of one fate that are named


def adapt_file(
    file: options.TableFile,
    label: options.Label,
    out: options.Out,
    domain: options.Domain = None,
    task: options.LabelTask = None,
    method: Annotated[
        str, Option(metavar="NAME", help="auto, or a name that 'skatter methods' lists.")
    ] = AUTO,
    tune: Annotated[
        bool, Option("--tune", help="Choose the method's settings, without a target label.")
    ] = False,
    metric: options.Scored = "accuracy",
    frequencies: options.Frequencies = None,
    checked: Annotated[
        str | None,
        Option(
            metavar="FILE",
            help="The sheet that 'skatter ask' wrote, with labels filled in: they decide which "
            "model to ship.",
        ),
    ] = None,
    features: options.Features = None,
    ignore: options.Ignored = None,
    categorical: options.Categorical = None,
    na_values: options.Missing = None,
    model: Annotated[
        Path | None, Option(metavar="FILE", help="Save the model, e.g. as model.skatter.")
    ] = None,
    report: Annotated[
        Path | None, Option(metavar="FILE", help="Write a report, e.g. as report.html.")
    ] = None,
    key_file: options.KeyFile = None,
    seed: options.Seed = 0,
    force: options.Force = False,
    as_json: options.AsJson = False,
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
    shares, key = options.read_shares(frequencies), options.read_key(key_file)
    with said_in_one_line("adapt"):
        paths = check_outputs({"--out": out, "--model": model, "--report": report}, force=force)
        with announced() as say, ExitStack() as stack:
            say("reading the table")
            table = stack.enter_context(open_table(file, na_values=options.split_names(na_values)))
            result = adapt(
                table,
                label=label,
                domain=domain,
                task=task,
                method=method,
                tune=tune,
                metric=options.METRIC[metric],
                class_frequencies=_frequencies(shares, table, label),
                checked=None if checked is None else read_table(checked),
                **options.choose_columns(table.columns, features, ignore, categorical),
                random_state=seed,
                progress=say,
            )
            jobs = _jobs(result, paths, key, say)
            whole = None
            if result.sample is not None:
                whole = PieceByPiece(result.added_to, table.n_rows, say)
            add = whole or result.added_to
            say("writing the files")
            write_together(jobs, lambda: table.write_with(add, out, force=force))
            if whole is not None:
                seconds = result.seconds + whole.seconds
                result = replace(result, counts=whole.counts, seconds=seconds)
        if as_json:
            files = {option.removeprefix("--"): str(path) for option, path in paths.items()}
            print_json({**result.to_dict(), "files": files}, out)
        else:
            _show(result_console(out), result, paths)


def _frequencies(shares: dict[str, float], table: OpenTable, label: str) -> Any:
    """Return shares by the classes of a table, of which its labels alone are read."""
    if not shares or label not in table.columns:
        return None
    import pandas as pd

    return options.class_frequencies(shares, pd.concat(list(table.pieces([label]))), label)


def check_method(name: str) -> None:
    try:
        if name != AUTO:
            get_method(name)
    except ValueError:
        said = f"no method {name!r}; there are {', '.join((AUTO, *METHODS))}."
        raise BadParameter(said, param_hint="--method") from None


def _jobs(
    result: Adaptation, paths: dict[str, Path], key: bytes | None, say: Callable[[str], None]
) -> list[Job]:
    jobs: list[Job] = []
    if "--model" in paths:
        packed = pack_model(result.model, key=key)
        jobs.append((paths["--model"], lambda part: part.write_bytes(packed)))
    if "--report" in paths:
        from skatter.reporting import report

        say("making the report")
        settings, seed = {"seconds": round(result.seconds, 1)}, result.settings["random_state"]
        page = str(report(result, settings=settings, random_state=seed, progress=say))
        jobs.append((paths["--report"], lambda part: part.write_text(page, encoding="utf-8")))
    return jobs


def _show(console: Console, result: Adaptation, paths: dict[str, Path]) -> None:
    say_all(console, result.words)
    console.print()
    console.print(as_table(result.predicted))
    if result.settings["method"] in (HEDGED, HEDGED_REGRESSOR.name):
        console.print(as_table(_members(result)))
    console.print(as_table(_columns(result)))
    say_files(console, paths)
    console.print(f"It took {duration(result.seconds)}.")


def _members(result: Adaptation) -> Section:
    numbers = result.model.task == "numbers"
    what, score = ("regressor", ", R²") if numbers else ("classifier", "")
    heads = (what, "standardised", "weight", "agreement", f"held-out source labels{score}")
    lines = []
    for each in result.settings["members"]:
        held_out = each["source_score"]
        said = "-" if held_out is None else f"{held_out:.2f}" if numbers else percent(held_out, 0)
        shares = (percent(each["weight"], 0), percent(each["agreement"], 0))
        lines.append((each["name"], SCALED[each["scaling"]], *shares, said))
    return Section("Who voted", heads=heads, lines=tuple(lines), names=2)


def _columns(result: Adaptation) -> Section:
    """Say what becomes of every column, those of one fate together."""
    fates: dict[tuple[str, str], list[str]] = {}
    for plan in result.columns:
        done = plan.action if plan.used else f"{plan.action}: {plan.why}"
        fates.setdefault((plan.kind, done), []).append(plan.name)
    lines = tuple(
        (kind, done, join(names, MAX_NAMED), f"{len(names):,}")
        for (kind, done), names in fates.items()
    )
    heads = ("kind", "what is done", "columns", "number")
    return Section("Columns", heads=heads, lines=lines, names=3)
