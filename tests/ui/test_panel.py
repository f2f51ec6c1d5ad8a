from html.parser import HTMLParser

import pandas as pd
import pytest

from dpviz.core import Adjacency, Claim, Guarantee
from dpviz.plots.table import FORMULA_STARTS
from dpviz.stories import Fact, Sentence
from dpviz.stories.glossary import GLOSSARY
from dpviz.stories.label import Contents, label_of
from dpviz.ui import panel

HOSTILE = "<script>alert('1')</script><img src=x onerror=\"x\">\"'&amp;"


class Reader(HTMLParser):
    """Read HTML as a browser does: the tags, and the text that a person sees."""

    def __init__(self):
        super().__init__()
        self.tags, self.text, self.titles = [], "", []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        assert all(not name.startswith("on") for name, _ in attrs)
        self.titles += [value for name, value in attrs if name == "title"]

    def handle_data(self, data):
        self.text += data


@pytest.fixture
def page(monkeypatch):
    """Return the reader of everything that was written as HTML."""
    written = []
    monkeypatch.setattr(panel.st, "html", written.append)

    def read():
        reader = Reader()
        reader.feed("".join(written))
        reader.close()
        return reader

    return read


def claim(**changes):
    made = {"epsilon": 1.0, "delta": 0.0, "adjacency": Adjacency.ADD_REMOVE, "reference": "the paper, theorem 5"}
    return Claim(**{**made, **changes})


CONTENTS = Contents("one record", ("the box",), ("true averages",))


def labeled(guarantee, contents=CONTENTS):
    return label_of(guarantee, contents)


def test_words_stay_words_everywhere(page):
    panel.sentence(Sentence(HOSTILE, HOSTILE), public=False)
    panel.side(panel.facts(HOSTILE, [Fact(HOSTILE, HOSTILE, HOSTILE, True)], public=False))
    hostile = Contents(HOSTILE, (HOSTILE,), (HOSTILE,), HOSTILE, ((1.0, HOSTILE),))
    wild = claim(reference=HOSTILE, per_distance=True)
    label = labeled(Guarantee(wild, wild, (HOSTILE,)), hostile)
    panel.side(panel.guarantee(label, HOSTILE, (HOSTILE,)), panel.details(label, HOSTILE))
    read = page()
    assert not {"script", "img"} & set(read.tags)
    # Sentence, five words of the fact; on the card title, notice, protects, trusts, two numbers, two references and a
    # distance; behind it title, public, secret and caveat.
    assert read.text.count(HOSTILE) == 6 + 9 + 4
    assert read.titles[0] == HOSTILE
    assert set(read.titles[1:]) < {term.meaning for term in GLOSSARY.values()}


def test_the_public_reads_its_own_sentence_and_no_secret_fact(page):
    panel.sentence(Sentence("secret 42", "open"), public=True)
    assert page().text == "open"
    shown = [Fact("cost", "42 secret", "exact secret", False), Fact("odds", "73 in 100", "limit", True)]
    panel.side(panel.facts("Risk", shown, public=True))
    read = page()
    assert "secret" not in read.text + "".join(read.titles)
    assert "73 in 100" in read.text
    assert panel.facts("Utility", [Fact("cost", "42", "exact", False)], public=True) == ""


def test_the_curators_facts_carry_a_lock(page):
    panel.side(panel.facts("Both", [Fact("a", "1", "", False), Fact("b", "2", "", True)], public=False))
    read = page()
    assert read.tags.count("dt") == 2
    assert read.tags.count("span") == 1, "one lock"


def test_a_proof_and_a_claim_stand_side_by_side(page):
    label = labeled(Guarantee(claim(epsilon=2.0), claim(delta=1e-5, adjacency=Adjacency.REPLACE), ("why",)))
    panel.side(panel.guarantee(label), panel.details(label))
    text = page().text
    shown = "one record~the box~true averages~89 in 100~74 in 100~Stated~ε = 2~Proved~ε = 1, δ = 10 in a million~why"
    for words in (*shown.split("~"), "one record replaced", "one record added"):
        assert words in text
    assert "not established" not in text


def test_a_claim_without_proof_is_called_a_claim(page):
    panel.side(panel.guarantee(labeled(Guarantee(claim(epsilon=4), None, ("the run", "the reason"))), "", ("the run",)))
    text = page().text
    assert "Claimed" in text
    assert "not established" in text
    assert "Stated" not in text
    assert "the reason" in text, "why nothing is proved is not hidden"
    assert "if it held" in text


FORMULAS = '=1+1~@SUM(A1)~+A1~-cmd|\'/C calc\'!A0~=HYPERLINK("http://x","y")~\t=1~-1 A1~-A1~＝1~-1+1'


@pytest.mark.parametrize("evil", FORMULAS.split("~"))
def test_no_cell_header_or_row_name_is_a_formula_in_the_saved_file(evil):
    table = pd.DataFrame({evil: [evil, 1.5], "b": [2, evil]}, index=[evil, "x"])
    safe = panel.harmless(table)
    words = [*safe.columns, *safe.index, *(each for each in safe.to_numpy().ravel() if isinstance(each, str))]
    assert not [word for word in words if word.startswith(FORMULA_STARTS)]
    assert sum(evil.strip() in word for word in words) == 4, "the words are still there"


@pytest.mark.parametrize("number", ["-0.5", "+3", "1e-5", "-1,234", "-2 cm", "-40 %", "−1", "12 of 20"])
def test_a_number_stays_as_it_is(number):
    table = pd.DataFrame({"a": [number, -0.5, None]})
    assert panel.harmless(table).equals(table)
