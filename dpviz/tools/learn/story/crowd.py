"""Chapter 3: one noisy average. More people make it more accurate; the promise to each of them stays."""

from functools import cache

import numpy as np
from scipy.special import gammaincinv

from dpviz.accounting import LaplaceEvent
from dpviz.core import Adjacency, FloatArray, Knob, attacker_odds
from dpviz.mechanisms import laplace
from dpviz.plots import Axis, Scene
from dpviz.stories.course.chapter import Chapter, marks, segments, still
from dpviz.stories.lesson import Answer, Question, ranges
from dpviz.stories.panel import ceiled, limit
from dpviz.stories.quantile_dots import stacked
from dpviz.stories.stage import PUBLIC, RELEASED, SECRET
from dpviz.tools.learn.story.coin import TWO_TOSSES

TOP = 200_000.0  # dollars a year: the public limit of a salary
EPSILON = TWO_TOSSES  # as in the chapter before: the same number in 100
FEW, MANY = 20, 2_000
SIZES = (20, 200, 2_000)
N_RUNS = 20  # that are drawn
N_MEASURED = 100_000
SEED = 8
DOT, LEVEL, FLOOR = 0.017, 0.042, 0.12
PEOPLE = Knob(
    "course_people",
    "choice",
    str(FEW),
    "People",
    "How many people the average is taken over. ε stays the same.",
    choices=tuple((str(n), f"{n:,}") for n in SIZES),
)


@cache
def nonprivate_mean(n: int) -> float:
    """Return the exact average of n salaries, dollars a year."""
    ranks = (np.arange(n) + 0.5) / n  # the same spread of salaries in any crowd
    return float((8_000.0 * gammaincinv(9.0, ranks)).clip(0.0, TOP).mean())


def noise(n: int, epsilon: float = EPSILON, *, top: float = TOP) -> LaplaceEvent:
    """Return the noise on an average of n from 0 to `top`: one person can move it by top / n at most; n is public."""
    moved = top / n
    return LaplaceEvent("average", moved, moved / epsilon, calibrated_for=Adjacency.REPLACE)


def releases(n: int, runs: int) -> FloatArray:
    """Return the averages (runs,) that as many runs would publish, dollars a year."""
    rng = np.random.default_rng([SEED, n])
    return laplace(np.full(runs, nonprivate_mean(n)), scale=noise(n).scale, rng=rng)


def error(n: int) -> float:
    """Measure how far off a published average is, in the mean of many runs, dollars."""
    return float(np.abs(releases(n, N_MEASURED) - nonprivate_mean(n)).mean())


def odds(n: int) -> float:
    """Return how often, in 100, an attacker is right at most about one of n people."""
    return attacker_odds(noise(n).epsilon_per_coordinate)


def measured() -> Answer:
    """Say what becomes of the limit and of the error where many take part."""
    words = {"few": dollars(error(FEW)), "many": dollars(error(MANY)), "measured": limit(odds(MANY))}
    return Answer(odds(MANY) - odds(FEW), words)


def picture(people: str, *, answered: bool) -> Scene:
    """Draw twenty runs of the noisy average of so many people."""
    del answered  # few people do not tell what many change
    n = int(people)
    drawn = np.sort(releases(n, N_RUNS)).clip(0.0, TOP) / TOP
    dots = np.stack([drawn, FLOOR + LEVEL * stacked(drawn, DOT)], axis=1)
    at = nonprivate_mean(n) / TOP
    return still(
        f"The noisy average of {n:,} people",
        f"Twenty blue dots, published averages of {n:,} people, around the exact one; they are off by "
        f"${noise(n).scale:,.0f} on average. Green walls at $0 and $200,000.",
        Axis("average salary", "thousand dollars a year", (-0.02, 1.02), (0.0, TOP / 1000)),
        Axis("", ticks=False, view=(0.0, 1.02)),
        segments("Public limits", PUBLIC, np.array([[0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 1.0, 1.0]]), size=3.0),
        segments("Exact average", SECRET, np.array([[at, 0.0, at, 1.0]]), size=1.5),
        marks("Published, 20 runs", RELEASED, dots, size=11.0),
    )


def dollars(amount: float) -> str:
    """Write dollars with two digits that count; the sign is no formula's."""
    return f"\\${float(f'{amount:.2g}'):,.0f}"


def told(people: str) -> str:
    """Say what the crowd changes and what it does not."""
    n = int(people)
    return (
        f"One of {n:,} people moves the average by \\${ceiled(TOP / n)} at most, so that noise of about "
        f"**{dollars(noise(n).scale)}** is enough: who guesses whether you earn \\$0 or \\${TOP:,.0f} is right at most "
        f"**{limit(odds(n))}** times in 100."
    )


CHAPTER = Chapter(
    "mean",
    "One noisy average",
    f"{FEW} people publish their average salary plus *noise*, a random amount, at ε = {EPSILON:.2g}; blue dots are "
    f"{N_RUNS} tries. Salaries lie between \\$0 and \\${TOP:,.0f}, so that one person moves the average by "
    f"\\${ceiled(TOP / FEW)} at most. Noise covers just that.",
    Question(
        f"Now {MANY:,} people, ε as before. An attacker knows that you earn \\$0 or \\${TOP:,.0f}, and guesses which. "
        "How "
        "often is that right?",
        ranges(
            "Less often", f"At most {limit(attacker_odds(EPSILON))} in 100, as before", "More often", at=(-0.5, 0.5)
        ),
        measured,
        "**The promise stays: at most {measured} in 100**, because noise covers one person's share in any crowd. "
        f"What more people change is accuracy: off by {{few}} with {FEW}, by {{many}} with {MANY:,}.",
    ),
    PEOPLE,
    picture,
    told,
    "More people make a noisy average more accurate. The promise to each of them stays the same: ε alone sets it.",
    asked=str(MANY),
)
