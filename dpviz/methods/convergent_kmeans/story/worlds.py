"""Convergent k-means in two worlds: zones and rays beside its centers."""

import numpy as np

from dpviz.core import Box, FloatArray, Points
from dpviz.methods.convergent_kmeans.algorithm import Params, ZonesRelease
from dpviz.stories.worlds import Worlds


def statistics_of(release: ZonesRelease, spots: Points, box: Box) -> FloatArray:
    """Return what is read of the zones near each of `spots` (s, d), (f,)."""
    return np.concatenate([_zone_statistics(release, box.to_unit(spot), box) for spot in spots])


def _zone_statistics(release: ZonesRelease, spot: FloatArray, box: Box) -> FloatArray:
    """Return the first zone near a spot (d,), box units, the released center's ray from the corner, and the counts."""
    first = release.zone_centers[0] if release.start is None else release.start
    own = int(np.linalg.norm(first - spot, axis=1).argmin())
    center = box.to_unit(release.centers[own])
    ray = center / max(float(np.linalg.norm(center)), np.finfo(np.float64).tiny)
    counts = np.zeros(2)
    if release.noisy_counts_by_iteration is not None:
        every = release.noisy_counts_by_iteration
        counts = np.array([every.sum(axis=1).mean(), every[:, own].mean()])
    return np.concatenate([release.zone_centers[0, own], release.zone_radii[0, [own]], ray, counts])


WORLDS: Worlds[Params, ZonesRelease] = Worlds(statistics=statistics_of)
