"""Closeness of a run to Lloyd's algorithm from the same start: the figures of Lu & Shen, section 7."""

import math

import numpy as np
from numpy.typing import ArrayLike


def iteration_ratio(iterations: ArrayLike, lloyd_iterations: ArrayLike) -> float:
    """Return mean(iterations) / mean(lloyd_iterations), with one entry per run (R,), both from the same starts.

    The ratio of the averages, not the average of the ratios: Lu & Shen's figures 9b and 10b divide one average by the
    other (5.89 / 6.07 = 0.97). Raises ValueError for no runs, unequal numbers of runs, and a mean of 0 for Lloyd's.
    """
    ours, lloyds = np.asarray(iterations, dtype=np.float64), np.asarray(lloyd_iterations, dtype=np.float64)
    if ours.ndim != 1 or ours.shape != lloyds.shape or not ours.size:
        raise ValueError(
            "The iterations must both have shape (R,) with R at least 1, one entry for each run, got "
            f"{ours.shape} and {lloyds.shape}."
        )
    if not lloyds.mean() > 0:
        raise ValueError(
            "Lloyd's mean number of iterations must be above 0, because every run computes its means at least once."
        )
    return float(ours.mean() / lloyds.mean())


def convergence_degree(centers: ArrayLike, lloyd_centers: ArrayLike, *, tolerance: float = 0.01) -> float:
    """Return the share of runs that end where Lloyd's algorithm ends from the same start.

    `centers` and `lloyd_centers` are (R, k, d) in the same units, row i of both from the same initial center. A run
    counts when every coordinate of every center c satisfies |c - l| <= tolerance |l|, l being Lloyd's ("in [0.99, 1.01]
    of Lloyd's algorithm", Lu & Shen, section 7.2). It is a share of runs and not of centers or coordinates, because
    definition 4 is the probability that a run from given centers ends in Lloyd's solution. A coordinate where Lloyd's
    is 0 must be 0. Raises ValueError for unequal shapes, no runs, and a negative tolerance.
    """
    ours, lloyds = np.asarray(centers, dtype=np.float64), np.asarray(lloyd_centers, dtype=np.float64)
    if ours.ndim != 3 or ours.shape != lloyds.shape or not ours.size:
        raise ValueError(
            f"The centers must both have shape (R, k, d), got {ours.shape} and {lloyds.shape}. Stack "
            "the centers of all runs with np.stack."
        )
    if not tolerance >= 0:
        raise ValueError(f"tolerance must be at least 0, got {tolerance}. Use 0.01 for the paper's 1 %.")
    return float((np.abs(ours - lloyds) <= tolerance * np.abs(lloyds)).all(axis=(1, 2)).mean())


def cost_gap(cost: float, lloyd_cost: float) -> float:
    """Return |cost / lloyd_cost - 1|, Lu & Shen's figure 7: the gap of a run's cost to Lloyd's from the same start.

    Both are sums of squared distances to the nearest center, in the same units. A gap can also come from a lower cost.
    If Lloyd's cost is 0, the gap is 0 for a cost of 0 and infinite otherwise. Raises ValueError for a negative cost.
    """
    if not (cost >= 0 and lloyd_cost >= 0):
        raise ValueError(f"A cost is a sum of squared distances and must be at least 0, got {cost} and {lloyd_cost}.")
    if lloyd_cost == 0:
        return 0.0 if cost == 0 else math.inf
    return abs(float(cost) / float(lloyd_cost) - 1.0)
