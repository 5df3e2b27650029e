"""The same answers on a graphics card; skipped where there is none."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem, RBFSampler

from skatter import SCA, USCA, NearestNeighbour, SCAClassifier, make_domain_pipeline
from skatter import _tensors as tensors
from skatter.kernels import gram, resolve_kernel
from skatter.maps import LandmarkMap
from skatter.methods import JDA, TCA, TJM

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'skatter[torch]'")
pytestmark = pytest.mark.skipif(
    not torch.cuda.is_available(), reason="torch finds no graphics card on this machine"
)

ROUTES = {
    "exact": {},
    "between only": {"beta": 1.0},
    "paper": {"normalize": False},
    "linear": {"kernel": "linear"},
    "laplacian": {"kernel": "laplacian"},
    "dense": {"solver": "dense"},
    "iterative": {"solver": "iterative"},
    "landmarks": {"feature_map": LandmarkMap(100)},
    "random features": {"feature_map": RBFSampler(gamma=0.05, n_components=80, random_state=0)},
    "nystroem": {"feature_map": Nystroem(gamma=0.05, n_components=80, random_state=0)},
}


def samples(n=1500, p=8):
    rng = np.random.default_rng(0)
    y, site = rng.integers(0, 4, n), rng.integers(0, 3, n)
    X = rng.normal(size=(n, p)) * np.arange(1, p + 1) ** -0.5 + 2 * np.eye(4, p)[y] + site[:, None]
    return X, np.where(site == 2, -1, y), site, y


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-6), ("float32", 2e-3)])
def test_the_card_gives_what_numpy_gives(route, dtype, tolerance):
    X, y, site, _ = samples()
    X = X.astype(dtype)
    on_card = torch.from_numpy(X).cuda()
    theirs = SCA(3, **ROUTES[route]).fit(X, y, sample_domain=site)
    ours = SCA(3, **ROUTES[route]).fit(on_card, y, sample_domain=torch.from_numpy(site).cuda())
    Z, expected = ours.transform(on_card), theirs.transform(X)
    assert Z.device.type == "cuda"
    assert str(Z.dtype) == f"torch.{dtype}"
    assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=tolerance)
    assert_allclose(Z.cpu(), expected, atol=tolerance * np.abs(expected).max())


def test_two_fits_on_the_card_agree_to_the_bit():
    X, _, site, _ = samples()
    on_card = torch.from_numpy(X).cuda().float()
    one, two = (
        USCA(4).fit_transform(on_card, sample_domain=site),
        USCA(4).fit_transform(on_card, sample_domain=site),
    )
    assert torch.equal(one, two)


def test_a_pipeline_and_a_model_moved_to_numpy_predict_the_same():
    X, y, site, truth = samples()
    on_card = torch.from_numpy(X).cuda()
    model = make_domain_pipeline(SCA(3), NearestNeighbour()).fit(on_card, y, sample_domain=site)
    guess = model.predict(on_card)
    assert np.mean(guess[site == 2] == truth[site == 2]) > 0.9
    sca, nearest = (step.to("numpy") for _, step in model.steps)
    assert_array_equal(nearest.predict(sca.transform(X)), guess)


def test_a_stream_on_the_card_is_a_fit_on_the_card():
    X, y, site, _ = samples()
    on_card = torch.from_numpy(X).cuda()
    whole = SCA(3, kernel="linear", solver="primal").fit(on_card, y, sample_domain=site)
    stream = SCA(3, kernel="linear")
    for rows in np.array_split(np.arange(len(X)), 4):
        stream.partial_fit(on_card[rows], y[rows], sample_domain=site[rows])
    assert_allclose(stream.components_.cpu(), whole.components_.cpu(), atol=1e-9)


def test_samples_elsewhere_are_refused_with_the_call_that_moves_them():
    X, y, site, _ = samples()
    on_card = torch.from_numpy(X).cuda()
    model = SCA(2).fit(on_card, y, sample_domain=site)
    with pytest.raises(TypeError, match=r"device='cuda:0'"):
        model.transform(X)
    with pytest.raises(TypeError, match=r"X.to\('cuda:0', torch.float64\)"):
        model.transform(on_card.cpu())
    with pytest.raises(TypeError, match=r"numpy\(force=True\)"):
        SCA(2).fit(X, y, sample_domain=site).transform(on_card)


def test_what_does_not_fit_on_the_card_is_recomputed_in_tiles_with_a_note():
    X, y, site, _ = samples(n=12_000)
    on_card = torch.from_numpy(X).cuda()
    stored = SCA(3).fit(on_card, y, sample_domain=site)
    torch.cuda.empty_cache()
    free, _ = torch.cuda.mem_get_info()
    full = torch.empty(free - 2**30, dtype=torch.uint8, device="cuda")
    with pytest.warns(UserWarning, match=r"GiB are free on cuda:0.*recomputed in tiles"):
        tiled = SCA(3).fit(on_card, y, sample_domain=site)
    with pytest.raises(MemoryError, match=r"on cuda:0.*solver='iterative'"):
        SCA(3, solver="lanczos").fit(on_card, y, sample_domain=site)
    del full
    assert_allclose(tiled.eigenvalues_, stored.eigenvalues_, rtol=1e-6)


def test_float32_products_of_halves_are_as_exact_as_those_of_float32():
    X = torch.from_numpy(samples(n=3000)[0]).cuda()
    kernel = resolve_kernel(X.double())
    exact, found = gram(X, kernel), gram(X.float(), kernel)
    assert torch.equal(found, found.T)
    assert (found.double() - exact).abs().max() < 5e-6
    A = exact + torch.eye(len(X), device="cuda", dtype=torch.float64)
    b = torch.randn(len(X), 5, device="cuda", dtype=torch.float64)
    solution = torch.linalg.solve(A, b)
    solved = tensors.TiledCholesky.of(A.float()).solve(b.float())
    assert (solved.double() - solution).norm() < 1e-4 * solution.norm()


def test_methods_answer_on_the_card_as_on_the_host():
    X, y, site, _ = samples(n=1200)
    on_card = torch.from_numpy(X).cuda()
    theirs = SCAClassifier().fit(X, y, sample_domain=site)
    ours = SCAClassifier().fit(on_card, y, sample_domain=site)
    assert np.mean(ours.transduction_ == theirs.transduction_) > 0.995
    assert np.mean(ours.predict(on_card) == theirs.predict(X)) > 0.995
    assert np.mean(ours.to("numpy").predict(X) == theirs.predict(X)) > 0.995
    for model in (TCA(3), TJM(3, max_iter=3, tol=0), JDA(3, max_iter=3, tol=0)):
        Z = clone(model).fit(on_card, y, sample_domain=site).transform(on_card).cpu().numpy()
        expected = clone(model).fit(X, y, sample_domain=site).transform(X)
        signs = np.sign(np.sum(Z * expected, axis=0))
        assert_allclose(Z * signs, expected, atol=1e-5 * np.abs(expected).max())
