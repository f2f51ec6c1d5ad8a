"""Redraw the noise of a record until it lands in the public box: van der Ende, algorithm 1, for all records at once."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpviz.core import Box, FloatArray, Points, as_points
from dpviz.mechanisms.laplace_density import corner_probability
from dpviz.mechanisms.nd_laplace import nd_laplace_noise

LEAST_INSIDE = 0.01  # public worst case below which redrawing is refused: 100 draws a record; ours
TOGETHER = 1 << 16  # records drawn again together: fewer rounds than of smaller blocks, still in the cache; ours
FEW = 512  # draws of a round that cost little more than the calls themselves
MOST_DRAWS = 64  # of one record in a round


@dataclass(frozen=True, slots=True, eq=False)
class Redrawn:
    """The draws that landed inside, and what it took. All but `points` is for each record's owner only."""

    points: Points  # (n, d) inside the box
    radius: FloatArray  # (n,)
    direction: FloatArray  # (n, d)
    n_rejected: NDArray[np.intp]  # (n,) draws that landed outside
    rejected_records: NDArray[np.intp]  # (m,) whose the kept rejected draws are
    rejected_points: Points  # (m, d) at most `keep` of each record, in the order they were drawn


def redraw_in_box(points: ArrayLike, box: Box, *, epsilon: float, keep: int = 0, rng: np.random.Generator) -> Redrawn:
    """Add `nd_laplace` noise to `points` (n, d), clipped into `box`, again and again until each lands in the box.

    There is no last resort after some number of tries: clamping the K-th draw costs K epsilon on the wall. Instead the
    public P(inside | corner) is computed first. Each row is 2 epsilon-geo-indistinguishable (`redraw_loss`: what it
    comes to in this box). How often a record was drawn is a function of x and must not be released.
    Raises ValueError where P(inside | corner) is below LEAST_INSIDE, and as `nd_laplace` does.
    """
    exact = box.clip(as_points(points, n_features=box.d))
    check_redraw(box, epsilon=epsilon)
    noise = nd_laplace_noise(len(exact), box.d, epsilon=epsilon, rng=rng)
    released = exact + noise.displacement
    n_rejected = np.zeros(len(exact), dtype=np.intp)
    kept: list[tuple[NDArray[np.intp], Points]] = []
    for first in range(0, len(exact), TOGETHER):
        rows = slice(first, first + TOGETHER)
        left = first + np.flatnonzero(~_inside(released[rows], box))
        if keep:
            kept.append((left, released[left]))
        n_rejected[left] = 1
        while len(left):
            # The last few draw several times at once, and each takes its first draw inside: the same law in fewer
            # rounds.
            times = min(MOST_DRAWS, max(1, FEW // len(left)))
            again = nd_laplace_noise(len(left) * times, box.d, epsilon=epsilon, rng=rng)
            drawn = again.displacement
            drawn += exact[np.repeat(left, times)] if times > 1 else exact[left]
            inside = _inside(drawn, box).reshape(len(left), times)
            draw = inside.argmax(axis=1)
            landed = inside[np.arange(len(left)), draw]
            done, pick = left[landed], np.flatnonzero(landed) * times + draw[landed]
            released[done] = drawn[pick]
            noise.radius[done], noise.direction[done] = again.radius[pick], again.direction[pick]
            misses = np.where(landed, draw, times)
            if keep:
                ordinal = np.arange(times)
                shown = (ordinal < misses[:, None]) & (ordinal + n_rejected[left, None] < keep)
                kept.append((np.repeat(left, shown.sum(axis=1)), drawn[shown.ravel()]))
            n_rejected[left] += misses
            left = left[~landed]
    records = np.concatenate([owner for owner, _ in kept]) if kept else np.zeros(0, dtype=np.intp)
    places = np.concatenate([place for _, place in kept]) if kept else np.zeros((0, box.d))
    return Redrawn(released, noise.radius, noise.direction, n_rejected, records, places)


def check_redraw(box: Box, *, epsilon: float) -> float:
    """Return the public P(inside | corner); raise ValueError where it is below LEAST_INSIDE."""
    worst = corner_probability(box, epsilon=epsilon)
    if worst < LEAST_INSIDE:
        raise ValueError(
            f"A record in a corner of the box would land inside with probability {worst:.2g} only, but redrawing needs "
            f"{LEAST_INSIDE:g}: it would be drawn {1 / max(worst, 1e-300):.3g} times. Use domain='clamp', which also "
            "keeps epsilon, or take fewer features, a larger epsilon or a wider box."
        )
    return worst


def _inside(drawn: FloatArray, box: Box) -> NDArray[np.bool_]:
    """Return which draws (m, d) lie in the box, (m,). Axis by axis: no temporary of d columns."""
    inside = np.ones(len(drawn), dtype=np.bool_)
    for axis in range(box.d):
        column = drawn[:, axis]
        inside &= (column >= box.low[axis]) & (column <= box.high[axis])
    return inside
