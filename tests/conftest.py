"""What every test shares: drawn inputs that are the same each time, and the marker of browser tests."""

from pathlib import Path

import pytest
from hypothesis import settings

BROWSER_TESTS = Path(__file__).resolve().parent / "browser"

# The same examples on every run: a failure that comes and goes teaches nobody. No deadline: the cores are shared.
settings.register_profile("dpviz", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("dpviz")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark everything in tests/browser, and nothing else: that folder is the browser's suite."""
    for item in items:
        if item.path.is_relative_to(BROWSER_TESTS):
            item.add_marker("browser")
        elif item.get_closest_marker("browser"):
            raise pytest.UsageError(f"{item.nodeid} needs a browser, but stands outside tests/browser")
