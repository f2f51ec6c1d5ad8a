"""The five systems as small moving pictures: real runs on few made-up records with public seeds, made once for all."""

from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import streamlit as st

from dpviz.data import Dataset, load
from dpviz.data.target_pairs import load_pair, source_of
from dpviz.methods import CATALOGUE, STORIES
from dpviz.plots.theme import DARK, LIGHT
from dpviz.plots.thumbnail import thumbnail
from dpviz.stories import View
from dpviz.ui.data.picker import Source
from dpviz.ui.runs import Noise, tell

SIZE = (240, 240)  # pixels
ILLUSTRATION_SEED = 0  # of draws that only show a law; public

Made = tuple[Dataset, dict[str, Any]]  # records, and parameters that come with them


@dataclass(frozen=True, slots=True)
class Sitter:
    """What one system is shown with; all of it public."""

    name: str
    promise: str  # what its page shows, in a few words
    alt: str
    made: Callable[[], Made]
    seed: int  # of the noise
    frames: tuple[int, ...]  # stops of the scrubber; negative ones count from the end
    params: dict[str, Any] = field(default_factory=dict)
    hidden: tuple[str, ...] = ()


def _first_aid() -> Made:
    pair = load_pair("first_aid", n=300, seed=0, n_targets=200)
    return source_of("first_aid", pair), {"targets": pair.targets, "ball": pair.ball}


SITTERS = (
    Sitter(
        "convergent_kmeans",
        "Zones, draws, centers: every step of k-means, and what noise does to it.",
        "Records colored by cluster; orange zones from which blue centers are drawn, step by step.",
        lambda: (load("blobs", n=500, seed=0), {}),
        112,
        (0, 3, 4, 7, -1),
        {"epsilon": 2.0},
        ("Density of the draw", "Path of the centers", "Noise of the release", "Controller"),
    ),
    Sitter(
        "dpm",
        "Cuts through empty space, level by level, until only clusters are left.",
        "Records in a box that blue lines cut in parts where it is empty, level by level.",
        lambda: (load("blobs", n=1500, seed=0), {}),
        3,
        (0, 2, 3, 5, -1),
        {"epsilon": 4.0},
        ("Half of the noise", "Noise of the release", "Noisy count of a side"),
    ),
    Sitter(
        "morse",
        "A private landscape of many small hills, and the passes that join them to clusters.",
        "Two moons of records over a landscape of small Gaussians that merge into fewer, larger regions.",
        lambda: (load("moons", n=5000, seed=0), {}),
        1,
        (-1, 3, 2, 1),
        {"epsilon": 5.0, "n_iterations": 2},
        ("Contours", "Transition point"),
    ),
    Sitter(
        "nd_laplace",
        "No curator: everybody moves the own point before anybody sees it.",
        "Grey places of people in a town, orange moves, and the blue places that are sent instead.",
        lambda: (load("city", n=250, seed=0), {}),
        1,
        (0, 2, -1),
        {"epsilon": 0.006},
        ("Scale: 1 m, the distance that ε is per", "Click one to choose it"),
    ),
    Sitter(
        "source_target",
        "First-aid points beside secret helpers: what noise lets through, and what it costs.",
        "Green public places, grey secret helpers, blue released stand-ins, and the centers chosen beside them.",
        _first_aid,
        1,
        (0, 1, 3, -1),
        {"epsilon": 2.0, "n_centers": 5},
        ("Served by S′", "Choice without privacy"),
    ),
)


def address(sitter: Sitter, *, dark: bool) -> str:
    """Return the picture of a system as an address that an image can have."""
    return _address(SITTERS.index(sitter), dark)


@st.cache_resource(show_spinner=False, max_entries=2 * len(SITTERS))
def _address(index: int, dark: bool) -> str:
    picture = draw(SITTERS[index], dark=dark)
    return f"data:image/svg+xml;base64,{b64encode(picture.encode()).decode()}"


def draw(sitter: Sitter, *, dark: bool = False) -> str:
    """Run a system on its records and return the picture as SVG."""
    dataset, given = sitter.made()
    algorithm, story = CATALOGUE[sitter.name], STORIES[sitter.name]
    source = Source(dataset, ("thumbnail", sitter.name), (), uploaded=False)
    params = algorithm.Params(**given, **sitter.params)
    told = tell(algorithm, story, source, params, Noise(sitter.seed)).told
    scene = story.scene(told, View(), rng=np.random.default_rng(ILLUSTRATION_SEED))
    frames = [range(len(scene.frames))[frame] for frame in sitter.frames]
    return thumbnail(scene, frames, size=SIZE, hidden=sitter.hidden, theme=DARK if dark else LIGHT)
