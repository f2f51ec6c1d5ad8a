"""The synthetic sets of van der Ende's thesis, table 5.1: 50 records, 4 round clusters, standard deviation 0.60."""

from types import MappingProxyType

import numpy as np

from dpviz.core import Box
from dpviz.data.dataset import Dataset

RECORDS, CENTERS, DEVIATION = 50, 4, 0.60
DIMENSIONS = MappingProxyType({1: 2, 2: 3, 3: 5})  # set -> features
SEED = 0  # the thesis gives none; with 0 the all-pairs error is within .017 of its table 5.4
HALF = 10.0 + 4 * DEVIATION  # scikit-learn draws centers in [-10, 10]; four deviations of room for records


def thesis_set(number: int, *, seed: int = SEED) -> Dataset:
    """Draw set 1, 2 or 3 in its public box [-12.4, 12.4]^d. Raises ValueError for another number."""
    from sklearn.datasets import make_blobs  # type: ignore[import-untyped]  # slow to load, needed here alone; no types

    if number not in DIMENSIONS:
        raise ValueError(f"number was {number}, but the thesis has the sets {', '.join(map(str, DIMENSIONS))}.")
    d = DIMENSIONS[number]
    points, labels = make_blobs(RECORDS, d, centers=CENTERS, cluster_std=DEVIATION, random_state=seed)
    box = Box.cube(-HALF, HALF, d)
    names = tuple(f"x{axis}" for axis in range(1, d + 1))
    return Dataset(
        box.clip(np.asarray(points, dtype=np.float64)),
        labels.astype(np.intp),
        box,
        names,
        f"Thesis set {number}",
        note="Four round clusters of few records: what noise on each record does to clusters shows at once.",
    )
