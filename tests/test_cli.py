"""The command line answers, refuses and reports what an independent computation gives."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace

import matplotlib.image
import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist
from typer.testing import CliRunner

import skatter.cli
from skatter import KPCA, SCA, SCAClassifier
from skatter.cli import _demo as demo_module
from skatter.cli import build_app, main
from skatter.cli._demo import METHODS, Direction, Row, compare, prepare_folder, table, verdict
from skatter.datasets import make_figure1

pytestmark = pytest.mark.usefixtures("few_trees")

runner = CliRunner()
N = 150


@pytest.fixture(scope="module")
def directions(digits):
    return compare(digits, seed=3, n_per_domain=N)


def invoke(*arguments):
    return runner.invoke(build_app(), list(arguments))


# --- slow, obviously right computations -----------------------------------------------------------


def nearest_neighbour_accuracy(Z, y, source):
    nearest = cdist(Z[~source], Z[source]).argmin(axis=1)
    return np.mean(y[source][nearest] == y[~source])


def domain_share_of_features(Z, source):
    """Scatter of the two domain means over the scatter of all samples."""
    means = np.array([Z[source].mean(axis=0), Z[~source].mean(axis=0)])
    of_means = np.mean(np.sum((means - means.mean(axis=0)) ** 2, axis=1))
    return of_means / np.mean(np.sum((Z - Z.mean(axis=0)) ** 2, axis=1))


# --- the rows -------------------------------------------------------------------------------------


def test_both_directions_hold_every_method_in_order(directions):
    assert [(d.source, d.target) for d in directions] == [("uci", "mnist"), ("mnist", "uci")]
    for direction in directions:
        assert [row.method for row in direction.rows] == [
            "raw pixels",
            "kernel PCA",
            "SCA",
            "SCAClassifier",
        ]
        assert [name for name, _ in METHODS] == list(direction.features)


def test_the_subsample_holds_the_same_number_of_each_domain(directions):
    names, counts = np.unique(directions[0].data.domain, return_counts=True)
    assert names.tolist() == ["mnist", "uci"]
    assert counts.tolist() == [N, N]


@pytest.mark.parametrize("which", [0, 1])
def test_raw_row_is_plain_nearest_neighbour(directions, which):
    direction = directions[which]
    data, row = direction.data, direction.rows[0]
    source = data.domain == direction.source
    assert row.accuracy == pytest.approx(nearest_neighbour_accuracy(data.X, data.y, source))
    assert row.domain_share == pytest.approx(domain_share_of_features(data.X, source))


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize(("position", "estimator"), [(1, KPCA()), (2, SCA(random_state=3))])
def test_learnt_rows_are_what_the_estimator_gives(directions, which, position, estimator):
    direction = directions[which]
    data, row = direction.data, direction.rows[position]
    source = data.domain == direction.source
    hidden = np.where(source, data.y, -1)
    Z = estimator.fit(data.X, hidden, sample_domain=data.domain).transform(data.X)
    assert row.accuracy == pytest.approx(nearest_neighbour_accuracy(Z, data.y, source))
    assert row.domain_share == pytest.approx(domain_share_of_features(Z, source), rel=1e-6)
    assert row.seconds > 0
    np.testing.assert_allclose(direction.features[row.method], Z, atol=1e-10)


@pytest.mark.parametrize("which", [0, 1])
def test_the_last_row_is_what_self_training_predicts(directions, which):
    direction = directions[which]
    data, row = direction.data, direction.rows[3]
    target = data.domain == direction.target
    model = SCAClassifier(random_state=3)
    model.fit(data.X, np.where(target, -1, data.y), sample_domain=data.domain)
    assert row.accuracy == np.mean(model.transduction_[target] == data.y[target])


def test_target_labels_change_the_scores_and_nothing_else(digits):
    def run(data):
        return compare(data, seed=0, n_per_domain=60)[0]

    honest = run(digits)
    y = np.where(digits.domain == "mnist", (digits.y + 1) % 10, digits.y)
    shifted = run(replace(digits, y=y))
    for name, view in honest.features.items():
        np.testing.assert_array_equal(view, shifted.features[name])
    assert honest.rows[0].accuracy != shifted.rows[0].accuracy


# --- the words --------------------------------------------------------------------------------


def direction_with(**accuracies):
    rows = tuple(Row(name, value, 0.2, 1.0) for name, value in accuracies.items())
    return Direction(make_figure1(), "source", "target", rows, {})


@pytest.mark.parametrize(
    ("accuracies", "words"),
    [
        ({"a": 0.5, "b": 0.625}, "source -> target: b won with 62.5 %, 12.5 points above a."),
        ({"a": 0.7, "b": 0.625}, "source -> target: a won with 70.0 %, 7.5 points above b."),
        ({"a": 0.5, "b": 0.5}, "source -> target: a and b tie at 50.0 %."),
        (
            {"a": 0.5, "b": 0.4, "c": 0.5},
            "source -> target: a and c tie at 50.0 %, 10.0 points above b.",
        ),
    ],
)
def test_verdict_names_the_winner_whoever_it_is(accuracies, words):
    assert verdict(direction_with(**accuracies)) == words


def test_table_has_one_row_per_method():
    assert table(direction_with(a=0.5, b=0.6)).row_count == 2


# --- the command ------------------------------------------------------------------------------


def test_version():
    from importlib.metadata import version

    result = invoke("--version")
    assert result.exit_code == 0
    assert result.output == f"skatter {version('skatter')}\n"


def test_demo_help_names_its_options():
    result = runner.invoke(build_app(), ["demo", "--help"], env={"COLUMNS": "100", "TERM": "dumb"})
    assert result.exit_code == 0
    assert "--out" in result.output
    assert "--seed" in result.output


@pytest.fixture(scope="module")
def demo(tmp_path_factory, directions):
    """The folder of one demo on few digits, and what was said."""
    out = tmp_path_factory.mktemp("demo") / "new" / "a folder"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo_module, "load_digits_pair", lambda: directions[0].data)
        result = invoke("demo", "--out", str(out), "--seed", "3")
    assert result.exit_code == 0, result.output
    return out, result


def test_demo_prints_the_results_and_writes_two_pictures(demo, directions):
    out, result = demo
    for direction in directions:
        assert f"{direction.source} -> {direction.target}: 150 labelled" in result.output
        for row in direction.rows:
            assert f"{100 * row.accuracy:.1f} %" in result.output
    assert "used only to score" in " ".join(result.output.split())
    files = sorted(path.name for path in out.iterdir())  # no temporary file is left
    pictures = ["digits-mnist-to-uci.png", "digits-uci-to-mnist.png"]
    assert files == [*pictures, "digits.csv"]
    for name in pictures:
        assert str(out / name) in result.output
        height, width, channels = matplotlib.image.imread(out / name).shape
        assert min(height, width) > 500
        assert channels == 4


def test_demo_leaves_a_table_with_the_labels_of_one_collection(tmp_path, digits):
    path = demo_module.write_samples(digits, tmp_path, labelled="mnist", seed=0)
    frame = pd.read_csv(path)
    assert list(frame.columns) == ["collection", "digit", *(f"p{i:02d}" for i in range(64))]
    assert frame["collection"].value_counts().to_dict() == {"mnist": 1500, "uci": 1500}
    assert frame["digit"].isna().equals(frame["collection"] == "uci")
    known = frame[frame["digit"].notna()]
    own = np.flatnonzero(digits.domain == "mnist")
    distance = cdist(known.filter(regex=r"p\d"), digits.X[own], "chebyshev")
    assert distance.min(axis=1).max() < 1e-3  # four digits of each pixel
    assert np.array_equal(digits.y[own][distance.argmin(axis=1)], known["digit"])


def test_demo_says_what_to_type_next_and_it_works(monkeypatch, tmp_path, demo):
    folder, said = demo
    monkeypatch.chdir(tmp_path)
    out = shutil.copytree(folder, tmp_path / "a folder")  # what the commands write stays here
    lines = said.output.replace(str(folder), str(out)).splitlines()
    commands = [shlex.split(line) for line in lines if line.startswith("  skatter")]
    assert [command[1] for command in commands] == ["diagnose", "adapt"]
    for command in commands:
        result = invoke(*command[1:])
        assert result.exit_code == 0, result.output
    assert (out / "report.html").exists()


def test_a_second_demo_replaces_the_pictures(monkeypatch, tmp_path, directions):
    path = tmp_path / "digits-uci-to-mnist.png"
    path.write_text("old")
    assert demo_module.write_picture(directions[0], tmp_path) == path
    assert path.read_bytes().startswith(b"\x89PNG")


def test_a_failed_picture_leaves_the_old_file_and_no_other(monkeypatch, tmp_path, directions):
    path = tmp_path / "digits-uci-to-mnist.png"
    path.write_text("old")

    def fail(*args):
        raise OSError(28, "disk full")

    monkeypatch.setattr(os, "replace", fail)
    monkeypatch.setattr(demo_module, "load_digits_pair", lambda: directions[0].data)
    result = invoke("demo", "--out", str(tmp_path))
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == f"skatter demo: {path} cannot be written: disk full.\n"
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    assert path.read_text() == "old"


def test_demo_refuses_a_path_that_is_a_file_before_any_work(monkeypatch, tmp_path):
    monkeypatch.setattr(demo_module, "load_digits_pair", lambda: pytest.fail("worked already"))
    path = tmp_path / "notes.txt"
    path.write_text("mine")
    result = invoke("demo", "--out", str(path))
    assert result.exit_code == 2
    assert "not a folder" in " ".join(result.output.replace("│", " ").split())
    assert path.read_text() == "mine"


def test_a_folder_below_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(Exception, match="cannot create the folder"):
        prepare_folder(tmp_path / "file" / "out")


def test_a_negative_seed_is_refused(tmp_path):
    assert invoke("demo", "--seed", "-1", "--out", str(tmp_path)).exit_code == 2


@pytest.mark.parametrize("name", ["matplotlib", "mlxtend"])
def test_demo_without_an_extra_gives_a_remedy_at_once(monkeypatch, tmp_path, name):
    monkeypatch.setitem(sys.modules, name, None)
    result = invoke("demo", "--out", str(tmp_path / "out"))
    assert result.exit_code == 1
    assert result.output == f'skatter demo needs {name}: pip install "skatter[table]"\n'
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["typer", "rich"])
def test_main_without_its_libraries_gives_a_remedy(name):
    code = f"import sys; sys.modules[{name!r}] = None; from skatter.cli import main; main()"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr == (
        'skatter: the command line needs typer and rich: pip install "skatter[table]"\n'
    )


def test_main_does_not_hide_other_import_errors(monkeypatch):
    def build():
        raise ModuleNotFoundError("No module named 'scipy'", name="scipy")

    monkeypatch.setattr(skatter.cli, "build_app", build)
    with pytest.raises(ModuleNotFoundError, match="scipy"):
        main()


def test_the_package_runs_as_a_module():
    command = [sys.executable, "-m", "skatter", "--version"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("skatter ")


@pytest.mark.parametrize("more", [[], ["--json"]], ids=["words", "json"])
def test_a_reader_who_has_seen_enough_ends_it_without_a_word(tmp_path, more):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(40, 2)), columns=["a", "b"])
    table["site"] = np.repeat(["x", "y"], 20)
    table.to_csv(tmp_path / "table.csv", index=False)
    command = [sys.executable, "-m", "skatter", "diagnose", "table.csv", "-d", "site", *more]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        child.stdout.close()
        assert child.stderr.read() == ""
