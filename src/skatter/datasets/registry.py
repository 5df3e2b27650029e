"""The data sets, by name: one place that the benchmark, the docs and the command line read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from inspect import signature
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
from skatter.datasets.facts import CITATIONS
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
    extra: str = ""
    collection: str = ""

    @property
    def seeded(self) -> bool:
        """Whether the loader draws, and takes ``random_state``."""
        return "random_state" in signature(self.loader).parameters

    @property
    def some(self) -> bool:
        """Whether the loader takes ``domains``, and looks for no files of others."""
        return "domains" in signature(self.loader).parameters

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


def _entry(
    name: str,
    loader: Callable[..., Dataset],
    domains: Mapping[str, int],
    n_features: int,
    n_classes: int,
    summary: str,
    citation: str,
    source: Source | None = None,
    **more: str,
) -> DatasetInfo:
    names, sizes = tuple(domains), tuple(domains.values())
    return DatasetInfo(
        name, loader, summary, names, sizes, n_features, n_classes, citation, source, **more
    )


def _office(features: str, n_features: int, words: str) -> DatasetInfo:
    return _entry(
        f"office_{features}",
        partial(office_caltech.load_office_caltech, features),
        dict(zip(office_caltech.DOMAINS, (958, 1123, 157, 295), strict=True)),
        n_features,
        10,
        f"Office + Caltech10: ten kinds of objects, {words}.",
        CITATIONS[f"office_{features}"],
        office_caltech.FEATURES[features].source,
    )


def _amazon(features: str, source: Source, sizes: tuple[int, ...], words: str) -> DatasetInfo:
    return _entry(
        f"amazon_{features}",
        partial(amazon_reviews.load_amazon_reviews, features),
        dict(zip(amazon_reviews.DOMAINS, sizes, strict=True)),
        int(features),
        2,
        f"Amazon reviews, negative or positive, {words}.",
        CITATIONS["amazon_reviews"],
        source,
    )


def _drawn_shift(shift: str, n_samples: int, words: str) -> DatasetInfo:
    return _entry(
        "subspace_shift" if shift == "subspace" else shift,
        partial(skada_bench.make_shift, shift),
        {"source": n_samples, "target": n_samples},
        2,
        2,
        f"SKADA-Bench: two classes in the plane, {words}; drawn by scikit-adaptation.",
        CITATIONS["skada"],
    )


_DIGITS = {"mnist": 2000, "usps": 1800}
_SUBJECTS = {str(subject): size for subject, size in enumerate(parkinsons.SIZES, 1)}

# name, loader, samples of each domain, features, classes, summary, citation, files
# fmt: off
_ENTRIES = (
    _entry("digits", digits.load_digits_pair, {"uci": 1797, "mnist": 5000}, 64, 10,
        "Handwritten digits of UCI and MNIST on an 8 x 8 grid; no files needed.",
        CITATIONS["digits"], extra="demo"),
    _entry("figure1", synthetic.make_figure1, {"source": 150, "target": 150}, 2, 3,
        "Three drawn classes in the plane, the target shifted, after the paper's figure 1.",
        CITATIONS["synthetic"]),
    _entry("mnist_usps", mnist_usps.load_mnist_usps, _DIGITS, 256, 10,
        "Handwritten digits of MNIST and USPS, 16 x 16 pixels, the draw of Long et al.",
        CITATIONS["mnist_usps"], mnist_usps.SOURCE),
    _entry("mnist_usps_draw", mnist_draw.draw_mnist_usps, _DIGITS, 256, 10,
        "Handwritten digits of MNIST and USPS, 16 x 16 pixels, a fresh draw by seed.",
        CITATIONS["mnist_draw"], mnist_draw.SOURCE),
    _entry("msrc_voc", msrc_voc.load_msrc_voc, {"msrc": 1269, "voc": 1530}, 240, 6,
        "Six kinds of objects in MSRC and VOC2007, counts of visual words (SIFT).",
        CITATIONS["msrc_voc"], msrc_voc.SOURCE),
    _office("surf", 800, "counts of visual words (SURF)"),
    _office("decaf6", 4096, "activations of DeCAF"),
    _office("googlenet", 1024, "activations of GoogLeNet"),
    _office("effnet", 1280, "features of EfficientNet-Lite0"),
    _entry("vlcs", vlcs.load_vlcs,
        {"voc2007": 3376, "labelme": 2656, "caltech101": 1415, "sun09": 3282}, 4096, 5,
        "VLCS: five kinds of objects, activations of DeCAF, parted 70 to 30 percent.",
        CITATIONS["vlcs"], vlcs.SOURCE),
    _entry("ixmas", ixmas.load_ixmas, {f"cam{n}": 91 for n in range(5)}, ixmas.N_FEATURES, 5,
        "IXMAS: five actions filmed by five cameras, counts of visual words.",
        CITATIONS["ixmas"], ixmas.SOURCE),
    _entry("rotated_mnist", rotated_mnist.load_rotated_mnist,
        {str(angle): 1000 for angle in range(0, 90, 15)}, 256, 10,
        "A thousand MNIST digits at six angles, 16 x 16 pixels.",
        CITATIONS["rotated_mnist"], rotated_mnist.SOURCE),
    _entry("pacs", pacs.load_pacs,
        {"art_painting": 2048, "cartoon": 2344, "photo": 1670, "sketch": 3929}, 1280, 7,
        "PACS: seven kinds of objects as photos, paintings, cartoons and sketches.",
        CITATIONS["pacs"], pacs.SOURCE),
    _amazon("400", amazon_reviews.SHARES, (2000, 1999, 1998, 1999), "shares of 400 terms"),
    _amazon("5000", amazon_reviews.COUNTS, (6465, 5586, 7681, 7945),
        "counts of 5,000 terms, sparse, with a test part"),
    _entry("parkinsons", parkinsons.load_parkinsons, _SUBJECTS, 16, 0,
        "Parkinson's telemonitoring: a clinical score from voices, every patient a domain.",
        CITATIONS["parkinsons"], parkinsons.SOURCE),
    _entry("mushrooms", skada_bench.load_mushrooms, {"enlarging": 3516, "tapering": 4608}, 117, 2,
        "SKADA-Bench: mushrooms, edible or not, with one shape of the stalk or the other.",
        CITATIONS["mushrooms"], skada_bench.MUSHROOMS),
    _entry("phishing", skada_bench.load_phishing, {"no_ip": 3793, "ip": 7262}, 30, 2,
        "SKADA-Bench: web sites, phishing or not, without an IP number as address or with.",
        CITATIONS["phishing"], skada_bench.PHISHING),
    _entry("mnist_usps_parts", skada_bench.load_digits_parts, _DIGITS, 256, 10,
        "SKADA-Bench: the digits of mnist_usps, parted 80 to 20 percent by seed.",
        CITATIONS["mnist_usps"], mnist_usps.SOURCE),
    _drawn_shift("covariate_shift", 800, "samples shifted"),
    _drawn_shift("target_shift", 800, "shares of the classes shifted"),
    _drawn_shift("conditional_shift", 800, "samples of each class shifted"),
    _drawn_shift("subspace", 1200, "told apart in one direction of two"),
)
_TABLES = tuple(
    _entry(table.name, partial(everyday_tables.load_everyday_table, table.name), table.domains,
        table.columns, len(table.class_names), table.summary, table.citation, table.files,
        collection=everyday_tables.COLLECTION)
    for table in everyday_tables.EVERYDAY_TABLES.values()
)
# fmt: on

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
