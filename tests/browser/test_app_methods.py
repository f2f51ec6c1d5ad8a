"""Charts and steps of single methods in a browser: clicks on records, trees and cuts, and a turn by hand."""

import re
from contextlib import suppress
from itertools import pairwise

import pytest
from playwright.sync_api import Locator, Page, expect
from playwright.sync_api import TimeoutError as NothingCame

from tests.browser.parts_page import number, pixels
from tests.browser.servers import Server
from tests.browser.test_app import APP, QUIET, go_to, layers, picture_of, redrawn, switch, tables, unfolded
from tests.browser.waiting import SLOW, box_of, next_frame, settled, still

pytestmark = pytest.mark.still

EXACT = re.compile(r"reveal the record to anyone who has the other 499\. The guess has (\d+ digits|every digit) right")
PIXELS = "canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data"


def opened(page: Page, server: Server, query: str) -> Locator:
    page.goto(f"{server(APP)}/{query}")
    return picture_of(page)


def click_record(canvas: Locator, *, up: float = 0.0) -> None:
    """Click the record in the middle of the box, beside the margin of the axis."""
    canvas.scroll_into_view_if_needed()
    _, _, width, height = box_of(canvas)
    canvas.click(position={"x": width * 0.5 + 12, "y": height * 0.5 - up})


def test_a_click_attacks_another_record_and_noise_hides_it(page: Page, server: Server) -> None:
    page.goto(f"{server(APP)}/convergent_kmeans?n=500&tab=attack&record=5")
    attack = page.locator(".dpviz-live[data-dpviz-key=attack][data-dpviz-drawn]")
    expect(page.get_by_text(EXACT)).to_be_visible(timeout=SLOW)
    go_to(attack, 0, "1: what the attacker has")
    go_to(attack, 2, "3: subtract")
    field = page.get_by_role("spinbutton", name="Record under attack")
    expect(field).to_have_value("5")
    click_record(attack.locator("canvas").first)
    expect(field).not_to_have_value("5", timeout=SLOW)
    expect(page.get_by_text(EXACT)).to_be_visible(timeout=SLOW)
    noisy = ("Noisy (repaired)", "With noise for ε = 1 in total")
    for name, said in (noisy, ("As published", "narrow the record down to one line")):
        switch(page, name)
        expect(page.get_by_text(said)).to_be_visible(timeout=SLOW)
    shown = re.compile("[?&]attacked=published")
    # The tab ran without the picture.
    expect(page).to_have_url(shown)
    before = page.url
    page.get_by_role("slider", name="ε").first.press("ArrowRight")
    expect(page).not_to_have_url(before, timeout=SLOW)
    # The picture ran without the tab.
    expect(page).to_have_url(shown)


def test_source_target_steps_public_view_and_a_click_on_a_record(page: Page, server: Server) -> None:
    # One record on a place of its own in the middle: the click cannot miss it.
    picture = opened(page, server, "source_target?data=worst_case&n=200&n_centers=2&audience=public&noise_seed=1")
    go_to(picture, 0, "0: given")
    go_to(picture, 3, "3: release")
    assert "source record" not in "".join(tables(picture))
    with redrawn(picture):
        switch(page, "Curator")
    go_to(picture, 0, "0: given")
    assert any(name.startswith("source record") for name in tables(picture))
    # The menu with the table covers the picture.
    page.keyboard.press("Escape")
    with redrawn(picture):
        click_record(picture.locator("canvas").first, up=8)
    expect(page).to_have_url(re.compile("below=record"))
    expect(page.locator(".dpviz-live[data-dpviz-key=record][data-dpviz-drawn]")).to_be_visible(timeout=SLOW)


def test_morse_shows_cut_level_and_search(page: Page, server: Server) -> None:
    picture = opened(page, server, "morse?n=2000&epsilon=5&audience=public")
    dendrogram = page.locator(".dpviz-live[data-dpviz-key='dendrogram']")
    canvas = picture.locator("canvas").first
    go_to(picture, 0, "1 cluster")
    whole = canvas.screenshot()
    before = dendrogram.get_attribute("data-dpviz-frames")
    go_to(picture, 1, "2 clusters")
    expect(dendrogram).to_have_attribute("data-dpviz-frame", "1")
    expect(dendrogram).not_to_have_attribute("data-dpviz-frames", before or "")
    assert canvas.screenshot() != whole, "regions part without the server"
    unfolded(page, "What play shows")
    with redrawn(picture):
        switch(page, "Level")
    go_to(picture, 0, re.compile("Level: 100 % of the highest peak"))
    expect(picture.locator(".frame-detail")).to_have_text("A peak emerges: 1 island.")
    with redrawn(picture):
        layers(page).get_by_role("button", name="Show pass").first.click()
    expect(page).to_have_url(re.compile("moves=search"))
    expect(picture.locator(".frame-detail")).to_contain_text(re.compile(r"components \d+ and \d+", re.IGNORECASE))
    go_to(picture, 0, re.compile("String 0"))


def test_nd_laplace_epsilon_keeps_its_distance_and_the_law_is_straight(page: Page, server: Server) -> None:
    picture, said = opened(page, server, "nd_laplace?n=200"), page.locator(".finding")
    expect(said).to_contain_text("Everyone lands 2 km away on average")
    slider = page.get_by_role("slider", name=re.compile("ε within the radius"))
    with redrawn(picture):
        slider.press("ArrowRight")
    expect(said).to_contain_text("Everyone lands 1.7 km away on average")
    # The page has followed.
    expect(page).to_have_url(re.compile("epsilon=1.2(&|$)"))
    # The slider is in the open tab: the picture does not run again.
    page.get_by_role("slider", name="Clusters k").press("ArrowRight")
    expect(page).to_have_url(re.compile("epsilon=1.2&.*n_clusters=7"))
    switch(page, "Everyone")
    expect(page).to_have_url(re.compile("audience=public"), timeout=SLOW)
    with redrawn(picture):
        slider.press("End")
    path = page.locator(".dpviz-instrument .middle").get_attribute("d") or ""
    heights = [float(y) for y in re.findall(r"[ML][\d.]+ ([\d.]+)", path)]
    assert len(heights) > 20
    assert all(low < high for low, high in pairwise(heights)), "1/ε has no flat end"


def click_a_node(page: Page, chart: Locator, rows: tuple[float, ...]) -> None:
    """Move over the chart until something can be picked there, and click it; `rows` are heights, from the top."""
    canvas = chart.locator("canvas")
    canvas.scroll_into_view_if_needed()
    left, top, width, height = box_of(canvas)
    for row in rows:
        for x in range(10, int(width) - 10, 8):
            page.mouse.move(left + x, top + row * height)
            # The picture finds the mark under the pointer in a frame.
            next_frame(page)
            if chart.get_attribute("data-dpviz-lifted") == "node":
                page.mouse.down()
                page.mouse.up()
                return
    raise AssertionError("nothing to pick")


def check_levels(page: Page, picture: Locator) -> None:
    """Scrub through the first level to the release; curator-only marks disappear for everyone."""
    go_to(picture, 1, re.compile("Level 1: score"))
    expect(layers(page).locator("[data-layer=person]")).to_be_visible()
    assert any(caption.startswith("chance of each cut") for caption in tables(picture))
    go_to(picture, 2, re.compile("Level 1: choose"))
    assert {"drawn cut", "best cut"} <= set(tables(picture))
    assert len({row[0] for row in tables(picture)["drawn cut"]}) == 1, "the first level has one subset"
    go_to(picture, 3, re.compile("Level 1: count"))
    assert {"cut", "noisy count"} <= set(tables(picture))
    assert not any("NaN" in cell for rows in tables(picture).values() for row in rows for cell in row)
    go_to(picture, -1, "Release")
    assert {"released average", "true average", "refused"} <= set(tables(picture))
    switch(page, "Everyone")
    expect(picture.locator("[data-audience=curator]")).to_have_count(0)
    go_to(picture, 2, re.compile("Level 1: choose"))
    assert "best cut" not in tables(picture)


def test_dpm_goes_level_by_level_and_a_click_on_tree_or_cut_opens_a_subset(page: Page, server: Server) -> None:
    picture = opened(page, server, "dpm?n=500")
    tree = page.locator(".dpviz-live[data-dpviz-key=tree]")
    expect(tree).to_have_attribute("data-dpviz-drawn", re.compile("[1-9]"), timeout=SLOW)
    with redrawn(picture):
        click_a_node(page, tree, (0.4, 0.45, 0.5, 0.55, 0.6, 0.65))
    expect(page).to_have_url(re.compile(r"node=[1-9]"))
    expect(page.get_by_role("heading", name=re.compile(r"Subset \d+"))).to_be_visible()
    assert "chosen box" in tables(picture)
    node = re.search(r"node=(\d+)", page.url)
    assert node
    same = re.compile(rf"node={node[1]}(&|$)")
    # The menu with the table covers the picture.
    page.keyboard.press("Escape")
    expect(page.locator(".dpviz-live.staged .layers").first).to_be_hidden()
    # Scroll out from under the parts that stay in view.
    page.get_by_test_id("stMain").evaluate("main => main.scrollTo(0, 0)")
    # One of these may be a cut of the subset that is already open.
    for place in (0.15, 0.75, 0.3, 0.6):
        click_a_node(page, picture, (place,))
        with suppress(NothingCame):
            page.wait_for_url(lambda url: not same.search(url), timeout=1500)
            break
    expect(page).not_to_have_url(same)
    check_levels(page, picture)


def test_dpm_in_three_features_turns_by_drag_and_keys_as_the_server_does(page: Page, server: Server) -> None:
    page.emulate_media(reduced_motion="no-preference")
    picture = opened(page, server, f"dpm?data=iris&view=solid&yaw=30&pitch=25&{QUIET}")
    settled(page)
    before = pixels(picture)
    canvas = picture.locator("canvas")
    left, top, width, height = box_of(canvas)
    x, y = left + width / 2, top + height / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 100, y + 50, steps=10)
    expect(picture).to_have_attribute("data-dpviz-turned", "-10.0 45.0")
    next_frame(page)
    assert pixels(picture) != before
    page.mouse.up()
    page.wait_for_url(re.compile(r"yaw=-10&pitch=45"), timeout=SLOW)
    canvas.focus()
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Shift+ArrowUp")
    page.wait_for_url(re.compile(r"yaw=-15&pitch=50"), timeout=SLOW)
    settled(page)

    page.get_by_role("slider", name="Step", exact=True).press("Home")
    settled(page)
    canvas.focus()
    drawn = number(picture, "drawn")
    page.keyboard.press("Shift+ArrowLeft")
    next_frame(page)
    canvas.evaluate(f"canvas => {{ window.ours = {PIXELS}; }}")
    expect(picture).to_have_attribute("data-dpviz-drawn", str(drawn + 1), timeout=SLOW)
    still(page)
    marked, other, named, above = canvas.evaluate(f"""canvas => {{
      const [ours, theirs] = [window.ours, {PIXELS}];
      const far = (i) => [0, 1, 2, 3].some((c) => Math.abs(ours[i + c] - theirs[i + c]) > 64);
      const all = Array.from({{ length: ours.length / 4 }}, (_, i) => 4 * i);
      const place = (i) => [(i / 4) % canvas.width, Math.floor(i / 4 / canvas.width)];
      const inked = all.filter((i) => ours[i + 3] > 0);
      const [less, more] = [inked.filter(far), all.filter((i) => far(i) && ours[i + 3] === 0)];
      const extent = [0, 1].map((axis) => {{
        const at = more.map((i) => place(i)[axis]).sort((a, b) => a - b);
        return at.length && at[Math.floor(0.97 * at.length)] - at[Math.floor(0.03 * at.length)];
      }});
      return [inked.length, less.length, extent, place(inked[0])[1] / canvas.height];
    }}""")
    assert marked > 1000
    assert above < 0.2, "the box is drawn with all of its edges"
    # Records of one depth are drawn by cluster and shade.
    assert other < 0.025 * marked, "but for the borders of depths"
    assert named[0] < 160, "names come back once nobody turns: one of a record is as long as this"
    assert named[1] < 36
