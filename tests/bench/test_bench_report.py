"""The report, as a file and in a real browser."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from skatter_bench.charts import inline_svg
from skatter_bench.published import published
from skatter_bench.report import render_report, summary_of, write_report
from skatter_bench.results import Outcome, SuiteResults
from skatter_bench.suites import get_suite
from skatter_bench.table import Column, Table
from skatter_bench.views import of_protocol, page_table

pytest_plugins = ["report_fixtures"]

HOSTILE = ("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</style>&amp;$\\frac{$")
SAYS = {"title": "Results", "machine": "A machine, 2 cores", "command": "skatter bench run table2"}
VERSIONS = {"skatter": "1.2.3", "numpy": "2.0"}
BADGE = "tuned on target labels: an upper bound"


@pytest.fixture(scope="module")
def results(make_results: Callable[..., SuiteResults], require: Any) -> list[SuiteResults]:
    """Twenty methods on twelve tasks, several draws, three groups, a matrix, seconds, a figure."""
    require("jinja2", "report")
    require("matplotlib", "report")
    few = (("raw", "1nn"), ("kpca", "1nn"), ("sca", "1nn"))
    return [
        make_results("table2"),
        make_results("table1-draws", ("source-cv",), contestants=few, failures=1),
        make_results(
            "figure2", ("source-cv",), contestants=(("raw", "svm"), ("sca", "svm")), failures=0
        ),
        make_results("table5", ("defaults",), contestants=few, failures=1),
        make_results("table6", ("defaults",), contestants=few[:1], failures=0),
        make_results("figure1", ("target-oracle",), contestants=few, failures=0),
    ]


@pytest.fixture(scope="module")
def hostile(make_outcome: Callable[..., Outcome]) -> SuiteResults:
    """Names that would be markup, scripts or formulas if anybody let them."""
    suite = replace(get_suite("digits"), title=HOSTILE[0], note=HOSTILE[1])
    outcomes = [
        make_outcome(
            suite="digits",
            task=task,
            group=HOSTILE[i % 3],
            contestant=name,
            label=name,
            accuracy=50.0 + i,
            setting={HOSTILE[0]: HOSTILE[1]},
        )
        for task in HOSTILE[:2]
        for i, name in enumerate(("raw", *HOSTILE))
    ]
    outcomes.append(replace(outcomes[0], task="A->B", accuracy=math.nan, error=HOSTILE[1]))
    return SuiteResults(suite, outcomes)


@pytest.fixture(scope="module")
def report(
    results: list[SuiteResults], hostile: SuiteResults, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    return write_report(path, [*results, hostile], versions=VERSIONS, date="2026-11-15", **SAYS)


@pytest.fixture
def visit(open_page: Callable[..., Any], report: Path) -> Callable[..., Any]:
    return partial(open_page, report)


def shown_labels(page: Any, panel: str) -> list[str]:
    rows = page.locator(f"{panel} .main tbody tr:visible th")
    return [text.strip() for text in rows.all_inner_texts()]


# --- in a browser -------------------------------------------------------------------------------


def test_page_opens_without_a_complaint_and_asks_for_nothing_but_itself(visit, report):
    seen = visit()
    seen.page.mouse.wheel(0, 5000)
    seen.page.locator("[role=tab]").last.click()
    assert seen.complaints == []
    assert seen.requests == [report.as_uri()]


@pytest.mark.parametrize("column", ["A->W", "Average", "W->D"])
def test_sorting_orders_rows_both_ways_and_puts_failures_last(visit, results, column):
    page = visit().page
    panel = "#suite-1-source-cv"
    values = _values(results[0], column)
    failed = {label for label, value in values.items() if math.isnan(value)}
    known = sorted((value, label) for label, value in values.items() if label not in failed)
    button = page.locator(
        f"{panel} .main th button", has_text=re.compile(f"^{column.replace('->', '→')}$")
    )
    header = button.locator("..")

    button.click()
    assert header.get_attribute("aria-sort") == "descending"
    down = shown_labels(page, panel)
    button.click()
    assert header.get_attribute("aria-sort") == "ascending"
    up = shown_labels(page, panel)

    assert [values[label] for label in up[: len(known)]] == [value for value, _ in known]
    assert [values[label] for label in down[: len(known)]] == [value for value, _ in known[::-1]]
    assert set(up[len(known) :]) == set(down[len(known) :]) == failed
    assert page.locator(f"{panel} .main th[aria-sort]").count() == 1


def _values(results: SuiteResults, column: str) -> dict[str, float]:
    """Accuracies of one task, or their means as they are printed: nan where a task failed."""
    values: dict[str, list[float]] = {}
    for each in results.outcomes:
        if each.protocol == "source-cv" and column in (each.task, "Average"):
            values.setdefault(each.label, []).append(each.accuracy)
    return {label: fmean(own) for label, own in values.items()}


def test_sorting_by_method_name_orders_labels(visit):
    page = visit().page
    page.locator("#suite-1-source-cv .main th button").first.click()
    labels = shown_labels(page, "#suite-1-source-cv")
    assert labels == sorted(labels)


def test_some_average_fails_so_that_failures_are_really_sorted(results):
    values = _values(results[0], "Average")
    assert 0 < sum(map(math.isnan, values.values())) < len(values)


def test_filter_hides_rows_and_says_how_many_are_left(visit, results):
    page = visit().page
    labels = list(dict.fromkeys(each.label for each in results[0].outcomes))
    wanted = [label for label in labels if "ca" in label]
    assert 0 < len(wanted) < len(labels) == 20

    page.locator("#suite-1 input[type=search]").fill(" CA ")
    assert shown_labels(page, "#suite-1-source-cv") == wanted
    assert page.locator("#suite-1 .count").inner_text() == f"{len(wanted)} of 20 methods shown"
    page.locator("#suite-1-source-cv summary", has_text="Time and memory").click()
    costs = page.locator("#suite-1-source-cv details[open] tbody tr:visible")
    assert costs.count() == len(wanted)

    page.locator("#suite-1 input[type=search]").fill("no such method")
    assert page.locator("#suite-1 .count").inner_text() == "0 of 20 methods shown"
    assert len(shown_labels(page, "#summary-source-cv")) > 20


def test_button_shows_the_methods_of_the_paper_alone(visit, results):
    page = visit().page
    table = published("table2")
    paper = dict.fromkeys(
        each.label
        for each in results[0].outcomes
        if table.name_of(each.contestant, each.classifier) is not None
    )
    page.locator("#suite-1 button", has_text="The paper's").click()
    assert shown_labels(page, "#suite-1-source-cv") == list(paper)
    page.locator("#suite-1 button", has_text="All methods").click()
    assert len(shown_labels(page, "#suite-1-source-cv")) == 20


def test_lines_that_are_not_methods_cannot_be_looked_for_as_methods(visit):
    page = visit().page
    assert page.locator("#suite-5 th", has_text="Train").count() == 1
    assert page.locator("#suite-5 input").count() == 0
    assert page.locator("#suite-5 tbody tr:visible").count() == 5  # four domains and a mean


def test_protocols_switch_by_click_and_by_key_and_the_oracle_wears_its_badge(visit):
    page = visit().page
    ours, bound = page.locator("#suite-1-source-cv"), page.locator("#suite-1-target-oracle")
    assert ours.is_visible()
    assert not bound.is_visible()
    assert ours.get_by_text(BADGE).count() == 0

    page.locator("#suite-1 [role=tab]", has_text="Target oracle").click()
    assert bound.is_visible()
    assert not ours.is_visible()
    for place in (".how", "figcaption >> nth=0", "figcaption >> nth=1", "summary >> nth=0"):
        assert bound.locator(place).get_by_text(BADGE).is_visible()

    page.keyboard.press("ArrowLeft")
    assert ours.is_visible()
    assert page.locator("#suite-1 [role=tab][aria-selected=true]").inner_text().startswith("Source")
    assert page.evaluate("document.activeElement.id") == "suite-1-source-cv-tab"


def test_hostile_names_stay_text(visit, hostile):
    seen = visit()
    part = seen.page.locator("#suite-7")
    assert part.locator("h2").inner_text() == HOSTILE[0]
    assert part.locator(".note").inner_text() == HOSTILE[1]
    assert set(shown_labels(seen.page, "#suite-7-source-cv")) == {"raw", *HOSTILE}
    for summary in part.locator("summary").all():
        summary.click()
    assert seen.page.locator("img").count() == 0
    assert seen.page.locator("script").count() == 1
    assert seen.page.locator("style").count() == 1
    assert seen.dialogs == seen.complaints == []


def test_policy_stops_scripts_styles_and_requests_that_are_not_the_reports_own(visit, report):
    seen = visit()
    seen.page.evaluate(
        """() => {
            const script = document.createElement("script");
            script.textContent = "window.hacked = true";
            const image = document.createElement("img");
            image.src = "https://example.org/pixel.png";
            fetch("https://example.org/").catch(() => {});
            const style = document.createElement("style");
            style.textContent = "h1 { display: none }";
            document.body.append(script, image, style);
        }"""
    )
    seen.page.wait_for_timeout(200)
    assert seen.page.evaluate("window.hacked") is None
    assert seen.page.locator("h1").is_visible()
    refused = " ".join(text for text in seen.complaints if "Content Security Policy" in text)
    for directive in ("script-src", "img-src", "style-src", "default-src"):
        assert f"{directive} " in refused


def test_failure_tells_its_reason_on_focus_and_on_hover(visit):
    page = visit().page
    tip = page.locator("#tip")
    failed = page.locator("#suite-1-source-cv .main button.failed").first
    assert not tip.is_visible()
    failed.focus()
    assert "not positive definite" in tip.inner_text() or "Failed on" in tip.inner_text()
    page.keyboard.press("Escape")
    assert not tip.is_visible()
    page.locator("h1").hover()
    failed.hover()
    assert tip.is_visible()


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_nothing_but_tables_is_wider_than_the_screen(visit, width):
    page = visit(width=width, height=740).page
    for tab in page.locator("[role=tab]").all():
        tab.click()
        assert _too_wide(page) <= 0
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    assert _too_wide(page) <= 0


def _too_wide(page: Any) -> int:
    return page.evaluate("document.documentElement.scrollWidth - innerWidth")


def test_first_column_stays_while_a_table_scrolls_on_a_phone(visit):
    page = visit(width=360, height=740).page
    box = page.locator("#suite-1-source-cv .main")
    label = box.locator("tbody th").first
    before = label.bounding_box()["x"]
    box.evaluate("each => { each.scrollLeft = 200; }")
    assert box.evaluate("each => each.scrollLeft") == 200
    assert label.bounding_box()["x"] == pytest.approx(before, abs=1.5)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_follow_the_system_and_then_the_button(visit, scheme):
    page = visit(color_scheme=scheme).page
    brightness = [_brightness(page, "body", "background-color")]
    page.locator(".theme").click()
    brightness.append(_brightness(page, "body", "background-color"))
    light, dark = brightness if scheme == "light" else brightness[::-1]
    assert dark < 60
    assert light > 230
    figure = "#suite-1-source-cv figure svg text"
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    assert _brightness(page, figure, "fill") > 150


def _brightness(page: Any, selector: str, name: str) -> float:
    """Mean of red, green and blue, as the browser paints them."""
    return page.evaluate(
        """([selector, name]) => {
            const canvas = document.createElement("canvas");
            const paint = canvas.getContext("2d");
            const style = getComputedStyle(document.querySelector(selector));
            paint.fillStyle = style.getPropertyValue(name);
            paint.fillRect(0, 0, 1, 1);
            const [red, green, blue] = paint.getImageData(0, 0, 1, 1).data;
            return (red + green + blue) / 3;
        }""",
        [selector, name],
    )


def test_keyboard_finds_the_skip_link_first_and_shows_where_it_is(visit):
    page = visit().page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('href')") == "#main"
    page.keyboard.press("Tab")
    style = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert style == "solid"


def test_paper_and_readers_without_the_script_get_every_table(visit, browser):
    page = visit().page
    hidden = page.locator(".panel[hidden]").count()
    assert hidden > 0
    page.emulate_media(media="print")
    panels = page.locator(".panel")
    assert all(panel.is_visible() for panel in panels.all())
    assert not page.locator(".contents").is_visible()

    plain = visit(java_script_enabled=False).page
    assert all(panel.is_visible() for panel in plain.locator(".panel").all())
    assert not plain.locator(".controls").first.is_visible()


# --- as a file ----------------------------------------------------------------------------------


class Tags(HTMLParser):
    """Every start tag with its attributes, and the text outside of style and script."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside not in ("style", "script"):
            self.text.append(data)


def test_identifiers_are_unique_and_references_lead_somewhere(report):
    tags = Tags(report.read_text(encoding="utf-8")).tags
    names = [attrs["id"] for _, attrs in tags if "id" in attrs]
    assert len(set(names)) == len(names)
    referring = ("aria-controls", "aria-labelledby")
    wanted = {attrs[key] for _, attrs in tags for key in referring if key in attrs}
    wanted |= {a["href"][1:] for _, a in tags if (a.get("href") or "").startswith("#")}
    for _, attrs in tags:
        wanted |= set(re.findall(r"url\(#([^)]+)\)", " ".join(filter(None, attrs.values()))))
    assert wanted <= set(names)


def test_page_shows_no_nan_and_has_no_style_attribute_and_no_handler(report):
    page = Tags(report.read_text(encoding="utf-8"))
    assert not re.search(r"\b(nan|None|inf)\b", " ".join(page.text), re.IGNORECASE)
    keys = {key for _, attrs in page.tags for key in attrs}
    assert not [key for key in keys if key == "style" or key.startswith("on")]


def test_same_results_give_the_same_bytes(results, hostile):
    pages = {render_report([results[1], hostile], versions=VERSIONS, **SAYS) for _ in range(2)}
    assert len(pages) == 1


def test_report_says_machine_command_versions_date_data_and_whom_to_cite(results):
    text = " ".join(
        Tags(
            render_report(
                results[3:4],
                versions=VERSIONS,
                date="2026-11-15",
                **SAYS,
            )
        ).text
    )
    for said in (*SAYS.values(), "1.2.3", "2026-11-15", "B. Gong, Y. Shi", "arXiv:1510.04373"):
        assert said in text


def test_figure_drawn_elsewhere_stands_under_the_first_protocol_of_its_suite(results):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2, 2))
    figure.text(0.5, 0.5, "drawn elsewhere")
    page = render_report(results[-1:], figures={"figure1": figure}, **SAYS)
    assert page.count("drawn elsewhere") == 1


def test_report_replaces_no_file_unless_told_to(results, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")
    with pytest.raises(FileExistsError, match="force=True"):
        write_report(path, results[-1:], **SAYS)
    assert path.read_text() == "old"
    write_report(path, results[-1:], force=True, **SAYS)
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_failure_to_write_leaves_the_old_file_and_nothing_else(
    results, tmp_path, monkeypatch, step
):
    path = tmp_path / "report.html"
    path.write_text("old")

    def fail(*args: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError, match="cannot be written: No space left"):
        write_report(path, results[-1:], force=True, **SAYS)
    assert {each.name: each.read_text() for each in tmp_path.iterdir()} == {"report.html": "old"}


def test_bad_paths_and_results_are_refused_before_any_work(results, tmp_path):
    with pytest.raises(IsADirectoryError, match="must be a file"):
        write_report(tmp_path, results, **SAYS)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        write_report(tmp_path / "no" / "report.html", results, **SAYS)
    with pytest.raises(ValueError, match="nothing to report"):
        write_report(tmp_path / "report.html", [], **SAYS)
    with pytest.raises(ValueError, match="every suite once"):
        write_report(tmp_path / "report.html", [results[0], results[0]], **SAYS)
    assert list(tmp_path.iterdir()) == []


# --- what it says -------------------------------------------------------------------------------


def table_of(results: SuiteResults, protocol: str) -> Table:
    return page_table(results.suite, of_protocol(results, protocol))


PERCENT = Column("any")


def test_published_number_stands_beside_ours_but_never_beside_an_upper_bound(results):
    ours = table_of(results[0], "source-cv")
    assert PERCENT.printed(ours.column("A->W")["sca + 1NN"]) == "33.90"
    assert PERCENT.printed(ours.column("average")["raw + 1NN"]) == "31.37"
    assert PERCENT.printed(ours.column("A->W")["jda + 1NN"]) == ""
    assert not table_of(results[0], "target-oracle").has("published")


def test_figure_that_the_paper_tuned_on_the_target_has_its_published_numbers(results):
    table = table_of(results[-1], "target-oracle")
    assert PERCENT.printed(table.column("source->target")["sca + 1NN"]) == "77.00"


def test_averages_come_before_what_they_sum_up(results):
    names = [column.name for column in table_of(results[0], "source-cv").columns]
    assert names[:2] == ["average", "mean rank"]


def test_average_over_some_of_the_tasks_is_not_shown_as_a_number(results):
    averages = table_of(results[0], "source-cv").column("average")
    for label, value in _values(results[0], "Average").items():
        entry = averages[label]
        if math.isnan(value):
            assert entry.missing
            assert "Failed on" in entry.reason
        else:
            assert PERCENT.ours(entry) == f"{value:.2f}"


def test_marks_of_a_column_are_its_largest_and_second_largest_number(results):
    entries = table_of(results[0], "source-cv").column("average").values()
    known = sorted((entry.value for entry in entries if not entry.missing), reverse=True)
    marked = {entry.mark: entry.value for entry in entries}
    assert marked["best"] == known[0]
    assert marked["second"] == known[1]


def test_tasks_of_the_same_name_in_two_groups_are_kept_apart(results):
    table = table_of(results[2], "source-cv")
    for group in ("Office+Caltech (SURF-BoW)", "Office+Caltech (DeCAF6)"):
        own = [
            each.accuracy
            for each in results[2].outcomes
            if (each.group, each.label) == (group, "sca + linear SVM")
        ]
        assert len(own) == 12
        average = table.column(group, "Averages")["sca + linear SVM"]
        assert average.value == pytest.approx(fmean(own))
        assert table.column("A->W", group)["sca + linear SVM"].value == own[0]
    raw = table.column("Office+Caltech (SURF-BoW)", "Averages")["raw + linear SVM"]
    assert raw.published == published("table4").value("L-SVM", "Office+Caltech (SURF-BoW)")


def test_summary_has_the_averages_of_every_suite_that_has_accuracies(results):
    table = summary_of(results, "source-cv")
    assert [column.name for column in table.columns] == [
        *("table2", "table1-draws"),
        *["figure2"] * 3,
    ]
    entries = {row.label: row.entries[0] for row in table.rows}
    averages = table_of(results[0], "source-cv").column("average")
    assert {label: entries[label] for label in averages} == averages
    assert summary_of(results, "leave-one-domain-out") is None


def test_runs_of_several_draws_are_averaged_with_their_spread(results):
    entry = table_of(results[1], "source-cv").column("usps->mnist")["sca + 1NN"]
    own = [
        each.accuracy
        for each in results[1].outcomes
        if (each.task, each.label) == ("usps->mnist", "sca + 1NN")
    ]
    mean = fmean(own)
    assert len(own) == 5
    if math.isnan(mean):
        assert entry.note == "failed"
    else:
        spread = math.sqrt(sum((each - mean) ** 2 for each in own) / 4)
        assert PERCENT.ours(entry) == f"{mean:.2f}"
        assert PERCENT.spread(entry) == f"{spread:.2f}"


# --- figures inside a page ------------------------------------------------------------------------


def test_figures_of_one_page_share_no_identifier_and_have_no_style_attribute(require):
    require("matplotlib", "report")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3, 2))
    ax = figure.add_subplot()
    ax.plot([1, 2, 3], [3, 1, 2], "o--", color="#bd1f01", label="a <b> & c")
    ax.legend()
    ax.set_ylabel("italic", style="italic", weight="bold")
    one, again, other = (inline_svg(figure, name=name, title="T") for name in ("a", "a", "b"))
    assert one == again
    names = [set(re.findall(r'id="([^"]+)"', text)) for text in (one, other)]
    assert all(names)
    assert not names[0] & names[1]
    assert " style=" not in one
    assert "a &lt;b&gt; &amp; c" in one
    used = set(re.findall(r"url\(#([^)]+)\)", one)) | set(re.findall(r'href="#([^"]+)"', one))
    assert used == names[0]
    assert 'font-style="italic"' in one
