"""The course's chapter on nD-Laplace: everyone adds noise before sending, and ε needs a distance."""

from functools import cache

from dpviz.core import Knob, attacker_odds
from dpviz.data import Dataset, load
from dpviz.mechanisms import epsilon_of_level, perturbation_area
from dpviz.methods.nd_laplace.story.lesson import RADIUS, mean_move
from dpviz.stories.course.run_chapter import RunChapter
from dpviz.stories.lesson import Question, ranges
from dpviz.stories.panel import attacker, number

N = 60  # people
LEVEL = Knob(
    "course_sent", "float", 4.0, "ε within 500 m", "Of one place that is sent.", 0.1, 10.0, 0.1, 10.0, log=True
)


@cache
def town() -> Dataset:
    """Return where the people are."""
    return load("city", n=N, seed=0)


def told_apart(level: float) -> str:
    """Say how well two places are told apart."""
    return attacker(attacker_odds(level), f"Which of two places {RADIUS:g} m apart")


def told(level: float) -> str:
    """Say how far places move on average."""
    mean = perturbation_area(2, epsilon=epsilon_of_level(level, RADIUS)).mean_radius
    return f"ε = {number(level)} within {RADIUS:g} m: a place moves **{number(mean)} m** on average."


CHAPTER = RunChapter(
    "sending",
    "Noise before sending",
    f"{N} people trust nobody: each moves their own place at random (orange) and sends only that (blue). Here ε goes "
    f"with a distance: how well can places {RADIUS:g} m apart be told apart? At first ε = {LEVEL.default:g}.",
    Question(
        f"At ε = 1 within {RADIUS:g} m, how far does a place move on average?",
        ranges("Less than 250 m", "250 to 750 m", "750 to 1,500 m", "More", at=(250, 750, 1500)),
        mean_move,
        "**{measured}**, the mean of {draws} tries. Nobody is trusted with everyone's true place, so that each place "
        "needs noise enough of its own.",
    ),
    LEVEL,
    town,
    lambda level: {"epsilon": epsilon_of_level(float(level), RADIUS)},
    {"Records": "True place", "Released points": "Place that is sent", "Moves": "Move"},
    1,
    "Noise added before sending protects from everybody, the collector too; its ε counts per distance.",
    1.0,
    told_apart,
    told,
)
