"""Chapter 1: two averages, each harmless, give one salary away."""

import numpy as np

from dpviz.attacks import exact_record
from dpviz.core import FloatArray, Knob
from dpviz.plots import Axis, Scene
from dpviz.stories.course.chapter import Chapter, marks, segments, still
from dpviz.stories.lesson import Answer, Question, ranges
from dpviz.stories.quantile_dots import stacked
from dpviz.stories.stage import RELEASED, SECRET

N = 20  # colleagues
TOP = 100_000.0  # dollars a year, where the axis ends
SEED = 3
DOT = 0.028  # width of a salary's dot, of the axis
LEVEL = 0.075  # height of a dot, of the picture
FLOOR = 0.22
LEAVER = Knob("course_leaver", "int", 5, "Who leaves", "The colleague whose salary is computed.", 1, N, 1, N)


def salaries() -> FloatArray:
    """Return what the colleagues earn (N,), whole dollars a year, from low to high."""
    drawn = np.random.default_rng(SEED).gamma(9.0, 5_600.0, N)
    return np.sort(np.round(np.minimum(drawn, 0.98 * TOP)))


def averages(leaver: int) -> tuple[float, float]:
    """Return the two published averages: of all, and of all but number `leaver` (from 1); to the cent."""
    earned = salaries()
    return round(float(earned.mean()), 2), round(float(np.delete(earned, leaver - 1).mean()), 2)


def found(leaver: int) -> float:
    """Return what anybody computes from the two averages: the salary of number `leaver`, dollars."""
    everyone, others = averages(leaver)
    centers, counts = np.array([[everyone]]), np.array([float(N)])
    return float(exact_record(centers, counts, (N - 1) * np.array([[others]]))[0])


def measured() -> Answer:
    """Measure how far off the computed salary is at most, whoever leaves."""
    error = max(abs(found(each) - salaries()[each - 1]) for each in range(1, N + 1))
    return Answer(error, {"measured": f"{100 * error:.0f} cents"})


def picture(leaver: int, *, answered: bool) -> Scene:
    """Draw the salaries, the two averages, who leaves, and in the end what the averages tell."""
    earned = salaries() / TOP
    levels = FLOOR + LEVEL * stacked(earned, DOT)
    dots = np.stack([earned, levels], axis=1)
    both = np.array(averages(leaver)) / TOP
    lines = np.array([[at, 0.0, at, 0.14] for at in both])
    computed = np.array([[found(leaver) / TOP, dots[leaver - 1, 1]]])
    return still(
        "Twenty salaries and two averages",
        f"Twenty gray rings, one for each salary, a square around the one that leaves, and two averages below: "
        f"{dollars(both[0] * TOP)} of all and {dollars(both[1] * TOP)} of the others.",
        Axis("salary", "thousand dollars a year", (0.0, 1.0), (0.0, TOP / 1000)),
        Axis("", ticks=False, view=(0.0, 0.6)),
        marks("A salary", SECRET, dots, size=13.0),
        marks("The one who leaves", SECRET, dots[leaver - 1 : leaver], symbol="square", size=24.0),
        segments("Two averages", RELEASED, lines, size=3.0),
        *([marks("Computed from the averages", RELEASED, computed, symbol="cross", size=16.0)] if answered else []),
    )


def dollars(amount: float) -> str:
    """Write whole dollars."""
    return f"${amount:,.0f}"


def told(leaver: int) -> str:
    """Say the computation."""
    everyone, others = averages(leaver)
    return (
        f"{N} × \\${everyone:,.2f} − {N - 1} × \\${others:,.2f} = \\${found(leaver):,.2f}. "
        f"Number {leaver} earns \\${salaries()[leaver - 1]:,.0f}."
    )


CHAPTER = Chapter(
    "average",
    "Two averages tell one salary",
    f"{N} colleagues keep their salaries secret: the gray rings. Only their average is published. Then one leaves, and "
    f"the average of the other {N - 1} is published, too: two blue lines, close together.",
    Question(
        "How close can anyone come to the salary of the one who left?",
        ranges("To the dollar", "To about $1,000", "Not even that", at=(1.0, 2_000.0)),
        measured,
        f"Off by **{{measured}}** at most, whoever leaves: {N} times the first average, less {N - 1} times the second, "
        "is that salary. Each average was harmless alone; together they give one person away.",
    ),
    LEAVER,
    picture,
    told,
    "An average looks harmless, but two of them can give one person's number away to the dollar.",
)
