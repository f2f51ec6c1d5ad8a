"""The course in a real browser: every chapter by keyboard on a laptop and by touch on a phone, each on one screen."""

import json
import re

import pytest
from playwright.sync_api import Browser, Page, expect

from dpviz.tools.teaching.chapters import CHAPTERS, END_TITLE, NAMES
from dpviz.tools.teaching.page import course as learn
from tests.browser.conftest import visitor
from tests.browser.servers import Server
from tests.browser.test_app import APP
from tests.browser.test_app_access import AXE, NARROW_TARGET, PARTS, SMALL, violations
from tests.browser.waiting import MANY_FRAMES, SLOW, at_rest, still

LAPTOP, PHONE = {"width": 1366, "height": 768}, {"width": 390, "height": 844}
PLACES = """() => {
  const main = document.querySelector("[data-testid=stMain]");
  const place = (one) => one.getBoundingClientRect();
  const bar = place(document.querySelector(".st-key-dpviz-course"));
  const learn = place(document.querySelector(".st-key-dpviz-learn"));
  const canvas = place(document.querySelector("[data-testid=stMain] .st-key-picture")
    ?? document.querySelector(".dpviz-live") ?? document.querySelector(".st-key-dpviz-learn"));
  return { hidden: main.scrollHeight - main.clientHeight, scrolled: main.scrollTop, below: learn.bottom - bar.top,
    bar: innerHeight - bar.bottom, wide: main.scrollWidth - main.clientWidth, room: canvas.height };
}"""
# Part of the page that differs between chapters.
OURS = ".st-key-dpviz-learn"
LEAST_PICTURE = 120  # CSS pixels


def quiet(page: Page) -> None:
    """Wait until the page has answered."""
    at_rest(page)
    picture = page.locator(".dpviz-live[data-dpviz-key=picture]")
    expect(picture).to_have_attribute("data-dpviz-drawn", re.compile("[1-9]"), timeout=SLOW)
    still(page, MANY_FRAMES)


def on_one_screen(page: Page) -> None:
    """Check that nothing is below the bar, and that nothing needs scrolling."""
    quiet(page)
    found = page.evaluate(PLACES)
    assert found["hidden"] <= 0, found
    assert found["scrolled"] == 0, found
    assert found["wide"] <= 0, found
    assert found["below"] <= 0, found
    assert abs(found["bar"]) <= 1, found
    assert found["room"] >= LEAST_PICTURE, found


def kept(page: Page) -> list[str]:
    """Return the chapters that the browser remembers."""
    return list(json.loads(page.evaluate("() => localStorage.getItem('dpviz:course')") or "[]"))


ALL = pytest.param(NAMES, marks=pytest.mark.slow)


@pytest.mark.parametrize("names", [NAMES[:2], ALL], ids=["first", "all"])
def test_chapters_by_keyboard(page: Page, server: Server, names: tuple[str, ...]) -> None:
    page.set_viewport_size(LAPTOP)
    page.goto(f"{server(APP)}/learn")
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_have_text(CHAPTERS[NAMES[0]].title, timeout=SLOW)
    page.evaluate(AXE.read_text(encoding="utf-8"))
    for index, name in enumerate(names):
        expect(heading).to_have_text(CHAPTERS[name].title, timeout=SLOW)
        expect(page).to_have_url(re.compile(f"learn\\?chapter={name}$"))
        on_one_screen(page)
        assert name not in kept(page)
        page.get_by_role("button", name=CHAPTERS[name].question.ranges[0].words, exact=True).focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("button", name=learn.SKIP)).to_have_count(0, timeout=SLOW)
        on_one_screen(page)
        assert violations(page, None if index == 0 else OURS) == []
        assert kept(page) == list(NAMES[: index + 1])
        expect(page.locator(".dpviz-course .ticks .done")).to_have_count(index + 1)
        page.get_by_role("button", name=learn.NEXT, exact=True).focus()
        page.keyboard.press("Enter")
        following = CHAPTERS[NAMES[index + 1]].title if index + 1 < len(NAMES) else END_TITLE
        expect(heading).to_have_text(following, timeout=SLOW)
        # A screen reader reads the heading, and the next Tab reaches the chapter's own controls.
        expect(heading).to_be_focused()
    if names == NAMES:
        assert violations(page) == []
    page.get_by_role("button", name="Contents").focus()
    page.keyboard.press("Enter")
    assert violations(page, ".st-key-dpviz-course") == []
    page.locator(".st-key-dpviz-course").get_by_role("link", name=CHAPTERS[NAMES[1]].title).focus()
    page.keyboard.press("Enter")
    expect(heading).to_have_text(CHAPTERS[NAMES[1]].title, timeout=SLOW)
    page.get_by_role("button", name="Contents").click()
    page.get_by_role("button", name="Forget my progress").click()
    assert kept(page) == []


@pytest.mark.parametrize("names", [NAMES[-2:], ALL], ids=["last", "all"])
def test_chapters_by_touch_on_a_phone_and_on_a_laptops_screen(
    browser: Browser, server: Server, names: tuple[str, ...]
) -> None:
    context = visitor(browser, viewport=PHONE, has_touch=True, color_scheme="dark")
    page = context.new_page()
    page.goto(f"{server(APP)}/learn?chapter={names[0]}")
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_have_text(CHAPTERS[names[0]].title, timeout=SLOW)
    page.evaluate(AXE.read_text(encoding="utf-8"))
    for name in names:
        expect(heading).to_have_text(CHAPTERS[name].title, timeout=SLOW)
        on_one_screen(page)
        page.get_by_role("button", name=CHAPTERS[name].question.ranges[-1].words, exact=True).tap()
        expect(page.get_by_role("button", name=learn.SKIP)).to_have_count(0, timeout=SLOW)
        page.set_viewport_size(LAPTOP)
        on_one_screen(page)
        page.set_viewport_size(PHONE)
        on_one_screen(page)
        assert violations(page, OURS) == []
        assert page.evaluate(SMALL, [NARROW_TARGET, PARTS]) == [], "large enough for a finger"
        page.get_by_role("button", name=learn.NEXT, exact=True).tap()
    expect(heading).to_have_text(END_TITLE, timeout=SLOW)
    expect(page).to_have_url(re.compile("learn\\?chapter=end$"))
    for at in (-1, -2):
        page.go_back()
        expect(heading).to_have_text(CHAPTERS[NAMES[at]].title, timeout=SLOW)
    page.go_forward()
    expect(heading).to_have_text(CHAPTERS[NAMES[-1]].title, timeout=SLOW)
    chapter = next(each for each in CHAPTERS.values() if each.page)
    page.goto(f"{server(APP)}/learn?chapter={chapter.name}")
    page.get_by_role("button", name=learn.SKIP).tap()
    page.get_by_role("button", name=chapter.leads).tap()
    expect(page).to_have_url(re.compile(f"{chapter.page}\\?.*epsilon="), timeout=SLOW)
    page.get_by_test_id("stExpandSidebarButton").tap()
    page.get_by_test_id("stSidebarNavLink").filter(has_text="Glossary").tap()
    expect(page.get_by_test_id("stSidebarNavLink").first).not_to_be_in_viewport(timeout=SLOW)
    expect(heading).to_have_text("Glossary", timeout=SLOW)
    context.close()
