"""Uploaded tables: from file to picture, links to them, files that are not tables, and malicious files."""

import io
import re
import time
from collections.abc import Mapping, Sequence
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import FilePayload, Locator, Page, expect

from dpviz.data import DATASETS
from dpviz.ui.home import TITLE
from dpviz.ui.release_ledger import NOTHING
from tests.browser.servers import Server
from tests.browser.test_app import APP, behind, choose_data, opened, picture_of, redrawn, tables, unfolded
from tests.browser.waiting import SLOW, settled, still

pytestmark = pytest.mark.still

EVIL = '<img src=x onerror="window.stolen=1">'


def csv(seed: int = 0, names: Sequence[str] = ("height", "weight", "age"), **words: Sequence[str]) -> bytes:
    rng = np.random.default_rng(seed)
    middles = rng.uniform(20, 80, (4, len(names)))
    columns: Mapping[str, object] = dict(zip(names, rng.normal(np.repeat(middles, 60, axis=0), 4.0).T, strict=True))
    text = io.StringIO()
    pd.DataFrame({**columns, **words}).round(3).to_csv(text, index=False)
    return text.getvalue().encode()


def payload(content: bytes, name: str = "people.csv") -> FilePayload:
    return {"name": name, "mimeType": "text/csv", "buffer": content}


def give(page: Page, content: bytes, name: str = "people.csv") -> None:
    page.locator("input[type=file]").first.set_input_files(payload(content, name))


def bound(page: Page, low: float = 0, high: float = 100, *, n_features: int = 2) -> None:
    """Type public bounds of every feature."""
    lows = page.get_by_role("textbox", name=re.compile(" from$"))
    highs = page.get_by_role("textbox", name="to", exact=True)
    expect(highs).to_have_count(n_features, timeout=SLOW)
    for i in range(n_features):
        for box, value in ((lows.nth(i), low), (highs.nth(i), high)):
            box.fill(f"{value:g}")
            box.press("Enter")
            settled(page)


def behind_data(page: Page, words: Locator) -> None:
    """Wait until words are visible behind the data's button, which closes when new data arrive."""
    end = time.monotonic() + SLOW / 1000
    while not words.is_visible() and time.monotonic() < end:
        behind(page, "data")
        still(page)
    expect(words).to_be_visible()


def uploaded(page: Page, server: Server, content: bytes, **bounds: float) -> Locator:
    opened(page, server)
    choose_data(page, "Upload a file…")
    expect(page.get_by_text("Describe your data above")).to_be_visible(timeout=SLOW)
    give(page, content)
    bound(page, **bounds)
    return picture_of(page)


def nothing_of_the_curators_stays(page: Page) -> None:
    """Check everyone's view before a release: it has ε, and none of the words about the curator's picture."""
    stage, said = page.locator(".dpviz-stage"), page.locator(".dpviz-said")
    expect(said).to_have_text(stage.locator(".finding").inner_text().replace("\n", " "), timeout=SLOW)
    finding = said.inner_text()
    stage.get_by_role("radio", name="Everyone").click()
    expect(page.get_by_text("there is nothing for everyone to see")).to_be_visible(timeout=SLOW)
    expect(said).to_have_text("")
    expect(stage.get_by_text("Did you take part?")).to_have_count(0)
    expect(stage.get_by_text("no limit is proved")).to_have_count(0)
    assert finding not in page.content()
    expect(stage.get_by_role("slider", name=re.compile("ε"))).to_be_visible()
    stage.get_by_role("radio", name="Curator").click()
    picture_of(page)


def test_an_upload_becomes_a_teaching_run_with_a_link(page: Page, server: Server) -> None:
    content = csv()
    picture = uploaded(page, server, content)
    assert len(tables(picture)["released center"]) == 5
    query = parse_qs(urlsplit(page.url).query)
    assert re.fullmatch(r"upload:[0-9a-f]+", query["data"][0])
    expect(page.get_by_text(NOTHING)).to_be_visible()
    # The table covers the page.
    page.keyboard.press("Escape")
    with redrawn(picture):
        page.get_by_role("button", name="New noise").click()
    nothing_of_the_curators_stays(page)
    unfolded(page, "Share")
    expect(page.get_by_text("The curator's link has the file's fingerprint")).to_be_visible(timeout=SLOW)
    page.keyboard.press("Escape")

    link = page.url
    # A page without the form forgets the form's widgets, not the data.
    for other, title in (("dpviz", TITLE), ("DPM", "DPM")):
        page.get_by_role("link", name=other, exact=True).last.click()
        expect(page.get_by_role("heading", level=1)).to_have_text(title, timeout=SLOW)
        expect(page.get_by_text(re.compile("Data: people")).first).to_be_visible(timeout=SLOW)
    picture_of(page)
    assert parse_qs(urlsplit(page.url).query)["data_bounds"] == ["0.0:100.0,0.0:100.0"]
    page.goto("about:blank")
    page.goto(link)
    digest = query["data"][0].removeprefix("upload:")
    expect(page.get_by_text(re.compile(f"not have this link.s file.*{digest}"))).to_be_visible(timeout=SLOW)
    give(page, csv(seed=1))
    expect(page.get_by_role("alert").filter(has_text="the picture will be different")).to_be_visible(timeout=SLOW)
    behind(page, "data")
    page.locator("[data-testid=stFileUploader]").get_by_role("button", name=re.compile("remove|delete", re.I)).click()
    expect(page.get_by_text(re.compile("choose the file that this link"))).to_be_visible(timeout=SLOW)
    give(page, content)
    # Columns and bounds come from the link.
    picture_of(page)
    expect(page).to_have_url(re.compile(digest))
    expect(page.get_by_role("alert").filter(has_text="the picture will be different")).to_have_count(0)
    assert parse_qs(urlsplit(page.url).query)["data"] == query["data"]


def test_a_hostile_link_names_and_cells_stay_text(page: Page, server: Server) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    link = f"data=upload:%3Cimg%20src=x%20onerror=window.stolen=1%3E&epsilon={EVIL}&tab=runs&audience=curator"
    page.goto(f"{server(APP)}/convergent_kmeans?{link}")
    expect(page.get_by_text("not have this link")).to_be_visible(timeout=SLOW)
    names = (
        f"{EVIL} www.evil.example",
        '=HYPERLINK("file:///x","x") http://evil.example/a',
        "[x](javascript:window.stolen=1) $x^2$ :red[y] :material/face:",
    )
    give(page, csv(names=names, note=[EVIL, "=1+1"] * 120))
    bound(page)
    picture = picture_of(page)
    tables(picture)
    page.keyboard.press("Escape")
    page.get_by_role("slider", name="Step", exact=True).press("End")
    picture.locator("canvas").hover()
    for name in names[:2]:
        expect(page.get_by_text(name).first).to_be_attached()
    unfolded(page, "Seeds")
    settled(page)
    assert page.evaluate("window.stolen") is None
    links = "a[href^='javascript:'], a[href^='file:'], a[href*='evil.example']"
    expect(page.locator(f"img[src=x], .katex, {links}")).to_have_count(0)
    assert [url for url in asked if url.endswith("/x")] == []


def test_a_set_is_taken_from_the_gallery_on_every_width(page: Page, server: Server) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    picture = opened(page, server)
    for width, title, name in ((390, "Wine", "wine"), (1280, "Iris flowers", "iris")):
        page.set_viewport_size({"width": width, "height": 844})
        with redrawn(picture):
            behind(page, "data")
            page.get_by_role("button", name="Gallery", exact=True).click()
            pictures = page.locator(".dpviz-gallery img")
            expect(pictures).to_have_count(len(DATASETS), timeout=SLOW)
            # Nothing covers the gallery.
            expect(page.get_by_test_id("stPopoverBody")).to_have_count(0)
            assert pictures.evaluate_all("all => all.every((one) => one.complete && one.naturalWidth > 0)")
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            page.get_by_role("button", name=f"Use {title}").click()
        assert parse_qs(urlsplit(page.url).query)["data"] == [name]
    assert not [url for url in asked if not url.startswith((server(APP), "data:", "blob:"))]
