"""MNIST and USPS digits on one 16 x 16 grid, in the samples that many papers compare on."""

from __future__ import annotations

import os

import numpy as np

from skatter.datasets.home import KnownFile, find_known, read_arrays
from skatter.datasets.record import Dataset

FOLDER = "mnist_usps_long"

FILE = KnownFile(
    "MNIST_vs_USPS.mat",
    3_303_450,
    "2b87e5a793e77826417e6c483e0850d6666c9746717bce2561db43f3f30efd4d",
)

ORIGIN = "github.com/caokangx/MK-MMCD-MEDA, file data/MNIST_vs_USPS.mat"


def load_mnist_usps(*, data_home: str | os.PathLike[str] | None = None) -> Dataset:
    """Load the 2,000 MNIST and 1,800 USPS digits that Long et al. drew.

    Pixels are as in the file. Most papers divide every row by its Euclidean norm, e.g. with
    :func:`sklearn.preprocessing.normalize`. The file is not part of skatter and is not downloaded.

    Parameters
    ----------
    data_home : path or None
        The folder that holds the folder ``mnist_usps_long``; None for the environment variable
        ``SKATTER_DATA``, or ``~/skatter_data`` where it is not set.

    Returns
    -------
    Dataset
        Domains ``"mnist"`` (first) and ``"usps"``, 256 features in [0, 1], classes 0 to 9.

    Raises
    ------
    FileNotFoundError
        If the file is missing; says where to put it and where it comes from.
    ValueError
        If the file is not the one that skatter knows.

    Examples
    --------
    >>> from skatter.datasets import load_mnist_usps
    >>> load_mnist_usps(data_home="downloads")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    FileNotFoundError: mnist_usps_long/MNIST_vs_USPS.mat is not in downloads. Put it at ...
    """
    path = find_known(data_home, FOLDER, FILE, ORIGIN)
    mnist, mnist_y, usps, usps_y = read_arrays(path, ("X_src", "Y_src", "X_tar", "Y_tar"))
    return Dataset(
        name="mnist_usps",
        X=np.vstack([mnist.T, usps.T]).astype(
            np.float64, order="C"
        ),  # the file has one sample per column
        y=np.concatenate([mnist_y.ravel(), usps_y.ravel()]).astype(np.int64) - 1,
        domain=np.repeat(["mnist", "usps"], [mnist_y.size, usps_y.size]),
        class_names=tuple(str(digit) for digit in range(10)),
        citation=_CITATION,
        preprocessing="Images of 16 x 16 pixels with grey values in [0, 1]; nothing else.",
    )


_CITATION = (
    "M. Long, J. Wang, G. Ding, J. Sun, P. S. Yu, Transfer Joint Matching for Unsupervised Domain "
    "Adaptation, CVPR 2014. "
    "MNIST: Y. LeCun, L. Bottou, Y. Bengio, P. Haffner, Gradient-based learning applied to "
    "document recognition, Proceedings of the IEEE 86(11), 1998. "
    "USPS: J. J. Hull, A database for handwritten text recognition research, IEEE TPAMI 16(5), "
    "1994."
)
