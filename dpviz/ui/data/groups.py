"""Origin of a number of clusters (known groups, a private curve, a link, the reader, none yet), and clusters' names."""

from collections.abc import Sequence

import streamlit as st

from dpviz.core import Centers, Knob, immutable_value
from dpviz.stories import Words
from dpviz.stories.panel import ceiled
from dpviz.stories.profiles import LONGEST_NAME, NamedPlace, Profile, carried, shortened
from dpviz.ui import controls, hiding, state
from dpviz.ui.data.picker import Source

KNOWN = Knob("k_known", "int", 0, "k that is known", "0: none.", 0, 64, 0, 10_000)
CURVE = Knob("k_curve", "float", 0.0, "ε of the curve that gave k", "0: none.", 0.0, 1e3, 0.0, 1e6)
NAMES_HELP = (
    "A name stays with its cluster's place while ε and noise change. Links, settings and the paper contain it as "
    "public text."
)
_all_names = state.session_value("dpviz:cluster-names", dict[tuple[object, ...], tuple[NamedPlace, ...]])
_FROM_CURVE, _OF = "dpviz:k-taken", "dpviz:k-of"


@immutable_value
class _CurveChoice:
    """A k that was read off a private curve, and the source of the curve."""

    k: int
    # ε of all curves of these people.
    spent: float
    # Key of the source.
    key: tuple[object, ...]
    people: tuple[object, ...]


def control(source: Source, knob: Knob) -> int:
    """Draw the knob of k with the origin of its value, and return the value."""
    k = int(controls.control(source.suited(knob)))
    if not hiding.hides(knob.name):
        st.caption(origin(source, knob, k)[0])
    return k


def origin(source: Source, knob: Knob, k: int) -> tuple[str, bool]:
    """Return the origin of `k`, the value of `knob`, in words, and True if anyone chose it."""
    before = st.session_state.get(_OF)
    if before is not None and before != source.key:
        # Knowledge about one data set does not apply to the next.
        state.forget([KNOWN.name])
    st.session_state[_OF] = source.key
    choice, known, query = _from_curve(k), int(state.value(KNOWN)), state.opening_query()
    if choice is not None and choice.key == source.key:
        return f"k = {k} comes from a private curve, which spent ε = {ceiled(choice.spent)}.", True
    if source.n_groups == k:
        return f"k = {k}: the known number of groups in this data set.", True
    if k == known:
        return f"k = {k} is known without the records: a public input.", True
    if choice is not None:
        whose = "these records with other columns or bounds" if choice.people == source.people else "other records"
        cost = f"which spent ε = {ceiled(choice.spent)}"
        return f"k = {k} comes from a private curve of {whose}, {cost}. No one has chosen it for this data.", False
    if spent := _linked_curve(knob, k):
        return f"k = {k} is in this page's link and comes from a private curve, which spent ε = {ceiled(spent)}.", True
    # Links of earlier versions name k, chosen or not, and also the knob for a known k.
    if query.get(knob.name) == knob.format(k) and (k != knob.default or KNOWN.name not in query):
        # A reload of the analyst's own page also opens its link.
        return f"k = {k} is in this page's link: a public input.", True
    if k != (source.n_groups or knob.default):
        return f"k = {k} was chosen by hand: a public input.", True
    return f"k = {k} is the slider's position. No one has chosen it for these records.", False


def take(source: Source, knob: Knob, k: int, spent: float) -> None:
    """Choose the k of a private curve of these records; all curves of them have `spent` this ε."""
    st.session_state[_FROM_CURVE] = _CurveChoice(k, spent, source.key, source.people)
    state.remember(knob, k)


def link(source: Source, knob: Knob) -> state.Pairs:
    """Return the part of a link about a k from a private curve: in the link, it is not a public input either."""
    k = int(state.value(source.suited(knob)))
    choice = _from_curve(k)
    spent = choice.spent if choice is not None else _linked_curve(knob, k)
    return [(CURVE.name, CURVE.format(spent))] if spent else []


def _from_curve(k: int) -> _CurveChoice | None:
    """Return this session's curve that gave this k, or None."""
    choice: _CurveChoice | None = st.session_state.get(_FROM_CURVE)
    return choice if choice is not None and choice.k == k else None


def _linked_curve(knob: Knob, k: int) -> float:
    """Return the ε of the curve that the link's k was read off, 0 if k is different or from no curve."""
    return float(state.value(CURVE)) if state.opening_query().get(knob.name) == knob.format(k) else 0.0


def names_of(source: Source, words: Words, centers: Centers) -> tuple[str, ...]:
    """Return the reader's or the link's names for released centers (k, d) of these records, data units; "" for none."""
    unit = words.box.to_unit(centers)
    linked = [shortened(state.take_linked(name)) for name in state.CLUSTER_NAMES]
    if any(linked):
        _keep_names(source, words, linked, unit)
    return carried(_all_names().get((source.people, words.box), ()), unit)


def link_names(names: Sequence[str]) -> state.Pairs:
    """Return the part of a link about clusters' names."""
    return [(key, name) for key, name in zip(state.CLUSTER_NAMES, names, strict=False) if name]


@st.dialog("Names of the clusters")
def ask_names(
    source: Source, words: Words, centers: Centers, profiles: Sequence[Profile], names: Sequence[str]
) -> None:
    """Draw a name field for each cluster under the cluster's description, and keep the names."""
    st.caption(NAMES_HELP)
    for each, name, key in zip(profiles, names, state.CLUSTER_NAMES, strict=False):
        st.text_input(state.plain(each.sentence), value=name, max_chars=LONGEST_NAME, placeholder="No name", key=key)
    if st.button("Keep the names", type="primary", on_click=_take_typed, args=(source, words, centers)):
        st.rerun()


def _take_typed(source: Source, words: Words, centers: Centers) -> None:
    typed = [shortened(str(st.session_state.get(key) or "")) for key in state.CLUSTER_NAMES[: len(centers)]]
    _keep_names(source, words, typed, words.box.to_unit(centers))


def _keep_names(source: Source, words: Words, names: Sequence[str], unit: Centers) -> None:
    places = zip(names, unit.tolist(), strict=False)
    _all_names()[(source.people, words.box)] = tuple(NamedPlace(name, tuple(place)) for name, place in places if name)
