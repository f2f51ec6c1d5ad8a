"""The cells and cuts of DPM's released tree, box units [0, 1], and its subsets in public words."""

import math

import numpy as np

from dpviz.core import BoolArray, Box, FloatArray, IntArray, ReadOnly, immutable
from dpviz.methods.dpm.algorithm import SplitTree
from dpviz.stories.panel import ceiled, number
from dpviz.stories.view import Plane, Words

LEFT, RIGHT = "below", "above"
TOO_FEW = "too few records for the noise"


@immutable
class Cells(ReadOnly):
    """The released tree in box units; every node, the root first."""

    low: FloatArray  # (m, d)
    high: FloatArray  # (m, d)
    # (m,) axis of the tried cut, -1 without a cut.
    axes: IntArray
    # (m,) NaN without a cut.
    positions: FloatArray
    # (m,) True if a cut was tried and not applied.
    refused: BoolArray
    levels: IntArray  # (m,)
    # Number of levels on which a cut was tried.
    n_levels: int

    @classmethod
    def from_tree(cls, tree: SplitTree, box: Box) -> "Cells":
        """Read a released tree."""
        axes = tree.split_axes
        tried = axes >= 0
        at = np.where(tried, axes, 0)
        positions = (tree.split_positions - box.low[at]) / box.widths[at]
        return cls(
            low=box.to_unit(tree.low),
            high=box.to_unit(tree.high),
            axes=axes,
            positions=positions,
            refused=tried & (tree.children[:, 0] < 0),
            levels=tree.levels,
            n_levels=1 + int(tree.levels[tried].max(initial=0)),
        )

    @property
    def tried(self) -> BoolArray:
        """True (m,) if a cut was tried."""
        return self.axes >= 0

    @property
    def applied(self) -> BoolArray:
        """True (m,) for subsets that were cut in two."""
        return self.tried & ~self.refused

    def drawn(self, plane: Plane) -> FloatArray:
        """Return every node's tried cut (m, p, 2). NaN without a cut, or along a feature that is not shown."""
        return plane.cuts(self.low, self.high, self.axes, self.positions)


@immutable
class Subsets:
    """The subsets of a released tree in public words; every node, the root first."""

    tree: SplitTree
    cells: Cells
    words: Words

    @property
    def leaves(self) -> IntArray:
        """The node (k,) of each center's cell."""
        centers = self.tree.centers
        return np.argsort(centers)[np.count_nonzero(centers < 0) :]

    @property
    def paths(self) -> tuple[str, ...]:
        """The way from the root to each node, 0 below each cut and 1 above it; the same in other runs."""
        names: list[str] = []
        parents = self.tree.parents.tolist()
        for node, parent in enumerate(parents):
            names.append("" if node == 0 else names[parent] + str(int(parents[node - 1] == parent)))
        return tuple(names)

    @property
    def titles(self) -> tuple[str, ...]:
        """Type, number of records, and outcome of each node."""
        return tuple(
            f"{'All records' if node == 0 else f'Subset {node}'} ({about(float(self.tree.noisy_counts[node]))}): "
            + (f"{self.cut_place(node)}, {self.reason(node)}" if self.cells.tried[node] else self.reason(node))
            for node in range(len(self.tree.parents))
        )

    def cut_place(self, node: int) -> str:
        """Return the place of a node's tried cut."""
        axis = int(self.tree.split_axes[node])
        unit = f" {self.words.own_units[axis]}" if self.words.own_units[axis] else ""
        place = self.words.along(axis, float(self.tree.split_positions[node]))
        return f"{self.words.feature_names[axis]} at {number(place)}{unit}"

    def reason(self, node: int) -> str:
        """Return the outcome of a node."""
        tree, least = self.tree, float(self.tree.needed[node])
        if self.cells.applied[node]:
            return "cut in two"
        if not self.cells.tried[node]:
            return f"stopped: {self.stop_reason(node)}"
        if math.isinf(least):
            return "refused: no clear gap"
        small = [side for side, count in zip((LEFT, RIGHT), tree.child_counts[node], strict=True) if count <= least]
        sides = "both sides have" if len(small) == 2 else f"the side {small[0]} has"
        return f"refused: {sides} at most {ceiled(least)} records"

    def stop_reason(self, node: int) -> str:
        """Return why a node was not cut, in a few words."""
        tree, level = self.tree, int(self.cells.levels[node])
        if self.cells.tried[node]:
            return "no clear gap" if math.isinf(tree.needed[node]) else "a side too small"
        if level >= len(tree.least_counts):
            return "depth"
        few = tree.noisy_counts[node] <= 2.0 * tree.least_counts[level]
        return TOO_FEW if few else "no place left inside"


def about(count: float) -> str:
    """Write a noisy count."""
    return f"≈ {number(float(round(count)))}"
