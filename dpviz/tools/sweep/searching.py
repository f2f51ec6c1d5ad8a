"""Where along ε or n runs begin to reach an aim: a bisection that spends its runs where it decides.

Values v_0 < ... < v_{m-1}; a run at v_i meets the aim with probability p_i, which never falls as the value grows: more
budget or more people do no harm. The answer is the first i with p_i >= P, or m where none has.

Whether p is below P at one value is a bet on its runs, one after the other. Before run t + 1, q follows from the runs
so far, S of t having met the aim, as q = (S + P) / (t + 1). Against "p <= P" with max(q, P), against "p >= P" with
min(q, P), a run multiplies the stake by q / P where it meets the aim, else by (1 - q) / (1 - P). If what is bet against
is true no bet is expected to win, so a stake of 1 ever reaches 1 / a with probability a at most (Ville). Answer i says
p <= P below i and p >= P from i on: the product of its bets is such a stake, whichever value is run next and whenever
one stops. Answers whose stake stays below 1 / a are what the runs support, and they hold the true one with probability
1 - a (Waudby-Smith & Ramdas 2024, section 3, on which the bets are modelled).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dpviz.core import FloatArray

Seen = Mapping[float, Sequence[bool]]  # value -> whether each of its runs met the aim, in the order they were made


@dataclass(frozen=True, slots=True)
class Support:
    """What the runs support: the smallest value that reaches the aim is from `low` to `high`, both values of the grid.

    `high` None: no value of the grid was shown to reach it; `low` None: it was shown that none does. `contradiction`:
    no answer fits the runs, so more did not always help.
    """

    low: float | None
    high: float | None
    n_runs: int
    contradiction: bool = False


def log_stakes(met: Sequence[bool], probability: float) -> tuple[float, float]:
    """Return the logarithms of the stakes against "p <= P" and against "p >= P" after these runs of one value."""
    runs = np.asarray(met, dtype=bool)
    before = np.concatenate([[0], np.cumsum(runs)[:-1]]) if len(runs) else np.zeros(0)
    q = (before + probability) / (np.arange(len(runs)) + 1.0)
    found = []
    for bet in (np.maximum(q, probability), np.minimum(q, probability)):
        won = np.where(runs, bet / probability, (1.0 - bet) / (1.0 - probability))
        found.append(float(np.log(won).sum()))
    return found[0], found[1]


def answer_stakes(values: Sequence[float], seen: Seen, probability: float) -> FloatArray:
    """Return the logarithm of the stake (m + 1,) against each answer."""
    against = np.array([log_stakes(seen.get(value, ()), probability) for value in values]).reshape(-1, 2)
    below = np.concatenate([[0.0], np.cumsum(against[:, 0])])  # "p <= P" at every value below the answer
    above = np.concatenate([np.cumsum(against[::-1, 1])[::-1], [0.0]])  # "p >= P" from it on
    return np.asarray(below + above)


def support(values: Sequence[float], seen: Seen, probability: float, confidence: float) -> Support:
    """Return what the runs support with this confidence; `values` ascend."""
    stakes = answer_stakes(values, seen, probability)
    left = np.flatnonzero(stakes < -math.log1p(-confidence))
    n_runs = sum(len(seen.get(value, ())) for value in values)
    if not len(left):
        return Support(None, None, n_runs, contradiction=True)
    ends = [None if i == len(values) else float(values[i]) for i in (left[0], left[-1])]
    return Support(ends[0], ends[1], n_runs)


def next_value(
    values: Sequence[float], seen: Seen, probability: float, confidence: float, n_rounds: int
) -> float | None:
    """Return the value to run next: halfway between the best guess and either end of what is left, by turns.

    At the guess itself a run says little: there the aim is met about as often as it must be. None where at most two
    neighboring answers are left.
    """
    stakes = answer_stakes(values, seen, probability)
    left = np.flatnonzero(stakes < -math.log1p(-confidence))
    if not len(left) or left[-1] - left[0] <= 1:
        return None
    first, last = int(left[0]), int(left[-1])
    weights = np.exp(stakes[first : last + 1].min() - stakes[first : last + 1])
    share = np.cumsum(weights)[:-1] / weights.sum()  # of the answers up to each value
    guess = first + int(np.argmin(np.abs(share - 0.5)))
    return float(values[(first + guess) // 2 if n_rounds % 2 == 0 else (last + guess) // 2])
