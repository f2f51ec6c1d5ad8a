"""The command `dpviz`: serve the app, also with a method of your own, or make tables of many runs."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from dpviz import __version__

HELP = f"""dpviz {__version__}: see what differential privacy does to clustering.

dpviz                       serve the app at http://localhost:8501
dpviz --server.port 8600    the same with options of `streamlit run`
dpviz --replicas 2          serve it in two processes behind one address, for more readers; a reader stays at one
dpviz run FILE.py           serve it with the method in a file of your own, which opens first; options may follow
dpviz publish FOLDER        write the app's pages as a web site without a server; `--config FILE` says which
dpviz experiments ...       tables of many runs; `dpviz experiments --help` says which
dpviz --version             print the version"""
HERE = Path(__file__).resolve().parent
ENTRANCES = (HERE / "checkout" / "app.py", HERE.parent / "app.py")  # of an installed package, of a clone


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 0, or what `experiments` returns. The server ends the process by itself."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == ["experiments"]:
        from dpviz.experiments import __main__ as experiments  # loads everything, which no other command waits for

        return experiments.main(given[1:])
    if given[:1] == ["publish"]:
        from dpviz import publishing

        return publishing.main(given[1:])
    if given[:1] == ["run"]:
        if problem := _bring(given[1:2]):
            print(f"{problem}\n\n{HELP}", file=sys.stderr)
            return 2
        given = given[2:]
    if given in (["--version"], ["--help"], ["-h"]):
        print(__version__ if given == ["--version"] else HELP)
        return 0
    if given and not given[0].startswith("-"):
        print(f"The command was {given[0]!r}, which dpviz does not know.\n\n{HELP}", file=sys.stderr)
        return 2
    app = next(each for each in ENTRANCES if each.exists())
    if any(each.partition("=")[0] == "--replicas" for each in given):
        from dpviz.ui.server.replicas import serve

        return serve(app, given)
    from streamlit.web import cli

    cli.main(["run", str(app), *given], prog_name="dpviz")
    return 0


def _bring(given: Sequence[str]) -> str:
    """Name a file for the app to load, before anything is loaded; return what is wrong with it, or nothing."""
    if not given or given[0].startswith("-"):
        return "No file was given: dpviz run FILE.py"
    path = Path(given[0])
    if path.suffix != ".py" or not path.is_file():
        return f"The file was {given[0]!r}, but it must be a Python file that is there."
    # The name that `dpviz.methods.own` reads; importing it would load the catalogue without the file.
    os.environ["DPVIZ_METHODS"] = str(path.resolve())
    return ""


if __name__ == "__main__":
    sys.exit(main())
