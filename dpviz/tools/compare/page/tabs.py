"""Tabs under Compare's picture: a second parameter, the smallest ε and fewest people for a cost, k, and another year.

Another year's file is read as this year's, drawn beside it with the same method, and told apart. Looking costs nothing:
the curator sees teaching runs of both files, and everyone what was released of both.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from dpviz.accounting import spent_epsilon
from dpviz.baselines.k_curve import KCurve, private_curve
from dpviz.core import Adjacency, Centers, Confidential, Knob, Varied
from dpviz.data import Choices, Table, TableError, read_confined
from dpviz.data.files import FORMATS
from dpviz.data.transforms import MOST_APART
from dpviz.mechanisms import FROM_DATA, TEACHING, SecretGenerator, public_rng
from dpviz.methods import ALGORITHMS
from dpviz.stories.panel import ceiled, number
from dpviz.tools.compare import search as compare_search
from dpviz.tools.compare.counterparts import AGAIN, YearCenters, Years, typical
from dpviz.tools.compare.frontier import (
    MECHANISM,
    EpsilonMeaning,
    Panel,
    all_series,
    curve_ledger,
    curve_scene,
    median_at,
    median_costs,
    per_distance,
    run_scene,
    small_multiples,
    standing,
    winners,
)
from dpviz.tools.compare.page import runs
from dpviz.tools.compare.page.runs import CLUSTERS, counterparts, gathered, repeated, searched
from dpviz.tools.compare.runs import CENTERS, ENTRIES, CompareQuestion, Row, Rows, TrialPart, part_of, pieces
from dpviz.tools.compare.search import FEWEST, CostSearch, Recommendation, Searched
from dpviz.tools.release import ReleaseEntry
from dpviz.tools.trials import OK, Scalar
from dpviz.ui import asking, controls, ledger, state
from dpviz.ui.data import answers, groups, picker, upload
from dpviz.ui.data.picker import Source
from dpviz.ui.frame import PageFrame
from dpviz.ui.live import live
from dpviz.ui.panel import safe_table
from dpviz.ui.runs import words_of
from dpviz.ui.server import uploads

GRID_EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
GRID_RUNS = 10  # at each ε and value: enough for a median, and soon there
GRID_AT = 1.0  # the ε of the table
HALVINGS = 6  # of the number of people
LOOKED_AT = 20  # runs of the recommended one whose clusters are held beside those without privacy
ACROSS = 3  # pictures beside each other
GRID_HEIGHT, CURVE_HEIGHT = 250, 300  # CSS pixels
PARAMETERS: Mapping[str, Varied] = MappingProxyType(
    {
        each.key: each
        for each in (
            Varied("clusters", "Clusters k", "k", (2, 3, 5, 8, 13, 20)),
            Varied("people", "People n", "n"),
            *(varied for algorithm in ALGORITHMS.values() for varied in algorithm.varied),
        )
    }
)


def _title(parameter: Varied) -> str:
    return f"{ENTRIES[parameter.entry].name}: {parameter.name}" if parameter.entry else parameter.name


BY = Knob(
    "compare_by",
    "choice",
    "clusters",
    "A picture for each value of",
    "Everything else stays as it is.",
    choices=tuple((key, _title(parameter)) for key, parameter in PARAMETERS.items()),
)
LIMIT = Knob("aim", "float", 1.2, "Cost at most, × without privacy", "The accuracy that is wanted.", 1.0, 3.0, 1.0, 1e6)
SHARE = Knob(
    "aim_share",
    "choice",
    "0.9",
    "In at least",
    "You release one run. Half of the runs: the median.",
    choices=(("0.5", "Half of the runs"), ("0.9", "9 of 10 runs")),
)
PEOPLE_AT = Knob(
    "people_epsilon",
    "choice",
    "1.0",
    "At ε",
    "Of every method.",
    choices=(("0.1", "0.1"), ("0.3", "0.3"), ("1.0", "1"), ("3.0", "3"), ("10.0", "10")),
)
PRICE = Knob(
    "k_epsilon",
    "choice",
    "0.1",
    "ε of one curve",
    "It adds up with what a release spends.",
    choices=(("0.05", "0.05"), ("0.1", "0.1"), ("0.3", "0.3"), ("1.0", "1")),
)
KNOBS = (BY, LIMIT, SHARE, PEOPLE_AT, PRICE, groups.KNOWN)
CONFIDENCE = 0.95  # of all intervals together
LOOK = "Choosing ε by them leaks information that no guarantee here covers: choose it on public data like yours."
SAMPLES = (
    "On random samples of these records, without replacement: nobody can say here what more people than these would "
    "change."
)
NOTHING_RECOMMENDED = "Too many records lie outside your bounds: nothing is recommended until they hold the records."
_CURVES = "dpviz:compare-k-looks"


def grid(frame: PageFrame, question: CompareQuestion, entries: Sequence[str]) -> None:
    """Draw the choice of the second parameter, and a small frontier of `entries` for each of its values."""
    parameter = PARAMETERS[str(controls.control(BY))]
    n, public = frame.dataset.n, not frame.dataset.bounds_from_data
    if parameter.entry:
        entries = (parameter.entry,)
    values = values_of(parameter, n, question.n_clusters)
    runs = gathered(frame.source, parts_of(parameter, entries, values, n, question), "grid", "Parts of the runs")
    panels = []
    for value in values:
        rows = {key: [row for row in each if row[parameter.column] == value] for key, each in runs.rows.items()}
        words = f"{value:,}" if isinstance(value, int) else f"{value:g}" if isinstance(value, float) else str(value)
        series = all_series(entries, rows, question.adjacency, bounds_public=public)
        panels.append(Panel(f"{_title(parameter)} = {words}", series))
    scenes = small_multiples(panels, question.adjacency)
    for i, scene in enumerate(scenes):
        if i % ACROSS == 0:
            columns = st.columns(ACROSS, gap="small")
        with columns[i % ACROSS]:
            if scene is None:
                st.caption(f"{panels[i].words}: {'no run could be made' if runs.complete else 'on its way'}.")
            else:
                live(scene, key=f"grid-{i}", height=GRID_HEIGHT)
    for key, each in runs.rows.items():  # what could not be run, and why
        for status in sorted({str(row["status"]) for row in each if row["status"] != OK}):
            st.caption(f"{ENTRIES[key].name}: {state.plain(status)}")
    if not any(scenes):
        return
    st.caption(
        f"The same axes in all; colors and marks as above. Medians and bands of {GRID_RUNS} runs. "
        + ("Random samples of these records. " if parameter.column == "n" else "")
        + ("K-means without privacy has as many clusters. " if parameter.column == "k" else "")
        + (winners(panels, GRID_AT, GRID_RUNS) if runs.complete else "")
    )
    safe_table(median_costs(panels, GRID_AT))
    st.caption(f"Median cost at ε = {GRID_AT:g}, × without privacy.")


def values_of(parameter: Varied, n: int, n_clusters: int) -> tuple[Scalar, ...]:
    """Return the values that these records allow; of people n, n/2, n/4, ... with FEWEST and one for each cluster."""
    if parameter.column == "n":
        sizes = (size for size in dict.fromkeys(n >> i for i in range(HALVINGS)) if size >= max(FEWEST, n_clusters))
        return tuple(sizes) or (n,)
    if parameter.column == "k":
        return tuple(value for value in parameter.options if int(value) <= n)
    return parameter.options


def parts_of(
    parameter: Varied, entries: Sequence[str], values: Sequence[Scalar], n: int, question: CompareQuestion
) -> list[TrialPart]:
    """Return the runs, first a few of every picture, so that all of them are there soon."""
    parts = []
    for first, count in pieces(GRID_RUNS):
        for value in values:
            k = int(value) if parameter.column == "k" else question.n_clusters
            size = int(value) if parameter.column == "n" else n
            fields = ((parameter.field, value),) if parameter.entry else ()
            seeds = question.start_seed, question.seed + first
            parts += [
                TrialPart(entry, epsilon, k, *seeds, count, size, size < n, fields)
                for entry in entries
                for epsilon in GRID_EPSILONS
            ]
    return parts


def solve(frame: PageFrame, question: CompareQuestion, rows: Rows, *, complete: bool, people: bool = False) -> None:
    """Say in one line the smallest ε that keeps the cost, or the fewest people, and by which method.

    The search for ε begins with the picture's own runs; people are samples of these records.
    """
    columns = st.columns([2, 1], vertical_alignment="bottom")
    with columns[0]:
        controls.control(LIMIT)
    with columns[1]:
        controls.control(SHARE)
    at = float(controls.control(PEOPLE_AT)) if people else None
    if frame.source.nonprivate_is_held:
        st.caption(NOTHING_RECOMMENDED)
        return
    if not complete:
        st.caption("The search begins when all runs of the picture are there.")
        return
    search = _search(frame, question, rows, at)
    result = searched(frame.source, search, {} if people else rows, "people" if people else "solve")
    standings = _standings(frame, question, rows)
    best, words = _answer(search, result, standings)
    st.markdown(f"**{state.plain(words)}**" if result.over else state.plain(words))
    if best is not None and best.second:
        st.markdown(state.plain(best.second))
    if best is not None:
        part = replace(search.part(best.best.key, best.best.value, 0), n_runs=LOOKED_AT)
        st.markdown(state.plain(typical(counterparts(frame.source, part, "same-people" if people else "same"))))
    with st.expander("How this was found"):
        safe_table(compare_search.lines(search, result, _legends(search, standings)))
        st.caption(f"{compare_search.reasoning(search)} {SAMPLES if people else LOOK}")


def recommended(frame: PageFrame, question: CompareQuestion, rows: Rows) -> tuple[Recommendation | None, str]:
    """Return what to take and its sentence, which also says so where nothing was shown to do, or the search goes on.

    The runs that are missing are made, and how far they are is drawn. `rows` are all runs of the picture.
    """
    if frame.source.nonprivate_is_held:
        return None, NOTHING_RECOMMENDED
    search = _search(frame, question, rows, None)
    result = searched(frame.source, search, rows, "solve")
    best, words = _answer(search, result, _standings(frame, question, rows))
    return best, words if result.over else f"The search for ε is not over ({result.where}). {words}"


def _search(frame: PageFrame, question: CompareQuestion, rows: Rows, at: float | None) -> CostSearch:
    """Return a search among the methods whose ε is about one record: what counts per distance has no place there.

    For ε where `at` is None, else for people at that ε.
    """
    entries = tuple(key for key in question.entries if not per_distance(rows.get(key, ())))
    n = frame.dataset.n
    return CostSearch(
        entries,
        compare_search.EPSILONS if at is None else compare_search.sizes(n, question.n_clusters),
        float(state.value(LIMIT)),
        float(state.value(SHARE)),
        CONFIDENCE,
        question.n_clusters,
        question.start_seed,
        question.seed,
        n,
        at,
    )


def _answer(
    search: CostSearch, result: Searched, standings: Mapping[str, EpsilonMeaning]
) -> tuple[Recommendation | None, str]:
    """Return what to take, and the answer in one line: so far, where the search is not over."""
    if not result.over:
        return None, compare_search.so_far(search, result, _legends(search, standings))
    names = {key: ENTRIES[key].name for key in search.entries}
    proved = [key for key in search.entries if standings.get(key) is EpsilonMeaning.SAME]
    best = compare_search.recommendation(search, result, names, proved)
    if best is None:
        return None, compare_search.no_recommendation(search, result, proved)
    return best, best.sentence


def _legends(search: CostSearch, standings: Mapping[str, EpsilonMeaning]) -> dict[str, str]:
    words = {key: standings[key].words if key in standings else "" for key in search.entries}
    return {key: f"{ENTRIES[key].name} ({each})" if each else ENTRIES[key].name for key, each in words.items()}


def _standings(frame: PageFrame, question: CompareQuestion, rows: Rows) -> dict[str, EpsilonMeaning]:
    """Return what each method's ε means on the page's axis, of those that a run took place of."""
    firsts = {key: next((row for row in runs if row["status"] == OK), None) for key, runs in rows.items()}
    public = not frame.dataset.bounds_from_data
    return {
        key: standing(row, question.adjacency, bounds_public=public) for key, row in firsts.items() if row is not None
    }


@dataclass(frozen=True, slots=True, eq=False)
class _Curve:
    """One private curve of cost against k."""

    key: Hashable  # of the source
    adjacency: str
    curve: KCurve


def ask_k(source: Source, k: int) -> None:
    """Draw where k comes from and, where nobody has chosen it, the two ways to do so."""
    words, is_chosen = groups.origin(source, CLUSTERS, k)
    if is_chosen:
        st.caption(words)
        return
    st.warning(f"{words} Say that you know it without the records, or read it off a private curve below (“Find k”).")
    st.button(f"I know that k is {k}", on_click=state.remember, args=(groups.KNOWN, k))


def find_k(frame: PageFrame, question: CompareQuestion, at: float) -> None:
    """Draw the private curve of cost against k, what it spent, and the button that takes its k."""
    source = frame.source
    st.caption(MECHANISM)
    price = float(controls.control(PRICE))
    with st.container(horizontal=True, vertical_alignment="center"):
        words = "Secret noise from the operating system." if source.own else "Noise from the page's seed."
        label = f"Draw a private curve, for ε = {number(price)}"
        st.button(label, help=words, on_click=_draw_curve, args=(frame, question, price))
        curves = _curves(source)
        here = [each for each in curves if each.key == source.key]
        # All that the curves have spent, each for the neighbors that it was drawn for.
        spent = sum(spent_epsilon(each.curve.events, Adjacency[each.adjacency.upper()]) for each in curves)
        if here:
            k = here[-1].curve.release.suggested
            arguments = source, CLUSTERS, k, spent
            if st.button(f"Use k = {k}", type="primary", on_click=groups.take, args=arguments):
                state.run_again()  # the knob and all that stands beside it are outside of this fragment
    if not here:
        return
    live(curve_scene(here[-1].curve.release, question.n_clusters), key="k-curve", height=CURVE_HEIGHT, fits=True)
    for adjacency in sorted({each.adjacency for each in curves}):
        same = [each.curve for each in curves if each.adjacency == adjacency]
        safe_table(curve_ledger(same, Adjacency[adjacency.upper()]))
    st.caption(
        f"All curves of these records: ε = {ceiled(spent)}. With a release at ε = {ceiled(at)} that is "
        f"{ceiled(spent + at)} in all. {FROM_DATA if source.dataset.bounds_from_data else ''}"
        f"{'' if source.own else TEACHING}"
    )


def _draw_curve(frame: PageFrame, question: CompareQuestion, price: float) -> None:
    """Draw one more curve: one more release."""
    source, curves, data = frame.source, _curves(frame.source), frame.dataset
    rng = SecretGenerator() if source.own else public_rng(question.seed + len(curves))
    curve = private_curve(data.points, data.box, price, question.adjacency, rng=rng)
    curves.append(_Curve(source.key, question.adjacency, curve))
    if source.own:
        names = {"what": "private curve of cost against k", "method": "k_curve", "title": "Private curve for k"}
        day = ledger.today()
        entry = ReleaseEntry.of(curve.guarantee, curve.events, **names, day=day, origin="private curve for k")
        ledger.record(source, entry)


def _curves(source: Source) -> list[_Curve]:
    """Return the curves of these people, whatever columns and bounds they had then."""
    curves: dict[Hashable, list[_Curve]] = st.session_state.setdefault(_CURVES, {})
    return curves.setdefault(source.people, [])


# -- Another year --


HEIGHT = 330  # CSS pixels
LAST, THIS = "last year's", "this year's"
ASKED = "Another year's file"
HELP = (
    "It is read with the columns, bounds, units, scaling, projection, k and ε of the file under Data. It stays in this "
    "session's memory, until “Forget it” or its ✕."
)
NEEDS_FILE = "Two years of a file of yours are compared here: take this year's under Data first."
NEEDS_BOUNDS = (
    "Bounds were taken from the records, so that each year would have others. Type public bounds under Data: both "
    "years are then read with them."
)
UNRELEASED = "Nothing of {} file has been released in this session, so there is nothing for everyone to compare."
OTHER_KIND = "{} release is of {}, but only centers are compared: release with a method that has some."
_UPLOADER = "dpviz:another-year"
_KEPT = f"{asking.OF_RECORDS}:another-year"


@dataclass(frozen=True, slots=True, eq=False)
class _Kept(Confidential):
    """The other year's file as it was read, so that a bad one is not read again with every run."""

    uploaded: UploadedFile
    read: Table | TableError
    reading: object  # the settings by which it was read


def draw_years(page: PageFrame, question: CompareQuestion, rows: Rows, at: float) -> None:
    """Draw the field for the other year's file and, with one, both years by the chosen method, else the first `at`."""
    now = page.source
    if now.form is None:
        st.caption(NEEDS_FILE)
        return
    if now.dataset.bounds_from_data:
        st.info(NEEDS_BOUNDS)
        return
    suffixes = [suffix for each in FORMATS for suffix in each.suffixes]
    uploaded = st.file_uploader(ASKED, type=suffixes, help=HELP, key=_UPLOADER, on_change=_exchange)
    try:
        table = _table(uploaded, now.form)
        if table is None:
            return
        if uploaded is None:  # the field is empty where it was away meanwhile
            with st.container(horizontal=True, vertical_alignment="center"):
                st.caption(f"**{state.plain(table.name)}** is still here.", width="content")
                st.button("Forget this file", on_click=_forget)
        before = _source(table, now, public=False)
    except (TableError, ValueError) as error:
        state.error(error)
        return
    for doubt in _doubts(table, now.form):
        st.warning(state.plain(doubt))
    for source, whose in ((now, THIS), (before, LAST)):
        if source.dataset.nonprivate_n_clipped:
            columns = upload.clipped_columns(now.form.axes, source.nonprivate_clipping)
            words = upload.clipped_words(source.dataset.nonprivate_n_clipped, source.dataset.n, columns)
            if source.nonprivate_is_held:
                state.error(f"Of {whose} file {words}. Nothing is concluded until bounds hold both years.")
                return
            st.caption(state.plain(f"Of {whose} file {words}."))
    chosen = runs.chosen()
    if chosen is None or chosen[0] not in question.entries or chosen[1] not in question.epsilons:
        chosen = question.entries[0], at
    _both(now, before, question, rows, *chosen)


def _both(now: Source, before: Source, question: CompareQuestion, rows: Rows, key: str, epsilon: float) -> None:
    """Draw both years' runs nearest to their medians, what changed, and what privacy costs in each."""
    one = replace(question, entries=(key,), epsilons=(epsilon,))
    runs = gathered(before, one.parts(before.dataset.n), "years", f"Parts of the runs on {LAST} file")
    shown = median_at(rows, key, epsilon), median_at(runs.rows, key, epsilon)
    if not runs.complete or shown[0] is None or shown[1] is None:
        refused = sorted({str(row["status"]) for row in runs.rows.get(key, ()) if row["status"] != OK})
        if runs.complete and refused:
            st.warning(state.plain(refused[0]))
        return
    (ours,) = repeated(now, [part_of(key, shown[0])], "years-now")
    (theirs,) = repeated(before, [part_of(key, shown[1])], "years-before")
    if ours is None or theirs is None:
        return
    years = Years(_year(ours.clusters.centers, now), _year(theirs.clusters.centers, before))
    colors = np.arange(len(years.before.values)) + len(years.now.values)  # of those without a counterpart
    for pair in years.pairs:
        colors[pair.before] = pair.now
    parts = (
        ("This year", now, ours.clusters, ours.clusters.nonprivate_labels),
        ("Last year", before, theirs.clusters, colors[theirs.clusters.nonprivate_labels]),
    )
    for column, (title, source, found, labels) in zip(st.columns(2, gap="medium"), parts, strict=True):
        with column:
            box, words = source.dataset.box, words_of(source)
            title = f"{title}: {ENTRIES[key].name}, ε = {number(epsilon)}"
            scene = run_scene(title, box.to_unit(source.dataset.points), box.to_unit(found.centers), labels, words)
            live(scene, key=f"years-{source is now}", height=HEIGHT)
            spent = ledger.of(source)
            st.caption(ledger.spent_words(spent) if spent.entries else ledger.NOTHING)
    st.markdown(f"**{state.plain(years.sentence)}**")
    others = [
        _year(row[CENTERS], now)
        for row in rows[key]
        if row["epsilon"] == epsilon and row["noise_seed"] != shown[0]["noise_seed"] and row[CENTERS] is not None
    ]
    st.markdown(state.plain(years.beside_noise(others)))
    safe_table(years.lines())
    safe_table([_costs(*each) for each in (("This year", now, shown[0]), ("Last year", before, shown[1]))])
    st.caption(f"{ledger.MARK} {AGAIN}")
    _draw_released(now, before)


def draw_released_years(page: PageFrame) -> None:
    """Draw what everyone may read of both years: what was released of them. Nothing without a second file."""
    kept: _Kept | None = st.session_state.get(_KEPT)
    if page.source.form is None or page.dataset.bounds_from_data or kept is None:
        return
    try:
        table = _table(None, page.source.form)
        before = None if table is None else _source(table, page.source, public=True)
    except (TableError, ValueError):
        st.error(upload.UNUSABLE)
        return
    if before is not None and not _draw_released(page.source, before):
        missing = [whose for whose, each in ((THIS, page.source), (LAST, before)) if ledger.last_release(each) is None]
        st.info(UNRELEASED.format(missing[0]))


def _draw_released(now: Source, before: Source) -> bool:
    """Draw what changed from the last release of one file to that of the other; False where there are not both."""
    ours, theirs = ledger.last_release(now), ledger.last_release(before)
    if ours is None or theirs is None:
        return False
    st.subheader("What was released of both years")
    years = []
    for whose, each in (("This year's", ours), ("Last year's", theirs)):
        st.caption(state.plain(f"{whose}: {each.entry.title}, ε = {ceiled(each.entry.epsilon)}, {each.entry.day}."))
        centers = YearCenters.of_table(each.table)
        if centers is None:
            st.info(OTHER_KIND.format(whose, each.table.what))
            return True
        years.append(centers)
    try:
        both = Years(*years)
    except ValueError as error:
        st.info(str(error))
        return True
    st.markdown(f"**{state.plain(both.sentence)}**")
    safe_table(both.lines())
    st.caption(AGAIN)
    return True


def _table(uploaded: UploadedFile | None, form: Choices) -> Table | None:
    """Return the other year's table, None without a file. Raises TableError with what is wrong with it."""
    kept: _Kept | None = st.session_state.get(_KEPT)
    if uploaded is None and kept is not None:  # the field of another run, or of another page
        uploaded = kept.uploaded
    if uploaded is None:
        return None
    if kept is None or kept.uploaded.file_id != uploaded.file_id or kept.reading != form.reading:
        uploads.arrived(uploaded.file_id)
        try:
            read: Table | TableError = read_confined(uploaded, form.reading)
        except TableError as error:
            read = error
        kept = _Kept(uploaded, read, form.reading)
        st.session_state[_KEPT] = kept
    if isinstance(kept.read, TableError):
        raise TableError(str(kept.read))  # a new one: the old would gather the frames of every run
    return kept.read


def _source(table: Table, now: Source, *, public: bool) -> Source:
    """Return the other year's records by the form of `now`. Raises TableError for a file that does not fit it."""
    form, found = now.form, table.nonprivate_columns.names
    assert form is not None  # a drawing has no other year
    used = [*form.features, *(column for column, _ in form.categories), *(form.group[:1] if form.group else ())]
    missing = [name for name in used if name not in found]
    if missing:
        verb = "is no column" if len(missing) == 1 else "are no columns"
        raise TableError(
            f"{', '.join(missing)} {verb} of {LAST} file, but both years are read with the same ones. It has "
            f"{', '.join(found)}. Name them alike in the file, or choose others under Data."
        )
    texts = [name for name in form.features if name not in table.numeric_columns]
    if texts:
        raise TableError(f"{', '.join(texts)} must be numbers, as in {THIS} file. Correct the file, or how it is read.")
    label = form.label if form.label in found else None  # classes are for the curator, and no method uses them
    source = picker.source_of(upload.describe(table, replace(form, label=label)), public=public)
    if source.people == now.people:
        raise TableError("This is the file under Data itself: both have one fingerprint. Choose the other year's.")
    return source


def _doubts(table: Table, form: Choices) -> list[str]:
    """Say which columns look as if the two years had other units: the curator's."""
    this, doubts = answers.table(), []
    for name in form.features:
        ranges = [None if each is None else each.nonprivate_range(name) for each in (this, table)]
        if ranges[0] is None or ranges[1] is None:
            continue
        most, least = (end(max(abs(each.low), abs(each.high)) for each in ranges if each) for end in (max, min))
        if most > MOST_APART * least:
            first, second = (f"{number(each.low)} to {number(each.high)}" for each in ranges if each)
            doubts.append(
                f"{name} goes from {first} in {THIS} file and from {second} in {LAST}: is it in other units? Bring "
                "both into one before you conclude anything."
            )
    return doubts


def _year(centers: Centers, source: Source) -> YearCenters:
    return YearCenters.of(centers, source.dataset, source.form)


def _costs(title: str, source: Source, row: Row) -> dict[str, str]:
    """Return what a year's centers cost with and without privacy, of the box's diagonal: exact, the curator's."""
    diagonal = float(np.linalg.norm(source.dataset.box.widths))
    typical = (
        f"{number(100.0 * np.sqrt(float(row[name]) / source.dataset.n) / diagonal)} %"
        for name in ("inertia", "floor_inertia")
    )
    with_privacy, without = typical
    return {
        "": title,
        "Records": f"{source.dataset.n:,}",
        "Way to a center, of the diagonal": with_privacy,
        "Without privacy": without,
        "Cost, × without privacy": number(float(row["inertia_ratio"])),
    }


def _exchange() -> None:
    """Forget the other year's file when it was removed, and not when another one is about to replace it."""
    if st.session_state.get(_UPLOADER) is None and not uploads.is_coming():
        _forget()


def _forget() -> None:
    st.session_state.pop(_KEPT, None)
