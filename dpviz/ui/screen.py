"""What is on screen: words and pictures as the audience sees them, the runs behind them, and the page's address."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from secrets import token_hex
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, urlencode

import streamlit as st

from dpviz.plots import Scene
from dpviz.plots.scene import pack
from dpviz.stories import View, pair
from dpviz.stories.recipe import Calls
from dpviz.ui import panel
from dpviz.ui.data.picker import Source
from dpviz.ui.live import SESSION
from dpviz.ui.runs import AnyRun, Noise, RunRequest, Runs
from dpviz.ui.server.served import served


def numbers_of_one(runs: Runs, *, public: bool) -> str:
    """Write the facts of one method's run as HTML."""
    ((_, run),) = runs
    return panel.stacked(
        panel.facts("Run" if public else "Utility", run.utility(), public=public),
        panel.facts("Risk", run.risk(), public=public),
    )


def numbers_of_two(runs: Runs, *, public: bool) -> str:
    """Write the facts of two methods' runs on the same records as HTML."""
    (_, first), (_, second) = runs
    return panel.stacked(panel.facts("What honesty costs", pair.facts(first, second), public=public))


SCREEN = "dpviz:shown"


@dataclass(frozen=True, slots=True, eq=False)
class PictureState:
    """What a page shows at one value of its slider, as its audience sees it."""

    numbers: str  # facts, HTML
    packed: tuple[bytes, ...]  # scenes, with the words that stand beside them


@dataclass(frozen=True, slots=True, eq=False)
class MethodScreen:
    """One picture, or two beside each other, with everything that they follow from."""

    source: Source
    runs: Runs  # the curator's
    curators_scenes: tuple[Scene, ...]
    noise: Noise
    view: View
    public: bool  # whether the public is looking
    address: str  # the link's query
    numbers: str = ""  # facts, HTML
    slider: Mapping[str, Any] | None = None  # as the browser was sent it
    # What is seen at each of its values, None at impossible ones; None instead of all where that is more releases.
    moments: Callable[[], Iterator[PictureState | None]] | None = None
    request: Callable[[float], RunRequest[AnyRun]] | None = None  # of the first picture; raises ValueError

    @property
    def scenes(self) -> tuple[Scene, ...]:
        """What the audience sees: the only pictures that may leave."""
        if not self.public:
            return self.curators_scenes
        return tuple(scene.public() for scene in self.curators_scenes)


@dataclass(frozen=True, slots=True, eq=False)
class ChartScreen:
    """The pictures of a page that is no single run's, such as Compare's: none, where its audience sees none."""

    source: Source
    scenes: tuple[Scene, ...]  # what the audience sees
    public: bool
    address: str
    notes: tuple[str, ...]  # lines under a picture that is taken away
    calls: Calls  # that make the pictures again
    guarantees: tuple[Mapping[str, object], ...] = ()  # as plain values


OnScreen: TypeAlias = MethodScreen | ChartScreen


def keep(screen: OnScreen | None) -> None:
    """Remember what is on screen now; None: nothing is."""
    st.session_state[SCREEN] = screen


def latest() -> OnScreen | None:
    """Return what is on screen."""
    screen: OnScreen | None = st.session_state.get(SCREEN)
    return screen


_LAST = "dpviz:last-pictures"
MOST_CACHED = 2  # the one on screen, and the one that may be asked for next


@dataclass(frozen=True, slots=True, eq=False)
class CachedPicture:
    """Runs and their pictures; equal names, equal pictures."""

    name: Hashable
    runs: Runs
    scenes: tuple[Scene, ...]
    packed: tuple[bytes, ...]  # as the audience sees them


class PictureCache:
    """The pictures that a session drew last; the thread that draws ahead of the page uses them as well."""

    def __init__(self) -> None:
        """Make an empty cache."""
        self._pictures: tuple[CachedPicture, ...] = ()

    def recall(self, name: Hashable | None) -> CachedPicture | None:
        """Return what was drawn under this name, if it is among the last; None never is."""
        return next((picture for picture in self._pictures if name is not None and picture.name == name), None)

    def pack(
        self, name: Hashable | None, runs: Runs, scenes: Iterable[Scene], *, public: bool
    ) -> Iterator[CachedPicture]:
        """Pack pictures for their audience: after each, what there is. Hold them all if they have a name."""
        picture = CachedPicture(name, runs, (), ())
        for scene in scenes:
            packed = pack(scene.public() if public else scene)
            picture = CachedPicture(name, runs, (*picture.scenes, scene), (*picture.packed, packed))
            yield picture
        if name is not None:
            self._pictures = (*self._pictures, picture)[-MOST_CACHED:]


def picture_cache() -> PictureCache:
    """Return the session's."""
    cache: PictureCache = st.session_state.setdefault(_LAST, PictureCache())
    return cache


def name_of(
    source: Source, requests: Sequence[RunRequest[AnyRun]], noise: Noise, view: View, *, public: bool
) -> Hashable | None:
    """Name everything that a picture follows from; None for secret noise and own records, which nothing recalls."""
    if noise.secret or source.own:
        return None
    return (source.key, public, noise.seed, view, *(request.key for request in requests))


_ADDRESS = served("address", "live_address")


def address(query: str, *, key: str = "address") -> None:
    """Put `query` into the page's address without a new entry in the history. A live picture does so by itself."""
    # Of another session, as after a restart of the server, the browser takes no other address.
    session = st.session_state.setdefault(SESSION, token_hex(8))
    _ADDRESS(data={"query": query, "session": session}, key=key)


def follow(pairs: Iterable[tuple[str, str]], *, key: str) -> None:
    """Put what a tab has just moved into the address of what is on screen: the tab runs without the picture.

    `pairs` are those of the picture's link that are the tab's; names that the link has not are left out.
    """
    screen = latest()
    if screen is None:
        return
    changes = dict(pairs)
    pairs_of_link = parse_qsl(screen.address, keep_blank_values=True)
    query = urlencode([(name, changes.get(name, text)) for name, text in pairs_of_link])
    if query != screen.address:
        keep(replace(screen, address=query))
    address(query, key=key)
