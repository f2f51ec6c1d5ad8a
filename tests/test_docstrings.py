"""Docstrings of exported functions have sections that agree with the signature."""

import importlib
import inspect
import pkgutil

import pytest

import dpviz
from tests.numeric import run_python

PACKAGES = ["dpviz", *(each.name for each in pkgutil.walk_packages(dpviz.__path__, "dpviz.") if each.ispkg)]
# A function with fewer parameters can be described in one sentence.
MIN_PARAMETERS = 3
PYDOCLINT = ("-m", "pydoclint.main", "--config=pyproject.toml")


def exported_functions(package):
    """Return the functions in `__all__` of a package that have enough parameters for sections."""
    module = importlib.import_module(package)
    functions = filter(inspect.isfunction, (getattr(module, name) for name in getattr(module, "__all__", ())))
    return [each for each in functions if len(inspect.signature(each).parameters) >= MIN_PARAMETERS]


@pytest.mark.parametrize("package", PACKAGES)
def test_exported_functions_have_sections(package):
    without = [each.__name__ for each in exported_functions(package) if "\nParameters\n---" not in inspect.getdoc(each)]
    assert not without


def test_sections_agree_with_signatures(tmp_path):
    done = run_python(*PYDOCLINT, "dpviz")
    assert done.returncode == 0, done.stderr
    path = tmp_path / "wrong.py"
    path.write_text(
        'def add(a: int) -> None:\n    """Add.\n\n    Parameters\n    ----------\n    b\n        Number.\n    """\n'
    )
    assert "DOC103" in run_python(*PYDOCLINT, path).stderr
