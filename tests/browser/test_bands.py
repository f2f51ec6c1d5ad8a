"""Bands of the strip of losses are asked for while a page is idle, outward from the slider, and never during a drag."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from dpviz.assets import module

pytestmark = pytest.mark.browser

COUNT = 25
# A line that answers in its own time: what was asked for, what came of it, and what the test does with both.
SETTING = """async ([script, body]) => {
  const { Bands, nextIndex } = await import(URL.createObjectURL(new Blob([script], { type: "text/javascript" })));
  const rest = (ms) => new Promise((done) => setTimeout(done, ms));
  const line = { flight: null, asked: [], key: "key", takes: 5, askBand(address, index) {
    this.asked.push(index);
    const { key } = this;
    const values = index === 3 ? null : [index, index + 1, index + 2];
    return rest(this.takes).then(() => key && { band: index, values, key });
  } };
  const heard = [];
  const root = document.body;
  root.addEventListener("dpviz:band", ({ detail }) => heard.push(detail));
  const move = (index, slider = "epsilon") => root.dispatchEvent(
    new CustomEvent("dpviz:moving", { detail: { slider, index } }));
  const until = async (holds) => { while (!holds()) await rest(20); };
  const bands = new Bands(line, root);
  const offer = { address: "here", slider: "epsilon", bands: "key" };
  window.over = false;
  window.said = new (Object.getPrototypeOf(async () => {}).constructor)(
    "bands", "offer", "line", "heard", "move", "rest", "until", "nextIndex", body,
  )(bands, offer, line, heard, move, rest, until, nextIndex);
  window.said.finally(() => { bands.destroy(); window.over = true; });
}"""
STEP_MS, MOST_STEPS = 500, 200  # of the page's clock


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """Give a page whose clock the test moves: what waits for seconds takes none, on a busy machine as well."""
    context = browser.new_context()
    context.clock.install()
    yield context.new_page()
    context.close()


def run(page: Page, body: str) -> Any:
    page.evaluate(SETTING, [module("bands"), body])
    for _ in range(MOST_STEPS):
        page.clock.run_for(STEP_MS)
        if page.evaluate("window.over"):
            return page.evaluate("window.said")
    raise AssertionError("It never ends.")


def test_every_value_is_asked_for_once_outward_and_coarse_before_fine(page: Page) -> None:
    asked = run(
        page,
        f"""const known = new Set(), order = [];
        for (let i; (i = nextIndex({COUNT}, 10, known)) >= 0; known.add(i)) order.push(i);
        return order;""",
    )
    assert asked[:5] == [10, 8, 16, 0, 24]
    assert asked[5:8] == [12, 4, 20], "then every fourth"
    assert sorted(asked) == list(range(COUNT))


def test_bands_arrive_after_the_page_is_idle(page: Page) -> None:
    asked, heard = run(
        page,
        """bands.update(offer, 6, 2);
        const before = line.asked.length;
        await until(() => heard.length === 5);
        await rest(300);
        return [[before, ...line.asked], heard];""",
    )
    assert asked[0] == 0, "not at once"
    assert sorted(asked[1:]) == [0, 1, 2, 3, 4, 5], "each once, also the one that has no band"
    assert asked[1] == 2
    assert heard[0] == {"slider": "epsilon", "index": 2, "values": [2, 3, 4]}
    assert [each["index"] for each in heard] == [each for each in asked[1:] if each != 3]


def test_they_stop_while_the_slider_moves_and_go_on_from_there(page: Page) -> None:
    during, after, others = run(
        page,
        """bands.update(offer, 25, 2);
        await until(() => heard.length === 2);
        const first = line.asked.length;
        move(5);
        await rest(50);
        for (let i = 6; i < 20; i += 1) { move(i); await rest(100); }
        const during = line.asked.length - first;
        await until(() => line.asked.length > first + during);
        const after = line.asked.at(-1);
        const start = line.asked.length;
        for (let i = 0; i < 15; i += 1) { move(i, "another"); await rest(100); }
        return [during, after, line.asked.length - start];""",
    )
    assert during <= 1, "what was on its way when the drag began"
    assert after == 19
    assert others > 3, "another slider does not hold them up"


def test_pictures_come_first_and_one_question_is_on_its_way(page: Page) -> None:
    waiting, flying = run(
        page,
        """line.flight = Promise.resolve();
        bands.update(offer, 25, 2);
        await rest(1500);
        const waiting = line.asked.length;
        line.flight = null;
        line.takes = 600;
        await until(() => line.asked.length === 1);
        bands.update(offer, 25, 2);
        await rest(400);
        return [waiting, line.asked.length];""",
    )
    assert (waiting, flying) == (0, 1)


def test_what_is_known_stays_until_the_key_changes(page: Page) -> None:
    same, anew, none, back = run(
        page,
        """bands.update(offer, 3, 0);
        await until(() => heard.length === 3);
        move(1);
        bands.update({ ...offer, move: 7 }, 3, 1);
        await rest(1500);
        const same = heard.length;
        line.key = "other";
        bands.update({ ...offer, bands: "other" }, 3, 1);
        await until(() => heard.length === 6);
        bands.update({ ...offer, bands: null }, 3, 1);
        await rest(1500);
        const none = line.asked.length;
        bands.update(null, 3, 1);
        line.key = "key";
        bands.update(offer, 3, 1);
        await until(() => heard.length === 9);
        return [same, heard.slice(3, 6).map(({ index }) => index), none, heard.length];""",
    )
    assert same == 3
    assert sorted(anew) == [0, 1, 2]
    assert none == 6
    assert back == 9


def test_an_answer_of_another_page_is_forgotten_and_a_cut_line_is_tried_again(page: Page) -> None:
    others, cut, heard = run(
        page,
        """line.key = "before";
        bands.update(offer, 3, 0);
        await until(() => line.asked.length === 1);
        await rest(300);
        const others = heard.length;
        line.key = null;
        await until(() => line.asked.length === 2);
        await rest(300);
        const cut = heard.length;
        line.key = "key";
        move(0);
        await until(() => heard.length === 3);
        return [others, cut, heard.map(({ index }) => index)];""",
    )
    assert (others, cut) == (0, 0)
    assert sorted(heard) == [0, 1, 2]
