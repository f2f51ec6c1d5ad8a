"""A made-up language: every page speaks it to the last word, and turned back it is the English page to the letter.

Its words are the English ones in Cyrillic letters, one for one. So a text that is said in English shows itself by its
letters, and a comparison that a translation breaks shows itself when everything is turned back. One text is left out of
the language: it must be found, and nothing else.
"""

import json
import os
import re
import subprocess
import sys

import pytest

from dpviz.methods.convergent_kmeans.page.family import METHOD
from dpviz.ui import hiding
from dpviz.words.catalogue import catalogue
from tests.pages.conftest import ROOT
from tests.pages.readable import FILE, PLACES, SLOW, readable

LEFT_OUT = "Who is looking"  # the switch that every picture has
LOWER, UPPER = ord("а") - ord("a"), ord("А") - ord("A")
THERE = {
    ord(letter): ord(letter) + (LOWER if letter.islower() else UPPER)
    for letter in map(chr, range(128))
    if letter.isalpha()
}
BACK = {there: here for here, there in THERE.items()} | {0x2060: None}  # the joiner in "w." that is part of no address
# What a translation keeps as it is: tags, entities, code, what is filled in, terms, addresses, colors, escapes.
KEPT = re.compile(r"<[^>]*>|&#?\w+;|`[^`]*`|\{\w*\}|%\(\w+\)\w|\[\[[^\]|]+|\]\([^)]*\)|:\w+\[|\\.")
WORD = re.compile(r"(?<![A-Za-z])[A-Za-z]?[a-z]{2,}(?![A-Za-z])")  # two small letters: no symbol, and no abbreviation
FORMULA = re.compile(r"\$\$.*?\$\$|\$[^$]*\$", re.DOTALL)
IN_FORMULA = re.compile(r"\\text\{([^{}]*)\}")
MARKUP = re.compile(r"`[^`]*`|\]\([^)]*\)|:\w+\[")
# What is said as it is in every language: names of units and functions, ...
NAMES = {"cm", "ln"}
NAMES |= set(FILE.split(b"\n")[0].decode().split(","))  # ... of a file's columns, ...
NAMES |= {*hiding.GROUPS, *dict(METHOD.choices), "tab", "mode", "clusters", "odd"}  # ... in a wrong link, ...
STATISTIC = re.compile(r"\w+ \[\d+(?:, \d+)?\]")  # ... and of an audit's statistics: zone_centers [0, 0]


def turned(text):
    """Return a text in the made-up language."""
    end, made = 0, ""
    for kept in KEPT.finditer(text):
        made += text[end : kept.start()].translate(THERE) + kept[0]
        end = kept.end()
    return made + text[end:].translate(THERE)


def english(text):
    """Return the English words of a text."""
    words = " ".join([FORMULA.sub("", text), *(" ".join(IN_FORMULA.findall(each)) for each in FORMULA.findall(text))])
    return [word for word in WORD.findall(STATISTIC.sub("", MARKUP.sub("", words))) if word not in NAMES]


def spoken(places, folder, *options):
    """Return what is read at places, in English and, by another process, in the made-up language."""
    words = {text: turned(text) for texts in catalogue().values() for text in texts if text != LEFT_OUT}
    path = folder / "made-up.json"
    path.write_text(json.dumps(words), "utf-8")
    command = [sys.executable, str(ROOT / "tests" / "pages" / "readable.py"), *options]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env={**os.environ, "DPVIZ_LANGUAGE": str(path)}, cwd=ROOT, **pipes) as process:
        here = readable(places)
        out, err = process.communicate(timeout=1200)
    assert process.returncode == 0, err.decode()[-4000:]
    return here, json.loads(out)


def check(here, there):
    left = {text for texts in there.values() for text in texts if english(text)}
    assert left == {LEFT_OUT}
    for place, texts in here.items():
        assert len(texts) > 50, place
        assert [text.translate(BACK) for text in there[place]] == [text.translate({0x2060: None}) for text in texts], (
            place
        )


@pytest.fixture(scope="module")
def everywhere(tmp_path_factory):
    return spoken(PLACES, tmp_path_factory.mktemp("words"))


def test_every_page_speaks_it_and_says_what_it_says_in_english(everywhere):
    check(*everywhere)


def test_every_page_and_entrance_is_looked_at():
    assert {page for page, _, _ in PLACES.values()} >= {path.stem for path in ROOT.glob("pages/*.py")} - {"home"} | {""}


@pytest.mark.slow
def test_long_work_speaks_it(tmp_path):
    check(*spoken(SLOW, tmp_path, "--slow"))


@pytest.mark.parametrize(
    "text",
    ["Noise", "узд noise", "k-means", "$b = \\text{records}$", "1: cells", "filled 3 %", "zone_centers [0, 0] of all"],
)
def test_english_is_heard(text):
    assert english(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ε = 3",
        "Ноитд",
        "x ау 3.5",
        "$\\frac{a}{b}$",
        "`python -m dpviz`",
        "[узд пажд](./dpm?mode=one)",
        "k, n, ARI",
        "zone_centers [0, 0]",
    ],
)
def test_what_is_no_english_is_not(text):
    assert english(text) == []
