"""Compare's stage as a component of the app: what every method's map, number and line are at each ε, in one message."""

from collections.abc import Sequence
from secrets import token_hex

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpviz.plots import Audience
from dpviz.stories.panel import Sentence
from dpviz.tools.compare import frontier, stage
from dpviz.tools.compare.frontier import Series
from dpviz.tools.compare.page import cards, report
from dpviz.tools.compare.page.runs import AT, TALLIED, Gathered, drawn, gathered, shown_parts
from dpviz.tools.compare.runs import ENTRIES, CompareQuestion, Rows
from dpviz.tools.compare.stage import CompareStage, UnitOf
from dpviz.ui import hiding, state
from dpviz.ui.controls import drawn_slider
from dpviz.ui.data.upload import HELD
from dpviz.ui.frame import AUDIENCE, PageFrame
from dpviz.ui.live import SESSION
from dpviz.ui.server.served import served

KEY = "compare"
PARTS = ("elements", "slider", "live_page", "component", "live_address")  # scripts, each after what it imports
STATES = ("moved", "picked", "audience")
_STAGE = served("compare_stage", *PARTS)
_CLICK = "dpviz:compare-stage-click"


def released_runs(page: PageFrame, question: CompareQuestion, place: DeltaGenerator) -> Gathered:
    """Return the runs that the public's maps show: none on somebody's own records, where each is one more release."""
    if page.source.own:
        return Gathered({}, complete=True)
    with place:
        return gathered(page.source, shown_parts(question, page.source.dataset.n), TALLIED, "Parts of the runs")


def draw(
    page: PageFrame, question: CompareQuestion, rows: Rows, series: Sequence[Series], at: float, query: str
) -> None:
    """Draw the stage as its audience sees it, and choose the run of a click on a map."""
    whole = _stage(page, question, rows, series)
    shown = whole.public() if page.public else whole
    chosen, slider = cards.chosen(), drawn_slider(state.widget_key(AT.name))
    n_runs = len(question.entries) * len(question.epsilons) * question.n_runs
    share = sum(map(len, rows.values())) / n_runs
    before = _picked(st.session_state.get(KEY), shown)
    data: dict[str, object] = {
        **shown.data(),
        "key": state.widget_key(AT.name),
        "index": shown.epsilons.index(at),
        "move": None if slider is None else slider["move"],
        "fixed": hiding.hides(AT.name),
        "chosen": None if chosen is None else chosen[0],
        "share": None if page.public or share >= 1.0 else round(share, 3),
        "picks": 0 if before is None else before[2],
        "views": None if hiding.hides(AUDIENCE.name) else [page.insider, dict(AUDIENCE.choices)["public"]],
        "query": query,
        # Of another session, as after a restart of the server, the browser takes no other address.
        "session": st.session_state.setdefault(SESSION, token_hex(8)),
    }
    changes = {f"on_{name}_change": lambda: None for name in STATES}
    picked = _picked(_STAGE(data=data, key=KEY, **changes), shown)
    if picked is None or picked[2] == st.session_state.get(_CLICK) or page.public:
        return
    st.session_state[_CLICK] = picked[2]
    cards.choose(picked[0], picked[1])
    state.run_again()


def _picked(told: object, shown: CompareStage) -> tuple[str, float, int] | None:
    """Return the method and ε of the last click, and its number; None for a message that makes no sense."""
    click = state.read_message(told, tuple[str, state.Number, state.Number], "picked")
    if click is None:
        return None
    key, index, count = click
    if index not in range(len(shown.epsilons)) or key not in {each.key for each in shown.maps}:
        return None
    return key, shown.epsilons[int(index)], int(count) if abs(count) < 2**53 else 0


def _stage(page: PageFrame, question: CompareQuestion, rows: Rows, series: Sequence[Series]) -> CompareStage:
    dataset = page.source.dataset
    bounds_public = not dataset.bounds_from_data
    entries = [key for key in question.entries if not ENTRIES[key].per_distance]
    asked = question.epsilons if page.public else question.epsilons[:1]  # the curator reads costs, not odds
    promises = {
        key: stage.promise(
            [report.promised(page, question, key, epsilon) for epsilon in asked],
            question.adjacency,
            bounds_public=bounds_public,
        )
        for key in entries
    }
    audience = Audience.CURATOR if page.source.own else Audience.RELEASED
    unit_of = UnitOf(dataset.box.low, dataset.box.high)
    maps = stage.maps_of(
        entries,
        question.epsilons,
        rows,
        series,
        promises,
        question.seed + drawn(question),
        unit_of=unit_of,
        audience=audience,
    )
    shared = [one for one in series if not one.per_distance]
    no_data, waiting = frontier.no_data_ratio(rows), frontier.progress(question, rows)
    held = HELD if page.source.nonprivate_is_held else "" if waiting is None else waiting.curator
    findings = [
        Sentence(held, stage.public_finding(maps, epsilon))
        if held
        else stage.finding(maps, shared, i, epsilon, no_data)
        for i, epsilon in enumerate(question.epsilons)
    ]
    widths = dataset.box.widths
    return CompareStage(
        question.epsilons,
        maps,
        tuple(findings),
        stage.lede(dataset.title, dataset.n, audience),
        stage.conditions(
            dataset.title,
            dataset.n,
            question.adjacency,
            question.n_clusters,
            question.n_runs,
            maps,
            no_data,
            bounds_public=bounds_public,
        ),
        float(widths[0] / widths[1]) if bounds_public and dataset.d == 2 and (widths > 0).all() else 1.0,
        question.n_runs,
        dataset.d,
        stage.sample(unit_of(dataset.points)),
        no_data,
    )
