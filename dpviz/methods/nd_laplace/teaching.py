"""Material that teaches nD-Laplace: readings of its picture, two worlds, and the course's chapter."""

import math
from functools import cache

import numpy as np

from dpviz import attacks
from dpviz.attacks.location import mean_error
from dpviz.core import Box, Knob, Points, PointsRelease, attacker_odds
from dpviz.data import Dataset, load
from dpviz.mechanisms import epsilon_of_level, nd_laplace, perturbation_area
from dpviz.mechanisms.nd_laplace import radius_quantile
from dpviz.methods.nd_laplace.algorithm import Params, fit
from dpviz.methods.nd_laplace.run import PointsLook
from dpviz.stories.method import Cloud, Worlds
from dpviz.stories.panel import attacker, number
from dpviz.stories.teaching import Answer, Formula, Known, Question, Reading, RunChapter, ranges, tex

# Reading: misreadings, papers, formulas with the numbers of a run.


SYMBOLS = {
    r"\varepsilon": "the budget per unit of distance",
    r"\ell,\ r": "the level, and the radius that it is for",
    "n": "number of features",
    "m": "number of releases of one place",
    r"d(x, x')": "how far apart two places are",
}
# Largest exponent with a finite power of e.
MOST_EXPONENT = 700.0
# Our choice: releases of one place in the formula for several.
RELEASES = 10


def formulas(known: Known) -> tuple[Formula, ...]:
    """Return the formulas of a run, with lengths in the unit of the noise."""
    epsilon, n = known.params.epsilon, known.d
    look = known.look if isinstance(known.look, PointsLook) else PointsLook(1.0)
    unit, level = "shares of the range" if look.shares else look.unit, epsilon * look.radius
    area = perturbation_area(n, epsilon=epsilon)
    far = float(radius_quantile(0.95, n, epsilon=epsilon))
    factor, twice = (2.0, r"2 \cdot ") if known.params.domain == "redraw" else (1.0, "")
    return (
        Formula(
            "Budget per unit of distance",
            r"\varepsilon = \frac{\ell}{r}",
            rf"\varepsilon = \frac{{{tex(level)}}}{{{tex(look.radius)}}}",
            epsilon,
            f"per {unit}" if unit else "",
            "Andrés et al. 2013, definition 3.1",
        ),
        Formula(
            "Two places a radius apart: how much likelier one may make a release",
            r"e^{2\varepsilon r}" if factor > 1 else r"e^{\varepsilon r}",
            rf"e^{{{twice}{tex(epsilon)} \cdot {tex(look.radius)}}}",
            _exp(factor * level),
            "times, at most",
            "van der Ende, equation 3.1" + ("; doubled, as drawing again costs up to twice" if factor > 1 else ""),
        ),
        Formula(
            "Mean length of the noise: the perturbation area",
            r"\frac{n}{\varepsilon}",
            rf"\frac{{{n}}}{{{tex(epsilon)}}}",
            area.mean_radius,
            unit,
            "van der Ende, equation 3.4",
        ),
        Formula(
            "95 in 100 releases lie within",
            r"\frac{1}{\varepsilon}\,\Gamma_n^{-1}(0.95)",
            rf"\frac{{1}}{{{tex(epsilon)}}} \cdot {tex(far * epsilon)}",
            far,
            unit,
            "van der Ende, equation 3.3: lengths follow a Gamma distribution",
        ),
        Formula(
            "Least error between two equally likely places a radius apart",
            r"\frac{100}{1 + e^{\varepsilon\, d(x, x')}}",
            rf"\frac{{100}}{{1 + e^{{{tex(factor * level)}}}}}",
            100.0 / (1.0 + _exp(factor * level)),
            "in 100",
            "van der Ende, equation 2.2, the right way around",
        ),
        Formula(
            f"Error of the mean of {RELEASES} releases",
            r"\frac{\sqrt{n(n + 1)}}{\varepsilon \sqrt{m}}",
            rf"\frac{{\sqrt{{{n} \cdot {n + 1}}}}}{{{tex(epsilon)} \sqrt{{{RELEASES}}}}}",
            float(mean_error(epsilon, n, RELEASES)),
            unit,
            "dpviz: root of the mean square, exactly",
        ),
    )


def _exp(level: float) -> float:
    return math.exp(level) if level < MOST_EXPONENT else math.inf


READING = Reading.from_file("nd_laplace", formulas, lambda _: SYMBOLS)


# Two worlds: one record, moved many times.


def by_record(spots: Points, box: Box, params: Params, world: int, n_runs: int, *, rng: np.random.Generator) -> Cloud:
    """Draw the record's own row many times: the other rows have their own noise and reveal nothing about it."""
    release = fit(np.repeat(spots[[world]], n_runs, axis=0), box, params, rng=rng).release
    in_range = params.unit == "range"
    rows, ends = (box.to_unit(each) if in_range else each for each in (release.points, spots))
    nearer = attacks.nearer_scores(PointsRelease(rows), ends[0], ends[1])
    return Cloud(release.points, None, np.column_stack([nearer, rows]))


WORLDS: Worlds[Params, PointsRelease] = Worlds(by_record=by_record)


# The chapter of the course: everyone adds noise before sending, and ε needs a distance.

N = 600  # people
# In meters: number 4 in the page's list.
RADIUS = 500.0
N_DRAWS = 20_000
SEED = 4


@cache
def records() -> Dataset:
    """Return the records of the chapter."""
    return load("city", n=N, seed=0)


def mean_move() -> Answer:
    """Measure how far a place moves on average at ε = 1 within the radius."""
    rng = np.random.default_rng([SEED, 0])
    moves = nd_laplace(np.zeros((N_DRAWS, 2)), epsilon=epsilon_of_level(1.0, RADIUS), rng=rng)
    mean = float(np.linalg.norm(moves, axis=1).mean())
    return Answer(mean, {"measured": f"{round(mean, -1):,.0f} m", "draws": f"{N_DRAWS:,}"})


SENT = Knob("course_sent", "float", 4.0, "ε per 500 m", "For each location that is sent.", 0.1, 10.0, log=True)


def apart_words(level: float) -> str:
    """Describe how well two places can be distinguished."""
    return attacker(attacker_odds(level), f"Which of two places {RADIUS:g} m apart")


def move_words(level: float) -> str:
    """Describe how far places move on average."""
    mean = perturbation_area(2, epsilon=epsilon_of_level(level, RADIUS)).mean_radius
    return (
        f"At ε = {number(level)} per {RADIUS:g} m, a location moves by **{number(mean)} m** on average, according "
        "to the formula."
    )


CHAPTER = RunChapter(
    "sending",
    "Noise before sending",
    "These people trust no one, so each of them shifts their own location at random (orange) and sends only the result "
    f"(blue). Here, ε limits how well anyone can distinguish two locations {RADIUS:g} m apart. At first, "
    f"ε = {SENT.default:g}.",
    Question(
        f"At ε = 1 per {RADIUS:g} m, how far does a location move on average?",
        ranges("Less than 250 m", "250 to 750 m", "750 to 1,500 m", "More", at=(250, 750, 1500)),
        mean_move,
        "**{measured}**, on average over {draws} tries: if no one is trusted, every location needs enough noise of its "
        "own. "
        "Locations that are farther apart are easier to tell apart, because ε is per unit of distance.",
    ),
    SENT,
    records,
    lambda level: {"epsilon": epsilon_of_level(float(level), RADIUS)},
    {"person": "True location", "sent point": "Location that is sent", "noise": "Move"},
    1,
    "Noise that people add before sending protects them from everyone, even the collector. Its ε is per unit of "
    "distance.",
    1.0,
    lambda level: {"data": "city", "n": str(N), "radius": "4", "epsilon": str(float(level)), "noise_seed": "1"},
    apart_words,
    move_words,
    is_extra=True,
)
