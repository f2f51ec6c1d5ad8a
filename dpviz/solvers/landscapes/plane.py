"""Landscapes in the plane, in machine code: one walker after the other, each only as far as it has to go.

What is computed is said where it is done for any number of axes: `mixture`, `walkers`, `climbing`. Here it is written
out for two. Components whose share is below e^-NEGLIGIBLE of the likeliest one's are passed over: all together they are
less than the last digit.
"""

import math
from typing import TypeAlias

import numpy as np

from dpviz.core import FloatArray, Labels, Points, compiled
from dpviz.solvers.landscapes.step_rules import BoolArray, StepRules

NEGLIGIBLE = 37.0  # e^-37 is 1e-16, the last digit
TINY = 1e-300  # what can be divided by
N_KNOWN = 9  # numbers that are known of a place

# ln p, its gradient (x, y), R and S (11, 12, 22 of each).
Known: TypeAlias = tuple[float, float, float, float, float, float, float, float, float]


def gaussians(means: Points, whiteners: FloatArray, log_scales: FloatArray) -> FloatArray:
    """Return what is read of K components (6, K): mean, L^-1 (11, 21, 22), ln of the scale."""
    lower = whiteners[:, 0, 0], whiteners[:, 1, 0], whiteners[:, 1, 1]
    return np.stack([means[:, 0], means[:, 1], *lower, log_scales])


@compiled
def _log_terms(components: FloatArray, x: float, y: float, logs: FloatArray) -> float:
    """Write ln(pi_k N_k) into `logs` (K,); return the largest."""
    for k in range(len(logs)):
        across = x - components[0, k]
        second = components[3, k] * across + components[4, k] * (y - components[1, k])
        first = components[2, k] * across
        logs[k] = components[5, k] - 0.5 * (first * first + second * second)
    top = -np.inf
    for log in logs:
        if log > top:
            top = log
    return top


@compiled
def _know(components: FloatArray, x: float, y: float, scratch: FloatArray) -> Known:
    """Return what is known of a place; `scratch` is (4, K)."""
    logs, shares, pulls_x, pulls_y = scratch[0], scratch[1], scratch[2], scratch[3]
    top = _log_terms(components, x, y, logs)
    count, total, slope_x, slope_y, r11, r12, r22 = 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(len(logs)):
        if logs[k] >= top - NEGLIGIBLE:  # far out their difference is below the last digit
            share = math.exp(logs[k] - top)
            l11, l21, l22 = components[2, k], components[3, k], components[4, k]
            across = x - components[0, k]
            second = l21 * across + l22 * (y - components[1, k])
            pull_x, pull_y = l11 * l11 * across + l21 * second, l22 * second
            shares[count], pulls_x[count], pulls_y[count] = share, pull_x, pull_y
            count += 1
            total += share
            slope_x -= share * pull_x
            slope_y -= share * pull_y
            r11 += share * (l11 * l11 + l21 * l21)
            r12 += share * (l21 * l22)
            r22 += share * (l22 * l22)
    if not total > 0.0:  # so far out that nothing is known but that
        return top, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    slope_x, slope_y = slope_x / total, slope_y / total
    # S as a sum of squares of deviations from the mean pull: never negative by cancellation.
    s11, s12, s22 = 0.0, 0.0, 0.0
    for j in range(count):
        off_x, off_y = pulls_x[j] + slope_x, pulls_y[j] + slope_y
        s11 += shares[j] * off_x * off_x
        s12 += shares[j] * off_x * off_y
        s22 += shares[j] * off_y * off_y
    log_density = top + math.log(total)
    return log_density, slope_x, slope_y, r11 / total, r12 / total, r22 / total, s11 / total, s12 / total, s22 / total


@compiled
def known_at(components: FloatArray, places: Points) -> FloatArray:
    """Return what is known (n, 9) of `places` (n, 2)."""
    found, scratch = np.empty((len(places), N_KNOWN)), np.empty((4, components.shape[1]))
    for i in range(len(places)):
        found[i] = _know(components, places[i, 0], places[i, 1], scratch)
    return found


@compiled
def _length(a: float, b: float, c: float, x: float, y: float) -> float:
    """Return sqrt(v' M^-1 v) for M of a, b, c and v of x, y: a length in standard deviations."""
    squared = (x * (c * x - b * y) + y * (a * y - b * x)) / (a * c - b * b)
    return math.sqrt(max(squared, 0.0)) if squared == squared else squared


@compiled
def _share(time: float, curvature: float) -> float:
    """Return (e^(h l) - 1) / l for the time h."""
    exponent = min(max(time * curvature, -700.0), 1.0)
    return min(time, 1e300) if abs(exponent) < 1e-9 else math.expm1(exponent) / curvature


@compiled
def _step(here: Known, reach: float) -> tuple[float, float, float, float, float]:
    """Return the local quadratic's step (x, y), the gradient it foretells (x, y), and h times the speed.

    A function of H needs its eigenvalues m -+ r alone:
    f(H) = (f(m + r) + f(m - r)) / 2 + (f(m + r) - f(m - r)) / (2 r) (H - m).
    """
    slope_x, slope_y = here[1], here[2]
    a, b, c = here[6] - here[3], here[7] - here[4], here[8] - here[5]  # H
    middle = (a + c) / 2.0
    radius = math.hypot(a - middle, b)
    squared = slope_x * (here[3] * slope_x + 2.0 * here[4] * slope_y) + here[5] * slope_y * slope_y
    speed = math.sqrt(max(squared, TINY))
    time = min(reach / speed, 1.0 / max(middle + radius, TINY))
    low, high = _share(time, middle - radius), _share(time, middle + radius)
    mean, rate = (low + high) / 2.0, (high - low) / max(2.0 * radius, TINY)
    x = mean * slope_x + rate * ((a - middle) * slope_x + b * slope_y)
    y = mean * slope_y + rate * (b * slope_x + (c - middle) * slope_y)
    return x, y, slope_x + a * x + b * y, slope_y + b * x + c * y, time * speed


@compiled
def _is_safe(here: Known, length: float, close: float) -> bool:
    """Say where -log p is convex and Newton's step is shorter than `close`; see `walkers.is_safe`."""
    if not (length < close and math.isfinite(here[0])):
        return False
    a, b, c = here[3] - here[6], here[4] - here[7], here[5] - here[8]
    return a > 0.0 and a * c > b * b and _length(a, b, c, here[1], here[2]) < close


@compiled
def _agreed(x: float, y: float, cells: Labels, side: int) -> int:
    """Return the label that the four cells around a place of [-1, 1]^2 have, or -1; those at the edge stand in."""
    if side == 0 or not (abs(x) <= 1.0 and abs(y) <= 1.0):
        return -1
    column, row = int((x + 1.0) * (0.5 * side) + 0.5), int((y + 1.0) * (0.5 * side) + 0.5)
    left, right = max(column - 1, 0), min(column, side - 1)
    below, above = max(row - 1, 0) * side, min(row, side - 1) * side
    label = cells[below + left]
    same = cells[below + right] == label and cells[above + left] == label and cells[above + right] == label
    return int(label) if same else -1


@compiled
def _trapped(x: float, y: float, log_density: float, traps: FloatArray) -> int:
    """Return the first trap that a place is in, or -1."""
    for k in range(traps.shape[1]):
        if log_density > traps[7, k]:
            first = x * traps[0, k] + y * traps[1, k] - traps[4, k]
            second = x * traps[2, k] + y * traps[3, k] - traps[5, k]
            if first * first + second * second < traps[6, k]:
                return k
    return -1


@compiled
def flow_down(
    components: FloatArray,
    starts: Points,
    traps: FloatArray,
    cells: Labels,
    own: Labels,
    most: int,
    rules: StepRules,
) -> tuple[Points, Labels, BoolArray]:
    """Do what `flow.flow` does, from `starts` (n, 2) one after the other, in at most `most` steps each.

    A start is certain of its end in one of `traps` (8, L; `Traps.rows`) and where four of `cells` (g^2,) around it
    agree. Start i stands for the cell `own[i]` and labels it before the next one starts; if `own` is empty, for none.
    """
    tolerance, relative, least, longest, close = rules
    n, side = len(starts), int(math.sqrt(len(cells)) + 0.5)
    places, labels, ended = starts.copy(), np.full(n, -1), np.zeros(n, dtype=np.bool_)
    scratch = np.empty((4, components.shape[1]))
    for i in range(n):
        x, y, reach = starts[i, 0], starts[i, 1], longest
        labels[i] = _agreed(x, y, cells, side)
        if labels[i] < 0:
            here = _know(components, x, y, scratch)
            length = _length(here[3], here[4], here[5], here[1], here[2])
            for _ in range(most):
                if labels[i] < 0:
                    labels[i] = _trapped(x, y, here[0], traps)
                ended[i] = _is_safe(here, length, close)
                if labels[i] >= 0 or ended[i]:
                    break
                move_x, move_y, foretold_x, foretold_y, used = _step(here, reach)
                there = _know(components, x + move_x, y + move_y, scratch)
                miss = _length(there[3], there[4], there[5], there[1] - foretold_x, there[2] - foretold_y)
                error = miss / min(max(relative * length, least), tolerance)
                good = error <= 1.0 and there[0] >= here[0] - 1e-9
                if good:
                    x, y, here = x + move_x, y + move_y, there
                    length = _length(here[3], here[4], here[5], here[1], here[2])
                    labels[i] = _agreed(x, y, cells, side)
                growth = min(max(0.8 / math.sqrt(max(error, 1e-6)), 0.25), 3.0 if good else 0.5)
                reach = min(used * growth, longest)
        places[i] = x, y
        if len(own):
            cells[own[i]] = labels[i]
    return places, labels, ended


@compiled
def flow_lines_from(components: FloatArray, starts: Points, n_steps: int, reach: float, end: float) -> FloatArray:
    """Do what `flow.flow_lines` does: lines (m, n_steps, 2) from `starts` (m, 2)."""
    made, scratch = np.full((len(starts), n_steps, 2), np.nan), np.empty((4, components.shape[1]))
    for i in range(len(starts)):
        x, y = starts[i, 0], starts[i, 1]
        for step in range(n_steps):
            made[i, step] = x, y
            here = _know(components, x, y, scratch)
            far = 0.1 * math.sqrt(max(-2.0 * here[0], 0.0))
            move_x, move_y, _, _, _ = _step(here, max(reach, far))
            squared = here[3] * move_x * move_x + 2.0 * here[4] * move_x * move_y + here[5] * move_y * move_y
            if not math.sqrt(squared) > end:
                break
            x, y = x + move_x, y + move_y
    return made
