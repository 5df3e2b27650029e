"""A real browser for the report, and a problem whose report is quickly made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from skatter import SCA
from skatter.reporting import report


@dataclass(frozen=True, eq=False)
class Story:
    """Samples of two domains, of which one has hidden labels, and a model that was fitted."""

    X: np.ndarray
    y: np.ndarray
    site: np.ndarray
    seen: np.ndarray
    model: SCA

    def page(self, **options: Any) -> str:
        return report(self.model, self.X, self.y, self.site, labelled=self.seen, **options)


@pytest.fixture(scope="module")
def story(require: Callable[..., ModuleType]) -> Story:
    """Three classes in two places, moved and stretched in one of them."""
    require("jinja2", "report")
    rng = np.random.default_rng(3)
    y, site = np.tile([0, 1, 2], 60), np.repeat(["north", "south"], 90)
    X = rng.normal(size=(180, 5)) + 3 * np.eye(5)[y]
    X[site == "south"] = 1.3 * X[site == "south"] + [0, 0, 0, 2, 1]
    seen = site == "north"
    model = SCA(beta=0.3, delta=1.0, n_components=4)
    return Story(X, y, site, seen, model.fit(X, y, sample_domain=site, labelled=seen))
