"""``skatter diagnose``: whether there is a shift in a table, where, and in what."""

from __future__ import annotations

import shlex
import warnings
from contextlib import ExitStack
from typing import Annotated

from rich.console import Console
from rich.text import Text
from typer import Option

from skatter._formatting import printable
from skatter.adaptation._sample import spread_rows
from skatter.cli import _options as options
from skatter.cli._console import announced, print_json, said_in_one_line
from skatter.cli._options import domain_option, label_option
from skatter.diagnosis import Diagnosis, diagnose
from skatter.tables import open_table

NARROWEST, WIDEST = 40, 160  # columns that the output is laid out for, whatever the terminal says


def diagnose_file(
    file: options.TableFile,
    domain: Annotated[
        str,
        domain_option(help="Column that says where a row comes from: a site, a device, a year."),
    ],
    label: Annotated[
        str | None,
        label_option(help="Column of classes, or of numbers; cells are empty where unknown."),
    ] = None,
    task: options.LabelTask = None,
    features: options.Features = None,
    ignore: options.Ignored = None,
    categorical: options.Categorical = None,
    na_values: options.Missing = None,
    permutations: Annotated[
        int, Option(min=19, max=100_000, help="Permutations behind a p-value, at least.")
    ] = 200,
    level: Annotated[
        float, Option(min=1e-6, max=0.5, help="Largest chance of any false alarm.")
    ] = 0.05,
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
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
        with announced() as say, ExitStack() as stack:
            say("reading the table")
            table = stack.enter_context(open_table(file, na_values=options.split_names(na_values)))
            frame = spread_rows(table)
            if len(frame) < table.n_rows:
                few = f"{len(frame):,} of {table.n_rows:,} rows"
                said = f"{few}, spread evenly over the table, are looked at."
                warnings.warn(said, stacklevel=2)
            found = diagnose(
                frame,
                label=label,
                domain=domain,
                task=task,
                **options.choose_columns(frame.columns, features, ignore, categorical),
                n_permutations=permutations,
                level=level,
                random_state=seed,
                progress=say,
            )
        if as_json:
            print_json(found.to_dict())
        else:
            show(Console(highlight=False), found, next_command(found, file, label, domain))


def next_command(found: Diagnosis, file: str, label: str | None, domain: str) -> str | None:
    """Return the command to adapt with, where there is something to adapt from and to."""
    known = any(domain.n_labelled > 0 for domain in found.domains)
    some_unlabelled = any(domain.n_labelled < domain.n_samples for domain in found.domains)
    if not (found.shift and known and some_unlabelled):
        return None
    columns = f"--label {shlex.quote(str(label))} --domain {shlex.quote(domain)}"
    return f"skatter adapt {shlex.quote(file)} {columns} --out predictions.parquet"


def show(console: Console, found: Diagnosis, command: str | None) -> None:
    width = min(max(console.width, NARROWEST), WIDEST)
    for i, (title, text) in enumerate(found.sections(width)):
        if i:
            console.print()
        console.print(Text(title, style="bold"))
        console.print(Text(text), soft_wrap=True)
        if i == 0 and command is not None:
            console.print(Text(f"  {printable(command)}", style="cyan"), soft_wrap=True)
