"""Amazon reviews of books, DVDs, electronics and kitchen items: negative or positive."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from skatter._checks import check_choice
from skatter.datasets._home import Home
from skatter.datasets._home import data_home as find_home
from skatter.datasets._reading import AGAIN, ArrayFiles, read_arrays
from skatter.datasets._record import FACTS, SOURCES, Dataset, choose_domains

DOMAINS = ("books", "dvd", "electronics", "kitchen")
N_COUNTS = 5000
SHARES = SOURCES["amazon_400"]  # files with 400 features
COUNTS = SOURCES["amazon_5000"]  # 5,000 features: a file for each domain and part
PACKED = SOURCES["amazon_5000_packed"]  # the same, one file a domain, where it is there


def load_amazon_reviews(
    features: str = "400",
    *,
    domains: Iterable[str] | None = None,
    data_home: Home = None,
    download_if_missing: bool = False,
) -> Dataset:
    """Load reviews of books, DVDs, electronics and kitchen items: negative or positive.

    The files are not part of skatter.

    Parameters
    ----------
    features : str
        ``"400"``: shares of 400 terms, dense, in about 2,000 reviews per domain. ``"5000"``:
        counts of the 5,000 most frequent words and pairs of words, sparse, in 2,000 reviews per
        domain to train on and 3,586 to 5,945 to test on.
    domains : iterable of str or None
        The domains to load; None for all four. Only their files are looked for.
    data_home : path or None
        The folder that holds the folder ``amazon_reviews_400`` or ``amazon_reviews_5000``; None
        for the environment variable ``SKATTER_DATA``, or ``~/skatter_data`` where it is not set.
    download_if_missing : bool
        Download the files with 5,000 features (13 MB, BSD licence) where they are missing; needs
        ``pip install "skatter[data]"``. Those with 400 state no licence and are not downloaded.

    Returns
    -------
    Dataset
        Domains ``"books"``, ``"dvd"``, ``"electronics"`` and ``"kitchen"``, classes 0 and 1. With
        5,000 features ``X`` is CSR, and ``part`` tells training samples, which come first, apart.

    Examples
    --------
    >>> from skatter.datasets import load_amazon_reviews
    >>> load_amazon_reviews(data_home="downloads")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    FileNotFoundError: amazon_reviews_400/books_400.mat is not in downloads. Put it at ...
    """
    check_choice("features", features, ("400", "5000"))
    if features == "400":
        return ArrayFiles(SHARES, FACTS["amazon_400"], "fts", "labels", first=0).load(
            data_home, domains
        )
    return _load_counts(choose_domains(domains, DOMAINS), data_home, download_if_missing)


def _load_counts(names: tuple[str, ...], home: Home, download: bool) -> Dataset:
    blocks, y, domain, part = [], [], [], []
    for name in names:
        for which in ("train", "test"):
            X, signs = _read_part(name, which, home, download)
            blocks.append(X)
            y.append((signs > 0).astype(np.int64))
            domain += [name] * len(signs)
            part += [which] * len(signs)
    X = sparse.vstack(blocks, format="csr")
    return FACTS["amazon_5000"].dataset(X, np.concatenate(y), np.array(domain), part=np.array(part))


def _read_part(name: str, which: str, home: Home, download: bool) -> tuple[Any, Any]:
    if (find_home(home) / PACKED.folder / PACKED.files[name].name).exists():
        path = PACKED.find(name, home)
        X, signs = _read_packed(path, which)
    else:
        path = COUNTS.find(f"{name}_{which}", home, download_if_missing=download)
        try:
            X, signs = load_svmlight_file(str(path), n_features=N_COUNTS, zero_based=True)
        except ValueError as error:
            raise ValueError(f"{path} is no svmlight file: {error}. {AGAIN}") from error
    if not np.isin(signs, (-1, 1)).all():
        raise ValueError(
            f"{path} must hold labels -1 and 1, found {np.unique(signs)[:10].tolist()}. {AGAIN}"
        )
    return X, signs


def _read_packed(path: Path, which: str) -> tuple[Any, Any]:
    members = (f"{which}_data", f"{which}_indices", f"{which}_indptr", f"{which}_y")
    data, indices, indptr, signs = read_arrays(path, members)
    try:
        X = sparse.csr_matrix(
            (data.astype(np.float64), indices.astype(np.int32), indptr.astype(np.int32)),
            shape=(len(signs), N_COUNTS),
        )
        X.check_format(full_check=True)
    except ValueError as error:
        raise ValueError(f"{path} holds no sparse rows as {which}: {error}. {AGAIN}") from error
    return X, signs
