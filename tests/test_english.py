"""English that a native writer would not use may only become rarer."""

import json

import pytest

from tests.commit_message import find_problem
from tests.english import BETTER, COUNTS, Text, count, find_hits, find_places, read_python

# One text for each pattern, with its kind.
HITS = {
    "ours": Text("trailing", 1, "radius; ours"),
    "told, said": Text("string", 1, "The reader is told why."),
    "verb of": Text("string", 1, "It knows of them."),
    "fronted Of": Text("prose", 1, "Of two files, one is read."),
    "what is to be": Text("comment", 1, "what is to be known"),
    "None where": Text("string", 1, "None where none is left"),
    "is no X": Text("string", 1, "It is no code."),
    "no X but": Text("string", 1, "There was nothing left but this."),
    "bare possessive": Text("string", 1, "It is the curator's."),
    "others than": Text("string", 1, "others than these"),
    "in place of": Text("prose", 1, "a test in place of a proof"),
    "Return what": Text("string", 1, "Return how far it is."),
    "British": Text("comment", 1, "The colour."),
    "docstring opens with What": Text("docstring", 1, "What a run costs."),
    "fragment": Text("trailing", 1, "of the box"),
}


def test_patterns_become_rarer_in_each_folder():
    places, kept = find_places(), json.loads(COUNTS.read_text("utf-8"))
    found, comments = count(places), kept.pop("comments")
    now = found.pop("comments")
    worse = [
        f"{place}  {name}: write {BETTER[name]}"
        for folder, names in found.items()
        for name, number in names.items()
        if number > kept.get(folder, {}).get(name, 0)
        for place in places[folder][name]
    ]
    assert worse == []
    assert now["trailing"] <= comments["trailing"], "Write a comment on the line above its code."
    assert found == kept, "There are fewer: run python -m tests.english to keep it so."


def test_each_pattern_is_found_once_and_has_better_words():
    assert HITS.keys() == BETTER.keys()
    for name, text in HITS.items():
        assert [*find_hits(text)] == [name]


def test_a_number_sign_in_a_string_is_not_a_comment():
    source = 'x = f"a # {1}"  # of it\n# Above.\ny = """\n# no comment\n"""\n'
    found = [(each.kind, each.line, each.words) for each in read_python(source)]
    comments = [each for each in found if each[0] in ("trailing", "comment")]
    assert comments == [("trailing", 1, "of it"), ("comment", 2, "Above.")]


@pytest.mark.parametrize(
    ("subject", "problem"),
    [
        ("Fix the count of rows", None),
        ("Merge branch 'main'", None),
        ("Fixed the count of rows", "imperative"),
        ("the count", "imperative"),
        ("Fix the count; add a test", "semicolon"),
        ("Fix " + "x" * 69, "72"),
        ("", "imperative"),
    ],
)
def test_commit_subjects_are_short_imperatives(subject, problem):
    found = find_problem(subject)
    assert found is None if problem is None else problem in found
