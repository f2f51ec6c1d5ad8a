"""The glossary: short, plain, each word once, each with a drawing; texts find their words in it."""

from collections import Counter
from xml.etree import ElementTree

import pytest

from dpviz.core import attacker_odds
from dpviz.stories.glossary import (
    DRAWINGS,
    GLOSSARY,
    HEIGHT,
    PLACES,
    SLUGS,
    WIDTH,
    address,
    drawing,
    meant,
    noticed,
    pieces,
    search,
)
from dpviz.stories.panel import limit
from dpviz.tools.teaching.chapters import CHAPTERS

# Terms that a newcomer meets on the pages, as they are written there.
MET = (
    *("record", "cluster", "center", "curator", "attacker", "neighbors", "ε", "δ", "budget", "bound", "release", "box"),
    *("noise", "sensitivity", "DPM", "Morse", "nD-Laplace", "ARI", "inertia", "cost", "zCDP", "Laplace mechanism"),
    *("Gaussian mechanism", "k", "Lloyd", "per distance"),
)


def test_it_is_short_plain_and_in_order():
    assert list(GLOSSARY) == sorted(GLOSSARY, key=str.lower)
    for term in GLOSSARY.values():
        assert 5 <= len(term.meaning.split()) <= 35, term
        assert term.meaning.endswith(".")
        assert "[[" not in term.meaning
        assert term.chapter in ("", *CHAPTERS)
    assert len(SLUGS) == len(GLOSSARY)
    assert {term.place for term in GLOSSARY.values()} == set(PLACES)


def test_every_word_has_one_meaning():
    words = Counter(word.lower() for term in GLOSSARY.values() for word in {term.name, *term.others})
    assert [word for word, times in words.items() if times > 1] == []
    assert [word for word in MET if word.lower() not in words] == []


def test_every_word_has_a_drawing_of_its_own_size_and_colors():
    assert set(DRAWINGS) == set(GLOSSARY)
    for name in GLOSSARY:
        root = ElementTree.fromstring(drawing(name))
        assert (root.get("width"), root.get("height")) == (str(WIDTH), str(HEIGHT))
        assert len(list(root)) > 1, "more than its style"
        assert "prefers-color-scheme:dark" in drawing(name)
        assert not set(address(name)) & set('"<>&'), "it stands in an attribute"
    assert f">{limit(attacker_odds(1.0))} in 100<" in drawing("attacker odds")


def test_terms_stand_for_themselves_and_unknown_ones_are_refused():
    assert list(pieces("a [[zone]], [[zone|zones]].")) == [
        ("a ", ""),
        ("zone", "zone"),
        (", ", ""),
        ("zones", "zone"),
        (".", ""),
    ]
    with pytest.raises(KeyError, match="zoo is not in the glossary"):
        list(pieces("the [[zoo]]"))
    with pytest.raises(KeyError):
        meant("zoo")


def test_a_text_without_marks_has_the_first_mention_of_each_term_found():
    text = "The curator has records. A Record, kmeans-like, and the dPM; pure luck: DPM adds noise per distance."
    found = noticed(text)
    assert "".join(words for words, _ in found) == text
    assert [(words, term) for words, term in found if term] == [
        ("curator", "curator"),
        ("records", "record"),
        ("DPM", "DPM"),
        ("noise", "noise"),
        ("per distance", "geo-indistinguishability"),
    ]


def test_the_search_finds_names_first_and_every_word_must_be_there():
    assert search("") == tuple(GLOSSARY.values())
    assert next(term.name for term in search("EPS")) == "epsilon"
    assert next(term.name for term in search("ε")) == "epsilon"
    assert {term.name for term in search("adjusted pairs")} == {"ARI"}
    assert search("privacy budget")[0].name == "budget"
    assert search("neighbour") == search("neighbor")
    assert search("anonym")
    assert search("zoo") == ()
