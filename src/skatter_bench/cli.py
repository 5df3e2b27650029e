"""``skatter bench``: the paper's experiments and more, from one command.

``list`` shows what there is, ``run`` does the work, and ``table``, ``figure``, ``report`` and
``export`` show what is in a store; none of these computes anything twice.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial, wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from time import monotonic
from typing import Annotated, Any, Literal

from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text
from typer import Argument, BadParameter, Exit, Option, Typer, echo

from skatter._files import write_atomically
from skatter._formatting import duration, printable
from skatter.methods._plugins import all_methods
from skatter_bench.cells import Cell, run_cell
from skatter_bench.charts import figures_of
from skatter_bench.contestants import Contestant
from skatter_bench.protocols import PROTOCOLS, TIMED
from skatter_bench.results import Outcome, SuiteResults, outcomes, plan, stamps, tidy, tidy_outcomes
from skatter_bench.runner import Event, Summary, run
from skatter_bench.store import Records, Store, StoreError, open_store
from skatter_bench.suites import SUITES, Suite, get_suite
from skatter_bench.table import to_csv, to_html, to_latex, to_markdown
from skatter_bench.tasks import load_data
from skatter_bench.views import costs_of, table_of

app = Typer(
    name="bench",
    help="The paper's experiments again, and more data than it had.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

MOST_NAMES = 60  # more tasks than these are not listed by name
FORMATS = {"markdown": to_markdown, "latex": to_latex, "html": to_html, "csv": to_csv}
Force = Annotated[bool, Option("--force", help="Replace a file that is there.")]


class Request:
    """What a user asks for, checked before any work: its arguments are options of all commands."""

    def __init__(
        self,
        suites: Annotated[
            list[str], Argument(metavar="SUITE...", help="See `skatter bench list`.")
        ],
        store: Annotated[
            Path,
            Option(help="Folder of finished results, made if missing; or a packed file, to read."),
        ] = Path("skatter-bench"),
        data_home: Annotated[
            Path | None,
            Option(help="Folder of the data files; else SKATTER_DATA, else ~/skatter_data."),
        ] = None,
        methods: Annotated[str | None, Option(help="These alone, with commas between.")] = None,
        method: Annotated[list[str] | None, Option(help="A method of yours, module:Class.")] = None,
        protocol: Annotated[
            str | None,
            Option(
                help=f"How settings are chosen, with commas between: {', '.join(PROTOCOLS)}. "
                "Else the first that suits the suite."
            ),
        ] = None,
        grid: Annotated[
            Literal["coarse", "full"], Option(help="How many settings are tried.")
        ] = "coarse",
        repeats: Annotated[int, Option(min=1, help="Repeat everything with this many seeds.")] = 1,
    ) -> None:
        if method:
            sys.path.insert(0, "")  # a method of the user's lies where the user is
        with _blame("--method"):
            self._methods = all_methods(method or ())
        with _blame("SUITE"):
            self.suites = [get_suite(name) for name in suites or ()]
        self._names = _listed(methods)
        if self._names and method:
            self._names += [name for name in self._methods if name not in all_methods()]
        with _blame("--protocol"):
            asked = _listed(protocol)
            self.protocols = {each.name: _protocols(each, asked) for each in self.suites}
        self._seeds, self._grid = range(repeats), grid
        self.folder = store
        self.home = None if data_home is None else str(data_home)
        with _blame("--methods"):
            for suite in self.suites:
                self.rows(suite, suite.protocols[0])

    def rows(self, suite: Suite, protocol: str) -> list[Contestant]:
        """Return who takes part."""
        return suite.contestants(
            protocol, grid=self._grid, names=self._names, methods=self._methods
        )

    def parts(self) -> Iterator[tuple[Suite, str]]:
        """Yield every suite with each of its protocols."""
        for suite in self.suites:
            for protocol in self.protocols[suite.name]:
                yield suite, protocol

    def cells(self) -> list[Cell]:
        """Return the work; suites and protocols may name a cell more than once."""
        return [
            cell
            for suite, protocol in self.parts()
            for cell in plan(suite, self.rows(suite, protocol), [protocol], self._seeds)
        ]

    def store(self) -> Records:
        """Return the store, which has to be there; it may be packed into one file."""
        with _blame("--store", StoreError):
            if not self.folder.exists():
                remedy = "run a suite first: skatter bench run table2."
                raise StoreError(f"there is no folder {self.folder}; {remedy}")
            return open_store(self.folder)

    def outcomes(self, suite: Suite, protocol: str, store: Records) -> list[Outcome]:
        """Return what was reached so far."""
        return outcomes(suite, self.rows(suite, protocol), protocol, store, self._seeds)

    def results(self, store: Records) -> list[SuiteResults]:
        """Return what was reached so far under every protocol, without suites that have nothing."""
        found: dict[str, SuiteResults] = {}
        for suite, protocol in self.parts():
            own = found.setdefault(suite.name, SuiteResults(suite, []))
            own.outcomes.extend(self.outcomes(suite, protocol, store))
        return [results for results in found.values() if results.outcomes]


def _listed(names: str | None) -> list[str] | None:
    return None if names is None else [name.strip() for name in names.split(",")]


def _protocols(suite: Suite, asked: list[str] | None) -> Sequence[str]:
    for name in asked or ():
        if name not in suite.protocols:
            known = ", ".join(suite.protocols)
            raise ValueError(f"{name!r} does not suit {suite.name}; choose from {known}.")
    return asked or suite.protocols[:1]


@contextmanager
def _blame(option: str, kind: type[Exception] = ValueError) -> Iterator[None]:
    """Turn a bad value into a message that names the option."""
    try:
        yield
    except kind as error:
        raise BadParameter(str(error), param_hint=option) from None


def _with_request(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of a :class:`Request`; it receives them as one.

    Where it declares one of them itself, that declaration counts.
    """
    shared = signature(Request, eval_str=True).parameters
    own = dict(signature(command, eval_str=True).parameters)
    del own["request"]

    @wraps(command)
    def wrapped(**values: Any) -> None:
        request = Request(**{name: values[name] for name in shared})
        try:
            command(request, **{name: values[name] for name in own})
        except (ImportError, OSError, ValueError) as error:
            bench = '; all of it: pip install "skatter[bench]"'
            more = bench if isinstance(error, ImportError) else ""
            echo(f"skatter: {printable(f'{error}{more}')}", err=True)
            raise Exit(1) from None

    every = sorted({**shared, **own}.values(), key=lambda each: each.default is not Parameter.empty)
    keywords = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in every]
    wrapped.__signature__ = Signature(keywords)  # type: ignore[attr-defined]  # typer reads it
    return wrapped


@app.command("list")
def list_suites(
    name: Annotated[str | None, Argument(metavar="SUITE", help="One, to see all about it.")] = None,
) -> None:
    """Show the suites, or what is known of one."""
    console = Console(highlight=False)
    if name is None:
        table = Table("suite", "tasks", "what", box=box.SIMPLE, show_edge=False)
        table.columns[0].no_wrap = True
        table.columns[1].justify = "right"
        for suite in SUITES.values():
            table.add_row(suite.name, str(len(suite.tasks)), Text(suite.title))
        console.print(table)
        console.print("\nHow settings are chosen (--protocol):")
        console.print(_plain_table(PROTOCOLS.items()))
        said = "\nAll about one: skatter bench list table2. Run it: skatter bench run table2"
        console.print(said)
        return
    with _blame("SUITE"):
        found = get_suite(name)
    console.print(Text(found.title, style="bold"))
    console.print(_plain_table(_facts(found)))


def _facts(suite: Suite) -> Iterator[tuple[str, str]]:
    rows = suite.contestants(suite.protocols[0])
    yield "setting", suite.setting
    yield "data", ", ".join(dict.fromkeys(task.dataset for task in suite.tasks))
    names = dict.fromkeys(task.name for task in suite.tasks)
    yield "tasks", "   ".join(names) if len(names) <= MOST_NAMES else f"{len(suite.tasks)} in all"
    yield "protocols", ", ".join(suite.protocols)
    yield "methods", ", ".join(row.label for row in rows)
    if suite.note:
        yield "note", suite.note


def _plain_table(rows: Iterable[tuple[str, str]]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    for label, words in rows:
        table.add_row(Text(f"  {label}"), Text(words))
    return table


@app.command("run")
@_with_request
def run_suites(
    request: Request,
    jobs: Annotated[int, Option(help="Processes; -1 is one a core.")] = -1,
    dask: Annotated[str | None, Option(help="Address of a Dask scheduler to run on.")] = None,
    retry_failed: Annotated[
        bool, Option("--retry-failed", help="Try again what failed before.")
    ] = False,
) -> None:
    """Run suites, and show their tables.

    Every finished piece is kept at once: stop it at any moment, run it again, and it goes on where
    it was. Two runs with one store share the work. The exit code is 1 where something failed, or
    was left out because its data are not here.
    """
    errors = Console(stderr=True, highlight=False)
    ready = [_with_data(suite, request.home, errors) for suite in request.suites]
    whole = ready == request.suites
    request.suites = [suite for suite in ready if suite.tasks]
    if not request.suites:
        raise Exit(1)
    folder = Store(request.folder)
    if any(TIMED in names for names in request.protocols.values()) and jobs != 1:
        errors.print("One fit after the other, to measure seconds.")
        jobs = 1
    try:
        with _progress(errors) as show:
            summary = run(
                request.cells(),
                folder,
                partial(run_cell, data_home=request.home),
                n_jobs=jobs,
                dask=dask,
                retry_failed=retry_failed,
                on_event=show,
            )
    except KeyboardInterrupt:
        errors.print("Stopped; everything finished is kept. Run it again to go on.")
        raise Exit(130) from None
    console = Console(highlight=False)
    for suite, name in request.parts():
        found = request.outcomes(suite, name, folder)
        if _print_table(console, suite, name, found, folder):
            console.print(Text(f"{costs_of(found)}\n"))
    _print_summary(errors, summary)
    if summary.n_failed or not whole:
        raise Exit(1)


def _with_data(suite: Suite, data_home: str | None, console: Console) -> Suite:
    """Leave out tasks whose data are not here, and say so; damaged ones end the command."""
    tasks, missing = [], defaultdict(list)
    for task in suite.tasks:
        try:
            load_data(task, data_home)
        except (FileNotFoundError, ImportError) as error:
            missing[str(error)].append(task.name)
        else:
            tasks.append(task)
    for reason, names in missing.items():
        console.print(Text(f"{suite.name}: left out {', '.join(names)}. {reason}", style="yellow"))
    return replace(suite, tasks=tuple(tasks))


@contextmanager
def _progress(console: Console) -> Iterator[Callable[[Event], None]]:
    """Show progress on the error stream: a bar on a terminal, a line a minute elsewhere."""
    bar = Progress(
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
        TextColumn("{task.description}"),
        console=console,
        transient=True,
    )
    task = bar.add_task("", total=None, left="")
    said = monotonic()

    def show(event: Event) -> None:
        nonlocal said
        left = "" if event.seconds_left is None else f"{duration(event.seconds_left)} left"
        now: dict[str, Any] = {
            "total": event.total,
            "completed": event.done,
            "description": event.label,
        }
        bar.update(task, **now, left=left)
        if not console.is_terminal and monotonic() - said > 60:
            said = monotonic()
            console.print(Text(f"{event.done} of {event.total} pieces, {left}"))

    if console.is_terminal:
        with bar:
            yield show
    else:
        yield show


def _print_summary(console: Console, summary: Summary) -> None:
    console.print(
        f"{summary.n_done} pieces done, {summary.n_found} found, {summary.n_failed} failed, "
        f"in {duration(summary.seconds)}."
    )
    reasons: dict[str, list[str]] = defaultdict(list)
    for failure in summary.failed:
        reasons[failure.error].append(failure.label)
    for reason, labels in reasons.items():
        more = f" and {len(labels) - 1} more" if len(labels) > 1 else ""
        said = printable(f"{labels[0]}{more}: {(reason.splitlines() or [''])[0]}")
        console.print(Text(f"failed: {said}", style="red"))


@app.command("table")
@_with_request
def show_tables(
    request: Request,
    form: Annotated[
        Literal["terminal", "markdown", "latex", "html", "csv"], Option("--format", help="How.")
    ] = "terminal",
) -> None:
    """Show what is in a store, with the published numbers beside ours."""
    folder = request.store()
    console = Console(highlight=False)
    shown = [
        _print_table(console, suite, name, request.outcomes(suite, name, folder), folder, form)
        for suite, name in request.parts()
    ]
    if not any(shown):
        raise Exit(1)


def _print_table(
    console: Console,
    suite: Suite,
    protocol: str,
    found: Sequence[Outcome],
    store: Records,
    form: str = "terminal",
) -> bool:
    if not found:
        said = f"{suite.name}, {protocol}: nothing finished yet in {store.folder}."
        Console(stderr=True).print(said)
        return False
    table = table_of(suite, found)
    if form == "terminal":
        console.print(table)
        if suite.note:
            console.print(Text(suite.note))
    else:
        echo(FORMATS[form](table))
    return True


@app.command("figure")
@_with_request
def draw_figures(
    request: Request,
    out: Annotated[Path, Option(help="Folder; made if missing.")] = Path("figures"),
    form: Annotated[Literal["png", "svg", "pdf"], Option("--format", help="Of the files.")] = "png",
) -> None:
    """Draw mean ranks, accuracy against time, and the paper's figures."""
    store = request.store()
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        said = f"cannot create the folder {out}: {error.strerror}."
        raise BadParameter(said, param_hint="--out") from error
    drawn = False
    for suite, name in request.parts():
        found, rows = request.outcomes(suite, name, store), request.rows(suite, name)
        for title, figure in figures_of(suite, found, rows, request.home).items():
            path = out / f"{suite.name}-{name}-{title}.{form}"
            write_atomically(path, partial(figure.savefig, format=form, dpi=150))
            echo(path)
            drawn = True
    if not drawn:
        echo("There is nothing to draw: not enough is finished yet.", err=True)
        raise Exit(1)


@app.command("report")
@_with_request
def report(
    request: Request,
    out: Annotated[Path, Option(help="The file.")] = Path("skatter-bench.html"),
    force: Force = False,
) -> None:
    """Write one self-contained HTML page about some suites."""
    from skatter_bench.report import write_report

    store = request.store()
    results = request.results(store)
    if not results:
        echo(f"There is nothing to report: nothing finished yet in {store.folder}.", err=True)
        raise Exit(1)
    figures = {}
    for suite, found in ((each.suite, each.outcomes) for each in results):
        if suite.kind == "synthetic":
            rows = request.rows(suite, request.protocols[suite.name][0])
            figures[suite.name] = figures_of(suite, found, rows, request.home)["panels"]
    stamp = stamps(store)
    path = write_report(
        out,
        results,
        title="skatter bench",
        machine=stamp.machine,
        command=f"skatter bench run {' '.join(suite.name for suite in request.suites)}",
        versions=stamp.versions,
        date=stamp.finished,
        figures=figures,
        force=force,
    )
    echo(path)


@app.command("export")
@_with_request
def export(
    request: Request,
    out: Annotated[Path, Argument(metavar="FILE", help="results.parquet or results.csv.")],
    suites: Annotated[
        list[str] | None,
        Argument(metavar="[SUITE...]", help="Outcomes of these; else every score."),
    ] = None,
    force: Force = False,
) -> None:
    """Write results as one tidy table, Parquet or CSV.

    With suites: one row for every task and method, with the chosen setting. Without: one row for
    every score of every setting on every fold in the store.
    """
    if out.suffix not in (".parquet", ".csv"):
        raise BadParameter(f"{out} must end in .parquet or .csv.", param_hint="FILE")
    if out.exists() and not force:
        raise BadParameter(f"{out} exists; --force replaces it.", param_hint="FILE")
    import pandas as pd

    store = request.store()
    if suites:
        found = [outcome for each in request.results(store) for outcome in each.outcomes]
        rows = tidy_outcomes(found, store)
    else:
        rows = tidy(store)
    table = pd.DataFrame(rows)
    write = table.to_parquet if out.suffix == ".parquet" else table.to_csv
    write_atomically(out, partial(write, index=False))
    echo(f"{out}: {len(table):,} rows")
