"""The course on its page: every chapter asks, answers and leads on; guesses stay out of the address."""

import pytest

from dpviz.tools.teaching.chapters import CHAPTERS, END, END_TITLE, NAMES
from dpviz.tools.teaching.page import course as learn
from tests.pages.conftest import Page


class Course(Page):
    """The page, opened through the app."""

    def __init__(self, **query):
        super().__init__("learn", query)

    @property
    def said(self):
        return " ".join(text.value for text in self.app.markdown)

    @property
    def labels(self):
        return [button.label for button in self.app.button]

    def press(self, words):
        """Press a button and run."""
        (button,) = [button for button in self.app.button if button.label == words]
        button.click()
        return self.run()


def test_all_chapters_are_walked_through():
    page = Course()
    for name in NAMES:
        chapter = CHAPTERS[name]
        answer = learn.measured(name)
        assert [title.value for title in page.app.title] == [chapter.title]
        assert page.warnings == []
        assert page.query == {"chapter": name}
        assert chapter.question.explained(answer) not in page.said
        right = chapter.question.right(answer)
        page.press(chapter.question.ranges[right].words)
        assert learn.lessons.RIGHT in page.said
        assert chapter.question.explained(answer) in page.said
        assert chapter.caption(chapter.answered_at) in page.said
        assert page.query == {"chapter": name, chapter.control.name: chapter.control.format(chapter.answered_at)}
        assert learn.SKIP not in page.labels, "only the first guess counts"
        assert page.packed()["picture"][0]["plain"]
        page.press(learn.NEXT)
    assert [title.value for title in page.app.title] == [END_TITLE]
    (written,) = [each.proto.body for each in page.app.get("html") if "<ol>" in each.proto.body]
    for name in NAMES:
        assert f'{CHAPTERS[name].explained} <a href="learn?chapter={name}"' in written
    assert 'href="quiz?half=after"' in written
    page.press(learn.BACK)
    assert [title.value for title in page.app.title] == [CHAPTERS[NAMES[-1]].title]
    assert learn.SKIP not in page.labels


def test_a_wrong_guess_is_said_and_a_skipped_one_is_not():
    chapter = CHAPTERS[NAMES[0]]
    right = chapter.question.right(learn.measured(chapter.name))
    wrong = chapter.question.ranges[(right + 1) % len(chapter.question.ranges)]
    page = Course()
    page.press(wrong.words)
    assert learn.lessons.WRONG in page.said
    skipped = Course()
    skipped.press(learn.SKIP)
    for verdict in (learn.lessons.RIGHT, learn.lessons.WRONG):
        assert verdict not in skipped.said


@pytest.mark.parametrize("name", NAMES)
def test_a_link_with_the_control_in_it_shows_the_answer(name):
    chapter = CHAPTERS[name]
    knob = chapter.control
    value = next(value for value in (knob.choices[-1][0] if knob.choices else knob.high,))
    page = Course(chapter=name, **{knob.name: knob.format(knob.parse(knob.format(value)))})
    assert chapter.caption(knob.parse(knob.format(value))) in page.said
    assert learn.SKIP not in page.labels


def test_a_bad_link_is_said_and_opens_the_first_chapter():
    page = Course(chapter="<b>")
    assert any("chapter was" in warning for warning in page.warnings)
    assert [title.value for title in page.app.title] == [CHAPTERS[NAMES[0]].title]
    assert [title.value for title in Course(chapter=END).app.title] == [END_TITLE]
