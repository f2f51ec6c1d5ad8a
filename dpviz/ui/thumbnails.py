"""The methods as small moving pictures: real runs on few made-up records with public seeds, made once for all."""

from base64 import b64encode

import numpy as np
import streamlit as st

from dpviz.methods import CATALOGUE
from dpviz.plots.theme import DARK, LIGHT
from dpviz.plots.thumbnail import thumbnail
from dpviz.stories import View
from dpviz.stories.method import AnyMethod
from dpviz.ui.data.picker import Source
from dpviz.ui.runs import Noise, tell

SIZE = (240, 240)  # pixels
ILLUSTRATION_SEED = 0  # of draws that only show a law; public

THUMBNAILS = tuple(name for name, method in CATALOGUE.items() if method.thumbnail is not None)


def address(name: str, *, dark: bool) -> str:
    """Return the small picture of a method as an address that an image can have."""
    return _address(name, dark)


@st.cache_resource(show_spinner=False, max_entries=2 * len(THUMBNAILS))
def _address(name: str, dark: bool) -> str:
    picture = draw(CATALOGUE[name], dark=dark)
    return f"data:image/svg+xml;base64,{b64encode(picture.encode()).decode()}"


def draw(method: AnyMethod, *, dark: bool = False) -> str:
    """Run a method on the records of its thumbnail and return the picture as SVG. Raises ValueError without one."""
    shown, story = method.thumbnail, method.story
    if shown is None:
        raise ValueError(f"{method.title} has no thumbnail.")
    dataset, given = shown.made()
    source = Source(dataset, ("thumbnail", method.name), (), uploaded=False)
    params = method.Params(**given, **shown.params)
    told = tell(method, story, source, params, Noise(shown.seed)).told
    scene = story.scene(told, View(), rng=np.random.default_rng(ILLUSTRATION_SEED))
    frames = [range(len(scene.frames))[frame] for frame in shown.frames]
    return thumbnail(scene, frames, size=SIZE, hidden=shown.hidden, theme=DARK if dark else LIGHT)
