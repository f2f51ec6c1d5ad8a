"""Shared setup of all tests: drawn inputs that are the same each time, and the marker of browser tests."""

import gc
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.prepare import SELDOM

BROWSER_TESTS = Path(__file__).resolve().parent / "browser"

# The same examples on every run: a failure that comes and goes helps no one. No deadline: the cores are shared.
settings.register_profile("dpviz", deadline=None, derandomize=True, print_blob=True, max_examples=30)
settings.register_profile("dpviz-long", settings.get_profile("dpviz"), max_examples=100)


def pytest_configure(config: pytest.Config) -> None:
    """Draw few examples without the long tests, and the usual number with them."""
    settings.load_profile("dpviz" if config.option.markexpr == "not slow" else "dpviz-long")
    gc.disable()  # while tests are collected: nearly all that is made then stays


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Exclude imported objects from garbage collection: they stay, so Python need not search them again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(SELDOM)
    gc.enable()


@pytest.fixture
def anyio_backend() -> str:
    """Run asynchronous tests on asyncio, as the server does."""
    return "asyncio"


@pytest.fixture(autouse=True)
def _main_module() -> Iterator[None]:
    """Put the main module back: a page's test leaves its script there, and a new process would run that first."""
    main = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = main


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark everything in tests/browser, and nothing else: that folder is the browser's suite."""
    for item in items:
        if item.path.is_relative_to(BROWSER_TESTS):
            item.add_marker("browser")
        elif item.get_closest_marker("browser"):
            raise pytest.UsageError(f"{item.nodeid} needs a browser, but stands outside tests/browser")
