"""DPM in two worlds: its cuts, and counts beside its centers."""

import numpy as np

from dpviz.core import Box, FloatArray, Points
from dpviz.methods.dpm.algorithm import Params, TreeRelease
from dpviz.methods.dpm.story.cells import Cells
from dpviz.stories.worlds import Cuts, Worlds


def statistics_of(release: TreeRelease, spots: Points, box: Box) -> FloatArray:
    """Return the root's noisy count and cut, and the count and center of the leaf that each spot falls in."""
    tree, counts = release.tree, release.noisy_counts
    leaves = tree.cells(spots)
    own = np.zeros(len(spots)) if counts is None else counts[leaves]
    cut = np.nan_to_num(tree.split_positions[0], nan=float(box.low.min()))
    root = np.array([tree.noisy_counts[0], float(tree.split_axes[0]), cut])
    return np.concatenate([root, own, box.to_unit(release.centers[leaves]).ravel()])


def cuts_of(release: TreeRelease, box: Box) -> Cuts:
    """Return the applied cuts of a released tree."""
    cells = Cells.of(release.tree, box)
    cut = np.flatnonzero(cells.applied)
    return Cuts(cells.low[cut], cells.high[cut], cells.axes[cut], cells.positions[cut])


WORLDS: Worlds[Params, TreeRelease] = Worlds(statistics=statistics_of, cuts=cuts_of)
