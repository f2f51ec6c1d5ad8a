"""Public starts of Lloyd-type methods: sphere packings of the unit box (Su et al. 2016, section 3.1)."""

import functools
import hashlib
from collections import OrderedDict

import numpy as np

from dpviz.core import Centers, FloatArray, frozen

ATTEMPTS = 100  # candidates a center may use up before a radius counts as too large (Su et al.)
HALVINGS = 12  # of the search for the radius; 0.5 / 2^12 is finer than a screen's pixel
FEW = 16  # candidates that are tested before the others
CACHED_PACKINGS = 64
DATALESS_SEEDS = (0, 1, 2)  # public, of the packings that stand for a choice without any record

# Packings by a digest of their candidates: the search is a pure function of these, costs more than a run of Lloyd's
# steps, and a picture whose budget changes needs the same packing again. A digest keeps no seed.
_packings: OrderedDict[bytes, Centers] = OrderedDict()


def starts_private(start: str, initial: Centers | None) -> bool:
    """Return whether a run has a private start; given centers override it."""
    return start == "private" and initial is None


def public_start(n_clusters: int, d: int, *, seed: int | None, rng: np.random.Generator) -> Centers:
    """Return packed centers (k, d) in box units, from the public `seed` if there is one, else from `rng`."""
    return sphere_packing(n_clusters, d, rng=rng) if seed is None else _seeded_packing(n_clusters, d, seed)


def dataless_centers(n_clusters: int, d: int) -> tuple[Centers, ...]:
    """Return centers that need no record, box units: the middle (1, d), then packings (k, d).

    Their cost on records is exact, and therefore the curator's.
    """
    packed = (_seeded_packing(n_clusters, d, seed) for seed in DATALESS_SEEDS)
    return (np.full((1, d), 0.5), *packed)


@functools.lru_cache(maxsize=64)
def _seeded_packing(n_clusters: int, d: int, seed: int) -> Centers:
    """Return a cached public start: it costs more than a whole run, and does not depend on epsilon."""
    return frozen(sphere_packing(n_clusters, d, rng=np.random.default_rng(seed)))


def sphere_packing(n_clusters: int, d: int, *, rng: np.random.Generator) -> Centers:
    """Return k centers (k, d) in [0, 1]^d, as far from each other and from the walls as a random search finds.

    Each is at least r from every wall and 2r from every other center; r is the largest radius that bisection meets.
    The result is public: it depends on no record.
    """
    # The same candidates serve every radius: a bounded cost. A greedy search can miss a radius that another order of
    # centers would reach, so the result is a good start and not an optimum.
    candidates = rng.random((n_clusters, ATTEMPTS, d))
    digest = hashlib.sha256(repr(candidates.shape).encode() + candidates.tobytes()).digest()
    packing = _packings.get(digest)
    if packing is None:
        packing = _packings[digest] = _best_packing(candidates)
        while len(_packings) > CACHED_PACKINGS:
            _packings.popitem(last=False)
    return packing.copy()


def _best_packing(candidates: FloatArray) -> Centers:
    """Return the best packing (k, d) that a bisection over radii finds among `candidates` (k, ATTEMPTS, d)."""
    low, high = 0.0, 0.5
    best = _pack(candidates, low)
    for _ in range(HALVINGS):
        radius = 0.5 * (low + high)
        packing = _pack(candidates, radius)
        if packing is None:
            high = radius
        else:
            low, best = radius, packing
    if best is None:  # radius 0 refuses nothing
        raise AssertionError("sphere packing refused radius 0")
    return best


def _pack(candidates: FloatArray, radius: float) -> Centers | None:
    """Place one center after the other at its first candidate that is 2 radius from all placed ones, None if none is.

    Candidates (k, ATTEMPTS, d) are moved inside, at least `radius` from the walls.
    """
    placed = np.empty((candidates.shape[0], candidates.shape[2]))
    for i, offered in enumerate(candidates):
        for part in (offered[:FEW], offered[FEW:]):  # mostly one of the first few is free
            inside = radius + part * (1.0 - 2.0 * radius)
            gaps = inside[:, None, :] - placed[:i]
            free = (np.sqrt((gaps * gaps).sum(axis=2)) >= 2.0 * radius).all(axis=1)
            if free.any():
                placed[i] = inside[free.argmax()]
                break
        else:
            return None
    return placed
