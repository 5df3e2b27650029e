"""Entry of :class:`~skatter.selection.DomainGeneralizer`."""

from __future__ import annotations

from skatter.methods.record import Method
from skatter.selection import DomainGeneralizer

METHODS = (
    Method(
        name="domain-generalizer",
        estimator=DomainGeneralizer,
        kind="classifier",
        summary="plain and SCA models, those that predict left-out sources best vote",
        when="the target cannot be seen yet, and a plain model may or may not do",
        needs=("source labels",),
        uses=("target labels", "several sources"),
        cost="12 models × sources left out",
        citation="skatter developers: docs/generalization.md, 2026.",
        grid={"standard_errors": (0.0, 1.0)},
    ),
)
