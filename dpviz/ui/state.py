"""A page's state: one value for each knob, kept across reruns and pages, read from the URL once and written back to it.

The URL is read when a session begins; every value in it is checked by its knob before any widget sees it, because a
widget would silently show its default instead of the link's value. The picture writes the URL back: the knobs
whose values differ from their defaults.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import Annotated, Any, NoReturn, ParamSpec, TypeAlias, TypeVar
from urllib.parse import urlencode

import streamlit as st
from annotated_types import Ge, Predicate
from pydantic import AllowInfNan, Strict, TypeAdapter, ValidationError
from streamlit.navigation.page import StreamlitPage

from dpviz.core import Knob, KnobError
from dpviz.core.knobs import Value
from dpviz.ui import moved

# Characters of a link's value. Every value that a knob takes is shorter.
MOST_TEXT = 80
# Characters of a link's name in a message.
MOST_NAME = 40
# Names of a link that messages report.
MOST_REPEATED = 5
# Signs of http://…, www.… and mail addresses.
ADDRESS_SIGNS = ("://", "w.", "@")
JOINER = "\u2060"
# Signs that Markdown reads as more than text.
MARKUP = re.compile(r"[\\`*{}[\]()<>#+\-.!|$:~]|(?<![^\W_])_|_(?![^\W_])")
# Numbers in a message of the browser, which has no separate type for whole numbers.
Number = Annotated[float, Strict(), AllowInfNan(False)]
Index = Annotated[Number, Ge(0), Predicate(float.is_integer)]
T = TypeVar("T")
P = ParamSpec("P")
# Names and values of a link.
Pairs: TypeAlias = Sequence[tuple[str, str]]
_FORMS: dict[object, TypeAdapter[Any]] = {}
# Names in a link for a person's names of the clusters.
CLUSTER_NAMES = tuple(f"name_{number}" for number in range(1, 25))
# Names in a link that no knob reads.
READ_ELSEWHERE = frozenset(CLUSTER_NAMES) | frozenset({"data", "hide", "frame", "embed", "embed_options", "term"})
# Knobs of the tabs under a picture, and the ending of their names on pages that are made from knobs.
TABS, TAB_ENDING = frozenset({"tab", "below", "under"}), "_tab"
# Name of the knob that chooses the audience.
AUDIENCE = "audience"


def read_message(message: object, form: type[T], name: str = "") -> T | None:
    """Return a browser component's message, or its part `name`; None unless it has the `form`: it is untrusted."""
    if name:
        message = message.get(name) if isinstance(message, Mapping) else None
    # Making an adapter takes longer than a hundred messages.
    if form not in _FORMS:
        _FORMS[form] = TypeAdapter(form)
    try:
        found: T = _FORMS[form].validate_python(message)
    except ValidationError:
        return None
    return found


def session_value(key: str, make: Callable[[], T]) -> Callable[[], T]:
    """Return a getter of the session's own object under `key`, which `make` makes on first use."""

    def of_session() -> T:
        try:
            found: T = st.session_state[key]
        except KeyError:
            found = st.session_state[key] = make()
        return found

    return of_session


@dataclass(slots=True)
class PageState:
    """Knobs, link and messages of a session: one object, because each look into its state costs as much as a knob."""

    # Values that were chosen or linked, by name.
    values: dict[str, Value] = field(default_factory=dict)
    # Names that were read in the link, on any page.
    names_read: set[str] = field(default_factory=set)
    # Defaults by knob name. If two knobs of one name have different defaults, a link leaves out none of their values.
    page_defaults: defaultdict[str, set[Value]] = field(default_factory=lambda: defaultdict(set))
    # Widget -> number of changes by anything but the widget, last value, and whether somebody has chosen that value.
    ties: dict[str, tuple[int, object, bool]] = field(default_factory=dict)
    # Parameters that the session was opened with; None until they are read.
    query: dict[str, str] | None = None
    # Source of these parameters in messages.
    origin: str = "link"
    # Data set that stays with the reader from page to page; None until the parameters name it.
    data: str | None = None
    # Parameters that every link has.
    kept_params: dict[str, str] = field(default_factory=dict)
    # Page to open, its parameters, whether they name the records, and the knobs that stay.
    jump: tuple[str, Mapping[str, str], bool, Collection[str]] | None = None
    # Messages for the reader: those to show, and those that the page shows.
    problems: list[str] = field(default_factory=list)
    problems_shown: list[str] = field(default_factory=list)
    # True if the page ended for lack of data. The queue may still run fragments of the previous page.
    is_blank: bool = False


session = session_value("dpviz:knobs", PageState)


def fragment(draw: Callable[P, None]) -> Callable[P, None]:
    """Return a fragment of Streamlit that draws nothing if its page has ended for lack of data."""

    @st.fragment
    @wraps(draw)
    def draw_if_there(*args: P.args, **kwargs: P.kwargs) -> None:
        if not session().is_blank:
            draw(*args, **kwargs)

    return draw_if_there


def opening_query() -> dict[str, str]:
    """Return the query parameters that this session was opened with; the last value of a repeated name."""
    opened = session()
    if opened.query is None:
        params = st.query_params
        opened.query = _follow_moves(dict(params))
        repeated = [name for name in params if len(params.get_all(name)) > 1]
        for name in repeated[:MOST_REPEATED]:
            times = len(params.get_all(name))
            report(f"The link has {name[:MOST_NAME]!r} {times} times. The last one counts.")
    return opened.query


def value(knob: Knob) -> Any:
    """Return the knob's value: the chosen value, or else the link's value, or else its default.

    A default is not kept, because a different page's knob of this name has its own default.
    """
    knobs = session()
    knobs.page_defaults[knob.name].add(knob.default)
    if knob.name not in knobs.values:
        knobs.names_read.add(knob.name)
        text = opening_query().get(knob.name)
        if text is None:
            return knob.default
        knobs.values[knob.name] = _linked(knob, text)
    try:
        return knob.parse(knob.format(knobs.values[knob.name]))
    # A different page's knob of this name has values that this one does not have.
    except KnobError:
        return knob.default


def remember(knob: Knob, chosen: Value) -> Any:
    """Keep `chosen` if the knob offers it, because a browser's limits do not bind; return the kept value."""
    try:
        parsed = knob.parse(knob.format(chosen))
        if parsed != value(knob):
            session().values[knob.name] = parsed
    except KnobError as error:
        report(f"{error} It stays at {knob.format(value(knob))}.")
    return value(knob)


def open_anew(query: Mapping[str, str], origin: str, *, records: bool = False, keep: Collection[str] = ()) -> None:
    """Start over with these parameters, as if from a link; messages call their source `origin`.

    The records stay, unless `records` lets the parameters also name the records. Apart from the
    records, only the knobs named in `keep` stay: a page's own knobs, to which the reader comes back.
    """
    opened = session()
    opened.values = {name: chosen for name, chosen in opened.values.items() if name in keep and name not in query}
    linked = {name: text for name, text in opening_query().items() if name in keep}
    if records:
        opened.data = None
    # Keys of values that sliders offer in addition.
    for key in [key for key in st.session_state if str(key).startswith("given:")]:
        del st.session_state[key]
    opened.origin = origin
    opened.problems.clear()
    opened.query = _follow_moves({**linked, **query})


def open_page(page: str, query: Mapping[str, str], *, records: bool = False, keep: Collection[str] = ()) -> None:
    """Open a different page with these parameters in the app's next run; `records` and `keep` as in `open_anew`."""
    session().jump = (page, dict(query), records, tuple(keep))


def follow_jump(page: str, pages: Mapping[str, StreamlitPage]) -> None:
    """Go to the page that `open_page` has named, and open it; `page` is the present one, `pages` are all."""
    jump = session().jump
    if jump is None:
        return
    target, query, records, kept = jump
    if target != page:
        st.switch_page(pages[target])
    session().jump = None
    open_anew(query, "link", records=records, keep=kept)


def forget(names: Iterable[str]) -> None:
    """Let these knobs start again from their defaults, and not from the link."""
    for name in names:
        session().values.pop(name, None)
        st.session_state.pop(widget_key(name), None)
        opening_query().pop(name, None)


def take_linked(name: str) -> str:
    """Return a text of the link that no knob checks, or "" without one, and remove it after its first use."""
    return opening_query().pop(name, "")[:MOST_TEXT]


def widget_key(name: str) -> str:
    """Return the session key of a knob's widget."""
    return f"knob:{name}"


def tie(name: str, value: object, *, chosen: bool = True) -> str:
    """Return the key of the widget `name` that shows `value`: a new key if anything but the widget has changed it.

    The browser keeps the value of a widget that it does not draw, such as one in a closed menu, and sends it with the
    next run. Under the old key, that value would undo the change. A default that follows a different default keeps the
    key, because neither was `chosen`.
    """
    ties = session().ties
    turn, before, was_chosen = ties.get(name, (0, value, chosen))
    turn += before != value and (chosen or was_chosen)
    ties[name] = (turn, value, chosen)
    key = _key_of(name, turn)
    st.session_state[key] = value
    return key


def take_choice(name: str, key: str) -> Any:
    """Return the reader's choice with the widget `name`, whose key was `key` then."""
    chosen = st.session_state.get(key)
    ties = session().ties
    turn, *_ = ties.get(name, (0, None, True))
    if key == _key_of(name, turn):
        ties[name] = (turn, chosen, True)
    return chosen


def is_chosen(knob: Knob) -> bool:
    """Return True if a reader, a link or a preset has chosen the knob's value, instead of its default."""
    return knob.name in session().values


def _key_of(name: str, turn: int) -> str:
    return f"{name}:{turn}" if turn else name


def report(problem: str) -> None:
    """Keep one message for the reader, shown by the frame; a link's words in it stay words."""
    _keep(plain(problem))


def take_problems() -> list[str]:
    """Return the messages to show now, each once."""
    page = session()
    problems, page.problems = page.problems, []
    page.problems_shown += problems
    return problems


def begin() -> None:
    """Begin a run of the whole page, from which the messages of the last one are gone."""
    session().problems_shown.clear()
    session().page_defaults.clear()


def run_again() -> NoReturn:
    """Run the whole page again, and show the page's messages: they may be from this very run."""
    for problem in session().problems_shown:
        _keep(problem)
    session().problems_shown.clear()
    st.rerun(scope="app")


def _keep(problem: str) -> None:
    problems = session().problems
    if problem not in problems:
        problems.append(problem)


def plain(text: str) -> str:
    """Escape text from a link or a file for Markdown, so that it contains no links, pictures or formulas."""
    # Bare URLs become links even when escaped. With an invisible joiner inside, they do not.
    for sign in ADDRESS_SIGNS:
        text = text.replace(sign, f"{sign[0]}{JOINER}{sign[1:]}")
    # Inside a word, an underscore is not markup; a backslash would be part of a widget's name for screen readers.
    return MARKUP.sub(r"\\\g<0>", text)


def error(words: object) -> None:
    """Show an error; a link's or a file's words in it stay words."""
    st.error(plain(str(words)))


def query(pairs: Pairs) -> str:
    """Write name and value pairs, and the kept parameters, as the query of a URL."""
    return urlencode([*pairs, *session().kept_params.items()])


def differing_query(pairs: Pairs) -> str:
    """Write a page's link: the pairs whose values differ from the defaults that their knobs have on this page."""
    defaults = session().page_defaults
    differing = {name for name, text in pairs if [text] != [Knob.format(each) for each in defaults.get(name, ())]}
    # A link that names a tab but not the audience opens at the tab. This link opens at the picture.
    if any(name in TABS or name.endswith(TAB_ENDING) for name in differing):
        differing.add(AUDIENCE)
    return query([pair for pair in pairs if pair[0] in differing])


def set_default(name: str, text: str) -> None:
    """Declare the default of a part of this page's link that no knob reads."""
    session().page_defaults[name].add(text)


def keep_param(name: str, text: str) -> None:
    """Add a parameter to every later link; it is not part of the picture. An empty `text` removes it."""
    pairs = session().kept_params
    pairs.pop(name, None)
    if text:
        pairs[name] = text


def never_asked() -> list[str]:
    """Return the names in the link that nothing on the page has used."""
    return [name for name in opening_query() if name not in session().names_read | READ_ELSEWHERE]


def _follow_moves(query: Mapping[str, str]) -> dict[str, str]:
    """Return a link's parameters without removed places, and report the new places."""
    kept, sentences = moved.follow(query)
    for sentence in sentences:
        report(sentence)
    return kept


def _linked(knob: Knob, text: str) -> Value:
    # Every value that ends like this is refused below.
    if len(text) > MOST_TEXT:
        text = f"{text[:MOST_TEXT]}…"
    try:
        return knob.parse(text)
    except KnobError as error:
        report(f"The {session().origin}'s {error} {knob.label} is {knob.format(knob.default)} instead.")
        return knob.default
