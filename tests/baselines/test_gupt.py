"""GUPT: one block a record, one mean, one noise."""

import math

import numpy as np
import pytest

from dpviz.baselines.gupt import Params, block_centers, draw_blocks, fit, in_order, mean_event, n_blocks_for, steps
from dpviz.core import Adjacency, Box
from dpviz.solvers import lloyd

ADJACENCIES = {"add_remove": Adjacency.ADD_REMOVE, "replace": Adjacency.REPLACE}


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def only(points: np.ndarray, params: Params, *, seed: int = 0, box: Box | None = None):
    [step] = steps(points, box or Box.cube(0, 1, points.shape[1]), params, rng=generator(seed))
    return step


def test_the_event_states_the_mean_of_the_blocks() -> None:
    event = mean_event(0.5, 40, 10, Adjacency.ADD_REMOVE)
    assert event.scale == pytest.approx(10 / (40 * 0.5))
    assert (event.sensitivity, event.n_coordinates) == (1 / 40, 10)


@pytest.mark.parametrize("n", [0, 1, 2, 100, 10_000, 10**15])
def test_there_are_n_to_the_two_fifths_blocks(n: int) -> None:
    assert n_blocks_for(n) == min(max(round(n**0.4), 1), 10_000)
    assert n_blocks_for(-5.0) == 1


@pytest.mark.parametrize("name", ADJACENCIES)
def test_every_coordinate_bears_laplace_noise_of_k_d_over_l_eps(name: str) -> None:
    # No step releases the mean before it is clipped, so the scale must be small; epsilon is large.
    k, d, n_blocks, epsilon = 30, 20, 10, 1e4
    params = Params(n_clusters=k, epsilon=epsilon, adjacency=name, n_blocks=n_blocks, max_iterations=1)
    noise = []
    for seed in range(8):
        step = only(0.3 + 0.4 * generator(seed).random((100, d)), params, seed=seed)
        noise.append(np.abs(step.released_centers - step.nonprivate_mean).ravel())
    pooled = np.concatenate(noise)
    scale = k * d / (n_blocks * epsilon)  # |Laplace(b)| has mean b and standard deviation b
    assert abs(pooled.mean() - scale) <= 6 * scale / math.sqrt(pooled.size)
    for wrong in (2 * scale, scale / d, scale / k, scale * n_blocks):  # doubled; forgets an axis, a cluster, the mean
        assert abs(pooled.mean() - wrong) > 6 * wrong / math.sqrt(pooled.size)


@pytest.mark.parametrize("name", ADJACENCIES)
def test_without_noise_it_is_the_plain_mean_over_blocks(name: str) -> None:
    points = generator(1).random((500, 2))
    params = Params(n_clusters=4, epsilon=math.inf, adjacency=name, n_blocks=6)
    step = only(points, params)
    answers = []
    for block in range(6):
        found = lloyd(points[step.nonprivate_blocks == block], step.start, max_iterations=100).nonprivate_centers
        answers.append(np.array(sorted(found.tolist())))
    assert np.array_equal(step.nonprivate_block_centers, answers)
    release = fit(points, Box.cube(0, 1, 2), params, rng=generator()).release
    assert np.allclose(release.centers, np.mean(answers, axis=0), rtol=0, atol=1e-12)
    assert release.n_blocks == 6


@pytest.mark.parametrize("seed", range(10))
def test_removing_a_record_changes_one_block_only(seed: int) -> None:
    points = generator(seed).random((300, 2))
    params = Params(n_clusters=3, n_blocks=10, epsilon=math.inf)
    full, less = only(points, params, seed=seed), only(points[:-1], params, seed=seed)
    changed = (full.nonprivate_block_centers != less.nonprivate_block_centers).any(axis=(1, 2))
    assert set(np.flatnonzero(changed)) <= {full.nonprivate_blocks[-1]}
    moved = np.abs(full.nonprivate_mean - less.nonprivate_mean)
    assert moved.max() <= 1 / 10
    assert moved.sum() <= 6 / 10


@pytest.mark.parametrize("seed", range(10))
def test_changing_a_record_changes_one_block_only(seed: int) -> None:
    points = generator(seed).random((300, 2))
    other = points.copy()
    other[seed] = [1.0, 0.0]
    params = Params(n_clusters=3, n_blocks=10, epsilon=math.inf, adjacency="replace")
    before, after = only(points, params, seed=seed), only(other, params, seed=seed)
    assert np.array_equal(before.nonprivate_blocks, after.nonprivate_blocks)
    changed = (before.nonprivate_block_centers != after.nonprivate_block_centers).any(axis=(1, 2))
    assert set(np.flatnonzero(changed)) <= {before.nonprivate_blocks[seed]}


def test_contiguous_slices_would_change_every_block() -> None:
    # The wrong variant, against the same check: a record removed at the front shifts all slices.
    points, start = generator(0).random((300, 2)), in_order(generator(1).random((3, 2)))

    def sliced(records: np.ndarray) -> np.ndarray:
        blocks = np.arange(len(records)) * 10 // len(records)
        return block_centers(records, blocks, 10, start, max_iterations=100)

    assert (sliced(points) != sliced(points[1:])).any(axis=(1, 2)).sum() > 1


def test_blocks_are_drawn_uniformly_and_do_not_see_the_records() -> None:
    n, n_blocks = 40_000, 8
    counts = np.bincount(draw_blocks(n, n_blocks, rng=generator(2)), minlength=n_blocks)
    assert np.abs(counts - n / n_blocks).max() <= 6 * math.sqrt(n / n_blocks * (1 - 1 / n_blocks))
    params = Params(n_blocks=8)
    blocks = [only(points, params).nonprivate_blocks for points in (np.zeros((99, 2)), generator().random((99, 2)))]
    assert np.array_equal(*blocks)


def test_centers_are_ordered_by_the_first_axis_then_the_next() -> None:
    centers = np.array([[0.5, 0.9], [0.1, 0.3], [0.5, 0.2]])
    assert in_order(centers).tolist() == [[0.1, 0.3], [0.5, 0.2], [0.5, 0.9]]


def test_an_empty_block_answers_the_public_start() -> None:
    step = only(generator().random((2, 2)), Params(n_clusters=3, n_blocks=20))
    empty = step.nonprivate_block_sizes == 0
    assert empty.sum() >= 18
    assert (step.nonprivate_block_centers[empty] == step.start).all()
    assert np.array_equal(step.start, in_order(step.start))


def test_duplicates_draw_a_center_onto_them() -> None:
    params = Params(n_clusters=1, epsilon=math.inf)
    release = fit(np.full((300, 2), 7.0), Box.cube(0, 10, 2), params, rng=generator()).release
    assert np.allclose(release.centers, 7.0)
    assert release.noisy_counts is None
