"""Choosing k, β and δ, :class:`SCACV`: by the target's own scatter, or by held-out source labels.

With an unlabelled target each setting is judged by its predictions for it, from one solution with
all labels. The paper's way is 5-fold cross-validation on source labels: held-out samples stay in
the Gram matrix and in their domain and lose only their label. So one Gram matrix serves all folds;
one factorisation and one Krylov space per fold serve every β and δ; and components are nested in k.

Where whole domains are left out (:class:`~skatter.selection.LeaveOneDomainOut`), the held-out
samples leave the fold altogether, and are projected as new samples are.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
from scipy.stats import rankdata
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from skatter._checks import check_choice, check_integer
from skatter._formatting import count
from skatter._notebook import Section, ShowsLearnt
from skatter._parameters import (
    COUNT,
    NON_NEGATIVE,
    SHARE,
    Declared,
    choice,
    declared,
    optional,
    parameter,
    several,
)
from skatter._tensors import Array
from skatter._threads import in_threads
from skatter.domains import Codes, Domains
from skatter.sca import SCA, check_sca
from skatter.selection._folds import FoldSolver, nearest_labels
from skatter.selection._splitters import LeaveOneDomainOut
from skatter.selection.criteria._registry import CRITERIA

Setting = tuple[float, float]  # β and δ
Fold = Callable[[Codes], Iterator[Array]]
"""Held-out rows to projections of all samples, setting by setting."""
Score = Callable[[Codes, Codes], float]
"""Predicted rows and their predictions to a number; larger is better."""
N_FOLDS = 5
BETAS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
DELTAS = (0.0, 0.1, 1.0, 10.0, 100.0)


_KS, _BETAS, _DELTAS = several(COUNT), several(SHARE), several(NON_NEGATIVE)


def _check_estimator(name: str, value: Any) -> None:
    check_sca(name, value)
    if value is not None and value.label_splines is not None:
        raise ValueError(
            "SCACV judges a setting by classes. For label_splines choose settings with "
            "GridSearchCV and a regressor behind SCA, cv=LeaveOneDomainOut()."
        )


def _check_criterion(name: str, value: Any) -> None:
    by_predictions = [key for key, each in CRITERIA.items() if each.make_judge is not None]
    check_choice(name, value, tuple(by_predictions))


@declared
class SCACV(Declared, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ShowsLearnt):
    """SCA with k, β and δ chosen without a label of the target.

    Labels of target domains, where there are any, train the components but do not take part in the
    choice.

    Parameters
    ----------
    estimator : SCA or None
        Everything that is not searched; None is ``SCA()``.
    tune : {"all", "adaptation", "generalization"}
        What to search. ``"adaptation"``: k and β, the paper's choice with a target at fit.
        ``"generalization"``: k and δ with β = 1, the paper's choice without.
    n_components : int, sequence of int or None
        Candidates for k; None is 2, 5, C-1, C, 12, 15, 20, 30, 40 and 60 for C classes.
    betas, deltas : sequence of float or None
        Candidates; None is the table of ``tune``.
    cv : int, splitter, iterable or None
        Folds over the labelled source samples; an integer means shuffled stratified folds. A
        splitter that takes groups is given the domains. Held-out samples lose their label and stay
        in their domain; with :class:`LeaveOneDomainOut` they leave altogether. None: where there is
        an unlabelled target, its predictions are judged by ``criterion``; otherwise five folds.
    classifier : classifier or None
        Judge of a setting; None is 1-nearest-neighbour, for which all k are scored in one pass.
    criterion : {"scatter", "expected accuracy"}
        How predictions for an unlabelled target are judged: by the class scatter that they share
        with the sources, which takes no time and is better where columns share one unit; or by the
        probabilities of a :class:`~skatter.HedgedClassifier`, which is better on everyday tables.
    refit : bool
        Fit ``best_estimator_`` on all labels; needed for ``transform``.
    verbose : int
        1 prints a line for each fold.

    Attributes
    ----------
    best_params_ : dict
        ``n_components``, ``beta`` and ``delta`` of the best mean score; ties go to the smaller k,
        then the smaller δ, then the smaller β.
    best_score_ : float
        Its mean accuracy on held-out source labels, or its criterion.
    criterion_ : "expected accuracy", "scatter" or "accuracy"
        What it was chosen by.
    best_index_ : int
        Its place in ``cv_results_``.
    best_estimator_ : SCA
        Fitted with it on all labels.
    cv_results_ : dict of ndarray
        One entry for each setting, as in :class:`sklearn.model_selection.GridSearchCV`. Times are a
        fold's seconds shared out evenly.

    Notes
    -----
    With 1,000 samples or more, the nearest neighbours of a fold are found in single precision,
    which may move a score by a sample. With a ``classifier``, another ``scale`` than "eigenvalue",
    ``normalize=False`` or a ridge below 1e-4 folds are in double precision.

    Examples
    --------
    >>> import numpy as np
    >>> from skatter import SCACV
    >>> rng = np.random.default_rng(0)
    >>> y = np.tile([0, 1], 60)
    >>> site = np.repeat([1, -2], 60)
    >>> X = rng.normal(size=(120, 5)) + 2 * y[:, None] + (site < 0)[:, None]
    >>> search = SCACV(n_components=[1, 2, 4]).fit(X, np.where(site < 0, -1, y), sample_domain=site)
    >>> sorted(search.best_params_)
    ['beta', 'delta', 'n_components']
    >>> search.transform(X).shape[1] == search.best_estimator_.n_components_
    True
    """

    __metadata_request__fit: ClassVar = {"sample_domain": True, "labelled": True}
    __metadata_request__transform: ClassVar = {"sample_domain": True}

    estimator: SCA | None = parameter(_check_estimator, default=None, kw_only=False)
    tune: str = parameter(choice("all", "adaptation", "generalization"), default="all")
    n_components: int | Sequence[int] | None = parameter(optional(_KS), default=None)
    betas: Sequence[float] | None = parameter(optional(_BETAS), default=None)
    deltas: Sequence[float] | None = parameter(optional(_DELTAS), default=None)
    cv: Any = None
    classifier: Any = None
    criterion: str = parameter(_check_criterion, default="scatter")
    refit: bool = True
    verbose: int = 0

    def fit(
        self, X: Any, y: Any = None, *, sample_domain: Any = None, labelled: Any = None
    ) -> SCACV:
        """Search, then fit the best setting on all labels.

        Takes what :meth:`skatter.SCA.fit` takes, and returns ``self``.
        """
        self.check_parameters()
        for name in ("best_estimator_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        template = SCA() if self.estimator is None else clone(self.estimator)
        betas, deltas = self._grid(template)
        samples, domains = template.read(X, y, sample_domain, labelled)
        ks, (folds, score) = self._ks(domains), self._judge(template, samples, domains)
        make = self._leave_out if isinstance(self.cv, LeaveOneDomainOut) else self._hide
        # In the order k, δ, β: ties go to the smaller k, then the smaller δ, then the smaller β.
        settings = [(beta, delta) for delta, beta in product(deltas, betas)]
        project = make(template, samples, domains, settings, max(ks))
        scores, seconds = self._search(project, domains, folds, score, ks)
        params = [
            {"n_components": k, "beta": beta, "delta": delta}
            for k, (beta, delta) in product(ks, settings)
        ]
        self._report(params, scores, seconds)
        self.n_features_in_ = samples.shape[1]
        if self.refit:
            best = template.set_params(**self.best_params_)
            self.best_estimator_ = best.fit(X, y, sample_domain=sample_domain, labelled=labelled)
            if hasattr(best, "feature_names_in_"):
                self.feature_names_in_ = best.feature_names_in_
        return self

    def fit_transform(
        self, X: Any, y: Any = None, *, sample_domain: Any = None, labelled: Any = None
    ) -> Array:
        """Search, and project ``X`` with the best setting; takes what :meth:`fit` takes."""
        return self.fit(X, y, sample_domain=sample_domain, labelled=labelled).transform(X)

    def transform(self, X: Any, *, sample_domain: Any = None) -> Array:
        """Project samples, seen before or not, with the best setting."""
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.transform(X)

    @property
    def _n_features_out(self) -> int:
        return int(self.best_estimator_.n_components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        own = (SCA() if self.estimator is None else self.estimator).__sklearn_tags__()
        tags.input_tags = own.input_tags
        tags.target_tags = own.target_tags
        tags.transformer_tags = own.transformer_tags
        return tags

    def learnt(self) -> list[Section]:
        """Return what a notebook shows: the choice, and what the best estimator learnt."""
        if not hasattr(self, "best_params_"):
            return []
        score = f"{self.best_score_:.3f}"
        if self.criterion_ != "accuracy":
            judged = f"{self.criterion_} of the target's predictions, {score}"
        else:
            spread = self.cv_results_["std_test_score"][self.best_index_]
            judged = f"accuracy on held-out source labels, {score} ± {spread:.3f} over the folds"
        chosen = ", ".join(f"{name} = {value:g}" for name, value in self.best_params_.items())
        facts = (
            ("chosen", f"{chosen}, of {count(len(self.cv_results_['params']), 'setting')}"),
            ("judged by", judged),
        )
        refitted = getattr(self, "best_estimator_", None)
        own = [Section(type(self).__name__, facts)]
        return own if refitted is None else [*own, *refitted.learnt()]

    # --- the grid -------------------------------------------------------------------------------

    def _grid(self, template: SCA) -> tuple[list[float], list[float]]:
        betas = BETAS if self.tune != "generalization" else (1.0,)
        deltas = DELTAS if self.tune != "adaptation" else (template.delta,)
        return (
            _BETAS("betas", betas if self.betas is None else self.betas),
            _DELTAS("deltas", deltas if self.deltas is None else self.deltas),
        )

    def _ks(self, domains: Domains) -> list[int]:
        if self.n_components is not None:
            return _KS("n_components", self.n_components)
        n_classes = len(domains.classes)
        given = (2, 5, n_classes - 1, n_classes, 12, 15, 20, 30, 40, 60)
        return _KS("n_components", [k for k in given if 1 <= k < domains.n_samples])

    def _judge(self, template: SCA, X: Any, domains: Domains) -> tuple[list[Codes], Score]:
        """Return the rows to predict, fold by fold, and how their predictions are scored."""
        target = np.flatnonzero(domains.target & ~domains.labelled)
        known = domains.labelled & domains.source
        by_target = self.cv is None and len(target) and known.any()
        make_judge = CRITERIA[self.criterion].make_judge
        if not by_target or len(domains.classes) < 2 or _is_gram(template) or make_judge is None:
            self.criterion_ = "accuracy"
            return self._folds(domains), lambda held, guess: float(
                np.mean(guess == domains.label[held])
            )
        self.criterion_ = self.criterion
        judge = make_judge(X, domains, 0)
        return [target], lambda held, guess: judge(guess)

    def _folds(self, domains: Domains) -> list[Codes]:
        """Rows to hide, fold by fold: labelled samples of source domains."""
        rows = np.flatnonzero(domains.labelled & domains.source)
        label = domains.label[rows]
        if len(domains.classes) < 2:
            raise ValueError("y holds a single class; SCACV needs two to judge a setting.")
        if not len(rows):
            raise ValueError(
                "y has no labelled sample in a source domain to hold out. Under the sign "
                "convention sources have non-negative ids."
            )
        cv = N_FOLDS if self.cv is None else self.cv
        if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
            n_splits = check_integer("cv", cv, low=2)
            if np.bincount(label).max() < n_splits:
                raise ValueError(
                    f"cv={n_splits} folds need a class with {n_splits} labelled source samples; "
                    "choose fewer folds."
                )
            splits = StratifiedKFold(n_splits, shuffle=True, random_state=0).split(rows, label)
        else:
            splitter = check_cv(cv, label, classifier=True)
            with warnings.catch_warnings():
                # Splitters that take no groups say so each time.
                warnings.filterwarnings("ignore", message="The groups parameter is ignored")
                splits = list(splitter.split(rows, label, domains.domain[rows]))
        if not splits:
            raise ValueError("cv has no fold; give a number of folds, a splitter, or None.")
        return [rows[held] for _, held in splits]

    # --- the search -----------------------------------------------------------------------------

    def _hide(
        self, template: SCA, X: Any, domains: Domains, settings: list[Setting], k: int
    ) -> Fold:
        """Learn from all samples, without the labels of those that are held out."""
        solver = FoldSolver(template, X, domains, nearest=self.classifier is None)
        return lambda held: (Z for Z, _ in solver.solve(domains.hide(held), settings, k))

    def _leave_out(
        self, template: SCA, X: Any, domains: Domains, settings: list[Setting], k: int
    ) -> Fold:
        """Learn from the other domains alone, kernel and its bandwidth included."""

        def project(held: Codes) -> Iterator[Array]:
            rows = np.flatnonzero(~np.isin(domains.domain, domains.domain[held]))
            own, new = X[rows], X[held]
            if _is_gram(template):
                own, new = own[:, rows], new[:, rows]
            present = domains.restrict(rows)
            for Z, Z_new in FoldSolver(template, own, present).solve(present, settings, k, new):
                both = np.zeros((domains.n_samples, Z.shape[1]), dtype=Z.dtype)
                both[rows], both[held] = Z, Z_new
                yield both

        return project

    def _search(
        self, project: Fold, domains: Domains, folds: list[Codes], score: Score, ks: list[int]
    ) -> tuple[Array, Array]:
        """Scores of shape (settings in the order k, δ, β; folds), and seconds."""

        def judge(held: Codes) -> tuple[Array, Array]:
            start, projecting = perf_counter(), np.zeros(1)
            own = [
                [score(held, guess) for guess in self._predict(Z, domains, held, ks)]
                for Z in _timed(project(held), projecting)
            ]
            took = perf_counter() - start
            return np.ravel(own, order="F"), np.array([projecting[0], took - projecting[0]])

        found = in_threads(partial(judge, held) for held in folds)
        scores, seconds = (np.column_stack(columns) for columns in zip(*found, strict=True))
        if self.verbose:
            for f, (own, took) in enumerate(zip(scores.T, seconds.T, strict=True), start=1):
                print(
                    f"[SCACV] fold {f} of {len(folds)}: {len(own)} settings, "
                    f"best {self.criterion_} {own.max():.3f}, {took.sum():.1f} s"
                )
        return scores, seconds

    def _predict(self, Z: Array, domains: Domains, held: Codes, ks: list[int]) -> Iterator[Codes]:
        train = domains.hide(held).labelled
        if self.classifier is None:
            yield from nearest_labels(Z[train], domains.label[train], Z[held], ks)
            return
        for k in ks:
            judge = clone(self.classifier).fit(Z[train, :k], domains.label[train])
            yield judge.predict(Z[held, :k])

    def _report(self, params: list[dict[str, Any]], scores: Array, seconds: Array) -> None:
        mean = scores.mean(axis=1)
        # Equal counts of hits may differ in the last bit of their mean.
        rounded = np.round(mean, 12)
        self.best_index_ = int(np.argmax(rounded))
        self.best_score_ = float(mean[self.best_index_])
        self.best_params_ = params[self.best_index_]
        results: dict[str, Any] = {}
        for name, took in zip(("fit", "score"), seconds / len(params), strict=True):
            results[f"mean_{name}_time"] = np.full(len(params), took.mean())
            results[f"std_{name}_time"] = np.full(len(params), took.std())
        for name in ("n_components", "beta", "delta"):
            results[f"param_{name}"] = np.ma.masked_array([p[name] for p in params])
        results["params"] = params
        for f in range(scores.shape[1]):
            results[f"split{f}_test_score"] = scores[:, f]
        results["mean_test_score"] = mean
        results["std_test_score"] = scores.std(axis=1)
        results["rank_test_score"] = rankdata(-rounded, method="min").astype(np.int32)
        self.cv_results_ = results


def _is_gram(template: SCA) -> bool:
    return bool(get_tags(template).input_tags.pairwise)


def _timed(items: Iterator[Array], seconds: Array) -> Iterator[Array]:
    """Pass items on, adding up the time they took to come."""
    while True:
        start = perf_counter()
        item = next(items, None)
        seconds += perf_counter() - start
        if item is None:
            return
        yield item
