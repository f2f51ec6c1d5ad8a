"""Chapters as data: their form, and what each measures against an oracle that shares no code with it."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest

from dpviz.plots import pack
from dpviz.stories.chapter import MOST_WORDS
from dpviz.tools.learn.page import measured
from dpviz.tools.learn.story import CHAPTERS, END, NAMES, after, after_lesson, average, coin, crowd
from dpviz.ui.lessons import LESSONS

PROMISED = ("average", "coin", "mean", "clusters", "leak", "noise", "cuts", "hills", "sending", "helpers", "audit")
PROMISED += ("decide",)


def ends(knob):
    """Return the values that a chapter's control can be put to: all choices, or its ends and its default."""
    if knob.kind == "choice":
        return [value for value, _ in knob.choices]
    return [
        knob.parse(knob.format(value)) for value in (int(knob.low), knob.default, int(knob.high)) if value >= knob.low
    ]


def test_chapters_stand_in_the_promised_order_and_lead_on():
    assert tuple(name for name in PROMISED if name in CHAPTERS) == NAMES
    assert [after(name) for name in NAMES] == [*NAMES[1:], END]
    assert {chapter.lesson for chapter in CHAPTERS.values()} - {""} <= set(LESSONS)
    for name in LESSONS:
        assert after_lesson(name) in (*NAMES, END)
    assert after_lesson("epsilon") == "mean"


@pytest.mark.parametrize("name", NAMES)
def test_a_chapter_is_one_short_idea_and_asks_before_it_tells(name):
    chapter = CHAPTERS[name]
    asked, answer = chapter.question, measured(name)
    for text in (chapter.words, asked.explained(answer)):
        assert 0 < len(text.split()) <= MOST_WORDS, text
        assert "!" not in text
    assert len(re.findall(r"[.?](?:\s|$)", asked.explained(answer))) <= 2, "two sentences of what was seen"
    assert 3 <= len(asked.ranges) <= 4
    assert [answer.value in each for each in asked.ranges].count(True) == 1
    assert asked.ranges[0].low == -math.inf
    assert asked.ranges[-1].high == math.inf
    assert "{measured}" in asked.explanation
    assert "e^" not in chapter.words + asked.explanation, "odds come first"
    assert asked.measure() == answer, "measured again it is the same"


@pytest.mark.parametrize("name", NAMES)
def test_every_setting_of_the_control_has_a_picture_and_words(name):
    chapter = CHAPTERS[name]
    shown = {}
    for value in ends(chapter.control):
        scene = chapter.picture(value, answered=True)
        assert scene.alt
        assert not scene.is_empty
        assert 0 < len(chapter.told(value).split()) <= MOST_WORDS
        shown[value] = pack(scene)
    assert len(set(shown.values())) == len(shown), "the control changes the picture"
    assert pack(chapter.picture(chapter.control.default, answered=True)) == shown[chapter.control.default]


# Averages, against fractions.


def test_a_salary_follows_from_two_averages_to_the_dollar():
    earned = [Fraction(int(each)) for each in average.salaries()]
    assert len(earned) == average.N
    for leaver in range(1, average.N + 1):
        others = sum(earned) - earned[leaver - 1]
        cents = [round(sum(earned) / average.N * 100), round(others / (average.N - 1) * 100)]
        by_hand = Fraction(average.N * cents[0] - (average.N - 1) * cents[1], 100)
        assert average.found(leaver) == pytest.approx(float(by_hand), abs=1e-6)
        # Each average is rounded by half a cent at most.
        assert abs(by_hand - earned[leaver - 1]) <= Fraction(2 * average.N - 1, 200)
        assert round(average.found(leaver)) == earned[leaver - 1]
    assert measured("average").value < 0.5


# The coin, against its law.


def test_the_coin_is_two_tosses_and_its_limit_75():
    heads = Fraction(1, 2) + Fraction(1, 2) * Fraction(1, 2)
    found = measured("coin")
    error = 100 * math.sqrt(float(heads * (1 - heads)) / coin.N_ROUNDS)
    assert abs(found.value - 100 * heads) <= 6 * error
    assert found.words["limit"] == "75"
    assert coin.yes_of_100(coin.TWO_TOSSES) == (75, 25)
    for epsilon in (0.1, 1.0, 2.0, 4.0):
        law = 100 / (1 + math.exp(-epsilon))
        assert law <= coin.yes_of_100(epsilon)[0] < law + 1
    # A coin that leans further is refused by the same tolerance.
    assert abs(coin.attacked(1.2).value - 100 * heads) > 6 * error


# The noisy average, against the Laplace law.


def test_a_crowd_changes_the_error_and_not_the_promise():
    assert [crowd.odds(n) for n in crowd.SIZES] == [pytest.approx(75.0)] * len(crowd.SIZES)
    for n in crowd.SIZES:
        scale = 200_000 / n / math.log(3)
        assert crowd.noise(n).scale == pytest.approx(scale)
        assert abs(crowd.error(n) - scale) <= 6 * scale / math.sqrt(crowd.N_MEASURED)  # |noise| has mean and sd `scale`
        # The best attacker on two worlds a whole share apart stays below the promise, in any crowd.
        rng = np.random.default_rng(n)
        here, there = rng.laplace(0, scale, 40_000), rng.laplace(200_000 / n, scale, 40_000)
        middle = 100_000 / n
        right = 50 * float((here < middle).mean() + (there > middle).mean())
        assert right <= 75
        assert right == pytest.approx(100 - 50 * math.exp(-math.log(3) / 2), abs=6 * 100 * 0.5 / math.sqrt(80_000))
