"""The command `dpviz`: serve the app, also with your own method; audit a method; or make tables of many runs."""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from dpviz._version import __version__

HELP = f"""dpviz {__version__}: see what differential privacy does to clustering.

dpviz                       serve the app at http://localhost:8501
dpviz --server.port 8600    the same with options of `streamlit run`
dpviz serve --processes 2   serve it in two processes behind Caddy, for more readers; each reader stays with one
dpviz run FILE.py           serve it with the method in a file of your own, which opens first; options may follow
dpviz publish FOLDER        write the app's pages as a website without a server; `--config FILE` chooses them
dpviz audit FILE.py         run a method in two worlds that differ by one record, and report if its claim survives
dpviz experiments ...       tables of many runs; `dpviz experiments --help` lists them
dpviz --version             print the version

Serving needs the extra `app` (pip install 'dpviz[app]'), `publish` needs the extra `publish`; the others need none."""
RUN_HELP = """usage: dpviz run FILE.py [options of `streamlit run`]

Serve the app with the method in FILE.py, which opens first. The file has fit(points, box, params, rng) -> Result."""
NO_APP = "The app needs the extra `app`: pip install 'dpviz[app]'."
NO_SITE = "The site needs the extra `publish`: pip install 'dpviz[publish]'."
HERE = Path(__file__).resolve().parent
# Entry point of an installed package, and of a clone.
ENTRANCES = (HERE / "checkout" / "app.py", HERE.parent / "app.py")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code. Streamlit's server exits by itself."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    problem = ""
    match words:
        case ["experiments", *rest]:
            # This import loads everything, which no other command needs.
            from dpviz import experiments

            return experiments.main(rest)
        case ["audit", *rest]:
            from dpviz import many

            return many.audit_command(rest)
        case ["publish" | "serve" as name, *rest] if find_spec("streamlit") is None:
            print(NO_SITE if name == "publish" else NO_APP, file=sys.stderr)
            return 0 if rest in (["--help"], ["-h"]) else 2
        case ["publish", *rest]:
            from dpviz import publishing

            return publishing.main(rest)
        case ["serve", *rest]:
            from dpviz.ui.server import processes

            return processes.serve(_app(), rest)
        case ["run", *_, "--help" | "-h"]:
            print(RUN_HELP)
            return 0
        case ["run", name, *rest] if not name.startswith("-"):
            path = Path(name)
            if path.suffix == ".py" and path.is_file():
                # Read by `dpviz.methods.own`; importing that would load the catalog without the file.
                os.environ["DPVIZ_METHODS"] = str(path.resolve())
                # The app would load the methods before it answers.
                from dpviz.methods import WRONG

                if WRONG:
                    print(*WRONG.values(), sep="\n", file=sys.stderr)
                    return 2
            else:
                problem = f"The file must be an existing Python file, got {name!r}."
            words = rest
        case ["run", *_]:
            problem = "No file was given: dpviz run FILE.py"
    if words in (["--version"], ["--help"], ["-h"]) and not problem:
        print(__version__ if words == ["--version"] else HELP)
        return 0
    if words and not words[0].startswith("-") and not problem:
        problem = f"Unknown command {words[0]!r}."
    if problem:
        print(f"{problem}\n\n{HELP}", file=sys.stderr)
        return 2
    if find_spec("streamlit") is None:
        print(NO_APP, file=sys.stderr)
        return 2
    from dpviz.ui.server.processes import MOST_PORT

    parser = argparse.ArgumentParser(prog="dpviz", add_help=False, allow_abbrev=False)
    parser.add_argument("--server.port", metavar="PORT", dest="port", type=int, default=0)
    port = parser.parse_known_args(words)[0].port
    if not 0 <= port <= MOST_PORT:
        print(f"--server.port must be from 0 to {MOST_PORT}, got {port}.", file=sys.stderr)
        return 2
    from streamlit.web import cli

    cli.main(["run", str(_app()), *words], prog_name="dpviz")
    return 0


def _app() -> Path:
    return next(each for each in ENTRANCES if each.exists())


if __name__ == "__main__":
    sys.exit(main())
