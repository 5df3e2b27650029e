"""The package as a whole: what importing it costs and changes, what it offers, what it leans on."""

from __future__ import annotations

import ast
import inspect
import json
import re
import subprocess
import sys
from importlib.metadata import entry_points, version
from pathlib import Path
from pkgutil import resolve_name

import pytest

import skatter

SOURCE = Path(skatter.__file__).parent
HEAVY = {
    "dask",
    "distributed",
    "jinja2",
    "matplotlib",
    "mlxtend",
    "pandas",
    "plotly",
    "polars",
    "pooch",
    "pyarrow",
    "rich",
    "skada",
    "torch",
    "typer",
}
STANDARD = set(sys.stdlib_module_names)
CORE = (
    "import skatter, skatter.adaptation, skatter.pieces, skatter.datasets, "
    "skatter.diagnosis, skatter.methods, skatter.reporting, skatter.saving, skatter.scatter, "
    "skatter.tables, skatter.theory"
)
FOUNDATIONS = """
import numpy, scipy, sklearn
import scipy.linalg, scipy.sparse, scipy.stats
import sklearn.base, sklearn.metrics, sklearn.model_selection, sklearn.pipeline
import sklearn.ensemble  # whose losses were a module of their own up to 1.7
import importlib.metadata
"""
PUBLIC = {
    "skatter": [
        "KPCA",
        "SCA",
        "SCACV",
        "USCA",
        "KernelFisher",
        "LandmarkMap",
        "LeaveOneDomainOut",
        "NearestNeighbour",
        "adapt",
        "diagnose",
        "make_domain_pipeline",
        "report",
    ],
    "skatter.adaptation": ["Adaptation", "TableModel", "adapt"],
    "skatter.diagnosis": ["Diagnosis", "diagnose"],
    "skatter.reporting": ["report"],
    "skatter.saving": ["load_model", "save_model"],
    "skatter.tables": ["read_columns", "read_table", "write_table"],
    "skatter.domains": ["Domains", "read_domains"],
    "skatter.pieces": [
        "ArrayChunks",
        "TableChunks",
        "fit_chunks",
        "moments_of_chunks",
        "predict_chunks",
    ],
    "skatter.moments": ["Moments", "collect_moments", "merge_moments"],
    "skatter.kernels": ["Kernel", "resolve_kernel", "gram", "centre"],
    "skatter.scatter": [
        "scatter",
        "total_scatter",
        "domain_scatter",
        "between_class_scatter",
        "within_class_scatter",
        "conditional_domain_scatter",
        "mmd",
    ],
    "skatter.methods": ["METHODS", "Method", "get_method"],
    "skatter.datasets": [
        "DATASETS",
        "Dataset",
        "draw_mnist_usps",
        "get_dataset",
        "load_amazon_reviews",
        "load_digits_pair",
        "load_everyday_table",
        "load_ixmas",
        "load_mnist_usps",
        "load_msrc_voc",
        "load_office_caltech",
        "load_pacs",
        "load_parkinsons",
        "load_rotated_mnist",
        "load_vlcs",
        "make_figure1",
    ],
}


def run(code):
    """What a fresh interpreter says, as JSON on its last line."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def loaded_by(code):
    """Top-level packages, not of the standard library, in a fresh interpreter after ``code``."""
    names = "sorted({name.split('.')[0] for name in sys.modules})"
    return set(run(f"{code}\nimport json, sys\nprint(json.dumps({names}))")) - STANDARD


def parsed(path):
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def imports(tree):
    """Every dotted name that a module imports, wherever in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_private(name):
    parts = name.split(".")
    return any(part.startswith("_") and not part.startswith("__") for part in parts)


# --- importing ------------------------------------------------------------------------------------


def test_importing_skatter_loads_nothing_beyond_its_foundations():
    # scikit-learn itself loads some optional packages (pandas, rich) where they are installed
    foundations = loaded_by(FOUNDATIONS)
    assert loaded_by(CORE) - foundations == {"skatter"}
    experiments = loaded_by(f"{CORE}, skatter_bench.results")
    assert experiments - foundations == {"skatter", "skatter_bench"}


def test_the_core_works_where_no_optional_package_is_installed():
    hide = f"""
import sys
class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {HEAVY!r}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Hide())
"""
    work = """
import inspect
inspect.unwrap(skatter._tensors.places.torch)  # as doctest does
data = skatter.datasets.make_figure1(5)
assert skatter.SCA(2).fit(data.X, data.y, sample_domain=data.domain).transform(data.X).shape[1] == 2
"""
    loaded = loaded_by(f"{hide}\n{CORE}\n{work}")
    assert "skatter" in loaded
    assert not loaded & HEAVY


def test_skatter_itself_leaves_the_optional_rooms_closed():
    names = run(
        "import json, sys, skatter\n"
        "print(json.dumps([name for name in sys.modules if name.startswith('skatter')]))"
    )
    closed = {"skatter.adaptation", "skatter.cli", "skatter.plots", "skatter.datasets._digits"}
    assert not closed & set(names)


def test_a_name_that_is_not_there_is_refused_as_by_any_module():
    with pytest.raises(AttributeError, match="module 'skatter' has no attribute 'adopt'"):
        _ = skatter.adopt


def test_importing_changes_no_global_state():
    before, after = run(
        "import json, os, warnings\n" + FOUNDATIONS + "def state():\n"
        "    drawn = numpy.random.get_state()\n"
        "    return [repr(sklearn.get_config()), repr(numpy.geterr()), repr(warnings.filters),\n"
        "            repr(numpy.get_printoptions()), repr(sorted(os.environ.items())),\n"
        "            repr((drawn[0], drawn[1].tolist(), drawn[2:]))]\n"
        "numpy.random.seed(3)\n"
        "before = state()\n"
        f"{CORE}\n"
        "print(json.dumps([before, state()]))"
    )
    assert before == after
    assert len(before) == 6


# --- what the sources lean on ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def trees():
    """Every source file, parsed, by its path in the package."""
    return {str(path.relative_to(SOURCE)): parsed(path) for path in sorted(SOURCE.rglob("*.py"))}


def test_the_sources_are_found(trees):
    assert trees.keys() >= {"__init__.py", "pipeline.py", "methods/_base.py"}


def test_no_private_name_of_another_package_is_imported(trees):
    foreign = [
        (path, name)
        for path, tree in trees.items()
        for name in imports(tree)
        if name.split(".")[0] not in ("skatter", "__future__")
    ]
    assert [(path, name) for path, name in foreign if is_private(name)] == []


def test_no_private_attribute_of_scikit_learn_is_reached_through_a_module(trees):
    reached = [
        (path, ast.unparse(node))
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and re.match(r"(sklearn|sk)\.", ast.unparse(node))
    ]
    assert [(path, name) for path, name in reached if is_private(name)] == []


def test_no_module_sets_the_configuration_of_scikit_learn(trees):
    words = {
        (path, getattr(node, "id", None) or getattr(node, "attr", None))
        for path, tree in trees.items()
        for node in ast.walk(tree)
    }
    assert [path for path, word in words if word == "set_config"] == []


def test_the_check_for_private_names_finds_them():
    tree = ast.parse(
        "import sklearn.utils._param_validation\n"
        "def f():\n    from sklearn.metrics._scorer import _BaseScorer\n"
        "from sklearn.base import _fit_context, clone\n"
        "from sklearn import __version__\n"
    )
    assert [name for name in imports(tree) if is_private(name)] == [
        "sklearn.utils._param_validation",
        "sklearn.base._fit_context",
        "sklearn.metrics._scorer._BaseScorer",
    ]


# --- scripts --------------------------------------------------------------------------------------


SCRIPTS = [
    path
    for folder in ("benchmarks", "docs", "examples")
    for path in sorted((SOURCE.parents[1] / folder).glob("*.py"))
]


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_script_imports_what_is_there(path):
    for name in imports(parsed(path)):
        if name.split(".")[0] in ("skatter", "skatter_bench"):
            assert resolve_name(name) is not None


# --- the map of CONTRIBUTING ----------------------------------------------------------------------


def contributing() -> str:
    return (SOURCE.parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_the_map_names_every_room():
    table = contributing().split("## Where things are")[1].split("## ")[0]
    rooms = [
        path.name if path.suffix else f"{path.name}/"
        for path in SOURCE.iterdir()
        if not path.name.startswith("__") and (path.is_dir() or path.suffix == ".py")
    ]
    assert len(rooms) > 30
    assert [room for room in sorted(rooms) if f"`{room}`" not in table] == []


def test_the_walks_pass_by_files_that_are_there_in_ten_stops():
    walks = contributing().split("## Two walks")[1].split("\n## ")[0]
    stops = re.findall(r"^(\d+)\. (.*)$", walks, re.MULTILINE)
    assert [int(number) for number, _ in stops] == [*range(1, 11)] * 2
    named = [name for _, text in stops for name in re.findall(r"`([a-z_/]+(?:\.py|/))`", text)]
    assert len(named) > 20
    missing = [name for name in named if not list(SOURCE.rglob(name.rstrip("/")))]
    assert missing == []


# --- what is offered ------------------------------------------------------------------------------


def public_objects():
    return [name for name in skatter.__all__ if name != "__version__"]


def test_the_version_is_that_of_the_installed_package():
    assert isinstance(skatter.__version__, str)
    assert skatter.__version__ == version("skatter")
    assert re.match(r"\d+\.\d+\.\d+", skatter.__version__)


@pytest.mark.parametrize("module", PUBLIC)
def test_the_public_interface_is_there(module):
    found = __import__(module, fromlist=["*"])
    assert [name for name in PUBLIC[module] if not hasattr(found, name)] == []


def test_all_names_what_exists_once():
    assert len(skatter.__all__) == len(set(skatter.__all__))
    assert set(PUBLIC["skatter"]) <= set(skatter.__all__)
    for name in skatter.__all__:
        assert hasattr(skatter, name)


@pytest.mark.parametrize("name", public_objects())
def test_every_public_name_is_documented_with_an_example(name):
    text = inspect.getdoc(getattr(skatter, name))
    assert "\nExamples\n--------\n>>> " in text
    takes = inspect.signature(getattr(skatter, name)).parameters
    assert ("\nParameters\n----------\n" in text) == bool(takes)


@pytest.mark.parametrize("name", public_objects())
def test_every_public_method_is_documented(name):
    thing = getattr(skatter, name)
    methods = dict(inspect.getmembers(thing, inspect.isroutine)) if inspect.isclass(thing) else {}
    ours = {
        key: value
        for key, value in methods.items()
        if not key.startswith("_") and getattr(value, "__module__", "").startswith("skatter")
    }
    assert thing.__module__.startswith("skatter.")
    assert [key for key, value in ours.items() if not inspect.getdoc(value)] == []


def test_a_module_lists_its_public_names_or_is_internal(trees):
    silent = [
        path
        for path, tree in trees.items()
        if not any(
            isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
            for node in tree.body
        )
    ]
    public = [path for path in silent if not is_private(path.replace("/", "."))]
    assert [path for path in public if not path.endswith("__main__.py")] == []


def test_every_module_says_what_it_is_for(trees):
    assert [path for path, tree in trees.items() if not ast.get_docstring(tree)] == []


def test_the_command_is_installed():
    (command,) = entry_points(group="console_scripts", name="skatter")
    assert command.value == "skatter.cli:main"


def test_type_checkers_are_told_that_the_package_is_typed():
    assert (SOURCE / "py.typed").is_file()


def test_workflows_run_targets_of_the_makefile_and_nothing_else():
    yaml = pytest.importorskip("yaml")
    root = SOURCE.parents[1]
    targets = re.findall(r"^([a-z-]+):", (root / "Makefile").read_text(encoding="utf-8"), re.M)
    workflows = sorted((root / ".github" / "workflows").glob("*.yml"))
    jobs = [yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"] for path in workflows]
    steps = [step for each in jobs for job in each.values() for step in job["steps"]]
    commands = [step["run"].split()[:2] for step in steps if "run" in step]
    assert len(commands) > 4
    assert [each for each in commands if each[0] != "make" or each[1] not in targets] == []


# --- the tests themselves -------------------------------------------------------------------------


def test_a_missing_optional_module_skips_a_test_and_says_why(require, monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="no_such_module is not installed"):
        require("no_such_module")


def test_a_missing_optional_module_fails_a_test_in_ci(require, monkeypatch):
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="CI must not skip"):
        require("no_such_module")
    monkeypatch.setenv("SKATTER_DATA", "folder")
    with pytest.raises(pytest.fail.Exception, match="CI must not skip"):
        require("no_such_module", "torch")
    monkeypatch.delenv("SKATTER_DATA")
    with pytest.raises(pytest.skip.Exception):
        require("no_such_module", "torch")


def test_an_optional_module_that_is_there_is_handed_over(require):
    assert require("json") is json
