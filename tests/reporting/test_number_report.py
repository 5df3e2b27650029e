"""The report of a model that predicts numbers: what it says, what it hides, how it looks."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import numpy as np
import pytest
from scipy.stats import ks_2samp

from skatter import adapt, ask
from skatter.reporting import report
from skatter.reporting._charts import histogram, points
from skatter.selection import Estimate, NumberVerdict

pytestmark = pytest.mark.usefixtures("few_trees")

HOSTILE = ("<script>window.hacked = 1</script>", '"><img src=x onerror="window.hacked = 1">')


class Numbers:
    """A table with a column of text, whose label is hidden there, and what became of it."""

    def __init__(self, pandas: Any, names: tuple[str, ...] = ("a", "b", "ward")) -> None:
        rng = np.random.default_rng(0)
        self.site = np.repeat(["here", "there"], 60)
        X = rng.normal(size=(120, 2))
        ward = rng.choice(["x", "y"], 120)
        self.truth = 50 + 20 * X[:, 0] - 10 * X[:, 1] + rng.normal(size=120) + 5 * (ward == "y")
        X[60:, 0] += 1
        self.X = pandas.DataFrame({names[0]: X[:, 0], names[1]: X[:, 1], names[2]: ward})
        self.seen = self.site == "here"
        self.y = np.where(self.seen, self.truth, np.nan)
        self.frame = self.X.assign(site=self.site, dose=self.y)
        self.result = adapt(self.frame, label="dose", domain="site")

    def page(self, y: Any = None, **options: Any) -> str:
        options = {"labelled": self.seen, "predictions": self.result.predictions} | options
        given = self.y if y is None else y
        return report(self.result.model, self.X, given, self.site, **options)


@pytest.fixture(scope="module")
def story(require: Any) -> Numbers:
    require("jinja2", "report")
    return Numbers(require("pandas", "report"))


@pytest.fixture(scope="module")
def page(story: Numbers) -> str:
    return story.page(settings=story.result.settings)


def cells(page: str, part: str, number: int = 0) -> list[list[str]]:
    """Cells of a table of a section, without markup."""
    section = page.split(f'<section id="{part}"')[1].split("</section>")[0]
    body = section.split("<tbody>")[number + 1].split("</tbody>")[0]
    return [
        [
            unescape(re.sub("<[^>]+>", "", cell)).strip()
            for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)
        ]
        for row in re.findall(r"<tr>.*?</tr>", body, re.DOTALL)
    ]


# --- what it says ---------------------------------------------------------------------------------


def test_questions_are_answered_in_order(story, page):
    asked = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", page)[:4]
    assert [question for question, _ in asked] == [
        "Is there a shift, and where?",
        "How well will it do there?",
        "Which rows should I look at?",
        "What would settle it?",
    ]
    judgement = story.result.judgement
    assert f"{judgement.error.value:.1f} ({judgement.error.low:.1f} to" in asked[1][1]
    assert judgement.reason in unescape(asked[1][1])
    assert judgement.about_mean in unescape(asked[3][1])
    sections = re.findall('<section id="([a-z]+)"', page)
    assert sections == [
        "shift",
        "error",
        "predictions",
        "rows",
        "settle",
        "members",
        "about",
        "cite",
    ]
    assert re.findall('<a href="#([a-z]+)"', page) == sections


def test_columns_that_moved_come_first_and_categories_by_their_column(story, page):
    shown = cells(page, "shift")
    assert shown[0][0] == "a"
    assert {row[0] for row in shown} == {"a", "b", "ward"}
    here, there = (story.X["a"][story.site == name] for name in ("here", "there"))
    assert float(shown[0][1]) == pytest.approx(ks_2samp(here, there).statistic, abs=0.006)


def test_the_diagnosis_speaks_of_labels_and_gives_no_advice(story, page):
    words = re.findall("<li>(.*?)</li>", page.split('<section id="shift"')[1].split("<section")[0])
    assert "target has no labels: how large its labels are cannot be told from labels." in words
    assert not any(line.startswith("Next") for line in words)
    assert story.page(settings=story.result.settings, benefit=story.result.judgement) == page


def test_rows_to_look_at_are_those_of_the_table(story, page):
    told = story.result.predictions.iloc[60:]
    apart = (told["adapted_dose"] - told["plain_dose"]).abs()
    for number, by in ((0, apart), (1, told["high"] - told["low"])):
        rows = [int(row[0]) - 1 for row in cells(page, "rows", number)]
        assert rows == by.sort_values(ascending=False, kind="stable").index[:10].tolist()
    first = cells(page, "rows")[0]
    row = told.loc[int(first[0]) - 1]
    figures = row[["predicted_dose", "low", "high", "plain_dose"]].to_numpy(float)
    np.testing.assert_allclose([float(each) for each in first[2:6]], figures, atol=0.06)


def test_quantiles_and_members_are_those_of_the_result(story, page):
    told = story.result.predictions["predicted_dose"].dropna()
    shown = [float(row[1]) for row in cells(page, "predictions")]
    np.testing.assert_allclose([shown[0], shown[-1]], [told.min(), told.max()], atol=0.06)
    weights = [float(row[2].split("\u202f")[0]) for row in cells(page, "members")]
    assert weights == sorted(weights, reverse=True)
    assert sum(weights) == pytest.approx(100, abs=0.5)


def test_labels_that_were_kept_from_the_fit_score_it(story, page):
    assert "kept from the model" not in page
    scored = story.page(y=story.truth)
    line = next(row for row in cells(scored, "error") if "60 labels that were kept" in row[0])
    told, truth = story.result.predictions.iloc[60:], story.truth[60:]
    for shown, ship in zip(line[1:], ("adapted", "plain"), strict=True):
        error = np.sqrt(np.mean((told[f"{ship}_dose"] - truth) ** 2))
        assert float(shown) == pytest.approx(error, abs=0.06)
    held = np.mean((told["low"] <= truth) & (truth <= told["high"]))
    assert f"{100 * held:.1f}&#8239;% of the labels" in scored
    first = cells(scored, "rows")[0]
    assert float(first[-1]) == pytest.approx(story.truth[int(first[0]) - 1], abs=0.06)


def test_labels_of_the_target_say_what_they_decided_and_how_far_they_move(story):
    sheet = ask(story.frame, label="dose", domain="site", n_labels=20).sheet
    sheet["dose"] = story.truth[sheet["row"] - 1] + 30
    result = adapt(story.frame, label="dose", domain="site", checked=sheet)
    found = report(
        result.model,
        story.X,
        story.y,
        story.site,
        by_labels=result.by_labels,
        predictions=result.predictions,
    )
    assert result.model.adapted[-1].judgement_.about_mean in found
    assert result.by_labels.summary in unescape(found)
    assert any("By 20 labels of the target" in row[0] for row in cells(found, "error"))
    checked = {int(row) for row in sheet["row"]}
    assert not checked & {int(row[0]) for row in cells(found, "rows")}


@pytest.mark.parametrize(
    ("verdict", "words"),
    [("decided", "Decided by 9 labels"), ("undecided", "Undecided"), ("equal", "equally good")],
)
def test_a_verdict_by_labels_is_said_in_one_sentence(verdict, words):
    error = dict.fromkeys(("adapted", "plain"), Estimate(1.0, 0.5, 2.0))
    said = NumberVerdict(verdict, "adapted", "plain", 0.97, error, 9, 40).summary
    assert words in said
    assert said.count(".") - said.count("97.0") == 1


def test_the_same_input_gives_the_same_bytes_with_predictions_or_without(story, page):
    assert story.page(settings=story.result.settings) == page
    assert story.page(settings=story.result.settings, predictions=None) == page


# --- charts ---------------------------------------------------------------------------------------


def test_bars_are_shares_and_points_lie_where_the_numbers_say():
    rng = np.random.default_rng(0)
    few, many = rng.normal(size=50), rng.normal(2, 1, size=500)
    drawn = histogram([few, many])
    heights = [np.array([bar[3] for bar in bars]) for bars in drawn.bars]
    assert heights[0].sum() == pytest.approx(heights[1].sum(), rel=1e-3)
    assert max(height.max() for height in heights) == 332
    places = np.array(points(few, few + 1).places)
    np.testing.assert_allclose(np.ptp(places[:, 0] + places[:, 1]), 0, atol=0.2)  # a parallel
    assert points(np.ones(3), np.ones(3)).places[0] == (226.0, 166.0)


# --- what it refuses, and what it needs -----------------------------------------------------------


def test_what_does_not_fit_is_refused(story):
    with pytest.raises(TypeError, match="X must be a DataFrame"):
        report(story.result.model, story.X.to_numpy(), story.y, story.site)
    with pytest.raises(ValueError, match="y must hold"):
        report(story.result.model, story.X, None, story.site)
    with pytest.raises(ValueError, match="rows without one"):
        report(story.result.model, story.X, story.truth, story.site)
    with pytest.raises(ValueError, match="predictions must be the table"):
        story.page(predictions=story.X)
    with pytest.raises(ValueError, match="predictions has 3 rows"):
        story.page(predictions=story.result.predictions[:3])


def test_without_a_domain_the_rows_without_a_label_are_the_target(story):
    result = adapt(story.frame.drop(columns="site"), label="dose")
    found = report(result.model, story.X, story.y)
    assert "<h1>dose: from sources to target</h1>" in found


def test_two_rows_to_predict_are_too_few_to_compare(story):
    frame = story.frame.iloc[:62]
    result = adapt(frame, label="dose", domain="site")
    found = report(result.model, frame[story.X.columns], frame["dose"], frame["site"])
    assert "fewer than 5 rows: too few" in found
    assert "too few rows to compare columns" in found


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_page_fits_the_screen_and_asks_for_nothing_but_itself(
    open_page, accessibility, story, tmp_path, width, scheme
):
    path = tmp_path / "numbers.html"
    story.page(path=path)
    seen = open_page(path, width=width, height=844, color_scheme=scheme)
    seen.page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    seen.page.locator(".theme").click()
    assert seen.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    for chart in seen.page.locator("svg[role=img]").all():
        assert chart.bounding_box()["width"] > 240
        assert len(chart.get_attribute("aria-label")) > 40
    assert seen.page.locator("svg[role=img]").count() == 2
    assert accessibility(seen.page) == []
    assert seen.complaints == []
    assert seen.requests == [path.as_uri()]


def test_hostile_names_stay_text_and_run_nothing(open_page, require, tmp_path):
    hostile = Numbers(require("pandas", "report"), (*HOSTILE, "</script>\u202e"))
    path = tmp_path / "hostile.html"
    settings = {HOSTILE[0]: HOSTILE[1]}
    hostile.page(path=path, settings=settings, title=HOSTILE[0])
    seen = open_page(path)
    assert seen.page.locator("h1").inner_text() == HOSTILE[0]
    names = seen.page.locator("#shift tbody th").all_inner_texts()
    assert set(names) == {*HOSTILE, "</script>\\u202e"}
    assert seen.page.evaluate("window.hacked") is None
    assert seen.page.locator("img").count() == 0
    assert seen.page.locator("script").count() == 1
    assert seen.dialogs == seen.complaints == []
    assert "\u202e" not in path.read_text(encoding="utf-8")
