"""A ledger is of people, whatever columns they have now; what a browser, a settings file and a reader change."""

import json

import pytest

from dpviz.core import Adjacency
from dpviz.tools.release import ReleaseLedger, write_release_ledger
from dpviz.ui import release_ledger, state
from dpviz.ui.export import settings
from dpviz.ui.export.settings import Settings, SettingsError
from tests.tools.test_release import entry
from tests.ui.test_runs import source

HERE = source(uploaded=True, key=("upload", "d1g357", ("a", "b")))
SAME = source(uploaded=True, key=("upload", "d1g357", ("a",)))
OTHER = source(uploaded=True, key=("upload", "other", ("a", "b")))
FIRST, SECOND = entry(0.5, number=1), entry(0.25, number=2)


@pytest.fixture(autouse=True)
def drawn(session, monkeypatch):  # noqa: ARG001 (an empty session)
    """Draw nothing; gather what the browser is told."""
    told = []
    monkeypatch.setattr(release_ledger, "_KEPT", lambda **given: told.append(given["data"]))
    monkeypatch.setattr(release_ledger.st, "caption", lambda *_: None)
    monkeypatch.setattr(release_ledger.st, "popover", lambda *_: Place())
    monkeypatch.setattr(release_ledger, "_list", lambda *_: None)
    return told


class Place:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


def kept(session, name, releases):
    session[release_ledger.KEY] = {"kept": {"name": name, "releases": releases}}
    release_ledger._take_kept()


def test_a_ledger_is_of_people_whatever_their_columns():
    release_ledger.add_entry(HERE, FIRST)
    release_ledger.add_entry(SAME, SECOND)
    assert release_ledger.get_ledger(HERE).entries == release_ledger.get_ledger(SAME).entries == (FIRST, SECOND)
    assert release_ledger.get_ledger(OTHER) == ReleaseLedger()


def test_a_public_set_has_no_ledger_on_screen(drawn):
    release_ledger.draw_ledger(source(), Place())
    assert drawn == []


def test_the_browser_is_told_entries_and_no_file(drawn):
    release_ledger.add_entry(HERE, FIRST)
    release_ledger.draw_ledger(HERE, Place())
    (told,) = drawn
    assert told["releases"] == write_release_ledger(ReleaseLedger((FIRST,)))
    assert "d1g357" not in json.dumps(told)


def test_what_the_browser_kept_goes_on_once(session, drawn):
    release_ledger.draw_ledger(HERE, Place())
    name = drawn[0]["name"]
    release_ledger.add_entry(HERE, SECOND)
    for _ in range(2):
        kept(session, name, write_release_ledger(ReleaseLedger((FIRST, SECOND))))
    assert set(release_ledger.get_ledger(HERE).entries) == {FIRST, SECOND}
    assert len(release_ledger.get_ledger(HERE).entries) == 2


@pytest.mark.parametrize("releases", [None, "x", [{}], [{"id": 1}], [["x"]]])
def test_nonsense_of_a_browser_changes_nothing_and_is_said(session, releases):
    release_ledger.add_entry(HERE, FIRST)
    kept(session, release_ledger._name(HERE), releases)
    assert release_ledger.get_ledger(HERE).entries == (FIRST,)
    assert any("ledger that cannot be read" in each for each in state.take_problems())


@pytest.mark.parametrize("message", [None, 7, {"kept": 7}, {"kept": {"name": 7}}, {"kept": {}}])
def test_a_message_that_is_none_is_ignored(session, message):
    session[release_ledger.KEY] = message
    release_ledger._take_kept()
    assert state.take_problems() == []


def test_settings_go_on_with_the_next_file_and_can_be_taken_off(drawn):
    release_ledger.expect_ledger(ReleaseLedger((FIRST,)))
    release_ledger.draw_ledger(source(), Place())  # no file yet
    assert state.take_problems() == []
    release_ledger.draw_ledger(OTHER, Place())
    assert [each.origin for each in release_ledger.get_ledger(OTHER).entries] == ["last year's settings"]
    assert any("ε = 0.5 in all" in each.replace("\\", "") for each in state.take_problems())
    release_ledger.add_entry(OTHER, SECOND)
    assert release_ledger.get_ledger(OTHER).total_basic().epsilon == 0.75
    release_ledger.draw_ledger(HERE, Place())
    assert release_ledger.get_ledger(HERE) == ReleaseLedger(), "one file alone"
    release_ledger._drop(OTHER)
    release_ledger.draw_ledger(OTHER, Place())
    assert release_ledger.get_ledger(OTHER).entries == (SECOND,)
    assert drawn[-1]["dropped"] == [FIRST.id], "the browser forgets it, too"


def test_settings_of_the_same_session_add_nothing():
    release_ledger.add_entry(HERE, FIRST)
    release_ledger.expect_ledger(release_ledger.get_ledger(HERE))
    release_ledger.draw_ledger(HERE, Place())
    assert release_ledger.get_ledger(HERE).entries == (FIRST,)
    assert state.take_problems() == []


def written(releases):
    text = settings.write(Settings("dpm", (), ledger=ReleaseLedger((FIRST, SECOND))), guarantees=())
    return json.dumps({**json.loads(text), "ledger": releases} if releases is not ... else json.loads(text)).encode()


def test_settings_carry_the_ledger():
    assert settings.read(written(...)).ledger == ReleaseLedger((FIRST, SECOND))
    assert "ledger" not in settings.write(Settings("dpm", ()), guarantees=())


@pytest.mark.parametrize("releases", [None, {}, "x", [{}]])
def test_settings_with_a_ledger_that_cannot_be_are_refused(releases):
    with pytest.raises(SettingsError, match=r"(?i)the file's ledger"):
        settings.read(written(releases))


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ((FIRST, SECOND), "ε = 0.75 in all"),
        ((FIRST, entry(0.25, 1e-5, number=3)), "ε = 0.75, δ = 10 in a million in all"),
        (
            (FIRST, entry(0.25, 1e-5, Adjacency.REPLACE, number=3)),
            "ε = 1.25, δ = 10 in a million in all for one record replaced",
        ),
        ((entry(1.0, proved=False),), "nothing is proved of 1"),
        ((FIRST, entry(1.0, proved=False, number=3)), "ε = 0.5 in all, nothing is proved of 1"),
    ],
)
def test_what_is_spent_is_said_with_what_nothing_is_proved_of(entries, words):
    assert release_ledger.spent_words(ReleaseLedger(entries)) == words
