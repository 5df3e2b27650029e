"""The wheel, installed from its file beside nothing but what each extra declares."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]

SAMPLES = """
import numpy as np
rng = np.random.default_rng(0)
y = np.tile([0, 1], 30)
site = np.repeat(["here", "there"], 30)
X = rng.normal(size=(60, 4)) + 2 * y[:, None] + (site == "there")[:, None]
known = np.where(site == "here", y, -1)
"""

TABLE = """
rows = "".join(
    f"{s},{'' if k < 0 else k}," + ",".join(f"{v:.3f}" for v in x) + "\\n"
    for s, k, x in zip(site, known, X)
)
open("table.csv", "w").write("site,label,a,b,c,d\\n" + rows)
"""

PROGRAMS = {
    "": "import skatter, skatter.methods\n"
    "skatter.SCA(2).fit(X, known, sample_domain=site).transform(X)\n"
    "skatter.methods.get_method('tca').estimator(2).fit(X, known, sample_domain=site)",
    "cli": "from skatter.cli import main\nimport sys\nsys.argv = ['skatter', 'methods']\nmain()",
    "plot": "import skatter, skatter.plots, matplotlib\nmatplotlib.use('agg')\n"
    "sca = skatter.SCA(2).fit(X, known, sample_domain=site)\n"
    "skatter.plots.plot_spectrum(sca)",
    "table": f"{TABLE}\nfrom skatter.cli import main\nimport sys\n"
    "sys.argv = ['skatter', 'adapt', 'table.csv', '--label', 'label', '--domain', 'site', "
    "'--out', 'out.parquet', '--report', 'report.html', '--model', 'model.skatter']\n"
    "from skatter.datasets import load_digits_pair\nload_digits_pair()\nmain()",
    "bench": "from skatter.cli import main\nimport sys\n"
    "sys.argv = ['skatter', 'bench', 'list']\nmain()",
    "dask": "import dask.array as da, skatter\n"
    "sca = skatter.SCA(2, kernel='linear').fit(da.from_array(X, chunks=(20, 4)), "
    "da.from_array(known, chunks=20), sample_domain=da.from_array(site, chunks=20))\n"
    "assert sca.components_.shape == (2, 4)",
    "data": "import pooch, skatter.datasets",
    "torch": "import torch, skatter\n"
    "skatter.SCA(2).fit(torch.as_tensor(X), known, sample_domain=site)",
}
"""What somebody who installed an extra expects to work."""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A wheel made from an sdist, as an installer without our git history makes it."""
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = out.glob("*.whl")
    (sdist,) = out.glob("*.tar.gz")
    return wheel, sdist


@pytest.fixture(scope="module")
def declared(built):
    """Requirements of the wheel, for each extra."""
    with zipfile.ZipFile(built[0]) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
        text = archive.read(name).decode()
    lines = [line.split(": ", 1)[1] for line in text.splitlines() if "Requires-Dist: " in line]
    return [Requirement(line) for line in lines]


def needs(requirements, extras):
    """Requirements that hold with these extras of their package."""
    return [
        each
        for each in requirements
        if each.marker is None
        or any(each.marker.evaluate({"extra": extra}) for extra in ("", *extras))
    ]


def closure(declared, extra):
    """Names of all distributions that an installer would bring for one extra."""
    found: set[str] = set()
    waiting = [Requirement(f"skatter[{extra}]" if extra else "skatter")]
    seen = set()
    while waiting:
        requirement = waiting.pop()
        key = (requirement.name.lower(), frozenset(requirement.extras))
        if key in seen:
            continue
        seen.add(key)
        if requirement.name == "skatter":
            waiting += needs(declared, requirement.extras)
            continue
        found.add(requirement.name)
        own = [Requirement(line) for line in distribution(requirement.name).requires or []]
        waiting += needs(own, requirement.extras)
    return found


def environment(folder, wheel, names):
    """A fresh virtual environment that holds the wheel and links to some distributions."""
    venv.create(folder, symlinks=True)
    (site,) = folder.glob("lib/python*/site-packages")
    for name in names:
        package = distribution(name)
        for top in {Path(file).parts[0] for file in package.files or [] if ".." not in str(file)}:
            target, link = Path(package.locate_file(top)), site / top
            if target.exists() and not link.exists() and top != "__pycache__":
                link.symlink_to(target)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    return folder / "bin" / "python"


@pytest.mark.skipif(os.name == "nt", reason="links need rights that Windows does not give")
@pytest.mark.parametrize("extra", PROGRAMS, ids=lambda extra: extra or "bare")
def test_the_wheel_works_with_what_an_extra_declares(extra, built, declared, tmp_path, require):
    if extra == "torch":
        require("torch", "torch")
    try:
        names = closure(declared, extra)
    except PackageNotFoundError as error:
        pytest.fail(f"{error} is declared and not installed here.")
    python = environment(tmp_path / "clean", built[0], names)
    done = subprocess.run(
        [python, "-I", "-c", SAMPLES + PROGRAMS[extra]],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr


def test_the_conda_recipe_brings_what_the_commands_for_tables_declare(declared):
    yaml = pytest.importorskip("yaml")
    recipe = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8"))
    runs = [line.replace("matplotlib-base", "matplotlib") for line in recipe["requirements"]["run"]]
    found, waiting = set(), [Requirement("skatter[table]")]
    while waiting:
        each = waiting.pop()
        if each.name == "skatter":
            waiting += needs(declared, each.extras)
        else:
            found.add(f"{each.name} {each.specifier}")
    assert {line for line in runs if not line.startswith("python ")} == found


def test_an_extra_that_is_not_declared_is_missed(built, declared, tmp_path):
    names = closure(declared, "")
    assert "pandas" not in names
    python = environment(tmp_path / "clean", built[0], names)
    done = subprocess.run([python, "-I", "-c", "import pandas"], capture_output=True, check=False)
    assert done.returncode != 0


def test_the_wheel_is_typed_and_holds_no_benchmark_data(built):
    with zipfile.ZipFile(built[0]) as archive:
        names = archive.namelist()
    assert "skatter/py.typed" in names
    assert not [name for name in names if name.startswith(("tests", "benchmarks", "docs"))]
    assert built[0].stat().st_size < 2_000_000
    assert built[1].stat().st_size < 60_000_000
