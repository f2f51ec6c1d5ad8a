"""Runs of diffprivlib's KMeans in a separate environment: `python peers_diffprivlib.py RECORDS.npz K EPSILON SEEDS`.

It prints JSON: for every seed, the centers and the processor time; the sum of the epsilons that diffprivlib passes to
its own mechanisms; and the number of runs in which a center stays at its start, to the bit, because its cluster was
empty. Records are in the unit box, where one record moves a sum by at most the width of the box, which is the
sensitivity that diffprivlib uses. It imports nothing from dpviz.
"""

import json
import sys
import time

import diffprivlib
import numpy as np
import sklearn
from diffprivlib.models import KMeans


def main(path: str, k: int, epsilon: float, n_seeds: int) -> dict[str, object]:
    unit = np.load(path)["unit"]
    n, d = unit.shape
    runs, untouched = [], 0
    for seed in range(n_seeds):
        model = KMeans(k, epsilon=epsilon, bounds=(np.zeros(d), np.ones(d)), random_state=seed)
        start = time.process_time()
        model.fit(unit)
        seconds = time.process_time() - start
        began = model._init_centers(d, random_state=np.random.RandomState(seed))
        untouched += bool((began == model.cluster_centers_).all(axis=1).any())
        runs.append({"seconds": seconds, "unit_centers": model.cluster_centers_.tolist()})
    n_iterations = model._calc_iters(d, n)
    of_count, of_sum = model._split_epsilon(d, n_iterations)
    return {
        "runs": runs,
        # A record is in one cluster, and in each of that cluster's d sums.
        "looked_into": {"handed_out": n_iterations * (of_count + d * of_sum), "untouched": untouched},
        "versions": {"diffprivlib": diffprivlib.__version__, "scikit_learn_of_diffprivlib": sklearn.__version__},
    }


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]))))
