"""Exports in the running app: every file shows the current picture and opens, and settings restore a picture."""

import csv
import io
import json
import re
import struct
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from dpviz.ui.export.files import FORMATS
from tests.browser.servers import Server
from tests.browser.test_app import choose_data, opened, picture_of, press, redrawn, scene_of, unfolded
from tests.browser.test_app import layers as stage_layers
from tests.browser.waiting import SLOW, settled

pytestmark = pytest.mark.still

# No work continues behind the page.
QUIET = "data=blobs&tab=read&audience=curator"


def menu(page: Page) -> Locator:
    """Open the menu and return its list of files."""
    files = page.locator(".dpviz-export")
    if not files.is_visible():
        unfolded(page, "Export")
    expect(files.locator("button").first).to_be_visible(timeout=SLOW)
    return files


def close(page: Page) -> None:
    """Close the menu, and wait until it is gone."""
    page.keyboard.press("Escape")
    expect(page.locator(".dpviz-export")).to_be_hidden(timeout=SLOW)


def saved(page: Page, kind: str) -> bytes:
    """Click one of the files and return its saved contents."""
    with page.expect_download(timeout=3 * SLOW) as got:
        menu(page).locator(f"button[data-format={kind}]").click()
    expect(page.locator(".dpviz-export [role=status]")).to_contain_text("is saved", timeout=SLOW)
    name = re.escape(page.url.split("?")[0].rsplit("/", 1)[1])
    ending = re.escape(FORMATS[kind][0])
    assert re.fullmatch(rf"dpviz_{name}_[a-z_0-9]+_epsilon-[\d.]+\.{ending}", got.value.suggested_filename)
    return Path(got.value.path()).read_bytes()


def give(page: Page, content: bytes) -> None:
    """Import settings."""
    menu(page)
    chosen = page.locator("input[type=file]")
    chosen.set_input_files({"name": "picture.json", "mimeType": "application/json", "buffer": content})


def layers(content: bytes) -> set[str]:
    return {row["layer"] for row in csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline=""))}


def test_every_file_is_saved_and_opens_and_settings_bring_a_picture_back(
    page: Page, server: Server, tmp_path: Path
) -> None:
    picture = opened(page, server, f"{QUIET}&n=300&epsilon=0.3&n_clusters=4&noise_seed=9&start_seed=2")
    scene, proved = scene_of(picture), "Proved for what you see: ε = 0.3"
    drawing = saved(page, "svg")
    said = "".join(ET.fromstring(drawing).itertext())
    assert proved in said
    assert "This is a demonstration" in said
    pixels = saved(page, "png")
    assert pixels[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", pixels[16:24])
    root = ET.fromstring(drawing)
    assert (width, height) == (2 * int(root.get("width") or 0), 2 * int(root.get("height") or 0))
    assert {"person", "released center"} <= layers(saved(page, "csv"))
    assert b"map(scene_hash, scenes)" in saved(page, "py")
    html = saved(page, "html")
    opens_offline(page, tmp_path, html, proved)

    # Files show the picture as it stands.
    close(page)
    page.get_by_role("slider", name="Step").fill("2")
    stage_layers(page).locator(".chip[data-layer=person]").click()
    page.keyboard.press("Escape")
    assert "person" not in layers(saved(page, "csv"))
    content = saved(page, "json")
    settings = json.loads(content)
    assert settings["scene_hashes"] == [scene]
    assert proved in settings["guarantees"][0]["line"]
    assert settings["step"]["frame"] == 2
    assert "person" in settings["step"]["layers_off"]
    close(page)
    press(page, picture, "ε", "ArrowRight")
    choose_data(page, "Iris flowers")
    expect(picture).not_to_have_attribute("data-dpviz-scene", scene, timeout=SLOW)
    with redrawn(picture):
        page.get_by_role("button", name="New noise").click()
    give(page, content)
    expect(picture).to_have_attribute("data-dpviz-scene", scene, timeout=SLOW)
    expect(picture).to_have_attribute("data-dpviz-frame", "2", timeout=SLOW)
    expect(page.get_by_text("the picture is the same")).to_be_visible(timeout=SLOW)
    close(page)
    # Settings of another page lead there.
    page.get_by_role("link", name="DPM").click()
    expect(page.get_by_role("heading", name="DPM", exact=True)).to_be_visible(timeout=SLOW)
    picture_of(page)
    settled(page)
    give(page, content)
    expect(page.get_by_role("heading", name="Convergent k-means")).to_be_visible(timeout=SLOW)
    expect(picture).to_have_attribute("data-dpviz-scene", scene, timeout=SLOW)
    assert "epsilon=0.3" in page.url


def opens_offline(page: Page, folder: Path, content: bytes, proved: str) -> None:
    """Open the saved page, which has the picture's words and moves, and requests nothing."""
    (folder / "picture.html").write_bytes(content)
    asked: list[str] = []
    wrong: list[str] = []
    offline = page.context.new_page()
    offline.on("pageerror", lambda error: wrong.append(str(error)))
    offline.on("request", lambda request: asked.append(request.url))
    offline.goto((folder / "picture.html").as_uri())
    kept = picture_of(offline)
    assert proved in (offline.locator("footer").text_content() or "")
    opens_with = scene_of(kept)
    for said in (".finding", ".guarantee", ".risk-value", ".loss-value"):
        expect(offline.locator(said)).to_have_text(page.locator(said).text_content() or "nothing")
    before = offline.locator(".loss-value").text_content()
    offline.get_by_role("slider", name="ε").press("End")
    expect(offline.locator(".loss-value")).not_to_have_text(before or "")
    assert scene_of(kept) != opens_with
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    assert wrong == []
    offline.close()
    # A browser draws no frames in a window behind others.
    page.bring_to_front()
