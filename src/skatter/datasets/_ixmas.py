"""IXMAS: five everyday actions, filmed by five cameras."""

from __future__ import annotations

from collections.abc import Iterable

from skatter.datasets._home import Home
from skatter.datasets._reading import ArrayFiles
from skatter.datasets._record import FACTS, SOURCES, Dataset

SOURCE = SOURCES["ixmas"]


def load_ixmas(*, domains: Iterable[str] | None = None, data_home: Home = None) -> Dataset:
    """Load the films of IXMAS, described by counts of 5,000 visual words.

    Five actions (check watch, cross arms, scratch head, sit down, get up), each filmed by five
    cameras at once. The words are those of dense trajectories, 1,000 for each of five descriptors.
    No paper shares its counts: the files are the user's own, and are not downloaded.

    Parameters
    ----------
    domains : iterable of str or None
        The cameras to load; None for all five. Only their files are looked for.
    data_home : path or None
        Where ``ixmas`` lies; None is ``SKATTER_DATA``, or ``~/skatter_data``.

    Returns
    -------
    Dataset
        Domains ``"cam0"`` to ``"cam4"``, 5,000 features, classes 0 to 4 in the order above.

    Notes
    -----
    The files ``cam0.mat`` to ``cam4.mat`` (MATLAB, version 5) are laid out like those of VLCS: one
    matrix ``data``, dense or sparse, with a sample per row, 5,000 features, then the class, counted
    from 1. They are checked by name of the variable, number of columns and labels.

    Examples
    --------
    >>> from skatter.datasets import load_ixmas
    >>> load_ixmas(data_home="downloads")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    FileNotFoundError: ixmas/cam0.mat is not in downloads. Put it at ...
    """
    return ArrayFiles(SOURCE, FACTS["ixmas"], "data", labels="").load(data_home, domains)
