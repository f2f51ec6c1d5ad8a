"""The hierarchy of a landscape: which basins join at which level.

Byun, Choi & Lee, algorithm 3 and theorem 4.2: Kruskal's algorithm on the graph whose vertices are the minima of
f = -p and whose edges are the transition points. At a level a, two minima are in one component of {p > a} exactly when
transition points denser than a connect them.

Heights are shown as ln p(highest mode) - ln p, which are never negative. The paper takes one minimum for each center;
here a vertex is a minimum, and two centers whose means flow to one minimum are one vertex.
"""

import numpy as np
import scipy

from dpviz.core import FloatArray, Labels, ReadOnly, frozen, immutable
from dpviz.solvers.landscapes.mixture import Mixture
from dpviz.solvers.landscapes.saddles import Landscape, landscape


@immutable
class MergeTree(ReadOnly):
    """Minima as leaves, merges from the densest pass to the thinnest; post-processing of a mixture."""

    landscape: Landscape
    # SciPy's linkage matrix (L - 1, 4): two nodes, height, leaves below. The height is inf if no pass was found.
    linkage: FloatArray
    # Row of `landscape.transitions` at which each merge happens, (L - 1,); -1 if no pass was found.
    passes: Labels
    # Height at which each leaf appears, (L,); 0 for the highest mode.
    births: FloatArray

    @property
    def n_leaves(self) -> int:
        """L, the number of minima."""
        return len(self.births)

    @property
    def n_unreachable(self) -> int:
        """Number of merges, the last ones, without a transition point. Those parts join at infinite height."""
        return int((self.passes < 0).sum())

    def cut(self, n_clusters: int) -> Labels:
        """Return the cluster of each minimum (L,), numbered by their densest minimum.

        There are min(n_clusters, L) clusters, at most one for each minimum. Raises ValueError below 1.
        """
        if n_clusters < 1:
            raise ValueError(f"n_clusters must be at least 1, got {n_clusters}.")
        return _joined(self.linkage[: max(self.n_leaves - n_clusters, 0)], self.n_leaves)

    def cut_at(self, height: float) -> Labels:
        """Return the cluster of each minimum (L,) when all passes at or below `height` are open."""
        return _joined(self.linkage[self.linkage[:, 2] <= height], self.n_leaves)


def merge_tree(mixture: Mixture) -> MergeTree:
    """Build the hierarchy of `mixture`; parts that no transition point connects join last, at infinite height."""
    land = landscape(mixture)
    n_leaves, top = len(land.minima), float(land.log_densities[0])
    edges = [(*t.minima, top - t.log_density, row) for row, t in enumerate(land.transitions)]
    # Joining the other parts in order of density keeps the tree whole: a cut to any K exists.
    edges += [(0, j, np.inf, -1) for j in range(1, n_leaves)]
    parts = scipy.cluster.hierarchy.DisjointSet(range(n_leaves))
    # Current tree node of each root's part.
    node = list(range(n_leaves))
    rows: list[tuple[float, float, float, float]] = []
    passes: list[int] = []
    for i, j, height, row in edges:
        first, second = sorted((node[parts[i]], node[parts[j]]))
        if not parts.merge(i, j):
            continue
        node[parts[i]] = n_leaves + len(rows)
        rows.append((float(first), float(second), max(height, 0.0), float(parts.subset_size(i))))
        passes.append(row)
    return MergeTree(
        land, np.array(rows, dtype=np.float64).reshape(-1, 4), np.array(passes, dtype=np.intp), top - land.log_densities
    )


def _joined(merges: FloatArray, n_leaves: int) -> Labels:
    """Return the part of each leaf (L,), numbered by first leaf, if only `merges` (m, 4) have happened."""
    nodes = np.arange(n_leaves, n_leaves + len(merges)).repeat(2)
    children = merges[:, :2].astype(np.intp).ravel()
    n_nodes = n_leaves + len(merges)
    graph = scipy.sparse.coo_matrix((np.ones(len(nodes)), (children, nodes)), shape=(n_nodes, n_nodes))
    return frozen(scipy.sparse.csgraph.connected_components(graph, directed=False)[1][:n_leaves].astype(np.intp))
