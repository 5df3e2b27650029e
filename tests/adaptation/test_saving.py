"""Saved models predict the same bits elsewhere; damaged, foreign and hostile files are refused."""

from __future__ import annotations

import hashlib
import io
import json
import os
import pickle
import subprocess
import sys
import time
import warnings
import zipfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, StackingClassifier
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC
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
from skatter.saving._nodes import Reader, Writer
from skatter.scaling import DomainRanks, DomainScaler
from skatter.tables import TableError
from skatter.trees import ForestClassifier

pytestmark = pytest.mark.usefixtures("few_trees")


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
    return save_model(fitted["sca"], tmp_path / "model.skatter")


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
    model = load_model(f"{folder}/{number}.skatter")
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
        save_model(model, tmp_path / f"{number}.skatter")
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


def test_a_model_is_described_without_being_built(tmp_path, monkeypatch):
    model = LogisticRegression().fit([[0.0], [1.0]], ["a", "b"])
    path = save_model(model, tmp_path / "m")
    monkeypatch.setattr("skatter.saving._files.build", lambda found: pytest.fail("built"))
    about = describe_model(path)
    assert about["model"] == "sklearn.linear_model.LogisticRegression"
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
        (DecisionTreeClassifier(), r"DecisionTreeClassifier'.*skatter\.trees\.ForestClassifier"),
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

    path = tmp_path / "model.skatter"
    path.write_bytes(pickle.dumps(Trap()))
    refused(path, "no zip archive")
    assert not (tmp_path / "sprung").exists()


def test_a_folder_and_a_missing_file_are_refused_in_one_line(tmp_path):
    refused(tmp_path, "cannot be read")
    refused(tmp_path / "none.skatter", "No such file")


# --- malice: files with a checksum of their own ---------------------------------------------------


def members_of(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def seal(path, members, packing=zipfile.ZIP_STORED):
    """Write a model file with the checksum that belongs to it."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", compression=packing) as archive:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name, content in members:
                archive.writestr(name, content)
        archive.comment = b"0" * 128
    content = data.getvalue()[:-64]
    path.write_bytes(content + hashlib.sha256(content).hexdigest().encode())


def reseal(path, model=None, about=None, extra=(), drop=(), packing=zipfile.ZIP_STORED):
    """Change the members of a model file, and seal it again."""
    members = {name: data for name, data in members_of(path).items() if name not in drop}
    for name, change in (("model.json", model), ("skatter.json", about)):
        if change is not None:
            content = json.loads(members[name])
            members[name] = json.dumps(change(content) or content).encode()
    seal(path, [*members.items(), *extra], packing)


def npy(array, **options):
    data = io.BytesIO()
    np.save(data, array, **options)
    return data.getvalue()


def forge(path, model, kind, **state):
    """Save a model, and put other nodes into the state of its first object of a class."""
    save_model(model, path, force=True)

    def change(content):
        parts = [part for part in content["parts"] if part["type"].endswith(f".{kind}")]
        parts[0]["state"].update(state)

    reseal(path, model=change)
    return path


def forge_array(path, model, kind, name, change):
    """Save a model, and change an array of its first object of a class."""
    save_model(model, path, force=True)
    members = members_of(path)
    parts = json.loads(members["model.json"])["parts"]
    node = next(part for part in parts if part["type"].endswith(f".{kind}"))["state"][name]
    member = f"{node['array']}.npy"
    members[member] = npy(change(np.load(io.BytesIO(members[member]))))
    seal(path, members.items())
    return path


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


@pytest.mark.parametrize(
    "name",
    [
        "trapped_module.Trap",
        "trapped_module.call",
        "builtins.eval",
        "sklearn.ensemble.StackingClassifier",
        "sklearn.dummy.DummyClassifier",
        "skatter.saving._files.build",
        ["skatter.sca.SCA"],
        None,
    ],
    ids=str,
)
def test_a_type_that_is_not_on_the_list_is_refused_before_it_is_imported(trap, path, name):
    reseal(path, model=lambda content: content["parts"][0].update(type=name))
    refused(path, "not on the list")


def test_an_object_that_could_be_loaded_before_is_not_on_the_list(tmp_path):
    """These call methods, functions or commands that their state names."""
    stack = StackingClassifier([("a", LogisticRegression())], cv="prefit")
    for model in (stack, DummyClassifier()):
        with pytest.raises(ModelFileError, match=r"not on the list .* save a pipeline"):
            save_model(model, tmp_path / "m")


def test_a_step_that_passes_columns_through_names_no_function(tmp_path):
    """ColumnTransformer has such steps; a function in one was called with the samples."""
    with pytest.raises(ModelFileError, match=r"numpy\.sort.*no functions"):
        save_model(FunctionTransformer(np.sort), tmp_path / "m")
    for func in ("print", {"type": "float64"}, {"part": 0}):
        refused(forge(tmp_path / "m", FunctionTransformer(), "FunctionTransformer", func=func))


@pytest.mark.parametrize("node", ["function", "type", "reduce", "object", "value", "__class__", ""])
def test_no_node_makes_a_call(trap, path, node):
    def swap(content):
        content["parts"][0]["state"]["scatter_"] = {node: "trapped_module.call"}

    reseal(path, model=swap)
    refused(path)


@pytest.mark.parametrize(
    "name", ["predict", "transform", "_repr_html_", "__class__", "a b", "call"]
)
def test_no_attribute_takes_the_place_of_a_method(tmp_path, fitted, name):
    state = {name: {"tuple": ["x"]}}
    refused(forge(tmp_path / "m", fitted["sca"], "SCA", **state), "knows no attribute")


def test_nothing_in_a_file_starts_processes(tmp_path):
    model = KNeighborsClassifier(1, algorithm="brute", n_jobs=7).fit([[0.0], [1.0]], [0, 1])
    assert load_model(save_model(model, tmp_path / "m")).n_jobs is None
    refused(forge(tmp_path / "m", model, "KNeighborsClassifier", n_jobs=64), "n_jobs")
    pipeline = make_domain_pipeline(StandardScaler(), model).fit([[0.0], [1.0]], [0, 1])
    refused(forge(tmp_path / "m", pipeline, "DomainPipeline", memory="/tmp/cache"), "memory")
    kernel = {"params": {"dict": [["n_jobs", 64]]}}
    X = np.arange(12.0).reshape(6, 2)
    refused(forge(tmp_path / "m", SCA().fit(X, [0, 0, 1, 1, 2, 2]), "Kernel", **kernel), "gamma")


def test_a_bomb_of_compressed_members_is_refused(path):
    reseal(path, extra=[("zeros.npy", bytes(10**7))], packing=zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 10**6
    refused(path, "compressed")


def test_members_of_one_name_are_refused(path):
    """An archive whose table of contents lists more than it holds."""
    reseal(path, extra=[("model.json", b"{}")])
    refused(path, "have one name")


@pytest.mark.parametrize("depth", [40, 900, 50_000])
def test_a_value_that_is_nested_without_end_is_refused(path, depth):
    text = members_of(path)["model.json"].decode()
    nested = text.replace('"verbose": false', f'"verbose": {"[" * depth}{"]" * depth}')
    assert nested != text
    reseal(path, drop=["model.json"], extra=[("model.json", nested)])
    refused(path)


@pytest.mark.parametrize("doubled", ["steps", "list"])
def test_objects_that_share_their_children_are_not_walked_again_and_again(tmp_path, doubled):
    """Forty pipelines of two steps each, both the one before: 2^40 objects in 8 KB."""
    path = save_model(make_domain_pipeline(StandardScaler()), tmp_path / "m")

    def double(content):
        parts = content["parts"]
        for _ in range(40):
            last = {"part": len(parts) - 1}
            again = json.loads(json.dumps(parts[-1]))
            steps = [{"tuple": ["a", last]}, {"tuple": ["b", last]}]
            again["state"].update(steps=steps if doubled == "steps" else [[last, last]])
            parts.append(again)
        content["model"] = len(parts) - 1

    reseal(path, model=double)
    start = time.perf_counter()
    refused(path)
    assert time.perf_counter() - start < 5


@pytest.mark.parametrize("place", [0, 1, -1, 10**9, True, "0", None, [0]], ids=str)
def test_objects_refer_only_to_those_before_them(tmp_path, place):
    path = save_model(SCA(feature_map=LandmarkMap()), tmp_path / "m")

    def refer(content):
        content["parts"].reverse()
        content["parts"][0]["state"]["feature_map"] = {"part": place}

    reseal(path, model=refer)
    refused(path, "not there, or not before")


def test_one_array_that_thousands_of_nodes_name_is_read_once(tmp_path, problem):
    X, y, _, _ = problem
    model = SCA().fit(X, y)
    many = [{"array": 0}] * 3000
    loaded = load_model(forge(tmp_path / "m", model, "SCA", extra_=many))
    assert len({id(each) for each in loaded.extra_}) == 1


@pytest.mark.parametrize("member", ["model.json", "skatter.json"])
@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff", b"[" * 100_000, b"{}"], ids=repr)
def test_members_that_are_no_objects_are_refused(path, member, content):
    reseal(path, drop=[member], extra=[(member, content)])
    refused(path)


def test_another_format_is_refused_with_the_remedy(path):
    reseal(path, about=lambda about: about.update(format=1))
    refused(path, "version that saved it")


def test_arrays_of_objects_are_refused_and_never_unpickled(path, tmp_path):
    class Trap:
        def __reduce__(self):
            return open, (str(tmp_path / "sprung"), "w")

    content = npy(np.array([Trap()], dtype=object), allow_pickle=True)
    reseal(path, drop=["0.npy"], extra=[("0.npy", content)])
    refused(path)
    assert not (tmp_path / "sprung").exists()


HEADER = "{{'descr': {0}, 'fortran_order': False, 'shape': {1}, }}"


@pytest.mark.parametrize(
    "header",
    [
        HEADER.format("'<f8'", "(1000000000000,)"),
        HEADER.format("'<U0'", "(1000000000000,)"),
        HEADER.format("'<f8'", "(0, 1000000000000)"),
        HEADER.format("'<f8'", "(-1, -1)"),
        HEADER.format("'>f8'", "(1,)"),
        HEADER.format("'<f16'", "(1,)"),
        HEADER.format("'<M8[s]'", "(1,)"),
        HEADER.format("[('a', '<f8')]", "(1,)"),
        HEADER.format("('<f8', (10**6,))", "(1,)"),
        "__import__('os').system('true')",
    ],
)
def test_a_header_that_promises_more_than_there_is_is_refused(path, header):
    text = header.encode().ljust(117) + b"\n"
    content = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(8)
    reseal(path, drop=["0.npy"], extra=[("0.npy", content)])
    refused(path)


def test_text_and_truth_of_other_bytes_are_refused(path):
    for content in (npy(np.array(["ab"])), npy(np.array([True, False]))):
        reseal(path, drop=["0.npy"], extra=[("0.npy", content[:-1] + b"\xff")])
        refused(path, "array holds")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
def test_pipes_and_devices_are_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    refused(tmp_path / "pipe", "no regular file")
    refused(Path("/dev/zero"), "no regular file")


def test_a_file_that_is_too_large_is_refused_before_it_is_read(path, monkeypatch):
    monkeypatch.setattr("skatter.saving._files.MAX_BYTES", 1000)
    refused(path, "larger than 1,000 bytes")


# --- malice: arrays that disagree -----------------------------------------------------------------

X_PLAIN = np.random.default_rng(0).normal(size=(40, 3))
Y_PLAIN = np.arange(40) % 3
SHORT = {"[:-1]": lambda a: a[:-1], "[1:]": lambda a: a[1:], "one": lambda a: a[:1]}


@pytest.mark.parametrize("cut", SHORT)
@pytest.mark.parametrize(
    ("model", "names"),
    [
        (SVC(), "classes_ support_ support_vectors_ _n_support _dual_coef_ _intercept_ dual_coef_"),
        (LogisticRegression(), "classes_ coef_ intercept_"),
        (KNeighborsClassifier(2, algorithm="brute"), "classes_ _y _fit_X"),
        (StandardScaler(), "mean_ scale_ var_"),
        (GaussianNB(), "theta_ var_ class_prior_ classes_"),
        (Ridge(), "coef_"),
        (SCA(2), "X_fit_ dual_coef_ offset_ eigenvalues_ classes_"),
        (DomainScaler(), "means_ scales_ domain_ids_"),
        (DomainRanks(), "means_ scales_ domain_ids_"),
        (NearestNeighbour(), "X_fit_ _codes classes_"),
        (ForestClassifier(2), "classes_"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_arrays_that_are_cut_short_are_refused(tmp_path, model, names, cut):
    model = clone(model).fit(X_PLAIN, Y_PLAIN)
    for name in names.split():
        if len(getattr(model, name)) > 1:
            refused(forge_array(tmp_path / "m", model, type(model).__name__, name, SHORT[cut]))


@pytest.mark.parametrize(
    ("model", "name", "change"),
    [
        (SVC(), "_n_support", lambda a: a * 1000),
        (SVC(), "_n_support", lambda a: a - a.max() - 1),
        (SVC(), "_n_support", lambda a: a.astype(np.int64)),
        (SVC(), "support_vectors_", lambda a: a.astype(np.float32)),
        (SVC(), "support_vectors_", lambda a: a * np.nan),
        (KNeighborsClassifier(2, algorithm="brute"), "_y", lambda a: a + 10**6),
        (KNeighborsClassifier(2, algorithm="brute"), "_y", lambda a: a - 10**6),
        (LogisticRegression(), "coef_", lambda a: a * np.inf),
        (NearestNeighbour(), "_codes", lambda a: a + 1),
    ],
)
def test_numbers_that_compiled_code_trusts_are_checked(tmp_path, model, name, change):
    model = clone(model).fit(X_PLAIN, Y_PLAIN)
    refused(forge_array(tmp_path / "m", model, type(model).__name__, name, change))


@pytest.mark.parametrize(
    "state",
    [
        {"n_samples_fit_": 10**6, "n_neighbors": 10**5},
        {"n_neighbors": 41},
        {"n_features_in_": 2},
        {"_fit_method": "kd_tree"},
        {"effective_metric_": "pyfunc"},
        {"effective_metric_params_": {"dict": [["func", "os.system"]]}},
        {"weights": "tofile"},
        {"outputs_2d_": True},
    ],
    ids=str,
)
def test_settings_that_compiled_code_trusts_are_checked(tmp_path, state):
    model = KNeighborsClassifier(2, algorithm="brute").fit(X_PLAIN, Y_PLAIN)
    refused(forge(tmp_path / "m", model, "KNeighborsClassifier", **state))


@pytest.mark.parametrize(
    "state",
    [{"_n_features_outs": [99, 3]}, {"drop_idx_": {"strings": [[2], [99, None]]}}, {"dtype": "f8"}],
    ids=str,
)
def test_columns_of_categories_stay_within_their_matrix(tmp_path, state):
    X = np.array([["a", "x"], ["b", "y"], ["c", "z"]], dtype=object)
    model = OneHotEncoder(sparse_output=False).fit(X)
    assert (load_model(save_model(model, tmp_path / "m")).transform(X) == model.transform(X)).all()
    refused(forge(tmp_path / "m", model, "OneHotEncoder", **state))
    numbers = OneHotEncoder().fit([[1], [2], [3]])
    save_model(numbers, tmp_path / "m", force=True)
    reseal(tmp_path / "m", drop=["0.npy"], extra=[("0.npy", npy(np.array([3, 1, 2])))])
    refused(tmp_path / "m", "not sorted")


@pytest.mark.parametrize("place", [-1, 625, 10**6, 2.5, None])
def test_the_place_of_a_random_state_is_checked(tmp_path, place):
    model = NearestNeighbour().fit(X_PLAIN, Y_PLAIN)
    path = save_model(model, tmp_path / "m")
    assert load_model(path)._random.uniform() == model._random.uniform()

    def move(content):
        content["parts"][0]["state"]["_random"]["random"][1] = place

    reseal(path, model=move)
    refused(path, "random state")


def test_a_member_with_other_classes_is_refused(tmp_path, problem):
    X, known, domain, _ = problem
    model = HedgedClassifier().fit(X, known, sample_domain=domain)
    shift = lambda classes: classes + 1  # noqa: E731
    refused(forge_array(tmp_path / "m", model, "ForestClassifier", "classes_", shift), "classes")


# --- malice: objects that do not fit together -----------------------------------------------------


def pipeline_of(*steps):
    return make_domain_pipeline(*steps).fit(X_PLAIN, Y_PLAIN, sample_domain=np.arange(40) % 2)


def steps_of(*places):
    return [{"tuple": [f"step {n}", {"part": place}]} for n, place in enumerate(places)]


def test_steps_of_a_pipeline_can_do_what_is_asked_of_them(tmp_path):
    model = pipeline_of(SCA(2), StandardScaler(), GaussianNB())
    members = members_of(save_model(model, tmp_path / "m"))
    kinds = [part["type"].split(".")[-1] for part in json.loads(members["model.json"])["parts"]]
    sca, scaler, bayes, record = map(kinds.index, ("SCA", "StandardScaler", "GaussianNB", "Kernel"))
    wrong = {
        "no transformer": [(bayes, bayes), (record, bayes)],
        "no estimator": [(sca, record)],
        "StandardScaler makes other features than SCA": [(scaler, sca, bayes)],
        "SCA makes other features than SCA": [(sca, sca, bayes)],
    }
    for words, cases in wrong.items():
        for places in cases:
            given = {"steps": steps_of(*places)}
            refused(forge(tmp_path / "m", model, "DomainPipeline", **given), words)
    load_model(forge(tmp_path / "m", model, "DomainPipeline", steps=steps_of(sca, scaler, bayes)))


def test_a_record_is_no_model(tmp_path):
    path = save_model(SCA(2).fit(X_PLAIN, Y_PLAIN), tmp_path / "m")
    reseal(path, model=lambda content: content.update(model=0))
    refused(path, "is no model")


def test_steps_that_are_not_fitted_are_refused_beside_those_that_are(tmp_path):
    mixed = make_domain_pipeline(StandardScaler(), GaussianNB().fit(X_PLAIN, Y_PLAIN))
    with pytest.raises(ModelFileError, match="some steps are fitted, and others not"):
        save_model(mixed, tmp_path / "m")
    save_model(make_domain_pipeline(StandardScaler(), GaussianNB()), tmp_path / "m")
    search = SCACV(n_components=[1, 2]).fit(X_PLAIN, Y_PLAIN, sample_domain=np.arange(40) % 2)
    search.best_estimator_ = clone(search.best_estimator_)
    with pytest.raises(ModelFileError, match="holds what is not fitted"):
        save_model(search, tmp_path / "m", force=True)


@pytest.mark.parametrize(
    ("scaler", "name", "change", "words"),
    [
        (StandardScaler(), "scale_", lambda a: a * 0, "holds a zero"),
        (StandardScaler(), "mean_", lambda a: a * np.nan, "would be given NaN"),
        (StandardScaler(), "mean_", lambda a: a * np.inf, "not as it should be"),
        (StandardScaler(), "mean_", lambda a: a * 0 + 1e150, "not as it should be"),
        (MinMaxScaler(), "scale_", lambda a: a * 0, "holds a zero"),
        (RobustScaler(), "center_", lambda a: a * np.nan, "would be given NaN"),
        (DomainScaler(), "scales_", lambda a: a * 0, "holds a zero"),
        (DomainRanks(), "scales_", lambda a: a * 0, "holds a zero"),
    ],
)
def test_scalers_make_numbers_of_numbers(tmp_path, scaler, name, change, words):
    model = pipeline_of(clone(scaler), GaussianNB())
    refused(forge_array(tmp_path / "m", model, type(scaler).__name__, name, change), words)


def test_a_column_that_was_empty_in_the_fit_is_saved_before_trees_alone(tmp_path):
    X = np.c_[X_PLAIN, np.full(40, np.nan)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make_domain_pipeline(StandardScaler(), ForestClassifier(3)).fit(X, Y_PLAIN)
        again = load_model(save_model(model, tmp_path / "m"))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_a_class_is_named_once(tmp_path):
    model = KNeighborsClassifier(2, algorithm="brute").fit(X_PLAIN, Y_PLAIN)
    twice = lambda classes: np.r_[classes, classes]  # noqa: E731
    refused(forge_array(tmp_path / "m", model, "KNeighborsClassifier", "classes_", twice))


def test_a_kernel_takes_the_samples_that_are_there(tmp_path):
    model = SCA(2).fit(X_PLAIN, Y_PLAIN)
    refused(forge(tmp_path / "m", model, "Kernel", metric="precomputed"), "kernel")
    gram = SCA(2, kernel="precomputed").fit(X_PLAIN @ X_PLAIN.T, Y_PLAIN)
    again = load_model(save_model(gram, tmp_path / "m", force=True))
    np.testing.assert_array_equal(
        again.transform(X_PLAIN @ X_PLAIN.T), gram.transform(X_PLAIN @ X_PLAIN.T)
    )
    refused(forge(tmp_path / "m", gram, "Kernel", metric="linear"), "kernel")


@pytest.mark.parametrize(
    ("model", "state"),
    [
        (Nystroem(n_components=5), {"kernel_params": 7}),
        (Nystroem(n_components=5), {"gamma": "wide"}),
        (MinMaxScaler(), {"feature_range": {"tuple": ["a", "b"]}}),
        (MinMaxScaler(), {"clip": 3}),
        (SVC(), {"break_ties": True, "decision_function_shape": "ovo"}),
        (OneHotEncoder(), {"handle_unknown": "tofile"}),
    ],
    ids=str,
)
def test_parameters_that_fit_would_refuse_are_refused(tmp_path, model, state):
    model = clone(model).fit(X_PLAIN, Y_PLAIN)
    refused(forge(tmp_path / "m", model, type(model).__name__, **state))


@pytest.mark.parametrize("name", [*METHODS, "column transformer"])
def test_what_a_step_is_said_to_make_is_what_it_makes(name, fitted, problem, require):
    """The sizes that files are checked by, held against arrays."""
    X = problem[0]
    if name in METHODS and METHODS[name].extra:
        require(METHODS[name].extra, METHODS[name].extra)
    if name == "column transformer":
        step = ColumnTransformer(
            [("a", make_pipeline(SimpleImputer(), StandardScaler()), [0, 1]), ("b", PCA(1), [2])]
        ).fit(X)
    else:
        step = fitted[name][0] if hasattr(fitted[name], "steps") else fitted[name]
    if not hasattr(step, "transform"):
        return
    writer = Writer()
    root = writer.node(step)
    part = Reader(writer.arrays, json.loads(json.dumps(writer.parts))).model(root["part"])
    assert part.width == X.shape[1]
    assert part.gives == np.shape(step.transform(X))[1]


# --- signatures -----------------------------------------------------------------------------------

KEY = b"sixteen bytes or more"


def test_a_signed_file_is_loaded_with_its_key_alone(tmp_path, path, fitted):
    signed = save_model(fitted["sca"], tmp_path / "signed", key=KEY)
    for found in (load_model(signed, key=KEY), load_model(signed)):
        assert isinstance(found, type(fitted["sca"]))
    for wrong, key in ((signed, KEY + b"!"), (path, KEY)):
        with pytest.raises(ModelFileError, match="not signed with this key"):
            load_model(wrong, key=key)


def test_a_forged_file_is_not_signed(tmp_path, fitted):
    signed = save_model(fitted["sca"], tmp_path / "signed", key=KEY)
    reseal(signed, about=lambda about: about.update(label="forged"))
    assert describe_model(signed)["label"] == "forged"
    with pytest.raises(ModelFileError, match="not signed with this key"):
        load_model(signed, key=KEY)


@pytest.mark.parametrize(("key", "error"), [("text", TypeError), (b"short", ValueError)])
def test_a_key_that_is_none_is_named(path, fitted, key, error):
    with pytest.raises(error, match="key must"):
        load_model(path, key=key)
    with pytest.raises(error, match="key must"):
        save_model(fitted["sca"], path, key=key, force=True)
