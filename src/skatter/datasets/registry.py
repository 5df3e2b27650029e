"""The data sets, by name: one place that the benchmark, the docs and the command line read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import Any

from skatter.datasets import (
    amazon_reviews,
    digits,
    everyday_tables,
    ixmas,
    mnist_draw,
    mnist_usps,
    msrc_voc,
    office_caltech,
    pacs,
    parkinsons,
    rotated_mnist,
    skada_bench,
    synthetic,
    vlcs,
)
from skatter.datasets.home import Source
from skatter.datasets.record import Dataset


@dataclass(frozen=True)
class DatasetInfo:
    """One entry of the registry.

    Attributes
    ----------
    name : str
        As users type it; also the ``name`` of what is loaded.
    loader : callable
        Called without arguments, it returns the data set.
    summary : str
        What it holds, in one line.
    domains : tuple of str
        Its domains, in the order of its rows; those of a collection, in the order of their codes.
    sizes : tuple of int
        Samples of each domain; of IXMAS, whose files are the user's own, those of the paper.
    n_features : int
        Number of features.
    n_classes : int
        Number of classes; 0 where ``y`` holds numbers.
    citation : str
        Whom to cite.
    source : Source or None
        The files that it is read from; None where it needs none.
    seeded : bool
        Whether the loader draws, and takes ``random_state``.
    some : bool
        Whether the loader takes ``domains``, and looks for no files of others.
    extra : str
        The extra of the package that must be installed; none where empty.
    collection : str
        Of many data sets that are listed together; none where empty.
    """

    name: str
    loader: Callable[..., Dataset]
    summary: str
    domains: tuple[str, ...]
    sizes: tuple[int, ...]
    n_features: int
    n_classes: int
    citation: str
    source: Source | None = None
    seeded: bool = False
    some: bool = False
    extra: str = ""
    collection: str = ""

    @property
    def downloadable(self) -> bool:
        """Whether a file may be downloaded: the loader takes ``download_if_missing``."""
        return self.source is not None and any(file.url for file in self.source.files.values())

    def load(
        self,
        *,
        domains: Iterable[str] | None = None,
        data_home: str | os.PathLike[str] | None = None,
        **options: Any,
    ) -> Dataset:
        """Load the data set, with the same two arguments for all of them.

        Parameters
        ----------
        domains : iterable of str or None
            The domains to keep; None for all. Where each domain has its own file, those of others
            need not be there.
        data_home : path or None
            The folder of the data files; of no meaning where there are none.
        **options
            Further arguments of the loader, such as ``preprocess`` or ``random_state``.

        Examples
        --------
        >>> DATASETS["figure1"].load(domains=["target"], random_state=1).X.shape
        (150, 2)
        """
        if self.source is not None:
            options["data_home"] = data_home
        if self.some:
            return self.loader(domains=domains, **options)
        data = self.loader(**options)
        return data if domains is None else data.of(domains)


def _office(features: str, n_features: int, words: str) -> DatasetInfo:
    return DatasetInfo(
        name=f"office_{features}",
        loader=partial(office_caltech.load_office_caltech, features),
        summary=f"Office + Caltech10: ten kinds of objects, {words}.",
        domains=office_caltech.DOMAINS,
        sizes=(958, 1123, 157, 295),
        n_features=n_features,
        n_classes=10,
        citation=office_caltech.citation_of(features),
        source=office_caltech.FEATURES[features].source,
        some=True,
    )


def _amazon(features: str, source: Source, sizes: tuple[int, ...], words: str) -> DatasetInfo:
    return DatasetInfo(
        name=f"amazon_{features}",
        loader=partial(amazon_reviews.load_amazon_reviews, features),
        summary=f"Amazon reviews, negative or positive, {words}.",
        domains=amazon_reviews.DOMAINS,
        sizes=sizes,
        n_features=int(features),
        n_classes=2,
        citation=amazon_reviews.CITATION,
        source=source,
        some=True,
    )


def _drawn_shift(shift: str, n_samples: int, words: str) -> DatasetInfo:
    return DatasetInfo(
        name="subspace_shift" if shift == "subspace" else shift,
        loader=partial(skada_bench.make_shift, shift),
        summary=f"SKADA-Bench: two classes in the plane, {words}; drawn by scikit-adaptation.",
        domains=("source", "target"),
        sizes=(n_samples, n_samples),
        n_features=2,
        n_classes=2,
        citation=skada_bench.SKADA_CITATION,
        seeded=True,
    )


_ENTRIES = (
    DatasetInfo(
        name="digits",
        loader=digits.load_digits_pair,
        summary="Handwritten digits of UCI and MNIST on an 8 x 8 grid; no files needed.",
        domains=("uci", "mnist"),
        sizes=(1797, 5000),
        n_features=64,
        n_classes=10,
        citation=digits.CITATION,
        extra="demo",
    ),
    DatasetInfo(
        name="figure1",
        loader=synthetic.make_figure1,
        summary="Three drawn classes in the plane, the target shifted, after the paper's figure 1.",
        domains=("source", "target"),
        sizes=(150, 150),
        n_features=2,
        n_classes=3,
        citation=synthetic.CITATION,
        seeded=True,
    ),
    DatasetInfo(
        name="mnist_usps",
        loader=mnist_usps.load_mnist_usps,
        summary="Handwritten digits of MNIST and USPS, 16 x 16 pixels, the draw of Long et al.",
        domains=("mnist", "usps"),
        sizes=(2000, 1800),
        n_features=256,
        n_classes=10,
        citation=mnist_usps.CITATION,
        source=mnist_usps.SOURCE,
    ),
    DatasetInfo(
        name="mnist_usps_draw",
        loader=mnist_draw.draw_mnist_usps,
        summary="Handwritten digits of MNIST and USPS, 16 x 16 pixels, a fresh draw by seed.",
        domains=("mnist", "usps"),
        sizes=(2000, 1800),
        n_features=256,
        n_classes=10,
        citation=mnist_draw.CITATION,
        source=mnist_draw.SOURCE,
        seeded=True,
    ),
    DatasetInfo(
        name="msrc_voc",
        loader=msrc_voc.load_msrc_voc,
        summary="Six kinds of objects in MSRC and VOC2007, counts of visual words (SIFT).",
        domains=("msrc", "voc"),
        sizes=(1269, 1530),
        n_features=240,
        n_classes=6,
        citation=msrc_voc.CITATION,
        source=msrc_voc.SOURCE,
    ),
    _office("surf", 800, "counts of visual words (SURF)"),
    _office("decaf6", 4096, "activations of DeCAF"),
    _office("googlenet", 1024, "activations of GoogLeNet"),
    _office("effnet", 1280, "features of EfficientNet-Lite0"),
    DatasetInfo(
        name="vlcs",
        loader=vlcs.load_vlcs,
        summary="VLCS: five kinds of objects, activations of DeCAF, parted 70 to 30 percent.",
        domains=("voc2007", "labelme", "caltech101", "sun09"),
        sizes=(3376, 2656, 1415, 3282),
        n_features=4096,
        n_classes=5,
        citation=vlcs.CITATION,
        source=vlcs.SOURCE,
        seeded=True,
        some=True,
    ),
    DatasetInfo(
        name="ixmas",
        loader=ixmas.load_ixmas,
        summary="IXMAS: five actions filmed by five cameras, counts of visual words.",
        domains=("cam0", "cam1", "cam2", "cam3", "cam4"),
        sizes=(91, 91, 91, 91, 91),
        n_features=ixmas.N_FEATURES,
        n_classes=5,
        citation=ixmas.CITATION,
        source=ixmas.SOURCE,
        some=True,
    ),
    DatasetInfo(
        name="rotated_mnist",
        loader=rotated_mnist.load_rotated_mnist,
        summary="A thousand MNIST digits at six angles, 16 x 16 pixels.",
        domains=("0", "15", "30", "45", "60", "75"),
        sizes=(1000,) * 6,
        n_features=256,
        n_classes=10,
        citation=rotated_mnist.CITATION,
        source=rotated_mnist.SOURCE,
    ),
    DatasetInfo(
        name="pacs",
        loader=pacs.load_pacs,
        summary="PACS: seven kinds of objects as photos, paintings, cartoons and sketches.",
        domains=("art_painting", "cartoon", "photo", "sketch"),
        sizes=(2048, 2344, 1670, 3929),
        n_features=1280,
        n_classes=7,
        citation=pacs.CITATION,
        source=pacs.SOURCE,
    ),
    _amazon("400", amazon_reviews.SHARES, (2000, 1999, 1998, 1999), "shares of 400 terms"),
    _amazon(
        "5000",
        amazon_reviews.COUNTS,
        (6465, 5586, 7681, 7945),
        "counts of 5,000 terms, sparse, with a test part",
    ),
    DatasetInfo(
        name="parkinsons",
        loader=parkinsons.load_parkinsons,
        summary="Parkinson's telemonitoring: a clinical score from voices, every patient a domain.",
        domains=tuple(str(subject) for subject in range(1, 1 + len(parkinsons.SIZES))),
        sizes=parkinsons.SIZES,
        n_features=16,
        n_classes=0,
        citation=parkinsons.CITATION,
        source=parkinsons.SOURCE,
    ),
    DatasetInfo(
        name="mushrooms",
        loader=skada_bench.load_mushrooms,
        summary="SKADA-Bench: mushrooms, edible or not, with one shape of the stalk or the other.",
        domains=("enlarging", "tapering"),
        sizes=(3516, 4608),
        n_features=117,
        n_classes=2,
        citation=skada_bench.MUSHROOMS_CITATION,
        source=skada_bench.MUSHROOMS,
        seeded=True,
    ),
    DatasetInfo(
        name="phishing",
        loader=skada_bench.load_phishing,
        summary="SKADA-Bench: web sites, phishing or not, without an IP number as address or with.",
        domains=("no_ip", "ip"),
        sizes=(3793, 7262),
        n_features=30,
        n_classes=2,
        citation=skada_bench.PHISHING_CITATION,
        source=skada_bench.PHISHING,
        seeded=True,
    ),
    DatasetInfo(
        name="mnist_usps_parts",
        loader=skada_bench.load_digits_parts,
        summary="SKADA-Bench: the digits of mnist_usps, parted 80 to 20 percent by seed.",
        domains=("mnist", "usps"),
        sizes=(2000, 1800),
        n_features=256,
        n_classes=10,
        citation=mnist_usps.CITATION,
        source=mnist_usps.SOURCE,
        seeded=True,
    ),
    _drawn_shift("covariate_shift", 800, "samples shifted"),
    _drawn_shift("target_shift", 800, "shares of the classes shifted"),
    _drawn_shift("conditional_shift", 800, "samples of each class shifted"),
    _drawn_shift("subspace", 1200, "told apart in one direction of two"),
)


def _everyday(table: everyday_tables.EverydayTable) -> DatasetInfo:
    return DatasetInfo(
        name=table.name,
        loader=partial(everyday_tables.load_everyday_table, table.name),
        summary=table.summary,
        domains=tuple(table.domains),
        sizes=tuple(table.domains.values()),
        n_features=table.columns,
        n_classes=len(table.class_names),
        citation=table.citation,
        source=table.files,
        collection=everyday_tables.COLLECTION,
    )


_TABLES = tuple(_everyday(table) for table in everyday_tables.EVERYDAY_TABLES.values())

DATASETS: Mapping[str, DatasetInfo] = {entry.name: entry for entry in (*_ENTRIES, *_TABLES)}
"""Data sets by name."""


def get_dataset(name: str) -> DatasetInfo:
    """Return a registered data set, or the nearest name.

    Examples
    --------
    >>> get_dataset("office_surf").n_features
    800
    >>> get_dataset("ofice_surf")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: There is no data set 'ofice_surf'. Did you mean 'office_surf'? There are ...
    """
    if name in DATASETS:
        return DATASETS[name]
    near = get_close_matches(str(name), DATASETS, n=1)
    guess = f" Did you mean {near[0]!r}?" if near else ""
    alone = ", ".join(entry.name for entry in _ENTRIES)
    raise ValueError(
        f"There is no data set {name!r}.{guess} There are {alone}, and {len(_TABLES)} "
        f"{everyday_tables.COLLECTION} that {everyday_tables.__name__}.EVERYDAY_TABLES lists."
    )
