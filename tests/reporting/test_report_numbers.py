"""The report as a file: its numbers against slow and direct computations, and what it refuses."""

from __future__ import annotations

import base64
import json
import os
import re
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_regression
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skatter import (
    KPCA,
    SCA,
    SCACV,
    USCA,
    HedgedClassifier,
    KernelFisher,
    LandmarkMap,
    SCAClassifier,
    does_it_help,
    make_domain_pipeline,
)
from skatter._components import ScatterComponents
from skatter._formatting import printable
from skatter._pages import json_island
from skatter.domains import read_domains
from skatter.methods._registry import METHODS
from skatter.reporting import report
from skatter.reporting._samples import MAX_MEASURED, draw_rows
from skatter.scatter import Geometry, measure, mmd
from skatter.selection import Estimate, scatter_criterion

pytestmark = pytest.mark.usefixtures("few_trees")


def island(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def table(page: str, part: str) -> list[list[str]]:
    """Cells of the first table of a section, without markup."""
    section = page.split(f'<section id="{part}"')[1].split("</section>")[0]
    body = section.split("<tbody>")[1].split("</tbody>")[0]
    rows = re.findall(r"<tr.*?</tr>", body, re.DOTALL)
    cells = [re.findall(r"<t[hd].*?>(.*?)</t[hd]>", row, re.DOTALL) for row in rows]
    return [
        [re.sub(r"<small.*?</small>|<[^>]+>", "", cell).strip() for cell in row] for row in cells
    ]


def percent(share: float) -> str:
    return f"{100 * share:.1f}&#8239;%"


@pytest.fixture(scope="module")
def page(story: Any) -> str:
    return story.page()


# --- numbers -------------------------------------------------------------------------------------


def test_scatters_are_those_of_the_kernel_and_of_the_projections(story, page):
    gamma = story.model.kernel_.params["gamma"]
    view = read_domains(story.y, story.site, labelled=story.seen)
    before = measure(Geometry.of_gram(rbf_kernel(story.X, gamma=gamma)), view)
    after = measure(Geometry.of_features(story.model.transform(story.X)), view)
    for row, small, large in zip(table(page, "scatters"), before, after, strict=True):
        if row[0] == "Conditional domain scatter":
            assert row[1] == "not measured: no class is labelled in two domains"
            continue
        assert row[1] == percent(small / before.total)
        assert row[2] == percent(large / after.total)
    section = page.split('<section id="scatters"')[1].split("</section>")[0]
    for value in (*before[:-1], *after[:-1]):
        assert f"<small>{value:.4g}</small>" in section


def test_spectrum_and_distances_are_those_of_the_model(story, page):
    assert [row[1] for row in table(page, "spectrum")] == [
        f"{value:.6g}" for value in story.model.eigenvalues_
    ]
    sides = story.X[story.seen], story.X[~story.seen]
    direct = np.sqrt(max(mmd(*sides, unbiased=True).value, 0))
    assert table(page, "distances")[0][2] == f"{direct:.3f}"
    Z = story.model.transform(story.X)
    after = np.sqrt(max(mmd(Z[story.seen], Z[~story.seen], unbiased=True).value, 0))
    assert page.split('<section id="distances"')[1].count(f">{after:.3f}<") >= 2


def test_accuracy_keeps_labels_that_the_fit_saw_apart(story):
    model = make_domain_pipeline(SCA(), KNeighborsClassifier(3))
    model.fit(story.X, story.y, sample_domain=story.site, labelled=story.seen)
    page = report(model, story.X, story.y, story.site, labelled=story.seen)
    right = model.predict(story.X) == story.y
    plain = KNeighborsClassifier(1).fit(story.X[story.seen], story.y[story.seen])
    other = np.mean(plain.predict(story.X[~story.seen]) == story.y[~story.seen])
    north, south = table(page, "accuracy")
    assert north[0] == "north"
    assert north[1:5] == ["90", "90", "no labels", "·"]
    assert north[5] == f"{percent(right[story.seen].mean())} of 90 seen in the fit"
    assert south[1:] == [
        "90",
        "0",
        f"{percent(right[~story.seen].mean())} of 90",
        percent(other),
        "no labels",
    ]


def test_labels_that_nobody_knows_are_not_scored(story):
    known = np.where(story.seen, story.y, -1)
    page = report(story.model, story.X, known, story.site)
    assert table(page, "accuracy")[1][3] == "no labels"
    assert "nobody can count how often predictions are right" in page
    assert set(island(page)["rows"]["class"]) == {-1, 0, 1, 2}


def test_path_holds_the_figures_of_direct_fits(story, page):
    path = island(page)["explorer"]
    view = read_domains(story.y, story.site, labelled=story.seen)
    for beta, delta, k in ((0.3, 1.0, 4), (0.6, 100.0, 2), (0.0, 0.1, 10)):
        setting = path["betas"].index(beta) * len(path["deltas"]) + path["deltas"].index(delta)
        Z = SCA(beta=beta, delta=delta, n_components=k).fit_transform(
            story.X, story.y, sample_domain=story.site, labelled=story.seen
        )
        scatters = measure(Geometry.of_features(Z), view)
        figures = {name: values[setting][k - 1] for name, values in path["figures"].items()}
        assert figures["total"] == pytest.approx(scatters.total, rel=1e-4)
        assert figures["domain"] == pytest.approx(scatters.domain / scatters.total, abs=2e-6)
        nearest = KNeighborsClassifier(1).fit(Z[story.seen], story.y[story.seen]).predict(Z)
        assert figures["accuracy"] == pytest.approx(
            np.mean(nearest[~story.seen] == story.y[~story.seen]), abs=1e-5
        )
        known = np.where(story.seen, story.y, -1)
        trust = scatter_criterion(story.X, known, nearest, sample_domain=story.site)
        assert figures["criterion"] == pytest.approx(trust, abs=1e-4)


def test_packed_coordinates_are_the_components_to_sixteen_bits(story, page):
    path = island(page)["explorer"]
    n, k = len(path["rows"]), path["k"]
    packed = np.frombuffer(base64.b64decode(path["values"]), "<i2").reshape(-1, k, n)
    setting = path["start"][0] * len(path["deltas"]) + path["start"][1]
    steps = np.array(path["steps"][setting])[:4]
    shown = (packed[setting, :4] * steps[:, None]).T
    Z = story.model.transform(story.X)
    signs = np.sign(np.sum(shown * Z, axis=0))
    np.testing.assert_allclose(shown * signs, Z, atol=1.1 * steps.max() + 1e-5 * np.abs(Z).max())


def test_beta_of_one_has_no_more_components_than_classes_less_one(page):
    path = island(page)["explorer"]
    last = len(path["deltas"])
    assert path["ranks"][-last:] == [2] * last
    assert min(path["ranks"][:-last]) > 2


def test_rows_are_told_as_they_were_given(story, page):
    rows = island(page)["rows"]
    assert rows["number"] == list(range(1, 181))
    np.testing.assert_allclose(np.array(rows["values"]).T, story.X, rtol=1e-4)
    assert rows["seen"] == story.seen.astype(int).tolist()


# --- words ---------------------------------------------------------------------------------------


def test_first_lines_answer_what_a_manager_asks(story):
    known = np.where(story.seen, story.y, -1)
    benefit = does_it_help(story.X, known, sample_domain=story.site)
    words = SimpleNamespace(words="The domains differ.\nIn feature 3 most of all.")
    page = story.page(benefit=benefit, diagnosis=words, settings={"seconds": {"fit": 1.5}})
    start = page.split("<header>")[1].split("</header>")[0]
    for said in (
        "SCA: from north to south",
        "180 rows from 2 domains",
        "the labels of 90 rows, of 3 classes",
        "90 rows of south whose labels it was not shown",
        "How well will it do there?",
        "In feature 3 most of all.",
        f"{100 * benefit.gain.value:+.1f} points",
    ):
        assert said in start
    assert "<dt>seconds.fit</dt><dd>1.5</dd>" in page
    assert "arXiv:1510.04373" in page


@pytest.mark.parametrize(
    ("verdict", "reason", "said"),
    [
        ("adapt", "Adapt: the classes look alike.", "Adapt: the classes look alike."),
        ("do not adapt", "The domains are alike.", "The domains are alike."),
        ("cannot tell", "Cannot tell: who knows.", "Cannot tell: who knows. In doubt"),
    ],
)
def test_verdict_is_told_as_it_is(story, verdict, reason, said):
    expected = Estimate(0.8, 0.7, 0.9)
    benefit = SimpleNamespace(
        verdict=verdict, reason=reason, summary=reason, metric="accuracy", accuracy=expected
    )
    page = story.page(benefit=benefit)
    assert said in page
    assert "Expected accuracy there: 80.0 % (70.0 % to 90.0 %)." in page


def test_losses_are_told_as_plainly_as_wins(story):
    wrong = {"predicted": (story.y + 1) % 3, "plain": story.y}
    page = story.page(predictions=wrong)
    assert "0.0 % are predicted right; without adapting, 100.0 %" in page
    assert "That speaks against it." in page
    right = {"predicted": story.y, "plain": (story.y + 1) % 3}
    assert "That speaks for it." in story.page(predictions=right)


# --- all kinds of models -------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_method_has_a_report(three_domains, require, name):
    require("jinja2", "report")
    method = METHODS[name]
    if method.extra:
        require(method.extra, method.extra)
    problem = three_domains
    known, site = np.array(problem.known), problem.domain
    if "target labels" in method.needs:
        first = [np.flatnonzero((site == "cairo") & (problem.y == c))[0] for c in range(3)]
        known[first] = problem.y[first]
        site = np.where(site == "cairo", -3, np.where(site == "basel", 2, 1))
    if "one target" in method.needs or "several sources" not in (*method.needs, *method.uses):
        rows = np.flatnonzero(site != "basel") if site.dtype.kind == "U" else site != 2
    else:
        rows = np.arange(len(known))
    X, known, site = problem.X[rows], known[rows], np.asarray(site)[rows]
    quick = {"max_iter": 2} if name == "mtae" else {}
    model = method.estimator(**quick).fit(X, known, sample_domain=site)
    page = report(model, X, known, site)
    # Of a hedge the member that trains itself is shown.
    makes_features = hasattr(model, "transform") or name in ("hedged", "sca-classifier")
    assert ("There is no picture after" in page) != makes_features
    assert (island(page)["after"] is None) != makes_features
    has_path = island(page)["explorer"] is not None
    shown = (ScatterComponents, SCAClassifier, HedgedClassifier)
    assert has_path == isinstance(model, shown)
    assert has_path or f"{type(model).__name__} has no path over β and δ." in page


MODELS = {
    "linear": SCA(kernel="linear"),
    "polynomial": SCA(kernel="poly", degree=2),
    "landmarks": SCA(feature_map=LandmarkMap(40)),
    "one component": SCA(n_components=1),
    "between classes alone": SCA(beta=1.0, delta=7.5),
    "search": SCACV(n_components=[2, 3], betas=[0.1], deltas=[1.0]),
    "pipeline": make_domain_pipeline(StandardScaler(), KernelFisher(), LogisticRegression()),
    "transformers": make_domain_pipeline(StandardScaler(), "passthrough", USCA()),
    "no domains": make_domain_pipeline(StandardScaler(), LogisticRegression()),
    "self-training": SCAClassifier(n_rounds=2, ridges=(1e-2,)),
}


@pytest.mark.parametrize("name", MODELS)
def test_pipelines_searches_and_kernels_have_a_report(story, name):
    model = clone(MODELS[name])
    model.fit(story.X, story.y, sample_domain=story.site, labelled=story.seen)
    page = report(model, story.X, story.y, story.site, labelled=story.seen)
    assert page.startswith("<!DOCTYPE html>")
    visible_text = re.sub(r"<(style|script).*?</\1>|<[^>]+>", " ", page, flags=re.DOTALL)
    assert not re.search(r"\b(nan|inf)\b", visible_text)


def test_before_and_after_of_a_pipeline_are_those_of_its_components(story):
    X = story.X * [1, 10, 100, 1, 1]
    model = make_domain_pipeline(StandardScaler(), SCA(), KNeighborsClassifier(1))
    model.fit(X, story.y, sample_domain=story.site, labelled=story.seen)
    page = report(model, X, story.y, story.site, labelled=story.seen)
    view = read_domains(story.y, story.site, labelled=story.seen)
    saw = model[0].transform(X)
    K = rbf_kernel(saw, gamma=model["sca"].kernel_.params["gamma"])
    before = measure(Geometry.of_gram(K), view)
    after = measure(Geometry.of_features(model["sca"].transform(saw)), view)
    assert table(page, "scatters")[1][1:3] == [
        percent(before.domain / before.total),
        percent(after.domain / after.total),
    ]


def test_tables_with_text_sparse_samples_and_numbers_as_labels_have_a_report(story, require):
    pandas = require("pandas", "report")
    frame = pandas.DataFrame(story.X, columns=list("abcde"))
    frame["town"] = np.where(story.y == 1, "<b>Rome</b>", "Bern")
    frame.loc[3, "town"] = None
    split = make_column_transformer((OneHotEncoder(), ["town"]), remainder=StandardScaler())
    model = make_domain_pipeline(split, SCA(), LogisticRegression())
    model.fit(frame, story.y, sample_domain=story.site, labelled=story.seen)
    found = island(report(model, frame, story.y, story.site, labelled=story.seen))
    assert found["features"][-1] == "town"
    assert found["rows"]["values"][5][:4] == ["Bern", "<b>Rome</b>", "Bern", ""]

    X = sparse.csr_matrix(np.maximum(story.X, 0))
    model = SCA().fit(X, story.y, sample_domain=story.site, labelled=story.seen)
    page = report(model, X, story.y, story.site, labelled=story.seen)
    assert island(page)["rows"]["values"][0][0] == pytest.approx(X[0, 0], rel=1e-4)

    X, y = make_regression(90, 4, random_state=0)
    site = np.repeat(["a", "b", "c"], 30)
    model = make_domain_pipeline(SCA(label_splines=5), Ridge())
    known = np.where(site == "c", np.nan, y)
    page = report(model.fit(X, known, sample_domain=site), X, known, site)
    first = np.sort(known[site != "c"])[11]  # a fifth of 60 labels
    assert island(page)["classes"][0] == f"up to {first:.4g}"


def test_one_domain_without_a_label_has_a_report(story):
    page = report(KPCA().fit(story.X), story.X)
    assert "There are no two domains to compare" in page
    assert "needs labels of two classes" in page


def test_model_of_a_table_is_shown_with_the_names_of_its_domains(story, require):
    pandas = require("pandas", "report")
    from skatter.adaptation import adapt

    frame = pandas.DataFrame(story.X, columns=list("abcde"))
    frame["site"] = story.site
    frame["kind"] = pandas.array(np.where(story.seen, story.y, 0), dtype="Int64")
    frame.loc[~story.seen, "kind"] = pandas.NA
    result = adapt(frame, label="kind", domain="site", method="sca")
    samples = result.samples
    page = report(
        result.model,
        samples.X,
        samples.y,
        samples.sample_domain,
        labelled=samples.labelled,
        benefit=result.judgement,
        predictions=result.predictions,
        settings=result.settings,
    )
    assert report(result) == page
    found = island(page)
    assert found["domains"] == ["north", "south"] or found["domains"] == ["south", "north"]
    told = [found["classes"][code] for code in np.array(found["rows"]["predicted"])[90:]]
    assert told == [str(each) for each in result.predictions["predicted_kind"][90:]]


def test_rows_of_a_table_are_shown_as_they_were_written(story, require):
    """Dates and money become numbers for the model, and stay what they are for people."""
    pandas = require("pandas", "report")
    from skatter.adaptation import adapt

    day = pandas.Timestamp("2024-03-01") + pandas.to_timedelta(np.arange(len(story.y)) % 90, "D")
    frame = pandas.DataFrame(
        {
            "patient": [f"P{place:04d}" for place in range(len(story.y))],
            "visit": day.strftime("%Y-%m-%d"),
            "price": [f"${1000 + 10 * x:,.2f}" for x in story.X[:, 0]],
            "a": story.X[:, 1],
            "b": story.X[:, 2],
            "site": story.site,
            "kind": np.where(story.seen, np.array(["no", "yes", "so"])[story.y], None),
        }
    )
    result = adapt(frame, label="kind", domain="site")
    page = report(result)
    found = island(page)
    assert found["features"][:3] == ["patient", "visit", "price"]
    rows = np.array(found["rows"]["number"]) - 1
    for name, values in zip(found["features"][:3], found["rows"]["values"], strict=False):
        assert values == frame[name].iloc[rows].tolist()
    # An id is shown, and is no feature.
    assert re.search(r"<dt>features</dt><dd>4</dd>", page)
    voted = page[page.index('id="members"') :]
    heaviest = max(result.settings["members"], key=lambda each: each["weight"])
    assert f'<th scope="row">{heaviest["name"]}</th>' in voted[: voted.index("</tr>", 900)]


# --- the file ------------------------------------------------------------------------------------


def test_same_input_gives_the_same_bytes(story, page):
    assert story.page() == page
    again = SCA(beta=0.3, delta=1.0, n_components=4)
    again.fit(story.X, story.y, sample_domain=story.site, labelled=story.seen)
    assert report(again, story.X, story.y, story.site, labelled=story.seen) == page


def test_report_leaves_what_it_was_given_untouched(story):
    X, y, site = story.X.copy(), story.y.copy(), story.site.copy()
    story.page()
    assert all(np.array_equal(*pair) for pair in ((X, story.X), (y, story.y), (site, story.site)))


def test_steps_are_announced_before_they_start(story):
    steps: list[str] = []
    story.page(progress=steps.append)
    assert steps[0] == "reading the samples"
    assert steps[-1] == "writing the page"
    assert len(steps) == len(set(steps)) == 7


def test_file_is_replaced_only_by_force_and_never_half_written(story, tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("old")
    with pytest.raises(FileExistsError, match="force=True"):
        story.page(path=path)
    assert story.page(path=path, force=True) == path
    assert story.page() == path.read_text(encoding="utf-8")

    def fail(*args: Any) -> None:
        raise OSError(28, "No space left on device")

    path.write_text("old")
    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="cannot be written: No space left"):
        story.page(path=path, force=True)
    assert {each.name: each.read_text() for each in tmp_path.iterdir()} == {"report.html": "old"}


def test_bad_paths_are_refused_before_any_work(story, tmp_path):
    steps: list[str] = []
    with pytest.raises(IsADirectoryError, match="must be a file"):
        story.page(path=tmp_path, progress=steps.append)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        story.page(path=tmp_path / "no" / "report.html", progress=steps.append)
    assert steps == []


def test_missing_engine_is_named_before_any_work(story, monkeypatch):
    steps: list[str] = []
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r'pip install "skatter\[report\]"'):
        story.page(progress=steps.append)
    assert steps == []


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"names": ["a"]}, ValueError, "names must hold a name for each of the 5 columns"),
        ({"predictions": [1, 2]}, TypeError, "must be a mapping or a DataFrame"),
        ({"predictions": {"guess": [1]}}, ValueError, "no column 'predicted'; it has guess"),
        (
            {"predictions": {"predicted": [1]}},
            ValueError,
            "1 entries in 'predicted', and X has 180",
        ),
    ],
)
def test_what_does_not_fit_is_named(story, options, error, said):
    with pytest.raises(error, match=said):
        story.page(**options)


def test_gram_matrices_and_models_that_are_not_fitted_are_refused(story):
    K = rbf_kernel(story.X)
    model = SCA(kernel="precomputed").fit(K, story.y, sample_domain=story.site)
    with pytest.raises(ValueError, match="a report needs the samples"):
        report(model, K, story.y, story.site)
    with pytest.raises(ValueError, match="not fitted"):
        report(SCA(), story.X, story.y, story.site)
    with pytest.raises(ValueError, match="a row for each sample"):
        report(story.model, story.X[0], story.y[:1], story.site[:1])


# --- pieces --------------------------------------------------------------------------------------


def test_draw_holds_every_group_and_begins_with_them():
    rng = np.random.default_rng(0)
    y, site = rng.integers(0, 5, 20_000), np.where(np.arange(20_000) < 3, "rare", "common")
    view = read_domains(y, site)
    order = draw_rows(view, 0)
    assert sorted(order) == list(range(20_000))
    cells = {(view.domain[row], view.label[row]) for row in order[:MAX_MEASURED]}
    assert cells == set(zip(view.domain.tolist(), view.label.tolist(), strict=True))
    np.testing.assert_array_equal(order, draw_rows(view, 0))


def test_island_survives_everything_and_ends_no_script():
    value = {"</script><!--": ["\u2028\u2029", "&amp;", '"', "\\", "<", "\ud800"]}
    text = json_island({"a": "</script>", "b": "\u2028\u2029&<!--"})
    assert not re.search("[<>&\u2028\u2029]", text)
    assert json.loads(json_island(value)) == value
    with pytest.raises(ValueError, match="JSON"):
        json_island(float("nan"))


def test_every_character_of_a_name_can_be_seen():
    shown = printable("".join(map(chr, [*range(0x20), *range(0x7F, 0xA0), 0x202E, 0x2066, 0xFEFF])))
    assert shown.isprintable()
    assert printable("Zürich · 東京 – עברית") == "Zürich · 東京 – עברית"
    assert printable("\ud800").encode("utf-8")
