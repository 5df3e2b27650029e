"""MNIST and USPS digits on one 16 x 16 grid, in the samples that many papers compare on."""

from __future__ import annotations

import os

import numpy as np
from sklearn.preprocessing import normalize

from skatter.datasets.home import KnownFile, Source
from skatter.datasets.reading import check_labelled, read_arrays
from skatter.datasets.record import Dataset

SOURCE = Source(
    "mnist_usps_long",
    {
        "both": KnownFile(
            "MNIST_vs_USPS.mat",
            3_303_450,
            "2b87e5a793e77826417e6c483e0850d6666c9746717bce2561db43f3f30efd4d",
        )
    },
    "github.com/caokangx/MK-MMCD-MEDA, file data/MNIST_vs_USPS.mat",
)

DIGITS = tuple(str(digit) for digit in range(10))

PIXELS = "Images of 16 x 16 pixels with grey values in [0, 1]; nothing else."
UNIT_PIXELS = (
    "Images of 16 x 16 pixels with grey values in [0, 1]; each row divided by its Euclidean norm."
)

MNIST_CITATION = (
    "MNIST: Y. LeCun, L. Bottou, Y. Bengio, P. Haffner, Gradient-based learning applied to "
    "document recognition, Proceedings of the IEEE 86(11), 1998."
)
USPS_CITATION = (
    "USPS: J. J. Hull, A database for handwritten text recognition research, IEEE TPAMI 16(5), "
    "1994."
)


def load_mnist_usps(
    *, preprocess: bool = False, data_home: str | os.PathLike[str] | None = None
) -> Dataset:
    """Load the 2,000 MNIST and 1,800 USPS digits that Long et al. drew.

    The file is not part of skatter and is not downloaded.

    Parameters
    ----------
    preprocess : bool
        Divide every row by its Euclidean norm, as Long et al. do: a nearest neighbour then gives
        their figures, 44.70 % from USPS to MNIST and 65.94 % back. Else pixels are as in the file:
        35.85 % and 64.44 %, closest to the 34.80 % and 63.06 % that Ghifary et al. got from a
        draw of their own.
    data_home : path or None
        The folder that holds the folder ``mnist_usps_long``; None for the environment variable
        ``SKATTER_DATA``, or ``~/skatter_data`` where it is not set.

    Returns
    -------
    Dataset
        Domains ``"mnist"`` (first) and ``"usps"``, 256 features in [0, 1], classes 0 to 9.

    Examples
    --------
    >>> from skatter.datasets import load_mnist_usps
    >>> load_mnist_usps(data_home="downloads")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    FileNotFoundError: mnist_usps_long/MNIST_vs_USPS.mat is not in downloads. Put it at ...
    """
    path = SOURCE.find("both", data_home)
    mnist, mnist_y, usps, usps_y = read_arrays(path, ("X_src", "Y_src", "X_tar", "Y_tar"))
    # The file has one sample per column.
    X, y = check_labelled(
        path, np.vstack([mnist.T, usps.T]), np.vstack([mnist_y, usps_y]), n_classes=len(DIGITS)
    )
    return Dataset(
        name="mnist_usps",
        X=normalize(X, copy=False) if preprocess else X,
        y=y,
        domain=np.repeat(["mnist", "usps"], [mnist_y.size, usps_y.size]),
        class_names=DIGITS,
        citation=CITATION,
        preprocessing=UNIT_PIXELS if preprocess else PIXELS,
    )


CITATION = (
    "M. Long, J. Wang, G. Ding, J. Sun, P. S. Yu, Transfer Joint Matching for Unsupervised Domain "
    f"Adaptation, CVPR 2014. {MNIST_CITATION} {USPS_CITATION}"
)
