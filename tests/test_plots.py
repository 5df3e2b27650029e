"""Pictures show every sample once, name what they show and touch no global state."""

from __future__ import annotations

import io
import subprocess
import sys

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_hex

from skatter.datasets import make_figure1
from skatter.plots import PALETTE, UNLABELLED_COLOUR, plot_before_after, plot_embedding


@pytest.fixture
def data():
    return make_figure1()


def legend_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def drawn_points(ax):
    return np.vstack([np.asarray(points.get_offsets()) for points in ax.collections])


def drawn_colours(ax):
    """Colour of every drawn point, keyed by its position."""
    colours = {}
    for points in ax.collections:
        shades = [to_hex(shade) for shade in points.get_facecolors()]
        positions = [tuple(row) for row in np.asarray(points.get_offsets())]
        colours.update(zip(positions, shades, strict=True))
    return colours


def all_texts(ax):
    return [text.get_text() for text in ax.texts]


# --- one panel --------------------------------------------------------------------------------


def test_every_sample_is_drawn_once_in_the_colour_of_its_category(data):
    ax = plot_embedding(data.X, colour_by=data.domain)
    assert len(drawn_points(ax)) == 300
    expected = {"source": PALETTE[0], "target": PALETTE[1]}
    colours = drawn_colours(ax)
    assert all(
        colours[tuple(x)] == expected[name]
        for x, name in zip(data.X, data.domain.tolist(), strict=True)
    )
    assert legend_of(ax) == ["source", "target"]
    assert ax.get_xlabel() == "component 1"
    assert ax.get_ylabel() == "component 2"


def test_only_the_first_two_columns_are_drawn(data):
    wide = np.column_stack([data.X, data.X * 100])
    points = drawn_points(plot_embedding(wide, colour_by=data.y))
    np.testing.assert_array_equal(np.sort(points, axis=0), np.sort(data.X, axis=0))


def test_points_are_drawn_in_a_fixed_shuffled_order(data):
    first, second = (drawn_points(plot_embedding(data.X, colour_by=data.y)) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, data.X)


def test_a_given_panel_is_used_and_titled(data):
    ax = matplotlib.figure.Figure().subplots()
    assert plot_embedding(data.X, colour_by=data.y, ax=ax, title="mine", legend=False) is ax
    assert ax.get_title() == "mine"
    assert ax.get_legend() is None


def test_many_points_are_thinned_with_a_note():
    Z = np.random.default_rng(0).normal(size=(5_001, 2))
    ax = plot_embedding(Z, colour_by=np.arange(5_001) % 3)
    assert len(drawn_points(ax)) == 5_000
    assert all_texts(ax) == ["5,000 of 5,001 points drawn"]
    again = plot_embedding(Z, colour_by=np.arange(5_001) % 3)
    np.testing.assert_array_equal(drawn_points(ax), drawn_points(again))


def test_five_thousand_points_are_all_drawn_without_a_note():
    ax = plot_embedding(np.zeros((5_000, 2)), colour_by=np.zeros(5_000, dtype=int))
    assert len(drawn_points(ax)) == 5_000
    assert all_texts(ax) == []


def test_more_categories_than_colours_get_other_markers():
    Z = np.arange(50.0).reshape(25, 2)
    ax = plot_embedding(Z, colour_by=np.arange(25))
    looks = [(handle.get_color(), handle.get_marker()) for handle in ax.get_legend().legend_handles]
    assert len(set(looks)) == 25
    assert len(drawn_points(ax)) == 25


def test_objects_and_missing_values_are_named():
    ax = plot_embedding(np.eye(4)[:, :2], colour_by=np.array(["a", None, 3, "a"], dtype=object))
    assert legend_of(ax) == ["3", "None", "a"]


def test_colouring_by_a_number_that_is_no_category_is_refused():
    with pytest.raises(ValueError, match="colour_by has 41 different values"):
        plot_embedding(np.zeros((41, 2)), colour_by=np.linspace(0, 1, 41))


def test_lengths_must_agree(data):
    with pytest.raises(ValueError, match=r"colour_by must hold one category per row of Z \(300\)"):
        plot_embedding(data.X, colour_by=data.y[1:])


def test_one_component_is_too_few(data):
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        plot_embedding(data.X[:, :1], colour_by=data.y)


# --- before and after ---------------------------------------------------------------------------


def test_before_and_after_has_four_titled_panels(data):
    figure = plot_before_after(data.X, 2 * data.X, domain=data.domain, label=data.y, title="shift")
    assert [ax.get_title() for ax in figure.axes] == [
        "Before, by domain",
        "After, by domain",
        "Before, by class",
        "After, by class",
    ]
    assert figure.get_suptitle() == "shift"
    for ax, Z in zip(figure.axes, [data.X, 2 * data.X] * 2, strict=True):
        np.testing.assert_array_equal(np.sort(drawn_points(ax), axis=0), np.sort(Z, axis=0))


def test_each_row_has_one_legend_for_its_shared_colours(data):
    figure = plot_before_after(data.X, 2 * data.X, domain=data.domain, label=data.y)
    left_domain, right_domain, left_class, right_class = figure.axes
    assert left_domain.get_legend() is None
    assert left_class.get_legend() is None
    assert legend_of(right_domain) == ["source", "target"]
    assert legend_of(right_class) == ["0", "1", "2"]
    doubled = {tuple(2 * np.array(x)): shade for x, shade in drawn_colours(left_class).items()}
    assert drawn_colours(right_class) == doubled


def test_unlabelled_samples_are_grey_and_named(data):
    y = np.where(data.domain == "source", data.y, -1)
    figure = plot_before_after(data.X, data.X, domain=data.domain, label=y)
    assert legend_of(figure.axes[3]) == ["0", "1", "2", "unlabelled"]
    colours = drawn_colours(figure.axes[3])
    grey = [colours[tuple(x)] == UNLABELLED_COLOUR for x in data.X]
    assert grey == (data.domain == "target").tolist()


def test_each_class_is_named_at_its_median(data):
    figure = plot_before_after(data.X, data.X + 1, domain=data.domain, label=data.y)
    assert all_texts(figure.axes[0]) == all_texts(figure.axes[1]) == []
    for ax, Z in zip(figure.axes[2:], [data.X, data.X + 1], strict=True):
        assert all_texts(ax) == ["0", "1", "2"]
        for k, text in enumerate(ax.texts):
            np.testing.assert_allclose(text.get_position(), np.median(Z[data.y == k], axis=0))


def test_columns_can_be_named(data):
    figure = plot_before_after(
        data.X, data.X, domain=data.domain, label=data.y, names=("raw", "SCA")
    )
    assert [ax.get_title() for ax in figure.axes[:2]] == ["raw, by domain", "SCA, by domain"]


def test_a_thinned_figure_shows_the_same_samples_everywhere_and_says_so(data):
    figure = plot_before_after(data.X, 3 * data.X, domain=data.domain, label=data.y, max_points=99)
    before, after = (np.sort(drawn_points(ax), axis=0) for ax in figure.axes[:2])
    assert len(before) == 99
    np.testing.assert_allclose(after, 3 * before)
    assert figure.get_supxlabel() == "99 of 300 points drawn, the same ones in every panel"


def test_both_representations_must_have_the_same_samples(data):
    with pytest.raises(ValueError, match="before has 300 rows and after has 299"):
        plot_before_after(data.X, data.X[1:], domain=data.domain, label=data.y)


def test_a_figure_saves_as_png(data):
    buffer = io.BytesIO()
    plot_before_after(data.X, data.X, domain=data.domain, label=data.y).savefig(buffer)
    assert buffer.getvalue().startswith(b"\x89PNG\r\n\x1a\n")


# --- the session around -------------------------------------------------------------------------


def test_drawing_touches_neither_pyplot_nor_settings():
    # Reading the setting "backend" would itself import pyplot, so it is left out.
    code = (
        "import sys, numpy as np, matplotlib\n"
        "from skatter.plots import plot_embedding\n"
        "def settings():\n"
        "    rc = matplotlib.rcParams\n"
        "    return {key: rc[key] for key in rc if key != 'backend'}\n"
        "before = settings()\n"
        "plot_embedding(np.eye(2), colour_by=[0, 1]).figure.savefig(sys.stdout.buffer)\n"
        "assert settings() == before\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_importing_the_plots_does_not_import_matplotlib(modules_of_rooms):
    assert "skatter.plots" in modules_of_rooms
    assert "matplotlib" not in modules_of_rooms


def test_missing_matplotlib_gives_a_remedy(monkeypatch, data):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r'pip install "skatter\[plot\]"'):
        plot_embedding(data.X, colour_by=data.y)
