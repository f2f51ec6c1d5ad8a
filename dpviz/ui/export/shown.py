"""What is on screen: kept by reference for whoever takes the picture away, in this session only."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import streamlit as st

from dpviz.plots import Scene
from dpviz.stories import View
from dpviz.stories.recipe import Calls
from dpviz.ui.beside import NOTHING_SAID, Beside
from dpviz.ui.data.picker import Source
from dpviz.ui.runs import Noise, Runs

_SHOWN = "dpviz:shown"


@dataclass(frozen=True, slots=True, eq=False)
class Moment:
    """What a page shows at one value of its slider, as its audience sees it."""

    said: Beside
    packed: tuple[bytes, ...]  # scenes


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """One picture, or two beside each other, with everything that they follow from."""

    source: Source
    runs: Runs  # the curator's
    curators_scenes: tuple[Scene, ...]
    noise: Noise
    view: View
    public: bool  # whether the public is looking
    address: str  # the link's query
    said: Beside = NOTHING_SAID
    slider: Mapping[str, Any] | None = None  # as the browser was sent it
    # What is seen at each of its values, None at impossible ones; None instead of all where that is more releases.
    moments: Callable[[], Iterator[Moment | None]] | None = None

    @property
    def scenes(self) -> tuple[Scene, ...]:
        """What the audience sees: the only pictures that may leave."""
        if not self.public:
            return self.curators_scenes
        return tuple(scene.public() for scene in self.curators_scenes)


@dataclass(frozen=True, slots=True, eq=False)
class Charted:
    """The pictures of a page that is no single run's, such as Compare's: none, where its audience sees none."""

    source: Source
    scenes: tuple[Scene, ...]  # what the audience sees
    public: bool
    address: str
    notes: tuple[str, ...]  # lines under a picture that is taken away
    calls: Calls  # that make the pictures again
    guarantees: tuple[Mapping[str, Any], ...] = ()  # as plain values


OnScreen: TypeAlias = Shown | Charted


def keep(shown: OnScreen | None) -> None:
    """Remember what is on screen now; None: nothing is."""
    st.session_state[_SHOWN] = shown


def latest() -> OnScreen | None:
    """Return what is on screen."""
    found: OnScreen | None = st.session_state.get(_SHOWN)
    return found
