"""The page for teachers and the quiz: every link restores the controls it names, and the quiz ends with a score."""

import re
from urllib.parse import parse_qsl, urlsplit

import pytest

from dpviz.stories.glossary import GLOSSARY
from dpviz.tools.compare.document import pdf
from dpviz.tools.teaching.chapters import CHAPTERS
from dpviz.tools.teaching.page import plans as teach
from dpviz.tools.teaching.page import quiz
from dpviz.tools.teaching.page.plans import EXERCISES, PLANS, WRONG_IDEAS, chapter_still, links
from dpviz.tools.teaching.page.quiz import QUESTIONS
from dpviz.ui.home import THUMBNAILS, still
from tests.tools.compare.pdf import pages_of


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
    # The picture of Compare and Audit waits for runs.
    else:
        kept = page.app.session_state["dpviz:knobs"].values if asked else {}
        assert {each: str(kept[each]) for each in asked if each in kept} == {
            each: text for each, text in asked.items() if each in kept
        }
        assert set(asked) - set(kept) <= {"data", "hide"}


@pytest.mark.parametrize("tab", [name for name, _ in teach.TAB.choices])
def test_every_part_of_the_page_is_there(open_page, tab):
    page = open_page("teach", teach_tab=tab)
    assert page.warnings == []
    bodies = "".join(page.bodies)
    if tab.startswith("plan"):
        steps = PLANS[int(tab.removeprefix("plan"))]
        assert [step.title for step in steps] == re.findall(r"<h2>(.*?)</h2>", bodies)
        assert all(sentence in page.text for step in steps for sentence in step.say)
        assert [teach.PHONES in each for each in bodies.split("<article>")[1:]] == [step.phones for step in steps]
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
        assert query["size"] == "projector"
        assert set(teach.AWAY.split(",")) <= set(query["hide"].split(","))
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


def answer(page, choices):
    """Answer all questions, None for no answer."""
    for at, choice in enumerate(choices):
        assert QUESTIONS[at].words == page.app.radio[0].label
        assert not any(each.why in page.text for each in QUESTIONS), "nothing is told yet"
        if choice is not None:
            page.set("radio", QUESTIONS[at].words, choice)
        page.press(quiz.NEXT if at + 1 < len(QUESTIONS) else quiz.LAST)


def test_the_quiz_ends_with_a_score_and_every_right_answer(open_page):
    page = open_page("quiz")
    right = [question.right for question in QUESTIONS]
    answer(page, right)
    assert page.app.subheader[0].value == "10 of 10 right"
    assert page.text.count("You: ✓") == 10
    page.press(quiz.BACK)
    wrong = (right[-1] + 1) % len(QUESTIONS[-1].choices)
    page.set("radio", QUESTIONS[-1].words, wrong).press(quiz.LAST)
    assert page.app.subheader[0].value == "9 of 10 right"
    assert f"You: ✗ {QUESTIONS[-1].choices[wrong]}." in page.text
    assert all(each.why in page.text for each in QUESTIONS)


def test_before_a_class_the_quiz_shows_the_score_alone(open_page):
    page = open_page("quiz", hide="answers")
    answer(page, [None, *(question.right for question in QUESTIONS[1:])])
    assert page.app.subheader[0].value == "9 of 10 right"
    assert not any(each.why in page.text for each in QUESTIONS)
