"""The data picker that all pages share: a set of the gallery with its knobs, a page's own set, or an uploaded table."""

from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import replace
from html import escape
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpviz.core import Confidential, Knob, immutable, immutable_value
from dpviz.core.knobs import Value
from dpviz.data import DATASETS, Choices, Clipping, Dataset, SizeLimits, data_knobs, known_groups, load, size_limits
from dpviz.data.cards import cards, title
from dpviz.ui import controls, hiding, state
from dpviz.ui.data import answers, bounds, drawing, upload
from dpviz.ui.data.drawing import DrawnPoints
from dpviz.ui.data.upload import Described
from dpviz.ui.server.security import NO_FILES, takes_files

UPLOAD = "upload"
DEFAULT = "blobs"
# Most records that the page offers for a synthesized set.
MOST_RECORDS = 100_000
FEWEST_RECORDS = 10
DATA_SEED = Knob("data_seed", "int", 0, "Data seed", "Draws the synthetic records, or a sample of real ones.", 0, 10**6)
# Knobs whose values make sense only for one set.
OF_THE_DATA = ("n", "n_clusters", "n_centers", "x", "y", "z", "node", "along")
# Cards of the gallery in a row.
N_ACROSS = 3
# Key of the widget. Pages without the widget forget its value.
_CHOICE = "dpviz:data"
_SAID = "dpviz:data-replaced"
_TIMES_OPENED = "dpviz:gallery-opened"


@immutable
class Source(Confidential):
    """A data set with the scalars that it follows from."""

    dataset: Dataset
    key: tuple[Any, ...]
    # The source's part of the URL.
    link: state.Pairs
    uploaded: bool
    # Points that were drawn by hand.
    sheet: DrawnPoints | None = None
    # Form of an upload.
    form: Choices | None = None
    # Public number of groups; None if it is unknown.
    n_groups: int | None = None
    # Effect of the typed bounds on the rows of an upload; None if the bounds move no rows.
    nonprivate_clipping: Clipping | None = None

    @property
    def nonprivate_is_held(self) -> bool:
        """True if bounds cut off so many records that no conclusion is possible. Curator only."""
        return self.nonprivate_clipping is not None and self.nonprivate_clipping.nonprivate_is_too_much

    def suited(self, knob: Knob) -> Knob:
        """Return a knob for a number of clusters whose default is the number of groups that the set has."""
        if self.n_groups is None:
            return knob
        return replace(knob, default=min(max(self.n_groups, int(knob.minimum)), int(knob.maximum)))

    @property
    def drawn(self) -> bool:
        """True if the reader has drawn the records on this page."""
        return self.sheet is not None

    @property
    def own(self) -> bool:
        """True if the records belong to this session, so that no other session may share results computed on them."""
        return self.uploaded or self.drawn

    @property
    def people(self) -> tuple[Any, ...]:
        """Name the records behind the set: a file with different columns or bounds has the same people."""
        return self.key[:2] if self.uploaded else self.key

    def without_records(self) -> "Source":
        """Return the public part of the data: names, box and units, without any record."""
        empty = replace(
            self.dataset,
            points=self.dataset.points[:0],
            labels=None,
            image=None,
            nonprivate_n_clipped=0,
            nonprivate_n_left_out=0,
        )
        return replace(self, dataset=empty, key=(*self.key, "no records"), nonprivate_clipping=None)


@immutable_value
class DataCatalog:
    """Sets with a size and knobs, by name: the gallery, or the sets that one page has in addition."""

    # Titles by name.
    titles: Mapping[str, str]
    sizes: Callable[[str], SizeLimits]
    knobs: Callable[[str], tuple[Knob, ...]]
    load: Callable[..., Dataset]  # (name, n=, seed=, **knobs)
    # (name, **knobs) -> number of groups, if it is known.
    groups: Callable[..., int | None] = lambda _name, **_knobs: None


GALLERY = DataCatalog({name: title(name) for name in DATASETS}, size_limits, data_knobs, load, known_groups)


def pick(
    row: DeltaGenerator, form: DeltaGenerator, *, public: bool, default: str = DEFAULT, own: DataCatalog | None = None
) -> tuple[Source | None, DeltaGenerator]:
    """Draw the picker behind a button in the row; return the chosen data, at first `default`, and where to describe it.

    None while an upload is not complete: it is described in `form`. `own` are sets that only this page has, under names
    that the gallery does not use; they are listed before it.
    """
    shelves = {name: shelf for shelf in (own, GALLERY) if shelf is not None for name in shelf.titles}
    own_data = (*((("upload", UPLOAD),) if takes_files() else ()), ("draw", drawing.DRAW))
    titles = {UPLOAD: "Upload a file…", drawing.DRAW: drawing.TITLE}
    titles |= {name: shelf.titles[name] for name, shelf in shelves.items()}
    names = [*(name for group, name in own_data if not hiding.hides(group)), *shelves]
    name = _current(default, names, titles)
    state.set_default("data", default)
    data, problem = upload.described() if name == UPLOAD else (None, "")
    waiting = name == UPLOAD and data is None
    # The public does not see a file's name.
    file_name = upload.name() if name == UPLOAD and not public else ""
    times_opened = int(st.session_state.get(_TIMES_OPENED, 0))
    # A new key closes the button's list, so that it does not cover the gallery, or the form that replaces the page.
    key = f"dpviz-data-{'waiting' if waiting else 'there'}-{times_opened}"
    with (
        row.container(key="dpviz-data", width="content"),
        st.popover(f"Data: {state.plain(file_name or titles[name])}", key=key),
    ):
        if not hiding.hides("data"):
            key = state.tie(_CHOICE, name)
            st.selectbox(
                "Data",
                names,
                format_func=titles.__getitem__,
                key=key,
                on_change=lambda: choose(state.take_choice(_CHOICE, key), own),
            )
            with st.container(horizontal=True, gap="xsmall"):
                help_text = "See what each data set looks like and which methods it breaks."
                if st.button(
                    "Gallery",
                    width="stretch",
                    help=help_text,
                    on_click=lambda: st.session_state.update({_TIMES_OPENED: times_opened + 1}),
                ):
                    _gallery(own)
                # The upload entry is far above the set at which the list opens.
                if UPLOAD in names and name != UPLOAD:
                    st.button(
                        "Upload",
                        width="stretch",
                        help="Use your own table: it stays in this session's memory.",
                        on_click=choose,
                        args=(UPLOAD, own),
                    )
        source = None if waiting else _source(name, shelves, data, public=public)
        described = st.container()
    if waiting:
        with form:
            upload.draw_upload(None, problem, public=public)
    elif data is not None and not public:
        with form:
            upload.say_doubts()
            bounds.say_outside(data.form, data.nonprivate_clipping)
    return source, described


def _source(name: str, shelves: Mapping[str, DataCatalog], data: Described | None, *, public: bool) -> Source:
    """Draw the knobs of a set and return it."""
    if data is not None:
        upload.draw_upload(data, "", public=public)
        return source_of(data, public=public)
    if name == drawing.DRAW:
        dataset, key, link, sheet = drawing.source()
        return Source(dataset, key, link, uploaded=False, sheet=sheet)
    shelf = shelves[name]
    limits = shelf.sizes(name)
    size = Knob(
        "n",
        "int",
        limits.default,
        "Records",
        "How many records to synthesize, or to sample from a real set.",
        FEWEST_RECORDS,
        min(limits.maximum, MOST_RECORDS),
        FEWEST_RECORDS,
        limits.maximum,
        unit="records",
    )
    knobs = [replace(knob, name=f"data_{knob.name}") for knob in shelf.knobs(name)]
    with st.expander("Size and shape"):
        n = controls.control(size)
        values = {knob.name.removeprefix("data_"): controls.control(knob) for knob in knobs}
        seed = controls.control(DATA_SEED)
    link = (
        ("data", name),
        ("n", str(n)),
        ("data_seed", str(seed)),
        *((knob.name, knob.format(state.value(knob))) for knob in knobs),
    )
    return _of_shelf(shelf, name, n, seed, values, link)


def opening() -> Source:
    """Return the set that pages open with, before any knob is moved."""
    values = {knob.name: knob.default for knob in GALLERY.knobs(DEFAULT)}
    return _of_shelf(GALLERY, DEFAULT, GALLERY.sizes(DEFAULT).default, seed=0, values=values, link=())


def _of_shelf(
    shelf: DataCatalog, name: str, n: int, seed: int, values: Mapping[str, Value], link: state.Pairs
) -> Source:
    key = (name, n, seed, tuple(sorted(values.items())))
    return Source(_load(*key, shelf.load), key, link, uploaded=False, n_groups=shelf.groups(name, **values))


def source_of(data: Described, *, public: bool) -> Source:
    """Return the set of a described file, with its part of a link."""
    # The fingerprint is a function of all records: an attacker who knows all but one could try values for the last.
    file = ("data", UPLOAD if public else f"{UPLOAD}:{data.digest}")
    link = (file, *answers.to_link(data.form, public=public))
    clipping = None if public else data.nonprivate_clipping
    return Source(data.dataset, (UPLOAD, *data.key), link, uploaded=True, form=data.form, nonprivate_clipping=clipping)


@st.cache_resource(max_entries=32, show_spinner=False)
def _load(name: str, n: int, seed: int, knobs: tuple[tuple[str, Value], ...], _make: Callable[..., Dataset]) -> Dataset:
    return _make(name, n=n, seed=seed, **dict(knobs))


def own_data() -> str:
    """Return the name of the reader's own data if they follow the session, or "" if a named set does."""
    follows = state.session().data
    if follows == UPLOAD:
        return upload.name()
    return drawing.TITLE if follows == drawing.DRAW else ""


def choose(name: str, own: DataCatalog | None = None) -> None:
    """Use a different set in the session from now on, as a preset does before the page runs again.

    Its size, its knobs and its questions start from their own defaults.
    """
    state.session().data = name
    # The link was written for a different choice.
    answers.session().linked = ""
    shelves = [GALLERY] if own is None else [GALLERY, own]
    knobs = {f"data_{knob.name}" for shelf in shelves for name in shelf.titles for knob in shelf.knobs(name)}
    state.forget([*OF_THE_DATA, *knobs])


def _current(default: str, names: list[str], titles: Mapping[str, str]) -> str:
    """Return the set that follows the session, or, on its first page, the set that the link names.

    A set that belongs to one page waits for that page, and meanwhile the current page's first set replaces it.
    """
    session = state.session()
    if session.data is None:
        session.data = _linked(default, names)
    follows = session.data
    name = follows if follows in names else default
    if name != follows and st.session_state.get(_SAID) != (follows, name):
        words = follows.replace("_", " ")
        state.report(
            f"Your data set, {words}, belongs to another page, where it waits for you. Here you see {titles[name]}. "
            "Choose a different one under Data."
        )
    st.session_state[_SAID] = (follows, name)
    return name


def _linked(default: str, names: list[str]) -> str:
    """Return the set that the link names."""
    query, upload = state.opening_query(), answers.session()
    upload.linked = ""
    text = query.get("data", default)
    name, _, fingerprint = text.partition(":")
    if name == UPLOAD and not takes_files():
        state.report(f"The link's data are an uploaded table. {NO_FILES} This is {default}.")
        return default
    if name == UPLOAD and UPLOAD in names:
        upload.linked = fingerprint[:64]
        if form := answers.from_link(query):
            answers.expect_form(form)
        return UPLOAD
    if text not in names:
        known = ", ".join(name for name in names if name not in (UPLOAD, drawing.DRAW))
        state.report(f"The link's data must be one of {known}, got {text[:40]!r}. This is {default}.")
        return default
    return text


@st.dialog("Gallery", width="large")
def _gallery(own: DataCatalog | None) -> None:
    """Draw every named set as a card, in a dialog that costs a page nothing until it opens; a choice closes it."""
    for begin in range(0, len(DATASETS), N_ACROSS):
        for place, name in zip(st.columns(N_ACROSS), DATASETS[begin : begin + N_ACROSS], strict=False):
            with place.container(border=True, height="stretch"):
                card = cards().get(name)
                # The card's words come from dpviz, but they are escaped anyway.
                if card is not None:
                    picture = b64encode(card.thumbnail.encode()).decode()
                    st.html(
                        f'<div class="dpviz-gallery"><img src="data:image/svg+xml;base64,{picture}" alt="">'
                        f"<h3>{escape(card.title)}</h3><p>{escape(card.note)}</p>"
                        f"<dl><dt>Size</dt><dd>{escape(card.size)}</dd><dt>Units</dt><dd>{escape(card.units)}</dd>"
                        f"<dt>Public box</dt><dd>{escape(card.box)}. {escape(card.bounds_note)}</dd></dl></div>"
                    )
                label = f"Use {title(name)}"
                if st.button(label, key=f"gallery:{name}", width="stretch", on_click=choose, args=(name, own)):
                    st.rerun()
