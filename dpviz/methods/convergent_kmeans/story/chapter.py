"""The course's chapter on private k-means: noise in every round, one budget for all of them."""

from functools import cache

import numpy as np

from dpviz.core import Knob
from dpviz.methods.convergent_kmeans.algorithm import Params
from dpviz.methods.convergent_kmeans.story.lesson import N_RUNS, START_SEED, nonprivate_cost_ratios, records
from dpviz.stories.course.run_chapter import RunChapter
from dpviz.stories.lesson import Answer, Question, ranges
from dpviz.stories.panel import number

EPSILON = 0.5
FEW, MANY = 3, 30  # rounds
ROUNDS = Knob(
    "course_rounds",
    "choice",
    str(FEW),
    "Rounds",
    "All of them together spend ε = 0.5.",
    choices=tuple((str(n), str(n)) for n in (1, FEW, 10, MANY)),
)


@cache
def nonprivate_cost(rounds: int) -> float:
    """Return the middle cost of runs of so many rounds, over that of k-means without noise."""
    params = Params(epsilon=EPSILON, n_iterations=rounds, start_seed=START_SEED)
    return float(np.median(nonprivate_cost_ratios(params)))


def more_rounds() -> Answer:
    """Compare what many rounds and few cost."""
    few, many = nonprivate_cost(FEW), nonprivate_cost(MANY)
    return Answer(many / few, {"measured": number(many), "few": number(few), "runs": str(N_RUNS)})


def told(rounds: str) -> str:
    """Say what so many rounds cost, in the middle of many runs."""
    return (
        f"Rounds: {rounds}. Centers cost **{number(nonprivate_cost(int(rounds)))}** times what they cost without "
        "noise, "
        f"in the middle of {N_RUNS} runs. Cost adds up how far people are from their center, squared."
    )


CHAPTER = RunChapter(
    "noise",
    "k-means with noise",
    f"2,000 people, 5 clusters. Every round of private k-means publishes noisy averages, and all rounds share one "
    f"ε: {EPSILON:g} for {FEW} rounds at first. The orange arrows are noise; blue are the centers "
    "that everyone sees.",
    Question(
        f"Without noise, more rounds never hurt. What do {MANY} rounds do at the same ε?",
        ranges("Better centers", "The same, within 5 %", "Worse centers", at=(0.95, 1.05)),
        more_rounds,
        f"Worse: centers cost **{{measured}}** times what they cost without noise, against {{few}} with {FEW} rounds. "
        f"Each of {MANY} rounds gets a {MANY}th of ε, so that every look at people is {MANY // FEW} times as noisy as "
        f"with {FEW}.",
    ),
    ROUNDS,
    records,
    lambda rounds: {"epsilon": EPSILON, "n_iterations": int(rounds), "start_seed": START_SEED},
    {
        "Records": "A person",
        "True mean": "Exact average",
        "Noise of the release": "Noise",
        "Released center": "Published center",
    },
    112,
    "A private method pays for every look at people: more rounds share the same ε, so each has more noise.",
    str(MANY),
    told=told,
)
