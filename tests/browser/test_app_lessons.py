"""From the home page into a lesson, and from its last step on, by mouse and keyboard, in a real browser."""

import re
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from dpviz.tools.teaching.chapters import after_lesson
from dpviz.ui import home, lessons
from dpviz.ui.lessons import LESSONS
from tests.browser.conftest import Server
from tests.browser.test_app import APP, SLOW, picture_of

pytestmark = pytest.mark.browser

WALKED = 3  # steps, two of them with a question; tests/pages walk through all of every lesson


@pytest.mark.slow  # tests/pages walk through every lesson, and axe looks at one in test_app_access
def test_a_stranger_starts_a_lesson_at_home_and_finishes_it(page: Page, server: Server) -> None:
    page.goto(f"{server(APP)}/")
    expect(page.get_by_role("heading", level=1)).to_have_text(home.TITLE, timeout=SLOW)
    expect(page.locator("img.dpviz-thumbnail")).to_have_count(5)
    expect(page.get_by_role("link", name="DPM").last).to_be_visible()
    lesson = next(iter(LESSONS.values()))
    page.get_by_role("button", name=lesson.title, exact=True).click()
    panel = page.locator(".st-key-lesson")
    picture_of(page)
    assert urlsplit(page.url).path == f"/{lesson.page}"
    last = len(lesson.steps) - 1
    for index in (*range(WALKED), last):
        step = lesson.steps[index]
        if index == last:
            page.goto(re.sub("step=[0-9]+", f"step={last + 1}", page.url))
        expect(panel.get_by_text(f"step {index + 1} of {len(lesson.steps)}")).to_be_visible()
        expect(page).to_have_url(re.compile(f"lesson={lesson.name}&step={index + 1}"))
        if step.question is not None:
            panel.get_by_role("radio").first.focus()
            page.keyboard.press("Space")
            check = panel.get_by_role("button", name=lessons.CHECK).first
            expect(check).to_be_enabled()
            check.focus()
            page.keyboard.press("Enter")
            right = step.question.right(lessons.measured(lesson.name, index)) == 0
            expect(panel.get_by_text(lessons.RIGHT if right else lessons.WRONG)).to_be_visible()
            if "epsilon" in step.after:
                expect(page).to_have_url(re.compile(f"epsilon={step.after['epsilon']}"))
        if index < last:
            panel.get_by_role("button", name=lessons.NEXT).first.click()
    panel.get_by_role("button", name=lessons.FINISH).click()
    expect(panel).to_have_count(0)
    expect(page).to_have_url(re.compile(f"learn\\?chapter={after_lesson(lesson.name)}"))
