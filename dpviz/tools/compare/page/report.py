"""The decision paper of the Compare page: gathers its contents, and offers it as PDF or HTML."""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache, partial
from itertools import combinations
from urllib.parse import urlsplit

import numpy as np
import scipy
import streamlit as st

from dpviz.accounting.budgets import for_person
from dpviz.core import Box, Centers, FoundClusters, Guarantee
from dpviz.data.geography import METER, map_of
from dpviz.data.table import TYPED
from dpviz.plots import small_svg, svg
from dpviz.runs import honest
from dpviz.stories import View, Words
from dpviz.stories.ground_layers import SCALE
from dpviz.stories.label import label_of
from dpviz.stories.panel import beside, number
from dpviz.stories.profiles import bounds_words, profiles, real_values
from dpviz.tools.compare import document, paper
from dpviz.tools.compare import runs as compare_tasks
from dpviz.tools.compare.document import Document, Picture
from dpviz.tools.compare.frontier import NEIGHBORS, all_series, frontier, median_at, no_data_ratio, ranking, run_scene
from dpviz.tools.compare.page.runs import (
    CLUSTERS,
    compared_without,
    contents,
    gathered,
    pinned_and_chosen,
    read_at,
    repeated,
)
from dpviz.tools.compare.runs import ENTRIES, CompareQuestion, RepeatedRun, Row, Rows, TrialPart, part_of, referenced
from dpviz.tools.compare.search import Recommendation
from dpviz.tools.trials import versions
from dpviz.ui import release_ledger
from dpviz.ui.data import answers, groups
from dpviz.ui.export.files import named
from dpviz.ui.frame import PageFrame
from dpviz.ui.runs import latest, words_of

OPEN = (
    "Anyone may read it: the question, bounds and promises. Apart from earlier releases, it contains nothing from "
    "the records."
)
DEGREES = "degrees"
DRAWING, UPLOADED = "records drawn by hand", "uploaded records"
# Size of each of two pictures side by side, in CSS pixels.
SMALL = (390, 360)
MARKS = "Large marks in both: centers."
# Maximum number of columns that are named.
MOST_CLIPPED = 4
HERE, ELSEWHERE = "this computer's memory", "the memory of the computer that serves this page ({host})"
LOCAL = ("localhost", "127.0.0.1", "::1")
KEPT = (
    "In {place}, never on a disk, until you click “Forget it” or about two minutes after the browser's tab is closed "
    "or reloaded. The process that makes the runs forgets them with “Forget it”, too, or two minutes after its last "
    "run."
)


def offer(
    frame: PageFrame,
    question: CompareQuestion,
    rows: Rows,
    at: float,
    recommended: tuple[Recommendation | None, str],
    query: str,
) -> None:
    """Draw the buttons that save the paper once its contents are complete; `rows` are complete.

    The paper is about the recommended ε. If there is none, it is about `at`, the ε at which the page reads its methods.
    """
    best = recommended[0]
    epsilon = at if best is None else best.best.value
    if epsilon not in question.epsilons:
        parts = question.parts(frame.dataset.n, (epsilon,))
        more = gathered(frame.source, parts, "paper", f"Parts of the runs at ε = {number(epsilon)}")
        if not more.complete:
            return
        rows = referenced({key: [*rows.get(key, ()), *more.rows.get(key, ())] for key in question.entries})
    typical = {key: row for key in question.entries if (row := median_at(rows, key, epsilon)) is not None}
    parts = [part_of(key, row) for key, row in typical.items()]
    repeats = repeated(frame.source, parts, "report")
    exact = compared_without(frame.source, parts[0]) if parts else None
    runs = {key: run for key, run in zip(typical, repeats, strict=True) if run is not None}
    if exact is None or len(runs) < len(parts):
        return
    facts = facts_of(frame, question, epsilon, {key: run.guarantee for key, run in runs.items()}, query)
    findings = _findings(frame, question, facts, rows, runs, exact, *recommended)
    buttons(paper.decision_paper(facts, findings), epsilon, "decision", paper.SECRET)
    st.caption("Choose Everyone below the picture for the version that anyone may read and save.")


def offer_public(frame: PageFrame, question: CompareQuestion, query: str) -> None:
    """Draw the buttons that save the public version, which is about the ε at which the page reads its methods.

    The promises come from runs on stand-ins, so they do not depend on any record.
    """
    epsilon = read_at()
    promises = ((key, promised(frame, question, key, epsilon)) for key in question.entries)
    guarantees = {key: guarantee for key, guarantee in promises if guarantee is not None}
    buttons(paper.public_paper(facts_of(frame, question, epsilon, guarantees, query)), epsilon, "public", OPEN)


def promised(frame: PageFrame, question: CompareQuestion, key: str, epsilon: float) -> Guarantee | None:
    """Return a method's promise at `epsilon`, for any records; None if the method refuses the settings."""
    box = frame.dataset.box
    ends = tuple(box.low.tolist()), tuple(box.high.tolist())
    # In this case, even the box is curator only.
    if frame.dataset.bounds_from_data:
        ends = (0.0,) * box.d, (1.0,) * box.d
    guarantee = _promise(TrialPart(key, epsilon, question.n_clusters, 0, 1, 0), *ends)
    return None if guarantee is None else for_person(guarantee, frame.dataset.rows_per_person)


@lru_cache(maxsize=1024)
def _promise(part: TrialPart, low: tuple[float, ...], high: tuple[float, ...]) -> Guarantee | None:
    try:
        return compare_tasks.promise_of(Box(low, high), part)
    # The method refuses these settings for any records.
    except ValueError:
        return None


def buttons(text: Document, epsilon: float, kind: str, note: str) -> None:
    """Draw the buttons that save a paper, and its audience; `epsilon` and `kind` are part of the files' names."""
    on_screen = latest()
    name = f"{'dpviz_compare' if on_screen is None else named(on_screen, 'compare', epsilon)}_{kind}"
    forms = (
        ("pdf", "PDF", "application/pdf", document.pdf),
        ("html", "HTML", "text/html", lambda text: document.html(text).encode("utf-8", "replace")),
    )
    with st.container(horizontal=True):
        for ending, label, mime, render in forms:
            st.download_button(
                f"Save as {label}",
                # Called on a click.
                partial(render, text),
                f"{name}.{ending}",
                mime,
                key=f"paper-{kind}-{ending}",
                type="primary" if ending == "pdf" and kind == "decision" else "secondary",
                on_click="ignore",
            )
    st.caption(f"One page to sign, and an appendix. {note}")


def facts_of(
    frame: PageFrame, question: CompareQuestion, epsilon: float, guarantees: Mapping[str, Guarantee], query: str
) -> paper.PublicFacts:
    """Return the paper's public side; `guarantees` are the methods' guarantees at `epsilon`."""
    dataset, title = frame.dataset, frame.dataset.title
    if frame.source.uploaded:
        title = UPLOADED
    if frame.source.drawn:
        title = DRAWING
    promises = []
    for key, each in guarantees.items():
        guarantee = honest(each, dataset, secret=False)
        label, proved = label_of(guarantee, contents(ENTRIES[key], frame, guarantee)), guarantee.proved
        # A promise per distance does not add up with others.
        counted = None if proved is None or proved.per_distance else proved
        promises.append(paper.Promise(key, ENTRIES[key].name, label, counted))
    return paper.PublicFacts(
        title,
        _bounds(frame),
        "Typed by the curator." if dataset.bounds_note == TYPED else dataset.bounds_note,
        question.n_clusters,
        question.adjacency,
        epsilon,
        tuple(promises),
        not dataset.bounds_from_data,
        tuple((name, str(value)) for name, value in versions().items()),
        query,
        release_ledger.today(),
        groups.origin(frame.source, CLUSTERS, question.n_clusters)[0],
        *columns_of(frame),
        release_ledger.get_ledger(frame.source),
        dataset.rows_per_person,
        kept(st.context.url or "") if frame.source.uploaded else "",
    )


def kept(url: str) -> str:
    """State the location of a reader's own records and how long they are kept; `url` is the page's URL."""
    host = urlsplit(url).hostname or LOCAL[0]
    return KEPT.format(place=HERE if host in LOCAL else ELSEWHERE.format(host=host))


def columns_of(frame: PageFrame) -> tuple[document.Named, str]:
    """Return the columns with their typed bounds if features are computed from them, and the kind of these features."""
    form, public = frame.source.form, not frame.dataset.bounds_from_data
    if form is None or (form.projected is None and (form.place is None or not public)):
        return (), ""
    units = dict.fromkeys(form.place or (), DEGREES)
    columns = tuple(
        (name, bounds_words(*form.bounds_of(name), units.get(name, form.unit(name))) if public else "")
        for name in form.axes
    )
    words = []
    if form.place is not None and public:
        low, high = zip(*map(form.bounds_of, form.place), strict=True)
        place, side = map_of(Box(low, high))
        square = bounds_words(float(side.low[0]), float(side.high[0]), METER)
        scaled = ", scaled to 0 to 1" if form.scaling == "unit" and form.projected is None else ""
        words.append(
            f"The features are from the square of meters around latitude {place.latitude:.5g}, longitude "
            f"{place.longitude:.6g}: east and north {square} each{scaled}."
        )
    if form.projected is not None:
        features = "1 feature" if form.projected == 1 else f"{form.projected} features"
        words.append(
            f"A random projection with the public seed {form.projection_seed} made {features} of these "
            f"{len(form.axes)}, each scaled by its bounds."
        )
    return columns, " ".join(words)


def _bounds(frame: PageFrame) -> document.Named:
    """Return each feature with its public bounds in its own unit; "" for bounds that came from the records."""
    dataset, form = frame.dataset, frame.source.form
    ends = list(zip(dataset.box.low.tolist(), dataset.box.high.tolist(), strict=True))
    units = list(dataset.units)
    scaled = form is not None and form.scaling == "unit" and form.projected is None
    if dataset.bounds_from_data:
        return tuple((name, "") for name in dataset.feature_names)
    if form is not None and scaled and form.place is None:
        ends = [form.bounds_of(name) for name in dataset.feature_names]
        units = [form.unit(name) for name in dataset.feature_names]
    return tuple(
        (name, f"{bounds_words(low, high, unit)}{', scaled to 0 to 1' if scaled else ''}")
        for name, (low, high), unit in zip(dataset.feature_names, ends, units, strict=True)
    )


def _findings(
    frame: PageFrame,
    question: CompareQuestion,
    facts: paper.PublicFacts,
    rows: Rows,
    runs: Mapping[str, RepeatedRun],
    exact: FoundClusters,
    best: Recommendation | None,
    answer: str,
) -> paper.Findings:
    """Gather the results of the runs."""
    dataset, epsilon = frame.dataset, facts.epsilon
    series = all_series(question.entries, rows, question.adjacency, bounds_public=facts.bounds_public)
    shared = [one for one in series if not one.per_distance]
    ranked = ranking(shared, epsilon, question.n_runs)
    first = paper.first_of(best, ranked)
    scene = frontier(shared, question.adjacency, at=epsilon, without_data=no_data_ratio(rows))
    run, words = runs.get(first), words_of(frame.source)
    columns, centers = ((), ()) if run is None else _centers(run.clusters.centers, words)
    names = () if run is None else groups.names_of(frame.source, words, run.clusters.centers)
    sentences = () if run is None else profiles(run.clusters.centers, words, names=names)
    pins = pinned_and_chosen(rows)
    return paper.Findings(
        n=dataset.n,
        n_left_out=dataset.nonprivate_n_left_out,
        n_clipped=dataset.nonprivate_n_clipped,
        clipping=_clipping(frame),
        ranked=ranked,
        best=best,
        answer=answer,
        rows=rows,
        pictures=_pictures(frame, first, median_at(rows, first, epsilon), run, exact),
        frontier=Picture(svg([replace(scene, title="", caption="")]), scene.title, scene.caption),
        centers=centers,
        center_columns=columns,
        # Each sentence follows the name that a person has given to the center.
        profiles=tuple(
            f"{each.name}. {each.sentence}" if name else each.sentence
            for each, name in zip(sentences, names, strict=False)
        ),
        same="" if run is None else run.counterparts.sentence,
        # A person pinned this run. The run that is only looked at is left out.
        pinned=(pins["pinned"],) if "pinned" in pins else (),
        names={key: entry.name for key, entry in ENTRIES.items()},
        settings=_settings(question, best, facts.origin),
    )


def _clipping(frame: PageFrame) -> str:
    """Report, for each column, the number of records that the bounds moved and the largest move. Curator only."""
    form, table = frame.source.form, answers.table() if frame.source.uploaded else None
    if form is None or table is None:
        return ""
    moved = form.clipping(table)
    below, above = moved.nonprivate_below, moved.nonprivate_above
    axes = [i for i in range(len(form.axes)) if below[i] or above[i]]
    axes.sort(key=lambda i: -int(below[i] + above[i]))
    units = [DEGREES if name in (form.place or ()) else form.unit(name) for name in form.axes]
    listed = [
        f"{form.axes[i]} {int(below[i]):,} below and {int(above[i]):,} above, the farthest by "
        f"{number(float(moved.nonprivate_farthest[i]))} {units[i]}".rstrip()
        for i in axes[:MOST_CLIPPED]
    ]
    more = [f"{len(axes) - MOST_CLIPPED} more columns"] if len(axes) > MOST_CLIPPED else []
    return "; ".join((*listed, *more))


def separating(unit: Centers) -> View:
    """Return the view of the two features along which released centers (k, d), box units, lie farthest apart.

    The measure is the mean distance of two centers along a feature, which is a function of the release.
    """
    if unit.shape[1] <= 2 or len(unit) < 2:
        return View()
    apart = np.mean([np.abs(one - other) for one, other in combinations(unit, 2)], axis=0)  # (d,)
    first, second = sorted(np.argsort(-apart, kind="stable")[:2].tolist())
    return View(first, second)


def _pictures(
    frame: PageFrame, first: str, row: Row | None, run: RepeatedRun | None, exact: FoundClusters
) -> tuple[Picture, ...]:
    """Return the run of `row`, nearest to the median of the method `first`, next to the clustering without privacy."""
    box, words = frame.dataset.box, words_of(frame.source)
    unit = box.to_unit(frame.dataset.points)
    released = box.to_unit(exact.centers if run is None else run.clusters.centers)
    view = separating(released)
    if words.place is not None and {view.x, view.y} == set(words.place.axes):
        # East to the right and north up, as on a map.
        view = View(*words.place.axes)
    names = [words.feature_names[i] for i in view.features(box.d)]
    chosen = f" Among {box.d} features, {' and '.join(names)} separate the centers most." if box.d > 2 else ""
    pictures = []
    if run is not None and row is not None:
        title = f"{ENTRIES[first].name}, ε = {number(float(row['epsilon']))}"
        scene = run_scene(title, unit, released, run.clusters.nonprivate_labels, words, view)
        caption = f"Nearest to the median: {beside(float(row['inertia_ratio']))} without privacy.{chosen}"
        bars = (f" Bar: {layer.name.removeprefix(SCALE)}." for layer in scene.layers if layer.name.startswith(SCALE))
        # A map has a scale bar.
        pictures.append(Picture(small_svg(scene, SMALL, "run"), title, caption + next(bars, "")))
    title, centers = "Without privacy", box.to_unit(exact.centers)
    # Colors of the centers without a counterpart.
    colors = np.arange(len(centers)) + len(released)
    ours, theirs = scipy.optimize.linear_sum_assignment(scipy.spatial.distance.cdist(released, centers))
    colors[theirs] = ours
    scene = run_scene(title, unit, centers, colors[exact.nonprivate_labels], words, view)
    caption = f"k-means, the best of five starts. Its clusters have the colors of the nearest private ones. {MARKS}"
    return (*pictures, Picture(small_svg(scene, SMALL, "exact"), title, caption))


def _centers(centers: Centers, words: Words) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Return the columns' names with their units, and centers (k, d) in these units; places on a map in degrees."""
    # A projection has no unique inverse.
    if words.projected:
        return words.feature_names, tuple((str(i), *map(number, row)) for i, row in enumerate(centers.tolist(), 1))
    rows = real_values(centers, words)
    columns = tuple(f"{each.name} ({each.unit})" if each.unit else each.name for row in rows[:1] for each in row)
    # As in the sentences about the same centers, which give no degrees.
    cells = (
        (f"{each.value:.4f}" if each.unit == "°" else each.text.removesuffix(each.unit).rstrip() for each in row)
        for row in rows
    )
    return columns, tuple((str(i), *row) for i, row in enumerate(cells, 1))


def _settings(question: CompareQuestion, best: Recommendation | None, origin: str) -> document.Named:
    last = question.seed + question.n_runs - 1
    searched = "" if best is None or best.best.value in question.epsilons else f", and {number(best.best.value)}"
    more = "" if best is None else f"; the search for ε went on to {best.best.n_runs} runs of {best.best.name}"
    own = ((ENTRIES[key].name, dict(ENTRIES[key].entry.fields)) for key in question.entries)
    return (
        ("Clusters", origin),
        ("Values of ε", f"{', '.join(map(number, question.epsilons))}{searched}"),
        ("Runs", f"{question.n_runs} of each method at each ε, each with its own start and noise{more}"),
        ("Seeds", f"{question.seed} to {last}"),
        ("Neighbors", NEIGHBORS[question.adjacency]),
        *((name, ", ".join(f"{field} = {value}" for field, value in fields.items())) for name, fields in own if fields),
        ("All else", "each method's defaults in this version of dpviz"),
    )
