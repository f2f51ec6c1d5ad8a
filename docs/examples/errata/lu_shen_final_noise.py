"""The final noise moves a center along one ray, at any ε₀."""

import numpy as np

import dpviz

records = np.random.default_rng(0).random((1000, 2)) * [1.0, 0.5]
sums = records.sum(axis=0)
print(f"exact: ratio {sums[1] / sums[0]:.6f}")
for epsilon in (0.01, 1.0):
    options = {"mode": "published", "n_clusters": 1, "epsilon_counts": epsilon, "seed": 0}
    (x, y), *_ = dpviz.run("convergent_kmeans", records, bounds=((0, 0), (1, 1)), **options).release.centers
    print(f"ε₀ = {epsilon:g}: center ({x:.3f}, {y:.3f}), ratio {y / x:.6f}")
