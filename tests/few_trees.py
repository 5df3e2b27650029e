"""Trees by the handful, for what does not depend on how many there are."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from skatter.diagnosis import _pairs
from skatter.hedging import _champion, _number_champion


def grow_few(replace: Callable[[Any, str, Any], None] = setattr) -> None:
    """Let standard classifiers and regressors, and a diagnosis, grow a few trees."""
    fewer = {"Forest": {"n_trees": 10}, "Boosting": {"n_rounds": 5}}
    replace(_pairs, "N_TREES", 20)
    for room, label in ((_champion, "Classifier"), (_number_champion, "Regressor")):
        for kind, settings in fewer.items():
            replace(room, kind + label, partial(getattr(room, kind + label), **settings))
