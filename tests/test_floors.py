"""The house: imports go strictly downward, and each kind of code stays in its own room.

The checker reads source text, so it also sees imports inside functions and under TYPE_CHECKING. `BROKEN` holds one
synthetic source for each way to break a rule: a checker that lets one through is itself broken.
"""

import ast
import functools
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import packages_distributions
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).resolve().parent.parent
FLOORS = {
    "words": -2,  # the cellar, below dpviz/__init__.py, which stands on -1: there before any module is loaded
    "core": 0,
    "mechanisms": 1,
    "solvers": 1,
    "accounting": 1,
    "data": 1,
    "metrics": 1,
    "algorithms": 2,
    "baselines": 2,
    "attacks": 2,
    "audit": 2,
    "plots": 2,
    "stories": 3,
    "experiments": 3,
    "ui": 4,
}
PAGES_FLOOR = 5  # pages/*.py and app.py
PAGE_LINES = 120
FILE_LINES = 300
STREAMLIT_ROOMS = {"ui", "pages"}
NEEDED_AT_RUN_TIME = {"uvloop", "plotly"}  # required even if never imported: Streamlit picks it up, its tables are read
PLOTLY_ROOMS = {"plots"}
OUTSIDE = {"tests", "benchmarks", "pages", "app", "pytest", "hypothesis", "playwright"}  # the package needs none of it
# What numpy.random offers besides its hidden global state.
NUMPY_RANDOM = {"default_rng", "Generator", "BitGenerator", "SeedSequence", "PCG64", "PCG64DXSM", "Philox", "SFC64"}
NUMPY_RANDOM |= {"MT19937", "bit_generator"}


parsed = functools.cache(ast.parse)


def room_of(path: PurePosixPath) -> str:
    """Return the room of a file: a package's name, `pages` for app.py too, nothing for dpviz/__init__.py."""
    if path.parts[0] != "dpviz":
        return "pages"
    return path.parts[1].removesuffix(".py") if path.parts[1] != "__init__.py" else ""


def imported(tree: ast.Module, path: PurePosixPath) -> Iterator[str]:
    """Yield the full dotted name of everything imported, `from a import b` as a.b."""
    package = path.parent.parts
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            origin = ".".join((*above, *([node.module] if node.module else [])))
            yield from (f"{origin}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and called(node) in ("import_module", "__import__"):
            yield from (word.value for word in node.args if isinstance(word, ast.Constant) and type(word.value) is str)


def called(node: ast.Call) -> str:
    """Return the last name of what is called."""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


def import_problems(path: PurePosixPath, names: Iterable[str]) -> Iterator[str]:
    """Yield every import that goes up, sideways or into a room where it does not belong."""
    room = room_of(path)
    floor = PAGES_FLOOR if room == "pages" else FLOORS.get(room, -1)
    for name in names:
        parts = name.split(".")
        if parts[0] == "streamlit" and room not in STREAMLIT_ROOMS:
            yield f"{path}: imports {name}, but Streamlit belongs to dpviz/ui, pages and app.py"
        elif parts[0] == "plotly" and room not in PLOTLY_ROOMS:
            yield f"{path}: imports {name}, but Plotly belongs to dpviz/plots"
        elif parts[0] in OUTSIDE and room != "pages":
            yield f"{path}: imports {name}, which stands outside the package"
        elif parts[0] == "dpviz" and len(parts) > 1 and parts[1] in FLOORS and parts[1] != room:
            below = FLOORS[parts[1]]
            if below == floor:
                yield f"{path}: imports {name}, its neighbour on floor {floor}"
            elif below > floor:
                yield f"{path}: imports {name}, up from floor {floor} to {below}"


def random_problems(tree: ast.Module, path: PurePosixPath) -> Iterator[str]:
    """Yield every use of NumPy's global random state; a run must depend on its `rng` alone."""
    known: dict[str, str] = {}  # local name -> what it stands for
    used: list[tuple[int, str]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                known[alias.asname or alias.name.split(".")[0]] = (
                    alias.name if alias.asname else alias.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                known[alias.asname or alias.name] = f"{node.module}.{alias.name}"
                used.append((node.lineno, f"{node.module}.{alias.name}"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            head, *rest = ast.unparse(node).split(".")
            used.append((node.lineno, ".".join((known.get(head, head), *rest))))
    for line, name in used:
        parts = name.split(".")
        if parts[:2] == ["numpy", "random"] and len(parts) == 3 and parts[2] not in NUMPY_RANDOM:
            yield f"{path}:{line}: uses {name}, global random state; take `rng` instead"


def source_problems(path: PurePosixPath, source: str) -> Iterator[str]:
    """Yield what is wrong inside one file."""
    tree = parsed(source)
    yield from import_problems(path, imported(tree, path))
    yield from random_problems(tree, path)
    limit = PAGE_LINES if room_of(path) == "pages" else FILE_LINES
    if len(source.splitlines()) > limit:
        yield f"{path}: has {len(source.splitlines())} lines, but at most {limit} are allowed"


def place_problems(path: PurePosixPath) -> Iterator[str]:
    """Yield what is wrong with where a file stands and how it is called."""
    room = room_of(path)
    if room not in {*FLOORS, "pages", ""}:
        yield f"{path}: {room} has no floor; give it one in tests/test_floors.py"
    if len(path.parts) > (2 if path.parts[0] == "pages" else 3):
        yield f"{path}: stands on a third level of folders"
    if path.stem in {"utils", "util", "helpers", "misc"}:
        yield f"{path}: a file is called by what it holds, not {path.stem}"


def problems(files: dict[PurePosixPath, str]) -> list[str]:
    """Return everything that is wrong in a house of Python files, given as path -> source."""
    found = []
    for path, source in files.items():
        found += [*place_problems(path), *source_problems(path, source)]
    return found


@functools.cache
def house() -> dict[PurePosixPath, str]:
    """Read every Python file of the app."""
    paths = [*ROOT.glob("dpviz/**/*.py"), *ROOT.glob("pages/**/*.py"), ROOT / "app.py"]
    return {
        PurePosixPath(path.relative_to(ROOT).as_posix()): path.read_text("utf-8") for path in paths if path.exists()
    }


def test_the_house_stands() -> None:
    assert problems(house()) == []


def test_the_checker_reads_the_whole_house() -> None:
    rooms = {room_of(path) for path in house()}
    assert {"core", "plots", "ui", "algorithms", "pages", ""} <= rooms
    assert PurePosixPath("app.py") in house()


def test_no_folder_stands_on_a_third_level() -> None:
    folders = [path for top in ("dpviz", "pages") for path in (ROOT / top).rglob("*") if path.is_dir()]
    deep = [path.relative_to(ROOT).as_posix() for path in folders if path.name != "__pycache__"]
    assert [folder for folder in deep if folder.count("/") > 1 or folder.startswith("pages/")] == []


def test_every_room_is_a_package() -> None:
    rooms = {path.parent for path in (ROOT / "dpviz").glob("*/*.py")}
    assert [room.name for room in rooms if not (room / "__init__.py").exists()] == []


def test_requirements_list_exactly_what_is_imported() -> None:
    required = {line for line in (ROOT / "requirements.txt").read_text("utf-8").splitlines() if line[:1].isalpha()}
    listed = {re.split(r"[^\w-]", line)[0] for line in required}
    assert listed >= NEEDED_AT_RUN_TIME
    modules = {name.split(".")[0] for path, source in house().items() for name in imported(parsed(source), path)}
    outside = modules - {"dpviz", "pages", "app"} - sys.stdlib_module_names
    owners = packages_distributions()
    imports = {owners[module][0].lower().replace("_", "-") for module in outside}
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    optional = {re.split(r"[^\w-]", line)[0] for lines in extras.values() for line in lines}
    assert optional <= imports
    assert listed == imports - optional | NEEDED_AT_RUN_TIME


# One source for each way to break a rule: (file, source, words of the complaint).
BROKEN = {
    "up": ("dpviz/core/box.py", "from dpviz.mechanisms import laplace", "up from floor 0 to 1"),
    "up, whole module": ("dpviz/mechanisms/noise.py", "import dpviz.ui.export.share", "up from floor 1 to 4"),
    "up, from the top": ("dpviz/data/named.py", "from dpviz import stories", "up from floor 1 to 3"),
    "up, relative": ("dpviz/solvers/lloyd.py", "from ..stories import morse", "up from floor 1 to 3"),
    "up, relative package": ("dpviz/solvers/lloyd.py", "from .. import stories", "up from floor 1 to 3"),
    "up, in a package": ("dpviz/core/__init__.py", "from ..data import load", "up from floor 0 to 1"),
    "up, in a function": ("dpviz/core/box.py", "def f():\n    import dpviz.data", "up from floor 0 to 1"),
    "up, for types": (
        "dpviz/core/run.py",
        "if TYPE_CHECKING:\n    from dpviz.plots import Scene",
        "up from floor 0 to 2",
    ),
    "up, by name": ("dpviz/core/run.py", "importlib.import_module('dpviz.plots')", "up from floor 0 to 2"),
    "up, from the words": ("dpviz/words/finding.py", "from dpviz.core import Box", "up from floor -2 to 0"),
    "up, from the root": ("dpviz/__init__.py", "from dpviz.core import Box", "up from floor -1 to 0"),
    "neighbour below": ("dpviz/mechanisms/noise.py", "from dpviz.accounting import Event", "neighbour on floor 1"),
    "attack knows algorithm": ("dpviz/attacks/guess.py", "from dpviz.algorithms import dpm", "neighbour on floor 2"),
    "plot knows algorithm": ("dpviz/plots/tree.py", "import dpviz.methods.morse.algorithm", "neighbour on floor 2"),
    "audit knows attack": ("dpviz/audit/bound.py", "from dpviz.attacks import guess", "neighbour on floor 2"),
    "story knows experiment": (
        "dpviz/methods/dpm/story/__init__.py",
        "from dpviz.experiments import grid",
        "neighbour on floor 3",
    ),
    "streamlit below": ("dpviz/methods/dpm/story/__init__.py", "import streamlit as st", "Streamlit belongs"),
    "streamlit part": ("dpviz/plots/theme.py", "from streamlit.components import v2", "Streamlit belongs"),
    "plotly in ui": ("dpviz/ui/figure.py", "import plotly.graph_objects as go", "Plotly belongs"),
    "plotly in page": ("pages/dpm.py", "from plotly import graph_objects", "Plotly belongs"),
    "plotly in data": ("dpviz/data/named.py", "from plotly.data import iris", "Plotly belongs"),
    "tests": ("dpviz/core/box.py", "from tests.oracles import brute", "outside the package"),
    "page": ("dpviz/ui/server/main.py", "from pages import dpm", "outside the package"),
    "no floor": ("dpviz/helpful/thing.py", "", "helpful has no floor"),
    "no room": ("dpviz/thing.py", "", "thing has no floor"),
    "third level": ("dpviz/core/deep/box.py", "", "third level"),
    "third level of pages": ("pages/deep/dpm.py", "", "third level"),
    "utils": ("dpviz/core/utils.py", "", "not utils"),
    "long page": ("pages/dpm.py", "x = 1\n" * 121, "at most 120"),
    "long app": ("app.py", "x = 1\n" * 121, "at most 120"),
    "long file": ("dpviz/core/box.py", "x = 1\n" * 301, "at most 300"),
    "seed": ("dpviz/data/named.py", "import numpy as np\nnp.random.seed(0)", "numpy.random.seed, global"),
    "normal": ("dpviz/data/named.py", "import numpy\nx = numpy.random.normal()", "numpy.random.normal, global"),
    "passed on": ("dpviz/data/named.py", "import numpy as np\nf(np.random.rand)", "numpy.random.rand, global"),
    "alias": ("dpviz/data/named.py", "import numpy.random as r\nr.shuffle(x)", "numpy.random.shuffle, global"),
    "name": ("dpviz/data/named.py", "from numpy.random import rand", "numpy.random.rand, global"),
    "module": ("dpviz/data/named.py", "from numpy import random\nrandom.choice(x)", "numpy.random.choice, global"),
    "legacy": ("pages/dpm.py", "import numpy as np\nnp.random.RandomState(0)", "numpy.random.RandomState, global"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_each_broken_rule_is_reported_once(name: str) -> None:
    path, source, complaint = BROKEN[name]
    found = problems({PurePosixPath(path): source})
    assert len(found) == 1, found
    assert complaint in found[0]


@pytest.mark.parametrize(
    ("path", "source"),
    [
        (
            "dpviz/ui/server/main.py",
            "import streamlit as st\nfrom dpviz.stories import dpm\nfrom dpviz.core import Box",
        ),
        (
            "dpviz/methods/dpm/story/__init__.py",
            "from dpviz.algorithms import dpm\nfrom dpviz.plots.scene import Scene\nimport dpviz",
        ),
        ("dpviz/plots/theme.py", "import plotly.graph_objects as go\nfrom dpviz.plots.scene import Scene"),
        (
            "dpviz/methods/dpm/algorithm/__init__.py",
            "from . import morse\nfrom .morse import fit\nfrom ..core import Box",
        ),
        ("dpviz/mechanisms/noise.py", "import numpy as np\nrng = np.random.default_rng(seed)\nrng.normal()"),
        ("dpviz/mechanisms/noise.py", "from numpy.random import Generator\nimport numpy.random"),
        ("pages/dpm.py", "from dpviz.ui import frame\nimport streamlit as st\n" + "x = 1\n" * 118),
        ("app.py", "import dpviz.ui.server.main"),
        ("dpviz/core/box.py", "x = 1\n" * 300),
        ("dpviz/__init__.py", '__version__ = "0.1.0"'),
        ("dpviz/__init__.py", "from dpviz.words.loading import install"),
        ("dpviz/core/knobs.py", "from dpviz.words import spoken"),
    ],
)
def test_what_is_allowed_is_not_reported(path: str, source: str) -> None:
    assert problems({PurePosixPath(path): source}) == []
