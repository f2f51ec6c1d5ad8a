"""The lesson on DPM: clusters that nobody counted, cuts that noise refuses, and where the budget goes."""

from functools import cache

import numpy as np

from dpviz.data import Dataset, load
from dpviz.methods.dpm import algorithm
from dpviz.methods.dpm.algorithm import LevelStep, Params
from dpviz.stories.lesson import Answer, Lesson, LessonStep, Question, ranges

N_RUNS = 20  # noise seeds 0 to 19
N_CUTS = 40
FULL, FEW = 5_000, 500  # records
N_LEVELS = 8  # of counts, as in the paper: τ = 7 levels of cuts and the root


@cache
def records(n: int) -> Dataset:
    """Return the records of a step."""
    return load("blobs", n=n, seed=0)


@cache
def found(epsilon: float, n: int = FULL) -> Answer:
    """Count the released clusters in the middle of many runs."""
    data = records(n)
    runs = (
        algorithm.fit(data.points, data.box, Params(epsilon=epsilon), rng=np.random.default_rng(seed))
        for seed in range(N_RUNS)
    )
    counts = sorted(len(run.release.centers) for run in runs)
    middle = counts[len(counts) // 2]
    words = {"measured": str(middle), "least": str(counts[0]), "most": str(counts[-1]), "runs": str(N_RUNS)}
    return Answer(float(middle), words)


def best_cuts() -> Answer:
    """Count how often the first cut is the one with the highest score."""
    data, hits = records(FULL), 0
    for seed in range(N_CUTS):
        trace = algorithm.fit(data.points, data.box, Params(), rng=np.random.default_rng(seed)).trace
        first = next(step for step in trace if isinstance(step, LevelStep)).splits[0]
        hits += first.chosen == first.nonprivate_best
    share = 100.0 * hits / N_CUTS
    return Answer(share, {"measured": f"{share:.0f}", "hits": str(hits), "runs": str(N_CUTS)})


def deepest_share() -> Answer:
    """Return what share, in 100, of the budget for counts the deepest level has."""
    shares = algorithm.level_epsilons(1.0, N_LEVELS)
    share = 100.0 * float(shares[-1])
    return Answer(share, {"measured": f"{share:.0f}", "root": f"{100.0 * float(shares[0]):.0f}"})


CLUSTERS = ranges("1 or 2", "3 or 4", "5", "6 or more", at=(2.5, 4.5, 5.5))
LESSON = Lesson(
    "dpm",
    "dpm",
    "Cutting where it is empty",
    "How a method finds the number of clusters by itself, and why noise makes it stop early.",
    {"data": "blobs", "n": "5000", "epsilon": "0.2", "noise_seed": "112"},
    (
        LessonStep(
            "Read the picture",
            "Press play. The box is cut in two where few records are, level by level. A cut counts only if both sides "
            "keep enough records by their noisy counts. What cannot be cut any more becomes a cluster.",
        ),
        LessonStep(
            "Nobody said how many",
            "The records lie in five heaps. DPM is not told that. There are 5,000 records; say ε is 1.",
            question=Question(
                "How many clusters does it find in 5,000 records, in the middle of 20 runs?",
                CLUSTERS,
                lambda: found(1.0),
                "**{measured}**, with {least} to {most} in {runs} runs (noise seeds 0 to 19). Empty gaps between heaps "
                "are wide, so that even a noisy choice falls into one.",
            ),
            after={"epsilon": "1.0"},
        ),
        LessonStep(
            "Less ε",
            "Now lower ε to 0.1. A cut is refused where a side's noisy count is too small to be trusted.",
            {"epsilon": "1.0"},
            Question(
                "How many clusters in the same 5,000 records, in the middle of 20 runs?",
                CLUSTERS,
                lambda: found(0.1),
                "**{measured}**, with {least} to {most} in {runs} runs. Counts need enough records to stand out of "
                "their noise. DPM would rather stop than cut through a heap.",
            ),
            {"epsilon": "0.1"},
        ),
        LessonStep(
            "Fewer people",
            "ε is 1 again. Now let most people go: 500 records stay, 100 in each heap.",
            {"epsilon": "1.0"},
            Question(
                "How many clusters in 500 records, in the middle of 20 runs?",
                CLUSTERS,
                lambda: found(1.0, FEW),
                "**{measured}**, with {least} to {most} in {runs} runs. Noise does not shrink with the crowd: a tenth "
                "of the people at the same ε is about as hard as a tenth of ε.",
            ),
            {"n": "500"},
        ),
        LessonStep(
            "A choice by chance",
            "Which cut is taken is drawn by chance: the better its score, the likelier. Under the picture, Inside a "
            "cut shows scores and chances.",
            {"tab": "inside", "epsilon": "1.0"},
            Question(
                "5,000 records, ε = 1: how often is the first cut the very best one, in 100?",
                ranges("Fewer than 5", "5 to 24", "25 to 59", "60 or more", at=(5, 25, 60)),
                best_cuts,
                "**{measured}** in 100: {hits} of {runs} runs. Its neighbors score nearly as much and split the rest "
                "among them. A cut beside the best one does no harm.",
                exact=True,
            ),
        ),
        LessonStep(
            "Where the budget goes",
            "Deeper parts hold fewer records and need better counts: each level gets √2 times the budget of the one "
            "above. Take 7 levels of cuts, as in the paper.",
            {"epsilon": "1.0"},
            Question(
                "What share of the counts' budget does the deepest level get, in 100?",
                ranges("Fewer than 15", "15 to 24", "25 to 39", "40 or more", at=(15, 25, 40)),
                deepest_share,
                "**{measured}** in 100; the root has {root}. Parts on one level share no record, so that they do not "
                "pay for each other. Open Budget shares to divide ε yourself.",
            ),
        ),
        LessonStep(
            "What the public sees",
            "Cuts, noisy counts and centers are released; records and exact counts are gone. Move ε and see what is "
            "left of five heaps.",
            {"audience": "public", "epsilon": "1.0"},
        ),
    ),
)
