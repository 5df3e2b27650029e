"""``skatter diagnose``: files in, words, numbers or JSON out, and one line where it cannot."""

from __future__ import annotations

import json

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from skatter.cli._diagnose import diagnose_file
from skatter.diagnosis import _pairs as pairs
from skatter.diagnosis import diagnose

app = typer.Typer()
app.command()(diagnose_file)
runner = CliRunner()


@pytest.fixture(autouse=True)
def few_trees(monkeypatch):
    monkeypatch.setattr(pairs, "N_TREES", 20)


@pytest.fixture
def table(require):
    """Numbers, a category that differs by site, a date, missing cells, labels of one site."""
    pandas = require("pandas")
    rng = np.random.default_rng(0)
    site = np.repeat(["basel", "cairo"], 60)
    ward = np.where(site == "basel", rng.choice(["x", "y"], 120), rng.choice(["y", "z"], 120))
    dose = rng.normal(size=120)
    dose[70:90] = np.nan
    ill = np.where(site == "basel", np.where(rng.uniform(size=120) < 0.5, "yes", "no"), "")
    return pandas.DataFrame(
        {
            "site": site,
            "day": pandas.date_range("2024-01-01", periods=120).astype(str),
            "age": rng.normal(50, 9, 120).round(1),
            "dose": dose,
            "ward": ward,
            "ill": ill,
        }
    )


@pytest.fixture
def path(table, tmp_path):
    file = tmp_path / "visits of two sites.csv"
    table.to_csv(file, index=False)
    return file


def invoke(*arguments, **options):
    env = {"COLUMNS": "80", "TERM": "dumb"}
    return runner.invoke(app, [str(argument) for argument in arguments], env=env, **options)


def test_words_come_first_and_numbers_below(path):
    result = invoke(path, "--domain", "site", "--label", "ill")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[:2] == ["Is there a shift?", "Yes, there is a shift: basel and cairo differ."]
    assert "Which features carry it" in lines
    assert "cairo has no labels" in " ".join(result.stdout.split())


def test_categories_and_dates_are_reported_by_their_column_and_ids_left_out(table, tmp_path):
    path = tmp_path / "visits.csv"
    table.assign(patient=[f"p{i:03d}" for i in range(120)]).to_csv(path, index=False)
    said = json.loads(invoke(path, "-d", "site", "-l", "ill", "--json").stdout)
    assert {feature["name"] for feature in said["features"]} == {"age", "day", "dose", "ward"}
    assert said["features"][0]["name"] == "day"
    assert list(said["left_out"]) == ["patient"]
    assert said["missing"][0]["name"] == "dose"
    assert said["missing"][0]["highest"] == pytest.approx(20 / 60)


def test_the_command_gives_what_the_function_gives(table, path):
    said = json.loads(
        invoke(path, "-d", "site", "--features", "age,dose", "--seed", 3, "--json").stdout
    )
    direct = diagnose(table[["age", "dose"]], sample_domain=table["site"], random_state=3).to_dict()
    for one, other in zip(said["features"], direct["features"], strict=True):
        assert one["name"] == other["name"]
        assert one["distance"] == pytest.approx(other["distance"])
    assert said["pairs"][0]["mmd"] == pytest.approx(direct["pairs"][0]["mmd"], abs=1e-5)


@pytest.mark.parametrize("whole", [False, True], ids=["fractions", "many whole numbers"])
def test_numbers_are_told_by_mean_and_spread_and_nothing_is_said_of_classes(table, tmp_path, whole):
    dose = np.where(table["site"] == "basel", 40.25, 90.25) + np.arange(120) % 60
    file = tmp_path / "numbers.csv"
    table.assign(ill=dose.round() if whole else dose).to_csv(file, index=False)
    result = invoke(file, "-d", "site", "-l", "ill")
    assert result.exit_code == 0, result.output
    words, notes = (" ".join(part.split()) for part in result.stdout.split("\nNotes\n"))
    assert "Labels shift too (p < 0.001), most between basel and cairo: mean " in words
    assert "class" not in words.replace("A classifier tells", "")
    assert "class balance does not apply" in notes
    as_classes = invoke(file, "-d", "site", "-l", "ill", "--task", "classes")
    assert as_classes.exit_code == 1
    assert "too many for classes" in as_classes.output


def test_where_labels_may_be_either_it_asks_as_adapt_does(table, tmp_path):
    file = tmp_path / "either.csv"
    table.assign(ill=np.arange(120) % 30).to_csv(file, index=False)
    asked = invoke(file, "-d", "site", "-l", "ill")
    assert asked.exit_code == 1
    assert "30 different whole numbers, from 0 to 29: classes or numbers?" in asked.output
    for task in ("classes", "numbers"):
        assert invoke(file, "-d", "site", "-l", "ill", "--task", task).exit_code == 0


@pytest.mark.parametrize("value", ["0.5", "3", "yes"])
def test_a_label_that_is_the_same_everywhere_is_one_class(table, tmp_path, value):
    file = tmp_path / "constant.csv"
    table.assign(ill=value).to_csv(file, index=False)
    assert invoke(file, "-d", "site", "-l", "ill").exit_code == 0


def test_text_is_no_number(path):
    result = invoke(path, "-d", "site", "-l", "ill", "--task", "numbers")
    assert result.exit_code == 1
    assert "column 'ill' holds text" in result.output
    assert invoke(path, "-d", "site", "--task", "numbers").exit_code == 0


def test_the_next_command_is_shown_with_its_names_quoted(path):
    out = invoke(path, "-d", "site", "-l", "ill").stdout
    assert f"skatter adapt '{path}' --label ill --domain site" in out


def test_standard_input_is_read(path):
    result = invoke("-", "-d", "site", "--json", input=path.read_bytes())
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["n_samples"] == 120


def test_nothing_but_results_is_on_standard_output_and_no_progress_is_piped(path):
    result = invoke(path, "-d", "site", "--json")
    assert result.stdout.startswith("{")
    assert result.stderr == ""


def test_columns_are_left_out_by_name(path):
    said = json.loads(
        invoke(path, "-d", "site", "--ignore", "ward,ill", "--ignore", "day", "--json").stdout
    )
    assert {feature["name"] for feature in said["features"]} == {"age", "dose"}


def test_names_with_markup_and_control_characters_stay_text(table, tmp_path):
    name = "[red]\x1b]0;owned\x07<b>"
    file = tmp_path / "t.csv"
    table.rename(columns={"ward": name}).replace({"site": {"cairo": "[bold]c"}}).to_csv(
        file, index=False
    )
    result = invoke(file, "-d", "site", "-l", "ill")
    assert result.exit_code == 0, result.output
    assert "\x1b" not in result.output
    assert "[bold]c" in result.output
    assert "[red]" in result.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-d", "Site"], "did you mean 'site'"),
        (["-d", "site", "-l", "sick"], "no column 'sick'"),
        (["-d", "ill"], "empty"),
        (["-d", "site", "--features", "nope"], "no column 'nope'"),
    ],
    ids=["domain", "label", "empty-domain", "features"],
)
def test_what_is_wrong_is_said_in_one_line(path, arguments, words):
    result = invoke(path, *arguments)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith("skatter diagnose: ")
    assert len(result.stderr.splitlines()) == 1
    assert words in result.stderr


def test_one_domain_and_a_missing_file_fail_in_one_line(table, tmp_path):
    file = tmp_path / "one.csv"
    table[table["site"] == "basel"].to_csv(file, index=False)
    for name, words in ((file, "one domain only"), (tmp_path / "none.csv", "none.csv")):
        result = invoke(name, "-d", "site")
        assert result.exit_code == 1
        assert words in result.stderr
        assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("option", [["--level", "2"], ["--permutations", "3"], ["--seed", "-1"]])
def test_wrong_usage_exits_with_2(path, option):
    assert invoke(path, "-d", "site", *option).exit_code == 2


def test_a_terminal_that_knows_no_accents_gets_question_marks(table, tmp_path, ascii_terminal):
    file = tmp_path / "t.csv"
    table.replace({"site": {"cairo": "Zürich"}}).to_csv(file, index=False)
    said = ascii_terminal("diagnose", file, "-d", "site", "--ignore", "ill")
    assert b"Z?rich and basel differ" in said


def test_help_teaches_with_an_example():
    out = invoke("--help").stdout
    assert "skatter diagnose digits.csv --domain collection --label digit" in " ".join(out.split())
    assert "--json" in out
