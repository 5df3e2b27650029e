"""Does adapting help? Two models compared before anybody has a label of the target."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from skatter._checks import n_rows, take_rows
from skatter.domains import Codes, Domains, read_domains
from skatter.hedging._champion import Metric, in_columns
from skatter.hedging._classifier import HedgedClassifier
from skatter.hedging._expectation import Judgement
from skatter.pipeline import call_step, fit_on_domains
from skatter.selection.criteria import Criterion, register_criterion
from skatter.selection.criteria._scatters import unknown_target


def does_it_help(
    X: Any,
    y: Any,
    *,
    sample_domain: Any = None,
    labelled: Any = None,
    adapted: Any = None,
    plain: Any = None,
    metric: Metric = "accuracy",
    random_state: int = 0,
) -> Judgement:
    """Compare adapting with not adapting, without a target label.

    A :class:`~skatter.HedgedClassifier` is fitted, whose calibrated probabilities say how often
    each model will be right. The answer does not depend on the units of the columns, unless
    ``adapted`` does.

    Parameters
    ----------
    X, y, sample_domain, labelled
        As in :meth:`skatter.HedgedClassifier.fit`.
    adapted : classifier or None
        Model that adapts, not fitted; None is the hedge itself.
    plain : classifier or None
        Model that does not, with ``predict_proba``; None is the champion, the best of the standard
        classifiers on held-out source labels.
    metric : {"accuracy", "balanced accuracy"}
        What counts.
    random_state : int
        Seed.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter import does_it_help
    >>> rng = np.random.default_rng(0)
    >>> y, site = np.tile([0, 1], 100), np.repeat(["here", "there"], 100)
    >>> X = rng.normal(size=(200, 5)) + 2 * y[:, None]
    >>> known = np.where(site == "here", y, -1)
    >>> does_it_help(X, known, sample_domain=site).verdict
    'do not adapt'
    """
    given = {"sample_domain": sample_domain, "labelled": labelled}
    panel = HedgedClassifier(plain, metric=metric, random_state=random_state)
    panel.fit(X, y, **given)
    if panel.judgement_ is None:
        raise ValueError("y has a label for every sample: there is no target to adapt to.")
    if adapted is None:
        return panel.judgement_
    domains = read_domains(y, sample_domain, labelled=labelled, n_samples=n_rows(X))
    target = np.flatnonzero(~domains.labelled)
    X = X if hasattr(X, "shape") else np.asarray(X)
    ids = domains.domain_ids[domains.domain[target]]
    new = take_rows(X, target)
    fitted = fit_on_domains(adapted, X, y, domains)
    return panel.judge(
        new, call_step(fitted.predict, new, ids), panel.champion_.predict(new), sample_domain=ids
    )


def judge_by_hedge(X: Any, domains: Domains, seed: int) -> Callable[[Codes], float]:
    """Return a function from predictions of the unlabelled target to the accuracy to expect."""
    target = unknown_target(domains)
    ids = domains.domain_ids[domains.domain]
    panel = HedgedClassifier(random_state=seed).fit(
        X, np.maximum(domains.label, 0), sample_domain=ids, labelled=domains.labelled
    )
    shares = panel.predict_proba(take_rows(X, target), sample_domain=ids[target])
    shares = in_columns(shares, panel.classes_, len(domains.classes))
    return lambda predicted: float(np.mean(shares[np.arange(len(target)), predicted]))


register_criterion(
    Criterion(
        "expected accuracy",
        "accuracy to expect in the target, by the calibrated probabilities of a hedge",
        make_judge=judge_by_hedge,
    )
)
