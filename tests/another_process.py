"""Scripts run in another process, one after the other: packages are imported once for all of them."""

import contextlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.numeric import numeric_environment

ROOT = Path(__file__).resolve().parents[1]
# Runs made.py of each given folder, with separate names.
RUNNER = """
import contextlib, io, json, os, runpy, sys, traceback
for line in sys.stdin:
    os.chdir(json.loads(line))
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            runpy.run_path("made.py", run_name="__main__")
            failed = False
        except SystemExit as end:
            failed = bool(end.code)
            if isinstance(end.code, str):
                print(end.code, file=sys.stderr)
        except BaseException:
            failed = True
            traceback.print_exc()
    print(json.dumps([failed, out.getvalue(), err.getvalue()]), flush=True)
"""


@dataclass(frozen=True)
class Ran:
    """Outcome of a script."""

    failed: bool
    stdout: str
    stderr: str


@contextlib.contextmanager
def another_process() -> Iterator[Callable[[Path, str], Ran]]:
    """Return a function that runs a script in a folder, in a process with only the settings for computing."""
    command = [sys.executable, "-c", RUNNER]
    environment = numeric_environment(PYTHONPATH=str(ROOT))
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, env=environment, text=True, **pipes) as process:

        def run(folder: Path, text: str) -> Ran:
            (folder / "made.py").write_text(text, "utf-8")
            print(json.dumps(str(folder)), file=process.stdin, flush=True)
            return Ran(*json.loads(process.stdout.readline()))

        yield run
        process.stdin.close()
