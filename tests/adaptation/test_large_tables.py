"""Tables of more rows than models learn from: a fair sample is fitted, and every row predicted."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

from skatter.adaptation import _sample as sample
from skatter.adaptation import adapt
from skatter.adaptation._sample import draw_sample
from skatter.cli._adapt import adapt_file
from skatter.cli._diagnose import diagnose_file
from skatter.cli._predict import predict_file
from skatter.saving import load_model
from skatter.tables import TableError, open_table
from skatter.tables import _carrying as carrying
from skatter.tables import _parquet as parquet

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.usefixtures("few_trees"),
]

N_ROWS, N_SAMPLE, PIECE = 900, 200, 128
app = typer.Typer()
for name, command in (
    ("adapt", adapt_file),
    ("diagnose", diagnose_file),
    ("predict", predict_file),
):
    app.command(name)(command)


@pytest.fixture(autouse=True)
def small(require, monkeypatch):
    """A few hundred rows are a large table here."""
    for name in ("pandas", "pyarrow"):
        require(name, "table")
    monkeypatch.setattr(sample, "SAMPLE_ROWS", N_SAMPLE)
    for module in (carrying, parquet):
        monkeypatch.setattr(module, "PIECE_ROWS", PIECE)


def make_frame():
    """Two towns, the second without labels and behind the first: whole pieces have no label."""
    rng = np.random.default_rng(0)
    kind, there = rng.integers(3, size=N_ROWS), np.arange(N_ROWS) >= 300
    kind[:4] = 3  # a rare class
    X = rng.normal(size=(N_ROWS, 4)) + 2 * np.eye(4)[kind] + there[:, None]
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["id"] = np.arange(N_ROWS, dtype=np.int32)[::-1]
    frame["soil"] = np.where(rng.uniform(size=N_ROWS) < 0.5, "01", "1")
    frame["town"] = np.where(there, "cairo", "basel")
    frame["tree"] = np.where(there, None, np.array(["ash", "elm", "oak", "yew"])[kind])
    return frame


@pytest.fixture
def frame():
    return make_frame()


@pytest.fixture
def table(frame, tmp_path):
    path = tmp_path / "trees.parquet"
    frame.to_parquet(path, index=False, row_group_size=250)
    return path


def drawn(path, seed=0, domain="town"):
    with open_table(path) as table:
        return draw_sample(table, label="tree", domain=domain, random_state=seed)


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)), env={"COLUMNS": "300"})


# --- the sample -----------------------------------------------------------------------------------


def test_a_sample_is_half_of_the_sources_and_half_of_the_targets(table, frame):
    found = drawn(table)
    assert (found.n_rows, found.n_labelled) == (N_ROWS, 300)
    assert found.frame["town"].value_counts().to_dict() == {"basel": 100, "cairo": 100}
    pd.testing.assert_frame_equal(found.frame, frame.loc[found.frame.index], check_names=False)
    assert (found.frame["tree"] == "yew").sum() == 4


def test_a_sample_does_not_depend_on_how_the_table_is_cut(table, monkeypatch):
    rows = drawn(table).frame.index
    assert not rows.equals(drawn(table, seed=1).frame.index)
    for module in (carrying, parquet):
        monkeypatch.setattr(module, "PIECE_ROWS", 77)
    assert rows.equals(drawn(table).frame.index)


def test_a_sample_of_csv_is_that_of_parquet(table, frame, tmp_path):
    frame.to_csv(tmp_path / "trees.csv", index=False)
    assert drawn(tmp_path / "trees.csv").frame.index.equals(drawn(table).frame.index)


def test_without_domains_labelled_rows_teach(table):
    found = drawn(table, domain=None).frame["tree"]
    assert found.notna().sum() == found.isna().sum() == N_SAMPLE / 2


def test_a_target_that_knows_some_labels_stays_one(frame, tmp_path):
    frame.loc[300:359, "tree"] = "oak"  # one in ten
    frame.to_parquet(tmp_path / "some.parquet")
    found = drawn(tmp_path / "some.parquet").frame
    assert found["town"].value_counts().to_dict() == {"basel": 100, "cairo": 100}
    assert 0 < found["tree"][found["town"] == "cairo"].notna().sum() < 30


def test_numbers_are_drawn_whatever_they_are(frame, tmp_path, monkeypatch):
    monkeypatch.setattr(sample, "MAX_CLASSES", 50)
    frame["tree"] = np.where(frame["town"] == "basel", frame["a"], np.nan)
    frame.to_parquet(tmp_path / "numbers.parquet")
    found = drawn(tmp_path / "numbers.parquet").frame
    assert found["town"].value_counts().to_dict() == {"basel": 100, "cairo": 100}


def test_what_is_wrong_with_a_large_table_is_said_with_its_column_and_row(frame, tmp_path):
    path = tmp_path / "bad.parquet"
    frame.to_parquet(path)
    with open_table(path) as table, pytest.raises(TableError, match="label: there is no column 'T"):
        draw_sample(table, label="Tree", domain="town")
    frame.assign(town=frame["town"].where(frame.index != 700)).to_parquet(path)
    with pytest.raises(TableError, match=r"'town' is empty in .* first in row 701;"):
        drawn(path)
    row = drawn_row(frame, path)
    frame.loc[row, "b"] = 1e200
    frame.to_parquet(path)
    named = rf"'b': 1e\+200 in row {row + 1:,} is too large"
    with open_table(path) as table, pytest.raises(TableError, match=named):
        adapt(table, label="tree", domain="town")


def drawn_row(frame, path):
    frame.to_parquet(path)
    return int(drawn(path).frame.index[50])


# --- the whole table ------------------------------------------------------------------------------


def test_every_row_is_predicted_as_the_model_of_the_sample_does(table, frame, tmp_path):
    out, model = tmp_path / "out.parquet", tmp_path / "model.skatter"
    given = ("--label", "tree", "--domain", "town", "--out", out, "--model", model, "--json")
    result = run("adapt", table, *given)
    assert result.exit_code == 0, result.output
    told, found = json.loads(result.stdout), pd.read_parquet(out)
    pd.testing.assert_frame_equal(found[frame.columns], pd.read_parquet(table))
    hidden = frame["tree"].isna().to_numpy()
    fitted = load_model(model)
    answer = fitted.answers(frame[hidden])[fitted.ship]
    assert found["predicted_tree"][~hidden].isna().all()
    assert found["predicted_tree"][hidden].tolist() == answer.label.tolist()
    np.testing.assert_allclose(found["confidence"][hidden], answer.confidence, rtol=1e-9)
    assert sum(each["rows"] for each in told["predicted"]) == hidden.sum()
    assert "tree was predicted for 600 rows without it, from 300 rows with it" in told["words"][0]
    assert "Fitted on a sample of 200 of 900 rows, 100 of them with tree" in told["words"][1]
    again = tmp_path / "again.parquet"
    result = run("predict", model, table, "--out", again)
    assert result.exit_code == 0, result.output
    assert "predicted for 900 rows" in result.stdout
    assert "The figures below are of 200 of them" in result.stdout
    same = pd.read_parquet(again)["predicted_tree"]
    assert same.tolist() == fitted.answers(frame)[fitted.ship].label.tolist()


def test_numbers_of_a_large_csv_are_predicted_too_with_a_report_of_the_sample(frame, tmp_path):
    frame["tree"] = np.where(frame["town"] == "basel", frame["a"] + frame["b"], np.nan)
    frame.to_csv(tmp_path / "numbers.csv", index=False)
    out, page = tmp_path / "out.csv", tmp_path / "report.html"
    given = ("--label", "tree", "--domain", "town", "--out", out, "--report", page)
    result = run("adapt", tmp_path / "numbers.csv", *given)
    assert result.exit_code == 0, result.output
    found, hidden = pd.read_csv(out), frame["town"] == "cairo"
    assert found["predicted_tree"].notna().equals(hidden)
    assert (found["low"] <= found["high"])[hidden].all()
    assert "Fitted on a sample of 200 of 900 rows" in result.stdout
    assert "These are a sample of the table&#39;s 900 rows" in page.read_text()


def test_where_a_piece_fails_nothing_is_written(table, tmp_path):
    def fail_late(piece):
        if piece.index[0] >= 3 * PIECE:
            raise TableError("no more.")
        return pd.DataFrame({"new": piece.index}, index=piece.index)

    with open_table(table) as opened, pytest.raises(TableError, match="no more"):
        opened.write_with(fail_late, tmp_path / "out.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["trees.parquet"]


def test_a_diagnosis_of_a_large_table_says_how_many_rows_it_looked_at(table):
    result = run("diagnose", table, "--domain", "town", "--label", "tree", "--permutations", 19)
    assert result.exit_code == 0, result.output
    assert "200 of 900 rows, spread evenly over the table, are looked at" in result.stderr
