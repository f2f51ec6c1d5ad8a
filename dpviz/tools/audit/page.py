"""The Audit page, the table of all methods and modes under it, and the audit's tab on a method's own page."""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import lru_cache
from typing import Any, Literal
from urllib.parse import urlencode

import pandas as pd
import streamlit as st

from dpviz.accounting.budgets import for_person
from dpviz.assets import FOLDER as ASSETS
from dpviz.audit import Batch, Outcomes
from dpviz.core import Adjacency, Confidential, Knob, immutable, immutable_value
from dpviz.methods import CATALOGUE
from dpviz.plots import Scene, scene_hash
from dpviz.stories.label import (
    BOX,
    CURATOR,
    NOBODY,
    Contents,
    described,
    label_of,
    least,
    person_words,
    promise,
    protected,
)
from dpviz.stories.method import SHORT, Page
from dpviz.stories.panel import ceiled, number
from dpviz.stories.recipe import Calls, calls_excerpt
from dpviz.tables import Cell, Report, TablesError, read_tables
from dpviz.tools.audit import opening, pictures
from dpviz.tools.audit.cases import AUDITED, AuditCase, calibrations, cases, judged, scaled
from dpviz.tools.audit.opening import EPSILONS
from dpviz.tools.audit.runs import (
    CONSTRUCTED,
    Audited,
    AuditQuestion,
    against_limit,
    cases_of,
    counted_from,
    part,
    parts_of,
)
from dpviz.tools.audit.table import COLUMNS, NOTES, VIOLATION
from dpviz.ui import asking, controls, frame, hiding, panel, reading, state
from dpviz.ui.asking import Job, after_picture
from dpviz.ui.controls import nearest
from dpviz.ui.export import files
from dpviz.ui.frame import CHART_HEIGHT, MOST_SEED, PageFrame
from dpviz.ui.live import live
from dpviz.ui.runs import ChartScreen, address, keep
from dpviz.ui.server.served import served

TITLE = "Audit"
METHOD = Knob(
    "audited",
    "choice",
    next(iter(AUDITED)),
    "Method",
    "The method that is run many times.",
    choices=tuple((name, algorithm.title) for name, algorithm in AUDITED.items()),
)
PAIR = Knob(
    "neighbors",
    "choice",
    "made",
    "Two worlds",
    "Made up so that a broken promise is easiest to see, or the chosen data with one record removed or moved.",
    choices=(("made", "Worst case"), ("own", "This data")),
)
# The cases are for a budget of 1. This value multiplies their whole budget, no matter how it is divided.
EPSILON = Knob("audit_epsilon", "float", 1.0, "Audited at ε", "The budget of each run.", 0.1, 10.0, log=True)
RUNS = Knob(
    "audit_runs",
    "choice",
    "500",
    "Runs in each world",
    "More runs show more. If one call makes many runs, ten times as many are made.",
    choices=(("200", "200"), ("500", "500"), ("2000", "2k"), ("20000", "20k")),
)
TAB = Knob(
    "audit_tab",
    "choice",
    "table",
    "Under the picture",
    "",
    choices=(("table", "All methods and modes"), reading.CHOICE),
)
SEED = Knob("audit_seed", "int", 0, "Seed of the runs", "Different runs, the same worlds.", 0, MOST_SEED)
CODE = "The calls behind the numbers above, and two charts of them: the same worlds, runs and seeds."
_WAIT = "wait-audit"
_STOPPED = "dpviz:audit-stopped"
# Session key of the last question.
_RUNNING = "dpviz:audit-running"
# Finished audits that a session keeps. Our choice.
MOST_FOUND = 24
# Widget key of the stage.
STAGE = "audit-stage"
_FOLLOWED = "dpviz:audit-followed"
_STAGE = served("audit_stage")

# Entry among the tabs of a method's own page. The tab shows the method's first mode, on the neighbors on which a broken
# promise shows most.
CHOICE = ("audit", "Audit")
TAB_WORDS = (
    "The method runs on pairs of small data sets, or worlds, that differ in one record, in corners of this page's box. "
    "The easier their releases are to tell apart, the more privacy is lost: the audit shows a lower bound."
)
# Enough runs to detect worlds that never look alike. The Audit page offers other numbers.
TAB_RUNS, TAB_SEED = 500, 0
MORE = "Other ε, neighbors, modes and runs →"

# The table of all methods and modes.
FILE = ASSETS / "audit" / "methods.json"
# The deciding columns come first, because a narrow screen shows only those. Event and neighbors are a click away.
TABLE_COLUMNS = (
    "method",
    "mode",
    "published",
    "proved",
    "measured",
    "verdict",
    "at_ceiling",
    "runs",
    "neighbors",
    "delta",
    "reason",
)
NO_CLAIM, NO_PROOF = "no limit", "not proved"


def draw_audit() -> None:
    """Draw the page."""
    follow()
    is_own = str(state.value(PAIR)) == "own"
    page = frame.start(TITLE, pictures.TERMS, public_picture=not is_own)
    # Keep nothing of the previous page.
    keep(None)
    question = ask(page)
    # Each run of an audit would be one more release of the records.
    hidden = page.public and is_own
    audience = "public" if hidden else str(state.value(frame.AUDIENCE))
    parts = [*page.source.link, *link(question), ("audience", audience)]
    pairs: tuple[AuditCase, ...] = ()
    if hidden:
        keep_on_screen(page, question, scaled(cases()[question.key], question.epsilon), (), parts)
    else:
        try:
            pairs = pairs_of(page, question)
            # The claims are read from two runs on the records.
            if page.source.uploaded and question.is_own:
                asking.count(page.source, {(question.key, question.record, question.epsilon): 2})
        except ValueError as error:
            with page.problems:
                state.error(error)
    with page.stage:
        on_stage(page, question, pairs, parts)
    address(state.differing_query(parts))
    if pairs:
        guarantee, distance = pairs[0].guarantee, pairs[0].pair.distance
        trusted = NOBODY if guarantee.stated.per_distance else CURATOR
        distances = ((distance, "this pair's distance"),) if distance > 0.0 else ()
        claims = label_of(guarantee, Contents(protected(guarantee), (BOX,), (pictures.SECRET,), trusted, distances))
        with page.card:
            panel.side(panel.guarantee(claims))
            st.html(panel.details(claims))
            st.caption(_person_words(page, question, pairs[0]))
            target = method_address(pairs[0].key)
            if target is not None:
                st.markdown(f"[{state.plain(pairs[0].title)} in this mode]({target})")
    with page.more_pictures:
        tabs = {"table": table, reading.CHOICE[0]: lambda: explain(page, question, pairs[0] if pairs else None)}
        controls.fill(TAB, tabs)
    frame.show_problems(page.problems)


def ask(page: PageFrame) -> AuditQuestion:
    """Draw the controls that are not on the stage: the two worlds, runs and their seed. Return the question."""
    key = str(state.value(_modes(str(state.value(METHOD)))))
    epsilon = EPSILONS[nearest(EPSILONS, float(state.value(EPSILON)))]
    with page.first:
        pair = str(controls.control(PAIR))
        record, last = CONSTRUCTED, page.dataset.n - 1
        if pair == "own" and page.source.own and page.public:
            # The number of records and the record are for the curator only.
            record = 0
        elif pair == "own" and last >= 0:
            words = "Whose presence is audited: a row of the data."
            record = int(controls.control(Knob("record", "int", 0, "Record", words, 0, last)))
    with page.more:
        runs = int(controls.control(RUNS))
        seed = int(controls.control(SEED))
    return AuditQuestion(key, record, epsilon, runs, seed)


def follow() -> bool:
    """Take over the choices made on the stage since the last run; return True if there were any."""
    # Untrusted message from the browser.
    message = st.session_state.get(STAGE)
    followed: dict[str, float] = st.session_state.setdefault(_FOLLOWED, {})
    news = False
    for name in ("moved", "asked"):
        choice = state.read_message(message, tuple[str, int | str | None, state.Number], name)
        if choice is None or not choice[2] > followed.get(name, 0.0):
            continue
        kind, value, followed[name] = choice
        news = True
        if kind == "epsilon" and isinstance(value, int) and value in range(len(EPSILONS)):
            state.remember(EPSILON, EPSILONS[value])
        elif kind == "method" and isinstance(value, str):
            state.remember(METHOD, value)
        elif kind == "mode" and isinstance(value, str):
            state.remember(_modes(str(state.value(METHOD))), value)
        elif kind == "audience" and isinstance(value, str):
            state.remember(frame.AUDIENCE, value)
        elif kind in ("stop", "again"):
            _stop(st.session_state.get(_RUNNING) if kind == "stop" else None)
    return news


def _modes(method: str) -> Knob:
    """Return the choice among a method's cases."""
    modes = [case for case in cases().values() if case.method == method]
    first = AUDITED[method].audit.first
    return Knob(
        "audited_mode",
        "choice",
        f"{method}:{first}" if first else modes[0].key,
        "Mode",
        "Short runs with a public start and one cluster: noise in one place is easiest to see.",
        choices=tuple((case.key, f"{case.mode} ({case.pair_name})" if case.pair_name else case.mode) for case in modes),
    )


def link(question: AuditQuestion) -> state.Pairs:
    """Return the parameters that this page adds to the link."""
    pairs = [(knob.name, str(state.value(knob))) for knob in (METHOD, PAIR, RUNS, SEED, TAB)]
    pairs += [("audited_mode", question.key), (EPSILON.name, EPSILON.format(question.epsilon))]
    return [*pairs, ("record", str(question.record))] if question.is_own else pairs


def pairs_of(page: PageFrame, question: AuditQuestion) -> tuple[AuditCase, ...]:
    """Return the case on each of its pairs of worlds. Raises ValueError if the case cannot be audited."""
    dataset = page.dataset
    pairs = cases_of(question.key, dataset.points, dataset.box, question.record, question.epsilon)
    # Some methods refuse a budget only when they run.
    judged(pairs[0].guarantee)
    return pairs


@state.fragment
def on_stage(page: PageFrame, question: AuditQuestion, pairs: tuple[AuditCase, ...], parts: state.Pairs) -> None:
    """Draw the stage with the result of the runs or their progress, then the counts."""
    if follow():
        st.rerun()
    # Every run creates these containers, because a fragment may only write into places of the last whole run.
    place, numbers = st.container(), page.numbers.container()
    found: Finished | Unfinished = Unfinished("hidden" if page.public else "failed")
    if pairs:
        keep_on_screen(page, question, pairs[0], (), parts)
        found = finished(page, question, pairs)
    stages = [
        None if question.is_own else known(page, replace(question, epsilon=each), with_best=False) for each in EPSILONS
    ]
    if isinstance(found, Finished):
        stages[EPSILONS.index(question.epsilon)] = found
        audited = found.audited
        keep_on_screen(page, question, pairs[0], (pictures.histogram(audited), pictures.roc(audited)), parts)
        with numbers:
            panel.side(panel.facts("What was counted", pictures.facts(audited), public=page.public))
            say_runs(page, audited)
            if audited.is_own:
                st.caption("Curator view: measured on real records. An audit is not a release.")
    with place:
        data = drawn(question, pairs, found, stages, public=page.public)
        _STAGE(data=data, key=STAGE, on_moved_change=lambda: None, on_asked_change=lambda: None)


_WORDS: Mapping[str, str] = {
    "running": pictures.STARTED,
    "stopped": pictures.STOPPED,
    "hidden": pictures.HIDDEN,
    "failed": "The method does not run on these two worlds.",
}


def drawn(
    question: AuditQuestion,
    pairs: Sequence[AuditCase],
    found: "Finished | Unfinished",
    stages: Sequence["Finished | None"],
    *,
    public: bool,
) -> dict[str, object]:
    """Return the data that the browser draws: the results so far, by slider value, and the controls."""
    method, is_own = cases()[question.key].method, question.is_own
    lede = pairs[0].pair.words if pairs and is_own else pictures.LEDE
    promised = ""
    if pairs:
        limit = pairs[0].epsilon_of(judged(pairs[0].guarantee))
        promised = ceiled(limit) if math.isfinite(limit) else pictures.NOTHING
    unfinished = found if isinstance(found, Unfinished) else None
    return {
        "key": EPSILON.name,
        "label": EPSILON.label,
        "values": EPSILONS,
        "texts": [f"{each:g}" for each in EPSILONS],
        "index": EPSILONS.index(question.epsilon),
        "move": st.session_state.get(_FOLLOWED, {}).get("moved"),
        "moves": cases()[question.key].has_budget and not hiding.hides(EPSILON.name),
        "results": [None if each is None else each.stage for each in stages],
        "findings": ["" if each is None else each.stage["played"][-1]["finding"] for each in stages],
        "status": unfinished.status if unfinished else "done",
        "said": _WORDS[unfinished.status] if unfinished else "",
        "share": unfinished.share if unfinished else 1.0,
        "promised": promised,
        "lede": unfinished.problem if unfinished and unfinished.problem else lede,
        "worlds": pictures.SIDES[bool(pairs) and pairs[0].pair.adjacency is Adjacency.REPLACE],
        "columns": pictures.COLUMNS,
        "whom": [public, is_own],
        # In made-up worlds nothing is secret: everyone sees the same.
        "audience": str(state.value(frame.AUDIENCE)) if is_own and not hiding.hides(frame.AUDIENCE.name) else None,
        "audiences": frame.AUDIENCE.choices,
        "method": None if hiding.hides(METHOD.name) else method,
        "methods": list(METHOD.choices),
        "short": _short(method),
        "who": _who(question.key),
        "mode": None if hiding.hides("audited_mode") else question.key,
        "modes": list(_modes(method).choices),
        "switch": [case.key for case in calibrations(method)],
    }


def _short(method: str) -> str:
    return SHORT.get(method, AUDITED[method].title.split(" (")[0])


def _who(key: str) -> str:
    """Return the name of a method's mode for use in a sentence: "Published k-means"."""
    case = cases()[key]
    version = {"As published": "Published ", "Repaired": "Repaired "}.get(case.mode, "")
    return f"{version}{_short(case.method)}"


def say_runs(page: PageFrame, audited: Audited) -> None:
    """State which runs the counts come from. If a file in the header was not audited, state that also."""
    st.caption(pictures.HALVES)
    if page.source.uploaded and not audited.is_own:
        st.caption("The audit runs on two worlds of its own: it does not use your file's records.")


@immutable
class Finished(Confidential):
    """A finished audit and its stage."""

    audited: Audited
    stage: Mapping[str, Any]


@immutable_value
class Unfinished:
    """Reason why there is no result."""

    status: Literal["running", "stopped", "hidden", "failed"]
    # Share of the runs that are done.
    share: float = 0.0
    problem: str = ""


def finished(page: PageFrame, question: AuditQuestion, pairs: tuple[AuditCase, ...]) -> Finished | Unfinished:
    """Return the finished audit, or its progress while runs are missing or stopped."""
    name, audits = (page.source.key, question), _audits()
    st.session_state[_RUNNING] = name
    if st.session_state.get(_STOPPED) == name:
        asking.drop(page.source, _WAIT)
        return Unfinished("stopped")
    there = known(page, question)
    if there is not None:
        return there
    arguments = parts_of(pairs, question)
    if isinstance(pairs[0].runner, Batch):
        dataset = page.dataset
        parts: Sequence[Outcomes] = [part(dataset.points, dataset.box, *each) for each in arguments]
        if page.source.uploaded and question.is_own:
            asking.count(page.source, {name: sum(each[-2] for each in arguments)})
            asking.tally(page.source)
    else:
        jobs = [Job(part, each, n_runs=each[-2] if question.is_own else 0) for each in arguments]
        answers = asking.ask(page.source, jobs, what="Parts of the runs", key=_WAIT, secret=False, public=page.public)
        if answers.problem:
            return Unfinished("failed", problem=answers.problem)
        if not answers.complete:
            return Unfinished("running", answers.n_done / len(jobs))
        parts = answers.found
    # Real records leave no more traces than necessary.
    for each in [each for each in audits if each[1].is_own]:
        del audits[each]
    while len(audits) >= MOST_FOUND:
        del audits[next(iter(audits))]
    audits[name] = _finished(against_limit(*counted_from(pairs, parts), is_own=question.is_own), question.key)
    return audits[name]


def known(page: PageFrame, question: AuditQuestion, *, with_best: bool = True) -> Finished | None:
    """Return a finished audit from this session or from the file; None if neither has one."""
    there = _audits().get((page.source.key, question))
    return there if there is not None or opening.find_answer(question) is None else _opened(question, with_best)


@lru_cache(maxsize=4 * len(EPSILONS))
def _opened(question: AuditQuestion, with_best: bool) -> Finished:
    counted = opening.find_answer(question)
    assert counted is not None
    return _finished(against_limit(*counted, is_own=False, with_best=with_best), question.key)


def _finished(audited: Audited, key: str) -> Finished:
    case = cases()[key]
    proved = any(each.key != key and each.guarantee.proved is not None for each in calibrations(case.method))
    # The page of the proved version, if this mode is not proved.
    repaired = _short(case.method) if proved and case.guarantee.proved is None else ""
    stage = asdict(pictures.stage_of(audited, _who(key), repaired))
    return Finished(audited, {**stage, "scene": scene_hash(pictures.histogram(audited))})


# The session's finished audits, by records and question.
_audits = state.session_value(f"{asking.OF_RECORDS}:audits", dict[tuple[Hashable, AuditQuestion], Finished])


def _stop(name: Hashable) -> None:
    """Stop the runs for one question; None: stop no runs."""
    st.session_state[_STOPPED] = name


def keep_on_screen(
    page: PageFrame, question: AuditQuestion, case: AuditCase, scenes: tuple[Scene, ...], parts: state.Pairs
) -> None:
    """Keep the screen's contents for export. The public has no scenes of real records."""
    public = page.public
    own = (files.CURATOR,) if question.is_own else ("These worlds were made up: nothing in them is secret.",)
    one_row = _person_words(page, question, case)
    notes = tuple(filter(None, (promise(case.guarantee), *((files.PUBLIC,) if public else own), one_row)))
    view = tuple(scene.public() for scene in scenes) if public else scenes
    guarantees = () if public and question.is_own else (described(case.guarantee),)
    keep(ChartScreen(page.source, view, public, parts, notes, code_of(page, question), guarantees))


def _person_words(page: PageFrame, question: AuditQuestion, case: AuditCase) -> str:
    """Return `person_words` for an audit of the page's own records."""
    return person_words(for_person(case.guarantee, page.dataset.rows_per_person)) if question.is_own else ""


def code_of(page: PageFrame, question: AuditQuestion) -> Calls:
    """Return the calls that compute the pictures again."""
    return pictures.code(files.data_of(page.source, public=page.public), question)


@state.fragment
def explain(page: PageFrame, question: AuditQuestion, case: AuditCase | None) -> None:
    """Draw the text about this audit."""
    after_picture("wait-read")
    there, parts, code = known(page, question), [], ""
    if case is not None and there is not None:
        parts = [reading.FormulaPart("", pictures.formulas(there.audited, public=page.public), pictures.WORDS)]
        code = calls_excerpt(code_of(page, question))
    reading.article(pictures.MISREADINGS, pictures.PAPERS, parts, code, CODE)


@state.fragment
def table() -> None:
    """Draw the table of the file."""
    st.subheader("All methods and modes", anchor=False)
    report = None
    try:
        report = _read_table(str(FILE), FILE.stat().st_mtime_ns)
    except (TablesError, OSError) as error:
        state.error(error if isinstance(error, TablesError) else "The table is missing.")
    if report is not None:
        words = f"{report.runs:,} runs in each world for proved methods, more if runs are cheap."
        st.caption(f"{words} The table shows the number for each.")
        _draw_rows(report.table("audit").rows)
    with st.expander("How to read it, and its blind spots"):
        st.markdown("\n".join(f"- {state.plain(note)}" for note in NOTES))
    if report is not None:
        st.caption("This command reproduces the file's table to the last digit:")
        st.code(report.command, language="sh", wrap_lines=True)


@st.cache_resource(max_entries=1, show_spinner=False)
def _read_table(file: str, changed: int) -> Report:  # noqa: ARG001 (a file that was written again is read again)
    return read_tables(file)


def _draw_rows(rows: Sequence[Mapping[str, Cell]]) -> None:
    """Draw rows with a link to each; violations come first.

    Words replace a missing claim or proof. If a mode has two pairs, its row names the neighbors.
    """
    cells: list[dict[str, Cell]] = []
    for row in sorted(rows, key=lambda row: row["verdict"] != VIOLATION):
        cell = {key: row[key] for key in TABLE_COLUMNS} | {"measured": least(float(row["measured"] or 0.0))}
        for key, words in (("published", NO_CLAIM), ("proved", NO_PROOF)):
            value = row[key]
            cell[key] = words if value is None else number(float(value))
        case = cases().get(str(row["key"]))
        if case is not None and case.pair_name:
            cell["mode"] = f"{row['mode']} ({case.pair_name})"
        cells.append({**cell, "look": method_address(str(row["key"]))})
    labels = {column.key: column.label for column in COLUMNS}
    config: dict[str, Any] = {key: st.column_config.Column(labels[key]) for key in TABLE_COLUMNS}
    config["measured"] = st.column_config.NumberColumn(labels["measured"], format="%.3g")
    config["runs"] = st.column_config.NumberColumn(labels["runs"], format="localized")
    config["look"] = st.column_config.LinkColumn("Method's page", display_text="open")
    st.dataframe(pd.DataFrame(cells), hide_index=True, column_config=config, column_order=list(config), width="stretch")


def method_address(key: str) -> str | None:
    """Return the link to the page that gives a case's reasons, in its mode; None for a method without a page."""
    case = cases().get(key)
    if case is None or case.method not in CATALOGUE:
        return None
    return f"./{case.method}?{urlencode(case.choices)}"


@state.fragment
def tab(page: PageFrame, method: str) -> None:
    """Draw the audit of `method`, a name in a catalog: first the progress of its runs, then their result."""
    st.caption(TAB_WORDS)
    first = next(each.key for each in cases().values() if each.method == method)
    question = AuditQuestion(first, CONSTRUCTED, 1.0, TAB_RUNS, TAB_SEED)
    try:
        found = finished(page, question, pairs_of(page, question))
    # The method does not run on these worlds, and its message gives the reason.
    except ValueError as error:
        state.error(error)
        return
    if isinstance(found, Unfinished):
        if found.problem:
            state.error(found.problem)
        elif found.status == "stopped":
            st.info(pictures.STOPPED)
            st.button("Run it again", on_click=_stop, args=(None,))
        else:
            name = (page.source.key, question)
            st.button("Stop", help="Runs that have not started are canceled.", on_click=_stop, args=(name,))
        return
    audited = found.audited
    panel.sentence(pictures.sentence(audited), public=page.public)
    worlds, attack, facts = st.columns([3, 3, 2], gap="small")
    with worlds:
        live(pictures.histogram(audited), key="audit-worlds", height=CHART_HEIGHT, follow="picture")
    with attack:
        live(pictures.roc(audited), key="audit-attack", height=CHART_HEIGHT, follow="picture")
    with facts:
        panel.side(panel.facts("What was counted", pictures.facts(audited), public=page.public))
        say_runs(page, audited)
    st.button(MORE, type="tertiary", on_click=state.open_page, args=("audit", {METHOD.name: method}))


PAGE = Page(draw_audit, (METHOD, _modes(next(iter(AUDITED))), EPSILON, PAIR, RUNS, SEED), TITLE)
