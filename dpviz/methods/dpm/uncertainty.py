"""Uncertainty of DPM's release: other averages of the same leaves, and other places for the same cuts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from dpviz.core import BoolArray, FloatArray, IntArray, Points, algebra, frozen, immutable
from dpviz.core.compiled import compiled
from dpviz.methods.dpm.algorithm import CentersStep, LevelStep, SplitTrace, TreeRelease
from dpviz.methods.dpm.cells import Cells, Subsets
from dpviz.stories.ensemble import (
    DRAIN_DRAWS,
    SEED,
    Ensemble,
    Ensembles,
    Shades,
    chosen_again,
    n_draws,
    shades_of,
    standard_noise,
    standard_uniform,
)
from dpviz.stories.view import CIRCLE, Plane, View

# Draws that determine a ring's width. The share of them inside has a standard error of 1.1 %.
N_INSIDE = 2_000


def draw_again(
    release: TreeRelease,
    levels: Sequence[LevelStep],
    last: CentersStep,
    subsets: Subsets,
    count_scales: FloatArray,
    view: View,
    *,
    published: bool,
    teaching: bool,
) -> Ensembles:
    """Return other averages of the same leaves, around exact means for the curator, around released ones for everyone.

    `count_scales` (k, 3) are the scales for `count_noise`. The curator of a teaching run also sees other places of the
    same cuts. No one else sees them, because their distribution is secret.
    """
    box, n = subsets.words.box, n_draws(len(release.centers))
    noise = standard_noise("gaussian", n, *release.centers.shape)[1]
    origins, low, high, counts = _averages(release, subsets, published=published)
    # A released center is its origin plus noisy sum / noisy count: the noise of both is subtracted.
    ratio = counts / np.maximum(counts + count_noise(count_scales, n), 1.0)
    moves = release.centers - origins + release.center_sigmas * noise
    public = Ensemble(box.to_unit(np.clip(origins + ratio[..., None] * moves, low, high)), borders=False)
    if not teaching:
        return None, public
    # If there are two rounds, the last one is drawn again, around the same first averages.
    sigmas = last.sigmas[:, None] * last.axis_units / np.maximum(last.noisy_counts, 1.0)[:, None]
    landed = box.to_unit(np.clip(last.nonprivate_noiseless + sigmas * noise, low, high))
    cuts = Cuts.drawn(levels, n) if box.d == 2 else None
    if cuts is None:
        return Ensemble(landed, borders=False), public
    lines = cuts.lines(subsets.cells, Plane.from_view(view, subsets.words))
    return Ensemble(landed, ends=lines, drain=lambda unit, _: cuts.shades(subsets, last, unit)), public


def draw_rings(
    release: TreeRelease, count_scales: FloatArray, subsets: Subsets, plane: Plane, *, published: bool
) -> FloatArray:
    """Return the ellipses (k, p, 2) around released centers that contain half of the noise. Public.

    To first order, noise Z in a count moves an average by Z / count of the way to its origin. An ellipse has the shape
    of the covariance of both noises, and half of N_INSIDE public draws are inside. In a flat picture it ends at the
    cell, or if `published` at the box, like its center.
    """
    widths, matrix = subsets.words.box.widths, plane.projection.matrix
    origins, low, high, counts = _averages(release, subsets, published=published)
    sum_sigmas = (release.center_sigmas / widths)[:, :, None] * matrix  # (k, d, 2)
    deviations = np.sqrt(2.0) * np.linalg.norm(count_scales, axis=1)
    moves = algebra.product((release.centers - origins) / widths * (deviations / counts)[:, None], matrix)  # (k, 2)
    covariances = np.einsum("kdi,kdj->kij", sum_sigmas, sum_sigmas) + moves[:, :, None] * moves[:, None, :]
    values, vectors = algebra.eigen(covariances)
    # In standard units, the counts' noise has this share of the variance along one direction, and none across it.
    along = np.einsum("kij,ki->kj", vectors, moves) ** 2
    shares = np.divide(along, values, out=np.zeros_like(along), where=values > 0).sum(axis=1).clip(max=1.0)
    normal = standard_noise("gaussian", N_INSIDE, 1, 2)[1][:, 0]
    of_counts = count_noise(count_scales, N_INSIDE) / np.maximum(deviations, np.finfo(float).tiny)
    drawn = np.sqrt(1.0 - shares) * normal[:, :1] + np.sqrt(shares) * of_counts
    across = normal[:, 1:] if len(plane.features) > 1 else 0.0
    reach = np.median(np.hypot(drawn, across), axis=0)
    # Half axes as columns.
    roots = reach[:, None, None] * vectors * np.sqrt(np.maximum(values, 0.0))[:, None]
    at = plane.projection(subsets.words.box.to_unit(release.centers))[:, None]
    around = at + np.einsum("pj,kij->kpi", CIRCLE, roots)
    if plane.flat:
        columns = list(plane.features)
        ends = (subsets.words.box.to_unit(each)[:, None, columns] for each in (low, high))
        around[..., : len(columns)] = np.clip(around[..., : len(columns)], *ends)
    return np.asarray(around)


def _averages(
    release: TreeRelease, subsets: Subsets, *, published: bool
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return the origin of each leaf's sum (k, d), the ends of its average (k, d), and its count, at least 1."""
    # Every tree has noisy counts.
    assert release.noisy_counts is not None
    counts, shape = np.maximum(release.noisy_counts, 1.0), release.centers.shape
    if published:
        low, high = (np.broadcast_to(ends, shape) for ends in (subsets.words.box.low, subsets.words.box.high))
        return np.zeros(shape), low, high, counts
    low, high = release.tree.low[subsets.leaves], release.tree.high[subsets.leaves]
    return (low + high) / 2.0, low, high, counts


def count_noise(scales: FloatArray, n: int) -> FloatArray:
    """Return n draws (n, k) of the noise of leaves' counts, the same every time: the sum of three Laplace draws each.

    The `scales` (k, 3) belong to the leaf's own count and to the counts of its refused sides, times their weights.
    """
    return np.asarray((_standard_counts(n, len(scales)) * scales).sum(axis=2))


@lru_cache(maxsize=64)
def _standard_counts(n: int, k: int) -> FloatArray:
    """Return Laplace noise of scale 1 (n, k, 3) from a public seed, independent of `standard_noise`."""
    return frozen(np.random.default_rng([SEED, 1]).laplace(size=(n, k, 3)))


@immutable
class Cuts:
    """Every applied cut, redrawn many times from its own distribution in its own cell. Curator only."""

    nodes: IntArray  # (m,)
    axes: IntArray  # (draws, m)
    positions: FloatArray  # (draws, m) box units

    @classmethod
    def drawn(cls, levels: Sequence[LevelStep], n: int) -> Cuts | None:
        """Draw the cuts; None if none was applied."""
        splits = [split for step in levels for split in step.splits if split.applied]
        if not splits:
            return None
        uniform = standard_uniform(n, len(splits))
        drawn = [redrawn(split, uniform[:, i, 0]) for i, split in enumerate(splits)]
        axes, positions = (np.stack(parts, axis=1) for parts in zip(*drawn, strict=True))
        return cls(np.array([split.node for split in splits], dtype=np.intp), axes, positions)

    def lines(self, cells: Cells, plane: Plane) -> FloatArray:
        """Return the cuts as lines (draws, m, 4) across their cells."""
        low, high = (np.tile(ends[self.nodes], (len(self.axes), 1)) for ends in (cells.low, cells.high))
        return plane.cuts(low, high, self.axes.ravel(), self.positions.ravel()).reshape(*self.axes.shape, 4)

    def shades(self, subsets: Subsets, last: CentersStep, unit: Points) -> Shades:
        """Return gray shades of records (n, d): darker, the more draws separate them from their leaf's exact mean."""
        cells, box = subsets.cells, subsets.words.box
        leaves = subsets.tree.cells(box.from_unit(unit))
        exact = box.to_unit(last.nonprivate_centers)
        # The cuts that a leaf lies below: the cuts of the cells that contain its own cell.
        middles = (cells.low + cells.high)[last.leaves][:, None] / 2.0
        below = np.asarray(
            ((middles > cells.low[self.nodes]) & (middles < cells.high[self.nodes])).all(axis=2)
        )  # (k, m)
        axes, positions = self.axes[:DRAIN_DRAWS], self.positions[:DRAIN_DRAWS]
        return shades_of(_together(np.ascontiguousarray(unit), leaves, exact, below, axes, positions), len(axes))


def redrawn(split: SplitTrace, uniform: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return axes and places (n,) of a cut that `uniform` (n,) choose from its distribution, within its cell."""
    scores = np.where(split.exists, split.score, -np.inf).ravel()
    chosen = chosen_again(scores, split.probabilities.ravel(), uniform)
    axes, candidates = np.divmod(chosen, split.exists.shape[1])
    return axes, np.clip(split.positions[axes, candidates], split.low[axes], split.high[axes])


@compiled
def _together(
    unit: Points, leaves: IntArray, exact: FloatArray, below: BoolArray, axes: IntArray, positions: FloatArray
) -> IntArray:
    """Count for each record how many draws of the cuts leave it on the side of its leaf's exact mean."""
    n, m = axes.shape
    result = np.zeros(len(unit), dtype=np.intp)
    for i in range(len(unit)):
        leaf, same = leaves[i], 0
        for draw in range(n):
            kept = True
            for cut in range(m):
                axis, at = axes[draw, cut], positions[draw, cut]
                if below[leaf, cut] and (unit[i, axis] < at) != (exact[leaf, axis] < at):
                    kept = False
                    break
            same += kept
        result[i] = same
    return result
