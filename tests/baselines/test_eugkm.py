"""EUGkM: one grid, one noise, k-means on the cells, and which cells weigh."""

import dataclasses
import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.cluster import KMeans

from dpviz.accounting import LaplaceEvent
from dpviz.baselines._base import SIZE_SHARE
from dpviz.baselines.eugkm import (
    CAPPED_CAVEAT,
    LARGEST_CAVEAT,
    ONE_CELL_CAVEAT,
    POSITIVE_CAVEAT,
    Params,
    fit,
    steps,
)
from dpviz.core import Adjacency, Box, KnobError
from dpviz.solvers import weighted
from dpviz.solvers.grids import (
    MARGIN,
    MARGINAL_SHARE,
    MAX_CELLS,
    OUTER_SHARE,
    CellGrid,
    even_grid,
    grid_of,
    heaviest,
    marginal_counts,
    rule_cells_per_axis,
)
from dpviz.solvers.weighted import cell_counts, spread_start, weighted_kmeans

ADJACENCIES = {"add_remove": Adjacency.ADD_REMOVE, "replace": Adjacency.REPLACE}


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def blobs(n: int, d: int, k: int, *, spread: float = 0.04, seed: int = 0) -> np.ndarray:
    rng = generator(seed)
    middles = rng.random((k, d)) * 0.8 + 0.1
    return np.clip(middles[rng.integers(k, size=n)] + spread * rng.standard_normal((n, d)), 0.0, 1.0)


def cost(points: np.ndarray, centers: np.ndarray, weights: np.ndarray | None = None) -> float:
    squares = ((points[:, None, :] - centers[None]) ** 2).sum(axis=2).min(axis=1)
    return float(squares.sum() if weights is None else squares @ weights)


@pytest.mark.parametrize("grid", ["nested", "fitted", "even"])
def test_its_account_is_the_same_whatever_the_number_of_records(grid: str) -> None:
    told = set()
    for n in (5, 300, 5000):
        guarantee = fit(blobs(n, 2, 3), Box.cube(0, 1, 2), Params(grid=grid), rng=generator()).guarantee
        assert guarantee.proved is not None
        told.add((guarantee.proved.reference, guarantee.differs))
    ((_, differs),) = told
    assert (f"{100 * MARGINAL_SHARE:g} % of ε pays for noisy marginals" in differs) is (grid != "even")
    assert (f"{100 * OUTER_SHARE:g} % of the rest" in differs) is (grid == "nested")


def test_the_size_rule_is_the_papers() -> None:
    assert rule_cells_per_axis(1.0, 100_000, 2) ** 2 == pytest.approx(10_000)
    for d in (1, 3):
        assert rule_cells_per_axis(0.5, 4000, d) ** d == pytest.approx((4000 * 0.5 / 10) ** (2 * d / (2 + d)))
    release = fit(blobs(1000, 2, 3), Box.cube(0, 1, 2), Params(n_public=100_000, grid="even"), rng=generator()).release
    assert isinstance(release.grid, CellGrid)
    assert release.grid.shape == (100, 100)
    assert release.noisy_cell_counts.shape == (10_000,)


def test_the_noisy_size_has_its_share_of_noise() -> None:
    events = fit(blobs(500, 2, 3), Box.cube(0, 1, 2), Params(epsilon=2.0), rng=generator()).events
    left = (1 - SIZE_SHARE) * 2.0
    wanted = [1 / (SIZE_SHARE * 2.0), 2 / (MARGINAL_SHARE * left), 1 / ((1 - MARGINAL_SHARE) * left)]
    assert [event.scale for event in events if isinstance(event, LaplaceEvent)] == pytest.approx(wanted)
    even = fit(blobs(500, 2, 3), Box.cube(0, 1, 2), Params(epsilon=2.0, grid="even"), rng=generator()).events
    assert [event.scale for event in even if isinstance(event, LaplaceEvent)] == pytest.approx([wanted[0], 1 / left])


@pytest.mark.parametrize("d", [1, 2, 3, 6, 16, 17, 100])
def test_the_rule_stops_at_the_cap_and_says_so(d: int) -> None:
    params = Params(n_clusters=2, epsilon=math.inf, grid="even")
    result = fit(blobs(200, d, 2), Box.cube(0, 1, d), params, rng=generator())
    n_cells = len(result.release.noisy_cell_counts)
    assert n_cells <= MAX_CELLS < (round(n_cells ** (1 / d)) + 1) ** d
    assert n_cells * d <= 4e6  # floats of the cells' middles
    assert CAPPED_CAVEAT in result.guarantee.caveats
    for grid in ("fitted", "nested"):
        made = fit(blobs(200, d, 2), Box.cube(0, 1, d), dataclasses.replace(params, grid=grid), rng=generator())
        assert 2 <= len(made.release.noisy_cell_counts) <= MAX_CELLS
        assert CAPPED_CAVEAT in made.guarantee.caveats
    given = Params(n_clusters=2, cells_per_axis=2 if d <= 16 else 1)
    small = fit(blobs(200, d, 2), Box.cube(0, 1, d), given, rng=generator())
    assert CAPPED_CAVEAT not in small.guarantee.caveats


GRIDS = [*((2, 20, 4, seed) for seed in range(4)), (1, 50, 3, 1), (3, 7, 3, 3), (5, 4, 3, 5), (9, 2, 3, 9)]


@pytest.mark.parametrize(("d", "side", "k", "seed"), GRIDS)
def test_without_noise_it_is_weighted_kmeans_on_exact_counts(d: int, side: int, k: int, seed: int) -> None:
    points, box = blobs(5000, d, k, seed=seed), Box.cube(0, 1, d)
    params = Params(n_clusters=k, epsilon=math.inf, cells_per_axis=side)
    result = fit(points, box, params, rng=generator(seed))
    counts, places = cell_counts(points, side), even_grid((side,) * d).places()
    assert np.array_equal(result.release.noisy_cell_counts, counts)
    peer = KMeans(k, n_init=10, random_state=0, tol=0).fit(places[counts > 0], sample_weight=counts[counts > 0])
    # It stops at a relative gain of 1e-4 an iteration, and gains shrink from one to the next.
    assert cost(places, result.release.centers, counts) == pytest.approx(peer.inertia_, rel=2e-3)
    published = fit(points, box, dataclasses.replace(params, cells="published"), rng=generator(seed))
    assert np.array_equal(published.release.centers, result.release.centers)  # nothing but noise tells them apart
    assert result.release.noisy_counts.sum() == pytest.approx(5000)
    assert result.trace[-1].noisy_cost == pytest.approx(cost(places, result.release.centers, counts))


def test_weighted_kmeans_from_one_start_is_scikit_learns_from_the_same() -> None:
    places, weights = generator(5).random((300, 2)), generator(6).random(300)
    start = places[:3]
    ours = weighted_kmeans(places, weights, (start,), tolerance=0.0)
    peer = KMeans(3, init=start, n_init=1, tol=0, max_iter=len(ours.costs) - 1).fit(places, sample_weight=weights)
    assert np.allclose(ours.centers[-1], peer.cluster_centers_)
    assert (np.diff(ours.costs) <= 1e-9).all()
    assert ours.costs[-1] == pytest.approx(peer.inertia_)


def test_a_start_is_spread_over_places_that_weigh() -> None:
    places, weights = np.array([[0.0], [0.5], [1.0], [0.9]]), np.array([1.0, 1.0, 1.0, 0.0])
    for seed in range(20):
        spare = np.linspace(0.05, 0.3, 6)[:, None]
        assert sorted(spread_start(places, weights, spare[:3], rng=generator(seed)).ravel()) == [0.0, 0.5, 1.0]
        full = spread_start(places, weights, spare, rng=generator(seed))  # the rest are spare ones, not copies
        assert sorted(full[:3].ravel()) == [0.0, 0.5, 1.0]
        assert np.array_equal(full[3:], spare[3:])


def exchanged(places, weights, start, n_tries, *, rng):
    return weighted._Blocks.from_places(places, weights).of_neighbors().exchanged(start, n_tries, rng=rng)


def exchanged_place_by_place(places, weights, start, draws, total):
    """Do as `exchanged`, all centers of all places at once; `total` determines the order of addition."""
    centers, rows = start.copy(), np.arange(len(places))
    first, second, owner, heir = np.empty(len(places)), np.empty(len(places)), rows * 0, rows * 0
    stale = rows >= 0
    for draw in draws:
        squares = sum((places[stale, None, f] - centers[:, f]) ** 2 for f in range(places.shape[1]))
        order = np.argsort(squares, axis=1, kind="stable")[:, :2]
        owner[stale], heir[stale] = order.T
        first[stale], second[stale] = np.take_along_axis(squares, order, axis=1).T
        mass = np.cumsum(weights * first)
        pick = min(int(np.searchsorted(mass, draw * mass[-1], side="right")), len(places) - 1)
        offer = sum((column - column[pick]) ** 2 for column in places.T)
        least = np.minimum(first, offer)
        losses = weights * (np.minimum(second, offer) - least)
        loss = [total(losses[owner == c]) for c in range(len(centers))]
        missed, stale = int(np.argmin(loss)), rows < 0
        if total(weights * (first - least)) > loss[missed]:
            centers[missed], stale = places[pick], (owner == missed) | (heir == missed)
            nearer, next_nearest = offer < first, (offer >= first) & (offer < second)
            second[nearer], heir[nearer] = first[nearer], owner[nearer]
            first[nearer], owner[nearer] = offer[nearer], missed
            second[next_nearest], heir[next_nearest] = offer[next_nearest], missed
    return centers


def test_exchanges_are_decided_as_by_sums_in_the_order_of_places() -> None:
    """To the bit, also where two centers' losses are the same terms in another order: places and weights mirrored."""

    def in_order(terms):
        return np.add.accumulate(np.append(0.0, terms))[-1]

    def backward(terms):
        return in_order(terms[::-1])

    others = 0
    for seed in range(120):
        rng = generator(seed)
        half, k, d = int(rng.integers(3, 90)), int(rng.integers(2, 5)), int(rng.integers(1, 4))
        lattice, weights = rng.integers(0, 9, (half, d)) / 16.0, rng.random(half) + 0.1
        places, weights = np.vstack([lattice, 1.0 - lattice[::-1]]), np.concatenate([weights, weights[::-1]])
        corners = rng.integers(0, 9, (k, d)) / 16.0
        start, draws = np.vstack([corners, 1.0 - corners]), generator(seed).random(6 * k)
        wanted = exchanged_place_by_place(places, weights, start, draws, in_order)
        assert np.array_equal(exchanged(places, weights, start, 6 * k, rng=generator(seed)), wanted), seed
        others += not np.array_equal(exchanged_place_by_place(places, weights, start, draws, backward), wanted)
    assert others > 0, "the wrong order is another result somewhere"


def spread_place_by_place(places, weights, spare, rng):
    """Do as `spread_start`, every distance computed and every sum in the order of places."""
    chosen, nearest = spare.copy(), np.ones(len(places))
    for i in range(len(spare)):
        mass = np.cumsum(weights * nearest)
        chosen[i] = places[np.searchsorted(mass, rng.random() * mass[-1], side="right")]
        squares = sum((column - at) ** 2 for column, at in zip(places.T, chosen[i], strict=True))
        nearest = squares if i == 0 else np.minimum(nearest, squares)
    return chosen


@pytest.mark.parametrize("d", [1, 2, 5])
def test_blocks_that_are_left_out_change_no_start(d: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Places of one cell lie side by side, so that whole blocks are too far; with distances doubled, some are wrong."""

    def starts():
        rng = generator(d)
        places = np.repeat(rng.random((30, d)), 50, axis=0) + 0.05 * rng.random((1500, d))
        weights, spare, draws = rng.random(1500), rng.random((20, d)), generator(d).random(200)
        spread = spread_start(places, weights, spare, rng=generator(d))
        assert np.array_equal(spread, spread_place_by_place(places, weights, spare, generator(d)))
        wanted = exchanged_place_by_place(places, weights, spread, draws, lambda terms: np.add.reduce(terms))
        assert np.array_equal(exchanged(places, weights, spread, 200, rng=generator(d)), wanted)

    starts()
    for name in (
        "_add_drawn",
        "_exchange",
        "_weigh",
        "_replace",
        "_measure",
        # In plain Python, so that the functions call each other.
    ):
        monkeypatch.setattr(weighted, name, getattr(weighted, name).py_func)
    right = weighted._measure

    def too_far(low, high, center, apart):
        right(low, high, center, apart)
        apart *= 4.0

    monkeypatch.setattr(weighted, "_measure", too_far)
    with pytest.raises(AssertionError):
        starts()


def test_many_round_clusters_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """50 clusters of 150: on the exact counts of a grid as good as scikit-learn's best of ten; Lloyd alone is not."""
    rng = generator()
    points = np.clip(np.repeat(0.05 + 0.9 * rng.random((50, 2)), 150, 0) + 0.012 * rng.standard_normal((7500, 2)), 0, 1)
    counts, places = cell_counts(points, 27), even_grid((27, 27)).places()
    best = KMeans(50, n_init=10, random_state=0).fit(places, sample_weight=counts).inertia_
    params = Params(n_clusters=50, epsilon=math.inf, cells_per_axis=27)

    def found() -> float:
        return cost(places, fit(points, Box.cube(0, 1, 2), params, rng=generator()).release.centers, counts)

    assert found() <= 1.01 * best
    monkeypatch.setattr(weighted, "EXCHANGES", 0)
    assert found() > 1.04 * best


@pytest.mark.parametrize(
    ("n", "k", "spread", "middle", "most"), [(10_000, 5, 0.06, 1.2, 1.7), (100_000, 8, 0.05, 1.03, 1.4)]
)
def test_at_epsilon_one_it_is_near_kmeans(n: int, k: int, spread: float, middle: float, most: float) -> None:
    ratios = []
    for seed in range(6):
        points = blobs(n, 2, k, spread=spread, seed=seed)
        best = KMeans(k, n_init=4, random_state=0).fit(points).inertia_
        release = fit(points, Box.cube(0, 1, 2), Params(n_clusters=k), rng=generator(seed)).release
        ratios.append(cost(points, release.centers) / best)
    # scikit-learn's tolerance; among eight clusters its own best of four may miss the best.
    assert min(ratios) >= 1 - 1e-3 or k == 8
    assert np.median(ratios) <= middle
    assert max(ratios) <= most


def test_the_counts_of_clusters_do_not_lean() -> None:
    # Pooled over runs: k sums together hold all cells, variance 2 b^2 a cell, so 6 standard errors of the mean.
    points, totals, side = blobs(1000, 2, 3), [], 10
    for seed in range(60):
        params = Params(n_clusters=3, cells_per_axis=side)
        totals.append(fit(points, Box.cube(0, 1, 2), params, rng=generator(seed)).release.noisy_counts.sum())
    error = math.sqrt(2 * side**2 / 60)
    assert abs(np.mean(totals) - 1000) <= 6 * error
    # The variant that adds up clipped cells leans by 1/2 b for each empty cell: it would not pass.
    assert 0.5 * side**2 * 0.6 > 6 * error


def test_the_trace_is_one_run_and_pays_once() -> None:
    trace = tuple(steps(blobs(2000, 2, 5), Box.cube(0, 1, 2), Params(), rng=generator()))
    assert len(trace) > 1
    assert [step.iteration for step in trace] == list(range(1, len(trace) + 1))
    assert all(not step.events for step in trace[1:])
    for before, after in itertools.pairwise(trace):
        assert np.array_equal(before.released_centers, after.previous_centers)
        assert after.noisy_cost <= before.noisy_cost * (1 + 1e-12)


@pytest.mark.parametrize(
    ("d", "params", "words"),
    [
        (2, Params(cells_per_axis=257), "must be at most 256"),
        (16, Params(cells_per_axis=3), "must be at most 2"),
        (17, Params(cells_per_axis=2), "must be at most 1"),
    ],
)
def test_what_is_too_large_is_refused(d: int, params: Params, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        fit(np.zeros((3, d)), Box.cube(0, 1, d), params, rng=generator())


@pytest.mark.parametrize("d", [1, 2, 3])
def test_a_fitted_grid_counts_as_numpy_does_and_cuts_where_records_are(d: int) -> None:
    points = generator(d).beta(0.3, 4.0, (2000, d))  # crowded at 0
    grid = grid_of(marginal_counts(points, 32), 300.0, np.ones(d), scale=0.0)
    expected, _ = np.histogramdd(points, bins=grid.edges)
    assert np.array_equal(grid.counts(points), expected.ravel())
    assert math.prod(grid.shape) <= 300
    even = even_grid((int(300 ** (1 / d)),) * d)

    def within(one: Any) -> float:
        labels = np.zeros(len(points), dtype=int)
        for column, edges in zip(points.T, one.edges, strict=True):
            labels = labels * (len(edges) - 1) + np.searchsorted(edges[1:-1], column, side="right")
        return float(((points - one.places()[labels]) ** 2).sum())

    assert within(grid) < 0.5 * within(even)
    for edges in grid.edges:
        assert (np.diff(edges) > 0).all()
        assert edges[0] == 0.0
        assert edges[-1] == 1.0


def test_columns_that_say_nothing_get_no_cut_and_wide_ones_more() -> None:
    marginals = np.array([np.eye(32)[5] * 1000, np.full(32, 1000 / 32), np.full(32, 1000 / 32)])
    nothing, wide, narrow = grid_of(marginals, 64.0, np.array([1.0, 1.0, 0.25]), scale=0.0).shape
    assert nothing == 1
    assert wide > narrow > 1


def test_many_skewed_columns_are_no_disaster() -> None:
    """Twelve columns crowded at 0, two of which tell four clusters apart: an even grid has two cells an axis."""
    ratios: dict[str, list[float]] = {"fitted": [], "even": []}
    for seed in range(5):
        rng = generator(seed)
        points = 0.01 * rng.exponential(1.0, (20_000, 12))
        middles = np.array([[0.05, 0.1], [0.1, 0.4], [0.4, 0.05], [0.45, 0.45]])
        points[:, :2] = middles[rng.integers(4, size=20_000)] + 0.02 * rng.standard_normal((20_000, 2))
        best = KMeans(4, n_init=3, random_state=0).fit(points).inertia_
        for grid, found in ratios.items():
            params = Params(n_clusters=4, grid=grid)
            found.append(
                cost(points, fit(points, Box.cube(0, 1, 12), params, rng=generator(seed)).release.centers) / best
            )
    assert np.median(ratios["fitted"]) <= 6.0
    assert np.median(ratios["even"]) > 50.0


def slow_heaviest(noisy: list[float], k: int, scale: float) -> list[float]:
    """Take the largest first, one by one, until there are k with enough records; ties with the last are included."""
    wanted = max(sum(noisy), 0.0) + MARGIN * scale * math.sqrt(2 * len(noisy))
    held, least = 0.0, max(noisy)
    for taken, value in enumerate(sorted(noisy, reverse=True), start=1):
        least = value
        held += max(value, 0.0)
        if taken >= k and held >= wanted:
            break
    return [max(value, 0.0) if value >= least else 0.0 for value in noisy]


# Whole numbers, so that rounding decides nothing.
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


def test_the_caveats_say_which_cells_weigh() -> None:
    points, box = generator().random((500, 2)), Box.cube(0, 1, 2)
    for cells, said in (("largest", LARGEST_CAVEAT), ("published", POSITIVE_CAVEAT)):
        caveats = fit(points, box, Params(cells=cells), rng=generator()).guarantee.caveats
        assert [c for c in caveats if c in (LARGEST_CAVEAT, POSITIVE_CAVEAT, ONE_CELL_CAVEAT)] == [said]
    with pytest.raises(KnobError, match="cells"):
        Params(cells="some")


def gains_of_the_largest(n: int, epsilon: float, d: int, n_seeds: int) -> np.ndarray:
    """Return the logarithms of the cost of all positive cells over that of the largest, paired on data and noise."""
    gains = []
    for seed in range(n_seeds):
        points = blobs(n, d, 5, spread=0.05, seed=seed)
        published, largest = (
            cost(points, fit(points, Box.cube(0, 1, d), params, rng=generator(seed)).release.centers)
            for params in (Params(epsilon=epsilon, cells=cells) for cells in ("published", "largest"))
        )
        gains.append(math.log(published / largest))
    return np.array(gains)


@pytest.mark.parametrize(("n", "epsilon", "d"), [(1000, 3.0, 3), (10_000, 1.0, 3), (10_000, 1.0, 2), (100_000, 1.0, 2)])
def test_the_largest_cells_do_better_than_all_positive_ones(n: int, epsilon: float, d: int) -> None:
    gains = gains_of_the_largest(n, epsilon, d, 12)
    assert gains.mean() > 0
    assert gains.min() > -0.35


@pytest.mark.parametrize(("n", "epsilon", "d"), [(150, 0.1, 1), (150, 0.3, 2), (1000, 0.1, 3), (150, 0.1, 3)])
def test_few_records_a_cell_lose_nothing_against_all_positive_cells(n: int, epsilon: float, d: int) -> None:
    gains = gains_of_the_largest(n, epsilon, d, 30)
    assert gains.mean() > -6 * gains.std() / math.sqrt(len(gains)) - 0.01
