"""Where a Lloyd-type method starts: sphere packing, records, or centers that were given."""

import functools

import numpy as np

from dpviz.core import Box, Centers, Points, as_points, frozen
from dpviz.solvers.packing import sphere_packing

DATALESS_SEEDS = (0, 1, 2)  # public, of the packings that stand for a choice without any record


def start_from(
    unit: Points,
    box: Box,
    n_clusters: int,
    *,
    start: str,
    given: Centers | None,
    seed: int | None,
    rng: np.random.Generator,
) -> Centers:
    """Return k centers (k, d) in box units: `given` (data units) if any, else by `start`.

    `unit` (n, d) are the records in box units. start="packing" is public, and what "private" begins at; "records"
    returns k distinct records: curator only. With a `seed` that is used instead of `rng`. Raises ValueError for
    `given` of another shape, and for more clusters than records with start="records".
    """
    if given is not None:
        centers = as_points(given, n_features=box.d, name="initial_centers")
        if len(centers) != n_clusters:
            raise ValueError(f"initial_centers had {len(centers)} rows, but n_clusters is {n_clusters}.")
        return box.to_unit(box.clip(centers))
    if start != "records":
        return public_start(n_clusters, box.d, seed=seed, rng=rng)
    chosen = rng if seed is None else np.random.default_rng(seed)
    if len(unit) < n_clusters:
        raise ValueError(
            f"n_clusters was {n_clusters}, but it must be <= n_records={len(unit)} to start from records. "
            "Lower k, load more data, or start from sphere packing."
        )
    return unit[chosen.choice(len(unit), n_clusters, replace=False)]


def starts_private(start: str, given: Centers | None) -> bool:
    """Say whether a run asks for a private start; given centers override it."""
    return start == "private" and given is None


def public_start(n_clusters: int, d: int, *, seed: int | None, rng: np.random.Generator) -> Centers:
    """Return packed centers (k, d) in box units, from the public `seed` if there is one, else from `rng`."""
    return sphere_packing(n_clusters, d, rng=rng) if seed is None else _seeded_packing(n_clusters, d, seed)


def dataless_centers(n_clusters: int, d: int) -> tuple[Centers, ...]:
    """Return what anybody can choose who has seen no record, box units: the middle (1, d), then packings (k, d).

    What they cost is exact, and so the curator's.
    """
    packed = (_seeded_packing(n_clusters, d, seed) for seed in DATALESS_SEEDS)
    return (np.full((1, d), 0.5), *packed)


@functools.lru_cache(maxsize=64)
def _seeded_packing(n_clusters: int, d: int, seed: int) -> Centers:
    """Remember a public start: it costs more than a whole run, and moving epsilon does not change it."""
    return frozen(sphere_packing(n_clusters, d, rng=np.random.default_rng(seed)))
