"""One number for one thing: a run's headline, strips, facts, cards, formulas and files agree."""

import json
import re
from dataclasses import fields, is_dataclass

import numpy as np
import pytest

from dpviz.core import attacker_odds
from dpviz.methods import CATALOGUE
from dpviz.stories.label import both_limits, described, factor_words, label_of, promise, written
from dpviz.stories.panel import limit
from dpviz.stories.profiles import bounds_words
from dpviz.tools.compare.frontier import spread_words
from tests.stage_words import EPSILONS, pages

EVERY = [(page, mode, epsilon) for page, modes in pages().items() for mode in modes for epsilon in EPSILONS]
ODDS = re.compile(r"(?:attacker|right)\b[^.;:]*?(over 99|[\d.]+)(?: times)? in 100")
FACTOR = re.compile(r"more than ([\d.,]+(?: [mbt]rillion)? times) as likely")


def texts(value):
    """Yield all words in a value of any depth."""
    if isinstance(value, str):
        yield value
    elif is_dataclass(value):
        for field in fields(value):
            yield from texts(getattr(value, field.name))
    elif isinstance(value, dict):
        yield from texts(list(value.values()))
    elif isinstance(value, list | tuple):
        for each in value:
            yield from texts(each)


def said_by(run):
    """Return all text about a run: stage, facts, card, notices, spoken texts, and contents of a file."""
    picture, label = run.picture(), label_of(run.guarantee, run.contents(), run.events)
    charts = [(chart.scene.title, chart.scene.alt, chart.scene.caption) for chart in run.charts()]
    card = (label, written(label), json.dumps(described(run.guarantee)), promise(run.guarantee))
    scene = (picture.title, picture.alt, picture.caption, picture.public_caption)
    return [*texts((list(run.stage_words()), list(run.facts()), card, scene, charts)), both_limits(run.guarantee)]


def disagreements(run, said):
    """Yield different numbers for the same thing."""
    stated, proved = run.guarantee.published, run.guarantee.proved
    length = (run.distance or (1.0, ""))[0]
    odds = {
        limit(attacker_odds(each.epsilon * (length if each.per_distance else 1.0), each.delta))
        for each in (stated, proved)
        if each is not None
    }
    for text in said:
        if re.search(r"\b(?:99\.\d|100)\d* (?:times )?in 100|at most over|up to over", text):
            yield text
        if proved is not None and not proved.per_distance:
            yield from (text for found in ODDS.findall(text) if found not in odds)
            wanted = {factor_words(each.epsilon) for each in (stated, proved) if each is not None}
            yield from (text for found in FACTOR.findall(text) if found not in wanted)
    facts = {fact.label: fact.value for fact in run.facts()}
    curator, public = run.stage_words()
    for label, words in (("Expected move", public), ("Average move, this run", curator)):
        if label in facts and facts[label] != words.loss.text:
            yield f"{label}: {facts[label]}, but {words.loss.text} on the stage"
    if curator.strip is not None and curator.strip.short == "away" and facts.get("Cost") != curator.loss.text:
        yield f"Cost: {facts.get('Cost')}, but {curator.loss.text} on the stage"
    if (
        curator.loss is not None
        and public.loss is not None
        and curator.loss.text.removeprefix("about ") != public.loss.text.removeprefix("about ")
        and curator.strip.label == public.strip.label
    ):
        yield f"two numbers are called {public.strip.label}"


@pytest.mark.parametrize(("page", "mode", "epsilon"), EVERY)
def test_all_words_of_a_run_have_one_number_for_one_thing(page, mode, epsilon):
    run = pages()[page][mode](epsilon)
    assert not [*disagreements(run, said_by(run))]


@pytest.mark.parametrize(
    "wrong",
    [
        "An attacker is right at most 75 times in 100.",
        "An attacker is right at most over 99 in 100",
        "It could be 99.4 in 100",
        "makes no result more than 2.72 times as likely",
    ],
)
def test_another_number_is_noticed(wrong):
    run = pages()["dpm"]["repaired"](1.0)
    assert [*disagreements(run, [wrong])]


CHAPTERS = {
    name: method for name, method in CATALOGUE.items() if method.chapter is not None and method.chapter.control.log
}


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_says_of_epsilon_what_is_proved_on_its_page(name):
    method, chapter = CHAPTERS[name], CHAPTERS[name].chapter
    data = chapter.made()
    for value in (0.5, 1.0):
        params = method.Params(**chapter.params(value))
        proved = method.fit(data.points, data.box, params, rng=np.random.default_rng(0)).guarantee.proved
        odds = attacker_odds(value if proved.per_distance else proved.epsilon, proved.delta)
        assert f"right at most {limit(odds)} times" in chapter.note(value)
    assert limit(attacker_odds(0.7)) not in CHAPTERS["dpm"].chapter.note(1.0)


def test_the_screen_and_the_document_of_compare_have_one_band():
    rows = [{"status": "ok", "inertia_ratio": ratio} for ratio in (1.0, 1.234, 1.25, 2.0, 13.0)]
    rows.append({"status": "refused", "inertia_ratio": None})
    assert spread_words(rows) == ("1.62", "1.00 to ∞")
    assert spread_words(rows[:5]) == ("1.25", "1.00 to 13")


def test_bounds_have_all_of_their_digits():
    assert bounds_words(0.0, 11_111.0, "m") == "0 to 11,111 m"
    assert bounds_words(-0.123456789, 2013.0) == "-0.123456789 to 2,013"
