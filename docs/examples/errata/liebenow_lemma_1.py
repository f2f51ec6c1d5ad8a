"""Without one record, the ranks of averaged gaps and the law of the interval size change."""

import numpy as np

from dpviz.methods.dpm.algorithm.plan import GAP_QUANTILE, normal_percentile
from dpviz.tools.audit.cases import alternating_gaps

pair, epsilon = alternating_gaps(), 0.04
both = [np.sort(np.diff(np.sort(data, axis=0), axis=0).mean(axis=1)) for data in (pair.points, pair.neighbor)]
ranks = [np.searchsorted(averages, np.concatenate(both), side="right") for averages in both]
print(f"ranks move by up to {np.abs(ranks[0] - ranks[1]).max()}")
for averages in both:
    edges = np.concatenate([[0], averages, [pair.box.widths.max()]])
    weights = np.exp(-epsilon / 4 * np.abs(np.arange(averages.size + 1) - GAP_QUANTILE * averages.size))
    low, high = np.array([16.75, 22.25]) / (averages.size + 1) * normal_percentile(2)
    inside = np.clip(np.minimum(edges[1:], high) - np.maximum(edges[:-1], low), 0, None)
    print(f"P(17 <= σ <= 22) = {(weights * inside).sum() / (weights * np.diff(edges)).sum():.3g}")
