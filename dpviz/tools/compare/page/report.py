"""The decision paper of the Compare page: what is in it is gathered here, and saved as HTML or Markdown."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

import streamlit as st

from dpviz.core import Box, Guarantee
from dpviz.data.choices import Choices
from dpviz.data.geography import METER, map_of
from dpviz.data.table import TYPED
from dpviz.plots import svg
from dpviz.stories.label import label_of
from dpviz.stories.panel import number
from dpviz.tools.compare import document, story
from dpviz.tools.compare import trials as compare_tasks
from dpviz.tools.compare.document import Document, Picture
from dpviz.tools.compare.entries import ENTRIES
from dpviz.tools.compare.no_data import no_data_ratio
from dpviz.tools.compare.page import cards as compare_cards
from dpviz.tools.compare.page import pictured
from dpviz.tools.compare.page.question import CLUSTERS, CompareQuestion
from dpviz.tools.compare.page.runs import compared_without, gathered, looked, pieces
from dpviz.tools.compare.references import referenced
from dpviz.tools.compare.story import Rows, paper, ranking
from dpviz.tools.compare.story.answer import Recommendation
from dpviz.tools.compare.story.paper import Found, PublicFacts
from dpviz.tools.compare.story.paper_promises import Promise
from dpviz.tools.compare.trials import Exact, RepeatedRun, TrialPart
from dpviz.tools.sweep.trials import versions
from dpviz.ui import state
from dpviz.ui.data import groups
from dpviz.ui.export.files import named
from dpviz.ui.export.shown import latest
from dpviz.ui.frame import PageFrame
from dpviz.ui.runs import Noise, honest

OPEN = "Anybody may read it: the question, bounds and promises, and nothing that was computed from records."
BY_CURATOR = "Typed by the curator."
DEGREES = "degrees"
DRAWING, UPLOADED = "records drawn by hand", "uploaded records"


def offer(
    frame: PageFrame,
    question: CompareQuestion,
    rows: Rows,
    at: float,
    found: tuple[Recommendation | None, str],
    query: str,
) -> None:
    """Draw the buttons that save the paper, as soon as everything in it is there; `rows` are complete.

    The paper is about the recommended ε, or where there is none about `at`, at which the page reads its methods.
    """
    best = found[0]
    epsilon = at if best is None else best.best.value
    every = _rows_at(frame, question, rows, epsilon)
    if every is None:
        return
    typical = {key: row for key in question.entries if (row := _median(every, key, epsilon)) is not None}
    parts = [_part(key, row) for key, row in typical.items()]
    runs = looked(frame.source, parts, "report")
    exact = compared_without(frame.source, parts[:1], "exact")
    if exact is None or any(each is None for each in runs):
        return
    made = {key: run for key, run in zip(typical, runs, strict=True) if run is not None}
    guarantees = {key: run.guarantee for key, run in made.items()}
    known = known_of(frame, question, epsilon, guarantees, query)
    drawn = _found(frame, question, known, every, made, exact, *found)
    buttons(paper.decision_paper(known, drawn), epsilon, "decision", paper.SECRET)
    st.caption("Under View as, Public: the version that anybody may read and save.")


def offer_public(frame: PageFrame, question: CompareQuestion, query: str) -> None:
    """Draw the buttons that save what anybody may read; it is about the ε at which the page reads its methods."""
    epsilon = question.read_at
    known = known_of(frame, question, epsilon, _promises(frame, question, epsilon), query)
    buttons(paper.public_paper(known), epsilon, "public", OPEN)


def buttons(written: Document, epsilon: float, kind: str, note: str) -> None:
    """Draw the buttons that save a paper, and whose it is; `epsilon` and `kind` are part of the files' names."""
    shown = latest()
    name = f"{'dpviz_compare' if shown is None else named(shown, 'compare', epsilon)}_{kind}"
    texts = (("html", "text/html", document.html(written)), ("md", "text/markdown", document.markdown(written)))
    with st.container(horizontal=True):
        for ending, mime, text in texts:
            st.download_button(
                f"Save as {'HTML' if ending == 'html' else 'Markdown'}",
                text.encode("utf-8", "replace"),
                f"{name}.{ending}",
                mime,
                key=f"paper-{kind}-{ending}",
                type="primary" if ending == "html" and kind == "decision" else "secondary",
                on_click="ignore",
            )
    st.caption(f"One page to sign, without a network and without a script; print it from the browser. {note}")


def _rows_at(frame: PageFrame, question: CompareQuestion, rows: Rows, epsilon: float) -> Rows | None:
    """Return all runs with those of every method at `epsilon`; None while these are on their way."""
    if epsilon in question.epsilons:
        return rows
    n = frame.source.dataset.n
    parts = [
        TrialPart(entry, epsilon, question.n_clusters, question.start_seed, question.seed + first, size, n)
        for first, size in pieces(question.n_runs)
        for entry in question.entries
    ]
    more = gathered(frame.source, parts, "paper", f"Parts of the runs at ε = {number(epsilon)}")
    if not more.complete:
        return None
    return referenced({key: [*rows.get(key, ()), *more.rows.get(key, ())] for key in question.entries})


def _median(rows: Rows, key: str, epsilon: float) -> story.Row | None:
    return story.median_row([row for row in rows.get(key, ()) if row["epsilon"] == epsilon])


def _part(key: str, row: story.Row) -> TrialPart:
    seeds = int(row["start_seed"]), int(row["noise_seed"])
    return TrialPart(key, float(row["epsilon"]), int(row["k"]), *seeds, 1, int(row["n"]))


def known_of(
    frame: PageFrame, question: CompareQuestion, epsilon: float, guarantees: Mapping[str, Guarantee], query: str
) -> PublicFacts:
    """Return the paper's public side; `guarantees` are those of the methods at `epsilon`."""
    dataset = frame.source.dataset
    promises = tuple(
        Promise(
            key,
            ENTRIES[key].name,
            label_of(honest(each, frame.source, Noise(0)), compare_cards.contents(ENTRIES[key], frame)),
        )
        for key, each in guarantees.items()
    )
    return PublicFacts(
        DRAWING if frame.source.drawn else UPLOADED if frame.source.uploaded else dataset.title,
        _bounds(frame),
        BY_CURATOR if dataset.bounds_note == TYPED else dataset.bounds_note,
        question.n_clusters,
        question.adjacency,
        epsilon,
        promises,
        not dataset.bounds_from_data,
        tuple((name, str(value)) for name, value in versions().items()),
        query,
        datetime.now(UTC).date().isoformat(),
        groups.origin(frame.source, CLUSTERS, question.n_clusters)[0],
        *_remade(frame),
    )


def _remade(frame: PageFrame) -> tuple[tuple[tuple[str, str], ...], str]:
    """Return the columns with their typed bounds where other features were made of them, and of which kind."""
    form, public = frame.source.form, not frame.source.dataset.bounds_from_data
    if form is None or (form.projected is None and (form.place is None or not public)):
        return (), ""
    units = dict.fromkeys(form.place or (), DEGREES)
    typed = tuple(
        (name, _ends(*form.bounds_of(name), units.get(name, form.unit(name))) if public else "")
        for name in form.features
    )
    on_map, fewer = form.place is not None and public, ""
    if form.projected is not None:
        made = "1 feature" if form.projected == 1 else f"{form.projected} features"
        fewer = f"A random projection with the public seed {form.projection_seed} made {made} of these "
        fewer += f"{len(form.features)}, each scaled by its bounds."
    return typed, " ".join(filter(None, (_square(form) if on_map else "", fewer)))


def _square(form: Choices) -> str:
    """Say what the map makes of the typed bounds of latitude and longitude."""
    low, high = zip(*(form.bounds_of(name) for name in form.place or ()), strict=True)
    form_place, side = map_of(Box(low, high))
    square = _ends(float(side.low[0]), float(side.high[0]), METER)
    scaled = ", scaled to 0 to 1" if form.scaling == "unit" and form.projected is None else ""
    middle = f"latitude {form_place.latitude:.5g}, longitude {form_place.longitude:.6g}"
    return f"Used is the square of meters around {middle}: east and north {square} each{scaled}."


def _ends(low: float, high: float, unit: str) -> str:
    return f"{low:,.10g} to {high:,.10g}{f' {unit}' if unit else ''}"


def _bounds(frame: PageFrame) -> tuple[tuple[str, str], ...]:
    """Return each feature with its public bounds in its own unit, "" where they came from the records."""
    dataset, form = frame.source.dataset, frame.source.form
    ends = list(zip(dataset.box.low.tolist(), dataset.box.high.tolist(), strict=True))
    units = list(dataset.units)
    scaled = form is not None and form.scaling == "unit" and form.projected is None
    if dataset.bounds_from_data:
        return tuple((name, "") for name in dataset.feature_names)
    if form is not None and scaled and form.place is None:
        ends = [form.bounds_of(name) for name in dataset.feature_names]
        units = [form.unit(name) for name in dataset.feature_names]
    return tuple(
        (name, f"{_ends(low, high, unit)}{', scaled to 0 to 1' if scaled else ''}")
        for name, (low, high), unit in zip(dataset.feature_names, ends, units, strict=True)
    )


def _promises(frame: PageFrame, question: CompareQuestion, epsilon: float) -> dict[str, Guarantee]:
    """Return what each method promises, from runs on stand-ins: no record has a part in it."""
    box = frame.source.dataset.box
    ends = tuple(box.low.tolist()), tuple(box.high.tolist())
    if frame.source.dataset.bounds_from_data:  # even the box is the curator's then
        ends = (0.0,) * box.d, (1.0,) * box.d
    asked = (epsilon, question.n_clusters, question.start_seed)
    made = {key: _promised(key, *asked, *ends) for key in question.entries}
    return {key: each for key, each in made.items() if each is not None}


@st.cache_resource(max_entries=256, show_spinner=False)
def _promised(
    key: str, epsilon: float, n_clusters: int, start_seed: int, low: tuple[float, ...], high: tuple[float, ...]
) -> Guarantee | None:
    try:
        return compare_tasks.promised(Box(low, high), TrialPart(key, epsilon, n_clusters, start_seed, 0, 1, 0))
    except ValueError:  # the method refuses these settings, whatever the records
        return None


def _found(
    frame: PageFrame,
    question: CompareQuestion,
    known: PublicFacts,
    rows: Rows,
    runs: Mapping[str, RepeatedRun],
    exact: Exact,
    best: Recommendation | None,
    answer: str,
) -> Found:
    """Put together what the runs show."""
    dataset, keys = frame.source.dataset, list(ENTRIES)
    public = known.bounds_public
    made = (
        story.series_of(key, ENTRIES[key].name, keys.index(key), rows[key], known.adjacency, bounds_public=public)
        for key in question.entries
        if key in rows
    )
    shared = [one for one in made if one is not None and not one.per_distance]
    ranked = ranking.ranking(shared, known.epsilon, question.n_runs)
    first = paper.first_of(best, ranked)
    frontier = story.frontier(shared, known.adjacency, at=known.epsilon, without_data=no_data_ratio(rows))
    return Found(
        n=dataset.n,
        n_left_out=dataset.nonprivate_n_left_out,
        n_moved=dataset.nonprivate_n_clipped,
        ranked=ranked,
        best=best,
        answer=answer,
        rows=rows,
        pictures=pictured.pictures(frame, first, _median(rows, first, known.epsilon), runs.get(first), exact),
        frontier=Picture(svg([replace(frontier, title="", caption="")]), frontier.title, frontier.caption),
        centers=pictured.centers(dataset, runs.get(first)),
        center_columns=pictured.center_columns(dataset),
        pinned=_pinned(rows),
        names={key: entry.name for key, entry in ENTRIES.items()},
        settings=_settings(question, best, groups.origin(frame.source, CLUSTERS, question.n_clusters)[0]),
    )


def _pinned(rows: Rows) -> tuple[tuple[str, story.Row], ...]:
    """Return the pinned and the chosen run, as far as they are there."""
    knobs = ((compare_cards.PINNED, compare_cards.PINNED_AT), (compare_cards.CHOSEN, compare_cards.CHOSEN_AT))
    asked = dict.fromkeys((str(state.value(what)), float(state.value(at))) for what, at in knobs)
    found = ((key, _median(rows, key, epsilon)) for key, epsilon in asked)
    return tuple((key, row) for key, row in found if row is not None)


def _settings(question: CompareQuestion, best: Recommendation | None, origin: str) -> tuple[tuple[str, str], ...]:
    last = question.seed + question.n_runs - 1
    found = "" if best is None or best.best.value in question.epsilons else f", and {number(best.best.value)}"
    more = "" if best is None else f"; the search for ε went on to {best.best.n_runs} runs of {best.best.name}"
    own = [(ENTRIES[key].name, dict(ENTRIES[key].entry.fields)) for key in question.entries]
    return (
        ("Clusters", origin),
        ("Values of ε", f"{', '.join(map(number, question.epsilons))}{found}"),
        ("Runs", f"{question.n_runs} of each method at each ε; noise seeds {question.seed} to {last}{more}"),
        ("Start seed", str(question.start_seed)),
        ("Neighbors", story.NEIGHBORS[question.adjacency]),
        *((name, ", ".join(f"{field} = {value}" for field, value in fields.items())) for name, fields in own if fields),
        ("All else", "each method's defaults in this version of dpviz"),
    )
