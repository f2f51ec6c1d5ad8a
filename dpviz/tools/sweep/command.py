"""The command `sweep`: runs a grid, writes its rows, and says from which epsilon or n on an accuracy is reached."""

import argparse
import contextlib
import logging
import sys
from collections.abc import Iterator
from pathlib import Path

from dpviz.experiments.tables import Bar
from dpviz.stories.panel import counted
from dpviz.tools.sweep.grids import read_grid
from dpviz.tools.sweep.solving import CONFIDENCE, PROBABILITY, Aim, solve
from dpviz.tools.sweep.sweeping import PARTS, TABLE, TEXT, RowFolder, WorkersError, run_grid
from dpviz.tools.sweep.trials import OK

INTERRUPTED = 130  # a shell's code for a program that Ctrl-C ended


def add_sweep(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to the program's."""
    command = commands.add_parser(
        "sweep",
        help="run a grid: methods x epsilon x seeds x data",
        description="Run a grid and write one row a run. Stop it at any time: the same command goes on from there.",
    )
    command.set_defaults(action=run)
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


def run(options: argparse.Namespace) -> int:
    """Run the grid; return 0, 1 when grid, folder or workers do not allow it, INTERRUPTED after Ctrl-C."""
    try:
        aim = None  # read before anything is run
        if options.reach is not None:
            aim = Aim.parse(options.reach, probability=options.probability, confidence=options.confidence)
        grid = read_grid(options.grid)
        with _unlogged():
            rows = run_grid(grid, options.out, jobs=options.jobs, dask=options.dask, progress=Bar())
    except (ValueError, OSError, WorkersError) as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped. Every finished run is kept; the same command goes on from there.", file=sys.stderr)
        return INTERRUPTED
    files = [str(options.out / name) for name in (TEXT, TABLE) if (options.out / name).exists()]
    print(f"{counted(len(rows), 'row')}: {', '.join(files)}")
    if others := len(RowFolder(options.out).rows()) - len(rows):
        print(f"{counted(others, 'run')} of other grids: kept in {options.out / PARTS}, and not in these files")
    refused = [row for row in rows if row["status"] != OK]
    if refused:
        print(f"{counted(len(refused), 'run')} could not be made; `status` says why. First: {refused[0]['status']}")
    if aim is None:
        return 0
    answers = solve(rows, aim, options.axis)
    shared = set.intersection(*(set(answer.setting) for answer in answers)) if len(answers) > 1 else set()
    for answer in answers:  # each under what its setting has of its own
        own = [f"{name} {value}" for name, value in answer.setting if (name, value) not in shared or name == "method"]
        print(f"{', '.join(own)}: {answer.sentence}")
    if not answers:
        print("None of the runs spends a budget: there is nothing to solve for.")
    return 0


@contextlib.contextmanager
def _unlogged() -> Iterator[None]:
    """Log nothing: a cluster's lines tell with tracebacks that they close, and what matters the command says itself.

    After Ctrl-C that holds until the program ends, for lines that close as late as that.
    """
    logging.disable()
    try:
        yield
    finally:
        if sys.exc_info()[0] is not KeyboardInterrupt:
            logging.disable(logging.NOTSET)
