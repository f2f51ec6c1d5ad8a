"""Walkers down a landscape in the plane: what `dpviz.solvers.walkers` does, one row of numbers for each quantity.

A step of a few hundred walkers costs by the number of calls into NumPy, hardly by their length. So everything that is
known of all walkers is one array, which a walker leaves by one call.
"""

import numpy as np

from dpviz.core import FloatArray, Points
from dpviz.solvers.mixture import Mixture
from dpviz.solvers.step_rules import CLOSE, LONGEST_REACH, TINY, BoolArray, allowed_error, next_reach

# Rows: place (2), then those of `Mixture.quick_rows`, then how far the next step reaches and the unit step's length.
DENSITY, METRIC, SPREAD, REACH, LENGTH, N_ROWS = 2, 5, 8, 11, 12, 13
KNOWN, GRADIENT = slice(2, 11), slice(3, 5)


class PlaneWalkers:
    """Walkers on their way down; those that are not kept are forgotten."""

    def __init__(self, mixture: Mixture, starts: Points) -> None:
        """Stand at `starts` (n, 2)."""
        self.mixture = mixture
        self.rows = np.empty((N_ROWS, len(starts)))
        self.rows[:DENSITY] = starts.T
        self.rows[KNOWN] = mixture.quick_rows(self.rows[:DENSITY])
        self.rows[REACH] = LONGEST_REACH
        self.rows[LENGTH] = _length(self.rows[METRIC:SPREAD], self.rows[GRADIENT])

    @property
    def places(self) -> Points:
        """Where they are (n, 2)."""
        return self.rows[:DENSITY].T

    @property
    def log_density(self) -> FloatArray:
        """How high they are: ln p (n,)."""
        return np.asarray(self.rows[DENSITY])

    def keep(self, which: BoolArray) -> None:
        """Forget all others."""
        self.rows = self.rows[:, which]

    def safe(self) -> BoolArray:
        """Say where Newton's method is safe (n,): -log p convex, and the step shorter than CLOSE; see `Walkers`."""
        found = (self.rows[LENGTH] < CLOSE) & np.isfinite(self.rows[DENSITY])
        near = np.flatnonzero(found)
        if len(near):
            a, b, c = bent = self.rows[METRIC:SPREAD, near] - self.rows[SPREAD:REACH, near]
            convex = (a > 0) & (a * c > b * b)
            bent[:, ~convex] = self.rows[METRIC:SPREAD, near[~convex]]
            found[near] = convex & (_length(bent, self.rows[GRADIENT, near]) < CLOSE)
        return np.asarray(found)

    def advance(self) -> None:
        """Take one step each, or make the next one shorter."""
        rows = self.rows
        move, foretold, used = plane_step(rows[KNOWN], rows[REACH])
        trial = rows[:DENSITY] + move
        there = self.mixture.quick_rows(trial)
        length, miss = _length(there[3:6, None], np.stack([there[1:3], there[1:3] - foretold], axis=1))
        error = miss / allowed_error(rows[LENGTH])
        good = (error <= 1.0) & (there[0] >= rows[DENSITY] - 1e-9)
        bad = np.flatnonzero(~good)
        before = rows[:, bad]
        rows[:DENSITY], rows[KNOWN], rows[LENGTH] = trial, there, length
        rows[:, bad] = before
        rows[REACH] = next_reach(used, error, good)


def plane_step(known: FloatArray, reach: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the flow's step (2, n) of the local quadratic, the gradient it foretells (2, n), and h times the speed.

    `known` are rows of `Mixture.quick_rows`. A function of H needs its eigenvalues m -+ r alone:
    f(H) = (f(m + r) + f(m - r)) / 2 + (f(m + r) - f(m - r)) / (2 r) (H - m).
    """
    gradient, metric = known[1:3], known[3:6]
    bent = known[6:9] - metric  # H
    middle = (bent[0] + bent[2]) / 2
    turned = bent.copy()  # H - m
    turned[::2] -= middle
    radius = np.hypot(turned[0], turned[1])
    values = np.stack([middle - radius, middle + radius])
    speed = np.sqrt(np.maximum((_times(metric, gradient) * gradient).sum(axis=0), TINY))
    time = np.minimum(reach / speed, 1.0 / np.maximum(values[1], TINY))
    exponent = np.minimum(np.maximum(time * values, -700.0), 1.0)
    flat = np.abs(exponent) < 1e-9
    share = np.expm1(exponent)
    if flat.any():
        share = np.where(flat, np.minimum(time, 1e300), share / np.where(flat, 1.0, values))
    else:
        share /= values
    mean, rate = (share[0] + share[1]) / 2, (share[1] - share[0]) / np.maximum(2.0 * radius, TINY)
    move = mean * gradient + rate * _times(turned, gradient)
    return move, gradient + _times(bent, move), time * speed


def plane_steps_length(known: FloatArray, move: FloatArray) -> FloatArray:
    """Return how long steps (2, n) are in the metric R (n,), in standard deviations."""
    return np.asarray(np.sqrt((_times(known[3:6], move) * move).sum(axis=0)))


def _times(matrix: FloatArray, vectors: FloatArray) -> FloatArray:
    """Return M v (2, n) for rows M_11, M_12, M_22 and v."""
    return np.asarray(matrix[:2] * vectors[0] + matrix[1:] * vectors[1])


def _length(metric: FloatArray, gradient: FloatArray) -> FloatArray:
    """Return sqrt(g' R^-1 g) for rows R_11, R_12, R_22 and g: a length in standard deviations."""
    (a, b, c), (x, y) = metric, gradient
    return np.asarray(np.sqrt(np.maximum((x * (c * x - b * y) + y * (a * y - b * x)) / (a * c - b * b), 0.0)))
