"""Office + Caltech10: ten kinds of objects, photographed in four ways."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler, normalize

from skatter._checks import check_choice
from skatter._tensors import Array
from skatter.datasets._home import Home
from skatter.datasets._reading import ArrayFiles
from skatter.datasets._record import FACTS, SOURCES, Dataset

OTHER_NAMES = {"caltech10": "caltech"}  # what a file may call a domain, and what it is called here


def shares_then_z_scores(counts: Array) -> Array:
    """Divide rows by their sum, then give every column mean 0 and standard deviation 1."""
    return np.asarray(StandardScaler().fit_transform(normalize(counts, norm="l1")))


def _features(name: str, *arrays: Any, **how: Any) -> ArrayFiles:
    return ArrayFiles(SOURCES[f"office_{name}"], FACTS[f"office_{name}"], *arrays, **how)


FEATURES: dict[str, ArrayFiles] = {
    "surf": _features("surf", "fts", "labels", shares_then_z_scores),
    "decaf6": _features("decaf6", "feas", "labels"),
    "googlenet": _features("googlenet", "fts", "labels", normalize),
    "effnet": _features("effnet", prepare=normalize, domains="domain", renamed=OTHER_NAMES),
}
"""The feature sets by name; a new one is one entry here."""


def load_office_caltech(
    features: str = "surf",
    *,
    domains: Iterable[str] | None = None,
    preprocess: bool = True,
    data_home: Home = None,
) -> Dataset:
    """Load the images of Office + Caltech10, described by features.

    Ten classes that Caltech-256 shares with Office: 958 images from amazon, 1,123 from caltech, 157
    by dslr and 295 by webcam. The files are not part of skatter and are not downloaded.

    Parameters
    ----------
    features : str
        ``"surf"``: counts of 800 visual words, made of SURF descriptors. ``"decaf6"``: 4,096
        activations of a deep network, DeCAF. ``"googlenet"``: 1,024 of GoogLeNet. ``"effnet"``:
        1,280 features of EfficientNet-Lite0 trained on ImageNet; figures on them compare with none
        on DeCAF6, and the rows of a domain are in another order than those of SURF.
    domains : iterable of str or None
        The domains to load; None for all four. Files of others need not be there.
    preprocess : bool
        Do what is usually done to these features. ``"surf"``: counts become shares, then z-scores
        inside each domain, which gives the published figures of a nearest neighbour on all twelve
        pairs. ``"decaf6"``: nothing, which gives the published ones on dslr and webcam. The two
        others: rows get unit length. Else the numbers are those of the files. The z-scores use
        all samples of a domain: adaptation allows that, generalization forbids it for the target.
    data_home : path or None
        The folder that holds the folder of the features, such as ``office_caltech10_surf``; None
        for the environment variable ``SKATTER_DATA``, or ``~/skatter_data`` where it is not set.

    Returns
    -------
    Dataset
        Domains ``"amazon"``, ``"caltech"``, ``"dslr"`` and ``"webcam"``, classes 0 to 9.

    Notes
    -----
    The bytes of three files were not at hand: amazon and caltech of ``"decaf6"``, and caltech of
    ``"googlenet"``. They are checked by names of variables, shape and labels, not by SHA-256.

    Examples
    --------
    >>> from skatter.datasets import load_office_caltech
    >>> load_office_caltech(data_home="downloads")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    FileNotFoundError: office_caltech10_surf/amazon_SURF_L10.mat is not in downloads. Put it at ...
    """
    chosen = FEATURES[check_choice("features", features, tuple(FEATURES))]
    return chosen.load(data_home, domains, preprocess=preprocess)
