"""Chapter 5: exact centers are averages, and whoever knows everybody else finds the one who is missing."""

import math

import numpy as np

from dpviz.attacks import exact_record
from dpviz.core import FloatArray, Knob
from dpviz.plots import Scene
from dpviz.solvers import cluster_sums
from dpviz.stories.course.chapter import Chapter, marks, people, still
from dpviz.stories.lesson import Answer, Question, ranges
from dpviz.stories.stage import RELEASED, SECRET
from dpviz.tools.learn.story.groups import AGE, INCOME, N_GROUPS, N, nonprivate_centers, nonprivate_labels, records

MISSING = Knob("course_missing", "int", 12, "Who is missing", "The one the attacker does not know.", 1, N, 1, N)


def found(missing: int) -> FloatArray:
    """Return where the attacker finds number `missing` (from 1), (2,), box units: exact centers give it away."""
    points, labels = records(), nonprivate_labels()
    known = np.arange(N) != missing - 1
    sums = cluster_sums(points[known], labels[known], N_GROUPS).nonprivate_sums
    counts = np.bincount(labels, minlength=N_GROUPS).astype(float)
    return exact_record(nonprivate_centers(), counts, sums)


def measured() -> Answer:
    """Measure how many digits of a place the attacker has right at least, whoever is missing."""
    error = max(float(np.abs(found(each) - records()[each - 1]).max()) for each in range(1, N + 1))
    digits = math.floor(-math.log10(max(error, np.finfo(float).eps)))
    return Answer(float(digits), {"measured": f"{digits} digits"})


def picture(missing: int, *, answered: bool) -> Scene:
    """Draw the people whom the attacker knows, the published centers, and in the end the one he finds."""
    points = records()
    computed = [marks("Computed by the attacker", RELEASED, found(missing)[None], symbol="cross", size=16.0)]
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


def told(missing: int) -> str:
    """Say whom the attacker finds, in years and dollars."""
    ages, incomes = AGE.values, INCOME.values
    x, y = found(missing)
    age, income = ages[0] + x * (ages[1] - ages[0]), incomes[0] + y * (incomes[1] - incomes[0])
    return f"The attacker finds number {missing}: {age:.0f} years old, \\${1000 * round(income):,.0f} a year."


CHAPTER = Chapter(
    "leak",
    "Centers tell on people",
    f"The {N_GROUPS} centers of the same {N} people are published exactly (blue), with how many people each has. An "
    "attacker knows everyone but one: the square.",
    Question(
        "How well do the centers lead to the one who is missing?",
        ranges("Not at all", "Into the right group", "To the very place", at=(0.5, 6.0)),
        measured,
        "To the very place, whoever is missing: at least **{measured}** are right, more than are written here. Each "
        "center times its number of "
        "people, less those who are known, leaves exactly one person.",
    ),
    MISSING,
    picture,
    told,
    "Exact cluster centers are averages: whoever knows all others computes the one who is left.",
)
