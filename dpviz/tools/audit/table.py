"""Audit table: the published claim, the proved claim and the result of the runs for every method and mode."""

import math
import shutil
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path, PurePath

from joblib import Memory, Parallel, delayed, parallel_config  # type: ignore[import-untyped]  # joblib ships no types

from dpviz.assets import text
from dpviz.audit import CONFIDENCE, VERDICT_CONFIDENCE, EpsilonBound
from dpviz.core import Adjacency, Claim
from dpviz.core.algebra import one_thread
from dpviz.stories.label import AUDITED_DECIMALS
from dpviz.tables import Cell, Column, Report, ResultTable
from dpviz.tools.audit.cases import AuditCase, cases, cases_in, judged
from dpviz.tools.audit.pictures import percent
from dpviz.tools.audit.runs import worst
from dpviz.tools.trials import versions

# Runs per data set; BATCHED times as many if one call makes many runs.
RUNS = 2_000
# Suffix of the folder, next to the table, with the table's finished lines.
SUFFIX = ".part"
TITLE = "Audit: measured privacy beside claimed privacy"
SOURCE = "Our own runs on neighbors that are far apart by construction"
NEIGHBORS = {Adjacency.ADD_REMOVE: "add or remove", Adjacency.REPLACE: "change"}
VIOLATION, NONE_FOUND, NOTHING_CLAIMED = "violation found", "no violation found", "no limit is claimed"
UNDECIDED = "undecided: this few runs cannot show more than the claim"
COLUMNS = tuple(Column(*each) for each in tomllib.loads(text("columns.toml"))["audit"].items())
NOTES = (
    f"Measured: a lower bound at {percent(CONFIDENCE)} confidence. A violation is one at {percent(VERDICT_CONFIDENCE)} "
    "confidence, above the proved ε where there is a proof, else above the claimed one. Undecided: so few runs could "
    "not have shown a violation. Everything else is no violation found: it verifies nothing.",
    "An ε per unit of distance is shown times the distance of the two places. An empty ε means no limit.",
    "If the two worlds never produce the same result, the measured ε is the largest that this many runs can show.",
    "Runs are short, with a public start and one cluster, because that shows more; ε is 1 unless stated otherwise.",
    "Records on borders have a row for each proved method that adds records up: copies of one record between "
    "clusters, cells or sides, with as many clusters as a border needs. If rounding depended on the number of "
    "copies, all of them would change sides at once.",
    "Blind spots of audits: with Su et al.'s two shares swapped at 100 dimensions the recorded events add up to ε = "
    "2.66 instead of 1, but even the likelihood ratio shows only 0.33 in 20,000 runs. Such faults are found by "
    "adding up events, not by looking at releases.",
)

TableRow = dict[str, Cell]


def audit_report(out: Path, *, runs: int, seed: int, jobs: int, runs_unproved: int | None = None) -> Report:
    """Audit every method and mode and return the table, with the command that computes it again.

    Each data set gets `runs` runs, ten times as many if runs are cheap, and `runs_unproved` (None: as many) for modes
    without a proof. Finished lines are kept in a folder next to `out` until `finished` removes it, so the same command
    continues from there. The figures do not depend on `jobs`. Raises ValueError for too few runs or jobs and for a
    negative seed.
    """
    unproved = runs if runs_unproved is None else runs_unproved
    minimums = {"runs": (runs, 20), "runs_unproved": (unproved, 20), "jobs": (jobs, 1), "seed": (seed, 0)}
    for option, (value, fewest) in minimums.items():
        if value < fewest:
            raise ValueError(f"{option} must be at least {fewest}, got {value}")
    libraries = {name.replace("_", "-"): str(value) for name, value in versions().items()}
    kept = Memory(out.with_name(out.name + SUFFIX), verbose=0).cache(_line)
    rows = []
    # One thread for each process. The figures are the same for any number of threads, and more threads would compete.
    with one_thread(), parallel_config("loky", inner_max_num_threads=1):
        tasks = (delayed(kept)(key, runs, unproved, seed, libraries) for key in cases())
        for row in Parallel(n_jobs=jobs, return_as="generator")(tasks):
            rows.append(row)
            print(f"{len(rows)}/{len(cases())} {row['key']}: {row['verdict']}", file=sys.stderr, flush=True)
    name = out.name if out.is_absolute() or ".." in out.parts else PurePath(out).as_posix()
    fewer = "" if unproved == runs else f" --runs-unproved {unproved}"
    return Report(
        title=TITLE,
        source=SOURCE,
        command=f"python -m dpviz.experiments audit --out {name} --runs {runs}{fewer} --seed {seed}",
        seed=seed,
        runs=runs,
        versions=libraries,
        tables=(
            ResultTable(
                "audit",
                "All methods and modes",
                "What is claimed, what is proved, and what the runs show.",
                COLUMNS,
                tuple(rows),
                NOTES,
            ),
        ),
    )


def _line(key: str, runs: int, runs_unproved: int, seed: int, _libraries: Mapping[str, str]) -> TableRow:
    """Return one line of the table, kept by its arguments.

    A proof must survive many runs; a broken promise shows in few.
    """
    case = cases()[key]
    n_runs = runs_unproved if case.guarantee.proved is None else runs
    return row_of(*worst(cases_in(case, case.pair.box), runs=n_runs, seed=seed))


def finished(out: Path) -> None:
    """Remove the lines kept next to `out`, because the table is written."""
    shutil.rmtree(out.with_name(out.name + SUFFIX), ignore_errors=True)


def row_of(case: AuditCase, bound: EpsilonBound) -> TableRow:
    """Return one line of the table."""
    guarantee = case.guarantee
    claim, proved = judged(guarantee), guarantee.proved
    caveat = guarantee.caveats[0] if guarantee.caveats else "No proof is known."
    return {
        "method": case.title,
        "mode": case.mode,
        "published": _number(case, guarantee.stated),
        "proved": None if proved is None else _number(case, proved),
        "delta": claim.delta,
        "neighbors": NEIGHBORS[claim.adjacency],
        "measured": round(bound.epsilon_lower, AUDITED_DECIMALS),
        "at_ceiling": "yes" if bound.at_ceiling else "",
        "runs": bound.n_runs,
        "verdict": verdict(case, bound),
        "reason": caveat if proved is None else proved.reference,
        "event": bound.events[0].words if bound.events else "",
        "pair": case.pair.words,
        "key": case.key,
    }


def verdict(case: AuditCase, bound: EpsilonBound) -> str:
    """Return the verdict of the runs. It never claims that anything is verified."""
    limit = case.epsilon_of(judged(case.guarantee))
    if math.isinf(limit):
        return NOTHING_CLAIMED
    if bound.violates(limit):
        return VIOLATION
    return UNDECIDED if bound.is_undecided(limit) else NONE_FOUND


def _number(case: AuditCase, claim: Claim) -> float | None:
    epsilon = case.epsilon_of(claim)
    return round(epsilon, 6) if math.isfinite(epsilon) else None
