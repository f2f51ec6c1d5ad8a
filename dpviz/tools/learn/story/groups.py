"""Chapter 4: what clusters and k-means are, without privacy: join the nearest center, move to the middle, again."""

from functools import cache

import numpy as np

from dpviz.core import Centers, FloatArray, Knob, Labels, Points, frozen
from dpviz.plots import Axis, Scene
from dpviz.solvers import assign, cluster_sums, lloyd, means
from dpviz.stories.course.chapter import Chapter, people, still
from dpviz.stories.lesson import Answer, Question, ranges

N, N_GROUPS = 20, 3
MIDDLES = ((0.22, 0.24), (0.5, 0.75), (0.82, 0.36))  # of the groups, box units
SIZES = (7, 8, 5)
SPREAD = 0.075
START = ((0.22, 0.83), (0.56, 0.49), (0.86, 0.13))  # of the centers: wrong places
SEED = 2
ROUNDS = 2  # of joining and moving, until nobody would join another center
AGE = Axis("age", "years", (0.0, 1.0), (15.0, 85.0))
INCOME = Axis("income", "thousand dollars a year", (0.0, 1.0), (0.0, 100.0))


@cache
def records() -> Points:
    """Return where the people are, (N, 2), box units."""
    rng = np.random.default_rng(SEED)
    middles = np.repeat(np.array(MIDDLES), SIZES, axis=0)
    return frozen((middles + SPREAD * rng.standard_normal((N, 2))).clip(0.03, 0.97))


@cache
def states() -> tuple[tuple[Centers, Labels | None], ...]:
    """Return the start, and what each step makes of it: people join, centers move, until nothing changes."""
    points, centers = records(), np.array(START)
    found: list[tuple[Centers, Labels | None]] = [(centers, None)]
    labels: Labels | None = None
    while True:
        joined = assign(points, centers)
        if labels is not None and np.array_equal(joined, labels):
            return tuple(found)
        labels = joined
        found.append((centers, labels))
        centers = means(cluster_sums(points, labels, N_GROUPS), centers)
        found.append((centers, labels))


def nonprivate_centers() -> Centers:
    """Return where the centers end, (N_GROUPS, 2), box units."""
    return states()[-1][0]


def nonprivate_labels() -> Labels:
    """Return who ends in which group, (N,)."""
    return lloyd(records(), np.array(START)).nonprivate_labels


STEP = Knob("course_step", "int", 0, "Step", "Odd: people join. Even: centers move.", 0, 2 * ROUNDS)


def measured() -> Answer:
    """Count the rounds until nobody changes groups."""
    rounds = (len(states()) - 1) // 2
    return Answer(float(rounds), {"measured": f"{rounds} rounds", "steps": str(2 * rounds)})


def picture(step: int, *, answered: bool) -> Scene:
    """Draw people and centers after so many steps."""
    del answered  # before it the picture stands at the start
    centers, labels = states()[step]
    return still(
        "Twenty people and three centers",
        f"Twenty people by age and income, and three centers after {step} steps.",
        AGE,
        INCOME,
        people("A person", records(), labels),
        people("Center", centers, np.arange(N_GROUPS), symbol="diamond", size=20.0),
    )


def moved(step: int) -> FloatArray:
    """Return how far each center (N_GROUPS,) moves with a step, box units."""
    return np.asarray(np.linalg.norm(states()[step][0] - states()[max(0, step - 1)][0], axis=1))


def told(step: int) -> str:
    """Say what the step has done."""
    labels = states()[step][1]
    if labels is None:
        return "Three centers in the wrong places. Move Step to 1: each person joins the nearest."
    if step % 2:
        sizes = np.bincount(labels, minlength=N_GROUPS)
        return f"Everyone has joined the nearest center: {sizes[0]}, {sizes[1]} and {sizes[2]} people."
    last = " Nobody would join another center now: done." if step == len(states()) - 1 else ""
    return f"{int((moved(step) > 0).sum())} centers have moved to the middle of their people: an average.{last}"


CHAPTER = Chapter(
    "clusters",
    "What clusters are",
    f"{N} people by age and income, and {N_GROUPS} centers in the wrong places. In each round everyone joins the "
    "nearest center, then each center moves to the middle of its people. That is *k-means*, here with k = "
    f"{N_GROUPS}; its groups are *clusters*.",
    Question(
        "After how many rounds does nobody change centers any more?",
        ranges("1", "2 or 3", "4 to 10", "More", at=(1.5, 3.5, 10.5)),
        measured,
        "After **{measured}**: {steps} steps. Every center ends as the average of its people, and an average, you "
        "have seen, can give a person away.",
    ),
    STEP,
    picture,
    told,
    "k-means finds groups by two steps, again and again: people join the nearest center, centers move to the middle.",
)
