"""Squared L2 sensitivities of one iteration under replacement, for two features."""

import numpy as np

from dpviz.core import Adjacency
from dpviz.methods.morse.algorithm.budget import moment_sensitivity, published_r

print(f"printed r: {published_r('dpmog_hard', 2, 1, 1):g}")
print(f"raw second moments: {moment_sensitivity(2, Adjacency.REPLACE) ** 2:.0f}")
squared = 0.0
# The record moves from (1, 1) in one cluster to (-1, -1) in another. Each noisy mean is in the opposite corner.
for x in (np.ones(2), -np.ones(2)):
    scatter = np.outer(2 * x, 2 * x)[np.triu_indices(2)]
    squared += 1 + x @ x + scatter @ scatter
print(f"scatter around a noisy mean: {squared:.0f}")
