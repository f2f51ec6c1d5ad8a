"""Public start: centers spread in the unit box by sphere packing (Su et al. 2016, section 3.1)."""

import hashlib
from collections import OrderedDict

import numpy as np

from dpviz.core import Centers, FloatArray

ATTEMPTS = 100  # candidates a center may use up before a radius counts as too large (Su et al.)
HALVINGS = 12  # of the search for the radius; 0.5 / 2^12 is finer than a screen's pixel
FEW = 16  # candidates looked at before the others
MOST_STARTS = 64  # that are remembered

# Packings by a digest of what they were made from: the search is a pure function of its candidates, costs more than a
# run of Lloyd's steps, and a picture whose budget moves asks for the same one again. A digest keeps no seed.
_remembered: OrderedDict[bytes, Centers] = OrderedDict()


def sphere_packing(n_clusters: int, d: int, *, rng: np.random.Generator) -> Centers:
    """Return k centers (k, d) in [0, 1]^d, as far from each other and from the walls as a random search finds.

    Each is at least r from every wall and 2r from every other center; r is the largest radius that bisection meets.
    No record is looked at: the result is public.
    """
    # The same candidates serve every radius: a bounded cost. A greedy search can miss a radius that another order of
    # centers would reach, so the result is a good start and not an optimum.
    candidates = rng.random((n_clusters, ATTEMPTS, d))
    digest = hashlib.sha256(repr(candidates.shape).encode() + candidates.tobytes()).digest()
    found = _remembered.get(digest)
    if found is None:
        found = _packed(candidates)
        _remembered[digest] = found
        while len(_remembered) > MOST_STARTS:
            _remembered.popitem(last=False)
    return found.copy()


def _packed(candidates: np.ndarray[tuple[int, int, int], np.dtype[np.float64]]) -> Centers:
    """Return the best packing (k, d) that a bisection over radii finds among `candidates` (k, ATTEMPTS, d)."""
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
        # Most often one of the first few is free: the others are looked at only where none is.
        place = _first_free(offered[:FEW], placed[:i], radius)
        if place is None:
            place = _first_free(offered[FEW:], placed[:i], radius)
        if place is None:
            return None
        placed[i] = place
    return placed


def _first_free(offered: FloatArray, placed: Centers, radius: float) -> FloatArray | None:
    """Return the first of `offered` (m, d), moved inside the walls, that is 2 radius from all `placed` (i, d)."""
    if not len(placed):
        return np.asarray(radius + offered[0] * (1.0 - 2.0 * radius))  # nothing to keep away from
    inside = radius + offered * (1.0 - 2.0 * radius)  # at least `radius` from the walls
    gaps = inside[:, None, :] - placed
    free = (np.sqrt((gaps * gaps).sum(axis=2)) >= 2.0 * radius).all(axis=1)
    first = int(free.argmax())
    return inside[first] if free[first] else None
