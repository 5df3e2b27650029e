"""Entries of estimators that have rooms of their own: voters, champions, SCA and its family."""

from __future__ import annotations

from skatter.hedging import ChampionClassifier, DomainGeneralizer, HedgedClassifier, HedgedRegressor
from skatter.methods._record import CLASS_COMPONENTS, COMPONENTS, Method, Tuning
from skatter.sca import KPCA, SCA, USCA, KernelFisher
from skatter.selection import BETAS, DELTAS
from skatter.self_training import SCAClassifier

_SCA = (
    "M. Ghifary, D. Balduzzi, W. B. Kleijn, M. Zhang: Scatter Component Analysis. "
    "IEEE TPAMI 39(7), 2017."
)

_HEDGING = "skatter developers: docs/trust.md, 2026."

METHODS = (
    Method(
        name="hedged",
        estimator=HedgedClassifier,
        summary="plain and adapted classifiers vote, weighed by their agreement",
        when="the target is at hand without labels, and a wrong choice would cost",
        needs=("source labels",),
        uses=("target labels", "several sources"),
        cost="10 classifiers; beyond 4,000 samples linear",
        citation=_HEDGING,
        linear=True,
        wants=("one target",),
        coarse=Tuning({}, why="it weighs its members by itself, without a label of the target"),
    ),
    Method(
        name="champion",
        estimator=ChampionClassifier,
        summary="the best of four standard classifiers on held-out source labels; does not adapt",
        when="to know what adapting must beat",
        needs=("source labels",),
        uses=("target labels",),
        cost="4 classifiers × 6 fits",
        citation=_HEDGING,
        linear=True,
        coarse=Tuning({}, why="it chooses by itself, on held-out source labels"),
    ),
    Method(
        name="domain-generalizer",
        estimator=DomainGeneralizer,
        summary="plain classifiers and SCA vote, weighed by source domains left out",
        when="the target cannot be seen yet",
        needs=("source labels",),
        uses=("target labels", "several sources"),
        cost="8 classifiers × at most 6 fits; beyond 4,000 samples linear",
        citation="skatter developers: docs/generalization.md, 2026.",
        grid={"criterion": ("mean", "worst")},
        linear=True,
        coarse=Tuning({}, why="it chooses by itself, by leaving sources out"),
    ),
    Method(
        name="sca",
        estimator=SCA,
        summary="classes apart, domains together",
        when="the place to start, with or without a target at hand",
        needs=("source labels",),
        uses=("target labels", "several sources"),
        cost="n²p + n_l³/3 + k n²",
        citation=_SCA,
        grid={"n_components": COMPONENTS, "beta": BETAS, "delta": DELTAS},
        nested=True,
        coarse=Tuning(
            {"n_components": CLASS_COMPONENTS, "beta": BETAS},
            why="the paper tunes k and beta, with delta = 1",
        ),
        unseen=Tuning(
            {
                "n_components": CLASS_COMPONENTS,
                "delta": (0.1, 1.0, 10.0, 100.0),
                "beta": (0.0, 0.1, 0.5, 1.0),
            },
            why="all three, since whole domains can be held out",
        ),
    ),
    Method(
        name="sca-classifier",
        estimator=SCAClassifier,
        summary="SCA that trains itself on the target, candidates weighed by their agreement",
        when="the target is at hand without labels, and accuracy matters most",
        needs=("source labels",),
        uses=("target labels", "several sources"),
        cost="n²p + r n² + rounds (n r² + r³)",
        citation=_SCA,
        grid={"confidence": (0.5, 0.8)},
        wants=("one target",),
        coarse=Tuning({}, why="it chooses by itself, without a label of the target"),
    ),
    Method(
        name="usca",
        estimator=USCA,
        summary="domains together, without labels",
        when="there are no labels, or too few to trust",
        needs=(),
        uses=("several sources",),
        cost="n²p + k n²",
        citation=_SCA,
        grid={"n_components": COMPONENTS, "delta": (0.1, 1.0, 10.0, 100.0)},
        nested=True,
        coarse=Tuning(
            {"n_components": CLASS_COMPONENTS, "delta": (1.0, 10.0, 100.0, 1000.0)},
            why="values of public code",
        ),
    ),
    Method(
        name="kfd",
        estimator=KernelFisher,
        summary="classes apart, domains pooled",
        when="there is no shift between the domains",
        needs=("source labels",),
        uses=("target labels",),
        cost="n²p + n_l³/3",
        citation=(
            "S. Mika, G. Rätsch, J. Weston, B. Schölkopf, K.-R. Müller: Fisher Discriminant "
            "Analysis with Kernels. NNSP 1999."
        ),
        grid={"ridge": (1e-3, 1e-2, 1e-1, 1.0)},
        nested=True,
        coarse=Tuning(
            {"ridge": (0.001, 0.01, 0.1, 1.0)}, why="k is the number of classes less one"
        ),
    ),
    Method(
        name="kpca",
        estimator=KPCA,
        summary="largest variance, domains pooled",
        when="a baseline that knows neither classes nor domains",
        needs=(),
        cost="n²p + k n²",
        citation=(
            "B. Schölkopf, A. Smola, K.-R. Müller: Nonlinear Component Analysis as a Kernel "
            "Eigenvalue Problem. Neural Computation 10(5), 1998."
        ),
        grid={"n_components": COMPONENTS},
        nested=True,
        coarse=Tuning({"n_components": CLASS_COMPONENTS}, why="k alone"),
    ),
)

HEDGED_REGRESSOR = Method(
    name="hedged-regressor",
    estimator=HedgedRegressor,
    kind="regressor",
    summary="plain and adapted regressors, averaged with weights that need no target label",
    when="labels are numbers",
    needs=("source labels",),
    uses=("target labels", "several sources"),
    cost="10 regressors; beyond 4,000 samples linear",
    citation="skatter developers: docs/numbers.md, 2026.",
    linear=True,
)
"""For numbers; methods of the registry are for classes."""
