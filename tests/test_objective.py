"""Weights on five scatters become a numerator and a denominator: one claim each."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from skatter._objective import Coefficients, Objective, sca
from skatter.domains import read_domains

some = settings(deadline=None, max_examples=25)


def sample(seed, n_domains=3, n_classes=3, n=40, *, partly=True):
    """Random labels and domains; domain 0 is fully labelled, the last one partly or not at all."""
    rng = np.random.default_rng(seed)
    domain = np.r_[np.arange(n_domains), rng.integers(n_domains, size=n - n_domains)]
    label = np.r_[np.arange(n_classes), rng.integers(n_classes, size=n - n_classes)]
    known = domain < max(n_domains - 1, 1)
    known[:n_classes] = True
    if partly:
        known |= rng.uniform(size=n) < 0.3
    return np.where(known, label, -1), domain


def view(label, domain):
    """The view of these labels; the mask keeps a single class from being read as {-1, +1}."""
    return read_domains(label, domain, labelled=label >= 0)


def centring(n):
    return np.eye(n) - np.ones((n, n)) / n


def scatter_of_means(columns):
    """(1/m) Σ (μ_g − μ̄)(μ_g − μ̄)ᵀ for coefficient columns of m means."""
    means = np.column_stack(columns)
    away = means - means.mean(axis=1, keepdims=True)
    return away @ away.T / means.shape[1]


def dense(label, domain):
    """H, R, S, L and L_c written out entry by entry from their definitions."""
    label, domain = np.asarray(label), np.asarray(domain)
    n = len(label)
    known = label >= 0
    L = np.empty((n, n))
    sizes = {a: np.sum(domain == a) for a in set(domain.tolist())}
    m = len(sizes)
    for i in range(n):
        for j in range(n):
            a, b = domain[i], domain[j]
            L[i, j] = (
                (m - 1) / (m**2 * sizes[a] ** 2) if a == b else -1 / (m**2 * sizes[a] * sizes[b])
            )
    R, S, Lc = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    classes = sorted(set(label[known].tolist()))
    for k in classes:
        own = label == k
        v = own / own.sum() - known / known.sum()
        R += own.sum() * np.outer(v, v)
        S += np.diag(own.astype(float)) - np.outer(own, own) / own.sum()
        places = sorted(set(domain[own].tolist()))
        groups = [(own & (domain == a)) / np.sum(own & (domain == a)) for a in places]
        Lc += scatter_of_means(groups) / len(classes)
    return centring(n), R, S, L, Lc


shapes = pytest.mark.parametrize(
    ("n_domains", "n_classes"), [(1, 1), (1, 3), (2, 2), (3, 5), (6, 12)]
)


# --- the factors --------------------------------------------------------------------------------


@shapes
def test_factors_multiply_out_to_the_matrices_of_their_definitions(n_domains, n_classes):
    label, domain = sample(0, n_domains, n_classes)
    _, R, S, L, Lc = dense(label, domain)
    coefficients = Coefficients(view(label, domain))
    F, (Ud, Uc) = coefficients.between, coefficients.nuisance
    assert_allclose(F @ F.T, R, atol=1e-14)
    assert_allclose(Ud @ Ud.T, L, atol=1e-14)
    assert_allclose(Uc @ Uc.T, Lc, atol=1e-14)
    only_within = Objective(within_class=float(np.sum(label >= 0)))
    assert_allclose(coefficients.denominator(only_within, np.eye(len(label))), S, atol=1e-14)


@shapes
def test_factors_are_thin_and_between_is_orthonormal(n_domains, n_classes):
    label, domain = sample(1, n_domains, n_classes)
    coefficients = Coefficients(view(label, domain))
    F, (Ud, _) = coefficients.between, coefficients.nuisance
    assert F.shape == (len(label), n_classes - 1)
    assert Ud.shape == (len(label), n_domains - 1)
    assert_allclose(F.T @ F, np.eye(n_classes - 1), atol=1e-14)


@shapes
def test_between_and_within_are_complementary_projections_of_the_labelled_samples(
    n_domains, n_classes
):
    label, domain = sample(2, n_domains, n_classes)
    _, R, S, L, _ = dense(label, domain)
    known = (label >= 0).astype(float)
    n_labelled = known.sum()
    for projection, rank in ((R, n_classes - 1), (S, n_labelled - n_classes)):
        assert_allclose(projection @ projection, projection, atol=1e-13)
        assert_allclose(np.trace(projection), rank, atol=1e-12)
    assert_allclose(R @ S, 0, atol=1e-14)
    assert_allclose(R + S, np.diag(known) - np.outer(known, known) / n_labelled, atol=1e-14)
    for matrix in (R, S, L):
        assert_allclose(matrix.sum(axis=1), 0, atol=1e-13)


def test_with_all_labelled_between_and_within_sums_add_up_to_the_total():
    label, domain = sample(3, 2, 4)
    label = np.where(label < 0, 0, label)
    n = len(label)
    coefficients = Coefficients(view(label, domain))
    both = Objective(total=0, between_class=n, within_class=n)
    eye = np.eye(n)
    total = coefficients.numerator(both, eye) + coefficients.denominator(both, eye)
    assert_allclose(total, centring(n), atol=1e-13)


@some
@given(seed=st.integers(0, 10**6), n_domains=st.integers(2, 6), k=st.integers(1, 3))
def test_domain_coefficients_measure_the_scatter_of_domain_means(seed, n_domains, k):
    label, domain = sample(seed, n_domains)
    Z = np.random.default_rng(seed).normal(size=(len(label), k))
    means = np.array([Z[domain == a].mean(axis=0) for a in range(n_domains)])
    expected = np.mean(np.sum((means - means.mean(axis=0)) ** 2, axis=1))
    M_Z = Coefficients(view(label, domain)).denominator(Objective(domain=1.0), Z)
    assert_allclose(np.sum(Z * M_Z), expected, rtol=1e-10, atol=1e-14)


def test_for_two_domains_the_coefficients_are_a_quarter_of_the_mmd_matrix():
    label, domain = sample(4, 2)
    e = (domain == 0) / np.sum(domain == 0) - (domain == 1) / np.sum(domain == 1)
    (U, _) = Coefficients(view(label, domain)).nuisance
    assert_allclose(U @ U.T, np.outer(e, e) / 4, atol=1e-16)


def test_a_class_whose_labels_are_all_hidden_is_as_if_it_had_never_been():
    label, domain = sample(5, 2, 3)
    hidden = np.where(label == 1, -1, label)
    kept = Coefficients(view(label, domain).hide(np.flatnonzero(label == 1)))
    never = Coefficients(view(hidden, domain))
    weights = Objective(0.3, 0.7, 1.1, 2.0, 0.5)
    eye = np.eye(len(label))
    assert_allclose(kept.numerator(weights, eye), never.numerator(weights, eye), atol=1e-15)
    assert_allclose(kept.denominator(weights, eye), never.denominator(weights, eye), atol=1e-15)


def test_a_class_seen_once_is_in_between_but_not_within():
    label, domain = np.array([0, 0, 0, 1, -1]), np.array([0, 0, 1, 1, 1])
    _, R, S, _, _ = dense(label, domain)
    coefficients = Coefficients(view(label, domain))
    assert_allclose(coefficients.between @ coefficients.between.T, R, atol=1e-15)
    assert R[3, 3] > 0.5
    assert_allclose(S[3], 0)


# --- numerator and denominator ------------------------------------------------------------------


@some
@given(
    seed=st.integers(0, 10**6),
    n_domains=st.integers(1, 6),
    n_classes=st.integers(1, 12),
    weights=st.tuples(*[st.floats(0, 100)] * 5),
)
def test_products_equal_those_with_dense_matrices(seed, n_domains, n_classes, weights):
    label, domain = sample(seed, n_domains, n_classes)
    H, R, S, L, Lc = dense(label, domain)
    n, n_labelled = len(label), np.sum(label >= 0)
    total, between, within, domain_weight, conditional = weights
    N = total * H / n + between * R / n_labelled
    M = within * S / n_labelled + domain_weight * L + conditional * Lc
    Z = np.random.default_rng(seed).normal(size=(n, 3))
    coefficients = Coefficients(view(label, domain))
    objective = Objective(*weights)
    assert_allclose(coefficients.numerator(objective, Z), N @ Z, atol=1e-11)
    assert_allclose(coefficients.denominator(objective, Z), M @ Z, atol=1e-11)


def test_without_labels_only_total_and_domain_scatter_act():
    domain = np.repeat([0, 1, 2], 5)
    coefficients = Coefficients(read_domains(None, domain))
    H, _, _, L, _ = dense(np.full(15, -1), domain)
    every = Objective(1.0, 1.0, 1.0, 2.0, 1.0)
    assert_allclose(coefficients.numerator(every, np.eye(15)), H / 15, atol=1e-15)
    assert_allclose(coefficients.denominator(every, np.eye(15)), 2 * L, atol=1e-15)


def test_one_domain_has_no_domain_scatter():
    label = np.array([0, 1, 0, 1])
    coefficients = Coefficients(view(label, np.zeros(4, int)))
    assert_allclose(coefficients.denominator(Objective(domain=1e6), np.eye(4)), 0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_factors_and_products_keep_the_floating_type(dtype):
    label, domain = sample(6)
    coefficients = Coefficients(view(label, domain), dtype)
    Z = np.ones((len(label), 2), dtype)
    everything = Objective(0.5, 0.5, 1.0, 1.0, 1.0)
    assert coefficients.between.dtype == dtype
    assert all(factor.dtype == dtype for factor in coefficients.nuisance)
    assert coefficients.numerator(everything, Z).dtype == dtype
    assert coefficients.denominator(everything, Z).dtype == dtype


# --- the presets --------------------------------------------------------------------------------


def printed_pencil(label, domain, beta, delta):
    """N and M of eq. (18) as printed: class scatters are sums, the other two are means."""
    H, R, S, L, _ = dense(label, domain)
    return (1 - beta) * H / len(label) + beta * R, S + delta * L


def pencil(label, domain, objective):
    coefficients, eye = Coefficients(view(label, domain)), np.eye(len(label))
    return coefficients.numerator(objective, eye), coefficients.denominator(objective, eye)


@pytest.mark.parametrize("beta", [0, 0.3, 1])
def test_without_normalisation_the_weights_are_the_printed_ones(beta):
    label, domain = sample(7)
    objective = sca(beta, 5.0, ridge=1.0, normalize=False, n_labelled=int(np.sum(label >= 0)))
    expected = printed_pencil(label, domain, beta, 5.0)
    for matrix, printed in zip(pencil(label, domain, objective), expected, strict=True):
        assert_allclose(matrix, printed, atol=1e-13)
    assert objective.ridge == 1.0


@pytest.mark.parametrize("beta", [0, 0.3, 1])
def test_with_normalisation_class_scatters_are_means(beta):
    label, domain = sample(8)
    H, R, S, L, _ = dense(label, domain)
    n_labelled = int(np.sum(label >= 0))
    objective = sca(beta, 5.0, ridge=0.1, normalize=True, n_labelled=n_labelled)
    N, M = pencil(label, domain, objective)
    assert_allclose(N, (1 - beta) * H / len(label) + beta * R / n_labelled, atol=1e-14)
    assert_allclose(M, S / n_labelled + 5.0 * L, atol=1e-14)


@some
@given(share=st.floats(0.01, 1), delta=st.floats(0, 1e3), seed=st.integers(0, 10**6))
def test_both_scalings_are_one_problem_under_the_published_change_of_units(share, delta, seed):
    # beta = beta'/(beta' + n_l (1 - beta')), delta = n_l delta', ridge = n_l ridge'
    label, domain = sample(seed)
    n_labelled = int(np.sum(label >= 0))
    beta = share / (share + n_labelled * (1 - share))
    assert_allclose(share, n_labelled * beta / (1 - beta + n_labelled * beta), rtol=1e-9)
    mean = sca(
        share, delta / n_labelled, ridge=1 / n_labelled, normalize=True, n_labelled=n_labelled
    )
    paper = sca(beta, delta, ridge=1.0, normalize=False, n_labelled=n_labelled)
    N_mean, M_mean = pencil(label, domain, mean)
    N, M = pencil(label, domain, paper)
    assert_allclose(N, N_mean * n_labelled * beta / share, atol=1e-12)
    assert_allclose(M, M_mean * n_labelled, rtol=1e-10, atol=1e-10)
    assert paper.ridge == pytest.approx(mean.ridge * n_labelled)


def test_unsupervised_sca_uses_no_class():
    assert Objective(domain=3.0, ridge=0.5) == Objective(total=1.0, domain=3.0, ridge=0.5)


def test_only_beta_one_leaves_nothing_but_class_means_in_the_numerator():
    kinds = {"normalize": True, "n_labelled": 10, "ridge": 1.0}
    assert sca(1.0, 1.0, **kinds).between_only
    assert not sca(0.999, 1.0, **kinds).between_only
    assert not Objective(domain=1.0, ridge=1.0).between_only
