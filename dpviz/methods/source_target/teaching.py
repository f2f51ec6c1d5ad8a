"""Material that teaches source-target clustering: its chapter and reading."""

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from dpviz.accounting import GaussianEvent, LaplaceEvent, zcdp_rho_for
from dpviz.baselines.source_target_rivals import nonprivate_stc
from dpviz.core import Choices, Knob, Labels
from dpviz.data import Dataset
from dpviz.data.target_pairs import SourceTarget, load_pair, source_of
from dpviz.methods.source_target import algorithm
from dpviz.methods.source_target.algorithm.budget import SourceTargetScheme, l1_sensitivity, l2_sensitivity, noise_bound
from dpviz.methods.source_target.run import allowance
from dpviz.stories import Words
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
    tex,
)

N = 2_000  # paramedics
N_CENTERS = 5
# Noise seeds 0 to 14.
N_RUNS = 15


@cache
def town() -> SourceTarget:
    """Return the secret source and the public targets of the chapter."""
    return load_pair("first_aid", n=N, seed=0)


def nonprivate_cost(chosen: Labels) -> float:
    """Return the mean distance of the targets to the nearest of source and chosen targets."""
    problem = town()
    return float(algorithm.cost(problem.targets, problem.source, problem.targets[chosen]))


@cache
def floor() -> float:
    """Return the cost of centers that are chosen with the source itself."""
    problem = town()
    return nonprivate_cost(nonprivate_stc(problem.source, problem.targets, N_CENTERS, rng=np.random.default_rng(0)))


def private(epsilon: float) -> Answer:
    """Return the extra walking distance in percent: the median of private runs."""
    problem, params = town(), algorithm.Params(**chapter_params(epsilon))
    runs = (
        algorithm.fit(problem.source, problem.box, params, rng=np.random.default_rng(seed)) for seed in range(N_RUNS)
    )
    more = 100.0 * (float(np.median([nonprivate_cost(run.release.selected) for run in runs])) / floor() - 1.0)
    return Answer(more, {"measured": f"{more:.0f}", "runs": str(N_RUNS)})


FARTHER = ranges("Less than 10", "10 to 29", "30 to 49", "50 or more", at=(10, 30, 50))
EPSILON = Knob("course_helpers", "float", 0.1, "ε", "For all noisy averages.", 0.05, 5.0, log=True)


@cache
def helpers() -> Dataset:
    """Return the secret helpers."""
    return source_of("first_aid", town())


def chapter_params(epsilon: float) -> Choices:
    """Return the parameters at this ε."""
    problem = town()
    return {"targets": problem.targets, "ball": problem.ball, "epsilon": float(epsilon), "n_centers": N_CENTERS}


@cache
def helpers_note() -> Callable[[float], str]:
    """Return a function from ε to an attacker's limits, in the words of the method's page."""
    return allowance(Words.from_dataset(helpers()), algorithm.Params(**chapter_params(1.0)))


CHAPTER = RunChapter(
    "helpers",
    "Keeping helpers secret",
    "Green places need first aid nearby. Paramedics live at the gray rings, which stay secret. Noisy averages of their "
    f"homes (diamonds) stand in for them, and {N_CENTERS} new centers (first-aid points) go where no average is near. "
    f"At first, ε = {EPSILON.default:g}.",
    Question(
        "Now ε is 1. How much farther, in percent, do people walk than if the homes were known?",
        FARTHER,
        lambda: private(1.0),
        "They walk **{measured} %** farther (the median of {runs} runs). Approximate locations are enough here: what "
        "matters "
        "is which neighborhoods already have help, not who lives where.",
    ),
    EPSILON,
    helpers,
    chapter_params,
    {
        "paramedic": "Paramedic",
        "resident": "Public place",
        "noisy average": "Noisy average",
        "new first-aid point": "New center",
    },
    112,
    "A secret can be used without being shown: noisy averages stand in for it, and everything computed from them can "
    "be published.",
    1.0,
    lambda epsilon: {
        "data": "first_aid",
        "n": str(N),
        "epsilon": str(float(epsilon)),
        "n_centers": str(N_CENTERS),
        "noise_seed": "112",
    },
    note=lambda epsilon: helpers_note()(epsilon),
    is_extra=True,
)


WORDS = {
    r"d,\ n,\ t": "features, number of averages, neighbors in an average; the ball is 1 wide",
    r"\rho": "the budget of zCDP",
    r"\gamma": "how often an empty cell may pass, or noise may pass the bound",
    r"\Lambda": "the farthest that noise moves an average, except with chance γ",
}


def formulas(it: Known) -> tuple[Formula, ...]:
    """Return the formulas of a run."""
    p, n = it.params, 1
    # NAS releases every average, so their number is public.
    if p.method == "nas":
        n = len(it.release.centers)
    scheme = SourceTargetScheme(
        p.method, p.noise, p.calibration == "published", p.epsilon, p.rho, p.delta, p.t, it.d, n
    )
    (event,) = it.events
    assert isinstance(event, LaplaceEvent | GaussianEvent)
    proof = None
    if isinstance(event, LaplaceEvent) and event.scale != 0:
        top = l1_sensitivity(scheme, published=False)
        filled = rf"\varepsilon = \frac{{{tex(top)}}}{{{tex(event.scale)}}}"
        proof = Formula("What is proved", r"\varepsilon = \frac{\Delta_1}{b}", filled, event.epsilon, source="dpviz")
    last = _bound(it, scheme) if p.method == "nas" else _threshold(it, scheme)
    return (_sensitivity(scheme), _noise(scheme, event), last, *some(proof, odds_of(it)))


def _sensitivity(scheme: SourceTargetScheme) -> Formula:
    """Return the sensitivity of the whole release, as used in the calibration."""
    d, n, t = scheme.d, scheme.n_averages, scheme.t
    laplace = scheme.noise == "laplace"
    value = (l1_sensitivity if laplace else l2_sensitivity)(scheme, published=scheme.published)
    if scheme.method == "nas" and laplace:
        general, filled = r"\frac{n\sqrt{d}}{t}", rf"\frac{{{n}\sqrt{{{d}}}}}{{{t}}}"
    elif scheme.method == "nas":
        general, filled = r"\frac{\sqrt{n}}{t}", rf"\frac{{\sqrt{{{n}}}}}{{{t}}}"
    elif laplace:
        half = "" if scheme.published else "/2"
        general, filled = rf"1 + \sqrt{{d}}{half}", rf"1 + \sqrt{{{d}}}{half}"
    else:
        general = filled = "2" if scheme.published else r"\sqrt{1 + 1/4}"
    source = "Schnapp & Sabato, section 5" if scheme.published else "dpviz: a record is at most 1/2 long"
    symbol = r"\Delta_1" if laplace else r"\Delta_2"
    return Formula("How far one record moves what is released", f"{symbol} = {general}", filled, value, source=source)


def _noise(scheme: SourceTargetScheme, event: LaplaceEvent | GaussianEvent) -> Formula:
    """Return Laplace's b or Gaussian's sigma, and the theorem that it is from."""
    theorem = {
        ("nas", "laplace"): "5.10",
        ("nas", "gaussian"): "5.3" if scheme.rho is None else "5.12",
        ("nna", "laplace"): "5.11",
        ("nna", "gaussian"): "5.13",
    }[scheme.method, scheme.noise]
    source = f"Schnapp & Sabato, theorem {theorem}" if scheme.published else "dpviz: the minimum for this release"
    name, (n, t) = "Noise of every number released", (scheme.n_averages, scheme.t)
    if isinstance(event, LaplaceEvent):
        symbol, delta, value = "b", r"\Delta_1", event.scale
        top = l1_sensitivity(scheme, published=scheme.published)
    else:
        symbol, delta, value = r"\sigma", r"\Delta_2", event.sigma
        top = l2_sensitivity(scheme, published=scheme.published)
    if scheme.rho is not None:
        general, filled = r"\sqrt{2\rho}", rf"\sqrt{{2 \cdot {tex(scheme.rho)}}}"
    elif scheme.noise == "laplace":
        general, filled = r"\varepsilon", tex(scheme.pure_epsilon)
    elif not scheme.published:
        general, filled = r"\mu(\varepsilon, \delta)", tex(top / value)
    elif scheme.method == "nna":
        general, source = r"\sqrt{2\rho(\varepsilon, \delta)}", "dpviz: the paper has it for ρ only"
        filled = rf"\sqrt{{2 \cdot {tex(zcdp_rho_for(scheme.budget))}}}"
    else:
        log, inner = math.log(1.0 / scheme.budget.delta), math.log(1.25 * (n + 1) / scheme.budget.delta)
        general = r"\sigma = \frac{\sqrt{18 n \ln\frac{1}{\delta} \ln\frac{1.25(n+1)}{\delta}}}{t\,\varepsilon}"
        root = rf"\sqrt{{18 \cdot {n} \cdot {tex(log)} \cdot {tex(inner)}}}"
        filled = rf"\sigma = \frac{{{root}}}{{{t} \cdot {tex(scheme.budget.epsilon)}}}"
        return Formula(name, general, filled, value, source=source)
    general = rf"{symbol} = \frac{{{delta}}}{{{general}}}"
    return Formula(name, general, rf"{symbol} = \frac{{{tex(top)}}}{{{filled}}}", value, source=source)


def _threshold(it: Known, scheme: SourceTargetScheme) -> Formula:
    """Return the noisy count from which NNA releases a cell's average."""
    name, value, gamma = "Noisy count from which a cell's average is released", it.release.threshold, it.params.gamma
    scale = tex(it.release.scale)
    if scheme.noise == "gaussian":
        filled = rf"1 + {scale}\sqrt{{2\ln(1/{tex(gamma)})}}"
        return Formula(name, r"1 + \sigma\sqrt{2\ln(1/\gamma)}", filled, value, "records", "dpviz: the paper is silent")
    if it.params.threshold == "lemma":
        filled = rf"1 + {scale} \ln(1/{tex(gamma)})"
        return Formula(name, r"1 + b\ln(1/\gamma)", filled, value, "records", "Schnapp & Sabato, lemma 5.9")
    filled = rf"1 + \frac{{\ln((\sqrt{{{scheme.d}}} + 1)/{tex(gamma)})}}{{{tex(scheme.pure_epsilon)}}}"
    general = r"1 + \frac{\ln((\sqrt{d} + 1)/\gamma)}{\varepsilon}"
    return Formula(name, general, filled, value, "records", "Schnapp & Sabato, algorithm 2")


def _bound(it: Known, scheme: SourceTargetScheme) -> Formula:
    """Return Lambda, the bound on how far noise moves one of NAS's averages."""
    d, n, gamma = scheme.d, scheme.n_averages, it.params.gamma
    scale = tex(it.release.scale)
    if scheme.noise == "laplace":
        general = r"\Lambda = \sqrt{d}\, b \ln\frac{d n}{\gamma}"
        filled = rf"\Lambda = \sqrt{{{d}}} \cdot {scale} \ln\frac{{{d * n}}}{{{tex(gamma)}}}"
    else:
        general = r"\Lambda = \sqrt{d}\,\sigma\sqrt{2\ln\frac{2 d n}{\gamma}}"
        filled = rf"\Lambda = \sqrt{{{d}}} \cdot {scale}\sqrt{{2\ln\frac{{{2 * d * n}}}{{{tex(gamma)}}}}}"
    value = noise_bound(scheme, gamma)
    unit = "widths of the ball" + (": it says nothing" if value >= 1 else "")
    return Formula(
        "The farthest that noise moves an average", general, filled, value, unit, "Schnapp & Sabato, theorem 5.5"
    )


READING = Reading.from_file("source_target", formulas, lambda _: SYMBOLS | WORDS, KAIROUZ)
