"""The Audit page's furniture: what is audited, the runs behind it, and the pictures of what they show."""

from collections.abc import Sequence
from dataclasses import replace
from html import escape
from typing import Any

import streamlit as st

from dpviz.audit import Batch, EpsilonBound, Outcomes
from dpviz.core import Guarantee, Knob
from dpviz.plots import Scene
from dpviz.stories.label import BOX, CURATOR, NOBODY, RECORD, Contents, Label, label_of
from dpviz.stories.method import Page
from dpviz.stories.panel import is_right
from dpviz.stories.recipe import calls_excerpt
from dpviz.tools.audit import batches as audit_tasks
from dpviz.tools.audit import story
from dpviz.tools.audit.batches import CONSTRUCTED
from dpviz.tools.audit.cases import AUDITED, AuditCase, cases, scaled
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
_DRAWN = "dpviz:audit-drawn"  # before the name of a place: what was drawn there last, and for whom
BEFORE = "Before your change"


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


def pairs_of(frame: PageFrame, question: AuditQuestion) -> tuple[AuditCase, ...]:
    """Return what is asked about on each of its pairs of worlds. Raises ValueError where it cannot be audited."""
    dataset = frame.source.dataset
    return audit_tasks.cases_of(question.key, dataset.points, dataset.box, question.record, question.epsilon)


def guarantee_of(frame: PageFrame, question: AuditQuestion) -> tuple[tuple[AuditCase, ...], Guarantee] | None:
    """Return the pairs and the two claims; None, with a message, where these records cannot be audited."""
    try:
        pairs = pairs_of(frame, question)
        if frame.source.uploaded and question.record != CONSTRUCTED:  # the claims are read off a run in each way
            asking.count(frame.source, {(question.key, question.record, question.epsilon): 2})
        return pairs, pairs[0].guarantee
    except ValueError as error:
        st.error(state.plain(str(error)))
        return None


def hidden(frame: PageFrame, question: AuditQuestion) -> None:
    """Say why the public sees nothing of real records: each run of an audit would be one more release of them."""
    st.info(story.HIDDEN)
    query = state.query([*frame.source.link, *link(question), ("audience", "public")])
    keep_shown(frame, question, scaled(cases()[question.key], question.epsilon), (), query)
    address(query)


def label(case: AuditCase, guarantee: Guarantee) -> Label:
    """Put both claims on a label."""
    distances = ((case.pair.distance, "this pair's distance"),) if case.pair.distance > 0.0 else ()
    trusted = NOBODY if guarantee.stated.per_distance else CURATOR
    return label_of(guarantee, Contents(RECORD, (BOX,), (story.SECRET,), trusted, distances))


@st.fragment
def measured(frame: PageFrame, question: AuditQuestion, pairs: tuple[AuditCase, ...], query: str) -> None:
    """Draw the runs' progress with a button to stop them, and what was shown before; then what they show."""
    if state.is_blank():
        return
    # Made by every run: a fragment may only write where the last whole run has written.
    lead, side = frame.lead.container(), frame.side.container()
    keep_shown(frame, question, pairs[0], (), query)
    if (audited := found(frame, question, pairs)) is None:
        if scenes := before(frame, question, "page"):
            _pictures(frame, scenes, query)
        return
    with lead:
        panel.sentence(story.sentence(audited), public=frame.public)
    scenes = (story.histogram(audited), story.roc(audited))
    keep_shown(frame, question, pairs[0], scenes, query)
    remember(frame, question, "page", scenes)
    _pictures(frame, scenes, query)
    with side:
        panel.side(panel.facts("What was counted", story.facts(audited), public=frame.public))
        say_runs(frame, audited)
        if audited.is_own:
            st.caption("Curator view: measured on real records. An audit is not a release.")


def _pictures(frame: PageFrame, scenes: Sequence[Scene], query: str) -> None:
    worlds, attack = st.columns(2, gap="small")
    with worlds:
        live(scenes[0], key="picture", height=HEIGHT, audience_public=frame.public, query=query, fits=True)
    with attack:
        live(scenes[1], key="attack", height=HEIGHT, audience_public=frame.public, fits=True)


def remember(frame: PageFrame, question: AuditQuestion, place: str, scenes: tuple[Scene, ...]) -> None:
    """Keep the pictures of a place, which stay until those of the next question are there."""
    st.session_state[f"{_DRAWN}:{place}"] = for_whom(frame, question), scenes


def before(frame: PageFrame, question: AuditQuestion, place: str) -> tuple[Scene, ...]:
    """Return what was drawn at a place last, said to be of before; nothing of other records or for another reader."""
    whom, scenes = st.session_state.get(f"{_DRAWN}:{place}", (None, ()))
    if whom != for_whom(frame, question):
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


def for_whom(frame: PageFrame, question: AuditQuestion) -> tuple[Any, ...]:
    """Return whose records pictures are of, who looks at them, and whether they are of real records."""
    return frame.source.key, frame.public, question.record != CONSTRUCTED


def say_runs(frame: PageFrame, audited: story.Audited) -> None:
    """Say which runs the counts are of, and that a file in the header is not what was audited, where it was not."""
    st.caption(HALVES)
    if frame.source.uploaded and not audited.is_own:
        st.caption(NO_FILE)


def found(frame: PageFrame, question: AuditQuestion, pairs: tuple[AuditCase, ...]) -> story.Audited | None:
    """Return the finished audit; None while runs are missing or were stopped, with what can be done about it."""
    if st.session_state.get(_STOPPED) == (frame.source.key, question):
        asking.drop(frame.source, _WAIT)
        st.info("Stopped. Nothing is shown of runs that are not complete.")
        st.button("Run it again", on_click=_stop, args=(None,))
        return None
    counted = _counted(frame, question, pairs)
    return None if counted is None else audit_tasks.told(*counted, is_own=question.record != CONSTRUCTED)


def under(frame: PageFrame, question: AuditQuestion, case: AuditCase | None) -> None:
    """Draw what stands under the pictures: the table of all modes, or what there is to read about this audit."""
    tabs = {"table": lambda: audit_table.table(frame), reading.CHOICE[0]: lambda: _read(frame, question, case)}
    controls.fill(TAB, tabs)


@st.fragment
def _read(frame: PageFrame, question: AuditQuestion, case: AuditCase | None) -> None:
    if state.is_blank():
        return
    wait(done=1, all=1, what="", follow="picture", key="wait-read")
    counted = _kept().get((frame.source.key, question))
    if case is None or counted is None:
        reading.article(audit_reading.MISREADINGS, audit_reading.PAPERS, [], "", CODE)
        return
    audited = audit_tasks.told(*counted, is_own=question.record != CONSTRUCTED)
    found = audit_reading.formulas(audited, public=frame.public)
    code = calls_excerpt(calls_of(frame, question, case))
    reading.article(
        audit_reading.MISREADINGS,
        audit_reading.PAPERS,
        [reading.FormulaPart("", found, audit_reading.WORDS)],
        code,
        CODE,
    )


def _kept() -> dict[Any, tuple[AuditCase, EpsilonBound]]:
    kept: dict[Any, tuple[AuditCase, EpsilonBound]] = st.session_state.setdefault(_FOUND, {})
    return kept


def _counted(
    frame: PageFrame, question: AuditQuestion, pairs: tuple[AuditCase, ...]
) -> tuple[AuditCase, EpsilonBound] | None:
    """Return the finished audit and its pair; None while runs are missing, with a line that says how many there are."""
    name = (frame.source.key, question)
    kept = _kept()
    if name in kept:
        return kept[name]
    sizes = sizes_of(question, pairs[0])
    asked = [
        (question.key, question.record, question.epsilon, pair, world, chunk, size, question.seed)
        for pair in range(len(pairs))
        for world in (0, 1)
        for chunk, size in enumerate(sizes)
    ]
    if isinstance(pairs[0].runner, Batch):
        dataset = frame.source.dataset
        parts: Sequence[Outcomes] = [audit_tasks.part(dataset.points, dataset.box, *each) for each in asked]
        if frame.source.uploaded and question.record != CONSTRUCTED:
            asking.count(frame.source, {name: 2 * sizes[0]})
            asking.tally(frame.source)
    else:
        own = question.record != CONSTRUCTED
        jobs = [Job(audit_tasks.part, each, n_runs=each[-2] if own else 0) for each in asked]
        if (answers := _parts(frame, question, jobs)) is None:
            return None
        parts = answers
    worlds = [parts[i : i + len(sizes)] for i in range(0, len(parts), len(sizes))]
    counted = audit_tasks.together(pairs, list(zip(worlds[::2], worlds[1::2], strict=True)))
    kept.clear()  # the last one is enough, and real records leave no more traces than they must
    kept[name] = counted
    return counted


def _parts(frame: PageFrame, question: AuditQuestion, jobs: Sequence[Job]) -> Sequence[Any] | None:
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
        pairs, guarantee = found
        query = state.query([*page.source.link, *link(question), ("audience", str(state.value(frame.AUDIENCE)))])
        with page.picture:
            measured(page, question, pairs, query)
        said = label(pairs[0], guarantee)
        with page.slider:
            held = said.proved or said.stated
            said_so = f"{held.title}: an attacker {' '.join(is_right(held.odds))}." if held.odds else f"{said.kind}."
            st.html(f'<p class="dpviz-limit">{escape(said_so)}</p>')
        with page.side:
            panel.side(panel.promise(said))
            audit_table.to_its_page(pairs[0])
        with page.card:
            panel.side(panel.guarantee(said))
            st.html(panel.details(said))
    with page.more_pictures:
        under(page, question, found[0][0] if found else None)
    frame.show_problems(page.problems)


PAGE = Page(draw, (METHOD, _modes(next(iter(AUDITED))), EPSILON, PAIR, RUNS, SEED), TITLE)
