"""What must be there before the app can start, and in plain words what is not. Only the standard library is used."""

import re
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
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
    """Return one sentence for each thing that is not there or of a version that does not fit, and the way out."""
    if python < OLDEST_PYTHON:
        wanted = ".".join(map(str, OLDEST_PYTHON))
        return [f"Python is {'.'.join(map(str, python))}, but dpviz needs {wanted} or newer. Make .venv with that one."]
    if requirements is None and not REQUIREMENTS.exists():
        return []  # an installed package: what it needs was installed with it
    text = REQUIREMENTS.read_text(encoding="utf-8") if requirements is None else requirements
    found = list(_wrong(text, installed, platform))
    return [*found, WAY_OUT] if found else []


def _wrong(text: str, installed: Callable[[str], str], platform: str) -> Iterator[str]:
    for line in text.splitlines():
        read = _LINE.match(line)
        if read is None or (platform == "win32" and 'sys_platform != "win32"' in (read["where"] or "")):
            continue
        name, wanted = read["name"], read["range"].strip()
        try:
            here = installed(name)
        except PackageNotFoundError:
            yield f"{name} is not installed, but dpviz needs {name}{wanted}."
            continue
        if not all(_holds(here, sign, bound) for sign, bound in _BOUND.findall(wanted)):
            yield f"{name} is {here}, but dpviz needs {name}{wanted}."


def _holds(here: str, sign: str, bound: str) -> bool:
    ours, other = _numbers(here), _numbers(bound)
    length = max(len(ours), len(other))
    a, b = (each + (0,) * (length - len(each)) for each in (ours, other))
    return {">=": a >= b, "<=": a <= b, "==": a == b, "<": a < b, ">": a > b}[sign]


def _numbers(text: str) -> tuple[int, ...]:
    """Return the release of a version; what follows it, as in 1.2rc1 or 1.2+cpu, does not matter here."""
    release = re.match(r"\d+(\.\d+)*", text)
    return tuple(map(int, release[0].split("."))) if release else ()
