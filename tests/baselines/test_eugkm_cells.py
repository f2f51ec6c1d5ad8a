"""Which cells of EUGkM's grid weigh, and what is left of the method when the grid is one cell."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.cluster import KMeans

from dpviz.baselines.eugkm import LARGEST_CAVEAT, ONE_CELL_CAVEAT, POSITIVE_CAVEAT, Params, fit
from dpviz.core import Box, KnobError
from dpviz.mechanisms import laplace
from dpviz.solvers import assign
from dpviz.solvers.grids import MARGIN, even_grid, heaviest
from dpviz.solvers.weighted import cell_counts


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def blobs(n: int, d: int, k: int, seed: int) -> np.ndarray:
    rng = generator(seed)
    middles = rng.random((k, d)) * 0.8 + 0.1
    return np.clip(middles[rng.integers(k, size=n)] + 0.05 * rng.standard_normal((n, d)), 0.0, 1.0)


def inertia(points: np.ndarray, centers: np.ndarray) -> float:
    return float(((points - centers[assign(points, centers)]) ** 2).sum())


def slow_heaviest(noisy: list[float], k: int, scale: float) -> list[float]:
    """Take the largest first, one by one, until they are k and hold enough; a tie with the last comes in, too."""
    wanted = max(sum(noisy), 0.0) + MARGIN * scale * math.sqrt(2 * len(noisy))
    held, least = 0.0, max(noisy)
    for taken, value in enumerate(sorted(noisy, reverse=True), start=1):
        least = value
        held += max(value, 0.0)
        if taken >= k and held >= wanted:
            break
    return [max(value, 0.0) if value >= least else 0.0 for value in noisy]


# Whole numbers, so that no rounding decides what is enough.
@given(
    arrays(float, st.integers(1, 30), elements=st.integers(-50, 200).map(float)),
    st.integers(1, 6),
    st.sampled_from([0.0, 1.0, 10.0]),
)
def test_the_largest_cells_hold_the_noisy_number_of_records(noisy: np.ndarray, k: int, scale: float) -> None:
    assert heaviest(noisy, k, scale=scale).tolist() == slow_heaviest(noisy.tolist(), k, scale)


@given(arrays(float, st.integers(1, 30), elements=st.integers(0, 9).map(float)))
def test_without_noise_every_record_keeps_its_cell(exact: np.ndarray) -> None:
    assert np.array_equal(heaviest(exact, 3, scale=0.0), exact)


def test_what_weighs_is_about_the_number_of_records_and_clipping_weighs_far_more() -> None:
    # 10,000 empty cells and 100 full ones. Clipped noise of scale b has mean b/2 a cell: 5,000 records of nothing.
    exact = np.concatenate([np.full(100, 200.0), np.zeros(10_000)])
    for seed in range(20):
        noisy = laplace(exact, scale=1.0, rng=generator(seed))
        # The sum of all has standard error b sqrt(2 m); MARGIN more are wanted, and the last cell may overshoot.
        error = math.sqrt(2 * len(exact))
        assert abs(heaviest(noisy, 5, scale=1.0).sum() - exact.sum()) <= (6 + MARGIN) * error + noisy.max()
        assert np.maximum(noisy, 0.0).sum() - exact.sum() > 6 * error + 4000


@pytest.mark.parametrize(("n", "epsilon", "d"), [(1000, 3.0, 3), (10_000, 1.0, 3), (10_000, 1.0, 2), (100_000, 1.0, 2)])
def test_the_largest_cells_do_better_than_all_positive_ones(n: int, epsilon: float, d: int) -> None:
    # Paired on data and noise, so the standard error is that of the differences; six of them.
    gains = []
    for seed in range(12):
        points = blobs(n, d, 5, seed)
        costs = [
            inertia(points, fit(points, Box.cube(0, 1, d), params, rng=generator(seed)).release.centers)
            for params in (Params(epsilon=epsilon, cells=cells) for cells in ("published", "largest"))
        ]
        gains.append(math.log(costs[0] / costs[1]))
    assert np.mean(gains) > 0
    assert np.mean(gains) > -6 * np.std(gains) / math.sqrt(len(gains))
    assert min(gains) > -0.35


@pytest.mark.parametrize(("n", "epsilon", "d"), [(150, 0.1, 1), (150, 0.3, 2), (1000, 0.1, 3), (150, 0.1, 3)])
def test_few_records_a_cell_lose_nothing_against_all_positive_cells(n: int, epsilon: float, d: int) -> None:
    gains = []
    for seed in range(30):
        points = blobs(n, d, 5, seed)
        costs = [
            inertia(points, fit(points, Box.cube(0, 1, d), params, rng=generator(seed)).release.centers)
            for params in (Params(epsilon=epsilon, cells=cells) for cells in ("published", "largest"))
        ]
        gains.append(math.log(costs[0] / costs[1]))
    assert np.mean(gains) > -6 * np.std(gains) / math.sqrt(len(gains)) - 0.01


def test_single_runs_stay_near_kmeans() -> None:
    ratios = []
    for seed in range(6):
        points = blobs(100_000, 2, 8, seed)
        best = KMeans(8, n_init=2, random_state=0).fit(points).inertia_
        release = fit(points, Box.cube(0, 1, 2), Params(n_clusters=8), rng=generator(seed)).release
        ratios.append(inertia(points, release.centers) / best)
    assert np.median(ratios) <= 1.03
    assert max(ratios) <= 1.4


@pytest.mark.parametrize("d", [17, 20, 100, 1000])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, math.inf])
def test_in_many_columns_the_release_is_a_total_and_the_centers_are_public(d: int, epsilon: float) -> None:
    box, params = Box.cube(-1, 1, d), Params(n_clusters=3, epsilon=epsilon, start_seed=4, grid="even")
    results = [fit(p, box, params, rng=generator(1)) for p in (np.zeros((0, d)), generator(d).random((400, d)))]
    for result in results:
        assert result.release.grid.places().shape == (1, d)
        assert result.release.noisy_cell_counts.shape == (1,)
        assert ONE_CELL_CAVEAT in result.guarantee.caveats
        assert np.array_equal(result.release.centers, results[0].release.centers)  # no record moves them
        assert result.release.noisy_counts.sum() == pytest.approx(result.release.noisy_cell_counts[0])
    noise = results[1].release.noisy_cell_counts[0] - 400
    assert bool(noise == 0) is math.isinf(epsilon)
    single = fit(np.ones((9, d)), box, Params(n_clusters=1, epsilon=epsilon, grid="even"), rng=generator()).release
    assert single.centers == pytest.approx(np.zeros((1, d)))  # weighted k-means of one place


@pytest.mark.parametrize(("d", "side"), [(1, 50), (3, 7), (5, 4), (9, 2)])
def test_without_noise_any_fixed_grid_is_weighted_kmeans_on_exact_counts(d: int, side: int) -> None:
    points = blobs(4000, d, 3, seed=d)
    params = Params(n_clusters=3, epsilon=math.inf, cells_per_axis=side)
    release = fit(points, Box.cube(0, 1, d), params, rng=generator(1)).release
    counts = cell_counts(points, side)
    assert np.array_equal(release.noisy_cell_counts, counts)
    places = even_grid((side,) * d).places()
    peer = KMeans(3, n_init=10, random_state=0, tol=0).fit(places[counts > 0], sample_weight=counts[counts > 0])
    gaps = ((places[:, None] - release.centers[None]) ** 2).sum(axis=2).min(axis=1)
    # It stops at a relative gain of 1e-4 an iteration, and gains shrink from one to the next.
    assert float(gaps @ counts) == pytest.approx(peer.inertia_, rel=2e-3)


def test_the_caveats_say_which_cells_weigh() -> None:
    points, box = generator().random((500, 2)), Box.cube(0, 1, 2)
    for cells, said in (("largest", LARGEST_CAVEAT), ("published", POSITIVE_CAVEAT)):
        caveats = fit(points, box, Params(cells=cells), rng=generator()).guarantee.caveats
        assert [c for c in caveats if c in (LARGEST_CAVEAT, POSITIVE_CAVEAT, ONE_CELL_CAVEAT)] == [said]
    with pytest.raises(KnobError, match="cells"):
        Params(cells="some")
