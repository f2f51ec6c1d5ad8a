"""Command line: `python -m benchmarks.papers NAME --data FOLDER --out FILE` reproduces a paper's tables."""

import argparse
import csv
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.papers import PAPERS, reproduce
from benchmarks.papers.kept_runs import kept_in
from benchmarks.papers.page import write_page
from dpviz.tables import Report, ResultTable, read_tables, write_tables

ALL, PAGE = "all", "reproduction.html"
# Suffix of the folder that keeps finished runs.
KEPT = ".runs"


def main(arguments: Sequence[str] | None = None) -> int:
    """Make a paper's tables, or all papers' tables and a page; return 0, or 1 if the data do not allow it.

    The exit code is 2 for bad arguments, and 130 after Ctrl+C.
    """
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.papers",
        description="Write a paper's tables, its figures beside ours. The same command goes on where it was stopped: "
        f"until the tables are written, finished runs are kept beside them, in a folder that ends with {KEPT}.",
    )
    names = [*sorted(PAPERS), ALL]
    parser.add_argument("name", choices=names, help=f"which paper's tables; {ALL}: every paper's, and a page of them")
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER", help="folder of the data sets")
    parser.add_argument("--table", metavar="ID", help="only this one; a wrong name is answered with all of them")
    parser.add_argument("--csv", action="store_true", help="write each table as CSV, too, beside the file")
    parser.add_argument("--runs", type=int, metavar="N", help="runs of each setting; default: the paper's number")
    words = f"JSON file to write; with {ALL} a folder"
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help=words)
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="same seed, same tables; default: 0")
    parser.add_argument("--jobs", type=int, default=1, metavar="J", help="processes; the tables do not depend on it")
    chosen = parser.parse_args(arguments)
    if chosen.name == ALL and chosen.table is not None:
        parser.error("--table needs the name of one paper")
    try:
        return _all(chosen) if chosen.name == ALL else _write(chosen.name, chosen.out, chosen)
    except KeyboardInterrupt:
        print("Stopped. The same command goes on from here.", file=sys.stderr)
        return 130


def _all(chosen: argparse.Namespace) -> int:
    reports: dict[str, Report] = {}
    failed = 0
    for name in PAPERS:
        out = chosen.out / f"{name}.json"
        print(f"{name} ...", flush=True)
        failed |= _write(name, out, chosen)
        # Tables of an earlier run stay on the page; each names the run that made it.
        if out.exists():
            reports[name] = read_tables(out)
    if reports:
        write_page(reports, chosen.out / PAGE)
        print(f"{len(reports)} of {len(PAPERS)} papers: {chosen.out / PAGE}")
    return failed


def _write(name: str, out: Path, chosen: argparse.Namespace) -> int:
    runs = PAPERS[name].runs if chosen.runs is None else chosen.runs
    try:
        with kept_in(out.with_name(out.name + KEPT), chosen.data):
            report = reproduce(
                name, chosen.data, out, runs=runs, seed=chosen.seed, jobs=chosen.jobs, table=chosen.table
            )
            write_tables(report, out)
        for table in report.tables if chosen.csv else ():
            _write_csv(table, out.with_name(f"{out.stem}_{table.id}.csv"))
    except (ValueError, OSError) as error:
        print(f"Nothing was written. {error}", file=sys.stderr)
        return 1
    print(f"{len(report.tables)} tables, {sum(len(table.rows) for table in report.tables)} rows: {out}")
    return 0


def _write_csv(table: ResultTable, path: Path) -> None:
    """Write a row of keys, then the rows; missing values are empty."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [column.key for column in table.columns], lineterminator="\n")
        writer.writeheader()
        writer.writerows(table.rows)


if __name__ == "__main__":
    sys.exit(main())
