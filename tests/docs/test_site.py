"""The documentation is built without a warning and without anything from outside."""

import importlib
import re
from html import unescape

import pytest

from benchmarks.papers import RESULTS
from docs.building import methods, reference
from docs.building.comments import find_comment_above, find_comment_behind
from dpviz.methods import CATALOGUE
from dpviz.tables import read_tables
from tests.numeric import run_python
from tests.plugin import FOLDER, write

# Content that a browser fetches by itself: scripts, pictures, frames, and links other than those that a reader follows.
FETCHED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed|object)\b[^>]*?\b(?:src|srcset|data)=["']?(?P<src>[^"'\s>]+)"""
    r"""|<link\b(?![^>]*rel=["']?(?:canonical|next|prev)\b)[^>]*?\bhref=["']?(?P<href>[^"'\s>]+)"""
    r"""|(?:@import\s+|url\()["']?(?P<url>[^"')\s;]+)"""
)


def from_outside(text: str) -> list[str]:
    """Return the addresses on other servers that a page or a style makes a browser fetch."""
    found = [next(filter(None, each.groups())) for each in FETCHED.finditer(text)]
    return [each for each in found if re.match(r"(?:https?:)?//", each)]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    done = run_python("-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder)
    assert done.returncode == 0, done.stderr
    return folder


def test_nothing_comes_from_outside(site):
    pages = [path for path in site.rglob("*") if path.suffix in {".html", ".css"}]
    assert len(pages) > 30
    assert {path.name: found for path in pages if (found := from_outside(path.read_text("utf-8")))} == {}


@pytest.mark.parametrize(
    "text",
    [
        '<script async src="https://x.example/a.js">',
        "<link rel=stylesheet href=//x.example/a.css>",
        '<img alt="" src="http://x.example/a.png">',
        "@import 'https://x.example/a.css';",
        "a { background: url(https://x.example/a.png) }",
    ],
)
def test_what_comes_from_outside_is_seen(text):
    assert len(from_outside(text)) == 1
    assert from_outside(text.replace("https:", "").replace("http:", "").replace("//x.example", "../x")) == []


def test_every_method_has_its_page_picture_and_reference(site):
    start = (site / "index.html").read_text("utf-8")
    for name, method in CATALOGUE.items():
        page = (site / "methods" / name / "index.html").read_text("utf-8")
        assert f'href="methods/{name}/"' in start
        assert f"../../pictures/{name}_dark.svg" in page
        assert (site / "pictures" / f"{name}_dark.svg").stat().st_size > 10_000
        assert "sensitivity" in page or "Lipschitz" in page  # its proof
        assert page.count("<math") >= 2
        assert (site / "reference" / method.place / "index.html").exists()
        tables = read_tables(RESULTS / f"{name}.json").tables
        shown = re.findall("<details><summary>(.*?)</summary>(.*?)</details>", page, re.DOTALL)
        assert [(unescape(title), text.count("<tr>")) for title, text in shown] == [
            (table.title, len(table.rows) + 1) for table in tables
        ]


def test_a_method_of_another_package_has_a_page_made_of_what_it_has(tmp_path, monkeypatch):
    write(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    method = importlib.import_module(FOLDER).METHOD
    page = methods.page(method, None)
    assert page.startswith(f"# {method.title}\n\n{method.thumbnail.question}\n\n## How it works")
    assert "k-means on the cells of a noisy histogram" in page
    assert page.count("##") == 1  # no audit, formulas, papers or reference


def test_what_mathml_has_no_word_for_is_refused():
    assert "<msqrt>" in methods.mathml(r"\sqrt{2}")
    with pytest.raises(ValueError, match="another way"):
        methods.mathml(r"\noSuchCommand{2}")


@pytest.mark.parametrize("place", reference.PLACES)
def test_no_public_name_is_missing_in_the_reference(site, place):
    page = (site / "reference" / place / "index.html").read_text("utf-8")
    names = reference.public_names(place)
    assert [name for name in names if not re.search(rf'[.">]{name}["<]', page)] == []


def test_comments_of_fields_are_in_the_reference(site):
    page = (site / "reference" / "dpviz.core" / "index.html").read_text("utf-8")
    assert "epsilon is per unit of distance (geo-indistinguishability)." in page
    assert find_comment_behind("rho: float | None = None  # zCDP of the claim") == "zCDP of the claim."
    assert find_comment_behind("x: int  # type: ignore[a]  # it has no types") == "It has no types."
    assert find_comment_behind("LITTLE = 40  # n ε below which") == "n ε below which."
    assert find_comment_behind("x: int = 1") == find_comment_behind("x: int  # noqa: A001") == ""
    assert (
        find_comment_above(["y = 1", "    # Radius of the", "    # ball, in data units"])
        == "Radius of the ball, in data units."
    )
    for lines in (["# ---- Sizes -----"], ["# Above y", "y = 1"], []):
        assert find_comment_above(lines) == ""
