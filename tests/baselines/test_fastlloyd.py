"""FastLloyd: its budget and noise by the authors' formulas, its radius and its moves, and Lloyd's without noise."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from dpviz.accounting import epsilon_share, gaussian_sigma, spent_epsilon
from dpviz.baselines import fastlloyd
from dpviz.core import Adjacency, Box, Budget
from dpviz.core.knobs import KnobError

ADJACENCIES = {"add_remove": Adjacency.ADD_REMOVE, "replace": Adjacency.REPLACE}
P_VALUE = 1e-6
ROOTS = 1e-9  # relative: mu is a root, found to 1e-14, and epsilon is found from it by another one


def data(d, n=60, seed=0):
    """Return records in a box that is not the unit box, some of them outside."""
    rng = np.random.default_rng(seed)
    return 4.2 * rng.random((n, d)) - 1.1, Box(np.full(d, -1.0), np.linspace(3.0, 4.0, d))


def run(points, box, *, seed=0, **options):
    return fastlloyd.fit(points, box, fastlloyd.Params(**options), rng=np.random.default_rng(seed))


def leaves_of(event):
    """Return (count, sums), of one cluster or, under REPLACE, of all."""
    return getattr(event, "events", None) or event.parts[0].events


@pytest.mark.parametrize("start", ["packing", "private"])
@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("d", [1, 2, 5, 20, 100])
def test_the_events_spend_epsilon_at_delta(d, adjacency, start):
    points, box = data(d)
    for k, epsilon, n_iterations, delta in itertools.product((1, 4), (1e-3, 1.0, 20.0), (None, 1, 7), (None, 1e-7)):
        options = {"n_clusters": k, "epsilon": epsilon, "n_iterations": n_iterations, "delta": delta}
        result = run(points, box, start_seed=0, start=start, adjacency=adjacency, **options)
        proved = result.guarantee.proved
        assert (proved.epsilon, proved.adjacency) == (epsilon, ADJACENCIES[adjacency])
        assert spent_epsilon(result.events, proved.adjacency, proved.calibrated_delta) == pytest.approx(
            epsilon, rel=ROOTS
        )
        shares = [epsilon_share((e,), result.events, proved.adjacency, proved.calibrated_delta) for e in result.events]
        assert math.fsum(shares) == pytest.approx(epsilon, rel=ROOTS)


@pytest.mark.parametrize("d", [1, 2, 7])
def test_the_noise_is_that_of_the_authors(d):
    points, box = data(d)
    k, n_iterations, alpha = 3, 5, 0.6
    options = {"n_clusters": k, "n_iterations": n_iterations, "alpha": alpha, "delta": 1e-5, "epsilon": 0.8}
    events = run(points, box, **options).events
    sigma_1 = gaussian_sigma(1.0, Budget(0.8, 1e-5))  # their analytic Gaussian mechanism of sensitivity 1
    # Diagonal of the unit box.
    diagonal = math.sqrt(d)
    for t, event in enumerate(events):
        count, total = leaves_of(event)
        eta = diagonal / 2 if t == 0 else diagonal * alpha / (2 * k ** (1 / d))
        scale = math.sqrt(n_iterations) * math.sqrt(1 + math.sqrt(4 * d)) * sigma_1
        assert (count.l2_sensitivity, total.l2_sensitivity) == (1.0, pytest.approx(eta))
        assert count.sigma == pytest.approx(scale, rel=ROOTS)
        assert total.sigma == pytest.approx(scale * eta / (4 * d) ** 0.25, rel=ROOTS)


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("n", [-5.0, 40.0, 3000.0, 10_000.0, 30_000.0, 1e6])
def test_the_number_of_iterations_is_that_of_the_authors(n, d):
    k, alpha, sigma_1 = 4, 0.8, 3.7
    # In their box, which has width 2.
    eta = 2 * math.sqrt(d) * alpha / (2 * k ** (1 / d))
    theirs = 0.004 * 4 * max(n, 0.0) ** 2 / (k**3 * eta**2 * (1 + math.sqrt(4 * d)) ** 2 * sigma_1**2)
    found = fastlloyd.iterations_for(1 / sigma_1, n, k, d, alpha)
    assert found == int(max(min(theirs, 7), 2))


def test_the_rule_takes_a_public_or_noisy_number():
    points, box = data(2, n=3000)
    size, *iterations = run(points, box).events
    assert size.epsilon == pytest.approx(0.02)
    assert 2 <= len(iterations) <= 7
    for options in ({"n_public": 3000}, {"adjacency": "replace"}):
        result = run(points, box, **options)
        assert len(result.trace) == len(result.events), "nothing is paid for it"
    mu = 1 / gaussian_sigma(1.0, Budget(1.0, 1e-5))
    known = run(points, box, n_public=900, delta=1e-5)
    assert len(known.trace) == fastlloyd.iterations_for(mu, 900, 5, 2, 0.8)


def bounded_lloyd(unit, centers, n_iterations, alpha):
    """Return Lloyd's centers if a center uses only the records within its radius."""
    k, d = centers.shape
    for t in range(n_iterations):
        reach = math.sqrt(d) / 2 if t == 0 else alpha * math.sqrt(d) / (2 * k ** (1 / d))
        apart = cdist(unit, centers)
        near = [(apart.argmin(axis=1) == i) & (apart.min(axis=1) <= reach) for i in range(k)]
        centers = np.array([unit[rows].mean(axis=0) if rows.any() else centers[i] for i, rows in enumerate(near)])
    return centers


@pytest.mark.parametrize("alpha", [0.3, 0.8, 2.0])
@pytest.mark.parametrize("d", [1, 2, 5, 20])
def test_without_noise_it_is_lloyd_within_a_radius(d, alpha):
    points, box = data(d, n=500)
    for seed in range(3):
        result = run(points, box, seed=seed, start_seed=seed, n_clusters=6, epsilon=math.inf, alpha=alpha)
        unit = box.to_unit(box.clip(points))
        assert len(result.trace) == 7
        expected = bounded_lloyd(unit, result.release.start, 7, alpha)
        # A count is divided by 1e-9 more than it is.
        np.testing.assert_allclose(result.release.path[-1], expected, atol=1e-7)
        labels = cdist(unit, result.trace[-1].previous_centers).argmin(axis=1)
        brute = [((unit[labels == i] - c) ** 2).sum() for i, c in enumerate(result.trace[-1].released_centers)]
        np.testing.assert_allclose(result.trace[-1].nonprivate_cost_after, brute, atol=1e-6)
    if alpha == 0.3 and d < 20:
        assert not np.allclose(expected, bounded_lloyd(unit, result.release.start, 7, 2.0), atol=1e-3)


@given(
    count=st.floats(-50.0, 50.0),
    radius=st.floats(1e-3, 2.0),
    d=st.integers(1, 4),
    seed=st.integers(0, 10**6),
)
def test_a_move_ends_within_the_radius_and_the_box(count, radius, d, seed):
    rng = np.random.default_rng(seed)
    centers, sums, counts = rng.random((3, d)), 10.0 * rng.standard_normal((3, d)), np.array([count, 0.0, -count])
    found = fastlloyd.bounded_move(counts, sums, centers, radius)
    assert ((found >= 0.0) & (found <= 1.0)).all()
    assert (np.linalg.norm(found - centers, axis=1) <= radius * (1 + 1e-12)).all(), (
        "folding brings nothing farther away"
    )
    move = sums[0] / (count + 1e-9)
    if np.linalg.norm(move) <= radius and ((centers[0] + move >= 0) & (centers[0] + move <= 1)).all():
        np.testing.assert_allclose(found[0], centers[0] + move, atol=1e-12)


def test_walls_fold_and_a_count_below_zero_turns_a_move_around():
    centers = np.array([[0.9], [0.1], [0.5]])
    found = fastlloyd.bounded_move(np.array([1.0, 1.0, -1.0]), np.array([[0.3], [-0.3], [0.2]]), centers, 0.4)
    np.testing.assert_allclose(found, [[0.8], [0.2], [0.3]], atol=1e-8)
    short = fastlloyd.bounded_move(np.array([1.0]), np.array([[0.3]]), centers[2:], 0.1)
    np.testing.assert_allclose(short, [[0.6]], atol=1e-12)


def test_what_is_said_of_a_run():
    points, box = data(2)
    guarantee = run(points, box).guarantee
    assert guarantee.published.reference.startswith(fastlloyd.PAPER)
    assert guarantee.published.delta == guarantee.proved.delta > 0
    for words in ("one curator", "δ is 1/(n √n)", "2 % of ε"):
        assert words in guarantee.differs
    assert run(points, box, start="records").guarantee.proved is None
    for wrong in ({"alpha": 0.0}, {"alpha": 2.1}):
        with pytest.raises(KnobError, match="alpha must be"):
            fastlloyd.Params(**wrong)
