"""Compare's two answers: the smallest ε, or the fewest people, that keep a cost, and which method it takes.

The runs of the search and the answer in one line. Computed on the true records: the curator's. No Streamlit here.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dpviz.core import Confidential, friendly
from dpviz.stories.panel import TWICE, beside, number
from dpviz.tools.compare.runs import Row, Rows, TrialPart
from dpviz.tools.sweep.solving import Support, next_value, support
from dpviz.tools.sweep.trials import OK

DIGITS = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0)  # of values: few, as each is judged by runs of its own
EPSILONS = friendly(0.05, 20.0, digits=DIGITS)  # that are searched
BATCH = 10  # runs between two looks
MOST_RUNS = 400  # of one method, beside those it began with; ours
MOST_ROUNDS = MOST_RUNS // BATCH
FEWEST = 20  # people
REASONING = (
    "Every {axis} that was tried is judged by its own runs, as a larger one need not be better. Runs are made ten at a "
    "time, where they decide most. A value is ruled out, or shown to keep the limit, when bets on its runs have won so "
    "often that chance would do so in at most {error} of 100 searches, whenever one stops. All of this holds together "
    "with {confidence:.0f} % confidence, for these records. Nothing is said of values between those that were tried."
)


@dataclass(frozen=True, slots=True)
class CostSearch:
    """Looks for the first of `values` at which a run costs at most `limit` times that without privacy."""

    entries: tuple[str, ...]
    values: tuple[float, ...]  # ascending, of ε or of people
    limit: float
    probability: float  # that a run shall keep the limit with
    confidence: float  # of all entries' answers together
    n_clusters: int
    start_seed: int
    seed: int
    n: int  # records
    epsilon: float | None = None  # None: ε is searched; else people are, at this ε
    floor: float = math.inf  # a cost without privacy that is known beside the runs' own

    @property
    def each(self) -> float:
        """The confidence of each answer, so that all hold together (Bonferroni)."""
        return 1.0 - (1.0 - self.confidence) / max(1, len(self.entries))

    @property
    def axis(self) -> str:
        """Name of what is searched."""
        return "ε" if self.epsilon is None else "n"

    @property
    def aim(self) -> str:
        """What is searched for, in words: the limit of the cost, and how many runs shall keep it."""
        what = "Smallest ε" if self.epsilon is None else "Fewest people"
        cost = f"{number(100.0 * (self.limit - 1.0))} % more cost"
        if self.limit >= TWICE:
            cost = f"{number(self.limit)} times the cost"
        share = f"{number(10.0 * self.probability)} of 10 runs" if self.probability != 0.5 else "half of the runs"
        return f"{what} for at most {cost} in {share}"

    def value_of(self, row: Row) -> float:
        """Return where on the axis a run was made."""
        return float(row["epsilon"] if self.epsilon is None else row["n"])

    def met(self, row: Row) -> bool:
        """Say whether a run kept the limit; one that could not be made did not."""
        return bool(row["status"] == OK and row["inertia"] <= self.limit * min(row["floor_inertia"], self.floor))

    def part(self, entry: str, value: float, n_before: int) -> TrialPart:
        """Return the next runs of an entry at a value, after so many."""
        epsilon, n = (value, self.n) if self.epsilon is None else (self.epsilon, int(value))
        first, people = self.seed + n_before, self.epsilon is not None
        return TrialPart(entry, epsilon, self.n_clusters, self.start_seed, first, BATCH, n, people)


@dataclass(frozen=True, slots=True, eq=False)
class Searched(Confidential):
    """How far a search is: its parts so far, in order, and what the runs of each finished entry support."""

    parts: tuple[TrialPart, ...]
    supports: Mapping[str, Support]  # of entries that need no more runs
    rows: Rows  # all runs so far
    so_far: Mapping[str, Support]  # of every entry; it holds whenever one stops
    n_rounds: Mapping[str, int]  # that are finished, of every entry

    @property
    def over(self) -> bool:
        """Whether every entry has its answer."""
        return len(self.supports) == len(self.so_far)

    @property
    def round(self) -> int:
        """The round, from 1 on, of the slowest entry that is not settled; it never falls. 0 once all is over."""
        return min((n + 1 for key, n in self.n_rounds.items() if key not in self.supports), default=0)

    @property
    def share(self) -> float:
        """How much of the longest search is behind, in [0, 1]: it never falls, and is 1 when all is over."""
        rounds = sum(MOST_ROUNDS if key in self.supports else n for key, n in self.n_rounds.items())
        return rounds / (MOST_ROUNDS * len(self.n_rounds)) if self.n_rounds else 1.0

    @property
    def where(self) -> str:
        """How far a search is that is not over, in words."""
        settled = f"{len(self.supports)} of {len(self.so_far)} methods settled"
        return f"round {self.round} of at most {MOST_ROUNDS}: {settled}"


def sizes(n: int, n_clusters: int) -> tuple[float, ...]:
    """Return the numbers of people that are tried: `n`, and round ones below, FEWEST and one a cluster at least."""
    least = float(max(FEWEST, n_clusters))
    return tuple(float(int(value)) for value in friendly(least, n, digits=DIGITS)) if n > least else (float(n),)


def searched(search: CostSearch, start: Rows, cache: Mapping[TrialPart, Sequence[Row]]) -> Searched:
    """Go through the search again as far as its runs are in `cache`; the last parts may be missing there.

    Each entry goes its own way, from its runs in `start` on, and its next part follows from its runs alone.
    """
    parts: list[TrialPart] = []
    supports: dict[str, Support] = {}
    so_far: dict[str, Support] = {}
    n_rounds: dict[str, int] = {}
    rows: dict[str, list[Row]] = {}
    for entry in search.entries:
        rows[entry] = list(start.get(entry, ()))
        outcomes: dict[float, list[bool]] = {}
        for row in rows[entry]:
            outcomes.setdefault(search.value_of(row), []).append(search.met(row))
        n_rounds[entry], settled = 0, False
        while True:
            value = next_value(search.values, outcomes, search.probability, search.each, n_rounds[entry])
            if value is None or n_rounds[entry] == MOST_ROUNDS:
                settled = True
                break
            part = search.part(entry, value, len(outcomes.get(value, ())))
            parts.append(part)
            if part not in cache:
                break
            rows[entry] += cache[part]
            outcomes.setdefault(value, []).extend(map(search.met, cache[part]))
            n_rounds[entry] += 1
        so_far[entry] = support(search.values, outcomes, search.probability, search.each)
        if settled:
            supports[entry] = so_far[entry]
    return Searched(tuple(parts), supports, rows, so_far, n_rounds)


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

    search: CostSearch
    best: Least
    runner_up: Least | None

    @property
    def sentence(self) -> str:
        """Say it in one line."""
        best = self.best
        rest = "the runs rule out every smaller one that was tried"
        if best.low < best.value:
            rest = f"smaller ones from {number(best.low)} on are not ruled out"
        elif best.is_first:
            rest = "no smaller one was tried"
        return f"{self.search.aim}: {number(best.value)}, with {best.name}; {rest}."

    @property
    def second(self) -> str:
        """Say what comes next, and whether the runs tell both apart; "" where nothing does."""
        return "" if self.runner_up is None else f"Next: {self.runner_up.name}. {self.needed}"

    @property
    def needed(self) -> str:
        """Say what the next method needs, and whether the runs tell both apart; "" where there is none."""
        other = self.runner_up
        if other is None:
            return ""
        apart = "" if other.low > self.best.value else " The runs do not tell which of the two needs less."
        span = number(other.value) if other.low == other.value else f"{number(other.low)} to {number(other.value)}"
        return f"For the same limit it needs {f'{span} people' if self.search.epsilon else f'ε = {span}'}.{apart}"


def recommendation(
    search: CostSearch, state: Searched, names: Mapping[str, str], proved: Sequence[str]
) -> Recommendation | None:
    """Return what to take among the entries `proved`; None where none was shown to keep the limit.

    `names` has the name on screen of every entry. Raises KeyError while a search among them is not over.
    """
    least = []
    for key in proved:
        one = state.supports[key]
        if one.high is not None and one.low is not None:
            cost = _cost(search, state, key, one.high)
            least.append(Least(key, names[key], one.high, one.low, cost, one.n_runs, one.high == search.values[0]))
    # Of two that need the same, the one that may need less, then the one that costs less.
    least.sort(key=lambda each: (each.value, each.low, np.inf if each.cost is None else each.cost))
    return Recommendation(search, least[0], least[1] if len(least) > 1 else None) if least else None


def no_recommendation(search: CostSearch, state: Searched, names: Mapping[str, str], proved: Sequence[str]) -> str:
    """Say that no method was shown to keep the limit, and what the runs so far let one expect. As `recommendation`."""
    supports = {key: state.supports[key] for key in proved}
    guesses = [(one.guess, key) for key, one in supports.items() if one.guess is not None]
    if guesses:
        value, key = min(guesses)
        return (
            f"{search.aim}: not decided. Best estimate: {number(value)}, with {names[key]}, where "
            f"{_share(search, state, key, value)} runs kept the limit: so few cannot show that enough do."
        )
    ends = f"from {number(search.values[0])} to {number(search.values[-1])}"
    if supports and all(one.low is None for one in supports.values()):
        every = f"every {search.axis} that was tried, {ends}, for every proved method"
        return f"{search.aim}: none. The runs rule out {every}."
    return f"{search.aim}: none was shown to do, {ends}, for any proved method."


def so_far(search: CostSearch, state: Searched, legends: Mapping[str, str]) -> str:
    """Say what the runs of a search that is not over support: it holds whenever one stops. `legends` as in `lines`."""
    parts = []
    for key, one in state.so_far.items():
        if one.low is None:
            words = "none"
        elif one.high is None:
            words = "not known yet" if one.low == search.values[0] else f"{number(one.low)} or more"
        else:
            words = number(one.low) if one.low == one.high else f"between {number(one.low)} and {number(one.high)}"
        parts.append(f"{legends[key]}: {words}")
    return f"{search.aim}, so far: {'; '.join(parts)}."


def lines(search: CostSearch, state: Searched, legends: Mapping[str, str]) -> list[dict[str, str | int]]:
    """Return what the runs say of each entry, a line each; `legends` names them with what their ε is not.

    How many runs kept the limit is at the value that was shown to keep it, else at the best estimate.
    """
    table, first, last = [], number(search.values[0]), number(search.values[-1])
    for key, one in state.so_far.items():
        if one.low is None:
            span = f"none from {first} to {last}"
        elif one.high is None:
            span = f"{number(one.low)} or more; none was shown up to {search.axis} = {last}"
        else:
            span = number(one.low) if one.low == one.high else f"{number(one.low)} to {number(one.high)}"
        line: dict[str, str | int] = {"Method": legends[key], f"Supported {search.axis}": span, "Runs": one.n_runs}
        if not state.over:
            line["Settled"] = "yes" if key in state.supports else "not yet"
        value = one.high or one.guess
        share = cost = ""
        if value is not None:
            estimate = "" if one.high else f" at the best estimate, {number(value)}"
            share, median = f"{_share(search, state, key, value)}{estimate}", _cost(search, state, key, value)
            cost = "" if median is None else f"{beside(median)} without privacy"
        table.append(line | {"Kept the limit there": share, "Median cost there": cost})
    return table


def reasoning(search: CostSearch) -> str:
    """Say how the answers were found, and what they rest on."""
    axis = "ε" if search.epsilon is None else "people"
    error = number(100.0 * (1.0 - search.each))
    return REASONING.format(axis=axis, error=error, confidence=100.0 * search.confidence)


def _share(search: CostSearch, state: Searched, key: str, value: float) -> str:
    runs = [row for row in state.rows[key] if search.value_of(row) == value]
    return f"{sum(map(search.met, runs))} of {len(runs)}"


def _cost(search: CostSearch, state: Searched, key: str, value: float) -> float | None:
    """Return the median cost of the runs at a value; a run that could not be made costs more than any."""
    costs = [
        row["inertia"] / min(row["floor_inertia"], search.floor) if row["status"] == OK else np.inf
        for row in state.rows[key]
        if search.value_of(row) == value
    ]
    return float(np.median(costs)) if costs else None
