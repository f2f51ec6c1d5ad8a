"""Changes to which the picture responds: ε in both modes, the audience switch, steps, zoom and isolation."""

import re

from playwright.sync_api import Locator, Page, expect

from tests.browser.servers import Server
from tests.browser.test_app import (
    behind,
    go_to,
    layers,
    opened,
    picture_of,
    press,
    redrawn,
    scene_of,
    switch,
    tables,
    unfold,
)
from tests.browser.waiting import settled

# Frames: the start, then four phases of each iteration.
FIRST_ZONE, SECOND_ZONE = 3, 7


def audience(page: Page, picture: Locator, label: str) -> None:
    with redrawn(picture):
        switch(page, label)


def test_the_table_follows_epsilon_and_the_public_sees_nothing_exact(page: Page, server: Server) -> None:
    """The picture must also draw zones by ε; other tests check, without a browser, which modes' zones depend on ε."""
    picture = opened(page, server, "mode=repaired&n=1234")
    shown = {"released center": (-1, "Release"), "sampling zone": (FIRST_ZONE, "Iteration 1: zone")}
    for caption, (frame, label) in shown.items():
        go_to(picture, frame, re.compile(label))
        seen = [tables(picture)[caption]]
        for key in ("ArrowRight", "ArrowLeft"):
            press(page, picture, "ε", key)
            step = page.get_by_role("slider", name="Step", exact=True).first
            expect(step).to_have_attribute("aria-valuetext", re.compile(label))
            seen.append(tables(picture)[caption])
        assert seen[0] == seen[2] != seen[1]

    # A layer that is hidden at first stays visible once a reader has asked for it.
    go_to(picture, -2, re.compile("."))
    unfold(picture)
    clamped = picture.get_by_role("button", name="clamped noise")
    expect(clamped).to_have_attribute("aria-pressed", "false")
    clamped.click()
    expect(clamped).to_have_attribute("aria-pressed", "true")
    press(page, picture, "ε", "ArrowLeft")
    expect(clamped).to_have_attribute("aria-pressed", "true")
    clamped.click()
    page.keyboard.press("Escape")

    told = page.get_by_text(re.compile("1,234 records"))
    behind(page, "data")
    expect(told.first).to_be_visible()
    go_to(picture, FIRST_ZONE, re.compile("Iteration 1: zone"))
    unfold(picture)
    finding = page.locator(".dpviz-stage .finding")
    page.get_by_role("slider", name="Step", exact=True).press("End")
    before, said = scene_of(picture), finding.inner_text()
    go_to(picture, FIRST_ZONE, re.compile("Iteration 1: zone"))
    secret = {chip.split("(")[0].strip() for chip in picture.locator("[data-audience=curator]").all_inner_texts()}
    assert {"person", "true average", "exact move"} <= secret
    assert secret & set(tables(picture))

    audience(page, picture, "Everyone")
    behind(page, "data")
    expect(page.get_by_text("2 features.")).to_be_visible()
    expect(told).to_have_count(0)
    page.keyboard.press("Escape")
    for figure in page.locator(".dpviz-live").all():
        expect(figure.locator("[data-audience=curator]")).to_have_count(0)
        expect(figure.locator("svg.lock")).to_have_count(0)
    for frame in (0, FIRST_ZONE, SECOND_ZONE, -1):
        go_to(picture, frame, re.compile("."))
        captions = {caption.split(" (first")[0] for caption in tables(picture)}
        assert not captions & (secret | {"true average", "noise", "center without privacy"})
    expect(page.locator(".dpviz-live[data-dpviz-key=cost]")).to_have_count(0)
    expect(page.locator(".dpviz-lock")).to_have_count(0)
    expect(page.get_by_text("Distance from Lloyd's centers")).to_have_count(0)
    expect(finding).not_to_contain_text("Lloyd")
    assert finding.inner_text() != said
    expect(page).to_have_url(re.compile("audience=public"))

    audience(page, picture, "Curator")
    assert scene_of(picture) == before
    expect(finding).to_have_text(said)
    expect(page.locator(".dpviz-live[data-dpviz-key=cost]")).to_be_visible()


def test_steps_play_and_stop_and_what_a_reader_chose_stays_while_epsilon_moves(page: Page, server: Server) -> None:
    picture = opened(page, server, "mode=published")
    chart = page.locator(".dpviz-live[data-dpviz-key=cost]")
    canvas = picture.locator("canvas")
    step = page.get_by_role("slider", name="Step", exact=True)
    step.press("Home")
    expect(picture).to_have_attribute("data-dpviz-frame", "0")
    canvas.focus()
    drawn = picture.get_attribute("data-dpviz-drawn")
    page.keyboard.press("k")
    expect(picture).to_have_attribute("data-dpviz-frame", re.compile("[2-9]"), timeout=5000)
    page.get_by_role("button", name="Pause").click()
    stopped = picture.get_attribute("data-dpviz-frame") or ""
    # Longer than a step of the play.
    page.wait_for_timeout(900)
    expect(picture).to_have_attribute("data-dpviz-frame", stopped)
    expect(chart).to_have_attribute("data-dpviz-frame", stopped)
    # The picture did all of this without the server.
    expect(picture).to_have_attribute("data-dpviz-drawn", drawn or "")

    # Zoom, frame and isolation stay while ε moves and a layer is hidden.
    go_to(picture, SECOND_ZONE, re.compile("Iteration 2: zone"))
    menu = layers(page)
    menu.get_by_role("button", name="Zoom in").click()
    menu.get_by_role("button", name="Zoom in").click()
    chip = picture.get_by_role("button", name="cluster 2", exact=True)
    chip.click()
    expect(chip).to_have_attribute("aria-pressed", "true")
    settled(page)
    zoom = picture.get_attribute("data-dpviz-zoom") or ""
    assert float(zoom) > 2
    press(page, picture, "ε per step", "ArrowRight", "ArrowRight")
    expect(picture).to_have_attribute("data-dpviz-zoom", zoom)
    expect(picture).to_have_attribute("data-dpviz-frame", str(SECOND_ZONE))
    expect(picture).to_have_attribute("data-dpviz-selected", "1")
    layers(page)
    expect(chip).to_have_attribute("aria-pressed", "true")
    chip.click()
    expect(chip).to_have_attribute("aria-pressed", "false")
    assert "sampling zone" in tables(picture)
    picture.get_by_role("button", name="sampling zone").click()
    assert "sampling zone" not in tables(picture)

    # The public view never depends on earlier actions: tests/pages compare everything that is sent.
    audience(page, picture, "Everyone")
    go_to(picture, FIRST_ZONE, re.compile("Iteration 1: zone"))
    # The URL counts frames from 1.
    expect(page).to_have_url(re.compile(f"&frame={FIRST_ZONE + 1}$"))
    switched, link = scene_of(picture), page.url
    page.goto("about:blank")
    page.goto(link)
    assert scene_of(picture_of(page)) == switched
    expect(picture).to_have_attribute("data-dpviz-frame", str(FIRST_ZONE))
