"""The types that a model file may hold, and what their attributes must be.

A type of ours is saved with one line in :data:`_TYPES`, by its module; methods of the registry are
known already, and have a line by their name where there is something to say. A constructor's
parameters must all be there, and what ``fit`` learns may be any data, except that attributes named
in :data:`LEARNT` or in the line must be as specified, so that arrays agree, and that those of the
line must be there once it is fitted. A name alone is specified in :data:`LEARNT`; ``a|b+c`` are
alternatives. Of scikit-learn only the types of :data:`SCIKIT_LEARN` are known, with the attributes
listed there and no others: compiled code trusts some of them blindly. What cannot be said in such
words is a function below, marked by :func:`_agreement` with the types that it is about.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import fields, is_dataclass
from functools import cache
from inspect import signature
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.impute import SimpleImputer
from sklearn.metrics.pairwise import kernel_metrics
from sklearn.utils import get_tags

from skatter._formatting import public_name
from skatter._parameters import Declared, rules_of
from skatter.hedging._members import Member
from skatter.hedging._weights import SELF_TRAINED
from skatter.methods import METHODS
from skatter.methods._base import Rival
from skatter.saving._specs import AS_WIDE, Part, Refused, check_attributes, class_of, parts_in
from skatter.trees import TreeEnsemble

PARAMETERS = {
    "n_jobs": "none",
    "memory": "none",
    "verbose": "bool | int",
    "_sklearn_output_config": "{= default pandas polars}",
}
"""Attributes of any estimator: nothing in a file starts processes, or names a folder."""

_KERNELS = f"= {' '.join(sorted(kernel_metrics()))} precomputed"


def _table(text: str) -> dict[str, dict[str, str]]:
    """Read lines of types, or a ``*group`` of attributes, and what each attribute must be."""
    found: dict[str, dict[str, str]] = {}
    for line in text.replace("KERNELS", _KERNELS).replace("\n    ", " ").strip().splitlines():
        names, _, rest = line.partition(" ")
        specs: dict[str, str] = {}
        for each in filter(None, rest.split(";")):
            attribute, _, spec = each.strip().partition(" ")
            specs |= found[attribute] if attribute.startswith("*") else {attribute: spec}
        found |= dict.fromkeys(names.split(","), specs)
    return {name: specs for name, specs in found.items() if not name.startswith("*")}


LEARNT = _table(
    """
ours n_features_in_ int p; feature_names_in_ o p; n_components_ int k; mean_ f p;
    classes_ l c; class_counts_ i c; prior_ f c; class_frequencies_ f c;
    domain_ids_ l d; domain_counts_ i d; source_ids_ l s; source_mean_ f p; target_mean_ f p;
    kernel_ @Kernel p; X_fit_ f n p | none; dual_coef_ f n k; support_ i n; intercept_ f out;
    eigenvalues_ v k; offset_ f k; components_ f k *; feature_map_ none | @transform p
"""
)["ours"]
"""Attributes of our estimators, where the type has no specification of its own."""

_TYPES = _table(
    """
*scatter n_components_; feature_map_; offset_; components_|dual_coef_+kernel_+X_fit_
SCA,USCA,KernelFisher,KPCA,CIDG,DICA,UDICA,MDA *scatter
_principal.PrincipalMap kernel_; X_fit_; dual_coef_; offset_
*transfer components_|kernel_+dual_coef_+X_fit_
TCA,SSTCA,TJM,JDA,BDA *transfer
*machine classes_; kernel_; X_fit_; intercept_; support_
DIP,DIPCC,UML mean_; components_
KMM,KLIEP classes_; estimator_ @predict p
ARTL classes_; mean_; kernel_; X_fit_ f n p; dual_coef_ f n c
MEDA classes_; mean_; metric_factor_ f p g; kernel_ @Kernel g; X_fit_ f n g; dual_coef_ f n c
SPL classes_; mean_; axes_ f p a; projection_ f a q; prototypes_ f c q; clusters_ f c q | none;
    _origin f q
EasyTL classes_; centres_ f c p; alignment_ @CORAL p | none
selection._search.SCACV best_estimator_ @transform p
DomainGeneralizer classes_; scaler_ @transform p; members_ [@Member]; powers_ {num}; reach_ [f p]
adaptation._model.TableModel adapted @DomainPipeline; plain @DomainPipeline; ship = adapted plain;
    label str; domain str | none; numbers {any}; settings {any}
kernels.Kernel metric KERNELS | @MappedLinear; params {any}; origin f p | none
maps.LandmarkMap kernel_; landmarks_ f k p; normalization_ f k k; n_features_out_ int k
scaling.DomainRanks quantiles_ [f * p]; means_ f d+1 p; scales_ f d+1 p
scaling.DomainScaler means_ f d+1 p; scales_ f d+1 p
neighbours.NearestNeighbour classes_; X_fit_ f n p; _codes i n <c; _keys f n
class_span.ClassSpan unit_ num; mean_; components_ f k p
methods._coral.FullPower matrix f p p
methods._coral.ThinPower multiple num; X f n p; H f n n
methods._easy_adapt._Copies ids l e; shared_weight num
methods._hfa._Side kernel @Kernel p; rows i n; samples f n p | none
methods._marginal_kernel.MeanEmbeddings kernel @Kernel p; X f n p | none; rows i n; shares f n s;
    inner f s s
methods._neighbourhood.Neighbourhood _origin f p | num; _samples f n p; _k int; reach g n
hedging._champion.CalibratedSVC classes_; machine_ @SupportVectors p; machine_.classes i * <c;
    link_ @LogisticRegression c; link_.classes_ l c
_support_vectors.SupportVectors vectors f n p; coef f n pairs; intercept f pairs; gamma num;
    classes i c
hedging._number_champion.KernelRidgeCV kernel_; samples_ f n p; coefficients_ f n; mean_ num;
    power_ num
ChampionClassifier classes_; scaler_ @transform p; contenders_ [@Contender]; champion_ str
hedging._number_champion.ChampionRegressor scaler_ @transform p; contenders_ [@Contender];
    champion_ str
HedgedClassifier classes_; prior_; odds_ f m c; champion_ @ChampionClassifier p;
    domain_scaler_ @DomainScaler p | none; members_ [@Member] m; power_ num
hedging._regressor.HedgedRegressor champion_ @ChampionRegressor p;
    domain_scaler_ @DomainScaler p | none; members_ [@Member]; range_ [num] 2; shifts_ f d+1;
    source_error_ num; widening_ num
hedging._champion.Contender name str; estimator @predict; score num
hedging._members.Member name str; scaling = pooled domain; adapts bool; estimator @predict;
    weight num
SCAClassifier classes_; label_distributions_ f * c; paths_ [@_Path] q; candidates_ [@Candidate] q;
    rounds_together_ [@Round]
self_training._classifier.Candidate scaling = none domain ranks; weight num
self_training._classifier._Path scaler @DomainScaler | @DomainRanks | none; components @SCA;
    neighbours @KNeighborsRegressor
trees.ForestClassifier classes_; trees_ @TreeEnsemble p; trees_.baseline g c
trees.BoostingClassifier classes_; trees_ @TreeEnsemble p; trees_.baseline g out
trees.ForestRegressor,trees.BoostingRegressor trees_ @TreeEnsemble p; trees_.baseline g 1
*exemplars exemplars_ i e; exemplar_coef_ f e p; exemplar_intercept_ f e; exemplar_class_ i e <c
AdaptiveSVM,DAM *machine; dual_coef_ f n out
LRESVM classes_; *exemplars; exemplar_weights_? f e
LRESVMAdaptation *machine; *exemplars; exemplar_weights_ f e; dual_coef_ f n out
EasyAdapt _copies @_Copies e; copy_ids_ l e; n_components_ int copies
EasyAdaptSVM *machine; _copies @_Copies e; copy_ids_ l e; dual_coef_ f n e+1 out
MarginalKernelSVM *machine; dual_coef_ f n s out; marginal_ids_ l m; marginal_distances_ f m s;
    marginal_gamma_ num; _unnamed none | int <m; _embeddings @MeanEmbeddings p;
    _embeddings.inner f s s
UndoBias classes_; kernel_; intercept_; support_; dual_coef_ f n s+1 out;
    _weights f s+1 out p | none; domain_intercept_ f s out
HFA classes_; intercept_; source_coef_ f a out; target_coef_ f b out; _source @_Side p;
    _source.rows i a; _target @_Side p; _target.rows i b
Landmarks classes_; mean_; intercept_; coef_ f out p
MTAE n_components_; coef_ f k p; intercept_ f k; minimum_ f p; range_ f p
CORAL source_mean_; target_mean_; whitening_ @FullPower p | @ThinPower p;
    colouring_ @FullPower p | @ThinPower p
GFK mean_; metric_factor_ f p k
SGF mean_; basis_ f p b; coefficients_ f b k
JGSA source_map_ f p k; target_map_ f p k
OptimalTransport X_source_ f n p; moved_ f n p
LinearTransport source_mean_; target_mean_; map_ f p p
SubspaceAlignment n_components_; source_mean_; target_mean_; source_map_ f p k; target_map_ f p k
TSC n_components_; components_ f k p; _shares [num] 2; _anchors f n k; _mean_gap f k;
    _neighbourhood @Neighbourhood p; _neighbourhood._samples f n p
maps.MappedLinear
hedging._error.NumberJudgement
hedging._expectation.Judgement
hedging._transfer.Transfer
pipeline.DomainPipeline
scatter._geometry.Scatters
selection._asking.Estimate
self_training._rounds.Round
tables._dates.DateParts
trees.TreeEnsemble
"""
)
"""Types of skatter: those with a dot, by their module, and beside them methods of the registry."""

OURS = tuple(f"skatter.{name}" for name in _TYPES if "." in name)
OWN = {name.rpartition(".")[2]: specs for name, specs in _TYPES.items()}

SCIKIT_LEARN = _table(
    """
*seen n_features_in_ int p; feature_names_in_? o p
*linear *seen; classes_ l c; coef_ f out p; intercept_ f out
*regression *seen; coef_ f p | f t p; intercept_ num | f t
*neighbours *seen; n_neighbors int; algorithm = auto brute; weights = uniform distance | none;
    metric str; metric_params none; radius num | none; effective_metric_params_ {any};
    effective_metric_ = chebyshev cityblock cosine euclidean l1 l2 manhattan minkowski sqeuclidean;
    _fit_method = brute; _fit_X f n p; n_samples_fit_ int n; _tree none
*machine *seen; kernel = linear poly rbf sigmoid; degree int; coef0 num; cache_size num; nu num;
    support_ w n; support_vectors_ d n p; _gamma num; _sparse false; fit_status_ int;
    shape_fit_ [int]; _effective_probability? bool; _num_iter? w *; n_iter_? w * | int
sklearn.compose.ColumnTransformer *seen; transformer_weights none | {num};
    transformers [any]; transformers_ [any]; sparse_output_ bool;
    output_indices_ {any}; _columns [any]; _remainder [any];
    _transformer_to_input_indices {[int]}; _n_features? int p;
    _name_to_fitted_passthrough? {@FunctionTransformer}
sklearn.decomposition.PCA *seen; mean_ f p; components_ f k p; n_components_ int k;
    explained_variance_ v k; explained_variance_ratio_ g k; singular_values_ v k;
    noise_variance_ num; n_samples_ int; _fit_svd_solver? str
sklearn.discriminant_analysis.LinearDiscriminantAnalysis *linear; priors_ f c; means_ f c p;
    _max_components int; xbar_? f p; scalings_? f p *; covariance_? v p p;
    explained_variance_ratio_? f *; _n_features_out? int
sklearn.frozen.FrozenEstimator estimator @fit
sklearn.impute.SimpleImputer *seen; strategy = mean median most_frequent constant;
    add_indicator false; statistics_ x p; indicator_ none; _fit_dtype dtype; _fill_dtype? dtype
sklearn.kernel_approximation.Nystroem *seen; kernel KERNELS; kernel_params none; gamma num | none;
    coef0 num | none; degree num | none; components_ f k p; normalization_ f k k;
    component_indices_ i k; _n_features_out int k
sklearn.kernel_approximation.RBFSampler *seen; random_weights_ f p k; random_offset_ f k;
    _n_features_out int k; _gamma? num
sklearn.linear_model.LinearRegression *regression; rank_? int; singular_? f *
sklearn.linear_model.LogisticRegression *linear; n_iter_ i *
sklearn.linear_model.RidgeCV *regression; alphas [num]; alpha_ num; best_score_ num;
    cv_results_? f *; _store_cv_results? bool
sklearn.linear_model.Ridge *regression; n_iter_ none | i *; solver_ str
sklearn.naive_bayes.GaussianNB *seen; classes_ l c; theta_ f c p; var_ v c p; class_prior_ f c;
    class_count_ f c; epsilon_ num
sklearn.neighbors.KNeighborsClassifier *neighbours; classes_ l c; _y i n <c; outputs_2d_ false
sklearn.neighbors.KNeighborsRegressor *neighbours; _y f n | f n *
sklearn.pipeline.Pipeline steps [any]
sklearn.preprocessing.FunctionTransformer *seen; func none; inverse_func none; kw_args none;
    inv_kw_args none; feature_names_out = one-to-one | none
sklearn.preprocessing.KernelCenterer n_features_in_ int n; K_fit_rows_ f n; K_fit_all_ num
sklearn.preprocessing.MaxAbsScaler *seen; n_samples_seen_ num | x p; scale_ h p; max_abs_ h p
sklearn.preprocessing.MinMaxScaler *seen; feature_range [num]; n_samples_seen_ num | x p;
    scale_ h p; min_ h p; data_min_ h p; data_max_ h p; data_range_ h p
sklearn.preprocessing.Normalizer *seen; norm = l1 l2 max
sklearn.preprocessing.OneHotEncoder *seen; dtype type; feature_name_combiner = concat;
    handle_unknown = error ignore infrequent_if_exist warn;
    categories_ [x *]; _n_features_outs [int]; drop_idx_ x p | none;
    _drop_idx_after_grouping x p | none; _infrequent_enabled bool; _infrequent_indices? [any];
    _default_to_infrequent_mappings? [any]
sklearn.preprocessing.RobustScaler *seen; center_ h p | none; scale_ h p | none
sklearn.preprocessing.StandardScaler *seen; n_samples_seen_ num | x p; mean_ h p | none;
    var_ g p | none; scale_ h p | none
sklearn.svm.LinearSVC *linear; intercept_ f out | num; n_iter_ int
sklearn.svm.SVC *machine; decision_function_shape = ovo ovr; classes_ l c;
    class_weight_ d c; _n_support w c; epsilon num; _intercept_ d pairs;
    intercept_ d pairs; _dual_coef_ d c-1 n; dual_coef_ d c-1 n;
    _probA d 0 | d pairs; _probB d 0 | d pairs
sklearn.svm.SVR *machine; _n_support w 2; _intercept_ d 1; intercept_ d 1; _dual_coef_ d 1 n;
    dual_coef_ d 1 n; _probA d 0; _probB d 0; probability false; class_weight none;
    random_state none
"""
)
"""Types of scikit-learn and their attributes; those with a question mark may be missing."""

_TREES = ("DecisionTree", "ExtraTrees", "GradientBoosting", "HistGradientBoosting", "RandomForest")

REMEDIES = {
    "KDTree": "build the neighbours with algorithm='brute'",
    "BallTree": "build the neighbours with algorithm='brute'",
    "csr_matrix": "give the model dense samples",
    "csr_array": "give the model dense samples",
    "Tensor": "bring the model home with model.to('numpy')",
    "Generator": "give random_state an integer",
    "Moments": "save the moments with Moments.save, and the model once it is fitted at once",
    **dict.fromkeys(("GridSearchCV", "RandomizedSearchCV"), "save its best_estimator_"),
    **dict.fromkeys(
        (f"{kind}Classifier" for kind in _TREES),
        "use skatter.trees.ForestClassifier or BoostingClassifier",
    ),
}
"""What to do about types that are not on the list, by the name of the class."""

FUNCTION = (
    "a model file holds data, and no functions or calls; apply that step yourself, before the "
    "model, and save a pipeline of the others"
)

UNKNOWN = (
    "it is not on the list of docs/saving.md; apply that step yourself, before the model, and save "
    "a pipeline of the others"
)


@cache
def known_types() -> frozenset[str]:
    methods = (each.estimator for each in METHODS.values())
    names = (f"{each.__module__}.{each.__qualname__}" for each in methods)
    return frozenset({*OURS, *names, *SCIKIT_LEARN})


def name_of(kind: type) -> str | None:
    """Return the name by which the list knows a class, or None."""
    for name in (f"{kind.__module__}.{kind.__qualname__}", public_name(kind)):
        if name in known_types() and class_of(name) is kind:
            return name
    return None


def check_part(part: Part) -> None:
    """Refuse an object that is not as its type wants it; those inside it were checked before."""
    kind = class_of(part.name)
    record = not issubclass(kind, BaseEstimator)
    specs = dict(SCIKIT_LEARN.get(part.name) or OWN.get(part.kind, {}))
    if part.name in SCIKIT_LEARN:
        must = _strict(part, kind, specs)
    elif record:
        must = _fields(part, kind, specs)
    else:
        must = _estimator(part, kind, specs)
        specs = LEARNT | {name: spec for name, spec in specs.items() if spec}
    for name in must:
        _check(name in part.state, f"{part.kind} has no {name}")
    specs = {name.rstrip("?"): spec for name, spec in specs.items()}
    if not record:
        _check_parameters(part, kind)
        specs |= PARAMETERS
    check_attributes(part, specs)
    _check_learnt(part, kind)
    if part.kind in _AGREE and (record or _has_learnt(part, kind) or part.kind in _COMPOSED):
        try:
            _AGREE[part.kind](part.state)
        except (AttributeError, LookupError, TypeError) as error:
            raise Refused(f"{part.kind} lacks something that it needs") from error


def check_model(part: Part) -> None:
    """Refuse an object that is no model, but a part of one."""
    able = part.kind == "TableModel" or part.can("predict") or part.can("transform")
    _check(able, f"a {part.kind} is no model")


def _check(holds: bool, reason: str) -> None:
    if not holds:
        raise Refused(reason)


@cache
def _parameters(kind: type) -> frozenset[str]:
    return frozenset(signature(kind).parameters)


_BESIDE = {
    *("memory", "transform_input", "radius", "nu", "epsilon", "probability"),
    *("class_weight", "random_state", "_sklearn_output_config"),
}
"""What estimators of scikit-learn have beside their parameters and what they learn."""

_STATELESS = {"FunctionTransformer", "Normalizer"}  # estimators that need no fit
_COMPOSED = {"Pipeline", "DomainPipeline", "ColumnTransformer"}
"""Estimators whose parameters hold what they learn."""


def _has_learnt(part: Part, kind: type) -> bool:
    return bool(part.state.keys() - _parameters(kind) - _BESIDE)


def _is_fitted(part: Part) -> bool:
    """Tell whether an object can be used: a record, or an estimator that needs no fit any more."""
    kinds = [(each, class_of(each.name)) for each in part.inner]
    return all(
        not issubclass(kind, BaseEstimator) or _has_learnt(each, kind) or each.kind in _STATELESS
        for each, kind in kinds
    )


def _check_learnt(part: Part, kind: type) -> None:
    """Refuse what an estimator has learnt, or a record holds, where that has not learnt itself."""
    given = _parameters(kind) if issubclass(kind, BaseEstimator) else frozenset()
    learnt = [value for name, value in part.state.items() if name not in given]
    _check(all(map(_is_fitted, parts_in(learnt))), f"{part.kind} holds what is not fitted")


def _strict(part: Part, kind: type, specs: dict[str, str]) -> frozenset[str]:
    """Return what must be there of scikit-learn's: the parameters, and all that a fit leaves."""
    parameters = _parameters(kind)
    _check_known(part, parameters | _BESIDE | {name.rstrip("?") for name in specs})
    learnt = {name for name in specs if not name.endswith("?")} - _BESIDE
    return parameters | learnt if _has_learnt(part, kind) else parameters


def _fields(part: Part, kind: type, specs: dict[str, str]) -> frozenset[str]:
    """Return the fields of a record: all of them and no others."""
    must = frozenset(getattr(kind, "_fields", ()) or specs)
    if is_dataclass(kind):
        must = frozenset(field.name for field in fields(kind))
    _check_known(part, must)
    return must


def _check_known(part: Part, known: Set[str]) -> None:
    if foreign := part.state.keys() - known:
        raise Refused(f"{part.kind} knows no attribute {min(foreign)[:60]!r}")


def _estimator(part: Part, kind: type, specs: dict[str, str]) -> frozenset[str]:
    """Return what ours must have; what is learnt must look like it, and hide no method."""
    parameters = _parameters(kind)
    learnt = {
        name
        for name in part.state
        if name.isidentifier() and (name.endswith("_") or name.startswith("_"))
        if not name.startswith("__") and not hasattr(kind, name)
    }
    _check_known(part, parameters | _BESIDE | learnt)
    if not _has_learnt(part, kind):
        return parameters
    must = parameters | ({"source_ids_"} if issubclass(kind, Rival) else set())
    for name in specs:
        ways = [set(way.split("+")) for way in name.split("|")]
        must |= next((way for way in ways if way <= part.state.keys()), ways[0])
    _check_gram(part.state)
    wide = part.state.get("feature_map_")
    wide = wide.gives if isinstance(wide, Part) else part.state.get("n_features_in_")
    found = part.state.get("components_")
    agree = wide is None or not isinstance(found, np.ndarray) or found.shape[1:] == (wide,)
    _check(agree, f"components_ of {part.kind} are of other features")
    return frozenset(name for name in must if not name.endswith("?") and "." not in name)


def _check_gram(state: dict[str, Any]) -> None:
    """Refuse a kernel that takes rows of a Gram matrix where samples are given, and vice versa."""
    kernel = state.get("kernel_")
    if not isinstance(kernel, Part):
        return
    gram = _is_gram(kernel)
    asked = state.get("kernel")
    _check("kernel" not in state or (type(asked) is str and asked == _GRAM) == gram, "no kernel")
    _check("X_fit_" not in state or (state["X_fit_"] is None) == gram, "no samples for the kernel")
    if gram and "support_" in state:
        _check_rows(state["support_"], state)
    elif gram and "dual_coef_" in state:
        _check(len(state["dual_coef_"]) == state["n_features_in_"], "dual_coef_ disagrees")


_GRAM = "precomputed"


def _is_gram(kernel: Part) -> bool:
    return isinstance(kernel.state["metric"], str) and kernel.state["metric"] == _GRAM


def _check_rows(rows: Any, state: dict[str, Any]) -> None:
    right = not len(rows) or int(rows.max()) < state["n_features_in_"]
    _check(right, "there are fewer rows in the Gram matrix")


def _check_parameters(part: Part, kind: type) -> None:
    given = {name: part.state[name] for name in _parameters(kind)}
    # Objects inside are not built yet; they were checked themselves.
    given = {name: value for name, value in given.items() if not any(parts_in(value))}
    try:
        for name, rule in rules_of(kind).items():
            if name in given:
                rule(name, given[name])
    except (ValueError, TypeError) as error:
        raise Refused(str(error)) from error
    for name, default in _plain_defaults(kind).items():
        value = given.get(name)
        alike = isinstance(value, bool | np.bool_) == isinstance(default, bool)
        right = value is None or (alike and isinstance(value, int | float | np.generic))
        _check(right, f"{name} of {part.kind} is not as it should be")


@cache
def _plain_defaults(kind: type) -> dict[str, float]:
    """Return the parameters that are numbers, or true or false, where nothing else is said."""
    if issubclass(kind, Declared):  # and has rules
        return {}
    found = {name: each.default for name, each in signature(kind).parameters.items()}
    return {name: value for name, value in found.items() if isinstance(value, int | float)}


# --- what must agree beyond sizes -----------------------------------------------------------------

State = dict[str, Any]
Agreement = Callable[[State], None]

_AGREE: dict[str, Agreement] = {}
"""What refuses attributes that do not go together, by the name of the class."""


def _agreement(*kinds: str) -> Callable[[Agreement], Agreement]:
    """Mark a function that refuses attributes of these types."""

    def mark(check: Agreement) -> Agreement:
        _AGREE.update(dict.fromkeys(kinds, check))
        return check

    return mark


@_agreement("Kernel")
def _check_kernel(state: State) -> None:
    known = set() if isinstance(state["metric"], Part) else {"gamma", "degree", "coef0"}
    _check(set(state["params"]) <= known, "a kernel has gamma, degree and coef0")
    numbers = [each for each in state["params"].values() if each is not None]
    plain = all(type(each) in (int, float, np.float64) for each in numbers)
    _check(plain, "gamma, degree and coef0 are numbers")


@_agreement("TreeEnsemble")
def _check_trees(state: State) -> None:
    try:
        TreeEnsemble(**state)
    except (TypeError, ValueError) as error:
        raise Refused(str(error).rstrip(".")) from error


@_agreement("LinearRegression", "Ridge", "RidgeCV")
def _check_regression(state: State) -> None:
    several = np.ndim(state["intercept_"]) + 1
    _check(several == state["coef_"].ndim, "coef_ and intercept_ disagree")


@_agreement("SimpleImputer")
def _check_imputer(state: State) -> None:
    learnt = vars(SimpleImputer().fit([[0.0]]))  # more of it in newer versions
    _check(learnt.keys() <= state.keys(), "SimpleImputer lacks something that it needs")
    plain = isinstance(state["missing_values"], str | int | float | None)
    _check(plain, "missing_values of SimpleImputer is not as it should be")
    text = state["statistics_"].dtype.kind in "OU"
    kinds = [state[name].kind for name in {"_fit_dtype", "_fill_dtype"} & state.keys()]
    right = all((kind == "O") == text for kind in kinds)
    _check(right, "SimpleImputer fills in something else than it was fitted to")
    plain = state["strategy"] in ("constant", "most_frequent")
    _check(plain or not text, "SimpleImputer has no numbers to fill in")


@_agreement("SVC", "SVR")
def _check_machine(state: State) -> None:
    counts = state["_n_support"]
    used = counts.sum() if "classes_" in state else counts[0]
    _check(bool(used == len(state["support_"])), "_n_support and support_ disagree")
    ties = state.get("break_ties") and state["decision_function_shape"] == "ovo"
    _check(not ties, "SVC breaks ties between pairs of classes")


@_agreement("KNeighborsClassifier", "KNeighborsRegressor")
def _check_neighbours(state: State) -> None:
    _check(1 <= state["n_neighbors"] <= state["n_samples_fit_"], "there are too few neighbours")
    _check(state["p"] > 0, "p of the metric is not positive")
    given = dict(state["effective_metric_params_"])
    power, weights = given.pop("p", 1), given.pop("w", None)
    right = not given and weights is None and type(power) in (int, float) and power > 0
    _check(right, "metrics may have the parameter p")


@_agreement("OneHotEncoder")
def _check_encoder(state: State) -> None:
    """Ones are written into a matrix where these numbers say, unchecked."""
    none = [None] * state["n_features_in_"]
    enabled = state["_infrequent_enabled"]
    rare = state["_infrequent_indices"] if enabled else none
    maps = state["_default_to_infrequent_mappings"] if enabled else none
    drop, grouped = (
        none if state[name] is None else state[name].tolist()
        for name in ("drop_idx_", "_drop_idx_after_grouping")
    )
    _check(drop == grouped, "drop_idx_ of OneHotEncoder disagrees")
    columns = zip(state["categories_"], rare, maps, drop, none, strict=True)
    widths = [_width_of_column(*each[:-1]) for each in columns]
    _check(widths == list(state["_n_features_outs"]), "_n_features_outs disagrees")


def _width_of_column(known: Any, few: Any, way: Any, dropped: Any) -> int:
    """Return how many columns the categories of one become."""
    size = len(known)
    if known.dtype.kind in "iuf":
        numbers = known[:-1] if size and np.isnan(known[-1]) else known
        _check(bool((numbers[1:] > numbers[:-1]).all()), "categories_ are not sorted")
    _check(dropped is None or (few is None and 0 <= dropped < size), "drop_idx_ is out of range")
    if few is None:
        _check(way is None, "infrequent categories disagree")
        return size - (dropped is not None)
    _check(few.dtype.kind == "i" and len(few) > 0 and few.min() >= 0, "no infrequent categories")
    frequent = np.setdiff1d(np.arange(size), few)
    expected = np.full(size, len(frequent))
    expected[frequent] = np.arange(len(frequent))
    right = few.max() < size and np.array_equal(expected, way)
    _check(bool(right), "infrequent categories disagree")
    return len(frequent) + 1


@_agreement(
    "DomainRanks", "DomainScaler", "MaxAbsScaler", "MinMaxScaler", "RobustScaler", "StandardScaler"
)
def _check_scaler(state: State) -> None:
    """Refuse a scaler that lacks what it subtracts or divides by, or divides by zero."""
    needs = {"with_mean": "mean_", "with_std": "scale_"}
    needs |= {"with_centering": "center_", "with_scaling": "scale_"}
    for asked, name in needs.items():
        _check(not state.get(asked) or state[name] is not None, f"a scaler has no {name}")
    for name in {"scale_", "scales_"} & state.keys():
        _check(state[name] is None or bool((state[name] != 0).all()), f"{name} holds a zero")
    if "quantiles_" in state:
        right = len(state["quantiles_"]) == len(state["means_"]) and all(
            map(len, state["quantiles_"])
        )
        _check(right, "a domain has no quantiles")


@_agreement("LinearDiscriminantAnalysis")
def _check_discriminant(state: State) -> None:
    needs = {"svd": {"scalings_", "xbar_"}, "eigen": {"scalings_"}, "lsqr": set()}
    _check(needs[state["solver"]] <= state.keys(), "the axes of the discriminants are missing")


@_agreement("Pipeline", "DomainPipeline")
def _check_steps(state: State) -> None:
    steps = state["steps"]
    right = len(steps) > 0 and all(
        isinstance(each, tuple) and len(each) == 2 and isinstance(each[0], str) for each in steps
    )
    _check(right and len({name for name, _ in steps}) == len(steps), "steps make no pipeline")
    passes = (None, "passthrough")
    for _, step in steps[:-1]:
        right = step.can("transform") if isinstance(step, Part) else step in passes
        _check(right, "a step is no transformer")
    last = steps[-1][1]
    _check(last.can("fit") if isinstance(last, Part) else last in passes, "a step is no estimator")
    inside = [each for _, step in steps if isinstance(step, Part) for each in step.inner]
    if not any(map(_is_fitted, inside)):
        return
    _check(all(map(_is_fitted, inside)), "some steps are fitted, and others not")
    for first, then in pairwise(inside):
        agree = None in (first.gives, then.width) or first.gives == then.width
        _check(agree, f"{first.kind} makes other features than {then.kind} takes")
    _leave_gaps(inside)


def _leave_gaps(steps: list[Part]) -> bool:
    """Tell whether steps make NaN of any sample; refuse those that do so before one that minds."""
    gaps = False
    for step in steps:
        _check(not gaps or _takes_gaps(class_of(step.name)), f"{step.kind} would be given NaN")
        gaps = (gaps and step.kind in AS_WIDE) or _makes_gaps(step)
    return gaps


def _makes_gaps(part: Part) -> bool:
    """Tell a scaler of a column that was empty in the fit."""
    if part.kind == "ColumnTransformer":
        ways = [way for _, way, _ in part.state["transformers_"] if isinstance(way, Part)]
        return any(_leave_gaps(way.inner) for way in ways)
    found = [part.state.get(name) for name in ("mean_", "center_", "min_", "scale_")]
    return any(isinstance(each, np.ndarray) and bool(np.isnan(each).any()) for each in found)


@cache
def _takes_gaps(kind: type) -> bool:
    return bool(get_tags(kind()).input_tags.allow_nan)


_WAYS = ("drop", "passthrough")  # of columns without a transformer


@_agreement("ColumnTransformer")
def _check_columns(state: State) -> None:
    for name in ("transformers", "transformers_"):
        for each in state.get(name, ()):
            right = isinstance(each, tuple) and len(each) == 3 and isinstance(each[0], str)
            _check(right, "transformers make no ColumnTransformer")
            way, columns = each[1:]
            right = way in _WAYS if not isinstance(way, Part) else way.can("transform")
            _check(right, "no transformer")
            plain = isinstance(columns, list | str | int | slice)
            names = columns if isinstance(columns, list) else []
            plain = plain and all(isinstance(one, str | int) for one in names)
            _check(plain, "columns are given by name or place")
            known = set(state.get("feature_names_in_", names))
            _check(all(one in known for one in names if isinstance(one, str)), "no such column")
    if "transformers_" in state:
        _check_fitted_columns(state)


def _check_fitted_columns(state: State) -> None:
    """Refuse transformers of other columns than were asked for, or than each takes."""
    asked = [(name, columns) for name, _, columns in state["transformers"]]
    found = [(name, columns) for name, _, columns in state["transformers_"]]
    _check([each for each in found if each[0] != "remainder"] == asked, "transformers_ disagree")
    numbers = range(state["n_features_in_"])
    at = dict(zip(state.get("feature_names_in_", ()), numbers, strict=False))
    places = state["_transformer_to_input_indices"]
    for name, way, columns in state["transformers_"]:
        if isinstance(columns, list):
            own = [at[one] if isinstance(one, str) else numbers[one] for one in columns]
            _check(list(places[name]) == own, "_transformer_to_input_indices disagree")
        n = len(places[name])
        _check(all(place in numbers for place in places[name]), "no such column")
        if isinstance(way, Part):
            _check(_is_fitted(way) and way.width in (None, n), f"{name} takes other columns")


def _predicts_a_number(part: Part) -> bool:
    """Tell a regressor of one output."""
    last = part.inner[-1]
    several = any(np.ndim(last.state.get(name, ())) > 1 for name in ("coef_", "_y"))
    return issubclass(class_of(last.name), RegressorMixin) and not several


@_agreement("ChampionClassifier", "ChampionRegressor", "HedgedRegressor")
def _check_members(state: State) -> None:
    inside = [*state.get("contenders_", ()), *state.get("members_", ())]
    _check(len(inside) > 0, "there are no members")
    if "scaler_" in state:
        scaler, p = state["scaler_"], state["n_features_in_"]
        right = scaler.gives in (None, p) and not _leave_gaps(scaler.inner)
        _check(right, "scaler_ makes other samples than the members take")
    for member in inside:
        estimator = member.state["estimator"]
        _check(estimator.width in (None, state["n_features_in_"]), "a member takes other features")
        if "classes_" in state:
            _check(estimator.can("predict_proba"), "a member has no probabilities")
            codes = estimator.inner[-1].state["classes_"]
            right = codes.dtype.kind in "iu" and len(codes) > 0 and codes.min() >= 0
            _check(right and codes.max() < len(state["classes_"]), "a member has other classes")
        else:
            _check(_predicts_a_number(estimator), "a member does not predict one number")
    if "contenders_" in state:
        names = [each.state["name"] for each in state["contenders_"]]
        _check(state["champion_"] in names, "champion_ is none of the contenders")


@_agreement("HedgedClassifier")
def _check_hedged_classifier(state: State) -> None:
    _check_members(state)
    for each in state["members_"]:
        right = each.state["name"] != SELF_TRAINED or each.state["estimator"].kind == SELF_TRAINED
        _check(right, "a member has the name of another")


@_agreement("DomainGeneralizer")
def _check_generalizer(state: State) -> None:
    _check_members(state)
    names = [Member(**each.state).title for each in state["members_"]]
    _check(all(name in state["powers_"] for name in names), "a member has no power")


@_agreement("_Side", "MeanEmbeddings")
def _check_kept(state: State) -> None:
    """Refuse samples of a kernel that takes rows of a Gram matrix, and vice versa."""
    kept = state["X"] if "X" in state else state["samples"]
    _check((kept is None) == _is_gram(state["kernel"]), "no samples for the kernel")


@_agreement("HFA", "MarginalKernelSVM")
def _check_rows_of_kept(state: State) -> None:
    """Refuse rows that the Gram matrix does not have."""
    for name in ("_source", "_target", "_embeddings"):
        if name in state and _is_gram(state[name].state["kernel"]):
            _check_rows(state[name].state["rows"], state)


@_agreement("UndoBias")
def _check_blocks(state: State) -> None:
    _check(state["_weights"] is not None or "X_fit_" in state, "UndoBias has no X_fit_")


@_agreement("SCAClassifier")
def _check_paths(state: State) -> None:
    n, p = len(state["classes_"]), state["n_features_in_"]
    _check(len(state["paths_"]) == len(state["candidates_"]) > 0, "paths_ and candidates_ disagree")
    shared: dict[str, Any] = {}
    for path, candidate in zip(state["paths_"], state["candidates_"], strict=True):
        scaler, components = path.state["scaler"], path.state["components"]
        scaling = candidate.state["scaling"]
        right = path.state["neighbours"].state["_y"].shape[1:] == (n,)
        right &= (scaler or components).width == p and (scaler is None) == (scaling == "none")
        # New samples meet those of one scaling once, for all its paths.
        samples = components.state.get("X_fit_")
        right &= np.array_equal(samples, shared.setdefault(scaling, samples))
        _check(right, "paths_ disagree")


@_agreement("_Path")
def _check_path(state: State) -> None:
    """Refuse steps of self-training that make other features than the next one takes."""
    steps = [state[name] for name in ("scaler", "components", "neighbours")]
    for first, then in pairwise([step for step in steps if step is not None]):
        _check(first.gives == then.width, "the steps of a path disagree")


@_agreement("TableModel")
def _check_table(state: State) -> None:
    for name in ("adapted", "plain"):
        steps = state[name].state["steps"]
        first = steps[0][1]
        named = isinstance(first, Part) and "feature_names_in_" in first.state
        right = named and first.kind == "ColumnTransformer" and len(steps) > 1
        _check(right and state[name].can("predict"), f"{name} is no pipeline of a table")
    adapted, plain = (state[name] for name in ("adapted", "plain"))
    if _predicts_a_number(adapted):
        right = adapted.can("predict_interval") and _predicts_a_number(plain)
    else:
        right = all("classes_" in each.inner[-1].state for each in (adapted, plain))
    _check(right, "adapted and plain predict different things")
    for name in ("sources", "targets", "na_values"):
        _check(_all_text(state["settings"].get(name, [])), f"{name} are no names")
    units = state["settings"].get("units", {})
    right = isinstance(units, dict) and all(_all_text(each) and each for each in units.values())
    _check(right, "units are no names")
    _check(all(type(each) is int for each in state["numbers"].values()), "numbers are no numbers")


def _all_text(values: Any) -> bool:
    return isinstance(values, list | tuple) and all(isinstance(each, str) for each in values)
