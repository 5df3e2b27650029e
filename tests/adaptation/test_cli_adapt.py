"""``skatter adapt`` and ``skatter predict``: files in and out, all or none, reasons in one line."""

from __future__ import annotations

import io
import json
import os
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

import skatter.reporting
from skatter.adaptation import adapt
from skatter.cli import _adapt as adapt_module
from skatter.cli._adapt import adapt_file
from skatter.cli._files import check_outputs, write_together
from skatter.cli._predict import predict_file
from skatter.pipeline import DomainPipeline
from skatter.saving import ModelFileError, describe_model, load_model, save_model
from skatter.tables import OpenTable

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.usefixtures("few_trees"),
]

app = typer.Typer(rich_markup_mode="markdown")
app.command("adapt")(adapt_file)
app.command("predict")(predict_file)
WIDE = {"COLUMNS": "300", "TERM": "dumb"}


@pytest.fixture(autouse=True)
def extras(require):
    for name in ("pandas", "pyarrow"):
        require(name, "table")


@pytest.fixture(scope="module")
def frame(two_domains):
    frame = pd.DataFrame(two_domains.X, columns=[f"x{place}" for place in range(5)])
    frame.insert(0, "town", two_domains.domain)
    frame["tree"] = np.array(["ash", "elm", "oak"])[two_domains.y]
    frame.loc[two_domains.unlabelled, "tree"] = None
    return frame


@pytest.fixture(scope="module")
def expected(frame):
    return adapt(frame, label="tree", domain="town").predictions


@pytest.fixture
def table(frame, tmp_path):
    path = tmp_path / "trees.csv"
    frame.to_csv(path, index=False)
    return path


def run(*arguments, given=None):
    return CliRunner().invoke(app, [str(each) for each in arguments], input=given, env=WIDE)


def run_adapt(table, *more, given=None):
    return run("adapt", table, "--label", "tree", "--domain", "town", *more, given=given)


def files(folder):
    return sorted(path.name for path in folder.iterdir())


# --- what is written ------------------------------------------------------------------------------


def test_predictions_in_the_file_are_those_of_the_function(table, tmp_path, expected):
    out = tmp_path / "out.parquet"
    result = run_adapt(table, "--out", out)
    assert result.exit_code == 0, result.output
    found = pd.read_parquet(out)
    assert list(found.columns) == list(expected.columns)
    for name in ("predicted_tree", "model", "adapted_tree", "plain_tree"):
        pd.testing.assert_series_equal(
            found[name].astype("string"), expected[name].astype("string")
        )
    np.testing.assert_allclose(found["confidence"], expected["confidence"], rtol=1e-6)
    assert files(tmp_path) == ["out.parquet", "trees.csv"]


def test_standard_input_and_output_are_a_table_and_nothing_else(table, expected):
    result = run_adapt("-", "--out", "-", given=table.read_bytes())
    assert result.exit_code == 0, result.output
    found = pd.read_csv(io.StringIO(result.stdout))
    assert found["predicted_tree"].dropna().tolist() == expected["predicted_tree"].dropna().tolist()
    assert "tree was predicted for" in result.stderr


def test_a_saved_model_predicts_new_rows_as_it_did(table, tmp_path, frame, expected):
    model, out = tmp_path / "model.skatter", tmp_path / "out.csv"
    assert run_adapt(table, "--out", out, "--model", model).exit_code == 0
    new = tmp_path / "new.csv"
    hidden = frame["tree"].isna()
    frame[hidden].drop(columns="tree").assign(note="kept")[::-1].to_csv(new, index=False)
    result = run("predict", model, new, "--out", tmp_path / "answers.csv")
    assert result.exit_code == 0, result.output
    # What adapt says of the confidence is not taken back.
    calibrated = expected["model"].dropna().iloc[0] == "adapted"
    assert ("It is calibrated on other tables" in result.output) == calibrated
    found = pd.read_csv(tmp_path / "answers.csv")
    assert list(found.columns[:7]) == ["town", "x0", "x1", "x2", "x3", "x4", "note"]
    there = expected[hidden][::-1]
    assert found["predicted_tree"].tolist() == there["predicted_tree"].tolist()
    np.testing.assert_allclose(found["confidence"], there["confidence"], atol=1e-6)


def test_a_saved_model_remembers_what_stood_for_a_missing_cell(frame, tmp_path):
    gaps = frame.assign(x0=frame["x0"].mask(frame.index % 7 == 0), tree=frame["tree"])
    marked = gaps.assign(
        x0=[("?" if np.isnan(x) else str(x)) for x in gaps["x0"]],
        tree=gaps["tree"].fillna("unknown"),
    )
    for name, each in (("gaps", gaps), ("marked", marked)):
        each.to_csv(tmp_path / f"{name}.csv", index=False)
    model, missing = tmp_path / "model.skatter", ("--na-values", "?,unknown")
    done = run_adapt(
        tmp_path / "marked.csv", "--out", tmp_path / "out.csv", "--model", model, *missing
    )
    assert done.exit_code == 0, done.output
    answers = {}
    for name in ("gaps", "marked"):
        out = tmp_path / f"{name}-out.csv"
        done = run("predict", model, tmp_path / f"{name}.csv", "--out", out)
        assert done.exit_code == 0, done.output
        answers[name] = pd.read_csv(out)["predicted_tree"].tolist()
        # A marked label is none, and not one that was predicted wrong.
        assert f"Of {frame['tree'].notna().sum()} rows with a label" in done.output
    assert answers["gaps"] == answers["marked"]
    loaded = load_model(model)
    assert loaded.na_values == ("?", "unknown")
    assert loaded.predict(marked).tolist() == answers["marked"]


def test_a_model_file_is_not_many_times_its_table(two_domains, tmp_path):
    """It was 24 times as large: a basis of 300 components for every row, and nothing compressed."""
    rng = np.random.default_rng(0)
    rows = rng.integers(len(two_domains.X), size=900)
    noise = rng.normal(size=(900, 5))
    big = pd.DataFrame(two_domains.X[rows] + 0.3 * noise, columns=list("abcde"))
    big["town"] = two_domains.domain[rows]
    big["tree"] = np.array(["ash", "elm", "oak"])[two_domains.y[rows]]
    big.loc[two_domains.unlabelled[rows], "tree"] = None
    big.to_csv(tmp_path / "big.csv", index=False)
    model = tmp_path / "model.skatter"
    done = run_adapt(tmp_path / "big.csv", "--out", tmp_path / "out.csv", "--model", model)
    assert done.exit_code == 0, done.output
    assert model.stat().st_size < 15 * (tmp_path / "big.csv").stat().st_size


def test_what_a_model_expects_can_be_read_from_its_file(table, tmp_path):
    model = tmp_path / "model.skatter"
    run_adapt(table, "--out", tmp_path / "out.csv", "--model", model)
    about = describe_model(model)
    assert about["columns"] == ["x0", "x1", "x2", "x3", "x4"]
    assert (about["label"], about["domain"]) == ("tree", "town")
    assert about["classes"] == ["ash", "elm", "oak"]
    assert about["settings"]["method"] == "hedged"
    assert about["ship"] == load_model(model).ship


def test_the_report_is_told_of_the_model_and_its_time(table, tmp_path, monkeypatch, frame):
    asked = {}

    def report(result, **given):
        asked.update(given, result=result)
        return "<p>é</p>"

    monkeypatch.setattr(skatter.reporting, "report", report)
    path = tmp_path / "report.html"
    result = run_adapt(table, "--out", tmp_path / "out.csv", "--report", path)
    assert result.exit_code == 0, result.output
    assert path.read_text(encoding="utf-8") == "<p>é</p>"
    assert asked["settings"]["seconds"] > 0
    told = asked["result"]
    assert set(told.samples.sample_domain) == {"amsterdam", "basel"}
    assert told.samples.labelled.tolist() == frame["tree"].notna().tolist()
    hidden = frame["tree"].isna()
    found = told.predictions["adapted_tree"][hidden].tolist()
    assert found == told.model.answers(frame[hidden])["adapted"].label.tolist()


def test_a_real_report_is_a_page(table, tmp_path, require):
    require("jinja2", "table")
    path = tmp_path / "report.html"
    result = run_adapt(table, "--out", tmp_path / "out.csv", "--report", path)
    assert result.exit_code == 0, result.output
    assert path.read_text(encoding="utf-8").lstrip().lower().startswith("<!doctype html>")


def test_numbers_have_a_report_of_their_own(frame, tmp_path, require):
    require("jinja2", "table")
    table, path = tmp_path / "heights.csv", tmp_path / "report.html"
    height = (3 * frame["x0"] + frame["x1"]).where(frame["tree"].notna())
    frame.assign(tree=height).to_csv(table, index=False)
    result = run_adapt(table, "--out", tmp_path / "out.csv", "--report", path)
    assert result.exit_code == 0, result.output
    assert "Expected root mean squared error: " in path.read_text(encoding="utf-8")


# --- all or none ----------------------------------------------------------------------------------


def test_if_one_file_cannot_be_made_none_is_written(table, tmp_path, monkeypatch):
    def fail(*args, **kwargs):
        raise OSError("no space left")

    monkeypatch.setattr(OpenTable, "write_with", fail)
    result = run_adapt(table, "--out", tmp_path / "out.csv", "--model", tmp_path / "m.skatter")
    assert result.exit_code == 1
    assert "no space left" in result.stderr
    assert files(tmp_path) == ["trees.csv"]


def test_files_written_together_get_their_names_when_all_are_complete(tmp_path):
    seen = []

    def write(part):
        seen.append(files(tmp_path))
        part.write_text("new")

    paths = [tmp_path / name for name in ("a", "b")]
    write_together([(path, write) for path in paths], lambda: seen.append(files(tmp_path)))
    assert files(tmp_path) == ["a", "b"]
    for names in seen:
        assert not {"a", "b"} & set(names)


@pytest.mark.parametrize("option", ["--out", "--model", "--report"])
def test_an_existing_file_is_refused_before_any_work(table, tmp_path, monkeypatch, option):
    monkeypatch.setattr(adapt_module, "open_table", lambda *args: pytest.fail("worked"))
    targets = {"--out": tmp_path / "o.csv", "--model": tmp_path / "m", "--report": tmp_path / "r"}
    targets[option].write_text("mine")
    result = run_adapt(table, *(each for pair in targets.items() for each in pair))
    assert result.exit_code == 1
    assert result.stderr.startswith(f"skatter adapt: {option}: ")
    assert result.stderr.count("\n") == 1
    assert targets[option].read_text() == "mine"


def test_force_replaces_a_file(table, tmp_path):
    out = tmp_path / "out.csv"
    out.write_text("old")
    assert run_adapt(table, "--out", out, "--force").exit_code == 0
    assert out.read_text().startswith("town,")


def test_two_outputs_need_two_files(tmp_path):
    same = {"--out": tmp_path / "o.csv", "--model": tmp_path / "sub" / ".." / "o.csv"}
    (tmp_path / "sub").mkdir()
    with pytest.raises(ValueError, match=r"--model: .* is named twice"):
        check_outputs(same, force=False)


def test_an_unknown_ending_is_refused_before_any_work(table, tmp_path, monkeypatch):
    monkeypatch.setattr(adapt_module, "open_table", lambda *args: pytest.fail("worked"))
    result = run_adapt(table, "--out", tmp_path / "out.xlsx")
    assert result.exit_code == 1
    assert ".parquet" in result.stderr


# --- words and exit codes -------------------------------------------------------------------------


def test_the_output_says_what_how_sure_why_and_where(table, tmp_path, expected):
    out = tmp_path / "out.parquet"
    said = run_adapt(table, "--out", out).stdout
    n_hidden = int(expected["predicted_tree"].notna().sum())
    assert f"tree was predicted for {n_hidden} rows" in said
    assert "is the one to ship" in said
    assert ("It is not calibrated" in said) != ("It is calibrated on other tables" in said)
    assert f"Predictions: {out}" in said
    counts = expected["predicted_tree"].value_counts()
    for name, count in counts.items():
        assert any(name in line and f" {count} " in line for line in said.splitlines())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--label", "treee"], "did you mean 'tree'"),
        (["--label", "tree", "--method", "hfa"], "a few labels of the target"),
        (["--label", "tree", "--ignore", "x9"], "x9"),
    ],
    ids=["no such label", "unsuitable method", "no such column"],
)
def test_what_goes_wrong_is_said_in_one_line(table, tmp_path, arguments, words):
    result = run("adapt", table, *arguments, "--domain", "town", "--out", tmp_path / "o.csv")
    assert result.exit_code == 1
    assert words in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""
    assert files(tmp_path) == ["trees.csv"]


def test_an_unknown_method_is_wrong_usage(table, tmp_path):
    result = run_adapt(table, "--out", tmp_path / "o.csv", "--method", "magic")
    assert result.exit_code == 2
    assert "no method 'magic'" in result.output


def test_hostile_names_are_printed_and_not_obeyed(frame, tmp_path):
    hostile = "\x1b[31m[bold]tree"
    table = tmp_path / "t.csv"
    frame.assign(tree=frame["tree"].replace({"oak": "\x1b]0;oak[/bold]"})).rename(
        columns={"tree": hostile}
    ).to_csv(table, index=False)
    result = run(
        "adapt", table, "--label", hostile, "--domain", "town", "--out", tmp_path / "o.csv"
    )
    assert result.exit_code == 0, result.output
    assert "\x1b" not in result.output
    assert "[bold]tree was predicted" in result.output
    assert "oak[/bold]" in result.output


def test_predict_scores_rows_that_have_a_label(table, tmp_path, frame):
    model = tmp_path / "m.skatter"
    save_model(adapt(frame, label="tree", domain="town").model, model)
    new = frame[frame["tree"].notna()].copy()
    new.loc[new.index[:6], "tree"] = "beech"
    new.to_csv(tmp_path / "new.csv", index=False)
    said = run("predict", model, tmp_path / "new.csv", "--out", tmp_path / "p.csv").stdout
    found = pd.read_csv(tmp_path / "p.csv")
    right = 100 * np.mean(found["predicted_tree"] == new["tree"].to_numpy())
    assert f"Of {len(new)} rows with a label, {right:.1f} % are predicted right" in said


def test_predict_says_that_a_domain_is_new_or_missing(tmp_path, frame):
    model = save_model(adapt(frame, label="tree", domain="town").model, tmp_path / "m.skatter")
    for change, words in (
        (frame.assign(town="mars"), "town holds 1 new value, 'mars'"),
        (frame.drop(columns="town"), "There is no column town"),
    ):
        change.to_csv(tmp_path / "new.csv", index=False)
        said = run("predict", model, tmp_path / "new.csv", "--out", "-").stderr
        assert words in said


@pytest.mark.parametrize("kind", ["not a model", "another model", "missing column", "no rows"])
def test_predict_refuses_in_one_line(tmp_path, frame, kind):
    model = tmp_path / "m.skatter"
    adapted = adapt(frame, label="tree", domain="town").model
    save_model(adapted.plain if kind == "another model" else adapted, model)
    new = frame.drop(columns="x3") if kind == "missing column" else frame
    (new[:0] if kind == "no rows" else new).to_csv(tmp_path / "new.csv", index=False)
    if kind == "not a model":
        model.write_text("tree")
    result = run("predict", model, tmp_path / "new.csv", "--out", tmp_path / "p.csv")
    assert result.exit_code == 1
    assert result.stderr.startswith("skatter predict: ")
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "p.csv").exists()


def test_a_model_is_signed_by_adapt_and_asked_for_by_predict(table, tmp_path):
    key, other = tmp_path / "key", tmp_path / "other"
    key.write_bytes(b"k" * 32)
    other.write_bytes(b"o" * 32)
    model, out = tmp_path / "m.skatter", tmp_path / "o.csv"
    method = ("--method", "sca", "--out", tmp_path / "out.csv", "--model", model)
    assert run_adapt(table, *method, "--key-file", key).exit_code == 0
    assert run("predict", model, table, "--out", out, "--key-file", key).exit_code == 0
    refused = run("predict", model, table, "--out", out, "--key-file", other, "--force")
    assert refused.exit_code == 1
    assert "not signed with this key" in refused.stderr
    assert run("predict", model, table, "--out", out, "--key-file", tmp_path).exit_code == 2


@pytest.mark.parametrize("path", ["/dev/zero", "pipe"])
def test_a_model_that_never_ends_is_refused_in_one_line(table, tmp_path, path):
    os.mkfifo(tmp_path / "pipe")
    result = run("predict", tmp_path / path, table, "--out", tmp_path / "o.csv")
    assert result.exit_code == 1
    assert "no regular file" in result.stderr
    assert result.stderr.count("\n") == 1


def test_parts_that_do_not_fit_together_are_not_saved(tmp_path, frame):
    """Pipelines of different tables."""
    one = adapt(frame, label="tree", domain="town", method="sca").model
    few = adapt(frame.drop(columns="x3"), label="tree", domain="town", method="sca").model
    steps = [one.adapted.steps[0], *few.adapted.steps[1:]]
    mixed = replace(one, adapted=DomainPipeline(steps))
    with pytest.raises(ModelFileError, match="ColumnTransformer makes other features than SCA"):
        save_model(mixed, tmp_path / "m.skatter")
    assert not (tmp_path / "m.skatter").exists()


@pytest.mark.parametrize("command", ["adapt", "predict"])
def test_help_teaches_with_an_example(command):
    said = " ".join(run(command, "--help").output.split())
    assert f"skatter {command} " in said
    assert "--out" in said


def test_progress_is_silent_where_nobody_watches(table, tmp_path):
    result = run_adapt(table, "--out", tmp_path / "o.csv")
    assert result.exit_code == 0
    assert result.stderr == ""


def test_a_terminal_that_knows_no_accents_gets_question_marks(frame, tmp_path, ascii_terminal):
    file, out = tmp_path / "in.csv", tmp_path / "out.csv"
    frame.replace({"town": {"basel": "Bäle"}}).to_csv(file, index=False)
    roles = ["--label", "tree", "--domain", "town", "--method", "sca", "--out", out]
    assert b"B?le" in ascii_terminal("adapt", file, *roles)
    assert "Bäle" in out.read_text(encoding="utf-8")


def rounded(value):
    """The same with ten digits of each number: the last ones change with the place in memory."""
    return json.loads(json.dumps(value), parse_float=lambda text: float(f"{float(text):.10g}"))


def test_json_for_scripts_holds_what_the_function_returns(table, tmp_path, frame):
    out = tmp_path / "out.csv"
    result = run_adapt(table, "--out", out, "--json")
    assert result.exit_code == 0, result.output
    said = json.loads(result.stdout)
    direct = adapt(frame, label="tree", domain="town").to_dict()
    for name in ("words", "ship", "judgement", "predicted", "columns"):
        assert rounded(said[name]) == rounded(direct[name])
    assert said["files"] == {"out": str(out)}


def test_every_column_is_named_with_what_is_done_to_it(frame, tmp_path):
    path = tmp_path / "trees.csv"
    frame.assign(day=[f"2024-01-{1 + i % 28:02d}" for i in range(len(frame))]).to_csv(
        path, index=False
    )
    said = " ".join(run_adapt(path, "--out", tmp_path / "out.csv").stdout.split())
    for name in ("x0", "x1", "x2", "x3", "x4", "day"):
        assert name in said.split("Columns")[1]
