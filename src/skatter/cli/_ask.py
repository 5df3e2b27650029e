"""``skatter ask``: which rows to label, so that labels tell which model to ship."""

from __future__ import annotations

import shlex
from typing import Annotated

from rich.console import Console
from rich.text import Text
from typer import Context, Option

from skatter._formatting import printable
from skatter._notebook import Section
from skatter.adaptation import Questions, ask
from skatter.adaptation._asking import FEWEST
from skatter.adaptation._sheet import own_columns
from skatter.cli import _options as options
from skatter.cli._console import announced, as_table, result_console, said_in_one_line, say_all
from skatter.cli._files import check_outputs
from skatter.tables import read_table, write_table

OWN = ("file", "out", "labels", "force")
"""Parameters that 'skatter adapt' does not take as they are given here."""


def ask_file(
    context: Context,
    file: options.TableFile,
    label: options.Label,
    out: Annotated[
        str,
        options.out_option(help="The sheet to fill in, .csv or .parquet; - is standard output."),
    ],
    domain: options.Domain = None,
    task: options.LabelTask = None,
    labels: Annotated[int, Option(min=FEWEST, help="Rows to ask for.")] = 40,
    metric: options.Scored = "accuracy",
    frequencies: options.Frequencies = None,
    features: options.Features = None,
    ignore: options.Ignored = None,
    categorical: options.Categorical = None,
    na_values: options.Missing = None,
    seed: options.Seed = 0,
    force: options.Force = False,
) -> None:
    """Draw the rows whose labels tell whether to adapt.

    The models of 'skatter adapt' are fitted, and rows are drawn at random, most of them from those
    on which the adapted and the plain model disagree. Fill in the labels in the order of the sheet,
    without passing over rows that are hard, and stop wherever you like. Then give the sheet to
    'skatter adapt --checked', with the same table and options.

    Example:

    skatter ask digits.csv --label digit --domain collection --labels 40 --out sheet.csv
    """
    shares = options.read_shares(frequencies)
    with said_in_one_line("ask"):
        paths = check_outputs({"--out": out}, force=force)
        with announced() as say:
            say("reading the table")
            frame = read_table(file, na_values=options.split_names(na_values))
            questions = ask(
                frame,
                label=label,
                domain=domain,
                task=task,
                n_labels=labels,
                metric=options.METRIC[metric],
                class_frequencies=options.class_frequencies(shares, frame, label),
                **options.choose_columns(frame.columns, features, ignore, categorical),
                random_state=seed,
                progress=say,
            )
            say("writing the sheet")
            write_table(questions.sheet, out, force=force)
        console = result_console(out)
        _show(console, questions, own_columns(frame)[1])
        if "--out" in paths:
            sheet = str(paths["--out"])
            console.print(Text(f"Sheet: {printable(sheet)}"), soft_wrap=True)
            given = [*_same_options(context), "--checked", sheet]
            command = f"{printable(shlex.join(['skatter', 'adapt', *given]))} --out predictions.csv"
            console.print(Text(f"When it is filled in: {command}"), soft_wrap=True)


def _show(console: Console, questions: Questions, column: str) -> None:
    say_all(console, questions.words)
    console.print()
    asked, strata = questions.sheet[column].value_counts(), questions.strata.items()
    lines = tuple((name, f"{size:,}", f"{asked[name]:,}") for name, size in strata)
    heads = ("where", "without a label", "on the sheet")
    console.print(as_table(Section("Rows", heads=heads, lines=lines)))


def _same_options(context: Context) -> list[str]:
    arguments = [context.params["file"]]
    for name, given in context.params.items():
        source = context.get_parameter_source(name)
        if name not in OWN and source is not None and source.name == "COMMANDLINE":
            for value in given if isinstance(given, list) else [given]:
                arguments += [f"--{name.replace('_', '-')}", str(value)]
    return arguments
