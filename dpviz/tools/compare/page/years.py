"""Compare's tab for another year's file: read as this year's, drawn beside it with the same method, and told apart.

Looking costs nothing: the curator sees teaching runs of both files, and everyone what was released of both.
"""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from dpviz.core import Centers, Confidential
from dpviz.data import Choices, Table, TableError, read_confined
from dpviz.data.files import FORMATS
from dpviz.data.transforms import MOST_APART
from dpviz.stories.panel import number
from dpviz.tools.compare.frontier import median_at
from dpviz.tools.compare.page import cards
from dpviz.tools.compare.page.runs import gathered, repeated
from dpviz.tools.compare.pictures import run_scene
from dpviz.tools.compare.runs import CENTERS, ENTRIES, CompareQuestion, Row, Rows, part_of
from dpviz.tools.compare.years import AGAIN, YearCenters, Years
from dpviz.tools.sweep.trials import OK
from dpviz.ui import asking, ledger, state
from dpviz.ui.data import answers, picker, upload
from dpviz.ui.data.picker import Source
from dpviz.ui.frame import PageFrame
from dpviz.ui.live import live
from dpviz.ui.panel import safe_table
from dpviz.ui.runs import words_of
from dpviz.ui.server import uploads

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


def draw(page: PageFrame, question: CompareQuestion, rows: Rows, at: float) -> None:
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
        st.error(state.plain(str(error)))
        return
    for doubt in _doubts(table, now.form):
        st.warning(state.plain(doubt))
    for source, whose in ((now, THIS), (before, LAST)):
        if source.dataset.nonprivate_n_clipped:
            columns = upload.clipped_columns(now.form.axes, source.nonprivate_clipping)
            words = upload.clipped_words(source.dataset.nonprivate_n_clipped, source.dataset.n, columns)
            if source.nonprivate_is_held:
                st.error(state.plain(f"Of {whose} file {words}. Nothing is concluded until bounds hold both years."))
                return
            st.caption(state.plain(f"Of {whose} file {words}."))
    chosen = cards.chosen()
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
    safe_table(pd.DataFrame(years.lines()), hide_index=True)
    table = [_costs(*each) for each in (("This year", now, shown[0]), ("Last year", before, shown[1]))]
    safe_table(pd.DataFrame(table), hide_index=True)
    st.caption(f"{ledger.MARK} {AGAIN}")
    _draw_released(now, before)


def draw_public(page: PageFrame) -> None:
    """Draw what everyone may read of both years: what was released of them. Nothing without a second file."""
    kept: _Kept | None = st.session_state.get(_KEPT)
    if page.source.form is None or page.source.dataset.bounds_from_data or kept is None:
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
        st.caption(state.plain(f"{whose}: {each.entry.title}, ε = {number(each.entry.epsilon)}, {each.entry.day}."))
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
    safe_table(pd.DataFrame(both.lines()), hide_index=True)
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
