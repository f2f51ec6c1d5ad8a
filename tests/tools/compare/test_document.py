"""A document asks no network, runs no script, and prints every foreign word as a word, in both of its forms."""

import re
from html import unescape
from html.parser import HTMLParser

import pytest

from dpviz.tools.compare import document
from dpviz.tools.compare.document import (
    Document,
    Heading,
    Items,
    Note,
    Pairs,
    Picture,
    Pictures,
    Signature,
    TableBlock,
    Text,
)

EVIL = "<script>alert(1)</script>\"'&<img src=https://example.org/x onerror=y> ![a](b) [c](d) `e` **f** | g\n# h $i$"
BLOCKS = {
    "title": Document(EVIL, "", ()),
    "subtitle": Document("", EVIL, ()),
    "heading": Document("", "", (Heading(EVIL),)),
    "text": Document("", "", (Text(EVIL), Text(EVIL, strong=True), Text(EVIL, small=True))),
    "note": Document("", "", (Note(EVIL),)),
    "items": Document("", "", (Items((EVIL, EVIL)),)),
    "pairs": Document("", "", (Pairs(((EVIL, EVIL),)),)),
    "table": Document("", "", (TableBlock((EVIL, EVIL), ((EVIL, EVIL), (EVIL, EVIL)), marked=1),)),
    "picture": Document("", "", (Pictures((Picture("<svg></svg>", EVIL, EVIL),)),)),
    "signature": Document("", "", (Signature((EVIL,)),)),
    "appendix": Document("", "", (), (Text(EVIL),)),
}


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


def words_of(text):
    """Return the words of a document in either form: no tags, no marks, one space between them."""
    plain = re.sub(r"\\([^\w\s])", r"\1", unescape(text))
    return " ".join(re.sub(r"[|*>#_-]+", " ", plain).split())


@pytest.mark.parametrize("place", BLOCKS)
def test_foreign_words_stay_words_in_every_place(place):
    found = Tags(document.html(BLOCKS[place]))
    assert not {tag for tag, _ in found.tags} & {"script", "img", "iframe", "object", "link", "base", "form", "a"}
    assert not any(name.startswith("on") for _, attributes in found.tags for name in attributes)
    assert EVIL in found.text
    written = document.markdown(BLOCKS[place])
    assert not re.search(r"<\w", written), "no tag"
    bare = re.sub(r"\\.", "", written.replace("\n| ", "\n").replace(" |\n", "\n"))  # without what is escaped
    assert not re.search(r"[\[\]`!$]", bare), "no link, no picture, no code"
    assert not re.search(r"^# h", written, re.MULTILINE), "a line break of a word begins no heading"
    assert words_of(EVIL) in words_of(written)


def test_a_table_has_as_many_cells_in_each_line_and_its_row_is_marked_in_both():
    made = Document("", "", (TableBlock(("a", "b"), (("1", "|"), ("", "3")), marked=1),))
    lines = [line for line in document.markdown(made).split("\n") if line.startswith("|")]
    assert [len(re.findall(r"(?<!\\)\|", line)) for line in lines] == [3] * 4
    assert lines[-1] == "|  | **3** |"
    assert '<tr class="marked"><td></td><td>3</td></tr>' in document.html(made)


def test_it_asks_nobody_and_prints():
    page = document.html(Document("t", "s", (Heading("h"),), (Text("x"),)))
    assert not re.search(r"(src|href)\s*=|url\(|@import", page)
    assert "default-src 'none'" in page
    assert "@media print" in page
    assert page.index("h</h2>") < page.index('class="appendix')
