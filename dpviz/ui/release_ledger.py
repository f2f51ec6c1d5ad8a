"""The release ledger of a session's own file, and the step that releases: a confirmation, a table, a new entry.

A ledger belongs to people (`Source.people`): other columns or bounds of a file are the same people. It survives a
reload in the browser's tab, as entries alone, and settings carry it to the next file that is chosen after their import.
"""

import hashlib
from collections.abc import Hashable
from datetime import UTC, datetime
from typing import Literal

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpviz.core import Adjacency, CentersRelease, PointsRelease, Release, Result, Step
from dpviz.mechanisms import TEACHING
from dpviz.stories.label import delta_words, numbers_of
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
from dpviz.ui.data.picker import Source
from dpviz.ui.runs import AnyRun, RunRequest
from dpviz.ui.server.served import served

KEY = "dpviz-ledger"
_KEPT = served("release_ledger", styles=("address",))
_LEDGERS = "dpviz:ledgers"
_DROPPED = "dpviz:ledger-dropped"  # ids of entries that the reader said are other people's
_EXPECTED = "dpviz:ledger-expected"  # of imported settings, until there is a file
_FILES = "dpviz:released-files"  # of each people's releases by their settings, oldest first
_ledgers = state.session_value(_LEDGERS, dict[str, ReleaseLedger])
_files = state.session_value(_FILES, dict[str, dict[Hashable, ReleaseFiles]])

REHEARSAL = "This is a teaching run: anyone can repeat its noise, so nothing of it may be published."
MARK, RELEASED = "A teaching run, no release: publish none of it.", "This is your release."
SHOWN = "The picture shows your release of these settings."
NOTHING = "Nothing of these records has been released in this tab."
BEST = "It holds where no settings were chosen after a look at an earlier release."
UNPROVED = "Nothing is proved of this release: no limit holds for what an attacker learns from it."
NO_PRIVACY = "This method hides nothing: it gives exact averages away. Choose a private one under More."
PAIR = "Two methods stand beside each other. Choose one of them under More to release."
QUESTIONS = {
    Adjacency.ADD_REMOVE: "Did somebody take part?",
    Adjacency.REPLACE: "Which of two records was somebody's?",
}


def get_ledger(source: Source) -> ReleaseLedger:
    """Return everything that was released of these people."""
    return _ledgers().get(_name(source), ReleaseLedger())


def add_entry(source: Source, entry: ReleaseEntry) -> None:
    """Add one release of these people."""
    _ledgers()[_name(source)] = ReleaseLedger((*get_ledger(source).entries, entry))


def _shown_release(source: Source, request: RunRequest) -> ReleaseFiles | None:
    """Return the last release of these people with these settings, else with this method; None where there is none."""
    made = _files().get(_name(source), {})
    of_method = (each for each in reversed(made.values()) if each.entry.method == request.algorithm.name)
    return made.get(_settings(source, request)) or next(of_method, None)


def _settings(source: Source, request: RunRequest) -> tuple[Hashable, ...]:
    """Return what a release follows from, beside its noise: not what is looked at."""
    return (source.key, request.algorithm.name, runs.scalars(request.params))


def expect_ledger(ledger: ReleaseLedger) -> None:
    """Have the ledger of imported settings go on with the file that is there, or comes next."""
    st.session_state[_EXPECTED] = ledger.carried()


def draw_ledger(source: Source, place: DeltaGenerator) -> None:
    """Draw in one line what was released of own records, with the list behind it; nothing for public sets."""
    if not source.own:
        return
    _take_expected(source)
    name, ledger = _name(source), get_ledger(source)
    with place:
        dropped = sorted(st.session_state.get(_DROPPED, ()))
        data = {"name": name, "releases": write_release_ledger(ledger), "dropped": dropped}
        _KEPT(data=data, key=KEY, on_kept_change=_take_kept)
        if not ledger.entries:
            st.caption(NOTHING)
            return
        with st.popover(f"{counted(len(ledger.entries), 'release')} of these records: {spent_words(ledger)}"):
            _list(source, ledger)


def spent_words(ledger: ReleaseLedger) -> str:
    """Say in a few words what a ledger's entries spend together; what nothing is proved of is said, not left out."""
    adjacency = Adjacency.ADD_REMOVE
    if any(each.proved is not None and each.proved.adjacency is Adjacency.REPLACE for each in ledger.entries):
        adjacency = Adjacency.REPLACE  # both kinds have a sum there
    total = ledger.total_basic(adjacency)
    n_proved = len(ledger.entries) - len(total.uncounted)
    words = f"{_total(total)} in all" if n_proved else ""
    if adjacency is Adjacency.REPLACE and n_proved:
        words += " for one record replaced"
    if total.uncounted:
        words += f"{', ' if words else ''}nothing is proved of {len(total.uncounted)}"
    return words or "ε = 0 in all"


def _list(source: Source, ledger: ReleaseLedger) -> None:
    """Draw every entry, what they add up to, and what that allows an attacker."""
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
    if any(each.origin == "last year's settings" for each in ledger.entries):
        st.caption("Entries from last year's settings count here, because these are taken for the same people.")
        st.button("They are other people", on_click=_drop, args=(source,))


def totals(ledger: ReleaseLedger) -> list[Fact]:
    """Return the sums of a ledger and what they allow an attacker, public."""
    facts = []
    for adjacency, question in QUESTIONS.items():
        basic, best, odds = ledger.total_basic(adjacency), ledger.total_best(adjacency), ledger.odds(adjacency)
        limit = "no limit is proved" if odds is None else at_most(odds)
        value = f"{limit}; {_total(basic)}"
        if ceiled(best.epsilon) != ceiled(basic.epsilon):
            value += f", composed at best {_total(best)}"
        missing = f" Nothing is proved here of {len(basic.uncounted)}." if basic.uncounted else ""
        facts.append(Fact(question, value, f"An attacker who has all releases; coin flip: 50. {BEST}{missing}", True))
    return facts


def _total(total: Total | ReleaseEntry) -> str:
    return f"ε = {ceiled(total.epsilon)}" + (f", δ = {chance_limit(total.delta)}" if total.delta else "")


def describe_status(source: Source, run: AnyRun) -> str:
    """Return what is said beside a picture of own records: whether it is a release, or may never be one."""
    if not source.own:
        return ""
    return MARK if TEACHING in run.guarantee.caveats else RELEASED


def draw_release_step(source: Source, request: RunRequest, run: AnyRun) -> None:
    """Draw the step that releases the run's settings of own records, and the files of the method's release.

    A release is made by one button alone, after its box is ticked, and never by looking.
    """
    ledger, shown = get_ledger(source), _shown_release(source, request)
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
        _downloads(shown)


def _confirm(source: Source, request: RunRequest, run: AnyRun, ledger: ReleaseLedger) -> None:
    """Draw what a release would be and cost, and the one confirmation."""
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
        Fact("Spent on these records so far", spent_words(ledger) if ledger.entries else "nothing", "", True),
        Fact("After this release", spent_words(after), "", True),
        *totals(after),
        Fact("Columns", ", ".join(columns), "In the units of your table.", True),
    ]
    st.html(panel.facts("One release", facts, public=True))
    st.caption(f"One table, as CSV and for Excel, with a JSON file that says what it is. {FINAL}")
    if proved is None:
        st.warning(UNPROVED)
        words = "I release it although nothing is proved of it. It cannot be taken back."
    else:
        words = f"I release it: ε = {ceiled(proved.epsilon)}{delta_words(proved)} of these records is spent for good."
    settings = (*_settings(source, request), len(ledger.entries))
    name = hashlib.sha256(repr(settings).encode()).hexdigest()[:12]
    sure = st.checkbox(words, key=f"release-sure:{name}")
    # Not yet the page's first button; a disabled primary one would be hard to read.
    kind: Literal["primary", "secondary"] = "primary" if sure else "secondary"
    if st.button("Release", type=kind, disabled=not sure, key=f"release:{name}") and sure:
        try:
            result = runs.release_own(request, source)
        except ValueError as error:  # the method's own, with this noise
            st.error(f"Nothing was released: {state.plain(str(error))}")
            return
        _enter(source, request, result)
        st.rerun(scope="app")


def _enter(source: Source, request: RunRequest, result: Result[Release, Step]) -> None:
    """Enter a release into the ledger, and keep its files while the session lives: those of the last few settings."""
    table = table_of(request.algorithm, request.params, result.release, source.dataset, source.form)
    files = release_files(
        request.algorithm, request.params, table, result.guarantee, result.events, get_ledger(source), today()
    )
    add_entry(source, files.entry)
    made = _files().setdefault(_name(source), {})
    made.pop(_settings(source, request), None)
    made[_settings(source, request)] = files
    for oldest in list(made)[: -runs.MAX_OWN_RELEASES]:
        del made[oldest]


def _downloads(files: ReleaseFiles) -> None:
    """Draw the buttons that save a release."""
    entry = files.entry
    st.caption(
        f"Released {entry.day}: {entry.what}, {state.plain(entry.title)}, {_total(entry)}. Fingerprint "
        f"{entry.fingerprint[:16]}. Save it: only this session has it, and it can never be drawn again."
    )
    forms = (
        ("csv", "Save table (CSV)", "text/csv", files.table.csv),
        ("xlsx", "Save for Excel", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", files.xlsx),
        ("json", "Save what it is (JSON)", "application/json", files.json),
    )
    with st.container(horizontal=True):
        for ending, label, kind, content in forms:
            name = f"{files.stem}.{ending}"
            st.download_button(label, content, name, kind, key=f"release-file:{ending}", on_click="ignore")


def _take_expected(source: Source) -> None:
    """Let the ledger of imported settings go on with these people."""
    expected: ReleaseLedger | None = st.session_state.pop(_EXPECTED, None)
    if expected is None or not expected.entries:
        return
    joined = get_ledger(source).joined(expected)
    if len(joined.entries) == len(get_ledger(source).entries):
        return
    _ledgers()[_name(source)] = joined
    state.report(
        f"The settings bring {counted(len(expected.entries), 'release')} of these people: {spent_words(expected)}. "
        "What you release now adds up with them. The list below the picture has the way back."
    )


def _take_kept() -> None:
    """Take back what the browser's tab has kept of a file; it is untrusted."""
    kept = state.read_message(st.session_state.get(KEY), dict[str, object], "kept") or {}
    name = kept.get("name")
    if not isinstance(name, str):
        return
    try:
        _ledgers()[name] = _ledgers().get(name, ReleaseLedger()).joined(read_release_ledger(kept.get("releases")))
    except ReleaseLedgerError as error:
        state.report(f"This browser tab had a release ledger that cannot be read. {error}")


def _drop(source: Source) -> None:
    """Take out what last year's settings brought: it is about other people."""
    gone = [each for each in get_ledger(source).entries if each.origin == "last year's settings"]
    st.session_state.setdefault(_DROPPED, set()).update(each.id for each in gone)
    _ledgers()[_name(source)] = ReleaseLedger(tuple(each for each in get_ledger(source).entries if each not in gone))


def today() -> str:
    """Return the day, ISO."""
    return datetime.now(UTC).date().isoformat()


def _name(source: Source) -> str:
    """Name the people behind a set; what the browser keeps names no file."""
    return hashlib.sha256(repr(source.people).encode()).hexdigest()[:32]
