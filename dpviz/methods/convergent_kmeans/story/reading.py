"""Reading the picture of convergent k-means: misreadings, formulas with the run's numbers, papers."""

import math

import numpy as np

from dpviz.accounting import LaplaceEvent, ParallelEvent, PureEvent, pure_epsilon
from dpviz.core import Adjacency
from dpviz.methods.convergent_kmeans.algorithm import SIZE_SHARE, Params, ZonesRelease
from dpviz.methods.convergent_kmeans.story import ZONE_EXPONENT
from dpviz.solvers import SEED_SHARE
from dpviz.stories.formulas import KAIROUZ, SYMBOLS, noise_of, odds_of, some, steps_of, total
from dpviz.stories.ledger import leaves
from dpviz.stories.reading import Formula, Known, Misreading, Paper, tex

MISREADINGS = (
    Misreading(
        "The published zones hide the mean: the center is drawn at random inside them.",
        "The zones are made of exact means. Where a zone lies, how large it is and where it ends all follow from the "
        "records, so that an outcome can be possible with you and impossible without you. No [[epsilon]] bounds that.",
        "The tab “The attack”: from the published center one record is computed to ten digits and more.",
    ),
    Misreading(
        "Moving ε hardly changes the published picture, so privacy costs nothing here.",
        "The data place the zones, and ε only chooses within one: over a whole [[sampling zone]] it changes the "
        "density by at most e^(0.30 ε). From ε = 0.05 to 5 the mean step only falls from 0.68 to 0.65 of the way.",
        "The repaired mode beside it: its zones stand on noisy means, and ε moves them visibly.",
    ),
    Misreading(
        "The center lies inside the ring, so the cost must fall.",
        "The cost falls inside the [[convergent zone]] of the exact mean. In repaired mode the ring stands on a noisy "
        "mean, and with the future orientation a [[sampling zone]] can reach outside the [[convergent zone]].",
        "The cost chart beside the picture, and how many zones the run counts outside.",
    ),
    Misreading(
        "A little noise at the end is enough: the last step blurs the centers.",
        "The published last step adds noise to the counts only. Every center stays exactly on the ray from the box's "
        "low corner through its true sum, so the ratio of its coordinates is exact.",
        "The formulas below: that ratio, read from the release, whatever ε₀ is.",
    ),
    Misreading(
        "It converges like Lloyd's algorithm, so it ends in Lloyd's clusters.",
        "Ending is not ending in the same place. With the past orientation between 22 in 100 runs (S1) and 99 in 100 "
        "(House) end where [[Lloyd's algorithm]] ends from the same start.",
        "The tab “Reproduction”: the convergence degree of each data set, beside the paper's.",
    ),
)

PAPERS = (
    Paper(
        "Lu & Shen, Differentially Private k-Means Clustering with Guaranteed Convergence",
        (
            ("definitions 5 and 6", "convergent zone, sampling zone, orientation controller"),
            ("lemma 1", "how far the cost falls; its condition fails, the ball of definition 5 holds"),
            ("algorithms 1 and 2", "the published mode, step by step"),
            ("theorem 5", "the published total ε, claimed and not established"),
        ),
    ),
    Paper(
        "Su, Cao, Li, Bertino & Jin 2016, Differentially Private K-Means Clustering",
        (("DPLloyd", "repaired mode's number of iterations and split between counts and sums"),),
    ),
    Paper(
        "Diaa, Humphries & Kerschbaum 2025, FastLloyd: Federated, Accurate, Secure, and Tunable k-Means Clustering "
        "with Differential Privacy",
        (("the authors' code", "FastLloyd's radius, number of iterations, and split between counts and moves"),),
    ),
    Paper(
        "Dwork & Roth 2014, The Algorithmic Foundations of Differential Privacy",
        (("definition 3.3", "Laplace noise"), ("theorem 3.16", "epsilons of one run add up")),
    ),
    KAIROUZ,
)

WORDS = SYMBOLS | {
    r"T,\ d": "number of iterations, number of features",
    r"\varepsilon_t": "what one iteration spends",
    r"\varepsilon_c,\ \varepsilon_s": "its parts for the counts, and for the sums along one axis",
    r"c_1,\ c_2": "a center's coordinates; the sums are over the records of its cluster",
    r"r,\ S,\ X,\ \lambda": "of the first cluster in the last iteration: the zone's radius, mean and controller, and "
    "how far the zone's middle lies between these two; the box is 1 wide",
}

FAMILY_WORDS = {
    "m": "coordinates that one record moves",
    r"\Delta_2": "the most that one record moves numbers by, as the length of all their moves together",
    r"\mu": "what (ε, δ) leaves a step with Gaussian noise: sensitivity over noise",
}


def formulas(it: Known) -> tuple[Formula, ...]:
    """Return the formulas of a run, the main one first; a method of the family has its ledger."""
    if not isinstance(it.params, Params):
        found = [*steps_of(it.events)]
        return (*found, *some(total(it) if len(it.events) > 1 else None, odds_of(it)))
    return _published(it, it.release) if it.params.mode == "published" else _repaired(it, it.release)


def words(it: Known) -> dict[str, str]:
    """Return what the symbols stand for."""
    return WORDS if isinstance(it.params, Params) else SYMBOLS | FAMILY_WORDS


def _repaired(it: Known, release: ZonesRelease) -> tuple[Formula, ...]:
    steps = [event for event in it.events if isinstance(event, ParallelEvent)]
    count, sums = (leaf for leaf in list(leaves(steps[0]))[:2] if isinstance(leaf, LaplaceEvent))
    each, t, epsilon = pure_epsilon((steps[0],), Adjacency.ADD_REMOVE), len(steps), it.params.epsilon
    seeded = release.start_packing is not None
    left = (1.0 - (SIZE_SHARE if len(steps) < len(it.events) else 0.0)) * (1.0 - (SEED_SHARE if seeded else 0.0))
    paid = "ours; 2 % pay for the noisy number of records" + (", a third of the rest for the start" if seeded else "")
    share, times = (rf"{tex(left)}\,", rf"{tex(left)} \cdot ") if left < 1 else ("", "")
    along = sums.epsilon_per_coordinate
    return (
        Formula(
            "Budget of one iteration",
            rf"\varepsilon_t = {share}\varepsilon / T",
            rf"\varepsilon_t = {times}{tex(epsilon)} / {t}",
            each,
            source=f"{paid}: T follows from it" if left < 1 else "ours",
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
        *some(_zone(release), odds_of(it)),
    )


def _zone(release: ZonesRelease) -> Formula | None:
    """Return the radius of a released zone."""
    if release.lam is None or release.controllers is None or release.zone_means is None:
        return None
    lam, radius = float(release.lam[-1, 0]), float(release.zone_radii[-1, 0])
    apart = float(np.linalg.norm(release.controllers[-1, 0] - release.zone_means[-1, 0]))
    return Formula(
        "Radius of a sampling zone",
        r"r = (1 - \lambda)\,\lVert X - S \rVert",
        rf"r = (1 - {tex(lam)}) \cdot {tex(apart)}",
        radius,
        source="Lu & Shen, algorithm 2",
    )


def _published(it: Known, release: ZonesRelease) -> tuple[Formula, ...]:
    pure = [leaf for event in it.events for leaf in leaves(event) if isinstance(leaf, PureEvent)]
    (final,) = [event for event in it.events if isinstance(event, LaplaceEvent)]
    step, t = pure[0].epsilon, len(release.path)
    last = final.epsilon
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
        *some(_ratio(it, release)),
    )


def _ratio(it: Known, release: ZonesRelease) -> Formula | None:
    """Return the ratio that the published release leaks, read from the release; None for one axis or no ratio."""
    first = it.box.to_unit(release.centers)[0]
    if len(first) < 2 or not (first[:2] > 0).all() or not (first[:2] < 1).all():
        return None
    return Formula(
        "The ratio that leaks: first center, first two features, measured from the box's low corner",
        r"\frac{c_1}{c_2} = \frac{\sum x_1}{\sum x_2}",
        rf"\frac{{{tex(float(first[0]))}}}{{{tex(float(first[1]))}}}",
        float(first[0] / first[1]),
        source="ours: noise on the count alone cancels",
    )
