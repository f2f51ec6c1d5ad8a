"""Benchmarks of the n-dimensional Laplace mechanism: sampling, redrawing against plain noise, a posterior on a grid."""

from functools import partial

import numpy as np

from benchmarks.registry import Benchmark, Measure, milliseconds, sized
from dpviz.core import Box
from dpviz.mechanisms import default_grid, nd_laplace, redraw_in_box, release_law, remap_table

ROUNDS = 7
N, SMALL = 1_000_000, 2_000


def sampling(n: int, d: int) -> Measure:
    points = np.zeros((sized(n, SMALL), d))

    def drawn(seed: int) -> None:
        nd_laplace(points, epsilon=1.0, rng=np.random.default_rng(seed))

    time = min(milliseconds(partial(drawn, seed)) for seed in range(ROUNDS))
    return Measure(time, f"{time:.1f} ms", f"least of {ROUNDS}")


def redraw(side: float) -> Measure:
    """Time uniform records in a square; plain and redrawn noise alternate, so that other work affects both."""
    rng = np.random.default_rng(0)
    n = sized(N, SMALL)
    points, box = rng.random((n, 2)) * side, Box.cube(0.0, side, 2)
    plain, again, rejected = [], [], 0
    for _ in range(ROUNDS):
        plain.append(milliseconds(lambda: nd_laplace(points, epsilon=1.0, rng=rng)))
        again.append(milliseconds(lambda: redraw_in_box(points, box, epsilon=1.0, rng=rng)))
    rejected = int(redraw_in_box(points, box, epsilon=1.0, rng=rng).n_rejected.sum())
    ratio = min(again) / min(plain)
    return Measure(ratio, f"{min(again):.0f} ms", f"plain {min(plain):.0f} ms, {n / (n + rejected):.0%} kept")


def posterior(domain: str, z: tuple[float, float]) -> Measure:
    ticks = np.linspace(0.0, 10.0, 200)
    candidates = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
    law = release_law(candidates, epsilon=1.0, domain=domain, box=Box.cube(0.0, 10.0, 2))
    time = min(milliseconds(lambda: law.log_likelihood(z)) for _ in range(10 * ROUNDS))
    return Measure(time, f"{time:.2f} ms", "law prepared before")


def remap_to(rule: str, d: int) -> Measure:
    """Time a table of moves; each epsilon is used once, because tables are cached."""
    grid = default_grid(Box.cube(0.0, 1.0, d))

    def moved(step: int) -> None:
        remap_table(grid, epsilon=5.0 + 0.01 * step, rule=rule)

    time = min(milliseconds(partial(moved, step)) for step in range(ROUNDS))
    return Measure(time, f"{time:.1f} ms", f"least of {ROUNDS}")


BENCHMARKS = (
    Benchmark("nD-Laplace, 10,000 x 2", lambda: sampling(10_000, 2)),
    Benchmark("nD-Laplace, 1,000,000 x 2", lambda: sampling(N, 2), budget=80.0),
    Benchmark("nD-Laplace, 1,000,000 x 10", lambda: sampling(N, 10), budget=200.0),
    Benchmark("nD-Laplace redraw, about 70 % kept", lambda: redraw(9.1), budget=3.0, unit="x"),
    Benchmark("nD-Laplace redraw, about 50 % kept", lambda: redraw(4.4), budget=4.5, unit="x"),
    Benchmark("posterior 200 x 200, redraw", lambda: posterior("redraw", (3.0, 4.0)), budget=2.0),
    Benchmark("posterior 200 x 200, clamp on a wall", lambda: posterior("clamp", (0.0, 4.0)), budget=2.0),
    Benchmark("posterior 200 x 200, clamp in a corner", lambda: posterior("clamp", (0.0, 10.0)), budget=2.0),
    Benchmark("remap to posterior means, 32 x 32 places", lambda: remap_to("mean", 2), budget=25.0),
    Benchmark("remap to posterior medians, 32 x 32 places", lambda: remap_to("median", 2), budget=60.0),
)
