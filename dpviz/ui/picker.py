"""The data picker that all pages share: a set of the gallery with its knobs, or an uploaded table."""

from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from dpviz.core import Box, Knob
from dpviz.data import DATASETS, Dataset, Missing, Table, TableError, data_knobs, load, read_table, size_limits
from dpviz.ui import controls, state

UPLOAD = "upload"
DEFAULT = "blobs"
MOST_RECORDS = 100_000  # that the page offers of a synthesised set
FEWEST_RECORDS = 10
TITLES = {
    "blobs": "Blobs",
    "moons": "Two moons",
    "circles": "Circles",
    "null": "No clusters",
    "city": "City",
    "iris": "Iris",
    "breast_cancer": "Breast cancer",
    "image": "Colors of a photograph",
    UPLOAD: "Your own table…",
}
DATA_SEED = Knob(
    "data_seed", "int", 0, "Data seed", "Draws the synthesised records, or a sample of real ones.", 0, 10**6, 0, 10**6
)
_CHOICE = "dpviz:data"
_TABLE = "dpviz:table"
_LINK = "dpviz:linked-upload"


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A data set with the scalars that it follows from."""

    dataset: Dataset
    key: tuple[Any, ...]
    link: tuple[tuple[str, str], ...]  # what the URL says of it
    uploaded: bool


def pick(*, public: bool, default: str = DEFAULT) -> Source | None:
    """Draw the picker and return the chosen data, at first `default`; None while an upload is not complete."""
    _open(default)
    name = st.selectbox(
        "Data", [*DATASETS, UPLOAD], format_func=lambda choice: TITLES[choice], key=_CHOICE, on_change=_start_again
    )
    if name == UPLOAD:
        return _uploaded(public=public)
    return _from_gallery(name if name in DATASETS else DEFAULT)


def _open(default: str) -> None:
    """Choose what the link names, once."""
    if _CHOICE in st.session_state:
        # The widget's state must be set again on every page that draws it.
        st.session_state[_CHOICE] = st.session_state[_CHOICE]
        return
    wanted = state.opening_query().get("data", default)
    if wanted.startswith(f"{UPLOAD}:"):
        st.session_state[_LINK] = wanted.removeprefix(f"{UPLOAD}:")[:64]
        wanted = UPLOAD
    elif wanted not in (*DATASETS, UPLOAD):
        state.report(
            f"The link's data was {wanted[:40]!r}, but it must be one of {', '.join(DATASETS)}. This is {default}."
        )
        wanted = default
    st.session_state[_CHOICE] = wanted


def _start_again() -> None:
    """Another data set: its size and knobs start from their own defaults."""
    st.session_state.pop(_LINK, None)  # the link asked for another choice
    names = {f"data_{knob.name}" for name in DATASETS for knob in data_knobs(name)}
    state.forget(["n", "x", "y", "z", "node", "along", *names])


def _from_gallery(name: str) -> Source:
    limits = size_limits(name)
    size = Knob(
        "n",
        "int",
        limits.default,
        "Records",
        "How many records to synthesise, or to sample from a real set.",
        FEWEST_RECORDS,
        min(limits.maximum, MOST_RECORDS),
        FEWEST_RECORDS,
        limits.maximum,
        unit="records",
    )
    knobs = [replace(knob, name=f"data_{knob.name}") for knob in data_knobs(name)]
    with st.expander("Size and shape"):
        n = controls.control(size)
        values = {knob.name.removeprefix("data_"): controls.control(knob) for knob in knobs}
        seed = controls.control(DATA_SEED)
    link = [("data", name), ("n", str(n)), ("data_seed", str(seed))]
    link += [(knob.name, knob.format(state.value(knob))) for knob in knobs]
    key = (name, n, seed, tuple(sorted(values.items())))
    return Source(_load(*key), key, tuple(link), uploaded=False)


@st.cache_resource(max_entries=32, show_spinner=False)
def _load(name: str, n: int, seed: int, knobs: tuple[tuple[str, Any], ...]) -> Dataset:
    return load(name, n=n, seed=seed, **dict(knobs))


def _uploaded(*, public: bool) -> Source | None:
    file = st.file_uploader("CSV file", type=["csv", "tsv", "txt"], help="It stays in this session's memory.")
    if file is None:
        st.session_state.pop(_TABLE, None)
        if wanted := st.session_state.get(_LINK):
            st.info(
                f"This link was made with an uploaded file. Choose the file whose fingerprint is {state.plain(wanted)}."
            )
        return None
    try:
        table = _table(file, public=public)
        return _described(table, public=public)
    except TableError as error:  # the reason can name a cell or a count
        st.error("This file cannot be used so. The curator can see why." if public else state.plain(str(error)))
        return None


def _table(file: Any, *, public: bool) -> Table:
    """Read the file once, and check it against the link's fingerprint."""
    known = st.session_state.get(_TABLE)
    if known is None or known[0] != file.file_id:
        known = (file.file_id, read_table(file))
        st.session_state[_TABLE] = known
    table: Table = known[1]
    wanted = st.session_state.get(_LINK)
    if wanted and wanted != table.digest:
        st.warning(
            f"This file's fingerprint is {table.digest}, the link's is {state.plain(wanted)}: the picture will be "
            "another one."
        )
    for note in () if public else table.notes:
        st.caption(state.plain(note))
    return table


def _described(table: Table, *, public: bool) -> Source | None:
    """Ask for columns, missing values and public bounds."""
    numeric = list(table.numeric_columns)
    if not numeric:
        raise TableError("No column of this file is numeric, but at least one is needed. Choose another file.")
    features = st.multiselect("Features", numeric, default=numeric[: min(2, len(numeric))], max_selections=50)
    if not features:
        st.info("Choose at least one feature.")
        return None
    drop = st.toggle("Leave rows with missing values out", help="Otherwise a missing value is an error.")
    missing: Missing = "drop" if drop else "error"
    from_data = st.toggle("Bounds from the data (not private)", help="Extremes are the values of single people.")
    box = None if from_data else _typed_box(table, features)
    if box is None and not from_data:
        return None
    dataset = table.dataset(features, box=box, missing=missing)
    bounds = () if box is None else (*box.low.tolist(), *box.high.tolist())
    key = (UPLOAD, table.digest, tuple(features), bounds, missing)
    # The fingerprint is a function of all records: whoever knows all but one could try the last.
    link = UPLOAD if public else f"{UPLOAD}:{table.digest}"
    if not public:
        st.caption("The link carries this file's fingerprint: share it as you would share the file.")
    return Source(dataset, key, (("data", link),), uploaded=True)


def _typed_box(table: Table, features: list[str]) -> Box | None:
    """Ask for public bounds of each feature; None until all are typed."""
    st.caption("Public bounds: what you know without looking at the records.")
    low, high = [], []
    for name in features:
        left, right = st.columns(2)
        key = f"bounds:{table.digest}:{name}"
        low.append(left.number_input(f"{state.plain(name)} from", value=None, key=f"{key}:low", format="%g"))
        high.append(right.number_input("to", value=None, key=f"{key}:high", format="%g"))
    lower = [value for value in low if value is not None]
    upper = [value for value in high if value is not None]
    if len(lower) < len(features) or len(upper) < len(features):
        st.info("Type both bounds of every feature, or take them from the data.")
        return None
    try:
        return Box(lower, upper)
    except ValueError as error:
        raise TableError(str(error)) from None
