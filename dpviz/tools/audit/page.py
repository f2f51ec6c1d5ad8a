"""The Audit page, the table of all methods and modes under it, and the audit's tab on a method's own page."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import Any
from urllib.parse import urlencode

import pandas as pd
import streamlit as st

from dpviz.assets import FOLDER as ASSETS
from dpviz.audit import Batch, Outcomes, joined
from dpviz.core import Knob
from dpviz.experiments.tables import Cell, Report, TablesError, read_tables
from dpviz.methods import CATALOGUE
from dpviz.plots import Scene
from dpviz.stories.label import BOX, CURATOR, NOBODY, RECORD, Contents, described, label_of, promise
from dpviz.stories.method import Page
from dpviz.stories.panel import is_right, number
from dpviz.stories.recipe import Calls, calls_excerpt
from dpviz.tools.audit import pictures
from dpviz.tools.audit import reading as audit_reading
from dpviz.tools.audit.cases import AUDITED, AuditCase, cases, scaled
from dpviz.tools.audit.runs import (
    CONSTRUCTED,
    Audited,
    AuditQuestion,
    Counted,
    against_limit,
    cases_of,
    counted_of,
    part,
    sizes_of,
)
from dpviz.tools.audit.table import COLUMNS, NOTES, VIOLATION, least, line
from dpviz.ui import asking, controls, frame, hiding, panel, reading, state
from dpviz.ui.asking import wait
from dpviz.ui.controls import epsilon_slider, nearest
from dpviz.ui.export import files
from dpviz.ui.frame import CHART_HEIGHT, MOST_SEED, PageFrame
from dpviz.ui.live import live
from dpviz.ui.screen import ChartScreen, address, keep
from dpviz.ui.server.background import Job

TITLE = "Audit"
HALVES = "Half of the runs of each world choose the attack; the other half test it, and only those are counted."
NO_FILE = "The audit runs on two worlds of its own: the records of your file play no part in it."
HEIGHT = 400  # CSS pixels
METHOD = Knob(
    "audited",
    "choice",
    next(iter(AUDITED)),
    "Method",
    "What is run many times.",
    choices=tuple((name, algorithm.title) for name, algorithm in AUDITED.items()),
)
PAIR = Knob(
    "neighbors",
    "choice",
    "made",
    "Two worlds",
    "Made up so that a broken promise shows most, or the chosen data with one record removed or moved.",
    choices=(("made", "Worst case"), ("own", "This data")),
)
# The cases are for a budget of 1, so that theirs is this times as much: all of ε, whatever it is divided into.
EPSILON = Knob(
    "audit_epsilon", "float", 1.0, "Audited at ε", "What each run may spend.", 0.1, 10.0, 0.1, 10.0, log=True
)
EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)  # each is an audit of its own
RUNS = Knob(
    "audit_runs",
    "choice",
    "500",
    "Runs in each world",
    "More runs show more. Where many runs are one call, ten times as many are made.",
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
SEED = Knob("audit_seed", "int", 0, "Seed of the runs", "Other runs, the same worlds.", 0, MOST_SEED, 0, MOST_SEED)
CODE = "The calls behind the two pictures above: the same worlds, runs and seeds."
BEFORE = "Before your change"
_WAIT = "wait-audit"
_STOPPED = "dpviz:audit-stopped"
_FOUND = "dpviz:audit-found"
_DRAWN = "dpviz:audit-drawn:page"  # the last pictures, and for whom

# The tab on a method's own page: its first mode, on the neighbors where a broken promise shows most.
CHOICE = ("audit", "Audit")  # of a page's tabs
TAB_WORDS = (
    "The method runs on pairs of small data sets, or worlds, that differ in one record, in corners of this page's box. "
    "How well their releases can be told apart bounds from below how much privacy is lost."
)
TAB_RUNS, TAB_SEED = 500, 0  # enough to see worlds that never look alike; the Audit page offers others
MORE = "Other ε, neighbors, modes and runs →"

# The table of all methods and modes.
FILE = ASSETS / "audit" / "methods.json"
TABLE_RUNS, TABLE_SEED = 200, 1  # of a table that is computed here: enough to see worlds that never look alike
# What decides stands first: a narrow screen shows the first columns. Event and neighbors are a click away.
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
_TABLE_WAIT = "wait-audit-table"
_LIVE = "dpviz:audit-table-live"


def draw() -> None:
    """Draw the page."""
    is_own = str(state.value(PAIR)) == "own"
    page = frame.start(TITLE, pictures.TERMS, what=controls.said(PAIR), public_picture=not is_own)
    keep(None)  # nothing of the page before
    question = ask(page)
    query = state.query([*page.source.link, *link(question), ("audience", str(state.value(frame.AUDIENCE)))])
    pairs: tuple[AuditCase, ...] = ()
    with page.picture:
        if page.public and is_own:
            # Each run of an audit would be one more release of the records.
            st.info(pictures.HIDDEN)
            query = state.query([*page.source.link, *link(question), ("audience", "public")])
            keep_on_screen(page, question, scaled(cases()[question.key], question.epsilon), (), query)
            address(query)
        else:
            try:
                pairs = pairs_of(page, question)
                if page.source.uploaded and question.is_own:  # the claims are read off a run in each way
                    asking.count(page.source, {(question.key, question.record, question.epsilon): 2})
                guarantee = pairs[0].guarantee
            except ValueError as error:
                pairs = ()
                st.error(state.plain(str(error)))
    if pairs:
        with page.picture:
            measured(page, question, pairs, query)
        distance, trusted = pairs[0].pair.distance, NOBODY if guarantee.stated.per_distance else CURATOR
        distances = ((distance, "this pair's distance"),) if distance > 0.0 else ()
        claims = label_of(guarantee, Contents(RECORD, (BOX,), (pictures.SECRET,), trusted, distances))
        with page.slider:
            claim = claims.proved or claims.stated
            words = f"{claim.title}: an attacker {' '.join(is_right(claim.odds))}." if claim.odds else f"{claims.kind}."
            st.html(f'<p class="dpviz-limit">{escape(words)}</p>')
        with page.side:
            panel.side(panel.promise(claims))
            target = method_address(pairs[0].key)
            if target is not None:
                st.markdown(f"[{state.plain(pairs[0].title)} in this mode]({target})")
        with page.card:
            panel.side(panel.guarantee(claims))
            st.html(panel.details(claims))
    with page.more_pictures:
        tabs = {
            "table": lambda: table(page),
            reading.CHOICE[0]: lambda: explain(page, question, pairs[0] if pairs else None),
        }
        controls.fill(TAB, tabs)
    frame.show_problems(page.problems)


def ask(page: PageFrame) -> AuditQuestion:
    """Draw the knobs: method, mode, the two worlds, runs and their seed."""
    with page.slider:
        with st.container(horizontal=True, key="dpviz-asked"):
            method = str(controls.control(METHOD))
            key = str(controls.control(_modes(method)))
        epsilon = EPSILONS[nearest(EPSILONS, float(state.value(EPSILON)))]
        if not hiding.hides(EPSILON.name) and cases()[key].has_budget:
            slider_key = state.widget_key(EPSILON.name)
            chosen = epsilon_slider(
                key=slider_key, value=epsilon, label=EPSILON.label, values=EPSILONS, help=EPSILON.help
            )
            epsilon = float(state.remember(EPSILON, chosen))
    with page.first:
        pair = str(controls.control(PAIR))
        record, last = CONSTRUCTED, page.source.dataset.n - 1
        if pair == "own" and last >= 0:
            words = "Whose presence is audited: a row of the data."
            record = int(controls.control(Knob("record", "int", 0, "Record", words, 0, last, 0, last)))
    with page.more:
        runs = int(controls.control(RUNS))
        seed = int(controls.control(SEED))
    return AuditQuestion(key, record, epsilon, runs, seed)


def _modes(method: str) -> Knob:
    """Return the choice among a method's cases."""
    modes = [case for case in cases().values() if case.method == method]
    first = AUDITED[method].audit.first
    return Knob(
        "audited_mode",
        "choice",
        f"{method}:{first}" if first else modes[0].key,
        "Mode",
        "Short runs with a public start and one cluster: noise in one place shows most.",
        choices=tuple((case.key, f"{case.mode} ({case.pair_name})" if case.pair_name else case.mode) for case in modes),
    )


def link(question: AuditQuestion) -> list[tuple[str, str]]:
    """Return what this page adds to the link."""
    pairs = [(knob.name, str(state.value(knob))) for knob in (METHOD, PAIR, RUNS, SEED, TAB)]
    pairs += [("audited_mode", question.key), (EPSILON.name, EPSILON.format(question.epsilon))]
    return [*pairs, ("record", str(question.record))] if question.is_own else pairs


def pairs_of(page: PageFrame, question: AuditQuestion) -> tuple[AuditCase, ...]:
    """Return the case on each of its pairs of worlds. Raises ValueError where it cannot be audited."""
    dataset = page.source.dataset
    return cases_of(question.key, dataset.points, dataset.box, question.record, question.epsilon)


@st.fragment
def measured(page: PageFrame, question: AuditQuestion, pairs: tuple[AuditCase, ...], query: str) -> None:
    """Draw the runs' progress with a button to stop them, and the last pictures; then what the runs show."""
    if state.is_blank():
        return
    # Created by every run: a fragment may only write where the last whole run has written.
    lead, side = page.lead.container(), page.side.container()
    keep_on_screen(page, question, pairs[0], (), query)
    audited = finished(page, question, pairs)
    if audited is None:
        scenes = before(page, question)
    else:
        with lead:
            panel.sentence(pictures.sentence(audited), public=page.public)
        scenes = (pictures.histogram(audited), pictures.roc(audited))
        keep_on_screen(page, question, pairs[0], scenes, query)
        # They stay until those of the next question are there.
        st.session_state[_DRAWN] = for_whom(page, question), scenes
    if scenes:
        worlds, attack = st.columns(2, gap="small")
        with worlds:
            live(scenes[0], key="picture", height=HEIGHT, audience_public=page.public, query=query, fits=True)
        with attack:
            live(scenes[1], key="attack", height=HEIGHT, audience_public=page.public, fits=True)
    if audited is not None:
        with side:
            panel.side(panel.facts("What was counted", pictures.facts(audited), public=page.public))
            say_runs(page, audited)
            if audited.is_own:
                st.caption("Curator view: measured on real records. An audit is not a release.")


def before(page: PageFrame, question: AuditQuestion) -> tuple[Scene, ...]:
    """Return the last pictures, titled as before; none of other records or for another reader."""
    whom, scenes = st.session_state.get(_DRAWN, (None, ()))
    if whom != for_whom(page, question):
        return ()
    return tuple(
        replace(
            scene,
            title=f"{BEFORE}: {scene.title[0].lower()}{scene.title[1:]}",
            alt=f"{BEFORE}: {scene.alt}",
            caption=f"{BEFORE}: {scene.caption}",
        )
        for scene in scenes
    )


def for_whom(page: PageFrame, question: AuditQuestion) -> tuple[Hashable, bool, bool]:
    """Return whose records pictures are of, who looks at them, and whether they are of real records."""
    return page.source.key, page.public, question.is_own


def say_runs(page: PageFrame, audited: Audited) -> None:
    """Say which runs the counts are of, and that a file in the header was not audited, where it was not."""
    st.caption(HALVES)
    if page.source.uploaded and not audited.is_own:
        st.caption(NO_FILE)


def finished(page: PageFrame, question: AuditQuestion, pairs: tuple[AuditCase, ...]) -> Audited | None:
    """Return the finished audit; None while runs are missing or were stopped, with what can be done about it."""
    name, audits = (page.source.key, question), _audits()
    if st.session_state.get(_STOPPED) == name:
        asking.drop(page.source, _WAIT)
        st.info("Stopped. Nothing is shown of runs that are not complete.")
        st.button("Run it again", on_click=_stop, args=(None,))
        return None
    if name not in audits:
        sizes = sizes_of(pairs[0], question.runs)
        arguments = [
            (question.key, question.record, question.epsilon, pair, world, chunk, size, question.seed)
            for pair in range(len(pairs))
            for world in (0, 1)
            for chunk, size in enumerate(sizes)
        ]
        if isinstance(pairs[0].runner, Batch):
            dataset = page.source.dataset
            parts: Sequence[Outcomes] = [part(dataset.points, dataset.box, *each) for each in arguments]
            if page.source.uploaded and question.is_own:
                asking.count(page.source, {name: 2 * sizes[0]})
                asking.tally(page.source)
        else:
            jobs = [Job(part, each, n_runs=each[-2] if question.is_own else 0) for each in arguments]
            answers = asking.ask(
                page.source, jobs, what="Parts of the runs", key=_WAIT, secret=False, public=page.public
            )
            if answers.problem:
                st.error(state.plain(answers.problem))
                return None
            if not answers.complete:
                st.button("Stop", help="Runs that have not begun never begin.", on_click=_stop, args=(name,))
                return None
            parts = answers.found
        worlds = [joined(parts[i : i + len(sizes)]) for i in range(0, len(parts), len(sizes))]
        audits.clear()  # the last one is enough, and real records leave no more traces than they must
        audits[name] = counted_of(pairs, list(zip(worlds[::2], worlds[1::2], strict=True)))
    return against_limit(*audits[name], is_own=question.is_own)


def _audits() -> dict[Hashable, Counted]:
    """Return the session's finished audits, by records and question."""
    audits: dict[Hashable, Counted] = st.session_state.setdefault(_FOUND, {})
    return audits


def _stop(name: Hashable) -> None:
    """Stop the runs for one question; None: for none."""
    st.session_state[_STOPPED] = name


def keep_on_screen(
    page: PageFrame, question: AuditQuestion, case: AuditCase, scenes: tuple[Scene, ...], query: str
) -> None:
    """Keep what is on screen for export. Of records the public has no scenes."""
    public = page.public
    own = (files.CURATOR,) if question.is_own else ("Worlds that were made up: nothing in them is secret.",)
    notes = (promise(case.guarantee), *((files.PUBLIC,) if public else own))
    view = tuple(scene.public() for scene in scenes) if public else scenes
    guarantees = () if public and question.is_own else (described(case.guarantee),)
    keep(ChartScreen(page.source, view, public, query, notes, calls_of(page, question, case), guarantees))


def calls_of(page: PageFrame, question: AuditQuestion, case: AuditCase) -> Calls:
    """Return the calls that compute the pictures again."""
    return audit_reading.code(files.data_of(page.source, public=page.public), question, case)


@st.fragment
def explain(page: PageFrame, question: AuditQuestion, case: AuditCase | None) -> None:
    """Draw what there is to read about this audit."""
    if state.is_blank():
        return
    wait(done=1, all=1, what="", follow="picture", key="wait-read")
    counted, parts, code = _audits().get((page.source.key, question)), [], ""
    if case is not None and counted is not None:
        audited = against_limit(*counted, is_own=question.is_own)
        formulas = audit_reading.formulas(audited, public=page.public)
        parts = [reading.FormulaPart("", formulas, audit_reading.WORDS)]
        code = calls_excerpt(calls_of(page, question, case))
    reading.article(audit_reading.MISREADINGS, audit_reading.PAPERS, parts, code, CODE)


@st.fragment
def table(page: PageFrame) -> None:
    """Draw the table of the file, or the one that is being computed here."""
    if state.is_blank():
        return
    st.subheader("All methods and modes", anchor=False)
    if st.session_state.get(_LIVE):
        jobs = [Job(line, (key, TABLE_RUNS, TABLE_SEED), n_runs=0) for key in cases()]
        answers = asking.ask(
            page.source, jobs, what="Methods and modes", key=_TABLE_WAIT, secret=False, public=page.public
        )
        words = "Back to the file's table" if answers.complete else "Stop making the table"
        st.button(words, on_click=_switch, args=(False,))
        if answers.problem:
            st.error(state.plain(answers.problem))
        else:
            _draw_rows([row for row in answers.found if row is not None])
        return
    asking.drop(page.source, _TABLE_WAIT)  # what was stopped
    report: Report | None = None
    try:
        report = _report(FILE.stat().st_mtime_ns)
    except (TablesError, OSError) as error:
        st.error(state.plain(str(error) if isinstance(error, TablesError) else "The table is missing."))
    else:
        words = f"{report.runs:,} runs in each world for what is proved, more where they are cheap."
        st.caption(f"{words} The table says how many for each.")
        _draw_rows(report.table("audit").rows)
    words = f"{TABLE_RUNS} runs in each world, other ones than the file's."
    st.button("Audit all again, here", help=words, on_click=_switch, args=(True,))
    with st.expander("How to read it, and what no audit sees"):
        st.markdown("\n".join(f"- {state.plain(note)}" for note in NOTES))
    if report is not None:
        st.caption("The file's table again, to the digit, from a command line:")
        st.code(report.command, language="sh", wrap_lines=True)


def _switch(live: bool) -> None:
    """Compute the table here, or go back to the file's."""
    st.session_state[_LIVE] = live


def _draw_rows(rows: Sequence[Mapping[str, Cell]]) -> None:
    """Draw rows with a link to each; a violation stands first.

    No claim and no proof are words, and the neighbors are named where a mode has two pairs.
    """
    if not rows:
        st.caption("The first lines are on their way.")
        return
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
    """Return the link to the page where a case's reasons stand, in its mode; None for a method without a page."""
    case = cases().get(key)
    if case is None or case.method not in CATALOGUE:
        return None
    return f"./{case.method}?{urlencode(case.choices)}"


@st.cache_resource(max_entries=4, show_spinner=False)
def _report(written: int) -> Report:  # noqa: ARG001 (a file that was written again is read again)
    return read_tables(FILE)


@st.fragment
def tab(page: PageFrame, method: str) -> None:
    """Draw the audit of `method`, a name of a catalogue: its runs' progress, then what they show."""
    if state.is_blank():
        return
    st.caption(TAB_WORDS)
    first = next(each.key for each in cases().values() if each.method == method)
    question = AuditQuestion(first, CONSTRUCTED, 1.0, TAB_RUNS, TAB_SEED)
    try:
        audited = finished(page, question, pairs_of(page, question))
    except ValueError as error:  # the method does not run on these worlds, and its words say why
        st.error(state.plain(str(error)))
        return
    if audited is None:
        return
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


PAGE = Page(draw, (METHOD, _modes(next(iter(AUDITED))), EPSILON, PAIR, RUNS, SEED), TITLE)
