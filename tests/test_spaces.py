"""Spaces: one protocol, whatever holds the samples."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skatter import SCA, SCACV, LandmarkMap
from skatter._spaces import (
    SOLVERS,
    GramSpace,
    MomentSpace,
    PaddedSpace,
    Problem,
    Space,
    TileSpace,
)

SETTINGS = [(0.0, 0.0), (0.1, 1.0), (0.9, 10.0), (1.0, 1.0)]


@pytest.fixture(scope="module")
def sample(two_domains):
    return two_domains


def read(template, sample):
    return template.read(sample.X, sample.known, sample.domain, None)


def objectives(template, domains, total):
    chosen = (template.set_params(beta=beta, delta=delta) for beta, delta in SETTINGS)
    return [each.objective(domains, total) for each in chosen]


KINDS = {
    "stored": ({"kernel": "linear", "solver": "dense"}, GramSpace),
    "lanczos": ({"kernel": "linear", "solver": "lanczos", "tol": 1e-10}, GramSpace),
    "tiles": ({"kernel": "linear", "solver": "iterative", "tol": 1e-9}, TileSpace),
    "moments": ({"kernel": "linear", "solver": "primal"}, MomentSpace),
    "automatic": ({"kernel": "linear"}, MomentSpace),
    "mapped": ({"feature_map": LandmarkMap(20), "solver": "dense"}, GramSpace),
    "mapped moments": ({"feature_map": LandmarkMap(20)}, MomentSpace),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_space_solves_many_settings_as_fit_solves_each(kind, sample):
    """Eigenvalues, projections of old and new samples, norms and scatters are those of ``fit``."""
    options, expected = KINDS[kind]
    template = SCA(2, scale="denominator", **options)
    X, domains = read(template, sample)
    space = template.space(X, domains)
    assert type(space) is expected
    weights = objectives(template, domains, space.scatters.total)
    cross = space.cross(X[:7])
    for (beta, delta), solved in zip(SETTINGS, space.solve(weights, 2), strict=True):
        model = SCA(2, scale="denominator", beta=beta, delta=delta, **options)
        Z = model.fit_transform(sample.X, sample.known, sample_domain=sample.domain)
        signs = solved.signs()
        assert_allclose(solved.eigenvalues, model.eigenvalues_, rtol=1e-7)
        assert_allclose(solved.projections * signs, Z, atol=1e-6 * np.abs(Z).max())
        assert_allclose(solved.project(cross) * signs, Z[:7], atol=1e-6 * np.abs(Z).max())
        assert_allclose(solved.scatters(signs), model.scatter_["after"], rtol=1e-5)
        assert_allclose(space.scatters, model.scatter_["before"], rtol=1e-9)


@pytest.mark.parametrize("kind", ["stored", "tiles", "moments"])
def test_hidden_labels_leave_the_samples_in_place(kind, sample):
    """A relabelled space is the space of these labels, rows in their own order."""
    template = SCA(2, **KINDS[kind][0])
    X, domains = read(template, sample)
    hidden = domains.hide(np.flatnonzero(domains.labelled)[::3])
    space = template.space(X, domains)
    moved, afresh = space.relabelled(hidden), template.space(X, hidden)
    weights = objectives(template, hidden, space.scatters.total)
    for one, other in zip(moved.solve(weights, 2), afresh.solve(weights, 2), strict=True):
        assert_allclose(one.eigenvalues, other.eigenvalues, rtol=1e-7)
        size = np.abs(other.projections).max()
        difference = one.projections * one.signs() - other.projections * other.signs()
        assert np.abs(difference).max() < 1e-6 * size
    assert space.relabelled(domains) is space
    assert_allclose(moved.scatters, afresh.scatters)


def test_all_spaces_are_equal_where_they_show_the_same_features(sample):
    """Stored, in tiles and by moments: the linear kernel has one set of coefficient norms."""
    found = []
    for kind in ("stored", "tiles", "moments"):
        template = SCA(2, beta=0.3, **KINDS[kind][0])
        X, domains = read(template, sample)
        space = template.space(X, domains)
        (solved,) = space.solve([template.objective(domains, space.scatters.total)], 2)
        found.append((solved.eigenvalues, solved.norms(), solved.scatters(solved.signs())))
    for other in found[1:]:
        for one, another in zip(found[0], other, strict=True):
            assert_allclose(another, one, rtol=1e-5)


class Sloppy(GramSpace):
    """A solver of one's own: kernel values rounded to three digits."""

    def __init__(self, problem: Problem, domains, **options) -> None:
        super().__init__(problem, domains, **options)
        self.K = self.K.round(3)


def test_a_solver_is_a_space_and_a_line_in_the_registry(sample, monkeypatch):
    with pytest.raises(ValueError, match=r"solver must be one of 'auto', .*got 'sloppy'"):
        SCA(solver="sloppy").fit(sample.X, sample.known, sample_domain=sample.domain)
    monkeypatch.setitem(SOLVERS, "sloppy", Sloppy)
    given = {"sample_domain": sample.domain}
    ours = SCA(2, solver="sloppy").fit(sample.X, sample.known, **given)
    exact = SCA(2).fit(sample.X, sample.known, **given)
    assert_allclose(ours.eigenvalues_, exact.eigenvalues_, rtol=0.05)
    assert not np.array_equal(ours.eigenvalues_, exact.eigenvalues_)
    search = SCACV(SCA(solver="sloppy"), n_components=[2]).fit(sample.X, sample.known, **given)
    assert search.best_estimator_.solver == "sloppy"


def test_spaces_are_spaces():
    for kind in (GramSpace, TileSpace, MomentSpace, PaddedSpace):
        assert issubclass(kind, Space)
