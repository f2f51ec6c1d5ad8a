"""Documents request no network, run no script, and print every foreign word as a word, in all of their forms."""

import re
from html import escape, unescape
from html.parser import HTMLParser

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpviz.tools.compare import document
from dpviz.tools.compare.document import Document, Heading, Items, Note, Pairs, Picture, Pictures, TableBlock, Text
from tests.tools.compare.pdf import pages_of

EVIL = "<script>alert(1)</script>\"'&<img src=https://example.org/x onerror=y> ![a](b) [c](d) `e` **f** | g\n# h $i$"
SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path d="M0 0H9" stroke="#000"/></svg>'
BLOCKS = {
    "title": Document(EVIL, "", ()),
    "subtitle": Document("", EVIL, ()),
    "heading": Document("", "", (Heading(EVIL),)),
    "text": Document("", "", (Text(EVIL), Text(EVIL, strong=True), Text(EVIL, small=True))),
    "note": Document("", "", (Note(EVIL),)),
    "items": Document("", "", (Items((EVIL, EVIL)),)),
    "pairs": Document("", "", (Pairs(((EVIL, EVIL),)),)),
    "table": Document("", "", (TableBlock((EVIL, EVIL), ((EVIL, EVIL), (EVIL, EVIL)), marked=1),)),
    "picture": Document("", "", (Pictures((Picture(SVG, EVIL, EVIL),)),)),
    "signature": Document("", "", (document.Signature((EVIL,)),)),
    "appendix": Document("", "", (), (Text(EVIL),)),
}


class Tags(HTMLParser):
    """Collector of tags with their attributes, and of the text."""

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


@pytest.mark.parametrize("text", ["compare?data=x&data_columns=a,b", "a_b*c* <i> &amp; \\\\_", "`a`` b`"])
def test_code_stays_to_the_letter_in_every_form(text):
    made = Document("", "", (Text(text, code=True),))
    assert f"<code>{escape(text)}</code>" in document.html(made)
    assert bare(text) in bare("".join(pages_of(document.pdf(made))))


def test_a_table_marks_its_row():
    made = Document("", "", (TableBlock(("a", "b"), (("1", "|"), ("", "3")), marked=1),))
    assert '<tr class="marked"><td></td><td>3</td></tr>' in document.html(made)


def test_it_asks_nobody_and_prints():
    page = document.html(Document("t", "s", (Heading("h"),), (Text("x"),)))
    assert not re.search(r"(src|href)\s*=|url\(|@import", page)
    assert "default-src 'none'" in page
    assert "@media print" in page
    assert page.index("h</h2>") < page.index('class="appendix')


def bare(text):
    """Return text without spaces and line breaks: a PDF has its own line breaks."""
    return re.sub(r"\s", "", text)


@pytest.mark.parametrize("place", BLOCKS)
def test_a_pdf_shows_foreign_words_as_words_and_asks_nobody(place):
    file = document.pdf(BLOCKS[place])
    assert bare(EVIL) in bare("".join(pages_of(file)))
    assert not re.search(rb"/(URI|JavaScript|JS|Launch|EmbeddedFile|SubmitForm)\b", file)
    assert file == document.pdf(BLOCKS[place])


def test_a_pdf_has_the_signs_of_the_subject_in_fonts_of_its_own():
    signs = "ε = 0.3, δ ≤ 10⁻⁶, 1.05 × without privacy, ρ, σ, 90 %, 3 ± 1, “pinned”, naïve"
    file = document.pdf(Document(signs, "", (Text(signs),)))
    assert "".join(pages_of(file)).count("δ") == 2
    assert bare("".join(pages_of(file))) == bare(signs) * 2 + "1of1"
    fonts = set(re.findall(rb"/BaseFont/(?:\w{6}\+)?([A-Za-z]+)", file))
    assert fonts == {b"LibertinusSerif"}, "in the file, not the machine's"
    assert file.count(b"/FontFile") == len(set(re.findall(rb"/FontDescriptor/FontName/(\S+?)/", file)))
    for mark in (rb"/MarkInfo", rb"/StructTreeRoot", rb"/Lang\(en", rb"pdfuaid"):
        assert re.search(mark, file), "for screen readers"


def test_a_pdf_says_all_that_the_page_says_on_few_pages():
    parts = (Heading("One"), Note("Two"), Items(("Three", "Four")), Pairs((("Five", "Six"),)))
    table = TableBlock(("a", "b"), (("1", "2"), ("3", "4")), marked=1)
    made = Document("Title", "Below", (*parts, document.Signature(("Seven",)), table), (Text("Eight"),))
    first, second = pages_of(document.pdf(made))
    for word in ("Title", "Below", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "a", "4"):
        assert f"{word}\n" in first
    assert "Eight\n" in second

    def sizes(n):
        file = document.pdf(Document("Title", "", (Text("word " * n),), (Text("end"),)))
        return len(pages_of(file))

    assert [sizes(n) for n in (10, 900, 1_500)] == [2, 2, 2]
    assert sizes(4_000) > 2, "so much is no page: the type stays legible"


@settings(max_examples=40, deadline=None)
@given(st.text(st.characters(codec=None), max_size=40))
@example("\ud800\x00\u202e中ك👩\u200d👩")
def test_any_word_can_be_set(text):
    made = Document(text, text, (Heading(text), Pairs(((text, text),)), Pictures((Picture(SVG, text, text),))))
    assert document.pdf(made).startswith(b"%PDF")
