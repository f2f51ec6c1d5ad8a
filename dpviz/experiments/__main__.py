"""The command line: `python -m dpviz.experiments sweep GRID.toml --out FOLDER`, or `reproduce` for a paper's tables."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from dpviz.experiments.grids import read_grid
from dpviz.experiments.progress import Bar
from dpviz.experiments.reproductions import REPRODUCTIONS, reproduce
from dpviz.experiments.row_files import TABLE, TEXT
from dpviz.experiments.solving import CONFIDENCE, PROBABILITY, Aim, Answer, solve_epsilon, solve_n
from dpviz.experiments.sweeping import WorkersError, run_grid
from dpviz.experiments.tables import write_tables
from dpviz.experiments.trial_runs import OK, Row

INTERRUPTED = 130  # what a shell says of a program that Ctrl-C ended


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return 0, 1 when data or workers do not allow it, 130 when interrupted. Bad arguments: 2."""
    chosen = parser().parse_args(arguments)
    return int(chosen.action(chosen))


def parser() -> argparse.ArgumentParser:
    """Return the command line; every entry of `REPRODUCTIONS` is one name of `reproduce`."""
    top = argparse.ArgumentParser(prog="python -m dpviz.experiments", description="Many runs, written as tables.")
    commands = top.add_subparsers(title="commands", required=True)
    command = commands.add_parser(
        "reproduce", help="make a paper's tables again", description="Write a paper's tables, its figures beside ours."
    )
    command.set_defaults(action=_reproduce)
    command.add_argument("name", choices=sorted(REPRODUCTIONS), help="which paper's tables")
    command.add_argument("--data", type=Path, required=True, metavar="FOLDER", help="folder of the data sets")
    command.add_argument("--out", type=Path, required=True, metavar="FILE", help="JSON file to write")
    command.add_argument("--runs", type=int, metavar="N", help="runs of each setting; default: the paper's number")
    command.add_argument("--seed", type=int, default=0, metavar="S", help="same seed, same tables; default: 0")
    command.add_argument("--jobs", type=int, default=1, metavar="J", help="processes; the tables do not depend on it")
    _add_sweep(commands)
    return top


def _add_sweep(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    command = commands.add_parser(
        "sweep",
        help="run a grid: methods x epsilon x seeds x data",
        description="Run a grid and write one row a run. Stop it at any time: the same command goes on from there.",
    )
    command.set_defaults(action=_sweep)
    command.add_argument("grid", type=Path, metavar="GRID.toml", help="what to run")
    command.add_argument("--out", type=Path, required=True, metavar="FOLDER", help=f"gets {TABLE} and {TEXT}")
    where = command.add_mutually_exclusive_group()
    where.add_argument("--jobs", type=int, default=1, metavar="J", help="processes; the rows do not depend on it")
    where.add_argument("--dask", metavar="ADDRESS", help="of a Dask scheduler, such as tcp://host:8786; the same rows")
    aim = command.add_argument_group("what reaches an accuracy")
    aim.add_argument("--reach", metavar="AIM", help="such as 'inertia_ratio <= 1.2' or 'ari >= 0.9': say from which")
    aim.add_argument("--axis", choices=("epsilon", "n"), default="epsilon", help="ε or n it does; default: epsilon")
    aim.add_argument("--probability", type=float, default=PROBABILITY, metavar="P", help="of a run; default: 0.9")
    aim.add_argument("--confidence", type=float, default=CONFIDENCE, metavar="C", help="of the answer; default: 0.95")


def _reproduce(chosen: argparse.Namespace) -> int:
    runs = REPRODUCTIONS[chosen.name].runs if chosen.runs is None else chosen.runs
    try:
        report = reproduce(chosen.name, chosen.data, chosen.out, runs=runs, seed=chosen.seed, jobs=chosen.jobs)
        write_tables(report, chosen.out)
    except (ValueError, OSError) as error:
        print(f"Nothing was written. {error}", file=sys.stderr)
        return 1
    print(f"{len(report.tables)} tables, {sum(len(table.rows) for table in report.tables)} rows: {chosen.out}")
    return 0


def _sweep(chosen: argparse.Namespace) -> int:
    try:
        aim = chosen.reach and Aim.parse(
            chosen.reach, probability=chosen.probability, confidence=chosen.confidence
        )  # before anything is run
        grid = read_grid(chosen.grid)
        rows = run_grid(grid, chosen.out, jobs=chosen.jobs, dask=chosen.dask, progress=Bar())
    except (ValueError, OSError, WorkersError) as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped. Every finished run is kept; the same command goes on from there.", file=sys.stderr)
        return INTERRUPTED
    print(f"{len(rows)} rows: {chosen.out / TABLE}")
    refused = [row for row in rows if row["status"] != OK]
    if refused:
        print(f"{len(refused)} runs could not be made; their status says why. The first: {refused[0]['status']}")
    if aim:
        _say(solve_epsilon(rows, aim) if chosen.axis == "epsilon" else solve_n(rows, aim), rows)
    return 0


def _say(answers: Sequence[Answer], rows: Sequence[Row]) -> None:
    """Print each answer under what its setting has of its own."""
    shared = set.intersection(*(set(answer.setting) for answer in answers)) if len(answers) > 1 else set()
    for answer in answers:
        own = [f"{name} {value}" for name, value in answer.setting if (name, value) not in shared or name == "method"]
        print(f"{', '.join(own)}: {answer.sentence}")
    if not answers:
        print(f"None of the {len(rows)} runs spends a budget: there is nothing to solve for.")


if __name__ == "__main__":
    sys.exit(main())
