"""The teachers' page and the quiz: every link restores what it speaks of, answers leave in a code alone."""

import re
from urllib.parse import parse_qsl, urlsplit

import pytest

from dpviz.stories.glossary import GLOSSARY
from dpviz.tools.compare.document import pdf
from dpviz.tools.teaching.chapters import CHAPTERS
from dpviz.tools.teaching.page import quiz
from dpviz.tools.teaching.page import teachers as teach
from dpviz.tools.teaching.plans import EXERCISES, PLANS, WRONG_IDEAS, chapter_still, links
from dpviz.tools.teaching.quiz import QUESTIONS, Sheet, read_code, write_code
from dpviz.ui.home import THUMBNAILS, still
from tests.tools.compare.pdf import pages_of

N = len(QUESTIONS)


def everything(page):
    """Return all that a reader can read."""
    said = [each.value for kind in ("title", "caption", "markdown", "subheader") for each in getattr(page.app, kind)]
    return " ".join(" ".join([page.text, *said]).split())


@pytest.mark.parametrize("link", links(), ids=lambda link: link.words)
def test_every_link_restores_its_state_and_shows_what_is_promised(open_page, link):
    name, _, query = link.address.partition("?")
    asked = dict(parse_qsl(query))
    page = open_page(name, **asked)
    assert page.warnings == []
    assert not page.app.error
    assert link.shows in everything(page)
    if "picture" in page.packed():
        assert {**page.query, **asked} == page.query
    else:  # that of Compare and Audit waits for runs
        kept = page.app.session_state["dpviz:knobs"].values if asked else {}
        assert {each: str(kept[each]) for each in asked if each in kept} == {
            each: text for each, text in asked.items() if each in kept
        }
        assert set(asked) - set(kept) <= {"data"}


@pytest.mark.parametrize("tab", [name for name, _ in teach.TAB.choices])
def test_every_part_of_the_page_is_there(open_page, tab):
    page = open_page("teach", teach_tab=tab)
    assert page.warnings == []
    bodies = "".join(page.bodies)
    if tab.startswith("plan"):
        steps = PLANS[int(tab.removeprefix("plan"))]
        assert [step.title for step in steps] == re.findall(r"<h2>(.*?)</h2>", bodies)
        assert all(sentence in page.text for step in steps for sentence in step.say)
        assert [teach.PHONES in each for each in re.findall(r"<article>.*?</article>", bodies)] == [
            step.phones for step in steps
        ]
    elif tab == "wrong":
        assert all(idea.claim in page.text and idea.answer in page.text for idea in WRONG_IDEAS)
    elif tab == "exercises":
        assert bodies.count("<details>") == len(EXERCISES)
        assert all(each.solution in page.text for each in EXERCISES)
        hidden = open_page("teach", teach_tab=tab, hide="answers")
        assert not any(each.solution in hidden.text for each in EXERCISES)
    elif tab == "stills":
        (sent,) = [each.proto.bytes for each in page.app.get("bidi_component") if "stills" in each.proto.component_name]
        assert all(still(name).encode() in sent for name in THUMBNAILS)
        assert all(chapter_still(name).encode() in sent for name in CHAPTERS)


def test_the_switches_are_in_every_link(open_page):
    page = open_page("teach", teach_projector="1", teach_bare="1")
    for address in re.findall(r'<a href="([^"]+)"', "".join(page.bodies)):
        query = dict(parse_qsl(urlsplit(address.replace("&amp;", "&")).query))
        assert (query["size"], query["hide"]) == ("projector", teach.AWAY)
    assert open_page("convergent_kmeans", n="300", size="projector", hide=teach.AWAY).warnings == []


@pytest.mark.parametrize("minutes", PLANS)
def test_the_handout_is_one_page_with_every_step_word_and_exercise(minutes):
    (words,) = pages_of(pdf(teach.handout(minutes)))
    written = re.sub(r"\W+", "", words)
    for step in PLANS[minutes]:
        assert re.sub(r"\W+", "", step.title) in written
    for name in ("record", "secret", "public", "epsilon"):
        assert re.sub(r"\W+", "", GLOSSARY[name].meaning) in written
    exercises = " ".join(map(" ".join, teach.handout(minutes).blocks[-1].pairs))
    assert all(exercise.title in exercises and exercise.solution not in exercises for exercise in EXERCISES)


def press(page, words):
    (button,) = [button for button in page.app.button if button.label == words]
    button.click()
    return page.run()


def answer(page, choices):
    """Answer the questions of one half, None for none."""
    for at, choice in enumerate(choices):
        assert QUESTIONS[at].words == page.app.radio[0].label
        assert not any(each.why in page.text for each in QUESTIONS), "nothing is told yet"
        if choice is not None:
            page.app.radio[0].set_value(choice)
            page.run()
        press(page, quiz.NEXT if at + 1 < N else quiz.LAST)


def test_after_the_course_one_half_gives_a_score(open_page):
    page = open_page("quiz", half="after")
    answer(page, tuple(question.right for question in QUESTIONS))
    assert page.app.subheader[0].value == f"{N} of {N} right"
    assert "Before: " not in page.text


def test_two_halves_make_a_code_that_the_teacher_reads(open_page):
    right = tuple(question.right for question in QUESTIONS)
    before = (None, *(0 for _ in QUESTIONS[1:]))
    page = open_page("quiz")
    answer(page, before)
    first = page.app.code[0].value
    assert read_code(first) == Sheet(before, (None,) * N)
    press(page, quiz.GO_ON)
    answer(page, right)
    code = page.app.code[0].value
    assert read_code(code) == Sheet(before, right)
    n_before = sum(old == new for old, new in zip(before, right, strict=True))
    assert page.app.subheader[0].value == f"{n_before} of {N} right before, {N} after"
    assert all(each.why in page.text for each in QUESTIONS)

    other = open_page("quiz", hide="answers")  # in another tab, with the code of the first half
    other.widget("text_input", quiz.CODE).set_value("nonsense")
    press(other, quiz.GO_ON)
    assert "8 letters" in other.app.error[0].value
    other.widget("text_input", quiz.CODE).set_value(first)
    press(other, quiz.GO_ON)
    answer(other, right)
    assert other.app.code[0].value == code
    assert not any(each.why in other.text for each in QUESTIONS)

    class_page = open_page("teach", teach_tab="class")
    class_page.widget("text_area", teach.CODES_LABEL).set_value(
        f"{code}\n{write_code(Sheet(right, before))}\n<img src=x>\n"
    )
    class_page.run()
    assert class_page.app.subheader[0].value == "2 codes"
    assert "Line 3" in class_page.warnings[0]
    assert "\\<img src=x\\>" in class_page.app.warning[0].value, "words, not markup"
    assert class_page.text.count("1 of 2 before") >= N - 1 - n_before
