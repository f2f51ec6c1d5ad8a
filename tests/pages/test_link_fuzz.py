"""Links that no app would write, on every page: no traceback, and each rejected value is named."""

import random
import re

import pytest

from tests import hostile
from tests.pages.conftest import LINKED

KNOBS = hostile.all_knobs()
# Links for each page.
QUICK, LONG = 4, 300
NUMBERS = [*hostile.NUMBERS, "-1", "7.5", "1e9", "9" * 5_000]
WORDS = [*hostile.PARTS, '"><img src=x onerror=alert(1)>', "a\0b", "a\nb\r", "", " ", "../../etc/passwd", "x" * 20_000]
_DATA = "upload:~upload:<b>~draw~UPLOAD:x~\0~iris~moons~blobs~worst_case~<script>"
DATA = [*_DATA.split("~"), "x" * 9_999]
# Markup in the page's texts that is not escaped.
MARKUP = re.compile(r"(?<!\\)(<script|<img|!\[|\]\(|\$)")


def hostile_link(seed):
    """Make one link: about a third of its values bad, some off the grid, some at an end, names doubled and unknown."""
    rng = random.Random(seed)
    link = {}
    for knob in rng.sample(KNOBS, len(KNOBS)):
        kind = rng.random()
        if kind < 0.35:
            link[knob.name] = rng.choice(WORDS + NUMBERS)
        elif kind < 0.5 and knob.kind in ("int", "float"):
            place = rng.choice([0.0, 1.0, rng.random()])
            value = knob.low + place * (knob.high - knob.low)
            # Large values are slow, and there are many pages: other tests cover the ends of sizes and of repetitions.
            if knob.kind == "float" or value <= 64:
                link[knob.name] = knob.format(value if knob.kind == "float" else int(value))
        elif kind < 0.6:
            link[knob.name] = [rng.choice(NUMBERS), rng.choice(WORDS)]
        elif kind < 0.7 and knob.kind == "choice":
            link[knob.name] = rng.choice(knob.choices)[0]
    link.update({rng.choice(WORDS) or "x": rng.choice(WORDS) for _ in range(3)})
    link["data"] = rng.choice(DATA)
    link["n"] = rng.choice(["60", "60", *NUMBERS, *WORDS])
    return link


def check(open_page, name, seed):
    link = hostile_link(seed)
    # An exception fails here.
    page = open_page(name, **link)
    assert [title.value for title in page.app.title], "the page is there"
    boxes = [*page.app.warning, *page.app.error, *page.app.info]
    said = "".join(box.value for box in boxes)
    assert not MARKUP.search(said)
    assert len(said) < 400 * (len(link) + len(boxes))
    assert not [body for body in page.bodies if "<script" in body or "<img src=x" in body]
    state = page.app.session_state
    kept = state["dpviz:knobs"].values if "dpviz:knobs" in state else {}
    allowed = {knob.name: [each for each in KNOBS if each.name == knob.name] for knob in KNOBS}
    for key, value in kept.items():
        if key in allowed:
            assert any(_takes(knob, value) for knob in allowed[key]), (key, value)
    told, problems = page.warnings, [warning for warning in page.warnings if warning.startswith("The link's ")]
    # The knobs that this page has asked for.
    for key in kept:
        if key in link and key in allowed and not any(_reads(knob, link[key]) for knob in allowed[key]):
            assert any(re.match(f"The link's {key} (was|must be) ", problem) for problem in problems), key
    assert not set(page.run().warnings) & set(problems), "said once"
    return len(told)


def _reads(knob, text):
    try:
        knob.parse(text[-1] if isinstance(text, list) else text)
    except ValueError:
        return False
    return True


def _takes(knob, value):
    try:
        return knob.check(value) == value
    except ValueError:
        return False


@pytest.mark.parametrize("name", LINKED)
def test_hostile_links_on_every_page(open_page, name):
    told = [check(open_page, name, f"{name}{seed}") for seed in range(QUICK)]
    assert sum(told) > QUICK, "the links were bad"


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("name", LINKED)
def test_many_hostile_links_on_every_page(open_page, name, part):
    for seed in range(part * LONG // 4, (part + 1) * LONG // 4):
        check(open_page, name, f"{name}, long, {seed}")
