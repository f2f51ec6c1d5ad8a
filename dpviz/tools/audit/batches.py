"""What the Audit page asks of the background process. No Streamlit here: the process would have to load it."""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dpviz.audit import EpsilonBound, Outcomes, events_profile, gather, joined, trade_off
from dpviz.core import Box, Budget, Event, FloatArray, Points
from dpviz.tools.audit.cases import AuditCase, cases, cases_in, judged, own_case, scaled
from dpviz.tools.audit.story import Audited
from dpviz.tools.audit.table import counted_of, row_of, worst

CHUNK = 100  # runs of a job: a fraction of a second, so that progress moves and a cancel is quick
KEPT_CURVES = 64
CONSTRUCTED = -1  # in the place of a record: the pair that is made up


def cases_of(key: str, points: Points, box: Box, record: int, scale: float = 1.0) -> tuple[AuditCase, ...]:
    """Return a case on its own pairs, or on these records with and without row `record`, at `scale` times its budgets.

    Raises ValueError for a row that there is not, and for a box or a budget that the method refuses.
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
    rows = case.pair.neighbour if world else case.pair.points
    rng = np.random.default_rng([seed, world, chunk, *([pair] if pair else []), *key.encode()])
    return gather(case.runner, rows, n_runs, rng=rng)


def together(
    found: Sequence[AuditCase], outcomes: Sequence[tuple[Sequence[Outcomes], Sequence[Outcomes]]]
) -> tuple[AuditCase, EpsilonBound]:
    """Make one audit of the parts of both worlds of each pair: the pair whose choosing runs show most is counted."""
    return counted_of(found, [(joined(first), joined(other)) for first, other in outcomes])


def told(case: AuditCase, bound: EpsilonBound, *, is_own: bool) -> Audited:
    """Hold a finished audit against what is proved, or else claimed; `is_own`: on real records."""
    guarantee, claim = case.guarantee, judged(case.guarantee)
    return Audited(
        bound,
        Budget(max(case.epsilon_of(claim), math.ulp(0.0)), claim.delta),
        is_proved=guarantee.proved is not None,
        pair=case.pair.words,
        is_own=is_own,
        best=None if is_own or guarantee.proved is None else _best(case.key, case.scale, *_ends(case.pair.box)),
    )


def _ends(box: Box) -> tuple[tuple[float, ...], tuple[float, ...]]:
    return tuple(box.low.tolist()), tuple(box.high.tolist())


@functools.lru_cache(maxsize=KEPT_CURVES)
def _best(
    key: str, scale: float, low: tuple[float, ...], high: tuple[float, ...]
) -> Callable[[FloatArray], FloatArray] | None:
    """Return the trade-off curve of a case's recorded noise, None where the noise follows from earlier releases."""
    case = cases_in(scaled(cases()[key], scale), Box(np.array(low), np.array(high)))[0]
    found: list[tuple[Event, ...]] = [
        case.result(rows, np.random.default_rng(seed)).events
        for seed, rows in enumerate((case.pair.points, case.pair.neighbour, case.pair.points))
    ]
    claim = judged(case.guarantee)
    if not found[0] or any(events != found[0] for events in found) or claim.per_distance:
        return None
    try:
        return functools.partial(trade_off, events_profile(found[0], claim.adjacency))
    except ValueError:
        return None


def line(_points: Points, box: Box, key: str, runs: int, seed: int) -> dict[str, Any]:
    """Return one line of the audit table."""
    return row_of(*worst(cases_in(cases()[key], box), runs=runs, seed=seed))
