"""Moments against sums written out, and streams against one fit on everything."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import Nystroem, PolynomialCountSketch, RBFSampler

from skatter import KPCA, SCA, USCA, KernelFisher, LandmarkMap
from skatter._objective import Coefficients, Objective
from skatter._solve import PrimalPath
from skatter.domains import read_domains
from skatter.methods import CIDG, DICA, MDA, UDICA
from skatter.moments import (
    Moments,
    collect_moments,
    fingerprint,
    merge_moments,
    regroup_moments,
)
from skatter.scatter import Geometry, measure


def samples(n=90, p=5, shift=0.0, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    site = rng.choice(["a", "b", "c"], n)
    X = rng.normal(size=(n, p)) * [3, 1, 1, 0.5, 0.1][:p] + np.eye(3, p)[y] * 2
    X = X + (site == "c")[:, None] + shift
    return X, np.where(site == "c", -1, y), site


def slow(X, y, site):
    """Counts, means and second moments of every cell, with fractions of a mean removed last."""
    found = {}
    for domain in np.unique(site):
        for label in np.unique(y):
            rows = X[(site == domain) & (y == label)].astype(np.longdouble)
            if len(rows):
                mean = rows.mean(axis=0)
                found[(domain, label)] = len(rows), mean, (rows - mean).T @ (rows - mean)
    return found


def cell_names(moments):
    cells = moments.cells
    labels = [cells.classes[k] if k >= 0 else -1 for k in cells.label]
    return list(zip(cells.domain_ids[cells.domain], labels, strict=True))


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_every_cell_has_the_count_mean_and_second_moment_of_its_samples(form):
    X, y, site = samples()
    given = sparse.csr_array(X) if form == "sparse" else X
    found = collect_moments(given, read_domains(y, site), second="cell")
    expected = slow(X, y, site)
    assert set(cell_names(found)) == set(expected)
    for row, name in enumerate(cell_names(found)):
        count, mean, second = expected[name]
        assert found.cells.counts[row] == count
        assert_allclose(found.means[row], mean.astype(float), rtol=1e-12)
        assert_allclose(found.second[row], second.astype(float), atol=1e-10)


@pytest.mark.parametrize("second", ["pooled", "cell"])
@pytest.mark.parametrize("shift", [0.0, 1e7])
def test_merged_parts_equal_the_whole_however_they_are_cut_and_ordered(second, shift):
    X, y, site = samples(shift=shift)
    view = read_domains(y, site)
    whole = collect_moments(X, view, second=second)
    rng = np.random.default_rng(1)
    rows = np.split(rng.permutation(len(X)), [1, 2, 40, 41, 70])
    parts = [collect_moments(X[r], view.take(r), second=second) for r in rows]
    one_by_one = parts[3]
    for part in (parts[0], parts[5], parts[1], parts[4], parts[2]):
        one_by_one = merge_moments([part, one_by_one])
    for merged in (merge_moments(parts), one_by_one):
        assert cell_names(merged) == cell_names(whole)
        assert np.array_equal(merged.cells.counts, whole.cells.counts)
        # A mean near 1e7 has 9 digits behind the point at best; second moments keep theirs.
        assert_allclose(merged.means, whole.means, rtol=1e-14)
        assert_allclose(merged.second, whole.second, atol=1e-12 * max(shift, 1) * 100)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_moments_under_other_labels_come_from_the_total(share):
    rng = np.random.default_rng(0)
    X, site = 3 + rng.normal(size=(200, 5)), rng.integers(0, 2, 200)
    before = collect_moments(X, read_domains(rng.integers(0, 3, 200), site))
    known = rng.random(200) < share
    view = read_domains(rng.integers(0, 3, 200), site, labelled=known)
    expected, found = collect_moments(X, view), regroup_moments(X, view, before.total())
    assert_allclose(found.means, expected.means, rtol=1e-12)
    assert_allclose(found.second, expected.second, atol=1e-10)
    assert found.cells.counts.tolist() == expected.cells.counts.tolist()


def test_second_moments_far_from_zero_lose_no_more_than_the_input_did():
    X, y, site = samples(shift=1e8)
    found = collect_moments(X, read_domains(y, site), second="cell")
    for row, name in enumerate(cell_names(found)):
        exact = slow(X, y, site)[name][2].astype(float)
        assert_allclose(found.second[row], exact, atol=1e-12 * np.trace(exact) + 1e-9)


def test_single_precision_features_are_summed_in_double(monkeypatch):
    X, y, site = samples(n=4000, shift=50.0)
    small = X.astype(np.float32)
    view = read_domains(y, site)
    monkeypatch.setattr("skatter.moments.BATCH_VALUES", 500)
    found = collect_moments(small, view).total()
    exact = collect_moments(small.astype(np.float64), view).total()
    assert_allclose(found, exact, atol=2e-6 * np.trace(exact))


def test_scatters_are_those_measured_on_the_samples():
    X, y, site = samples()
    view = read_domains(y, site)
    W = np.random.default_rng(2).normal(size=(5, 2))
    for second in ("pooled", "cell"):
        moments = collect_moments(X, view, second=second)
        assert_allclose(moments.scatters(), measure(Geometry.of_features(X), view), rtol=1e-10)
        projected = measure(Geometry.of_features(X @ W), view)
        assert_allclose(moments.scatters(W), projected, rtol=1e-10)


@pytest.mark.parametrize("beta", [0.0, 0.4, 1.0])
def test_norms_of_the_coefficients_are_those_of_vectors_written_out(beta):
    X, y, site = samples()
    view = read_domains(y, site)
    objective = Objective(1 - beta, beta, 0.7, 2.0, 0.3, ridge=0.2)
    path = PrimalPath(collect_moments(X, view))
    found = path.solve(objective, 2)
    phi = X - X.mean(axis=0)
    # (ρ I + M Φ Φᵀ) b = N Φ w / λ has the same b: solve it as it stands, n × n.
    full = Coefficients(view)
    Z = phi @ found.vectors
    M = full.denominator(objective, np.eye(len(X)))
    b = np.linalg.solve(
        0.2 * np.eye(len(X)) + M @ phi @ phi.T, full.numerator(objective, Z) / found.values
    )
    assert_allclose(path.coefficient_norms(objective, found), np.linalg.norm(b, axis=0), rtol=1e-8)


def test_classes_and_domains_that_only_some_parts_have_are_joined():
    a = collect_moments(np.ones((1, 2)), read_domains(["cat"], ["zoo"]))
    b = collect_moments(np.zeros((2, 2)), read_domains(["dog", None], ["sea", "sea"]))
    both = merge_moments([b, a])
    assert sorted(both.cells.classes.tolist()) == ["cat", "dog"]
    assert sorted(both.cells.domain_ids.tolist()) == ["sea", "zoo"]
    assert both.n_samples == 3
    assert both.cells.n_labelled == 2


def test_moments_of_other_features_are_refused():
    view = read_domains([0, 1])
    a = collect_moments(np.eye(2), view, feature_map="one")
    for other in (
        collect_moments(np.eye(2), view, feature_map="two"),
        collect_moments(np.ones((2, 3)), view, feature_map="one"),
    ):
        with pytest.raises(ValueError, match=r"different feature maps.*FrozenEstimator"):
            merge_moments([a, other])
    with pytest.raises(ValueError, match="collect all parts alike"):
        merge_moments([a, collect_moments(np.eye(2), view, second="cell", feature_map="one")])
    with pytest.raises(TypeError, match="text in one part and numbers in another"):
        merge_moments([a, collect_moments(np.eye(2), read_domains(["x", "y"]), feature_map="one")])


def test_files_hold_moments_to_the_bit_and_no_pickle(tmp_path):
    X, y, site = samples()
    moments = collect_moments(X, read_domains(y.astype(str), site), feature_map="abc")
    moments.save(tmp_path / "here.npz")
    with zipfile.ZipFile(tmp_path / "here.npz") as file:
        for name in file.namelist():
            header = file.read(name)[:128]
            assert b"|O" not in header, name
    again = Moments.load(tmp_path / "here.npz")
    assert np.array_equal(again.second, moments.second)
    assert np.array_equal(again.means, moments.means)
    assert cell_names(again) == cell_names(moments)
    assert again.feature_map == "abc"
    assert [path.name for path in tmp_path.iterdir()] == ["here.npz"]


def test_files_that_hold_something_else_are_refused(tmp_path):
    X, y, site = samples()
    moments = collect_moments(X, read_domains(y, site))
    moments.save(tmp_path / "good.npz")
    with np.load(tmp_path / "good.npz") as file:
        good = dict(file)
    bad = {
        "no.npz": {name: value for name, value in good.items() if name != "second"},
        "shape.npz": good | {"second": good["second"][:, :2]},
        "range.npz": good | {"label": good["label"] + 7},
        "nan.npz": good | {"means": good["means"] * np.nan},
        "object.npz": good | {"classes": np.array([{}, 1], dtype=object)},
        "kind.npz": good | {"counts": good["counts"] + 0.5},
        "text.npz": good | {"label": good["label"].astype(str)},
        "dtype.npz": good | {"dtype": np.array("V99999999")},
    }
    for name, arrays in bad.items():
        np.savez(tmp_path / name, **arrays)
    np.savez_compressed(tmp_path / "bomb.npz", **good, zeros=np.zeros(10**6))
    (tmp_path / "note.npz").write_text("moments")
    (tmp_path / "cut.npz").write_bytes((tmp_path / "good.npz").read_bytes()[:500])
    for name in (*bad, "note.npz", "cut.npz", "bomb.npz"):
        with pytest.raises(ValueError, match=rf"{name} holds no moments"):
            Moments.load(tmp_path / name)


def test_fingerprints_tell_maps_apart_and_know_equal_ones():
    X, _, _ = samples()
    maps = [
        RBFSampler(gamma=0.1, n_components=8, random_state=0).fit(X),
        RBFSampler(gamma=0.1, n_components=8, random_state=1).fit(X),
        RBFSampler(gamma=0.2, n_components=8, random_state=0).fit(X),
        Nystroem(gamma=0.1, n_components=8, random_state=0).fit(X),
    ]
    prints = [fingerprint(one, 5) for one in maps]
    assert len(set(prints)) == 4
    assert fingerprint(clone(maps[0]).fit(X), 5) == prints[0]
    near, far = (LandmarkMap(landmarks=X[:3]).fit(scale * X) for scale in (1, 2))
    assert near.kernel_.params["gamma"] != far.kernel_.params["gamma"]
    assert fingerprint(near, 5) != fingerprint(far, 5)
    assert fingerprint(near, 5) == fingerprint(clone(near).fit(X), 5)
    assert json.dumps(prints)


# --- streams ------------------------------------------------------------------------------------

PRESETS = {
    "sca": SCA(4, beta=0.3, delta=2.0),
    "sca-printed": SCA(4, normalize=False),
    "sca-beta-1": SCA(beta=1.0),
    "sca-coefficients": SCA(3, scale="coefficients"),
    "usca": USCA(4),
    "kernel-fisher": KernelFisher(),
    "kpca": KPCA(4),
    "dica": DICA(2),
    "udica": UDICA(3),
    "cidg": CIDG(2),
    "mda": MDA(2),
}


def with_map(preset, map_):
    if map_ == "linear":
        return clone(preset).set_params(kernel="linear", solver="primal")
    return clone(preset).set_params(feature_map=map_)


def frozen(make):
    return FrozenEstimator(make.fit(samples()[0]))


MAPS = {
    "linear": "linear",
    "nystroem": frozen(Nystroem(gamma=0.2, n_components=20, random_state=0)),
    "random": frozen(RBFSampler(gamma=0.2, n_components=16, random_state=0)),
    "sketch": frozen(PolynomialCountSketch(n_components=16, random_state=0)),
}


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("kind", MAPS)
def test_a_stream_gives_what_one_fit_on_everything_gives(preset, kind):
    X, y, site = samples()
    whole = with_map(PRESETS[preset], MAPS[kind]).fit(X, y, sample_domain=site)
    stream = with_map(PRESETS[preset], MAPS[kind])
    for rows in np.split(np.arange(len(X)), [1, 30, 31, 77]):
        stream.partial_fit(X[rows], y[rows], sample_domain=site[rows])
    assert_allclose(stream.eigenvalues_, whole.eigenvalues_, rtol=1e-9)
    size = np.abs(whole.components_).max()
    assert_allclose(stream.components_, whole.components_, atol=1e-9 * size)
    Z = whole.transform(X)
    assert_allclose(stream.transform(X), Z, atol=1e-9 * np.abs(Z).max())
    assert_allclose(stream.scatter_["after"], whole.scatter_["after"], rtol=1e-8, atol=1e-12)
    assert stream.n_chunks_seen_ == 5


@pytest.mark.parametrize("preset", PRESETS)
def test_explicit_features_have_the_components_of_their_gram_matrix(preset):
    X, y, site = samples()
    model = with_map(PRESETS[preset], "linear").fit(X, y, sample_domain=site)
    dual = clone(PRESETS[preset]).set_params(kernel="linear", solver="dense")
    dual.fit(X, y, sample_domain=site)
    assert_allclose(model.eigenvalues_, dual.eigenvalues_, rtol=1e-7)
    ours, theirs = model.transform(X), dual.transform(X)
    assert_allclose(np.abs(ours), np.abs(theirs), atol=1e-6 * np.abs(theirs).max())
    assert_allclose(model.scatter_["after"], dual.scatter_["after"], rtol=1e-6, atol=1e-12)


def test_parts_from_different_places_merge_to_one_model():
    X, y, site = samples()
    whole = SCA(3, feature_map=MAPS["nystroem"]).fit(X, y, sample_domain=site)
    places = []
    for name in ("a", "b", "c"):
        own = site == name
        place = SCA(3, feature_map=MAPS["nystroem"])
        places.append(place.partial_fit(X[own], y[own], sample_domain=site[own]))
    merged = places[0].merge(*places[1:])
    assert merged is places[0]
    assert_allclose(merged.eigenvalues_, whole.eigenvalues_, rtol=1e-9)
    assert_allclose(merged.transform(X), whole.transform(X), atol=1e-9)
    from_moments = SCA(3, feature_map=MAPS["nystroem"]).fit_moments(merged.moments_)
    assert_allclose(from_moments.components_, merged.components_)
    assert from_moments.n_features_in_ == 5


def test_streams_with_different_maps_do_not_merge():
    X, y, _ = samples()
    a = SCA(feature_map=Nystroem(n_components=9, random_state=0)).partial_fit(X[:40], y[:40])
    b = SCA(feature_map=Nystroem(n_components=9, random_state=0)).partial_fit(X[40:], y[40:])
    with pytest.raises(ValueError, match="different feature maps"):
        a.merge(b)
    with pytest.raises(ValueError, match="another feature map"):
        SCA(kernel="linear").fit_moments(a.moments_)
    with pytest.raises(ValueError, match="after partial_fit"):
        a.merge(SCA(kernel="linear").fit(X, y))
    with pytest.raises(ValueError, match="after partial_fit"):
        a.merge(USCA(kernel="linear").partial_fit(X))


def test_components_are_solved_for_once_and_again_after_more_data(monkeypatch):
    X, y, site = samples()
    solved = []
    original = PrimalPath.solve
    monkeypatch.setattr(PrimalPath, "solve", lambda *given: solved.append(1) or original(*given))
    model = SCA(2, kernel="linear")
    for rows in np.array_split(np.arange(len(X)), 4):
        model.partial_fit(X[rows], y[rows], sample_domain=site[rows])
    assert not solved
    first = model.transform(X)
    assert model.get_feature_names_out().tolist() == ["sca0", "sca1"]
    assert len(solved) == 1
    model.partial_fit(X[:5] + 3, y[:5], sample_domain=site[:5])
    assert np.abs(model.transform(X) - first).max() > 1e-3
    assert len(solved) == 2


def test_a_bad_chunk_is_named_and_leaves_the_model_as_it_was():
    X, y, site = samples()
    model = SCA(2, kernel="linear")
    for rows in np.array_split(np.arange(60), 6):
        model.partial_fit(X[rows], y[rows], sample_domain=site[rows])
    before = model.transform(X)
    broken = X[60:70].copy()
    broken[3, 1] = np.nan
    bad = {
        "NaN": (broken, y[60:70], site[60:70]),
        "5 features": (X[60:70, :4], y[60:70], site[60:70]),
        "Lengths differ": (X[60:70], y[60:69], site[60:70]),
        "text in one part": (X[60:70], y[60:70], np.arange(10)),
    }
    for message, (chunk, labels, domain) in bad.items():
        with pytest.raises((TypeError, ValueError), match=rf"Chunk 6 \(rows 60 to 69.*{message}"):
            model.partial_fit(chunk, labels, sample_domain=domain)
        assert model.moments_.n_samples == 60
        assert np.array_equal(model.transform(X), before)
    model.partial_fit(X[60:], y[60:], sample_domain=site[60:])
    whole = SCA(2, kernel="linear").fit(X, y, sample_domain=site)
    assert_allclose(model.transform(X), whole.transform(X), atol=1e-9)


def test_minus_one_is_a_label_only_where_the_stream_says_so():
    X, _, site = samples()
    y = np.where(X[:, 0] > 0, 1, -1)
    whole = SCA(1, kernel="linear").fit(X, y, sample_domain=site)
    named = SCA(1, kernel="linear")
    plain = SCA(1, kernel="linear")
    for rows in np.array_split(np.arange(len(X)), 3):
        named.partial_fit(X[rows], y[rows], sample_domain=site[rows], classes=[-1, 1])
        plain.partial_fit(X[rows], y[rows], sample_domain=site[rows])
    assert_allclose(named.transform(X), whole.transform(X), atol=1e-9)
    assert plain.classes_.tolist() == [1]
    with pytest.raises(ValueError, match="which classes does not name"):
        named.partial_fit(X[:1], [5], sample_domain=site[:1])


def test_streams_need_explicit_features_and_labels_where_components_do():
    X, y, _ = samples()
    assert not hasattr(SCA(), "partial_fit")
    with pytest.raises(AttributeError) as refused:
        _ = SCA().partial_fit
    assert "feature_map" in str(refused.value.__cause__)
    assert not hasattr(SCA(kernel="linear", reading="printed"), "partial_fit")
    with pytest.raises(NotFittedError):
        SCA(kernel="linear").transform(X)
    unlabelled = SCA(kernel="linear").partial_fit(X, np.full(len(X), -1))
    with pytest.raises(ValueError, match="no labelled sample"):
        _ = unlabelled.eigenvalues_
    # Labels may come later.
    assert unlabelled.partial_fit(X, y).n_components_ > 0


def test_fit_begins_anew_after_a_stream():
    X, y, site = samples()
    model = SCA(2, kernel="linear").partial_fit(X + 1, y, sample_domain=site)
    model.fit(X, y, sample_domain=site)
    assert not hasattr(model, "moments_")
    assert_allclose(
        model.transform(X), SCA(2, kernel="linear").fit_transform(X, y, sample_domain=site)
    )
