"""A suite: tasks that belong together, and how they are run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from skatter.methods import METHODS, Method
from skatter.methods.record import Tuning
from skatter_bench.contestants import Contestant, contestants, regressors
from skatter_bench.protocols import DEFAULTS, SOURCE_CV, TARGET_ORACLE, UNTUNED
from skatter_bench.tasks import Setting, Task

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
