"""Leading kernel principal components as explicit features."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.linalg import subspace_angles
from sklearn.decomposition import KernelPCA
from sklearn.kernel_approximation import RBFSampler
from sklearn.utils.estimator_checks import check_estimator

from skatter import KPCA, SCA
from skatter._components import project_alike
from skatter._principal import DENSE, PrincipalMap
from skatter.kernels import resolve_kernel


@pytest.fixture(scope="module")
def samples():
    return np.random.default_rng(0).normal(size=(200, 6)) @ np.diag([5, 3, 2, 1, 0.5, 0.2])


@pytest.mark.parametrize("kernel", ["rbf", "linear", "cosine"])
def test_the_features_are_those_of_kernel_pca(samples, kernel):
    ours = PrincipalMap(5, kernel=kernel, gamma=0.02).fit_transform(samples)
    theirs = KernelPCA(5, kernel=kernel, gamma=0.02).fit_transform(samples)
    assert_allclose(np.abs(ours), np.abs(theirs), atol=1e-8)


def test_new_samples_are_projected_as_the_training_samples_are(samples):
    model = PrincipalMap(5).fit(samples)
    assert_allclose(model.transform(samples[:9]), model.fit_transform(samples)[:9], atol=1e-9)
    assert_allclose(model.transform(samples[:9])[3], model.transform(samples[3:4])[0], atol=1e-12)


def test_many_samples_give_nearly_the_leading_subspace():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(DENSE + 100, 5)) * [4, 3, 2, 1, 0.5]
    near = PrincipalMap(40).fit_transform(X)
    exact = KPCA(5).fit_transform(X)
    assert np.degrees(subspace_angles(near, exact).max()) < 1


def test_with_all_components_sca_is_exact(samples):
    y, site = np.arange(200) % 3, np.arange(200) % 2
    exact = SCA(3).fit(samples, y, sample_domain=site)
    mapped = SCA(3, feature_map=PrincipalMap(199)).fit(samples, y, sample_domain=site)
    assert_allclose(mapped.eigenvalues_, exact.eigenvalues_, rtol=1e-6)


def test_sparse_samples_give_the_features_of_dense_ones(samples):
    thinned = np.where(np.abs(samples) > 1, samples, 0)
    dense = PrincipalMap(4).fit_transform(thinned)
    assert_allclose(PrincipalMap(4).fit_transform(sparse.csr_matrix(thinned)), dense, atol=1e-9)


def test_the_bandwidth_is_that_of_sca(samples):
    assert PrincipalMap(3).fit(samples).kernel_.params == resolve_kernel(samples, "rbf").params


def test_a_gram_matrix_is_refused(samples):
    with pytest.raises(ValueError, match="kernel='precomputed'"):
        PrincipalMap(kernel="precomputed").fit(samples @ samples.T)


def test_scikit_learn_finds_no_fault_with_the_map():
    check_estimator(PrincipalMap(3))


@pytest.mark.parametrize(
    "feature_map",
    [PrincipalMap(30), PrincipalMap(12, kernel="linear"), RBFSampler(random_state=0)],
    ids=["kernel", "linear kernel", "explicit map"],
)
def test_components_of_features_are_brought_before_the_map(feature_map):
    rng = np.random.default_rng(3)
    X, new = rng.normal(size=(60, 12)), rng.normal(size=(9, 12))
    y, site = np.arange(60) % 3, np.arange(60) // 30
    features = feature_map.fit_transform(X)
    models = [
        SCA(4, kernel="linear", solver="primal", ridge=ridge).fit(features, y, sample_domain=site)
        for ridge in (1e-3, 1e-1)
    ]
    before = [model.before_map(feature_map) for model in models]
    together = project_alike(before, new)
    for model, moved, projected in zip(models, before, together, strict=True):
        expected = model.transform(feature_map.transform(new))
        np.testing.assert_allclose(moved.transform(new), expected, atol=1e-9)
        np.testing.assert_allclose(projected, expected, atol=1e-9)
        assert moved.n_features_in_ == 12


@pytest.mark.parametrize("n", [200, DENSE + 100], ids=["dense", "randomised"])
def test_tensors_have_the_basis_of_arrays(require, n):
    torch = require("torch", "torch")
    X = np.random.default_rng(1).normal(size=(n, 5)) * [4, 3, 2, 1, 0.5]
    there = torch.from_numpy(X)
    expected, found = PrincipalMap(40).fit(X), PrincipalMap(40).fit(there)
    assert_allclose(found.eigenvalues_[:10], expected.eigenvalues_[:10], rtol=1e-4)
    features = found.transform(there)
    assert_allclose(features, found.fit_transform(there), atol=1e-8)
    assert subspace_angles(features[:, :5].numpy(), expected.transform(X)[:, :5]).max() < 1e-3
    if n < DENSE:
        close = 1e-7 * np.abs(features.numpy()).max()
        assert_allclose(features.abs(), np.abs(expected.transform(X)), atol=close)
    with pytest.raises(TypeError, match="NumPy array"):
        found.transform(X)


def test_samples_that_coincide_have_a_basis_of_zeros_on_tensors_too(require):
    torch = require("torch", "torch")
    assert not PrincipalMap(3).fit_transform(torch.ones(9, 2)).any()
