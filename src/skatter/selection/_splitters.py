"""Splits of the samples that respect their domains."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from sklearn.model_selection import BaseCrossValidator

from skatter.domains import Codes, Domains
from skatter.labels import read_marked


class LeaveOneDomainOut(BaseCrossValidator):
    """Leave one source domain out at a time: learn from all the others, and predict it.

    No domain is ever on both sides, so that a score says how well a domain is predicted that
    nobody has seen. It is :class:`sklearn.model_selection.LeaveOneGroupOut` that knows about
    labels: only labelled samples of source domains are held out. Unlabelled samples of a target
    are always on the side that is learnt from; those of the domain left out are on neither.

    Use it wherever scikit-learn takes ``cv``::

        cross_validate(model, X, y, cv=LeaveOneDomainOut(), groups=site,
                       params={"sample_domain": site})
        GridSearchCV(model, grid, cv=LeaveOneDomainOut()).fit(X, y, groups=site,
                                                              sample_domain=site)

    With metadata routing enabled it asks for ``sample_domain`` itself, and ``groups`` is not
    needed. In :class:`~skatter.SCACV`, ``cv=LeaveOneDomainOut()`` is all.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter import LeaveOneDomainOut
    >>> y, site = [0, 1, 0, 1, -1], ["lab", "lab", "field", "field", "clinic"]
    >>> for learn, predict in LeaveOneDomainOut().split(np.zeros((5, 1)), y, site):
    ...     print(learn, predict)
    [0 1 4] [2 3]
    [2 3 4] [0 1]
    """

    __metadata_request__split: ClassVar = {"sample_domain": True}

    def split(
        self, X: Any, y: Any = None, groups: Any = None, *, sample_domain: Any = None
    ) -> Iterator[tuple[Codes, Codes]]:
        """Yield which rows to learn from and which to predict, for each source domain in turn.

        Of ``X`` the number of rows matters alone. ``y`` holds classes, or numbers that are not all
        whole, with marks where they are unknown as in :meth:`skatter.SCA.fit`; None: all samples
        may be held out. Domains are given as ``groups``, as scikit-learn hands them on, or as
        ``sample_domain``.
        """
        domains = self._read(y, groups, sample_domain)
        for left_out in self._sources(domains):
            own = domains.domain == left_out
            yield np.flatnonzero(~own), np.flatnonzero(own & domains.labelled)

    def get_n_splits(
        self, X: Any = None, y: Any = None, groups: Any = None, *, sample_domain: Any = None
    ) -> int:
        """Return the number of source domains; takes what :meth:`split` takes."""
        return len(self._sources(self._read(y, groups, sample_domain)))

    def _read(self, y: Any, groups: Any, sample_domain: Any) -> Domains:
        given = groups if sample_domain is None else sample_domain
        if given is None:
            raise ValueError(
                "LeaveOneDomainOut needs the domain of each sample: pass groups=..., or enable "
                "scikit-learn's metadata routing and pass sample_domain=...."
            )
        return read_marked(np.zeros(len(given)) if y is None else y, given)

    def _sources(self, domains: Domains) -> Codes:
        sources = np.unique(domains.domain[domains.labelled & domains.source])
        if len(sources) < 2:
            raise ValueError(
                "LeaveOneDomainOut needs labelled samples of two source domains or more, got "
                f"{len(sources)}. Give more domains, or split within one (StratifiedKFold)."
            )
        return sources
