"""The report is one page that asks no network, runs no script, and prints every foreign word as a word."""

import dataclasses
import re
from datetime import UTC, datetime
from html.parser import HTMLParser

import pytest

from dpviz.ui.export.report import SECRET, PageReport, written

EVIL = "<script>alert(1)</script>\"'&<img src=https://example.org/x onerror=y>"
PLAIN = PageReport(
    "Title",
    "Question",
    ("Found",),
    (("Data", "Blobs"),),
    (),
    (),
    ("Odds",),
    ({"ε": "1"},),
    ("No",),
    (("v", "1"),),
    "n=1",
)
NOW = datetime(2026, 1, 2, tzinfo=UTC)


class Tags(HTMLParser):
    """Collects tags with their attributes, and the text."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize(
    "field", ["title", "question", "findings", "data", "pictures", "odds", "table", "refrain", "versions", "link"]
)
def test_foreign_words_stay_words_in_every_field(field):
    values = {
        **dict.fromkeys(("title", "question", "link"), EVIL),
        **dict.fromkeys(("findings", "odds", "refrain"), (EVIL,)),
        **dict.fromkeys(("data", "versions"), ((EVIL, EVIL),)),
        "pictures": (("<svg></svg>", EVIL),),
        "table": ({EVIL: EVIL},),
    }
    found = Tags(written(dataclasses.replace(PLAIN, **{field: values[field]}), now=NOW))
    names = {tag for tag, _ in found.tags}
    assert not names & {"script", "img", "iframe", "object", "link", "base", "form"}
    assert not any(name.startswith("on") for _, attributes in found.tags for name in attributes)
    assert EVIL in found.text


def test_it_asks_nobody_says_whose_it_is_and_prints():
    page = written(PLAIN, now=NOW)
    assert not re.search(r"(src|href)\s*=|url\(|@import", page)
    assert "default-src 'none'" in page
    assert SECRET in Tags(page).text
    assert "2026-01-02" in page
    assert "@media print" in page
    headings = re.findall(r"<h2>(.*?)</h2>", page)
    assert "What not to conclude" in headings
    assert headings[0] == "The question"


def test_a_cell_that_a_line_has_not_is_empty():
    page = written(dataclasses.replace(PLAIN, table=({"a": 1}, {"b": 2})), now=NOW)
    assert "<tr><td>1</td><td></td></tr><tr><td></td><td>2</td></tr>" in page
