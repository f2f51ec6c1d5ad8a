"""A live class in real browsers: three students' phones, the teacher's screen, and everyone sent to a step."""

import json
import re
import urllib.request

from playwright.sync_api import Browser, Page, expect

from dpviz.tools.teaching.chapters import CHAPTERS
from dpviz.tools.teaching.page import classroom
from tests.browser.conftest import visitor
from tests.browser.servers import Server
from tests.browser.test_app import APP
from tests.browser.test_app_access import AXE, NARROW_TARGET, PARTS, SMALL, violations
from tests.browser.test_app_course import LAPTOP, PHONE
from tests.browser.waiting import SLOW, box_of

COIN = next(i for i, step in enumerate(classroom.STEPS) if step.name == "coin")
# A picture's canvas color, and true if the picture is drawn for dark.
BEHIND = """() => {
  const own = document.querySelector(".picture").shadowRoot ?? document;
  const picture = own.querySelector(".dpviz-live");
  return [getComputedStyle(picture).getPropertyValue("--dpviz-background"), picture.classList.contains("dark")];
}"""
WIDE = """() => [document.documentElement.scrollWidth, innerWidth]"""


def in_view(page: Page, name: str) -> None:
    """Check that a button of the teacher is on screen, and that the page is at its top."""
    _, top, _, height = box_of(page.get_by_role("button", name=name))
    assert top + height <= LAPTOP["height"]
    assert page.evaluate("() => scrollY") == 0


def begin_class(page: Page, server: Server) -> None:
    """Open a class as a teacher."""
    page.goto(f"{server(APP)}/class/NEW")
    page.get_by_role("button", name="Begin the class").click()
    expect(page).to_have_url(re.compile(f"/class/[{classroom.LETTERS}]{{{classroom.CODE}}}$"), timeout=SLOW)


def checked(page: Page) -> None:
    """Check that axe finds nothing, fingers hit everything, and nothing is wider than the screen."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    assert violations(page) == []
    assert page.evaluate(SMALL, [NARROW_TARGET, PARTS]) == []
    wide, room = page.evaluate(WIDE)
    assert wide <= room


def test_a_class_of_three_phones_and_a_teacher(page: Page, browser: Browser, server: Server) -> None:
    refused: list[str] = []
    page.set_viewport_size(LAPTOP)
    page.on("console", lambda message: refused.append(message.text) if message.type == "error" else None)
    begin_class(page, server)
    code = page.url.rpartition("/")[2]
    expect(page.locator(".code")).to_have_text(code)
    expect(page.get_by_role("img", name=re.compile("QR code"))).to_be_visible()
    expect(page.locator(".students")).to_have_text("Fewer than 5 students")
    phones = []
    for scheme in ("light", "dark", "light"):
        context = visitor(browser, viewport=PHONE, has_touch=True, color_scheme=scheme)
        phone = context.new_page()
        phone.on("console", lambda message: refused.append(message.text) if message.type == "error" else None)
        # A phone types a code on this page, and again after a wrong code.
        phone.goto(f"{server(APP)}/class")
        for typed in ("zzzzz", code.lower()):
            phone.get_by_label("Code of the class").fill(typed)
            phone.get_by_role("button", name="Join").tap()
        expect(phone.get_by_role("heading", level=1)).to_have_text(classroom.STEPS[0].title)
        phones.append(phone)
    # Everyone is sent to a chapter.
    page.get_by_label("Send everyone to").select_option(str(COIN))
    asked = CHAPTERS["coin"].question
    expect(page.locator("p.words")).to_contain_text("coin")
    for at, phone in enumerate(phones):
        expect(phone.get_by_role("heading", level=1)).to_have_text(CHAPTERS["coin"].title)
        expect(phone.locator(".dpviz-live[data-dpviz-drawn]")).to_be_visible()
        assert phone.evaluate(BEHIND) == (["rgb(14, 18, 24)", True] if at == 1 else ["rgb(247, 246, 242)", False])
        choice = phone.get_by_role("button", name=asked.ranges[2 if at else 0].words, exact=True)
        # This reader uses the keyboard.
        if at == 2:
            choice.focus()
            phone.keyboard.press("Enter")
        else:
            choice.tap()
        expect(phone.get_by_text("You chose")).to_be_visible(timeout=SLOW)
        expect(phone.get_by_text("Wait for the others")).to_be_visible()
        assert phone.get_by_text("✓").count() == 0, "nothing is told yet"
    checked(phones[0])
    phones[1].reload()
    expect(phones[1].get_by_text("You chose")).to_be_visible()
    # Until the teacher shows the right answer, the screen shows the number of students who have answered.
    chart = page.locator(".chart")
    expect(chart.get_by_text("Fewer than 5 have answered")).to_be_visible()
    for number in range(7):
        body = json.dumps({"question": "coin", "choice": 2 if number < 4 else 0})
        cookie = {"Cookie": f"dpviz-place-{code}={number:032x}"}
        address = f"{server(APP)}/class/{code}/answer"
        urllib.request.urlopen(urllib.request.Request(address, body.encode(), cookie), timeout=30).read()
    expect(chart.get_by_text("10 or more have answered")).to_be_visible()
    expect(page.locator(".students")).to_have_text("10 or more students")
    expect(chart.locator(".bar")).to_have_count(0)
    in_view(page, "Show the answer")
    checked(page)
    page.get_by_role("button", name="Close the door").click()
    late = visitor(browser, viewport=PHONE).new_page()
    late.goto(f"{server(APP)}/class/{code}")
    expect(late.get_by_text("closed the door")).to_be_visible()
    page.get_by_role("button", name="Open the door").click()
    expect(page.get_by_role("button", name="Close the door")).to_be_visible()
    late.reload()
    expect(late.get_by_role("heading", level=1)).to_have_text(CHAPTERS["coin"].title)
    late.context.close()
    page.get_by_role("button", name="Show the answer").click()
    expect(chart.get_by_text("5+")).to_have_count(1)
    for at, phone in enumerate(phones):
        expect(phone.get_by_text("✓ Your guess is right" if at else "✗ Your guess")).to_be_visible(timeout=SLOW)
        expect(phone.get_by_text("✓ Right" if at == 0 else "✓ Your guess")).to_be_visible()
    checked(phones[0])
    page.reload()
    expect(chart.get_by_text(f"✓ {asked.ranges[2].words}")).to_be_visible()
    checked(page)
    page.mouse.wheel(0, 2000)
    page.wait_for_function("() => scrollY > 0")
    page.get_by_role("button", name="Next, for everyone").click()
    expect(page.get_by_role("heading", level=1)).to_be_in_viewport()
    expect(page.get_by_role("heading", level=1)).to_have_text(classroom.STEPS[COIN + 1].title)
    in_view(page, "Show the answer")
    for phone in phones:
        expect(phone.get_by_role("heading", level=1)).to_have_text(classroom.STEPS[COIN + 1].title)
        expect(phone.get_by_role("heading", level=1)).to_be_focused()
    page.reload()
    expect(page.get_by_label("Send everyone to")).to_have_value(str(COIN + 1))
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="End the class").click()
    for phone in phones:
        expect(phone.get_by_text("The class is over")).to_be_visible(timeout=SLOW)
        phone.context.close()
    # Refusals are wrong codes and the end of the class.
    assert [text for text in refused if "404" not in text] == []


def test_a_phone_goes_through_the_quiz(page: Page, browser: Browser, server: Server) -> None:
    begin_class(page, server)
    context = visitor(browser, viewport=PHONE, has_touch=True)
    phone = context.new_page()
    phone.goto(page.url)
    for question in classroom.STEPS[0].questions:
        expect(phone.get_by_role("heading", level=2)).to_contain_text(question.words)
        phone.get_by_role("button", name=question.choices[0], exact=True).tap()
        expect(phone.get_by_text("You chose")).to_be_visible()
        assert phone.get_by_text("✓").count() == 0, "nothing is told yet"
        if question is not classroom.STEPS[0].questions[-1]:
            phone.get_by_role("button", name="Next question").tap()
    expect(phone.get_by_text("Wait for the class")).to_be_visible()
    # After the course, all answers appear at once, and are read from the first question on.
    page.get_by_label("Send everyone to").select_option(str(len(classroom.STEPS) - 1))
    *first, last = classroom.STEPS[-1].questions
    for question in (*first, last):
        expect(phone.get_by_role("heading", level=2)).to_contain_text(question.words)
        phone.get_by_role("button", name=question.choices[0], exact=True).tap()
        if question is not last:
            phone.get_by_role("button", name="Next question").tap()
    expect(phone.get_by_text("Wait for the others")).to_be_visible()
    page.get_by_role("button", name="Show the answer").click()
    expect(phone.get_by_role("heading", level=2)).to_contain_text(f"1 of {len(first) + 1}. ")
    expect(phone.get_by_text("Right: “").or_(phone.get_by_text("✓ Your guess"))).to_be_visible()
    expect(page.get_by_text("before", exact=True)).not_to_have_count(0)
    context.close()
