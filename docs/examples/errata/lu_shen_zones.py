"""A published zone fits the records, and does not fit them without one."""

import numpy as np

import dpviz

records = np.random.default_rng(0).random((100, 2))
start = np.array([0.3, 0.5])
options = {"mode": "published", "initial_centers": start[None], "bounds": ((0, 0), (1, 1)), "seed": 0}
zone = dpviz.run("convergent_kmeans", records, n_clusters=1, **options).release
for words, mean in (("all", records.mean(axis=0)), ("all except one", records[1:].mean(axis=0))):
    moved, apart = np.linalg.norm(mean - start), np.linalg.norm(mean - zone.zone_centers[0, 0])
    print(f"{words}: |S - S_prev| - |S - P| - r = {abs(moved - apart - zone.zone_radii[0, 0]):.5f}")
