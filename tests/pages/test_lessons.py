"""Lessons on their pages: each walked through once, right guesses score, wrong ones do not, nothing exact is public."""

import pytest
from streamlit.testing.v1 import AppTest

from dpviz.tools.teaching.chapters import CHAPTER, after_lesson
from dpviz.ui import lessons
from dpviz.ui.lessons import LESSONS
from tests.pages.conftest import ROOT, Page

MAIN = "dpviz/ui/server/script.py"  # a test of app.py runs it for the first run only, then the page alone


class LessonPage(Page):
    """A page that is opened through the app, as a lesson's link is."""

    def __init__(self, **query):
        self.app = AppTest.from_file(str(ROOT / MAIN), default_timeout=60)
        self.app.query_params.update(query)
        self.run()


def panel(page):
    """Return the lesson's progress line."""
    (line,) = [caption.value for caption in page.app.caption if ": step " in caption.value]
    return line


def press(page, words):
    (button,) = [button for button in page.app.button if button.label == words]
    button.click()
    return page.run()


def guess(page, index):
    (radio,) = [radio for radio in page.app.radio if str(radio.key).startswith("lesson:")]
    radio.set_value(index)
    page.run()
    return press(page, lessons.CHECK)


def said(page):
    return " ".join(text.value for text in page.app.markdown)


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_is_walked_through(name):
    lesson = LESSONS[name]
    page = LessonPage(lesson=name, step="1")
    n_asked = 0
    for index, step in enumerate(lesson.steps):
        assert panel(page).startswith(f"{lesson.title}: step {index + 1} of {len(lesson.steps)}")
        assert step.words in said(page)
        assert page.warnings == []
        assert not page.app.error
        # Every knob that a step names is on the page and in its link, exactly as the step has it.
        assert {**page.query, **lesson.state(index)} == page.query
        assert (page.query["lesson"], page.query["step"]) == (name, str(index + 1))
        if step.question is not None:
            found = lessons.measured(name, index)
            assert found.words["measured"] not in said(page).replace(step.words, ""), "not told before the guess"
            guess(page, step.question.right(found))
            n_asked += 1
            assert step.question.explained(found) in said(page)
            assert "✓ Your guess is right" in said(page)
            assert f"{n_asked} of {n_asked} right" in panel(page)
            assert {**page.query, **lesson.state(index, answered=True)} == page.query
            marked = any(caption.value == lessons.EXACT for caption in page.app.caption)
            assert marked == step.question.exact
        if index + 1 < len(lesson.steps):
            press(page, lessons.NEXT)
    press(page, lessons.FINISH)
    assert page.app.title[0].value == dict(CHAPTER.choices)[after_lesson(name)]
    assert page.query == {CHAPTER.name: after_lesson(name)}
    assert not any(": step " in caption.value for caption in page.app.caption)


def test_a_wrong_guess_does_not_score_and_only_the_first_counts():
    page = LessonPage(lesson="epsilon", step="3")
    asked = LESSONS["epsilon"].steps[2].question
    right = asked.right(lessons.measured("epsilon", 2))
    guess(page, (right + 1) % len(asked.ranges))
    assert "✗ Your guess: “" in said(page)
    assert "✓ Right: “" in said(page)
    assert "0 of 1 right" in panel(page)
    lesson_panel_guesses = page.app.session_state["dpviz:lesson-guesses"]
    press(page, lessons.BACK)
    press(page, lessons.NEXT)
    assert page.app.session_state["dpviz:lesson-guesses"] == lesson_panel_guesses
    assert page.app.radio[-1].disabled
    assert "0 of 1 right" in panel(page)


def test_the_public_gets_no_exact_answer():
    page = LessonPage(lesson="kmeans", step="2", audience="public")
    assert lessons.HIDDEN in [info.value for info in page.app.info]
    assert not [radio for radio in page.app.radio if str(radio.key).startswith("lesson:")]
    press(page, lessons.NEXT)
    assert page.query["audience"] == "public", "a step leaves the switch as it is"
    assert lessons.HIDDEN in [info.value for info in page.app.info]
    released = LessonPage(lesson="dpm", step="2", audience="public")
    guess(released, 0)
    assert lessons.measured("dpm", 1).words["measured"] in said(released)


def test_a_link_s_own_knobs_come_before_the_step_s():
    page = LessonPage(lesson="kmeans", step="3", epsilon="3.0")
    assert page.query["epsilon"] == "3.0"
    assert panel(page).startswith(f"{LESSONS['kmeans'].title}: step 3")
    again = LessonPage(**page.query)
    assert again.packed() == page.packed()


def test_next_moves_a_slider_that_the_reader_has_moved():
    page = LessonPage(lesson="kmeans", step="1", epsilon="3.0")
    press(page, lessons.NEXT)
    assert page.query["epsilon"] == LESSONS["kmeans"].state(1)["epsilon"]


def test_a_lesson_opens_on_its_own_page():
    page = LessonPage(lesson="morse", step="2", n="1000")
    assert page.app.title[0].value == "Morse processing"
    assert panel(page).startswith(LESSONS["morse"].title)


@pytest.mark.parametrize(("link", "told"), [({"lesson": "<b>"}, "lesson was"), ({"step": "99"}, "step was")])
def test_a_bad_link_is_said(link, told):
    page = LessonPage(**{"lesson": "epsilon", "step": "1", **link})
    assert any(told in warning for warning in page.warnings)
    assert page.packed()["picture"][1]["layers"]
