"""VLCS: five kinds of objects in four collections of photos, each parted 70 to 30 percent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from skatter.datasets._home import Home
from skatter.datasets._reading import ArrayFiles
from skatter.datasets._record import FACTS, SOURCES, Dataset

TEST_SHARE = 0.3
SOURCE = SOURCES["vlcs"]


def load_vlcs(
    *,
    domains: Iterable[str] | None = None,
    random_state: int | np.random.Generator | None = 0,
    data_home: Home = None,
) -> Dataset:
    """Load the images of VLCS, described by 4,096 activations of a deep network (DeCAF6).

    Five classes (bird, car, chair, dog, person) in VOC2007, LabelMe, Caltech-101 and SUN09. As in
    the papers on domain generalization, of which none shares its draw, 70 percent of each domain
    are for training. The files are not part of skatter and are not downloaded.

    Parameters
    ----------
    domains : iterable of str or None
        The domains to load; None for all four. Only their files are looked for.
    random_state : int, Generator or None
        Seed of the draw of training and test parts; None for a fresh draw on every call. The draw
        of a domain does not depend on which others are loaded.
    data_home : path or None
        Where ``vlcs_decaf6`` lies; None is ``SKATTER_DATA``, or ``~/skatter_data``.

    Returns
    -------
    Dataset
        Domains ``"voc2007"``, ``"labelme"``, ``"caltech101"`` and ``"sun09"`` with 3,376, 2,656,
        1,415 and 3,282 samples, classes 0 to 4; ``part`` tells training from test samples.

    Notes
    -----
    Each file (MATLAB, version 5) holds one matrix ``data`` with a sample per row: 4,096 features,
    then the class, counted from 1. The bytes of the files were not at hand, so they are checked by
    name of the variable, shape and labels, not by SHA-256.

    Examples
    --------
    >>> from skatter.datasets import load_vlcs
    >>> load_vlcs(data_home="downloads")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    FileNotFoundError: vlcs_decaf6/VOC2007.mat is not in downloads. Put it at ...
    """
    data = ArrayFiles(SOURCE, FACTS["vlcs"], "data", labels="").load(data_home, domains)
    streams = np.random.default_rng(random_state).spawn(len(SOURCE.files))
    part = np.empty(len(data.y), dtype="<U5")
    for name, rng in zip(SOURCE.files, streams, strict=True):
        own = data.domain == name
        part[own] = draw_parts(int(np.sum(own)), rng)
    return replace(data, part=part)


def draw_parts(n_samples: int, rng: np.random.Generator) -> NDArray[np.str_]:
    part = np.repeat("train", n_samples)
    part[rng.choice(n_samples, round(TEST_SHARE * n_samples), replace=False)] = "test"
    return part
