"""Redraw the noise of a record until it lands in the public box: van der Ende, algorithm 1, for all records at once."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpviz.core import Box, Confidential, FloatArray, Points, as_points, squared_norms
from dpviz.mechanisms.laplace_density import corner_probability
from dpviz.mechanisms.nd_laplace import PolarNoise, nd_laplace

LEAST_INSIDE = 0.01  # public worst case below which redrawing is refused: 100 draws a record; ours
TOGETHER = 1 << 16  # records drawn again together: fewer rounds than of smaller blocks, still in the cache; ours
FEW = 64  # records that wait for those of the next block; a round of them alone is mostly calls; ours
MOST_DRAWS = 16  # of each of the last few in a round; ours


@dataclass(frozen=True, slots=True, eq=False)
class Redrawn(Confidential):
    """The draws that landed inside, and what it took. All but `points` is for each record's owner only."""

    points: Points  # (n, d) inside the box
    start: Points  # (n, d) what was moved: the records, clipped into the box
    n_rejected: NDArray[np.intp]  # (n,) draws that landed outside
    rejected_records: NDArray[np.intp]  # (m,) whose the kept rejected draws are
    rejected_points: Points  # (m, d) at most `keep` of each record, in the order they were drawn

    @property
    def noise(self) -> PolarNoise:
        """The displacements in polar form; the direction of a record that stayed where it was is 0."""
        displacement = self.points - self.start
        radius = np.sqrt(squared_norms(displacement))
        displacement /= np.where(radius == 0.0, 1.0, radius)[:, None]
        return PolarNoise(radius, displacement)


def redraw_in_box(points: ArrayLike, box: Box, *, epsilon: float, keep: int = 0, rng: np.random.Generator) -> Redrawn:
    """Add `nd_laplace` noise to `points` (n, d), clipped into `box`, again and again until each lands in the box.

    There is no last resort after some number of tries: clamping the K-th draw costs K epsilon on the wall. Instead the
    public P(inside | corner) is computed first. Each row is 2 epsilon-geo-indistinguishable (`redraw_loss`: what it
    comes to in this box). How often a record was drawn is a function of x and must not be released.
    Raises ValueError where P(inside | corner) is below LEAST_INSIDE, and as `nd_laplace` does.
    """
    exact = box.clip(as_points(points, n_features=box.d))
    check_redraw(box, epsilon=epsilon)
    released = np.empty_like(exact)
    n_rejected = np.zeros(len(exact), dtype=np.intp)
    kept: list[tuple[NDArray[np.intp], Points]] = []
    left = np.zeros(0, dtype=np.intp)
    for first in range(0, len(exact), TOGETHER):
        rows = slice(first, first + TOGETHER)
        released[rows] = nd_laplace(exact[rows], epsilon=epsilon, rng=rng)
        outside = first + np.flatnonzero(~_inside(released[rows], box))
        n_rejected[outside] = 1
        left = np.concatenate([left, outside])
        if keep:
            kept.append((outside, released[outside]))
        while len(left) > FEW:
            drawn = nd_laplace(exact.take(left, axis=0), epsilon=epsilon, rng=rng)
            released[left] = drawn  # the outside ones too: they are overwritten in a later round
            again = np.flatnonzero(~_inside(drawn, box))
            left = left.take(again)
            if keep:
                shown = n_rejected[left] < keep
                kept.append((left[shown], drawn[again[shown]]))
            n_rejected[left] += 1
    while len(left):  # the last few draw several times at once; each takes its first draw inside
        drawn = nd_laplace(np.repeat(exact[left], MOST_DRAWS, axis=0), epsilon=epsilon, rng=rng)
        inside = _inside(drawn, box).reshape(len(left), MOST_DRAWS)
        landed = inside.any(axis=1)
        misses = np.where(landed, inside.argmax(axis=1), MOST_DRAWS)
        places = drawn.reshape(len(left), MOST_DRAWS, box.d)
        released[left[landed]] = places[landed, misses[landed]]
        if keep:
            ordinal = np.arange(MOST_DRAWS)
            shown = (ordinal < misses[:, None]) & (ordinal + n_rejected[left, None] < keep)
            kept.append((np.repeat(left, shown.sum(axis=1)), places[shown]))
        n_rejected[left] += misses
        left = left[~landed]
    records = np.concatenate([owner for owner, _ in kept]) if kept else np.zeros(0, dtype=np.intp)
    shown_places = np.concatenate([place for _, place in kept]) if kept else np.zeros((0, box.d))
    return Redrawn(released, exact, n_rejected, records, shown_places)


def check_redraw(box: Box, *, epsilon: float) -> float:
    """Return the public P(inside | corner); raise ValueError where it is below LEAST_INSIDE."""
    worst = corner_probability(box, epsilon=epsilon)
    if worst < LEAST_INSIDE:
        raise ValueError(
            f"A record in a corner of the box would land inside with probability {worst:.2g} only, but redrawing needs "
            f"{LEAST_INSIDE:g}: it would be drawn {1 / max(worst, 1e-300):.3g} times. Clamp to the walls "
            "instead (domain='clamp'), which also keeps epsilon, or take fewer features, a larger epsilon or a wider "
            "box."
        )
    return worst


def _inside(drawn: FloatArray, box: Box) -> NDArray[np.bool_]:
    """Return which draws (m, d) lie in the box, (m,). Axis by axis: no temporary of d columns."""
    inside = np.ones(len(drawn), dtype=np.bool_)
    for axis in range(box.d):
        column = drawn[:, axis]
        inside &= (column >= box.low[axis]) & (column <= box.high[axis])
    return inside
