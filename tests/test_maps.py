"""Explicit maps from landmarks: which are chosen, and what their features are worth."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils.estimator_checks import check_estimator

from skatter import SCA, maps
from skatter.kernels import MEDIAN_SAMPLE
from skatter.maps import LandmarkMap

CHOICES = ("kmeans++", "leverage", "uniform")
KERNELS = ("rbf", "laplacian", "linear", "polynomial", "cosine", "chi2")


def positive(n, p, seed=0):
    """Samples that every kernel takes."""
    return np.random.default_rng(seed).gamma(2.0, size=(n, p))


def as_set(rows):
    return {row.tobytes() for row in np.ascontiguousarray(rows)}


def lost(model, X):
    """k(x, x) − ‖φ(x)‖² of every sample."""
    K = np.array([model.kernel_(x[None], x[None])[0, 0] for x in X])
    return K - np.sum(np.square(model.transform(X)), axis=1)


def slow_features_kernel(X, L, kernel):
    """k(X, L) k(L, L)⁺ k(L, X), written as it is said."""
    return kernel(X, L) @ np.linalg.pinv(kernel(L, L), hermitian=True, rcond=1e-14) @ kernel(L, X)


@pytest.fixture(scope="module")
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


# --- the features -------------------------------------------------------------------------------


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.usefixtures("no_warnings")
def test_the_features_have_the_kernel_of_the_projection_on_the_landmarks(kernel, choice):
    X, new = positive(80, 4), positive(9, 4, seed=1)
    model = LandmarkMap(12, kernel=kernel, landmarks=choice).fit(X)
    both = np.vstack([X, new])
    features = model.transform(both)
    expected = slow_features_kernel(both, model.landmarks_, model.kernel_)
    assert_allclose(features @ features.T, expected, rtol=1e-7, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_kernel_with_a_landmark_is_exact_and_no_sample_gains_length(kernel):
    X = positive(80, 4)
    model = LandmarkMap(12, kernel=kernel).fit(X)
    features, own = model.transform(X), model.transform(model.landmarks_)
    K = model.kernel_(X, model.landmarks_)
    assert_allclose(features @ own.T, K, rtol=1e-9, atol=1e-10 * np.abs(K).max())
    assert lost(model, X).min() > -1e-9 * np.abs(K).max()


@pytest.mark.parametrize("kernel", KERNELS)
def test_sca_on_a_map_with_all_samples_for_landmarks_is_sca_itself(make_problem, kernel):
    case = make_problem(3, n=9)
    X = np.abs(case.X)
    exact = SCA(3, kernel=kernel).fit(X, case.known, sample_domain=case.domain)
    mapped = SCA(3, feature_map=LandmarkMap(len(X), kernel=kernel), solver="primal")
    mapped.fit(X, case.known, sample_domain=case.domain)
    assert_allclose(mapped.eigenvalues_, exact.eigenvalues_, rtol=1e-7)
    found, expected = (model.transform(np.abs(case.X_new)) for model in (mapped, exact))
    found *= np.sign(np.sum(found * expected, axis=0))
    assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())


def test_the_bandwidth_is_that_of_sca_for_few_samples_and_for_many(make_problem):
    for n in (10, MEDIAN_SAMPLE // 4):
        case = make_problem(2, n=n)
        exact = SCA(2).fit(case.X, case.known, sample_domain=case.domain)
        assert LandmarkMap(8).fit(case.X).kernel_.params == exact.kernel_.params


def test_eigenvalues_grow_with_the_landmarks_towards_the_exact_ones(three_domains):
    case = three_domains
    truth = SCA(3).fit(case.X, case.known, sample_domain=case.domain)
    order = np.random.default_rng(0).permutation(len(case.X))
    gamma, before = truth.kernel_.params["gamma"], np.zeros(3)
    for size in (8, 16, 32, 64, len(case.X)):
        feature_map = LandmarkMap(gamma=gamma, landmarks=case.X[order[:size]]).fit(case.X)
        share = truth.scatter_["before"].total / np.var(feature_map.transform(case.X), axis=0).sum()
        model = SCA(3, feature_map=feature_map, solver="primal", ridge=1e-3 * share)
        found = model.fit(case.X, case.known, sample_domain=case.domain).eigenvalues_
        assert (found >= before * (1 - 1e-9)).all()
        before = found
    assert_allclose(before, truth.eigenvalues_, rtol=1e-7)


def test_features_come_with_the_widest_direction_of_the_landmarks_first():
    X = positive(60, 4)
    model = LandmarkMap(15).fit(X)
    own = model.transform(model.landmarks_)
    sizes = np.sum(np.square(own), axis=0)
    assert_allclose(own.T @ own, np.diag(sizes), atol=1e-10)
    assert (np.diff(sizes) < 0).all()


def test_a_sample_is_mapped_without_regard_to_its_neighbours():
    X = positive(40, 4)
    model = LandmarkMap(10).fit(X)
    alone = np.vstack([model.transform(X[[i]]) for i in range(40)])
    assert_allclose(model.transform(X), alone, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "polynomial"])
@pytest.mark.parametrize("choice", CHOICES)
def test_float32_stays_float32_with_the_landmarks_of_float64(kernel, choice):
    X = positive(120, 4).astype(np.float32)
    double = LandmarkMap(20, kernel=kernel, landmarks=choice).fit(X.astype(np.float64))
    single = LandmarkMap(20, kernel=kernel, landmarks=choice).fit(X)
    features = single.transform(X)
    assert (features.dtype, single.landmarks_.dtype) == (np.float32, np.float32)
    assert_array_equal(single.landmarks_, double.landmarks_)
    exact = double.transform(X.astype(np.float64))
    K = exact @ exact.T
    assert_allclose(features @ features.T, K, atol=1e-4 * K.max())


def test_float32_keeps_only_directions_that_its_digits_can_tell():
    X = np.random.default_rng(0).normal(size=(300, 2)).astype(np.float32)
    single, double = LandmarkMap(200).fit(X), LandmarkMap(200).fit(X.astype(np.float64))
    assert single.n_features_out_ < double.n_features_out_ < 200
    features = single.transform(X)
    assert_allclose(features @ features.T, double.kernel_(X.astype(np.float64)), atol=1e-4)


# --- which landmarks ----------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("choice", CHOICES)
def test_landmarks_are_distinct_rows_of_the_samples(choice, kernel):
    X = positive(150, 3)
    model = LandmarkMap(25, kernel=kernel, landmarks=choice).fit(X)
    assert model.landmarks_.shape == (25, 3)
    assert len(as_set(model.landmarks_)) == 25
    assert as_set(model.landmarks_) <= as_set(X)
    assert model.n_features_out_ == model.normalization_.shape[1] == 25


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "polynomial"])
@pytest.mark.parametrize("choice", CHOICES)
def test_the_order_of_the_rows_does_not_matter(choice, kernel):
    X = positive(300, 3)
    mixed = np.random.default_rng(1).permutation(300)
    first = LandmarkMap(20, kernel=kernel, landmarks=choice).fit(X)
    again = LandmarkMap(20, kernel=kernel, landmarks=choice).fit(X[mixed])
    assert_array_equal(again.landmarks_, first.landmarks_)
    assert_allclose(again.transform(X), first.transform(X), atol=1e-8 * np.abs(X).max() ** 3)


@pytest.mark.parametrize("choice", CHOICES)
def test_none_is_a_fixed_seed_and_others_choose_other_landmarks(choice):
    X = positive(200, 3)
    state = np.random.get_state()[1].copy()  # noqa: NPY002

    def fitted(seed):
        return LandmarkMap(10, landmarks=choice, random_state=seed).fit(X)

    assert_array_equal(fitted(None).normalization_, fitted(None).normalization_)
    assert_array_equal(fitted(None).landmarks_, fitted(0).landmarks_)
    assert as_set(fitted(1).landmarks_) != as_set(fitted(0).landmarks_)
    assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("choice", ["kmeans++", "leverage"])
def test_a_few_samples_beside_a_dense_crowd_are_not_missed(choice, kernel):
    rng = np.random.default_rng(0)
    crowd, few = 0.005 * rng.normal(size=(3000, 8)), rng.normal(size=(60, 8))
    X = np.vstack([crowd, few])
    fair = LandmarkMap(120, kernel=kernel, gamma=0.2, landmarks="uniform").fit(X)
    spread = LandmarkMap(120, kernel=kernel, gamma=0.2, landmarks=choice).fit(X)
    assert lost(spread, few).mean() < 0.25 * lost(fair, few).mean()


def test_spread_landmarks_of_digits_lose_less_than_uniform_ones():
    X = load_digits().data

    def mean_lost(choice):
        fits = [LandmarkMap(64, landmarks=choice, random_state=seed).fit(X) for seed in range(4)]
        return np.mean([1 - np.mean(np.sum(model.transform(X) ** 2, axis=1)) for model in fits])

    assert mean_lost("kmeans++") < 0.95 * mean_lost("uniform")


def test_the_next_landmark_is_drawn_by_its_squared_distance_in_feature_space():
    X = np.array([[0.0], [0.3], [2.0], [2.2]])
    K = np.exp(-np.abs(X - X.T))
    expected = np.zeros((4, 4))
    for first in range(4):
        distance = 2 - 2 * K[first]
        expected[first] = distance / distance.sum() / 4
    draws, rng = np.zeros((4, 4)), np.random.RandomState(0)
    for _ in range(600):
        model = LandmarkMap(2, kernel="laplacian", gamma=1.0, random_state=rng).fit(X)
        draws[tuple(np.searchsorted(X.ravel(), model.landmarks_.ravel()))] += 1 / 600
    assert_allclose(draws, expected, atol=0.04)


def test_one_landmark_is_drawn_by_its_ridge_leverage_score():
    X = np.array([[0.0], [0.1], [0.2], [0.3], [5.0], [9.0]])
    K = np.exp(-((X - X.T) ** 2))
    ridge = np.linalg.eigvalsh(K)[:-1].sum()
    score = np.diag(K @ np.linalg.inv(K + ridge * np.eye(6)))
    draws, rng = np.zeros(6), np.random.RandomState(0)
    for _ in range(600):
        model = LandmarkMap(1, gamma=1.0, landmarks="leverage", random_state=rng).fit(X)
        draws[np.searchsorted(X.ravel(), model.landmarks_.item())] += 1 / 600
    assert_allclose(draws, score / score.sum(), atol=0.05)


def test_leverage_is_estimated_from_a_pilot(monkeypatch):
    monkeypatch.setattr(maps, "PILOT", 12)
    monkeypatch.setattr(maps, "BATCH", 7)
    X = positive(40, 3)
    model = LandmarkMap(30, gamma=0.3).fit(X)
    candidates = np.random.default_rng(0).permutation(40)
    scores = maps._leverage_scores(X, candidates, model.kernel_, 30)
    pilot = X[candidates[:12]]
    K, cross = model.kernel_(pilot), model.kernel_(X[candidates], pilot)
    ridge = np.linalg.eigvalsh(K)[:-3].sum() / 3
    explained = np.diag(cross @ np.linalg.inv(K + ridge * np.eye(12)) @ cross.T)
    assert_allclose(scores, (1 - explained) / ridge, rtol=1e-8)


def test_leverage_where_the_pilot_explains_everything_is_free_of_rounding():
    x = positive(200, 1)
    kernel = LandmarkMap(5, kernel="linear").fit(x).kernel_
    scores = maps._leverage_scores(x, np.arange(200), kernel, 5)
    assert_allclose(scores, x.ravel() ** 2 / np.sum(x**2), rtol=1e-6)


def test_landmarks_are_chosen_from_a_bounded_number_of_samples(monkeypatch):
    looked_at = []

    def kernel(A, B):
        looked_at.append(len(A))
        return np.exp(-np.abs(A[:, :1] - B[:, 0]))

    seen = []
    draw = maps.kmeans_plusplus
    monkeypatch.setattr(
        maps, "kmeans_plusplus", lambda X, *a, **k: (seen.append(len(X)), draw(X, *a, **k))[1]
    )
    monkeypatch.setattr(maps, "CANDIDATES", 300)
    monkeypatch.setattr(maps, "SCORED", 400)
    X = positive(4000, 2)
    LandmarkMap(10).fit(X)
    LandmarkMap(100).fit(X)
    assert seen == [300, maps.PER_LANDMARK * 100]
    LandmarkMap(10, kernel=kernel).fit(X)
    assert max(looked_at) == 300
    LandmarkMap(10, kernel=kernel, landmarks="leverage").fit(X)
    assert max(looked_at) == 400


def test_landmarks_do_not_depend_on_where_the_origin_is():
    X = positive(400, 3)
    for choice in CHOICES:
        near = LandmarkMap(20, landmarks=choice).fit(X).landmarks_
        far = LandmarkMap(20, landmarks=choice).fit(X + 1e8).landmarks_
        assert_allclose(far - 1e8, near, atol=1e-6)


# --- samples that are few, or copies ------------------------------------------------------------


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.usefixtures("no_warnings")
def test_all_samples_are_landmarks_where_there_are_no_more(choice):
    X = positive(12, 5)
    for size in (12, 500):
        model = LandmarkMap(size, landmarks=choice).fit(X)
        assert sorted(map(tuple, model.landmarks_)) == sorted(map(tuple, X))
        features = model.transform(X)
        assert_allclose(features @ features.T, model.kernel_(X), atol=1e-12)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "chi2"])
@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.usefixtures("no_warnings")
def test_copies_add_no_features_and_the_map_stays_exact(choice, kernel):
    X = np.repeat(positive(9, 4), 30, axis=0)
    model = LandmarkMap(200, kernel=kernel, landmarks=choice).fit(X)
    assert model.n_features_out_ == 9
    features = model.transform(X)
    assert features.shape == (270, 9)
    assert_allclose(features @ features.T, model.kernel_(X), atol=1e-10)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "chi2"])
def test_spread_landmarks_cover_all_distinct_samples_before_any_copy(kernel):
    rare = positive(9, 4, seed=1)
    X = np.vstack([np.repeat(positive(1, 4), 500, axis=0), rare])
    assert LandmarkMap(10, kernel=kernel).fit(X).n_features_out_ == 10
    assert LandmarkMap(10, kernel=kernel, landmarks="uniform").fit(X).n_features_out_ < 5


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.usefixtures("no_warnings")
def test_samples_that_are_all_alike_have_one_feature(choice):
    same = LandmarkMap(4, landmarks=choice).fit(np.full((20, 3), 0.1))
    assert_allclose(np.abs(same.transform(np.full((2, 3), 0.1))), [[1.0], [1.0]])
    nothing = LandmarkMap(4, kernel="linear", landmarks=choice).fit(np.zeros((20, 3)))
    assert_array_equal(nothing.transform(np.ones((2, 3))), np.zeros((2, 1)))


def test_the_number_of_features_is_the_rank_of_the_kernel():
    X = positive(100, 3)
    assert LandmarkMap(50, kernel="linear").fit(X).n_features_out_ == 3
    # Monomials of degree two or less in three variables.
    quadratic = LandmarkMap(50, kernel="polynomial", degree=2).fit(X)
    assert quadratic.n_features_out_ == 10
    assert_allclose(lost(quadratic, X), 0, atol=1e-9 * quadratic.kernel_(X).max())


# --- landmarks of the user ----------------------------------------------------------------------


def test_landmarks_of_the_user_are_used_as_they_are():
    X, given = positive(50, 3), positive(7, 3, seed=1)
    model = LandmarkMap(2, landmarks=given).fit(X)
    assert_array_equal(model.landmarks_, given)
    assert model.n_features_out_ == 7
    expected = slow_features_kernel(X, given, model.kernel_)
    features = model.transform(X)
    assert_allclose(features @ features.T, expected, atol=1e-10)
    frame = LandmarkMap(landmarks=pd.DataFrame(given)).fit(X)
    assert_array_equal(frame.landmarks_, given)
    as_sparse = LandmarkMap(landmarks=sparse.csr_array(given)).fit(sparse.csr_array(X))
    assert_allclose(as_sparse.transform(sparse.csr_array(X)), features, atol=1e-10)


def test_a_map_keeps_its_own_copy_of_the_landmarks_and_leaves_all_arrays_alone():
    X, given = positive(50, 3), positive(7, 3, seed=1)
    before = X.tobytes(), given.tobytes()
    model = LandmarkMap(landmarks=given).fit(X)
    model.transform(X)
    for choice in CHOICES:
        LandmarkMap(5, landmarks=choice).fit(X)
    assert (X.tobytes(), given.tobytes()) == before
    features = model.transform(X)
    given[:] = 0
    assert_array_equal(model.transform(X), features)


# --- samples of every kind ----------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "linear", "polynomial", "cosine"])
@pytest.mark.parametrize("choice", CHOICES)
def test_sparse_samples_have_the_features_of_dense_ones(choice, kernel):
    X = positive(60, 8)
    X[X < 1.5] = 0
    X[:, 0] += 0.1
    dense = LandmarkMap(12, kernel=kernel, landmarks=choice).fit(X)
    for make in (sparse.csr_matrix, sparse.csr_array):
        thin = LandmarkMap(12, kernel=kernel, landmarks=choice).fit(make(X))
        assert sparse.issparse(thin.landmarks_)
        assert_array_equal(thin.landmarks_.toarray(), dense.landmarks_)
        features = thin.transform(make(X))
        assert isinstance(features, np.ndarray)
        expected = dense.transform(X)
        assert_allclose(features @ features.T, expected @ expected.T, rtol=1e-7, atol=1e-9)


def test_a_kernel_that_takes_no_sparse_samples_says_so():
    with pytest.raises(TypeError, match="Sparse data was passed for X, but dense data is required"):
        LandmarkMap(3, kernel="chi2").fit(sparse.csr_array(positive(9, 3)))


def test_a_callable_kernel_and_its_parameters_are_used():
    X = positive(30, 3)

    def kernel(A, B, width):
        return pairwise_kernels(A, B, metric="rbf", gamma=1 / width)

    own = LandmarkMap(8, kernel=kernel, kernel_params={"width": 4.0}, landmarks="uniform").fit(X)
    named = LandmarkMap(8, gamma=0.25, landmarks="uniform").fit(X)
    assert_allclose(own.transform(X), named.transform(X), atol=1e-9)


@pytest.mark.parametrize("choice", CHOICES)
def test_a_landmark_map_is_a_scikit_learn_estimator(choice):
    check_estimator(LandmarkMap(landmarks=choice))


def test_features_have_names_and_come_in_the_container_of_the_user():
    X = pd.DataFrame(positive(20, 3), columns=["a", "b", "c"])
    model = LandmarkMap(4).set_output(transform="pandas").fit(X)
    names = [f"landmarkmap{i}" for i in range(4)]
    assert list(model.get_feature_names_out()) == names
    assert list(model.transform(X).columns) == names


def test_a_map_with_landmarks_can_be_cloned():
    X, given = positive(20, 3), positive(5, 3, seed=1)
    copy = clone(LandmarkMap(landmarks=given, gamma=0.5))
    assert_array_equal(copy.fit(X).landmarks_, given)


# --- errors and warnings ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"n_components": 0}, ValueError, "n_components must be at least 1"),
        ({"n_components": 2.5}, TypeError, "n_components must be an integer"),
        ({"landmarks": "kmeans"}, ValueError, "landmarks must be one of 'kmeans\\+\\+', 'lever"),
        ({"landmarks": None}, TypeError, "landmarks must be one of kmeans\\+\\+, leverage"),
        ({"landmarks": np.ones((4, 2))}, ValueError, "landmarks have 2 features, and .* X have 3"),
        ({"landmarks": np.ones(3)}, ValueError, "Expected 2D array"),
        ({"landmarks": np.full((4, 3), np.nan)}, ValueError, "landmarks contains NaN"),
        ({"kernel": "precomputed"}, ValueError, "kernel='precomputed' leaves no samples"),
        ({"kernel": "gaussian"}, ValueError, "kernel must be one of"),
        ({"gamma": -1.0}, ValueError, "gamma must lie in"),
        ({"kernel_params": {"a": 1}}, ValueError, "kernel_params are for callable kernels"),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, dict) else None,
)
def test_wrong_parameters_are_refused_by_name(options, error, words):
    with pytest.raises(error, match=words):
        LandmarkMap(**options).fit(positive(20, 3))


@pytest.mark.parametrize("choice", CHOICES)
def test_a_kernel_that_overflows_is_refused_with_a_remedy(choice):
    X = 1e60 * positive(20, 3)
    with pytest.raises(ValueError, match=r"not finite. Scale X.*smaller gamma or degree"):
        LandmarkMap(4, kernel="polynomial", landmarks=choice).fit(X)


def test_a_kernel_that_is_not_positive_semi_definite_is_told():
    X = np.random.default_rng(0).normal(size=(60, 4))
    with pytest.warns(UserWarning, match="not positive semi-definite on the landmarks"):
        model = LandmarkMap(20, kernel="sigmoid", gamma=2.0).fit(X)
    values = np.linalg.eigvalsh(np.tanh(2 * model.landmarks_ @ model.landmarks_.T + 1))
    assert model.n_features_out_ == np.sum(values > 1e-12)


# --- tensors ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def torch(require):
    return require("torch", "torch")


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "linear", "polynomial", "cosine"])
@pytest.mark.parametrize("choice", CHOICES)
def test_tensors_have_the_landmarks_and_features_of_numpy(torch, choice, kernel):
    X = positive(90, 4)
    host = LandmarkMap(15, kernel=kernel, landmarks=choice).fit(X)
    there = LandmarkMap(15, kernel=kernel, landmarks=choice).fit(torch.from_numpy(X))
    assert_array_equal(there.landmarks_, host.landmarks_)
    expected, features = host.transform(X), there.transform(torch.from_numpy(X))
    assert isinstance(features, torch.Tensor)
    scale = np.abs(expected).max()
    assert_allclose(features.numpy(), expected, atol=1e-8 * scale)
    # Fitted attributes are NumPy arrays, so that either map takes samples of either kind.
    assert isinstance(there.normalization_, np.ndarray)
    assert_allclose(host.transform(torch.from_numpy(X)).numpy(), expected, atol=1e-8 * scale)
    assert_allclose(there.transform(X), expected, atol=1e-8 * scale)


def test_float32_tensors_stay_float32(torch):
    X = torch.from_numpy(positive(90, 4).astype(np.float32))
    features = LandmarkMap(15).fit(X).transform(X)
    assert features.dtype == torch.float32
    expected = LandmarkMap(15).fit(X.numpy()).transform(X.numpy())
    assert_allclose(features.numpy(), expected, atol=1e-4)


def test_a_callable_kernel_gets_tensors_and_landmarks_may_be_one(torch):
    X = torch.from_numpy(positive(60, 4))

    def kernel(A, B):
        return torch.exp(-0.3 * torch.cdist(A, B))

    for landmarks in (*CHOICES, X[:10], X[:10].numpy()):
        model = LandmarkMap(10, kernel=kernel, landmarks=landmarks).fit(X)
        features, own = model.transform(X), torch.from_numpy(model.landmarks_)
        assert_allclose(
            (features @ model.transform(own).T).numpy(), kernel(X, own).numpy(), atol=1e-9
        )


def test_sca_on_tensors_through_a_map_is_sca_on_arrays_through_it(torch, three_domains):
    case = three_domains
    model = SCA(3, feature_map=LandmarkMap(30))
    expected = model.fit(case.X, case.known, sample_domain=case.domain).transform(case.X_new)
    X, X_new = torch.from_numpy(np.array(case.X)), torch.from_numpy(np.array(case.X_new))
    found = model.fit(X, case.known, sample_domain=case.domain).transform(X_new)
    assert_allclose(found.numpy(), expected, atol=1e-6)


def test_tensors_that_cannot_be_samples_are_refused(torch):
    X = torch.from_numpy(positive(20, 3))
    model = LandmarkMap(4).fit(X)
    with pytest.raises(ValueError, match="X has 2 features, but LandmarkMap is expecting 3"):
        model.transform(X[:, :2])
    X[3, 1] = torch.nan
    with pytest.raises(ValueError, match="NaN or infinite in row 3"):
        LandmarkMap(4).fit(X)
