"""PACS: seven kinds of objects as photos, art paintings, cartoons and sketches."""

from __future__ import annotations

from sklearn.preprocessing import normalize

from skatter.datasets._home import Home
from skatter.datasets._reading import ArrayFiles
from skatter.datasets._record import FACTS, SOURCES, Dataset

SOURCE = SOURCES["pacs"]


def load_pacs(*, preprocess: bool = True, data_home: Home = None) -> Dataset:
    """Load the images of PACS, described by 1,280 features of a deep network.

    Seven classes in 2,048 art paintings, 2,344 cartoons, 1,670 photos and 3,929 sketches. The
    network is EfficientNet-Lite0, trained on photos (ImageNet); its last feature map is averaged
    over the image, as in no paper. The file is not part of skatter and is not downloaded.

    Parameters
    ----------
    preprocess : bool
        Divide every row by its Euclidean norm; else the numbers are those of the file. Z-scores
        inside each domain bring more to a nearest neighbour, but they use the samples of all
        domains, which domain generalization forbids for the target: they are left to the user.
    data_home : path or None
        Where ``pacs_effnetlite0`` lies; None is ``SKATTER_DATA``, or ``~/skatter_data``.

    Returns
    -------
    Dataset
        Domains ``"art_painting"``, ``"cartoon"``, ``"photo"`` and ``"sketch"``, classes 0 to 6.

    Examples
    --------
    >>> from skatter.datasets import load_pacs
    >>> load_pacs(data_home="downloads")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    FileNotFoundError: pacs_effnetlite0/pacs_effnetlite0.npz is not in downloads. Put it at ...
    """
    files = ArrayFiles(SOURCE, FACTS["pacs"], prepare=normalize, domains="domain")
    return files.load(data_home, preprocess=preprocess)
