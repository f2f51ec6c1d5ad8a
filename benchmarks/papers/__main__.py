"""The command line: `python -m benchmarks.papers NAME --data FOLDER --out FILE` makes a paper's tables again."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.papers import PAPERS, reproduce
from benchmarks.papers.page import write_page
from dpviz.experiments.tables import Report, read_tables, write_tables

ALL, PAGE = "all", "reproduction.html"


def main(arguments: Sequence[str] | None = None) -> int:
    """Make a paper's tables, or all of them and a page; return 0, or 1 when data do not allow it. Bad arguments: 2."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.papers", description="Write a paper's tables, its figures beside ours."
    )
    names = [*sorted(PAPERS), ALL]
    parser.add_argument("name", choices=names, help=f"which paper's tables; {ALL}: every paper's, and a page of them")
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER", help="folder of the data sets")
    parser.add_argument("--runs", type=int, metavar="N", help="runs of each setting; default: the paper's number")
    words = f"JSON file to write; with {ALL} a folder"
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help=words)
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="same seed, same tables; default: 0")
    parser.add_argument("--jobs", type=int, default=1, metavar="J", help="processes; the tables do not depend on it")
    chosen = parser.parse_args(arguments)
    if chosen.name != ALL:
        return _write(chosen.name, chosen.out, chosen)
    reports: dict[str, Report] = {}
    failed = 0
    for name in PAPERS:
        out = chosen.out / f"{name}.json"
        print(f"{name} ...", flush=True)
        failed |= _write(name, out, chosen)
        if out.exists():  # tables of an earlier run stay on the page: each says which run made it
            reports[name] = read_tables(out)
    if reports:
        write_page(reports, chosen.out / PAGE)
        print(f"{len(reports)} of {len(PAPERS)} papers: {chosen.out / PAGE}")
    return failed


def _write(name: str, out: Path, chosen: argparse.Namespace) -> int:
    runs = PAPERS[name].runs if chosen.runs is None else chosen.runs
    try:
        report = reproduce(name, chosen.data, out, runs=runs, seed=chosen.seed, jobs=chosen.jobs)
        write_tables(report, out)
    except (ValueError, OSError) as error:
        print(f"Nothing was written. {error}", file=sys.stderr)
        return 1
    print(f"{len(report.tables)} tables, {sum(len(table.rows) for table in report.tables)} rows: {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
