"""The Compare page's runs: asked for piece by piece, kept in this session, and stopped by one click."""

import time
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from dpviz.core import Confidential
from dpviz.tools.compare import search as compare_search
from dpviz.tools.compare import trials as compare_tasks
from dpviz.tools.compare.references import referenced
from dpviz.tools.compare.search import CostSearch, Searched
from dpviz.tools.compare.story import Row, Rows, answer
from dpviz.tools.compare.trials import TrialPart
from dpviz.ui import asking, state
from dpviz.ui.data.picker import Source
from dpviz.ui.server.background import Answers, Job

PATIENCE = 0.4  # s a search waits for its next rounds before it draws: most take less than a drawing does
LEAST, PIECES = 5, 5  # runs of a job at least, and jobs of one method at one ε: so that stopping is quick
TALLIED = "frontier"  # the place that says how many runs there have been, once on the page
_KEPT, _STOPPED = "dpviz:compare-kept", "dpviz:compare-stopped"


@dataclass(frozen=True, slots=True, eq=False)
class Gathered(Confidential):
    """The rows that are there, by the entry they belong to."""

    rows: Rows
    complete: bool


def pieces(n_runs: int) -> tuple[tuple[int, int], ...]:
    """Return (first, how many) of each piece of `n_runs` runs."""
    size = max(LEAST, -(-n_runs // PIECES))
    return tuple((first, min(size, n_runs - first)) for first in range(0, n_runs, size))


@dataclass(frozen=True, slots=True)
class Line:
    """What a line of progress says where parts are no measure: more of them follow from those that are there."""

    name: Hashable  # what a click on Stop is about, whichever parts there are by then
    said: str
    share: float  # of the bar, in [0, 1]
    stopped: str


def gathered(source: Source, parts: Sequence[TrialPart], place: str, what: str, line: Line | None = None) -> Gathered:
    """Start what is missing, draw how far it is with a button to stop it, and return what is there.

    `place` tells two such lines of a page apart; `line` is said in place of how many of `what` there are. Rows of real
    records stay in this session.
    """
    name: Hashable = (source.key, tuple(parts) if line is None else line.name)
    kept = _kept(source, place)
    stopped = st.session_state.get(f"{_STOPPED}:{place}") == name
    missing = [part for part in parts if part not in kept]
    answers = Answers(())
    if stopped:
        asking.drop(source, f"wait-{place}")
    else:
        jobs = [_job(part) for part in missing]
        known_before = len(parts) - len(missing)
        said = None if line is None else (line.said, line.share)
        answers = asking.ask(
            source,
            jobs,
            what=what,
            key=f"wait-{place}",
            known=known_before,
            secret=False,
            public=False,
            said=said,
            tallied=place == TALLIED,
        )
    found = dict(zip(missing, answers.found, strict=False))
    known: dict[TrialPart, Any] = {part: kept.get(part, found.get(part)) for part in parts}
    now: dict[TrialPart, Any] = {part: made for part, made in known.items() if made is not None}
    st.session_state[f"{_KEPT}:{place}"] = {source.key: now}  # other records' rows are forgotten
    if stopped and len(now) < len(parts):
        counted = f"Stopped: {len(now)} of {len(parts)} parts of the runs are there. What you see is of these alone."
        st.info(counted if line is None else line.stopped)
        st.button("Go on", key=f"go-{place}", on_click=_stop, args=(place, None))
    elif answers.problem:
        st.error(state.plain(answers.problem))
    elif len(now) < len(parts):
        words = "Runs that have not begun never begin; what is there stays."
        st.button("Stop", key=f"stop-{place}", help=words, on_click=_stop, args=(place, name))
    rows: dict[str, list[Row]] = {}
    for part, made in now.items():
        rows.setdefault(part.entry, []).extend(made)
    return Gathered(referenced(rows), len(now) == len(parts))


def searched(source: Source, search: CostSearch, start: Rows, place: str) -> Searched:
    """Make the runs that a search asks for, round after round; draws and keeps what `gathered` does."""
    until = time.monotonic() + PATIENCE
    kept = dict(_kept(source, place))
    found = compare_search.searched(search, start, kept)
    while missing := [part for part in found.parts if part not in kept]:
        if st.session_state.get(f"{_STOPPED}:{place}") == (source.key, search):
            break
        known = asking.known(source, [_job(part) for part in missing], f"wait-{place}", until=until)
        kept |= {part: made for part, made in zip(missing, known.found, strict=True) if made is not None}
        # The next round's asking forgets this one's answers, where they belong to this session alone.
        st.session_state[f"{_KEPT}:{place}"] = {source.key: kept}
        if not known.complete or known.problem:
            break
        found = compare_search.searched(search, start, kept)
    where = answer.where(found)
    stopped = f"Stopped in {where}. What is said here follows from the runs that are there."
    gathered(source, found.parts, place, "Search", Line(search, f"Search, {where}", found.share, stopped))
    return found


def looked(source: Source, parts: Sequence[TrialPart], place: str) -> tuple[compare_tasks.RepeatedRun | None, ...]:
    """Return one run of each part made again, None while it is on its way; draws how far they are, and a problem."""
    jobs = [Job(compare_tasks.look, (part,), classified=True, n_runs=0) for part in parts]  # the same noise again
    answers = _beside(source, jobs, "Runs to look at", place)
    if answers.problem:
        st.error(state.plain(answers.problem))
    return answers.found


def compared_without(source: Source, parts: Sequence[TrialPart], place: str) -> compare_tasks.Exact | None:
    """Return k-means without privacy on the records of the first of `parts`; None without one or on its way."""
    if not parts:
        return None
    job = Job(compare_tasks.without_privacy, (parts[0],), classified=True, n_runs=0)
    answers = _beside(source, [job], "Centers without privacy", place)
    found: compare_tasks.Exact | None = answers.found[0]
    return found


def _job(part: TrialPart) -> Job:
    return Job(compare_tasks.rows, (part,), classified=True, n_runs=part.n_runs)


def _beside(source: Source, jobs: Sequence[Job], what: str, place: str) -> Answers:
    return asking.ask(source, jobs, what=what, key=f"wait-{place}", secret=False, public=False, tallied=False)


def _kept(source: Source, place: str) -> dict[TrialPart, Any]:
    """Return the rows of these records that the session has, by what they were asked for."""
    kept: dict[TrialPart, Any] = st.session_state.get(f"{_KEPT}:{place}", {}).get(source.key, {})
    return kept


def _stop(place: str, name: Hashable) -> None:
    """Stop these runs; None: none of them."""
    st.session_state[f"{_STOPPED}:{place}"] = name
