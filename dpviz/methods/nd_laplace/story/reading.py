"""Reading the picture of nD-Laplace: misreadings, formulas with the run's numbers, papers."""

import math

from dpviz.attacks.location import mean_error
from dpviz.mechanisms import perturbation_area
from dpviz.mechanisms.nd_laplace import radius_quantile
from dpviz.methods.nd_laplace.algorithm import ANDRES, PAPER
from dpviz.methods.nd_laplace.story.told import PointsLook
from dpviz.stories.reading import Formula, Known, Misreading, Paper, tex

MISREADINGS = (
    Misreading(
        "The circle is where a person must have been.",
        "No circle holds a place for certain: the noise has no end. The [[perturbation area]] is as wide as the noise "
        "is long on average. In two dimensions 59 in 100 releases fall inside, 41 outside.",
        "The rings of 50, 90 and 95 in 100, which the legend switches on, and the 95 % radius among the formulas.",
    ),
    Misreading(
        "ε = 1 here is as private as ε = 1 on the other pages.",
        "Here ε counts per distance: [[geo-indistinguishability]]. In meters or in kilometers the same number is "
        "another promise, and places far apart are told apart easily.",
        "The level within the stated radius, and the guarantee's table of distances.",
    ),
    Misreading(
        "The attacker errs at most in the share that the error formula gives.",
        "The other way round: 1/(1 + e^(ε d)) is the least error between two equally likely places, reached only "
        "beyond one of them. At ε d = 1 it is 27 in 100; on average over releases the attacker errs 35 times.",
        "“Attacks”: what an attacker who knows the noise really reaches.",
    ),
    Misreading(
        "Drawing again until the point is inside is harmless: it only keeps the map tidy.",
        "Near a wall it tells that you are near a wall. In general it costs up to twice the ε. Moving the point onto "
        "the wall is [[post-processing]] and costs nothing.",
        "“Near the wall”, and the guarantee's two claims when you choose to draw again.",
    ),
    Misreading(
        "One release hides me, so a release every day does, too.",
        "The noise averages out. The error of the mean falls as one over the root of the number of releases, and their "
        "ε add up: [[composition]].",
        "“Play the attacker”: release again and again, and watch budget and error.",
    ),
)

PAPERS = (
    Paper(
        PAPER,
        (
            ("equations 3.1 to 3.3", "the guarantee, the density and the radius"),
            ("equation 3.4", "the perturbation area"),
            ("algorithm 1", "drawing again; that it keeps ε does not hold"),
            ("equation 2.2", "geo-indistinguishability as an error; printed the wrong way round"),
            ("section 4", "the attacks"),
        ),
    ),
    Paper(ANDRES, (("section 4.1", "the radius by Lambert's W"), ("definition 3.1", "level and radius"))),
    Paper(
        "Chatzikokolakis, Elsalamouny & Palamidessi 2017, Efficient Utility Improvement for Location Privacy",
        (("optimal remapping", "the remap to a public grid under a public prior"),),
    ),
    Paper(
        "Yan et al. 2022, Perturb and optimize users' location privacy using geo-indistinguishability and location "
        "semantics",
        (("perturbation area", "the circle whose radius is the noise's mean length"),),
    ),
    Paper(
        "Yeom et al. 2018, Privacy Risk in Machine Learning",
        (("the threshold attack", "membership by a threshold on how well a record fits"),),
    ),
)

WORDS = {
    r"\varepsilon": "the budget per unit of distance",
    r"\ell,\ r": "the level, and the radius that it is for",
    "n": "number of features",
    "m": "number of releases of one place",
    r"d(x, x')": "how far apart two places are",
}
MOST_EXPONENT = 700.0  # of a finite power of e
RELEASES = 10  # of one place, in the formula for several; ours


def formulas(it: Known) -> tuple[Formula, ...]:
    """Return the formulas of a run, with lengths in the unit of the noise."""
    epsilon, n = it.params.epsilon, it.d
    look = it.look if isinstance(it.look, PointsLook) else PointsLook(1.0)
    unit, level = "shares of the range" if look.shares else look.unit, epsilon * look.radius
    area = perturbation_area(n, epsilon=epsilon)
    far = float(radius_quantile(0.95, n, epsilon=epsilon))
    factor, twice = (2.0, r"2 \cdot ") if it.params.domain == "redraw" else (1.0, "")
    return (
        Formula(
            "Budget per unit of distance",
            r"\varepsilon = \frac{\ell}{r}",
            rf"\varepsilon = \frac{{{tex(level)}}}{{{tex(look.radius)}}}",
            epsilon,
            f"per {unit}" if unit else "",
            f"{_ANDRES}, definition 3.1",
        ),
        Formula(
            "Two places a radius apart: how much likelier one may make a release",
            r"e^{2\varepsilon r}" if factor > 1 else r"e^{\varepsilon r}",
            rf"e^{{{twice}{tex(epsilon)} \cdot {tex(look.radius)}}}",
            _exp(factor * level),
            "times, at most",
            f"{_THESIS}, equation 3.1" + ("; doubled, as drawing again costs up to twice" if factor > 1 else ""),
        ),
        Formula(
            "Mean length of the noise: the perturbation area",
            r"\frac{n}{\varepsilon}",
            rf"\frac{{{n}}}{{{tex(epsilon)}}}",
            area.mean_radius,
            unit,
            f"{_THESIS}, equation 3.4",
        ),
        Formula(
            "95 in 100 releases lie within",
            r"\frac{1}{\varepsilon}\,\Gamma_n^{-1}(0.95)",
            rf"\frac{{1}}{{{tex(epsilon)}}} \cdot {tex(far * epsilon)}",
            far,
            unit,
            f"{_THESIS}, equation 3.3: lengths follow a Gamma law",
        ),
        Formula(
            "Least error between two equally likely places a radius apart",
            r"\frac{100}{1 + e^{\varepsilon\, d(x, x')}}",
            rf"\frac{{100}}{{1 + e^{{{tex(factor * level)}}}}}",
            100.0 / (1.0 + _exp(factor * level)),
            "in 100",
            f"{_THESIS}, equation 2.2, the right way round",
        ),
        Formula(
            f"How far off the mean of {RELEASES} releases is",
            r"\frac{\sqrt{n(n + 1)}}{\varepsilon \sqrt{m}}",
            rf"\frac{{\sqrt{{{n} \cdot {n + 1}}}}}{{{tex(epsilon)} \sqrt{{{RELEASES}}}}}",
            float(mean_error(epsilon, n, RELEASES)),
            unit,
            "ours: root of the mean square, exactly",
        ),
    )


_THESIS, _ANDRES = "van der Ende", "Andrés et al. 2013"


def _exp(level: float) -> float:
    return math.exp(level) if level < MOST_EXPONENT else math.inf


def words(_it: Known) -> dict[str, str]:
    """Return what the symbols stand for."""
    return WORDS
