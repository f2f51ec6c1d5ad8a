"""How many separated round clusters DPM finds, of equal and of very unlike sizes. The sets are made here."""

from collections.abc import Sequence
from statistics import fmean

import numpy as np

from dpviz.core import Box, Labels, Points, squared_norms
from dpviz.methods.dpm import algorithm as dpm

EPSILONS = (1.0, 10.0)
SEEDS = 20
GAP = 8.0  # standard deviations between two middles at least: one record in 16,000 is nearer to another one
WIDEST = 0.03  # standard deviation of a cluster, of the box

# Name -> records of each cluster, and features.
MADE: dict[str, tuple[Sequence[int], int]] = {
    "8 of unlike sizes": ((2000, 1000, 600, 400, 300, 200, 150, 100), 2),
    "8 of unlike sizes, 5 features": ((2000, 1000, 600, 400, 300, 200, 150, 100), 5),
    "6 of 128": ((128,) * 6, 2),
    "20 of 500": ((500,) * 20, 2),
    "50 of 150": ((150,) * 50, 2),
    "50 of 1,000": ((1000,) * 50, 2),
    "50 of 1,000, 5 features": ((1000,) * 50, 5),
    "100 of 250": ((250,) * 100, 2),
}


def made(sizes: Sequence[int], d: int, seed: int) -> tuple[Points, Labels]:
    """Return round clusters in [0, 1]^d: middles drawn evenly, those nearer than GAP to an earlier one drawn again."""
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
    """Return the share of clusters that one leaf stands for: each has more than half of the other's records."""
    table = np.zeros((labels.max() + 1, leaves.max() + 1))
    np.add.at(table, (labels, leaves), 1.0)
    of_cluster, of_leaf = table.sum(axis=1, keepdims=True), np.maximum(table.sum(axis=0), 1.0)
    return float(((table > of_cluster / 2.0) & (table > of_leaf / 2.0)).any(axis=1).mean())


def shares_found(seeds: int = SEEDS) -> dict[str, dict[str, dict[str, float]]]:
    """Return set -> epsilon -> what share of clusters is found on average, and how many leaves there are for each."""
    figures: dict[str, dict[str, dict[str, float]]] = {}
    for name, (sizes, d) in MADE.items():
        for epsilon in EPSILONS:
            shares, leaves = [], []
            for seed in range(seeds):
                points, labels = made(sizes, d, seed)
                params = dpm.Params(epsilon=epsilon)
                result = dpm.fit(points, Box.cube(0.0, 1.0, d), params, rng=np.random.default_rng([seed, 1]))
                cells = result.release.tree.cells(points)
                shares.append(found(labels, cells))
                leaves.append(len(result.release.centers) / len(sizes))
            of_set = figures.setdefault(name, {})
            of_set[f"{epsilon:g}"] = {"found": round(fmean(shares), 3), "leaves": round(fmean(leaves), 3)}
    return figures
