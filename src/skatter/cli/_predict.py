"""``skatter predict``: a saved model answers for new rows."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from typer import Argument

from skatter._formatting import count, percent
from skatter.adaptation import TableModel
from skatter.adaptation._model import Answer
from skatter.adaptation._outcome import added_to, new_columns
from skatter.adaptation._sample import spread_rows
from skatter.adaptation._words import confidence_words, predicted_section, unit_words
from skatter.cli._console import (
    announced,
    as_table,
    result_console,
    said_in_one_line,
    say_all,
    say_files,
)
from skatter.cli._files import PieceByPiece, check_outputs
from skatter.cli._options import Force, KeyFile, Missing, Out, TableFile, read_key, split_names
from skatter.saving import ModelFileError, load_model
from skatter.tables import open_table
from skatter.tables._columns import read_labels
from skatter.tables._task import written_numbers

if TYPE_CHECKING:
    import pandas as pd


def predict_file(
    model: Annotated[Path, Argument(metavar="MODEL", help="What 'skatter adapt --model' saved.")],
    file: TableFile,
    out: Out,
    na_values: Missing = None,
    key_file: KeyFile = None,
    force: Force = False,
) -> None:
    """Predict new rows with a saved model.

    The table needs the columns that the model has learnt from; others are kept as they are. What
    stood for an empty cell when the model was fitted (--na-values) does so here. Rows
    of a domain that the model has not seen, and all rows where the column of the domain is
    missing, are taken for rows of the target. Every row is predicted, whether it has a label or
    not; where some have one, it is said how many are predicted right.

    A model file holds data and no code; one that is not as it should be is refused. With a key,
    only a model that was signed with it is loaded.

    Example:

    skatter predict model.skatter new.csv --out predictions.csv
    """
    key = read_key(key_file)
    with said_in_one_line("predict"):
        paths = check_outputs({"--out": out}, force=force)
        with announced() as say, ExitStack() as stack:
            say("loading the model")
            loaded = _load(model, key)
            say("reading the table")
            missing = [*loaded.na_values, *split_names(na_values)]
            table = stack.enter_context(open_table(file, na_values=missing))
            say("predicting")
            frame = spread_rows(table)
            answers = loaded.answers(frame)
            answer, whole = answers[loaded.ship], None
            if len(frame) < table.n_rows:
                whole = PieceByPiece(partial(added_to, model=loaded), table.n_rows, say)
            say("writing the predictions")
            added = whole or new_columns(frame, answers, loaded.ship, loaded.label)
            table.write_with(added, out, force=force)
        counts = None if whole is None else whole.counts
        console = result_console(out)
        say_all(console, _words(loaded, frame, table.n_rows, answer))
        console.print()
        console.print(as_table(predicted_section(answer, loaded.heading, counts)))
        say_files(console, paths)


def _load(path: Path, key: bytes | None) -> TableModel:
    loaded: Any = load_model(path, key=key)
    if not isinstance(loaded, TableModel):
        raise ModelFileError(
            f"{path} holds a {type(loaded).__name__}, and not a model of a table; load it from "
            "Python with skatter.saving.load_model."
        )
    return loaded


def _words(model: TableModel, frame: pd.DataFrame, n_rows: int, answer: Answer) -> list[str]:
    told = f"The figures below are of {len(frame):,} of them, spread evenly over the table."
    return [
        f"{model.label} was predicted for {count(n_rows, 'row')} by the {model.ship} model.",
        *([told] if len(frame) < n_rows else []),
        *unit_words(model.label, model.unit),
        *confidence_words(answer, calibrated=model.calibrated, new_rows=True),
        *model.drift(frame),
        *_score(model, frame, answer),
    ]


def _score(model: TableModel, frame: pd.DataFrame, answer: Answer) -> list[str]:
    if model.label not in frame.columns:
        return []
    truth, labelled = read_labels(frame[model.label])
    truth, told = truth[labelled], answer.label[labelled]
    numbers = answer.interval is not None
    if numbers:
        truth = written_numbers(truth)[0]
        known = ~np.isnan(truth)
        truth, told = truth[known], told[known]
    if not len(truth):
        return []
    what = f"{percent(np.mean(truth.astype(str) == told.astype(str)), 1)} are predicted right"
    if numbers:
        what = f"the root mean squared error is {np.sqrt(np.mean((truth - told) ** 2)):.3g}"
    return [
        f"Of {count(len(truth), 'row')} with a label, {what} (rows that the model has learnt from "
        "count too)."
    ]
