"""Pictures that are hidden at first, pairs of pictures, small screens, and the contents of a message."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.curves_page import BLUE, BLUE_ON_DARK, RED, opened, place_of
from tests.browser.parts_page import Server, show

pytestmark = [pytest.mark.browser, pytest.mark.stays]


def test_a_picture_hidden_at_first_is_drawn_when_it_is_seen(page: Page, server: Server) -> None:
    show(page, server, "curves?case=hidden")
    expect(page.get_by_text("Nothing to see.")).to_be_visible(timeout=20_000)
    page.wait_for_timeout(500)
    for opener, key in (
        (page.get_by_role("tab", name="Picture"), "curves"),
        (page.get_by_text("More", exact=True), "grid"),
    ):
        picture = page.locator(f".dpviz-live[data-dpviz-key={key}]")
        assert not picture.is_visible()
        opener.click()
        expect(picture).to_have_attribute("data-dpviz-drawn", "1")
        box = picture.locator("canvas").bounding_box()
        assert box is not None
        assert box["width"] > 300
        place_of(picture, {"curves": BLUE, "grid": RED}[key])
    page.get_by_role("tab", name="Words").click()
    page.get_by_role("tab", name="Picture").click()
    place_of(page.locator(".dpviz-live[data-dpviz-key=curves]"), BLUE)


def test_two_pictures_are_scrubbed_together(page: Page, server: Server) -> None:
    leader = opened(page, server, "leader", "case=pair")
    follower = page.locator(".dpviz-live[data-dpviz-key=follower]")
    expect(follower).to_have_attribute("data-dpviz-drawn", "1")
    page.wait_for_timeout(300)
    rates = page.evaluate(
        """async () => {
          const find = (root, key) => {
            for (const element of root.querySelectorAll("*")) {
              if (element.dataset?.dpvizKey === key) return element;
              const inside = element.shadowRoot && find(element.shadowRoot, key);
              if (inside) return inside;
            }
            return null;
          };
          const both = ["leader", "follower"].map((key) => find(document, key));
          const range = both[0].querySelector("input");
          const frames = () => both.map((root) => Number(root.dataset.dpvizFrames ?? 0));
          const [before, start] = [frames(), performance.now()];
          await new Promise((done) => {
            const next = () => {
              if (performance.now() - start > 1000) return done();
              range.value = String((Number(range.value) + 1) % 41);
              range.dispatchEvent(new Event("input"));
              requestAnimationFrame(next);
            };
            next();
          });
          const [after, passed] = [frames(), performance.now() - start];
          return after.map((count, i) => (1000 * (count - before[i])) / passed);
        }"""
    )
    print("frames per second at 2 x 10,000 points:", [round(rate) for rate in rates])
    assert min(rates) >= 15
    assert rates[0] == pytest.approx(rates[1], rel=0.1)
    expect(follower).to_have_attribute("data-dpviz-frame", leader.get_attribute("data-dpviz-frame") or "")
    assert (leader.get_attribute("data-dpviz-drawn"), follower.get_attribute("data-dpviz-drawn")) == ("1", "1")


@pytest.mark.parametrize("other", [3, pytest.param(9, marks=pytest.mark.slow)])
def test_a_follower_with_more_or_fewer_frames_stops_at_its_last(page: Page, server: Server, other: int) -> None:
    leader = opened(page, server, "leader", f"case=pair&n=100&frames=6&other={other}")
    follower = page.locator(".dpviz-live[data-dpviz-key=follower]")
    expect(follower).to_have_attribute("data-dpviz-drawn", "1")
    leader.get_by_role("button", name="Last step").click()
    expect(leader).to_have_attribute("data-dpviz-frame", "5")
    expect(follower).to_have_attribute("data-dpviz-frame", str(min(5, other - 1)))
    leader.get_by_role("button", name="First step").click()
    expect(follower).to_have_attribute("data-dpviz-frame", "0")


def test_a_small_screen_has_room_for_all(page: Page, server: Server) -> None:
    page.set_viewport_size({"width": 360, "height": 900})
    page.emulate_media(color_scheme="dark")
    picture = opened(page, server)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    place_of(picture, BLUE_ON_DARK)


def test_a_message_carries_the_scene_and_not_the_script(page: Page, server: Server) -> None:
    other = page.context.new_page()
    sizes: list[int] = []
    other.on("websocket", lambda socket: socket.on("framereceived", lambda frame: sizes.append(len(frame))))
    fetched: list[str] = []
    other.on("request", lambda request: fetched.append(request.url.rsplit("/", 1)[-1]))
    opened(other, server)
    assert {"live.js", "live_draw.js"} <= set(fetched)
    # Bytes of the scene and of the component's styles. The script has 80,000 bytes.
    assert 10_000 < max(sizes) < 30_000
