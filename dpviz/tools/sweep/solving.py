"""Which epsilon, or how many people, reach a stated accuracy, with what the runs allow to say about it.

A setting reaches the aim when a run meets it with probability P (90 %).

On a grid that was run as a whole (`solve`). Of R independent runs, S meet the aim: S is binomial,
and Clopper & Pearson's exact one-sided bounds hold at any R. The grid is searched from its largest value down: a value
counts as reached when the lower bound is at least P, and the first one that is not ends the search. Each test is made
only when all before it succeeded, so together they keep the confidence of one (fixed-sequence testing), whether or not
a larger value is a better one. From the smallest value up the same is done for "not reached", with the upper bound
below P. Between the two the runs do not decide.

With runs spent where they decide (`support`, `next_value`). Values v_0 < ... < v_{m-1}; a run at v_i meets the aim with
probability p_i. Nothing is assumed of these: more budget, or more people, may do harm (DPM met a limit in 4 of 30 runs
at epsilon = 1, and in none at 3). Asked for is v*, the smallest value with p_i >= P. The best estimate is the smallest
value not ruled out of whose runs a share of P met the aim; an interval from `low` to `high` says where v* is.

Each value's runs are bet on, one after the other. Before run t + 1, q follows from the runs so far, S of t having met
the aim, as q = (S + P) / (t + 1). Against "p < P" with max(q, P), against "p >= P" with min(q, P), a run multiplies the
stake by q / P where it meets the aim, else by (1 - q) / (1 - P). If what is bet against is true no bet is expected to
win, so a stake of 1 ever reaches 1 / a with probability a at most (Ville), however many runs are made and wherever one
stops (Waudby-Smith & Ramdas 2024, section 3, on which the bets are modelled). Then:

- v_i is ruled out once the stake against "p_i >= P" reaches 1 / a, and `low` is the smallest value that is not. It is
  above v* only where v* itself was ruled out, which is one false verdict: probability a, whatever m is.
- F_i is the product of the stakes against "p_j < P" over all j <= i: a bet against "no value up to v_i meets the aim".
  `high` is the smallest v_i such that F_i and all later ones reach 1 / a. It is below v* only where F of the value
  before v* did, and all bets in it were against what is true: probability a again.
- A larger value than the estimate does harm once its own stake against "p_j >= P" reaches m / b (Bonferroni).

With a = 0.45 and b = 0.1 of 1 - confidence, all of it holds at once. Where the next runs are made is a guess, which no
statement rests on.
"""

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

import numpy as np
import scipy

from dpviz.tools.sweep.trials import LAST_COLUMNS, OK, Row, Value, referenced

PROBABILITY, CONFIDENCE = 0.9, 0.95
METRICS = ("inertia_ratio", "inertia", "ari", "cost_ratio", "cost")
SIGNS: dict[str, Callable[[float, float], bool]] = {"<=": operator.le, ">=": operator.ge}
SEEDS = {  # the outermost first -> what a probability over it is over
    "data_seed": "draws of the data and the noise",
    "start_seed": "starts and noise",
    "noise_seed": "the noise",
}
NAMES = {"epsilon": ("ε", "privacy budget"), "n": ("n", "number of people")}
NOT_SETTING = {"key", "noise_key", "d", *SEEDS, *LAST_COLUMNS}
CACHED_STAKES = 4096  # values: a search goes through its rounds again at every look; ours
ENOUGH = 60  # runs that an estimate stands on; ours
END_SHARE, HARM_SHARE = 0.45, 0.1  # of 1 - confidence: for each end of the interval, and for all harm; ours

Outcomes = Mapping[float, Sequence[bool]]  # value -> whether each of its runs met the aim, in the order of the runs
Setting = tuple[tuple[str, Value], ...]  # coordinates by name


@dataclass(frozen=True, slots=True)
class Aim:
    """What a run shall reach, how often, and how sure one wants to be. Raises ValueError for an impossible aim."""

    metric: str  # of METRICS
    sign: str  # of SIGNS
    limit: float
    probability: float = PROBABILITY
    confidence: float = CONFIDENCE

    def __post_init__(self) -> None:
        """Validate the fields."""
        if self.metric not in METRICS or self.sign not in SIGNS or not math.isfinite(self.limit):
            raise _no_aim(str(self))
        for name, value in (("probability", self.probability), ("confidence", self.confidence)):
            if not 0 < value < 1:
                raise ValueError(f"{name} was {value}, but it must be between 0 and 1, for example 0.9.")

    @classmethod
    def parse(cls, text: str, *, probability: float = PROBABILITY, confidence: float = CONFIDENCE) -> "Aim":
        """Read an aim such as `inertia_ratio <= 1.2`; raises ValueError."""
        match = re.fullmatch(r"\s*(\w+)\s*(<=|>=)\s*(\S+)\s*", text)
        if match is None:
            raise _no_aim(text)
        try:
            limit = float(match[3])
        except ValueError:
            raise _no_aim(text) from None
        return cls(match[1], match[2], limit, probability, confidence)

    def met(self, row: Row) -> bool:
        """Say whether a run meets it; one that could not be made does not."""
        value = row[self.metric]
        return row["status"] == OK and isinstance(value, int | float) and SIGNS[self.sign](value, self.limit)

    @property
    def least_runs(self) -> int:
        """Runs that it takes to say "reached" at all: all of them meeting it must be enough."""
        return math.ceil(math.log1p(-self.confidence) / math.log(self.probability) - 1e-12)

    def __str__(self) -> str:
        """Return it as it is written."""
        return f"{self.metric} {self.sign} {self.limit:g}"


def _no_aim(text: str) -> ValueError:
    return ValueError(
        f"The aim was {text!r:.60}, but it must be one of {', '.join(METRICS)}, then <= or >=, then a number. Write "
        "for example inertia_ratio <= 1.2."
    )


@dataclass(frozen=True, slots=True)
class Tried:
    """One value of the axis, and its runs; each bound holds alone with the aim's confidence."""

    value: float
    n_runs: int
    n_met: int
    low: float  # lower bound of the probability
    high: float  # upper bound

    @classmethod
    def of(cls, value: float, n_met: int, n_runs: int, confidence: float) -> "Tried":
        """Bound the probability that a run meets the aim."""
        low, high = (
            scipy.stats.binomtest(n_met, n_runs, alternative=side).proportion_ci(confidence, method="exact")
            for side in ("greater", "less")
        )
        return cls(value, n_runs, n_met, float(low.low), float(high.high))


@dataclass(frozen=True, slots=True)
class Solution:
    """What the runs of one setting say."""

    axis: str  # "epsilon" or "n"
    setting: Setting  # all other coordinates
    aim: Aim
    tried: tuple[Tried, ...]  # ascending
    random: str  # which seeds the probability is over

    @property
    def reached(self) -> float | None:
        """The smallest value that was shown to reach the aim, as all above it; None: not even the largest was."""
        smallest = None
        for tried in reversed(self.tried):
            if tried.low < self.aim.probability:
                break
            smallest = tried.value
        return smallest

    @property
    def failed(self) -> float | None:
        """The largest value that was shown not to reach it, as all below it; None where there is none."""
        largest = None
        for tried in self.tried:
            if tried.high >= self.aim.probability:
                break
            largest = tried.value
        return largest

    @property
    def sentence(self) -> str:
        """Say it in words, with what is not known."""
        name, meaning = NAMES[self.axis]
        often, sure = (f"{100 * value:g} %" for value in (self.aim.probability, self.aim.confidence))
        if self.reached is None:
            last = self.tried[-1]
            smaller = f" A smaller {name} is not judged, though it may do." if len(self.tried) > 1 else ""
            if last.n_runs < self.aim.least_runs:
                return (
                    f"Not shown: {last.n_runs} independent runs (over {self.random}) cannot show {often} with {sure} "
                    f"confidence; {self.aim.least_runs} are needed at least.{smaller}"
                )
            verdict = "so it does not" if last.high < self.aim.probability else "which does not decide"
            return (
                f"Not shown: at {name} = {last.value:g}, its largest {meaning}, {last.n_met} of {last.n_runs} runs met "
                f"{self.aim}, {verdict} with {sure} confidence.{smaller}"
            )
        tried = next(one for one in self.tried if one.value == self.reached)
        words = (
            f"{name} = {self.reached:g} reaches {self.aim} with at least {often} probability: {tried.n_met} of "
            f"{tried.n_runs} runs did ({sure} confidence, over {self.random})."
        )
        if self.reached == self.tried[0].value:
            return f"{words} It is the smallest {name} of the grid; a smaller one may do too."
        if self.failed is None:
            return f"{words} For smaller {name} the runs do not decide."
        between = any(self.failed < one.value < self.reached for one in self.tried)
        rest = "the runs do not decide on values between" if between else "values between were not tested"
        return f"{words} {name} = {self.failed:g} does not; {rest}."


def solve(rows: Sequence[Row], aim: Aim, axis: str) -> tuple[Solution, ...]:
    """Return the smallest value of `axis`, "epsilon" or "n", that reaches `aim`, for every other setting among `rows`.

    A setting is a method with its parameters, the data, and the other one of epsilon and n. All runs on the same
    records are held against the least cost without privacy that any of them knows.
    """
    groups: dict[Setting, list[Row]] = {}
    for row in referenced({"": rows})[""]:
        coordinates = ((name, value) for name, value in row.items() if name not in NOT_SETTING and name != axis)
        groups.setdefault(tuple(pair for pair in coordinates if pair[1] is not None), []).append(row)
    solutions = []
    for setting, group in groups.items():
        if not any(isinstance(row[axis], int | float) and math.isfinite(float(row[axis] or 0)) for row in group):
            continue
        # The outermost seed that varies: runs that share it share records or a start, and are not independent.
        seed = next((name for name in SEEDS if len({row[name] for row in group}) > 1), "noise_seed")
        independent: dict[float, dict[Value, Row]] = {}
        for row in group:  # of runs that share the seed, the first
            independent.setdefault(float(row[axis] or 0), {}).setdefault(row[seed], row)
        tried = tuple(
            Tried.of(value, sum(map(aim.met, runs.values())), len(runs), aim.confidence)
            for value, runs in sorted(independent.items())
        )
        solutions.append(Solution(axis, setting, aim, tried, SEEDS[seed]))
    return tuple(solutions)


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
    bets = _Bets.of(values, outcomes, probability, confidence)
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
    bets = _Bets.of(values, outcomes, probability, confidence)
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
    def of(cls, values: Sequence[float], outcomes: Outcomes, probability: float, confidence: float) -> "_Bets":
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
