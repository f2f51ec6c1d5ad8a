"""The house: imports go strictly downward, and each kind of code stays in its own room.

The checker reads source text, so it also sees imports inside functions and under TYPE_CHECKING. `BROKEN` holds one
synthetic source for each way to break a rule: a checker that lets one through is itself broken.
"""

import ast
import functools
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
from importlib.metadata import packages_distributions
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).resolve().parent.parent
FLOORS = {
    "assets": 0,
    "core": 0,
    "mechanisms": 1,
    "solvers": 1,
    "accounting": 1,
    "data": 1,
    "metrics": 1,
    "baselines": 2,
    "attacks": 2,
    "audit": 2,
    "plots": 2,
    "notebook": 3,
    "experiments": 2,
    "methods/*/algorithm": 2,
    "stories": 4,
    "methods/*/story": 5,
    "methods": 6,  # the records
    "tools": 7,
    "estimators": 7,
    "runs": 8,
    "ui": 9,
    "tools/*/page": 10,
    "method_page": 11,
    "methods/*/page": 12,
    "navigation": 13,
    "publishing": 14,
}
TOP = {room.split("/")[0] for room in FLOORS}
ENTRANCES = {PurePosixPath("dpviz/experiments/__main__.py"), PurePosixPath("dpviz/__main__.py")}
ENTRANCES |= {PurePosixPath("dpviz/ui/server/script.py")}  # like app.py
ROOT_FILE = PurePosixPath("dpviz/__init__.py")
PAGES_FLOOR = 15  # pages/*.py and app.py
PAGE_LINES = 40
MOST_FILES = 30  # of a folder
STREAMLIT_ROOMS = {"ui", "tools/*/page", "method_page", "methods/*/page", "navigation", "publishing", "pages"}
NEEDED_AT_RUN_TIME = {"uvloop", "plotly"}  # required even if never imported: Streamlit picks it up, its tables are read
PLOTLY_ROOMS = {"plots"}
OUTSIDE = {"tests", "benchmarks", "pages", "app", "pytest", "hypothesis", "playwright"}  # the package needs none of it
# What numpy.random offers besides its hidden global state.
NUMPY_RANDOM = {"default_rng", "Generator", "BitGenerator", "SeedSequence", "PCG64", "PCG64DXSM", "Philox", "SFC64"}
NUMPY_RANDOM |= {"MT19937", "bit_generator"}
# Where records are decided and releases are made, all has the same bits on every processor: see dpviz/core/algebra.py.
SAME_BITS = {"core", "mechanisms", "solvers", "accounting", "data", "baselines", "methods/*/algorithm"}
BY_PROCESSOR = {"dot", "vdot", "inner", "matmul", "tensordot", "convolve", "correlate", "cov", "corrcoef", "polyfit"}
BY_PROCESSOR |= {"exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "logaddexp", "logaddexp2", "cbrt", "power"}
BY_PROCESSOR |= {"float_power", "sin", "cos", "tan", "arcsin", "arccos", "arctan", "arctan2", "sinh", "cosh", "tanh"}
SPARSE = {  # SciPy adds up sparse products in the order of the records
    PurePosixPath("dpviz/solvers/lloyd.py"),
    PurePosixPath("dpviz/methods/source_target/algorithm/averages.py"),
}
PROTOCOL = {"Params", "Step"}  # what each algorithm calls its own, so that `Algorithm` and scripts find them by name

METHODS = {path.parent.name for path in ROOT.glob("dpviz/methods/*/__init__.py")}

parsed = functools.cache(ast.parse)


def room_of(path: PurePosixPath) -> str:
    """Return the room of a file: a key of FLOORS, `pages` for app.py too, nothing for dpviz/__init__.py."""
    if path.parts[0] != "dpviz" or path in ENTRANCES:
        return "pages"
    return room_in(path.with_suffix("").parts[1:])


def room_in(parts: tuple[str, ...]) -> str:
    """Return the room of the module with these names below dpviz: the innermost that has a floor."""
    if not parts or parts[0] == "__init__":
        return ""
    inner = f"{parts[0]}/*/{parts[2]}" if len(parts) > 2 else ""
    return inner if inner in FLOORS else parts[0]


def method_of(parts: tuple[str, ...]) -> str:
    """Return which method or tool a module below dpviz belongs to, nothing where it belongs to none."""
    return "/".join(parts[:2]) if len(parts) > 1 and parts[0] in ("methods", "tools") else ""


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


def at_import(tree: ast.Module) -> ast.Module:
    """Return what the package's own file does when it is imported: what it offers may be loaded when it is called."""
    return ast.Module([node for node in tree.body if not isinstance(node, ast.FunctionDef | ast.If)], [])


def called(node: ast.Call) -> str:
    """Return the last name of what is called."""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


def import_problems(path: PurePosixPath, names: Iterable[str]) -> Iterator[str]:
    """Yield every import that goes up, sideways or into a room where it does not belong."""
    room = room_of(path)
    floor = PAGES_FLOOR if room == "pages" else FLOORS.get(room, -1)
    own = method_of(path.with_suffix("").parts[1:])
    for name in names:
        parts = name.split(".")
        if parts[0] == "streamlit" and room not in STREAMLIT_ROOMS:
            yield f"{path}: imports {name}, but Streamlit belongs to dpviz/ui, to a page, pages and app.py"
        elif parts[0] == "plotly" and room not in PLOTLY_ROOMS:
            yield f"{path}: imports {name}, but Plotly belongs to dpviz/plots"
        elif parts[0] in OUTSIDE and room != "pages":
            yield f"{path}: imports {name}, which stands outside the package"
        elif parts[0] == "dpviz" and len(parts) > 1 and parts[1] in TOP:
            yield from way_problems(path, room, floor, own, name)


def way_problems(path: PurePosixPath, room: str, floor: int, own: str, name: str) -> Iterator[str]:
    """Yield what is wrong with the way from a file to a module of the house."""
    parts = tuple(name.split(".")[1:])
    other, below = method_of(parts), FLOORS[room_in(parts)]
    same = other == own and other.startswith("methods/")
    if (
        other.startswith("methods/")
        and other[8:] in METHODS
        and not same
        and room not in ("pages", "methods", "navigation")
    ):
        yield f"{path}: imports {name}, but a method is known by its record alone"
    elif same and below == floor:
        return  # rooms of one method on one floor
    elif room_in(parts) != room and below == floor:
        yield f"{path}: imports {name}, its neighbor on floor {floor}"
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


def bit_problems(tree: ast.Module, path: PurePosixPath) -> Iterator[str]:
    """Yield every use of a matrix library or of a vector function whose last bits depend on the processor."""
    if room_of(path) not in SAME_BITS:
        return
    axes = {  # lengths along an axis are plain sums
        id(node.func.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "norm"
        and any(word.arg == "axis" for word in node.keywords)
    }
    for node in ast.walk(tree):
        used = ""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult) and path not in SPARSE:
            used = "@"
        elif isinstance(node, ast.Attribute):
            outer = ast.unparse(node.value)
            if outer in ("np", "numpy") and (
                node.attr in BY_PROCESSOR or (node.attr == "linalg" and id(node) not in axes)
            ):
                used = ast.unparse(node)
            elif node.attr == "dot" and outer not in ("np", "numpy"):
                used = "dot"
        elif isinstance(node, ast.ImportFrom) and node.module in ("scipy.linalg", "numpy.linalg"):
            used = node.module
        if used:
            yield f"{path}:{node.lineno}: uses {used}, whose bits differ by processor; see core's algebra, functions"


def source_problems(path: PurePosixPath, source: str) -> Iterator[str]:
    """Yield what is wrong inside one file."""
    tree = parsed(source)
    yield from import_problems(path, imported(at_import(tree) if path == ROOT_FILE else tree, path))
    yield from random_problems(tree, path)
    yield from bit_problems(tree, path)
    if room_of(path) == "pages" and path not in ENTRANCES and len(source.splitlines()) > PAGE_LINES:
        yield f"{path}: has {len(source.splitlines())} lines, but at most {PAGE_LINES} are allowed"


def place_problems(path: PurePosixPath) -> Iterator[str]:
    """Yield what is wrong with where a file stands and how it is called."""
    room = room_of(path)
    if room not in {*FLOORS, "pages", ""}:
        yield f"{path}: {room} has no floor; give it one in tests/test_floors.py"
    deepest = 5 if path.parts[1:2] in (("methods",), ("tools",)) else 2 if path.parts[0] == "pages" else 4
    if len(path.parts) > deepest:
        yield f"{path}: stands too deep in folders"
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
    assert {"core", "plots", "ui", "methods/*/algorithm", "tools/*/page", "pages", ""} <= rooms
    assert PurePosixPath("app.py") in house()


def test_every_folder_of_code_is_a_package_of_at_most_thirty_files() -> None:
    folders = {path.parent for path in (ROOT / "dpviz").glob("**/*.py")}
    assert [folder.name for folder in folders if not (folder / "__init__.py").exists()] == []
    assert [folder.name for folder in folders if len(list(folder.glob("*.py"))) > MOST_FILES] == []


def test_no_module_has_the_name_of_a_function_in_its_package() -> None:
    """Else `from package import name` gives the one or the other, whichever came last."""
    twice = []
    for path, source in house().items():
        if path.name == "__init__.py" and path.parts[1:2] in (("methods",), ("tools",)):
            inside = (ROOT / path.parent).iterdir()
            known = {each.stem for each in inside if each.suffix == ".py" or (each / "__init__.py").exists()}
            names = {node.name for node in parsed(source).body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
            twice += [f"{path}: {name}" for name in sorted(names & known)]
    assert twice == []


def test_a_class_name_is_unique_in_the_package() -> None:
    names = Counter(
        each.name for source in house().values() for each in parsed(source).body if type(each) is ast.ClassDef
    )
    assert {name for name, times in names.items() if times > 1} == PROTOCOL


def test_nobody_asks_a_module_what_it_has() -> None:
    """Pages and tools learn what a method has from its typed record."""
    asked = ("ModuleType", "hasattr(", "import_module(")
    seam = [path for path in house() if path.parts[1:2] in (("tools",), ("stories",), ("ui",))]
    assert [f"{path}: {word}" for path in seam for word in asked if word in house()[path]] == []


def test_requirements_list_exactly_what_is_imported() -> None:
    required = {line for line in (ROOT / "requirements.txt").read_text("utf-8").splitlines() if line[:1].isalpha()}
    listed = {re.split(r"[^\w-]", line)[0] for line in required}
    assert listed >= NEEDED_AT_RUN_TIME
    modules = {name.split(".")[0] for path, source in house().items() for name in imported(parsed(source), path)}
    outside = modules - {"dpviz", "pages", "app"} - sys.stdlib_module_names
    owners = packages_distributions()
    imports = {owners[module][0].lower().replace("_", "-") for module in outside}
    files = [ROOT / "tests" / name for name in ("dask.txt", "notebook.txt", "publish.txt")]
    extra = [line for file in files for line in file.read_text("utf-8").splitlines()]
    optional = {re.split(r"[^\w-]", line)[0] for line in extra if line[:1].isalpha()}
    assert optional <= imports
    assert listed == imports - optional | NEEDED_AT_RUN_TIME


def modules_imported(files: dict[PurePosixPath, str]) -> dict[str, set[str]]:
    """Return the modules of the package that each of them imports, in functions too; not those for types alone."""
    names = {".".join(path.with_suffix("").parts).removesuffix(".__init__"): path for path in files}
    found: dict[str, set[str]] = {}
    for name, path in names.items():
        tree = ast.parse(files[path])
        for node in ast.walk(tree):
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
                node.body = []
        wanted = list(imported(tree, path))
        found[name] = {each if each in names else each.rpartition(".")[0] for each in wanted} & names.keys() - {name}
    return found


def test_no_import_goes_in_a_circle() -> None:
    package = {path: source for path, source in house().items() if path.parts[0] == "dpviz"}
    TopologicalSorter(modules_imported(package)).prepare()  # raises CycleError, which names the circle
    low, high = PurePosixPath("dpviz/data/low.py"), PurePosixPath("dpviz/data/high.py")
    circle = {low: "def f():\n    from dpviz.data import high", high: "from dpviz.data.low import f"}
    with pytest.raises(CycleError):
        TopologicalSorter(modules_imported(circle)).prepare()


# One source for each way to break a rule: (file, source, words of the complaint).
BROKEN = {
    "up": ("dpviz/core/box.py", "from dpviz.mechanisms import laplace", "up from floor 0 to 1"),
    "up, whole module": ("dpviz/mechanisms/noise.py", "import dpviz.ui.frame", "up from floor 1 to 9"),
    "up, from the top": ("dpviz/data/named.py", "from dpviz import stories", "up from floor 1 to 4"),
    "up, relative": ("dpviz/solvers/lloyd.py", "from ..stories import label", "up from floor 1 to 4"),
    "up, relative package": ("dpviz/solvers/lloyd.py", "from .. import stories", "up from floor 1 to 4"),
    "up, in a package": ("dpviz/core/__init__.py", "from ..data import load", "up from floor 0 to 1"),
    "up, in a function": ("dpviz/core/box.py", "def f():\n    import dpviz.data", "up from floor 0 to 1"),
    "up, for types": (
        "dpviz/core/run.py",
        "if TYPE_CHECKING:\n    from dpviz.plots import Scene",
        "up from floor 0 to 2",
    ),
    "up, by name": ("dpviz/core/run.py", "importlib.import_module('dpviz.plots')", "up from floor 0 to 2"),
    "up, from the root": ("dpviz/__init__.py", "from dpviz.core import Box", "up from floor -1 to 0"),
    "up, in a method": (
        "dpviz/methods/dpm/algorithm/tree.py",
        "from dpviz.methods.dpm.story import layers",
        "up from floor 2 to 5",
    ),
    "up, to the records": ("dpviz/stories/label.py", "from dpviz.methods import CATALOGUE", "up from floor 4 to 6"),
    "up, to a tool's page": ("dpviz/ui/frame.py", "from dpviz.tools.audit import page", "up from floor 9 to 10"),
    "neighbor below": ("dpviz/mechanisms/noise.py", "from dpviz.accounting import Event", "neighbor on floor 1"),
    "one method knows another": (
        "dpviz/methods/dpm/story/layers.py",
        "from dpviz.methods.morse.algorithm import Mixture",
        "by its record alone",
    ),
    "tool knows a method": (
        "dpviz/tools/audit/cases.py",
        "from dpviz.methods.dpm import METHOD",
        "by its record alone",
    ),
    "record names its page": (
        "dpviz/methods/dpm/__init__.py",
        "def page():\n    from dpviz.methods.dpm.page import PAGE",
        "up from floor 6 to 12",
    ),
    "page knows a method": ("dpviz/ui/home.py", "from dpviz.methods.dpm.story import layers", "by its record alone"),
    "attack knows algorithm": ("dpviz/attacks/guess.py", "from dpviz.methods.dpm import algorithm", "by its record"),
    "plot knows algorithm": ("dpviz/plots/tree.py", "import dpviz.methods.morse.algorithm", "by its record alone"),
    "audit knows attack": ("dpviz/audit/bound.py", "from dpviz.attacks import guess", "neighbor on floor 2"),
    "plot knows experiment": ("dpviz/plots/tree.py", "from dpviz.experiments import tables", "neighbor on floor 2"),
    "streamlit below": ("dpviz/stories/label.py", "import streamlit as st", "Streamlit belongs"),
    "streamlit part": ("dpviz/plots/theme.py", "from streamlit.components import v2", "Streamlit belongs"),
    "plotly in ui": ("dpviz/ui/figure.py", "import plotly.graph_objects as go", "Plotly belongs"),
    "plotly in page": ("pages/dpm.py", "from plotly import graph_objects", "Plotly belongs"),
    "plotly in data": ("dpviz/data/named.py", "from plotly.data import iris", "Plotly belongs"),
    "tests": ("dpviz/core/box.py", "from tests.oracles import brute", "outside the package"),
    "page": ("dpviz/ui/home.py", "from pages import dpm", "outside the package"),
    "no floor": ("dpviz/helpful/thing.py", "", "helpful has no floor"),
    "no room": ("dpviz/thing.py", "", "thing has no floor"),
    "too deep": ("dpviz/core/very/deep/box.py", "", "too deep"),
    "deep pages": ("pages/deep/dpm.py", "", "too deep"),
    "utils": ("dpviz/core/utils.py", "", "not utils"),
    "long page": ("pages/dpm.py", "x = 1\n" * 41, "at most 40"),
    "long app": ("app.py", "x = 1\n" * 41, "at most 40"),
    "seed": ("dpviz/data/named.py", "import numpy as np\nnp.random.seed(0)", "numpy.random.seed, global"),
    "normal": ("dpviz/data/named.py", "import numpy\nx = numpy.random.normal()", "numpy.random.normal, global"),
    "passed on": ("dpviz/data/named.py", "import numpy as np\nf(np.random.rand)", "numpy.random.rand, global"),
    "alias": ("dpviz/data/named.py", "import numpy.random as r\nr.shuffle(x)", "numpy.random.shuffle, global"),
    "name": ("dpviz/data/named.py", "from numpy.random import rand", "numpy.random.rand, global"),
    "module": ("dpviz/data/named.py", "from numpy import random\nrandom.choice(x)", "numpy.random.choice, global"),
    "matrix library": ("dpviz/solvers/moments.py", "def f(a, b):\n    return a.T @ b", "uses @, whose bits"),
    "linalg": ("dpviz/data/named.py", "import numpy as np\nnp.linalg.eigh(x)", "np.linalg, whose bits"),
    "length of all": ("dpviz/core/box.py", "import numpy as np\nnp.linalg.norm(x)", "np.linalg, whose bits"),
    "dot": ("dpviz/methods/morse/algorithm/estimate.py", "weights.dot(x)", "uses dot, whose bits"),
    "exp": ("dpviz/mechanisms/noise.py", "import numpy as np\nnp.exp(x)", "np.exp, whose bits"),
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
        ("dpviz/ui/home.py", "import streamlit as st\nfrom dpviz.methods import CATALOGUE\nfrom dpviz.core import Box"),
        ("dpviz/stories/label.py", "from dpviz.plots.scene import Scene\nimport dpviz"),
        ("dpviz/plots/theme.py", "import plotly.graph_objects as go\nfrom dpviz.plots.scene import Scene"),
        ("dpviz/methods/dpm/algorithm/tree.py", "from .score import best\nfrom ....core import Box"),
        ("dpviz/methods/dpm/page/tabs.py", "import streamlit\nfrom dpviz.tools.two_worlds import page"),
        ("dpviz/mechanisms/noise.py", "import numpy as np\nrng = np.random.default_rng(seed)\nrng.normal()"),
        ("dpviz/mechanisms/noise.py", "from numpy.random import Generator\nimport numpy.random"),
        ("pages/dpm.py", "from dpviz.methods.dpm.page import draw\n" + "x = 1\n" * 39),
        ("app.py", "import dpviz.navigation"),
        ("dpviz/core/box.py", "x = 1\n" * 400),
        ("dpviz/solvers/zones.py", "import numpy as np\nnp.linalg.norm(x, axis=1)"),
        ("dpviz/stories/plane.py", "import numpy as np\nnp.exp(x @ y)"),
        ("dpviz/__init__.py", '__version__ = "0.1.0"'),
        ("dpviz/__init__.py", "def budget():\n    from dpviz.accounting import budgets"),
    ],
)
def test_what_is_allowed_is_not_reported(path: str, source: str) -> None:
    assert problems({PurePosixPath(path): source}) == []
