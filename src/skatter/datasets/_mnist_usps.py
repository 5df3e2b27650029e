"""MNIST and USPS digits on one 16 x 16 grid, in the samples that many papers compare on."""

from __future__ import annotations

import numpy as np
from sklearn.preprocessing import normalize

from skatter.datasets._home import Home
from skatter.datasets._reading import check_labelled, read_arrays
from skatter.datasets._record import FACTS, SOURCES, Dataset

SOURCE = SOURCES["mnist_usps"]


def load_mnist_usps(*, preprocess: bool = False, data_home: Home = None) -> Dataset:
    """Load the 2,000 MNIST and 1,800 USPS digits that Long et al. drew.

    The file is not part of skatter and is not downloaded.

    Parameters
    ----------
    preprocess : bool
        Divide every row by its Euclidean norm, as Long et al. do: a nearest neighbour then gives
        their figures, 44.70 % from USPS to MNIST and 65.94 % back. Else pixels are as in the file:
        35.85 % and 64.44 %; Ghifary et al. got 34.80 % and 63.06 % from a draw of their own.
    data_home : path or None
        Where ``mnist_usps_long`` lies; None is ``SKATTER_DATA``, or ``~/skatter_data``.

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
        path, np.vstack([mnist.T, usps.T]), np.vstack([mnist_y, usps_y]), n_classes=10
    )
    X = normalize(X, copy=False) if preprocess else X
    domain = np.repeat(["mnist", "usps"], [mnist_y.size, usps_y.size])
    return FACTS["mnist_usps"].dataset(X, y, domain, preprocess=preprocess)
