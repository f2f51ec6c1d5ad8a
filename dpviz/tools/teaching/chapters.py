"""All chapters, in the order in which they build on each other.

The first chapters are about one published number (exact averages, an answer by a coin, noisy averages, audits of a
promise). The next ones are about clusters (k-means, and the leak from its exact centers). Other chapters come from the
methods' catalog records. Chapters that later chapters do not need are optional: they follow the end of the path.
"""

import math
from collections.abc import Mapping
from functools import cache, lru_cache
from types import MappingProxyType

import numpy as np
from scipy.special import gammaincinv

from dpviz.accounting import LaplaceEvent
from dpviz.attacks import exact_record
from dpviz.audit import Batch, EpsilonBound, epsilon_lower_bound
from dpviz.core import Adjacency, Centers, FloatArray, Knob, Labels, Points, attacker_odds, frozen
from dpviz.mechanisms import laplace, randomized_response
from dpviz.methods import CATALOGUE
from dpviz.plots import CLUSTERS, LAW, PUBLIC, RELEASED, SECRET, Audience, Axis, Ink, Kind, Layer, Role, Scene
from dpviz.solvers import assign, cluster_sums, lloyd, means
from dpviz.stories.label import factor_words
from dpviz.stories.method import AnyMethod
from dpviz.stories.outcomes import stacked
from dpviz.stories.panel import Sentence, ceiled, floored, limit, number
from dpviz.stories.teaching import (
    Answer,
    Chapter,
    Question,
    RunChapter,
    last_step,
    marks,
    people,
    ranges,
    segments,
    still,
)

N_COLLEAGUES = 20
# End of the salary axis, in dollars a year.
SALARY_AXIS = 100_000.0
SALARY_SEED = 3
# Width of a salary's dot, as a share of the axis.
SALARY_DOT = 0.028
# Height of a dot, as a share of the picture.
SALARY_LEVEL = 0.075
SALARY_FLOOR = 0.22
LEAVER = Knob("course_leaver", "int", 5, "Who leaves", "The colleague whose salary is computed.", 1, N_COLLEAGUES)


def salaries() -> FloatArray:
    """Return the colleagues' salaries (N_COLLEAGUES,), whole dollars a year, from low to high."""
    sample = np.random.default_rng(SALARY_SEED).gamma(9.0, 5_600.0, N_COLLEAGUES)
    return np.sort(np.round(np.minimum(sample, 0.98 * SALARY_AXIS)))


def averages(leaver: int) -> tuple[float, float]:
    """Return the two published averages: of all, and of all but number `leaver` (from 1); to the cent."""
    earned = salaries()
    return round(float(earned.mean()), 2), round(float(np.delete(earned, leaver - 1).mean()), 2)


def computed_salary(leaver: int) -> float:
    """Return the salary of number `leaver`, dollars, as anyone can compute it from the two averages."""
    everyone, others = averages(leaver)
    centers, counts = np.array([[everyone]]), np.array([float(N_COLLEAGUES)])
    return float(exact_record(centers, counts, (N_COLLEAGUES - 1) * np.array([[others]]))[0])


def average_answer() -> Answer:
    """Measure the largest error of the computed salary over all who could leave."""
    error = max(abs(computed_salary(each) - salaries()[each - 1]) for each in range(1, N_COLLEAGUES + 1))
    return Answer(error, {"measured": f"{100 * error:.0f} cents"})


def average_picture(leaver: int, *, answered: bool) -> Scene:
    """Draw the salaries, the two averages, the leaver, and after the answer the salary computed from the averages."""
    earned = salaries() / SALARY_AXIS
    levels = SALARY_FLOOR + SALARY_LEVEL * stacked(earned, SALARY_DOT)
    dots = np.stack([earned, levels], axis=1)
    both = np.array(averages(leaver)) / SALARY_AXIS
    lines = np.array([[at, 0.0, at, 0.14] for at in both])
    computed = np.array([[computed_salary(leaver) / SALARY_AXIS, dots[leaver - 1, 1]]])
    return still(
        "Twenty salaries and two averages",
        "Twenty gray rings, one for each salary, a square around the leaver's, and two averages below: "
        f"${both[0] * SALARY_AXIS:,.0f} for all and ${both[1] * SALARY_AXIS:,.0f} for the others.",
        Axis("salary", "thousand dollars a year", (0.0, 1.0), (0.0, SALARY_AXIS / 1000)),
        Axis("", ticks=False, view=(0.0, 0.6)),
        marks("A salary", SECRET, dots, size=13.0),
        marks("The one who leaves", SECRET, dots[leaver - 1 : leaver], symbol="square", size=24.0),
        segments("Two averages", RELEASED, lines, size=3.0),
        *([marks("Computed from the averages", RELEASED, computed, symbol="cross", size=16.0)] if answered else []),
    )


def average_words(leaver: int) -> str:
    """Return the computation as a sentence."""
    everyone, others = averages(leaver)
    return (
        f"{N_COLLEAGUES} × \\${everyone:,.2f} − {N_COLLEAGUES - 1} × \\${others:,.2f} = "
        f"\\${computed_salary(leaver):,.2f}. Number {leaver} earns \\${salaries()[leaver - 1]:,.0f}."
    )


AVERAGE = Chapter(
    "average",
    "Two averages reveal one salary",
    f"The salaries of {N_COLLEAGUES} colleagues are secret (gray rings); only their average is published. Then one "
    f"colleague leaves, and the average of the remaining {N_COLLEAGUES - 1} is published, too. The two averages are "
    "the blue lines, close together.",
    Question(
        "How closely can anyone work out the salary of the person who left?",
        ranges("To the dollar", "To within about $1,000", "Not even that closely", at=(1.0, 2_000.0)),
        average_answer,
        f"To the dollar, with an error of at most **{{measured}}**: {N_COLLEAGUES} times the first average, minus "
        f"{N_COLLEAGUES - 1} times the second, is the salary of the person who left. Each average is harmless on its "
        "own; together, they reveal one person's salary.",
    ),
    LEAVER,
    average_picture,
    average_words,
    "An average looks harmless, but two of them can reveal one person's salary to the dollar.",
)

# Chapter 2: an answer by a coin, and the meaning of ε: the share of a listener's right guesses, in 100.

# ε of two tosses: the truth is three times as likely as its opposite.
TWO_TOSSES = math.log(3.0)
# Rounds of an attack. The attack's share of right guesses is off by at most 0.3 in 100.
N_ROUNDS = 400_000
COIN_SEED = 11
# People along one side of each half, which shows 100 people.
SIDE = 10
HALVES = ("truth: yes", "truth: no")
LEANING = Knob("course_epsilon", "float", TWO_TOSSES, "ε", "How often the coin tells the truth.", 0.1, 4.0, log=True)


def attack_coin(epsilon: float) -> Answer:
    """Return the share of right guesses of an attacker who believes each answer, if yes and no are equally likely."""
    rng = np.random.default_rng([COIN_SEED, round(1000 * epsilon)])
    truth = rng.random(N_ROUNDS) < 0.5
    share = 100.0 * float((randomized_response(truth, epsilon=epsilon, rng=rng) == truth).mean())
    return Answer(share, {"measured": f"{share:.1f}", "limit": limit(attacker_odds(epsilon))})


def yes_of_100(epsilon: float) -> tuple[int, int]:
    """Return the number of "yes" among 100 people whose true answer is yes, and among 100 whose true answer is no."""
    honest = int(limit(attacker_odds(epsilon)))
    return honest, 100 - honest


def coin_picture(epsilon: float, *, answered: bool) -> Scene:
    """Draw 100 people for each true answer, and at the end their answers: filled marks are yes, hollow ones no."""
    n_yes = yes_of_100(epsilon)
    column, row = np.meshgrid(np.arange(SIDE), np.arange(SIDE)[::-1])
    grid = np.stack([column.ravel(), row.ravel()], axis=1)
    squares = [np.array([half + 0.08, 0.09]) + grid * np.array([0.094, 0.091]) for half in (0, 1)]
    says_yes = np.concatenate([places[:n] for places, n in zip(squares, n_yes, strict=True)])
    says_no = np.concatenate([places[n:] for places, n in zip(squares, n_yes, strict=True)])
    counts = f" If the truth is yes, {n_yes[0]} say yes; if it is no, {n_yes[1]} say yes." if answered else ""
    answers = (
        marks("Says yes", RELEASED, says_yes, size=13.0),
        marks("Says no", RELEASED, says_no, symbol="ring", size=11.0),
    )
    return still(
        f"What {2 * SIDE**2} people say" if answered else f"{2 * SIDE**2} people",
        f"Two squares of {SIDE**2} people each: those whose true answer is yes, and those whose true answer is no."
        f"{counts}",
        Axis("", view=(0.0, 2.0), names=HALVES),
        Axis("", ticks=False),
        *(answers if answered else (marks("A person", SECRET, np.concatenate(squares), size=11.0),)),
    )


def coin_words(epsilon: float) -> str:
    """Return the meaning of a "yes", as a sentence."""
    yes, no = yes_of_100(epsilon)
    return (
        f"When 100 people say yes, {yes} of them mean it, and {no} do not. A yes is {factor_words(epsilon)} as likely "
        "if it is true, and ε limits that factor. Move ε to the left: the squares look more alike, and each answer "
        "reveals less."
    )


COIN = Chapter(
    "coin",
    "A coin that lies for you",
    "Someone asks you an embarrassing yes-or-no question. You toss a coin in secret. Heads: you tell the truth. "
    f"Tails: you toss again and say yes for heads, no for tails. Here are {SIDE**2} people whose true answer is yes, "
    f"and {SIDE**2} whose answer is no.",
    Question(
        "Someone says yes, and you believe it. How many times out of 100 are you right?",
        ranges("50 to 60", "60 to 70", "70 to 80", "80 or more", at=(60, 70, 80)),
        lambda: attack_coin(TWO_TOSSES),
        "In random trials, **{measured}** times in 100; a blind guess is right 50 times. The more often you tell the "
        f"truth, the larger **ε** (“epsilon”): at ε = ln 3, about {TWO_TOSSES:.2g}, an *attacker* who guesses your "
        "answer is right at most {limit} times.",
    ),
    LEANING,
    coin_picture,
    coin_words,
    "ε limits how often anyone who sees the result can guess right about me. In 100 guesses, a coin flip is right 50 "
    f"times; the limit is "
    f"{', '.join(f'{limit(attacker_odds(each))} at ε = {each:g}' for each in (0.1, 1.0, 2.0, 4.0))}.",
)

# Chapter 3: one noisy average. More people make it more accurate; the promise to each of them stays.

# Public limit of a salary, in dollars a year.
TOP = 200_000.0
FEW, MANY = 20, 2_000
CROWDS = (20, 200, 2_000)
# Number of runs in the picture.
N_DRAWN = 20
N_MEASURED = 100_000
MEAN_SEED = 8
MEAN_DOT, MEAN_LEVEL, MEAN_FLOOR = 0.017, 0.042, 0.12
PEOPLE = Knob(
    "course_people",
    "choice",
    str(FEW),
    "People",
    "The number of people in the average. ε stays the same.",
    choices=tuple((str(n), f"{n:,}") for n in CROWDS),
)


@cache
def nonprivate_mean(n: int) -> float:
    """Return the exact average of n salaries, dollars a year."""
    # The spread of salaries is the same for any number of people.
    ranks = (np.arange(n) + 0.5) / n
    return float((8_000.0 * gammaincinv(9.0, ranks)).clip(0.0, TOP).mean())


def mean_noise(n: int, epsilon: float = TWO_TOSSES, *, top: float = TOP) -> LaplaceEvent:
    """Return the noise on an average of n from 0 to `top`: one person can move it by at most top / n; n is public.

    Its ε is the same as in the chapter before, so the limit is the same number in 100.
    """
    sensitivity = top / n
    return LaplaceEvent("average", sensitivity, sensitivity / epsilon, calibrated_for=Adjacency.REPLACE)


def noisy_means(n: int, runs: int) -> FloatArray:
    """Return the averages (runs,) that this number of runs would publish, dollars a year."""
    rng = np.random.default_rng([MEAN_SEED, n])
    return laplace(np.full(runs, nonprivate_mean(n)), scale=mean_noise(n).scale, rng=rng)


def mean_error(n: int) -> float:
    """Measure the mean error of a published average over many runs, in dollars."""
    return float(np.abs(noisy_means(n, N_MEASURED) - nonprivate_mean(n)).mean())


def mean_odds(n: int) -> float:
    """Return the limit, in 100, on how often an attacker is right about one of n people."""
    return attacker_odds(mean_noise(n).epsilon_per_coordinate)


def mean_answer() -> Answer:
    """Measure the limit and the error with many people."""
    words = {"few": _dollars(mean_error(FEW)), "many": _dollars(mean_error(MANY)), "measured": limit(mean_odds(MANY))}
    return Answer(mean_odds(MANY) - mean_odds(FEW), words)


def mean_picture(people: str, *, answered: bool) -> Scene:
    """Draw twenty runs of the noisy average of `people`."""
    # A few people do not reveal the effect of many.
    del answered
    n = int(people)
    published = np.sort(noisy_means(n, N_DRAWN)).clip(0.0, TOP) / TOP
    dots = np.stack([published, MEAN_FLOOR + MEAN_LEVEL * stacked(published, MEAN_DOT)], axis=1)
    at = nonprivate_mean(n) / TOP
    return still(
        f"The noisy average of {n:,} people",
        f"Twenty blue dots, published averages of {n:,} people, around the exact one; they are off by "
        f"${mean_noise(n).scale:,.0f} on average. Green walls at $0 and ${TOP:,.0f}.",
        Axis("average salary", "thousand dollars a year", (-0.02, 1.02), (0.0, TOP / 1000)),
        Axis("", ticks=False, view=(0.0, 1.02)),
        segments("Public limits", PUBLIC, np.array([[0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 1.0, 1.0]]), size=3.0),
        segments("Exact average", SECRET, np.array([[at, 0.0, at, 1.0]]), size=1.5),
        marks("Published, 20 runs", RELEASED, dots, size=11.0),
    )


def _dollars(amount: float) -> str:
    """Write dollars with two significant digits; the dollar sign is escaped, so that it does not begin a formula."""
    return f"\\${float(f'{amount:.2g}'):,.0f}"


def mean_words(people: str) -> str:
    """Return the effects of the number of people, and the value that stays the same, as a sentence."""
    n = int(people)
    return (
        f"Each of {n:,} people moves the average by at most \\${ceiled(TOP / n)}, so noise of about "
        f"**{_dollars(mean_noise(n).scale)}** is enough: anyone who guesses whether you earn \\$0 or \\${TOP:,.0f} is "
        f"right at most **{limit(mean_odds(n))}** times in 100."
    )


MEAN = Chapter(
    "mean",
    "One noisy average",
    f"A group of {FEW} people publishes its average salary plus *noise*, a random amount, at ε = {TWO_TOSSES:.2g}; "
    f"the blue dots show {N_DRAWN} tries. Salaries range from \\$0 to \\${TOP:,.0f}, so one person moves the average "
    f"by at most \\${ceiled(TOP / FEW)}. The noise is sized to match.",
    Question(
        f"Now {MANY:,} people take part at the same ε. An attacker knows that you earn either \\$0 or \\${TOP:,.0f} "
        "and guesses which. How often is the guess right?",
        ranges(
            "Less often", f"At most {limit(attacker_odds(TWO_TOSSES))} in 100, as before", "More often", at=(-0.5, 0.5)
        ),
        mean_answer,
        "**The promise stays the same: at most {measured} in 100**, because the noise hides one person's effect in a "
        f"crowd of any size. More people improve only the accuracy: the average is off by {{few}} with {FEW} people, "
        f"but only by {{many}} with {MANY:,}.",
    ),
    PEOPLE,
    mean_picture,
    mean_words,
    "More people make a noisy average more accurate. The promise to each of them depends on ε alone, so it stays the "
    "same.",
    asked=str(MANY),
)

# Chapter 9: a promise measured. Runs of two worlds catch a method that forgot half of its noise.

# Number of people, including you.
N_COUNTED = 20
# Claimed ε.
CLAIMED = 1.0
# Number of runs of each world.
N_RUNS = 20_000
AUDIT_SEED = 6
BARS_LOW, BARS_HIGH, BAR_WIDTH = 10.0, 29.0, 1.0  # people
SHARES = (("1", "All"), ("0.5", "Half"), ("0.25", "A quarter"))
NOISE = Knob("course_noise", "choice", "1", "Added noise", "The claim stays ε = 1.", choices=SHARES)


def noisy_counts(n_people: int, n_runs: int, share: float, rng: np.random.Generator) -> FloatArray:
    """Return published counts (n_runs,) of `n_people` with this share of the noise that ε = 1 needs."""
    return laplace(np.full(n_runs, float(n_people)), scale=share / CLAIMED, rng=rng)


@cache
def audit_bound(share: float) -> EpsilonBound:
    """Audit the count: run it with you and without you."""

    def count_runs(points: Points, n_runs: int, rng: np.random.Generator) -> FloatArray:
        return noisy_counts(len(points), n_runs, share, rng)

    worlds = np.zeros((N_COUNTED, 1)), np.zeros((N_COUNTED - 1, 1))
    return epsilon_lower_bound(Batch(count_runs), *worlds, n_runs=N_RUNS, rng=np.random.default_rng(AUDIT_SEED))


def audit_answer() -> Answer:
    """Measure the lower bounds on ε from the runs with half of the noise, and with all of it."""
    half, whole = audit_bound(0.5), audit_bound(1.0)
    words = {"measured": floored(half.epsilon_lower), "honest": floored(whole.epsilon_lower), "runs": f"{N_RUNS:,}"}
    return Answer(half.epsilon_lower, words)


def audit_picture(share: str, *, answered: bool) -> Scene:
    """Draw the frequency of each published count, with you and without you."""
    # The picture with all of the noise does not reveal the one with half of it.
    del answered
    edges = np.arange(BARS_LOW, BARS_HIGH + BAR_WIDTH / 2, BAR_WIDTH)
    layers, highest = [], 0.0
    for hue, (name, n) in enumerate((("With you", N_COUNTED), ("Without you", N_COUNTED - 1))):
        published = noisy_counts(n, N_RUNS, float(share), np.random.default_rng([AUDIT_SEED, n]))
        height = 100.0 * np.histogram(published, edges)[0] / N_RUNS
        steps = np.stack([np.repeat(edges, 2)[1:-1], np.zeros(2 * len(height)), np.repeat(height, 2)], axis=1)
        highest = max(highest, float(height.max()))
        layers.append(Layer.from_arrays(name, Kind.BANDS, CLUSTERS, steps[None, None], fill=0.45, hue=hue))
    return still(
        "What is published, in two worlds",
        f"Bars showing how often each count is published in {N_RUNS:,} runs with you and without you.",
        Axis("published count", "people", (BARS_LOW, BARS_HIGH), (0.0, 1.0)),
        Axis("runs", "in 100", (0.0, 1.1 * highest), (0.0, 1.0)),
        *layers,
    )


def audit_words(share: str) -> str:
    """Return the result of the audit, as a sentence."""
    bound = audit_bound(float(share))
    least = floored(bound.epsilon_lower)
    if bound.violates(CLAIMED):
        return f"The claim is ε = {CLAIMED:g}, but {N_RUNS:,} runs show that **ε is at least {least}**, so it is false."
    return (
        f"The claim is ε = {CLAIMED:g}, and {N_RUNS:,} runs show that ε is at least {least}. This neither contradicts "
        "the claim nor proves it."
    )


AUDIT = Chapter(
    "audit",
    "Putting a promise to the test",
    f"A method publishes a noisy count of {N_COUNTED} people and claims ε = {CLAIMED:g}. An audit runs it "
    f"{N_RUNS:,} times with you and 20,000 times without you. The easier it is to tell the two cases apart, the weaker "
    "the protection.",
    Question(
        "Suppose the method added only half of the noise that it needs. What do the runs show?",
        ranges("Nothing suspicious", "A little more than claimed", "The claim is clearly false", at=(1.0, 1.5)),
        audit_answer,
        "They show that ε is at least **{measured}**, not 1, so they catch the false claim. With all of the noise, "
        "they show that ε is at least {honest}, which neither contradicts the claim nor proves it: a better attack "
        "might find more.",
    ),
    NOISE,
    audit_picture,
    audit_words,
    "By running a method with and without one person, an audit can catch a false promise. It can never prove a true "
    "one.",
    asked="0.5",
)

# Chapter 10: you decide. The price of ε for a clinic and a town, in years and in odds.

# Public range of an age, in years.
AGES = 100.0
CLINIC, TOWN = 200, 2_000  # people
# Typical error of an average, in years.
TARGET_ERROR = 0.5
# Range of ε.
LOW, HIGH = 0.01, 5.0
PRICE = Knob("course_price", "float", 0.1, "ε", "One ε for both, to see what it costs.", LOW, HIGH, log=True)


def age_error(n: int, epsilon: float) -> float:
    """Return the mean error of the average age of n people: the scale of the noise, in years."""
    return mean_noise(n, epsilon, top=AGES).scale


def target_epsilon(n: int) -> float:
    """Return the ε at which the average of n is off by TARGET_ERROR, in the mean."""
    return age_error(n, 1.0) / TARGET_ERROR


def decide_answer() -> Answer:
    """Compute the price of the target accuracy for the clinic and the town, in odds."""
    clinic, town = (attacker_odds(target_epsilon(n)) for n in (CLINIC, TOWN))
    words = {"measured": limit(clinic), "town": limit(town)}
    words |= {"epsilon": number(target_epsilon(CLINIC)), "small": number(target_epsilon(TOWN))}
    return Answer(clinic, words)


def error_line(n: int) -> FloatArray:
    """Return the line of the mean error for n people, (2, 2): decimal logarithms of ε and of years."""
    return np.log10([[each, age_error(n, each)] for each in (LOW, HIGH)])


def decide_picture(epsilon: float, *, answered: bool) -> Scene:
    """Draw the error against ε for both, and mark the chosen ε."""
    # The lines show the error; the question is about its price in odds.
    del answered
    layers = [
        Layer.line(name, Ink(Role.CLUSTER, Audience.PUBLIC), *error_line(n).T, size=3.0, hue=hue)
        for hue, (name, n) in enumerate(((f"Clinic, {CLINIC} people", CLINIC), (f"Town, {TOWN:,} people", TOWN)))
    ]
    at, target = math.log10(epsilon), math.log10(TARGET_ERROR)
    here = np.array([[at, math.log10(age_error(n, epsilon))] for n in (CLINIC, TOWN)])
    ends = math.log10(LOW), math.log10(HIGH)
    return still(
        "What ε costs",
        f"Two falling lines of the typical error in years against ε, one for a clinic and one for a town. At ε = "
        f"{number(epsilon)} the clinic is off by {number(age_error(CLINIC, epsilon))} years.",
        Axis("ε", "", ends, (0.0, 1.0), log=True),
        Axis("off by", "years", (-2.0, 2.0), (0.0, 1.0), log=True),
        segments("Target: half a year", PUBLIC, np.array([[ends[0], target, ends[1], target]]), size=1.5, dash=True),
        *layers,
        marks("Current ε", LAW, here, symbol="circle", size=14.0),
    )


def decide_words(epsilon: float) -> str:
    """Return the price of this ε, as a sentence."""
    clinic, town = (number(age_error(n, epsilon)) for n in (CLINIC, TOWN))
    return (
        f"The average is off by about **{clinic} years** for the clinic, **{town}** for the town. Which ε do you "
        "choose?"
    )


DECIDE = Chapter(
    "decide",
    "You decide",
    f"A clinic of {CLINIC} people and a town of {TOWN:,} each publish their average age with noise. Both want to "
    "be off by at most half a year or so (the green line). A larger ε means more accuracy and less privacy.",
    Question(
        "At the ε where the clinic's line meets the green one, how many times out of 100 can an attacker be right?",
        ranges("50 to 60", "60 to 70", "70 to 80", "80 or more", at=(60, 70, 80)),
        decide_answer,
        "At most **{measured}**, at ε = {epsilon}; for the town, it is {town}, at ε = {small}. A large crowd can have "
        "both accuracy and privacy; a small one has to choose, and no formula can make that choice.",
    ),
    PRICE,
    decide_picture,
    decide_words,
    "Choosing ε means weighing people's risk against the accuracy that a result needs. A large crowd makes the choice "
    "easier.",
    asked=target_epsilon(CLINIC),
)


# -- Clusters --


N, N_GROUPS = 20, 3
# Middles of the groups, box units.
MIDDLES = ((0.22, 0.24), (0.5, 0.75), (0.82, 0.36))
SIZES = (7, 8, 5)
SPREAD = 0.075
# Start of the centers, in wrong places.
START = ((0.22, 0.83), (0.56, 0.49), (0.86, 0.13))
SEED = 2
# Rounds of joining and moving until nobody would join a different center.
ROUNDS = 2
AGE = Axis("age", "years", (0.0, 1.0), (15.0, 85.0))
INCOME = Axis("income", "thousand dollars a year", (0.0, 1.0), (0.0, 100.0))


@cache
def records() -> Points:
    """Return the places of the people, (N, 2), box units."""
    rng = np.random.default_rng(SEED)
    middles = np.repeat(np.array(MIDDLES), SIZES, axis=0)
    return frozen((middles + SPREAD * rng.standard_normal((N, 2))).clip(0.03, 0.97))


@cache
def states() -> tuple[tuple[Centers, Labels | None], ...]:
    """Return the start and the state after each step: people join, centers move, until nothing changes."""
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
    """Return the final centers, (N_GROUPS, 2), box units."""
    return states()[-1][0]


def nonprivate_labels() -> Labels:
    """Return each person's final group, (N,)."""
    return lloyd(records(), np.array(START)).nonprivate_labels


STEP = Knob("course_step", "int", 0, "Step", "Odd steps: people join. Even steps: centers move.", 0, 2 * ROUNDS)


def clusters_answer() -> Answer:
    """Count the rounds until nobody changes groups."""
    rounds = (len(states()) - 1) // 2
    return Answer(float(rounds), {"measured": f"{rounds} rounds", "steps": str(2 * rounds)})


def clusters_picture(step: int, *, answered: bool) -> Scene:
    """Draw people and centers after `step` steps."""
    # Before the answer, the picture is at the start.
    del answered
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
    """Return the distance that each center (N_GROUPS,) moves in a step, box units."""
    return np.asarray(np.linalg.norm(states()[step][0] - states()[max(0, step - 1)][0], axis=1))


def clusters_words(step: int) -> str:
    """Return the effect of the step, as a sentence."""
    labels = states()[step][1]
    if labels is None:
        return "Three centers start in the wrong places. Move Step to 1, and each person joins the nearest center."
    if step % 2:
        sizes = np.bincount(labels, minlength=N_GROUPS)
        return f"Everyone has joined the nearest center: {sizes[0]}, {sizes[1]} and {sizes[2]} people."
    last = " Nobody would switch centers now, so k-means is done." if step == len(states()) - 1 else ""
    return (
        f"{int((moves(step) > 0).sum())} centers have moved to the middle of their groups, which is an average.{last}"
    )


K_MEANS = Chapter(
    "clusters",
    "What is a cluster?",
    f"Here are {N} people by age and income, and {N_GROUPS} centers in the wrong places. In each round, everyone joins "
    "the nearest center; then each center moves to the middle of its group. This is *k-means*, here with k = "
    f"{N_GROUPS}; its groups are *clusters*.",
    Question(
        "After how many rounds do people stop switching groups?",
        ranges("1", "2 or 3", "4 to 10", "More", at=(1.5, 3.5, 10.5)),
        clusters_answer,
        "After **{measured}**, or {steps} steps. Every center ends up as the average of its people, and an average, as "
        "you have seen, can give a person away.",
    ),
    STEP,
    clusters_picture,
    clusters_words,
    "k-means finds groups by repeating two steps: people join the nearest center, and centers move to the middle of "
    "their people.",
    plays=True,
)

# Chapter 5: exact centers are averages, so an attacker who knows all other people computes the missing person.

MISSING = Knob("course_missing", "int", 12, "Who is missing", "The person whom the attacker does not know.", 1, N)


def computed_place(missing: int) -> FloatArray:
    """Return the place (2,), box units, that the attacker computes from exact centers for number `missing` (from 1)."""
    points, labels = records(), nonprivate_labels()
    known = np.arange(N) != missing - 1
    sums = cluster_sums(points[known], labels[known], N_GROUPS).nonprivate_sums
    return exact_record(nonprivate_centers(), np.bincount(labels, minlength=N_GROUPS).astype(float), sums)


def leak_answer() -> Answer:
    """Measure the minimum number of correct digits of the attacker's result, over all who could be missing."""
    error = max(float(np.abs(computed_place(each) - records()[each - 1]).max()) for each in range(1, N + 1))
    digits = math.floor(-math.log10(max(error, np.finfo(float).eps)))
    return Answer(float(digits), {"measured": f"{digits} digits"})


def leak_picture(missing: int, *, answered: bool) -> Scene:
    """Draw the people the attacker knows, the published centers, and after the answer the person the attacker finds."""
    points = records()
    computed = [marks("Computed by the attacker", RELEASED, computed_place(missing)[None], symbol="cross", size=16.0)]
    return still(
        "Twenty people, published centers",
        f"Nineteen people that the attacker knows, a square around number {missing}, whom the attacker does not know, "
        "and three published centers.",
        AGE,
        INCOME,
        people("A person", points, None),
        marks("Who is missing", SECRET, points[missing - 1 : missing], symbol="square", size=24.0),
        marks("Published center", RELEASED, nonprivate_centers(), symbol="diamond", size=14.0),
        *(computed if answered else []),
    )


def leak_words(missing: int) -> str:
    """Return the person that the attacker finds, in years and dollars, as a sentence."""
    ages, incomes = AGE.values, INCOME.values
    x, y = computed_place(missing)
    age, income = ages[0] + x * (ages[1] - ages[0]), incomes[0] + y * (incomes[1] - incomes[0])
    return f"The attacker finds number {missing}: {age:.0f} years old, \\${1000 * round(income):,.0f} a year."


LEAK = Chapter(
    "leak",
    "Centers tell on people",
    f"The {N_GROUPS} centers of the same {N} people are published exactly (blue), with the number of people in each "
    "cluster. An attacker knows everyone except one person: the square.",
    Question(
        "How precisely do the centers reveal that person's age and income?",
        ranges("Not at all", "Only the right group", "Exactly", at=(0.5, 6.0)),
        leak_answer,
        "They reveal both exactly, to at least **{measured}**, no matter who is missing. Multiply each center by "
        "its number of people, subtract the people the attacker knows, and exactly one person is left.",
    ),
    MISSING,
    leak_picture,
    leak_words,
    "Exact cluster centers are averages, so anyone who knows everyone else can compute the last person's data.",
)


# -- All chapters --


# Pictures that are cached for the next reader. Records and seeds are public.
MOST_RUNS = 64


def method_chapter(method: AnyMethod, chapter: RunChapter) -> Chapter:
    """Return a method's chapter: its picture is the last step of a run, its words the run's own sentence."""

    @lru_cache(maxsize=MOST_RUNS)
    def run(value: object) -> tuple[Sentence, Scene]:
        return last_step(method, method.run, chapter, value)

    def picture(value: object, *, answered: bool) -> Scene:
        # The question is about a different value of the control than the initial one.
        del answered
        return run(value)[1]

    return Chapter(
        chapter.name,
        chapter.title,
        chapter.words,
        chapter.question,
        chapter.control,
        picture,
        chapter.caption or (lambda value: run(value)[0].curator),
        chapter.explained,
        chapter.note,
        chapter.asked,
        page=method.name,
        link=chapter.link,
        leads=chapter.leads,
        is_extra=chapter.is_extra,
    )


_ALL = (
    *(AVERAGE, COIN, MEAN, K_MEANS, LEAK),
    *(method_chapter(method, method.chapter) for method in CATALOGUE.values() if method.chapter is not None),
    *(AUDIT, DECIDE),
)
CHAPTERS: Mapping[str, Chapter] = MappingProxyType(
    {chapter.name: chapter for chapter in sorted(_ALL, key=lambda each: each.is_extra)}
)
NAMES = tuple(name for name, chapter in CHAPTERS.items() if not chapter.is_extra)
# Name and title of the page after the last chapter of the path.
END, END_TITLE = "end", "What you can now explain"
ORDER = (*NAMES, END, *(name for name, chapter in CHAPTERS.items() if chapter.is_extra))
CHAPTER = Knob(
    "chapter",
    "choice",
    NAMES[0],
    "Chapter",
    "One idea each.",
    choices=tuple((name, END_TITLE if name == END else CHAPTERS[name].title) for name in ORDER),
)
