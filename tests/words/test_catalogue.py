"""The committed list of all texts is what the sources say, and a translation is kept up to date beside it."""

import json
import re
from functools import cache

import pytest

from dpviz.words import catalogue as all_texts
from dpviz.words.catalogue import ROOT, catalogue, texts_of, write
from dpviz.words.finding import SPOKEN

everything = cache(catalogue)
SENTENCE = re.compile(r"[`\"][^`\"\n]*[A-Z][a-z]+ [a-z]+[^`\"\n]*[`\"]")  # in a script


def test_the_committed_list_is_what_the_sources_say():
    listed = json.loads((ROOT / "assets" / "words" / "en.json").read_text("utf-8"))
    found = everything()
    # What is filled in is shown as Python writes it, and its versions quote in different ways.
    was = {file: list(texts) for file, texts in listed.items()}
    assert was == {file: list(texts) for file, texts in found.items()}, "write it again: python -m dpviz.words"


def test_it_covers_every_kind_of_source():
    found = everything()
    assert sum(map(len, found.values())) > 4000
    for file in ("dpviz/ui/frame.py", "dpviz/stories/dpm.py", "assets/live.js", "assets/gallery.json"):
        assert len(found[file]) > 10, file
    assert "assets/reproduction/dpm.json" in found
    assert not [file for file in found if file.startswith("dpviz/words/")]


@pytest.mark.parametrize("page", sorted(path.name for path in ROOT.glob("pages/*.py")))
def test_pages_hold_no_text(page):
    # Streamlit runs them past the loader: what they say stands in the modules below.
    assert texts_of(ROOT / "pages" / page) == {}


@pytest.mark.parametrize("script", sorted(path.name for path in ROOT.glob("assets/*.js")))
def test_what_a_script_says_is_marked(script):
    code = re.sub(r"^\s*(//|/\*|\*).*|\s// .*", "", (ROOT / "assets" / script).read_text("utf-8"), flags=re.MULTILINE)
    assert SENTENCE.findall(SPOKEN.sub("", code)) == []


def test_a_translation_keeps_what_is_translated(tmp_path, monkeypatch):
    monkeypatch.setattr(all_texts, "FOLDER", tmp_path)
    monkeypatch.setattr(all_texts, "catalogue", lambda: {"a.py": {"One.": "", "{0} more": "{n}"}, "b.py": {"One.": ""}})
    assert write("en") == (["One.", "{0} more"], [])
    assert write("xx") == (["One.", "{0} more"], [])
    path = tmp_path / "xx.json"
    assert json.loads(path.read_text("utf-8")) == {"One.": "", "{0} more": ""}
    path.write_text(json.dumps({"One.": "Eins.", "Old.": "Alt.", "Empty.": ""}), "utf-8")
    assert write("xx") == (["{0} more"], ["Old."])
    assert json.loads(path.read_text("utf-8")) == {"One.": "Eins.", "{0} more": ""}
    assert write("en") == ([], [])
