"""Formulas that every page has, filled from a run's ledger: the noise of each step, their sum, what it allows."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from dpviz.accounting import GaussianEvent, LaplaceEvent, PureEvent, pure_epsilon
from dpviz.core import Event, attacker_odds
from dpviz.stories.ledger import Leaf, adjacency_of, leaves, words_of
from dpviz.stories.reading import Formula, Known, Paper, tex

MOST_TERMS = 5  # of a written sum
STEP = r"\varepsilon_{\text{step}}"
CHOICE = rf"\Pr[i] \propto e^{{{STEP}\, q_i / (2\Delta)}}"
ODDS = "What an attacker reaches at most, from a coin's 50 in 100"
TOTAL = "What the ledger adds up to"
KAIROUZ = Paper(
    "Kairouz, Oh & Viswanath 2015, The Composition Theorem for Differential Privacy",
    (("theorem 2.1", "the odds that (ε, δ) leaves an attacker, here with equal priors"),),
)
BUDGET = r"\varepsilon,\ \delta"
SYMBOLS = {
    BUDGET: "the privacy budget",
    r"\Delta": "sensitivity: the most that one record moves a number",
    "b": "scale of Laplace noise",
    r"\sigma": "standard deviation of Gaussian noise",
}


def noise_of(leaf: LaplaceEvent | GaussianEvent, name: str, *, source: str = "", unit: str = "") -> Formula:
    """Return the noise that a step of the ledger has added: its sensitivity over its budget."""
    if isinstance(leaf, GaussianEvent):
        filled = rf"\sigma = \frac{{{tex(leaf.l2_sensitivity)}}}{{{tex(leaf.mu)}}}"
        return Formula(name, r"\sigma = \frac{\Delta_2}{\mu}", filled, leaf.sigma, unit, source)
    several = leaf.n_coordinates > 1
    times = rf"{leaf.n_coordinates} \cdot " if several else ""
    general = rf"b = \frac{{{'m ' if several else ''}\Delta}}{{{STEP}}}"
    filled = rf"b = \frac{{{times}{tex(leaf.sensitivity)}}}{{{tex(leaf.epsilon)}}}"
    return Formula(name, general, filled, leaf.scale, unit, source)


def steps_of(events: tuple[Event, ...]) -> Iterator[Formula]:
    """Yield each kind of step that the ledger has once for each size: its noise, or the budget of its choice."""
    steps: set[tuple[str, float]] = set()
    for leaf in (leaf for event in events for leaf in leaves(event)):
        kind, size = words_of(leaf), _size(leaf)
        if (kind, size) in steps or not 0 < size < math.inf:
            continue
        steps.add((kind, size))
        if isinstance(leaf, PureEvent):
            yield Formula(kind, CHOICE if leaf.bounded_range else STEP, STEP, leaf.epsilon)
        else:
            yield noise_of(leaf, f"{kind}: noise")


def total(it: Known) -> Formula | None:
    """Return what the ledger adds up to as pure epsilon, None where it does not."""
    adjacency = adjacency_of(it.events)
    value = pure_epsilon(it.events, adjacency)
    if not it.events or not math.isfinite(value):
        return None
    spent = groupby(tex(pure_epsilon((event,), adjacency)) for event in it.events)
    counted = [(size, len(list(same))) for size, same in spent]
    terms = [size if count == 1 else rf"{count} \cdot {size}" for size, count in counted]
    if len(terms) > MOST_TERMS:
        terms = [*terms[: MOST_TERMS - 2], r"\dots", terms[-1]]
    return Formula(TOTAL, r"\varepsilon = \sum_t \varepsilon_t", " + ".join(terms), value)


def odds_of(it: Known) -> Formula | None:
    """Return what the proved guarantee lets an attacker reach from a coin's 50 in 100, None where nothing is proved."""
    proved = it.guarantee.proved
    if proved is None or proved.per_distance or math.isinf(proved.epsilon):
        return None
    return attackers_share(proved.epsilon, proved.delta)


def attackers_share(epsilon: float, delta: float) -> Formula:
    """Return how often an attacker is right at most where (epsilon, delta) holds, from a coin's 50 in 100."""
    plus = r" + \delta", rf" + {tex(delta)}"
    here, there = plus if delta > 0 else ("", "")
    general = rf"100\cdot\frac{{e^{{\varepsilon}}{here}}}{{1 + e^{{\varepsilon}}}}"
    filled = rf"100\cdot\frac{{e^{{{tex(epsilon)}}}{there}}}{{1 + e^{{{tex(epsilon)}}}}}"
    share = attacker_odds(epsilon, delta)
    return Formula(ODDS, general, filled, share, "in 100", "Kairouz et al., theorem 2.1", is_limit=True)


def used(symbols: Mapping[str, str], in_use: Iterable[Formula]) -> dict[str, str]:
    """Return the symbols, some of them listed together, of which at least one stands in a formula."""
    text = " ".join(each.general for each in in_use)
    return {names: words for names, words in symbols.items() if any(_stands(name, text) for name in parts(names))}


def parts(names: str) -> list[str]:
    """Return the single symbols of a list."""
    return names.split(r",\ ")


def _stands(name: str, text: str) -> bool:
    return re.search(rf"(?<![A-Za-z\\]){re.escape(name)}(?![A-Za-z])", text) is not None


def some(*formulas: Formula | None) -> tuple[Formula, ...]:
    """Return the formulas that there are."""
    return tuple(each for each in formulas if each is not None)


def _size(leaf: Leaf) -> float:
    if isinstance(leaf, LaplaceEvent):
        return leaf.scale
    return leaf.sigma if isinstance(leaf, GaussianEvent) else leaf.epsilon
