"""The mixture's landscape against SciPy and finite differences, far away and for nearly singular covariances."""

import copy
import dataclasses
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from dpviz.solvers import Mixture
from dpviz.solvers.landscapes.walks import log_density_at


def drawn(seed, n_components, d, *, spread=0.3):
    rng = np.random.default_rng(seed)
    roots = rng.standard_normal((n_components, d, d)) * 0.5 + np.eye(d)
    covariances = spread**2 * roots @ roots.transpose(0, 2, 1) / (1 + d / 4) + 1e-4 * np.eye(d)
    return Mixture(rng.dirichlet(np.full(n_components, 3.0)), rng.uniform(-1, 1, (n_components, d)), covariances)


def scipy_log_density(mixture, points):
    parts = [
        np.log(w) + np.atleast_1d(multivariate_normal(m, c, allow_singular=False).logpdf(points))
        for w, m, c in zip(mixture.weights, mixture.means, mixture.covariances, strict=True)
    ]
    return logsumexp(np.stack(parts), axis=0)


@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(1, 6))
def test_the_log_density_is_scipys(seed, n_components, d):
    mixture = drawn(seed, n_components, d)
    points = np.random.default_rng(seed + 1).normal(scale=2, size=(7, d))
    np.testing.assert_allclose(mixture.log_density(points), scipy_log_density(mixture, points), rtol=1e-9, atol=1e-9)


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 4))
def test_derivatives_are_those_of_finite_differences(seed, n_components, d):
    mixture = drawn(seed, n_components, d)
    points = np.random.default_rng(seed + 1).uniform(-1.2, 1.2, (5, d))
    step = 1e-5
    shifts = step * np.eye(d)
    ahead, behind = (np.stack([mixture.log_density(points + s * e) for e in shifts], 1) for s in (1, -1))
    gradient = mixture.gradient(points)
    # Truncation step^2 |f'''| / 6 and rounding 1e-16 |f| / step, both far below 1e-4 of the largest slope.
    np.testing.assert_allclose(gradient, (ahead - behind) / (2 * step), atol=1e-4 * (1 + np.abs(gradient).max()))
    ahead, behind = (np.stack([mixture.gradient(points + s * e) for e in shifts], 1) for s in (1, -1))
    hessian = mixture.hessian(points)
    np.testing.assert_allclose(hessian, (ahead - behind) / (2 * step), atol=1e-4 * (1 + np.abs(hessian).max()))
    np.testing.assert_allclose(hessian, hessian.transpose(0, 2, 1), atol=1e-9 * np.abs(hessian).max())


@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(1, 6))
def test_the_parts_of_a_place_are_those_of_their_definition(seed, n_components, d):
    mixture = drawn(seed, n_components, d)
    points = np.random.default_rng(seed + 1).uniform(-1.2, 1.2, (9, d))
    here, terms = mixture.at(points), mixture.log_terms(points)
    np.testing.assert_allclose(logsumexp(terms, axis=1), mixture.log_density(points), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(here.log_density, mixture.log_density(points), rtol=1e-12, atol=1e-12)
    shares = np.exp(terms - logsumexp(terms, axis=1)[:, None])  # omega
    pulls = np.einsum("kij,nkj->nki", mixture.precisions, points[:, None] - mixture.means)
    metric = np.einsum("nk,kij->nij", shares, mixture.precisions)
    off = pulls + here.gradient[:, None]
    expected = (-np.einsum("nk,nki->ni", shares, pulls), metric, np.einsum("nk,nki,nkj->nij", shares, off, off))
    for found, one in zip(here[1:], expected, strict=True):
        np.testing.assert_allclose(found, one, rtol=1e-8, atol=1e-10 * (1 + np.abs(one).max()))


def test_it_is_stable_far_away_where_the_density_underflows():
    mixture = drawn(3, 4, 2)
    far = np.array([[1e3, -1e3], [1e6, 1e6], [-1e8, 0.0]])
    assert np.exp(mixture.log_density(far)).tolist() == [0.0, 0.0, 0.0]
    np.testing.assert_allclose(mixture.log_density(far), scipy_log_density(mixture, far), rtol=1e-9)
    here = mixture.at(far)
    assert np.isfinite(here.gradient).all()
    assert np.isfinite(here.hessian).all()
    # Far out one component is everything: its own gradient is the mixture's.
    k = int(mixture.log_terms(far[:1])[0].argmax())
    alone = -np.linalg.solve(mixture.covariances[k], far[0] - mixture.means[k])
    np.testing.assert_allclose(here.gradient[0], alone, rtol=1e-9)


@pytest.mark.parametrize("thin", [1e-8, 1e-12, 1e-14])
def test_it_is_stable_for_nearly_singular_covariances(thin):
    angle = 0.7
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    covariance = turn @ np.diag([1.0, thin]) @ turn.T
    mixture = Mixture([0.5, 0.5], [[0.0, 0.0], [100.0, 100.0]], [covariance, np.eye(2)])
    along = turn[:, :1].T * np.array([[0.5], [1.0]])
    density = mixture.log_density(along)
    value = -0.5 * np.array([0.25, 1.0]) - np.log(2 * np.pi) - 0.5 * np.log(thin) + np.log(0.5)
    # Rounding of the covariance itself moves its small eigenvalue by 1e-16: relative 1e-16 / thin.
    np.testing.assert_allclose(density, value, atol=10 * 2e-16 / thin + 1e-6)
    assert np.isfinite(mixture.at(along).hessian).all()


def test_a_component_without_weight_does_not_count():
    one = Mixture([1.0, 0.0], [[0.0, 0.0], [3.0, 3.0]], [np.eye(2), np.eye(2)])
    points = np.array([[0.3, -0.2], [3.0, 3.0]])
    np.testing.assert_allclose(one.log_density(points), Mixture([1.0], [[0.0, 0.0]], [np.eye(2)]).log_density(points))
    assert one.log_terms(points)[:, 1].tolist() == [-np.inf, -np.inf]


@pytest.mark.parametrize(
    ("weights", "means", "covariances", "words"),
    [
        ([0.5, 0.6], [[0.0], [1.0]], [[[1.0]], [[1.0]]], "add up to 1"),
        ([1.5, -0.5], [[0.0], [1.0]], [[[1.0]], [[1.0]]], "add up to 1"),
        ([1.0], [[0.0], [1.0]], [[[1.0]], [[1.0]]], "one weight for each"),
        ([1.0], [[0.0, 0.0]], [[[1.0]]], "one matrix for each"),
        ([1.0], [[0.0, 0.0]], [[[1.0, 0.5], [0.0, 1.0]]], "symmetric"),
        ([1.0], [[0.0, 0.0]], [[[1.0, 2.0], [2.0, 1.0]]], "eigenvalue"),
        ([1.0], [[np.nan]], [[[1.0]]], "NaN"),
    ],
)
def test_bad_mixtures_are_refused(weights, means, covariances, words):
    with pytest.raises(ValueError, match=words):
        Mixture(weights, means, covariances)


def test_a_mixture_cannot_be_written():
    mixture = drawn(0, 3, 2)
    with pytest.raises(ValueError, match="read-only"):
        mixture.means[0, 0] = 5.0


@pytest.mark.parametrize("copied", [lambda mixture: pickle.loads(pickle.dumps(mixture)), copy.deepcopy])
@pytest.mark.parametrize("d", [2, 3])
def test_a_copy_is_the_same_mixture_and_asks_for_no_other_machine_code(copied, d):
    """NumPy's own copies can be written to: code for those would take as long again as that of the first mixture."""
    mixture, points = drawn(0, 3, d), np.random.default_rng(1).random((4, d))
    expected, known = mixture.log_density(points), [*log_density_at.signatures]
    again = copied(mixture)
    assert again.log_density(points).tobytes() == expected.tobytes()
    assert [*log_density_at.signatures] == known
    for each in dataclasses.fields(mixture)[:-1]:
        held = getattr(again, each.name)
        assert held.tobytes() == getattr(mixture, each.name).tobytes()
        with pytest.raises(ValueError, match="read-only"):
            held[...] = 0.0
