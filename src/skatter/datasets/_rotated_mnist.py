"""Rotated MNIST: the same thousand digits, seen at six angles."""

from __future__ import annotations

from skatter.datasets._home import Home
from skatter.datasets._reading import check_labelled, read_arrays
from skatter.datasets._record import FACTS, SOURCES, Dataset

SOURCE = SOURCES["rotated_mnist"]


def load_rotated_mnist(*, data_home: Home = None) -> Dataset:
    """Load 1,000 MNIST digits, 100 of each class, rotated by 0, 15, 30, 45, 60 and 75 degrees.

    The angles are the domains. Row i of each domain is **the same digit** at another angle: rows
    are in the order of the file, 1,000 for each angle, and the classes repeat. So a sample of an
    unseen angle has twins among the sources, and accuracies flatter every method; to part the
    digits as well, choose them by ``i % 1000``. The file is not part of skatter or downloaded.

    Parameters
    ----------
    data_home : path or None
        Where ``rotated_mnist`` lies; None is ``SKATTER_DATA``, or ``~/skatter_data``.

    Returns
    -------
    Dataset
        Domains ``"0"``, ``"15"``, ``"30"``, ``"45"``, ``"60"`` and ``"75"`` in this order, 256
        features in [0, 1], classes 0 to 9.

    Examples
    --------
    >>> from skatter.datasets import load_rotated_mnist
    >>> load_rotated_mnist(data_home="downloads")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    FileNotFoundError: rotated_mnist/mnist_6rot.npz is not in downloads. Put it at ...
    """
    path = SOURCE.find("all", data_home)
    X, y, angle = read_arrays(path, ("X", "y", "angle"))
    X, y = check_labelled(path, X, y, first=0, n_classes=10)
    return FACTS["rotated_mnist"].dataset(X, y, angle.astype(str))
