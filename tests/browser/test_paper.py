"""The decision paper on paper: the part to be signed is one page, the whole at most three, in light colors."""

import re
from dataclasses import replace

import pytest
from playwright.sync_api import Page

from dpviz.tools.compare import document, paper
from tests.tools.compare import test_paper as made

pytestmark = pytest.mark.browser

MANY = {f"{key}{i}": [dict(row) for row in made.ROWS[key]] for key in "abc" for i in range(3)}


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
    known = replace(known, promises=promises, bounds=bounds, derived=square, origin="k = 5 was read off a curve.")
    found = replace(found, pinned=(*found.pinned, *found.pinned))
    whole = paper.decision_paper(known, found)
    assert n_pages(page, document.html(document.Document(whole.title, whole.subtitle, whole.blocks))) == 1
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    whole = paper.decision_paper(made.known(rows=MANY), made.found(MANY, recommended=False))
    assert n_pages(page, document.html(whole)) <= 3
    assert n_pages(page, document.html(paper.public_paper(known))) == 1
