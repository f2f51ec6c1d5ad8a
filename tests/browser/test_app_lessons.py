"""From the course into a lesson, and from its last step on, by mouse and keyboard, in a real browser."""

import re
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from dpviz.tools.teaching.chapters import CHAPTERS, after_lesson
from dpviz.tools.teaching.page import course
from dpviz.ui import lessons
from dpviz.ui.lessons import LESSONS
from tests.browser.conftest import Server
from tests.browser.test_app import APP, SLOW, picture_of

pytestmark = pytest.mark.browser

WALKED = 3  # steps, two of them with a question; tests/pages walk through all of every lesson


@pytest.mark.slow  # tests/pages walk through every lesson, and axe looks at one in test_app_access
def test_a_stranger_starts_a_lesson_in_the_course_and_finishes_it(page: Page, server: Server) -> None:
    lesson = next(iter(LESSONS.values()))
    chapter = next(each for each in CHAPTERS.values() if each.lesson == lesson.name)
    page.goto(f"{server(APP)}/learn?chapter={chapter.name}&{chapter.control.name}={chapter.control.default}")
    page.get_by_role("button", name=course.SKIP).click(timeout=SLOW)
    page.get_by_role("button", name=course.DEEPER, exact=True).click(timeout=SLOW)
    panel = page.locator(".st-key-lesson")
    expect(panel).to_be_visible(timeout=SLOW)
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
            expect(panel.get_by_text("✓ Your guess is right" if right else "✗ Your guess")).to_be_visible()
            for name, value in step.after.items():
                expect(page).to_have_url(re.compile(f"{name}={value}"))
        if index < last:
            page.get_by_test_id("stMain").evaluate("main => main.scrollTo(0, main.scrollHeight)")
            panel.get_by_role("button", name=lessons.NEXT).first.click()
            heading = panel.get_by_role("heading", name=lesson.steps[index + 1].title)
            expect(heading).to_be_focused()  # in view, and read out
            expect(heading).to_be_in_viewport()
    panel.get_by_role("button", name=lessons.FINISH).click()
    expect(panel).to_have_count(0)
    expect(page).to_have_url(re.compile(f"learn\\?chapter={after_lesson(lesson.name)}"))
