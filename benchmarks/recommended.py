"""Fit of `dpviz.recommend`: `python -m benchmarks.recommended` prints its constants from frontier.json.

The rule is the rule among RULES whose methods have the lowest geometric mean cost on every second set of the frontier.
The bands are from its methods' costs on the same sets. The other half of the sets has no influence on either.
"""

import itertools
import json
from collections.abc import Iterator
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
GRID, SEEDED, MOVES = (ENTRIES[key].name for key in ("eugkm", "convergent_kmeans", "fastlloyd"))
Rule = tuple[int, int, float, float]  # GRID_ALWAYS, GRID_MOST, ENOUGH, LITTLE


def share(one: Figures, epsilon: str) -> float:
    """Return the inputs of the rule for a set, besides its features."""
    return share_of(one["n"], float(epsilon), one["k"], one["d"])


def cost(one: Figures, epsilon: str, rule: Rule) -> float:
    """Return the cost of a rule's method on a set."""
    always, most, enough, little = rule
    records = share(one, epsilon)
    near, few = records >= enough, records * one["k"] * one["d"] < little
    grid = one["d"] <= always or few or (one["d"] <= most and near)
    return float(one["figures"][epsilon][GRID if grid else SEEDED if near else MOVES]["cost"])


def fitted(report: Report) -> tuple[Rule, list[tuple[float, tuple[float, float, float]]]]:
    """Return the best rule among RULES and its bands, both from the first, third, ... set."""
    cases = [(one, epsilon) for one in list(report["sets"].values())[::2] for epsilon in epsilons(report)]
    best = min(RULES, key=lambda rule: geometric(cost(*case, rule) for case in cases))
    return best, [*_bands(cases, best)]


def _bands(cases: list[tuple[Figures, str]], rule: Rule) -> Iterator[tuple[float, tuple[float, float, float]]]:
    for low, high in itertools.pairwise((*STEPS, np.inf)):
        costs = [cost(*case, rule) for case in cases if low <= share(*case) < high]
        first, middle, last = (round(float(each), 2) for each in np.quantile(costs, (0.1, 0.5, 0.9)))
        yield low, (middle, first, last)


if __name__ == "__main__":
    rule, bands = fitted(json.loads(FILE.read_text("utf-8")))
    print(f"GRID_ALWAYS, GRID_MOST, ENOUGH, LITTLE = {rule}\nBANDS = {tuple(bands)}")
