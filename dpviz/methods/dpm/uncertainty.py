"""What DPM's law says beside its release: other averages of the same leaves, and other places for the same cuts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpviz.core import BoolArray, FloatArray, IntArray, Points
from dpviz.core.compiled import compiled
from dpviz.methods.dpm.algorithm import CentersStep, LevelStep, SplitTrace, TreeRelease
from dpviz.methods.dpm.cells import Cells, Subsets
from dpviz.stories.ensemble import (
    DRAIN_DRAWS,
    Ensemble,
    Ensembles,
    Shades,
    chosen_again,
    n_draws,
    shades_of,
    standard_noise,
    standard_uniform,
)
from dpviz.stories.view import Plane, View


def draw_again(
    release: TreeRelease,
    levels: Sequence[LevelStep],
    last: CentersStep,
    subsets: Subsets,
    view: View,
    *,
    published: bool,
    teaching: bool,
) -> Ensembles:
    """Return other averages of the same leaves, around exact means for the curator, around released ones for everyone.

    The curator of a teaching run also sees where the same cuts could have been. Their law is secret: nobody else does.
    """
    box, leaves, shape = subsets.words.box, subsets.leaves, release.centers.shape
    n = n_draws(len(release.centers))
    noise = standard_noise("gaussian", n, *shape)[1]
    cells = release.tree.low[leaves], release.tree.high[leaves]
    low, high = (np.broadcast_to(ends, shape) for ends in ((box.low, box.high) if published else cells))
    true = np.clip(release.centers + release.center_sigmas * noise, low, high)
    public = Ensemble(box.to_unit(true), borders=False)
    if not teaching:
        return None, public
    # Of two rounds the last one is drawn again, around the same first averages.
    sigmas = last.sigmas[:, None] * last.axis_units / np.maximum(last.noisy_counts, 1.0)[:, None]
    landed = box.to_unit(np.clip(last.nonprivate_noiseless + sigmas * noise, low, high))
    cuts = Cuts.drawn(levels, n) if box.d == 2 else None
    if cuts is None:
        return Ensemble(landed, borders=False), public
    lines = cuts.lines(subsets.cells, Plane.from_view(view, subsets.words))
    return Ensemble(landed, ends=lines, drain=lambda unit, _: cuts.shades(subsets, last, unit)), public


@dataclass(frozen=True, slots=True, eq=False)
class Cuts:
    """Every applied cut drawn again and again from its own law, in its own cell: the curator's."""

    nodes: IntArray  # (m,)
    axes: IntArray  # (draws, m)
    positions: FloatArray  # (draws, m) box units

    @classmethod
    def drawn(cls, levels: Sequence[LevelStep], n: int) -> Cuts | None:
        """Draw the cuts; None where none was applied."""
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
        lines = plane.cuts(low, high, self.axes.ravel(), self.positions.ravel())
        return lines.reshape(*self.axes.shape, 4)

    def shades(self, subsets: Subsets, last: CentersStep, unit: Points) -> Shades:
        """Return how gray records (n, d) are: the more, the more draws part them from the exact mean of their leaf."""
        cells, box = subsets.cells, subsets.words.box
        leaves = subsets.tree.cells(box.from_unit(unit))
        exact = box.to_unit(last.nonprivate_centers)
        # Which cuts a leaf lies below: those of the cells that its own is part of.
        middles = (cells.low + cells.high)[last.leaves][:, None] / 2.0
        below = np.asarray(
            ((middles > cells.low[self.nodes]) & (middles < cells.high[self.nodes])).all(axis=2)
        )  # (k, m)
        axes, positions = self.axes[:DRAIN_DRAWS], self.positions[:DRAIN_DRAWS]
        return shades_of(_together(np.ascontiguousarray(unit), leaves, exact, below, axes, positions), len(axes))


def redrawn(split: SplitTrace, uniform: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return axes and places (n,) of a cut that `uniform` numbers (n,) choose by its own law, within its cell."""
    scores = np.where(split.exists, split.score, -np.inf).ravel()
    chosen = chosen_again(scores, split.probabilities.ravel(), uniform)
    axes, candidates = np.divmod(chosen, split.exists.shape[1])
    return axes, np.clip(split.positions[axes, candidates], split.low[axes], split.high[axes])


@compiled
def _together(
    unit: Points,
    leaves: IntArray,
    exact: FloatArray,
    below: BoolArray,
    axes: IntArray,
    positions: FloatArray,
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
