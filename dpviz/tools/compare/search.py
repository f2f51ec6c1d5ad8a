"""Compare's two answers: the smallest ε, or the fewest people, that keep a cost, and the method for it.

The runs of the search and the answer in one line are computed on the true records. Curator only. This module does not
import Streamlit.

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
from functools import lru_cache
from itertools import accumulate, chain

import numpy as np

from dpviz.core import Confidential, friendly, immutable, immutable_value
from dpviz.stories.panel import TWICE, beside, ceiled, number
from dpviz.tools.compare.runs import Row, Rows, TrialPart, referenced
from dpviz.tools.trials import OK

# Leading digits of the values. They are few, because each value needs runs of its own.
DIGITS = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0)
# Values of ε that the search tries.
EPSILONS = friendly(0.05, 20.0, digits=DIGITS)
# Runs between two looks.
BATCH = 10
# Maximum number of runs of one method, in addition to its first runs. Our choice.
MOST_RUNS = 380
MOST_ROUNDS = MOST_RUNS // BATCH
FEWEST = 20  # people
# Number of cached values, because a search repeats its rounds at every look. Our choice.
CACHED_STAKES = 4096
# Number of runs behind an estimate. Our choice.
ENOUGH = 60
# Shares of 1 - confidence: for each end of the interval, and for all harm. Our choice.
END_SHARE, HARM_SHARE = 0.45, 0.1
REASONING = (
    "The best estimate is the smallest {axis} that is not ruled out and at which enough runs kept the limit. Every "
    "{axis} is judged by its own runs, because a larger one need not be better. Runs are made ten at a time, where "
    "they matter most, at most {most} for each method in addition to the first ones. The values that are not "
    "excluded and the values that do harm follow from bets on the runs. Chance wins these bets in at most {error} of "
    "100 searches, whenever a search stops. All of this holds together with {confidence:.0f} % confidence, for these "
    "records. Values between the tried ones are not covered."
)

# Maps a value to whether each of its runs kept the limit, in the order of the runs.
Outcomes = Mapping[float, Sequence[bool]]


@immutable_value
class Support:
    """Evidence from the runs about the smallest value that reaches the aim.

    With the confidence of the search, that value is from `low` to `high`. Values that were not tried are not covered.
    """

    # Lower end of the interval; None: every value was ruled out.
    low: float | None
    # Upper end of the interval; None: the runs do not show that any value reaches the aim.
    high: float | None
    # Smallest value that is not ruled out and met the aim often enough; None if there is none.
    estimate: float | None
    # Values above the estimate that were shown to fail.
    harmful: tuple[float, ...]
    n_runs: int


@lru_cache(maxsize=CACHED_STAKES)
def log_stakes(met: tuple[bool, ...], probability: float) -> tuple[float, float]:
    """Return the logarithms of the stakes against "p < P" and against "p >= P" after these runs of one value."""
    runs = np.asarray(met, dtype=bool)
    before = np.concatenate([[0], np.cumsum(runs)[:-1]]) if len(runs) else np.zeros(0)
    q = (before + probability) / (np.arange(len(runs)) + 1.0)
    stakes = []
    for bet in (np.maximum(q, probability), np.minimum(q, probability)):
        stakes.append(float(np.log(np.where(runs, bet / probability, (1.0 - bet) / (1.0 - probability))).sum()))
    return stakes[0], stakes[1]


def support(values: Sequence[float], outcomes: Outcomes, probability: float, confidence: float) -> Support:
    """Return the evidence of the runs at this confidence; `values` ascend."""
    bets = _Bets.from_runs(values, outcomes, probability, confidence)
    good = [i for i, share in enumerate(bets.shares) if share >= probability and not bets.ruled_out[i]]
    estimate = next((i for i in good if len(outcomes[values[i]]) >= ENOUGH), good[0] if good else None)
    # If the runs show an upper end, they also show any larger one.
    high = None if bets.high is None else max(bets.high, bets.low or 0, estimate or 0)
    least = math.log(len(values)) - math.log1p(-confidence) - math.log(HARM_SHARE)
    harmful = () if estimate is None else (i for i in range(estimate + 1, len(values)) if bets.against[i] >= least)
    n_runs = sum(len(outcomes.get(value, ())) for value in values)
    low, high_end, best = (None if i is None else float(values[i]) for i in (bets.low, high, estimate))
    return Support(low, high_end, best, tuple(float(values[i]) for i in harmful), n_runs)


def next_value(
    values: Sequence[float], outcomes: Outcomes, probability: float, confidence: float, n_rounds: int
) -> float | None:
    """Return the value to run next; None if both interval ends are the estimate, or no value is left.

    First, the smallest value that looks good gets ENOUGH runs, and every value below it gets some, with the value
    halfway in between before the rest. Then the search takes turns: the value below that is likely to be ruled out
    soonest, the estimate itself, and the value that lowers the upper end of the interval soonest.
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
        """Return the number of runs at a value that add `missing` to a stake, if their share of hits stays the same."""
        share = bets.shares[i] if runs[i] else 1.0
        # The largest average gain of a stake's logarithm per run is the relative entropy of two coins.
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


@immutable_value
class _Bets:
    """The stakes on each value's runs, as logarithms, and the ends of the interval that follow from them."""

    # (m,) share of the runs that met the aim; -1 without runs.
    shares: tuple[float, ...]
    # (m,) stakes against "it reaches the aim".
    against: tuple[float, ...]
    # (m,) stakes against "no value up to this one reaches it".
    pooled: tuple[float, ...]
    # Stake that decides an end.
    least: float

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
        """True for each value that is ruled out."""
        return tuple(stake >= self.least for stake in self.against)

    @property
    def low(self) -> int | None:
        """The smallest value that is not ruled out, by its index."""
        return next((i for i, ruled_out in enumerate(self.ruled_out) if not ruled_out), None)

    @property
    def high(self) -> int | None:
        """Index of the smallest value from which on all bets on "none up to here" are lost."""
        open_ones = (i for i in reversed(range(len(self.pooled))) if self.pooled[i] < self.least)
        first = next(open_ones, -1) + 1
        return first if first < len(self.pooled) else None


@immutable_value
class CostSearch:
    """Search for the first of `values` at which a run costs at most `limit` times the cost without privacy."""

    entries: tuple[str, ...]
    # Values of ε or of people, ascending.
    values: tuple[float, ...]
    limit: float
    # Probability with which a run must keep the limit.
    probability: float
    # Joint confidence of the answers for all entries.
    confidence: float
    n_clusters: int
    seed: int
    n: int  # records
    # None: the search is for ε; otherwise it is for people at this ε.
    epsilon: float | None = None

    @property
    def each(self) -> float:
        """Confidence of each answer that makes all answers hold together (Bonferroni)."""
        return 1.0 - (1.0 - self.confidence) / max(1, len(self.entries))

    @property
    def axis(self) -> str:
        """Name of the searched quantity."""
        return "ε" if self.epsilon is None else "n"

    @property
    def aim(self) -> str:
        """Aim of the search, in words: the limit of the cost, and the share of runs that must keep it."""
        what = "Smallest ε" if self.epsilon is None else "Fewest people"
        cost = f"{ceiled(100.0 * (self.limit - 1.0))} % more cost"
        if self.limit >= TWICE:
            cost = f"{ceiled(self.limit)} times the cost"
        share = f"{number(10.0 * self.probability)} of 10 runs" if self.probability != 0.5 else "half of the runs"
        return f"{what} for at most {cost} in {share}"

    def value_of(self, row: Row) -> float:
        """Return a run's value on the axis."""
        return float(row["epsilon"] if self.epsilon is None else row["n"])

    def met(self, row: Row) -> bool:
        """Return True if a run kept the limit; a run that failed did not keep it."""
        return bool(row["status"] == OK and row["inertia"] <= self.limit * row["floor_inertia"])

    def part(self, entry: str, value: float, n_before: int) -> TrialPart:
        """Return the next runs of an entry at a value, after `n_before` runs."""
        epsilon, n = (value, self.n) if self.epsilon is None else (self.epsilon, int(value))
        first, people = self.seed + n_before, self.epsilon is not None
        return TrialPart(entry, epsilon, self.n_clusters, first, BATCH, n, people)


@immutable
class Searched(Confidential):
    """State of a search: its parts so far, in order, and the evidence for each finished entry."""

    parts: tuple[TrialPart, ...]
    # Evidence for the entries that need no more runs.
    supports: Mapping[str, Support]
    # All runs so far.
    rows: Rows
    # Evidence for every entry. It holds whenever one stops.
    so_far: Mapping[str, Support]
    # Number of finished rounds of every entry.
    n_rounds: Mapping[str, int]

    @property
    def over(self) -> bool:
        """True if every entry has its answer."""
        return len(self.supports) == len(self.so_far)

    @property
    def round(self) -> int:
        """Round, counted from 1, of the slowest entry that is not settled. It never falls; 0 after the search."""
        return min((n + 1 for key, n in self.n_rounds.items() if key not in self.supports), default=0)

    @property
    def share(self) -> float:
        """Finished share of the longest search, in [0, 1]. It never falls, and is 1 at the end."""
        rounds = sum(MOST_ROUNDS if key in self.supports else n for key, n in self.n_rounds.items())
        return rounds / (MOST_ROUNDS * len(self.n_rounds)) if self.n_rounds else 1.0

    @property
    def where(self) -> str:
        """Progress of a running search, in words."""
        settled = f"{len(self.supports)} of {len(self.so_far)} methods settled"
        return f"round {self.round} of at most {MOST_ROUNDS}: {settled}"


def sizes(n: int, n_clusters: int) -> tuple[float, ...]:
    """Return the numbers of people to try: `n` and round numbers below it, at least FEWEST and one per cluster."""
    least = float(max(FEWEST, n_clusters))
    return tuple(float(int(value)) for value in friendly(least, n, digits=DIGITS)) if n > least else (float(n),)


def searched(search: CostSearch, start: Rows, cache: Mapping[TrialPart, Sequence[Row]]) -> Searched:
    """Repeat the search as far as its runs are in `cache`, where the last parts may be missing.

    Each entry proceeds separately, from its runs in `start`, and its next part follows from its runs. All runs on the
    same records are compared with the lowest cost without privacy that any of them found.
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


@immutable_value
class Least:
    """The smallest ε, or the fewest people, at which one method is estimated to keep the limit."""

    # Key in ENTRIES.
    key: str
    name: str
    # Best estimate.
    value: float
    # Smallest value that the runs do not exclude.
    low: float
    # Largest value that the runs do not exclude; None: they do not show that any value keeps the limit.
    high: float | None
    # Runs at `value` that kept the limit.
    n_kept: int
    # Runs at `value`.
    n_there: int
    # All runs behind the answer.
    n_runs: int
    # Median cost at `value`, × without privacy.
    cost: float
    # Larger values that were shown to keep the limit too seldom.
    harmful: tuple[float, ...] = ()
    # Whether no smaller value was tried.
    is_first: bool = False

    @property
    def span(self) -> str:
        """Values that the runs do not exclude, in words."""
        if self.high is None:
            return f"{number(self.low)} or more"
        return number(self.low) if self.low == self.high else f"{number(self.low)} to {number(self.high)}"

    @property
    def kept(self) -> str:
        """Number of runs at the best estimate that kept the limit, in words."""
        return f"{self.n_kept} of {self.n_there}"


@immutable_value
class Recommendation:
    """Recommendation: the proved method that needs the least for the limit, and the runner-up. Curator only."""

    search: CostSearch
    best: Least
    runner_up: Least | None

    @property
    def sentence(self) -> str:
        """Return the answer in one line: the best estimate, the runs behind it, and the values they do not exclude."""
        best = self.best
        words = f"{self.search.aim}: {number(best.value)}, with {best.name}. There {best.kept} runs kept the limit."
        return f"{words} {self.doubt}{' ' if self.harm else ''}{self.harm}"

    @property
    def doubt(self) -> str:
        """State the values that the runs do not exclude, with the search's confidence."""
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
                f"{sure} no smaller one than {number(best.low)} does. {best.n_runs:,} runs cannot tell whether "
                "this one or a larger one does: too many shares are close to the requested share."
            )
        return f"{sure} the smallest is from {number(best.low)} to {number(best.high)}."

    @property
    def harm(self) -> str:
        """Name the larger values that were shown to keep the limit too seldom; "" if there are none."""
        if not self.best.harmful:
            return ""
        what = "people" if self.search.epsilon else "ε"
        values = ", ".join(map(number, self.best.harmful))
        return f"More {what} does harm here: at {values} too few runs keep it."

    @property
    def second(self) -> str:
        """Name the next method, and state whether the runs distinguish the two; "" if there is no next method."""
        return "" if self.runner_up is None else f"Next: {self.runner_up.name}. {self.needed}"

    @property
    def needed(self) -> str:
        """State the next method's need in ε or people, and whether the runs distinguish the two; "" without one."""
        other = self.runner_up
        if other is None:
            return ""
        is_apart = self.best.high is not None and other.low > self.best.high
        apart = "" if is_apart else " The runs do not show which of the two needs less."
        value, open_ones = number(other.value), "" if other.span == number(other.value) else f" ({other.span})"
        what = f"{value} people" if self.search.epsilon else f"ε = {value}"
        return f"For the same limit it needs {what}{open_ones}.{apart}"


def recommendation(
    search: CostSearch, state: Searched, names: Mapping[str, str], proved: Sequence[str]
) -> Recommendation | None:
    """Return the recommendation among the entries `proved`; None if no value of them looks good enough.

    `names` has the name on screen of every entry. Raises KeyError while a search among them is not over.
    """
    found = [_least(search, state, key, state.supports[key], names[key]) for key in proved]
    # Among methods that need the same, prefer the one that may need less, then the one that costs less.
    least = sorted(filter(None, found), key=lambda each: (each.value, each.low, each.cost))
    best, second, *_ = *least, None, None
    return None if best is None else Recommendation(search, best, second)


def _least(search: CostSearch, state: Searched, key: str, one: Support, name: str) -> Least | None:
    """Return an entry's best estimate with the evidence of its runs; None if it has no estimate."""
    if one.estimate is None or one.low is None:
        return None
    runs = [row for row in state.rows[key] if search.value_of(row) == one.estimate]
    # A run that failed costs more than any other run.
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
    """State that no value of any method looks good enough, and the conclusions from the runs."""
    ends = f"from {number(search.values[0])} to {number(search.values[-1])}"
    left = [one.low for key in proved if (one := state.supports[key]).low is not None]
    if proved and not left:
        every = f"every {search.axis} that was tried, {ends}, for every proved method"
        return f"{search.aim}: none. The runs rule out {every}."
    rest = f" They do not exclude {number(min(left))} or more." if left else ""
    return f"{search.aim}: none. No {search.axis} {ends} was enough for any proved method, as far as the runs go.{rest}"


def so_far(search: CostSearch, state: Searched, legends: Mapping[str, str]) -> str:
    """State the evidence of a running search.

    The evidence holds no matter when the search stops. `legends` as in `lines`.
    """
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
    """Return the evidence for each entry, one line each; `legends` are names that add how an ε differs."""
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
        table.append(line | there | {"Larger, but too rarely enough": harmful})
    return table


def reasoning(search: CostSearch) -> str:
    """Explain the method of the search and the basis of its answers."""
    axis = "ε" if search.epsilon is None else "people"
    error = number(100.0 * (1.0 - search.each))
    return REASONING.format(axis=axis, error=error, confidence=100.0 * search.confidence, most=MOST_RUNS)
