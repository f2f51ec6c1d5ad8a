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
at ε = 1, and in none at 3). So every value is judged by its own runs: it was shown to reach the aim (p_i >= P), it was
shown not to, or it is open.
A verdict is a bet on a value's runs, one after the other. Before run t + 1, q follows from the runs so far, S of t
having met the aim, as q = (S + P) / (t + 1). Against "p < P" with max(q, P), against "p >= P" with min(q, P), a run
multiplies the stake by q / P where it meets the aim, else by (1 - q) / (1 - P). If what is bet against is true
no bet is expected to win, so a stake of 1 ever reaches m / a with probability a / m at most (Ville), however many runs
are made and wherever one stops. Of the two at one value only one can be true: so all verdicts on the m values hold at
once with probability 1 - a (Bonferroni; Waudby-Smith & Ramdas 2024, section 3, on which the bets are modelled).
Where the next runs are made is a guess, which no verdict rests on.
"""

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy

from dpviz.tools.sweep.trials import LAST_COLUMNS, OK, Row, Value

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
WORTHWHILE = 150  # runs that a value may take, as expected, until it is shown; else a larger one is tried. Ours

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
            raise ValueError(
                f"The aim was {self.metric!r:.40} {self.sign!r:.5} {self.limit}, but it must be one of "
                f"{', '.join(METRICS)}, then <= or >=, then a number. Write for example inertia_ratio <= 1.2."
            )
        for name, value in (("probability", self.probability), ("confidence", self.confidence)):
            if not 0 < value < 1:
                raise ValueError(f"{name} was {value}, but it must be between 0 and 1, for example 0.9.")

    @classmethod
    def parse(cls, text: str, *, probability: float = PROBABILITY, confidence: float = CONFIDENCE) -> "Aim":
        """Read an aim such as `inertia_ratio <= 1.2`; raises ValueError."""
        match = re.fullmatch(r"\s*(\w+)\s*(<=|>=)\s*(\S+)\s*", text)
        metric, sign, number = match.groups() if match else (text, "", "nan")
        try:
            limit = float(number)
        except ValueError:
            limit = math.nan
        return cls(metric, sign, limit, probability, confidence)

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

    A setting is a method with its parameters, the data, and the other one of epsilon and n.
    """
    groups: dict[Setting, list[Row]] = {}
    for row in rows:
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
    """What the runs support. The smallest value that reaches the aim is from `low` to `high`."""

    low: float | None  # the smallest that was not shown to fail; None: every value was
    high: float | None  # the smallest that was shown to reach the aim; None: none was
    guess: float | None  # the smallest not shown to fail whose runs reached it often enough, as far as they go
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


def verdicts(
    values: Sequence[float], outcomes: Outcomes, probability: float, confidence: float
) -> tuple[bool | None, ...]:
    """Return of each value whether it reaches the aim, None where its runs do not decide; all hold at `confidence`."""
    least = _least_stake(values, confidence)
    decisions = []
    for value in values:
        reached, failed = (stake >= least for stake in log_stakes(tuple(outcomes.get(value, ())), probability))
        decisions.append(None if reached == failed else reached)
    return tuple(decisions)


def support(values: Sequence[float], outcomes: Outcomes, probability: float, confidence: float) -> Support:
    """Return what the runs support with this confidence; `values` ascend."""
    decisions = verdicts(values, outcomes, probability, confidence)
    possible = [float(value) for value, decision in zip(values, decisions, strict=True) if decision is not False]
    high = next((float(value) for value, decision in zip(values, decisions, strict=True) if decision), None)
    guess = next((value for value in possible if _share(outcomes.get(value, ())) >= probability), None)
    n_runs = sum(len(outcomes.get(value, ())) for value in values)
    return Support(possible[0] if possible else None, high, guess, n_runs)


def next_value(
    values: Sequence[float], outcomes: Outcomes, probability: float, confidence: float, n_rounds: int
) -> float | None:
    """Return the value to run next; None where all values below the first that was shown to reach the aim are settled.

    At first every value below the smallest one that looks good gets runs, halfway in between before all others. Then
    come by turns: of the values that do not look good the one that is ruled out soonest, of those that do the one that
    is shown soonest, and the smallest one that has hope.
    """
    decisions = verdicts(values, outcomes, probability, confidence)
    end = decisions.index(True) if True in decisions else len(values)
    still = [i for i in range(end) if decisions[i] is None]
    if not still:
        return None
    runs = [tuple(outcomes.get(value, ())) for value in values]
    looks_good = (i for i in range(len(values)) if decisions[i] is not False and _share(runs[i]) >= probability)
    first = next(looks_good, len(values))
    fresh = [i for i in still if i < first and not runs[i]]
    if fresh:
        if fresh[-1] == len(values) - 1:
            return float(values[-1])
        tried = max((i for i in range(first) if runs[i]), default=-1)
        between = [i for i in fresh if i > tried]
        return float(values[between[len(between) // 2] if between else fresh[-1]])

    def runs_to_go(i: int, hope: float = 0.0) -> float:
        """Return how many runs a verdict takes yet, if p is the runs' share and `hope` standard errors more."""
        share = _share(runs[i]) if runs[i] else 1.0
        share = min(1.0, share + hope * math.sqrt(share * (1.0 - share) / max(1, len(runs[i]))))
        # What a run adds to a stake's logarithm on average, at best: the relative entropy of two coins.
        coins = ((share, probability), (1.0 - share, 1.0 - probability))
        gain = sum(p * math.log(p / q) for p, q in coins if p > 0)
        missing = _least_stake(values, confidence) - max(log_stakes(runs[i], probability))
        return missing / gain if gain > 0 else math.inf

    rising = [i for i in still if not runs[i] or _share(runs[i]) >= probability]
    falling = [i for i in still if i not in rising]
    if falling and (n_rounds % 3 == 0 or not rising):
        return float(values[min(falling, key=runs_to_go)])
    nearest = min(rising, key=runs_to_go)
    if n_rounds % 3 == 1:
        return float(values[nearest])
    return float(values[next((i for i in rising if runs_to_go(i, hope=1.0) <= WORTHWHILE), nearest)])


def _least_stake(values: Sequence[float], confidence: float) -> float:
    """Return the logarithm of m / a, the stake that is a verdict."""
    return math.log(len(values)) - math.log1p(-confidence)


def _share(met: Sequence[bool]) -> float:
    return sum(met) / len(met) if met else -1.0
