"""Number of separated round clusters that DPM finds, and number of records that Morse needs to find two moons.

The module makes the sets. Clusters have equal or very unequal sizes.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from statistics import fmean
from unittest.mock import patch

import numpy as np

from dpviz.core import Box, FloatArray, Labels, Points, squared_norms
from dpviz.data import load
from dpviz.mechanisms import laplace
from dpviz.methods.dpm import algorithm as dpm
from dpviz.methods.dpm.algorithm import tree
from dpviz.methods.dpm.algorithm.plan import CHANCE, GAP_SCALES, make_plan
from dpviz.methods.morse import algorithm as morse
from dpviz.metrics import adjusted_rand

EPSILONS = (1.0, 10.0)
SEEDS = 20
# Smallest distance of two cluster centers, standard deviations: one record in 16,000 is nearer to a different center.
GAP = 8.0
MOONS, MOON_ARI = (2_500, 5_000, 10_000, 20_000, 40_000), 0.9
# Largest standard deviation of a cluster, relative to the box.
WIDEST = 0.03

# name -> (records of each cluster, number of features)
MADE: dict[str, tuple[Sequence[int], int]] = {
    "8 clusters of unequal sizes": ((2000, 1000, 600, 400, 300, 200, 150, 100), 2),
    "8 clusters of unequal sizes, 5 features": ((2000, 1000, 600, 400, 300, 200, 150, 100), 5),
    "6 clusters of 128 records": ((128,) * 6, 2),
    "20 clusters of 500 records": ((500,) * 20, 2),
    "50 clusters of 150 records": ((150,) * 50, 2),
    "50 clusters of 1,000 records": ((1000,) * 50, 2),
    "50 clusters of 1,000 records, 5 features": ((1000,) * 50, 5),
    "100 clusters of 250 records": ((250,) * 100, 2),
}

HARD = "50 clusters of 150 records"
AS_IT_IS = "unchanged"
VARIED = {
    AS_IT_IS: dpm.Params(),
    "the number of records is public": dpm.Params(n_public=7_500),
    "at most 7 levels": dpm.Params(n_levels=7),
    "at most 8 levels": dpm.Params(n_levels=8),
    "emptiness weight doubled": dpm.Params(emptiness_weight=10.0),
    "weaker centreness requirement": dpm.Params(t=0.2, q=0.05),
    "more of ε for cuts, less for averages": dpm.Params(shares=dpm.Shares(0.02, 0.30, 0.58, 0.10)),
    "ε = 1.5": dpm.Params(epsilon=1.5),
    "ε = 2": dpm.Params(epsilon=2.0),
    "ε = 3": dpm.Params(epsilon=3.0),
}
PLACE, DEPTH = "cut at the best place, without noise", "gap counts without noise"
# Everything else is unchanged.
ORACLES = {PLACE: (PLACE,), DEPTH: (DEPTH,), "both without noise": (PLACE, DEPTH)}


@contextmanager
def without_noise(parts: Sequence[str]) -> Iterator[None]:
    """Let DPM choose the best place of a cut, or count the depth of its gap exactly; no one may release the result."""

    def best(scores: FloatArray, **_: object) -> Labels:
        return np.asarray(scores.argmax(axis=1), dtype=np.intp)

    def counted(exact: FloatArray, *, scale: float, rng: np.random.Generator) -> FloatArray:
        # The other noise stays the same.
        drawn = laplace(exact, scale=scale, rng=rng)
        # Depths (nodes,), then sides (nodes, 2).
        return exact if exact.ndim == 1 else drawn

    with ExitStack() as stack:
        for part in parts:
            name, exact = ("exponential", best) if part == PLACE else ("laplace", counted)
            stack.enter_context(patch.object(tree, name, exact))
        yield


def clear_from() -> list[int]:
    """Return, for each level of HARD, the number of records from which the gap between two equal clusters is clear.

    A gap is at most as deep as one cluster's number of records m: m = CHANCE sqrt(2 m) + GAP_SCALES b, with b the noise
    of its depth.
    """
    sizes, d = MADE[HARD]
    n, given = sum(sizes), dpm.Params(n_public=sum(sizes))
    plan = make_plan(
        n,
        d,
        epsilon=given.epsilon,
        delta=None,
        n_levels=None,
        shares=None,
        n_public=n,
        published=False,
        # Generator of the root's count, which affects neither depth nor shares.
        rng=np.random.default_rng(0),
    )
    half = CHANCE / math.sqrt(2.0)
    return [math.ceil((half + math.sqrt(half**2 + GAP_SCALES / each)) ** 2) for each in plan.gap_epsilons]


def made(sizes: Sequence[int], d: int, seed: int) -> tuple[Points, Labels]:
    """Return round clusters in [0, 1]^d with uniform centers; a center nearer than GAP to an earlier one is redrawn."""
    rng = np.random.default_rng([seed, d, *sizes])
    spread = min(0.6 * len(sizes) ** (-1.0 / d) / GAP, WIDEST)
    middles = np.empty((0, d))
    while len(middles) < len(sizes):
        drawn = rng.uniform(3.0 * spread, 1.0 - 3.0 * spread, d)
        if len(middles) == 0 or squared_norms(middles - drawn).min() >= (GAP * spread) ** 2:
            middles = np.vstack([middles, drawn])
    labels = np.repeat(np.arange(len(sizes)), sizes)
    return np.clip(middles[labels] + spread * rng.standard_normal((len(labels), d)), 0.0, 1.0), labels


def found(labels: Labels, leaves: Labels) -> float:
    """Return the share of clusters found by one leaf: each has more than half of the other's records."""
    table = np.zeros((labels.max() + 1, leaves.max() + 1))
    np.add.at(table, (labels, leaves), 1.0)
    of_cluster, of_leaf = table.sum(axis=1, keepdims=True), np.maximum(table.sum(axis=0), 1.0)
    return float(((table > of_cluster / 2.0) & (table > of_leaf / 2.0)).any(axis=1).mean())


def shares_found(seeds: int = SEEDS) -> dict[str, dict[str, dict[str, float]]]:
    """Return set -> epsilon -> average share of clusters found, and number of leaves per cluster."""
    return {
        name: {f"{epsilon:g}": share_found(name, seeds, dpm.Params(epsilon=epsilon)) for epsilon in EPSILONS}
        for name in MADE
    }


def share_found(name: str, seeds: int, params: dpm.Params) -> dict[str, float]:
    """Return the average share of a set's clusters that DPM finds, and the number of leaves per cluster."""
    (sizes, d), shares, leaves = MADE[name], [], []
    for seed in range(seeds):
        points, labels = made(sizes, d, seed)
        result = dpm.fit(points, Box.cube(0.0, 1.0, d), params, rng=np.random.default_rng([seed, 1]))
        shares.append(found(labels, result.release.tree.cells(points)))
        leaves.append(len(result.release.centers) / len(sizes))
    return {"found": round(fmean(shares), 3), "leaves": round(fmean(leaves), 3)}


def bounded(seeds: int = SEEDS) -> dict[str, float]:
    """Return the share of HARD's clusters found with different parameters, more epsilon, and less noise."""
    shares = {said: share_found(HARD, seeds, params)["found"] for said, params in VARIED.items()}
    for said, parts in ORACLES.items():
        with without_noise(parts):
            shares[said] = share_found(HARD, seeds, dpm.Params())["found"]
    return shares


def moons_found(runs: int = SEEDS) -> dict[str, int]:
    """Return number of records -> runs in which Morse finds two moons at epsilon 1, with at least MOON_ARI."""
    right = {}
    for n in MOONS:
        data = load("moons", n=n, seed=0)
        assert data.labels is not None
        signed = morse.signed_points(data.points, data.box)
        right[str(n)] = 0
        for seed in range(runs):
            # As on the Morse page.
            params = morse.Params(n_iterations=2)
            release = morse.fit(data.points, data.box, params, rng=np.random.default_rng(seed)).release
            labels = morse.assign(release.mixture, signed, 2)
            right[str(n)] += adjusted_rand(labels, data.labels) >= MOON_ARI
    return right
