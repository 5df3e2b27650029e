"""The report in a real browser."""

from __future__ import annotations

import re
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.decomposition import PCA

from skatter import SCA, SCAClassifier, adapt
from skatter.reporting import report

pytestmark = pytest.mark.usefixtures("few_trees")

HOSTILE = (
    "<script>window.hacked = 1</script>",
    '"><img src=x onerror="window.hacked = 1">',
    "</script><script>window.hacked = 1</script>",
    "line\u2028break ' \u202e turned \x00 nothing",
)


@pytest.fixture(scope="module")
def file(story: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    story.page(path=path)
    return path


@pytest.fixture(scope="module")
def adapted(require: Any) -> Any:
    """A table of two places, adapted; the label of one is hidden."""
    pandas = require("pandas", "report")
    rng = np.random.default_rng(3)
    y, site = np.tile([0, 1, 2], 40), np.repeat(["north", "south"], 60)
    X = rng.normal(size=(120, 3)) + 2.2 * np.eye(3)[y]
    X[site == "south"] += [0, 0, 2]
    frame = pandas.DataFrame(X, columns=["height", "girth", "altitude"])
    frame["site"], frame["kind"] = (
        site,
        np.where(site == "north", np.array(["a", "b", "c"])[y], None),
    )
    return adapt(frame, label="kind", domain="site")


@pytest.fixture(scope="module")
def table_file(adapted: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "table.html"
    return report(adapted, path=path)


def positions(page: Any, name: str) -> np.ndarray:
    return np.array(page.evaluate(f"skatterReport.positions('{name}')"))


def slide(page: Any, name: str, value: int) -> None:
    page.locator(f"#{name}").evaluate(
        "(each, value) => { each.value = value; each.dispatchEvent(new Event('input')); }", value
    )


def middle(page: Any, name: str, row: int) -> tuple[float, float]:
    """Where a point is on the screen."""
    canvas = page.locator(f"[data-plot={name}] canvas")
    canvas.evaluate("each => each.scrollIntoView({ block: 'center' })")
    box = canvas.bounding_box()
    _, x, y = positions(page, name)[row]
    return box["x"] + x, box["y"] + y


# --- what it needs -------------------------------------------------------------------------------


def test_page_opens_without_a_complaint_and_asks_for_nothing_but_itself(open_page, file):
    seen = open_page(file)
    for place in ("explorer", "about"):
        seen.page.locator(f"#{place}").scroll_into_view_if_needed()
    slide(seen.page, "beta", 0)
    seen.page.locator(".map summary").click()
    seen.page.locator(".theme").click()
    assert seen.complaints == []
    assert seen.requests == [file.as_uri()]


def test_policy_stops_scripts_styles_and_requests_that_are_not_the_reports_own(open_page, file):
    seen = open_page(file)
    seen.page.evaluate(
        """() => {
            const script = document.createElement("script");
            script.textContent = "window.hacked = true";
            const image = document.createElement("img");
            image.src = "https://example.org/pixel.png";
            fetch("https://example.org/").catch(() => {});
            document.body.append(script, image);
        }"""
    )
    seen.page.wait_for_timeout(200)
    assert seen.page.evaluate("window.hacked") is None
    refused = " ".join(text for text in seen.complaints if "Content Security Policy" in text)
    for directive in ("script-src", "img-src", "default-src"):
        assert f"{directive} " in refused


def test_hostile_names_stay_text_and_run_nothing(open_page, story, require, tmp_path):
    pandas = require("pandas", "report")
    names = np.array(HOSTILE[:3])
    frame = pandas.DataFrame(story.X, columns=[*HOSTILE, "=cmd()"])
    label, site = names[story.y], np.where(story.seen, HOSTILE[3], HOSTILE[1])
    model = SCA().fit(frame, label, sample_domain=site, labelled=story.seen)
    path = tmp_path / "hostile.html"
    report(
        model,
        frame,
        label,
        site,
        labelled=story.seen,
        predictions={"predicted": label, "confidence": np.ones(180)},
        settings={HOSTILE[2]: HOSTILE[0], "nested": {HOSTILE[1]: HOSTILE[3]}},
        title=HOSTILE[0],
        path=path,
    )
    seen = open_page(path)
    page = seen.page
    assert page.locator("h1").inner_text() == HOSTILE[0]
    page.locator("[data-colour=class]").first.click()
    page.mouse.click(*middle(page, "before", 0))
    for details in page.locator("summary").all():
        details.click()
    cells = page.locator("#pictures [data-rows] th").all_inner_texts()
    assert {HOSTILE[0], HOSTILE[1], HOSTILE[2]} <= set(cells)
    assert "line\\u2028break ' \\u202e turned \\x00 nothing" in cells
    legend = page.locator("#pictures [data-legend] button span:first-of-type").all_inner_texts()
    assert set(legend) == set(HOSTILE[:3])
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2
    assert seen.dialogs == seen.complaints == []
    assert seen.requests == [path.as_uri()]
    raw = path.read_text(encoding="utf-8")
    assert raw.count("</script>") == 2
    assert not re.search("[\u2028\u2029\u202e\x00]", raw)


# --- four questions -------------------------------------------------------------------------------


def test_four_questions_come_first_and_in_order(open_page, table_file):
    page = open_page(table_file).page
    asked = [
        "Is there a shift, and where?",
        "How well will it do there?",
        "Which rows should I look at?",
        "What would settle it?",
    ]
    assert page.locator(".answers dt").all_inner_texts() == asked
    assert page.locator("main h2").all_inner_texts()[:4] == asked


def test_answers_are_those_of_the_adaptation(open_page, adapted, table_file):
    page = open_page(table_file).page
    answers = page.locator(".answers dd").all_inner_texts()
    assert "altitude" in answers[0]
    assert str(adapted.judgement.accuracy) in answers[1]
    told = adapted.predictions.iloc[60:]
    apart = int((told["adapted_kind"] != told["plain_kind"]).sum())
    assert f"disagree on {apart} row" in answers[2] or (not apart and "agree on all" in answers[2])
    assert "skatter ask" in answers[3]
    first = page.locator("#rows table").first.locator("tbody tr")
    counts = {
        row.locator("th").inner_text(): row.locator("td").first.inner_text() for row in first.all()
    }
    assert counts == {name: str(n) for name, n in told["predicted_kind"].value_counts().items()}


def test_rows_to_look_at_are_those_on_which_the_models_disagree(open_page, adapted, table_file):
    page = open_page(table_file).page
    told = adapted.predictions.iloc[60:]
    apart = told[told["adapted_kind"] != told["plain_kind"]].sort_values(
        "confidence", kind="stable"
    )
    shown = page.locator("#rows table[aria-label], #rows table").all()
    titles = page.locator("#rows h3").all_inner_texts()
    rows = dict(zip(titles, shown, strict=True))
    listed = rows["The models disagree"].locator("tbody th").all_inner_texts()
    assert [int(each) - 1 for each in listed] == apart.index[:10].tolist()
    unsure = told.sort_values("confidence", kind="stable").index[:10]
    listed = rows["The model is least sure"].locator("tbody th").all_inner_texts()
    assert [int(each) - 1 for each in listed] == unsure.tolist()


def test_an_empty_table_of_accuracies_is_left_out_and_the_grey_group_has_a_name(
    open_page, table_file
):
    page = open_page(table_file).page
    assert "Accuracy in each domain" not in page.locator("#accuracy").inner_text()
    page.locator("#pictures [data-colour=class]").click()
    names = page.locator("#pictures [data-legend] button span:first-of-type").all_inner_texts()
    assert names == ["a", "b", "c", "no label"]


def test_a_table_that_goes_on_beyond_a_narrow_screen_shows_a_shadow(open_page, table_file):
    page = open_page(table_file, width=360).page
    style = page.locator("#accuracy .scroll").evaluate("e => getComputedStyle(e).backgroundImage")
    assert style.count("linear-gradient") == 2


# --- the path explorer ---------------------------------------------------------------------------


@pytest.mark.parametrize("setting", [(0.3, 1.0, 4), (0.6, 100.0, 3), (0.0, 0.0, 2), (0.9, 0.1, 7)])
def test_sliders_show_what_a_fit_with_that_setting_gives(open_page, file, story, setting):
    page = open_page(file).page
    path = page.evaluate("skatterReport.data.explorer")
    beta, delta, k = setting
    slide(page, "beta", path["betas"].index(beta))
    slide(page, "delta", path["deltas"].index(delta))
    slide(page, "k", k)
    model = SCA(beta=beta, delta=delta, n_components=k)
    Z = model.fit_transform(story.X, story.y, sample_domain=story.site, labelled=story.seen)
    direct = pdist(PCA(2, svd_solver="full").fit_transform(Z))
    shown = pdist(positions(page, "path")[:, 1:])
    np.testing.assert_allclose(shown / shown.max(), direct / direct.max(), atol=2e-3)
    text = page.locator("[data-setting]").inner_text()
    assert text.startswith(f"β = {beta:g}, δ = {delta:g}, k = {k}")


@pytest.mark.parametrize("name", ["beta", "delta", "k"])
def test_every_slider_moves_points_and_the_button_brings_them_back(open_page, file, name):
    page = open_page(file).page
    fitted = positions(page, "path")
    figures = page.locator(".figures-now [data-here]").all_inner_texts()
    assert figures == page.locator(".figures-now [data-fitted]").all_inner_texts()
    slide(page, name, 1 if name == "k" else 0)
    moved = positions(page, "path")
    assert np.abs(moved - fitted)[:, 1:].max() > 5
    assert page.locator(".figures-now [data-here]").all_inner_texts() != figures
    page.locator("[data-reset]").click()
    assert page.locator(".figures-now [data-here]").all_inner_texts() == figures
    shown, before = (pdist(each[:, 1:]) for each in (positions(page, "path"), fitted))
    np.testing.assert_allclose(shown / shown.max(), before / before.max(), atol=1e-3)


def test_points_do_not_flip_between_neighbouring_settings(open_page, file):
    page = open_page(file).page
    n_betas = page.evaluate("skatterReport.data.explorer.betas.length")
    slide(page, "delta", 2)
    for beta in range(n_betas - 1):
        slide(page, "beta", beta)
        here = positions(page, "path")[:, 1:]
        slide(page, "beta", beta + 1)
        there = positions(page, "path")[:, 1:]
        a, b = here - here.mean(axis=0), there - there.mean(axis=0)
        M = a.T @ b
        straight = np.trace(M)
        # No turn and no mirror image would bring the two closer together.
        assert straight >= np.linalg.svd(M, compute_uv=False).sum() - 1e-3 * abs(straight)


def test_points_glide_unless_motion_is_not_wanted(open_page, file):
    page = open_page(file, reduced_motion="no-preference").page
    start = positions(page, "path")
    moved = page.evaluate(
        """async () => {
            const slider = document.getElementById("delta");
            slider.value = 0;
            slider.dispatchEvent(new Event("input"));
            const seen = [];
            for (let i = 0; i < 3; i++) {
                await new Promise(requestAnimationFrame);
                seen.push(skatterReport.positions("path"));
            }
            return seen[2];
        }"""
    )
    page.wait_for_timeout(700)
    end = positions(page, "path")
    whole = np.abs(end - start)[:, 1:].sum()
    done = np.abs(np.array(moved) - start)[:, 1:].sum()
    assert 0 < done < 0.95 * whole

    page = open_page(file).page
    slide(page, "delta", 0)
    np.testing.assert_allclose(positions(page, "path"), end, atol=0.5)


def test_map_of_all_settings_shows_the_figures_and_leads_to_a_setting(open_page, file):
    page = open_page(file).page
    page.locator(".map summary").click()
    path = page.evaluate("skatterReport.data.explorer")
    slide(page, "k", 2)
    cells = page.locator(".map td").all_inner_texts()
    shares = [each[1] for each in path["figures"]["accuracy"]]
    assert [cell.replace("\u202f", "") for cell in cells] == [f"{100 * x:.1f}%" for x in shares]
    page.locator(".map td button").nth(len(path["deltas"]) + 1).click()
    text = page.locator("[data-setting]").inner_text()
    assert text.startswith(f"β = {path['betas'][1]:g}, δ = {path['deltas'][1]:g}, k = 2")


# --- rows: hover, lasso, keys --------------------------------------------------------------------


def test_hover_tells_the_row(open_page, file, story):
    page = open_page(file).page
    page.mouse.move(*middle(page, "after", 100))
    told = page.locator("#tip").inner_text().split("\n")
    row = page.evaluate("skatterReport.data.rows.number[100]") - 1
    assert told[0] == f"Row {row + 1}"
    assert told[1] == f"domain: {story.site[row]}"
    assert told[2] == f"class: {story.y[row]} (hidden from the fit)"
    assert told[-1].startswith("feature 4: ")
    assert float(told[-1].split(": ")[1]) == pytest.approx(story.X[row, 4], rel=1e-4)
    page.mouse.move(5, 5)
    assert not page.locator("#tip").is_visible()


def test_lasso_lists_exactly_the_rows_inside(open_page, file):
    page = open_page(file).page
    page.locator("[data-plot=before]").evaluate("e => e.scrollIntoView({ block: 'center' })")
    box = page.locator("[data-plot=before]").bounding_box()
    left, top, right, bottom = 120, 90, 300, 260
    page.mouse.move(box["x"] + left, box["y"] + top)
    page.mouse.down()
    for x, y in ((right, top), (right, bottom), (left, bottom), (left, top)):
        page.mouse.move(box["x"] + x, box["y"] + y, steps=3)
    page.mouse.up()
    border = page.locator("[data-plot=before]").evaluate("each => each.clientLeft")
    row, x, y = positions(page, "before").T
    held = (x + border > left) & (x + border < right) & (y + border > top) & (y + border < bottom)
    assert 0 < held.sum() < 180
    listed = page.locator("#pictures [data-rows] tbody th").all_inner_texts()
    assert [int(each) - 1 for each in listed] == sorted(row[held].astype(int))
    assert page.locator("#pictures .count").inner_text() == f"{held.sum()} rows chosen"
    page.locator("#pictures [data-clear]").click()
    assert not page.locator("#pictures [data-rows]").is_visible()


def test_chosen_rows_are_copied_as_csv_without_formulas(open_page, story, require, tmp_path):
    pandas = require("pandas", "report")
    frame = pandas.DataFrame(story.X, columns=["=1+1", 'a "b"', "c,d", "e", "f"])
    model = SCA().fit(frame, story.y, sample_domain=story.site, labelled=story.seen)
    path = tmp_path / "csv.html"
    report(model, frame, story.y, story.site, labelled=story.seen, path=path)
    page = open_page(path, permissions=["clipboard-read", "clipboard-write"]).page
    page.evaluate("skatterReport.choose([3, 7])")
    page.locator("#pictures [data-copy]").click()
    page.locator("#pictures [data-copy]", has_text="Copied").wait_for()
    lines = page.evaluate("navigator.clipboard.readText()").split("\n")
    assert lines[0] == 'row,domain,class,seen in fit,predicted,\'=1+1,"a ""b""","c,d",e,f'
    assert [line.split(",")[0] for line in lines[1:]] == ["4", "8", ""]
    assert float(lines[1].split(",")[-1]) == pytest.approx(story.X[3, 4], rel=1e-4)


def test_keyboard_alone_reaches_sliders_and_lists_rows(open_page, file):
    page = open_page(file).page
    reached = []
    for _ in range(80):
        page.keyboard.press("Tab")
        where = page.evaluate(
            "document.activeElement.id || document.activeElement.dataset.plot || ''"
        )
        reached.append(where)
        if where == "before":
            for key in ("ArrowRight", "ArrowRight", "Enter", "ArrowDown", "Enter"):
                page.keyboard.press(key)
            assert "Row" in page.locator("#tip").inner_text()
        if where == "delta":
            old = positions(page, "path")
            page.keyboard.press("ArrowLeft")
            assert np.abs(positions(page, "path") - old).max() > 0.5
        if where == "k":
            break
    order = [each for each in reached if each in ("before", "after", "path", "beta", "delta", "k")]
    assert order == ["before", "after", "path", "beta", "delta", "k"]
    assert page.locator("#pictures [data-rows] tbody tr").count() == 2


def test_row_in_focus_is_said_aloud(open_page, file):
    page = open_page(file).page
    page.locator("[data-plot=after]").focus()
    page.keyboard.press("ArrowUp")
    assert page.locator("#said").inner_text().startswith("Row ")
    page.keyboard.press("Enter")
    assert page.locator("#said").inner_text() == "1 row chosen and listed below the picture."
    page.keyboard.press("Escape")
    assert not page.locator("#tip").is_visible()


def test_colours_switch_between_domain_class_and_prediction(open_page, file, story):
    page = open_page(file).page
    names = {"domain": ["north", "south"], "class": ["0", "1", "2"], "predicted": ["0", "1", "2"]}
    pictures = set()
    for key, wanted in names.items():
        page.locator(f"#pictures [data-colour={key}]").click()
        entries = page.locator("#pictures [data-legend] button span:first-of-type")
        assert entries.all_inner_texts() == wanted
        pictures.add(page.locator("[data-plot=after] canvas").evaluate("each => each.toDataURL()"))
    page.locator("#pictures [data-legend] button").first.click()
    pictures.add(page.locator("[data-plot=after] canvas").evaluate("each => each.toDataURL()"))
    assert len(pictures) == 4


# --- who can read it -----------------------------------------------------------------------------


def test_every_control_and_picture_has_a_name(open_page, file):
    page = open_page(file).page
    page.evaluate("skatterReport.choose([1])")
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    page.wait_for_timeout(100)
    nameless = page.evaluate(
        """() => {
            const wanted = "button, input, select, a, summary, [tabindex], [role]";
            const name = (each) => each.getAttribute("aria-label")
                || (each.getAttribute("aria-labelledby") ?? "").split(" ").map(
                    (id) => document.getElementById(id)?.textContent ?? "").join("")
                || [...(each.labels ?? [])].map((label) => label.textContent).join("")
                || each.textContent;
            return [...document.querySelectorAll(wanted)]
                .filter((each) => !["main", "said", "tip"].includes(each.id))
                .filter((each) => !("said" in each.dataset) && !name(each).trim())
                .map((each) => each.outerHTML.slice(0, 80));
        }"""
    )
    assert nameless == []
    headings = page.locator("h1, h2, h3").evaluate_all("all => all.map((each) => each.tagName)")
    assert headings.count("H1") == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_background_by_four_and_a_half_to_one(open_page, file, scheme):
    page = open_page(file, color_scheme=scheme).page
    page.evaluate("skatterReport.choose([1])")
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    page.wait_for_timeout(100)
    poor = page.evaluate(
        """() => {
            const often = { willReadFrequently: true };
            const paint = document.createElement("canvas").getContext("2d", often);
            const rgb = (colour) => {
                paint.clearRect(0, 0, 1, 1);
                paint.fillStyle = colour;
                paint.fillRect(0, 0, 1, 1);
                return [...paint.getImageData(0, 0, 1, 1).data];
            };
            const light = ([r, g, b]) => {
                const [x, y, z] = [r, g, b].map((v) => v / 255)
                    .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
                return 0.2126 * x + 0.7152 * y + 0.0722 * z;
            };
            const behind = (each) => {
                for (let at = each; at; at = at.parentElement) {
                    const colour = rgb(getComputedStyle(at).backgroundColor);
                    if (colour[3] > 250) return colour;
                }
                return [255, 255, 255];
            };
            const poor = [];
            for (const each of document.querySelectorAll("body *")) {
                const words = [...each.childNodes].filter((node) => node.nodeType === 3);
                const own = words.map((node) => node.textContent).join("").trim();
                const shown = each.getClientRects().length && !each.closest("svg, .unseen, script");
                if (!own || !shown) continue;
                const [a, b] = [light(rgb(getComputedStyle(each).color)), light(behind(each))];
                const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
                if (contrast < 4.5) poor.push(`${own.slice(0, 30)}: ${contrast.toFixed(2)}`);
            }
            return poor;
        }"""
    )
    assert poor == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_axe_finds_nothing_to_complain_of(open_page, accessibility, table_file, width, scheme):
    page = open_page(table_file, width=width, height=844, color_scheme=scheme).page
    page.evaluate("skatterReport.choose([1])")
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    page.wait_for_timeout(100)
    assert accessibility(page) == []


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_nothing_but_tables_is_wider_than_the_screen(open_page, file, width):
    page = open_page(file, width=width, height=844).page
    page.evaluate("skatterReport.choose([1, 2, 3])")
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    box = page.locator("[data-plot=before]").bounding_box()
    assert box["width"] > 250
    assert abs(box["width"] - box["height"]) < 3


def test_dark_and_light_repaint_the_points(open_page, file):
    page = open_page(file, color_scheme="light").page
    picture = "each => each.toDataURL()"
    canvas = page.locator("[data-plot=before] canvas")
    page.locator("#pictures [data-colour=class]").click()
    light = canvas.evaluate(picture)
    page.locator(".theme").click()
    assert canvas.evaluate(picture) != light
    page.locator(".theme").click()
    assert canvas.evaluate(picture) == light


def test_paper_is_light_without_controls_and_clips_no_table(open_page, file):
    page = open_page(file, color_scheme="dark").page
    page.evaluate("skatterReport.choose([...Array(60).keys()])")
    assert page.locator("#pictures [data-rows] .scroll").evaluate(
        "each => each.scrollHeight > each.clientHeight"
    )
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(28, 33, 38)"
    for hidden in (".contents", "#pictures .controls >> nth=0", ".sliders", "[data-copy] >> nth=0"):
        assert not page.locator(hidden).is_visible()
    clipped = page.locator(".scroll:visible").evaluate_all(
        "all => all.filter((each) => getComputedStyle(each).overflowY !== 'visible').length"
    )
    assert clipped == 0
    assert page.locator("#pictures [data-rows] tbody tr").last.is_visible()
    assert page.pdf()[:4] == b"%PDF"


def test_readers_without_the_script_get_every_table(open_page, file):
    page = open_page(file, java_script_enabled=False).page
    for part in ("shift", "rows", "settle", "scatters", "spectrum", "distances", "accuracy"):
        assert page.locator(f"#{part}").is_visible()
    assert page.locator("#pictures .needs-script").is_visible()
    assert not page.locator(".sliders").is_visible()


# --- many points ---------------------------------------------------------------------------------


def test_fifty_thousand_rows_stay_usable_and_say_that_they_are_thinned(open_page, tmp_path):
    rng = np.random.default_rng(0)
    n = 50_000
    y, site = rng.integers(0, 12, n), rng.choice(["a", "b", "c"], n, p=[0.6, 0.399, 0.001])
    X = rng.normal(size=(n, 8)).astype(np.float32) + 2 * np.eye(12, 8)[y]
    X += np.where(site == "c", 2, 0)[:, None]
    model = SCA(kernel="linear").fit(X, y, sample_domain=site, labelled=site != "c")
    path = tmp_path / "large.html"
    report(model, X, y, site, labelled=site != "c", path=path)
    assert path.stat().st_size < 8e6
    start = perf_counter()
    seen = open_page(path)
    page = seen.page
    assert len(positions(page, "before")) == 5000
    opened = perf_counter() - start
    assert "5,000 of 50,000 rows are drawn" in page.locator("#pictures").inner_text()
    assert "of 50,000 rows" in page.locator("#scatters").inner_text()
    assert (
        "c" in page.locator("#pictures [data-legend] button span:first-of-type").all_inner_texts()
    )
    start = perf_counter()
    slide(page, "beta", 0)
    page.mouse.move(*middle(page, "before", 10))
    page.evaluate("skatterReport.choose([...Array(5000).keys()])")
    answered = perf_counter() - start
    assert page.locator("#tip").is_visible()
    assert page.locator("#pictures [data-rows] tbody tr").count() == 200
    assert "first 200" in page.locator("#pictures .more").inner_text()
    assert opened < 10
    assert answered < 5
    assert seen.complaints == []


def test_more_groups_than_styles_share_the_last_entry(open_page, story, tmp_path):
    label = np.arange(180) % 60
    model = SCA().fit(story.X, label, sample_domain=story.site, labelled=story.seen)
    path = tmp_path / "many.html"
    report(model, story.X, label, story.site, labelled=story.seen, path=path)
    page = open_page(path).page
    page.locator("#pictures [data-colour=class]").click()
    names = page.locator("#pictures [data-legend] button span:first-of-type").all_inner_texts()
    assert len(names) == 40
    assert names[-1] == "all others"
    styles = page.evaluate(
        "skatterReport.data.colourings[1].categories.map((each) => `${each.colour} ${each.marker}`)"
    )
    assert len(set(styles)) == 40


def test_rounds_of_self_training_are_shown_with_the_one_that_was_kept(open_page, story, tmp_path):
    model = SCAClassifier(n_rounds=3, ridges=(1e-3, 1e-2), scalings=("none",))
    model.fit(story.X, story.y, sample_domain=story.site, labelled=story.seen)
    path = tmp_path / "classifier.html"
    report(model, story.X, story.y, story.site, labelled=story.seen, path=path)
    seen = open_page(path)
    page = seen.page
    page.locator("#training summary").click()
    rows = page.locator("#training tbody tr")
    assert rows.count() == sum(len(each.rounds) for each in model.candidates_)
    kept = page.locator("#training tr.kept td:last-child").all_inner_texts()
    assert kept == [f"{max(r.trust for r in each.rounds):.4f}" for each in model.candidates_]
    page.locator("#explorer").scroll_into_view_if_needed()
    assert "before any self-training" in page.locator("#explorer").inner_text()
    assert seen.complaints == []
