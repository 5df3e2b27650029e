"""``skatter diagnose``: whether there is a shift in a table, where, and in what."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator, Sequence
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.text import Text

from skatter.adaptation.task import MANY_VALUES
from skatter.cli.console import announced, said_in_one_line
from skatter.cli.options import Features, Ignored, LabelTask, Seed, TableFile, split_names
from skatter.diagnosis import Diagnosis, diagnose
from skatter.diagnosis.layout import prose
from skatter.formatting import printable, quoted
from skatter.tables import (
    ColumnPlan,
    Samples,
    TableError,
    align_columns,
    describe_columns,
    make_preprocessor,
    read_columns,
    read_table,
    to_numbers,
)

NARROWEST, WIDEST = 40, 160
"""Columns that the output is laid out for, whatever the terminal says."""

MAX_LISTED = 10
"""Columns that were left out and are named."""


def diagnose_file(
    file: TableFile,
    domain: Annotated[
        str,
        typer.Option(
            "--domain",
            "-d",
            metavar="COLUMN",
            help="Column that says where a row comes from: a site, a device, a year.",
            show_default=False,
        ),
    ],
    label: Annotated[
        str | None,
        typer.Option(
            "--label",
            "-l",
            metavar="COLUMN",
            help="Column of classes, or of numbers; cells are empty where unknown.",
        ),
    ] = None,
    task: LabelTask = None,
    features: Features = None,
    ignore: Ignored = None,
    permutations: Annotated[
        int,
        typer.Option(min=19, max=100_000, help="Permutations behind a p-value, at least."),
    ] = 200,
    level: Annotated[
        float,
        typer.Option(min=1e-6, max=0.5, help="Largest chance of any false alarm."),
    ] = 0.05,
    seed: Seed = 0,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print everything as JSON, for scripts.")
    ] = False,
) -> None:
    """Tell whether the domains of a table differ: which of them, in which columns, in labels too.

    Plain words come first, numbers below: a test of every pair of domains, the columns that carry
    the shift, class balance, whether what is learnt in one domain holds in another, and how much
    of the variance is domain or class. Nothing is written to disk.

    Example:

    skatter diagnose digits.csv --domain collection --label digit

    For scripts: skatter diagnose - --domain site --json < table.csv
    """
    with said_in_one_line("diagnose"):
        with announced() as say:
            say("reading the table")
            samples, plans = read_samples(
                file, label=label, domain=domain, features=features, ignore=ignore
            )
            prepare = make_preprocessor(samples.X, plans)
            X, names = to_numbers(samples.X, prepare.fit(align_columns(samples.X, prepare)))
            found = diagnose(
                X,
                samples.y,
                sample_domain=samples.sample_domain,
                labelled=samples.labelled if samples.y is not None else None,
                numbers=are_numbers(samples, task),
                feature_names=names,
                n_permutations=permutations,
                level=level,
                random_state=seed,
                progress=say,
            )
        left_out = [plan for plan in plans if not plan.used]
        if as_json:
            print_json(found, left_out)
        else:
            show(Console(highlight=False), found, left_out, next_command(found, file, samples))


# --- reading --------------------------------------------------------------------------------------


def read_samples(
    file: str,
    *,
    label: str | None,
    domain: str,
    features: Sequence[str] | None,
    ignore: Sequence[str] | None,
) -> tuple[Samples, list[ColumnPlan]]:
    """Read a table, and what is to happen to each of its columns."""
    frame = read_table(file)
    names = set(frame.columns)
    samples = read_columns(
        frame,
        label=label,
        domain=domain,
        features=split_names(features, names) or None,
        ignore=split_names(ignore, names),
    )
    return samples, describe_columns(samples.X)


def are_numbers(samples: Samples, task: str | None) -> bool | None:
    """Tell numbers from classes: as told, else many whole numbers are numbers too."""
    y = samples.y
    if y is None or y.dtype.kind not in "iuf":
        if y is not None and task == "numbers":
            raise TableError(
                f"column {quoted(samples.label)} holds text: leave --task numbers out."
            )
        return None
    if task is not None:
        return task == "numbers"
    return len(np.unique(y[samples.labelled])) > MANY_VALUES or None


# --- showing --------------------------------------------------------------------------------------


def next_command(found: Diagnosis, file: str, samples: Samples) -> str | None:
    """Return the command to adapt with, where there is something to adapt from and to."""
    known = [domain.n_labelled > 0 for domain in found.domains]
    some_unlabelled = any(domain.n_labelled < domain.n_samples for domain in found.domains)
    if not (found.shift and any(known) and some_unlabelled):
        return None
    columns = (
        f"--label {shlex.quote(str(samples.label))} --domain {shlex.quote(str(samples.domain))}"
    )
    return f"skatter adapt {shlex.quote(file)} {columns} --out predictions.parquet"


def show(
    console: Console, found: Diagnosis, left_out: Sequence[ColumnPlan], command: str | None
) -> None:
    """Print the words, then the numbers, as wide as the terminal."""
    width = min(max(console.width, NARROWEST), WIDEST)
    for i, (title, text) in enumerate(found.sections(width)):
        if i:
            console.print()
        console.print(Text(title, style="bold"))
        console.print(Text(text), soft_wrap=True)
        if i == 0 and command is not None:
            console.print(Text(f"  {printable(command)}", style="cyan"), soft_wrap=True)
    for note in _say_left_out(left_out):
        console.print(Text(prose(note, width, bullet="- ")), soft_wrap=True)


def _say_left_out(plans: Sequence[ColumnPlan]) -> Iterator[str]:
    for plan in plans[:MAX_LISTED]:
        yield f"Left out: {printable(plan.name)}, {printable(plan.why)}."
    if len(plans) > MAX_LISTED:
        yield f"Left out: {len(plans) - MAX_LISTED:,} more columns."


def print_json(found: Diagnosis, left_out: Sequence[ColumnPlan]) -> None:
    """Print everything as one JSON object."""
    everything = found.to_dict()
    everything["left_out"] = {plan.name: plan.why for plan in left_out}
    json.dump(everything, sys.stdout, indent=2, allow_nan=False)
    sys.stdout.write("\n")
