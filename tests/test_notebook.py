"""Notebooks show scikit-learn's diagram, and under it what was learnt, as text that stays text."""

from __future__ import annotations

import pickle
from html.parser import HTMLParser

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr

from skatter import (
    KPCA,
    SCA,
    SCACV,
    USCA,
    DomainGeneralizer,
    KernelFisher,
    SCAClassifier,
    make_domain_pipeline,
)
from skatter._formatting import join, number, percent
from skatter._notebook import html_of, listed_with_counts

pytestmark = pytest.mark.usefixtures("few_trees")

MODELS = {
    "SCA": SCA(n_components=2),
    "linear SCA": SCA(n_components=2, kernel="linear"),
    "USCA": USCA(n_components=2),
    "KernelFisher": KernelFisher(),
    "KPCA": KPCA(n_components=2),
    "SCACV": SCACV(n_components=[2], betas=[0.1, 0.5], deltas=[1.0]),
    "SCACV by folds": SCACV(n_components=[2], betas=[0.1, 0.5], deltas=[1.0], cv=2, refit=False),
    "SCAClassifier": SCAClassifier(ridges=[1e-3], n_rounds=2),
    "DomainGeneralizer": DomainGeneralizer(
        {"lines": LogisticRegression(), "near": KNeighborsClassifier(1)}
    ),
    "pipeline": make_domain_pipeline(StandardScaler(), SCA(2), KNeighborsClassifier(1)),
    "pipeline of two": make_domain_pipeline(KPCA(4), SCAClassifier(ridges=[1e-3], n_rounds=2)),
}
EVIL = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror='alert(2)'>",
    "</style></table>&lt;b&gt;",
    "\u202eevil\x1b[31m\x00",
]


class Reader(HTMLParser):
    """Tags, attributes and tables of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self.open: list[str] = []
        self.rows: list[list[str]] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("th", "td"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "td" in self.open or "th" in self.open:
            self.rows[-1][-1] += data


def summary(model):
    return Reader(html_of(model))


def facts(model):
    return {row[0]: row[1] for row in summary(model).rows if len(row) == 2}


def lines(model):
    """Wide rows, by their first cell."""
    return [row for row in summary(model).rows if len(row) > 2]


@pytest.fixture(scope="module", params=MODELS)
def fitted(request, two_domains):
    model = clone(MODELS[request.param])
    return model.fit(two_domains.X, two_domains.known, sample_domain=two_domains.domain)


@pytest.fixture
def sca(two_domains):
    return SCA(n_components=2).fit(
        two_domains.X, two_domains.known, sample_domain=two_domains.domain
    )


# --- what notebooks ask for -----------------------------------------------------------------------


def test_a_fitted_estimator_shows_its_diagram_and_then_a_table(fitted):
    bundle = fitted._repr_mimebundle_()
    assert bundle["text/plain"] == repr(fitted)
    page, table = bundle["text/html"], html_of(fitted)
    assert table.count("<details") == 1
    assert page.endswith(table)
    assert "sk-container-id" in page[: -len(table)]
    assert fitted._repr_html_().endswith(table)


@pytest.mark.parametrize("name", MODELS)
def test_an_estimator_that_is_not_fitted_shows_its_diagram_alone(name):
    model = clone(MODELS[name])
    assert html_of(model) == ""
    for page in (model._repr_mimebundle_()["text/html"], model._repr_html_()):
        assert "sk-container-id" in page
        assert "skatter-learnt" not in page


def test_displays_that_are_text_stay_text(fitted):
    with sklearn.config_context(display="text"):
        assert not hasattr(fitted, "_repr_html_")
        assert set(fitted._repr_mimebundle_()) == {"text/plain"}
    assert hasattr(fitted, "_repr_html_")


def test_showing_changes_nothing(fitted):
    before = pickle.dumps(vars(fitted))
    fitted._repr_mimebundle_()
    assert pickle.dumps(vars(fitted)) == before


def test_the_diagram_of_scikit_learn_still_works(fitted):
    assert "sk-container-id" in estimator_html_repr(fitted)


def test_the_table_stands_alone_and_is_well_formed(fitted):
    page = summary(fitted)
    assert page.open == []
    assert set(page.tags) <= {
        *("div", "style", "details", "summary", "table", "caption", "thead", "tbody"),
        *("tr", "th", "td", "bdi"),
    }
    assert set(page.attributes) <= {"class", "open", "scope"}
    assert "url(" not in html_of(fitted)
    assert "@import" not in html_of(fitted)


@pytest.mark.parametrize(
    "gone",
    [
        "scatter_",
        "domain_ids_",
        "residuals_",
        "candidates_",
        "cv_results_",
        "best_score_",
        "voters_",
    ],
)
def test_a_model_in_half_a_state_shows_at_least_its_diagram(fitted, gone):
    model = pickle.loads(pickle.dumps(fitted))
    for part in (model, *getattr(model, "named_steps", {}).values()):
        vars(part).pop(gone, None)
        if "eigenvalues_" in vars(part):
            part.eigenvalues_ = None
    assert "sk-container-id" in model._repr_mimebundle_()["text/html"]


# --- what is said ---------------------------------------------------------------------------------


def test_domains_and_classes_come_with_their_sizes(sca, two_domains):
    said = facts(sca)
    sizes = [f"{d} ({np.sum(two_domains.domain == d)})" for d in np.unique(two_domains.domain)]
    assert said["domains"] == " and ".join(sizes)
    known = two_domains.known
    assert said["classes"] == join([f"{c} ({np.sum(known == c)})" for c in range(3)])
    assert sca.domain_counts_.tolist() == [36, 36]
    assert sca.class_counts_.tolist() == [12, 12, 12]


def test_scatters_are_those_of_the_model_with_their_shares(sca):
    before, after = sca.scatter_["before"], sca.scatter_["after"]
    rows = {row[0]: row[1:] for row in lines(sca)}
    assert rows["scatter"] == ["before", "of total", "after", "of total"]
    for words, name in {
        "total": "total",
        "domain": "domain",
        "between-class": "between_class",
        "within-class": "within_class",
    }.items():
        cells = rows[words]
        for cell, share, scatters in ((*cells[:2], before), (*cells[2:], after)):
            value = getattr(scatters, name)
            assert float(cell.replace(",", "")) == pytest.approx(value, rel=5e-3)
            said = float(share.strip("<% "))
            assert said == pytest.approx(100 * value / scatters.total, abs=0.51)
    # No class is labelled in two domains here: nothing is said of a scatter that is not there.
    assert "conditional domain" not in rows


def test_the_route_and_the_components_are_named(sca, two_domains):
    said = facts(sca)
    assert said["route"] == "Gram matrix of 72 samples, solver auto"
    first, last = (f"{value:.3g}" for value in sca.eigenvalues_)
    assert said["components"].startswith(f"2, eigenvalues {first} to {last}, solved to ")
    linear = SCA(kernel="linear").fit(
        two_domains.X, two_domains.known, sample_domain=two_domains.domain
    )
    assert facts(linear)["route"] == "moments of 5 explicit features, solver auto"


def test_a_stream_is_described_without_being_solved(two_domains):
    half = len(two_domains.X) // 2
    model = SCA(kernel="linear")
    for rows in (slice(None, half), slice(half, None)):
        model.partial_fit(
            two_domains.X[rows], two_domains.known[rows], sample_domain=two_domains.domain[rows]
        )
    said = facts(model)
    assert said["stream"] == "2 chunks, 72 samples"
    assert said["components"] == "solved for when they are asked for"
    assert said["domains"] == "amsterdam (36) and basel (36)"
    assert "components_" not in vars(model)
    assert model.domain_counts_.tolist() == [36, 36]
    assert model.n_components_ == 5
    assert "eigenvalues" in facts(model)["components"]


def test_a_search_says_what_it_chose_and_by_what(two_domains):
    given = (two_domains.X, two_domains.known)
    search = clone(MODELS["SCACV"]).fit(*given, sample_domain=two_domains.domain)
    said = facts(search)
    best = search.best_params_
    assert said["chosen"] == f"n_components = 2, beta = {best['beta']:g}, delta = 1, of 2 settings"
    assert said["judged by"] == (f"scatter of the target's predictions, {search.best_score_:.3f}")
    assert said["components"].startswith("2, eigenvalues")
    folds = clone(MODELS["SCACV by folds"]).fit(*given, sample_domain=two_domains.domain)
    said = facts(folds)
    scores = [folds.cv_results_[f"split{f}_test_score"][folds.best_index_] for f in (0, 1)]
    assert f"{np.mean(scores):.3f} ± {np.std(scores):.3f}" in said["judged by"]
    assert "components" not in said


def test_a_panel_says_rounds_agreement_and_weights(two_domains):
    model = SCAClassifier(ridges=[1e-3, 1e-2], n_rounds=3)
    model.fit(two_domains.X, two_domains.known, sample_domain=two_domains.domain)
    rows = lines(model)[1:]
    assert len(rows) == 4
    for row, candidate in zip(rows, model.candidates_, strict=True):
        trust = [each.trust for each in candidate.rounds]
        kept = max(k for k, value in enumerate(trust) if value == max(trust))
        assert row[1:] == [
            f"{candidate.ridge:g}",
            str(len(candidate.rounds)),
            f"round {kept + 1}",
            f"{max(trust):.3g}",
            percent(candidate.agreement),
            percent(candidate.weight),
        ]
    counts = [f"{c} ({np.sum(model.transduction_ == c)})" for c in range(3)]
    assert facts(model)["classes, given or predicted"] == join(counts)


def test_a_panel_without_rounds_is_shown(two_domains):
    model = SCAClassifier().fit(two_domains.X, two_domains.y, sample_domain=two_domains.domain)
    assert model.candidates_[0].kept is None
    assert lines(model)[1][2:5] == ["0", "–", "–"]


def test_a_generalizer_says_who_votes_and_how_all_did(three_domains):
    model = clone(MODELS["DomainGeneralizer"])
    model.fit(three_domains.X, three_domains.y, sample_domain=three_domains.domain)
    said = facts(model)
    assert said["left out"] == "leave-one-domain-out: amsterdam, basel and cairo"
    assert str(model.expected_accuracy_["batch"]) in said.values()
    weights = {each.name: f"{each.weight:.2f}" for each in model.members_}
    rows = {row[0]: row[1:] for row in lines(model)[1:]}
    for name, scores in model.scores_.items():
        shown = [percent(np.mean(scores)), percent(min(scores)), weights.get(name, "–")]
        assert rows[name] == shown


def test_a_pipeline_names_the_steps_that_learnt_something(two_domains):
    model = clone(MODELS["pipeline of two"])
    model.fit(two_domains.X, two_domains.known, sample_domain=two_domains.domain)
    page = html_of(model)
    assert page.count("<caption>") == 2
    assert "Step kpca: KPCA" in page
    assert "Step scaclassifier: SCAClassifier" in page


# --- hostile names --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["SCA", "SCAClassifier", "DomainGeneralizer", "pipeline"])
def test_hostile_names_stay_text(kind, three_domains):
    domain = np.array(EVIL)[np.unique(three_domains.domain, return_inverse=True)[1]]
    y = np.array(EVIL[:3], dtype=object)[three_domains.y]
    y[domain == EVIL[2]] = None if kind == "SCAClassifier" else EVIL[0]
    model = clone(MODELS[kind]).fit(three_domains.X, y, sample_domain=domain)
    page = summary(model)
    assert not {"script", "img", "b"} & set(page.tags)
    assert page.tags.count("style") == 1
    assert any(EVIL[0] in cell for row in page.rows for cell in row)
    assert EVIL[0] not in model._repr_mimebundle_()["text/html"]


def test_hostile_names_of_steps_and_candidates_stay_text(three_domains):
    model = DomainGeneralizer({EVIL[0]: LogisticRegression(), EVIL[3]: LogisticRegression()})
    model.fit(three_domains.X, three_domains.y, sample_domain=three_domains.domain)
    page = html_of(model)
    assert "&lt;script&gt;" in page
    assert all(c.isprintable() or c == "\n" for c in page)
    assert "script" not in Reader(page).tags


# --- words and numbers ----------------------------------------------------------------------------


def test_many_names_are_counted_and_long_ones_cut():
    assert listed_with_counts(range(10)) == "0, 1, 2, 3, 4, 5, 6, 7, 8 and 9"
    assert listed_with_counts(range(12)).endswith("9 and 2 more")
    assert listed_with_counts([]) == "none"
    assert listed_with_counts(["a"], [1234567]) == "a (1,234,567)"
    assert len(listed_with_counts(["x" * 999])) == 40
    assert listed_with_counts(["a\tb\n c"]) == "a b c"


@pytest.mark.parametrize("value", [0.0, 3.2e-7, 0.04567, 9.999, 12.3, 999.4, 2204.7, 9.9e6, 3e12])
def test_numbers_keep_three_digits(value):
    assert float(number(value).replace(",", "")) == pytest.approx(value, rel=5e-3)
