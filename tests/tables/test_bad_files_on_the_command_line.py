"""A bad file ends a command in one line on the error stream, and leaves nothing behind."""

from __future__ import annotations

import os

import pytest
from bad_files import BAD_FILES
from typer.testing import CliRunner

from skatter.cli import build_app

pytestmark = pytest.mark.usefixtures("few_trees")

runner = CliRunner()
COLUMNS = ("--domain", "site", "--label", "ill")
SMALL = [bad for bad in BAD_FILES if not bad.bomb]


@pytest.fixture(scope="module")
def app(require):
    for name in ("pandas", "pyarrow"):
        require(name, "table")
    return build_app()


def assert_refused_in_one_line(result, command):
    assert isinstance(result.exception, SystemExit)  # and not what a traceback would show
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith(f"skatter {command}: ")
    assert result.stderr.count("\n") == 1
    assert result.stderr[:-1].isprintable()


@pytest.mark.parametrize("bad", SMALL, ids=lambda bad: f"{bad.suffix[1:]}-{bad.name}")
def test_diagnose_and_adapt_answer_or_refuse_in_one_line(bad, app, tmp_path):
    path = bad.write(tmp_path)
    result = runner.invoke(app, ["diagnose", str(path), *COLUMNS])
    if result.exit_code:
        assert_refused_in_one_line(result, "diagnose")
    outputs = ["predictions.csv", "model.skatter", "report.html"]
    files = [str(tmp_path / name) for name in outputs]
    options = ["--out", files[0], "--model", files[1], "--report", files[2], "--method", "sca"]
    result = runner.invoke(app, ["adapt", str(path), *COLUMNS, *options])
    if result.exit_code:
        assert_refused_in_one_line(result, "adapt")
    assert {*os.listdir(tmp_path)} - {path.name} == (set() if result.exit_code else {*outputs})
