"""Pictures of fitted models draw the numbers that the models hold, or that a slow way gives."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skatter import (
    KPCA,
    SCA,
    SCACV,
    USCA,
    KernelFisher,
    SCAClassifier,
    make_domain_pipeline,
)
from skatter.plots import (
    domain_distances,
    plot_before_after,
    plot_domain_distances,
    plot_embedding,
    plot_path,
    plot_rounds,
    plot_scatters,
    plot_spectrum,
    solve_path,
)
from skatter.plots._canvas import AFTER_COLOUR, BEFORE_COLOUR, short_names
from skatter.scatter import mmd
from skatter.selection._folds import FoldSolver

HOSTILE = ["_hidden", "$x_{", "a\nb\x1b[31m", "<b>&amp;", "x" * 80]


@pytest.fixture(scope="module")
def fitted(two_domains):
    known = two_domains
    return SCA(n_components=4).fit(known.X, known.known, sample_domain=known.domain)


def texts(ax):
    return [text.get_text() for text in ax.texts]


def heights(ax):
    return np.array([bar.get_height() for bar in ax.patches])


def widths(ax):
    return np.array([bar.get_width() for bar in ax.patches])


def colour_of(bar):
    return "#" + "".join(f"{round(255 * value):02x}" for value in bar.get_facecolor()[:3])


def renders(figure):
    figure.savefig(io.BytesIO())
    return True


# --- the spectrum -------------------------------------------------------------------------------


def test_bars_of_the_spectrum_are_the_eigenvalues_with_their_share_of_the_sum(fitted):
    ax = plot_spectrum(fitted)
    np.testing.assert_array_equal(heights(ax), fitted.eigenvalues_)
    shares = 100 * fitted.eigenvalues_ / sum(fitted.eigenvalues_)
    assert texts(ax)[:4] == [f"{share:.0f} %" for share in shares]


def test_dark_bars_hold_nine_tenths_of_the_sum_and_one_fewer_would_not(two_domains):
    model = USCA(n_components=30, delta=0.0).fit(two_domains.X, sample_domain=two_domains.domain)
    ax = plot_spectrum(model)
    dark = [colour_of(bar) == AFTER_COLOUR for bar in ax.patches]
    n = sum(dark)
    assert dark == [True] * n + [False] * (len(dark) - n)
    cumulated = [sum(model.eigenvalues_[: k + 1]) for k in range(len(dark))]
    assert cumulated[n - 1] >= 0.9 * cumulated[-1] > cumulated[n - 2]
    assert texts(ax)[-1].startswith(f"{n} of {len(dark)} components (dark) hold ")


def test_shares_of_kernel_pca_are_those_of_the_total_scatter(two_domains):
    model = KPCA(n_components=3, kernel="linear").fit(two_domains.X)
    total = np.sum(np.var(two_domains.X, axis=0))
    ax = plot_spectrum(model)
    along = np.var(model.transform(two_domains.X), axis=0)
    expected = 100 * along / along.sum() * sum(model.eigenvalues_) / total
    assert texts(ax)[:3] == [f"{share:.0f} %" for share in expected]
    kept = 100 * np.sort(np.linalg.eigvalsh(np.cov(two_domains.X.T, ddof=0)))[-3:].sum() / total
    assert texts(ax)[-1] == f"together {kept:.0f} % of the total scatter"


def test_many_bars_have_no_numbers(two_domains):
    ax = plot_spectrum(KPCA(n_components=13).fit(two_domains.X))
    assert len(texts(ax)) == 1


# --- the scatters -------------------------------------------------------------------------------


def slow_shares(Z, y, domain):
    """Domain, conditional domain, between-class and within-class scatter over the total."""
    total = np.mean(np.sum((Z - Z.mean(axis=0)) ** 2, axis=1))

    def spread(means):
        means = np.array(means)
        return np.mean(np.sum((means - means.mean(axis=0)) ** 2, axis=1))

    by_domain = spread([Z[domain == d].mean(axis=0) for d in np.unique(domain)])
    conditional = np.mean(
        [
            spread([Z[(domain == d) & (y == c)].mean(axis=0) for d in np.unique(domain)])
            for c in np.unique(y)
        ]
    )
    means = np.array([Z[y == c].mean(axis=0) for c in np.unique(y)])[y]
    between = np.mean(np.sum((means - Z.mean(axis=0)) ** 2, axis=1))
    within = np.mean(np.sum((Z - means) ** 2, axis=1))
    return np.array([by_domain, conditional, between, within]) / total


def test_bars_of_the_scatters_are_shares_of_the_total_scatter(three_domains):
    data = three_domains
    model = SCA(kernel="linear").fit(data.X, data.y, sample_domain=data.domain)
    drawn = widths(plot_scatters(model))
    np.testing.assert_allclose(drawn[:4], slow_shares(data.X, data.y, data.domain))
    np.testing.assert_allclose(
        drawn[4:], slow_shares(model.transform(data.X), data.y, data.domain), rtol=1e-6
    )


def test_before_and_after_are_told_apart_by_lightness_and_named(fitted):
    ax = plot_scatters(fitted, names=("raw", "SCA"))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["raw", "SCA"]
    assert {colour_of(bar) for bar in ax.patches[:4]} == {BEFORE_COLOUR}
    assert {colour_of(bar) for bar in ax.patches[4:]} == {AFTER_COLOUR}


def test_the_line_of_the_total_scatter_stands_at_one_and_all_bars_fit(two_domains):
    model = SCA(beta=1).fit(two_domains.X, two_domains.known, sample_domain=two_domains.domain)
    ax = plot_scatters(model)
    assert ax.lines[0].get_xdata() == [1, 1]
    assert ax.get_xlim()[1] > max(1.0, *widths(ax))


def test_scatters_that_the_data_do_not_have_are_named_with_the_reason(two_domains, fitted):
    alone = plot_scatters(KPCA(n_components=2).fit(two_domains.X))
    assert {text for text in texts(alone) if "none" in text} == {
        " none: there is one domain",
        " none: no class is labelled in two domains",
        " none: no two classes are labelled",
        " none: no sample is labelled",
    }
    adapted = plot_scatters(fitted)
    assert [text for text in texts(adapted) if "none" in text] == [
        " none: no class is labelled in two domains"
    ]


def test_no_scatter_at_all_is_an_error():
    with pytest.warns(UserWarning, match="No direction"):
        model = KPCA().fit(np.ones((5, 2)))
    with pytest.raises(ValueError, match="total scatter before is zero"):
        plot_scatters(model)
    assert renders(plot_spectrum(model).figure)


# --- where a model is found ---------------------------------------------------------------------


def test_a_pipeline_and_a_search_are_drawn_by_what_they_hold(two_domains, fitted):
    data = two_domains
    pipeline = make_domain_pipeline(SCA(n_components=4), KNeighborsClassifier(1))
    pipeline.fit(data.X, data.known, sample_domain=data.domain)
    np.testing.assert_allclose(heights(plot_spectrum(pipeline)), fitted.eigenvalues_)
    np.testing.assert_allclose(
        widths(plot_scatters(pipeline)), widths(plot_scatters(fitted)), rtol=1e-9
    )
    search = SCACV(n_components=[2], betas=[0.1], deltas=[1.0])
    search.fit(data.X, data.known, sample_domain=data.domain)
    expected = search.best_estimator_.eigenvalues_
    np.testing.assert_array_equal(heights(plot_spectrum(search)), expected)


@pytest.mark.parametrize("draw", [plot_spectrum, plot_scatters, plot_rounds])
def test_what_cannot_be_drawn_is_named(draw, two_domains):
    with pytest.raises(TypeError, match=r"model must be .*; got a StandardScaler\."):
        draw(StandardScaler())
    with pytest.raises(TypeError, match=r"got a Pipeline with standardscaler, kneighbors"):
        draw(make_pipeline(StandardScaler(), KNeighborsClassifier()))
    with pytest.raises(NotFittedError):
        draw(make_domain_pipeline(StandardScaler(), SCA(), SCAClassifier()))


def test_of_several_steps_one_must_be_chosen(two_domains):
    model = make_domain_pipeline(KPCA(n_components=3), SCA())
    model.fit(two_domains.X, two_domains.known, sample_domain=two_domains.domain)
    with pytest.raises(ValueError, match=re.escape("(kpca, sca); give one of them, such as model")):
        plot_spectrum(model)
    assert len(plot_spectrum(model["kpca"]).patches) == 3


def test_a_search_that_did_not_refit_says_so(two_domains):
    search = SCACV(n_components=[2], betas=[0.1], deltas=[1.0], refit=False)
    search.fit(two_domains.X, two_domains.known, sample_domain=two_domains.domain)
    with pytest.raises(ValueError, match="refit=True"):
        plot_scatters(search)


# --- distances of domains -----------------------------------------------------------------------


def test_distances_are_roots_of_unbiased_discrepancies_of_every_two_domains(three_domains):
    X, domain = three_domains.X, three_domains.domain
    ids, found = domain_distances(X, domain, kernel="rbf", gamma=0.05)
    assert ids.tolist() == sorted(set(domain))
    for a, first in enumerate(ids):
        for b, second in enumerate(ids):
            pair = (X[domain == first], X[domain == second])
            value = mmd(*pair, gamma=0.05, unbiased=True).value if a != b else 0.0
            assert found[a, b] == pytest.approx(np.sqrt(max(value, 0)), abs=1e-9)


def test_the_linear_kernel_measures_means_however_far_from_the_origin(three_domains):
    X, domain = three_domains.X + 1e6, three_domains.domain
    ids, found = domain_distances(X, domain, kernel="linear")
    first, second = X[domain == ids[0]], X[domain == ids[1]]
    squared = np.sum((first.mean(axis=0) - second.mean(axis=0)) ** 2)
    noise = sum(np.var(part, axis=0, ddof=1).sum() / len(part) for part in (first, second))
    assert found[0, 1] == pytest.approx(np.sqrt(max(squared - noise, 0)), rel=1e-6)


def test_a_gram_matrix_gives_the_same_distances(three_domains):
    X, domain = three_domains.X, three_domains.domain
    expected = domain_distances(X, domain, kernel="linear")[1]
    found = domain_distances(X @ X.T, domain, kernel="precomputed")[1]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_samples_of_one_distribution_are_near_zero_however_few():
    rng = np.random.default_rng(0)
    X, domain = rng.normal(size=(4000, 3)), np.repeat([0, 1, 2, 3], [10, 990, 2000, 1000])
    assert domain_distances(X, domain)[1].max() < 0.2
    assert domain_distances(X, domain, max_samples=None)[1][1, 2] < 0.05


def test_many_samples_are_drawn_evenly_from_the_domains_and_the_same_each_time():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 2))
    domain = np.repeat(["few", "many"], [20, 880])
    X[domain == "few"] += 3
    first, second = (domain_distances(X, domain, max_samples=40)[1] for _ in range(2))
    np.testing.assert_array_equal(first, second)
    with pytest.raises(ValueError, match="max_samples must be at least 4"):
        domain_distances(X, domain, max_samples=3)


def test_cells_of_the_map_hold_their_numbers_and_share_one_scale(three_domains):
    data = three_domains
    figure = plot_domain_distances(data.X, data.domain, after=data.X / 7 + 1)
    expected = domain_distances(data.X, data.domain)[1]
    before, after, _ = figure.axes
    off = [f"{expected[a, b]:.2f}" for a in range(3) for b in range(3) if a != b]
    assert texts(before) == off
    # The median heuristic knows no units.
    assert texts(after) == off
    drawn = before.images[0].get_array()
    np.testing.assert_allclose(drawn.filled(0), expected)
    assert np.array_equal(drawn.mask, np.eye(3, dtype=bool))
    assert before.images[0].get_clim() == after.images[0].get_clim()
    np.testing.assert_allclose(before.images[0].get_clim(), (0.0, expected.max()))
    assert [label.get_text() for label in before.get_yticklabels()] == sorted(set(data.domain))


def test_distances_can_be_given(three_domains):
    table = np.array([[0, 0.5], [0.5, 0]])
    figure = plot_domain_distances(table, ["a", "b"], distances=True)
    assert texts(figure.axes[0]) == ["0.50", "0.50"]
    with pytest.raises(ValueError, match=r"each of the 3 domains.*got shape \(2, 2\)"):
        plot_domain_distances(table, ["a", "b", "c"], distances=True)
    with pytest.raises(ValueError, match="finite, not negative and symmetric"):
        plot_domain_distances(np.triu(table), ["a", "b"], distances=True)


def test_one_domain_or_a_lonely_sample_is_refused(three_domains):
    X = three_domains.X
    with pytest.raises(ValueError, match="one domain; distances need two"):
        domain_distances(X, np.zeros(len(X), dtype=int))
    with pytest.raises(ValueError, match="one sample of domain 7"):
        domain_distances(X, np.where(np.arange(len(X)) == 0, 7, 3))


def test_numbers_are_light_on_dark_and_dark_on_light(three_domains):
    table = np.array([[0.0, 0.05, 1.0], [0.05, 0.0, 0.5], [1.0, 0.5, 0.0]])
    ax = plot_domain_distances(table, [1, 2, 3], distances=True).axes[0]
    colours = {text.get_text(): text.get_color() for text in ax.texts}
    assert colours["1.00"] == "white"
    assert colours["0.05"] == "0.1"


# --- the path -----------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"kernel": "linear"}, {"scale": "denominator"}])
def test_a_path_holds_what_a_fit_of_every_setting_finds(three_domains, options):
    data = three_domains
    template = SCA(n_components=3, **options)
    path = solve_path(
        data.X, data.known, data.domain, estimator=template, betas=[0.2, 1.0], deltas=[0, 1]
    )
    for beta, delta in [(0.2, 0.0), (0.2, 1.0), (1.0, 0.0), (1.0, 1.0)]:
        model = SCA(n_components=3, beta=beta, delta=delta, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # with β = 1 there are C-1 components
            Z = model.fit_transform(data.X, data.known, sample_domain=data.domain)
        found = path.embeddings[beta, delta]
        np.testing.assert_allclose(np.abs(found), np.abs(Z[:, :2]), rtol=1e-4, atol=1e-6)
        after = model.scatter_["after"]
        np.testing.assert_allclose(path.scatters[beta, delta], after, rtol=1e-4, atol=1e-9)
    assert vars(template) == vars(SCA(n_components=3, **options))


def test_signs_that_a_solver_happens_to_find_do_not_show(three_domains, monkeypatch):
    class Flipping(FoldSolver):
        def solve(self, *given):
            signs = np.random.default_rng(0).choice([-1, 1], size=(12, 2))
            for sign, (Z, new) in zip(signs, super().solve(*given), strict=True):
                yield Z * np.append(sign, np.ones(Z.shape[1] - 2)), new

    data = three_domains
    given = {"betas": [0, 0.01, 0.02, 0.03], "deltas": [0.5, 0.6, 0.7]}
    expected = solve_path(data.X, data.known, data.domain, **given).embeddings
    monkeypatch.setattr("skatter.plots._path.FoldSolver", Flipping)
    found = solve_path(data.X, data.known, data.domain, **given).embeddings
    first = np.sign(np.sum(found[0, 0.5] * expected[0, 0.5], axis=0))
    for setting, Z in expected.items():
        np.testing.assert_allclose(found[setting] * first, Z, rtol=1e-9, atol=1e-12)


def test_small_panels_show_the_path_and_lines_its_scatters(three_domains):
    data = three_domains
    given = (data.X, data.known, data.domain)
    path = solve_path(*given, betas=[0.1, 0.9], deltas=[0.0, 1.0, 5.0])
    figure = plot_path(*given, betas=[0.1, 0.9], deltas=[0.0, 1.0, 5.0])
    grid, lines = figure.axes[:6], figure.axes[6:]
    settings = [(b, d) for d in (0.0, 1.0, 5.0) for b in (0.1, 0.9)]
    for ax, setting in zip(grid, settings, strict=True):
        drawn = np.vstack([points.get_offsets() for points in ax.collections])
        expected = path.embeddings[setting]
        np.testing.assert_allclose(np.sort(drawn, axis=0), np.sort(expected, axis=0))
    assert [ax.get_title() for ax in grid[:2]] == ["β = 0.1", "β = 0.9"]
    assert [ax.get_ylabel() for ax in grid[::2]] == ["δ = 0", "δ = 1", "δ = 5"]
    along_beta, along_delta = lines
    names = ["domain", "conditional_domain", "between_class", "within_class"]
    for k, name in enumerate(names):
        for ax, ways in (
            (along_beta, [(0.1, 1.0), (0.9, 1.0)]),
            (along_delta, [(0.1, 0.0), (0.1, 1.0), (0.1, 5.0)]),
        ):
            found = [path.scatters[way] for way in ways]
            expected = [getattr(s, name) / s.total for s in found]
            np.testing.assert_allclose(ax.lines[k].get_ydata(), expected)


def test_the_setting_of_the_estimator_has_a_frame_of_its_own(three_domains):
    data = three_domains
    figure = plot_path(
        data.X,
        data.known,
        data.domain,
        estimator=SCA(beta=0.9, delta=0.0),
        betas=[0.1, 0.9],
        deltas=[0, 1],
    )
    framed = [ax.spines["top"].get_linewidth() > 1 for ax in figure.axes[:4]]
    assert framed == [False, True, False, False]


def test_one_component_is_drawn_as_a_line(two_domains):
    y = np.where(two_domains.known < 0, -1, two_domains.known % 2)
    path = solve_path(two_domains.X, y, two_domains.domain, betas=[1.0], deltas=[1.0])
    assert np.all(path.embeddings[1.0, 1.0][:, 1] == 0)
    assert renders(plot_path(two_domains.X, y, two_domains.domain, betas=[1.0], deltas=[1.0]))


def test_a_path_says_what_is_wrong_before_any_work(two_domains):
    given = (two_domains.X, two_domains.known, two_domains.domain)
    with pytest.raises(TypeError, match="estimator must be an SCA, got USCA"):
        solve_path(*given, estimator=USCA())
    with pytest.raises(ValueError, match=r"betas must lie in \[0, 1\], got 2"):
        plot_path(*given, betas=[2])
    with pytest.raises(ValueError, match="deltas must be a list of one to 8 numbers"):
        plot_path(*given, deltas=range(9))
    with pytest.raises(ValueError, match="colour_by must be one of 'domain', 'class'"):
        plot_path(*given, colour_by="label")


def test_a_thinned_path_says_so(two_domains):
    figure = plot_path(
        two_domains.X, two_domains.known, two_domains.domain, betas=[0.1], deltas=[1], max_points=9
    )
    assert len(np.vstack([points.get_offsets() for points in figure.axes[0].collections])) == 9
    note = " ".join(figure.subfigs[0].get_supxlabel().split())
    assert note.endswith("9 of 72 points drawn, the same ones in every panel")


# --- rounds of self-training --------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained(two_domains):
    model = SCAClassifier(ridges=[1e-3, 1e-2], n_rounds=4)
    return model.fit(two_domains.X, two_domains.known, sample_domain=two_domains.domain)


def test_lines_are_the_rounds_of_the_candidates(trained):
    figure = plot_rounds(trained)
    assert len(trained.candidates_) == 4
    for ax, attribute in zip(figure.axes, ["trust", "changed", "agreement"], strict=True):
        for line, kept, candidate in zip(
            ax.lines[::2], ax.lines[1::2], trained.candidates_, strict=True
        ):
            np.testing.assert_array_equal(line.get_xdata(), np.arange(len(candidate.rounds)) + 1)
            values = [getattr(each, attribute) for each in candidate.rounds]
            np.testing.assert_array_equal(line.get_ydata(), values)
            trust = [each.trust for each in candidate.rounds]
            best = max(k for k, value in enumerate(trust) if value == max(trust))
            assert (kept.get_xdata()[0], kept.get_ydata()[0]) == (best + 1, values[best])


def test_candidates_are_listed_with_their_weights(trained):
    legend = plot_rounds(trained).axes[-1].get_legend()
    weights = [f"{100 * each.weight:.0f} %" for each in trained.candidates_]
    assert [text.get_text().split(": ")[1] for text in legend.get_texts()] == weights
    looks = [(line.get_color(), line.get_marker()) for line in legend.legend_handles]
    assert len(set(looks)) == 4


def test_rounds_of_a_pipeline_are_those_of_its_classifier(two_domains, trained):
    model = make_domain_pipeline(
        StandardScaler(with_mean=False, with_std=False),
        SCAClassifier(ridges=[1e-3, 1e-2], n_rounds=4),
    ).fit(two_domains.X, two_domains.known, sample_domain=two_domains.domain)
    drawn = [line.get_ydata() for line in plot_rounds(model).axes[0].lines]
    expected = [line.get_ydata() for line in plot_rounds(trained).axes[0].lines]
    for own, other in zip(drawn, expected, strict=True):
        np.testing.assert_allclose(own, other)


def test_without_unlabelled_samples_there_are_no_rounds(two_domains):
    model = SCAClassifier().fit(two_domains.X, two_domains.y, sample_domain=two_domains.domain)
    with pytest.raises(ValueError, match="no rounds to draw"):
        plot_rounds(model)


# --- what all pictures keep to ------------------------------------------------------------------


def test_a_given_panel_is_used(fitted):
    for draw in (plot_spectrum, plot_scatters):
        ax = Figure().subplots()
        assert draw(fitted, ax=ax, title="mine") is ax
        assert ax.get_title(loc="left") == "mine"


def test_names_from_data_stay_text_and_are_all_listed():
    rng = np.random.default_rng(0)
    domain = np.repeat(HOSTILE, 6)
    X, y = rng.normal(size=(30, 3)), np.array(HOSTILE)[np.arange(30) % 5]
    ax = plot_embedding(X, colour_by=domain)
    assert len(ax.get_legend().get_texts()) == 5
    shown = [text.get_text() for text in ax.get_legend().get_texts()]
    assert shown == short_names(sorted(HOSTILE))
    assert renders(ax.figure)
    assert renders(plot_before_after(X, X, domain=domain, label=y))
    assert renders(plot_domain_distances(X, domain))
    assert renders(plot_path(X, y, domain, betas=[0.1], deltas=[0, 1], colour_by="class"))


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["short", "names"], ["short", "names"]),
        (["12 a long name", "13 a long name"], ["12 a long…", "13 a long…"]),
        (["a long name 12", "a long name 13"], ["a lo…e 12", "a lo…e 13"]),
        (["the $ of\tmany", "_x"], ["the \\$ of…", "_x"]),
        ([7, None], ["7", "None"]),
    ],
    ids=["short", "beginnings", "ends", "signs", "objects"],
)
def test_long_names_lose_what_does_not_tell_them_apart(names, expected):
    assert short_names(names, 10) == expected


def test_twelve_domains_and_forty_classes_fit():
    rng = np.random.default_rng(0)
    classes = np.array([f"class number {k} with a long name" for k in range(40)])
    X, y, domain = rng.normal(size=(480, 4)), np.arange(480) % 40, np.arange(480) // 40
    figure = plot_before_after(X, X, domain=domain, label=classes[y])
    figure.draw_without_rendering()
    narrowest = min(ax.get_window_extent().width for ax in figure.axes)
    assert narrowest > 0.25 * figure.bbox.width
    names = [text.get_text() for text in figure.axes[3].get_legend().get_texts()]
    assert len(set(names)) == 40
    edge = figure.axes[3].get_legend().get_window_extent().x1
    assert edge <= figure.bbox.width


def test_pictures_of_models_touch_neither_pyplot_nor_the_random_state(fitted):
    code = (
        "import sys, numpy as np\n"
        "from skatter import SCA\n"
        "from skatter.plots import plot_path, plot_spectrum, plot_domain_distances\n"
        "rng = np.random.default_rng(0)\n"
        "X, y, site = rng.normal(size=(40, 3)), np.arange(40) % 2, np.arange(40) // 20\n"
        "before = repr(np.random.get_state())\n"
        "plot_path(X, y, site).savefig(sys.stdout.buffer)\n"
        "plot_domain_distances(X, site, max_samples=10).savefig(sys.stdout.buffer)\n"
        "plot_spectrum(SCA().fit(X, y, sample_domain=site)).figure.savefig(sys.stdout.buffer)\n"
        "assert repr(np.random.get_state()) == before\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_fisher_components_are_drawn_too(two_domains):
    model = KernelFisher().fit(two_domains.X, two_domains.y, sample_domain=two_domains.domain)
    np.testing.assert_array_equal(heights(plot_spectrum(model)), model.eigenvalues_)
