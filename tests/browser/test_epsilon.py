"""The privacy slider in a browser."""

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.parts_page import evaluate, show
from tests.browser.servers import Server
from tests.browser.waiting import box_of, next_frame, settled

pytestmark = pytest.mark.stays


@pytest.fixture
def slider(page: Page, server: Server) -> Locator:
    show(page, server, "slider")
    found = page.locator(".dpviz-epsilon")
    expect(found).to_be_visible(timeout=20_000)
    return found


def test_arrow_keys_change_the_value_and_keep_the_focus_and_words_say_what_it_means(
    page: Page, slider: Locator
) -> None:
    assert slider.locator(".ends span").all_text_contents() == ["noisy, private", "accurate"]
    thumb = slider.get_by_role("slider", name="Privacy budget \u03b5")
    expect(page.get_by_text("epsilon: 1.0")).to_be_visible()
    thumb.focus()
    for expected in ("1.5", "2.0", "3.0"):
        page.keyboard.press("ArrowRight")
        expect(page.get_by_text(f"epsilon: {expected}")).to_be_visible()
    page.keyboard.press("End")
    expect(page.get_by_text("epsilon: 20.0")).to_be_visible()
    assert thumb.get_attribute("aria-valuetext") == "\u03b5 20, attacker right at most 99 in 100"
    expect(slider.locator(".value")).to_have_text("20")
    expect(slider.locator(".note")).to_have_text("An attacker is right at most 99 times in 100.")
    slider.get_by_role("button", name="What is this?").click()
    expect(slider.locator(".help-text")).to_have_text("Smaller values let less about one person through.")


def test_a_drag_sends_values_on_the_way_and_the_last_one_and_the_page_can_move_the_thumb(
    page: Page, slider: Locator
) -> None:
    left, top, width, height = box_of(slider.locator("input"))
    y = top + height / 2
    page.mouse.move(left + 9 + (width - 18) * 6 / 17, y)
    page.mouse.down()
    for i in range(1, 30):
        page.mouse.move(left + 9 + (width - 18) * (6 + 9 * i / 29) / 17, y)
        next_frame(page)
    # No answer pulled the thumb back.
    expect(slider).to_have_attribute("data-value", "14")
    seen = int((page.get_by_text("seen:").text_content() or "").removeprefix("seen: "))
    assert seen >= 4
    page.mouse.up()
    expect(page.get_by_text("epsilon: 14.0")).to_be_visible()
    settled(page)
    expect(slider).to_have_attribute("data-value", "14")

    page.get_by_role("button", name="Preset").click()
    expect(page.get_by_text("epsilon: 0.1")).to_be_visible()
    expect(slider).to_have_attribute("data-value", "0.1")
    slider.locator("input").press("ArrowRight")
    expect(page.get_by_text("epsilon: 0.2")).to_be_visible()
    page.get_by_role("button", name="Preset").click()
    expect(page.get_by_text("epsilon: 0.1")).to_be_visible()
    page.get_by_text("5.0", exact=True).click()
    expect(page.get_by_text("epsilon: 5.0")).to_be_visible()
    expect(slider).to_have_attribute("data-value", "5")


def test_deployments_are_one_stop_of_the_tab_key_and_described_as_text(page: Page) -> None:
    marks = [
        (0, "Wikimedia 2023", "0.5", "Page views."),
        (3, "Apple 2017", "4", "Emoji."),
        (9, "US Census 2020", "17.1", "Redistricting data, <b>central</b> model."),
    ]
    evaluate(
        page,
        """const marks = new live.Marks("axis");
           document.body.replaceChildren(marks.root, marks.about);
           marks.fill(a, "Real deployments.");
           marks.place([50, 200, 350]);""",
        [dict(zip(("index", "name", "value", "description"), mark, strict=True)) for mark in marks],
    )
    strip, about = page.get_by_role("listbox", name="Real deployments."), page.locator(".about")
    page.keyboard.press("Tab")
    expect(strip).to_be_focused()
    expect(about).to_have_text("Wikimedia 2023, 0.5: Page views.")
    page.keyboard.press("End")
    expect(strip.get_by_role("option", selected=True)).to_have_text("US Census 2020")
    expect(about).to_have_text("US Census 2020, 17.1: Redistricting data, <b>central</b> model.")
    left, top, _, height = box_of(strip)
    page.mouse.move(left + 195, top + height / 2)
    expect(about).to_have_text("Apple 2017, 4: Emoji.")
    page.mouse.move(left + 120, top + height / 2)
    expect(about).not_to_have_text("Apple 2017, 4: Emoji.")


def test_leave_taken_of_an_overtaken_update_leaves_the_slider_in_place(slider: Locator) -> None:
    # Streamlit calls the leave of an update that a later one overtakes while it loads, with the element still there.
    left = slider.page.evaluate(
        """async () => {
          const { default: mount } = await import("/_stcore/bidi-components/dpviz.epsilon/epsilon.js");
          const host = document.body.appendChild(document.createElement("div"));
          const parentElement = host.attachShadow({ mode: "open" });
          const data = { key: "again", label: "again", values: [1, 2], texts: ["1", "2"], notes: [],
            spoken: ["1", "2"], left: "", right: "", help: "", index: 0, move: null };
          const leave = mount({ parentElement, data, setStateValue() {} });
          const first = parentElement.querySelector(".dpviz-epsilon");
          leave();
          const kept = parentElement.querySelector(".dpviz-epsilon") === first;
          mount({ parentElement, data, setStateValue() {} });
          const one = parentElement.querySelectorAll(".dpviz-epsilon").length === 1;
          host.remove();
          leave();
          return [kept, one, parentElement.querySelector(".dpviz-epsilon") === null];
        }"""
    )
    assert left == [True, True, True]
