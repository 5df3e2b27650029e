"""Amazon reviews of books, DVDs, electronics and kitchen items: negative or positive."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from skatter.checks import check_choice
from skatter.datasets.home import KnownFile, Source
from skatter.datasets.home import data_home as find_home
from skatter.datasets.reading import AGAIN, check_labelled, read_arrays
from skatter.datasets.record import Dataset, choose_domains

Home = str | os.PathLike[str] | None

DOMAINS = ("books", "dvd", "electronics", "kitchen")

CLASSES = ("negative", "positive")

N_COUNTS = 5000

_SOME = "To load the other domains only, name them by domains."

_GRAAL = "https://raw.githubusercontent.com/GRAAL-Research/domain_adversarial_neural_network/master/data/"

# fmt: off
SHARES = Source(
    "amazon_reviews_400",
    {
        "books": KnownFile("books_400.mat", 356_724,
            "7a53b54f0c0e81e7ee4774d762a927399cede9a802a2409732ba00cc1c23a17a"),
        "dvd": KnownFile("dvd_400.mat", 360_255,
            "13a71d399f9c7ae57064952979c830455057ffd0a8da73f2c9075338d64d98ce"),
        "electronics": KnownFile("elec_400.mat", 316_867,
            "f1dd6e01c1eed956d3abe6493a6bb5efc95e6585b8b9b2d856c0c07e12893a35"),
        "kitchen": KnownFile("kitchen_400.mat", 287_938,
            "b1f4e5ddfbd7b37ad2638fccbf83bd8558abf63b3e8d69a9d5bca77b1a49fed5"),
    },
    "github.com/caokangx/MK-MMCD-MEDA, folder data/amazon_review",
    hint=_SOME,
)
"""Files with 400 features."""

COUNTS = Source(
    "amazon_reviews_5000",
    {
        name: KnownFile(f"{name}.svmlight", size, sha256, url=f"{_GRAAL}{name}.svmlight")
        for name, size, sha256 in (
            ("books_train", 1_134_070,
                "317f9a2ec34b81de770b63a84d8c5cc2dc16bd0be6e079d2ff5b5bad5213ea19"),
            ("books_test", 2_426_071,
                "fe4605c7dcf0e0a9410fd2a32f247caaf9abb352cc6e4c3e0f400853163ad9c4"),
            ("dvd_train", 1_133_356,
                "95f602aa08bf6b55758f7b0b18df3882fe30acb11987ee60b6b4bb3c44cba733"),
            ("dvd_test", 2_039_832,
                "4fe1b1a15010f78d8d0c49fe362d35fd4677463a45f1ac02a9f410ae1e638060"),
            ("electronics_train", 872_265,
                "7d0061f03ff3827e4f8036b051b5e5828fddc0cd115aa5b212cd28d624dc14e4"),
            ("electronics_test", 2_461_224,
                "641783bc941839c3a111d3488a1b7e3bd820a61ec14a129e7429b47703aa961d"),
            ("kitchen_train", 771_076,
                "a70b5ebfe1413e0e16280360905f5c3b64389c435cd20c0165dc9d7f293b31b5"),
            ("kitchen_test", 2_280_620,
                "e1502b97a824eb12314be4447394fa736fecb781c0724e6529cd6733ac7ff6d8"),
        )
    },
    "github.com/GRAAL-Research/domain_adversarial_neural_network, folder data",
    hint=_SOME,
)
"""Files with 5,000 features, as they are shared: one for each domain and part."""

PACKED = Source(
    "amazon_reviews_5000",
    {
        "books": KnownFile("books.npz", 924_566,
            "1951e6ee2ccdabeb88e6ef6fed7a739e4076f3c2bf991ffc6c5543b43f396fb0"),
        "dvd": KnownFile("dvd.npz", 820_343,
            "1846e9245c402460e965824a99fe2e4cfdeca43872a08e0d300e6a93b9e80e8a"),
        "electronics": KnownFile("electronics.npz", 874_876,
            "c0071333dade19a22af2b4337ac244101f6e56576312d8ae2c8a86be7298ec7e"),
        "kitchen": KnownFile("kitchen.npz", 802_961,
            "84060a9dc54e1228c9b9952221451634a6a8ae17e2e8ea03f2a3cc13efb1fe8a"),
    },
    "github.com/GRAAL-Research/domain_adversarial_neural_network, folder data, converted from "
    ".svmlight to .npz",
    hint=_SOME,
)
# fmt: on
"""The same converted: one smaller file for each domain, which is read where it is there."""


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
        Download the files with 5,000 features (13 MB, from a repository under a BSD licence) into
        the data home where they are missing; needs ``pip install "skatter[data]"``. Those with 400
        state no licence and are not downloaded.

    Returns
    -------
    Dataset
        Domains ``"books"``, ``"dvd"``, ``"electronics"`` and ``"kitchen"``, classes 0 and 1. With
        5,000 features, ``X`` is a CSR matrix, ``part`` tells training from test samples, and those
        of training come first in each domain.

    Examples
    --------
    >>> from skatter.datasets import load_amazon_reviews
    >>> load_amazon_reviews(data_home="downloads")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    FileNotFoundError: amazon_reviews_400/books_400.mat is not in downloads. Put it at ...
    """
    check_choice("features", features, ("400", "5000"))
    wanted = choose_domains(domains, DOMAINS)
    if features == "400":
        return _load_shares(wanted, data_home)
    return _load_counts(wanted, data_home, download_if_missing)


def _load_shares(names: tuple[str, ...], home: Home) -> Dataset:
    """Load shares of 400 terms."""
    paths = [SHARES.find(name, home) for name in names]
    parts = [
        check_labelled(path, *read_arrays(path, ("fts", "labels")), first=0, n_classes=len(CLASSES))
        for path in paths
    ]
    return Dataset(
        name="amazon_400",
        X=np.concatenate([X for X, _ in parts]),
        y=np.concatenate([y for _, y in parts]),
        domain=np.repeat(names, [len(y) for _, y in parts]),
        class_names=CLASSES,
        citation=CITATION,
        preprocessing="Counts of 400 terms, each row divided by its sum; nothing else.",
    )


def _load_counts(names: tuple[str, ...], home: Home, download: bool) -> Dataset:
    """Load counts of 5,000 words and pairs of words, with parts to train and to test on."""
    blocks, y, domain, part = [], [], [], []
    for name in names:
        for which in ("train", "test"):
            X, signs = _read_part(name, which, home, download)
            blocks.append(X)
            y.append((signs > 0).astype(np.int64))
            domain += [name] * len(signs)
            part += [which] * len(signs)
    return Dataset(
        name="amazon_5000",
        X=sparse.vstack(blocks, format="csr"),
        y=np.concatenate(y),
        domain=np.array(domain),
        class_names=CLASSES,
        citation=CITATION,
        preprocessing="Counts of 5,000 words and pairs of words; nothing else.",
        part=np.array(part),
    )


def _read_part(name: str, which: str, home: Home, download: bool) -> tuple[Any, Any]:
    """Read counts (CSR) and signs of the reviews in one part of a domain."""
    if (find_home(home) / PACKED.folder / PACKED.files[name].name).exists():
        path = PACKED.find(name, home)
        X, signs = _read_packed(path, which)
    else:
        path = COUNTS.find(f"{name}_{which}", home, download_if_missing=download)
        X, signs = _read_svmlight(path)
    if not np.isin(signs, (-1, 1)).all():
        raise ValueError(
            f"{path} must hold labels -1 and 1, found {np.unique(signs)[:10].tolist()}. {AGAIN}"
        )
    return X, signs


def _read_svmlight(path: Path) -> tuple[Any, Any]:
    try:
        X, signs = load_svmlight_file(str(path), n_features=N_COUNTS, zero_based=True)
    except ValueError as error:
        raise ValueError(f"{path} is no svmlight file: {error}. {AGAIN}") from error
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


CITATION = (
    "J. Blitzer, M. Dredze, F. Pereira, Biographies, Bollywood, Boom-boxes and Blenders: Domain "
    "Adaptation for Sentiment Classification, ACL 2007. "
    "M. Chen, Z. Xu, K. Q. Weinberger, F. Sha, Marginalized Denoising Autoencoders for Domain "
    "Adaptation, ICML 2012."
)
