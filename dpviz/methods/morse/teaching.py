"""Material that teaches Morse processing: its chapter, reading, and two worlds."""

import math
from functools import cache

import numpy as np

from dpviz.accounting import GaussianEvent, gdp_mu, zcdp_rho, zcdp_rho_for
from dpviz.core import Adjacency, Box, Budget, Knob, Points, Result
from dpviz.data import Dataset, load
from dpviz.methods.morse import algorithm
from dpviz.methods.morse.algorithm import Mixture, MorseRelease, Params, Step
from dpviz.methods.morse.algorithm.budget import lloyd_sensitivity, moment_sensitivity, published_r, second_sensitivity
from dpviz.methods.morse.charts import RIGHT
from dpviz.metrics import adjusted_rand
from dpviz.solvers.landscapes.flow import distinct, settle
from dpviz.stories.method import Worlds
from dpviz.stories.panel import number
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
    odds_of,
    ranges,
    some,
    steps_of,
    tex,
)

# Moons that are harder to separate than those of the page, so that ε decides.
N, BLUR = 5_000, 0.08
# Noise seeds 0 to 9.
N_RUNS = 10
# Number of passes on the page.
PASSES = 2
MOST_RIGHT, MOST_PEOPLE = 0.9, 80_000


@cache
def records(n: int = N) -> Dataset:
    """Return the records of the chapter, or more of their kind."""
    return load("moons", n=n, seed=0, noise=BLUR)


def run(seed: int, n: int = N, **params: object) -> Result[MorseRelease, Step]:
    """Run Morse processing as the page does."""
    data = records(n)
    chosen = Params(n_iterations=PASSES, **params)  # type: ignore[arg-type]  # the knobs of Params
    return algorithm.fit(data.points, data.box, chosen, rng=np.random.default_rng(seed))


@cache
def right_runs(epsilon: float, n: int = N) -> Answer:
    """Count the runs whose two clusters are the two moons."""
    data, right = records(n), 0
    truth = data.labels
    # `truth` has the moon of each record.
    assert truth is not None
    signed = algorithm.signed_points(data.points, data.box)
    for seed in range(N_RUNS):
        labels = algorithm.assign(run(seed, n, epsilon=epsilon).release.mixture, signed, 2)
        right += adjusted_rand(truth, labels) >= RIGHT
    return Answer(float(right), {"measured": str(right), "runs": str(N_RUNS)})


@cache
def enough_people() -> Answer:
    """Count the runs that find the moons at ε = 1; double the number of people until 9 of 10 runs do."""
    few, n = right_runs(1.0), N
    while (then := right_runs(1.0, n)).value < MOST_RIGHT * N_RUNS and n < MOST_PEOPLE:
        n *= 2
    return Answer(few.value, {**few.words, "enough": f"{n:,}", "then": then.words["measured"]})


MOONS = ranges("0 to 3", "4 to 7", "8 to 10", at=(3.5, 7.5))
EPSILON = Knob("course_hills", "float", 1.0, "ε", "For the whole landscape.", 0.5, 20.0, log=True)


def both() -> Answer:
    """Count the runs that find the moons at ε = 5 and at ε = 1, and the number of people that is enough at ε = 1."""
    many, few = right_runs(5.0), enough_people()
    return Answer(many.value, {**few.words, **many.words, "few": few.words["measured"]})


def how_to_read(epsilon: float) -> str:
    """Explain how to read the picture. The picture shows the result of a run."""
    return (
        f"This is one run at ε = {number(epsilon)}. Each color is a cluster, and lines join its hills. Different "
        "noise would give a different landscape, so a run can be lucky."
    )


CHAPTER = RunChapter(
    "hills",
    "Hills and passes",
    f"Here, {N:,} people form two moons that no straight line can separate. Morse processing makes a noisy landscape, "
    "with hills where there are many people. Two hills belong to one cluster if the pass between them is high. At "
    f"first, ε = {EPSILON.default:g}.",
    Question(
        f"Now ε is 5. In how many of {N_RUNS} runs do the two clusters match the two moons?",
        MOONS,
        both,
        "In **{measured} of {runs}**, compared with only {few} at ε = 1, or {then} with {enough} people, because noisy "
        "hills can break a moon in two or merge both moons. Once the landscape is published, cutting it again costs no "
        "extra ε.",
    ),
    EPSILON,
    records,
    lambda epsilon: {"epsilon": float(epsilon), "n_iterations": PASSES, "n_clusters": 2},
    {"hill": "Cluster", "person": "A person", "ridge between hills": "Joined over a pass", "hilltop": "Top of a hill"},
    # A typical run: wrong at ε = 1, right at 5.
    0,
    "Clusters made of hills in a noisy landscape can have any shape. Anything computed from a release costs no "
    "extra ε.",
    5.0,
    lambda epsilon: {
        "data": "moons",
        "n": str(N),
        "data_noise": str(BLUR),
        "epsilon": str(float(epsilon)),
        "n_iterations": str(PASSES),
        "n_clusters": "2",
        "noise_seed": "0",
    },
    caption=how_to_read,
)


WORDS = SYMBOLS | {
    r"D,\ \tau,\ K_0": "features, passes over the records, components; the box is 2 wide",
    "L": "the logarithm of 1/δ",
    "r": "squared sensitivity of what one pass releases (as published: of all passes)",
    r"\mu,\ \rho": "what (ε, δ) allows, in Gaussian DP and in zCDP",
}


def formulas(it: Known) -> tuple[Formula, ...]:
    """Return the formulas of a run."""
    if it.params.base == "dpcube":
        return (*steps_of(it.events), *some(odds_of(it)))
    noise = _published(it) if it.params.calibration == "published" else _tight(it)
    return (*noise, *some(_sum(it), odds_of(it)))


READING = Reading.from_file("morse", formulas, lambda _: WORDS, KAIROUZ)


def _sigma(it: Known) -> float:
    """Return the noise of the run's last Gaussian step."""
    return next(leaf.sigma for event in it.events[::-1] for leaf in leaves(event) if isinstance(leaf, GaussianEvent))


def _budget(it: Known) -> Budget:
    return Budget(it.params.epsilon, it.params.delta)


def _tight(it: Known) -> tuple[Formula, ...]:
    params, d, tau = it.params, it.d, it.params.n_iterations
    replaced = params.neighbors is Adjacency.REPLACE
    if params.base == "dplloyd_mog":
        first = lloyd_sensitivity(d, params.neighbors) ** 2
        second, rho = second_sensitivity(d, params.neighbors) ** 2, zcdp_rho_for(_budget(it))
        return (
            _rho(it),
            Formula(
                "Noise of every number released",
                r"\sigma = \sqrt{\frac{\tau\,\Delta_1^2 + \Delta_2^2}{2\rho}}",
                rf"\sigma = \sqrt{{\frac{{{tau} \cdot {tex(first)} + {tex(second)}}}{{2 \cdot {tex(rho)}}}}}",
                _sigma(it),
                source="dpviz: algorithm 4 with the sensitivities that hold",
            ),
        )
    r = moment_sensitivity(d, params.neighbors) ** 2
    general = r"r = (D + 1)(D + 2)" if replaced else r"r = 1 + D + D(D + 1)/2"
    filled = rf"({d} + 1)({d} + 2)" if replaced else rf"1 + {d} + {d} \cdot {d + 1} / 2"
    mu = gdp_mu(_budget(it))
    return (
        Formula("Squared sensitivity of a pass: count, sum, second moments", general, filled, r, source="dpviz"),
        Formula(
            "Noise of every number released",
            r"\sigma = \frac{\sqrt{r\,\tau}}{\mu(\varepsilon, \delta)}",
            rf"\sigma = \frac{{\sqrt{{{tex(r)} \cdot {tau}}}}}{{{tex(mu)}}}",
            _sigma(it),
            source="Dong, Roth & Su 2022, corollaries 2.13 and 3.3",
        ),
    )


def _published(it: Known) -> tuple[Formula, ...]:
    params, d, tau, k = it.params, it.d, it.params.n_iterations, it.params.n_components
    r, rho = published_r(params.base, d, k, tau), zcdp_rho_for(_budget(it))
    if params.base == "dplloyd_mog":
        general, filled = r"(2D + 1)^2 \tau^2 + D(2D - 1)", rf"{2 * d + 1}^2 \cdot {tau}^2 + {d} \cdot {2 * d - 1}"
        source = "Byun et al., algorithm 4"
    else:
        soft = params.base == "dpmog"
        general = r"(1 + 3D + 2D^2)\,\tau" + (r"\,K_0" if soft else "")
        filled = rf"{1 + 3 * d + 2 * d * d} \cdot {tau}" + (rf" \cdot {k}" if soft else "")
        source = "Byun et al., section 4.1.2" if soft else "Byun et al., algorithm 1"
    return (
        Formula("Squared sensitivity of all passes", f"r = {general}", filled, r, source=source),
        _rho(it),
        Formula(
            "Noise of every number released",
            r"\sigma = \sqrt{\frac{r}{2\rho}}",
            rf"\sigma = \sqrt{{\frac{{{tex(r)}}}{{2 \cdot {tex(rho)}}}}}",
            _sigma(it),
            source=source,
        ),
    )


def _rho(it: Known) -> Formula:
    budget = _budget(it)
    log = tex(math.log(1.0 / budget.delta))
    return Formula(
        "What ε and δ allow, in zCDP",
        r"\rho = \left(\sqrt{L + \varepsilon} - \sqrt{L}\right)^2,\ L = \ln(1/\delta)",
        rf"\rho = \left(\sqrt{{{log} + {tex(budget.epsilon)}}} - \sqrt{{{log}}}\right)^2",
        zcdp_rho_for(budget),
        source="Bun & Steinke 2016, proposition 1.3",
    )


def _sum(it: Known) -> Formula | None:
    """Return the total cost of all passes in Gaussian DP, None if a step is not Gaussian."""
    leaf = [each for event in it.events for each in leaves(event)]
    passes = [each for each in leaf if isinstance(each, GaussianEvent)]
    if not passes or len(passes) < len(leaf) or passes[0].sigma == 0:
        return None
    mu = math.sqrt(2.0 * zcdp_rho(it.events, it.params.neighbors))
    length, sigma = tex(passes[0].l2_sensitivity), tex(passes[0].sigma)
    return Formula(
        "What the passes cost together; landscape, hierarchy and cut add nothing",
        r"\mu = \sqrt{\tau}\, \Delta_2 / \sigma",
        rf"\mu = \sqrt{{{len(passes)}}} \cdot {length} / {sigma}",
        mu,
        source="Dong, Roth & Su 2022, corollary 3.3; Byun et al., theorem 4.1",
    )


def places_of(release: MorseRelease, box: Box) -> Points:
    """Return the peaks of a released mixture (m, d), data units."""
    return box.from_unit((peaks_of(release.mixture) + 1.0) / 2.0)


def peaks_of(mixture: Mixture) -> Points:
    """Return the peaks (m, D) that the means of a mixture's components flow to."""
    ends = settle(mixture, mixture.means)
    return ends[np.unique(distinct(mixture, ends), return_index=True)[1]]


WORLDS: Worlds[Params, MorseRelease] = Worlds(places=places_of)
