"""Modules are loaded with the words of another language, and in no other way than before without one."""

import importlib.util
import json
import sys

import pytest

import dpviz.words
from dpviz.words import is_translated, named, speak, spoken, translated
from dpviz.words.loading import Finder, Loader, install, read

SOURCE = '''"""A module."""
from dpviz.core import compiled

TITLE = "Noise and you"

@compiled
def twice(x: float) -> float:
    """Return twice as much."""
    if x < 0.0:
        raise ValueError("Not below zero.")
    return 2.0 * x

def said(n: int) -> str:
    return f"{n:,} of {twice(n):g} records"
'''
WORDS = {"Noise and you": "Rauschen und du", "{0} of {1} records": "von {1} Sätzen {0}", "Not below zero.": "Nein."}


@pytest.fixture(autouse=True)
def english_afterwards(monkeypatch):
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    yield
    speak({})


@pytest.fixture
def module(tmp_path):
    """Return a module that is loaded from a file with these words."""

    def loaded(words):
        speak(words)
        path = tmp_path / "made.py"
        path.write_text(SOURCE, "utf-8")
        spec = importlib.util.spec_from_file_location("made", path, loader=Loader("made", str(path)))
        made = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(made)
        return made

    return loaded


def language(folder, words):
    path = folder / "xx.json"
    path.write_text(json.dumps(words), "utf-8")
    return str(path)


def test_a_module_says_its_words_in_the_other_language(module):
    made = module(WORDS)
    assert made.TITLE == "Rauschen und du"
    assert made.said(1500) == "von 3000 Sätzen 1,500"


def test_what_is_not_translated_stays_english(module):
    made = module({"Noise and you": "", "{0} of {1} records": "von {1} Sätzen {0}"})
    assert made.TITLE == "Noise and you"
    assert made.said(2) == "von 4 Sätzen 2"


def test_machine_code_is_compiled_as_ever(module):
    twice = module(WORDS).twice
    assert twice(2.5) == 5.0
    assert twice.signatures, "it ran as machine code"
    with pytest.raises(ValueError, match="Not below zero"):  # kept beside the source, and so the same for all languages
        twice(-1.0)


def test_no_bytecode_is_kept(module, tmp_path):
    module(WORDS)
    assert list(tmp_path.rglob("*.pyc")) == []


def test_nothing_is_loaded_in_another_way_in_english():
    assert not any(isinstance(each, Finder) for each in sys.meta_path)
    assert not is_translated()
    assert translated("Noise") == "Noise"
    assert spoken("level") == named("level") == "level"
    install("en")
    assert not any(isinstance(each, Finder) for each in sys.meta_path)


def test_an_installed_language_is_for_this_package_alone(tmp_path):
    install(language(tmp_path, WORDS))
    finder = next(each for each in sys.meta_path if isinstance(each, Finder))
    found = finder.find_spec("dpviz.core.box", sys.modules["dpviz.core"].__path__)
    assert isinstance(found.loader, Loader)
    assert finder.find_spec("json", None) is None
    assert finder.find_spec("dpviz.words.finding", dpviz.words.__path__) is None
    assert translated("Noise and you") == "Rauschen und du"


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ('{"{0} of {1}": "{0} von", "Fine.": "Gut."}', r"'\{0\} of \{1\}' is filled in at \{0\}, \{1\}"),
        ('{"Fine.": 3}', "no list of translations"),
        ('["Fine."]', "no list of translations"),
        ("{", "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_said_is_refused(tmp_path, content, complaint):
    path = tmp_path / "xx.json"
    path.write_text(content, "utf-8")
    with pytest.raises(ValueError, match=complaint):
        read(str(path))


def test_a_language_that_is_not_there_names_those_that_are():
    with pytest.raises(ValueError, match=r"DPVIZ_LANGUAGE was 'tlh'.*Languages: .*en"):
        install("tlh")
    assert not any(isinstance(each, Finder) for each in sys.meta_path)
