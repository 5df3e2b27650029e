"""What safe reading costs: a CSV of 100 MB and a model of 21 MB, now and before the checks.

``python benchmarks/safety.py [FOLDER]`` checks out the two revisions before columns were carried
and before models were data, and runs each task by turns in processes of both, best of three. The
unit is the processor's time, so that a busy machine matters little. The old models need skops;
FOLDER is one that holds it (``pip install --target FOLDER skops``).
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
BEFORE = {"read": "eacb260", "load": "eacb260^"}
ROUNDS = 3


def make_table(path: Path) -> None:
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(300_000, 20)).round(12))
    frame.columns = [f"x{place}" for place in range(20)]
    frame["id"] = [f"{place:08d}" for place in range(len(frame))]
    frame["site"], frame["n"] = rng.choice(["basel", "cairo"], len(frame)), rng.integers(0, 99)
    frame["gap"] = np.where(rng.random(len(frame)) < 0.1, np.nan, rng.integers(0, 9, len(frame)))
    frame["said"] = rng.choice(["yes", "no", "don't know"], len(frame))
    frame.to_csv(path, index=False)


def read(path: str) -> float:
    from skatter.tables import read_table

    start = time.process_time()
    read_table(path)
    return time.process_time() - start


def pandas_alone(path: str) -> float:
    import pandas as pd

    start = time.process_time()
    pd.read_csv(path, low_memory=False)
    return time.process_time() - start


def load(path: str) -> float:
    import numpy as np
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.preprocessing import StandardScaler

    from skatter import make_domain_pipeline
    from skatter.saving import load_model, save_model

    rng = np.random.default_rng(0)
    X, y, ids = rng.normal(size=(26_000, 100)), np.arange(26_000) % 3, np.arange(26_000) % 2
    neighbours = KNeighborsClassifier(1, algorithm="brute")
    model = make_domain_pipeline(StandardScaler(), neighbours).fit(X, y, sample_domain=ids)
    save_model(model, path, force=True)
    load_model(path)  # imports what it needs
    start = time.process_time()
    load_model(path)
    return time.process_time() - start


TASKS = {"read": read, "load": load, "pandas": pandas_alone}


def check_out(revision: str, folder: Path) -> Path:
    folder.mkdir()
    archive = subprocess.run(
        ["git", "archive", revision, "src"], cwd=ROOT, capture_output=True, check=True
    )
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)
    return folder / "src"


def measured(task: str, path: Path, source: Path, extra: str) -> float:
    command = [sys.executable, __file__, "task", task, str(path)]
    environment = {"PYTHONPATH": f"{source}:{extra}", "PATH": "/usr/bin:/bin"}
    environment |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout.split()[-1])


def main(extra: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        table, model = Path(folder) / "table.csv", Path(folder) / "model.skatter"
        make_table(table)
        old = {task: check_out(rev, Path(folder) / task) for task, rev in BEFORE.items()}
        cases = {
            ("read", "before"): ("read", table, old["read"]),
            ("read", "now"): ("read", table, ROOT / "src"),
            ("read", "pandas alone"): ("pandas", table, ROOT / "src"),
            ("load", "before"): ("load", model, old["load"]),
            ("load", "now"): ("load", model, ROOT / "src"),
        }
        best = dict.fromkeys(cases, float("inf"))
        for _ in range(ROUNDS):
            for case, given in cases.items():
                best[case] = min(best[case], measured(*given, extra))
        sizes = (f"{path.name}: {path.stat().st_size / 1e6:.0f} MB" for path in (table, model))
        print(*sizes, sep=", ")
        print("| task | version | seconds of the processor | multiple of before |")
        print("| --- | --- | ---: | ---: |")
        for (task, which), seconds in best.items():
            print(f"| {task} | {which} | {seconds:.2f} | {seconds / best[task, 'before']:.2f} |")


if __name__ == "__main__":
    if sys.argv[1:2] == ["task"]:
        print(TASKS[sys.argv[2]](sys.argv[3]))
    else:
        main(sys.argv[1] if len(sys.argv) > 1 else "")
