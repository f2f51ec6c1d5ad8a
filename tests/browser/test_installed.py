"""The installed package: built, unpacked into an empty folder, and served from there with a method in a file."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from playwright.sync_api import Page, expect

from dpviz import __version__
from dpviz.methods import CATALOGUE
from dpviz.navigation import ACROSS
from dpviz.stories.method import SHORT
from dpviz.tools.teaching.chapters import CHAPTERS
from tests.browser.servers import ROOT, start_server
from tests.browser.test_app import go_to, picture_of, press
from tests.browser.test_app_compare import FEW
from tests.browser.waiting import SLOW
from tests.docs.test_code import FENCE
from tests.numeric import numeric_environment
from tests.prepare import find_pip

pytestmark = pytest.mark.still
OWN = "noisy_means"
# Headings of pages that open with their own content.
HEADINGS = {"learn": next(iter(CHAPTERS.values())).title}
# Ten lines: frame in, private labels out, picture.
FRAME_TO_CLUSTERS = """
import pandas as pd
import dpviz
from dpviz.data import load
from dpviz.estimators import DPM
data = load("blobs", n=300)
frame = pd.DataFrame(data.points, columns=["east", "north"])
with dpviz.budget(epsilon=2.0, delta=1e-4) as spent:
    model = DPM(epsilon=2.0, bounds=data.box).fit(frame)
print(model.guarantee_.proved.epsilon, spent.epsilon_spent, *model.feature_names_in_, len(model.predict(frame)))
print("released center" in dpviz.show(model).svg)
"""
REQUIRED = "from importlib.metadata import requires; print(*requires('dpviz'), sep='\\n')"


def run(*command: str, folder: Path, packages: Path | None = None) -> str:
    """Run Python in a folder, with another folder's packages as well as the installed ones, and return its output."""
    environment = numeric_environment(**({} if packages is None else {"PYTHONPATH": str(packages)}))
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the source distribution, and the wheel that is made from it as an installation makes it."""
    work = tmp_path_factory.mktemp("built")
    run("-m", "hatchling", "build", "-t", "sdist", "-d", str(work), folder=ROOT)
    (archive,) = work.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(work, filter="data")
    run("-m", "hatchling", "build", "-t", "wheel", "-d", str(work), folder=work / f"dpviz-{__version__}")
    (wheel,) = work.glob("*.whl")
    return archive, wheel


@pytest.fixture(scope="module")
def installed(built: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the package."""
    home = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(built[1]) as packed:
        packed.extractall(home)
    keep_machine_code(home)
    return home


def environment(folder: Path) -> tuple[Path, list[str]]:
    """Make an empty environment; return its programs' folder, and the outside pip that installs into it."""
    run("-m", "venv", "--without-pip", str(folder), folder=folder.parent)
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    return programs, find_pip(programs / "python")


def said_by(*command: str | Path, folder: Path) -> str:
    """Run a program away from the checkout and return its output."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, cwd=folder, env=clean, capture_output=True, text=True, check=False, timeout=1200)
    assert done.returncode == 0, done.stderr
    return done.stdout


def keep_machine_code(home: Path) -> None:
    """Give the unpacked package the machine code of this checkout: compiling takes a minute and is not tested here.

    Machine code is kept for a source of a certain time and size, so each file takes its time from the checkout.
    """
    for kept in (ROOT / "dpviz").rglob("__pycache__/*"):
        to = home / kept.relative_to(ROOT)
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(kept, to)
    for source in (home / "dpviz").rglob("*.py"):
        there = ROOT / source.relative_to(home)
        if there.exists():
            os.utime(source, ns=(there.stat().st_atime_ns, there.stat().st_mtime_ns))


@pytest.fixture(scope="module")
def address(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    log = tmp_path_factory.mktemp("log") / "log"
    # The example is outside of the package.
    own = str(ROOT / "docs" / "examples" / f"{OWN}.py")
    found, process = start_server(own, log, command=("dpviz", "run"), home=installed)
    yield found
    process.terminate()
    process.wait(timeout=20)
    assert "Traceback" not in log.read_text(encoding="utf-8", errors="replace")


def test_a_package_index_would_take_it(built):
    archive, wheel = built
    with zipfile.ZipFile(wheel) as packed:
        there = {path.relative_to(ROOT).as_posix() for path in (ROOT / "dpviz").rglob("*") if path.is_file()}
        assert {name for name in there if "__pycache__" not in name} <= set(packed.namelist())
    assert run("-m", "twine", "check", "--strict", str(archive), str(wheel), folder=ROOT).count("PASSED") == 2
    cited = (ROOT / "CITATION.cff").read_text("utf-8")
    assert re.findall(r"^version: (.+)$", cited, re.MULTILINE) == [__version__]


def test_pip_installs_a_command_into_an_environment_of_its_own(built, tmp_path):
    programs, pip = environment(tmp_path / "own")
    said_by(*pip, "install", "-q", "--no-compile", "--no-deps", "--no-index", built[1], folder=tmp_path)
    assert said_by(programs / "dpviz", "--version", folder=tmp_path).strip() == __version__
    # The dependencies that pip would have installed, if allowed: none from the app.
    listed = map(Requirement, said_by(programs / "python", "-c", REQUIRED, folder=tmp_path).splitlines())
    plain = {each.name for each in listed if "extra" not in str(each.marker)}
    assert "numpy" in plain
    assert not plain & {"streamlit", "plotly", "pyarrow", "typst"}


def oldest() -> list[str]:
    """Return the oldest supported version of each dependency, according to the package, for pip."""
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    parts = [(each.name, part) for each in map(Requirement, needed) for part in each.specifier]
    return [f"{name}=={part.version}.*" for name, part in parts if part.operator == ">="]


@pytest.mark.slow
@pytest.mark.parametrize("versions", [[], oldest()], ids=["newest", "oldest"])
def test_ten_tasks_run_with_what_it_brings_along_and_nothing_else(built, tmp_path, versions):
    programs, pip = environment(tmp_path / "own")
    said_by(*pip, "install", "-q", built[1], *versions, folder=tmp_path)
    said_by(*pip, "check", folder=tmp_path)
    there = {each["name"] for each in json.loads(said_by(*pip, "list", "--format", "json", folder=tmp_path))}
    assert not there & {"streamlit", "plotly", "pyarrow", "typst"}
    tasks = FENCE.findall((ROOT / "docs" / "how-to" / "library.md").read_text("utf-8"))
    (tmp_path / "tasks.py").write_text("\n".join(code for kind, _, code in tasks if kind == "python"), "utf-8")
    shutil.copy(ROOT / "docs" / "examples" / "noise_forgotten.py", tmp_path)
    said = said_by(programs / "python", "tasks.py", folder=tmp_path)
    assert versions or said == "".join(code for kind, _, code in tasks if kind == "text")
    assert said_by(programs / "python", "-c", FRAME_TO_CLUSTERS, folder=tmp_path).split()[0] == "2.0"
    assert "compare" in said_by(programs / "dpviz", "experiments", "--help", folder=tmp_path)


def test_a_command_and_an_estimator_run_from_the_installed_folder(installed, tmp_path):
    assert "compare" in run("-m", "dpviz", "experiments", "--help", folder=tmp_path, packages=installed)
    said = run("-c", FRAME_TO_CLUSTERS, folder=tmp_path, packages=installed).split()
    assert said == ["2.0", "2.0", "east", "north", "300", "True"]


@pytest.mark.parametrize(
    "names",
    [
        pytest.param((next(iter(CATALOGUE)), "compare", "glossary"), id="one of each kind"),
        pytest.param((*CATALOGUE, *ACROSS), id="all", marks=pytest.mark.slow),
    ],
)
def test_pages_show(page: Page, address: str, names: tuple[str, ...]):
    page.goto(f"{address}/audit?audit_runs=200&{FEW}&compare_runs=10&tab=read&audience=curator")
    expect(page.get_by_role("heading", level=1)).to_be_visible(timeout=SLOW)
    for name in sorted(names, key=lambda name: (name in ACROSS and bool(ACROSS[name].group), name)):
        title = CATALOGUE[name].title if name in CATALOGUE else ACROSS[name].title
        # The page has its own link, so nothing is loaded again.
        if name in CATALOGUE or not ACROSS[name].group:
            page.get_by_role("link", name=SHORT.get(name, title), exact=True).first.click()
        else:
            page.goto(f"{address}/{name}")
        expect(page.get_by_role("heading", level=1)).to_have_text(HEADINGS.get(name, title), timeout=SLOW)
        if name in CATALOGUE or not ACROSS[name].group:
            drawn = page.locator(".dpviz-live[data-dpviz-key][data-dpviz-drawn], .dpviz-compare[data-value]")
            expect(drawn.first).to_be_visible(timeout=SLOW)
        expect(page.locator("[data-testid=stException]")).to_have_count(0)


def test_a_method_in_a_file_opens_first_and_has_steps_many_runs_two_worlds_audit_and_compare(page: Page, address: str):
    page.goto(address)
    expect(page.get_by_role("heading", level=1)).to_have_text("Noisy means", timeout=SLOW)
    picture = picture_of(page)
    go_to(picture, 2, "Step 2 of 3")
    press(page, picture, "ε", "ArrowRight")
    # The runs begin when the tab is visible.
    page.get_by_role("tab", name="Many runs").scroll_into_view_if_needed()
    expect(page.locator("[data-dpviz-key=outcomes]")).to_be_visible(timeout=SLOW)
    page.get_by_role("tab", name="Two worlds").click()
    expect(page.locator("[data-dpviz-key=worlds]")).to_be_visible(timeout=SLOW)
    page.get_by_role("tab", name="Audit").click()
    expect(page.get_by_text("No violation found in 500 runs")).to_be_visible(timeout=SLOW)
    page.goto(f"{address}/compare")
    expect(page.get_by_text("Noisy means").first).to_be_visible(timeout=SLOW)
    expect(page.locator("[data-testid=stException]")).to_have_count(0)
