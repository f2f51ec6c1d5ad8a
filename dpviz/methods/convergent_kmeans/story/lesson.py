"""The lesson on convergent k-means: what noise costs, what the published mode hides from ε, and what it gives away."""

import math
from dataclasses import replace
from functools import cache

import numpy as np

from dpviz.core import FloatArray
from dpviz.data import Dataset, load
from dpviz.methods.convergent_kmeans import algorithm
from dpviz.methods.convergent_kmeans.algorithm import Params
from dpviz.methods.convergent_kmeans.story.attack_record import attack_runs
from dpviz.metrics import nonprivate_costs
from dpviz.solvers import lloyd
from dpviz.stories.lesson import Answer, Lesson, LessonStep, Question, ranges

N_RUNS = 25  # noise seeds 0 to 24
N_ATTACKS = 8
RECORD = 17  # whose presence is attacked
LEAST, MOST = 0.05, 20.0  # ε per step
START_SEED = 5
PUBLISHED = Params(mode="published", start_seed=START_SEED)


@cache
def records() -> Dataset:
    """Return the records of every step."""
    return load("blobs", n=2_000, seed=0)


def nonprivate_cost_ratios(params: Params) -> FloatArray:
    """Return the cost (N_RUNS,) of runs over that of Lloyd's algorithm from the same start."""
    data = records()
    unit = data.box.to_unit(data.box.clip(data.points))
    runs = [algorithm.fit(data.points, data.box, params, rng=np.random.default_rng(seed)) for seed in range(N_RUNS)]
    floor = lloyd(unit, runs[0].trace[0].previous_centers).nonprivate_centers
    centers = np.stack([floor, *(data.box.to_unit(run.release.centers) for run in runs)])
    costs = nonprivate_costs(unit, centers)
    return np.asarray(costs[1:] / costs[0])


def cost(epsilon: float) -> Answer:
    """Measure the middle run's cost in repaired mode."""
    ratio = float(np.median(nonprivate_cost_ratios(Params(epsilon=epsilon, start_seed=START_SEED))))
    return Answer(ratio, {"measured": f"{ratio:.3g}", "runs": str(N_RUNS)})


def published_change() -> Answer:
    """Measure by how much, in 100, the cost changes when ε per step does, in published mode."""
    low, high = (
        float(np.median(nonprivate_cost_ratios(replace(PUBLISHED, epsilon_per_iteration=each))))
        for each in (LEAST, MOST)
    )
    change = 100.0 * abs(low / high - 1.0)
    return Answer(change, {"measured": f"{change:.2g}", "runs": str(N_RUNS)})


def digits() -> Answer:
    """Measure how many digits of a record's place the attacker has right, in the middle of the runs."""
    data = records()
    found = attack_runs(data.points, data.box, PUBLISHED, RECORD, 0, 0, N_ATTACKS)
    error = float(np.median(found.nonprivate_errors))
    right = -math.log10(max(error, np.finfo(float).eps))
    return Answer(right, {"measured": f"{math.floor(right)}", "runs": str(N_ATTACKS)})


COSTS = ranges("Up to 1.2 times", "1.2 to 2 times", "2 to 10 times", "More", at=(1.2, 2.0, 10.0))
LESSON = Lesson(
    "kmeans",
    "convergent_kmeans",
    "k-means with noise",
    "What ε costs a center, and how a method can look private and give a record away.",
    {"data": "blobs", "n": "2000", "mode": "repaired", "start_seed": "5", "noise_seed": "112"},
    (
        LessonStep(
            "Read the picture",
            "2,000 records, 5 clusters. Press play: records take the color of their nearest center. Gray rings are "
            "exact means: secret. Orange is noise. Blue is what the world gets: noisy means, zones, and centers drawn "
            "inside them.",
            {"epsilon": "1.0"},
        ),
        LessonStep(
            "Less ε",
            "Say ε falls from 1 to 0.1. Cost is the sum of squared distances to the nearest center. Lloyd's "
            "algorithm, which is k-means without privacy, has 1 times its own cost.",
            {"epsilon": "1.0"},
            Question(
                "What does the middle of 25 runs cost, with 2,000 records and k = 5?",
                COSTS,
                lambda: cost(0.1),
                "**{measured} times** Lloyd's, the middle of {runs} runs with noise seeds 0 to 24. Each pass may spend "
                "only a part of ε, so that counts and sums drown in noise.",
                exact=True,
            ),
            after={"epsilon": "0.1"},
        ),
        LessonStep(
            "More ε",
            "Now raise ε to 5. One record moves the sum of a cluster as far as before, but less noise covers it.",
            {"epsilon": "0.1"},
            Question(
                "What does the middle of 25 runs cost now, with the same records and k = 5?",
                COSTS,
                lambda: cost(5.0),
                "**{measured} times** Lloyd's, the middle of {runs} runs. Noise has a fixed size and 400 records a "
                "cluster drown it. With more people a smaller ε would do the same.",
                exact=True,
            ),
            {"epsilon": "5.0"},
        ),
        LessonStep(
            "As the paper prints it",
            "This is the published mode: zones stand on exact means, and ε only chooses a point inside them. Move ε "
            "per step from end to end before you answer.",
            {"mode": "published", "epsilon_per_iteration": "0.5"},
            Question(
                "From ε = 0.05 to 20 per step, how much does the cost of the 2,000 records change?",
                ranges("Less than 5 in 100", "5 to 50 in 100", "More than 50 in 100", at=(5, 50)),
                published_change,
                "By **{measured} in 100**, in the middle of {runs} runs each. The records place the zones, not ε. A "
                "slider that moves nothing is a reason to ask what protects you.",
                exact=True,
            ),
        ),
        LessonStep(
            "Who is protected?",
            "An attacker has all of the 2,000 records but one, and this published release. Zones and final centers "
            "were made from exact means; noise fell on counts only.",
            {"mode": "published", "epsilon_per_iteration": "0.5"},
            Question(
                "How many digits of the missing place does he get right?",
                ranges("One at most", "2 to 5", "6 or more", at=(2, 6)),
                digits,
                "**{measured} digits**, in the middle of {runs} attacks. A center is a noisy multiple of its exact "
                "sum: it lies on a line that tells the record. The paper's ε is claimed, not established.",
                exact=True,
            ),
        ),
        LessonStep(
            "The attack, played",
            "Under the picture, the tab The attack plays it on the record that you choose: against exact centers, the "
            "repaired release, and the published one. Compare how far each guess is off.",
            {"mode": "published", "epsilon_per_iteration": "0.5", "tab": "attack"},
        ),
        LessonStep(
            "What the public sees",
            "Repaired mode again, through the eyes of the public. Everything gray is gone, and so is every number that "
            "needs true records. What is left is all that an attacker has, and ε bounds what it tells.",
            {"epsilon": "1.0", "audience": "public"},
        ),
    ),
)
