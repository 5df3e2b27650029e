"""Fresh draws of MNIST and USPS digits, brought to one 16 x 16 grid."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import normalize

from skatter._checks import check_integer
from skatter.datasets._home import Home
from skatter.datasets._reading import AGAIN, check_labelled, read_arrays
from skatter.datasets._record import FACTS, SOURCES, Dataset

SIDE = 16  # width and height of every image that is handed out, in pixels
SOURCE = SOURCES["mnist_draw"]


def draw_mnist_usps(
    *,
    random_state: int | np.random.Generator | None = 0,
    n_mnist: int = 2000,
    n_usps: int = 1800,
    preprocess: bool = False,
    data_home: Home = None,
    download_if_missing: bool = False,
) -> Dataset:
    """Draw digits at random from the 10,000 test images of MNIST and the 9,298 images of USPS.

    Ghifary et al. drew 2,000 and 1,800 in this way, without regard to the classes, and do not say
    which. MNIST images are brought to 16 x 16 pixels, as USPS. The files are not part of skatter.

    Parameters
    ----------
    random_state : int, Generator or None
        Seed; None for fresh samples on every call. A draw does not depend on the other's size.
    n_mnist, n_usps : int
        Number of digits; none is drawn twice.
    preprocess : bool
        Divide every row by its Euclidean norm, as Long et al. do on their draw.
    data_home : path or None
        Where ``usps_mnist_full`` lies; None is ``SKATTER_DATA``, or ``~/skatter_data``.
    download_if_missing : bool
        Download the two files of MNIST (1.7 MB, licence CC BY-SA 3.0) into the data home where
        they are missing; needs ``pip install "skatter[data]"``. That of USPS is not downloaded.

    Returns
    -------
    Dataset
        Domains ``"mnist"`` (first) and ``"usps"``, 256 features in [0, 1], classes 0 to 9.

    Examples
    --------
    >>> from skatter.datasets import draw_mnist_usps
    >>> draw_mnist_usps(data_home="downloads")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    FileNotFoundError: usps_mnist_full/usps_zip.npz is not in downloads. Put it at ...
    """
    n_mnist = check_integer("n_mnist", n_mnist, low=1)
    n_usps = check_integer("n_usps", n_usps, low=1)
    # USPS first: where it is missing, nothing need be downloaded.
    path = SOURCE.find("usps", data_home)
    milli, usps_y = check_labelled(
        path, *read_arrays(path, ("X_milli", "y")), first=0, n_classes=10
    )
    usps = (milli / 1000 + 1) / 2  # thousandths of values in [-1, 1]
    images, labels = (
        SOURCE.find(key, data_home, download_if_missing=download_if_missing)
        for key in ("images", "labels")
    )
    mnist, mnist_y = check_labelled(
        images, _flat(read_idx(images)), read_idx(labels), first=0, n_classes=10
    )
    of_mnist, of_usps = np.random.default_rng(random_state).spawn(2)
    from_mnist = _draw("n_mnist", n_mnist, len(mnist), of_mnist)
    from_usps = _draw("n_usps", n_usps, len(usps), of_usps)
    side = round(mnist.shape[1] ** 0.5)
    small = _flat(resize(mnist[from_mnist].reshape(n_mnist, side, side) / 255, SIDE))
    X = np.vstack([small, usps[from_usps]])
    return FACTS["mnist_usps_draw"].dataset(
        normalize(X, copy=False) if preprocess else X,
        np.concatenate([mnist_y[from_mnist], usps_y[from_usps]]),
        np.repeat(["mnist", "usps"], [n_mnist, n_usps]),
        preprocess=preprocess,
    )


def resize(images: NDArray[Any], side: int) -> NDArray[np.float64]:
    """Bring square images with values in [0, 1] to a coarser grid, by bicubic interpolation.

    The kernel (Keys, a = -1/2) is as wide as four pixels of the coarse grid, so that no pixel of
    the fine one is passed over, as imaging libraries do it. Values that overshoot are cut off.
    """
    weights = _bicubic_weights(images.shape[-1], side)
    return np.asarray(np.clip(weights @ images @ weights.T, 0, 1), dtype=np.float64)


def _bicubic_weights(n_fine: int, n_coarse: int) -> NDArray[np.float64]:
    """Share of each fine cell (columns) of a line in each coarse cell (rows)."""
    centres = (np.arange(n_fine) + 0.5) * n_coarse / n_fine
    t = np.abs(centres - (np.arange(n_coarse)[:, None] + 0.5))
    near = 1.5 * t**3 - 2.5 * t**2 + 1
    far = -0.5 * t**3 + 2.5 * t**2 - 4 * t + 2
    kernel = np.where(t < 1, near, np.where(t < 2, far, 0))
    return np.asarray(kernel / kernel.sum(axis=1, keepdims=True), dtype=np.float64)


def read_idx(path: Path) -> NDArray[np.uint8]:
    """Return the array of bytes in a gzipped IDX file, the format of MNIST."""
    try:
        with gzip.open(path) as file:
            content = file.read()
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{path} cannot be read as a .gz file: {error}. {AGAIN}") from error
    n_dims = content[3] if content[:3] == b"\x00\x00\x08" and len(content) > 3 else 0
    start = 4 + 4 * n_dims
    shape = tuple(int(n) for n in np.frombuffer(content[4:start].ljust(4 * n_dims, b"\0"), ">u4"))
    if n_dims == 0 or len(content) != start + int(np.prod(shape)):
        raise ValueError(f"{path} holds no whole array of bytes in IDX format. {AGAIN}")
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)


def _draw(name: str, n: int, n_there: int, rng: np.random.Generator) -> NDArray[np.int64]:
    if n > n_there:
        raise ValueError(f"{name} must be at most {n_there}, the digits that there are, got {n}.")
    return np.sort(rng.choice(n_there, n, replace=False))


def _flat(images: NDArray[Any]) -> NDArray[Any]:
    return images.reshape(len(images), -1)
