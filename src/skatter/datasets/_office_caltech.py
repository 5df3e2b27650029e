"""Office + Caltech10: ten kinds of objects, photographed in four ways."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler, normalize

from skatter._checks import check_choice
from skatter._tensors import Array
from skatter.datasets._home import Home, Source
from skatter.datasets._reading import check_labelled, read_arrays
from skatter.datasets._record import FACTS, SOURCES, Dataset, Facts, choose_domains

DOMAINS = ("amazon", "caltech", "dslr", "webcam")
OTHER_NAMES = {"caltech10": "caltech"}  # what a file may call a domain, and what it is called here


@dataclass(frozen=True)
class FeatureSet:
    """What is known of one way to describe the images.

    There is one file for each domain, or a single one where ``domains`` names the variable with the
    domain of each row. ``prepare`` is what is usually done to the samples of a domain.
    """

    source: Source
    facts: Facts
    samples: str
    labels: str
    prepare: Callable[[Array], Array] | None = None
    domains: str | None = None


def shares_then_z_scores(counts: Array) -> Array:
    """Divide rows by their sum, then give every column mean 0 and standard deviation 1."""
    return np.asarray(StandardScaler().fit_transform(normalize(counts, norm="l1")))


def _features(name: str, *described: Any) -> FeatureSet:
    return FeatureSet(SOURCES[f"office_{name}"], FACTS[f"office_{name}"], *described)


FEATURES: dict[str, FeatureSet] = {
    "surf": _features("surf", "fts", "labels", shares_then_z_scores),
    "decaf6": _features("decaf6", "feas", "labels"),
    "googlenet": _features("googlenet", "fts", "labels", normalize),
    "effnet": _features("effnet", "X", "y", normalize, "domain"),
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
    wanted = choose_domains(domains, DOMAINS)
    files = chosen.source.files
    parts = [_read(chosen, key, data_home) for key in files if key in wanted or chosen.domains]
    X, y, domain = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    if preprocess and chosen.prepare is not None:
        for name in np.unique(domain):
            X[domain == name] = chosen.prepare(X[domain == name])
    return chosen.facts.dataset(X, y, domain, preprocess=preprocess).take(np.isin(domain, wanted))


def _read(features: FeatureSet, key: str, home: Home) -> tuple[Array, Array, Array]:
    path = features.source.find(key, home)
    text = () if features.domains is None else (features.domains,)
    X, labels, *named = read_arrays(path, (features.samples, features.labels, *text), text=text)
    shape = features.source.files[key].shape
    X, y = check_labelled(path, X, labels, n_classes=features.facts.n_classes, shape=shape)
    called = named[0].tolist() if named else [key] * len(X)
    return X, y, np.array([OTHER_NAMES.get(each, each) for each in called])
