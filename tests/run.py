"""Set up what the tests need, then run every suite: python3 tests/run.py.

Only the standard library is used here, because nothing is installed yet when it starts.
"""

from __future__ import annotations  # so that an older Python reaches the message at the end

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import IO

from prepare import (
    COLLECTS,
    PYTHON,
    ROOT,
    SELDOM,
    SetupError,
    fetch_browser,
    fetch_caddy,
    find_node,
    prepare_browser,
    prepare_node_packages,
    prepare_packages,
    quiet,
)

OLDEST_PYTHON = (3, 11)  # requires-python in pyproject.toml
SUITE_TIMEOUT = 1200.0  # s; a suite that takes longer hangs
SLOW_SUITE_TIMEOUT = 7200.0  # s; the same with --slow
LISTEN_SECONDS = 0.2  # how soon a suite ends that is told to
SUITES = {
    "lint": "ruff check: mistakes and style",
    "format": "ruff format --check: layout of the code",
    "layers": "import contracts: layers, pages, Streamlit, methods apart",
    "types": "mypy --strict on dpviz and on what a release may be used for",
    "scripts": "tsc --checkJs --strict and ESLint on JavaScript, and its tests in Node.js",
    "pages": "every page in Streamlit's own test runner, without a browser, on two processes",
    "browser": "the running app in Chrome or Chromium",
    "unit": "unit and property tests, on two processes",
    # In this order.
}
# One browser and its server keep one core busy, and now and then both. What has no clock takes what they leave, and
# gives way: a second browser would cost a second server, and equal processes would keep each other waiting.
BESIDE_THE_BROWSER = ("pages", "unit")
# They check written code, so that nothing has to be prepared for them.
CHECKERS = ("lint", "format", "layers", "types", "scripts")
GIVING_WAY = ("nice", "-n", "10") if os.name == "posix" else ()
PLACES = {
    "types": ("tests/test_types.py",),
    "unit": ("tests", "--ignore=tests/pages", "--ignore=tests/browser", "--ignore=tests/test_types.py"),
    "pages": ("tests/pages",),
    "browser": ("tests/browser",),
}
TYPED_SCRIPTS = ("jsconfig.json", "tests/scripts/tsconfig.json")
SCRIPT_TESTS = "tests/scripts/*.test.js"
LOCK = "tests.test_recorded"  # hashes of releases and pictures: all that is changed relies on them
# Neighbors share what was made once, so that each process starts with one half of the tests and takes from the other.
TWO_PROCESSES = ("-n", "2", "--dist", "worksteal")
# A browser that shares two cores is now and then too late: its test gets further chances, and the summary names it.
FURTHER_CHANCES = ("--reruns", "2", "-r", "R")
# One thread each: more would only take turns. What Python compiles is kept for the hundred processes that tests start,
# whatever the account around says (empty: not set).
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": ""}
ENVIRONMENT[COLLECTS] = str(SELDOM)
# One process makes the shared caches before the others start, which would each need half a minute for them: most of
# the machine code, and the bytecode of imported files.
MACHINE_CODE = ("-c", "from dpviz.ui.server import lifecycle; lifecycle.prepare()")
BYTECODE = ("-m", "pytest", "--collect-only", "tests")


@dataclass(frozen=True)
class Outcome:
    """Outcome of one suite."""

    suite: str
    passed: int
    failed: int
    skipped: int
    seconds: float
    note: str = ""

    def __str__(self) -> str:
        state = "failed" if self.failed else "ok"
        counts = f"{self.passed} passed, {self.failed} failed"
        if self.skipped:
            counts += f", {self.skipped} skipped"
        return f"{self.suite:<8} {state:<7} {self.seconds:6.1f} s   {counts}" + (f"   {self.note}" if self.note else "")


@dataclass(frozen=True)
class Place:
    """Output and end of a running suite: it prints to `output`, or to the terminal, and ends early when `stop` is set.

    A suite with its own output runs beside others and gives way to them.
    """

    output: IO[bytes] | None = None
    stop: threading.Event = field(default_factory=threading.Event)

    def say(self, words: str) -> None:
        """Print a line there."""
        if self.output is None:
            print(words, flush=True)
        else:
            self.output.write(f"{words}\n".encode())
            self.output.flush()


HERE = Place()


@contextlib.contextmanager
def started(command: list[str], environment: dict[str, str], place: Place) -> Iterator[subprocess.Popen[bytes]]:
    """Start `command` in a process group of its own; nothing of it survives the end of the block."""
    process = subprocess.Popen(
        [*(() if place.output is None else GIVING_WAY), *command],
        cwd=ROOT,
        env={**os.environ, **environment},
        start_new_session=True,
        stdout=place.output,
        stderr=place.output,
    )
    try:
        yield process
    finally:
        if os.name == "nt":
            process.kill()
        else:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def run_suite(
    command: list[str], environment: dict[str, str], place: Place = HERE, *, timeout: float = SUITE_TIMEOUT
) -> int:
    """Run `command` and return its exit code; one that hangs, or is stopped, has 1."""
    end = time.monotonic() + timeout
    with started(command, environment, place) as process:
        while not place.stop.is_set():
            try:
                return process.wait(timeout=LISTEN_SECONDS)
            except subprocess.TimeoutExpired:
                if time.monotonic() > end:
                    place.say(f"Stopped after {timeout:.0f} s.")
                    break
    return 1


# The suites


@contextlib.contextmanager
def beside(works: Sequence[Callable[[Place], Outcome]]) -> Iterator[Callable[[], list[Outcome]]]:
    """Do some work beside what follows, one after the other; give what shows the words of each and how it ended."""
    stop = threading.Event()
    with ThreadPoolExecutor(1) as pool, contextlib.ExitStack() as outputs:
        places = [Place(outputs.enter_context(tempfile.TemporaryFile()), stop) for _ in works]
        coming = [pool.submit(work, place) for work, place in zip(works, places, strict=True)]

        def outcomes() -> list[Outcome]:
            found = []
            for each, place in zip(coming, places, strict=True):
                outcome = each.result()
                found.append(replace(outcome, note=outcome.note or "beside others"))
                assert place.output is not None
                place.output.seek(0)
                print(place.output.read().decode(errors="replace"), end="", flush=True)
            return found

        try:
            yield outcomes
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)


def run_tool(suite: str, command: list[str], place: Place) -> Outcome:
    """Run a checker that counts as one test."""
    start = time.monotonic()
    code = run_suite(command, {}, place)
    return Outcome(suite, int(code == 0), int(code != 0), 0, time.monotonic() - start)


def run_ruff(suite: str, arguments: list[str], place: Place) -> Outcome:
    """Run ruff, which calls it a success when it finds nothing to read."""
    if not quiet([str(PYTHON), "-m", "ruff", "check", "--show-files", "."]).stdout.strip():
        return Outcome(suite, 0, 1, 0, 0.0, "no Python file was found")
    return run_tool(suite, [str(PYTHON), "-m", "ruff", *arguments, "."], place)


def run_pytest(suite: str, arguments: list[str], place: Place, *, slow: bool, environment: dict[str, str]) -> Outcome:
    """Run pytest and count from its report; a run in which no test passed or failed has failed."""
    start = time.monotonic()
    selected = [] if slow else ["-m", "not slow"]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [str(PYTHON), "-m", "pytest", *arguments, *selected, f"--junitxml={report}"]
        code = run_suite(command, environment, place, timeout=SLOW_SUITE_TIMEOUT if slow else SUITE_TIMEOUT)
        passed, failed, skipped = read_counts(report)
    note = ""
    if failed and not code:
        note = "recorded hashes were skipped"
    if passed + failed == 0:
        code, note = code or 1, "no test ran"
    return Outcome(suite, passed, max(failed, int(code != 0)), skipped, time.monotonic() - start, note)


def run_scripts(suite: str, place: Place) -> Outcome:
    """Check types and style of the scripts and run their tests; each test counts, and so does each check.

    Without npm, as on a machine that has only Playwright's Node.js, the checks are skipped, but not in CI.
    """
    start = time.monotonic()
    codes: list[int] = []
    note = ""
    try:
        packages = prepare_node_packages()
        tools = [["tsc", "-p", path] for path in TYPED_SCRIPTS] + [["eslint", "."]]
        codes += [run_suite([*packages, *tool], {}, place) for tool in tools]
    except SetupError as error:
        if os.environ.get("CI") == "true":
            return Outcome(suite, 0, 1, 0, time.monotonic() - start, str(error))
        note = f"types and style were skipped: {error}"
    tests = sorted(map(str, ROOT.glob(SCRIPT_TESTS)))
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        reporters = ["--test-reporter=spec", "--test-reporter-destination=stdout"]
        reporters += ["--test-reporter=junit", f"--test-reporter-destination={report}"]
        # Without a file, Node.js would look for tests of any name.
        code = run_suite([find_node(), "--test", *reporters, *tests], {}, place) if tests else 1
        cases = [*ElementTree.parse(report).getroot().iter("testcase")] if report.exists() else []
    failed = sum(case.find("failure") is not None for case in cases)
    passed = len(cases) - failed - sum(case.find("skipped") is not None for case in cases)
    if not passed:
        code, note = 1, "no test ran"
    failed = max(failed, int(code != 0)) + sum(each != 0 for each in codes)
    skipped = 0 if codes else len(TYPED_SCRIPTS) + 1
    return Outcome(suite, passed + codes.count(0), failed, skipped, time.monotonic() - start, note)


def read_counts(report: Path) -> tuple[int, int, int]:
    """Return passed, failed and skipped from a JUnit report; zeros when pytest wrote none.

    A skipped test of the LOCK has failed: what it holds was not looked at.
    """
    if not report.exists():
        return 0, 0, 0
    root = ElementTree.fromstring(report.read_bytes())
    total, failures, errors, skipped = (
        sum(int(suite.get(name, "0")) for suite in root.iter("testsuite"))
        for name in ("tests", "failures", "errors", "skipped")
    )
    unlocked = sum(case.get("classname") == LOCK for case in root.iter("testcase") if case.find("skipped") is not None)
    return total - failures - errors - skipped, failures + errors + unlocked, skipped - unlocked


def run(suite: str, place: Place = HERE, *, slow: bool = False, browser: str | None = None) -> Outcome:
    """Run one suite by its name."""
    place.say(f"\n== {suite}: {SUITES[suite]}")
    if suite == "lint":
        return run_ruff(suite, ["check"], place)
    if suite == "format":
        return run_ruff(suite, ["format", "--check"], place)
    if suite == "layers":
        return run_tool(suite, [str(PYTHON.with_name("lint-imports"))], place)
    if suite == "types":
        return run_tool(suite, [str(PYTHON), "-m", "pytest", *PLACES[suite]], place)
    if suite == "scripts":
        return run_scripts(suite, place)
    if suite == "browser" and browser is None:
        return Outcome(suite, 0, 1, 0, 0.0, "no browser")
    environment = {**ENVIRONMENT, "DPVIZ_CHROMIUM": browser} if browser else ENVIRONMENT
    how = FURTHER_CHANCES if suite == "browser" else TWO_PROCESSES
    return run_pytest(suite, [*PLACES[suite], *how], place, slow=slow, environment=environment)


@contextlib.contextmanager
def prepared(suites: list[str]) -> Iterator[None]:
    """Install what the suites need; what has one processor to itself meanwhile is done when the block ends.

    While pip has the other one, a browser is fetched and code is made; the rest is made while the block runs.
    """
    with ThreadPoolExecutor(1) as fetching, ThreadPoolExecutor(1) as making, open(os.devnull, "wb") as nowhere:
        place = Place(nowhere)

        def make(*arguments: str) -> None:
            # If it fails, the tests report why.
            making.submit(run_suite, [str(PYTHON), *arguments], ENVIRONMENT, place)

        try:
            if "browser" in suites:
                fetching.submit(fetch_browser)
            if "unit" in suites:
                fetching.submit(fetch_caddy)
            prepare_packages(lambda: None if {*suites} <= {*CHECKERS} else make(*MACHINE_CODE))
            if "unit" in suites:
                make(*BYTECODE)
            yield
        except BaseException:
            place.stop.set()
            raise


def found_browser(suites: list[str]) -> str | None:
    """Return the browser, or None where it is not needed or not found."""
    if "browser" not in suites:
        return None
    try:
        return prepare_browser()
    except SetupError as error:
        print(error, flush=True)
        return None


def run_all(suites: list[str], *, slow: bool) -> int:
    """Set up, run `suites` and print one line for each; return the exit code."""
    start = time.monotonic()
    with prepared(suites):
        print(f"Installed after {time.monotonic() - start:.1f} s.", flush=True)
        outcomes = [run(suite) for suite in suites if suite in CHECKERS]
    browser = found_browser(suites)
    if browser:
        print(f"Browser: {browser}.", flush=True)
    aside = [suite for suite in suites if suite in BESIDE_THE_BROWSER and "browser" in suites]
    with beside([partial(run, suite, slow=slow) for suite in aside]) as others:
        rest = [suite for suite in suites if suite not in (*CHECKERS, *aside)]
        outcomes += [run(suite, slow=slow, browser=browser) for suite in rest]
        outcomes += others()
    print("\n" + "\n".join(map(str, outcomes)))
    passed, failed = sum(outcome.passed for outcome in outcomes), sum(outcome.failed for outcome in outcomes)
    print(f"{passed} passed, {failed} failed in {time.monotonic() - start:.0f} s")
    return int(failed > 0)


def main() -> int:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(
        prog="tests/run.py",
        description="Make .venv, install what the tests need, find or install a browser, and run the suites.",
        epilog="Suites:\n"
        + "\n".join(f"  {name:<8} {text}" for name, text in SUITES.items())
        + "\n\nDPVIZ_CHROMIUM names the browser to use. A suite that runs no test fails.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("suites", nargs="*", metavar="SUITE", help="what to run, everything when left out")
    parser.add_argument("--slow", action="store_true", help="also run the long tests")
    options = parser.parse_args()
    unknown = [suite for suite in options.suites if suite not in SUITES]
    if unknown:
        parser.error(f"no suite is called {', '.join(unknown)}; there are {', '.join(SUITES)}")
    # A cancelled run ends like an interrupted one, through `finally`: no server or browser stays behind.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return run_all([suite for suite in SUITES if suite in (options.suites or SUITES)], slow=options.slow)
    except SetupError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    if sys.version_info < OLDEST_PYTHON:  # an older Python can still start this file
        sys.exit("dpviz needs Python 3.11 or newer, and this is {}.{}.".format(*sys.version_info[:2]))
    sys.exit(main())
