"""The house: rules that neither ruff nor the import contracts in pyproject.toml can state.

Layers are import-linter's, global random state is ruff's (NPY). `BROKEN` holds one source for each way to break a rule
here: a checker that lets one through is itself broken.
"""

import ast
import functools
import re
import sys
import tomllib
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from importlib.metadata import packages_distributions
from pathlib import Path, PurePosixPath

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
# Maximum for pages/*.py and app.py.
PAGE_LINES = 40
NEEDED_AT_RUN_TIME = {"uvloop", "plotly"}  # required even if never imported: Streamlit picks it up, its tables are read
# Where records are decided and releases are made, all has the same bits on every processor: see dpviz/core/algebra.py.
SAME_BITS = {"core", "mechanisms", "solvers", "accounting", "data", "baselines"}
BY_PROCESSOR = {"dot", "vdot", "inner", "matmul", "tensordot", "convolve", "correlate", "cov", "corrcoef", "polyfit"}
BY_PROCESSOR |= {"exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "logaddexp", "logaddexp2", "cbrt", "power"}
BY_PROCESSOR |= {"float_power", "sin", "cos", "tan", "arcsin", "arccos", "arctan", "arctan2", "sinh", "cosh", "tanh"}
SPARSE = {  # SciPy adds up sparse products in the order of the records
    PurePosixPath("dpviz/solvers/lloyd.py"),
    PurePosixPath("dpviz/methods/source_target/algorithm/averages.py"),
}

parsed = functools.cache(ast.parse)


def computes(path: PurePosixPath) -> bool:
    """Check whether a file decides about records or makes releases."""
    parts = path.parts
    return path.parts[0] == "dpviz" and (
        parts[1] in SAME_BITS or (parts[1] == "methods" and parts[3:4] == ("algorithm",))
    )


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
    """Return the last name of a called function."""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


def bit_problems(tree: ast.Module, path: PurePosixPath) -> Iterator[str]:
    """Yield every use of a matrix library or of a vector function whose last bits depend on the processor."""
    if not computes(path):
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
        elif isinstance(node, ast.Attribute) and node.attr in {*BY_PROCESSOR, "linalg"}:
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


def problems(path: PurePosixPath, source: str) -> list[str]:
    """Return the problems of one file."""
    found = list(bit_problems(parsed(source), path))
    if path.parts[0] != "dpviz" and len(source.splitlines()) > PAGE_LINES:
        found.append(f"{path}: has {len(source.splitlines())} lines, but at most {PAGE_LINES} are allowed")
    if path.stem in {"utils", "util", "helpers", "misc"}:
        found.append(f"{path}: a file is called by what it holds, not {path.stem}")
    return found


@functools.cache
def house() -> dict[PurePosixPath, str]:
    """Read every Python file of the app."""
    paths = [*ROOT.glob("dpviz/**/*.py"), *ROOT.glob("pages/**/*.py"), ROOT / "app.py"]
    return {
        PurePosixPath(path.relative_to(ROOT).as_posix()): path.read_text("utf-8") for path in paths if path.exists()
    }


def test_the_house_stands() -> None:
    assert [problem for path, source in house().items() for problem in problems(path, source)] == []
    assert {PurePosixPath("app.py"), PurePosixPath("dpviz/core/algebra.py")} <= house().keys()


def test_every_folder_is_a_package_and_nobody_asks_modules_what_they_have():
    folders = {path.parent for path in (ROOT / "dpviz").glob("**/*.py")}
    assert [folder.name for folder in folders if not (folder / "__init__.py").exists()] == []
    # Pages and tools find a method's parts in its typed record.
    asked = ("ModuleType", "hasattr(", "import_module(")
    seam = [path for path in house() if path.parts[1:2] in (("tools",), ("stories",), ("ui",))]
    assert [f"{path}: {word}" for path in seam for word in asked if word in house()[path]] == []


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


def test_requirements_list_exactly_what_is_imported() -> None:
    required = {line for line in (ROOT / "requirements.txt").read_text("utf-8").splitlines() if line[:1].isalpha()}
    listed = {re.split(r"[^\w-]", line)[0] for line in required}
    assert listed >= NEEDED_AT_RUN_TIME
    modules = {name.split(".")[0] for path, source in house().items() for name in imported(parsed(source), path)}
    outside = modules - {"dpviz", "pages", "app"} - sys.stdlib_module_names
    owners = packages_distributions()
    imports = {owners[module][0].lower().replace("_", "-") for module in outside}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = {name: {*map(Requirement, lines)} for name, lines in project["optional-dependencies"].items()}
    base, app = {*map(Requirement, project["dependencies"])}, extras.pop("app") | extras["pdf"]
    optional = {each.name for each in set().union(*extras.values())} - {"dpviz"}
    assert listed | optional == imports | NEEDED_AT_RUN_TIME
    assert listed == {each.name for each in base | app} - {"dpviz"}
    # The versions that an app is served with are versions that the library supports.
    for line in required:
        pinned = Requirement(line.split("#")[0])
        (least,) = (each.version for each in pinned.specifier if each.operator == ">=")
        assert all(each.specifier.contains(least) for each in base | app if each.name == pinned.name), line


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
    "utils": ("dpviz/core/utils.py", "", "not utils"),
    "long page": ("pages/dpm.py", "x = 1\n" * 41, "at most 40"),
    "long app": ("app.py", "x = 1\n" * 41, "at most 40"),
    "matrix library": ("dpviz/solvers/moments.py", "def f(a, b):\n    return a.T @ b", "uses @, whose bits"),
    "linalg": ("dpviz/data/named.py", "import numpy as np\nnp.linalg.eigh(x)", "np.linalg, whose bits"),
    "length of all": ("dpviz/core/box.py", "import numpy as np\nnp.linalg.norm(x)", "np.linalg, whose bits"),
    "dot": ("dpviz/methods/morse/algorithm/estimate.py", "weights.dot(x)", "uses dot, whose bits"),
    "exp": ("dpviz/mechanisms/noise.py", "import numpy as np\nnp.exp(x)", "np.exp, whose bits"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_each_broken_rule_is_reported_once(name: str) -> None:
    path, source, complaint = BROKEN[name]
    (found,) = problems(PurePosixPath(path), source)
    assert complaint in found


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("pages/dpm.py", "x = 1\n" * 40),
        ("dpviz/core/box.py", "x = 1\n" * 400),
        ("dpviz/solvers/zones.py", "import numpy as np\nnp.linalg.norm(x, axis=1)"),
        ("dpviz/stories/plane.py", "import numpy as np\nnp.exp(x @ y)"),
    ],
)
def test_what_is_allowed_is_not_reported(path: str, source: str) -> None:
    assert problems(PurePosixPath(path), source) == []
