"""Chapter 2: an answer by a coin, and what ε is: how often a listener is right, in 100."""

import math

import numpy as np

from dpviz.core import Knob, attacker_odds
from dpviz.mechanisms import randomized_response
from dpviz.plots import Axis, Scene
from dpviz.stories.course.chapter import Chapter, marks, still
from dpviz.stories.lesson import Answer, Question, ranges
from dpviz.stories.panel import limit
from dpviz.stories.stage import RELEASED

TWO_TOSSES = math.log(3.0)  # ε of two tosses: the truth three times as likely as its opposite
N_ROUNDS = 400_000  # of an attack: its share is off by 0.3 in 100 at most
SEED = 11
SIDE = 10  # people along a side of each half: 100 of them
HALVES = ("truth: yes", "truth: no")
EPSILON = Knob(
    "course_epsilon", "float", TWO_TOSSES, "ε", "How far the coin leans to the truth.", 0.1, 4.0, 0.1, 4.0, log=True
)


def attacked(epsilon: float) -> Answer:
    """Let an attacker believe what each of many answers says, where yes and no were equally likely."""
    rng = np.random.default_rng([SEED, round(1000 * epsilon)])
    truth = rng.random(N_ROUNDS) < 0.5
    said = randomized_response(truth, epsilon=epsilon, rng=rng)
    share = 100.0 * float((said == truth).mean())
    return Answer(share, {"measured": f"{share:.1f}", "limit": limit(attacker_odds(epsilon))})


def yes_of_100(epsilon: float) -> tuple[int, int]:
    """Return how many of 100 people say yes where the truth is yes, rounded as limits are, and where it is no."""
    honest = int(limit(attacker_odds(epsilon)))
    return honest, 100 - honest


def picture(epsilon: float, *, answered: bool) -> Scene:
    """Draw 100 answers of each truth: filled is a yes, hollow a no."""
    del answered  # the truth is in the picture already: what is asked is what a listener makes of it
    said, heard = yes_of_100(epsilon), []
    column, row = np.meshgrid(np.arange(SIDE), np.arange(SIDE)[::-1])
    grid = np.stack([column.ravel(), row.ravel()], axis=1)
    for half in (0, 1):
        heard.append(np.array([half + 0.14, 0.09]) + grid * np.array([0.08, 0.091]))
    says_yes = np.concatenate([places[:n] for places, n in zip(heard, said, strict=True)])
    says_no = np.concatenate([places[n:] for places, n in zip(heard, said, strict=True)])
    return still(
        "What 200 people say",
        f"Two squares of 100 people. Where the truth is yes, {said[0]} say yes; where it is no, {said[1]} say yes.",
        Axis("", view=(0.0, 2.0), names=HALVES),
        Axis("", ticks=False),
        marks("Says yes", RELEASED, says_yes, size=13.0),
        marks("Says no", RELEASED, says_no, symbol="ring", size=11.0),
    )


def told(epsilon: float) -> str:
    """Say what a yes that is heard means."""
    yes, no = yes_of_100(epsilon)
    return (
        f"Of 100 who say yes, {yes} mean it and {no} do not. Move ε left: both squares become alike, an answer tells "
        "less, and you have more privacy."
    )


CHAPTER = Chapter(
    "coin",
    "A coin that lies for you",
    "An embarrassing question, yes or no. You toss a coin that nobody sees. Heads: tell the truth. Tails: toss again, "
    "and say yes for heads, no for tails. Here are 100 people whose truth is yes, and 100 whose truth is no.",
    Question(
        "Someone says yes, and you believe it. How often are you right, in 100?",
        ranges("50 to 60", "60 to 70", "70 to 80", "80 or more", at=(60, 70, 80)),
        lambda: attacked(TWO_TOSSES),
        "**{measured}** times in 100; a blind guess has 50. How far the coin leans to the truth is its **ε** "
        "(“epsilon”): at ε = 1.1, anyone who guesses your truth, called an *attacker*, is right at most {limit} "
        "times in 100.",
    ),
    EPSILON,
    picture,
    told,
    "ε limits how often anyone who sees the result can be right about me, in 100: a coin flip is 50, ε = 1.1 is 75. "
    "Less ε is more privacy.",
    "epsilon",
)
