"""Everything that teaches convergent k-means: the course's chapter, how the picture is read, two worlds."""

import math
from functools import cache

import numpy as np

from dpviz.accounting import LaplaceEvent, ParallelEvent, PureEvent, pure_epsilon
from dpviz.baselines._base import SIZE_SHARE
from dpviz.core import Adjacency, Box, FloatArray, Knob, Points
from dpviz.data import Dataset, load
from dpviz.methods.convergent_kmeans import algorithm
from dpviz.methods.convergent_kmeans.algorithm import Params, ZonesRelease
from dpviz.methods.convergent_kmeans.attack import AttackQuestion, attack_runs
from dpviz.methods.convergent_kmeans.run import ZONE_EXPONENT
from dpviz.metrics import nonprivate_costs
from dpviz.solvers import SEED_SHARE, lloyd
from dpviz.stories.method import Worlds
from dpviz.stories.panel import counted, number
from dpviz.stories.spending import leaves
from dpviz.stories.teaching import (
    KAIROUZ,
    SYMBOLS,
    Answer,
    Formula,
    Known,
    Question,
    Reading,
    RunChapter,
    noise_of,
    odds_of,
    ranges,
    some,
    steps_of,
    tex,
    total,
)

N = 2_000  # records
# Noise seeds 0 to 24.
N_RUNS = 25
N_ATTACKS = 8
# Record whose presence is attacked.
RECORD = 17
START_SEED = 5
PUBLISHED = Params(mode="published", start_seed=START_SEED)
K = PUBLISHED.n_clusters


@cache
def records() -> Dataset:
    """Return the records of every step."""
    return load("blobs", n=N, seed=0)


def nonprivate_cost_ratios(params: Params) -> FloatArray:
    """Return the cost (N_RUNS,) of runs divided by the cost of Lloyd's algorithm from the same start."""
    data = records()
    unit = data.box.to_unit(data.box.clip(data.points))
    runs = [algorithm.fit(data.points, data.box, params, rng=np.random.default_rng(seed)) for seed in range(N_RUNS)]
    floor = lloyd(unit, runs[0].trace[0].previous_centers).nonprivate_centers
    costs = nonprivate_costs(unit, np.stack([floor, *(data.box.to_unit(run.release.centers) for run in runs)]))
    return np.asarray(costs[1:] / costs[0])


# The chapter of the course: noise in every round, one budget for all of them.

EPSILON = 0.5
# Numbers of rounds.
FEW, MANY = 3, 30
ROUNDS = Knob(
    "course_rounds",
    "choice",
    str(FEW),
    "Rounds",
    f"All rounds together spend ε = {EPSILON:g}.",
    choices=tuple((str(n), str(n)) for n in (1, FEW, 10, MANY)),
)


@cache
def nonprivate_cost_of(rounds: int) -> float:
    """Return the median cost of runs with this many rounds, divided by the cost of k-means without noise."""
    params = Params(epsilon=EPSILON, n_iterations=rounds, start_seed=START_SEED)
    return float(np.median(nonprivate_cost_ratios(params)))


def more_rounds() -> Answer:
    """Compare the costs of many rounds and of few."""
    few, many = nonprivate_cost_of(FEW), nonprivate_cost_of(MANY)
    return Answer(many / few, {"measured": number(many), "few": number(few), "runs": str(N_RUNS)})


def rounds_words(rounds: str) -> str:
    """Describe the cost of this many rounds, in the middle of many runs."""
    return (
        f"With {counted(int(rounds), 'round')}, the centers cost "
        f"**{number(nonprivate_cost_of(int(rounds)))}** times as much as without noise (the median of {N_RUNS} runs). "
        "The cost is the sum of people's squared distances to their centers."
    )


CHAPTER = RunChapter(
    "noise",
    "k-means with noise",
    f"Here are {N:,} people in {K} clusters. Every round of private k-means publishes noisy averages, and all rounds "
    f"share ε = {EPSILON:g}. At first, there are {FEW} rounds. Orange lines are noise; everyone sees the blue centers.",
    Question(
        f"Without noise, more rounds never hurt. What happens with {MANY} rounds at the same ε?",
        ranges("Centers get better", "Little changes (within 5 %)", "Centers get worse", at=(0.95, 1.05)),
        more_rounds,
        f"The centers get worse: in a typical run, they cost **{{measured}}** times as much as without noise, compared "
        f"with {{few}} times for {FEW} rounds. Each of the {MANY} rounds gets 1/{MANY} of ε, so every look at the "
        f"data is {MANY // FEW} times as noisy.",
    ),
    ROUNDS,
    records,
    lambda rounds: {"epsilon": EPSILON, "n_iterations": int(rounds), "start_seed": START_SEED},
    {"person": "A person", "true average": "True average", "noise": "Noise", "released center": "Published center"},
    112,
    "Every look at the data costs ε, and the costs add up. If more rounds share the same ε, each round has more noise.",
    str(MANY),
    lambda _: {
        "data": "blobs",
        "n": "2000",
        "mode": "repaired",
        "epsilon": str(EPSILON),
        "start_seed": str(START_SEED),
        "noise_seed": "112",
    },
    caption=rounds_words,
    leads="The method's page, where a rule sets the number of rounds",
)


def digits() -> Answer:
    """Measure how many digits of a record the attacker gets right in published mode: the median of the runs."""
    data = records()
    guesses = attack_runs(data.points, data.box, AttackQuestion((), RECORD, PUBLISHED), 0, 0, N_ATTACKS)
    right = -math.log10(max(float(np.median(guesses.nonprivate_errors)), np.finfo(float).eps))
    return Answer(right, {"measured": f"{math.floor(right)}", "runs": str(N_ATTACKS)})


# How the picture is read: misreadings, formulas with the run's numbers, papers.


WORDS = SYMBOLS | {
    r"T,\ d": "number of iterations, number of features",
    r"\varepsilon_t": "the budget that one iteration spends",
    r"\varepsilon_c,\ \varepsilon_s": "its parts for the counts, and for the sums along one axis",
    r"c_1,\ c_2": "a center's coordinates; the sums are over the records of its cluster",
    r"r,\ S,\ X,\ \lambda": "for the first cluster in the last iteration: the zone's radius, mean and controller, "
    "and how far the zone's center lies between the last two; the box is 1 wide",
}

FAMILY_WORDS = {
    "m": "coordinates that one record moves",
    r"\Delta_2": "how far one record can move the numbers, as the length of all moves together",
    r"\mu": "what (ε, δ) allows a step with Gaussian noise: sensitivity divided by noise",
}


def formulas(it: Known) -> tuple[Formula, ...]:
    """Return the formulas of a run, the main one first; a method of the family has its spending."""
    if not isinstance(it.params, Params):
        return (*steps_of(it.events), *some(total(it) if len(it.events) > 1 else None, odds_of(it)))
    return _published(it, it.release) if it.params.mode == "published" else _repaired(it, it.release)


def words(it: Known) -> dict[str, str]:
    """Return the meanings of the symbols."""
    return WORDS if isinstance(it.params, Params) else SYMBOLS | FAMILY_WORDS


def _repaired(it: Known, release: ZonesRelease) -> tuple[Formula, ...]:
    steps = [event for event in it.events if isinstance(event, ParallelEvent)]
    count, sums = (leaf for leaf in list(leaves(steps[0]))[:2] if isinstance(leaf, LaplaceEvent))
    each, t, epsilon = pure_epsilon((steps[0],), Adjacency.ADD_REMOVE), len(steps), it.params.epsilon
    seeded = release.start_packing is not None
    rest = (1.0 - (SIZE_SHARE if len(steps) < len(it.events) else 0.0)) * (1.0 - (SEED_SHARE if seeded else 0.0))
    paid = "dpviz; 2 % pay for the noisy number of records" + (", a third of the rest for the start" if seeded else "")
    share, times = (rf"{tex(rest)}\,", rf"{tex(rest)} \cdot ") if rest < 1 else ("", "")
    along = sums.epsilon_per_coordinate
    zone = None
    if release.lam is not None and release.controllers is not None and release.zone_means is not None:
        lam, radius = float(release.lam[-1, 0]), float(release.zone_radii[-1, 0])
        apart = float(np.linalg.norm(release.controllers[-1, 0] - release.zone_means[-1, 0]))
        zone = Formula(
            "Radius of a sampling zone",
            r"r = (1 - \lambda)\,\lVert X - S \rVert",
            rf"r = (1 - {tex(lam)}) \cdot {tex(apart)}",
            radius,
            source="Lu & Shen, algorithm 2",
        )
    return (
        Formula(
            "Budget of one iteration",
            rf"\varepsilon_t = {share}\varepsilon / T",
            rf"\varepsilon_t = {times}{tex(epsilon)} / {t}",
            each,
            source=f"{paid}: T follows from it" if rest < 1 else "dpviz",
        ),
        Formula(
            "Its parts",
            r"\varepsilon_t = \varepsilon_c + d\,\varepsilon_s",
            rf"{tex(count.epsilon)} + {it.d} \cdot {tex(along)}",
            count.epsilon + it.d * along,
            source="Su et al. 2016",
        ),
        Formula(
            "Noise of a count",
            r"b = \frac{1}{\varepsilon_c}",
            rf"b = \frac{{1}}{{{tex(count.epsilon)}}}",
            count.scale,
            "records",
        ),
        Formula(
            "Noise of a sum, on each axis of the unit box",
            r"b = \frac{1/2}{\varepsilon_s}",
            rf"b = \frac{{1/2}}{{{tex(along)}}}",
            sums.scale,
        ),
        *some(zone, odds_of(it)),
    )


def _published(it: Known, release: ZonesRelease) -> tuple[Formula, ...]:
    pure = [leaf for event in it.events for leaf in leaves(event) if isinstance(leaf, PureEvent)]
    (final,) = [event for event in it.events if isinstance(event, LaplaceEvent)]
    step, t = pure[0].epsilon, len(release.path)
    last = final.epsilon
    ratio, first = None, it.box.to_unit(release.centers)[0]
    # The leak, read from the release.
    if len(first) > 1 and (first[:2] > 0).all() and (first[:2] < 1).all():
        ratio = Formula(
            "The ratio that leaks: first center, first two features, measured from the box's low corner",
            r"\frac{c_1}{c_2} = \frac{\sum x_1}{\sum x_2}",
            rf"\frac{{{tex(float(first[0]))}}}{{{tex(float(first[1]))}}}",
            float(first[0] / first[1]),
            source="dpviz: noise on the count alone cancels",
        )
    return (
        Formula(
            "The paper's total: claimed, not established",
            r"\varepsilon = \varepsilon_0 + \sum_{t=1}^{T} \max_i \varepsilon_i^{(t)}",
            rf"\varepsilon = {tex(last)} + {t} \cdot {tex(step)}",
            it.guarantee.stated.epsilon,
            source="Lu & Shen, theorem 5",
        ),
        Formula(
            "How much ε can change the density inside a zone",
            rf"e^{{{tex(ZONE_EXPONENT)}\,\varepsilon_t}}",
            rf"e^{{{tex(ZONE_EXPONENT)} \cdot {tex(step)}}}",
            math.exp(ZONE_EXPONENT * step),
            "times, at most",
            "Lu & Shen, algorithm 1: the score varies by at most 1.21 in a zone",
        ),
        noise_of(final, "Noise of a final count", source="Lu & Shen, algorithm 1", unit="records"),
        *some(ratio),
    )


READING = Reading.from_file("convergent_kmeans", formulas, words, KAIROUZ)


# Two worlds: zones and rays next to the centers.


def statistics_of(release: ZonesRelease, spots: Points, box: Box) -> FloatArray:
    """Return readings (f,) of the zones near each of `spots` (s, d).

    The first zone near a spot, the released center's ray from the corner, and the counts, all in box units.
    """
    first = release.zone_centers[0] if release.start is None else release.start
    parts = []
    for spot in box.to_unit(spots):
        own = int(np.linalg.norm(first - spot, axis=1).argmin())
        center = box.to_unit(release.centers[own])
        ray = center / max(float(np.linalg.norm(center)), np.finfo(np.float64).tiny)
        counts = np.zeros(2)
        if release.noisy_counts_by_iteration is not None:
            every = release.noisy_counts_by_iteration
            counts = np.array([every.sum(axis=1).mean(), every[:, own].mean()])
        parts += [release.zone_centers[0, own], release.zone_radii[0, [own]], ray, counts]
    return np.concatenate(parts)


WORLDS: Worlds[Params, ZonesRelease] = Worlds(statistics=statistics_of)
