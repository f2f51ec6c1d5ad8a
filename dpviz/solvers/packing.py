"""Public starts of Lloyd-type methods: sphere packings of the unit box (Su et al. 2016, section 3.1)."""

import functools

import numpy as np

from dpviz.core import Centers, FloatArray, frozen
from dpviz.core.compiled import compiled

# Candidates that a center may use up before a radius counts as too large (Su et al.).
ATTEMPTS = 100
# Halvings in the search for the radius. 0.5 / 2^12 is finer than a screen's pixel.
HALVINGS = 12
# Public seeds of the packings that represent a choice without any record.
DATALESS_SEEDS = (0, 1, 2)


def starts_private(start: str, initial: Centers | None) -> bool:
    """Return True if a run has a private start. Given centers override it."""
    return start == "private" and initial is None


def public_start(n_clusters: int, d: int, *, seed: int | None, rng: np.random.Generator) -> Centers:
    """Return packed centers in box units, from a public seed if there is one.

    Parameters
    ----------
    n_clusters
        Number of centers k.
    d
        Number of features.
    seed
        Public seed; None to draw from `rng`.
    rng
        Generator without a seed.

    Returns
    -------
    Centers
        Centers (k, d), box units. Public.
    """
    return sphere_packing(n_clusters, d, rng=rng) if seed is None else _seeded_packing(n_clusters, d, seed)


def dataless_centers(n_clusters: int, d: int) -> tuple[Centers, ...]:
    """Return centers that need no record, box units: the middle (1, d), then packings (k, d).

    Their cost on records is exact, and therefore curator only.
    """
    packed = (_seeded_packing(n_clusters, d, seed) for seed in DATALESS_SEEDS)
    return (np.full((1, d), 0.5), *packed)


@functools.lru_cache(maxsize=64)
def _seeded_packing(n_clusters: int, d: int, seed: int) -> Centers:
    """Return a cached public start, which a picture needs again when its budget changes."""
    return frozen(sphere_packing(n_clusters, d, rng=np.random.default_rng(seed)))


def sphere_packing(n_clusters: int, d: int, *, rng: np.random.Generator) -> Centers:
    """Return centers as far from each other and from the walls as a random search finds.

    Each is at least r from every wall and 2r from every other center; r is the largest radius that bisection finds.

    Parameters
    ----------
    n_clusters
        Number of centers k.
    d
        Number of features.
    rng
        Generator of the search.

    Returns
    -------
    Centers
        Centers (k, d) in [0, 1]^d. Public: independent of any record.
    """
    # The same candidates serve every radius, which bounds the cost. A greedy search can miss a radius that a different
    # order of centers would reach, so the result is a good start, not an optimum.
    candidates = rng.random((n_clusters, ATTEMPTS, d))
    low, high, best = 0.0, 0.5, np.empty((n_clusters, d))
    if not _pack(candidates, low, best):
        raise AssertionError("sphere packing refused radius 0")
    for _ in range(HALVINGS):
        radius, packing = 0.5 * (low + high), np.empty((n_clusters, d))
        if _pack(candidates, radius, packing):
            low, best = radius, packing
        else:
            high = radius
    return best


@compiled
def _pack(candidates: FloatArray, radius: float, placed: Centers) -> bool:
    """Place each center at its first candidate that is 2 radius from all placed ones; return True if all are placed.

    Candidates (k, ATTEMPTS, d) are moved inside, at least `radius` from the walls.
    """
    for i in range(len(placed)):
        for offered in candidates[i]:
            for f in range(len(offered)):
                placed[i, f] = radius + offered[f] * (1.0 - 2.0 * radius)
            free = True
            for j in range(i):
                square = 0.0
                for f in range(len(offered)):
                    square += (placed[i, f] - placed[j, f]) * (placed[i, f] - placed[j, f])
                if not np.sqrt(square) >= 2.0 * radius:
                    free = False
                    break
            if free:
                break
        else:
            return False
    return True
