"""The release ledger of a session's own files, and the step that releases: a confirmation, a table, a new entry.

A session has one list of releases: its own, those that the browser kept from other sessions and tabs, and those of
imported settings. All of them count for every file, unless the reader confirms that they are about different people;
releases of the same file (`Source.people`) always count. The browser gets only the list, and nothing that follows from
a record.
"""

import secrets
from collections.abc import Hashable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpviz.core import Adjacency, CentersRelease, PointsRelease, Release, Result, Step, immutable_value
from dpviz.mechanisms import TEACHING
from dpviz.stories.label import QUESTIONS, delta_words, numbers_of
from dpviz.stories.panel import Fact, at_most, ceiled, chance_limit, counted
from dpviz.tools.release import (
    FINAL,
    FROM_RECORDS,
    ReleaseEntry,
    ReleaseFiles,
    ReleaseLedger,
    ReleaseLedgerError,
    Total,
    read_release_ledger,
    real_columns,
    release_files,
    table_of,
    write_release_ledger,
)
from dpviz.ui import panel, runs, state
from dpviz.ui.data import upload
from dpviz.ui.data.picker import Source
from dpviz.ui.runs import AnyRun, RunRequest
from dpviz.ui.server.served import served

KEY = "dpviz-ledger"
_KEPT = served("release_ledger", styles=("address",))
# Files of the releases about each group of people, by their settings, oldest first.
_FILES = "dpviz:released-files"
_step_names = state.session_value("dpviz:release-step-names", dict[Hashable, str])
_files = state.session_value(_FILES, dict[Hashable, dict[Hashable, ReleaseFiles]])

REHEARSAL = "This is a teaching run: anyone can repeat its noise, so none of it may be published."
MARK, RELEASED = "A teaching run, not a release: publish none of it.", "This is your release."
SHOWN = "The picture shows your release of these settings."
NOTHING = "This session and this browser know of no release of these records."
UNHEARD = "This session has no release of these records. This browser's list has not arrived yet."
SAME = "Are these, or some of them, the same people?"
ASKED = "They count here, unless you confirm that nobody is in both."
SURE = "I know that nobody is in both."
SEPARATE = "You said that other releases are about different people, so they are not counted here"
UNREAD = "This browser kept releases that cannot be read, so the totals here may be too low."
FORGOTTEN = "You cleared the list of releases: the totals here no longer count earlier releases."
BEST = "It holds if no settings were chosen after looking at an earlier release."
UNPROVED = "Nothing is proved about this release: no limit holds for what an attacker learns from it."
NO_PRIVACY = "This method hides nothing: it reveals exact averages. Choose a private one under More."
PAIR = "Two methods are shown side by side. Choose one of them under More to release."


@immutable_value
class _Origin:
    """Records about which this session released something. Curator only, never sent."""

    people: Hashable
    # Name of the file.
    name: str
    columns: frozenset[str]

    @classmethod
    def of(cls, source: Source) -> "_Origin":
        """Return the origin of a release of this set."""
        name = upload.name() if source.uploaded else ""
        return cls(source.people, name, frozenset(real.name for real in real_columns(source.dataset, source.form)[0]))


@dataclass(slots=True)
class _Session:
    """All releases that are known to a session, and the reader's answers about them."""

    ledger: ReleaseLedger = field(default_factory=ReleaseLedger)
    # Origins of this session's own releases, by id.
    origins: dict[str, _Origin] = field(default_factory=dict)
    # People -> id of a release -> True if the release is about the same people.
    answers: dict[Hashable, dict[str, bool]] = field(default_factory=dict)
    # Ids of forgotten releases.
    forgotten: set[str] = field(default_factory=set)
    # True if the browser has sent its list.
    heard: bool = False
    # True if the browser kept a release that cannot be read.
    unread: bool = False
    # List behind the line that the last whole run has drawn.
    drawn: ReleaseLedger = field(default_factory=ReleaseLedger)

    def is_own(self, source: Source, entry: ReleaseEntry) -> bool:
        """Return True if this session released the entry about these very records."""
        return entry.id in self.origins and self.origins[entry.id].people == source.people

    def split(self, source: Source) -> tuple[ReleaseLedger, ReleaseLedger]:
        """Return the releases that count for these people, and those that the reader has assigned to other people."""
        answers = self.answers.get(source.people, {})
        counted: list[ReleaseEntry] = []
        others: list[ReleaseEntry] = []
        for each in self.ledger.entries:
            (counted if self.is_own(source, each) or answers.get(each.id, True) else others).append(each)
        return ReleaseLedger(tuple(counted)).for_person(source.dataset.rows_per_person), ReleaseLedger(tuple(others))

    def unanswered(self, source: Source) -> ReleaseLedger:
        """Return the releases that the reader has not yet assigned to these people or to other people."""
        answers = self.answers.get(source.people, {})
        known = self.ledger.entries
        return ReleaseLedger(tuple(each for each in known if not self.is_own(source, each) and each.id not in answers))

    def add(self, entry: ReleaseEntry, origin: _Origin) -> None:
        """Add one of this session's own releases."""
        self.ledger = ReleaseLedger((*self.ledger.entries, entry))
        self.origins[entry.id] = origin

    def join(self, ledger: ReleaseLedger) -> ReleaseLedger:
        """Add releases from elsewhere; return the new ones and those that now count for more rows of a person."""
        known = set(self.ledger.entries)
        new = ReleaseLedger(tuple(each for each in ledger.entries if each.id not in self.forgotten))
        self.ledger = self.ledger.joined(new)
        return ReleaseLedger(tuple(each for each in self.ledger.entries if each not in known))

    def forget(self) -> None:
        """Forget all releases, here and in the browser; the page reports it from now on."""
        self.forgotten |= {each.id for each in self.ledger.entries}
        self.ledger = ReleaseLedger()


_session = state.session_value("dpviz:ledger", _Session)


def get_ledger(source: Source) -> ReleaseLedger:
    """Return everything that was released of these people."""
    return _session().split(source)[0]


def add_entry(source: Source, entry: ReleaseEntry) -> None:
    """Add one release of these people."""
    _session().add(entry, _Origin.of(source))


def _settings(source: Source, request: RunRequest) -> tuple[Hashable, ...]:
    """Return the inputs of a release, except its noise. The view is not one of them."""
    return (source.key, request.algorithm.name, runs.scalars(request.params))


def take_imported(ledger: ReleaseLedger) -> None:
    """Add the releases of imported settings to the session's releases, and report it."""
    new = _session().join(ledger.carried())
    if new.entries:
        state.report(
            f"The settings bring {counted(len(new.entries), 'release')}: {spent_words(new)}. Your releases about the "
            "same people add up with them."
        )


def draw_ledger(source: Source, place: DeltaGenerator, *, public: bool) -> None:
    """Draw the releases of own records in one line, with the list behind it; nothing for public sets."""
    if not source.own:
        return
    session = _session()
    session.drawn = session.ledger
    ledger, others = session.split(source)
    with place:
        dropped = sorted(session.forgotten)
        data = {"releases": write_release_ledger(session.ledger), "dropped": dropped, "heard": session.heard}
        _KEPT(data=data, key=KEY, on_kept_change=_take_kept)
        if session.unread:
            st.caption(UNREAD)
        if session.forgotten:
            st.caption(FORGOTTEN)
        if not public:
            _ask(source, session)
        if ledger.entries:
            with st.popover(f"{counted(len(ledger.entries), 'release')} of these records: {spent_words(ledger)}"):
                _list(source, ledger, public=public)
        if others.entries:
            st.caption(f"{SEPARATE}: {counted(len(others.entries), 'release')}, {spent_words(others)}.")
            if not public:
                st.button("Also count them here", on_click=_ask_again, args=(source,))
        if not (ledger.entries or others.entries or session.forgotten or session.unread):
            st.caption(NOTHING if session.heard else UNHEARD)


def catch_up(source: Source) -> None:
    """Run the whole page again if its line about releases, outside the caller's fragment, lacks a release.

    A click can end the run that was to draw the line again.
    """
    if source.own and _session().drawn != _session().ledger:
        state.run_again()


def _ask(source: Source, session: _Session) -> None:
    """Ask if releases of other files, tabs or settings are about the same people; they count until a "no"."""
    asked = session.unanswered(source)
    if not asked.entries:
        return
    here, reasons = _Origin.of(source), []
    origins = [session.origins[each.id] for each in asked.entries if each.id in session.origins]
    if here.name and here.name in {each.name for each in origins}:
        reasons.append("a file with the same name")
    if here.columns in {each.columns for each in origins}:
        reasons.append("the same columns")
    words = f"Released before, from different records: {counted(len(asked.entries), 'release')}, {spent_words(asked)}."
    why = f" It was made of {' and '.join(reasons)}." if reasons else ""
    st.warning(f"{words}{why} {SAME} {ASKED}")
    sure = bool(st.checkbox(SURE, key=f"ledger-sure:{len(session.ledger.entries)}")) if reasons else True
    with st.container(horizontal=True):
        st.button("Yes, add up", on_click=_answer, args=(source, asked, True))
        st.button("No, different people", disabled=not sure, on_click=_answer, args=(source, asked, False))


def _answer(source: Source, ledger: ReleaseLedger, same: bool) -> None:
    """Keep the reader's answer to the question if these releases are about the people of `source`."""
    _session().answers.setdefault(source.people, {}).update({each.id: same for each in ledger.entries})


def _ask_again(source: Source) -> None:
    """Forget the answers about these people: everything counts until the reader answers again."""
    _session().answers.pop(source.people, None)


def spent_words(ledger: ReleaseLedger) -> str:
    """Describe in a few words the total that a ledger's entries spend, including entries without a proof."""
    adjacency = Adjacency.ADD_REMOVE
    if any(each.proved is not None and each.proved.adjacency is Adjacency.REPLACE for each in ledger.entries):
        # Both kinds have a sum under this adjacency.
        adjacency = Adjacency.REPLACE
    total = ledger.total_basic(adjacency)
    n_proved = len(ledger.entries) - len(total.uncounted)
    words = f"{_total(total)} in all" if n_proved else ""
    if adjacency is Adjacency.REPLACE and n_proved:
        words += " for one record replaced"
    if total.uncounted:
        words += f"{', ' if words else ''}nothing is proved about {len(total.uncounted)}"
    return words or "ε = 0 in all"


def _list(source: Source, ledger: ReleaseLedger, *, public: bool) -> None:
    """Draw every entry, their sums, and the risk that the sums allow."""
    rows = [
        {
            "Day": each.day,
            "Released": each.what,
            "Method": each.title,
            "ε": f"{ceiled(each.epsilon)} per unit of distance" if each.per_distance else ceiled(each.epsilon),
            "Proved": "nothing" if each.proved is None else numbers_of(each.proved),
            "From": each.origin,
            "Table": each.fingerprint[:16],
        }
        for each in ledger.entries
    ]
    panel.safe_table(rows)
    st.html(panel.facts("In all", totals(ledger), public=True))
    if public:
        return
    if source.people in _session().answers:
        st.button("Ask again whom they cover", on_click=_ask_again, args=(source,))
    st.button(
        "Forget this list",
        on_click=_session().forget,
        help="Also in this browser. Totals then start again, with a note.",
    )


def totals(ledger: ReleaseLedger) -> list[Fact]:
    """Return the public sums of a ledger and the risk that they allow."""
    facts = []
    for adjacency, question in QUESTIONS.items():
        basic, best, odds = ledger.total_basic(adjacency), ledger.total_best(adjacency), ledger.odds(adjacency)
        value = "no limit is proved" if odds is None else at_most(odds)
        # A sum of no claims would read as ε = 0.
        if len(basic.uncounted) < len(ledger.entries):
            value += f"; {_total(basic)}{' for the others' if basic.uncounted else ''}"
        if ceiled(best.epsilon) != ceiled(basic.epsilon):
            value += f", composed at best {_total(best)}"
        missing = f" Nothing is proved here about {len(basic.uncounted)}." if basic.uncounted else ""
        facts.append(Fact(question, value, f"An attacker who has all releases; coin flip: 50. {BEST}{missing}", True))
    return facts


def _total(total: Total | ReleaseEntry) -> str:
    return f"ε = {ceiled(total.epsilon)}" + (f", δ = {chance_limit(total.delta)}" if total.delta else "")


def describe_status(source: Source, run: AnyRun) -> str:
    """Return the text next to a picture of own records: whether it is a release, or may never be one."""
    if not source.own:
        return ""
    return MARK if TEACHING in run.guarantee.caveats else RELEASED


def draw_release_step(source: Source, request: RunRequest, run: AnyRun) -> None:
    """Draw the step that releases the run's settings of own records, and the files of the method's release.

    Only one button makes a release, after its box is checked. Looking never does.
    """
    ledger, files = get_ledger(source), _files().get(source.people, {})
    # The last release of these people with these settings, or else with this method.
    of_method = (each for each in reversed(files.values()) if each.entry.method == request.algorithm.name)
    shown = files.get(_settings(source, request)) or next(of_method, None)
    rehearsed = TEACHING in run.guarantee.caveats
    st.caption(REHEARSAL if rehearsed else SHOWN)
    with st.expander("Release"):
        if source.dataset.bounds_from_data:
            st.error(FROM_RECORDS)
        elif run.guarantee.stated.epsilon == float("inf"):
            st.error(NO_PRIVACY)
        elif isinstance(run.result.release, CentersRelease | PointsRelease):
            _confirm(source, request, run, ledger)
    if shown is not None:
        entry = shown.entry
        st.caption(
            f"Released {entry.day}: {entry.what}, {state.plain(entry.title)}, {_total(entry)}. Fingerprint "
            f"{entry.fingerprint[:16]}. Save it: only this session has it, and it can never be drawn again."
        )
        forms = (
            ("csv", "Save table (CSV)", "text/csv", shown.table.csv),
            ("xlsx", "Save for Excel", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", shown.xlsx),
            ("json", "Save a description (JSON)", "application/json", shown.json),
        )
        with st.container(horizontal=True):
            for ending, label, kind, content in forms:
                name = f"{shown.stem}.{ending}"
                st.download_button(label, content, name, kind, key=f"release-file:{ending}", on_click="ignore")


def _confirm(source: Source, request: RunRequest, run: AnyRun, ledger: ReleaseLedger) -> None:
    """Draw the contents and the cost of a release, and the one confirmation."""
    guarantee, algorithm = run.guarantee, request.algorithm
    next_one = ReleaseEntry.from_guarantee(
        guarantee,
        run.result.events,
        what="",
        method=algorithm.name,
        title=algorithm.title,
        day=today(),
        origin="release",
    )
    after = ReleaseLedger((*ledger.entries, next_one))
    published, proved = guarantee.published, guarantee.proved
    columns = [each.name for each in real_columns(source.dataset, source.form)[0]]
    if isinstance(run.result.release, CentersRelease) and run.result.release.noisy_counts is not None:
        columns.append("noisy count")
    facts = [
        Fact("Method", request.name or algorithm.title, "", True),
        Fact("Claimed by the paper", "nothing" if published is None else numbers_of(published), "", True),
        Fact("Proved", "nothing" if proved is None else numbers_of(proved), "", True),
        Fact("Spent on these records so far", spent_words(ledger) if ledger.entries else "nothing known", "", True),
        Fact("After this release", spent_words(after), "", True),
        *totals(after),
        Fact("Columns", ", ".join(columns), "In the units of your table.", True),
    ]
    st.html(panel.facts("One release", facts, public=True))
    st.caption(f"One table, as CSV and for Excel, with a JSON file that describes it. {FINAL}")
    if proved is None:
        st.warning(UNPROVED)
        words = "I release it although nothing is proved about it. It cannot be taken back."
    else:
        words = f"I release it: ε = {ceiled(proved.epsilon)}{delta_words(proved)} of these records is spent for good."
    # The widgets' name contains nothing about the settings, because a browser sees it.
    name = _step_names().setdefault((*_settings(source, request), len(ledger.entries)), secrets.token_hex(6))
    sure = st.checkbox(words, key=f"release-sure:{name}")
    # Not yet the page's first button; a disabled primary one would be hard to read.
    kind: Literal["primary", "secondary"] = "primary" if sure else "secondary"
    if st.button("Release", type=kind, disabled=not sure, key=f"release:{name}") and sure:
        try:
            _release(source, request)
        # The method raises the error with this noise.
        except ValueError as error:
            st.error(f"Nothing was released: {state.plain(str(error))}")
            return
        st.rerun(scope="app")


def _release(source: Source, request: RunRequest) -> None:
    """Release, enter the release into the ledger, and keep the files of the last few settings for the session."""
    session, origin, before = _session(), _Origin.of(source), get_ledger(source)
    made, settings = _files().setdefault(source.people, {}), _settings(source, request)

    def enter(result: Result[Release, Step]) -> None:
        table = table_of(request.algorithm, request.params, result.release, source.dataset, source.form)
        files = release_files(
            request.algorithm, request.params, table, result.guarantee, result.events, before, today()
        )
        session.add(files.entry, origin)
        made.pop(settings, None)
        made[settings] = files
        for oldest in list(made)[: -runs.MAX_OWN_RELEASES]:
            del made[oldest]

    runs.release_own(request, source, enter)


def _take_kept() -> None:
    """Restore the browser's stored list, which is untrusted; it joins the session's list."""
    kept = state.read_message(st.session_state.get(KEY), dict[str, object], "kept") or {}
    if "releases" not in kept:
        return
    session, entries = _session(), dict[str, ReleaseEntry]()
    session.heard = True
    # A release that cannot be read does not hide any other.
    for each in kept["releases"] if isinstance(kept["releases"], list) else [kept["releases"]]:
        try:
            entries |= {entry.id: entry for entry in read_release_ledger([each]).entries}
        except ReleaseLedgerError:
            session.unread = True
    session.join(ReleaseLedger(tuple(entries.values())))


def today() -> str:
    """Return the day, ISO."""
    return datetime.now(UTC).date().isoformat()
