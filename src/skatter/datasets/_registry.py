"""The data sets, by name: one place that the benchmark, the docs and the command line read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from inspect import signature
from typing import Any

from skatter._formatting import did_you_mean
from skatter.datasets import _amazon_reviews as amazon_reviews
from skatter.datasets import _digits as digits
from skatter.datasets import _everyday_tables as everyday_tables
from skatter.datasets import _ixmas as ixmas
from skatter.datasets import _mnist_draw as mnist_draw
from skatter.datasets import _mnist_usps as mnist_usps
from skatter.datasets import _msrc_voc as msrc_voc
from skatter.datasets import _office_caltech as office_caltech
from skatter.datasets import _pacs as pacs
from skatter.datasets import _parkinsons as parkinsons
from skatter.datasets import _rotated_mnist as rotated_mnist
from skatter.datasets import _skada_bench as skada_bench
from skatter.datasets import _synthetic as synthetic
from skatter.datasets import _vlcs as vlcs
from skatter.datasets._home import Home, Source
from skatter.datasets._record import FACTS, Dataset, Facts


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
        self, *, domains: Iterable[str] | None = None, data_home: Home = None, **options: Any
    ) -> Dataset:
        """Load the data set, with the same two arguments for all of them.

        Parameters
        ----------
        domains : iterable of str or None
            The domains to keep; None for all. Files of other domains need not be there.
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
    facts: Facts, loader: Callable[..., Dataset], source: Source | None = None
) -> DatasetInfo:
    same = ("name", "summary", "n_features", "n_classes", "citation", "extra", "collection")
    known = {name: getattr(facts, name) for name in same}
    domains, sizes = tuple(facts.domains), tuple(facts.domains.values())
    return DatasetInfo(loader=loader, domains=domains, sizes=sizes, source=source, **known)


_load_reviews, _make_shift = amazon_reviews.load_amazon_reviews, skada_bench.make_shift
_load_office = office_caltech.load_office_caltech
_ENTRIES = (
    _entry(FACTS["digits"], digits.load_digits_pair),
    _entry(FACTS["figure1"], synthetic.make_figure1),
    _entry(FACTS["mnist_usps"], mnist_usps.load_mnist_usps, mnist_usps.SOURCE),
    _entry(FACTS["mnist_usps_draw"], mnist_draw.draw_mnist_usps, mnist_draw.SOURCE),
    _entry(FACTS["msrc_voc"], msrc_voc.load_msrc_voc, msrc_voc.SOURCE),
    *(
        _entry(chosen.facts, partial(_load_office, features), chosen.source)
        for features, chosen in office_caltech.FEATURES.items()
    ),
    _entry(FACTS["vlcs"], vlcs.load_vlcs, vlcs.SOURCE),
    _entry(FACTS["ixmas"], ixmas.load_ixmas, ixmas.SOURCE),
    _entry(FACTS["rotated_mnist"], rotated_mnist.load_rotated_mnist, rotated_mnist.SOURCE),
    _entry(FACTS["pacs"], pacs.load_pacs, pacs.SOURCE),
    _entry(FACTS["amazon_400"], partial(_load_reviews, "400"), amazon_reviews.SHARES),
    _entry(FACTS["amazon_5000"], partial(_load_reviews, "5000"), amazon_reviews.COUNTS),
    _entry(FACTS["parkinsons"], parkinsons.load_parkinsons, parkinsons.SOURCE),
    _entry(FACTS["mushrooms"], skada_bench.load_mushrooms, skada_bench.MUSHROOMS),
    _entry(FACTS["phishing"], skada_bench.load_phishing, skada_bench.PHISHING),
    _entry(FACTS["mnist_usps_parts"], skada_bench.load_digits_parts, mnist_usps.SOURCE),
    _entry(FACTS["covariate_shift"], partial(_make_shift, "covariate_shift")),
    _entry(FACTS["target_shift"], partial(_make_shift, "target_shift")),
    _entry(FACTS["conditional_shift"], partial(_make_shift, "conditional_shift")),
    _entry(FACTS["subspace_shift"], partial(_make_shift, "subspace")),
)
_TABLES = tuple(
    _entry(table.facts, partial(everyday_tables.load_everyday_table, table.name), table.files)
    for table in everyday_tables.EVERYDAY_TABLES.values()
)

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
    alone = ", ".join(entry.name for entry in _ENTRIES)
    guess = did_you_mean(name, DATASETS)
    raise ValueError(
        f"There is no data set {name!r}.{guess} There are {alone}, and {len(_TABLES)} "
        f"{everyday_tables.COLLECTION} that {everyday_tables.__name__}.EVERYDAY_TABLES lists."
    )
