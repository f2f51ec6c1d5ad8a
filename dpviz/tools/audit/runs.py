"""Runs of audit cases, here or piece by piece in the background process, and the bound that they give.

No Streamlit here: the background process would have to load it.
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dpviz.audit import (
    Batch,
    BoundOptions,
    EpsilonBound,
    Outcomes,
    chosen_events,
    events_profile,
    gather,
    joined,
    trade_off,
)
from dpviz.core import Adjacency, Box, Budget, FloatArray, Points, immutable, immutable_value
from dpviz.methods import name_of_seeds
from dpviz.tools.audit.cases import AuditCase, cases, cases_in, judged, own_case, scaled

# Factor on the number of runs if one call makes many runs.
BATCHED = 10
# Runs in a job. They take a fraction of a second, so progress moves and a cancel is quick.
CHUNK = 100
CACHED_CURVES = 64
# Replaces a record's number for the synthetic pair.
CONSTRUCTED = -1

# A finished audit: the pair that counts, and its bound.
Counted = tuple[AuditCase, EpsilonBound]
# Maps false alarms to the largest possible share of true alarms.
Curve = Callable[[FloatArray], FloatArray]


@immutable
class Audited:
    """One finished audit and the limit that it is compared with."""

    bound: EpsilonBound
    # Budget for these neighbors: the proved one, otherwise the claimed one.
    limit: Budget
    is_proved: bool
    # Neighbors, in words.
    pair: str
    # Whether the records are real.
    is_own: bool
    # The mechanism's own trade-off curve, if it is known.
    best: Curve | None = None
    # Epsilon that the source claims for these neighbors; inf: no claim.
    claimed: float = math.inf
    # Whether the two worlds differ in a replaced record, not a removed one.
    moves: bool = False

    @property
    def is_violated(self) -> bool:
        """True if the runs refute the limit."""
        return math.isfinite(self.limit.epsilon) and self.bound.violates(self.limit.epsilon)

    @property
    def is_undecided(self) -> bool:
        """True if this number of runs is too small to refute the limit, no matter what they showed."""
        return math.isfinite(self.limit.epsilon) and self.bound.is_undecided(self.limit.epsilon)


@immutable_value
class AuditQuestion:
    """All inputs of the Audit page's answer except the data."""

    # Key of the case.
    key: str
    # Row of the data, or CONSTRUCTED.
    record: int
    epsilon: float
    # Runs in each world; BATCHED times as many if one call makes many runs.
    runs: int
    seed: int

    @property
    def is_own(self) -> bool:
        """True if the audit uses real records, not synthetic ones."""
        return self.record != CONSTRUCTED


def worst(pairs: Sequence[AuditCase], *, runs: int, seed: int) -> Counted:
    """Audit one mode, with `runs` runs on each of its pairs, and count the pair on which it looks worst.

    The seed and the first case's key decide every digit, so a new method in the catalog does not change the figures
    of the other methods.
    """
    rng, worlds = np.random.default_rng([seed, *name_of_seeds(pairs[0].key).encode()]), []
    for case, one in zip(pairs, [rng] if len(pairs) == 1 else rng.spawn(len(pairs)), strict=True):
        rows = zip((case.pair.points, case.pair.neighbor), one.spawn(2), strict=True)
        first, other = (gather(case.runner, records, sum(sizes_of(case, runs)), rng=each) for records, each in rows)
        worlds.append((first, other))
    return counted_of(pairs, worlds)


def counted_of(pairs: Sequence[AuditCase], worlds: Sequence[tuple[Outcomes, Outcomes]]) -> Counted:
    """Choose the pair whose choosing runs are farthest above the claim, and bound ε by only its other runs."""
    events, excesses = [], []
    for case, (first, other) in zip(pairs, worlds, strict=True):
        claim = judged(case.guarantee)
        events.append(chosen_events(first, other, family=case.family, options=BoundOptions(delta=claim.delta)))
        limit = case.epsilon_of(claim)
        excesses.append(events[-1].promise - (limit if math.isfinite(limit) else 0.0))
    best = excesses.index(max(excesses))
    return pairs[best], events[best].counted()


def cases_of(key: str, points: Points, box: Box, record: int, scale: float = 1.0) -> tuple[AuditCase, ...]:
    """Return a case on its own pairs, or on these records with and without row `record`, at `scale` times its budgets.

    Raises ValueError for a row that does not exist, and for a box or a budget that the method refuses.
    """
    case = scaled(cases()[key], scale)
    return cases_in(case, box) if record == CONSTRUCTED else (own_case(case, points, box, record),)


def part(
    points: Points,
    box: Box,
    key: str,
    record: int,
    scale: float,
    pair: int,
    world: int,
    chunk: int,
    n_runs: int,
    seed: int,
) -> Outcomes:
    """Run a method `n_runs` times in one of the two worlds of one of its pairs."""
    case = cases_of(key, points, box, record, scale)[pair]
    rows = case.pair.neighbor if world else case.pair.points
    rng = np.random.default_rng([seed, world, chunk, *([pair] if pair else []), *name_of_seeds(key).encode()])
    return gather(case.runner, rows, n_runs, rng=rng)


def sizes_of(case: AuditCase, n_runs: int) -> list[int]:
    """Return the number of runs of each part in each world: one part if many runs are one call."""
    if isinstance(case.runner, Batch):
        return [n_runs * BATCHED]
    return [min(CHUNK, n_runs - start) for start in range(0, n_runs, CHUNK)]


def parts_of(pairs: Sequence[AuditCase], question: AuditQuestion) -> list[tuple[Any, ...]]:
    """Return the arguments of `part` except the data, for each part, grouped by pair and then by world."""
    return [
        (question.key, question.record, question.epsilon, pair, world, chunk, size, question.seed)
        for pair in range(len(pairs))
        for world in (0, 1)
        for chunk, size in enumerate(sizes_of(pairs[0], question.runs))
    ]


def counted_from(pairs: Sequence[AuditCase], parts: Sequence[Outcomes]) -> Counted:
    """Return the answer to a question from all of its `parts_of`."""
    size = len(parts) // (2 * len(pairs))
    worlds = [joined(parts[i : i + size]) for i in range(0, len(parts), size)]
    return counted_of(pairs, list(zip(worlds[::2], worlds[1::2], strict=True)))


def counted(points: Points, box: Box, question: AuditQuestion) -> Counted:
    """Return the answer to a question, as on the page. Raises ValueError as `cases_of` does."""
    pairs = cases_of(question.key, points, box, question.record, question.epsilon)
    return counted_from(pairs, [part(points, box, *each) for each in parts_of(pairs, question)])


def against_limit(case: AuditCase, bound: EpsilonBound, *, is_own: bool, with_best: bool = True) -> Audited:
    """Compare a finished audit with the proved limit, or else the claimed one; `is_own` means on real records.

    `with_best` finds the best attack on the recorded noise, which takes longer than everything else.
    """
    guarantee, claim, box = case.guarantee, judged(case.guarantee), case.pair.box
    return Audited(
        bound,
        Budget(max(case.epsilon_of(claim), math.ulp(0.0)), claim.delta),
        is_proved=guarantee.proved is not None,
        pair=case.pair.words,
        is_own=is_own,
        best=None
        if is_own or guarantee.proved is None or not with_best
        else _best_curve(case.key, case.scale, tuple(box.low.tolist()), tuple(box.high.tolist())),
        claimed=math.inf if guarantee.published is None else case.epsilon_of(guarantee.published),
        moves=case.pair.adjacency is Adjacency.REPLACE,
    )


@functools.lru_cache(maxsize=CACHED_CURVES)
def _best_curve(key: str, scale: float, low: tuple[float, ...], high: tuple[float, ...]) -> Curve | None:
    """Return the trade-off curve of a case's recorded noise; None if the noise follows from earlier releases."""
    case = cases_in(scaled(cases()[key], scale), Box(np.array(low), np.array(high)))[0]
    events, *others = (
        case.result(rows, np.random.default_rng(seed)).events
        for seed, rows in enumerate((case.pair.points, case.pair.neighbor, case.pair.points))
    )
    claim = judged(case.guarantee)
    if not events or any(other != events for other in others) or claim.per_distance:
        return None
    try:
        return functools.partial(trade_off, events_profile(events, claim.adjacency))
    except ValueError:
        return None
