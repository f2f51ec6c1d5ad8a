"""Pages in German: chapters with their feedback, quiz, glossary, class and stage hold no English."""

import asyncio
import html
import json
import re

import pytest

from dpviz.methods import CATALOGUE
from dpviz.stories.language import catalogue
from dpviz.tools.teaching.page import course
from dpviz.ui import home
from tests.pages.conftest import Page
from tests.ui.test_classes import Browser

ENGLISH = re.compile(r"\b(the|and|of|is|are|you|your|with|each|from|that|not|at most|by)\b", re.IGNORECASE)
AS_WRITTEN = re.compile(  # what German sentences name in English, and names of papers' methods
    r"„[^“]*“|Adjusted mutual information|Neighbor noisy averages|add or remove|\bHohn\b"
)


def drawn(page):
    """Return all words of a page of words."""
    app = page.app
    elements = (*app.title, *app.subheader, *app.markdown, *app.caption, *app.info, *app.warning)
    told = [each.value for each in elements]
    told += [each.label for each in (*app.button, *app.expander, *app.text_input, *app.tabs)]
    for each in app.radio:
        told += [each.label, *each.options]
    return [*told, *(html.unescape(re.sub("<[^>]*>", " ", body)) for body in page.bodies)]


def english(texts):
    """Return the texts with English words."""
    return [text for text in texts if ENGLISH.search(AS_WRITTEN.sub("", text))]


def test_a_chapter_answers_in_german_and_the_link_keeps_the_language(open_page):
    page = open_page("learn", lang="de", chapter="coin")
    assert page.query == {"chapter": "coin", "lang": "de"}
    assert english(drawn(page)) == []
    assert page.app.title[0].value == "Eine Münze, die für Sie lügt"
    page.app.button(key="guess:0").click()
    page.run()
    said = " ".join(each.value for each in page.app.markdown)
    assert re.search(
        r":red\[\*\*✗ Ihr Tipp: „50 bis 60“\.\*\*\] :blue\[\*\*✓ Richtig: „70 bis 80“\.\*\*\] \*\*7[45],\d\*\*", said
    )
    assert "der Ihre wahre Antwort zu erraten versucht, höchstens 75-mal richtig" in said
    assert english(drawn(page)) == []
    _, scene, _ = page.packed()["picture"]
    assert [layer["name"] for layer in scene["layers"]] == ["Sagt ja", "Sagt nein"]
    slider = page.sent("epsilon")
    assert (slider["left"], slider["texts"][0], slider["spoken"][0]) == (
        "verrauscht, privat",
        "0,1",
        "ε 0,1, Angreifer höchstens 53-mal von 100 richtig",
    )


def test_a_reader_changes_the_language_and_it_stays_on_other_pages(open_page):
    page = open_page("learn")
    english_title = page.app.title[0].value
    page.app.button(key="language:de").click()
    page.run()
    assert page.app.title[0].value == "Zwei Mittelwerte verraten ein Gehalt" != english_title
    page.app.switch_page("pages/quiz.py")
    page.run()
    assert page.app.title[0].value == "Quiz"
    assert english(drawn(page)) == []
    page.app.switch_page("pages/learn.py")
    page.run().app.button(key="language:en").click()
    assert page.run().app.title[0].value == english_title


def test_the_quiz_is_german_to_its_end(open_page):
    page = open_page("quiz", lang="de", half="after")
    for at in range(10):
        assert english(drawn(page)) == []
        page.app.radio[0].set_value(at % 2)
        page.app.button[-1].click()
        page.run()
    told = drawn(page)
    assert english(told) == []
    assert any("von 10 richtig" in each for each in told)
    assert "Sie: ✗ " in "".join(told)
    assert "lang=de" in "".join(page.bodies)


@pytest.mark.parametrize("name", ["glossary", "teach"])
def test_a_page_of_words_is_german(open_page, name):
    page = open_page(name, lang="de")
    assert english(drawn(page)) == []
    assert page.app.query_params["lang"] == "de"


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_stage_speaks_german(open_page, name):
    page = open_page(name, lang="de")
    words, scene = page.stage, page.packed()["picture"][1]
    said = [words["finding"], words["lede"], words["guarantee"], words["risk_label"], words["strip"]["label"]]
    said += [
        scene["caption"],
        scene["alt"],
        *scene["group_names"],
        *(each for frame in scene["frames"] for each in frame),
    ]
    said += [layer["label"] for layer in scene["layers"]]
    told = page.told
    said += [told["instrument"][each] for each in ("label", "left", "right", "hint")]
    said += [choice for _, choice in told["audience"]["choices"]]
    told_by_scripts = (*catalogue("de").scripts, "Scale: ")
    assert english(each for each in said if not each.startswith(told_by_scripts)) == []
    assert page.query["lang"] == "de"
    plain = open_page(name)
    assert plain.stage["finding"] != words["finding"]


def test_home_asks_in_german():
    page = Page("", {"lang": "de"})
    assert page.told["home"]["question"] == page.app.title[0].value == "Wie viel Rauschen verbirgt Sie?"
    assert english([page.stage["finding"], *(each.value for each in page.app.caption)]) == []
    assert page.told["home"]["actions"][0] == ["Kurs: 12 kurze Kapitel", "learn"]
    assert home.START != "Kurs: 12 kurze Kapitel"


def test_a_class_speaks_its_teachers_language():
    async def lesson():
        teacher, student = Browser(), Browser()
        made = await teacher.get("/class/NEW?lang=de")
        place = made.headers["location"]
        assert place.endswith("?lang=de")
        screen = (await teacher.get(f"/class/{place}")).text
        assert '<html lang="de">' in screen
        assert f"/class/{place}" in html.unescape(screen), "students' link has the language, too"
        steps = json.loads(html.unescape(re.search(r'data-steps="([^"]*)"', screen)[1]))
        texts = [each for step in steps for each in (step["title"], step["words"])]
        texts += [each for step in steps for asked in step["questions"] for each in (asked["words"], *asked["choices"])]
        assert english(texts) == []
        at = [step["name"] for step in steps].index("average")
        for said in ({"step": at}, {"tell": "average"}):
            await teacher.post(f"/class/{place.replace('?', '/teach?')}", content=json.dumps(said))
        now = place.replace("?", f"/now?student={'0' * 16}&")
        told = (await student.get(f"/class/{now}")).json()["told"]["average"]
        assert english([told["why"]]) == []
        assert "20 × 49.147,55" in told["why"]

    asyncio.run(lesson())


def test_english_pages_are_told_of_no_language(open_page):
    page = open_page("learn")
    assert page.sent("course")["kept"] == ""
    assert course.LANGUAGE_WORDS in [each.value for each in page.app.caption]
    assert "lang" not in page.query
