"""The number of records: free where it is public, noisy and paid for where it is not."""

import math

import numpy as np
import pytest

from dpviz.accounting import pure_epsilon
from dpviz.baselines import eugkm, gupt
from dpviz.baselines._size import SIZE_SHARE, known_size
from dpviz.core import Adjacency, Box


def test_a_private_size_bears_laplace_noise_of_its_share() -> None:
    rng, runs, epsilon = np.random.default_rng(0), 4000, 0.5
    sizes = [known_size(1000, epsilon, None, Adjacency.ADD_REMOVE, rng=rng).n_records for _ in range(runs)]
    noise, scale = np.abs(np.array(sizes) - 1000), 1 / (SIZE_SHARE * epsilon)  # mean and standard deviation b
    assert abs(noise.mean() - scale) <= 6 * scale / math.sqrt(runs)
    for wrong in (scale / 2, 1.3 * scale, 1 / epsilon):  # halved; a larger share; all of epsilon
        assert abs(noise.mean() - wrong) > 6 * wrong / math.sqrt(runs)


def test_its_share_and_the_rest_are_epsilon() -> None:
    size = known_size(1000, 0.5, None, Adjacency.ADD_REMOVE, rng=np.random.default_rng(0))
    assert pure_epsilon(size.events, Adjacency.ADD_REMOVE) + size.epsilon == pytest.approx(0.5, rel=1e-12)


@pytest.mark.parametrize("adjacency", Adjacency)
def test_a_public_size_is_free_and_the_records_are_not_counted(adjacency: Adjacency) -> None:
    size = known_size(1000, 0.5, 70, adjacency, rng=np.random.default_rng(0))
    assert (size.n_records, size.epsilon, size.events) == (70.0, 0.5, ())


def test_the_methods_follow_the_noisy_size() -> None:
    points, box = np.random.default_rng(0).random((3000, 2)), Box.cube(0, 1, 2)
    seeds = [np.random.default_rng(seed) for seed in range(8)]
    sizes = {len(eugkm.fit(points, box, eugkm.Params(epsilon=0.3), rng=rng).release.grid.places()) for rng in seeds}
    blocks = {gupt.fit(points, box, gupt.Params(epsilon=0.02), rng=rng).release.n_blocks for rng in seeds}
    assert len(sizes) > 1
    assert len(blocks) > 1
