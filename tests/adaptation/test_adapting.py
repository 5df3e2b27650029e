"""Adapting a table: predictions that a hedge made by hand gives too, and honest choices."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler

from skatter import SCA, SCACV, ChampionClassifier, HedgedClassifier, LandmarkMap
from skatter.adaptation import _compare as compare
from skatter.adaptation import _model as model
from skatter.adaptation import _plan as plan
from skatter.adaptation import adapt
from skatter.adaptation._compare import FEWEST_LABELS, Comparison, judge_by_labels
from skatter.adaptation._outcome import new_columns
from skatter.adaptation._plan import MethodError
from skatter.adaptation._roles import Prepared, assign_roles
from skatter.hedging import Judgement
from skatter.hedging import _champion as champion
from skatter.hedging import _classifier as classifier
from skatter.methods import METHODS
from skatter.selection._asking import Estimate, LabelVerdict
from skatter.tables import TableError, read_columns

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.usefixtures("few_trees"),
]

NEEDS_MORE = {"a-svm", "ea++", "easyadapt", "hfa", "marginal-svm", "undo-bias"}
"""Methods that need target labels, several sources or sets of rows."""


def make_frame(problem, known=None):
    frame = pd.DataFrame(
        np.array(problem.X), columns=[f"x{place}" for place in range(problem.X.shape[1])]
    )
    frame["town"] = problem.domain
    known = ~problem.unlabelled if known is None else known
    names = np.array(["ash", "elm", "oak"])[problem.y]
    frame["tree"] = np.where(known, names, None)
    return frame


@pytest.fixture(scope="module")
def frame(two_domains):
    return make_frame(two_domains)


@pytest.fixture(scope="module")
def truth(two_domains):
    return np.array(["ash", "elm", "oak"])[two_domains.y]


@pytest.fixture(scope="module")
def result(frame):
    return adapt(frame, label="tree", domain="town")


@pytest.fixture
def light(monkeypatch):
    """A hedge that is quickly fitted: logistic regression stands for all plain classifiers."""

    def one(X, n_classes, **given):
        return {"logistic": LogisticRegression(max_iter=500)}

    for module in (champion, classifier):
        monkeypatch.setattr(module, "standard_classifiers", one)


# --- the predictions ------------------------------------------------------------------------------


def test_predictions_are_those_of_a_hedge_and_a_champion_made_by_hand(result, two_domains, frame):
    X = StandardScaler().fit_transform(two_domains.X)
    hidden = two_domains.unlabelled
    given = {"y": frame["tree"].to_numpy(dtype=object), "sample_domain": two_domains.domain}
    found = result.predictions[hidden]
    for name, made in (("adapted", HedgedClassifier()), ("plain", ChampionClassifier())):
        shares = made.fit(X, **given).predict_proba(
            X[hidden], sample_domain=two_domains.domain[hidden]
        )
        assert found[f"{name}_tree"].tolist() == made.classes_[shares.argmax(axis=1)].tolist()
        np.testing.assert_allclose(found[f"{name}_confidence"], shares.max(axis=1), atol=1e-6)


def test_settings_tell_the_champion_and_the_members(result):
    settings, hedge = result.settings, result.model.adapted["hedged"]
    json.dumps(dict(settings))
    assert settings["method"] == "hedged"
    assert settings["champion"] == hedge.champion_.champion_
    assert settings["champion_scores"][settings["champion"]] == pytest.approx(
        max(hedge.champion_.scores_.values()), abs=1e-4
    )
    assert [each["name"] for each in settings["members"]] == [each.name for each in hedge.members_]
    assert sum(each["weight"] for each in settings["members"]) == pytest.approx(1, abs=1e-3)


@pytest.mark.usefixtures("light")
def test_rows_columns_and_their_order_are_kept_and_the_table_is_untouched(frame):
    shuffled = frame.sample(frac=1, random_state=3).set_index(np.arange(len(frame)) * 7)
    before = shuffled.copy()
    found = adapt(shuffled, label="tree", domain="town").predictions
    pd.testing.assert_frame_equal(shuffled, before)
    pd.testing.assert_frame_equal(found[list(before.columns)], before)
    added = ["predicted_tree", "confidence", "model", "adapted_tree", "adapted_confidence"]
    assert list(found.columns) == [*before.columns, *added, "plain_tree", "plain_confidence"]


def test_rows_with_a_label_are_not_predicted_and_all_others_are(result, frame):
    given = frame["tree"].notna().to_numpy()
    added = result.predictions.iloc[:, frame.shape[1] :]
    assert added[given].isna().all(axis=None)
    assert added[~given].notna().all(axis=None)


def test_the_shipped_model_fills_the_first_columns(result, frame):
    hidden = frame["tree"].isna()
    found = result.predictions[hidden]
    assert set(found["model"]) == {result.ship}
    assert found["predicted_tree"].tolist() == found[f"{result.ship}_tree"].tolist()
    assert found["confidence"].tolist() == found[f"{result.ship}_confidence"].tolist()
    assert result.answer.label.tolist() == found["predicted_tree"].tolist()


@pytest.mark.usefixtures("light")
def test_whole_numbers_are_predicted_as_whole_numbers(two_domains):
    frame = make_frame(two_domains)
    frame["tree"] = np.where(two_domains.unlabelled, np.nan, 3.0 * two_domains.y - 1)
    found = adapt(frame, label="tree", domain="town").predictions["predicted_tree"]
    assert found.dtype == "Int64"
    # -1 is a class here, and not a mark of an unlabelled row.
    assert set(found.dropna()) == {-1, 2, 5}


@pytest.mark.usefixtures("light")
def test_names_that_the_table_has_already_get_a_number(two_domains, truth):
    frame = make_frame(two_domains).rename(
        columns={"x0": "confidence", "x1": "model", "x2": "predicted_tree", "x3": "model_2"}
    )
    result = adapt(frame, label="tree", domain="town")
    assert list(result.predictions.columns[:7]) == list(frame.columns)
    assert list(result.predictions.columns[7:10]) == ["predicted_tree_2", "confidence_2", "model_3"]
    hidden = frame["tree"].isna().to_numpy()
    assert np.mean(result.predictions["predicted_tree_2"][hidden] == truth[hidden]) > 0.8


def test_predicting_in_chunks_changes_nothing(result, frame, monkeypatch):
    monkeypatch.setattr(model, "CHUNK", 5)
    parts = result.model.answers(frame)
    monkeypatch.setattr(model, "CHUNK", 10**6)
    for ship, answer in result.model.answers(frame).items():
        assert parts[ship].label.tolist() == answer.label.tolist()
        np.testing.assert_allclose(parts[ship].confidence, answer.confidence, atol=1e-6)


def test_the_same_table_and_seed_give_the_same_answer(result, frame):
    again = adapt(frame, label="tree", domain="town")
    pd.testing.assert_frame_equal(again.predictions, result.predictions)
    assert again.words == result.words


@pytest.mark.usefixtures("light")
def test_categories_missing_cells_and_left_out_columns_are_prepared_and_said(two_domains, truth):
    frame = make_frame(two_domains)
    frame.loc[::7, "x0"] = np.nan
    frame["soil"] = np.array(["clay", "sand", "peat"])[two_domains.y]
    frame["always"] = 1
    result = adapt(frame, label="tree", domain="town")
    hidden = frame["tree"].isna().to_numpy()
    assert np.mean(result.predictions["predicted_tree"][hidden] == truth[hidden]) > 0.9
    fates = {each.name: each.kind for each in result.columns}
    assert fates["soil"] == "category"
    assert fates["always"] == "constant"
    assert any("always" in each and "left out" in each for each in result.settings["columns"])
    assert "always" not in result.model.columns
    # A new table may lack what was not used, and hold categories never seen.
    new = frame.drop(columns=["always", "tree", "town"]).assign(soil="rock")
    assert len(result.model.predict(new)) == len(frame)


@pytest.mark.usefixtures("light")
def test_without_a_domain_column_labelled_rows_teach_unlabelled_ones(frame, truth):
    result = adapt(frame.drop(columns="town"), label="tree")
    hidden = frame["tree"].isna().to_numpy()
    assert np.mean(result.predictions["predicted_tree"][hidden] == truth[hidden]) > 0.8
    assert result.model.domain is None


def test_ignored_columns_and_hidden_labels_decide_nothing(frame, truth, result):
    spoilt = frame.assign(answer=np.random.default_rng(0).permutation(truth))
    again = adapt(spoilt, label="tree", domain="town", ignore=["answer"])
    pd.testing.assert_frame_equal(again.predictions.drop(columns="answer"), result.predictions)
    named = adapt(spoilt, label="tree", domain="town", features=[f"x{place}" for place in range(5)])
    pd.testing.assert_frame_equal(named.predictions.drop(columns="answer"), result.predictions)


# --- who teaches ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("light")
def test_a_domain_of_which_few_rows_are_labelled_is_a_target_that_knows_labels(two_domains, truth):
    some = ~two_domains.unlabelled | (np.arange(len(truth)) % 6 == 0)
    frame = make_frame(two_domains, some)
    result = adapt(frame, label="tree", domain="town")
    assert result.settings["targets"] == ["basel"]
    assert result.model.numbers == {"amsterdam": 1, "basel": -2}
    hidden = frame["tree"].isna().to_numpy()
    assert np.mean(result.predictions["predicted_tree"][hidden] == truth[hidden]) > 0.9
    assert any("labels that are there are learnt from" in each for each in result.words)
    # A domain that nobody has seen is taken for the target.
    new = frame.drop(columns="tree")
    there = result.model.predict(new[new["town"] == "basel"])
    assert result.model.predict(new[new["town"] == "basel"].assign(town="mars")).tolist() == (
        there.tolist()
    )


@pytest.mark.parametrize(
    ("shares", "targets"),
    [
        ({"a": 1.0, "b": 0.0}, ("b",)),
        ({"a": 1.0, "b": 0.2, "c": 0.0}, ("b", "c")),
        ({"a": 1.0, "b": 0.8}, ("b",)),
        ({"a": 0.4, "b": 0.2}, ("b",)),
    ],
    ids=["clear", "few labels", "most labels", "none is well known"],
)
def test_targets_are_the_domains_that_lack_labels(shares, targets):
    parts = [
        pd.DataFrame(
            {
                "x": np.arange(10.0),
                "site": site,
                "y": [("p", "q")[row % 2] if row < 10 * share else None for row in range(10)],
            }
        )
        for site, share in shares.items()
    ]
    samples = read_columns(pd.concat(parts, ignore_index=True), label="y", domain="site")
    roles = assign_roles(samples)
    assert roles.targets == targets
    domains = roles.domains
    named = np.unique(samples.sample_domain[domains.target])
    assert tuple(named) == targets


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"tree": None}, "no label at all"),
        ({"tree": "ash"}, "label in every row"),
        ({"town": "basel"}, "one domain only, basel:"),
        ({"tree": "distinct"}, "different values such as"),
        ({"tree": "single"}, "a single value, ash"),
    ],
    ids=["unlabelled", "labelled", "one domain", "distinct", "single class"],
)
def test_a_table_that_lacks_something_is_refused_with_the_column(frame, change, words):
    column, value = next(iter(change.items()))
    made = {
        "distinct": [f"n{row}" if row else None for row in range(len(frame))],
        "single": np.where(frame["tree"].isna(), None, "ash"),
    }
    table = pd.concat([frame] * 3, ignore_index=True) if value == "distinct" else frame
    if value == "distinct":
        made["distinct"] = [f"n{row}" if row else None for row in range(len(table))]
    with pytest.raises(TableError, match=words) as caught:
        adapt(table.assign(**{column: made.get(value, value)}), label="tree", domain="town")
    assert repr(column) in str(caught.value)


def test_a_single_row_to_predict_is_refused_with_the_remedy(frame, truth):
    row = int(np.flatnonzero(frame["tree"].isna())[0])
    alone = frame.assign(tree=np.where(np.arange(len(frame)) == row, None, truth))
    with pytest.raises(TableError, match=r"a single row of the target.*add rows"):
        adapt(alone.drop(columns="town"), label="tree")


def test_six_rows_are_enough():
    frame = pd.DataFrame(
        {"x": [0.0, 1.0, 0.2, 1.1, 0.1, 1.2], "y": ["p", "q", "p", "q", None, None]}
    )
    for name in ("auto", "sca", "coral"):
        assert adapt(frame, label="y", method=name).predictions["predicted_y"].count() == 2


# --- the method -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.usefixtures("light")
def test_every_method_is_usable_or_says_why_not(frame, truth, name):
    extra = METHODS[name].extra
    if extra and find_spec(extra) is None:
        with pytest.raises(MethodError, match="pip install"):
            adapt(frame, label="tree", domain="town", method=name)
        return
    if name in NEEDS_MORE:
        with pytest.raises(MethodError, match=name):
            adapt(frame, label="tree", domain="town", method=name)
        return
    result = adapt(frame, label="tree", domain="town", method=name)
    hidden = frame["tree"].isna().to_numpy()
    assert np.mean(result.predictions["adapted_tree"][hidden] == truth[hidden]) > 0.6
    assert result.settings["method"] == name
    json.dumps(dict(result.settings))
    has_shares = hasattr(result.model.adapted, "predict_proba")
    assert result.predictions["adapted_confidence"][hidden].notna().all() == has_shares


@pytest.mark.parametrize("name", ["a-svm", "hfa", "ea++", "easyadapt"])
@pytest.mark.usefixtures("light")
def test_methods_for_target_labels_work_where_there_are_some(two_domains, truth, name):
    some = ~two_domains.unlabelled | (np.arange(len(truth)) % 4 == 0)
    result = adapt(make_frame(two_domains, some), label="tree", domain="town", method=name)
    hidden = ~some
    assert np.mean(result.predictions["adapted_tree"][hidden] == truth[hidden]) > 0.8


def test_a_method_for_one_target_refuses_two(make_problem):
    problem = make_problem(3)
    frame = make_frame(problem, problem.domain == "amsterdam")
    with pytest.raises(MethodError, match=r"the table has 2 \(basel, cairo\)"):
        adapt(frame, label="tree", domain="town", method="coral")


@pytest.mark.usefixtures("light")
def test_several_sources_serve_the_methods_that_need_them(make_problem):
    problem = make_problem(3)
    result = adapt(make_frame(problem), label="tree", domain="town", method="undo-bias")
    assert result.settings["sources"] == ["amsterdam", "basel"]
    assert result.predictions["adapted_confidence"].isna().all()


def test_an_unknown_method_is_refused_before_any_work(frame, monkeypatch):
    monkeypatch.setattr(HedgedClassifier, "fit", lambda *args, **given: pytest.fail("worked"))
    with pytest.raises(ValueError, match="method must be one of"):
        adapt(frame, label="tree", domain="town", method="magic")


@pytest.mark.usefixtures("light")
def test_kernels_of_many_rows_get_an_explicit_map_of_landmarks_and_it_is_said(frame, monkeypatch):
    monkeypatch.setattr(plan, "EXACT_ROWS", 50)
    monkeypatch.setattr(plan, "N_LANDMARKS", 20)
    result = adapt(frame, label="tree", domain="town", method="sca")
    sca = result.model.adapted["sca"]
    assert isinstance(sca.feature_map_, LandmarkMap)
    assert sca.feature_map_.landmarks_.shape[0] == 20
    said = " ".join(result.words)
    assert "Method: sca" in said
    assert "landmarks" in said
    # What is lost of a row: its squared length in the feature space is 1.
    X = StandardScaler().fit_transform(frame[[f"x{place}" for place in range(5)]])
    lost = 1 - np.mean(np.sum(sca.feature_map_.transform(X) ** 2, axis=1))
    assert f"{100 * lost:.0f} % of a row" in said


@pytest.mark.usefixtures("light")
def test_a_method_that_holds_rows_times_rows_is_refused_for_many_rows(frame, monkeypatch):
    monkeypatch.setattr(plan, "EXACT_ROWS", 50)
    with pytest.raises(MethodError, match="rows × rows"):
        adapt(frame, label="tree", domain="town", method="tca")
    for name in ("auto", "coral", "usca"):
        adapt(frame, label="tree", domain="town", method=name)


# --- tuning ---------------------------------------------------------------------------------------


@pytest.mark.usefixtures("light")
def test_tuned_settings_of_sca_are_those_of_its_own_search(frame, two_domains):
    result = adapt(frame, label="tree", domain="town", method="sca", tune=True)
    X = StandardScaler().fit_transform(two_domains.X)
    search = SCACV(SCA(random_state=0), criterion="expected accuracy").fit(
        X, two_domains.known, sample_domain=two_domains.domain
    )
    assert result.settings["tuned"]["params"] == search.best_params_
    for name, value in search.best_params_.items():
        assert getattr(result.model.adapted["sca"], name) == value
    assert "no label of the target was used" in " ".join(result.words)


@pytest.mark.usefixtures("light")
def test_other_methods_are_tuned_over_their_grid_without_target_labels(frame):
    result = adapt(frame, label="tree", domain="town", method="coral", tune=True)
    tuned = result.settings["tuned"]
    assert tuned["params"]["ridge"] in METHODS["coral"].grid["ridge"]
    assert tuned["n_tried"] == tuned["n_settings"] == len(METHODS["coral"].grid["ridge"])


def test_the_hedge_has_nothing_to_tune(frame):
    with pytest.raises(MethodError, match="nothing to tune"):
        adapt(frame, label="tree", domain="town", tune=True)


# --- the plain model, the metric and the class frequencies ----------------------------------------


@pytest.mark.usefixtures("light")
def test_an_own_plain_model_is_the_one_that_is_compared(frame, two_domains):
    result = adapt(frame, label="tree", domain="town", plain=GaussianNB())
    X = StandardScaler().fit_transform(two_domains.X)
    hidden = two_domains.unlabelled
    model = GaussianNB().fit(X[~hidden], frame["tree"][~hidden])
    found = result.predictions[hidden]
    assert found["plain_tree"].tolist() == model.predict(X[hidden]).tolist()
    differ = np.sum(found["plain_tree"] != found["adapted_tree"])
    assert result.judgement.n_differ == differ
    assert result.settings["champion"] == "own"


@pytest.mark.usefixtures("light")
def test_metric_and_class_frequencies_reach_the_hedge(frame):
    shares = {"ash": 0.6, "oak": 0.1, "elm": 0.3}
    metric = "balanced accuracy"
    given = {"label": "tree", "domain": "town", "metric": metric}
    result = adapt(frame, class_frequencies=shares, **given)
    hedge = result.model.adapted["hedged"]
    np.testing.assert_allclose(hedge.class_frequencies_, [0.6, 0.3, 0.1])
    assert hedge.metric == result.judgement.metric == result.settings["metric"] == metric
    assert any(each.startswith("Expected balanced accuracy there") for each in result.words)


# --- the comparison -------------------------------------------------------------------------------


def judged(verdict):
    sure = Estimate(0.8, 0.7, 0.9)
    return Judgement(verdict, "", sure, 0.7, Estimate(0.1, 0.0, 0.2), 30, 3)


def decided(best, verdict="decided"):
    sure = dict.fromkeys(("adapted", "plain"), Estimate(0.8, 0.7, 0.9))
    other = "plain" if best == "adapted" else "adapted"
    gain = Estimate(0.1, 0.0, 0.2)
    return LabelVerdict(verdict, best, other, 0.97, sure, gain, 20, 0, (), 0.95, 0.9)


@pytest.mark.parametrize(
    ("verdict", "hedged", "ship"),
    [
        ("adapt", True, "adapted"),
        ("adapt", False, "adapted"),
        ("do not adapt", True, "plain"),
        ("do not adapt", False, "plain"),
        ("cannot tell", True, "adapted"),
        ("cannot tell", False, "plain"),
    ],
)
def test_what_is_shipped_follows_the_verdict_and_in_doubt_it_is_the_hedge(verdict, hedged, ship):
    assert Comparison(judged(verdict), None, hedged).ship == ship
    undecided = decided("plain" if ship == "adapted" else "adapted", "undecided")
    assert Comparison(judged(verdict), undecided, hedged).ship == ship


@pytest.mark.parametrize("best", ["adapted", "plain"])
@pytest.mark.parametrize("verdict", ["adapt", "do not adapt", "cannot tell"])
def test_labels_of_the_target_decide_whatever_was_expected(verdict, best):
    for hedged in (True, False):
        assert Comparison(judged(verdict), decided(best), hedged).ship == best


def test_domains_that_are_alike_ship_the_plain_model(make_problem):
    problem = make_problem(2, n=30)
    X = np.array(problem.X)
    X[:, -1] -= 2 * (problem.domain == "basel")
    result = adapt(make_frame(replace(problem, X=X)), label="tree", domain="town")
    assert result.judgement.verdict == "do not adapt"
    assert result.ship == "plain"
    assert "Adapting does not help here" in result.words[1]
    both = result.predictions[problem.unlabelled]
    assert both["predicted_tree"].tolist() == both["plain_tree"].tolist()


def test_the_judgement_is_that_of_the_hedge_which_is_shipped(result):
    assert result.judgement == result.model.adapted["hedged"].judgement_
    assert result.by_labels is None
    champion = result.model.adapted["hedged"].champion_
    assert result.model.plain["champion"] is champion
    assert f"The plain model is {champion.champion_}, the best of 4" in " ".join(result.words)


@pytest.mark.usefixtures("light")
def test_the_models_that_are_judged_are_those_that_are_shipped(frame, monkeypatch):
    asked = []

    def spy(self, X, adapted, plain, **given):
        asked.append((adapted, plain))
        return judged("adapt")

    monkeypatch.setattr(HedgedClassifier, "judge", spy)
    result = adapt(frame, label="tree", domain="town", method="coral")
    found = result.predictions[frame["tree"].isna()]
    assert asked[0][0].tolist() == found["adapted_tree"].tolist()
    assert asked[0][1].tolist() == found["plain_tree"].tolist()
    assert result.ship == "adapted"


@pytest.mark.usefixtures("light")
def test_a_comparison_on_a_draw_is_said(frame, monkeypatch):
    monkeypatch.setattr(compare, "MAX_ROWS", 20)
    result = adapt(frame, label="tree", domain="town", method="coral")
    said = "The models were compared on 20 of 36 rows without tree, drawn at random."
    assert result.words[-1] == said


def labelled_target(two_domains, n_labels):
    """A table whose target knows some labels, and models of which the adapted one knows all."""
    there = two_domains.unlabelled
    frame = make_frame(two_domains, ~there | (there & (np.cumsum(there) <= n_labels)))
    samples = read_columns(frame, label="tree", domain="town")
    table = Prepared.of(np.array(two_domains.X), samples, assign_roles(samples))
    names = dict(zip(two_domains.X[:, 0].tolist(), two_domains.y.tolist(), strict=True))

    def knows(X, sample_domain):
        return np.array(["ash", "elm", "oak"])[[names[value] for value in X[:, 0].tolist()]]

    def errs(X, sample_domain):
        return np.full(len(X), "ash")

    models = SimpleNamespace(
        adapted=SimpleNamespace(predict=knows), plain=SimpleNamespace(predict=errs)
    )
    return table, models


def test_labels_of_the_target_are_predicted_by_models_that_have_not_seen_them(two_domains):
    table, models = labelled_target(two_domains, 15)
    given = table.domains.target & table.domains.labelled
    hidden = []

    def refit(some):
        hidden.append(np.flatnonzero(table.domains.labelled & ~some.domains.labelled))
        return models

    found = judge_by_labels(refit, table, random_state=0)
    assert sorted(np.concatenate(hidden)) == np.flatnonzero(given).tolist()
    assert len(hidden) == 3
    assert (found.verdict, found.best, found.n_answered) == ("decided", "adapted", 15)


def test_too_few_labels_of_the_target_judge_nothing(two_domains):
    table, _ = labelled_target(two_domains, FEWEST_LABELS - 1)
    assert judge_by_labels(pytest.fail, table, random_state=0) is None


@pytest.mark.usefixtures("light")
def test_what_labels_of_the_target_say_is_told(two_domains):
    there = two_domains.unlabelled
    frame = make_frame(two_domains, ~there | (there & (np.cumsum(there) <= 12)))
    result = adapt(frame, label="tree", domain="town")
    assert result.by_labels.n_answered == 12
    assert "12 labels of the target" in " ".join(result.words[:3])


@pytest.mark.usefixtures("light")
def test_predictions_of_a_single_class_are_warned_of(frame):
    moved = frame.copy()
    there = frame["town"] == "basel"
    moved.loc[there, [f"x{place}" for place in range(5)]] = moved.loc[
        there, [f"x{place}" for place in range(5)]
    ] * 1e-3 + [400.0, 0, 0, 0, 0]
    result = adapt(moved, label="tree", domain="town", method="kfd")
    labels = result.predictions["predicted_tree"].dropna()
    assert labels.nunique() == 1
    assert any(each.startswith("Warning: every row is predicted") for each in result.words)


def test_a_draw_holds_both_sides_and_every_class():
    rng = np.random.default_rng(0)
    y = np.where(rng.uniform(size=3000) < 0.004, "rare", "common").astype(object)
    site = np.repeat(["a", "b"], [2000, 1000])
    frame = pd.DataFrame(
        {"x": rng.normal(size=3000), "site": site, "y": np.where(site == "a", y, None)}
    )
    samples = read_columns(frame, label="y", domain="site")
    roles = assign_roles(samples)
    table = Prepared.of(frame[["x"]].to_numpy(), samples, roles)
    drawn = table.draw(200, 0)
    assert len(drawn.X) == 200
    assert drawn.domains.target.sum() == 100
    assert np.sum(drawn.y == "rare") >= 5
    # Rows stay together: the sample, its label and its domain.
    where = {value: row for row, value in enumerate(table.X[:, 0].tolist())}
    rows = np.array([where[value] for value in drawn.X[:, 0].tolist()])
    assert drawn.y.tolist() == table.y[rows].tolist()
    assert drawn.sample_domain.tolist() == table.sample_domain[rows].tolist()
    assert table.draw(10**6, 0) is table


def test_answers_beside_a_table_without_rows_to_spare_keep_the_index(result, frame):
    answers = result.model.answers(frame)
    placed = new_columns(frame.set_index("x0"), answers, "plain", "tree")
    assert placed.index.tolist() == frame["x0"].tolist()
    assert placed["predicted_tree"].tolist() == answers["plain"].label.tolist()
