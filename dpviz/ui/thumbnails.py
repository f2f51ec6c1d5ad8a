"""The methods as small moving pictures: real runs on few synthetic records with public seeds, made once for all."""

from base64 import b64encode
from dataclasses import replace
from typing import Any

import numpy as np
import streamlit as st

from dpviz.core import Choices, Release, Step
from dpviz.methods import CATALOGUE
from dpviz.plots import Scene, svg
from dpviz.plots.svg import thumbnail
from dpviz.plots.theme import DARK, LIGHT
from dpviz.stories import View
from dpviz.stories.label import promise
from dpviz.stories.method import AnyMethod
from dpviz.stories.panel import Sentence
from dpviz.stories.run import ILLUSTRATION_SEED, Run
from dpviz.stories.teaching import still_of
from dpviz.ui.data.picker import Source
from dpviz.ui.runs import Noise, RunRequest, run_method

STILL = "Curator's view of synthetic records: gray marks are secret."
SIZE = (240, 240)  # pixels
THUMBNAILS = tuple(name for name, method in CATALOGUE.items() if method.thumbnail is not None)


def address(name: str, *, dark: bool) -> str:
    """Return the small picture of a method as an address that an image can have."""
    return _address(name, dark)


@st.cache_resource(show_spinner=False, max_entries=2 * len(THUMBNAILS))
def _address(name: str, dark: bool) -> str:
    picture = draw(CATALOGUE[name], dark=dark)
    return f"data:image/svg+xml;base64,{b64encode(picture.encode()).decode()}"


@st.cache_resource(show_spinner=False, max_entries=64)
def last_frame(name: str, epsilon: float) -> tuple[Sentence, Scene]:
    """Return the end of the thumbnail's run at another ε: what is said of it, and its picture without a scrubber."""
    run, scene = _drawn(CATALOGUE[name], {"epsilon": epsilon})
    return run.finding(), still_of(scene)


@st.cache_resource(show_spinner="Drawing", max_entries=2 * len(THUMBNAILS))
def still(name: str) -> str:
    """Return the end of the thumbnail's run as one large drawing for a slide, SVG with axes, legend and guarantee."""
    run, scene = _drawn(CATALOGUE[name], {})
    return svg([scene], notes=(promise(run.guarantee), STILL))


def draw(method: AnyMethod, *, dark: bool = False) -> str:
    """Run a method on the records of its thumbnail and return the picture as SVG. Raises ValueError without one."""
    settings = method.thumbnail
    if settings is None:
        raise ValueError(f"{method.title} has no thumbnail.")
    _, scene = _drawn(method, {})
    frames = [range(len(scene.frames))[frame] for frame in settings.frames]
    return thumbnail(scene, frames, size=SIZE, hidden=settings.hidden, theme=DARK if dark else LIGHT)


def _drawn(method: AnyMethod, other: Choices) -> tuple[Run[Any, Release, Step], Scene]:
    """Run a method as its thumbnail says, with `other` parameters, and draw it."""
    thumbnail = method.thumbnail
    assert thumbnail is not None
    dataset, choices = thumbnail.made()
    source = Source(replace(dataset, labels=None), ("thumbnail", method.name), (), uploaded=False)
    params = method.Params(**{**choices, **thumbnail.params, **other})
    run = run_method(RunRequest(method, method.run, params), source, Noise(thumbnail.seed))
    return run, run.draw(View(), rng=np.random.default_rng(ILLUSTRATION_SEED))
