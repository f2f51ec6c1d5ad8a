"""A ledger is about people, regardless of their columns; also changes by a browser, a settings file and a reader."""

import itertools
import json
import math
from contextlib import suppress
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from dpviz.core import Adjacency
from dpviz.methods import CATALOGUE
from dpviz.tools.compare.page import tabs
from dpviz.tools.release import ReleaseLedger, write_release_ledger
from dpviz.ui import release_ledger, runs, state
from dpviz.ui.export import settings
from dpviz.ui.export.settings import Settings, SettingsError
from dpviz.ui.runs import RunRequest
from tests.tools.test_release import entry
from tests.ui.test_runs import source

HERE = source(uploaded=True, key=("upload", "d1g357", ("a", "b")))
SAME = source(uploaded=True, key=("upload", "d1g357", ("a",)))
OTHER = source(uploaded=True, key=("upload", "other", ("a", "b")))
FIRST, SECOND = entry(0.5, number=1), entry(0.25, number=2)
(FIRST_WRITTEN,) = write_release_ledger(ReleaseLedger((FIRST,)))


@pytest.fixture(autouse=True)
def drawn(session, monkeypatch):  # noqa: ARG001 (an empty session)
    return watch(monkeypatch)


def watch(monkeypatch):
    """Draw nothing; gather the browser's messages and the reader's view of each kind of element."""
    told, seen = [], {"caption": [], "warning": [], "popover": [], "button": {}}
    monkeypatch.setattr(release_ledger, "_KEPT", lambda **given: told.append(given["data"]))
    monkeypatch.setattr(release_ledger, "_list", lambda *_, **__: None)
    monkeypatch.setattr(release_ledger.st, "caption", seen["caption"].append)
    monkeypatch.setattr(release_ledger.st, "warning", seen["warning"].append)
    monkeypatch.setattr(release_ledger.st, "popover", lambda label: seen["popover"].append(label) or Place())
    monkeypatch.setattr(release_ledger.st, "container", lambda **_: Place())
    monkeypatch.setattr(release_ledger.st, "checkbox", lambda *_, **__: False)
    monkeypatch.setattr(release_ledger.st, "button", lambda label, **given: seen["button"].update({label: given}))
    return SimpleNamespace(told=told, **seen)


class Place:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


def draw(drawn, source, *, public=False):
    """Draw the ledger's line anew and return the words around it."""
    for each in (drawn.caption, drawn.warning, drawn.popover, drawn.button):
        each.clear()
    release_ledger.draw_ledger(source, Place(), public=public)
    return " ".join((*drawn.caption, *drawn.warning))


def kept(session, releases):
    session[release_ledger.KEY] = {"kept": {"releases": releases}}
    release_ledger._take_kept()


def press(drawn, label):
    given = drawn.button[label]
    assert not given.get("disabled")
    given["on_click"](*given["args"])


def test_a_release_counts_for_every_file_until_its_people_are_said_to_be_others(drawn):
    release_ledger.add_entry(HERE, FIRST)
    for same in (SAME, HERE):
        assert release_ledger.SAME not in draw(drawn, same), "other columns of a file are the same people"
        assert release_ledger.get_ledger(same).entries == (FIRST,)
    assert "1 release, ε = 0.5 in all" in draw(drawn, OTHER)
    assert release_ledger.get_ledger(OTHER).entries == (FIRST,)
    assert not draw(drawn, OTHER, public=True), "only the curator answers"
    assert draw(drawn, OTHER).count("made of the same columns") == 1
    assert drawn.button["No, different people"]["disabled"], "the same columns: it takes a second look"
    drawn.button["No, different people"]["disabled"] = False
    press(drawn, "No, different people")
    assert release_ledger.get_ledger(OTHER) == ReleaseLedger()
    assert release_ledger.get_ledger(HERE).entries == (FIRST,)
    assert release_ledger.SEPARATE in draw(drawn, OTHER)
    for none in (release_ledger.NOTHING, release_ledger.UNHEARD):
        assert none not in draw(drawn, OTHER)
    press(drawn, "Also count them here")
    assert release_ledger.get_ledger(OTHER).entries == (FIRST,)
    assert release_ledger.SAME in draw(drawn, OTHER), "the question is open again"
    press(drawn, "Yes, add up")
    assert release_ledger.SAME not in draw(drawn, OTHER), "answered"
    release_ledger.add_entry(HERE, SECOND)
    assert "1 release, ε = 0.25 in all" in draw(drawn, OTHER), "a new one is a new question"


def test_the_browser_receives_entries_of_own_files_and_nothing_of_a_file(drawn):
    assert not draw(drawn, source())
    assert drawn.told == []
    release_ledger.add_entry(HERE, FIRST)
    draw(drawn, HERE)
    draw(drawn, OTHER)
    first = write_release_ledger(ReleaseLedger((FIRST,)))
    assert drawn.told == [{"releases": first, "dropped": [], "heard": False}] * 2


def test_what_the_browser_kept_joins_once_and_replaces_nothing(session):
    release_ledger.add_entry(HERE, SECOND)
    for _ in range(2):
        kept(session, write_release_ledger(ReleaseLedger((FIRST,))))
        assert sorted(release_ledger.get_ledger(HERE).entries, key=lambda each: each.id) == [FIRST, SECOND]


@pytest.mark.parametrize("releases", [None, "x", [{}], [{"id": 1}], [["x"]], [{**FIRST_WRITTEN, "day": "never"}]])
def test_unreadable_kept_releases_hide_no_other_and_the_page_says_so(session, drawn, releases):
    good = write_release_ledger(ReleaseLedger((SECOND,)))
    kept(session, [*releases, *good] if isinstance(releases, list) else releases)
    assert release_ledger.get_ledger(HERE).entries == ((SECOND,) if isinstance(releases, list) else ())
    for _ in range(2):
        words = draw(drawn, HERE)
        assert release_ledger.UNREAD in words
        assert release_ledger.NOTHING not in words


def test_nothing_is_known_only_after_the_browser_has_sent_its_list(session, drawn):
    assert draw(drawn, HERE) == release_ledger.UNHEARD
    kept(session, [])
    assert draw(drawn, HERE) == release_ledger.NOTHING


@pytest.mark.parametrize("message", [None, 7, {"kept": 7}, {"kept": {"name": 7}}, {"kept": {}}])
def test_a_message_that_is_none_is_ignored(session, message):
    session[release_ledger.KEY] = message
    release_ledger._take_kept()
    assert state.take_problems() == []


def test_settings_go_on_with_every_file_and_can_be_taken_off(drawn):
    release_ledger.take_imported(ReleaseLedger((FIRST,)))
    assert any("ε = 0.5 in all" in each.replace("\\", "") for each in state.take_problems())
    assert [each.origin for each in release_ledger.get_ledger(OTHER).entries] == ["last year's settings"]
    release_ledger.add_entry(OTHER, SECOND)
    assert release_ledger.get_ledger(OTHER).total_basic().epsilon == 0.75
    release_ledger.take_imported(release_ledger.get_ledger(OTHER))
    assert state.take_problems() == [], "settings of the same session add nothing"
    draw(drawn, OTHER)
    press(drawn, "No, different people")
    assert release_ledger.get_ledger(OTHER).entries == (SECOND,)
    assert release_ledger.get_ledger(HERE).total_basic().epsilon == 0.75, "an answer is about one file's people"


def test_a_list_that_is_forgotten_leaves_the_browser_and_the_page_says_so(drawn, session):
    release_ledger.add_entry(HERE, FIRST)
    release_ledger._session().forget()
    assert release_ledger.FORGOTTEN in draw(drawn, HERE)
    assert release_ledger.NOTHING not in draw(drawn, HERE)
    assert drawn.told[-1] == {"releases": [], "dropped": [FIRST.id], "heard": False}
    kept(session, write_release_ledger(ReleaseLedger((FIRST, SECOND))))
    assert release_ledger.get_ledger(HERE).entries == (SECOND,)


class Interrupt(BaseException):
    """A click on the page, which ends its run at the next look into the session."""


class Session(dict):
    """A session whose looks end the run once `left` of them are used."""

    left = math.inf

    def look(self):
        self.left -= 1
        if self.left < 0:
            raise Interrupt

    def __getitem__(self, key):
        self.look()
        return super().__getitem__(key)

    def __setitem__(self, key, value):
        self.look()
        super().__setitem__(key, value)

    def get(self, key, default=None):
        self.look()
        return super().get(key, default)

    def setdefault(self, key, default=None):
        self.look()
        return super().setdefault(key, default)


@pytest.mark.parametrize("kind", ["method", "private curve"])
def test_a_click_at_any_moment_of_a_release_leaves_none_uncounted(drawn, monkeypatch, kind):
    method = CATALOGUE["convergent_kmeans"]
    request = RunRequest(method, method.run, method.Params(n_clusters=2))
    again = []
    monkeypatch.setattr(state, "run_again", lambda: again.append(1))
    is_released = False
    for looks in itertools.count():
        monkeypatch.setattr(release_ledger.st, "session_state", session := Session())
        curves = []
        draw(drawn, HERE)
        session.left = looks
        with suppress(Interrupt):
            if kind == "method":
                release_ledger._release(HERE, request)
            else:
                tabs.draw_curve(HERE, 0.1, "add_remove", np.random.default_rng(0), curves)
            is_released = True
        session.left = math.inf
        ids = {each.id for each in release_ledger.get_ledger(HERE).entries}
        shown = session.get(runs._OWN_RELEASES, {}) if kind == "method" else curves
        assert len(shown) == len(ids) == is_released
        files = release_ledger._files().get(HERE.people, {}).values()
        assert kind != "method" or {each.entry.id for each in files} == ids
        # The click can also end the run that draws the line above the release again.
        for outdated in (is_released, False):
            release_ledger.catch_up(HERE)
            assert len(again) == outdated
            again.clear()
            draw(drawn, HERE)
        if is_released:
            break
    assert looks > 2


@pytest.mark.parametrize("rows", [1, 4])
@pytest.mark.parametrize("from_data", [False, True])
def test_a_private_curve_is_entered_with_its_person_and_bounds(rows, from_data):
    here = source(uploaded=True, bounds_from_data=from_data)
    here = replace(here, dataset=replace(here.dataset, rows_per_person=rows))
    tabs.draw_curve(here, 0.5, "add_remove", np.random.default_rng(0), [])
    # The next file states no rows of a person, but the curve was paid for by all rows of one person.
    (made,) = release_ledger.get_ledger(OTHER).entries
    assert (made.rows, made.epsilon) == (rows, 0.5 * rows)
    assert (made.proved is None) == from_data
    assert from_data or made.proved.epsilon == 0.5 * rows


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
        ((entry(1.0, proved=False),), "nothing is proved about 1"),
        ((FIRST, entry(1.0, proved=False, number=3)), "ε = 0.5 in all, nothing is proved about 1"),
    ],
)
def test_what_is_spent_is_said_with_what_nothing_is_proved_of(entries, words):
    assert release_ledger.spent_words(ReleaseLedger(entries)) == words


def test_totals_without_a_claim_state_no_epsilon():
    unproved, replaced = entry(1.0, proved=False), entry(0.5, adjacency=Adjacency.REPLACE, number=3)
    taken_part, which = release_ledger.totals(ReleaseLedger((unproved,)))
    assert taken_part.value == which.value == "no limit is proved"
    taken_part, which = release_ledger.totals(ReleaseLedger((replaced,)))
    assert taken_part.value == "no limit is proved"
    assert which.value == "at most 63 in 100; ε = 0.5"
    _, which = release_ledger.totals(ReleaseLedger((unproved, replaced)))
    assert which.value == "no limit is proved; ε = 0.5 for the others"
