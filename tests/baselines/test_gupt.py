"""GUPT: one block a record, one mean, one noise."""

import math

import numpy as np
import pytest

from dpviz.baselines.gupt import Params, draw_blocks, fit, in_order, mean_event, n_blocks_for, steps
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
