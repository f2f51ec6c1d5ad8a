"""The smallest epsilon, or the fewest people, that reach a stated accuracy, with what the runs allow to say about it.

A setting reaches the aim when a run meets it with probability P (90 %). Of R independent runs, S meet it: S is
binomial, and Clopper & Pearson's exact one-sided bounds hold at any R. The grid is searched from its largest value
down: a value counts as reached when the lower bound is at least P, and the first one that is not ends the search. Each
test is made only when all before it succeeded, so together they keep the confidence of one (fixed-sequence testing),
whether or not a larger value is a better one.
From the smallest value up the same is done for "not reached", with the upper bound below P. Between the two the runs
do not decide.
"""

import math
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import scipy

from dpviz.tools.sweep.trial_runs import LAST_COLUMNS, OK, Row, Value

PROBABILITY, CONFIDENCE = 0.9, 0.95
METRICS = ("inertia_ratio", "inertia", "ari", "cost_ratio", "cost")
SIGNS: dict[str, Callable[[float, float], bool]] = {"<=": operator.le, ">=": operator.ge}
SEEDS = {  # the outermost first -> what a probability over it is over
    "data_seed": "draws of the data and the noise",
    "start_seed": "starts and noise",
    "noise_seed": "the noise",
}
NAMES = {"epsilon": ("ε", "privacy budget"), "n": ("n", "number of people")}
LEFT_OUT = {"key", "noise_key", "d", "title", *SEEDS, *LAST_COLUMNS}


@dataclass(frozen=True, slots=True)
class Aim:
    """What a run shall reach, how often, and how sure one wants to be. Raises ValueError for what cannot be asked."""

    metric: str  # of METRICS
    sign: str  # of SIGNS
    limit: float
    probability: float = PROBABILITY
    confidence: float = CONFIDENCE

    def __post_init__(self) -> None:
        """Check every part."""
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
        found = re.fullmatch(r"\s*(\w+)\s*(<=|>=)\s*(\S+)\s*", text)
        metric, sign, limit = found.groups() if found else (text, "", "nan")
        return cls(metric, sign, _number(limit), probability, confidence)

    def met(self, row: Row) -> bool:
        """Say whether a run meets it; one that could not be made does not."""
        value = row[self.metric]
        return row["status"] == OK and isinstance(value, int | float) and SIGNS[self.sign](value, self.limit)

    @property
    def least_runs(self) -> int:
        """Runs that are needed to say "reached" at all: all of them meeting it must be enough."""
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
    setting: tuple[tuple[str, Value], ...]  # all other coordinates, by name
    aim: Aim
    tried: tuple[Tried, ...]  # ascending
    random: str  # which seeds the probability is over

    @property
    def reached(self) -> float | None:
        """The smallest value that was shown to reach the aim, as all above it; None: not even the largest was."""
        found = None
        for tried in reversed(self.tried):
            if tried.low < self.aim.probability:
                break
            found = tried.value
        return found

    @property
    def failed(self) -> float | None:
        """The largest value that was shown not to reach it, as all below it; None where there is none."""
        found = None
        for tried in self.tried:
            if tried.high >= self.aim.probability:
                break
            found = tried.value
        return found

    @property
    def sentence(self) -> str:
        """Say it in words, with what is not known."""
        name, _ = NAMES[self.axis]
        often, sure = (_percent(value) for value in (self.aim.probability, self.aim.confidence))
        if self.reached is None:
            smaller = f" A smaller {name} is not judged, though it may do." if len(self.tried) > 1 else ""
            return f"Not shown: {self._why()}{smaller}"
        tried = next(one for one in self.tried if one.value == self.reached)
        said = (
            f"{name} = {self.reached:g} reaches {self.aim} with at least {often} probability: {tried.n_met} of "
            f"{tried.n_runs} runs did ({sure} confidence, over {self.random})."
        )
        if self.reached == self.tried[0].value:
            return f"{said} It is the smallest {name} of the grid; a smaller one may do too."
        if self.failed is None:
            return f"{said} For smaller {name} the runs do not decide."
        between = any(self.failed < one.value < self.reached for one in self.tried)
        rest = "the runs do not decide on values between" if between else "values between were not tested"
        return f"{said} {name} = {self.failed:g} does not; {rest}."

    def _why(self) -> str:
        name, meaning = NAMES[self.axis]
        last = self.tried[-1]
        often, sure = (_percent(value) for value in (self.aim.probability, self.aim.confidence))
        if last.n_runs < self.aim.least_runs:
            return (
                f"{last.n_runs} independent runs (over {self.random}) cannot show {often} with {sure} confidence; "
                f"{self.aim.least_runs} are needed at least."
            )
        verdict = "so it does not" if last.high < self.aim.probability else "which does not decide"
        return (
            f"at {name} = {last.value:g}, its largest {meaning}, {last.n_met} of {last.n_runs} runs met {self.aim}, "
            f"{verdict} with {sure} confidence."
        )


def solve_epsilon(rows: Sequence[Row], aim: Aim) -> tuple[Solution, ...]:
    """Return the smallest epsilon that reaches `aim`, for every method, parameters, data and n among `rows`."""
    return _solve(rows, aim, "epsilon")


def solve_n(rows: Sequence[Row], aim: Aim) -> tuple[Solution, ...]:
    """Return the fewest people that reach `aim`, for every method, parameters, data and epsilon among `rows`."""
    return _solve(rows, aim, "n")


def _solve(rows: Sequence[Row], aim: Aim, axis: str) -> tuple[Solution, ...]:
    groups: dict[tuple[tuple[str, Value], ...], list[Row]] = {}
    for row in rows:
        setting = tuple((name, value) for name, value in row.items() if name not in LEFT_OUT and name != axis)
        groups.setdefault(tuple(pair for pair in setting if pair[1] is not None), []).append(row)
    return tuple(
        _answer(setting, group, aim, axis)
        for setting, group in groups.items()
        if any(isinstance(row[axis], int | float) and math.isfinite(float(row[axis] or 0)) for row in group)
    )


def _answer(setting: tuple[tuple[str, Value], ...], rows: Sequence[Row], aim: Aim, axis: str) -> Solution:
    seed = _independent(rows)
    chosen: dict[float, dict[Value, Row]] = {}
    for row in rows:  # of runs that share it, the first: they are not independent
        chosen.setdefault(float(row[axis] or 0), {}).setdefault(row[seed], row)
    tried = tuple(
        Tried.of(value, sum(map(aim.met, runs.values())), len(runs), aim.confidence)
        for value, runs in sorted(chosen.items())
    )
    return Solution(axis, setting, aim, tried, SEEDS[seed])


def _independent(rows: Sequence[Row]) -> str:
    """Return the outermost seed that varies: runs that share it share records or a start, and are not independent."""
    for name in SEEDS:
        if len({row[name] for row in rows}) > 1:
            return name
    return "noise_seed"


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _percent(value: float) -> str:
    return f"{100 * value:g} %"
