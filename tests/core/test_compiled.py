"""Loops in machine code: the same numbers as Python gives, kept for the next start, quiet about divisions by zero."""

import ast
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from dpviz.core import FloatArray, compiled

LOOP = """
import numpy as np
from dpviz.core import compiled

@compiled
def total(values):
    found = 0.0
    for value in values:
        found += value / 2.0
    return found

print(total(np.arange(5.0)), len(total.stats.cache_hits), total.stats.cache_path is not None)
"""


ROOT = Path(__file__).parents[2]


def borrowed(source: str) -> set[str]:
    """Return the names that compiled functions use and that come from other files of the app."""
    tree = ast.parse(source)
    imported = {
        name.asname or name.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dpviz")
        for name in node.names
    }
    used = set()
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef) and any(
            isinstance(each, ast.Name) and each.id == "compiled" for each in function.decorator_list
        ):
            used |= {node.id for line in function.body for node in ast.walk(line) if isinstance(node, ast.Name)}
    return imported & used


def test_a_compiled_function_needs_no_other_file() -> None:
    """Machine code is kept until its own file changes: what it takes from another one would stay as it was."""
    sources = [path.read_text("utf-8") for path in ROOT.glob("dpviz/**/*.py")]
    assert sum("@compiled" in source for source in sources) > 4
    assert not set().union(*map(borrowed, sources))
    head = "from dpviz.core import compiled\nfrom dpviz.solvers.other import STEP\n@compiled\ndef f(x):\n    "
    assert borrowed(head + "return x * STEP\n") == {"STEP"}


@compiled
def _shares(values: FloatArray, whole: float) -> FloatArray:
    made = np.empty_like(values)
    for i in range(len(values)):
        made[i] = values[i] / whole
    return made


def test_it_gives_what_python_gives() -> None:
    values = np.random.default_rng(0).normal(size=100)
    assert np.array_equal(_shares(values, 3.0), values / 3.0)


def test_a_division_by_zero_is_quiet_and_as_in_numpy() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = _shares(np.array([1.0, -1.0, 0.0]), 0.0)
    assert found[0] == np.inf
    assert found[1] == -np.inf
    assert np.isnan(found[2])


@pytest.mark.parametrize("writable", [True, False])
def test_machine_code_is_kept_where_it_can_be(tmp_path: Path, writable: bool) -> None:
    """Where neither the source's folder nor the user's can be written to, it compiles at every start and still works.

    A file in place of the folder is what even the administrator cannot write into.
    """
    script = tmp_path / "loop.py"
    script.write_text(LOOP, encoding="utf-8")
    home = tmp_path / "home"
    if not writable:
        (tmp_path / "__pycache__").write_text("", encoding="utf-8")
        home.write_text("", encoding="utf-8")
    told = []
    for _ in range(2 if writable else 1):
        ran = subprocess.run(
            [sys.executable, str(script)],
            env={"PYTHONPATH": str(ROOT), "HOME": str(home), "PATH": "", "NUMBA_CACHE_DIR": ""},
            capture_output=True,
            text=True,
            check=True,
        )
        told.append(ran.stdout.split())
    assert told == [["5.0", "0", "True"], ["5.0", "1", "True"]] if writable else [["5.0", "0", "False"]]
