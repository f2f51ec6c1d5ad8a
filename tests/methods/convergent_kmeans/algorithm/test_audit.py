"""An empirical look at repaired mode's guarantee: neighbors with and without one record in a corner.

The rows of a noisy stand are independent, so one call with 20,000 equal clusters is 20,000 runs of k = 1, T = 1.
"""

import itertools
import math

import numpy as np
import pytest

from dpviz.baselines import _lloyd_family
from dpviz.core import Adjacency, Box
from dpviz.methods.convergent_kmeans.algorithm import Params, fit
from dpviz.solvers import ClusterSums, su_split

N_RUNS = 20_000
# At the middle of the box, so that only the corner record moves the sum.
RECORDS = 60


def records(d, with_corner):
    return np.vstack([np.full((RECORDS, d), 0.5), *([np.ones((1, d))] if with_corner else [])])


def released(d, epsilon, with_corner, n_runs, seed):
    """Return the releases of `n_runs` runs: noisy counts (n_runs,) and centered sums read off the means (n_runs, d)."""
    points = records(d, with_corner)
    sums = ClusterSums(np.full(n_runs, float(len(points))), np.tile(points.sum(axis=0), (n_runs, 1)))
    start = np.full((n_runs, d), 0.5)
    rngs, split = np.random.default_rng(seed).spawn(2), su_split(epsilon, d)
    noisy = _lloyd_family.noisy_sums(sums, start, split, Adjacency.ADD_REMOVE, 1, rngs=rngs, seeded=False)
    return noisy.counts, (noisy.centers - 0.5) * np.maximum(noisy.counts, 1.0)[:, None]


def released_by_fit(d, epsilon, with_corner, n_runs, seed):
    params = Params(n_clusters=1, n_iterations=1, epsilon=epsilon)
    points, box = records(d, with_corner), Box.cube(0.0, 1.0, d)
    counts, sums = [], []
    for rng in np.random.default_rng(seed).spawn(n_runs):
        release = fit(points, box, params, rng=rng).release
        counts.append(release.noisy_counts[0])
        sums.append((release.centers[0] - 0.5) * max(release.noisy_counts[0], 1.0))
    return np.array(counts), np.array(sums)


def events(counts, sums, epsilon):
    """Return the mask (m, n) of fixed events that happened: all thresholds on the count and the sums."""
    unit = 1.0 / epsilon
    for sign, shift, offset in itertools.product((1, -1), (0.0, 1.0, -unit, unit), (0.0, 0.5, -unit, unit)):
        of_count = sign * (counts - RECORDS - shift) > 0
        of_sums = (sign * (sums - offset) > 0).all(axis=1)
        yield from (of_count & of_sums, of_count, of_sums)


def worst_excess(d, epsilon, run=released, n_runs=N_RUNS):
    """Return max over events and orders of log(P/P') - epsilon, in standard errors of the log ratio."""
    first, other = (run(d, epsilon, corner, n_runs, seed) for seed, corner in enumerate((False, True)))
    worst = -math.inf
    for a, b in zip(events(*first, epsilon), events(*other, epsilon), strict=True):
        hits = a.sum(), b.sum()
        if min(hits) < 50:  # the error of a logarithm is known for common events only
            continue
        # Var log(hits / n) = (1 - p) / (n p), the delta method.
        error = math.sqrt(sum((1 - h / n_runs) / h for h in hits))
        worst = max(worst, (abs(math.log(hits[0] / hits[1])) - epsilon) / error)
    return worst


def half_the_noise(value, *, scale, rng):
    return value + 0.5 * scale * rng.laplace(size=np.shape(value))


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("d", [1, 2])
def test_neighbors_look_alike(d, epsilon, monkeypatch):
    assert worst_excess(d, epsilon) < 6
    monkeypatch.setattr(_lloyd_family, "laplace", half_the_noise)
    assert worst_excess(d, epsilon) > 6


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 2])
def test_neighbors_look_alike_through_the_front_door(d, monkeypatch):
    assert worst_excess(d, 1.0, released_by_fit, 3000) < 6
    monkeypatch.setattr(_lloyd_family, "laplace", half_the_noise)
    assert worst_excess(d, 1.0, released_by_fit, 3000) > 6
