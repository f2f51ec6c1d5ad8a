"""The decision paper on paper, printed and as a PDF: the part to be signed is one page, in light colors."""

import re
from dataclasses import replace

import pytest
from playwright.sync_api import Page

from dpviz.tools.compare import document, paper
from dpviz.tools.compare.document import Picture
from dpviz.tools.compare.page import report
from tests.tools.compare import test_paper as made
from tests.tools.compare.pdf import pages_of

MANY = {f"{key}{i}": [dict(row) for row in made.ROWS[key]] for key in "abc" for i in range(3)}


# As large as the app's picture.
SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 390 360"><rect width="390" height="360" fill="none" '
    'stroke="#000"/></svg>'
)


def n_pages(page: Page, text: str) -> int:
    """Print a page as PDF and count its pages."""
    page.emulate_media(color_scheme="dark")
    page.set_content(text)
    return len(re.findall(rb"/Type\s*/Page\b", page.pdf(prefer_css_page_size=True)))


def test_it_is_printed_on_one_page_and_an_appendix(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(made, "NAMES", {key: f"A method with a long name, {key}" for key in (*made.ROWS, *MANY)})
    known, found = made.known(), made.found()
    label = known.promises[0].label
    noisy = replace(
        label.proved, numbers=f"{label.proved.numbers}, δ = 1e-06 whatever the noisy count (in this run 2e-07)"
    )
    long = replace(label, proved=noisy, differs="one thing is done otherwise than in the paper, and another one, " * 3)
    promises = tuple(replace(each, label=long) for each in known.promises)
    bounds = tuple((f"a long feature name {i}", "-1,000,000 to 1,000,000 m") for i in range(paper.MOST_COLUMNS))
    square = "Used is the square of meters around a place on Earth. " * 2
    ledger = made.released([(1.0, 1e-6, claim.adjacency) for claim in [known.promises[0].proved] * 4])
    known = replace(known, promises=promises, bounds=bounds, derived=square, origin="k = 5 comes from a curve.")
    known = replace(known, ledger=ledger, rows_each=3, kept=report.kept("https://a-long-host-name.example.org/compare"))
    clipping = "; ".join(f"a long feature name {i} 123 below and 456 above, the farthest by 99,999 m" for i in range(4))
    pictures = tuple(
        Picture(SVG, f"A method with a long name, {i}", "What it shows, in two lines. " * 4) for i in (1, 2)
    )
    found = replace(found, pictures=pictures, clipping=clipping)
    whole = paper.decision_paper(known, found)
    assert n_pages(page, document.html(document.Document(whole.title, whole.subtitle, whole.blocks))) == 1
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    for each in (whole, paper.public_paper(known)):
        first, *more = pages_of(document.pdf(each))
        assert "Data protection officer (name and office)" in first
        assert len(more) <= 2
        assert not any("Date\n" in appendix for appendix in more)
    assert n_pages(page, document.html(paper.public_paper(known))) <= 3
    whole = paper.decision_paper(made.known(rows=MANY), made.found(MANY, recommended=False))
    assert n_pages(page, document.html(whole)) <= 3
