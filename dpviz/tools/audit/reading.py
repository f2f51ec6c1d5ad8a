"""What there is to read about an audit: misreadings, formulas with its counts, papers, and the calls behind it."""

import math

from dpviz.audit import CONFIDENCE, VERDICT_CONFIDENCE, EpsilonBound
from dpviz.audit.bound import AuditEvent, chances
from dpviz.stories.recipe import Calls, Data
from dpviz.stories.teaching import BUDGET, KAIROUZ, SYMBOLS, Formula, Misreading, Paper, attackers_share, tex
from dpviz.tools.audit.pictures import percent
from dpviz.tools.audit.runs import Audited, AuditQuestion

MISREADINGS = (
    Misreading(
        "No violation was found, so the method is private.",
        "An audit looks at two data sets and a few events. It can refute a promise, never prove one: other worlds, "
        "other events or more runs may show more.",
        "The guarantee's label: “proved” rests on a proof and the [[ledger]], not on these runs.",
    ),
    Misreading(
        "The measured ε is the method's true ε.",
        f"It is the least [[epsilon]] that fits the counts, with {percent(CONFIDENCE)} confidence. The true one may be "
        "any larger, and a sound method is usually measured well below what it spends.",
        "The attack's curve behind “See the attack”: how far it stays below what the noise itself would allow.",
    ),
    Misreading(
        "A larger measured ε means a worse leak, so two broken methods can be ranked.",
        "At the ceiling the worlds never looked alike, and the figure only counts the runs: more runs raise it without "
        "end. The true ε may be infinite for both.",
        "“Most that can be shown”, and the same audit with more runs.",
    ),
    Misreading(
        "The worst case is made up; nothing like it will happen to my records.",
        "The promise is for every pair of [[neighbors]]. One pair that breaks it refutes the claim, and whoever lives "
        "in such a corner was promised the same as everyone.",
        "“Two worlds”: the made-up pair, and then one of these records.",
    ),
    Misreading(
        "One may audit with new seeds until something is found.",
        f"Each audit may err in {100 * (1 - CONFIDENCE):.3g} of 100 cases, so of many some will. “Violation” asks for "
        f"{percent(VERDICT_CONFIDENCE)} instead, and what counts is never what the event was chosen by.",
        "The table of all methods: one audit of each mode, with its number of runs.",
    ),
)

PAPERS = (
    Paper(
        "Clopper & Pearson 1934, The Use of Confidence or Fiducial Limits Illustrated in the Case of the Binomial",
        (("the exact limits", "both ends of how often the event happens, for any number of runs"),),
    ),
    Paper(
        "Jagielski, Ullman & Oprea 2020, Auditing Differentially Private Machine Learning",
        (("the lower bound on ε", "the logarithm of the lower end over the upper end"),),
    ),
    Paper(
        "Nasr et al. 2023, Tight Auditing of Differentially Private Machine Learning",
        (
            (
                "audits with several events",
                "here the error is shared among all of them, half of the runs having chosen them",
            ),
        ),
    ),
    KAIROUZ,
)

WORDS = {
    BUDGET: SYMBOLS[BUDGET],
    "N": "runs that estimate, in each world: those that did not choose the event",
    "K": "events that the other half of the runs chooses",
    r"\alpha": "error allowed at one end of one event",
    "a,\\ b": "how often the event happened where it is likely, and in the other world",
    "p_-,\\ p_+": "least and greatest chance that fits",
    "B^{-1}": "quantile of the Beta distribution",
}


def formulas(audited: Audited, *, public: bool = False) -> tuple[Formula, ...]:
    """Return how the counts become a measured ε; counts on real records are not the `public`'s."""
    bound, options = audited.bound, audited.bound.options
    n, level, confidence = bound.n_estimating, options.level(), tex(options.confidence)
    parts = [
        Formula(
            "Error allowed at one end of one event",
            rf"\alpha = \frac{{1 - {confidence}}}{{2 K}}",
            rf"\alpha = \frac{{1 - {confidence}}}{{2 \cdot {options.n_events}}}",
            level,
            source="the union bound over all ends",
        ),
        Formula(
            "The most that so many runs can show",
            r"\varepsilon_{\max} = \ln\frac{\alpha^{1/N} - \delta}{1 - \alpha^{1/N}}",
            rf"\varepsilon_{{\max}} = \ln\frac{{{tex(level)}^{{1/{n}}} - {tex(options.delta)}}}"
            rf"{{1 - {tex(level)}^{{1/{n}}}}}",
            bound.ceiling,
            source="Clopper & Pearson 1934, with a = N and b = 0",
        ),
    ]
    if public and audited.is_own:
        return tuple(parts)
    if bound.events:
        parts += _of_event(bound, bound.events[0])
    if audited.is_proved and math.isfinite(audited.limit.epsilon):
        parts.append(attackers_share(audited.limit.epsilon, audited.limit.delta))
    return tuple(parts)


def _of_event(bound: EpsilonBound, event: AuditEvent) -> list[Formula]:
    """Return the chances of an event that fit its counts, and the ε that follows."""
    n, level, delta = bound.n_estimating, bound.options.level(), tex(bound.options.delta)
    ends = chances(n, level)
    low, high = float(ends[0][event.hits]), float(ends[1][event.other_hits])
    exact, alpha = "Clopper & Pearson 1934", tex(level)
    return [
        Formula(
            "Chance of the event where it is likely, at least",
            r"p_- = B^{-1}(\alpha;\ a,\ N - a + 1)",
            rf"p_- = B^{{-1}}({alpha};\ {event.hits},\ {n - event.hits + 1})" if event.hits else "p_-",
            low,
            source=exact,
            is_least=True,
        ),
        Formula(
            "Chance of the event in the other world, at most",
            r"p_+ = B^{-1}(1 - \alpha;\ b + 1,\ N - b)",
            rf"p_+ = B^{{-1}}(1 - {alpha};\ {event.other_hits + 1},\ {n - event.other_hits})"
            if event.other_hits < n
            else "p_+",
            high,
            source=exact,
            is_limit=True,
        ),
        Formula(
            "Measured ε, at least",
            r"\hat\varepsilon = \max\left(0,\ \ln\frac{p_- - \delta}{p_+}\right)",
            rf"\hat\varepsilon = \max\left(0,\ \ln\frac{{{tex(low)} - {delta}}}{{{tex(high)}}}\right)",
            bound.epsilon_lower,
            source="Jagielski, Ullman & Oprea 2020",
            is_least=True,
        ),
    ]


def code(data: Data, question: AuditQuestion) -> Calls:
    """Return the calls behind the pictures of an audit."""
    return Calls(
        data,
        ("from dpviz.tools.audit import pictures, runs",),
        (
            f"question = runs.{question!r}",
            "found = runs.counted(dataset.points, dataset.box, question)",
            "audited = runs.against_limit(*found, is_own=question.is_own)",
            "scenes = [pictures.histogram(audited), pictures.roc(audited)]",
        ),
    )
