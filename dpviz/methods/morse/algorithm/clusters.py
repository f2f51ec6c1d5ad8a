"""Which cluster of a released mixture each record belongs to, for measuring. See `dpviz.methods.morse.algorithm`."""

import numpy as np

from dpviz.core import Box, FoundClusters, Points, algebra
from dpviz.methods.morse.algorithm import MorseRelease, assign, signed_points


def clustered(release: MorseRelease, points: Points, box: Box) -> FoundClusters:
    """Return the mixture's own labels of records (n, d), and the mean of each cluster's components. Curator only."""
    mixture = release.mixture
    names, groups = np.unique(release.component_clusters, return_inverse=True)
    weights = np.zeros((len(names), len(groups)))
    weights[groups, np.arange(len(groups))] = mixture.weights
    means = algebra.product(weights, mixture.means) / weights.sum(axis=1, keepdims=True)
    # By the likeliest component: following every record downhill takes far longer than the run, for the same labels
    # but for a few in a hundred.
    labels = assign(mixture, signed_points(points, box), release.n_clusters, cheap=True)
    return FoundClusters(box.clip(box.from_unit((means + 1.0) / 2.0)), np.searchsorted(names, labels))
