"""Walks over a mixture's landscape, in machine code: one after the other, each only as far as it has to go.

The same code serves any number of axes. `axes` has an entry for each: a tuple in the plane, so that loops over axes are
unrolled there, and an array beyond. In the plane, eigenvalues are written out; beyond, `algebra` computes them.
Components whose share is below e^-NEGLIGIBLE of the largest share are skipped: all together they are less than the
last digit. `flow` and `saddles` describe the walks.
"""

import math
from typing import NamedTuple, TypeAlias

import numpy as np

from dpviz.core import BoolArray, FloatArray, Labels, Points, compiled, frozen
from dpviz.core.algebra import cholesky_each, eigen_each, inverse_each, solve_each
from dpviz.core.functions import exp_each, log_each

# Largest error allowed in one step, in standard deviations. Our choice.
TOLERANCE = 0.2
# Error allowed as a share of the unit step, so that flat valleys are followed as closely. Our choice.
RELATIVE = 0.4
# Error that is always allowed, in standard deviations. Our choice.
LEAST = 1e-3
# Longest step, in standard deviations. A longer one could leap over a narrow component. Our choice.
LONGEST_REACH = 0.5
# Longest time of one rational step, divided by the largest curvature. Our choice.
LONGEST_TIME = 1e6
# Up to here, searches are as dense as those of the tests. Beyond, starts and eigenvectors are expensive. Our choice.
FEW_AXES = 3
# -log p counts as convex if S has less than this share of R along every axis. Our choice.
CONVEX = 0.8
# Below this length of a Newton step, where -log p is convex, the whole Newton step is taken.
CLOSE = 1e-2
# A curvature (in units of the metric R) nearer 0 than this is degenerate: no index can be assigned. Our choice.
FLAT = 1e-6
# Steps in a row without a falling axis after which a climbing walk stops, because it circles a minimum. Our choice.
LOST = 6
# Longest step of a climbing walk, in standard deviations. Our choice.
LONGEST_STEP = 0.7
# e^-37 is 1e-16, the last digit.
NEGLIGIBLE = 37.0
# Smallest divisor.
TINY = 1e-300
# Places computed side by side, so that intermediate results stay in the cache.
BLOCK = 64
# States of a climbing walk.
WALKING, ARRIVED, STUCK = 0, 1, 2

# One entry for each of the D axes.
Axes: TypeAlias = tuple[int, int] | Labels


class Traps(NamedTuple):
    """Ellipsoids, one for each of L minima, within which the end of a descent is certain; read-only arrays."""

    # The whitened minima, (L, D).
    middles: FloatArray
    # Roots of the Hessians of -ln p at the minima, (L, D, D).
    whiteners: FloatArray
    # Squared radii in units of the curvature, (L,); 0 for no trap.
    radii: FloatArray
    # ln p that a point in the trap must exceed, (L,).
    rims: FloatArray


def packed(vectors: FloatArray, one: FloatArray, other: FloatArray, numbers: FloatArray) -> FloatArray:
    """Return m vectors (m, D), pairs of matrices (m, D, D) and numbers (m,) as one read-only array (m, 2 D + 2, D).

    Machine code is quickest with few arrays. Components are mean, L^-1, P and ln of the scale; places are gradient of
    ln p, R, S and ln p.
    """
    last = np.broadcast_to(numbers[:, None, None], (len(numbers), 1, vectors.shape[1]))
    return frozen(np.concatenate([vectors[:, None], one, other, last], axis=1))


@compiled
def _memory(n_components: int, d: int) -> tuple[FloatArray, FloatArray]:
    """Return room for the terms of all components (K, 2 D + 2), and five matrices (5, 1, D, D), on a walk."""
    return np.empty((n_components, 2 * d + 2)), np.empty((5, 1, d, d))


@compiled
def _know(axes: Axes, components: FloatArray, place: FloatArray, here: FloatArray, terms: FloatArray) -> float:
    """Write the landscape at `place` (D,) into `here` (2 D + 2, D); return ln p.

    A row of `terms` is a component's log, its share, L^-1 (x - mu), and its pull; the components that count come first.
    """
    d, top, total, count = len(axes), -np.inf, 0.0, 0
    for k in range(len(components)):
        square = 0.0
        for i in range(d):
            white = 0.0
            for j in range(i + 1):
                white += components[k, 1 + i, j] * (place[j] - components[k, 0, j])
            terms[k, 2 + i] = white
            square += white * white
        log = components[k, 2 * d + 1, 0] - 0.5 * square
        terms[k, 0] = log
        if log > top:
            top = log
    for i in range(d):
        for j in range(i + 1):
            here[1 + i, j] = 0.0
    # Otherwise the place is so far out that every density underflows.
    if top > -np.inf:
        for k in range(len(components)):
            # `>=` instead of `>`, because far out, NEGLIGIBLE is below the last digit of `top`.
            if terms[k, 0] >= top - NEGLIGIBLE:
                share = math.exp(terms[k, 0] - top)
                total += share
                terms[count, 1] = share
                for i in range(d):
                    pull = 0.0
                    for j in range(i + 1):
                        here[1 + i, j] += share * components[k, 1 + d + i, j]
                    for j in range(i, d):
                        pull += components[k, 1 + j, i] * terms[k, 2 + j]
                    terms[count, 2 + d + i] = pull
                count += 1
    scale = 1.0 / total if count else 0.0
    for i in range(d):
        slope = 0.0
        for m in range(count):
            slope -= terms[m, 1] * terms[m, 2 + d + i]
        here[0, i] = slope * scale
        for m in range(count):
            terms[m, 2 + d + i] += slope * scale
    # S as a sum of squared deviations from the mean pull, so that cancellation never makes it negative.
    for i in range(d):
        for j in range(i + 1):
            spread = 0.0
            for m in range(count):
                spread += terms[m, 1] * terms[m, 2 + d + i] * terms[m, 2 + d + j]
            here[1 + i, j] = here[1 + j, i] = here[1 + i, j] * scale
            here[1 + d + i, j] = here[1 + d + j, i] = spread * scale
    log = top + math.log(total) if count else top
    here[2 * d + 1, 0] = log
    return log


@compiled
def known_at(axes: Axes, components: FloatArray, places: Points) -> FloatArray:
    """Return the landscape (n, 2 D + 2, D) at `places` (n, D), as `packed`; the last rows begin with ln p."""
    known, (terms, _) = np.empty((len(places), 2 * len(axes) + 2, len(axes))), _memory(len(components), len(axes))
    for i in range(len(places)):
        _know(axes, components, places[i], known[i], terms)
    return known


@compiled
def _log_terms(axes: Axes, components: FloatArray, places: Points, start: int, at: FloatArray, logs: FloatArray) -> int:
    """Write ln(pi_k N_k) (K, BLOCK) of a block of places from `start` on; return how many there are.

    The last block is filled up with its first place; `at` (D, BLOCK) has room for their coordinates.
    """
    mine = places[start : start + BLOCK]
    for i in range(len(axes)):
        for j in range(len(mine)):
            at[i, j] = mine[j, i]
        for j in range(len(mine), BLOCK):
            at[i, j] = mine[0, i]
    for k in range(len(logs)):
        scale = components[k, 2 * len(axes) + 1, 0]
        for j in range(BLOCK):
            square = 0.0
            for i in range(len(axes)):
                white = 0.0
                for f in range(i + 1):
                    white += components[k, 1 + i, f] * (at[f, j] - components[k, 0, f])
                square += white * white
            logs[k, j] = scale - 0.5 * square
    return len(mine)


@compiled
def log_terms_at(axes: Axes, components: FloatArray, places: Points) -> FloatArray:
    """Return ln(pi_k N_k) (n, K) at `places` (n, D)."""
    terms, at = np.empty((len(places), len(components))), np.empty((len(axes), BLOCK))
    logs = np.empty((len(components), BLOCK))
    for start in range(0, len(places), BLOCK):
        size = _log_terms(axes, components, places, start, at, logs)
        mine = terms[start : start + size]
        for j in range(size):
            for k in range(len(logs)):
                mine[j, k] = logs[k, j]
    return terms


@compiled
def log_density_at(axes: Axes, components: FloatArray, places: Points) -> FloatArray:
    """Return ln p (n,) at `places` (n, D), a block of them side by side."""
    n, n_components = len(places), len(components)
    densities, logs, at = np.empty(n), np.empty((n_components, BLOCK)), np.empty((len(axes), BLOCK))
    top, total = np.empty(BLOCK), np.empty(BLOCK)
    for start in range(0, n, BLOCK):
        size = _log_terms(axes, components, places, start, at, logs)
        top[:], total[:] = -np.inf, 0.0
        for k in range(n_components):
            for j in range(BLOCK):
                top[j] = logs[k, j] if logs[k, j] > top[j] else top[j]
        for k in range(n_components):
            for j in range(BLOCK):
                logs[k, j] -= top[j] if top[j] > -np.inf else 0.0
        exp_each(logs.reshape(-1))
        for k in range(n_components):
            for j in range(BLOCK):
                total[j] += logs[k, j]
        log_each(total)
        mine = densities[start : start + size]
        for j in range(size):
            mine[j] = top[j] + total[j]
    return densities


@compiled
def _length(axes: Axes, here: FloatArray, curved: float, vectors: FloatArray, space: FloatArray) -> float:
    """Return sqrt(v' M^-1 v) for M = R - `curved` S and v = `vectors[0]`; NaN if M is not positive definite."""
    d, squared = len(axes), 0.0
    for i in range(d):
        space[1, 0, 0, i] = vectors[0, i]
        for j in range(i + 1):
            space[0, 0, i, j] = here[1 + i, j] - curved * here[1 + d + i, j]
    # By elimination, in the lower triangle.
    for p in range(d):
        pivot = space[0, 0, p, p]
        if not pivot > 0.0:
            return np.nan
        squared += space[1, 0, 0, p] * space[1, 0, 0, p] / pivot
        for i in range(p + 1, d):
            share = space[0, 0, i, p] / pivot
            space[1, 0, 0, i] -= share * space[1, 0, 0, p]
            for j in range(p + 1, i + 1):
                space[0, 0, i, j] -= share * space[0, 0, j, p]
    return math.sqrt(squared)


@compiled
def _share(time: float, curvature: float) -> float:
    """Return (e^(h l) - 1) / l for the time h."""
    exponent = min(max(time * curvature, -700.0), 1.0)
    return min(time, 1e300) if abs(exponent) < 1e-9 else math.expm1(exponent) / curvature


@compiled
def _speed(axes: Axes, here: FloatArray) -> float:
    squared = 0.0
    for i in range(len(axes)):
        for j in range(len(axes)):
            squared += here[0, i] * here[1 + i, j] * here[0, j]
    return math.sqrt(max(squared, TINY))


@compiled
def _exact_step(axes: Axes, here: FloatArray, reach: float, move: FloatArray, space: FloatArray) -> float:
    """Write the local quadratic's flow (D,) in the time h into `move`; return h times the speed.

    In the plane a function of H needs its eigenvalues m -+ r alone:
    f(H) = (f(m + r) + f(m - r)) / 2 + (f(m + r) - f(m - r)) / (2 r) (H - m).
    """
    d, slope, speed = len(axes), here[0], _speed(axes, here)
    if d == 2:
        a, b = here[1 + d + 0, 0] - here[1 + 0, 0], here[1 + d + 0, 1] - here[1 + 0, 1]
        c = here[1 + d + 1, 1] - here[1 + 1, 1]
        middle = (a + c) / 2.0
        radius = np.hypot(a - middle, b)
        time: float = min(reach / speed, 1.0 / max(middle + radius, TINY))
        low, high = _share(time, middle - radius), _share(time, middle + radius)
        mean, rate = (low + high) / 2.0, (high - low) / max(2.0 * radius, TINY)
        move[0] = mean * slope[0] + rate * ((a - middle) * slope[0] + b * slope[1])
        move[1] = mean * slope[1] + rate * (b * slope[0] + (c - middle) * slope[1])
        return time * speed
    values = space[4].reshape(-1)[:d]
    for i in range(d):
        move[i] = 0.0
        for j in range(d):
            space[0, 0, i, j] = here[1 + d + i, j] - here[1 + i, j]
    eigen_each(space[0], space[2], values.reshape(1, d))
    time = min(reach / speed, 1.0 / max(values[d - 1], TINY))
    for axis in range(d):
        along = 0.0
        for i in range(d):
            along += space[2, 0, i, axis] * slope[i]
        along *= _share(time, values[axis])
        for i in range(d):
            move[i] += space[2, 0, i, axis] * along
    return time * speed


@compiled
def _rational_step(axes: Axes, here: FloatArray, reach: float, move: FloatArray, space: FloatArray) -> float:
    """Write `_exact_step` with 1 / (1 - z + z^2/2) for e^z: of order 2, and 0 where z is -infinity.

    That needs one linear system instead of eigenvectors: x + h (1 - z + z^2/2)^-1 (1 - z/2) grad with z = h H. It is
    for places where -log p is convex: past z = 2 it would turn back.
    """
    d, speed, squared, turned = len(axes), _speed(axes, here), 0.0, space[1, 0]
    for i in range(d):
        for j in range(d):
            turned[i, j] = here[1 + d + i, j] - here[1 + i, j]
            squared += turned[i, j] * turned[i, j]
    # By this time, the stiffest axes have long settled. Larger numbers would only lose digits.
    time = min(reach / speed, LONGEST_TIME / max(math.sqrt(squared), TINY))
    for i in range(d):
        for j in range(d):
            turned[i, j] *= time
    for i in range(d):
        right, row = here[0, i], space[0, 0, i]
        for j in range(d):
            row[j] = -turned[i, j]
            right -= 0.5 * turned[i, j] * here[0, j]
        row[i] += 1.0
        for f in range(d):
            half = 0.5 * turned[i, f]
            for j in range(d):
                row[j] += half * turned[f, j]
        move[i] = time * right
    solve_each(space[0], move.reshape(1, d, 1))
    return time * speed


@compiled
def _agreed(place: FloatArray, cells: Labels, side: int) -> int:
    """Return the label of all four cells around a place of [-1, 1]^2, or -1; cells at the edge count twice."""
    if side == 0 or not (abs(place[0]) <= 1.0 and abs(place[1]) <= 1.0):
        return -1
    column, row = int((place[0] + 1.0) * (0.5 * side) + 0.5), int((place[1] + 1.0) * (0.5 * side) + 0.5)
    west, east = max(column - 1, 0), min(column, side - 1)
    south, north = max(row - 1, 0) * side, min(row, side - 1) * side
    label = cells[south + west]
    same = cells[south + east] == label and cells[north + west] == label and cells[north + east] == label
    return int(label) if same else -1


@compiled
def _trapped(axes: Axes, place: FloatArray, log_density: float, traps: Traps) -> int:
    """Return the first trap that a place is in, or -1."""
    for k in range(len(traps.radii)):
        if log_density > traps.rims[k]:
            square = 0.0
            for i in range(len(axes)):
                white = -traps.middles[k, i]
                for j in range(len(axes)):
                    white += traps.whiteners[k, i, j] * place[j]
                square += white * white
            if square < traps.radii[k]:
                return k
    return -1


@compiled
def flow_down(
    axes: Axes, components: FloatArray, starts: Points, traps: Traps, cells: Labels, own: Labels, most: int
) -> tuple[Points, Labels, BoolArray]:
    """Follow the flow as `flow.flow` does, from `starts` (n, D) one after the other, in at most `most` steps each.

    The end of a start is certain in one of `traps` and, in the plane, where the four `cells` (g^2,) around it agree.
    Start i labels the cell `own[i]` before the next one starts, unless `own` is empty.
    """
    n, d, side = len(starts), len(axes), int(math.sqrt(len(cells)) + 0.5)
    places, labels, ended = starts.copy(), np.full(n, -1), np.zeros(n, dtype=np.bool_)
    (terms, space), here, there = _memory(len(components), d), np.empty((2 * d + 2, d)), np.empty((2 * d + 2, d))
    trial, move, miss = np.empty(d), np.empty(d), np.empty((1, d))
    for i in range(n):
        place, reach = places[i], LONGEST_REACH
        labels[i] = _agreed(place, cells, side)
        if labels[i] < 0:
            log_density = _know(axes, components, place, here, terms)
            length = _length(axes, here, 0.0, here, space)
            for _ in range(most):
                if labels[i] < 0:
                    labels[i] = _trapped(axes, place, log_density, traps)
                # |s|_H of Newton's step is at least the unit step's length, which settles most places.
                ended[i] = length < CLOSE and math.isfinite(log_density)
                ended[i] = ended[i] and _length(axes, here, 1.0, here, space) < CLOSE
                if labels[i] >= 0 or ended[i]:
                    break
                if d > FEW_AXES and not math.isnan(_length(axes, here, 1.0 / CONVEX, here, space)):
                    used = _rational_step(axes, here, reach, move, space)
                else:
                    used = _exact_step(axes, here, reach, move, space)
                for j in range(d):
                    trial[j] = place[j] + move[j]
                ahead = _know(axes, components, trial, there, terms)
                # The gradient minus its prediction.
                for j in range(d):
                    miss[0, j] = there[0, j] - here[0, j]
                    for f in range(d):
                        miss[0, j] -= (here[1 + d + j, f] - here[1 + j, f]) * move[f]
                error = _length(axes, there, 0.0, miss, space) / min(max(RELATIVE * length, LEAST), TOLERANCE)
                good = error <= 1.0 and ahead >= log_density - 1e-9
                if good:
                    for j in range(d):
                        place[j] = trial[j]
                    here, there, log_density = there, here, ahead
                    length = _length(axes, here, 0.0, here, space)
                    labels[i] = _agreed(place, cells, side)
                # The step is of order 2.
                growth = min(max(0.8 / math.sqrt(max(error, 1e-6)), 0.25), 3.0 if good else 0.5)
                reach = min(used * growth, LONGEST_REACH)
        if len(own):
            cells[own[i]] = labels[i]
    return places, labels, ended


@compiled
def flow_lines_from(
    axes: Axes, components: FloatArray, starts: Points, n_steps: int, reach: float, end: float
) -> FloatArray:
    """Return the lines (m, n_steps, D) of `flow.flow_lines` from `starts` (m, D)."""
    d = len(axes)
    (terms, space), here = _memory(len(components), d), np.empty((2 * d + 2, d))
    lines = np.full((len(starts), n_steps, d), np.nan)
    place, move = np.empty(d), np.empty(d)
    for m in range(len(starts)):
        place[:] = starts[m]
        for step in range(n_steps):
            lines[m, step] = place
            log_density = _know(axes, components, place, here, terms)
            # A tenth of the distance, for places far away.
            far = 0.1 * math.sqrt(max(-2.0 * log_density, 0.0))
            _exact_step(axes, here, max(reach, far), move, space)
            squared = 0.0
            for i in range(d):
                for j in range(d):
                    squared += move[i] * here[1 + i, j] * move[j]
            if not math.sqrt(squared) > end:
                break
            place += move
    return lines


@compiled
def distinct_at(axes: Axes, components: FloatArray, points: Points, radius: float, reach: float) -> Labels:
    """Return the groups (n,) of `flow.distinct`. Each unnamed point names all unnamed points near it.

    No two points farther apart than `reach` are within `radius` standard deviations.
    """
    n, d, count = len(points), len(axes), 0
    (terms, _), here = _memory(len(components), d), np.empty((2 * d + 2, d))
    names, gap = np.full(n, -1), np.empty(d)
    for i in range(n):
        if names[i] >= 0:
            continue
        names[i] = count
        _know(axes, components, points[i], here, terms)
        for j in range(i + 1, n):
            far, squared = 0.0, 0.0
            for f in range(d):
                gap[f] = points[j, f] - points[i, f]
                far += gap[f] * gap[f]
            if names[j] >= 0 or not far <= reach * reach * (1.0 + 1e-9):
                continue
            for f in range(d):
                for e in range(d):
                    squared += gap[f] * here[1 + f, e] * gap[e]
            if squared < radius * radius:
                names[j] = count
        count += 1
    return names


@compiled
def _principal(axes: Axes, here: FloatArray, space: FloatArray) -> None:
    """Write 1 - s_i, descending, into the first D of `space[4]`, v_i into columns of `space[2]`; see `flow.Axes`."""
    d, basis, curvatures = len(axes), space[2, 0], space[4].reshape(-1)[: len(axes)]
    if d == 2:
        # L^-1 with R = L L', and S in that basis.
        first = 1.0 / np.sqrt(here[1, 0])
        below = here[1, 1] * first
        second = 1.0 / np.sqrt(here[2, 1] - below * below)
        mixed = -below * first * second
        s11, s12, s22 = here[3, 0], here[3, 1], here[4, 1]
        a = first * first * s11
        b = first * (mixed * s11 + second * s12)
        c = mixed * (mixed * s11 + 2.0 * second * s12) + second * second * s22
        # Angle of the larger eigenvalue's axis.
        angle = 0.5 * math.atan2(2.0 * b, a - c)
        middle, radius, cos, sin = (a + c) / 2.0, np.hypot((a - c) / 2.0, b), math.cos(angle), math.sin(angle)
        curvatures[0], curvatures[1] = 1.0 - middle + radius, 1.0 - middle - radius
        basis[0, 0], basis[1, 0] = mixed * cos - first * sin, second * cos
        basis[0, 1], basis[1, 1] = first * cos + mixed * sin, second * sin
        return
    matrix, inverse = space[0, 0], space[1, 0]
    for i in range(d):
        for j in range(d):
            matrix[i, j], inverse[i, j], space[3, 0, i, j] = here[1 + i, j], 0.0, here[1 + d + i, j]
    cholesky_each(space[0])
    inverse_each(space[0], space[1])
    _times(inverse, space[3, 0], False, basis)
    _times(basis, inverse, True, matrix)
    eigen_each(space[0], space[2], curvatures.reshape(1, d))
    for i in range(d):
        curvatures[i] = 1.0 - curvatures[i]
        for j in range(d):
            matrix[i, j] = inverse[j, i]
    _times(matrix, basis, False, inverse)
    basis[:] = inverse


@compiled
def _times(one: FloatArray, other: FloatArray, turned: bool, out: FloatArray) -> None:
    """Write one @ other (D, D), or one @ other', into `out`."""
    for i in range(len(out)):
        for j in range(len(out)):
            entry = 0.0
            for f in range(len(out)):
                entry += one[i, f] * (other[j, f] if turned else other[f, j])
            out[i, j] = entry


@compiled
def axes_at(axes: Axes, components: FloatArray, places: Points) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return slopes (n, D), curvatures (n, D) and bases (n, D, D) of `flow.Axes` at `places` (n, D)."""
    n, d = len(places), len(axes)
    (terms, space), here = _memory(len(components), d), np.empty((2 * d + 2, d))
    slopes, curvatures, bases = np.zeros((n, d)), np.empty((n, d)), np.empty((n, d, d))
    for m in range(n):
        _know(axes, components, places[m], here, terms)
        _principal(axes, here, space)
        for i in range(d):
            curvatures[m, i] = space[4, 0, 0, i]
            for j in range(d):
                bases[m, j, i] = space[2, 0, j, i]
                slopes[m, i] += here[0, j] * bases[m, j, i]
    return slopes, curvatures, bases


@compiled
def climb_steps(
    axes: Axes, components: FloatArray, places: Points, lost: Labels, walks: Labels
) -> tuple[FloatArray, Labels]:
    """Return the step (n, D) of each of `walks` (n,) at `places` (n, D), zero where it ends, and its state (n,).

    Its row of `lost` counts its steps since -log p last bent downwards along some axis, and is updated.
    """
    n, d = len(places), len(axes)
    (terms, space), here = _memory(len(components), d), np.empty((2 * d + 2, d))
    steps, states = np.zeros((n, d)), np.full(n, WALKING)
    shares = np.empty(d)
    for m in range(n):
        _know(axes, components, places[m], here, terms)
        _principal(axes, here, space)
        curvatures, falling, squared = space[4].reshape(-1)[:d], 0, 0.0
        for i in range(d):
            slope = 0.0
            for j in range(d):
                slope += here[0, j] * space[2, 0, j, i]
            shares[i] = slope / max(abs(curvatures[i]), FLAT)
            falling += curvatures[i] < 0.0
            squared += shares[i] * shares[i]
        # Up along the softest axis, even where it still curves upwards.
        shares[d - 1] *= -1.0
        length = math.sqrt(squared)
        lost[walks[m]] = 0 if falling else lost[walks[m]] + 1
        if falling == 1 and length < CLOSE:
            states[m] = ARRIVED
            continue
        share, finite = LONGEST_STEP / max(length, LONGEST_STEP), True
        for i in range(d):
            step = 0.0
            for j in range(d):
                step += space[2, 0, i, j] * (share * shares[j])
            steps[m, i] = step
            finite = finite and math.isfinite(step)
        if not finite or lost[walks[m]] >= LOST:
            states[m] = STUCK
            steps[m, :] = 0.0
    return steps, states
