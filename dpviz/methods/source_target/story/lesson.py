"""The lesson on source-target clustering: secret helpers, public places, a threshold, and a record that decides."""

from functools import cache

import numpy as np

from dpviz.baselines.source_target_rivals import cluster_targets, nonprivate_stc
from dpviz.core import Labels
from dpviz.data.target_pairs import SourceTarget, load_pair
from dpviz.methods.source_target import algorithm
from dpviz.stories.lesson import Answer, Lesson, LessonStep, Question, ranges

N_CENTERS = 5
N_RUNS = 15  # noise seeds 0 to 14
WORST_CENTERS = 2


@cache
def pair(name: str, with_record: bool = True) -> SourceTarget:
    """Return the secret source and the public targets of a step."""
    if name == "worst_case":
        return load_pair(name, n=1_000, seed=0, centers=WORST_CENTERS, with_record=with_record)
    return load_pair(name, n=2_000, seed=0)


def nonprivate_cost(given: SourceTarget, chosen: Labels) -> float:
    """Return the mean distance of the targets to the nearest of source and chosen targets."""
    return float(algorithm.cost(given.targets, given.source, given.targets[chosen]))


def floor(given: SourceTarget, n_centers: int) -> float:
    """Return the cost of centers that are chosen beside the source itself."""
    rng = np.random.default_rng(0)
    return nonprivate_cost(given, nonprivate_stc(given.source, given.targets, n_centers, rng=rng))


def ignoring() -> Answer:
    """Measure how much farther people walk, in 100, where the source is ignored."""
    given = pair("first_aid")
    chosen = cluster_targets(given.targets, N_CENTERS, rng=np.random.default_rng(0))
    return _more(nonprivate_cost(given, chosen) / floor(given, N_CENTERS), 1)


@cache
def private(epsilon: float) -> Answer:
    """Measure how much farther, in 100, in the middle of private runs."""
    given = pair("first_aid")
    params = algorithm.Params(targets=given.targets, ball=given.ball, epsilon=epsilon, n_centers=N_CENTERS)
    costs = [
        nonprivate_cost(
            given, algorithm.fit(given.source, given.box, params, rng=np.random.default_rng(seed)).release.selected
        )
        for seed in range(N_RUNS)
    ]
    return _more(float(np.median(costs)) / floor(given, N_CENTERS), N_RUNS)


def decided() -> Answer:
    """Measure how much worse the best centers of one world are in the other, which lacks one record."""
    here, there = pair("worst_case"), pair("worst_case", with_record=False)
    chosen = nonprivate_stc(here.source, here.targets, WORST_CENTERS, rng=np.random.default_rng(0))
    ratio = nonprivate_cost(there, chosen) / floor(there, WORST_CENTERS)
    return Answer(ratio, {"measured": f"{ratio:.2g}"})


def _more(ratio: float, runs: int) -> Answer:
    more = 100.0 * (ratio - 1.0)
    return Answer(more, {"measured": f"{more:.0f}", "runs": str(runs)})


FARTHER = ranges("Less than 10", "10 to 29", "30 to 49", "50 or more", at=(10, 30, 50))
LESSON = Lesson(
    "target",
    "source_target",
    "Secret helpers",
    "Placing first-aid points beside paramedics whose homes are secret, and the one record that decides all.",
    {"data": "first_aid", "n": "2000", "epsilon": "0.5", "n_centers": "5", "noise_seed": "112"},
    (
        LessonStep(
            "Read the picture",
            "Green squares are public places that need help nearby. Gray dots are paramedics: secret. Step through it: "
            "noisy means of paramedics stand in for them, and five new first-aid points are chosen beside those.",
        ),
        LessonStep(
            "Why look at secrets?",
            "You could ignore the paramedics and place five points for the public places alone. The best that is "
            "possible is to know them all.",
            question=Question(
                "How much farther do people then walk than with the best five points, in 100?",
                FARTHER,
                ignoring,
                "**{measured}** in 100 farther. Points end up where paramedics live anyway. That gap is what a private "
                "method can win, and all that it can win.",
                exact=True,
            ),
        ),
        LessonStep(
            "With ε = 1",
            "S′ is released in place of the paramedics: for each cell a noisy mean, if its noisy count is large "
            "enough. Selection sees S′ and nothing else. Say ε is 1.",
            question=Question(
                "2,000 paramedics, five points: how much farther than with the best choice, in 100?",
                FARTHER,
                lambda: private(1.0),
                "**{measured}** in 100 farther, the middle of {runs} runs (noise seeds 0 to 14). Rough places are "
                "enough: it only matters which quarters have help already.",
                exact=True,
            ),
            after={"epsilon": "1.0"},
        ),
        LessonStep(
            "With ε = 0.1",
            "Now lower ε to 0.1. Stand-ins scatter over the town and pretend to help where nobody lives.",
            {"epsilon": "1.0"},
            Question(
                "The same 2,000 paramedics and five points: how much farther, in 100?",
                FARTHER,
                lambda: private(0.1),
                "**{measured}** in 100 farther, the middle of {runs} runs: most of the gain is gone. Ask Cost of every "
                "method, under the picture, from which ε on secrets are worth a look.",
                exact=True,
            ),
            {"epsilon": "0.1"},
        ),
        LessonStep(
            "One record decides",
            "A made-up town: one paramedic stands on the most crowded place, all others far away. With that one "
            "record, the best two points serve the other places. Keep those two, and let the record leave.",
            {"data": "worst_case", "n": "1000", "n_centers": "2", "data_centers": "2"},
            Question(
                "How many times the best cost do they now have?",
                ranges("About once", "1.1 to 1.5 times", "1.5 to 5 times", "More", at=(1.1, 1.5, 5)),
                decided,
                "**{measured} times** the best. If the choice must not tell whether that record is there, it is bad "
                "in one of the two worlds: no private method is good on every input.",
                exact=True,
            ),
        ),
        LessonStep(
            "What the public sees",
            "The paramedics are gone. Stand-ins, places and new points stay, and the noisy counts that passed. Whoever "
            "sees this may place points of their own: that costs no more ε.",
            {"epsilon": "1.0", "audience": "public"},
        ),
    ),
)
