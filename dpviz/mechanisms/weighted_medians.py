"""Geometric medians of one set of places under many weights: Newton's method, for the table of `remap`.

f(y) = sum_j w_j sqrt(|y - p_j|^2 + s^2) with s = SMOOTH of the extent, which moves a median by no more than s. f is
strictly convex and smooth, so Newton's steps end in a few rounds where Weiszfeld's iteration takes a hundred. Where a
place holds more weight than the pull of the others, |R| < w (Vardi & Zhang 2000), the median is there up to s, and is
known at once. A step that does not lower f is cut to a quarter.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from dpviz.core import FloatArray, algebra

SMOOTH = 1e-6  # of the places' extent
TOLERANCE = 1e-9  # of the extent: a Newton step this short is the last
ROUNDS = 60  # ours; all but a few medians are there after 6
CAPTURE = 0.99  # of the weight of a place: a pull that strong or weaker is sure to be held; ours
NEAR = 1.5  # of the weight of a place: a pull up to that strong leaves a bend to go round; ours
LOOKS = (0, 3, 6, 10, 15, 20, 30, 40)  # rounds that begin with a look at the nearest place; ours
BLOCK = 32  # medians found together, so that their weights and distances to 1,024 places stay in the cache; ours


def weighted_medians(weights: FloatArray, places: FloatArray, start: FloatArray) -> FloatArray:
    """Return argmin_y f(y) (r, d) for each row of `weights` (r, m) >= 0, not all 0, over `places` (m, d).

    `start` (r, d) is where the search begins. On a line the weighted median is returned, the lower of two.
    """
    if places.shape[1] == 1:
        order = np.argsort(places[:, 0])
        reached = np.cumsum(weights[:, order], axis=1)
        return np.asarray(places[order[(reached >= reached[:, -1:] / 2.0).argmax(axis=1)]])
    middle, extent = places.mean(axis=0), float(np.ptp(places, axis=0).max()) or 1.0
    unit, begin = (places - middle) / extent, (start - middle) / extent
    tree, found = cKDTree(unit), np.empty_like(begin)
    for first in range(0, len(weights), BLOCK):
        block = slice(first, first + BLOCK)
        some = weights[block]
        found[block] = _descended(some / some.sum(axis=1, keepdims=True), unit, tree, begin[block])
    return np.asarray(found * extent + middle)


def _descended(weights: FloatArray, places: FloatArray, tree: cKDTree, start: FloatArray) -> FloatArray:
    """Return `weighted_medians` of places of extent 1, in `tree` too, and rows of weights that add up to 1."""
    done, moving, current = start.copy(), np.arange(len(start)), start.copy()
    # The last accepted place, the value there, the step from there, and the part of it that is tried.
    kept, best, step, part = start.copy(), np.full(len(start), np.inf), np.zeros_like(start), np.ones(len(start))
    for turn in range(ROUNDS):
        if turn in LOOKS:
            held, there = _held(weights, places, tree, current)
            current[held], best[held] = there[held], np.inf
        value, slope, bend = _expanded(weights, places, current)
        better = value <= best * (1.0 + 1e-14)
        newton = -algebra.solved(bend, slope[..., None])[..., 0]
        step, kept = np.where(better[:, None], newton, step), np.where(better[:, None], current, kept)
        best, part = np.where(better, value, best), np.where(better, 1.0, part / 4.0)
        current = kept + part[:, None] * step
        short = np.abs(step).max(axis=1) * part <= TOLERANCE
        done[moving] = np.where(short[:, None], current, kept)
        if short.any():
            weights, moving = weights[~short], moving[~short]
            current, kept, best, step, part = (values[~short] for values in (current, kept, best, step, part))
        if not len(moving):
            break
    return done


def _expanded(
    weights: FloatArray, places: FloatArray, current: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return f (r,), its gradient (r, d) and its Hessian (r, d, d) at `current` (r, d)."""
    d = places.shape[1]
    gaps = [current[:, axis, None] - places[:, axis] for axis in range(d)]  # each (r, m)
    lengths = np.full_like(gaps[0], SMOOTH**2)
    for gap in gaps:
        lengths += gap * gap
    np.sqrt(lengths, out=lengths)
    value = np.einsum("ij,ij->i", weights, lengths)
    near = np.reciprocal(lengths, out=lengths)
    pulls = weights * near
    total = pulls.sum(axis=1)
    slope, bend = np.empty((len(current), d)), np.empty((len(current), d, d))
    for axis, gap in enumerate(gaps):
        slope[:, axis] = np.einsum("ij,ij->i", pulls, gap)
        gap *= near
    for one in range(d):
        pulled = pulls * gaps[one]
        for other in range(one, d):
            bend[:, one, other] = bend[:, other, one] = -np.einsum("ij,ij->i", pulled, gaps[other])
        bend[:, one, one] += total * (1.0 + 1e-12)  # a trace more: places on a line leave nothing across it
    return value, slope, bend


def _held(
    weights: FloatArray, places: FloatArray, tree: cKDTree, current: FloatArray
) -> tuple[NDArray[np.bool_], FloatArray]:
    """Return which rows are pulled at by the place nearest to `current` (r, d), and where to go on for them, (r, d).

    Within s of the place the others pull with a force R that hardly changes, and w u / sqrt(u^2 + s^2) = |R| gives
    u = s |R| / sqrt(w^2 - |R|^2). Where |R| is as large as w, f has a bend there that Newton's steps leap over from
    every side but one, or leave in many small steps: they go on from where the others' own bend h, along R, would stop
    R - w, at u = (|R| - w) / h.
    """
    here = places[tree.query(current)[1]]
    gaps = [places[:, axis] - here[:, axis, None] for axis in range(places.shape[1])]
    squares = gaps[0] * gaps[0]
    for gap in gaps[1:]:
        squares += gap * gap
    same = squares == 0.0  # the place itself, and its copies
    mass = np.einsum("ij,ij->i", weights, same)
    squares[same] = np.inf
    pulls = weights / np.sqrt(squares, out=squares)
    force = np.stack([np.einsum("ij,ij->i", pulls, gap) for gap in gaps], axis=1)
    strength = np.sqrt((force**2).sum(axis=1))
    near, caught = strength < NEAR * mass, strength < CAPTURE * mass
    reach = np.where(caught, SMOOTH / np.sqrt(np.where(caught, mass**2 - strength**2, 1.0)), 0.0)
    for row in np.flatnonzero(near & ~caught):
        along = force[row] / strength[row]
        turned = sum(gap[row] * part for gap, part in zip(gaps, along, strict=True))
        bend = float((pulls[row] * (1.0 - turned * turned / squares[row] ** 2)).sum())  # squares hold lengths by now
        reach[row] = max(SMOOTH, (strength[row] - mass[row]) / bend) / strength[row]
    return near, here + reach[:, None] * force
