"""What students get wrong, and exercises with their solutions: each with the picture that answers it."""

import math
from dataclasses import dataclass

import numpy as np

from dpviz.core import attacker_odds
from dpviz.mechanisms import estimated_share, perturbation_area
from dpviz.stories.panel import limit, number
from dpviz.tools.quiz.story import left_alone
from dpviz.tools.teach.story import (
    ATTACK,
    AUDIT,
    BOTH,
    COIN,
    CROWD,
    FEW_CUTS,
    HILLS,
    LITTLE,
    MUCH,
    PLANS,
    SENDING,
    WALL,
    WORLDS,
    TeachLink,
)


@dataclass(frozen=True, slots=True)
class WrongIdea:
    """What students say, what is true, and the picture that answers it."""

    said: str
    true: str
    link: TeachLink


@dataclass(frozen=True, slots=True)
class Exercise:
    """A task and its solution; `value` is the number that the solution comes to, NaN where it is read off a page."""

    title: str
    task: str
    solution: str
    link: TeachLink
    value: float = math.nan


WRONG_IDEAS = (
    WrongIdea(
        "More people hide each other better.",
        "The promise to each person depends on ε alone. More people make the result more accurate.",
        CROWD,
    ),
    WrongIdea(
        "More ε is more privacy.",
        f"Less ε is. At ε = 0.1 an attacker is right at most {limit(attacker_odds(0.1))} times in 100, at ε = 1 up to "
        f"{limit(attacker_odds(1.0))}.",
        LITTLE,
    ),
    WrongIdea(
        "An average gives nobody away.",
        "Two exact averages that differ in one person give that person's value, to the last digit.",
        ATTACK,
    ),
    WrongIdea(
        "Noise only stops somebody who knows little.",
        "The limit holds for an attacker who knows every other record, and the method.",
        WORLDS,
    ),
    WrongIdea(
        "The paper says ε = 1, so it is private.",
        "A claim is not a proof. The card has both, and says where they differ.",
        BOTH,
    ),
    WrongIdea(
        "The audit found nothing, so the promise is kept.",
        "Runs can catch a false promise, and never prove a true one.",
        AUDIT,
    ),
    WrongIdea(
        "nD-Laplace hides that I am in town.",
        "Its ε is per distance: it hides where you are among near places. Far places are told apart easily.",
        SENDING,
    ),
    WrongIdea(
        "Each look at a release costs ε.",
        "Only looks at the records cost. What is computed from a release is free.",
        HILLS,
    ),
)
_PEOPLE, _YES = 1_000, 400
_ODDS = 60
_RANGE, _SMALL, _LARGE = 100, 20, 2_000
_ITERATIONS = 5
_NEAR = 250  # meters that ε = 1 is for


def _truly() -> float:
    """Return how many of the people would truly say yes, as estimated from those who said it by the coin."""
    return _PEOPLE * estimated_share(np.arange(_PEOPLE) < _YES, epsilon=math.log(3.0))


def _move() -> float:
    """Return how far a point moves on average, in meters, at ε = 1 per so many meters, in the plane."""
    return perturbation_area(2, epsilon=1.0 / _NEAR).mean_radius


EXERCISES = (
    Exercise(
        "One salary",
        "The average of 12 salaries is 2,400. One person leaves, and the average of the other 11 is 2,350. What did "
        "that person earn?",
        f"12 × 2,400 − 11 × 2,350 = {left_alone(12, 2_400, 2_350):,.0f}.",
        ATTACK,
        left_alone(12, 2_400, 2_350),
    ),
    Exercise(
        "The crowd behind the coin",
        f"{_PEOPLE:,} people answer by two coins (heads: the truth; tails: the second coin answers). {_YES} say yes. "
        "How many would truly say yes?",
        f"A quarter says yes whatever is true: {_PEOPLE // 4}. Half of all tell the truth. (400 − 250) × 2 = "
        f"{_truly():.0f}.",
        COIN,
        _truly(),
    ),
    Exercise(
        "Which ε?",
        f"An attacker may be right at most {_ODDS} times in 100. How large may ε be?",
        f"e^ε/(1 + e^ε) = {_ODDS / 100:g}, so that ε = ln({_ODDS}/{100 - _ODDS}) = "
        f"{number(math.log(_ODDS / (100 - _ODDS)))}.",
        LITTLE,
        math.log(_ODDS / (100 - _ODDS)),
    ),
    Exercise(
        "Noise on a mean",
        f"Ages lie in the public box from 0 to {_RANGE}. Their sum gets Laplace noise at ε = 1, and n is public. How "
        f"large is the noise's scale on the mean of {_SMALL} people, and of {_LARGE:,}?",
        f"One record replaced moves the sum by {_RANGE} at most, so that its scale is {_RANGE}/ε = {_RANGE}. On the "
        f"mean it is {_RANGE}/{_SMALL} = {_RANGE / _SMALL:g}, and {_RANGE}/{_LARGE:,} = {_RANGE / _LARGE:g}. The "
        "promise is the same.",
        CROWD,
        _RANGE / _SMALL,
    ),
    Exercise(
        "A shared budget",
        f"k-means with noise makes {_ITERATIONS} steps, and ε = 1 is shared equally. What does each step have, and how "
        "much larger is its noise than with all of ε?",
        f"ε = {1 / _ITERATIONS:g} each. The scale is sensitivity over ε: {_ITERATIONS} times as large.",
        MUCH,
        1 / _ITERATIONS,
    ),
    Exercise(
        "How far from home",
        f"nD-Laplace has ε = 1 per {_NEAR} m, in the plane. How far does a point move on average?",
        f"The mean length is n/ε = 2 × {_NEAR} m = {_move():.0f} m.",
        SENDING,
        _move(),
    ),
    Exercise(
        "Fewer clusters",
        "Open DPM at ε = 1 and at ε = 0.1, with the same records. How many clusters does it find? Why?",
        "5, and 4. A cut is refused where no gap is clear of the noise, or a side's noisy count is too small to be "
        "trusted: with less ε the noise is larger, and cuts stop earlier.",
        FEW_CUTS,
    ),
    Exercise(
        "Drawn again",
        "Points outside of the box are drawn again. What does that cost near a corner, where ε = 1 per 1,000 m?",
        "1.91 per 1,000 m in the corner, and 2 is proved: the release tells more near a wall. Moving points onto the "
        "wall costs nothing.",
        WALL,
    ),
)


def links() -> tuple[TeachLink, ...]:
    """Return every link of plans, wrong ideas and exercises, once each."""
    planned = [link for steps in PLANS.values() for step in steps for link in step.links]
    others = [each.link for each in (*WRONG_IDEAS, *EXERCISES)]
    return tuple(dict.fromkeys([*planned, *others]))
