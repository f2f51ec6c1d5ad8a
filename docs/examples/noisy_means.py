"""k-means with noise on counts and sums in every round. Run it: `dpviz run docs/examples/noisy_means.py`."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dpviz.accounting import LaplaceEvent, Purpose
from dpviz.core import Adjacency, Box, CentersRelease, Claim, Guarantee, MovedCenters, Points, Result, knob
from dpviz.mechanisms import SUMS_CAVEAT, laplace
from dpviz.solvers import assign

TITLE = "Noisy means"


@dataclass(frozen=True)
class Params:
    """Parameters of the method, all public."""

    n_clusters: int = knob(5, "Clusters k", "Number of centers.", low=1, high=12, minimum=1, maximum=100)
    epsilon: float = knob(1.0, "Privacy budget ε", "Total for all rounds.", low=0.05, high=20.0, minimum=1e-9, log=True)
    n_rounds: int = knob(3, "Rounds", "Number of moves of each center.", low=1, high=10, minimum=1, maximum=100)


def events(params: Params, d: int, step: int) -> tuple[LaplaceEvent, ...]:
    """State the noise of a round: half of its share for counts, half for sums of d numbers in [-1, 1]."""
    half = params.epsilon / (2 * params.n_rounds)
    counts = LaplaceEvent("counts", 1.0, 1.0 / half, purpose=Purpose.COUNTS, step=step)
    return counts, LaplaceEvent("sums", 1.0, d / half, n_coordinates=d, purpose=Purpose.SUMS, step=step)


def steps(points: Points, box: Box, params: Params, *, rng: np.random.Generator) -> Iterator[MovedCenters]:
    """Yield the centers of each round, before and after their noise."""
    unit = 2.0 * box.to_unit(box.clip(points)) - 1.0  # [-1, 1]^d: one record moves a sum by at most 1
    centers = np.random.default_rng(0).uniform(-1.0, 1.0, (params.n_clusters, box.d))  # public
    for step in range(1, params.n_rounds + 1):
        counting, summing = events(params, box.d, step)
        labels = assign(unit, centers)
        counts = np.bincount(labels, minlength=len(centers)).astype(float)
        sums = np.stack([np.bincount(labels, column, len(centers)) for column in unit.T], axis=1)
        exact = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1.0)[:, None], centers)
        noisy_counts = laplace(counts, scale=counting.scale, rng=rng)
        noisy_sums = laplace(sums, scale=summing.scale, rng=rng)
        centers = np.clip(noisy_sums / np.maximum(noisy_counts, 1.0)[:, None], -1.0, 1.0)
        yield MovedCenters(box.from_unit((centers + 1.0) / 2.0), box.from_unit((exact + 1.0) / 2.0))


def fit(points: Points, box: Box, params: Params, *, rng: np.random.Generator) -> Result[CentersRelease, MovedCenters]:
    """Release the centers of the last round. A record is in one cluster, so a round costs its share once."""
    trace = tuple(steps(points, box, params, rng=rng))
    claim = Claim(params.epsilon, 0.0, Adjacency.ADD_REMOVE, "Laplace noise on counts and sums, added up over rounds")
    spent = tuple(event for step in range(1, params.n_rounds + 1) for event in events(params, box.d, step))
    return Result(CentersRelease(trace[-1].centers), trace, spent, Guarantee(claim, claim, (SUMS_CAVEAT,)))
