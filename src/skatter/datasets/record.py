"""One small record for every data set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples with a class and a domain each, and where they come from.

    Attributes
    ----------
    name : str
        Short name, fit for a file name.
    X : ndarray of shape (n_samples, n_features)
        The samples, float64.
    y : ndarray of shape (n_samples,)
        The class of every sample, an index into ``class_names``; nothing is hidden here.
    domain : ndarray of shape (n_samples,)
        The domain of every sample, a string.
    class_names : tuple of str
        One name per class.
    citation : str
        Whom to cite.
    preprocessing : str
        What was done to the original samples.
    """

    name: str
    X: NDArray[Any]
    y: NDArray[Any]
    domain: NDArray[Any]
    class_names: tuple[str, ...]
    citation: str
    preprocessing: str
