"""Chapters about clusters: what k-means does, without privacy, and what its exact centers give away."""

import math
from functools import cache

import numpy as np

from dpviz.attacks import exact_record
from dpviz.core import Centers, FloatArray, Knob, Labels, Points, frozen
from dpviz.plots import RELEASED, SECRET, Axis, Scene
from dpviz.solvers import assign, cluster_sums, lloyd, means
from dpviz.stories.teaching import Answer, Chapter, Question, marks, people, ranges, still

# Chapter 4: people join the nearest center, centers move to the middle, again.

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
    trace: list[tuple[Centers, Labels | None]] = [(centers, None)]
    labels: Labels | None = None
    while True:
        joined = assign(points, centers)
        if labels is not None and np.array_equal(joined, labels):
            return tuple(trace)
        labels = joined
        trace.append((centers, labels))
        centers = means(cluster_sums(points, labels, N_GROUPS), centers)
        trace.append((centers, labels))


def nonprivate_centers() -> Centers:
    """Return where the centers end, (N_GROUPS, 2), box units."""
    return states()[-1][0]


def nonprivate_labels() -> Labels:
    """Return who ends in which group, (N,)."""
    return lloyd(records(), np.array(START)).nonprivate_labels


STEP = Knob("course_step", "int", 0, "Step", "Odd: people join. Even: centers move.", 0, 2 * ROUNDS)


def clusters_answer() -> Answer:
    """Count the rounds until nobody changes groups."""
    rounds = (len(states()) - 1) // 2
    return Answer(float(rounds), {"measured": f"{rounds} rounds", "steps": str(2 * rounds)})


def clusters_picture(step: int, *, answered: bool) -> Scene:
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


def moves(step: int) -> FloatArray:
    """Return how far each center (N_GROUPS,) moves with a step, box units."""
    return np.asarray(np.linalg.norm(states()[step][0] - states()[max(0, step - 1)][0], axis=1))


def clusters_words(step: int) -> str:
    """Return what the step has done, as a sentence."""
    labels = states()[step][1]
    if labels is None:
        return "Three centers in the wrong places. Move Step to 1: each person joins the nearest."
    if step % 2:
        sizes = np.bincount(labels, minlength=N_GROUPS)
        return f"Everyone has joined the nearest center: {sizes[0]}, {sizes[1]} and {sizes[2]} people."
    last = " Nobody would join another center now: done." if step == len(states()) - 1 else ""
    return f"{int((moves(step) > 0).sum())} centers have moved to the middle of their people: an average.{last}"


CLUSTERS = Chapter(
    "clusters",
    "What clusters are",
    f"{N} people by age and income, and {N_GROUPS} centers in the wrong places. In each round everyone joins the "
    "nearest center, then each center moves to the middle of its people. That is *k-means*, here with k = "
    f"{N_GROUPS}; its groups are *clusters*.",
    Question(
        "After how many rounds does nobody switch groups?",
        ranges("1", "2 or 3", "4 to 10", "More", at=(1.5, 3.5, 10.5)),
        clusters_answer,
        "After **{measured}**: {steps} steps. Every center ends as the average of its people, and an average, you "
        "have seen, can give a person away.",
    ),
    STEP,
    clusters_picture,
    clusters_words,
    "k-means finds groups by two steps, again and again: people join the nearest center, centers move to the middle.",
    plays=True,
)

# Chapter 5: exact centers are averages: an attacker who knows all other people computes the missing one.

MISSING = Knob("course_missing", "int", 12, "Who is missing", "The one the attacker does not know.", 1, N, 1, N)


def computed_place(missing: int) -> FloatArray:
    """Return where the attacker finds number `missing` (from 1), (2,), box units: exact centers give it away."""
    points, labels = records(), nonprivate_labels()
    known = np.arange(N) != missing - 1
    sums = cluster_sums(points[known], labels[known], N_GROUPS).nonprivate_sums
    counts = np.bincount(labels, minlength=N_GROUPS).astype(float)
    return exact_record(nonprivate_centers(), counts, sums)


def leak_answer() -> Answer:
    """Measure how many digits of a place the attacker has right at least, whoever is missing."""
    error = max(float(np.abs(computed_place(each) - records()[each - 1]).max()) for each in range(1, N + 1))
    digits = math.floor(-math.log10(max(error, np.finfo(float).eps)))
    return Answer(float(digits), {"measured": f"{digits} digits"})


def leak_picture(missing: int, *, answered: bool) -> Scene:
    """Draw the people whom the attacker knows, the published centers, and in the end the one he finds."""
    points = records()
    computed = [marks("Computed by the attacker", RELEASED, computed_place(missing)[None], symbol="cross", size=16.0)]
    return still(
        "Twenty people, published centers",
        f"Nineteen people that the attacker knows, a square around number {missing}, whom he does not, and three "
        "published centers.",
        AGE,
        INCOME,
        people("A person", points, None),
        marks("Who is missing", SECRET, points[missing - 1 : missing], symbol="square", size=24.0),
        marks("Published center", RELEASED, nonprivate_centers(), symbol="diamond", size=14.0),
        *(computed if answered else []),
    )


def leak_words(missing: int) -> str:
    """Return whom the attacker finds, in years and dollars, as a sentence."""
    ages, incomes = AGE.values, INCOME.values
    x, y = computed_place(missing)
    age, income = ages[0] + x * (ages[1] - ages[0]), incomes[0] + y * (incomes[1] - incomes[0])
    return f"The attacker finds number {missing}: {age:.0f} years old, \\${1000 * round(income):,.0f} a year."


LEAK = Chapter(
    "leak",
    "Centers tell on people",
    f"The {N_GROUPS} centers of the same {N} people are published exactly (blue), with how many people each has. An "
    "attacker knows everyone but one: the square.",
    Question(
        "How well do the centers lead to the one who is missing?",
        ranges("Not at all", "Into the right group", "To the very place", at=(0.5, 6.0)),
        leak_answer,
        "To the very place, whoever is missing: exactly, to the last of at least **{measured}**. Each "
        "center times its number of people, less those who are known, leaves exactly one person.",
    ),
    MISSING,
    leak_picture,
    leak_words,
    "Exact cluster centers are averages: whoever knows all others computes the one who is left.",
)
