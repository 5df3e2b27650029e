"""Office + Caltech10: ten kinds of objects, photographed in four ways."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler, normalize

from skatter.checks import check_choice
from skatter.datasets.home import KnownFile, data_home, find_file, read_arrays
from skatter.datasets.record import Dataset

CLASSES = (
    "backpack",
    "bike",
    "calculator",
    "headphones",
    "keyboard",
    "laptop",
    "monitor",
    "mouse",
    "mug",
    "projector",
)

Array = NDArray[Any]


@dataclass(frozen=True)
class FeatureSet:
    """What is known of one way to describe the images.

    Attributes
    ----------
    folder : str
        Where its files lie in the data home.
    files : mapping of str to KnownFile
        One file for each domain.
    samples, labels : str
        The variables that hold one row per image, and its class, counted from 1.
    prepare : callable
        What is usually done to the samples of a domain.
    preprocessing : str
        The same in words.
    origin : str
        Where the files come from.
    citation : str
        Whom to cite, besides those who collected the images.
    """

    folder: str
    files: Mapping[str, KnownFile]
    samples: str
    labels: str
    prepare: Callable[[Array], Array]
    preprocessing: str
    origin: str
    citation: str


def shares_then_z_scores(counts: Array) -> Array:
    """Divide rows by their sum, then give every column mean 0 and standard deviation 1.

    The standard deviation is that of the samples at hand (divided by n); a constant column is
    only centred.

    Examples
    --------
    >>> import numpy as np
    >>> shares_then_z_scores(np.array([[1.0, 3.0, 0.0], [6.0, 2.0, 0.0]]))
    array([[-1.,  1.,  0.],
           [ 1., -1.,  0.]])
    """
    return np.asarray(StandardScaler().fit_transform(normalize(counts, norm="l1")))


FEATURES: dict[str, FeatureSet] = {
    "surf": FeatureSet(
        folder="office_caltech10_surf",
        files={
            "amazon": KnownFile(
                "amazon_SURF_L10.mat",
                104_970,
                "df32548b994e18d364c99e1f317e1fae100597259f0423a41b90f4f68187bb1f",
            ),
            "caltech": KnownFile(
                "Caltech10_SURF_L10.mat",
                150_751,
                "4f9334c8ced489d5054de97a5fd51a61f017f3bcd1f38c9a85c6d78cb9d7bda5",
            ),
            "dslr": KnownFile(
                "dslr_SURF_L10.mat",
                18_348,
                "44d673c68e1d07b837893aa74dba3b986e4a6cc3fd66f0dd357683bdef059216",
            ),
            "webcam": KnownFile(
                "webcam_SURF_L10.mat",
                32_406,
                "a6a9c78b4b7181dfbb58bcfd351d4ebd737f171c31247b8884948aa156d3f700",
            ),
        },
        samples="fts",
        labels="labels",
        prepare=shares_then_z_scores,
        preprocessing=(
            "Counts of 800 visual words: each row divided by its sum, then each feature to mean 0 "
            "and standard deviation 1 (divided by n) inside each domain."
        ),
        origin="github.com/viggin/domain-adaptation-toolbox, folder ToRelease_GFK/data",
        citation=(
            "B. Gong, Y. Shi, F. Sha, K. Grauman, Geodesic Flow Kernel for Unsupervised Domain "
            "Adaptation, CVPR 2012."
        ),
    ),
}
"""The feature sets by name; a new one is one entry here."""


def load_office_caltech(
    features: str = "surf",
    *,
    preprocess: bool = True,
    data_home: str | os.PathLike[str] | None = None,
) -> Dataset:
    """Load the images of Office + Caltech10, described by features.

    Ten classes that Caltech-256 shares with the three domains of Office: 958 images from amazon,
    1,123 from caltech, 157 by dslr and 295 by webcam. The files are not part of skatter and are
    not downloaded.

    Parameters
    ----------
    features : str
        ``"surf"``: counts of 800 visual words, made of SURF descriptors.
    preprocess : bool
        Do what is usually done to these features (see ``preprocessing`` of the result); else the
        numbers are those of the files.
    data_home : path or None
        The folder that holds the folder of the features, for SURF ``office_caltech10_surf``; None
        for the environment variable ``SKATTER_DATA``, or ``~/skatter_data`` where it is not set.

    Returns
    -------
    Dataset
        Domains ``"amazon"``, ``"caltech"``, ``"dslr"`` and ``"webcam"``, classes 0 to 9.

    Raises
    ------
    FileNotFoundError
        If a file is missing; says where to put it and where it comes from.
    ValueError
        If a file is not the one that skatter knows.

    Examples
    --------
    >>> from skatter.datasets import load_office_caltech
    >>> load_office_caltech(data_home="downloads")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    FileNotFoundError: office_caltech10_surf/amazon_SURF_L10.mat is not in downloads. Put it at ...
    """
    chosen = FEATURES[check_choice("features", features, tuple(FEATURES))]
    parts = {name: _read_domain(chosen, name, data_home) for name in chosen.files}
    return Dataset(
        name=f"office_caltech_{features}",
        X=np.vstack([chosen.prepare(X) if preprocess else X for X, _ in parts.values()]),
        y=np.concatenate([y for _, y in parts.values()]),
        domain=np.repeat(list(parts), [len(y) for _, y in parts.values()]),
        class_names=CLASSES,
        citation=f"{chosen.citation} {_CITATION}",
        preprocessing=chosen.preprocessing if preprocess else "None.",
    )


def _read_domain(
    features: FeatureSet, domain: str, folder: str | os.PathLike[str] | None
) -> tuple[Array, Array]:
    """Return samples and classes, counted from 0, of one domain."""
    file = features.files[domain]
    path = find_file(
        data_home(folder),
        f"{features.folder}/{file.name}",
        size=file.size,
        sha256=file.sha256,
        origin=features.origin,
    )
    X, labels = read_arrays(path, (features.samples, features.labels))
    return X.astype(np.float64, order="C"), labels.ravel().astype(np.int64) - 1


_CITATION = (
    "K. Saenko, B. Kulis, M. Fritz, T. Darrell, Adapting Visual Category Models to New Domains, "
    "ECCV 2010. G. Griffin, A. Holub, P. Perona, Caltech-256 Object Category Dataset, California "
    "Institute of Technology, 2007."
)
