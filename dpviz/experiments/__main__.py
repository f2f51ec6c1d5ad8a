"""The command line: `python -m dpviz.experiments reproduce convergent_kmeans --data FOLDER --out FILE`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from dpviz.experiments.reproductions import REPRODUCTIONS, reproduce
from dpviz.experiments.tables import write_tables


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return 0, or 1 when the data do not allow it. Bad arguments end the program with 2."""
    chosen = parser().parse_args(arguments)
    runs = REPRODUCTIONS[chosen.name].runs if chosen.runs is None else chosen.runs
    try:
        report = reproduce(chosen.name, chosen.data, chosen.out, runs=runs, seed=chosen.seed, jobs=chosen.jobs)
        write_tables(report, chosen.out)
    except (ValueError, OSError) as error:
        print(f"Nothing was written. {error}", file=sys.stderr)
        return 1
    print(f"{len(report.tables)} tables, {sum(len(table.rows) for table in report.tables)} rows: {chosen.out}")
    return 0


def parser() -> argparse.ArgumentParser:
    """Return the command line; every entry of `REPRODUCTIONS` is one name of `reproduce`."""
    top = argparse.ArgumentParser(prog="python -m dpviz.experiments", description="Many runs, written as tables.")
    commands = top.add_subparsers(title="commands", required=True)
    command = commands.add_parser(
        "reproduce", help="make a paper's tables again", description="Write a paper's tables, its figures beside ours."
    )
    command.add_argument("name", choices=sorted(REPRODUCTIONS), help="which paper's tables")
    command.add_argument("--data", type=Path, required=True, metavar="FOLDER", help="folder of the data sets")
    command.add_argument("--out", type=Path, required=True, metavar="FILE", help="JSON file to write")
    command.add_argument("--runs", type=int, metavar="N", help="runs of each setting; default: the paper's number")
    command.add_argument("--seed", type=int, default=0, metavar="S", help="same seed, same tables; default: 0")
    command.add_argument("--jobs", type=int, default=1, metavar="J", help="processes; the tables do not depend on it")
    return top


if __name__ == "__main__":
    sys.exit(main())
