"""From the store to outcomes: one for each task, contestant and protocol."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

from skatter._formatting import printable
from skatter_bench.cells import Cell, cells
from skatter_bench.contestants import Contestant
from skatter_bench.protocols import choose, choosing_folds, final_fold, folds, mean_scores
from skatter_bench.scoring import share
from skatter_bench.store import Record, Records, StoreError
from skatter_bench.suites import Suite
from skatter_bench.tasks import Task


@dataclass(frozen=True)
class Outcome:
    """What one contestant reached on one task under one protocol.

    ``accuracy`` is the percent of the target's test samples predicted right, or R² in percent where
    labels are numbers; nan where it failed, and ``error`` says why. ``selection_score`` is the
    percent reached in the folds that chose ``setting``, None where nothing was chosen. ``seconds``
    are CPU seconds of every fold and setting; ``fit_seconds`` are those of the chosen setting, to
    learn and to predict, its share where settings share a fit; ``peak_bytes`` is the
    largest growth of memory in any piece.
    """

    suite: str
    task: str
    group: str
    contestant: str
    classifier: str
    label: str
    protocol: str
    seed: int
    draw: int
    accuracy: float
    n_test: int
    setting: Mapping[str, Any]
    selection_score: float | None
    seconds: float
    fit_seconds: float
    peak_bytes: int | None
    error: str = ""


@dataclass(frozen=True)
class SuiteResults:
    """All outcomes of one suite."""

    suite: Suite
    outcomes: list[Outcome]


def plan(
    suite: Suite, rows: Sequence[Contestant], protocols: Sequence[str], seeds: Sequence[int] = (0,)
) -> list[Cell]:
    """Return all cells of a suite, those of one task together, each once."""
    found: dict[str, Cell] = {}
    for task, seed, contestant in product(suite.tasks, seeds, rows):
        for protocol in protocols:
            for fold in _needed(protocol, task, contestant):
                found.update((cell.key, cell) for cell in cells(task, contestant, fold, seed))
    return list(found.values())


def _needed(protocol: str, task: Task, contestant: Contestant) -> tuple[str, ...]:
    """Return the folds to run: where there is nothing to choose from, the target alone."""
    if len(contestant.settings(task)) > 1:
        return folds(protocol, task)
    return (final_fold(protocol),)


def outcomes(
    suite: Suite,
    rows: Sequence[Contestant],
    protocol: str,
    store: Records,
    seeds: Sequence[int] = (0,),
) -> list[Outcome]:
    """Read what was reached; what has not been run yet is left out."""
    found = (
        _outcome(suite.name, task, contestant, protocol, seed, store)
        for task, seed, contestant in product(suite.tasks, seeds, rows)
    )
    return [outcome for outcome in found if outcome is not None]


def _outcome(
    suite: str, task: Task, contestant: Contestant, protocol: str, seed: int, store: Records
) -> Outcome | None:
    records = {
        fold: [store.get(cell.key) for cell in cells(task, contestant, fold, seed)]
        for fold in _needed(protocol, task, contestant)
    }
    done = [record for own in records.values() for record in own if record is not None]
    for record in done:
        _check_whole(record, record, "cpu_seconds", "peak_bytes")
        for each in record["scores"]:
            _check_whole(record, each, *(() if "error" in each else ("total", "seconds")))
    if len(done) < sum(len(own) for own in records.values()):
        return None
    settings = contestant.settings(task)
    scores = {fold: _aligned(own, settings) for fold, own in records.items()}
    # Empty where there was nothing to choose from.
    names = [fold for fold in choosing_folds(protocol, task) if fold in scores]
    deciding = {fold: [share(score) for score in scores[fold]] for fold in names}
    final = scores[final_fold(protocol)]
    chosen, error = _chosen(deciding, final, done)
    best = {} if chosen is None else final[chosen]
    undecided = chosen is None or not deciding
    peaks = (record["peak_bytes"] for record in done if record["peak_bytes"] is not None)
    who = (contestant.name, contestant.classifier, contestant.label)
    return Outcome(
        *(suite, task.name, task.group, *who, protocol, seed, task.draw),
        accuracy=100 * share(best),
        n_test=best.get("total", 0),
        setting={} if chosen is None else settings[chosen],
        selection_score=None if undecided else 100 * float(mean_scores(deciding)[chosen]),
        seconds=float(sum(record["cpu_seconds"] for record in done)),
        fit_seconds=best.get("seconds", math.nan),
        peak_bytes=max(peaks, default=None),
        error=error,
    )


def _check_whole(record: Record, holds: Mapping[str, Any], *names: str) -> None:
    lacks = next((name for name in names if name not in holds), None)
    if lacks is not None:
        raise _not_whole(record, lacks)


def _not_whole(record: Record, lacks: str) -> StoreError:
    return StoreError(f"the record {record['key']} lacks {lacks}. Remove it, and run again.")


Scores = Sequence[Mapping[str, Any]]


def _aligned(records: Iterable[Record | None], settings: Sequence[Mapping[str, Any]]) -> Scores:
    """Return the scores of one fold in the order of the settings; batches may have another."""
    found = {
        frozenset(score["setting"].items()): score
        for record in records
        if record is not None
        for score in record["scores"]
    }
    return [found.get(frozenset(values.items()), {}) for values in settings]


def _chosen(
    deciding: Mapping[str, Sequence[float]], final: Scores, done: Sequence[Record]
) -> tuple[int | None, str]:
    """Return the chosen setting, or why there is none."""
    try:
        chosen = choose(deciding) if deciding else 0
    except ValueError:
        return None, next(_errors(done), "no setting could be scored")
    if math.isnan(share(final[chosen])):
        return None, next(_errors(done), "the chosen setting failed on the target")
    return chosen, ""


def _errors(records: Iterable[Record]) -> Iterator[str]:
    """Yield what went wrong, without what a terminal would obey."""
    for record in records:
        if record["error"] is not None:
            yield printable(f"{record['error']['type']}: {record['error']['message']}")
        yield from (printable(score["error"]) for score in record["scores"] if "error" in score)


@dataclass(frozen=True)
class Stamp:
    """Where and when records were made: the machines, the versions, and the last moment."""

    machine: str
    versions: dict[str, str]
    finished: str


def stamps(store: Records) -> Stamp:
    """Return where and when the records of a store were made, several values with commas."""
    records = list(store)
    for record in records:
        _check_whole(record, record, "versions", "finished", "machine")
    made_with = [record["versions"] for record in records]
    names = dict.fromkeys(name for own in made_with for name in own)
    versions = {name: _listed(own.get(name, "") for own in made_with) for name in names}
    finished = max((record["finished"] for record in records), default="")
    return Stamp(_listed(record["machine"] for record in records), versions, finished)


def _listed(values: Iterable[str]) -> str:
    return printable(", ".join(sorted({value for value in values if value})))


def tidy_outcomes(found: Iterable[Outcome], store: Records) -> list[dict[str, Any]]:
    """Return outcomes as flat rows, with the chosen setting as JSON and where they were made."""
    stamp = stamps(store)
    made = {"machine": stamp.machine, **{f"version.{k}": v for k, v in stamp.versions.items()}}
    return [
        {**asdict(outcome), "setting": json.dumps(dict(outcome.setting)), **made}
        for outcome in found
    ]


def tidy(store: Records) -> list[dict[str, Any]]:
    """Return every score in the store as one flat row: a table for your own questions.

    Settings are columns named ``setting.beta`` and the like; accuracies are shares.
    """
    rows: list[dict[str, Any]] = []
    for record in store:
        try:
            rows.extend(_rows(record))
        except (LookupError, TypeError, AttributeError) as error:
            raise _not_whole(record, str(error)) from error
    return rows


def _rows(record: Record) -> Iterator[dict[str, Any]]:
    cell = record["cell"]
    task, contestant = cell["task"], cell["contestant"]
    common = {
        "dataset": task["dataset"],
        "task": task["name"],
        "sources": "+".join(task["sources"]),
        "targets": "+".join(task["targets"]),
        "problem": task["setting"],
        **{name: task[name] for name in ("prepare", "draw")},
        "method": contestant["name"],
        **{name: contestant[name] for name in ("classifier", "estimator")},
        **{name: cell[name] for name in ("fold", "seed")},
        "status": record["status"],
        "cell_seconds": record["seconds"],
        "cell_cpu_seconds": record["cpu_seconds"],
        "peak_bytes": record["peak_bytes"],
        "warnings": " | ".join(record["warnings"]),
        **{name: record[name] for name in ("finished", "machine")},
        **{f"version.{name}": number for name, number in record["versions"].items()},
        **{f"fixed.{name}": value for name, value in contestant["fixed"].items()},
    }
    if record["error"] is not None:
        yield {**common, "error": next(_errors([record]))}
    for score in record["scores"]:
        settings = {f"setting.{name}": value for name, value in score["setting"].items()}
        result = {name: value for name, value in score.items() if name != "setting"}
        if "correct" in score:
            result["accuracy"] = share(score)
        yield {**common, **settings, **result}
