"""Depth for a picture of three features, so that a reader can turn it without asking again.

A turned picture holds where things are across and up. Seen from above its own line of sight, up is what was depth
before: so the same story told from there gives the third coordinate of everything, whatever it draws.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.plots import Kind, Layer, Scene
from dpviz.stories.view import View

PLACES: dict[Kind, tuple[str, ...]] = {
    Kind.POINTS: ("xy",),
    Kind.MARKS: ("xy",),
    Kind.CIRCLES: ("center",),  # a ball: its radius is the same from everywhere
    Kind.LINES: ("xy",),
    Kind.TRAILS: ("xy",),
    Kind.SEGMENTS: ("ends",),
    Kind.ARROWS: ("tail", "head"),
}
DEPTH = "_depth"  # what is added to an array's name
MIDDLE = "_middle"  # of a closed outline: across, up and depth
# Beginnings of the names of outlines that always face the reader: only their middles turn, until they are drawn again.
FACING = ("Half of the noise", "Perturbation area", "Holds ", "Noise distance r")


def from_above(view: View) -> View:
    """Return the view whose up is the direction from the picture of `view` towards its reader."""
    return replace(view, yaw=view.yaw + 180.0, pitch=90.0 - view.pitch)


def with_depth(scene: Scene, above: Scene, view: View) -> Scene:
    """Add to `scene`, made with `view`, the depth of all that can be turned; `above` was made with `from_above`.

    Depth grows towards the reader, and is 0.5 in the middle of the box.
    """
    layers = tuple(_deep(one, other) for one, other in zip(scene.layers, above.layers, strict=True))
    return replace(scene, layers=layers, solid=(float(view.yaw), float(view.pitch)))


def _deep(layer: Layer, above: Layer) -> Layer:
    if layer.name.startswith(FACING) and layer.kind is Kind.LINES:
        here, there = (one.arrays["xy"][..., :-1, :].mean(axis=-2) for one in (layer, above))  # the last is the first
        middle = np.concatenate([here, there[..., 1:]], axis=-1)
        return replace(layer, arrays={**layer.arrays, f"xy{MIDDLE}": np.ascontiguousarray(middle)})
    if layer.kind not in PLACES:
        return layer
    depths: dict[str, NDArray[Any]] = {}
    for name in PLACES[layer.kind]:
        places = above.arrays[name]
        depths[f"{name}{DEPTH}"] = np.ascontiguousarray(places[..., 1::2])  # up, of each end where there are two
    return replace(layer, arrays={**layer.arrays, **depths})
