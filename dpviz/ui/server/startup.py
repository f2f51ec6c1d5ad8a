"""Startup checks in plain words, and the open-file limit. Standard library only: nothing else may be installed yet."""

import contextlib
import re
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from itertools import zip_longest
from pathlib import Path

OLDEST_PYTHON = (3, 11)  # requires-python in pyproject.toml
REQUIREMENTS = Path(__file__).resolve().parents[3] / "requirements.txt"  # of a clone
_PIP = r".venv\Scripts\python -m pip" if sys.platform == "win32" else "python3 -m pip --python .venv/bin/python"
WAY_OUT = f"Install what is needed: {_PIP} install -r requirements.txt"
_LINE = re.compile(r"(?P<name>[A-Za-z][\w.-]*)(?P<range>[^;#]*)(?P<where>;[^#]*)?")
_BOUND = re.compile(r"(>=|<=|==|<|>)\s*([\d.]+)")


def missing(
    requirements: str | None = None,
    *,
    python: tuple[int, ...] = tuple(sys.version_info[:2]),
    installed: Callable[[str], str] = version,
    platform: str = sys.platform,
) -> list[str]:
    """Return one sentence for each missing or unsuitable package, and the way out."""
    if python < OLDEST_PYTHON:
        oldest = ".".join(map(str, OLDEST_PYTHON))
        return [f"Python is {'.'.join(map(str, python))}, but dpviz needs {oldest} or newer. Make .venv with that one."]
    if requirements is None and not REQUIREMENTS.exists():
        return []  # an installed package: its requirements were installed with it
    text = REQUIREMENTS.read_text(encoding="utf-8") if requirements is None else requirements
    problems = []
    for line in text.splitlines():
        match = _LINE.match(line)
        if match is None or (platform == "win32" and 'sys_platform != "win32"' in (match["where"] or "")):
            continue
        name, bounds = match["name"], match["range"].strip()
        try:
            own = installed(name)
        except PackageNotFoundError:
            problems.append(f"{name} is not installed, but dpviz needs {name}{bounds}.")
            continue
        if not all(_holds(own, sign, bound) for sign, bound in _BOUND.findall(bounds)):
            problems.append(f"{name} is {own}, but dpviz needs {name}{bounds}.")
    return [*problems, WAY_OUT] if problems else []


def _holds(own: str, sign: str, bound: str) -> bool:
    """Whether a version satisfies a bound; suffixes as in 1.2rc1 or 1.2+cpu are ignored."""
    releases = (re.match(r"\d+(\.\d+)*", text) for text in (own, bound))
    numbers = (map(int, release[0].split(".")) if release else () for release in releases)
    a, b = zip(*zip_longest(*numbers, fillvalue=0), strict=True)
    return {">=": a >= b, "<=": a <= b, "==": a == b, "<": a < b, ">": a > b}[sign]


def raise_file_limit() -> None:
    """Raise the limit of open files and sockets to what the system allows: each open page takes four."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(ValueError, OSError):  # some systems report a limit that they do not grant
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
