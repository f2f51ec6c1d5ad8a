"""Stills for slides, in a real browser: one ZIP with an SVG and a PNG of each picture, made on the reader's side."""

from io import BytesIO
from pathlib import Path
from xml.etree import ElementTree
from zipfile import ZipFile

import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from dpviz.tools.teaching.chapters import CHAPTERS
from dpviz.tools.teaching.page.plans import FILE, SAVE, chapter_still
from dpviz.ui.home import THUMBNAILS
from dpviz.ui.home import still as thumbnail_still
from tests.browser.servers import Server
from tests.browser.test_app import APP
from tests.browser.waiting import MANY_FRAMES, SLOW, settled, still

pytestmark = pytest.mark.still


def test_all_stills_are_saved_as_one_zip(page: Page, server: Server, tmp_path: Path) -> None:
    page.goto(f"{server(APP)}/teach?teach_tab=stills")
    button = page.get_by_role("button", name=SAVE)
    expect(button).to_be_visible(timeout=SLOW)
    with page.expect_download(timeout=SLOW) as saving:
        button.click()
    assert saving.value.suggested_filename == FILE
    saving.value.save_as(tmp_path / FILE)
    with ZipFile(tmp_path / FILE) as zipped:
        assert zipped.testzip() is None
        stills = {f"chapter_{at:02}_{name}": chapter_still(name) for at, name in enumerate(CHAPTERS, start=1)}
        stills |= {f"method_{name}": thumbnail_still(name) for name in THUMBNAILS}
        assert zipped.namelist() == [f"{name}.{kind}" for name in stills for kind in ("svg", "png")]
        for name, text in stills.items():
            drawing = zipped.read(f"{name}.svg")
            assert drawing == text.encode()
            root = ElementTree.fromstring(drawing)
            image = Image.open(BytesIO(zipped.read(f"{name}.png")))
            assert image.size == tuple(2 * int(root.attrib[each]) for each in ("width", "height"))
            assert image.convert("RGB").getcolors(50) is None, "something is drawn, in more colors than these"
    expect(page.get_by_text(f"{FILE} is saved.")).to_be_visible()


@pytest.mark.parametrize("size", [(1366, 768), pytest.param((390, 844), marks=pytest.mark.slow)])
def test_a_link_to_a_tab_opens_there_once_and_holds_nobody(page: Page, server: Server, size: tuple[int, int]) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.goto(f"{server(APP)}/dpm?n=300&tab=worlds")
    tab = page.get_by_role("tab", name="Two worlds")
    expect(tab).to_be_in_viewport(ratio=1, timeout=SLOW)
    # Content drawn above the tab later moves it for as long as this: see arrival.js.
    page.wait_for_timeout(1500)
    expect(tab).to_be_in_viewport(ratio=1)
    expect(page.locator("[data-dpviz-key=worlds]")).to_be_in_viewport(timeout=SLOW)
    page.mouse.move(200, 300)
    page.mouse.wheel(0, -9_000)
    still(page, MANY_FRAMES)
    expect(tab).not_to_be_in_viewport()
    page.get_by_role("link", name="k-means", exact=True).first.evaluate("(link) => link.click()")
    expect(page.get_by_role("heading", level=1)).to_have_text("Convergent k-means", timeout=SLOW)
    settled(page)
    assert page.locator('[data-testid="stMain"]').evaluate("(main) => main.scrollTop") == 0, "a link leads once"
