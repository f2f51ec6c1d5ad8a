"""Names from Streamlit's own page in style sheets and scripts exist in the Streamlit that is installed.

Streamlit does not promise these names. A new version may drop any of them, and a rule with such a name then silently
does nothing. The test reports each name with its file and line. `tests/browser/test_app_dom.py` checks whole selectors
on real pages.
"""

import re
from pathlib import Path

import pytest
import streamlit

ROOT = Path(__file__).resolve().parents[2]
OURS = sorted(path for kind in ("css", "js", "py") for path in (ROOT / "dpviz").rglob(f"*.{kind}"))
NAMED = re.compile(
    r"""(?:data-testid|data-baseweb)(?P<part>[\^$*]?)=["'](?P<name>[\w-]+)["']|\.(?P<styled>st[A-Z]\w*)(?=[\s:,{.\[>)])"""
)


def names():
    """Return (file and line, name, how it is compared) of each name of Streamlit's page in our files."""
    return [
        (f"{path.relative_to(ROOT)}:{number}", found["name"] or found["styled"], found["part"] or "")
        for path in OURS
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        for found in NAMED.finditer(line)
    ]


@pytest.fixture(scope="module")
def written():
    """Return all names that Streamlit's page is made with."""
    scripts = (Path(streamlit.__file__).parent / "static").rglob("*.js")
    quoted = re.compile(rb"""["'`]((?:st[A-Z]|tag|menu)[\w-]*)""")
    return {found.decode() for path in scripts for found in quoted.findall(path.read_bytes())}


def is_written(name, how, written):
    fits = {"^": str.startswith, "$": str.endswith, "*": str.__contains__, "": str.__eq__}[how]
    # Some names are composed: `stBaseButton-${kind}`.
    return any(fits(each, name) or (each.endswith("-") and name.startswith(each)) for each in written)


def test_what_we_name_of_streamlits_page_is_there(written):
    ours = names()
    assert len({name for _, name, _ in ours}) > 20
    assert [place for place, name, how in ours if not is_written(name, how, written)] == []


@pytest.mark.parametrize("name", ["stMainn", "stMai", "stMarkdownContainers", "stHeaders"])
def test_a_name_that_is_not_there_is_found(written, name):
    assert not is_written(name, "", written)
