"""DP-EM: each part of its budget, the effect of one record, EM without noise, and the effect of the noise."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from dpviz.accounting import Purpose, gdp_epsilon, gdp_mu, pure_epsilon, zcdp_rho
from dpviz.baselines import dp_em
from dpviz.baselines._base import SIZE_SHARE
from dpviz.baselines.dp_em import COUNT_SHARE, SQUARE_SHARE, SUM_SHARE, Params, fit, m_step, sensitivities
from dpviz.core import Adjacency, Box, Budget
from dpviz.solvers import Mixture, public_start, round_mixture
from dpviz.solvers.moments import upper

DELTA = 1e-6
ADJACENCIES = {"add_remove": Adjacency.ADD_REMOVE, "replace": Adjacency.REPLACE}
PARTS = {Purpose.COUNTS: COUNT_SHARE, Purpose.SUMS: SUM_SHARE, Purpose.SECOND_MOMENTS: SQUARE_SHARE}


def generator(seed=0):
    return np.random.default_rng(seed)


def run(points, seed=0, **options):
    params = Params(**{"n_clusters": 3, "delta": DELTA, "start_seed": 0} | options)
    return fit(points, Box.cube(0, 1, points.shape[1]), params, rng=generator(seed))


def blobs(n=6000, d=2):
    """Return records of three long groups of unequal size, and their middles."""
    rng = generator(d)
    middles = np.full((3, d), 0.5)
    middles[:, 0] = (0.2, 0.5, 0.8)
    middles[1, 1:] = 0.8
    labels = rng.choice(3, size=n, p=(0.5, 0.3, 0.2))
    return np.clip(middles[labels] + rng.standard_normal((n, d)) * np.r_[0.03, np.full(d - 1, 0.08)], 0.0, 1.0), middles


def parts_of(events):
    """Return the noise of all iterations, by its purpose."""
    leaves = [leaf for event in events for leaf in event.events]
    return {purpose: [leaf for leaf in leaves if leaf.purpose is purpose] for purpose in PARTS}


def spends_its_budget(result, epsilon, adjacency, n_iterations):
    """Check that counts, sums and second moments have their shares of mu^2, and together all of it."""
    mu, parts = gdp_mu(Budget(epsilon, DELTA)), parts_of(result.events)
    shares = {purpose: sum(leaf.mu**2 for leaf in leaves) / mu**2 for purpose, leaves in parts.items()}
    found = math.sqrt(2.0 * zcdp_rho(result.events, adjacency))
    return (
        all(len(leaves) == n_iterations for leaves in parts.values())
        and shares == pytest.approx(PARTS, rel=1e-12)
        and found == pytest.approx(mu, rel=1e-12)
        and gdp_epsilon(found, DELTA) == pytest.approx(epsilon, rel=1e-9)
    )


@pytest.mark.parametrize("d", [1, 2, 5, 20, 60])
@pytest.mark.parametrize("name", ADJACENCIES)
@pytest.mark.parametrize(("epsilon", "n_iterations"), [(1e-3, 1), (1.0, None), (50.0, 3)])
def test_the_parts_add_up_to_the_budget(d, name, epsilon, n_iterations, monkeypatch):
    adjacency, points = ADJACENCIES[name], generator(d).random((80, d))
    options = {"epsilon": epsilon, "adjacency": name, "n_iterations": n_iterations}
    result, passes = run(points, **options), n_iterations or dp_em.N_ITERATIONS
    assert spends_its_budget(result, epsilon, adjacency, passes)
    for event in result.events:
        widths = tuple(leaf.l2_sensitivity for leaf in event.events)
        assert widths == sensitivities(d, adjacency)
    claim = result.guarantee.proved
    assert (claim.epsilon, claim.delta, claim.adjacency) == (epsilon, DELTA, adjacency)
    monkeypatch.setattr(dp_em, "SQUARE_SHARE", SQUARE_SHARE * 1.001)
    assert not spends_its_budget(run(points, **options), epsilon, adjacency, passes)


def test_a_delta_that_follows_the_records_pays_for_their_number():
    points = generator().random((500, 2))
    result = run(points, delta=None, epsilon=0.8)
    size, *rest = result.events
    assert pure_epsilon((size,), Adjacency.ADD_REMOVE) == pytest.approx(0.8 * SIZE_SHARE, rel=1e-12)
    mu = gdp_mu(Budget(0.8 * (1.0 - SIZE_SHARE), result.guarantee.proved.calibrated_delta))
    assert math.sqrt(2.0 * zcdp_rho(rest, Adjacency.ADD_REMOVE)) == pytest.approx(mu, rel=1e-12)
    for free in ({"n_public": 500}, {"adjacency": "replace"}):
        assert [event.label for event in run(points, delta=None, **free).events] == [
            f"iteration {i}" for i in range(1, 6)
        ]


def scikit_em(points, start, n_iterations):
    """Return scikit-learn's mixture after so many steps of EM from the same start."""
    precisions = np.linalg.inv(start.covariances)
    model = GaussianMixture(
        len(start.weights),
        tol=0.0,
        reg_covar=0.0,
        max_iter=n_iterations,
        weights_init=start.weights,
        means_init=start.means,
        precisions_init=precisions,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(points)


def start_of(k, d):
    return round_mixture(2.0 * public_start(k, d, seed=0, rng=generator()) - 1.0, dp_em.VARIANCE_FLOOR)


def is_em(mixture, model):
    """Check that weights, means and covariances equal those in scikit-learn's model."""
    return (
        np.allclose(mixture.weights, model.weights_, rtol=1e-9, atol=1e-12)
        and np.allclose(mixture.means, model.means_, rtol=1e-9, atol=1e-12)
        and np.allclose(mixture.covariances, model.covariances_, rtol=1e-9, atol=1e-12)
    )


def without_the_mean(moments, before, start, sigmas):
    """Take second moments for covariances."""
    raw = moments.copy()
    raw[:, 1 : 1 + before.d] = 0.0
    return Mixture(*_step(moments, before, start, sigmas)[:2], _step(raw, before, start, sigmas)[2])


def weights_of_all(moments, before, start, sigmas):
    """Divide by the mean count in place of each component's own."""
    even = moments.copy()
    even[:, 0] = moments[:, 0].mean()
    return Mixture(*_step(even, before, start, sigmas))


def levelled(moments, before, start, sigmas):
    """Keep the start's weights."""
    return Mixture(start.weights, *_step(moments, before, start, sigmas)[1:])


def _step(moments, before, start, sigmas):
    made = m_step(moments, before, start, sigmas)
    return made.weights, made.means, made.covariances


@pytest.mark.parametrize("d", [1, 2, 4])
@pytest.mark.parametrize("n_iterations", [1, 2, 12])
@pytest.mark.parametrize("wrong", [None, without_the_mean, weights_of_all, levelled])
def test_without_noise_it_is_em(d, n_iterations, wrong, monkeypatch):
    points = blobs(1500, max(d, 2))[0][:, :d]
    model = scikit_em(2.0 * points - 1.0, start_of(3, d), n_iterations)
    if wrong is not None:
        monkeypatch.setattr(dp_em, "m_step", wrong)
    result = run(points, epsilon=math.inf, n_iterations=n_iterations)
    assert is_em(result.release.mixture, model) is (wrong is None)
    if wrong is None:
        assert np.allclose(result.release.centers, (model.means_ + 1.0) / 2.0, rtol=1e-9)
        assert result.release.noisy_counts == pytest.approx(1500.0 * model.weights_, rel=1e-9)


def test_much_budget_finds_the_groups_and_their_shapes():
    points, middles = blobs(20_000)
    release = run(points, epsilon=20.0, n_iterations=25).release
    order = np.argsort(release.centers[:, 0])
    assert np.abs(release.centers[order] - middles).max() < 0.02
    assert np.abs(release.mixture.weights[order] - (0.5, 0.3, 0.2)).max() < 0.03
    # Standard deviations in the unit box.
    spread = np.sqrt(np.diagonal(release.mixture.covariances[order], axis1=1, axis2=2)) / 2.0
    assert np.abs(spread - (0.03, 0.08)).max() < 0.02
    assert release.noisy_counts.sum() == pytest.approx(20_000, rel=0.05)


def test_components_that_drown_stay_at_the_public_start():
    points = generator().random((20, 2))
    result = run(points, epsilon=1e-3, n_clusters=4)
    start, last = start_of(4, 2), result.trace[-1]
    drowned = np.ones(4, dtype=bool)
    for step, event in zip(result.trace, result.events, strict=True):
        drowned &= step.counts <= dp_em.FIRM_SCALES * event.events[0].sigma
    assert drowned.any()
    assert np.array_equal(last.mixture.means[drowned], start.means[drowned])
    assert np.array_equal(last.mixture.covariances[drowned], start.covariances[drowned])


@given(st.integers(1, 4), st.integers(0, 10**6), st.floats(0.01, 100.0))
def test_covariances_go_from_em_to_the_start_by_the_share_of_noise(d, seed, level):
    rng, start = np.random.default_rng(seed), start_of(3, d)
    counts, means = rng.integers(100, 1000, 3).astype(float), rng.uniform(-0.5, 0.5, (3, d))
    shapes = np.stack([part @ part.T / 20.0 + 0.02 * np.eye(d) for part in rng.normal(0.0, 0.3, (3, d, d))])
    squares = counts[:, None, None] * (shapes + means[:, :, None] * means[:, None, :])
    first, second = upper(d)
    moments = np.concatenate([counts[:, None], counts[:, None] * means, squares[:, first, second]], axis=1)
    distance = dp_em.PRIOR_SHARE * start.covariances[0, 0, 0]

    def covariances(sigma):
        return m_step(moments, start, start, (0.0, 0.0, sigma)).covariances

    assert covariances(0.0) == pytest.approx(shapes, rel=1e-9, abs=1e-12)
    assert covariances(1e12) == pytest.approx(start.covariances, rel=1e-9, abs=1e-12)
    # The noise matrix of component 0 has `level` times the assumed squared distance.
    pulled = covariances(counts[0] * distance * math.sqrt(level / d))[0]
    assert pulled == pytest.approx((shapes[0] + level * start.covariances[0]) / (1.0 + level), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("epsilon", [1e-9, 1.0, math.inf])
@pytest.mark.parametrize("n", [0, 1, 40])
def test_every_mixture_is_one(n, epsilon):
    points = np.repeat(generator().random((1, 3)), n, axis=0)  # no variance at all
    for seed in range(5):
        release = run(points, seed, epsilon=epsilon, n_clusters=6).release
        assert release.mixture.weights.sum() == pytest.approx(1.0, rel=1e-12)
        assert np.linalg.eigvalsh(release.mixture.covariances).min() >= dp_em.VARIANCE_FLOOR * (1.0 - 1e-9)
        assert (np.abs(release.mixture.means) <= 1.0).all()


def test_the_trace_ends_at_the_release():
    result = run(blobs(300)[0], 4)
    assert np.array_equal(result.trace[-1].centers, result.release.centers)
    first = result.trace[0]
    exact = first.nonprivate_moments
    assert first.nonprivate_centers == pytest.approx((exact[:, 1:3] / exact[:, :1] + 1.0) / 2.0, rel=1e-12)
