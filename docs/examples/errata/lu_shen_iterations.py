"""One record decides whether a run can stop after its first iteration."""

import dpviz

records, start = [[0.0], [0.28], [0.56], [1.0]], [[0.28], [1.0]]
options = {"mode": "published", "n_clusters": 2, "initial_centers": start, "bounds": ((0,), (1,))}
for words, data in (("without", records), ("with", [*records, [0.641]])):
    runs = [dpviz.run("convergent_kmeans", data, seed=seed, **options).release for seed in range(100)]
    print(f"{words} the record: {sum(len(run.path) == 1 for run in runs)} of {len(runs)} runs stop after iteration 1")
