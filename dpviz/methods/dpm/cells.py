"""The cells and cuts of DPM's released tree. Box units [0, 1] throughout."""

from dataclasses import dataclass

import numpy as np

from dpviz.core import BoolArray, Box, FloatArray, IntArray, frozen
from dpviz.methods.dpm.algorithm import SplitTree
from dpviz.stories.view import Plane


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """The released tree in box units; every node, the root first."""

    low: FloatArray  # (m, d)
    high: FloatArray  # (m, d)
    axes: IntArray  # (m,) of the tried cut, -1 where there was none
    positions: FloatArray  # (m,) NaN where there was none
    refused: BoolArray  # (m,) tried, and not applied
    levels: IntArray  # (m,)
    n_levels: int  # levels on which a cut was tried

    @classmethod
    def of(cls, tree: SplitTree, box: Box) -> "Cells":
        """Read a released tree."""
        axes = tree.split_axes
        tried = axes >= 0
        at = np.where(tried, axes, 0)
        positions = (tree.split_positions - box.low[at]) / box.widths[at]
        return cls(
            low=frozen(box.to_unit(tree.low)),
            high=frozen(box.to_unit(tree.high)),
            axes=axes,
            positions=frozen(positions),
            refused=frozen(tried & (tree.children[:, 0] < 0)),
            levels=tree.levels,
            n_levels=1 + int(tree.levels[tried].max(initial=0)),
        )

    @property
    def tried(self) -> BoolArray:
        """Where a cut was tried, (m,)."""
        return self.axes >= 0

    @property
    def applied(self) -> BoolArray:
        """Which subsets were cut in two, (m,)."""
        return self.tried & ~self.refused

    def drawn(self, plane: Plane) -> FloatArray:
        """Return every node's tried cut (m, p, 2); NaN where none was tried, or along a feature that is not shown."""
        return plane.cuts(self.low, self.high, self.axes, self.positions)
