"""The recommended ε keeps the limit in fresh runs, and half of it does not: on random tables, with real methods.

The limit must be kept in 9 of 10 runs. A value whose chance is 0.9 keeps the limit in at least 85 of 100 fresh runs in
96 of 100 cases.
"""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

from dpviz.core import Box
from dpviz.tools.compare import runs as compare_runs
from dpviz.tools.compare import search
from dpviz.tools.compare.runs import TrialPart, referenced
from dpviz.tools.compare.search import EPSILONS, MOST_RUNS, CostSearch, searched

# Values of ε in Compare's picture, with 30 runs each.
FIRST = (0.1, 0.3, 1.0, 3.0, 10.0)
KEYS = ("eugkm", "dplloyd", "dpm", "fastlloyd")
# First seed of the fresh runs: no search uses it.
FRESH = 10**6
CONFIDENCE = 0.95
# Parts of five minutes each.
PARTS = (range(100), range(100, 200))


@dataclass(frozen=True)
class Answered:
    """Recommendation of a search on a table, and the number of 100 fresh runs that keep the limit."""

    # NaN if nothing is recommended.
    value: float
    low: float
    # Fresh runs that keep the limit at `value`.
    n_kept: int
    # Fresh runs that keep the limit at half of `value`.
    n_kept_half: int
    # Runs of the search, for all its methods.
    n_runs: int

    @property
    def holds(self) -> bool:
        """Return True if the property holds; a search that recommends nothing does not break it."""
        could_not_tell = self.low <= self.value / 2
        return math.isnan(self.value) or (self.n_kept >= 85 and (could_not_tell or self.n_kept_half < 90))


def table(rng):
    """Return records around some places, some of them spread over the box, with the digits that text has."""
    n, d, k = int(rng.integers(150, 900)), int(rng.integers(1, 4)), int(rng.integers(2, 6))
    middles, widths = rng.random((k, d)), rng.uniform(0.01, 0.1, k)
    groups = rng.choice(k, n, p=rng.dirichlet(np.full(k, 4.0)))
    points = middles[groups] + rng.normal(size=(n, d)) * widths[groups, None]
    stray = rng.random(n) < rng.choice([0.0, 0.1])
    points[stray] = rng.random((int(stray.sum()), d))
    return np.clip(points, 0.0, 1.0).round(3), Box((0.0,) * d, (1.0,) * d), k


def answered(seed):
    """Search on one table as Compare does, and make fresh runs of the recommendation."""
    rng = np.random.default_rng(seed)
    points, box, k = table(rng)
    keys, limit = tuple(rng.choice(KEYS, 2, replace=False)), float(rng.choice([1.1, 1.2, 1.5]))
    n = len(points)

    def made(part):
        return [dict(row) for row in compare_runs.rows(points, box, None, part)]

    start = {key: [row for at in FIRST for row in made(TrialPart(key, at, k, seed, 30, n))] for key in keys}
    asked = CostSearch(keys, EPSILONS, limit, 0.9, CONFIDENCE, k, seed, n)
    kept = {}
    now = searched(asked, start, kept)
    while missing := [part for part in now.parts if part not in kept]:
        kept |= {part: made(part) for part in missing}
        now = searched(asked, start, kept)
    best = search.recommendation(asked, now, {key: key for key in keys}, keys)
    n_runs = sum(part.n_runs for part in kept)
    assert n_runs <= MOST_RUNS * len(keys)
    if best is None:
        return Answered(math.nan, math.nan, 0, 0, n_runs)
    value = best.best.value
    fresh = {at: made(TrialPart(best.best.key, at, k, FRESH, 100, n)) for at in (value, value / 2)}
    held = referenced(fresh, [row for runs in now.rows.values() for row in runs])
    assert min(row["inertia_ratio"] for runs in held.values() for row in runs if row["status"] == "ok") >= 1.0
    n_kept, n_kept_half = (sum(map(asked.met, held[at])) for at in (value, value / 2))
    return Answered(value, best.best.low, n_kept, n_kept_half, n_runs)


@pytest.mark.parametrize("seeds", [range(1, 3), *(pytest.param(part, marks=pytest.mark.slow) for part in PARTS)])
def test_the_recommended_epsilon_keeps_the_limit_in_fresh_runs_and_half_of_it_does_not(seeds):
    found, n = [answered(seed) for seed in seeds], len(seeds)
    # Each table may break it with 1 - CONFIDENCE; chance alone has more misses in one of the parts in 1 of 100 cases.
    # A search that misses on a fifth of the tables passes one in 1.3 of 100 cases: P(Binomial(100, 0.2) <= 11).
    most = stats.binom.ppf(1.0 - 0.01 / len(PARTS), n, 1.0 - CONFIDENCE)
    assert sum(not each.holds for each in found) <= most
    recommended = [each for each in found if not math.isnan(each.value)]
    assert len(recommended) > n / 2, "most tables have an answer"
    assert sum(each.n_kept_half < 85 for each in recommended) > most, "half of it would not do"
