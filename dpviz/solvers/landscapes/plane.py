"""Landscapes in the plane, in machine code: one walker after the other, each only as far as it has to go.

The same is written for any number of axes, and explained, in `mixture`, `flow` and `saddles`; here it is written out
for two. Components whose share is below e^-NEGLIGIBLE of the likeliest one's are skipped: all together they are less
than the last digit.

The rules of a step stand here for both forms, because machine code reads no names of other files.
"""

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpviz.core import FloatArray, Labels, Points, compiled

TOLERANCE = 0.2  # standard deviations of error in one step; ours
RELATIVE = 0.4  # of the unit step: flat valleys are followed as closely; ours
LEAST = 1e-3  # standard deviations of error that are always allowed; ours
LONGEST_REACH = 0.5  # standard deviations of one step: a longer one could leap over a narrow component; ours
CLOSE = 1e-2  # below this length of a Newton step, where -log p is convex, Newton's whole step is made
FLAT = 1e-6  # a curvature (in units of the metric R) nearer 0 than this is degenerate: no index can be assigned; ours
LOST = 6  # steps in a row without a falling axis after which a climbing walk stops: it circles a minimum; ours
LONGEST_STEP = 0.7  # standard deviations a climbing walk moves at once; ours
NEGLIGIBLE = 37.0  # e^-37 is 1e-16, the last digit
TINY = 1e-300  # what can be divided by
N_KNOWN = 9  # numbers of `Known`
BLOCK = 64  # places side by side: what is computed of them stays in the cache
LOWEST = -708.0  # e^LOWEST is next to the smallest number: a share below it is taken as that
LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 0.693145751953125, 1.4286068203094172e-06  # their sum is ln 2; the first has few digits
ROUNDER = 6755399441055744.0  # 1.5 * 2^52
BIAS, MANTISSA = 1023, 52  # of a number's bits: what its exponent is counted from, and how many are below it
WALKING, ARRIVED, STUCK = 0, 1, 2  # states of a climbing walk

BoolArray: TypeAlias = NDArray[np.bool_]
# ln p, its gradient (x, y), R and S (11, 12, 22 of each).
Known: TypeAlias = tuple[float, float, float, float, float, float, float, float, float]


def gaussians(means: Points, whiteners: FloatArray, log_scales: FloatArray) -> FloatArray:
    """Return K components as columns (6, K): mean, L^-1 (11, 21, 22), ln of the scale."""
    lower = whiteners[:, 0, 0], whiteners[:, 1, 0], whiteners[:, 1, 1]
    return np.stack([means[:, 0], means[:, 1], *lower, log_scales])


@compiled
def _know(components: FloatArray, x: float, y: float, scratch: FloatArray) -> Known:
    """Return the landscape at a place; `scratch` is (4, K)."""
    logs, shares, pulls_x, pulls_y = scratch[0], scratch[1], scratch[2], scratch[3]
    for k in range(len(logs)):
        across = x - components[0, k]
        second = components[3, k] * across + components[4, k] * (y - components[1, k])
        first = components[2, k] * across
        logs[k] = components[5, k] - 0.5 * (first * first + second * second)
    top = -np.inf
    for log in logs:
        if log > top:
            top = log
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
    if not total > 0.0:  # so far out that every density underflows
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
    """Return the landscape (n, 9) at `places` (n, 2)."""
    known, scratch = np.empty((len(places), N_KNOWN)), np.empty((4, components.shape[1]))
    for i in range(len(places)):
        known[i] = _know(components, places[i, 0], places[i, 1], scratch)
    return known


@compiled
def log_density_at(components: FloatArray, places: Points) -> FloatArray:
    """Return ln p (n,) at `places` (n, 2) for the `components` of `gaussians`, a block of places side by side.

    The exponential is written out, so that a processor computes several places at once: e^v = 2^n e^r,
    n = round(v log2 e), e^r by its series, |r| <= ln(2) / 2, and 2^n by its bits. Adding ROUNDER rounds to an integer,
    in the lowest bits.
    """
    n, n_components = len(places), components.shape[1]
    densities, logs = np.empty(n), np.empty((n_components, BLOCK))
    x, y, top, total = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    power, series = np.empty(BLOCK), np.empty(BLOCK)
    bits = power.view(np.int64)
    for start in range(0, n, BLOCK):
        size = min(BLOCK, n - start)
        for j in range(BLOCK):  # the last block is filled up with its first place
            i = start + j if j < size else start
            x[j], y[j], top[j], total[j] = places[i, 0], places[i, 1], -np.inf, 0.0
        for k in range(n_components):
            mean_x, mean_y, l11, l21, l22, scale = components[:, k]
            for j in range(BLOCK):
                across = x[j] - mean_x
                first, second = l11 * across, l21 * across + l22 * (y[j] - mean_y)
                log = scale - 0.5 * (first * first + second * second)
                logs[k, j] = log
                top[j] = log if log > top[j] else top[j]
        for k in range(n_components):
            for j in range(BLOCK):
                value = logs[k, j] - top[j]
                value = value if value > LOWEST else LOWEST
                rounded = value * LOG2_E + ROUNDER
                power[j] = rounded
                whole = rounded - ROUNDER
                rest = value - whole * LN2_HIGH - whole * LN2_LOW
                term = 1.0 / 39916800.0 + rest * (1.0 / 479001600.0)
                term = 1.0 / 362880.0 + rest * (1.0 / 3628800.0 + rest * term)
                term = 1.0 / 5040.0 + rest * (1.0 / 40320.0 + rest * term)
                term = 1.0 / 120.0 + rest * (1.0 / 720.0 + rest * term)
                term = 1.0 / 6.0 + rest * (1.0 / 24.0 + rest * term)
                series[j] = 1.0 + rest * (1.0 + rest * (0.5 + rest * term))
            for j in range(BLOCK):
                bits[j] = (bits[j] + BIAS) << MANTISSA
            for j in range(BLOCK):
                total[j] += power[j] * series[j]
        for j in range(size):
            densities[start + j] = top[j] + math.log(total[j])
    return densities


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
    """Return the local quadratic's step (x, y), the gradient that it predicts (x, y), and h times the speed.

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
def _is_safe(here: Known, length: float) -> bool:
    """Return whether -log p is convex and Newton's step is shorter than CLOSE; see `flow._is_safe`."""
    if not (length < CLOSE and math.isfinite(here[0])):
        return False
    a, b, c = here[3] - here[6], here[4] - here[7], here[5] - here[8]
    return a > 0.0 and a * c > b * b and _length(a, b, c, here[1], here[2]) < CLOSE


@compiled
def _agreed(x: float, y: float, cells: Labels, side: int) -> int:
    """Return the label that the four cells around a place of [-1, 1]^2 have, or -1; those at the edge count twice."""
    if side == 0 or not (abs(x) <= 1.0 and abs(y) <= 1.0):
        return -1
    column, row = int((x + 1.0) * (0.5 * side) + 0.5), int((y + 1.0) * (0.5 * side) + 0.5)
    west, east = max(column - 1, 0), min(column, side - 1)
    south, north = max(row - 1, 0) * side, min(row, side - 1) * side
    label = cells[south + west]
    same = cells[south + east] == label and cells[north + west] == label and cells[north + east] == label
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
) -> tuple[Points, Labels, BoolArray]:
    """Follow the flow as `flow.flow` does, from `starts` (n, 2) one after the other, in at most `most` steps each.

    The end of a start is certain in one of `traps` (8, L; `Traps.rows`) and where four of `cells` (g^2,) around it
    agree. Start i stands for the cell `own[i]` and labels it before the next one starts; if `own` is empty, for none.
    """
    n, side = len(starts), int(math.sqrt(len(cells)) + 0.5)
    places, labels, ended = starts.copy(), np.full(n, -1), np.zeros(n, dtype=np.bool_)
    scratch = np.empty((4, components.shape[1]))
    for i in range(n):
        x, y, reach = starts[i, 0], starts[i, 1], LONGEST_REACH
        labels[i] = _agreed(x, y, cells, side)
        if labels[i] < 0:
            here = _know(components, x, y, scratch)
            length = _length(here[3], here[4], here[5], here[1], here[2])
            for _ in range(most):
                if labels[i] < 0:
                    labels[i] = _trapped(x, y, here[0], traps)
                ended[i] = _is_safe(here, length)
                if labels[i] >= 0 or ended[i]:
                    break
                move_x, move_y, predicted_x, predicted_y, used = _step(here, reach)
                there = _know(components, x + move_x, y + move_y, scratch)
                miss = _length(there[3], there[4], there[5], there[1] - predicted_x, there[2] - predicted_y)
                error = miss / min(max(RELATIVE * length, LEAST), TOLERANCE)
                good = error <= 1.0 and there[0] >= here[0] - 1e-9
                if good:
                    x, y, here = x + move_x, y + move_y, there
                    length = _length(here[3], here[4], here[5], here[1], here[2])
                    labels[i] = _agreed(x, y, cells, side)
                growth = min(max(0.8 / math.sqrt(max(error, 1e-6)), 0.25), 3.0 if good else 0.5)
                reach = min(used * growth, LONGEST_REACH)
        places[i] = x, y
        if len(own):
            cells[own[i]] = labels[i]
    return places, labels, ended


@compiled
def flow_lines_from(components: FloatArray, starts: Points, n_steps: int, reach: float, end: float) -> FloatArray:
    """Return the lines (m, n_steps, 2) of `flow.flow_lines` from `starts` (m, 2)."""
    lines, scratch = np.full((len(starts), n_steps, 2), np.nan), np.empty((4, components.shape[1]))
    for i in range(len(starts)):
        x, y = starts[i, 0], starts[i, 1]
        for step in range(n_steps):
            lines[i, step] = x, y
            here = _know(components, x, y, scratch)
            far = 0.1 * math.sqrt(max(-2.0 * here[0], 0.0))
            move_x, move_y, _, _, _ = _step(here, max(reach, far))
            squared = here[3] * move_x * move_x + 2.0 * here[4] * move_x * move_y + here[5] * move_y * move_y
            if not math.sqrt(squared) > end:
                break
            x, y = x + move_x, y + move_y
    return lines


@compiled
def climb_steps(known: FloatArray, lost: Labels, walks: Labels) -> tuple[FloatArray, Labels]:
    """Return the step (n, 2) of each of `walks` (n,), zero where it ends, and its state (n,), from `known_at`.

    Its row of `lost` counts its steps since -log p last bent downwards along some axis, and is updated.
    """
    n = len(known)
    steps, states = np.zeros((n, 2)), np.full(n, WALKING)
    for i in range(n):
        # L^-1 with R = L L', and S in that basis.
        first = 1.0 / math.sqrt(known[i, 3])
        below = known[i, 4] * first
        second = 1.0 / math.sqrt(known[i, 5] - below * below)
        mixed = -below * first * second
        a = first * first * known[i, 6]
        b = first * (mixed * known[i, 6] + second * known[i, 7])
        c = mixed * (mixed * known[i, 6] + 2.0 * second * known[i, 7]) + second * second * known[i, 8]
        angle = 0.5 * math.atan2(2.0 * b, a - c)  # of the larger eigenvalue's axis
        middle, radius, cos, sin = (a + c) / 2.0, math.hypot((a - c) / 2.0, b), math.cos(angle), math.sin(angle)
        steep, soft = 1.0 - middle + radius, 1.0 - middle - radius  # curvatures of -log p
        steep_x, steep_y = mixed * cos - first * sin, second * cos
        soft_x, soft_y = first * cos + mixed * sin, second * sin
        falls_steeply = known[i, 1] * steep_x + known[i, 2] * steep_y
        falls_softly = known[i, 1] * soft_x + known[i, 2] * soft_y
        along_steep = falls_steeply / max(abs(steep), FLAT)
        along_soft = -falls_softly / max(abs(soft), FLAT)  # up along the softest axis, also where it curves upwards
        length = math.hypot(along_steep, along_soft)
        lost[walks[i]] = 0 if soft < 0.0 else lost[walks[i]] + 1
        if soft < 0.0 <= steep and length < CLOSE:
            states[i] = ARRIVED
            continue
        share = min(1.0, LONGEST_STEP / max(length, LONGEST_STEP))
        x = share * (along_steep * steep_x + along_soft * soft_x)
        y = share * (along_steep * steep_y + along_soft * soft_y)
        if lost[walks[i]] < LOST and math.isfinite(x) and math.isfinite(y):
            steps[i] = x, y
        else:
            states[i] = STUCK
    return steps, states
