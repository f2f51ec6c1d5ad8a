"""Compare's two answers: the smallest ε, or the fewest people, that keep a cost, and which method it takes.

The runs of the search and the answer in one line. Computed on the true records: the curator's. No Streamlit here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from dpviz.core import Confidential, friendly
from dpviz.stories.panel import TWICE, beside, ceiled, number
from dpviz.tools.compare.runs import Row, Rows, TrialPart, referenced
from dpviz.tools.sweep.solving import Support, next_value, support
from dpviz.tools.sweep.trials import OK

DIGITS = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0)  # of values: few, as each is judged by runs of its own
EPSILONS = friendly(0.05, 20.0, digits=DIGITS)  # that are searched
BATCH = 10  # runs between two looks
MOST_RUNS = 380  # of one method, beside those it began with; ours
MOST_ROUNDS = MOST_RUNS // BATCH
FEWEST = 20  # people
REASONING = (
    "The best estimate is the smallest {axis} of those tried that is not ruled out, and of whose runs enough kept the "
    "limit. Every {axis} is judged by its own runs, as a larger one need not be better. Runs are made ten at a time, "
    "where they decide most, at most {most} of a method beside those it began with. What is not excluded, and what is "
    "said to do harm, follows from bets on the runs, which chance wins in at most {error} of 100 searches, whenever "
    "one stops. All of this holds together with {confidence:.0f} % confidence, for these records. Nothing is said of "
    "values between those that were tried."
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
        cost = f"{ceiled(100.0 * (self.limit - 1.0))} % more cost"
        if self.limit >= TWICE:
            cost = f"{ceiled(self.limit)} times the cost"
        share = f"{number(10.0 * self.probability)} of 10 runs" if self.probability != 0.5 else "half of the runs"
        return f"{what} for at most {cost} in {share}"

    def value_of(self, row: Row) -> float:
        """Return where on the axis a run was made."""
        return float(row["epsilon"] if self.epsilon is None else row["n"])

    def met(self, row: Row) -> bool:
        """Say whether a run kept the limit; one that could not be made did not."""
        return bool(row["status"] == OK and row["inertia"] <= self.limit * row["floor_inertia"])

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

    Each entry goes its own way, from its runs in `start` on, and its next part follows from its runs. All runs on the
    same records are held against the least cost without privacy that any of them knows.
    """
    known = list(chain(*start.values(), *cache.values()))
    parts: list[TrialPart] = []
    supports: dict[str, Support] = {}
    so_far: dict[str, Support] = {}
    n_rounds: dict[str, int] = {}
    rows: dict[str, list[Row]] = {}
    first, later = referenced(start, known), referenced(cache, known)
    for entry in search.entries:
        rows[entry] = first.get(entry, [])
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
            rows[entry] += later[part]
            outcomes.setdefault(value, []).extend(map(search.met, later[part]))
            n_rounds[entry] += 1
        so_far[entry] = support(search.values, outcomes, search.probability, search.each)
        if settled:
            supports[entry] = so_far[entry]
    return Searched(tuple(parts), supports, rows, so_far, n_rounds)


@dataclass(frozen=True, slots=True)
class Least:
    """The smallest ε, or the fewest people, at which one method is estimated to keep the limit."""

    key: str  # of ENTRIES
    name: str
    value: float  # the best estimate
    low: float  # the smallest that the runs do not exclude
    high: float | None  # the largest; None: the runs do not show that any value keeps the limit
    n_kept: int  # runs at `value` that kept it
    n_there: int  # runs at `value`
    n_runs: int  # behind all of it
    cost: float  # median at `value`, × without privacy
    harmful: tuple[float, ...] = ()  # larger values that were shown to keep it too seldom
    is_first: bool = False  # whether no smaller value was tried

    @property
    def span(self) -> str:
        """What the runs do not exclude, in words."""
        if self.high is None:
            return f"{number(self.low)} or more"
        return number(self.low) if self.low == self.high else f"{number(self.low)} to {number(self.high)}"

    @property
    def kept(self) -> str:
        """How many of the runs at the best estimate kept the limit."""
        return f"{self.n_kept} of {self.n_there}"


@dataclass(frozen=True, slots=True)
class Recommendation:
    """What to take: the proved method that needs least for the limit, with the one after it. Curator only."""

    search: CostSearch
    best: Least
    runner_up: Least | None

    @property
    def sentence(self) -> str:
        """Say it in one line: the best estimate, the runs that it rests on, and what they do not exclude."""
        best = self.best
        words = f"{self.search.aim}: {number(best.value)}, with {best.name}. There {best.kept} runs kept the limit."
        return f"{words} {self.doubt}{' ' if self.harm else ''}{self.harm}"

    @property
    def doubt(self) -> str:
        """Say which values the runs do not exclude, with the search's confidence."""
        best = self.best
        sure = f"With {100.0 * self.search.confidence:.0f} % confidence"
        if best.low == best.high:
            return (
                f"{sure}, no smaller one was tried."
                if best.is_first
                else f"{sure}, no smaller one that was tried does."
            )
        if best.high is None:
            return (
                f"{sure} no smaller one than {number(best.low)} does. Whether this or a larger one does, "
                f"{best.n_runs:,} runs cannot tell: too many shares lie near to what was asked."
            )
        return f"{sure} the smallest is from {number(best.low)} to {number(best.high)}."

    @property
    def harm(self) -> str:
        """Say where a larger value was shown to keep the limit too seldom; "" where none was."""
        if not self.best.harmful:
            return ""
        what = "people" if self.search.epsilon else "ε"
        values = ", ".join(map(number, self.best.harmful))
        return f"More {what} does harm here: at {values} too few runs keep it."

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
        is_apart = self.best.high is not None and other.low > self.best.high
        apart = "" if is_apart else " The runs do not tell which of the two needs less."
        value, open_ones = number(other.value), "" if other.span == number(other.value) else f" ({other.span})"
        what = f"{value} people" if self.search.epsilon else f"ε = {value}"
        return f"For the same limit it needs {what}{open_ones}.{apart}"


def recommendation(
    search: CostSearch, state: Searched, names: Mapping[str, str], proved: Sequence[str]
) -> Recommendation | None:
    """Return what to take among the entries `proved`; None where no value of them looks good enough.

    `names` has the name on screen of every entry. Raises KeyError while a search among them is not over.
    """
    found = [_least(search, state, key, state.supports[key], names[key]) for key in proved]
    least = [one for one in found if one is not None]
    # Of two that need the same, the one that may need less, then the one that costs less.
    least.sort(key=lambda each: (each.value, each.low, each.cost))
    return Recommendation(search, least[0], least[1] if len(least) > 1 else None) if least else None


def _least(search: CostSearch, state: Searched, key: str, one: Support, name: str) -> Least | None:
    """Return an entry's best estimate with what the runs say of it; None where it has none."""
    if one.estimate is None or one.low is None:
        return None
    runs = [row for row in state.rows[key] if search.value_of(row) == one.estimate]
    # A run that could not be made costs more than any.
    costs = [row["inertia"] / row["floor_inertia"] if row["status"] == OK else np.inf for row in runs]
    return Least(
        key,
        name,
        one.estimate,
        one.low,
        one.high,
        sum(map(search.met, runs)),
        len(runs),
        one.n_runs,
        float(np.median(costs)),
        one.harmful,
        is_first=one.estimate == search.values[0],
    )


def no_recommendation(search: CostSearch, state: Searched, proved: Sequence[str]) -> str:
    """Say that no value of any method looks good enough, and what the runs let one expect."""
    ends = f"from {number(search.values[0])} to {number(search.values[-1])}"
    left = [one.low for key in proved if (one := state.supports[key]).low is not None]
    if proved and not left:
        every = f"every {search.axis} that was tried, {ends}, for every proved method"
        return f"{search.aim}: none. The runs rule out {every}."
    rest = f" They do not exclude {number(min(left))} or more." if left else ""
    return f"{search.aim}: none. No {search.axis} {ends} was enough for any proved method, as far as the runs go.{rest}"


def so_far(search: CostSearch, state: Searched, legends: Mapping[str, str]) -> str:
    """Say what the runs of a search that is not over support: it holds whenever one stops. `legends` as in `lines`."""
    parts = []
    for key, one in state.so_far.items():
        least = _least(search, state, key, one, legends[key])
        if least is None:
            words = "none" if one.low is None else "not known yet"
        else:
            words = f"about {number(least.value)} ({least.span})"
        parts.append(f"{legends[key]}: {words}")
    return f"{search.aim}, so far: {'; '.join(parts)}."


def lines(search: CostSearch, state: Searched, legends: Mapping[str, str]) -> list[dict[str, str | int]]:
    """Return what the runs say of each entry, a line each; `legends` names them with what their ε is not."""
    table, ends = [], f"from {number(search.values[0])} to {number(search.values[-1])}"
    for key, one in state.so_far.items():
        least = _least(search, state, key, one, legends[key])
        span = f"none {ends}" if one.low is None else f"{number(one.low)} or more"
        line: dict[str, str | int] = {
            "Method": legends[key],
            f"Best estimate, {search.axis}": "" if least is None else number(least.value),
            "Not excluded": span if least is None else least.span,
            "Runs": one.n_runs,
        }
        if not state.over:
            line["Settled"] = "yes" if key in state.supports else "not yet"
        cost = "" if least is None else f"{beside(least.cost)} without privacy"
        harmful = ", ".join(map(number, one.harmful))
        there = {"Kept the limit there": "" if least is None else least.kept, "Median cost there": cost}
        table.append(line | there | {"Larger, and too seldom": harmful})
    return table


def reasoning(search: CostSearch) -> str:
    """Say how the answers were found, and what they rest on."""
    axis = "ε" if search.epsilon is None else "people"
    error = number(100.0 * (1.0 - search.each))
    return REASONING.format(axis=axis, error=error, confidence=100.0 * search.confidence, most=MOST_RUNS)
