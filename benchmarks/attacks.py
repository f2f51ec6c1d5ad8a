"""Benchmarks of attacks: computations that a page repeats for each click on a point or move of a slider."""

from collections.abc import Callable

import numpy as np

from benchmarks.registry import Benchmark, Measure, typical
from dpviz.attacks import best_guess, location_adversary, posterior, posterior_bound, uniform_prior
from dpviz.core import Box, PointsRelease

PRIOR = uniform_prior(Box.cube(0.0, 1.0, 2), (200, 200))
EPSILON = 10.0
N_RELEASES = 41


def timed(action: Callable[[int], object]) -> Measure:
    time = typical(action, N_RELEASES)
    return Measure(time.processor, f"{time.processor:.2f} ms", f"clock {time.clock:.2f} ms")


def heat(domain: str, *, wall: bool = False) -> Measure:
    """Time the posterior of a new released point in each call; everything independent of it is computed before."""
    adversary = location_adversary(PRIOR, epsilon=EPSILON, domain=domain)
    rows = np.random.default_rng(0).random((N_RELEASES, 1, 2))
    if wall:
        rows[..., 1] = 1.0
    return timed(lambda seed: posterior(PointsRelease(rows[seed]), adversary))


def guess() -> Measure:
    """Time the geometric median of a posterior: the adversary's answer for the distance."""
    adversary = location_adversary(PRIOR, epsilon=EPSILON)
    weights = posterior(PointsRelease(np.array([[0.3, 0.9]])), adversary)
    return timed(lambda _: best_guess(PRIOR, weights, "distance"))


BENCHMARKS = (
    Benchmark("posterior on 200 x 200, no domain", lambda: heat("none"), budget=2.0),
    Benchmark("posterior on 200 x 200, redraw", lambda: heat("redraw"), budget=2.0),
    Benchmark("posterior on 200 x 200, clamp inside", lambda: heat("clamp"), budget=2.0),
    Benchmark("posterior on 200 x 200, clamp on a wall", lambda: heat("clamp", wall=True)),
    Benchmark("best guess by distance on 200 x 200", guess),
    Benchmark("posterior bound on 200 x 200", lambda: timed(lambda _: posterior_bound(PRIOR, EPSILON))),
)
