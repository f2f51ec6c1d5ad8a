"""Fit of `dpviz.recommend`: `python -m benchmarks.recommended` prints its constants from frontier.json.

The rule is the rule among RULES whose methods have the lowest geometric mean cost on every second set of the frontier.
The other half of the sets has no influence on it. The bands are the ranges of its methods' costs on all sets, with and
without a method that needs a δ.
"""

import itertools
import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.frontier_page import Figures, Report, epsilons, geometric
from dpviz.tools.compare.proposal import share_of
from dpviz.tools.compare.runs import ENTRIES

FILE = Path(__file__).with_name("frontier.json")
RULES = tuple(
    itertools.product((2, 3, 4, 5, 6), (6, 7, 8, 9, 10, 16), (3.0, 5.0, 10.0, 20.0, 30.0), (0.0, 20.0, 40.0, 60.0))
)
# Values of n ε / (k d) at which a band begins.
STEPS = (0.0, 5.0, 20.0, 100.0, 500.0)
GRID, SEEDED, MOVES, PURE = (ENTRIES[key].name for key in ("eugkm", "convergent_kmeans", "fastlloyd", "dplloyd"))
Rule = tuple[int, int, float, float]  # GRID_ALWAYS, GRID_MOST, ENOUGH, LITTLE


def share(one: Figures, epsilon: str) -> float:
    """Return the inputs of the rule for a set, besides its features."""
    return share_of(one["n"], float(epsilon), one["k"], one["d"])


def cost(one: Figures, epsilon: str, rule: Rule, moves: str = MOVES) -> float:
    """Return the cost of a rule's method on a set; `moves` is the method for few records."""
    always, most, enough, little = rule
    records = share(one, epsilon)
    near, few = records >= enough, records * one["k"] * one["d"] < little
    grid = one["d"] <= always or few or (one["d"] <= most and near)
    return float(one["figures"][epsilon][GRID if grid else SEEDED if near else moves]["cost"])


def fitted(report: Report) -> tuple[Rule, list[tuple[float, tuple[float, float, float]]]]:
    """Return the best rule among RULES for the first, third, ... set, and its bands from all sets."""
    sets = list(report["sets"].values())
    cases = [(one, epsilon) for one in sets[::2] for epsilon in epsilons(report)]
    best = min(RULES, key=lambda rule: geometric(cost(*case, rule) for case in cases))
    return best, fit_bands(sets, epsilons(report), best)


def fit_bands(sets: list[Figures], levels: Sequence[str], rule: Rule) -> list[tuple[float, tuple[float, float, float]]]:
    """Return the median and the range of a rule's costs from each of STEPS on; fewer records have no narrower range."""
    cases = [
        (share(one, epsilon), cost(one, epsilon, rule, moves))
        for one in sets
        for epsilon in levels
        for moves in (MOVES, PURE)
    ]
    bands = []
    for low, high in itertools.pairwise((*STEPS, np.inf)):
        middle = float(np.median([each for at, each in cases if low <= at < high]))
        more = [each for at, each in cases if at >= low]
        ends = math.floor(100 * min(more)) / 100, math.ceil(100 * max(more)) / 100
        bands.append((low, (round(middle, 2), *ends)))
    return bands


if __name__ == "__main__":
    rule, bands = fitted(json.loads(FILE.read_text("utf-8")))
    print(f"GRID_ALWAYS, GRID_MOST, ENOUGH, LITTLE = {rule}\nBANDS = {tuple(bands)}")
