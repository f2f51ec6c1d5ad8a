"""The signatures of our estimators as type checkers and editors read them; `python -m tests.estimator_stub` writes."""

import inspect
import re
import subprocess
import sys
from pathlib import Path

from dpviz import estimators
from dpviz.baselines import CATALOGUE as BASELINES
from dpviz.core import AnyAlgorithm
from dpviz.estimators.base import parameters
from dpviz.methods import CATALOGUE

STUB = Path(estimators.__file__).with_suffix(".pyi")
OURS = [*(each for each in CATALOGUE.values() if each.place.startswith("dpviz.")), *BASELINES.values()]
IMPORTS = """from collections.abc import Mapping
from typing import Literal

{modules}
from dpviz.accounting.budgets import BudgetError as BudgetError
from dpviz.core import FloatArray
from dpviz.estimators.base import Bounds, PrivateCentersClusterer, RandomState
from dpviz.estimators.base import PrivacyLeakWarning as PrivacyLeakWarning
from dpviz.estimators.base import PrivateClusterer as PrivateClusterer
from dpviz.estimators.base import PrivateEstimator as PrivateEstimator
from dpviz.estimators.base import PrivateTransformer as PrivateTransformer

ESTIMATORS: Mapping[str, type[PrivateEstimator]]
"""


def written() -> str:
    """Return the stub, in the layout of every other file."""
    classes = "\n".join(map(class_of, OURS))
    annotations = " ".join(str(each.annotation) for algorithm in OURS for each in parameters(algorithm))
    modules = sorted(set(re.findall(r"\bdpviz(?:\.[a-z_]+)+(?=\.[A-Z])", annotations)))
    text = IMPORTS.format(modules="\n".join(f"import {each}" for each in modules)) + "\n" + classes
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(STUB), "-"]
    made = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    command[3:4] = ["check", "--fix"]
    return subprocess.run(command, input=made, capture_output=True, text=True, check=True).stdout


def class_of(algorithm: AnyAlgorithm) -> str:
    made = estimators.ESTIMATORS[algorithm.name]
    own, star = ["self"], False
    for each in parameters(algorithm):
        if each.kind is inspect.Parameter.KEYWORD_ONLY and not star:
            own, star = [*own, "*"], True
        default = "" if each.default is inspect.Parameter.empty else f" = {default_of(each.default)}"
        own.append(f"{each.name}: {each.annotation}{default}")
    doc = str(made.__doc__).split("\n", 1)[0]
    return (
        f'class {made.__name__}({made.__bases__[0].__name__}):\n    """{doc} Its parameters are told by `help`."""\n\n'
        f"    def __init__({', '.join(own)}) -> None: ...\n"
    )


def default_of(value: object) -> str:
    assert value is None or isinstance(value, bool | int | float | str), "a type checker reads no other default"
    return repr(value)


if __name__ == "__main__":
    STUB.write_text(written(), "utf-8")
