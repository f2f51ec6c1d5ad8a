"""The runs behind Compare's two answers: from which ε, or how many people, on a cost is kept. No Streamlit here."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dpviz.core import friendly
from dpviz.tools.compare.story import Row, Rows
from dpviz.tools.compare.trials import TrialPart
from dpviz.tools.sweep.searching import Support, next_value, support
from dpviz.tools.sweep.trial_runs import OK

EPSILONS = friendly(0.05, 20.0)  # the grid that is searched
BATCH = 10  # runs between two looks
MOST_RUNS = 300  # of one method, beside those it began with; ours
FEWEST = 20  # people


@dataclass(frozen=True, slots=True)
class CostSearch:
    """What is looked for: the first of `values` at which a run costs at most `limit` times that without privacy."""

    entries: tuple[str, ...]
    values: tuple[float, ...]  # ascending, of ε or of people
    limit: float
    probability: float  # that a run shall keep the limit with
    confidence: float  # of all entries' answers together
    n_clusters: int
    start_seed: int
    seed: int
    n: int  # records
    epsilon: float | None = None  # None: ε is looked for; else people are, at this ε
    floor: float = math.inf  # a cost without privacy that is known beside the runs' own

    @property
    def each(self) -> float:
        """The confidence of each answer, so that all hold together (Bonferroni)."""
        return 1.0 - (1.0 - self.confidence) / max(1, len(self.entries))

    def value_of(self, row: Row) -> float:
        """Return where on the axis a run was made."""
        return float(row["epsilon"] if self.epsilon is None else row["n"])

    def met(self, row: Row) -> bool:
        """Say whether a run kept the limit; one that could not be made did not."""
        return bool(row["status"] == OK and row["inertia"] <= self.limit * min(row["floor_inertia"], self.floor))

    def part(self, entry: str, value: float, n_before: int) -> TrialPart:
        """Return the next runs of an entry at a value, after so many."""
        people = self.epsilon is not None
        epsilon, n = (self.epsilon, int(value)) if self.epsilon is not None else (value, self.n)
        first = self.seed + n_before
        return TrialPart(entry, epsilon, self.n_clusters, self.start_seed, first, BATCH, n, people)


@dataclass(frozen=True, slots=True, eq=False)
class Searched:
    """How far a search is: what it has asked for, in order, and what the runs of each finished entry support."""

    parts: tuple[TrialPart, ...]
    supports: Mapping[str, Support]  # of entries that need no more runs
    rows: Rows  # all runs so far


def sizes(n: int, n_clusters: int) -> tuple[float, ...]:
    """Return the numbers of people that are tried: `n`, and friendly ones below, FEWEST and one a cluster at least."""
    least = float(max(FEWEST, n_clusters))
    return tuple(float(int(value)) for value in friendly(least, n)) if n > least else (float(n),)


def searched(search: CostSearch, start: Rows, kept: Mapping[TrialPart, Sequence[Row]]) -> Searched:
    """Go through the search again as far as its runs are `kept`; the last parts may be missing there.

    Each entry goes its own way, from its runs in `start` on, and what it asks for follows from its runs alone.
    """
    parts: list[TrialPart] = []
    supports: dict[str, Support] = {}
    rows: dict[str, list[Row]] = {}
    for entry in search.entries:
        rows[entry] = list(start.get(entry, ()))
        found = _through(search, entry, rows[entry], kept, parts)
        if found is not None:
            supports[entry] = found
    return Searched(tuple(parts), supports, rows)


def _through(
    search: CostSearch, entry: str, rows: list[Row], kept: Mapping[TrialPart, Sequence[Row]], parts: list[TrialPart]
) -> Support | None:
    """Go through one entry's search, adding to `rows` and `parts`; None while its last part is missing."""
    seen: dict[float, list[bool]] = {}
    for row in rows:
        seen.setdefault(search.value_of(row), []).append(search.met(row))
    for n_rounds in range(MOST_RUNS // BATCH):
        value = next_value(search.values, seen, search.probability, search.each, n_rounds)
        if value is None:
            break
        part = search.part(entry, value, len(seen.get(value, ())))
        parts.append(part)
        if part not in kept:
            return None
        rows += kept[part]
        seen.setdefault(value, []).extend(map(search.met, kept[part]))
    return support(search.values, seen, search.probability, search.each)
