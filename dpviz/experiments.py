"""The command `dpviz experiments`: many runs, written as tables.

`audit` measures all methods, and `compare` makes the runs that the page Compare opens with.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from joblib import Parallel, delayed, parallel_config  # type: ignore[import-untyped]  # joblib ships no types

from dpviz.tables import write_tables
from dpviz.tools.audit import table as audit
from dpviz.tools.compare import runs

# A shell's exit code for a program that Ctrl-C ended.
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return 0, 1 if data or workers do not allow it, 130 after Ctrl-C. Bad arguments: 2."""
    top = argparse.ArgumentParser(prog="python -m dpviz.experiments", description="Many runs, written as tables.")
    commands = top.add_subparsers(title="commands", required=True)
    whole = commands.add_parser(
        "audit",
        help="measure the privacy of every method and mode",
        description="Write the audit table: claimed, proved and measured privacy of every method and mode.",
    )
    whole.add_argument("--runs", type=int, default=audit.RUNS, metavar="N", help="per data set; default: %(default)s")
    whole.add_argument("--runs-unproved", type=int, metavar="N", help="of modes without a proof; default: as many")
    whole.add_argument("--out", type=Path, required=True, metavar="FILE", help="JSON file to write")
    whole.add_argument("--seed", type=int, default=0, metavar="S", help="same seed, same table; default: 0")
    whole.add_argument("--jobs", type=int, default=1, metavar="J", help="processes; the table does not depend on it")
    whole.set_defaults(action=_audit)
    shipped = commands.add_parser(
        "compare",
        help="make the comparison that the app opens with",
        description="Write the runs that the page Compare opens with: the default records, methods and seeds.",
    )
    shipped.add_argument("--out", type=Path, default=runs.FILE, metavar="FILE", help="default: %(default)s")
    shipped.add_argument("--jobs", type=int, default=1, metavar="J", help="processes; the file does not depend on it")
    shipped.set_defaults(action=_compare)
    chosen = top.parse_args(arguments)
    try:
        print(chosen.action(chosen))
    except (ValueError, OSError) as error:
        print(f"Nothing was written. {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped. Every finished line is kept; the same command goes on from there.", file=sys.stderr)
        return INTERRUPTED
    return 0


def _audit(chosen: argparse.Namespace) -> str:
    """Write the tables and return a summary in words."""
    report = audit.audit_report(
        chosen.out, runs=chosen.runs, seed=chosen.seed, jobs=chosen.jobs, runs_unproved=chosen.runs_unproved
    )
    write_tables(report, chosen.out)
    audit.finished(chosen.out)
    return f"{len(report.tables)} tables, {sum(len(table.rows) for table in report.tables)} rows: {chosen.out}"


def _compare(chosen: argparse.Namespace) -> str:
    """Write the runs and return their number in words."""
    parts = runs.parts()
    with parallel_config("loky", inner_max_num_threads=1):
        rows = Parallel(n_jobs=chosen.jobs)(delayed(runs.made)(one) for one in parts)
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    chosen.out.write_bytes(runs.written(dict(zip(parts, rows, strict=True))))
    return f"{sum(map(len, rows))} runs: {chosen.out}"


if __name__ == "__main__":
    sys.exit(main())
