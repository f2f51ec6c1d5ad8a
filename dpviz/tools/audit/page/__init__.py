"""The Audit page's furniture: what is audited, the runs behind it, and the pictures of what they show."""

from collections.abc import Sequence
from html import escape
from typing import Any

import streamlit as st

from dpviz.audit import Batch, EpsilonBound, Outcomes
from dpviz.core import Guarantee, Knob
from dpviz.stories.label import BOX, CURATOR, NOBODY, RECORD, Contents, Label, label_of
from dpviz.stories.method import Page
from dpviz.stories.panel import is_right
from dpviz.stories.recipe import calls_excerpt
from dpviz.tools.audit import batches as audit_tasks
from dpviz.tools.audit import story
from dpviz.tools.audit.batches import CONSTRUCTED
from dpviz.tools.audit.cases import AUDITED, AuditCase, cases
from dpviz.tools.audit.page import table as audit_table
from dpviz.tools.audit.page.asked import AuditQuestion, calls_of, keep_shown, sizes_of
from dpviz.tools.audit.story import reading as audit_reading
from dpviz.ui import asking, controls, frame, hiding, panel, reading, state
from dpviz.ui.address import address
from dpviz.ui.epsilon import epsilon_slider, nearest
from dpviz.ui.export.shown import keep
from dpviz.ui.frame import MOST_SEED, PageFrame
from dpviz.ui.live import live
from dpviz.ui.server.background import Job
from dpviz.ui.wait import wait

TITLE = "Audit"
HALVES = "Half of the runs of each world choose the attack; the other half test it, and only those are counted."
NO_FILE = "The audit runs on two worlds of its own: your file plays no part in it."
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
# The cases are made for a budget of 1, so that theirs is this times as much: all of ε, whatever it is divided into.
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
_WAIT = "wait-audit"
_STOPPED = "dpviz:audit-stopped"
_FOUND = "dpviz:audit-found"


def ask(frame: PageFrame) -> AuditQuestion:
    """Draw the knobs: method, mode, the two worlds, runs and their seed."""
    with frame.slider:
        with st.container(horizontal=True, key="dpviz-asked"):
            method = str(controls.control(METHOD))
            key = str(controls.control(_modes(method)))
        epsilon = _epsilon(key)
    with frame.first:
        pair = str(controls.control(PAIR))
        record = CONSTRUCTED
        n = frame.source.dataset.n
        if pair == "own" and n:
            record = int(controls.control(_record(n)))
    with frame.more:
        runs = int(controls.control(RUNS))
        seed = int(controls.control(SEED))
    return AuditQuestion(key, record, epsilon, runs, seed)


def link(question: AuditQuestion) -> list[tuple[str, str]]:
    """Return what this page adds to the link."""
    pairs = [(knob.name, str(state.value(knob))) for knob in (METHOD, PAIR, RUNS, SEED, TAB)]
    pairs += [("audited_mode", question.key), (EPSILON.name, EPSILON.format(question.epsilon))]
    return pairs if question.record == CONSTRUCTED else [*pairs, ("record", str(question.record))]


def guarantee_of(frame: PageFrame, question: AuditQuestion) -> tuple[AuditCase, Guarantee] | None:
    """Return the case and its two claims; None, with a message, where these records cannot be audited."""
    dataset = frame.source.dataset
    try:
        case = audit_tasks.case_of(question.key, dataset.points, dataset.box, question.record, question.epsilon)
        if frame.source.uploaded and question.record != CONSTRUCTED:  # the claims are read off a run in each way
            asking.count(frame.source, {(question.key, question.record, question.epsilon): 2})
        return case, case.guarantee
    except ValueError as error:
        st.error(state.plain(str(error)))
        return None


def hidden(frame: PageFrame, question: AuditQuestion) -> None:
    """Say why the public sees nothing of real records: each run of an audit would be one more release of them."""
    st.info(story.HIDDEN)
    query = state.query([*frame.source.link, *link(question), ("audience", "public")])
    dataset = frame.source.dataset
    case = audit_tasks.case_of(question.key, dataset.points, dataset.box, CONSTRUCTED, question.epsilon)
    keep_shown(frame, question, case, (), query)
    address(query)


def label(case: AuditCase, guarantee: Guarantee) -> Label:
    """Put both claims on a label."""
    distances = ((case.pair.distance, "this pair's distance"),) if case.pair.distance > 0.0 else ()
    trusted = NOBODY if guarantee.published.per_distance else CURATOR
    return label_of(guarantee, Contents(RECORD, (BOX,), (story.SECRET,), trusted, distances))


@st.fragment
def measured(frame: PageFrame, question: AuditQuestion, case: AuditCase, query: str) -> None:
    """Draw the runs' progress with a button to stop them, then what they show."""
    if state.is_blank():
        return
    # Made by every run: a fragment may only write where the last whole run has written.
    lead, side = frame.lead.container(), frame.side.container()
    keep_shown(frame, question, case, (), query)
    if (audited := found(frame, question, case)) is None:
        return
    with lead:
        panel.sentence(story.sentence(audited), public=frame.public)
    scenes = (story.histogram(audited), story.roc(audited))
    keep_shown(frame, question, case, scenes, query)
    worlds, attack = st.columns(2, gap="small")
    with worlds:
        live(scenes[0], key="picture", height=HEIGHT, audience_public=frame.public, query=query, fits=True)
    with attack:
        live(scenes[1], key="attack", height=HEIGHT, audience_public=frame.public, fits=True)
    with side:
        panel.side(panel.facts("What was counted", story.facts(audited), public=frame.public))
        say_runs(frame, audited)
        if audited.is_own:
            st.caption("Curator view: measured on real records. An audit is not a release.")


def say_runs(frame: PageFrame, audited: story.Audited) -> None:
    """Say which runs the counts are of, and that a file in the header is not what was audited, where it was not."""
    st.caption(HALVES)
    if frame.source.uploaded and not audited.is_own:
        st.caption(NO_FILE)


def found(frame: PageFrame, question: AuditQuestion, case: AuditCase) -> story.Audited | None:
    """Return the finished audit; None while runs are missing or were stopped, with what can be done about it."""
    if st.session_state.get(_STOPPED) == (frame.source.key, question):
        asking.drop(frame.source, _WAIT)
        st.info("Stopped. Nothing is shown of runs that are not complete.")
        st.button("Run it again", on_click=_stop, args=(None,))
        return None
    bound = _bound(frame, question, case)
    return None if bound is None else audit_tasks.told(case, bound, is_own=question.record != CONSTRUCTED)


def under(frame: PageFrame, question: AuditQuestion, case: AuditCase | None) -> None:
    """Draw what stands under the pictures: the table of all modes, or what there is to read about this audit."""
    tabs = {"table": lambda: audit_table.table(frame), reading.CHOICE[0]: lambda: _read(frame, question, case)}
    controls.fill(TAB, tabs)


@st.fragment
def _read(frame: PageFrame, question: AuditQuestion, case: AuditCase | None) -> None:
    if state.is_blank():
        return
    wait(done=1, all=1, what="", follow="picture", key="wait-read")
    bound = _kept().get((frame.source.key, question))
    if case is None or bound is None:
        reading.article(audit_reading.MISREADINGS, audit_reading.PAPERS, [], "", CODE)
        return
    audited = audit_tasks.told(case, bound, is_own=question.record != CONSTRUCTED)
    found = audit_reading.formulas(audited, public=frame.public)
    code = calls_excerpt(calls_of(frame, question, case))
    reading.article(
        audit_reading.MISREADINGS,
        audit_reading.PAPERS,
        [reading.FormulaPart("", found, audit_reading.WORDS)],
        code,
        CODE,
    )


def _kept() -> dict[Any, EpsilonBound]:
    kept: dict[Any, EpsilonBound] = st.session_state.setdefault(_FOUND, {})
    return kept


def _bound(frame: PageFrame, question: AuditQuestion, case: AuditCase) -> EpsilonBound | None:
    """Return the finished audit; None while runs are missing, with a line that says how many there are."""
    name = (frame.source.key, question)
    kept = _kept()
    if name in kept:
        return kept[name]
    points, box = frame.source.dataset.points, frame.source.dataset.box
    sizes = sizes_of(question, case)
    if isinstance(case.runner, Batch):
        parts: Sequence[Any] = [
            audit_tasks.part(
                points, box, question.key, question.record, question.epsilon, world, 0, sizes[0], question.seed
            )
            for world in (0, 1)
        ]
        if frame.source.uploaded and question.record != CONSTRUCTED:
            asking.count(frame.source, {name: 2 * sizes[0]})
            asking.tally(frame.source)
    else:
        if (answers := _parts(frame, question, sizes)) is None:
            return None
        parts = answers
    half = len(parts) // 2
    first: list[Outcomes] = list(parts[:half])
    bound = audit_tasks.together(case, first, list(parts[half:]))
    kept.clear()  # the last one is enough, and real records leave no more traces than they must
    kept[name] = bound
    return bound


def _parts(frame: PageFrame, question: AuditQuestion, sizes: Sequence[int]) -> Sequence[Any] | None:
    own = question.record != CONSTRUCTED
    jobs = [
        Job(
            audit_tasks.part,
            (question.key, question.record, question.epsilon, world, chunk, size, question.seed),
            n_runs=size if own else 0,
        )
        for world in (0, 1)
        for chunk, size in enumerate(sizes)
    ]
    answers = asking.ask(frame.source, jobs, what="Parts of the runs", key=_WAIT, secret=False, public=frame.public)
    if answers.problem:
        st.error(state.plain(answers.problem))
        return None
    if answers.complete:
        return answers.found
    name = (frame.source.key, question)
    st.button("Stop", help="Runs that have not begun never begin.", on_click=_stop, args=(name,))
    return None


def _stop(name: Any) -> None:
    """Stop the runs for one question; None: for none."""
    st.session_state[_STOPPED] = name


def _epsilon(key: str) -> float:
    """Draw the slider of the ε that is audited; nothing where a method spends none."""
    at = EPSILONS[nearest(EPSILONS, float(state.value(EPSILON)))]
    if hiding.hides(EPSILON.name) or not cases()[key].has_budget:
        return at
    chosen = epsilon_slider(
        key=state.widget_key(EPSILON.name), value=at, label=EPSILON.label, values=EPSILONS, help=EPSILON.help
    )
    return float(state.remember(EPSILON, chosen))


def _modes(method: str) -> Knob:
    """Return the choice among a method's cases."""
    found = [case for case in cases().values() if case.method == method]
    first = AUDITED[method].audit.first
    named = tuple((case.key, f"{case.mode} ({case.pair_name})" if case.pair_name else case.mode) for case in found)
    return Knob(
        "audited_mode",
        "choice",
        f"{method}:{first}" if first else found[0].key,
        "Mode",
        "Short runs with a public start and one cluster: noise in one place shows most.",
        choices=named,
    )


def _record(n: int) -> Knob:
    return Knob("record", "int", 0, "Record", "Whose presence is audited: a row of the data.", 0, n - 1, 0, n - 1)


def draw() -> None:
    """Draw the page."""
    made = str(state.value(PAIR)) != "own"
    page = frame.start(TITLE, story.TERMS, what=controls.said(PAIR), public_picture=made)
    keep(None)  # nothing of the page before
    question = ask(page)
    with page.picture:
        found = None
        if page.public and not made:
            hidden(page, question)
        else:
            found = guarantee_of(page, question)
    if found is not None:
        case, guarantee = found
        query = state.query([*page.source.link, *link(question), ("audience", str(state.value(frame.AUDIENCE)))])
        with page.picture:
            measured(page, question, case, query)
        said = label(case, guarantee)
        with page.slider:
            held = said.proved or said.stated
            said_so = " ".join(is_right(held.odds))
            st.html(f'<p class="dpviz-limit">{escape(held.title)}: an attacker {escape(said_so)}.</p>')
        with page.side:
            panel.side(panel.promise(said))
            audit_table.to_its_page(case)
        with page.card:
            panel.side(panel.guarantee(said))
            st.html(panel.details(said))
    with page.more_pictures:
        under(page, question, found[0] if found else None)
    frame.show_problems(page.problems)


PAGE = Page(draw, (METHOD, _modes(next(iter(AUDITED))), EPSILON, PAIR, RUNS, SEED), TITLE)
