"""Files that once ran code, crashed, hung or filled the memory: each ends in one line.

Every case runs the command in a child process that may take 5 seconds of the processor and 500 MB.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import resource
import sys
import warnings
import zipfile

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from skatter import SCA, NearestNeighbour
from skatter import adapt as adapt_frame
from skatter.saving import pack_model

pd = pytest.importorskip("pandas", reason='pip install "skatter[table]"')

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="limits of memory need Linux"),
    pytest.mark.usefixtures("few_trees"),
]

SECONDS, BYTES = 5, 500 << 20


@pytest.fixture(scope="module")
def app(require):
    require("pyarrow", "table")
    from skatter.cli import build_app

    return build_app()


def run(app, folder, *arguments):
    """Run a command in a child with limits; return its exit code and what it said."""
    said = folder / "said"
    child = os.fork()
    if not child:
        try:
            sys.stdout = sys.stderr = open(said, "w")  # noqa: SIM115 (flushed where it leaves)
            used = resource.getrusage(resource.RUSAGE_SELF)
            seconds = int(used.ru_utime + used.ru_stime) + SECONDS + 1
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
            with open("/proc/self/statm") as file:
                pages = int(file.read().split()[0])
            limit = pages * resource.getpagesize() + BYTES
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
            app([str(each) for each in arguments], standalone_mode=True)
        except SystemExit as leaving:
            sys.stdout.close()
            os._exit(int(leaving.code or 0))
        except BaseException:
            os._exit(70)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), said.read_text()


def refused(app, folder, *arguments):
    code, said = run(app, folder, *arguments)
    assert code == 1, said
    assert len(said.splitlines()) == 1, said
    assert said.startswith("skatter ")
    assert sorted(path.name for path in folder.iterdir() if path.name.startswith("out")) == []
    return said


def table(folder, content, name="table.csv"):
    path = folder / name
    path.write_bytes(content)
    return path


def many_rows(cell):
    rows = (f"{n},{'b' if n % 2 else 'a'},{n % 3}" for n in range(20_000))
    return "\n".join(["x,site,y", *rows, f"1,{cell},1"]).encode()


def packed(members):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        archive.comment = b"0" * 128
    signed = data.getvalue()[:-64]
    return signed + hashlib.sha256(signed).hexdigest().encode()


def model_of(parts):
    about = {"format": 2, "versions": {"skatter": "0", "scikit-learn": "0"}}
    content = {"parts": parts, "model": len(parts) - 1}
    return packed({"skatter.json": json.dumps(about), "model.json": json.dumps(content)})


def predict(app, folder, model):
    path = table(folder, b"a,b\n1,2\n2,1\n", "rows.csv")
    return refused(app, folder, "predict", model, path, "--out", folder / "out.csv")


@pytest.mark.parametrize(
    "kind",
    ["sklearn.ensemble.StackingClassifier", "sklearn.dummy.DummyClassifier", "os.system", "tofile"],
)
def test_a_model_of_other_types_is_refused(app, tmp_path, kind):
    parts = [{"type": kind, "state": {"stack_method_": ["tofile"]}}]
    assert "not on the list" in predict(app, tmp_path, table(tmp_path, model_of(parts), "m"))


def forged(model, change):
    """Return the file of a model after ``change(parts, arrays)``, with a checksum of its own."""
    with zipfile.ZipFile(io.BytesIO(pack_model(model))) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    content = json.loads(members["model.json"])
    arrays = {n[:-4]: np.load(io.BytesIO(members[n])) for n in members if n.endswith(".npy")}
    change(content["parts"], arrays)
    for name, array in arrays.items():
        file = io.BytesIO()
        np.save(file, array)
        members[f"{name}.npy"] = file.getvalue()
    return packed({**members, "model.json": json.dumps(content)})


def too_many(parts, arrays):
    arrays[str(parts[0]["state"]["_n_support"]["array"])] *= 1000


def cut_short(parts, arrays):
    name = str(parts[0]["state"]["_dual_coef_"]["array"])
    arrays[name] = arrays[name][:, :-1]


def beyond(parts, arrays):
    parts[0]["state"]["_random"]["random"][1] = 10**6


def in_processes(parts, arrays):
    parts[0]["state"]["n_jobs"] = 64


@pytest.mark.parametrize(
    ("model", "change"),
    [
        (SVC(), too_many),
        (SVC(), cut_short),
        (NearestNeighbour(), beyond),
        (KNeighborsClassifier(1, algorithm="brute"), in_processes),
    ],
    ids=["machine crashes", "machine misleads", "random state crashes", "processes"],
)
def test_forged_numbers_are_refused(app, tmp_path, model, change):
    rng = np.random.default_rng(0)
    model = clone(model).fit(rng.normal(size=(30, 2)), np.arange(30) % 3)
    said = predict(app, tmp_path, table(tmp_path, forged(model, change), "m"))
    assert "is refused" in said


def test_thousands_of_nodes_that_name_one_array_take_it_once(app, tmp_path):
    model = SCA(1).fit(np.random.default_rng(0).normal(size=(2000, 50)), np.arange(2000) % 2)

    def name_again(parts, arrays):
        largest = max(arrays, key=lambda name: arrays[name].size)
        parts[-1]["state"]["more_"] = [{"array": int(largest)}] * 3000

    path = table(tmp_path, forged(model, name_again), "m")
    assert "not a model of a table" in predict(app, tmp_path, path)


def test_a_model_of_a_table_with_an_array_cut_short_is_refused_or_does_not_need_it(app, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    frame["site"], frame["kind"] = np.repeat(["x", "y"], 30), np.tile(["u", "v"], 30)
    frame.loc[30:, "kind"] = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = adapt_frame(frame, label="kind", domain="site", method="sca").model
    rows, out = table(tmp_path, b"a,b\n1,2\n2,1\n", "rows.csv"), tmp_path / "out.csv"

    def answer(change):
        out.unlink(missing_ok=True)
        path = table(tmp_path, forged(model, change), "m")
        code, said = run(app, tmp_path, "predict", path, rows, "--out", out)
        if code == 0:
            return out.read_bytes()
        assert code == 1
        assert "is refused" in said
        return len(said.splitlines())

    honest, numbers = answer(lambda parts, arrays: None), []
    assert b"predicted_kind" in honest
    answer(lambda parts, arrays: numbers.extend(arrays))
    found = []
    for number in numbers[:: len(numbers) // 6]:

        def cut(parts, arrays, number=number):
            arrays[number] = arrays[number][..., :-1]

        found.append(answer(cut))
    assert {1} <= set(found) <= {1, honest}


def test_nodes_that_share_children_are_counted_once(app, tmp_path):
    parts = [{"type": "sklearn.pipeline.Pipeline", "state": {}}]
    for place in range(40):
        steps = [{"tuple": [name, {"part": place}]} for name in "ab"]
        state = {"steps": steps, "memory": None, "verbose": False, "transform_input": None}
        parts.append({"type": "sklearn.pipeline.Pipeline", "state": state})
    parts[0]["state"] = {**parts[1]["state"], "steps": [{"tuple": ["a", None]}]}
    assert "refused" in predict(app, tmp_path, table(tmp_path, model_of(parts), "m"))


def test_a_device_and_a_pipe_are_no_models(app, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in ("/dev/zero", tmp_path / "pipe"):
        assert "no regular file" in predict(app, tmp_path, path)


def adapt(app, folder, path, label="y", domain="site"):
    return refused(
        app, folder, "adapt", path, "-l", label, "-d", domain, "--out", folder / "out.csv"
    )


def test_a_cell_of_digits_and_a_letter_costs_nothing(app, tmp_path):
    path = table(tmp_path, b"x,site,y\n" + b"1" * 19_000 + b"x,a,1\n2,b,\n3,b,\n")
    adapt(app, tmp_path, path)


def test_a_pipe_is_no_table(app, tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    assert "is a device or a pipe" in adapt(app, tmp_path, tmp_path / "pipe.csv")


def test_a_long_domain_is_refused_before_it_makes_arrays_wide(app, tmp_path):
    said = adapt(app, tmp_path, table(tmp_path, many_rows("z" * 20_000)))
    assert "20,000 characters" in said


def test_cells_without_bytes_are_no_cells(app, tmp_path):
    header = io.BytesIO()
    claim = {"descr": "<U0", "fortran_order": False, "shape": (300_000_000,)}
    np.lib.format.write_array_header_1_0(header, claim)
    path = table(tmp_path, packed({"y.npy": header.getvalue()}), "table.npz")
    assert "which no table holds" in adapt(app, tmp_path, path)


def test_one_text_that_is_repeated_is_counted_as_it_unpacks(app, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "table.parquet"
    with pq.ParquetWriter(path, pa.schema([("site", pa.string())])) as writer:
        for _ in range(8):
            writer.write_table(pa.table({"site": ["x" * 20_000] * 8_000}))
    assert path.stat().st_size < 1 << 20
    assert "unpacks to more than 200 times" in adapt(app, tmp_path, path)


def test_distances_of_source_and_target_are_held_in_batches():
    import tracemalloc

    from skatter.methods import JDA

    X = np.random.default_rng(0).normal(size=(18_000, 3))
    y = np.r_[np.arange(9_000) % 2, np.full(9_000, -1)]
    tracemalloc.start()
    try:
        JDA(2, kernel="linear", max_iter=1).fit(X, y, sample_domain=np.repeat([1, 2], 9_000))
        assert tracemalloc.get_traced_memory()[1] < 400 << 20 < 8 * 9_000**2
    finally:
        tracemalloc.stop()
