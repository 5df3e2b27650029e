"""A diagnosis finds what is there, raises no false alarm, and says what it cannot tell."""

from __future__ import annotations

import json
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from scipy.stats import binomtest

from skatter._notebook import Section
from skatter.diagnosis import _pairs as pairs
from skatter.diagnosis import diagnose
from skatter.diagnosis._layout import cells, section_as_text
from skatter.diagnosis._samples import draw, quota, standardise
from skatter.domains import read_domains

pytestmark = pytest.mark.usefixtures("few_trees")

HOSTILE = "<script>alert(1)</script>\x1b[31m[bold]\n"


@pytest.fixture
def few_trees(monkeypatch):
    monkeypatch.setattr(pairs, "N_TREES", 20)


def shifted(n=80, n_features=6, seed=0, by=1.5):
    """Two domains that differ in the feature x2; classes lie along x0; only "here" has labels."""
    rng = np.random.default_rng(seed)
    domain = np.repeat(["here", "there"], n)
    y = rng.integers(0, 2, 2 * n)
    X = rng.normal(size=(2 * n, n_features))
    X[:, 0] += 2 * y
    X[domain == "there", 2] += by
    return X, np.where(domain == "here", y, -1), domain


@pytest.fixture(scope="module")
def found():
    X, y, domain = shifted()
    return diagnose(X, y, sample_domain=domain)


# --- what it finds --------------------------------------------------------------------------------


def test_a_shift_is_found_in_the_feature_that_has_it(found):
    assert found.shift
    assert found.features[0].name == "x2"
    assert [feature.name for feature in found.features if feature.moved] == ["x2"]
    assert found.features[0].mean_difference > 1
    assert found.pairs[0].differ
    assert found.words.startswith("Yes, there is a shift: here and there differ.\n")
    assert "most of all x2;" in found.words


def test_without_a_shift_false_alarms_are_as_rare_as_the_level(few_trees):
    alarms = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X, domain = rng.normal(size=(90, 5)), np.repeat(["a", "b", "c"], 30)
        alarms += diagnose(X, sample_domain=domain, n_permutations=200, random_state=seed).shift
    assert binomtest(alarms, 40, 0.05, alternative="greater").pvalue > 0.01


def test_no_shift_found_is_not_called_equality(few_trees):
    rng = np.random.default_rng(0)
    words = diagnose(rng.normal(size=(60, 2)), sample_domain=np.repeat([1, 2], 30)).words
    assert words.startswith("No shift was found between domain 1 and domain 2. This is no proof")
    assert "30 samples in the smallest" in words
    assert "Next: train as usual" in words


def test_only_the_domain_that_differs_is_in_pairs_that_differ(few_trees):
    rng = np.random.default_rng(0)
    domain = np.repeat(["a", "b", "c", "d"], 60)
    X = rng.normal(size=(240, 3))
    X[domain == "c"] += 2
    found = diagnose(X, sample_domain=domain)
    differ = {(pair.first, pair.second) for pair in found.pairs if pair.differ}
    assert differ == {("a", "c"), ("b", "c"), ("c", "d")}
    assert "3 of 6 pairs of the 4 domains differ" in found.words
    assert "No difference was found between" in found.words
    far = found.distances
    np.testing.assert_array_equal(far, far.T)
    assert far[2, [0, 1, 3]].min() > 10 * np.abs(far[0, [1, 3]]).max()


def test_a_difference_in_how_features_go_together_is_seen():
    """Every feature is the same on its own; only their correlation turns around."""
    rng = np.random.default_rng(0)
    u = rng.normal(size=(400, 1))
    X = np.hstack([u, u]) + 0.3 * rng.normal(size=(400, 2))
    domain = np.repeat(["a", "b"], 200)
    X[domain == "b", 1] *= -1
    found = diagnose(X, sample_domain=domain)
    assert found.shift
    assert not any(feature.moved for feature in found.features)
    assert "It lies in how features go together." in found.words


def test_unlabelled_domains_are_said_not_guessed(found):
    assert found.labels.shifted is None
    assert "Whether labels shift cannot be told: only one domain is labelled." in found.words
    assert "there has no labels: its class balance cannot be told from labels." in found.words
    assert "adapting is worth a try" in found.words


def test_labels_of_no_class_are_not_needed(few_trees):
    X, _, domain = shifted(40)
    found = diagnose(X, sample_domain=domain)
    assert (found.labels, found.transfer) == (None, None)
    assert "No label is known, so nothing can be said of labels." in found.words


def test_labels_that_nothing_predicts_tell_nothing_of_their_relation(few_trees):
    rng = np.random.default_rng(0)
    X, y, domain = rng.normal(size=(200, 3)), rng.integers(0, 2, 200), np.repeat(["a", "b"], 100)
    words = diagnose(X, y, sample_domain=domain).words
    assert "hardly predicts labels even where it was trained" in words


def test_domains_standardised_on_their_own_are_noticed(few_trees):
    rng = np.random.default_rng(0)
    domain = np.repeat(["a", "b"], 150)
    X = np.where(
        (domain == "a")[:, None], rng.normal(size=(300, 12)), rng.exponential(size=(300, 12))
    )
    for d in "ab":
        X[domain == d] = standardise(X[domain == d])[0]
    found = diagnose(X, sample_domain=domain)
    assert found.shift
    assert "as if each domain had been standardised on its own" in found.words


# --- invariances ----------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_answer_and_input_is_left_alone(few_trees):
    X, y, domain = shifted(50)
    X[3, 1] = np.nan
    before = X.copy()
    one, other = (diagnose(X, y, sample_domain=domain, random_state=4) for _ in range(2))
    assert one.to_dict() == other.to_dict()
    np.testing.assert_array_equal(X, before)


def test_units_of_the_features_change_nothing(few_trees):
    X, y, domain = shifted(50)
    scaled = X * np.array([1e-6, 1.0, 1e9, 3.0, 1e3, 1.0]) + np.array([5.0, 0, 1, 2, 3, 4])
    one, other = (diagnose(data, y, sample_domain=domain) for data in (X, scaled))
    for a, b in zip(one.features, other.features, strict=True):
        assert (a.name, a.moved) == (b.name, b.moved)
        assert a.distance == pytest.approx(b.distance, abs=1e-9)
    assert one.pairs[0].mmd == pytest.approx(other.pairs[0].mmd, abs=1e-6)


def test_names_of_domains_change_nothing_but_names(few_trees):
    X, y, domain = shifted(50)
    renamed = diagnose(X, y, sample_domain=np.where(domain == "here", 1, 2))
    plain = diagnose(X, y, sample_domain=domain)
    assert [replace(f, first="", second="") for f in plain.features] == [
        replace(f, first="", second="") for f in renamed.features
    ]
    assert renamed.pairs[0].auc == plain.pairs[0].auc


# --- drawing and imputing -------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [20, 37, 60, 100, 1000])
def test_samples_are_drawn_alike_and_as_many_as_fit(budget):
    domains = read_domains(None, np.repeat(["a", "b", "c"], [6, 40, 90]))
    rows = draw(domains, np.arange(3), budget, np.random.default_rng(0))
    counts = np.bincount(domains.domain[rows])
    assert len(np.unique(rows)) == len(rows) <= budget
    assert counts.tolist() == np.minimum([6, 40, 90], counts.max()).tolist()
    one_more = np.minimum([6, 40, 90], counts.max() + 1).sum()
    assert one_more > budget or len(rows) == 136


def test_quota_leaves_every_domain_the_least_to_compare():
    assert quota(np.array([500] * 30), 60) == 5


def test_many_samples_are_drawn_and_it_is_said(few_trees):
    X, y, domain = shifted(400)
    found = diagnose(X, y, sample_domain=domain, max_samples=100)
    assert (found.n_samples, found.n_drawn) == (800, 100)
    assert [facts.n_drawn for facts in found.domains] == [50, 50]
    assert sum(found.labels.counts[0]) == 400  # class balance is that of all samples
    assert any("100 of 800 samples were drawn" in note for note in found.notes)


def test_missing_values_are_imputed_by_the_median_and_their_rates_reported(few_trees):
    X, _, domain = shifted(50, by=0.0)
    X[:20, 1] = np.nan
    X[50:55, 1] = np.nan
    X[:2, 4] = np.nan
    found = diagnose(X, sample_domain=domain)
    worst = found.missing[0]
    assert (worst.name, worst.second) == ("x1", "here")
    assert (worst.highest, worst.lowest) == pytest.approx((0.4, 0.1))
    assert [facts.missing for facts in found.domains] == pytest.approx([22 / 300, 5 / 300])
    assert "x1 in 40 % of the samples of here and 10 % of those of there" in found.words
    assert any("replaced by the median" in note for note in found.notes)
    filled = X.copy()
    filled[:, 1] = np.where(np.isnan(X[:, 1]), np.nanmedian(X[:, 1]), X[:, 1])
    filled[:, 4] = np.where(np.isnan(X[:, 4]), np.nanmedian(X[:, 4]), X[:, 4])
    assert diagnose(filled, sample_domain=domain).features == found.features


def test_constant_and_empty_columns_have_no_say(few_trees):
    X, _, domain = shifted(40)
    X[:, 0], X[:, 1] = 7.0, np.nan
    found = diagnose(X, sample_domain=domain)
    assert found.constant == ("x0", "x1")
    assert {f.p_value for f in found.features if f.name in found.constant} == {1.0}
    assert found.features[0].name == "x2"


def test_numbers_near_the_largest_float_are_compared(few_trees):
    X, _, domain = shifted(40)
    X[:, 3] = np.where(domain == "there", 1.7e308, 1.6e308)
    assert diagnose(X, sample_domain=domain).features[0].name == "x3"


def test_a_domain_of_one_or_two_samples_is_left_aside_and_said(few_trees):
    X, _, domain = shifted(40)
    domain = np.where(np.isin(np.arange(80), [0, 1]), "two", domain)
    domain[5] = "one"
    found = diagnose(X, sample_domain=domain)
    assert found.compared == ("here", "there")
    assert any("one (1) and two (2)" in note for note in found.notes)


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sample_domain": ["a"] * 40}, "one domain only .a.*nothing to compare"),
        ({"sample_domain": ["a"] * 37 + ["b"] * 3}, "two are needed"),
        ({"sample_domain": ["a"] * 20}, "Lengths differ"),
        ({"X": [["red"]] * 40}, "not a number"),
        ({"X": np.full((40, 1), np.inf)}, "X contains infinity"),
        ({"feature_names": ["a", "b", "c"]}, "3 names, and X has 2 columns"),
        ({"n_permutations": 5}, "n_permutations must be at least 19"),
        ({"level": 0.0}, "level must lie in"),
        ({"max_samples": 3}, "max_samples must be at least 20"),
    ],
    ids=[
        "one-domain",
        "too-small",
        "lengths",
        "text",
        "infinite",
        "names",
        "permutations",
        "level",
        "samples",
    ],
)
def test_bad_input_is_refused_with_a_remedy(change, message):
    given = {"X": np.zeros((40, 2)), "sample_domain": ["a"] * 20 + ["b"] * 20, **change}
    with pytest.raises(ValueError, match=message):
        diagnose(**given)


def test_too_many_domains_are_refused():
    with pytest.raises(ValueError, match=r"101 domains.*at most 100"):
        diagnose(np.zeros((505, 1)), sample_domain=np.repeat(np.arange(101), 5))


# --- how it is shown ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hospitals():
    """Thirty domains of different sizes, one class more frequent in some, a feature that moved."""
    rng = np.random.default_rng(0)
    number = np.repeat(np.arange(30), rng.integers(12, 30, 30))
    y = (rng.uniform(size=len(number)) < np.where(number < 10, 0.8, 0.3)).astype(int)
    X = rng.normal(size=(len(number), 4)) + y[:, None]
    X[:, 1] += 3 * (number > 24)
    names = np.array([f"the hospital of the town number {i:02d}" for i in range(30)])
    return diagnose(X, y, sample_domain=names[number], n_permutations=50, level=0.5)


@pytest.mark.parametrize("width", [60, 80, 200])
def test_no_line_is_longer_than_the_terminal(found, hospitals, width):
    for diagnosis in (found, hospitals):
        for _, text in diagnosis.sections(width):
            assert max(cells(line) for line in text.splitlines()) <= width
    assert max(len(line) for line in str(hospitals).splitlines()) <= 80


def test_thirty_domains_show_the_pairs_that_differ_most_and_a_map_of_all(hospitals):
    assert len(hospitals.pairs) == 435
    titles = dict(hospitals.sections(80))
    assert "425 more pairs" in " ".join(titles["Which domains differ"].split())
    rows = titles["All pairs at a glance"].splitlines()[2:32]
    grid = [row[-59:].replace(" ", "") for row in rows]
    place = {name: i for i, name in enumerate(hospitals.compared)}
    for pair in hospitals.pairs:
        shown = grid[place[pair.first]][place[pair.second]]
        assert shown == grid[place[pair.second]][place[pair.first]]
        assert (shown != ".") == pair.differ


def test_everything_is_ready_for_json(found, hospitals):
    for diagnosis in (found, hospitals):
        said = json.loads(json.dumps(diagnosis.to_dict(), allow_nan=False))
        assert said["shift"] is diagnosis.shift
        assert said["words"] == diagnosis.words.splitlines()
        assert len(said["features"]) == len(diagnosis.features)
        assert said["pairs"][0]["auc"] == diagnosis.pairs[0].auc


def test_names_stay_text_in_html_and_on_the_terminal(few_trees):
    X, y, domain = shifted(30)
    labels = np.where(y == -1, None, np.where(y == 1, HOSTILE, "no")).astype(object)
    found = diagnose(
        X,
        labels,
        sample_domain=np.where(domain == "here", HOSTILE, "there"),
        feature_names=[HOSTILE + str(j) for j in range(6)],
    )
    tags = set()

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attrs):
            tags.add(tag)

    Reader().feed(found._repr_html_())
    assert "script" not in tags
    assert {"table", "details", "p"} <= tags
    assert "\x1b" not in str(found) + found._repr_html_()
    assert "<script>" in str(found)


def test_columns_of_figures_line_up_with_wide_characters():
    grid = Section("t", (), ("name", "n"), (("脈拍", "1"), ("pulse", "22")))
    lines = section_as_text(grid, 80).splitlines()
    assert {cells(line) for line in lines} == {cells(lines[0])}


def test_p_values_at_the_floor_of_the_permutations_are_bounds(found):
    pair = found.pairs[0]
    assert pair.mmd_p_value == found.floor == 1 / 201
    assert any("1/201" in note for note in found.notes)
    assert "≤ 0.0" in dict(found.sections())["Which domains differ"]


def test_progress_is_told_every_step(few_trees):
    X, y, domain = shifted(30)
    steps = []
    diagnose(X, y, sample_domain=domain, progress=steps.append)
    assert len(steps) == len(set(steps)) == 5


def test_a_data_frame_names_its_features(require, few_trees):
    pandas = require("pandas")
    X, y, domain = shifted(30)
    frame = pandas.DataFrame(X, columns=list("uvwxyz"))
    found = diagnose(frame, pandas.Series(y), sample_domain=pandas.Series(domain))
    assert found.features[0].name == "w"


# --- tables ---------------------------------------------------------------------------------------


def test_a_table_and_its_samples_are_diagnosed_alike(require):
    pandas = require("pandas", "table")
    rng = np.random.default_rng(0)
    site = np.repeat(["here", "there"], 60)
    frame = pandas.DataFrame(rng.normal(size=(120, 2)), columns=["age", "dose"])
    frame.loc[site == "there", "dose"] += 1
    kind = np.tile(["a", "b"], 60)
    direct = diagnose(frame, kind, sample_domain=site)
    table = frame.assign(site=site, kind=kind)
    found = diagnose(table, label="kind", domain="site")
    assert found.words == direct.words
    with pytest.raises(TypeError, match="Give sample_domain"):
        diagnose(frame)


def test_a_feature_that_is_constant_in_one_domain_has_no_ratio_of_spreads():
    rng = np.random.default_rng(0)
    X, site = rng.normal(size=(100, 2)), np.repeat(["a", "b"], 50)
    X[site == "a", 0] = 0.1 + 0.2  # a constant that rounding blurs when it is centred
    shift = next(f for f in diagnose(X, sample_domain=site).features if f.name == "x0")
    assert shift.spread_ratio is None


def test_text_that_is_missing_unequally_is_listed(require):
    pandas = require("pandas", "table")
    rng = np.random.default_rng(0)
    site = np.repeat(["here", "there"], 100)
    ward = np.where(rng.uniform(size=200) < np.where(site == "here", 0.9, 0.01), None, "x")
    ward[(site == "there") & (rng.uniform(size=200) < 0.5)] = "y"
    frame = pandas.DataFrame({"dose": rng.normal(size=200), "ward": ward, "site": site})
    found = diagnose(frame, domain="site")
    empty = frame["ward"].isna().groupby(site).mean()
    assert found.missing[0].name == "ward"
    assert found.missing[0].highest == pytest.approx(empty["here"])
    assert "Values are missing unequally: ward" in found.words


def test_a_column_that_looks_like_the_label_is_left_out_with_a_word(require):
    pandas = require("pandas", "table")
    rng = np.random.default_rng(0)
    site = np.repeat(["here", "there"], 60)
    ill = np.where(site == "here", rng.choice(["yes", "no"], 120), None)
    frame = pandas.DataFrame({"dose": rng.normal(size=120), "ill": ill, "site": site})
    found = diagnose(frame, domain="site")
    assert [feature.name for feature in found.features] == ["dose"]
    assert "empty in all rows of there" in found.left_out["ill"]
    assert any("label='ill'" in note for note in found.notes)
    assert not diagnose(frame, label="ill", domain="site").left_out


def test_a_column_without_any_value_is_no_missing_value_and_others_are_counted_right(require):
    pandas = require("pandas", "table")
    rng = np.random.default_rng(0)
    site = np.repeat(["here", "there"], 100)
    gaps = {name: np.where(site == "there", np.nan, rng.normal(size=200)) for name in ("a", "b")}
    gaps["a"][150:] = gaps["b"][160:] = 1.0
    frame = pandas.DataFrame({"dose": rng.normal(size=200), **gaps, "none": np.nan, "site": site})
    found = diagnose(frame, domain="site")
    assert [each.name for each in found.missing] == ["b", "a"]
    assert "and 1 other feature likewise" in found.words


def test_classes_that_no_two_domains_share_have_no_conditional_scatter(require):
    pandas = require("pandas", "table")
    rng = np.random.default_rng(0)
    site = np.repeat(["here", "there"], 60)
    kind = np.where(site == "here", rng.choice(["a", "b"], 120), "c")
    frame = pandas.DataFrame({"x": rng.normal(size=120), "kind": kind, "site": site})
    assert diagnose(frame, label="kind", domain="site").variance.conditional_domain is None
    frame.loc[60:80, "kind"] = "a"
    assert diagnose(frame, label="kind", domain="site").variance.conditional_domain > 0
