"""The command `dpviz publish`."""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

NEEDED = ("markdown_it", "latex2mathml")  # of the extra
MISSING = "The site needs the extra `publish`: pip install 'dpviz[publish]'."


def main(arguments: Sequence[str]) -> int:
    """Write a site as the arguments say; return 0, or 2 where something is wrong with them."""
    parser = argparse.ArgumentParser(prog="dpviz publish", description="Write the app's pages as a static web site.")
    parser.add_argument("folder", type=Path, help="where the site is written; a second run makes only what changed")
    parser.add_argument("--config", type=Path, help="a TOML file: pages, data, modes, seeds and stops")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: one for each core)")
    given = parser.parse_args(arguments)
    if absent := [name for name in NEEDED if find_spec(name) is None]:
        print(f"{MISSING} ({' and '.join(absent)}: not installed)", file=sys.stderr)
        return 2
    from dpviz.publishing import SiteFolderError, publish
    from dpviz.publishing.plan import PlanError, default_plan, read_plan

    try:
        plan = read_plan(given.config) if given.config else default_plan()
        made = publish(given.folder, plan, jobs=given.jobs)
    except (PlanError, SiteFolderError) as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{made} states made. Open {given.folder / 'index.html'}, or serve the folder.")
    return 0
