"""Set up what the tests need, then run every suite: python3 tests/run.py.

Only the standard library is used here, because nothing is installed yet when it starts.
"""

from __future__ import annotations  # so that an older Python reaches the message at the end

import argparse
import contextlib
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

OLDEST_PYTHON = (3, 11)  # requires-python in pyproject.toml
ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
STAMP = VENV / ".dpviz-requirements"
REQUIREMENTS = (ROOT / "requirements.txt", ROOT / "tests" / "requirements.txt")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# What a bare Debian lacks: the browser, a font to draw with, and the library Playwright's driver is linked to.
DEBIAN_PACKAGES = ("chromium", "fonts-dejavu-core", "libatomic1")
SUITE_TIMEOUT = 900.0  # s; a suite that takes longer hangs
SLOW_SUITE_TIMEOUT = 3600.0  # s; the same with --slow
SUITES = {
    "lint": "ruff check: mistakes and style",
    "format": "ruff format --check: layout of the code",
    "types": "mypy --strict on dpviz",
    "unit": "floors, unit and property tests, on two processes",
    "pages": "every page in Streamlit's own test runner, without a browser, on two processes",
    "browser": "the running app in Chrome or Chromium",
}

# Prints the place of Playwright's own browser.
OWN_BROWSER = """
from playwright.sync_api import sync_playwright
with sync_playwright() as playwright:
    print(playwright.chromium.executable_path)
"""
# Succeeds only when the browser named by the first argument really starts and runs a page.
PROBE = """
import sys
from playwright.sync_api import sync_playwright
with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path=sys.argv[1], args=["--no-sandbox", "--disable-gpu"])
    assert browser.new_page().evaluate("6 * 7") == 42
    browser.close()
"""


class SetupError(Exception):
    """Something the tests need is missing; the message says what, and the way out."""


@dataclass(frozen=True)
class Outcome:
    """How one suite ended."""

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


def run_suite(command: list[str], environment: dict[str, str], *, timeout: float = SUITE_TIMEOUT) -> int:
    """Run `command` in a process group of its own, and return its exit code; nothing survives it."""
    process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **environment}, start_new_session=True)
    try:
        return process.wait(timeout=timeout)
    except subprocess.TimeoutExpired:
        print(f"Stopped after {timeout:.0f} s.", flush=True)
        return 1
    finally:
        if os.name == "nt":
            process.kill()
        else:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def quiet(command: list[str], timeout: float = 120.0) -> subprocess.CompletedProcess[str]:
    """Run `command` without showing it; a command that is missing or hangs has exit code 1."""
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=timeout, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(command, 1, "", str(error))


def loud(command: list[str]) -> bool:
    """Run `command` in the open and return whether it succeeded."""
    print("+ " + " ".join(command), flush=True)
    try:
        return subprocess.run(command, cwd=ROOT, check=False).returncode == 0
    except OSError as error:
        print(error)
        return False


# Python packages


def prepare_packages() -> None:
    """Make `.venv` and install tests/requirements.txt, unless exactly these files were installed by this Python."""
    stamp = requirements_stamp()
    if STAMP.exists() and STAMP.read_text() == stamp and quiet([str(PYTHON), "-c", "import pytest"]).returncode == 0:
        return
    # An environment of a removed or older Python cannot be repaired, only replaced.
    fits = quiet([str(PYTHON), "-c", f"import sys; sys.exit(sys.version_info[:2] != {sys.version_info[:2]!r})"])
    clear = ["--clear"] if VENV.exists() and fits.returncode != 0 else []
    # --without-pip: a bare Debian has no ensurepip; the pip outside installs into it.
    if not loud([sys.executable, "-m", "venv", "--without-pip", *clear, str(VENV.relative_to(ROOT))]):
        raise SetupError("The environment .venv could not be made. See the message above.")
    if not loud([*find_pip(), "install", "--quiet", "-r", "tests/requirements.txt"]):
        raise SetupError("The packages could not be installed. See pip's message above, then try again.")
    STAMP.write_text(stamp)


def requirements_stamp() -> str:
    """Return a digest of the requirement files and of the Python that installs them."""
    digest = hashlib.sha256(sys.version.encode())
    for path in REQUIREMENTS:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def find_pip() -> list[str]:
    """Return the command of a pip that installs into `.venv`."""
    outside = [sys.executable, "-m", "pip", "--python", str(PYTHON)]  # since pip 22.3
    if quiet([*outside, "--version"]).returncode == 0:
        return outside
    inside = [str(PYTHON), "-m", "pip"]
    if quiet([*inside, "--version"]).returncode == 0 or quiet([str(PYTHON), "-m", "ensurepip"]).returncode == 0:
        return inside
    raise SetupError("pip 22.3 or newer is missing. On Debian and Ubuntu: apt-get install python3-pip.")


# The browser


def prepare_browser() -> str:
    """Return a Chrome or Chromium that starts: a named one, an installed one, Debian's, or Playwright's own."""
    named = os.environ.get("DPVIZ_CHROMIUM")
    if named:
        problem = browser_problem(named)
        # The named browser can be sound and the driver's library missing.
        if problem and Path(named).exists() and install_by_apt():
            problem = browser_problem(named)
        if problem:
            raise SetupError(f"DPVIZ_CHROMIUM was {named}, but that browser does not start:\n{problem}")
        return named
    installs: tuple[Callable[[], bool] | None, ...] = (None, install_by_apt, install_by_playwright)
    for install in installs:
        if install and not install():
            continue
        for candidate in (*map(shutil.which, BROWSERS), own_browser()):
            if candidate and not browser_problem(candidate):
                return candidate
    raise SetupError(
        "No Chrome or Chromium starts here, so the browser tests cannot run. Install one (on Debian: apt-get install "
        f"{' '.join(DEBIAN_PACKAGES)}), or set DPVIZ_CHROMIUM to its place."
    )


def browser_problem(path: str) -> str:
    """Start the browser at `path`; return what went wrong, or nothing."""
    done = quiet([str(PYTHON), "-c", PROBE, path])
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    return "" if done.returncode == 0 else "\n".join(lines[-3:])


def own_browser() -> str | None:
    """Return where Playwright keeps the browser it fetched, if it fetched one."""
    path = quiet([str(PYTHON), "-c", OWN_BROWSER]).stdout.strip()
    return path if path and Path(path).exists() else None


def install_by_apt() -> bool:
    """Install Debian's browser when this account may."""
    if not shutil.which("apt-get"):
        return False
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    if not is_root and quiet(["sudo", "-n", "true"]).returncode != 0:
        return False
    prefix = [*([] if is_root else ["sudo", "-n"]), "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq"]
    print(f"Installing {', '.join(DEBIAN_PACKAGES)} with apt-get ...", flush=True)
    # The lists may be partly out of reach and still name the browser, so a failing update is not the end.
    quiet([*prefix, "update"], timeout=300.0)
    done = quiet([*prefix, "install", "-y", "--no-install-recommends", *DEBIAN_PACKAGES], timeout=600.0)
    if done.returncode != 0:
        print(done.stdout + done.stderr, flush=True)
    return done.returncode == 0


def install_by_playwright() -> bool:
    """Let Playwright fetch the browser it was made with."""
    return loud([str(PYTHON), "-m", "playwright", "install", "chromium"])


# The suites


def run_tool(suite: str, arguments: list[str]) -> Outcome:
    """Run a checker that counts as one test."""
    start = time.monotonic()
    code = run_suite([str(PYTHON), "-m", *arguments], {})
    return Outcome(suite, int(code == 0), int(code != 0), 0, time.monotonic() - start)


def run_ruff(suite: str, arguments: list[str]) -> Outcome:
    """Run ruff, which calls it a success when it finds nothing to read."""
    if not quiet([str(PYTHON), "-m", "ruff", "check", "--show-files", "."]).stdout.strip():
        return Outcome(suite, 0, 1, 0, 0.0, "no Python file was found")
    return run_tool(suite, ["ruff", *arguments, "."])


def run_pytest(suite: str, arguments: list[str], *, slow: bool, marker: str, environment: dict[str, str]) -> Outcome:
    """Run pytest and count from its report; a run in which no test passed or failed has failed."""
    start = time.monotonic()
    selected = marker if slow else f"({marker}) and not slow"
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [str(PYTHON), "-m", "pytest", *arguments, "-m", selected, f"--junitxml={report}"]
        code = run_suite(command, environment, timeout=SLOW_SUITE_TIMEOUT if slow else SUITE_TIMEOUT)
        passed, failed, skipped = read_counts(report)
    note = ""
    if passed + failed == 0:
        code, note = code or 1, "no test ran"
    return Outcome(suite, passed, max(failed, int(code != 0)), skipped, time.monotonic() - start, note)


def read_counts(report: Path) -> tuple[int, int, int]:
    """Return passed, failed and skipped from a JUnit report; zeros when pytest wrote none."""
    if not report.exists():
        return 0, 0, 0
    suites = list(ElementTree.fromstring(report.read_bytes()).iter("testsuite"))
    total, failures, errors, skipped = (
        sum(int(suite.get(name, "0")) for suite in suites) for name in ("tests", "failures", "errors", "skipped")
    )
    return total - failures - errors - skipped, failures + errors, skipped


def run(suite: str, *, slow: bool, browser: str | None) -> Outcome:
    """Run one suite by its name."""
    if suite == "lint":
        return run_ruff(suite, ["check"])
    if suite == "format":
        return run_ruff(suite, ["format", "--check"])
    if suite == "types":
        return run_tool(suite, ["mypy", "--strict"])
    if suite in ("unit", "pages"):
        # Two processes on two cores: more threads in each would only take turns.
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        places = ["tests/pages"] if suite == "pages" else ["tests", "--ignore=tests/pages", "--ignore=tests/browser"]
        return run_pytest(suite, [*places, "-n", "2"], slow=slow, marker="not browser", environment=threads)
    # Every browser test in the tree: what is marked browser elsewhere runs nowhere else.
    given = {"DPVIZ_CHROMIUM": browser} if browser else {}
    return run_pytest(suite, ["tests"], slow=slow, marker="browser", environment=given)


def run_all(suites: list[str], *, slow: bool) -> int:
    """Set up, run `suites` and print one line for each; return the exit code."""
    start = time.monotonic()
    prepare_packages()
    browser, problem = None, ""
    if "browser" in suites:
        try:
            browser = prepare_browser()
        except SetupError as error:
            problem = str(error)
    print(f"Ready after {time.monotonic() - start:.1f} s." + (f" Browser: {browser}." if browser else ""), flush=True)
    outcomes = []
    for suite in suites:
        print(f"\n== {suite}: {SUITES[suite]}", flush=True)
        if suite == "browser" and problem:
            print(problem, flush=True)
            outcomes.append(Outcome(suite, 0, 1, 0, 0.0, "no browser"))
        else:
            outcomes.append(run(suite, slow=slow, browser=browser))
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
    parser.add_argument("--slow", action="store_true", help="also run the long statistical tests")
    options = parser.parse_args()
    unknown = [suite for suite in options.suites if suite not in SUITES]
    if unknown:
        parser.error(f"no suite is called {', '.join(unknown)}; there are {', '.join(SUITES)}")
    # A cancelled run ends like an interrupted one, through `finally`: no server or browser stays behind.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return run_all(options.suites or list(SUITES), slow=options.slow)
    except SetupError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    if sys.version_info < OLDEST_PYTHON:  # an older Python can still start this file
        sys.exit("dpviz needs Python 3.11 or newer, and this is {}.{}.".format(*sys.version_info[:2]))
    sys.exit(main())
