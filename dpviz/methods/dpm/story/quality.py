"""How good DPM's clusters are beside k-means with as many and no privacy: slow, so never on the slider's path."""

import numpy as np

from dpviz.core import Box, Centers, Labels, Points, unit_records
from dpviz.metrics import majority_accuracy, nonprivate_cost, one_way_distance
from dpviz.solvers import assign

STARTS = 5  # of k-means
SAMPLE = 2_000  # records, at most, whose silhouette is measured
EXPLAINED = (
    "k-means: scikit-learn's best of 5 starts, without privacy and with DPM's number of clusters. Cost: over that "
    "of k-means. Silhouette: 1 compact and apart, below 0 mixed up; of 2,000 records at most. Index and accuracy: "
    "against the known classes; more clusters never lower the accuracy. Distance: of each center to the nearest one of "
    "k-means, in parts of the box's diagonal, and the other way around."
)


def comparison(
    points: Points, box: Box, labels: Labels, centers: Centers, classes: Labels | None
) -> dict[str, dict[str, float]]:
    """Return {who: {what: value}} for DPM's cells and centers, and for k-means; exact, so the curator's.

    `points` (n, d) and `centers` (k, d) in data units, `labels` (n,) the cell of each record. NaN where a number is not
    defined: a silhouette needs two clusters and three records.
    """
    from sklearn.cluster import KMeans  # type: ignore[import-untyped]  # it ships no types

    unit, ours = unit_records(points, box), box.to_unit(centers)
    k = min(len(centers), len(np.unique(unit, axis=0)))
    if not len(unit):
        return {"DPM": _row(unit, labels, classes, float("nan"), float("nan"), float("nan"))}
    best = KMeans(k, n_init=STARTS, random_state=0).fit(unit)
    inertia = nonprivate_cost(unit, ours, assign(unit, ours))
    floor = float(best.inertia_)
    times = inertia / floor if floor > 0 else float("nan") if inertia else 1.0
    diagonal = float(np.sqrt(box.d))
    there = one_way_distance(ours, best.cluster_centers_) / diagonal
    back = one_way_distance(best.cluster_centers_, ours) / diagonal
    return {
        "DPM": _row(unit, labels, classes, times, there, back),
        "k-means": _row(unit, best.labels_.astype(np.intp), classes, 1.0, 0.0, 0.0),
    }


def _row(
    unit: Points, labels: Labels, classes: Labels | None, times: float, there: float, back: float
) -> dict[str, float]:
    from sklearn.metrics import adjusted_rand_score, silhouette_score  # type: ignore[import-untyped]

    every = slice(None, None, max(1, -(-len(unit) // SAMPLE)))
    some, near = unit[every], labels[every]
    shape = float("nan")
    if 2 <= len(np.unique(near)) < len(near):
        shape = float(silhouette_score(some, near))
    row = {"Cost": times, "Silhouette": shape}
    if classes is not None and len(classes):
        row |= {
            "Adjusted Rand index": float(adjusted_rand_score(classes, labels)),
            "Majority accuracy": majority_accuracy(labels, classes),
        }
    return row | {"Distance to k-means": there, "Distance from k-means": back}
