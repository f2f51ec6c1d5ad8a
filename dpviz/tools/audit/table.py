"""The audit table: for every method and mode the published claim, what is proved, and what the runs themselves show."""

import math
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path, PurePath

import numpy as np
from joblib import Parallel, delayed, parallel_config  # type: ignore[import-untyped]  # joblib ships no types

from dpviz import __version__
from dpviz.audit import (
    CONFIDENCE,
    VERDICT_CONFIDENCE,
    Batch,
    EpsilonBound,
    Outcomes,
    Progress,
    chosen_events,
    epsilon_lower_bound,
    gather,
)
from dpviz.core import Adjacency, Claim
from dpviz.experiments.tables import Cell, Column, Report, ResultTable
from dpviz.solvers.threads import one_thread
from dpviz.stories.panel import floored
from dpviz.tools.audit.cases import AuditCase, cases, cases_in, judged
from dpviz.tools.audit.kept import KeptLines
from dpviz.tools.audit.story.words import percent

RUNS = 2_000  # per data set
DECIMALS = 4  # of a measured ε in a row
BATCHED = 10  # times as many where many runs are one call
TITLE = "Audit: measured privacy beside claimed privacy"
SOURCE = "Our own runs on neighbors that are far apart by construction"
NEIGHBORS = {Adjacency.ADD_REMOVE: "add or remove", Adjacency.REPLACE: "change"}
VIOLATION, NONE_FOUND, NOTHING_CLAIMED = "violation found", "no violation found", "no limit is claimed"
UNDECIDED = "undecided: so few runs cannot show more than is claimed"
COLUMNS = (
    Column("method", "Method"),
    Column("mode", "Mode"),
    Column("published", "Claimed ε"),
    Column("proved", "Proved ε"),
    Column("delta", "δ"),
    Column("neighbors", "One record"),
    Column("measured", "Measured ε, at least"),
    Column("at_ceiling", "At ceiling"),
    Column("runs", "Runs per data set"),
    Column("verdict", "Verdict"),
    Column("reason", "Reason"),
    Column("event", "Telling event"),
    Column("pair", "Neighbors"),
    Column("key", "Case"),
)
NOTES = (
    f"Measured: a lower bound at {percent(CONFIDENCE)} confidence. A violation is one at {percent(VERDICT_CONFIDENCE)} "
    "confidence, above the proved ε where there is a proof, else above the claimed one. Undecided: so few runs could "
    "not have shown a violation. Everything else is no violation found: nothing is verified by it.",
    "An ε per unit of distance is shown times the distance of the two places. An empty ε is no limit at all.",
    "Where the two worlds never look alike, the measured ε is the most that so many runs can show.",
    "Runs are short, with a public start and one cluster, because that shows more; ε is 1 where nothing else is said.",
    "Records on borders have a row for each proved method that adds records up: copies of one record between clusters, "
    "cells or sides, with as many clusters as it takes to have a border. If rounding depended on how many there are, "
    "all copies would change sides at once.",
    "What no audit sees: with Su et al.'s two shares swapped at 100 dimensions the recorded events add up to ε = 2.66 "
    "instead of 1, but even the likelihood ratio shows only 0.33 in 20,000 runs. Such faults are found by adding up "
    "events, not by looking at releases.",
)


@dataclass(frozen=True, slots=True)
class RunCounts:
    """How many runs per data set: of a mode that is proved, and of one that is not. Ten times as many where cheap."""

    proved: int
    unproved: int

    def of(self, case: AuditCase) -> int:
        """Return the runs of one case: a proof must survive many, what is broken shows in few."""
        return self.unproved if case.guarantee.proved is None else self.proved


def audit_report(out: Path, *, runs: int, seed: int, jobs: int, runs_unproved: int | None = None) -> Report:
    """Audit every method and mode and return the table, with the command that makes it again.

    `runs` per data set, ten times as many where they are cheap, and `runs_unproved` (None: as many) for the modes that
    nothing is proved of. Finished lines are kept beside `out` until the table is whole, and `finished` removes them:
    the same command goes on from there. The figures do not depend on `jobs`. Raises ValueError for runs or jobs that
    are too few, a negative seed, and lines beside `out` that another command left.
    """
    counts = RunCounts(runs, runs if runs_unproved is None else runs_unproved)
    least = {"runs": (runs, 20), "runs_unproved": (counts.unproved, 20), "jobs": (jobs, 1), "seed": (seed, 0)}
    for option, (value, fewest) in least.items():
        if value < fewest:
            raise ValueError(f"{option} was {value}, but it must be >= {fewest}.")
    rows = _kept_rows(out, counts, seed, jobs)
    outside = out.is_absolute() or ".." in out.parts
    named = out.name if outside else PurePath(out).as_posix()
    fewer = "" if counts.unproved == runs else f" --runs-unproved {counts.unproved}"
    return Report(
        title=TITLE,
        source=SOURCE,
        command=f"python -m dpviz.experiments audit --out {named} --runs {runs}{fewer} --seed {seed}",
        seed=seed,
        runs=runs,
        versions=_versions(),
        tables=(table_of(rows),),
    )


def finished(out: Path) -> None:
    """Remove the lines beside `out`: the table is written."""
    KeptLines(out, {}).drop()


def table_of(rows: list[dict[str, Cell]]) -> ResultTable:
    """Return rows of `row_of` as one table."""
    caption = "What is claimed, what is proved, and what the runs show."
    return ResultTable("audit", "All methods and modes", caption, COLUMNS, tuple(rows), NOTES)


def audited(case: AuditCase, *, runs: int, seed: int, progress: Progress | None = None) -> EpsilonBound:
    """Audit one case; the seed and the case's key decide every digit. As `epsilon_lower_bound`."""
    n_runs = runs * BATCHED if isinstance(case.runner, Batch) else runs
    return epsilon_lower_bound(
        case.runner,
        case.pair.points,
        case.pair.neighbour,
        statistics=case.family,
        adjacency=judged(case.guarantee).adjacency,
        delta=judged(case.guarantee).delta,
        n_runs=n_runs,
        progress=progress,
        rng=case_rng(case, seed),
    )


def worst(found: Sequence[AuditCase], *, runs: int, seed: int) -> tuple[AuditCase, EpsilonBound]:
    """Audit one mode on several pairs, with so many runs on each, and count the pair on which it looks worst."""
    if len(found) == 1:
        return found[0], audited(found[0], runs=runs, seed=seed)
    worlds = []
    for case, rng in zip(found, case_rng(found[0], seed).spawn(len(found)), strict=True):
        n_runs = runs * BATCHED if isinstance(case.runner, Batch) else runs
        rows = zip((case.pair.points, case.pair.neighbour), rng.spawn(2), strict=True)
        first, other = (gather(case.runner, records, n_runs, rng=each) for records, each in rows)
        worlds.append((first, other))
    return counted_of(found, worlds)


def counted_of(
    found: Sequence[AuditCase], worlds: Sequence[tuple[Outcomes, Outcomes]]
) -> tuple[AuditCase, EpsilonBound]:
    """Choose the pair whose choosing runs are farthest above what is claimed, and bound ε by its other runs alone."""
    claims = [judged(case.guarantee) for case in found]
    chosen = [
        chosen_events(first, other, family=case.family, delta=claim.delta)
        for case, claim, (first, other) in zip(found, claims, worlds, strict=True)
    ]
    limits = [case.epsilon_of(claim) for case, claim in zip(found, claims, strict=True)]

    def above(i: int) -> float:
        return chosen[i].promise - (limits[i] if math.isfinite(limits[i]) else 0.0)

    best = max(range(len(found)), key=above)
    return found[best], chosen[best].counted()


def case_rng(case: AuditCase, seed: int) -> np.random.Generator:
    """Return the generator of a case: another method in the catalogue changes nobody's figures."""
    return np.random.default_rng([seed, *case.key.encode()])


def row_of(case: AuditCase, bound: EpsilonBound) -> dict[str, Cell]:
    """Return one line of the table."""
    guarantee = case.guarantee
    claim = judged(guarantee)
    return {
        "method": case.title,
        "mode": case.mode,
        "published": _number(case, guarantee.stated),
        "proved": None if guarantee.proved is None else _number(case, guarantee.proved),
        "delta": claim.delta,
        "neighbors": NEIGHBORS[claim.adjacency],
        "measured": round(bound.epsilon_lower, DECIMALS),
        "at_ceiling": "yes" if bound.at_ceiling else "",
        "runs": bound.n_runs,
        "verdict": verdict(case, bound),
        "reason": reason(case),
        "event": bound.events[0].words if bound.events else "",
        "pair": case.pair.words,
        "key": case.key,
    }


def least(measured: float) -> float:
    """Return a row's measured ε as it may be shown: three digits, and never more than the runs have shown.

    The row has it rounded, perhaps upward.
    """
    return float(floored(max(0.0, measured - 0.5 * 10.0**-DECIMALS)))


def verdict(case: AuditCase, bound: EpsilonBound) -> str:
    """Say what the runs found; never that something is verified."""
    limit = case.epsilon_of(judged(case.guarantee))
    if math.isinf(limit):
        return NOTHING_CLAIMED
    if bound.violates(limit):
        return VIOLATION
    return UNDECIDED if bound.is_undecided(limit) else NONE_FOUND


def reason(case: AuditCase) -> str:
    """Return why the mode is proved, or why it is not: the first caveat of its guarantee."""
    guarantee = case.guarantee
    if guarantee.proved is not None:
        return guarantee.proved.reference
    return guarantee.caveats[0] if guarantee.caveats else "No proof is known."


def _number(case: AuditCase, claim: Claim) -> float | None:
    epsilon = case.epsilon_of(claim)
    return round(epsilon, 6) if math.isfinite(epsilon) else None


def _versions() -> dict[str, str]:
    return {
        "dpviz": __version__,
        "python": platform.python_version(),
        **{library: version(library) for library in ("numpy", "scipy", "scikit-learn")},
    }


def _kept_rows(out: Path, runs: RunCounts, seed: int, jobs: int) -> list[dict[str, Cell]]:
    """Return all lines in order: those that are kept beside `out`, and the others, made and kept now."""
    kept = KeptLines(out, {"runs": runs.proved, "runs_unproved": runs.unproved, "seed": seed, **_versions()})
    found = kept.read()
    missing = [key for key in cases() if key not in found]
    for row in _rows(missing, runs, seed, jobs):
        kept.add(row)
        found[str(row["key"])] = row
        print(f"{len(found)}/{len(cases())} {row['key']}: {row['verdict']}", file=sys.stderr, flush=True)
    return [found[key] for key in cases()]


def _rows(keys: Sequence[str], runs: RunCounts, seed: int, jobs: int) -> Iterator[dict[str, Cell]]:
    work: Callable[[str], dict[str, Cell]] = _Line(runs, seed)
    # One thread for each process: the figures are the same for any number of them, and more would get in the way.
    with one_thread(), parallel_config("loky", inner_max_num_threads=1):
        if jobs == 1:
            yield from map(work, keys)
        else:
            yield from Parallel(n_jobs=jobs, return_as="generator")(delayed(work)(key) for key in keys)


class _Line:
    """Make one line from a case's key; a name can be sent to another process, a module cannot."""

    def __init__(self, runs: RunCounts, seed: int) -> None:
        self.runs, self.seed = runs, seed

    def __call__(self, key: str) -> dict[str, Cell]:
        case = cases()[key]
        return row_of(*worst(cases_in(case, case.pair.box), runs=self.runs.of(case), seed=self.seed))
