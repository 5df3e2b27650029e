"""Pictures show every number where it belongs, and their words do not cover each other."""

from __future__ import annotations

import io
import itertools
import subprocess
import sys

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_hex

from skatter.datasets import make_figure1
from skatter_bench.charts import (
    Panel,
    accuracy_against_time,
    critical_difference_diagram,
    draw_figure1,
    draw_figure2,
    drawings_of,
    pareto,
)
from skatter_bench.published import published
from skatter_bench.ranks import rank
from skatter_bench.results import Outcome
from skatter_bench.suites import get_suite

SURF = "Office+Caltech (SURF-BoW)"


def outcome(method, accuracy, seconds=1.0, *, task="A->W", classifier="1nn", group=SURF, **changes):
    plain = {
        "suite": "table2",
        "label": f"{method} + {'1NN' if classifier == '1nn' else classifier}",
        "protocol": "source-cv",
        "seed": 0,
        "draw": 0,
        "n_test": 295,
        "setting": {},
        "selection_score": None,
        "peak_bytes": None,
    }
    return Outcome(
        task=task,
        group=group,
        contestant=method,
        classifier=classifier,
        accuracy=accuracy,
        seconds=seconds,
        fit_seconds=seconds / 6,
        **{**plain, **changes},
    )


def words(ax):
    return [text.get_text() for text in ax.texts if text.get_text()]


def png(figure):
    out = io.BytesIO()
    figure.savefig(out, format="png")
    return out.getvalue()


# --- ranks --------------------------------------------------------------------------------------


@pytest.fixture
def ranking():
    paper = published("table2")
    return rank([[paper.value(m, t) for m in paper.methods] for t in paper.tasks], paper.methods)


def test_every_method_is_written_with_its_rank_from_where_its_line_starts(ranking):
    ax = critical_difference_diagram(ranking).axes[0]
    starts = [line.get_xdata()[0] for line in ax.lines if len(line.get_xdata()) == 3]
    assert starts == list(ranking.mean_ranks)
    for name, place in zip(ranking.methods, ranking.mean_ranks, strict=True):
        assert {f"{name}  {place:.2f}", f"{place:.2f}  {name}"} & set(words(ax))
    assert f"critical difference {ranking.critical_difference:.2f}" in words(ax)


def test_bars_join_the_cliques_and_do_not_touch(ranking):
    ax = critical_difference_diagram(ranking).axes[0]
    places = dict(zip(ranking.methods, ranking.mean_ranks, strict=True))
    bars = [line for line in ax.lines if line.get_linewidth() > 3]
    assert [tuple(bar.get_xdata()) for bar in bars] == [
        (places[clique[0]], places[clique[-1]]) for clique in ranking.cliques
    ]
    for one, other in itertools.combinations(bars, 2):
        apart = one.get_xdata()[1] < other.get_xdata()[0]
        assert apart or one.get_ydata()[0] != other.get_ydata()[0]


def test_labels_of_a_diagram_stand_in_separate_places(ranking):
    figure = critical_difference_diagram(ranking)
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in figure.axes[0].texts if text.get_text()]
    assert not any(one.overlaps(other) for one, other in itertools.combinations(boxes, 2))
    assert all(figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1 for box in boxes)


def test_a_diagram_says_who_is_missing_and_when_nothing_can_differ():
    few = rank([[3.0, 2.0, 1.0, np.nan]], ["a", "b", "c", "broken"])
    figure = critical_difference_diagram(few)
    assert "without broken" in figure.get_supxlabel()
    assert any("more than fits" in text for text in words(figure.axes[0]))


# --- accuracy against time ------------------------------------------------------------------------


def test_the_front_is_what_no_other_point_beats():
    rng = np.random.default_rng(0)
    cost, gain = rng.integers(1, 12, size=(2, 60))
    beaten = [
        any(
            (c <= cost[i] and g >= gain[i]) and (c < cost[i] or g > gain[i])
            for c, g in zip(cost, gain, strict=True)
        )
        for i in range(60)
    ]
    unbeaten = {(cost[i], gain[i]) for i in range(60) if not beaten[i]}
    front = pareto(cost, gain)
    assert {(cost[i], gain[i]) for i in front} == unbeaten
    assert len(front) == len(unbeaten)
    assert (np.diff(cost[front]) > 0).all()


def test_points_are_averages_over_tasks():
    runs = [
        outcome("sca", 40.0, 1.0),
        outcome("sca", 60.0, 3.0, task="A->D"),
        outcome("raw", 30.0, 0.1),
        outcome("raw", 40.0, 0.3, task="A->D"),
        outcome("gfk", 99.0, 0.1),
    ]
    figure = accuracy_against_time(runs, title="surf", highlight=["sca + 1NN"])
    ax = figure.axes[0]
    points = {tuple(point) for point in np.round(ax.collections[0].get_offsets(), 9).tolist()}
    assert points == {(2.0, 50.0), (0.2, 35.0)}
    assert sorted(words(ax)) == ["raw", "sca"]
    assert ax.get_xscale() == "log"
    assert "gfk + 1NN" in figure.get_supxlabel()


def test_an_oracle_is_named_in_the_picture():
    figure = accuracy_against_time([outcome("sca", 50.0, protocol="target-oracle")])
    assert "upper bound" in figure.get_supxlabel()


@pytest.mark.parametrize("seed", range(3))
def test_names_of_twelve_methods_cover_neither_each_other_nor_the_points(seed):
    rng = np.random.default_rng(seed)
    runs = [
        outcome(f"method-{i}", 40 + 5 * a, float(np.exp(b)))
        for i, (a, b) in enumerate(rng.normal(size=(12, 2)))
    ]
    figure = accuracy_against_time(runs)
    ax = figure.axes[0]
    boxes = [text.get_window_extent() for text in ax.texts if text.get_text()]
    assert len(boxes) == 12
    assert not any(one.overlaps(other) for one, other in itertools.combinations(boxes, 2))
    dots = ax.transData.transform(ax.collections[0].get_offsets())
    assert not any(box.contains(*dot) for box in boxes for dot in dots)


def test_groups_and_protocols_are_not_mixed_in_a_picture():
    with pytest.raises(ValueError, match="one group"):
        accuracy_against_time([outcome("sca", 50.0), outcome("sca", 50.0, group="digits")])
    with pytest.raises(ValueError, match="one protocol"):
        accuracy_against_time([outcome("sca", 50.0), outcome("raw", 50.0, protocol="defaults")])
    with pytest.raises(ValueError, match="no method has"):
        accuracy_against_time([outcome("sca", float("nan"), error="MemoryError: ")])


# --- figure 1 -----------------------------------------------------------------------------------


@pytest.fixture
def panels():
    data = make_figure1()
    names = ("Raw", "KPCA", "SSTCA", "TJM", "SCA")
    return [Panel(name, i + data.X, data.y, data.domain, 10.0 * i) for i, name in enumerate(names)]


def colours(ax):
    """Return the colour of each point that is drawn, and how often each."""
    return [
        (tuple(point), to_hex(points.get_edgecolors()[0]))
        for points in ax.collections
        for point in np.asarray(points.get_offsets()).tolist()
    ]


def test_figure1_shows_every_point_once_by_its_domain_and_below_by_its_class(panels):
    above, below = np.reshape(draw_figure1(panels).axes, (2, 5))[:, 1]
    panel = panels[1]
    for ax, groups in ((above, panel.domain), (below, panel.y)):
        drawn = colours(ax)
        assert sorted(point for point, _ in drawn) == sorted(map(tuple, panel.Z.tolist()))
        alike = {(str(g), dict(drawn)[tuple(z)]) for z, g in zip(panel.Z, groups, strict=True)}
        assert len(alike) == len(np.unique(groups)) == len({colour for _, colour in alike})


def test_figure1_titles_have_both_accuracies_and_each_row_has_a_legend(panels):
    figure = draw_figure1(panels)
    titles = [ax.get_title() for ax in figure.axes[:5]]
    assert titles[0] == "Raw\n0.00 % (paper 28 %)"
    assert titles[4] == "SCA\n40.00 % (paper 77 %)"
    legends = [ax.get_legend() for ax in figure.axes if ax.get_legend()]
    listed = [[text.get_text() for text in legend.get_texts()] for legend in legends]
    assert listed == [["source", "target"], ["0", "1", "2"]]
    assert [ax.get_ylabel() for ax in figure.axes[::5]] == ["domains", "classes"]


def test_figure1_takes_any_number_of_panels(panels):
    assert len(draw_figure1(panels[:1]).axes) == 2
    with pytest.raises(ValueError, match="panels are empty"):
        draw_figure1([])


def test_figure1_draws_a_method_of_yours_without_a_published_number(panels):
    mine = Panel("mine", panels[0].Z, panels[0].y, panels[0].domain, 50.0)
    assert draw_figure1([mine]).axes[0].get_title() == "mine\n50.00 %"


# --- figure 2 -----------------------------------------------------------------------------------


def gains(**changes):
    rows = {("raw", "svm"): 44.0, ("raw", "dam"): 47.0, ("sca", "svm"): 50.0, ("sca", "dam"): 46.0}
    return [
        outcome(method, accuracy + shift, classifier=classifier, group=group, **changes)
        for group, shift in ((SURF, 0.0), ("digits", 5.0))
        for (method, classifier), accuracy in rows.items()
    ]


def test_figure2_has_bars_as_high_as_the_gain_over_raw_samples():
    figure = draw_figure2(gains())
    assert len(figure.axes) == 2
    for ax in figure.axes:
        assert [bar.get_height() for bar in ax.patches] == pytest.approx([6.0, -1.0])
        assert words(ax) == ["+6.0", "-1.0"]
    assert figure.axes[0].get_title() == (
        f"{SURF}\nraw + linear SVM: 44.00 (43.98)\nraw + DAM: 47.00 (47.42)"
    )
    assert figure.axes[1].get_title() == "digits\nraw + linear SVM: 49.00\nraw + DAM: 52.00"


def test_figure2_has_no_published_number_beside_an_upper_bound():
    figure = draw_figure2(gains(protocol="target-oracle"))
    assert figure.axes[0].get_title() == f"{SURF}\nraw + linear SVM: 44.00\nraw + DAM: 47.00"
    assert "upper bound" in figure.get_supxlabel()


def test_figure2_needs_raw_samples_and_one_protocol():
    with pytest.raises(ValueError, match="lack raw samples with svm"):
        draw_figure2([each for each in gains() if each.contestant != "raw"])
    with pytest.raises(ValueError, match="one protocol"):
        draw_figure2([*gains(), *gains(protocol="defaults")])
    with pytest.raises(ValueError, match="svm or dam; got none"):
        draw_figure2([outcome("sca", 50.0)])


def test_figure2_is_left_out_where_its_classifiers_were_not_run():
    def names(classifier):
        methods = {"raw": 40.0, "sca": 45.0}
        own = [outcome(m, value, classifier=classifier) for m, value in methods.items()]
        return {drawing.name for drawing in drawings_of(get_suite("figure2"), own)}

    assert "gains" in names("svm")
    assert "gains" not in names("1nn")


# --- all of them --------------------------------------------------------------------------------


def test_the_same_results_give_the_same_picture(ranking, panels):
    drawings = (
        lambda: critical_difference_diagram(ranking),
        lambda: accuracy_against_time([outcome("sca", 50.0), outcome("raw", 40.0)]),
        lambda: draw_figure1(panels),
        lambda: draw_figure2(gains()),
    )
    before = dict(matplotlib.rcParams)
    for draw in drawings:
        assert png(draw()) == png(draw())
    assert dict(matplotlib.rcParams) == before


def test_pictures_leave_pyplot_alone_and_matplotlib_is_loaded_late():
    code = """
import sys
import skatter_bench.charts as charts
assert "matplotlib" not in sys.modules
from skatter_bench.ranks import rank
charts.critical_difference_diagram(rank([[1.0, 2.0], [1.0, 3.0]], ["a", "b"]))
assert "matplotlib" in sys.modules and "matplotlib.pyplot" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
