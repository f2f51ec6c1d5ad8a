"""Exports in the running app: every file is saved as the picture stands, opens, and settings bring a picture back."""

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
from tests.browser import test_app_draw as draw
from tests.browser.test_app import (
    APP,
    PAGE,
    SLOW,
    Server,
    choose_data,
    opened,
    picture_of,
    press,
    redrawn,
    scene_of,
    switch,
    unfolded,
)
from tests.browser.test_app import layers as stage_layers

pytestmark = [pytest.mark.browser, pytest.mark.still]

# No work goes on behind the page.
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


@pytest.mark.parametrize("name", [PAGE, *(pytest.param(name, marks=pytest.mark.slow) for name in ("dpm", "morse"))])
def test_every_file_is_saved_and_opens(page: Page, server: Server, tmp_path: Path, name: str) -> None:
    page.goto(f"{server(APP)}/{name}?{QUIET}&n=300")
    scene = scene_of(picture_of(page))
    drawing = saved(page, "svg")
    said = "".join(ET.fromstring(drawing).itertext())
    assert "Proved for what you see: ε = 1" in said
    assert "This is a demonstration" in said
    pixels = saved(page, "png")
    assert pixels[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", pixels[16:24])
    root = ET.fromstring(drawing)
    assert (width, height) == (2 * int(root.get("width") or 0), 2 * int(root.get("height") or 0))
    settings = json.loads(saved(page, "json"))
    assert settings["scene_hashes"] == [scene]
    assert "Proved for what you see: ε = 1" in settings["guarantees"][0]["line"]
    assert any(each.startswith("released ") for each in layers(saved(page, "csv"))) or name != "dpm"
    assert b"map(scene_hash, scenes)" in saved(page, "py")

    (tmp_path / "picture.html").write_bytes(saved(page, "html"))
    asked: list[str] = []
    offline = page.context.new_page()
    wrong: list[str] = []
    offline.on("pageerror", lambda error: wrong.append(str(error)))
    offline.on("request", lambda request: asked.append(request.url))
    offline.goto((tmp_path / "picture.html").as_uri())
    kept = picture_of(offline)
    assert "Proved for what you see: ε = 1" in (offline.locator("footer").text_content() or "")
    opens_with = scene_of(kept)
    for said_there in (".finding", ".guarantee", ".risk-value", ".loss-value"):
        expect(offline.locator(said_there)).to_have_text(page.locator(said_there).text_content() or "nothing")
    before = offline.locator(".loss-value").text_content()
    offline.get_by_role("slider", name="ε").press("ArrowRight")
    expect(offline.locator(".loss-value")).not_to_have_text(before or "")
    assert scene_of(kept) != opens_with
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    assert wrong == []


# Long runs only: tests/pages save every file of every page.
@pytest.mark.slow
def test_files_show_the_picture_as_it_stands(page: Page, server: Server) -> None:
    picture = opened(page, server, f"{QUIET}&n=300")
    step = page.get_by_role("slider", name="Step")
    step.fill(step.get_attribute("max") or "0")
    assert {"person", "released center"} <= layers(saved(page, "csv"))
    close(page)
    stage_layers(page).locator(".chip[data-layer=person]").click()
    page.keyboard.press("Escape")
    assert "person" not in layers(saved(page, "csv"))
    close(page)
    press(page, picture, "ε", "ArrowRight")
    settings = json.loads(saved(page, "json"))
    assert settings["knobs"]["epsilon"] > 1
    assert settings["step"]["frame"] == int(step.get_attribute("max") or 0)
    assert "person" in settings["step"]["layers_off"]
    assert settings["scene_hashes"] == [scene_of(picture)]
    close(page)
    with redrawn(picture):
        switch(page, "Everyone")
    found = layers(saved(page, "csv"))
    assert "released center" in found
    assert not found & {"person", "true average"}
    assert "What the public sees." in saved(page, "svg").decode()


def test_settings_bring_a_picture_back_after_everything_was_changed(page: Page, server: Server) -> None:
    picture = opened(page, server, f"{QUIET}&n=300&epsilon=0.3&n_clusters=4&noise_seed=9&start_seed=2")
    wanted = scene_of(picture)
    page.get_by_role("slider", name="Step").fill("2")
    content = saved(page, "json")
    close(page)
    press(page, picture, "ε", "ArrowRight")
    choose_data(page, "Iris flowers")
    expect(picture).not_to_have_attribute("data-dpviz-scene", wanted)
    with redrawn(picture):
        page.get_by_role("button", name="New noise").click()
    give(page, content)
    expect(picture).to_have_attribute("data-dpviz-scene", wanted, timeout=SLOW)
    expect(picture).to_have_attribute("data-dpviz-frame", "2", timeout=SLOW)
    expect(page.get_by_text("it is the same picture")).to_be_visible(timeout=SLOW)
    assert "epsilon=0.3" in page.url
    assert page.get_by_role("slider", name="ε").first.get_attribute("aria-valuetext")


# Long runs only: settings that belong to the page are tested in every run.
@pytest.mark.slow
def test_settings_of_another_page_lead_there(page: Page, server: Server) -> None:
    picture = opened(page, server, f"{QUIET}&n=700&epsilon=0.3&n_clusters=4&noise_seed=9&start_seed=2")
    wanted = scene_of(picture)
    content = saved(page, "json")
    close(page)
    page.get_by_role("link", name="DPM").click()
    expect(page.get_by_role("heading", name="DPM", exact=True)).to_be_visible(timeout=SLOW)
    picture_of(page)
    give(page, content)
    expect(page.get_by_role("heading", name="Convergent k-means")).to_be_visible(timeout=SLOW)
    expect(picture_of(page)).to_have_attribute("data-dpviz-scene", wanted, timeout=SLOW)


# Long runs only: tests/pages bring drawings back on every page, and test_app_draw draws.
@pytest.mark.slow
def test_a_drawing_comes_back_with_its_settings(page: Page, server: Server) -> None:
    picture = draw.opened(page, server, "data=draw&drawing=one&tab=read&audience=curator")
    picture.get_by_role("button", name="Draw: click adds").click()
    with redrawn(picture):
        page.mouse.click(*draw.at(picture, 0.3, 0.3))
    draw.counted(page, 13)
    wanted = scene_of(picture)
    content, code = saved(page, "json"), saved(page, "py")
    drawn = json.loads(content)
    assert len(drawn["drawing"]["points"]) == 13
    assert drawn["scene_hashes"] == [wanted]
    assert code.count(b"], [") > 8
    close(page)
    choose_data(page, "Iris flowers")
    expect(picture).not_to_have_attribute("data-dpviz-scene", wanted, timeout=SLOW)
    give(page, content)
    expect(picture).to_have_attribute("data-dpviz-scene", wanted, timeout=SLOW)
    expect(page.get_by_text("it is the same picture")).to_be_visible(timeout=SLOW)
    close(page)
    draw.counted(page, 13)
    picture.get_by_role("button", name="Draw: click adds").click()
    page.mouse.click(*draw.at(picture, 0.6, 0.3))
    draw.counted(page, 14)

    with redrawn(picture):
        switch(page, "Everyone")
    public = saved(page, "json")
    assert "points" not in json.loads(public)["drawing"]
    assert code.split(b"drawn = np.array([")[1][:60] not in saved(page, "py")


# Hostile files and their messages, never the same message twice in a row. Without a browser, tests/pages and tests/ui
# read many more.
HOSTILE = {
    b"[" * 50_000: "is no JSON",
    b'{"format": "dpviz picture", "version": 1, "page": "<img src=x onerror=window.stolen=1>"}': "must be one of",
}


# Long runs only: tests/pages and tests/ui refuse many more.
@pytest.mark.slow
def test_wrong_settings_are_refused_and_the_session_goes_on(page: Page, server: Server) -> None:
    picture = draw.opened(page, server, "data=draw&drawing=one&tab=read&audience=curator")
    scene = scene_of(picture)
    settings = json.loads(saved(page, "json"))
    settings["drawing"]["points"][4][0] = 1.5
    message = page.locator("[data-testid=stPopoverBody]").get_by_role("alert").first
    for content, said in {json.dumps(settings).encode(): "drawn point 5 must be", **HOSTILE}.items():
        give(page, content)
        expect(message).to_contain_text(said, timeout=SLOW)
        close(page)
    expect(page.locator("[data-testid=stException], img[src=x]")).to_have_count(0)
    assert page.evaluate("window.stolen") is None
    assert scene_of(picture) == scene
    assert saved(page, "svg")
