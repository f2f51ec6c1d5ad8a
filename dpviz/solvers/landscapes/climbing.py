"""Walks to index-one points of a mixture's landscape: uphill along the softest axis, downhill along the others.

Close to an index-one point that is Newton's method on grad f = 0 (Byun, Choi & Lee, algorithm 2, line 14); far from one
it is the walk of Cerjan & Miller (1981). Many walks end at one point: those that meet go on as one.
"""

import functools

import numpy as np

from dpviz.core import FloatArray, Labels, Points, frozen
from dpviz.solvers.landscapes.descent import CONVERGED, axes, solved, unit_lengths
from dpviz.solvers.landscapes.flow import FLAT
from dpviz.solvers.landscapes.mixture import FEW_AXES, Local, Mixture
from dpviz.solvers.landscapes.plane import known_at
from dpviz.solvers.landscapes.plane_climb import ARRIVED, STUCK, WALKING, climb_steps
from dpviz.solvers.landscapes.step_rules import CLOSE, BoolArray

CLIMB_STEPS = 32  # most steps of one walk; ours
MEETINGS = (3, 5, 7, 10, 14, 20)  # steps after which walks that have met go on as one; ours
MEETING = 0.03  # standard deviations within which walks have met; ours
LOST = 6  # steps in a row without a falling axis after which a walk is given up: it circles a minimum; ours
LONGEST_STEP = 0.7  # standard deviations a walk moves at once; ours
WALKS_PER_STRING = 2  # of a string's iterates, those where the landscape is flattest walk; half beyond FEW_AXES; ours


def climb(mixture: Mixture, starts: Points) -> tuple[Points, BoolArray, Labels]:
    """Walk from `starts` (m, D) towards index-one points.

    Return the ends (m, D), which ones are critical points (m,), and with which start's walk each went on (m,).
    """
    places, near = np.array(starts), np.zeros(len(starts), dtype=bool)
    follows = np.arange(len(starts))
    active = np.arange(len(starts))
    lost = np.zeros(len(starts), dtype=np.intp)  # steps since the landscape last bent downwards along some axis
    for count in range(CLIMB_STEPS):
        if not len(active):
            break
        if count in MEETINGS:
            active = active[_met(places[active], mixture.quick_at(places[active]).metric, active, follows)]
        at = places[active]
        if mixture.plane is None:
            steps, became = _steps(mixture.quick_at(at), lost, active)
        else:
            steps, became = climb_steps(known_at(mixture.plane, at), lost, active, FLAT, CLOSE, LONGEST_STEP, LOST)
        near[active[became == ARRIVED]] = True
        moving = became == WALKING
        active = active[moving]
        places[active] += steps[moving]
    active = np.flatnonzero(near)
    active = active[_met(places[active], mixture.quick_at(places[active]).metric, active, follows)]
    found = np.zeros(len(starts), dtype=bool)
    found[active] = _polish(mixture, places, active)
    return places[follows], found[follows], follows


def _steps(local: Local, lost: Labels, active: Labels) -> tuple[FloatArray, Labels]:
    """Return the step (w, D) of each of the `active` walks (w,), and what it is now (w,); count in `lost` (m,)."""
    here = axes(local)
    shares = 1.0 / np.maximum(np.abs(here.curvatures), FLAT)
    falling = (here.curvatures < 0).sum(axis=1)
    shares[:, -1] *= -1.0  # up along the softest axis, also where it still curves upwards
    moves = shares * here.slopes
    length = np.sqrt(np.vecdot(moves, moves))
    arrived = (falling == 1) & (length < CLOSE)
    shares *= np.minimum(1.0, LONGEST_STEP / np.maximum(length, LONGEST_STEP))[:, None]
    steps = here.step(shares)
    lost[active] = np.where(falling > 0, 0, lost[active] + 1)
    walking = np.isfinite(steps).all(axis=1) & (lost[active] < LOST)
    return steps, np.where(arrived, ARRIVED, np.where(walking, WALKING, STUCK))


def _met(at: Points, metric: FloatArray, walks: Labels, follows: Labels) -> Labels:
    """Let `walks` (w,) that have met follow the first of them, in `follows` (m,); return the first ones' rows.

    They are `at` (w, D), with R (w, D, D) there. Two have met that are in one cell of a lattice, so fine that they are
    within MEETING: R's trace bounds its largest eigenvalue. Others within MEETING stand on either side of a cell's
    border: they meet later, or at the end.
    """
    d = at.shape[1]
    finest = np.ceil(np.frexp(np.einsum("nii->n", metric))[1] / 2.0)  # R's trace is below 4^finest
    cells = np.floor(at * (np.sqrt(d) / MEETING * np.ldexp(1.0, finest.astype(np.intc)))[:, None])
    numbers = np.fmod(np.concatenate([cells, finest[:, None]], axis=1), 2.0**62).astype(np.int64)
    keys = (numbers * _odd_numbers(d + 1)).sum(axis=1)  # wraps around, as it may
    _, firsts, names = np.unique(keys, return_index=True, return_inverse=True)
    heir = np.arange(len(follows))
    heir[walks] = walks[firsts][names]
    follows[:] = heir[follows]
    return np.asarray(np.sort(firsts))


@functools.lru_cache(maxsize=16)
def _odd_numbers(count: int) -> Labels:
    """Return numbers (count,) of 64 bits that cells are told apart by: drawn, a number of the method."""
    drawn = np.random.default_rng(0).integers(2**62, size=count, dtype=np.int64)
    return frozen(2 * drawn + 1)


def _polish(mixture: Mixture, places: Points, rows: Labels) -> BoolArray:
    """Move `places[rows]` to where grad f = 0 by Newton's method (line 14); say which ones got there."""
    found, active = np.zeros(len(rows), dtype=bool), np.arange(len(rows))
    for _ in range(CLIMB_STEPS):
        if not len(active):
            break
        here = mixture.at(places[rows[active]])
        done = unit_lengths(here) < CONVERGED
        found[active[done]] = True
        active = active[~done]
        bent = -here.hessian[~done]
        with np.errstate(divide="ignore", invalid="ignore"):
            step = solved(bent, here.gradient[~done])
            flat = ~np.isfinite(step).all(axis=1)  # exactly flat: there is no Newton step
            step[flat] = solved(bent[flat] + FLAT * np.eye(mixture.d), here.gradient[~done][flat])
        moving = np.isfinite(step).all(axis=1)
        places[rows[active[moving]]] += step[moving]
        active = active[moving]
    return found


def walking_from(mixture: Mixture, starts: Points, strings: Labels) -> Labels:
    """Return the starts that walk: of each string the few flattest, and all that are on none (-1)."""
    if not len(starts):
        return np.empty(0, dtype=np.intp)
    order = np.lexsort((unit_lengths(mixture.quick_at(starts)), strings))
    firsts = np.searchsorted(strings[order], strings[order])  # where each start's string begins
    walks = WALKS_PER_STRING if mixture.d <= FEW_AXES else WALKS_PER_STRING // 2
    kept = (np.arange(len(order)) - firsts < walks) | (strings[order] < 0)
    return np.sort(order[kept])
