"""Before the app starts: plain words for missing parts, and as many open files as the system allows."""

import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from dpviz.ui.server import startup

ROOT = Path(__file__).resolve().parents[3]
GUIDE = (ROOT / "assets" / "deploy" / "README.md").read_text("utf-8")


def test_what_is_there_is_enough():
    assert startup.missing() == []


@pytest.mark.parametrize(
    ("here", "words"),
    [
        ("1.9.9", "numpy is 1.9.9, but dpviz needs numpy>=2.4,<3."),
        ("3.0", "numpy is 3.0, but dpviz needs numpy>=2.4,<3."),
        (None, "numpy is not installed, but dpviz needs numpy>=2.4,<3."),
    ],
)
def test_what_is_missing_is_said_with_the_way_out(here, words):
    def installed(name):
        if here is None:
            raise PackageNotFoundError(name)
        return here

    text = "# a comment\n-r other.txt\nnumpy>=2.4,<3   # arrays\n"
    assert startup.missing(text, installed=installed) == [words, startup.WAY_OUT]


@pytest.mark.parametrize("here", ["2.4", "2.4.0", "2.10.1", "2.5rc1", "2.4.3+cpu"])
def test_a_version_that_fits_is_enough(here):
    assert startup.missing("numpy>=2.4,<3", installed=lambda _: here) == []


def test_other_systems_and_older_pythons():
    text = 'uvloop>=0.22,<1; sys_platform != "win32"  # fast'
    assert startup.missing(text, installed=lambda _: "0.1", platform="win32") == []
    assert len(startup.missing(text, installed=lambda _: "0.1", platform="linux")) == 2
    (said,) = startup.missing(python=(3, 10))
    assert said.startswith("Python is 3.10, but dpviz needs 3.11 or newer.")
    oldest = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["requires-python"]
    assert oldest == f">={'.'.join(map(str, startup.OLDEST_PYTHON))}"


def test_the_process_may_open_as_many_files_as_the_system_allows():
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 512), hard))
        startup.raise_file_limit()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert "descriptors" in GUIDE
