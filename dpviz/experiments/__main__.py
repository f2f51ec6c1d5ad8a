"""The command line: `python -m dpviz.experiments reproduce`, `audit` or `sweep`; `--help` says more."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from dpviz.experiments.tables import Report, read_tables, write_tables
from dpviz.tools.audit import table as audit
from dpviz.tools.reproduce.page import write_page
from dpviz.tools.reproduce.reproductions import PAPERS, reproduce
from dpviz.tools.sweep.command import INTERRUPTED, add_sweep

ALL, PAGE = "all", "reproduction.html"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return 0, 1 when data or workers do not allow it, 130 when interrupted. Bad arguments: 2."""
    chosen = parser().parse_args(arguments)
    return int(chosen.action(chosen))


def parser() -> argparse.ArgumentParser:
    """Return the command line: `reproduce` a paper (one of `PAPERS`), `audit` all methods, `sweep` a grid."""
    top = argparse.ArgumentParser(prog="python -m dpviz.experiments", description="Many runs, written as tables.")
    commands = top.add_subparsers(title="commands", required=True)
    command = commands.add_parser(
        "reproduce", help="make a paper's tables again", description="Write a paper's tables, its figures beside ours."
    )
    names = [*sorted(PAPERS), ALL]
    command.add_argument("name", choices=names, help=f"which paper's tables; {ALL}: every paper's, and a page of them")
    command.add_argument("--data", type=Path, required=True, metavar="FOLDER", help="folder of the data sets")
    command.add_argument("--runs", type=int, metavar="N", help="runs of each setting; default: the paper's number")
    command.set_defaults(action=_reproduce, make=_reproduced)
    whole = commands.add_parser(
        "audit",
        help="measure the privacy of every method and mode",
        description="Write the audit table: claimed, proved and measured privacy of every method and mode.",
    )
    whole.add_argument("--runs", type=int, default=audit.RUNS, metavar="N", help="per data set; default: %(default)s")
    whole.add_argument(
        "--runs-unproved", type=int, metavar="N", help="of modes that nothing is proved of; default: as many"
    )
    whole.set_defaults(action=_audit, make=_audited)
    for each in (command, whole):
        words = f"JSON file to write; with {ALL} a folder" if each is command else "JSON file to write"
        each.add_argument("--out", type=Path, required=True, metavar="FILE", help=words)
        each.add_argument("--seed", type=int, default=0, metavar="S", help="same seed, same tables; default: 0")
        each.add_argument("--jobs", type=int, default=1, metavar="J", help="processes; the tables do not depend on it")
    add_sweep(commands)
    return top


def _reproduce(chosen: argparse.Namespace) -> int:
    """Write one paper's tables, or a file for each paper and the page of all that could be made."""
    if chosen.name != ALL:
        return _write(chosen)
    reports: dict[str, Report] = {}
    failed = 0
    for name in PAPERS:
        one = argparse.Namespace(**{**vars(chosen), "name": name, "out": chosen.out / f"{name}.json"})
        print(f"{name} ...", flush=True)
        failed |= _write(one)
        if one.out.exists():  # tables of an earlier run stay on the page: each says which run made it
            reports[name] = read_tables(one.out)
    if not reports:
        return failed
    write_page(reports, chosen.out / PAGE)
    print(f"{len(reports)} of {len(PAPERS)} papers: {chosen.out / PAGE}")
    return failed


def _write(chosen: argparse.Namespace) -> int:
    try:
        report = chosen.make(chosen)
        write_tables(report, chosen.out)
    except (ValueError, OSError) as error:
        print(f"Nothing was written. {error}", file=sys.stderr)
        return 1
    print(f"{len(report.tables)} tables, {sum(len(table.rows) for table in report.tables)} rows: {chosen.out}")
    return 0


def _audit(chosen: argparse.Namespace) -> int:
    try:
        code = _write(chosen)
    except KeyboardInterrupt:
        print("\nStopped. Every finished line is kept; the same command goes on from there.", file=sys.stderr)
        return INTERRUPTED
    if code == 0:
        audit.finished(chosen.out)
    return code


def _reproduced(chosen: argparse.Namespace) -> Report:
    runs = PAPERS[chosen.name].runs if chosen.runs is None else chosen.runs
    return reproduce(chosen.name, chosen.data, chosen.out, runs=runs, seed=chosen.seed, jobs=chosen.jobs)


def _audited(chosen: argparse.Namespace) -> Report:
    return audit.audit_report(
        chosen.out, runs=chosen.runs, seed=chosen.seed, jobs=chosen.jobs, runs_unproved=chosen.runs_unproved
    )


if __name__ == "__main__":
    sys.exit(main())
