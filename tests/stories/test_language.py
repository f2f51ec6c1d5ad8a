"""Another language: its catalogue is whole, says every sentence of the course and of the stage, and changes no English.

What is walked are words before they are drawn; `tests/pages/test_language.py` looks at pages.
"""

import ast
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

from dpviz.methods import CATALOGUE
from dpviz.stories.glossary import DRAWINGS, GLOSSARY, PLACES, drawing, search, topics
from dpviz.stories.language import SOURCE, catalogue, say, spoken, translated
from dpviz.tools.teaching.chapters import CHAPTERS, END_TITLE
from dpviz.tools.teaching.page import course, glossary, quiz, teachers
from dpviz.tools.teaching.plans import EXERCISES, PLANS, SYNTHETIC, WRONG_IDEAS
from dpviz.tools.teaching.quiz import QUESTIONS
from dpviz.ui import classes, home
from tests.languages import OTHERS, compiled, folder, written
from tests.stage_words import FOLDER

PLACE = re.compile(r"\{(\w+)\}")
NOT_SAID = {"UNKNOWN", "REMEMBER", "STILL"}  # parts of sentences, and a line of a file in English
KNOWN = {"Map"}  # to scripts alone, and never seen
SCALE = "Scale: "  # scripts say it


def of_course() -> Iterator[str]:
    """Yield what chapters, quiz, glossary and the material for teachers are made of, as it is written."""
    for chapter in CHAPTERS.values():
        knob, asked = chapter.control, chapter.question
        yield from (chapter.title, chapter.words, chapter.explained, chapter.leads, asked.words, asked.explanation)
        yield from (
            knob.label,
            knob.help,
            *(words for _, words in knob.choices),
            *(each.words for each in asked.ranges),
        )
        yield from (f"✗ Your guess: “{each.words}”." for each in asked.ranges)
    for question in QUESTIONS:
        yield from (question.words, question.why, question.link[0], *question.choices)
        yield from (f"You: ✓ {each}." for each in question.choices)
    for term in GLOSSARY.values():
        yield from (term.name, term.meaning, ", ".join(term.others))
        yield from re.findall("(?<=>)[^<>]+(?=</text>)", DRAWINGS[term.name]())
    yield from chain((topic for topic, _ in topics()), (place.words for place in PLACES.values()))
    for part in chain(*PLANS.values()):
        yield from (part.title, part.words, *part.say, *(link.words for link in part.links))
    for idea in WRONG_IDEAS:
        yield from (f"“{idea.claim}”", idea.answer, idea.link.words)
    for exercise in EXERCISES:
        yield from (exercise.title, exercise.task, exercise.solution, exercise.link.words)
    for method in CATALOGUE.values():
        yield method.title
        if method.thumbnail is not None:
            yield from (method.thumbnail.question, method.thumbnail.alt)
        if method.attack is not None:
            yield method.attack.words
    for step in classes.STEPS:
        yield from (step.title, step.words)
    yield from (END_TITLE, SYNTHETIC, *course.LIST_WORDS.values(), *(words for _, words in teachers.TAB.choices))
    for knob in (teachers.BIG, teachers.BARE):
        yield from (knob.label, knob.help)


def of_pages() -> Iterator[str]:
    """Yield the sentences that pages name in capitals."""
    for module in (course, quiz, glossary, teachers, home, classes):
        for name, value in vars(module).items():
            if name.isupper() and isinstance(value, str) and re.search("[A-Z][a-z]| ", value) and name not in NOT_SAID:
                yield value


def of_calls() -> Iterator[str]:
    """Yield what is written where it is said: `say("Search")`."""
    for module in (course, quiz, glossary, teachers, home, classes):
        for node in ast.walk(ast.parse(Path(module.__file__).read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "say":
                yield from (each.value for each in node.args[:1] if isinstance(each, ast.Constant))


def of_stage() -> Iterator[str]:
    """Yield what stands beside pictures, of each mode and at three ε, from the files that hold it."""
    for file in FOLDER.glob("*.txt"):
        for line in filter(None, file.read_text("utf-8").split("\n")):
            if line.startswith("#"):
                continue
            whose, told, said = line.partition(": ")
            if whose in ("curator", "everyone"):
                if not said.startswith("  "):
                    yield said
                    continue
                label, strip, ends = said.strip().partition(" ... ")
                if strip:
                    unit, short, lines = re.match(r"(.*) \((\w+)\)(.*)", ends).groups()
                    yield from filter(None, (label, unit, short))
                    yield from re.findall("; at [^ ]+ ([^;]+)", lines)
                else:
                    yield re.match(r"at [^ ]+: ([^;]+)", said.strip()).group(1)
            elif whose in ("proved", "claimed", "broken"):
                yield said
            elif whose.endswith("?"):
                yield from (whose, "" if said == "no limit" else said.removesuffix(" in 100"))
            else:
                assert line.endswith(".") or told
                yield line


def of_pictures() -> Iterator[str]:
    """Yield the chapters' pictures in words."""
    for chapter in CHAPTERS.values():
        knob = chapter.control
        value = chapter.answered_at
        yield chapter.caption(value)
        if knob.log:
            yield chapter.note(float(value))
        scene = chapter.picture(value, answered=True)
        yield from (scene.title, scene.alt)
        for axis in (scene.x, scene.y):
            yield from (axis.label, axis.unit, *axis.names)
        for layer in scene.layers:
            yield from (layer.name, layer.label, *layer.names[:3])


def lacking(texts: Iterator[str], language: str) -> list[str]:
    """Return the texts that a language has no words for, or ends otherwise than in English."""
    scripts, lacked = catalogue(language).scripts, []
    for said in filter(re.compile("[A-Za-z]{2}").search, dict.fromkeys(texts)):  # symbols are the same
        words = translated(said, language, whole=True)
        if words is None and (said in scripts or said in KNOWN or said.startswith(SCALE)):
            continue
        if words is None or (said[-1] in ".?!" and words[-1] not in ".?!“"):
            lacked.append(said)
    return lacked


@pytest.mark.parametrize("language", OTHERS)
@pytest.mark.parametrize("texts", [of_course, of_pages, of_calls, of_stage, of_pictures])
def test_a_language_has_every_sentence(texts, language):
    assert lacking(texts(), language) == []


def test_a_sentence_that_is_new_is_found():
    assert lacking(iter(["Five centers land where they should.", "A sentence that nobody has translated."]), "de") == [
        "Five centers land where they should.",  # of its messages none ends so
        "A sentence that nobody has translated.",
    ]


@pytest.mark.parametrize("language", OTHERS)
def test_messages_keep_places_marks_and_terms(language):
    assert compiled(language) == (folder(language) / "dpviz.mo").read_bytes(), "python -m tests.languages"
    for message in written(language):
        if message.id:
            assert set(PLACE.findall(message.id)) == set(PLACE.findall(message.string)), message.id
            assert message.id.count("**") == message.string.count("**"), message.id
            terms = [re.findall(r"\[\[([^\]|]+)", each) for each in (message.id, message.string)]
            assert terms[0] == terms[1], message.id


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("2,000", "2.000"),
        ("0.79 %", "0,79 %"),
        ("3.16, 7.67; 0", "3,16, 7,67; 0"),
        ("ε = 2.5e-05 per 1 m.", "ε = 2,5e-05 auf 1 m."),
        ("\\$9,100", "9.100\u00a0\\$"),
        pytest.param(
            "Four cuts at clear gaps leave five clusters; doubt remains.",
            "Vier Schnitte an deutlichen Lücken ergeben fünf Cluster; Zweifel bleiben.",
        ),
        pytest.param(
            "Gray is secret, blue released, orange noise, green public. Zones may leave the box.",
            "Grau ist geheim, Blau veröffentlicht, Orange Rauschen, Grün öffentlich. Zonen dürfen aus der Box ragen.",
        ),
        # What only somebody's own data know stays as it is.
        pytest.param(
            "Find crowds of Kühe; only **blue centers** are published.",
            "Wo häufen sich Kühe? Nur **blaue Zentren** werden veröffentlicht.",
        ),
        ("A sentence of somebody else's.", "A sentence of somebody else's."),
    ],
)
def test_sentences_are_put_together_in_german(said, words):
    assert say(said, "de") == words


def test_pictures_are_told_in_a_language_and_in_english_stay_the_same_object():
    chapter = CHAPTERS["coin"]
    scene = chapter.picture(1.0, answered=True)
    assert spoken(scene, SOURCE) is scene
    german = spoken(scene, "de")
    assert [layer.name for layer in german.layers] == ["Sagt ja", "Sagt nein"]
    assert german.x.names == ("Wahrheit: ja", "Wahrheit: nein")
    assert [layer.arrays is before.arrays for layer, before in zip(german.layers, scene.layers, strict=True)] == [
        True
    ] * 2
    knob = spoken(CHAPTERS["audit"].control, "de")
    assert knob.choices == (("1", "Ganz"), ("0.5", "Die Hälfte"), ("0.25", "Ein Viertel"))


def test_the_glossary_is_searched_and_drawn_in_german():
    assert GLOSSARY["noise"] in search("rauschen", "de")
    assert search("rauschen") == ()
    assert ">ja</text>" in drawing("randomized response", "de")
