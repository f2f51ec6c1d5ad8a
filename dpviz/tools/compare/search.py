"""The runs behind Compare's two answers: the smallest ε, or the fewest people, that keep a cost. No Streamlit here."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dpviz.core import Confidential, friendly
from dpviz.tools.compare.story import Row, Rows
from dpviz.tools.compare.trials import TrialPart
from dpviz.tools.sweep.solving import Support, next_value, support
from dpviz.tools.sweep.trials import OK

DIGITS = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0)  # of values: few, as each is judged by runs of its own
EPSILONS = friendly(0.05, 20.0, digits=DIGITS)  # that are searched
BATCH = 10  # runs between two looks
MOST_RUNS = 400  # of one method, beside those it began with; ours
MOST_ROUNDS = MOST_RUNS // BATCH
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
class Searched(Confidential):
    """How far a search is: what it has asked for, in order, and what the runs of each finished entry support."""

    parts: tuple[TrialPart, ...]
    supports: Mapping[str, Support]  # of entries that need no more runs
    rows: Rows  # all runs so far
    so_far: Mapping[str, Support]  # of every entry; it holds whenever one stops
    n_rounds: Mapping[str, int]  # that are finished, of every entry

    @property
    def over(self) -> bool:
        """Whether every entry has its answer."""
        return len(self.supports) == len(self.so_far)

    @property
    def round(self) -> int:
        """The round, from 1 on, of the slowest entry that is not settled; it never falls. 0 once all is over."""
        return min((n + 1 for key, n in self.n_rounds.items() if key not in self.supports), default=0)

    @property
    def share(self) -> float:
        """How much of the longest search is behind, in [0, 1]: it never falls, and is 1 when all is over."""
        made = sum(MOST_ROUNDS if key in self.supports else n for key, n in self.n_rounds.items())
        return made / (MOST_ROUNDS * len(self.n_rounds)) if self.n_rounds else 1.0


def sizes(n: int, n_clusters: int) -> tuple[float, ...]:
    """Return the numbers of people that are tried: `n`, and round ones below, FEWEST and one a cluster at least."""
    least = float(max(FEWEST, n_clusters))
    return tuple(float(int(value)) for value in friendly(least, n, digits=DIGITS)) if n > least else (float(n),)


def searched(search: CostSearch, start: Rows, kept: Mapping[TrialPart, Sequence[Row]]) -> Searched:
    """Go through the search again as far as its runs are `kept`; the last parts may be missing there.

    Each entry goes its own way, from its runs in `start` on, and what it asks for follows from its runs alone.
    """
    parts: list[TrialPart] = []
    supports: dict[str, Support] = {}
    so_far: dict[str, Support] = {}
    n_rounds: dict[str, int] = {}
    rows: dict[str, list[Row]] = {}
    for entry in search.entries:
        rows[entry] = list(start.get(entry, ()))
        so_far[entry], n_rounds[entry], settled = _through(search, entry, rows[entry], kept, parts)
        if settled:
            supports[entry] = so_far[entry]
    return Searched(tuple(parts), supports, rows, so_far, n_rounds)


def _through(
    search: CostSearch, entry: str, rows: list[Row], kept: Mapping[TrialPart, Sequence[Row]], parts: list[TrialPart]
) -> tuple[Support, int, bool]:
    """Go through one entry's search, adding to `rows` and `parts`.

    Returns what its runs support, how many rounds are finished, and whether no more are needed.
    """
    seen: dict[float, list[bool]] = {}
    for row in rows:
        seen.setdefault(search.value_of(row), []).append(search.met(row))
    n_rounds, settled = 0, False
    while not settled:
        value = next_value(search.values, seen, search.probability, search.each, n_rounds)
        settled = value is None or n_rounds == MOST_ROUNDS
        if value is None or settled:
            break
        part = search.part(entry, value, len(seen.get(value, ())))
        parts.append(part)
        if part not in kept:
            break
        rows += kept[part]
        seen.setdefault(value, []).extend(map(search.met, kept[part]))
        n_rounds += 1
    return support(search.values, seen, search.probability, search.each), n_rounds, settled
