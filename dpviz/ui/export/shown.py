"""What is on screen: kept by reference for whoever takes the picture away, in this session only."""

from dataclasses import dataclass
from typing import Any

import streamlit as st

from dpviz.plots import Scene
from dpviz.stories import View
from dpviz.ui.data.picker import Source
from dpviz.ui.runs import Noise

_SHOWN = "dpviz:shown"


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """One picture, or two beside each other, with everything that they follow from."""

    source: Source
    methods: tuple[Any, ...]
    told: tuple[Any, ...]  # the stories' contexts: the curator's
    curators_scenes: tuple[Scene, ...]
    noise: Noise
    view: View
    public: bool  # whether the public is looking
    address: str  # the link's query

    @property
    def scenes(self) -> tuple[Scene, ...]:
        """What the audience sees: the only pictures that may leave."""
        if not self.public:
            return self.curators_scenes
        return tuple(scene.public() for scene in self.curators_scenes)


def keep(shown: Shown | None) -> None:
    """Remember what is on screen now; None: nothing is."""
    st.session_state[_SHOWN] = shown


def latest() -> Shown | None:
    """Return what is on screen."""
    found: Shown | None = st.session_state.get(_SHOWN)
    return found
