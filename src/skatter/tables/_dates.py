"""Days as year, month, weekday and time since: a step of the preprocessing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

PARTS = ("year", "month", "weekday", "days")
FARTHEST = 3e6  # days before or after 1970 that a calendar holds


class DateParts(TransformerMixin, BaseEstimator):
    """Turn days into year, month from 1, weekday from 0 (Monday), and days since 1970."""

    def fit(self, X: Any, y: Any = None) -> DateParts:
        validate_data(self, X, dtype=np.float64)
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self, "n_features_in_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        days = np.floor(np.clip(X, -FARTHEST, FARTHEST)).astype("datetime64[D]")
        months = days.astype("datetime64[M]").astype(np.int64)
        weekday = (days.astype(np.int64) + 3) % 7
        parts = (1970 + months // 12, 1 + months % 12, weekday, X)
        return np.stack(parts, axis=2).reshape(len(X), -1).astype(np.float64)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the parts: column ``visit`` gives ``visit_year`` and so on."""
        names = getattr(self, "feature_names_in_", input_features)
        if names is None:
            names = [f"x{place}" for place in range(self.n_features_in_)]
        return np.array([f"{name}_{part}" for name in names for part in PARTS], dtype=object)
