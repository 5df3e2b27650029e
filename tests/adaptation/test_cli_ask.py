"""``skatter ask`` and ``skatter adapt --checked``: a sheet out, filled in, and back."""

from __future__ import annotations

import shlex

import numpy as np
import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

from skatter import ask
from skatter.adaptation._job import Job
from skatter.cli import build_app
from skatter.cli._options import class_frequencies, read_shares
from skatter.tables import TableError

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.usefixtures("few_trees"),
]

WIDE = {"COLUMNS": "300", "TERM": "dumb"}
ROLES = ("--label", "tree", "--domain", "town")


@pytest.fixture(scope="module")
def truth(two_domains):
    return np.array(["ash", "elm", "oak"])[two_domains.y]


@pytest.fixture(scope="module")
def frame(two_domains, truth):
    frame = pd.DataFrame(two_domains.X, columns=[f"x{place}" for place in range(5)])
    frame.insert(0, "town", two_domains.domain)
    frame["tree"] = np.where(two_domains.unlabelled, None, truth)
    return frame


@pytest.fixture
def table(frame, tmp_path):
    path = tmp_path / "trees.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture
def no_work(monkeypatch):
    monkeypatch.setattr(Job, "fit", lambda *args: pytest.fail("worked"))


def run(*arguments, given=None):
    arguments = [str(each) for each in arguments]
    return CliRunner().invoke(build_app(), arguments, input=given, env=WIDE)


def test_a_sheet_is_filled_in_and_decides_by_the_command_that_was_named(
    table, tmp_path, frame, truth
):
    path, out = tmp_path / "a sheet.csv", tmp_path / "out.csv"
    asked = run("ask", table, *ROLES, "--labels", 12, "--seed", 1, "--out", path)
    assert asked.exit_code == 0, asked.output
    sheet = pd.read_csv(path)
    expected = ask(frame, label="tree", domain="town", n_labels=12, random_state=1).sheet
    assert sheet["row"].tolist() == expected["row"].tolist()

    sheet["tree"] = truth[sheet["row"] - 1]
    sheet.to_csv(path, index=False)
    line = next(line for line in asked.stdout.splitlines() if "skatter adapt" in line)
    command = shlex.split(line.partition("skatter ")[2])
    assert command[command.index("--seed") + 1] == "1"
    command[-1] = str(out)
    result = run(*command)
    assert result.exit_code == 0, result.output
    assert "ecided by 12 checked rows" in result.stdout or "equally good" in result.stdout
    found = pd.read_csv(out)
    assert (found["model"] == "checked").sum() == 12
    assert found["tree"].isna().sum() == frame["tree"].isna().sum()


def test_the_output_says_what_to_do_and_what_was_drawn(table):
    result = run("ask", table, *ROLES, "--labels", 9, "--out", "-")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("row,tree,stratum,weight,town,x0")
    assert len(result.stdout.splitlines()) == 10
    assert "9 rows to label, of 36 without tree" in result.stderr
    assert "Skip no row because it is hard" in result.stderr
    assert "models agree" in result.stderr


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--label", "treee"], "did you mean 'tree'"),
        (["--label", "tree", "--labels", "35"], "35 labels are asked for, and 36 rows"),
        (["--label", "tree", "--ignore", "x9"], "x9"),
        (["--label", "tree", "--frequencies", "ash=1,elm=1"], "'oak' too"),
        (["--label", "tree", "--frequencies", "ash=1,elm=1,oka=1"], "did you mean 'oak'"),
    ],
    ids=["no such label", "too many rows", "no such column", "class left out", "unknown class"],
)
def test_what_goes_wrong_is_said_in_one_line(table, tmp_path, arguments, words):
    result = run("ask", table, *arguments, "--domain", "town", "--out", tmp_path / "sheet.csv")
    assert result.exit_code == 1
    assert words in result.stderr
    assert result.stderr.startswith("skatter ask: ")
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "sheet.csv").exists()


@pytest.mark.usefixtures("no_work")
def test_an_existing_sheet_is_refused_before_any_work(table, tmp_path):
    (tmp_path / "sheet.csv").write_text("my answers")
    result = run("ask", table, *ROLES, "--out", tmp_path / "sheet.csv")
    assert result.exit_code == 1
    assert result.stderr.startswith("skatter ask: --out: ")
    assert (tmp_path / "sheet.csv").read_text() == "my answers"


@pytest.mark.usefixtures("no_work")
def test_a_sheet_of_another_table_is_refused_in_one_line(table, tmp_path):
    sheet = tmp_path / "sheet.csv"
    sheet.write_text("row,tree,stratum,weight,x0\n900,elm,models agree,36,1.5\n")
    result = run("adapt", table, *ROLES, "--checked", sheet, "--out", tmp_path / "out.csv")
    assert result.exit_code == 1
    assert result.stderr == (
        "skatter adapt: checked: the table has no row '900'; the sheet is of another table.\n"
    )


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize("command", ["adapt", "ask"])
@pytest.mark.parametrize(
    ("shares", "words"),
    [
        ("ash", "is not like yes=0.1"),
        ("ash=much", "'much' is no number"),
        ("ash=-1", "is no share"),
        ("ash=nan", "is no share"),
        ("ash=1,ash=2", "is there twice"),
    ],
)
def test_shares_that_are_none_are_wrong_usage(table, tmp_path, command, shares, words):
    out = tmp_path / "out.csv"
    result = run(command, table, *ROLES, "--frequencies", shares, "--out", out)
    assert result.exit_code == 2
    assert words in " ".join(result.output.split())


def test_an_unknown_metric_is_wrong_usage(table, tmp_path):
    result = run("adapt", table, *ROLES, "--metric", "f1", "--out", tmp_path / "out.csv")
    assert result.exit_code == 2
    assert "balanced-accuracy" in result.output


def test_metric_and_frequencies_reach_the_models(table, tmp_path, monkeypatch):
    seen = {}

    def fit(job, *args):
        seen.update(job.hedge.get_params(deep=False))
        raise ValueError("enough")

    monkeypatch.setattr(Job, "fit", fit)
    shares = "oak=0.5, ash=0.3, elm=0.2"
    given = ("--metric", "balanced-accuracy", "--frequencies", shares)
    assert run("adapt", table, *ROLES, *given, "--out", tmp_path / "out.csv").exit_code == 1
    assert seen["metric"] == "balanced accuracy"
    assert seen["class_frequencies"] == {"oak": 0.5, "ash": 0.3, "elm": 0.2}


def test_shares_of_classes_that_are_numbers():
    frame = pd.DataFrame({"kind": [1.0, 2.0, np.nan]})
    assert class_frequencies(read_shares("2=3,1=1"), frame, "kind") == {2: 3.0, 1: 1.0}
    assert class_frequencies(read_shares(None), frame, "kind") is None
    with pytest.raises(TableError, match="no class '3'"):
        class_frequencies({"1": 1, "2": 1, "3": 1}, frame, "kind")
    with pytest.raises(typer.BadParameter):
        read_shares("=1")


def test_help_teaches_with_an_example():
    said = " ".join(run("ask", "--help").output.split())
    assert "skatter ask digits.csv" in said
    assert "skatter adapt --checked" in said
