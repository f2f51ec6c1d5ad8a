"""Startup checks in plain words, the open-file limit, and the path at which a server reports that it answers.

This module may rely only on Streamlit and `packaging`, because nothing else may be installed yet.
"""

import contextlib
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

# Path at which a server reports that it answers.
HEALTH = "/_stcore/health"
# Same as requires-python in pyproject.toml.
OLDEST_PYTHON = (3, 11)
# Requirements of a clone.
REQUIREMENTS = Path(__file__).resolve().parents[3] / "requirements.txt"
_PIP = r".venv\Scripts\python -m pip" if sys.platform == "win32" else "python3 -m pip --python .venv/bin/python"
WAY_OUT = f"Install what is needed: {_PIP} install -r requirements.txt"


def missing(
    requirements: str | None = None,
    *,
    python: tuple[int, ...] = tuple(sys.version_info[:2]),
    installed: Callable[[str], str] = version,
    platform: str = sys.platform,
) -> list[str]:
    """Return one sentence for each missing or unsuitable package, with the solution."""
    if python < OLDEST_PYTHON:
        oldest = ".".join(map(str, OLDEST_PYTHON))
        return [f"Python is {'.'.join(map(str, python))}, but dpviz needs {oldest} or newer. Make .venv with that one."]
    if requirements is None and not REQUIREMENTS.exists():
        # The requirements of an installed package were installed with it.
        return []
    text = REQUIREMENTS.read_text(encoding="utf-8") if requirements is None else requirements
    problems = []
    for line in (line.partition("#")[0].strip() for line in text.splitlines()):
        if not line or line.startswith("-"):
            continue
        needed = Requirement(line)
        if needed.marker is not None and not needed.marker.evaluate({"sys_platform": platform}):
            continue
        words = line.partition(";")[0].strip()
        try:
            own = installed(needed.name)
        except PackageNotFoundError:
            problems.append(f"{needed.name} is not installed, but dpviz needs {words}.")
            continue
        # A release candidate satisfies a requirement like its release.
        if not needed.specifier.contains(Version(own).base_version):
            problems.append(f"{needed.name} is {own}, but dpviz needs {words}.")
    return [*problems, WAY_OUT] if problems else []


def raise_file_limit() -> None:
    """Raise the limit of open files and sockets to the system's maximum, because each open page takes four."""
    try:
        import resource
    # Windows has no such limit.
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        # Some systems report a limit that they do not grant.
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
