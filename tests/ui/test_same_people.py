"""The total on screen never falls below the releases about these people, unless they are forgotten."""

import itertools
import math
import re
from dataclasses import replace

import pytest
from hypothesis import settings
from hypothesis import strategies as some
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from dpviz.tools.release import read_release_ledger, write_release_ledger
from dpviz.ui import release_ledger
from tests.tools.test_release import entry
from tests.ui.test_release_ledger import draw, kept, press, watch
from tests.ui.test_runs import source

# A file's bytes, and the people in it: a different newline, a renamed column or the next month changes the bytes.
FILES = [("plain", "town"), ("newline", "town"), ("next month", "town"), ("elsewhere", "village")]
COLUMNS = [("a", "b"), ("a",)]
# Rows of one person that the reader states. 6 is not a multiple of 4.
ROWS = [1, 4, 6]
epsilons = some.sampled_from([0.25, 0.5, 1.0])


class SamePeople(RuleBasedStateMachine):
    """Two tabs of one browser, each with its own session; the reader answers truthfully."""

    def __init__(self):
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        self.drawn = watch(self.patch)
        self.patch.setattr(release_ledger.st, "checkbox", lambda *_, **__: True)
        self.numbers = itertools.count(1)
        # Id -> people, ε for one row, and the largest number of rows of one person that a release or import stated.
        self.released = {}
        # Contents of the browser's storage, and of a settings file.
        self.storage, self.saved = [], []
        # Session and file, with its columns and rows of a person. The last one is the one on screen.
        self.tabs = [({}, (FILES[i], COLUMNS[0], 1)) for i in range(2)]
        self.look()

    def teardown(self):
        self.patch.undo()

    def look(self):
        self.patch.setattr(release_ledger.st, "session_state", self.tabs[-1][0])

    @property
    def here(self):
        """Return the set of the tab that is looked at, None without a file."""
        file = self.tabs[-1][1]
        if file is None:
            return None
        (name, _), columns, rows = file
        here = source(uploaded=True, key=("upload", name, columns))
        return replace(here, dataset=replace(here.dataset, rows_per_person=rows))

    @property
    def people(self):
        return self.tabs[-1][1][0][1]

    def put(self, session, file):
        self.tabs[-1] = session, file
        self.look()

    def see(self):
        """Draw the page, let the browser's script answer, and draw it again; return the words."""
        before = draw(self.drawn, self.here)
        told = self.drawn.told[-1]
        assert told["heard"] or release_ledger.NOTHING not in before
        known = {each["id"]: each["rows"] for each in told["releases"]} | dict.fromkeys(told["dropped"], math.inf)
        missing = [each for each in self.storage if each["rows"] > known.get(each["id"], 0)]
        if missing or not told["heard"]:
            kept(self.tabs[-1][0], missing)
        newer = {each["id"] for each in missing}
        self.storage = [*missing, *(each for each in told["releases"] if each["id"] not in newer)]
        return draw(self.drawn, self.here)

    @rule(file=some.sampled_from(FILES), columns=some.sampled_from(COLUMNS), rows=some.sampled_from(ROWS))
    def upload(self, file, columns, rows):
        self.put(self.tabs[-1][0], (file, columns, rows))

    @precondition(lambda self: self.here)
    @rule(columns=some.sampled_from(COLUMNS), rows=some.sampled_from(ROWS))
    def edit(self, columns, rows):
        self.put(self.tabs[-1][0], (self.tabs[-1][1][0], columns, rows))

    @rule()
    def forget_the_file(self):
        self.put(self.tabs[-1][0], None)

    @rule()
    def reload(self):
        self.put({}, None)

    @rule()
    def go_to_the_other_tab(self):
        self.tabs.reverse()
        self.look()

    @precondition(lambda self: self.here)
    @rule(epsilon=epsilons)
    def release(self, epsilon):
        rows = self.here.dataset.rows_per_person
        made = entry(epsilon, number=next(self.numbers)).for_person(rows)
        release_ledger.add_entry(self.here, made)
        self.released[made.id] = self.people, epsilon, rows

    @precondition(lambda self: self.here)
    @rule()
    def answer(self):
        self.see()
        if "No, different people" in self.drawn.button:
            asked = release_ledger._session().unanswered(self.here).entries
            same = any(self.released.get(each.id, ("",))[0] == self.people for each in asked)
            press(self.drawn, "Yes, add up" if same else "No, different people")

    @precondition(lambda self: self.here)
    @rule()
    def count_them_all(self):
        self.see()
        if "Also count them here" in self.drawn.button:
            press(self.drawn, "Also count them here")

    @precondition(lambda self: self.here)
    @rule()
    def save_settings(self):
        self.saved = write_release_ledger(release_ledger.get_ledger(self.here))

    @rule()
    def import_settings(self):
        release_ledger.take_imported(read_release_ledger(self.saved))
        # Without a file, the browser receives nothing, and a reload forgets the import.
        if self.here:
            forgotten = release_ledger._session().forgotten
            for each in self.saved:
                if each["id"] in self.released and each["id"] not in forgotten:
                    people, epsilon, rows = self.released[each["id"]]
                    self.released[each["id"]] = people, epsilon, max(each["rows"], rows)

    @precondition(lambda self: self.here)
    @rule()
    def forget_the_list(self):
        self.see()
        entries = release_ledger._session().ledger.entries
        release_ledger._session().forget()
        for each in entries:
            self.released.pop(each.id, None)
        assert not entries or release_ledger.FORGOTTEN in self.see()

    @invariant()
    def the_total_is_never_less_than_what_was_released(self):
        if not self.here:
            return
        words = self.see()
        here = self.here.dataset.rows_per_person
        of_these = [each for each in self.released.values() if each[0] == self.people]
        spent = sum(epsilon * max(rows, here) for _, epsilon, rows in of_these)
        shown = [float(each) for label in self.drawn.popover for each in re.findall("ε = ([0-9.]+) in all", label)]
        assert sum(shown) >= spent
        assert not (self.released and self.storage and release_ledger.NOTHING in words)


TestSamePeople = SamePeople.TestCase
TestSamePeople.settings = settings(max_examples=100, stateful_step_count=25)
