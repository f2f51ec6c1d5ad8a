"""What the Audit page asks of the background process. No Streamlit here: the process would have to load it."""

from typing import Any

import numpy as np

from dpviz.audit import EpsilonBound, Outcomes, bound_from, gather, joined
from dpviz.core import Box, Points
from dpviz.experiments.audit import audited, row_of
from dpviz.experiments.audit_cases import AuditCase, cases, judged, own_case

CHUNK = 100  # runs of a job: a fraction of a second, so that progress moves and a cancel is quick
CONSTRUCTED = -1  # in the place of a record: the pair that is made up


def case_of(key: str, points: Points, box: Box, record: int) -> AuditCase:
    """Return a case on its own pair, or on these records with and without row `record`.

    Raises ValueError for a row that there is not, and for a box that the method refuses.
    """
    case = cases()[key]
    return case if record == CONSTRUCTED else own_case(case, points, box, record)


def part(points: Points, box: Box, key: str, record: int, world: int, chunk: int, n_runs: int, seed: int) -> Outcomes:
    """Run a method `n_runs` times in one of the two worlds."""
    case = case_of(key, points, box, record)
    rows = case.pair.neighbour if world else case.pair.points
    rng = np.random.default_rng([seed, world, chunk, *key.encode()])
    return gather(case.runner, rows, n_runs, rng=rng)


def together(case: AuditCase, first: list[Outcomes], other: list[Outcomes]) -> EpsilonBound:
    """Make one audit of the parts of both worlds."""
    delta = judged(case.guarantee).delta
    return bound_from(joined(first), joined(other), family=case.family, delta=delta)


def line(_points: Points, _box: Box, key: str, runs: int, seed: int) -> dict[str, Any]:
    """Return one line of the audit table."""
    case = cases()[key]
    return row_of(case, audited(case, runs=runs, seed=seed))
