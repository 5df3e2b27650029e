"""``skatter bench`` as a user types it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

typer_testing = pytest.importorskip("typer.testing", reason='pip install "skatter[cli]"')

from skatter.cli import build_app  # noqa: E402
from skatter_bench.store import Store, pack  # noqa: E402
from skatter_bench.suites import SUITES  # noqa: E402

FAST = ["figure1", "--methods", "raw,kpca", "--jobs", "1"]


def call(*arguments: str, code: int = 0) -> str:
    """Everything that the command prints, errors included."""
    result = typer_testing.CliRunner().invoke(
        build_app(), ["bench", *map(str, arguments)], env={"COLUMNS": "200"}
    )
    assert result.exit_code == code, result.output
    return result.output


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("bench") / "store"
    call("run", *FAST, "--store", folder)
    return folder


def test_list_names_every_suite():
    printed = call("list")
    assert all(re.search(rf"^ *{name} ", printed, re.MULTILINE) for name in SUITES)


def test_list_tells_all_about_one_suite():
    printed = " ".join(call("list", "table2").split())
    assert "A->W" in printed
    assert "source-cv, target-oracle" in printed
    assert "Did you mean 'table2'" in call("list", "tabel2", code=2)


def test_run_prints_the_table_and_keeps_every_piece(tmp_path):
    first = call("run", *FAST, "--store", tmp_path / "store")
    assert "kpca + 1NN" in first
    assert "upper bound" in first
    assert "0 found, 0 failed" in first
    again = call("run", *FAST, "--store", tmp_path / "store")
    assert "0 pieces done" in again


def test_run_says_what_each_contestant_took(store):
    assert re.search(r"CPU seconds.*kpca \+ 1NN \d", call("run", *FAST, "--store", store))


@pytest.mark.parametrize(
    ("form", "sign"),
    [
        ("terminal", "kpca + 1NN"),
        ("markdown", "| kpca + 1NN |"),
        ("latex", r"\toprule"),
        ("html", "<table"),
        ("csv", "method,source->target"),
    ],
)
def test_tables_come_in_five_formats(store, form, sign):
    assert sign in call(
        "table", "figure1", "--methods", "raw,kpca", "--store", store, "--format", form
    )


def test_a_packed_store_shows_what_its_folder_shows(store, tmp_path):
    pack([Store(store)], tmp_path / "packed.xz")
    arguments = ("table", "figure1", "--methods", "raw,kpca", "--format", "csv", "--store")
    assert call(*arguments, tmp_path / "packed.xz") == call(*arguments, store)


def test_a_missing_library_is_named_with_the_extra_that_brings_it(store, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    printed = call("export", "scores.csv", "--store", store, code=1)
    assert "pandas" in printed
    assert 'pip install "skatter[bench]"' in printed


def test_a_table_of_nothing_says_so(store):
    assert "nothing finished" in call("table", "table2", "--store", store, code=1)


def test_figures_are_drawn(store, tmp_path):
    pytest.importorskip("matplotlib", reason='pip install "skatter[plot]"')
    out = tmp_path / "figures"
    call("figure", "figure1", "--methods", "raw,kpca", "--store", store, "--out", out)
    pictures = list(out.glob("*.png"))
    assert [path.name for path in pictures] == ["figure1-target-oracle-panels.png"]
    assert pictures[0].read_bytes().startswith(b"\x89PNG")


def test_the_report_is_one_file_and_replaces_nothing_unasked(store, tmp_path):
    pytest.importorskip("jinja2", reason='pip install "skatter[report]"')
    out = tmp_path / "report.html"
    arguments = ("report", "figure1", "--methods", "raw,kpca", "--store", store, "--out", out)
    call(*arguments)
    assert "kpca" in out.read_text()
    out.write_text("mine")
    call(*arguments, code=1)
    assert out.read_text() == "mine"
    call(*arguments, "--force")
    assert "kpca" in out.read_text()


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_every_score_is_exported(store, tmp_path, suffix):
    pandas = pytest.importorskip("pandas", reason='pip install "skatter[report]"')
    out = tmp_path / f"scores.{suffix}"
    call("export", out, "--store", store)
    table = pandas.read_parquet(out) if suffix == "parquet" else pandas.read_csv(out)
    n_scores = sum(len(record["scores"]) for record in Store(store))
    assert len(table) == n_scores
    assert {"accuracy", "seed", "setting.gamma", "version.numpy", "machine"} <= set(table)
    assert "exists" in call("export", out, "--store", store, code=2)


def test_outcomes_are_exported_with_the_setting_that_was_chosen(store, tmp_path):
    pandas = pytest.importorskip("pandas", reason='pip install "skatter[report]"')
    out = tmp_path / "outcomes.parquet"
    call("export", out, "figure1", "--methods", "raw,kpca", "--store", store)
    table = pandas.read_parquet(out).set_index("label")
    assert set(table.index) >= {"raw + 1NN", "kpca + 1NN"}
    assert "gamma" in json.loads(table.loc["kpca + 1NN", "setting"])
    assert set(table["protocol"]) == {"target-oracle"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "figrue1"), "Did you mean 'figure1'"),
        (("run", "figure1", "--methods", "kpac"), "Did you mean 'kpca'"),
        (("run", "figure1", "--protocol", "source-cv"), "does not suit figure1"),
        (("run", "figure1", "--method", "nothing"), "module:Class"),
        (("run", "figure1", "--method", "no_such_module:A"), "no module 'no_such_module'"),
        (("run", "figure1", "--method", "os:path"), "estimator class"),
        (("table", "figure1", "--store", "no_such_folder"), "run a suite first"),
        (("export", "scores.xlsx"), "must end in .parquet or .csv"),
    ],
    ids=["suite", "method", "protocol", "path", "module", "estimator", "store", "suffix"],
)
def test_a_bad_argument_is_named_with_its_remedy(arguments, words):
    printed = " ".join(call(*arguments, code=2).replace("│", " ").split())
    assert words in printed


def test_a_store_that_cannot_be_written_stops_before_any_work(tmp_path):
    file = tmp_path / "file"
    file.write_text("mine")
    printed = call("run", *FAST, "--store", file / "store", code=1)
    assert str(file) in printed
    assert file.read_text() == "mine"


def test_missing_data_name_the_file_and_where_to_put_it(tmp_path):
    printed = call("run", "table2", "--data-home", tmp_path, "--store", tmp_path / "s", code=1)
    assert "amazon_SURF_L10.mat is not in" in " ".join(printed.split())
    assert not (tmp_path / "s").exists()


def test_a_damaged_file_stops_the_run_before_any_work(tmp_path):
    folder = tmp_path / "data" / "office_caltech10_surf"
    folder.mkdir(parents=True)
    (folder / "amazon_SURF_L10.mat").write_bytes(b"cut off")
    printed = call(
        "run", "table2", "--data-home", tmp_path / "data", "--store", tmp_path / "s", code=1
    )
    assert "size in bytes expected 104970, found 7" in " ".join(printed.split())
    assert not (tmp_path / "s").exists()


# --- a real process -------------------------------------------------------------------------------

SKATTER = [sys.executable, "-c", "from skatter.cli import main; main()", "bench"]


def start(*arguments: str, cwd: Path, **variables: str) -> subprocess.Popen:
    return subprocess.Popen(
        [*SKATTER, *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "COLUMNS": "200", **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def records(folder: Path) -> dict[Path, tuple[int, bytes]]:
    return {
        path: (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.glob("cells/*/*.json")
    }


def test_a_run_that_is_killed_goes_on_where_it_was(tmp_path):
    arguments = ("run", "figure1", "--store", tmp_path / "store", "--jobs", "2")
    process = start(*arguments, cwd=tmp_path)
    for _ in range(600):
        if len(records(tmp_path / "store")) >= 5:
            break
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    before = records(tmp_path / "store")
    assert before
    again = start(*arguments, cwd=tmp_path)
    printed, _ = again.communicate(timeout=300)
    assert again.returncode == 0, printed
    assert f"{len(before)} found, 0 failed" in printed
    after = records(tmp_path / "store")
    assert {path: after[path] for path in before} == before
    assert len(after) > len(before)


def new_method() -> str:
    """The estimator of the page that teaches how to write one."""
    page = Path(__file__).parents[2] / "docs" / "new-method.md"
    return re.search(r"```python\n(.*?)```", page.read_text(), re.DOTALL)[1]


def test_the_page_about_new_methods_teaches_one_of_twenty_lines():
    lines = [line for line in new_method().splitlines() if line.strip()]
    assert len(lines) <= 20


def test_a_method_outside_the_package_gets_its_row(tmp_path):
    (tmp_path / "same_means.py").write_text(new_method())
    process = start(
        "run",
        "figure1",
        "--methods",
        "raw",
        "--method",
        "same_means:SameMeans",
        "--store",
        tmp_path / "store",
        "--jobs",
        "2",
        cwd=tmp_path,
    )
    printed, _ = process.communicate(timeout=300)
    assert process.returncode == 0, printed
    assert re.search(r"samemeans \+ 1NN +\d+\.\d\d", printed)


FAILING = """
from sklearn.base import BaseEstimator, TransformerMixin

class Fails(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None, sample_domain=None):
        raise ValueError("no \\x1b[31mred\\x1b[0m luck")

    def transform(self, X):
        return X
"""


def test_a_method_that_fails_in_every_fit_is_counted_and_ends_with_a_code_of_its_own(tmp_path):
    (tmp_path / "fails.py").write_text(FAILING)
    arguments = ("--method", "fails:Fails", "--store", tmp_path / "store", "--jobs", "1")
    process = start("run", "figure1", "--methods", "raw", *arguments, cwd=tmp_path)
    printed, _ = process.communicate(timeout=300)
    assert process.returncode == 1, printed
    assert re.search(r"[1-9]\d* failed", printed)
    assert "luck" in printed
    assert "\x1b[31m" not in printed
    assert "Traceback" not in printed


def test_a_record_that_lacks_something_is_named_in_one_line(store, tmp_path):
    folder = tmp_path / "store"
    shutil.copytree(store, folder)
    own = Store(folder)
    first = next(iter(own))
    del first["cpu_seconds"], first["versions"]
    own.put(first.pop("key"), first)
    for command in (["table", *FAST[:3]], ["report", *FAST[:3], "--out", tmp_path / "page.html"]):
        printed = call(*command, "--store", folder, code=1)
        assert re.fullmatch(r"skatter: the record \w{64} lacks [\w ]+\. .*\n", printed)
    assert not (tmp_path / "page.html").exists()


def test_a_method_that_an_installed_package_announces_gets_its_row(tmp_path):
    (tmp_path / "same_means.py").write_text(new_method())
    announced = tmp_path / "same_means-1.0.dist-info"
    announced.mkdir()
    (announced / "METADATA").write_text("Metadata-Version: 2.1\nName: same-means\nVersion: 1.0\n")
    (announced / "entry_points.txt").write_text(
        "[skatter.methods]\nsame-means = same_means:SameMeans\n"
    )
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    process = start(
        "run",
        "figure1",
        "--methods",
        "raw,samemeans",
        "--store",
        "store",
        "--jobs",
        "2",
        cwd=elsewhere,
        PYTHONPATH=str(tmp_path),
    )
    printed, _ = process.communicate(timeout=300)
    assert process.returncode == 0, printed
    assert re.search(r"samemeans \+ 1NN +\d+\.\d\d", printed)
