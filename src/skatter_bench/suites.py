"""Suites: every table and figure of the paper, and more data than it had.

Everyday tables come in all sizes, so the rows of their tasks are drawn at random, once and for all.
Which domains a task has, and where its rows begin in the draw, is in the catalogue of
:mod:`skatter.datasets._everyday_tables`; ``benchmarks/tables_catalogue.py`` has the rule behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import permutations, product
from typing import Any, Literal

from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from skatter._formatting import did_you_mean
from skatter.datasets._everyday_tables import EVERYDAY_TABLES
from skatter.methods import METHODS, Method
from skatter.methods._record import Tuning
from skatter_bench.contestants import SETS, Contestant, contestants, regressors
from skatter_bench.grids import FIGURE1, FIGURE2, GENERALIZATION
from skatter_bench.protocols import (
    DEFAULTS,
    LEAVE_ONE_DOMAIN_OUT,
    SOURCE_CV,
    TARGET_ORACLE,
    TIMED,
    UNTUNED,
)
from skatter_bench.tasks import Sample, Setting, Task

SuiteKind = Literal["accuracy", "runtime", "matrix", "synthetic"]


@dataclass(frozen=True)
class Suite:
    """Tasks that belong together, and how they are run.

    The first of ``protocols`` is run unless another is asked for; ``kind`` says what its table
    looks like; ``published`` is the key of the paper's numbers; ``methods`` None is every method
    that fits; ``tunings`` replace what is tuned, by contestant; ``sparse`` samples are not for
    every method.
    """

    name: str
    title: str
    tasks: tuple[Task, ...]
    protocols: tuple[str, ...] = (SOURCE_CV, TARGET_ORACLE, DEFAULTS)
    kind: SuiteKind = "accuracy"
    published: str | None = None
    methods: tuple[str, ...] | None = None
    classifiers: tuple[str, ...] = ("1nn",)
    tunings: Mapping[str, Tuning] | None = None
    sparse: bool = False
    note: str = ""

    @property
    def setting(self) -> Setting:
        """Whether the target's samples are seen."""
        return self.tasks[0].setting

    @property
    def has_classes(self) -> bool:
        """Whether labels are classes, not numbers."""
        return self.tasks[0].n_classes > 0

    def contestants(
        self,
        protocol: str,
        *,
        grid: str = "coarse",
        names: Sequence[str] | None = None,
        methods: Mapping[str, Method] = METHODS,
    ) -> list[Contestant]:
        """Return who takes part under a protocol; untuned, each has one setting."""
        grid = "none" if protocol in UNTUNED else grid
        names = names or self.methods
        if not self.has_classes:
            return regressors(grid=grid, names=names, methods=methods)
        return contestants(
            self.setting,
            classifiers=self.classifiers,
            grid=grid,
            names=names,
            methods=methods,
            tunings=self.tunings,
            sparse=self.sparse,
        )


# --- tasks of the paper, and of more domains like its own -----------------------------------------

OFFICE = {"A": "amazon", "W": "webcam", "D": "dslr", "C": "caltech"}
"""Domains of Office+Caltech in the order of the paper."""
VLCS = {"V": "voc2007", "L": "labelme", "C": "caltech101", "S": "sun09"}
CAMERAS = {str(i): f"cam{i}" for i in range(5)}
PACS = {"P": "photo", "A": "art_painting", "C": "cartoon", "S": "sketch"}
REVIEWS = {"B": "books", "D": "dvd", "E": "electronics", "K": "kitchen"}
ANGLES = {angle: angle for angle in ("0", "15", "30", "45", "60", "75")}


def _pairs(
    dataset: str,
    names: Mapping[str, str],
    n_classes: int,
    group: str,
    prepare: str = "as loaded",
    draw: int = 0,
) -> tuple[Task, ...]:
    how = (n_classes, group, prepare, True, draw)
    return tuple(
        Task(f"{s}->{t}", dataset, (names[s],), (names[t],), "adaptation", *how)
        for s, t in permutations(names, 2)
    )


def _generalize(
    dataset: str,
    names: Mapping[str, str],
    targets: Iterable[str],
    *how: Any,
    renamed: Mapping[str, str] | None = None,
) -> tuple[Task, ...]:
    """One task for each set of targets, written as letters; all other domains are sources.

    ``how`` is the end of a :class:`Task`; ``renamed`` has the names of the paper where they are
    others.
    """
    tasks = []
    for target in targets:
        held = target.split(",")
        sources = [name for name in names if name not in held]
        name = f"{','.join(sources)}->{target}"
        name = (renamed or {}).get(name, name)
        learn, predict = (tuple(names[each] for each in side) for side in (sources, held))
        tasks.append(Task(name, dataset, learn, predict, "generalization", *how))
    return tuple(tasks)


DIGITS_MSRC = "MNIST+USPS, MSRC+VOC"
SURF = "Office+Caltech (SURF-BoW)"
EFFNET = "Office+Caltech (EfficientNet)"
_DIGITS = {"usps": "usps", "mnist": "mnist"}
_TABLE1 = (
    *_pairs("mnist_usps", _DIGITS, 10, DIGITS_MSRC),
    *_pairs("msrc_voc", {"msrc": "msrc", "voc": "voc"}, 6, DIGITS_MSRC),
)
_TABLE2 = _pairs("office_surf", OFFICE, 10, SURF)
_TABLE3 = _pairs("office_decaf6", OFFICE, 10, "Office+Caltech (DeCAF6)")
_TABLE5 = {"MNIST+USPS": _TABLE1[:2], "MSRC+VOC": _TABLE1[2:], "Office+Caltech": _TABLE2}
_VLCS_TARGETS = ("V", "L", "C", "S", "V,L", "V,S", "L,S")
_TABLE7 = _generalize("vlcs", VLCS, _VLCS_TARGETS, 5, "VLCS", renamed={"L,C->V,S": "C,L->V,S"})
_OFFICE_NAMES = {"W,D->A,C": "D,W->A,C"}
_TABLE8 = _generalize(
    "office_decaf6", OFFICE, ("A", "C", "D,W", "A,C"), 10, "Office+Caltech", renamed=_OFFICE_NAMES
)
_TABLE9 = tuple(
    replace(task, name=f"Cam{task.name.replace('->', '->Cam')}")
    for task in _generalize("ixmas", CAMERAS, ("2,3,4", "0,1", "4"), 5, "IXMAS")
)
_OFFICE_TARGETS = ("A", "C", "W", "D", "D,W", "A,C")
_DOMAINS_FIRST = (LEAVE_ONE_DOMAIN_OUT, SOURCE_CV, TARGET_ORACLE, DEFAULTS)
_LABELS_FIRST = (SOURCE_CV, LEAVE_ONE_DOMAIN_OUT, TARGET_ORACLE, DEFAULTS)
_PAPER: dict[str, Any] = {
    "classifiers": ("1nn", SETS),
    "tunings": GENERALIZATION,
    "note": "Undo-Bias is there twice: by the class whose machine has the largest value, and, with "
    "sets, as the paper scores it, right wherever the machine of the true class is positive.",
}
"""How the paper's tables of generalization are tuned and scored."""


# --- everyday tables: 72 data sets with natural domains, each a group of its own ----------------

PAIR = Sample(800, 800)  # most rows of one source and of one target
SOURCES_AND_TARGET = Sample(1500, 800)  # most rows of several sources together and of one target
_NOTE = "A table is a column, and the average is over tables. Rows are drawn at random, "
_FEW, _MORE = "at most 800 a side.", "at most 1,500 of the sources and 800 of the target."


def _table_tasks(
    kind: str, setting: Setting = "adaptation", others: bool = False
) -> Iterator[Task]:
    for table in EVERYDAY_TABLES.values():
        if table.task != kind:
            continue
        for drawn in table.targets if others else table.pairs:
            yield Task(
                f"{'others' if others else drawn.sources[0]}->{drawn.target}",
                table.name,
                drawn.sources,
                (drawn.target,),
                setting,
                n_classes=len(table.class_names),
                group=table.name,
                prepare="table",
                sample=replace(SOURCES_AND_TARGET if others else PAIR, before=drawn.before),
            )


TABLE_SUITES = (
    Suite(
        "tables",
        "Adaptation, everyday tables, one source and one target",
        tuple(_table_tasks("classification")),
        protocols=(DEFAULTS, SOURCE_CV, TARGET_ORACLE),
        note=_NOTE + _FEW,
    ),
    Suite(
        "tables-sources",
        "Adaptation, everyday tables, all other domains are sources",
        tuple(_table_tasks("classification", others=True)),
        protocols=(DEFAULTS, SOURCE_CV, LEAVE_ONE_DOMAIN_OUT, TARGET_ORACLE),
        note=_NOTE + _MORE,
    ),
    Suite(
        "tables-unseen",
        "Generalization, everyday tables, one domain after the other is the target",
        tuple(_table_tasks("classification", "generalization", others=True)),
        protocols=(DEFAULTS, LEAVE_ONE_DOMAIN_OUT, SOURCE_CV, TARGET_ORACLE),
        note=_NOTE + _MORE,
    ),
    Suite(
        "tables-numbers",
        "Adaptation, everyday tables with numbers as labels, one source and one target: R²",
        tuple(_table_tasks("regression")),
        protocols=(DEFAULTS, SOURCE_CV, TARGET_ORACLE),
        note=f"{_NOTE}{_FEW} Numbers are R² in percent: 0 is the mean of the target's labels, and "
        "below 0 is worse than that. One bad table rules an average: look at ranks.",
    ),
)


# --- SKADA-Bench, as far as its data can be had ---------------------------------------------------

SEEDS = range(5)  # of the splits, and of the draws of the simulated shifts
_SKADA_NOTE = (
    "Source and target are parted 80 to 20 percent by five seeds: the target's training part is "
    "seen without labels, its test part is scored. Concept drift is their name for a shift of each "
    "class. Simulated samples are drawn anew by each seed. Digits are the 2,000 and 1,800 of Long "
    "et al., as pixels; theirs are 3,000 of each collection in 50 whitened principal components. "
    "Their numbers come from other classifiers behind the features, column by column, and tuned "
    "methods: benchmarks/results/skada_bench.md has them beside ours with those classifiers."
)

BASES: Mapping[str, Callable[[], Any]] = {
    "covariate shift": SVC,
    "target shift": SVC,
    "concept drift": SVC,
    "subspace": SVC,
    "Digits": SVC,
    "Mushrooms": partial(LogisticRegression, max_iter=1000),
    "Phishing": partial(HistGradientBoostingClassifier, random_state=0),
}
"""The classifier behind every method, by column; in the suite our methods have those of our other
suites. Theirs for Phishing is XGBoost; ours is scikit-learn's gradient boosting with histograms,
the same kind of model."""
_SKADA: Mapping[str, tuple[str, int, str, str]] = {
    "covariate shift": ("covariate_shift", 2, "source", "target"),
    "target shift": ("target_shift", 2, "source", "target"),
    "concept drift": ("conditional_shift", 2, "source", "target"),
    "subspace": ("subspace_shift", 2, "source", "target"),
    "Digits": ("mnist_usps_parts", 10, "mnist", "usps"),
    "Mushrooms": ("mushrooms", 2, "enlarging", "tapering"),
    "Phishing": ("phishing", 2, "no_ip", "ip"),
}
"""Data set, number of classes and domains of every column; real domains are targets in turn."""


def _skada_tasks() -> Iterator[Task]:
    for seed, (column, (dataset, n_classes, *domains)) in product(SEEDS, _SKADA.items()):
        drawn = domains[0] == "source"
        for a, b in [domains] if drawn else permutations(domains):
            name = column if drawn else f"{a}->{b}"
            yield Task(name, dataset, (a,), (b,), "adaptation", n_classes, column, draw=seed)


# --- all of them ----------------------------------------------------------------------------------

_SUITES = (
    Suite(
        "figure1",
        "Figure 1: three classes in the plane, and where each method puts them",
        (Task("source->target", "figure1", ("source",), ("target",), "adaptation", 3, "Figure 1"),),
        protocols=(TARGET_ORACLE,),
        kind="synthetic",
        published="figure1",
        methods=("raw", "kpca", "sstca", "tjm", "sca"),
        tunings=FIGURE1,
        note="The paper gives no recipe for its points: ours are drawn anew, so that the order of "
        "the methods compares and their accuracies do not.",
    ),
    Suite(
        "table1",
        "Table 1: adaptation, USPS+MNIST and MSRC+VOC",
        _TABLE1,
        published="table1",
        note="Digits are the draw of Long et al., pixels as they are: the paper drew its own. "
        "Histograms have unit length, which gives the paper's raw figure for msrc->voc.",
    ),
    Suite(
        "table1-draws",
        "Table 1, its digits drawn anew five times from the full sets",
        tuple(
            task
            for draw in range(5)
            for task in _pairs("mnist_usps_draw", _DIGITS, 10, DIGITS_MSRC, draw=draw)
        ),
        published="table1",
    ),
    Suite("table2", "Table 2: adaptation, Office+Caltech SURF", _TABLE2, published="table2"),
    Suite("table3", "Table 3: adaptation, Office+Caltech DeCAF6", _TABLE3, published="table3"),
    Suite(
        "figure2",
        "Figure 2 and table 4: linear SVM and DAM behind the features",
        (*_TABLE1, *_TABLE2, *_TABLE3),
        published="table4",
        methods=("raw", "kpca", "sstca", "sa", "tjm", "sca", "sca-printed"),
        classifiers=("svm", "dam"),
        tunings=FIGURE2,
    ),
    Suite(
        "table5",
        "Table 5: seconds of adaptation",
        tuple(replace(task, group=group) for group, own in _TABLE5.items() for task in own),
        protocols=(TIMED,),
        kind="runtime",
        published="table5",
        note="One fit and one prediction with defaults, Gram matrix included, in seconds of one "
        "processor core. Office+Caltech is SURF here; the paper timed DeCAF6.",
    ),
    Suite(
        "table6",
        "Table 6: how much a data set knows of others, VLCS",
        tuple(
            Task(f"{s}->{t}", "vlcs", (VLCS[s],), (VLCS[t],), "generalization", 5, "VLCS")
            for s, t in product(VLCS, repeat=2)
        ),
        protocols=(DEFAULTS,),
        kind="matrix",
        published="table6",
        methods=("raw",),
    ),
    Suite(
        "table7",
        "Table 7: generalization, VLCS",
        _TABLE7,
        protocols=_LABELS_FIRST,
        published="table7",
        **_PAPER,
    ),
    Suite(
        "table8",
        "Table 8: generalization, Office+Caltech DeCAF6",
        _TABLE8,
        published="table8",
        **_PAPER,
    ),
    Suite("table9", "Table 9: generalization, IXMAS", _TABLE9, published="table9", **_PAPER),
    Suite(
        "table10",
        "Table 10: seconds of generalization",
        (*_TABLE7, *_TABLE8, *_TABLE9),
        protocols=(TIMED,),
        kind="runtime",
        published="table10",
    ),
    Suite(
        "office-effnet",
        "Adaptation, Office+Caltech EfficientNet",
        _pairs("office_effnet", OFFICE, 10, EFFNET),
    ),
    Suite(
        "office-googlenet",
        "Adaptation, Office+Caltech GoogLeNet",
        _pairs("office_googlenet", OFFICE, 10, "Office+Caltech (GoogLeNet)", "unit rows"),
    ),
    Suite(
        "amazon-400",
        "Adaptation, Amazon reviews, 400 features",
        _pairs("amazon_400", REVIEWS, 2, "Amazon reviews (400)"),
    ),
    Suite(
        "amazon-5000",
        "Adaptation, Amazon reviews, 5,000 sparse features, scored on test parts",
        _pairs("amazon_5000", REVIEWS, 2, "Amazon reviews (5,000)", "unit rows"),
        sparse=True,
    ),
    Suite(
        "digits",
        "Adaptation, the embedded digits of UCI and MNIST",
        _pairs("digits", {"uci": "uci", "mnist": "mnist"}, 10, "Digits"),
    ),
    Suite(
        "dg-office-surf",
        "Generalization, Office+Caltech SURF",
        _generalize(
            "office_surf",
            OFFICE,
            _OFFICE_TARGETS,
            *(10, SURF, "shares, z-scores, unit rows", False),
            renamed=_OFFICE_NAMES,
        ),
        protocols=_LABELS_FIRST,
    ),
    Suite(
        "dg-office-effnet",
        "Generalization, Office+Caltech EfficientNet",
        _generalize("office_effnet", OFFICE, _OFFICE_TARGETS, 10, EFFNET, renamed=_OFFICE_NAMES),
        protocols=_LABELS_FIRST,
    ),
    Suite(
        "dg-rotated-mnist",
        "Generalization, MNIST at six angles",
        _generalize("rotated_mnist", ANGLES, ANGLES, 10, "Rotated MNIST"),
        protocols=_DOMAINS_FIRST,
    ),
    Suite(
        "dg-pacs",
        "Generalization, PACS EfficientNet",
        _generalize("pacs", PACS, PACS, 7, "PACS"),
        protocols=_DOMAINS_FIRST,
    ),
    *TABLE_SUITES,
    Suite(
        "skada-bench",
        "Adaptation, SKADA-Bench: simulated shifts, digits, mushrooms and phishing",
        tuple(_skada_tasks()),
        classifiers=("1nn", "logistic"),
        note=_SKADA_NOTE,
    ),
)

SUITES: Mapping[str, Suite] = {suite.name: suite for suite in _SUITES}


def get_suite(name: str) -> Suite:
    """Return a suite, or the nearest name."""
    if name in SUITES:
        return SUITES[name]
    guess = did_you_mean(name, SUITES)
    raise ValueError(f"There is no suite {name!r}.{guess} There are {', '.join(SUITES)}.")
