"""Public start: centers spread in the unit box by sphere packing (Su et al. 2016, section 3.1)."""

import numpy as np

from dpviz.core import Centers

ATTEMPTS = 100  # candidates a center may use up before a radius counts as too large (Su et al.)
HALVINGS = 12  # of the search for the radius; 0.5 / 2^12 is finer than a screen's pixel


def sphere_packing(n_clusters: int, d: int, *, rng: np.random.Generator) -> Centers:
    """Return k centers (k, d) in [0, 1]^d, as far from each other and from the walls as a random search finds.

    Each is at least r from every wall and 2r from every other center; r is the largest radius that bisection meets.
    No record is looked at: the result is public.
    """
    # The same candidates serve every radius: a bounded cost. A greedy search can miss a radius that another order of
    # centers would reach, so the result is a good start and not an optimum.
    candidates = rng.random((n_clusters, ATTEMPTS, d))
    low, high = 0.0, 0.5
    best = _pack(candidates, low)
    for _ in range(HALVINGS):
        radius = 0.5 * (low + high)
        found = _pack(candidates, radius)
        if found is None:
            high = radius
        else:
            low, best = radius, found
    if best is None:  # radius 0 refuses nothing
        raise AssertionError("sphere packing refused radius 0")
    return best


def _pack(candidates: np.ndarray[tuple[int, int, int], np.dtype[np.float64]], radius: float) -> Centers | None:
    """Place one center after the other at its first candidate that keeps the distance; None if one finds no place."""
    placed = np.empty((candidates.shape[0], candidates.shape[2]))
    for i, offered in enumerate(candidates):
        inside = radius + offered * (1.0 - 2.0 * radius)  # (ATTEMPTS, d), at least `radius` from the walls
        gaps = np.linalg.norm(inside[:, None, :] - placed[None, :i, :], axis=2)  # (ATTEMPTS, i)
        free = (gaps >= 2.0 * radius).all(axis=1)
        if not free.any():
            return None
        placed[i] = inside[int(np.argmax(free))]
    return placed
