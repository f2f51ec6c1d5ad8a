"""What a comparison answers in one line: the smallest ε, or the fewest people, for a cost, and which method it takes.

Computed on the true records: the curator's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpviz.stories.panel import TWICE, beside, number
from dpviz.tools.compare.search import MOST_ROUNDS, CostSearch, Searched
from dpviz.tools.sweep.solving import Support

AXES = {False: ("Smallest ε", "ε"), True: ("Fewest people", "n")}  # whether people are looked for -> words
REASONING = (
    "Every {axis} that was tried is judged by its own runs, as a larger one need not be better. Runs are made ten at a "
    "time, where they decide most. A value is ruled out, or shown to keep the limit, when bets on its runs have won so "
    "often that chance would do so in at most {error} of 100 searches, whenever one stops. All of this holds together "
    "with {confidence:.0f} % confidence, for these records. Nothing is said of values between those that were tried."
)


@dataclass(frozen=True, slots=True)
class Least:
    """The smallest ε, or the fewest people, at which one method was shown to keep the limit."""

    key: str  # of ENTRIES
    name: str
    value: float  # the smallest that the runs show to keep it
    low: float  # the smallest that they do not rule out
    cost: float | None  # median there, × without privacy
    n_runs: int  # behind it
    is_first: bool = False  # whether no smaller value was tried


@dataclass(frozen=True, slots=True)
class Recommendation:
    """What to take: the proved method that needs least for the limit, with the one after it. Curator only."""

    best: Least
    runner_up: Least | None
    limit: float  # cost at most, × without privacy
    probability: float  # share of runs that keep it, at least
    confidence: float  # of all intervals together
    n_clusters: int  # k, of all methods and of k-means without privacy
    people: bool = False  # whether `value` is a number of people, not ε

    @property
    def sentence(self) -> str:
        """Say it in one line."""
        best = self.best
        rest = "the runs rule out every smaller one that was tried"
        if best.low < best.value:
            rest = f"smaller ones from {number(best.low)} on are not ruled out"
        elif best.is_first:
            rest = "no smaller one was tried"
        aim = _aim(self.limit, self.probability, people=self.people)
        return f"{aim}: {number(best.value)}, with {best.name}; {rest}."

    @property
    def second(self) -> str:
        """Say what comes next, and whether the runs tell both apart; "" where nothing does."""
        return "" if self.runner_up is None else f"Next: {self.runner_up.name}. {self.needed}"

    @property
    def needed(self) -> str:
        """Say what the next method needs, and whether the runs tell both apart; "" where there is none."""
        if self.runner_up is None:
            return ""
        other, axis = self.runner_up, "people" if self.people else AXES[False][1]
        apart = "" if other.low > self.best.value else " The runs do not tell which of the two needs less."
        range_ = number(other.value)
        if other.low < other.value:
            range_ = f"{number(other.low)} to {range_}"
        return f"For the same limit it needs {f'{range_} {axis}' if self.people else f'{axis} = {range_}'}.{apart}"


def recommendation(
    search: CostSearch, found: Searched, names: Mapping[str, str], proved: Sequence[str]
) -> Recommendation | None:
    """Return what to take among the entries `proved`; None where none was shown to keep the limit.

    `names` has the name on screen of every entry. Raises KeyError while a search among them is not over.
    """
    least = []
    for key in proved:
        one = found.supports[key]
        if one.high is not None and one.low is not None:
            cost = _cost(search, found, key, one.high)
            least.append(Least(key, names[key], one.high, one.low, cost, one.n_runs, one.high == search.values[0]))
    # Of two that need the same, the one that may need less, then the one that costs less.
    least.sort(key=lambda each: (each.value, each.low, np.inf if each.cost is None else each.cost))
    if not least:
        return None
    return Recommendation(
        least[0],
        least[1] if len(least) > 1 else None,
        search.limit,
        search.probability,
        search.confidence,
        search.n_clusters,
        search.epsilon is not None,
    )


def none_found(search: CostSearch, found: Searched, names: Mapping[str, str], proved: Sequence[str]) -> str:
    """Say that no method was shown to keep the limit, and what the runs so far let one expect. As `recommendation`."""
    _, axis = AXES[search.epsilon is not None]
    aim = _aim(search.limit, search.probability, people=search.epsilon is not None)
    supports = {key: found.supports[key] for key in proved}
    guesses = [(one.guess, key) for key, one in supports.items() if one.guess is not None]
    if guesses:
        value, key = min(guesses)
        share = _share(search, found, key, value)
        return (
            f"{aim}: not decided. Best estimate: {number(value)}, with {names[key]}, where {share} runs kept the "
            "limit: so few cannot show that enough do."
        )
    ends = f"from {number(search.values[0])} to {number(search.values[-1])}"
    if supports and all(one.low is None for one in supports.values()):
        return f"{aim}: none. The runs rule out every {axis} that was tried, {ends}, for every proved method."
    return f"{aim}: none was shown to do, {ends}, for any proved method."


def where(found: Searched) -> str:
    """Say how far a search is that is not over."""
    return f"round {found.round} of at most {MOST_ROUNDS}: {len(found.supports)} of {len(found.so_far)} methods settled"


def so_far(search: CostSearch, found: Searched, legends: Mapping[str, str]) -> str:
    """Say what the runs of a search that is not over support: it holds whenever one stops. `legends` as in `lines`."""
    known = "; ".join(f"{legends[key]}: {_brief(search, one)}" for key, one in found.so_far.items())
    aim = _aim(search.limit, search.probability, people=search.epsilon is not None)
    return f"{aim}, so far: {known}."


def lines(search: CostSearch, found: Searched, legends: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return what the runs say of each entry, a line each; `legends` names them with what their ε is not."""
    _, axis = AXES[search.epsilon is not None]
    made = []
    for key, one in found.so_far.items():
        kept = _kept(search, found, key, one)
        settled = {} if found.over else {"Settled": "yes" if key in found.supports else "not yet"}
        line = {"Method": legends[key], f"Supported {axis}": _range(search, one, axis), "Runs": one.n_runs}
        made.append(line | settled | kept)
    return made


def reasoning(search: CostSearch) -> str:
    """Say how the answers were found, and what they rest on."""
    _, axis = AXES[search.epsilon is not None]
    words = "people" if search.epsilon is not None else axis
    error = number(100.0 * (1.0 - search.each))
    return REASONING.format(axis=words, error=error, confidence=100.0 * search.confidence)


def _aim(limit: float, probability: float, *, people: bool) -> str:
    cost = f"{number(100.0 * (limit - 1.0))} % more cost" if limit < TWICE else f"{number(limit)} times the cost"
    share = "half of the runs" if probability == 0.5 else f"{number(10.0 * probability)} of 10 runs"
    return f"{AXES[people][0]} for at most {cost} in {share}"


def _range(search: CostSearch, one: Support, axis: str) -> str:
    if one.low is None:
        return f"none from {number(search.values[0])} to {number(search.values[-1])}"
    if one.high is None:
        return f"{number(one.low)} or more; none was shown up to {axis} = {number(search.values[-1])}"
    return number(one.low) if one.low == one.high else f"{number(one.low)} to {number(one.high)}"


def _brief(search: CostSearch, one: Support) -> str:
    """Write what is left of a search's values for one method as part of a list."""
    if one.low is None:
        return "none"
    if one.high is None:
        return "not known yet" if one.low == search.values[0] else f"{number(one.low)} or more"
    return number(one.low) if one.low == one.high else f"between {number(one.low)} and {number(one.high)}"


def _kept(search: CostSearch, found: Searched, key: str, one: Support) -> dict[str, str]:
    """Return how many runs kept the limit at the value that was shown to keep it, else at the best estimate."""
    value = one.high or one.guess
    if value is None:
        return {"Kept the limit there": "", "Median cost there": ""}
    cost = _cost(search, found, key, value)
    estimate = "" if one.high else f" at the best estimate, {number(value)}"
    return {
        "Kept the limit there": f"{_share(search, found, key, value)}{estimate}",
        "Median cost there": "" if cost is None else f"{beside(cost)} without privacy",
    }


def _share(search: CostSearch, found: Searched, key: str, value: float) -> str:
    runs = [row for row in found.rows[key] if search.value_of(row) == value]
    return f"{sum(map(search.met, runs))} of {len(runs)}"


def _cost(search: CostSearch, found: Searched, key: str, value: float) -> float | None:
    """Return the median cost of the runs at a value; a run that could not be made costs more than any."""
    runs = [row for row in found.rows[key] if search.value_of(row) == value]
    costs = [
        row["inertia"] / min(row["floor_inertia"], search.floor) if row["status"] == "ok" else np.inf for row in runs
    ]
    return float(np.median(costs)) if costs else None
