"""Compare's two answers: the smallest ε, or the fewest people, that keep a cost, and which method it takes.

The runs of the search and the answer in one line, computed on the true records. Curator only. No Streamlit here.

A value v_i of ε or n reaches the aim if a run at it keeps the limit with probability P (90 %) or more. Values
v_0 < ... < v_{m-1}; a run at v_i keeps the limit with probability p_i. Nothing is assumed about the p_i: more budget,
or more people, may do harm (DPM kept a limit in 4 of 30 runs at epsilon = 1, and in none at 3). The search is for v*,
the smallest value with p_i >= P. The best estimate is the smallest value that is not ruled out and of whose runs a
share of P kept the limit. An interval from `low` to `high` contains v*.

Each value's runs are bet on, one after the other. Before run t + 1, q follows from the runs so far, S of t having kept
the limit, as q = (S + P) / (t + 1). Against "p < P" with max(q, P), against "p >= P" with min(q, P), a run multiplies
the stake by q / P if it keeps the limit, else by (1 - q) / (1 - P). If the statement that is bet against is true, no
bet is expected to win, so a stake of 1 ever reaches 1 / a with probability a at most (Ville), however many runs are
made and wherever one stops (Waudby-Smith & Ramdas 2024, section 3, on which the bets are modeled). Then:

- v_i is ruled out once the stake against "p_i >= P" reaches 1 / a, and `low` is the smallest value that is not. It is
  above v* only if v* itself was ruled out, which is one false verdict: probability a, for any m.
- F_i is the product of the stakes against "p_j < P" over all j <= i: a bet against "no value up to v_i reaches the
  aim". `high` is the smallest v_i such that F_i and all later ones reach 1 / a. It is below v* only if F of the value
  before v* did, and all bets in it were against what is true: probability a again.
- A larger value than the estimate does harm once its own stake against "p_j >= P" reaches m / b (Bonferroni).

With a = 0.45 and b = 0.1 of 1 - confidence, all of these hold at once. The choice of the next value is a guess, on
which no statement rests.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, chain

import numpy as np

from dpviz.core import Confidential, friendly
from dpviz.stories.panel import TWICE, beside, ceiled, number
from dpviz.tools.compare.runs import Row, Rows, TrialPart, referenced
from dpviz.tools.trials import OK

DIGITS = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0)  # of values: few, as each is judged by runs of its own
EPSILONS = friendly(0.05, 20.0, digits=DIGITS)  # that are searched
BATCH = 10  # runs between two looks
MOST_RUNS = 380  # of one method, beside those it began with; ours
MOST_ROUNDS = MOST_RUNS // BATCH
FEWEST = 20  # people
CACHED_STAKES = 4096  # values: a search repeats its rounds at every look; our choice
ENOUGH = 60  # runs that an estimate rests on; our choice
END_SHARE, HARM_SHARE = 0.45, 0.1  # of 1 - confidence: for each end of the interval, and for all harm; our choice
REASONING = (
    "The best estimate is the smallest {axis} of those tried that is not ruled out, and of whose runs enough kept the "
    "limit. Every {axis} is judged by its own runs, as a larger one need not be better. Runs are made ten at a time, "
    "where they decide most, at most {most} of a method beside those it began with. What is not excluded, and what is "
    "said to do harm, follows from bets on the runs, which chance wins in at most {error} of 100 searches, whenever "
    "one stops. All of this holds together with {confidence:.0f} % confidence, for these records. Nothing is said of "
    "values between those that were tried."
)

Outcomes = Mapping[float, Sequence[bool]]  # value -> whether each of its runs kept the limit, in the order of the runs


@dataclass(frozen=True, slots=True)
class Support:
    """What the runs support of the smallest value that reaches the aim: with the confidence it is from `low` to `high`.

    Nothing is said of values that were not tried.
    """

    low: float | None  # None: every value was ruled out
    high: float | None  # None: the runs do not show that any value reaches it
    estimate: float | None  # the smallest, not ruled out, that met the aim often enough; None: there is none
    harmful: tuple[float, ...]  # larger values than the estimate that were shown to fail
    n_runs: int


@lru_cache(maxsize=CACHED_STAKES)
def log_stakes(met: tuple[bool, ...], probability: float) -> tuple[float, float]:
    """Return the logarithms of the stakes against "p < P" and against "p >= P" after these runs of one value."""
    runs = np.asarray(met, dtype=bool)
    before = np.concatenate([[0], np.cumsum(runs)[:-1]]) if len(runs) else np.zeros(0)
    q = (before + probability) / (np.arange(len(runs)) + 1.0)
    stakes = []
    for bet in (np.maximum(q, probability), np.minimum(q, probability)):
        factors = np.where(runs, bet / probability, (1.0 - bet) / (1.0 - probability))
        stakes.append(float(np.log(factors).sum()))
    return stakes[0], stakes[1]


def support(values: Sequence[float], outcomes: Outcomes, probability: float, confidence: float) -> Support:
    """Return what the runs support with this confidence; `values` ascend."""
    bets = _Bets.from_runs(values, outcomes, probability, confidence)
    good = [i for i, share in enumerate(bets.shares) if share >= probability and not bets.ruled_out[i]]
    estimate = next((i for i in good if len(outcomes[values[i]]) >= ENOUGH), good[0] if good else None)
    # An end above the one that was shown is shown, too.
    high = None if bets.high is None else max(bets.high, bets.low or 0, estimate or 0)
    least = math.log(len(values)) - math.log1p(-confidence) - math.log(HARM_SHARE)
    harmful = () if estimate is None else (i for i in range(estimate + 1, len(values)) if bets.against[i] >= least)
    n_runs = sum(len(outcomes.get(value, ())) for value in values)
    low, high_end, best = (None if i is None else float(values[i]) for i in (bets.low, high, estimate))
    return Support(low, high_end, best, tuple(float(values[i]) for i in harmful), n_runs)


def next_value(
    values: Sequence[float], outcomes: Outcomes, probability: float, confidence: float, n_rounds: int
) -> float | None:
    """Return the value to run next; None where both ends of the interval are the estimate, or no value is left.

    At first the smallest value that looks good gets ENOUGH runs, and every one below it some, halfway in between before
    all others. Then come by turns: of the values below that are not ruled out the one that is soonest, the estimate
    itself, and what brings the upper end of the interval down soonest.
    """
    bets = _Bets.from_runs(values, outcomes, probability, confidence)
    runs = [tuple(outcomes.get(value, ())) for value in values]
    left = [i for i in range(len(values)) if not bets.ruled_out[i]]
    good = [i for i in left if not runs[i] or bets.shares[i] >= probability]
    best = next((i for i in good if runs[i]), len(values))
    end = len(values) if bets.high is None else bets.high
    if best < len(values) and len(runs[best]) < ENOUGH:
        return float(values[best])
    fresh = [i for i in left if i < min(best, end) and not runs[i]]
    if fresh:
        if fresh[-1] == len(values) - 1:
            return float(values[-1])
        tried = max((i for i in range(best) if runs[i]), default=-1)
        between = [i for i in fresh if i > tried]
        return float(values[between[len(between) // 2] if between else fresh[-1]])

    def runs_to_go(i: int, missing: float) -> float:
        """Return how many runs at a value a stake takes that misses so much, if p is its runs' share."""
        share = bets.shares[i] if runs[i] else 1.0
        # What a run adds to a stake's logarithm on average, at best: the relative entropy of two coins.
        coins = ((share, probability), (1.0 - share, 1.0 - probability))
        gain = sum(p * math.log(p / q) for p, q in coins if p > 0)
        return missing / gain if gain > 0 else math.inf

    below = [i for i in left if i < min(best, end)]
    above = [i for i in good if best <= i < end]
    turns = (
        min(below, key=lambda i: runs_to_go(i, bets.least - bets.against[i]), default=None),
        best if best < end else None,
        min(above, key=lambda i: runs_to_go(i, bets.least - bets.pooled[i]), default=None),
    )
    first = n_rounds % len(turns)
    return next((float(values[i]) for i in (*turns[first:], *turns[:first]) if i is not None), None)


@dataclass(frozen=True, slots=True)
class _Bets:
    """The stakes on each value's runs, as logarithms, and the ends of the interval that follow from them."""

    shares: tuple[float, ...]  # (m,) of the runs that met the aim; -1 without runs
    against: tuple[float, ...]  # (m,) against "it reaches the aim"
    pooled: tuple[float, ...]  # (m,) against "no value up to this one reaches it"
    least: float  # stake that decides an end

    @classmethod
    def from_runs(cls, values: Sequence[float], outcomes: Outcomes, probability: float, confidence: float) -> "_Bets":
        runs = [tuple(outcomes.get(value, ())) for value in values]
        stakes = [log_stakes(each, probability) for each in runs]
        shares = tuple(sum(each) / len(each) if each else -1.0 for each in runs)
        pooled = tuple(accumulate(each[0] for each in stakes))
        least = -math.log1p(-confidence) - math.log(END_SHARE)
        return cls(shares, tuple(each[1] for each in stakes), pooled, least)

    @property
    def ruled_out(self) -> tuple[bool, ...]:
        """Whether each value is."""
        return tuple(stake >= self.least for stake in self.against)

    @property
    def low(self) -> int | None:
        """The smallest value that is not ruled out, by its index."""
        return next((i for i, ruled_out in enumerate(self.ruled_out) if not ruled_out), None)

    @property
    def high(self) -> int | None:
        """The smallest value from which on all bets on "none up to here" are lost, by its index."""
        open_ones = (i for i in reversed(range(len(self.pooled))) if self.pooled[i] < self.least)
        first = next(open_ones, -1) + 1
        return first if first < len(self.pooled) else None


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
