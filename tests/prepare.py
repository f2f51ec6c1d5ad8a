"""Set up what the tests need: an environment with the packages, a browser that starts, and in CI Caddy.

Only the standard library is used here, because nothing is installed yet when it starts.
"""

from __future__ import annotations  # so that an older Python reaches the message in run.py

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
STAMP = VENV / ".dpviz-requirements"
NODE_STAMP = ROOT / "node_modules" / ".dpviz-lock"
REQUIREMENTS = tuple(
    ROOT / name for name in ("requirements.txt", "tests/requirements.txt", "docs/requirements.txt")
)  # those of the tests include the others
SELDOM = 100_000  # new objects between two looks for garbage
COLLECTS = "DPVIZ_TESTS_COLLECT"  # the variable that holds this number
HEADLESS = "chromium-headless-shell"  # Chromium without its windows: a page takes a seventh less of the processor
BROWSERS = (HEADLESS, "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
DEBIAN_BROWSERS = (HEADLESS, "chromium")  # the second one for releases that do not have the first
DEBIAN_PACKAGES = ("fonts-dejavu-core", "libatomic1")  # a font to draw with, and what Playwright's driver is linked to

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
    """Something the tests need is missing; the message names it, with the solution."""


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


def prepare_packages(app_is_there: Callable[[], object]) -> None:
    """Make `.venv` and install tests/requirements.txt, unless exactly these files were installed by this Python.

    `app_is_there` is called once the app's packages are installed; packages for the tests come after that.
    """
    stamp = requirements_stamp()
    if STAMP.exists() and STAMP.read_text() == stamp and quiet([str(PYTHON), "-c", "import pytest"]).returncode == 0:
        app_is_there()
        return
    # An environment of a removed or older Python cannot be repaired, only replaced.
    fits = quiet([str(PYTHON), "-c", f"import sys; sys.exit(sys.version_info[:2] != {sys.version_info[:2]!r})"])
    clear = ["--clear"] if VENV.exists() and fits.returncode != 0 else []
    # --without-pip: a bare Debian has no ensurepip; the pip outside installs into it.
    if not loud([sys.executable, "-m", "venv", "--without-pip", *clear, str(VENV.relative_to(ROOT))]):
        raise SetupError("The environment .venv could not be made. See the message above.")
    pip = newest_pip()
    install(pip, "requirements.txt")
    seldom_collect()
    app_is_there()
    install(pip, "tests/requirements.txt")
    STAMP.write_text(stamp)


def newest_pip() -> list[str]:
    """Return the command of the newest pip in `.venv`: it takes 25 s for work that takes a pip of 2023 40 s.

    Where it is out of reach, the one that there is does as well.
    """
    there = find_pip()
    done = quiet([*there, "install", "--quiet", "--upgrade", "pip"])
    return [str(PYTHON), "-m", "pip"] if done.returncode == 0 else there


def install(pip: list[str], requirements: str) -> None:
    """Install the packages in a file.

    Python compiles files when it imports them: a tenth of the files that pip would compile, one after the other.
    """
    if not loud([*pip, "install", "--quiet", "--no-compile", "-r", requirements]):
        raise SetupError("The packages could not be installed. See pip's message above, then try again.")


def seldom_collect() -> None:
    """Make every Python process of the tests collect garbage less often: there are a hundred, and most only import.

    Python's own 700 new objects make it look through all that is imported again and again, for a tenth of the time.
    Without the variable that tests/run.py sets, as in the app and the benchmarks, nothing changes.
    """
    place = "import sysconfig; print(sysconfig.get_path('purelib'))"
    folder = Path(quiet([str(PYTHON), "-c", place]).stdout.strip())
    (folder / "dpviz_tests.pth").write_text(
        f"import gc, os; gc.set_threshold(int(os.environ.get({COLLECTS!r}, gc.get_threshold()[0])))\n"
    )


def requirements_stamp() -> str:
    """Return a digest of the requirement files and of the Python that installs them."""
    digest = hashlib.sha256(sys.version.encode())
    for path in REQUIREMENTS:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def find_pip(python: Path = PYTHON) -> list[str]:
    """Return the command of a pip that installs into the environment of `python`, by default `.venv`."""
    base = getattr(sys, "_base_executable", sys.executable)  # run from `.venv`, the Python that it was made with
    outside = [base, "-m", "pip", "--python", str(python)]  # since pip 22.3
    if quiet([*outside, "--version"]).returncode == 0:
        return outside
    inside = [str(python), "-m", "pip"]
    if quiet([*inside, "--version"]).returncode == 0 or quiet([str(python), "-m", "ensurepip"]).returncode == 0:
        return inside
    raise SetupError("pip 22.3 or newer is missing. On Debian and Ubuntu: apt-get install python3-pip.")


# Node.js


def find_node() -> str:
    """Return a Node.js: the machine's own, or the one that Playwright brings along."""
    own = shutil.which("node")
    if own:
        return own
    place = "import playwright, pathlib; print(pathlib.Path(playwright.__file__).parent / 'driver')"
    driver = Path(quiet([str(PYTHON), "-c", place]).stdout.strip())
    return str(driver / ("node.exe" if os.name == "nt" else "node"))


def prepare_node_packages() -> list[str]:
    """Install the packages of package-lock.json unless they are there; return a command that runs their programs."""
    node, npm, npx = (shutil.which(name) for name in ("node", "npm", "npx"))
    if not (node and npm and npx):
        raise SetupError("Node.js with npm is missing.")
    digest = hashlib.sha256((ROOT / "package-lock.json").read_bytes()).hexdigest()
    if not NODE_STAMP.exists() or NODE_STAMP.read_text() != digest:
        if not loud([npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]):
            raise SetupError("The packages of Node.js could not be installed. See npm's message above.")
        NODE_STAMP.write_text(digest)
    return [npx, "--no-install"]


# The browser


def fetch_browser() -> None:
    """Install Debian's browser where none is named or found: one processor can do so while pip has the other.

    A personal machine keeps its browser; CI takes the quickest, if Debian has it.
    """
    if os.environ.get("DPVIZ_CHROMIUM") or shutil.which(HEADLESS):
        return
    if not (any(map(shutil.which, BROWSERS)) or own_browser()):
        install_by_apt()
    elif os.environ.get("CI") == "true":
        install_by_apt(HEADLESS)


def fetch_caddy() -> None:
    """Install Debian's Caddy in CI; on a personal machine, its tests are skipped with a reason."""
    if os.environ.get("CI") == "true" and not shutil.which("caddy"):
        install_by_apt("caddy")


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
        f"{DEBIAN_BROWSERS[-1]} {' '.join(DEBIAN_PACKAGES)}), or set DPVIZ_CHROMIUM to its place."
    )


def browser_problem(path: str) -> str:
    """Start the browser at `path`; return the error, or nothing."""
    done = quiet([str(PYTHON), "-c", PROBE, path])
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    return "" if done.returncode == 0 else "\n".join(lines[-3:])


def own_browser() -> str | None:
    """Return the folder of the browser that Playwright fetched, if it fetched one."""
    path = quiet([str(PYTHON), "-c", OWN_BROWSER]).stdout.strip()
    return path if path and Path(path).exists() else None


def install_by_apt(*packages: str) -> bool:
    """Install the first of `packages` that Debian has, by default any of its browsers, when this account may."""
    if not shutil.which("apt-get"):
        return False
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    if not is_root and quiet(["sudo", "-n", "true"]).returncode != 0:
        return False
    prefix = [*([] if is_root else ["sudo", "-n"]), "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq"]
    # The lists may be partly out of reach and still name the package, so a failing update is not the end.
    quiet([*prefix, "update"], timeout=300.0)
    for package in packages or DEBIAN_BROWSERS:
        wanted = [package, *DEBIAN_PACKAGES]
        print(f"Installing {', '.join(wanted)} with apt-get ...", flush=True)
        done = quiet([*prefix, "install", "-y", "--no-install-recommends", *wanted], timeout=600.0)
        if done.returncode == 0:
            return True
    print(done.stdout + done.stderr, flush=True)
    return False


def install_by_playwright() -> bool:
    """Let Playwright fetch the browser it was made with."""
    return loud([str(PYTHON), "-m", "playwright", "install", "chromium"])
