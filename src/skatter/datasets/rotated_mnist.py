"""Rotated MNIST: the same thousand digits, seen at six angles."""

from __future__ import annotations

import os

import numpy as np

from skatter.datasets.home import KnownFile, find_known, read_arrays
from skatter.datasets.record import Dataset

FOLDER = "rotated_mnist"

FILE = KnownFile(
    "mnist_6rot.npz",
    2_359_488,
    "9a4ffa9465107dae135c451ea4b891b23b522ad78f6452b4e37f4da375ab9bad",
)

ORIGIN = "github.com/ghif/mtae, file MNIST_6rot.pkl.gz, converted to .npz"


def load_rotated_mnist(*, data_home: str | os.PathLike[str] | None = None) -> Dataset:
    """Load 1,000 MNIST digits, 100 of each class, rotated by 0, 15, 30, 45, 60 and 75 degrees.

    The angles are the domains. Row i of each domain is **the same digit** at another angle: rows
    are in the order of the file, 1,000 for each angle, and the classes repeat. So a sample of an
    unseen angle has twins among the sources, and accuracies flatter every method; to part the
    digits as well, choose them by ``i % 1000``. Pixels are as in the file. The file is not part of
    skatter and is not downloaded.

    Parameters
    ----------
    data_home : path or None
        The folder that holds the folder ``rotated_mnist``; None for the environment variable
        ``SKATTER_DATA``, or ``~/skatter_data`` where it is not set.

    Returns
    -------
    Dataset
        Domains ``"0"``, ``"15"``, ``"30"``, ``"45"``, ``"60"`` and ``"75"`` in this order, 256
        features in [0, 1], classes 0 to 9.

    Raises
    ------
    FileNotFoundError
        If the file is missing; says where to put it and where it comes from.
    ValueError
        If the file is not the one that skatter knows.

    Examples
    --------
    >>> from skatter.datasets import load_rotated_mnist
    >>> load_rotated_mnist(data_home="downloads")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    FileNotFoundError: rotated_mnist/mnist_6rot.npz is not in downloads. Put it at ...
    """
    path = find_known(data_home, FOLDER, FILE, ORIGIN)
    X, y, angle = read_arrays(path, ("X", "y", "angle"))
    return Dataset(
        name="rotated_mnist",
        X=X.astype(np.float64),
        y=y.astype(np.int64),
        domain=angle.astype(str),
        class_names=tuple(str(digit) for digit in range(10)),
        citation=_CITATION,
        preprocessing="Images of 16 x 16 pixels with grey values in [0, 1]; nothing else.",
    )


_CITATION = (
    "M. Ghifary, W. B. Kleijn, M. Zhang, D. Balduzzi, Domain Generalization for Object Recognition "
    "with Multi-task Autoencoders, ICCV 2015. "
    "MNIST: Y. LeCun, L. Bottou, Y. Bengio, P. Haffner, Gradient-based learning applied to "
    "document recognition, Proceedings of the IEEE 86(11), 1998."
)
