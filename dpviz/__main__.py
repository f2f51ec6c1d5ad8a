"""The command `dpviz`: serve the app, or make tables of many runs."""

import sys
from collections.abc import Sequence
from pathlib import Path

from streamlit.web import cli

from dpviz import __version__
from dpviz.experiments import __main__ as experiments

HELP = f"""dpviz {__version__}: see what differential privacy does to clustering.

dpviz                       serve the app at http://localhost:8501
dpviz --server.port 8600    the same with options of `streamlit run`
dpviz experiments ...       tables of many runs; `dpviz experiments --help` says which
dpviz --version             print the version"""
HERE = Path(__file__).resolve().parent
ENTRANCES = (HERE / "checkout" / "app.py", HERE.parent / "app.py")  # of an installed package, of a clone


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 0, or what `experiments` returns. The server ends the process by itself."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == ["experiments"]:
        return experiments.main(given[1:])
    if given in (["--version"], ["--help"], ["-h"]):
        print(__version__ if given == ["--version"] else HELP)
        return 0
    if given and not given[0].startswith("-"):
        print(f"The command was {given[0]!r}, which dpviz does not know.\n\n{HELP}", file=sys.stderr)
        return 2
    cli.main(["run", str(next(each for each in ENTRANCES if each.exists())), *given], prog_name="dpviz")
    return 0


if __name__ == "__main__":
    sys.exit(main())
