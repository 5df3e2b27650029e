"""Saved models predict the same bits elsewhere; damaged, foreign and hostile files are refused."""

from __future__ import annotations

import hashlib
import io
import json
import pickle
import subprocess
import sys
import warnings
import zipfile
from importlib.util import find_spec

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skatter import (
    SCA,
    SCACV,
    HedgedClassifier,
    LandmarkMap,
    NearestNeighbour,
    adapt,
    make_domain_pipeline,
)
from skatter.methods import METHODS
from skatter.saving import ModelFileError, describe_model, load_model, save_model
from skatter.tables import TableError


@pytest.fixture(autouse=True)
def skops(require):
    return require("skops.io", "io")


def behind(step):
    nearest = KNeighborsClassifier(5, weights="distance", algorithm="brute")
    return make_domain_pipeline(step, nearest)


def default_models():
    """Every registered method with its defaults, a classifier behind features."""
    for name, method in METHODS.items():
        if not method.extra or find_spec(method.extra):
            estimator = method.estimator()
            yield name, behind(estimator) if method.kind == "features" else estimator
    yield "landmark map", behind(SCA(feature_map=LandmarkMap(20)))
    yield "map of more features than samples", behind(SCA(feature_map=LandmarkMap(200)))
    yield "tuned", behind(SCACV(n_components=[1, 2]))
    yield "linear", behind(SCA(kernel="linear"))
    yield "nearest", make_domain_pipeline(SCA(), NearestNeighbour())


@pytest.fixture(scope="module")
def problem(make_problem):
    """Two sources and a target that knows some of its labels, so that every method can learn."""
    drawn = make_problem(3, n=8)
    ids = {"amsterdam": 1, "basel": 2, "cairo": -3}
    domain = np.array([ids[name] for name in drawn.domain.tolist()])
    known = np.where((domain < 0) & (np.arange(len(domain)) % 3 > 0), -1, drawn.y)
    return drawn.X, known, domain, drawn.X_new


@pytest.fixture(scope="module")
def fitted(problem):
    X, known, domain, _ = problem
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: model.fit(X, known, sample_domain=domain) for name, model in default_models()}


@pytest.fixture
def path(tmp_path, fitted):
    """A small model in a file."""
    return save_model(fitted["sca"], tmp_path / "model.skops")


# --- the same bits ------------------------------------------------------------------------------

CHILD = """
import sys, warnings
import numpy as np
from skatter.saving import load_model
warnings.simplefilter("ignore")
folder = sys.argv[1]
given = np.load(f"{folder}/samples.npz")
out = {}
for number in range(int(sys.argv[2])):
    model = load_model(f"{folder}/{number}.skops")
    for what in ("predict", "predict_proba", "decision_function"):
        if hasattr(model, what):
            out[f"{number} {what}"] = getattr(model, what)(given["X"], sample_domain=given["ids"])
np.savez(f"{folder}/answers.npz", **out)
"""


def test_every_registered_method_predicts_the_same_bits_in_a_fresh_process(
    tmp_path, fitted, problem
):
    X, _, domain, X_new = problem
    samples, ids = np.vstack([X, X_new]), np.append(domain, np.full(len(X_new), -3))
    np.savez(tmp_path / "samples.npz", X=samples, ids=ids)
    for number, model in enumerate(fitted.values()):
        save_model(model, tmp_path / f"{number}.skops")
    arguments = [sys.executable, "-c", CHILD, str(tmp_path), str(len(fitted))]
    done = subprocess.run(arguments, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    answers = np.load(tmp_path / "answers.npz")
    assert {int(key.split()[0]) for key in answers} == set(range(len(fitted)))
    for number, (name, model) in enumerate(fitted.items()):
        for what in ("predict", "predict_proba", "decision_function"):
            if hasattr(model, what):
                here = getattr(model, what)(samples, sample_domain=ids)
                np.testing.assert_array_equal(answers[f"{number} {what}"], here, err_msg=name)


def test_a_hedge_in_a_pipeline_keeps_every_bit(tmp_path, problem):
    X, known, domain, X_new = problem
    hedge = make_domain_pipeline(StandardScaler(), HedgedClassifier())
    hedge.fit(X, known, sample_domain=domain)
    again = load_model(save_model(hedge, tmp_path / "hedge"))
    np.testing.assert_array_equal(again.predict_proba(X_new), hedge.predict_proba(X_new))
    # What was learnt is there too, and not its answers alone.
    before, after = hedge[-1], again[-1]
    assert after.judgement_ == before.judgement_
    assert after.champion_.scores_ == before.champion_.scores_
    assert [(m.name, m.weight) for m in after.members_] == [
        (m.name, m.weight) for m in before.members_
    ]


def test_a_model_of_a_table_keeps_every_bit(tmp_path, problem, require):
    pd = require("pandas", "table")
    X, known, domain, _ = problem
    frame = pd.DataFrame(X, columns=[f"x{place}" for place in range(X.shape[1])])
    frame["site"] = np.where(domain < 0, "there", "here")
    frame["kind"] = np.where(known < 0, None, np.array(["ash", "elm", "oak"])[known])
    model = adapt(frame, label="kind", domain="site").model
    again = load_model(save_model(model, tmp_path / "table"))
    assert again.ship == model.ship
    for name, answer in model.answers(frame).items():
        loaded = again.answers(frame)[name]
        assert loaded.label.tolist() == answer.label.tolist()
        np.testing.assert_array_equal(loaded.confidence, answer.confidence)


@pytest.mark.parametrize("labels", [["cat", "dog"], [True, False], [1, 7]], ids=str)
def test_classes_keep_their_type_and_names(tmp_path, labels):
    y = np.array(labels * 4)
    model = LogisticRegression().fit(np.arange(8.0)[:, None] % 2, y)
    again = load_model(save_model(model, tmp_path / "m"))
    assert again.predict([[0.0], [1.0]]).tolist() == labels
    assert again.classes_.dtype == model.classes_.dtype


# --- what is known of a model -------------------------------------------------------------------


def test_a_model_is_described_without_being_built(tmp_path, monkeypatch, skops):
    model = LogisticRegression().fit([[0.0], [1.0]], ["a", "b"])
    path = save_model(model, tmp_path / "m")
    monkeypatch.setattr(skops, "loads", lambda *args, **kwargs: pytest.fail("built"))
    about = describe_model(path)
    assert about["model"] == "sklearn.linear_model._logistic.LogisticRegression"
    assert about["classes"] == ["a", "b"]
    assert about["created_by"].startswith("skatter ")
    assert {"python", "skatter", "scikit-learn", "numpy"} <= set(about["versions"])


def test_another_version_of_scikit_learn_is_warned_of_once(path):
    def older(about):
        about["versions"]["scikit-learn"] = "0.1"

    reseal(path, about=older)
    with pytest.warns(UserWarning, match=r"saved with scikit-learn 0\.1, and this is") as heard:
        load_model(path)
    assert len(heard) == 1


def test_the_same_version_gives_no_warning(path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_model(path)


# --- nothing is overwritten -----------------------------------------------------------------------


def test_a_file_is_not_overwritten_unasked(path, fitted):
    before = path.read_bytes()
    with pytest.raises(TableError, match="is there already"):
        save_model(fitted["kpca"], path)
    assert path.read_bytes() == before
    save_model(fitted["kpca"], path, force=True)
    assert describe_model(path)["model"].endswith("DomainPipeline")
    assert path.read_bytes() != before


def test_a_model_that_cannot_be_saved_leaves_the_old_file(path):
    before = path.read_bytes()
    with pytest.raises(ModelFileError):
        save_model(SCA(kernel=lambda X, Y: X @ Y.T).fit([[0.0], [1.0]], [0, 1]), path, force=True)
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (KNeighborsClassifier(1), r"KDTree.*algorithm='brute'"),
        (DecisionTreeClassifier(), r"sklearn\.tree\._tree\.Tree.*skatter\.trees\.ForestClassifier"),
        (HistGradientBoostingClassifier(max_iter=1), r"BoostingClassifier cannot.*skatter\.trees"),
        (SCA(kernel=np.dot), r"numpy.dot.*no functions or calls"),
        (NearestNeighbour(), r"csr_matrix.*dense samples"),
    ],
    ids=["neighbours in a tree", "decision tree", "boosting", "function", "sparse samples"],
)
def test_what_could_not_be_loaded_is_not_saved_and_the_remedy_is_named(tmp_path, model, words):
    if not isinstance(model, SCA):
        X, y = np.arange(20.0)[:, None], np.arange(20) % 2
        model.fit(sparse.csr_matrix(X) if isinstance(model, NearestNeighbour) else X, y)
    with pytest.raises(ModelFileError, match=words):
        save_model(model, tmp_path / "m")
    assert not any(tmp_path.iterdir())


# --- damage -------------------------------------------------------------------------------------


def refused(path, words=None):
    with pytest.raises(ModelFileError, match=words) as caught:
        load_model(path)
    said = str(caught.value)
    assert str(path) in said
    assert "\n" not in said
    return said


def test_every_changed_byte_is_noticed(tmp_path):
    model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    path = save_model(model, tmp_path / "m")
    data = path.read_bytes()
    for place in range(0, len(data), 13):
        path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        refused(path)
        with pytest.raises(ModelFileError):
            describe_model(path)


@pytest.mark.parametrize("share", [0, 0.001, 0.3, 0.9, 0.999])
def test_a_truncated_file_is_refused(path, share):
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    refused(path)


def test_bytes_behind_the_end_are_refused(path):
    path.write_bytes(path.read_bytes() + b"more")
    refused(path, "checksum")


def test_a_pickle_under_the_name_of_a_model_is_refused_and_not_run(tmp_path):
    class Trap:
        def __reduce__(self):
            return open, (str(tmp_path / "sprung"), "w")

    path = tmp_path / "model.skops"
    path.write_bytes(pickle.dumps(Trap()))
    refused(path, "no zip archive")
    assert not (tmp_path / "sprung").exists()


def test_a_model_of_skops_itself_is_refused_for_its_missing_checksum(tmp_path, skops):
    path = tmp_path / "model.skops"
    skops.dump(LogisticRegression(), path)
    refused(path, "not saved by skatter")


def test_a_folder_and_a_missing_file_are_refused_in_one_line(tmp_path):
    refused(tmp_path, "cannot be read")
    refused(tmp_path / "none.skops", "No such file")


# --- malice: files with a checksum of their own ---------------------------------------------------


def reseal(path, schema=None, about=None, extra=(), drop=(), packing=zipfile.ZIP_STORED):
    """Change the members of a model file, and write the checksum that then belongs to it."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist() if name not in drop}
    for name, change in (("schema.json", schema), ("skatter.json", about)):
        if change is not None:
            content = json.loads(members[name])
            members[name] = json.dumps(change(content) or content).encode()
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", compression=packing) as archive:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name, content in [*members.items(), *extra]:
                archive.writestr(name, content)
        archive.comment = b"0" * 64
    content = data.getvalue()[:-64]
    path.write_bytes(content + hashlib.sha256(content).hexdigest().encode())


def states(found):
    """Yield every part of a schema."""
    if isinstance(found, dict):
        if "__loader__" in found:
            yield found
        for value in found.values():
            yield from states(value)
    elif isinstance(found, list):
        for value in found:
            yield from states(value)


def test_a_resealed_file_that_was_not_changed_still_loads(path, problem):
    X = problem[0]
    before = load_model(path).predict(X)
    reseal(path)
    np.testing.assert_array_equal(load_model(path).predict(X), before)


@pytest.fixture
def trap(tmp_path, monkeypatch):
    """A module that leaves a trace when it is imported, and one when its function is called."""
    (tmp_path / "trapped_module.py").write_text(
        f"from pathlib import Path\nPath({str(tmp_path / 'imported')!r}).touch()\n"
        f"class Trap:\n    def __init__(self, *a): Path({str(tmp_path / 'built')!r}).touch()\n"
        f"def call(*a): Path({str(tmp_path / 'called')!r}).touch()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    assert not [name for name in ("imported", "built", "called") if (tmp_path / name).exists()]
    sys.modules.pop("trapped_module", None)


@pytest.mark.parametrize("loader", ["ObjectNode", "NdArrayNode", "DictNode"])
def test_a_foreign_class_in_the_place_of_a_known_one_is_refused_before_it_is_imported(
    trap, path, loader
):
    def swap(schema):
        part = next(part for part in states(schema) if part["__loader__"] == loader)
        part.update(__module__="trapped_module", __class__="Trap")

    reseal(path, schema=swap)
    assert "trapped_module.Trap" in refused(path)


CALLS = {
    "FunctionNode": {},
    "TypeNode": {},
    "MethodNode": {"content": {"func": "call", "obj": None}},
    "PartialNode": {"content": dict.fromkeys(("func", "args", "kwds", "namespace"))},
    "OperatorFuncNode": {"attrs": None},
    "ConstructorFromReduceNode": {"content": None},
    "TreeNode": {"__reduce__": {"args": None}, "content": None},
    "LossNode": {"__reduce__": {"args": None}, "content": None},
}


@pytest.mark.parametrize("loader", CALLS)
def test_no_call_of_a_function_gets_through(trap, path, loader):
    def swap(schema):
        part = next(part for part in states(schema) if part["__loader__"] == "JsonNode")
        part.clear()
        part.update(
            __class__="call", __module__="trapped_module", __loader__=loader, **CALLS[loader]
        )

    reseal(path, schema=swap)
    said = refused(path)
    assert "trapped_module.call" in said


def test_only_loaders_without_calls_are_allowed():
    from skops.io._audit import NODE_TYPE_MAPPING

    calling = {"Function", "Method", "Partial", "Operator", "Reduce", "Tree", "Loss"}
    known = {name for name, _ in NODE_TYPE_MAPPING}
    assert known >= LOADERS
    assert not [name for name in LOADERS if any(word in name for word in calling)]


def test_a_bomb_of_compressed_members_is_refused(path):
    reseal(path, extra=[("zeros.npy", bytes(10**7))], packing=zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 10**6
    refused(path, "compressed")


def test_members_that_share_their_bytes_are_refused(path):
    """An archive whose table of contents lists more than it holds."""
    reseal(path, extra=[("schema.json", b"{}")])
    refused(path, "must each be there once")


def test_a_schema_that_is_nested_without_end_is_refused(path):
    def nest(schema):
        part = next(part for part in states(schema) if part["__loader__"] == "ListNode")
        for _ in range(320):
            inner = {key: part[key] for key in ("__class__", "__module__", "__loader__")}
            part["content"] = [{**inner, "content": []}]
            part = part["content"][0]

    reseal(path, schema=nest)
    refused(path)


@pytest.mark.parametrize("member", ["schema.json", "skatter.json"])
@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff", b"[" * 100_000], ids=repr)
def test_members_that_are_no_objects_are_refused(path, member, content):
    reseal(path, drop=[member], extra=[(member, content)])
    refused(path)


def test_a_later_format_is_refused_with_the_remedy(path):
    reseal(path, about=lambda about: about.update(format=2))
    refused(path, "version that saved it")


def test_arrays_of_objects_are_refused_and_never_unpickled(path, tmp_path):
    class Trap:
        def __reduce__(self):
            return open, (str(tmp_path / "sprung"), "w")

    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if name.endswith(".npy")]
    data = io.BytesIO()
    np.save(data, np.array([Trap()], dtype=object), allow_pickle=True)
    reseal(path, drop=names, extra=[(name, data.getvalue()) for name in names])
    refused(path)
    assert not (tmp_path / "sprung").exists()


def test_where_skops_is_missing_the_extra_is_named(path, fitted, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    for act in (lambda: load_model(path), lambda: save_model(fitted, path, force=True)):
        with pytest.raises(ImportError, match=r"pip install \"skatter\[io\]\""):
            act()
