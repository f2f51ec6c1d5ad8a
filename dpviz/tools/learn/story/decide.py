"""Chapter 12: you decide. What ε costs a clinic and a town, in years and in odds."""

import math

import numpy as np

from dpviz.core import FloatArray, Knob, attacker_odds
from dpviz.plots import Audience, Axis, Kind, Layer, Role, Scene, always
from dpviz.stories.course.chapter import Chapter, marks, segments, still
from dpviz.stories.lesson import Answer, Question, ranges
from dpviz.stories.panel import limit, number
from dpviz.stories.stage import LAW, PUBLIC
from dpviz.tools.learn.story import crowd

AGES = 100.0  # years: the public range of an age
CLINIC, TOWN = 200, 2_000  # people
WANTED = 0.5  # years that an average may be off, typically
LOW, HIGH = 0.01, 5.0  # of ε
EPSILON = Knob(
    "course_price", "float", 0.1, "ε", "One ε for both, to see what it costs.", LOW, HIGH, LOW, HIGH, log=True
)


def off(n: int, epsilon: float) -> float:
    """Return what the average age of n people is off by, in the mean: the noise's scale, years."""
    return crowd.noise(n, epsilon, top=AGES).scale


def needed(n: int) -> float:
    """Return the ε at which the average of n is off by WANTED, in the mean."""
    return off(n, 1.0) / WANTED


def measured() -> Answer:
    """Say what the wanted accuracy costs the clinic and the town, in odds."""
    clinic, town = (attacker_odds(needed(n)) for n in (CLINIC, TOWN))
    words = {"measured": limit(clinic), "town": limit(town)}
    words |= {"epsilon": number(needed(CLINIC)), "small": number(needed(TOWN))}
    return Answer(clinic, words)


def curve(n: int) -> FloatArray:
    """Return the line of what the average of n is off by, (2, 2): decimal logarithms of ε and of years."""
    return np.log10([[each, off(n, each)] for each in (LOW, HIGH)])


def picture(epsilon: float, *, answered: bool) -> Scene:
    """Draw the error against ε for both, and where ε stands."""
    del answered  # the lines are the law; what they cost in odds is asked
    layers = []
    for hue, (name, n) in enumerate(((f"Clinic, {CLINIC} people", CLINIC), (f"Town, {TOWN:,} people", TOWN))):
        shown = (Kind.LINES, Role.CLUSTER, Audience.PUBLIC)
        layers.append(Layer(name, *shown, {"xy": curve(n)[None, None]}, always(1), size=3.0, hue=hue, isolate=False))
    at, wanted = math.log10(epsilon), math.log10(WANTED)
    here = np.array([[at, math.log10(off(n, epsilon))] for n in (CLINIC, TOWN)])
    ends = math.log10(LOW), math.log10(HIGH)
    return still(
        "What ε costs",
        f"Two falling lines of the typical error in years against ε, one for a clinic and one for a town. At ε = "
        f"{number(epsilon)} the clinic is off by {number(off(CLINIC, epsilon))} years.",
        Axis("ε", "", ends, (0.0, 1.0), log=True),
        Axis("off by", "years", (-2.0, 2.0), (0.0, 1.0), log=True),
        segments("Wanted: half a year", PUBLIC, np.array([[ends[0], wanted, ends[1], wanted]]), size=1.5, dash=True),
        *layers,
        marks("Where ε stands", LAW, here, symbol="circle", size=14.0),
    )


def told(epsilon: float) -> str:
    """Say what this ε costs."""
    clinic, town = (number(off(n, epsilon)) for n in (CLINIC, TOWN))
    return f"Off by about **{clinic} years** in the clinic, **{town}** in the town. Which ε would you choose?"


CHAPTER = Chapter(
    "decide",
    "You decide",
    f"A clinic of {CLINIC} people and a town of {TOWN:,} publish their average age with noise. Both want it right to "
    "half a year, typically: the green line. More ε is more accuracy, and less privacy.",
    Question(
        "At the ε where the clinic's line meets the green one, how often may an attacker be right, in 100?",
        ranges("50 to 60", "60 to 70", "70 to 80", "80 or more", at=(60, 70, 80)),
        measured,
        "At most **{measured}**, at ε = {epsilon}; for the town it is {town}, at ε = {small}. A large crowd can have "
        "both accuracy and privacy, a small one has to choose: no formula does it for you.",
    ),
    EPSILON,
    picture,
    told,
    "Choosing ε weighs what people risk against how right a result must be; a large crowd makes both easier.",
    asked=needed(CLINIC),
)
