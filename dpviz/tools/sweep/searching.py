"""At which values along ε or n a run reaches an aim often enough, with runs spent where they decide.

Values v_0 < ... < v_{m-1}; a run at v_i meets the aim with probability p_i. Nothing is assumed of these: more budget,
or more people, may do harm (DPM kept a limit in 4 of 30 runs at ε = 1, and in none at 3). So every value is judged by
its own runs: it was shown to reach the aim (p_i >= P), it was shown not to, or it is open.

A verdict is a bet on a value's runs, one after the other. Before run t + 1, q follows from the runs so far, S of t
having met the aim, as q = (S + P) / (t + 1). Against "p < P" with max(q, P), against "p >= P" with min(q, P), a run
multiplies the stake by q / P where it meets the aim, else by (1 - q) / (1 - P). If what is bet against is true
no bet is expected to win, so a stake of 1 ever reaches m / a with probability a / m at most (Ville), however many runs
are made and wherever one stops. Of the two at one value only one can be true: so all verdicts on the m values hold at
once with probability 1 - a (Bonferroni; Waudby-Smith & Ramdas 2024, section 3, on which the bets are modelled).

Where the next runs are made is a guess, which no verdict rests on.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

Seen = Mapping[float, Sequence[bool]]  # value -> whether each of its runs met the aim, in the order they were made

KEPT = 4096  # values' runs whose stakes are remembered: a search goes through its rounds again at every look; ours
WORTHWHILE = 150  # runs that a value may take, as expected, until it is shown; else a larger one is tried. Ours


@dataclass(frozen=True, slots=True)
class Support:
    """What the runs support. The smallest value that reaches the aim is from `low` to `high`."""

    low: float | None  # the smallest that was not shown to fail; None: every value was
    high: float | None  # the smallest that was shown to reach the aim; None: none was
    guess: float | None  # the smallest not shown to fail whose runs reached it often enough, as far as they go
    n_runs: int


@lru_cache(maxsize=KEPT)
def log_stakes(met: tuple[bool, ...], probability: float) -> tuple[float, float]:
    """Return the logarithms of the stakes against "p < P" and against "p >= P" after these runs of one value."""
    runs = np.asarray(met, dtype=bool)
    before = np.concatenate([[0], np.cumsum(runs)[:-1]]) if len(runs) else np.zeros(0)
    q = (before + probability) / (np.arange(len(runs)) + 1.0)
    found = []
    for bet in (np.maximum(q, probability), np.minimum(q, probability)):
        won = np.where(runs, bet / probability, (1.0 - bet) / (1.0 - probability))
        found.append(float(np.log(won).sum()))
    return found[0], found[1]


def verdicts(values: Sequence[float], seen: Seen, probability: float, confidence: float) -> tuple[bool | None, ...]:
    """Return of each value whether it reaches the aim, None where its runs do not decide; all hold at `confidence`."""
    needed = _needed(values, confidence)
    found = []
    for value in values:
        reached, failed = (stake >= needed for stake in log_stakes(tuple(seen.get(value, ())), probability))
        found.append(None if reached == failed else reached)
    return tuple(found)


def support(values: Sequence[float], seen: Seen, probability: float, confidence: float) -> Support:
    """Return what the runs support with this confidence; `values` ascend."""
    said = verdicts(values, seen, probability, confidence)
    left = [float(value) for value, one in zip(values, said, strict=True) if one is not False]
    high = next((float(value) for value, one in zip(values, said, strict=True) if one), None)
    guess = next((value for value in left if _share(seen.get(value, ())) >= probability), None)
    return Support(left[0] if left else None, high, guess, sum(len(seen.get(value, ())) for value in values))


def next_value(
    values: Sequence[float], seen: Seen, probability: float, confidence: float, n_rounds: int
) -> float | None:
    """Return the value to run next; None where all values below the first that was shown to reach the aim are settled.

    At first every value below the smallest one that looks good gets runs, halfway in between before all others. Then
    come by turns: of the values that do not look good the one that is ruled out soonest, of those that do the one that
    is shown soonest, and the smallest one that has hope.
    """
    said = verdicts(values, seen, probability, confidence)
    end = said.index(True) if True in said else len(values)
    still = [i for i in range(end) if said[i] is None]
    if not still:
        return None
    runs = [tuple(seen.get(value, ())) for value in values]
    looks_good = (i for i in range(len(values)) if said[i] is not False and _share(runs[i]) >= probability)
    first = next(looks_good, len(values))
    fresh = [i for i in still if i < first and not runs[i]]
    if fresh:
        if fresh[-1] == len(values) - 1:
            return float(values[-1])
        tried = max((i for i in range(first) if runs[i]), default=-1)
        between = [i for i in fresh if i > tried]
        return float(values[between[len(between) // 2] if between else fresh[-1]])

    def left(i: int, hope: float = 0.0) -> float:
        """Return how many runs a verdict takes yet, if p is the runs' share and `hope` standard errors more."""
        share = _share(runs[i]) if runs[i] else 1.0
        share = min(1.0, share + hope * math.sqrt(share * (1.0 - share) / max(1, len(runs[i]))))
        gain = _divergence(share, probability)
        return (_needed(values, confidence) - max(log_stakes(runs[i], probability))) / gain if gain > 0 else math.inf

    rising = [i for i in still if not runs[i] or _share(runs[i]) >= probability]
    falling = [i for i in still if i not in rising]
    if falling and (n_rounds % 3 == 0 or not rising):
        return float(values[min(falling, key=left)])
    nearest = min(rising, key=left)
    if n_rounds % 3 == 1:
        return float(values[nearest])
    return float(values[next((i for i in rising if left(i, hope=1.0) <= WORTHWHILE), nearest)])


def _needed(values: Sequence[float], confidence: float) -> float:
    return math.log(len(values)) - math.log1p(-confidence)


def _share(met: Sequence[bool]) -> float:
    return sum(met) / len(met) if met else -1.0


def _divergence(share: float, probability: float) -> float:
    """Return what a run adds to a stake's logarithm on average, at best: the relative entropy of two coins."""
    parts = ((share, probability), (1.0 - share, 1.0 - probability))
    return sum(p * math.log(p / q) for p, q in parts if p > 0)
