"""ln p over the shown plane as a surface in a box that can be turned. All of it follows from the released mixture.

The box's floor is the plane's square; its height is ln p, from where it is cut off, the floor, up to the highest peak.
The arithmetic is that of the paper's f = -ln p, whose minima are the peaks.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpviz.core import Box, FloatArray, Points, frozen
from dpviz.methods.morse.story import landscape_plane as land
from dpviz.methods.morse.story.landscape_stage import NO_GROUP, Arrays, Colors, DensityLevel, LandscapeContext
from dpviz.plots import Audience, Axis, Kind, Layer, Role, rows_at
from dpviz.solvers import Mixture
from dpviz.stories.solid import DEPTH, PLACES, from_above
from dpviz.stories.stage import Stage
from dpviz.stories.view import Projection, View, Words, project

TALL = 0.35  # of the box's width: the height of the drawn range of f
HEADROOM = 1.5  # times the height of the highest pass or minimum over the lowest one: where f is cut off
LEAST, MOST = 2.0, 9.0  # of ln p: the drawn range of f is never less nor more
SCALE = 2.0 * np.log(2.0)  # ln of how much denser two features are in box units, half of the mixture's
STEP = land.FINE  # every how manieth row and column of the landscape's grid is a line of the mesh
NAME, AXIS = "Density as a surface", "log density"
EDGE = f"Height: {AXIS}, a tick for each 1"  # the upright edge, and its ticks
TICK = 0.04  # of the box's width: the length of a tick
REACH = 0.5 * np.sqrt(2.0 + TALL**2) + 0.02  # from the middle of the box to the end of its picture
FILL = 0.5  # strength of a face's color


@dataclass(frozen=True, slots=True, eq=False)
class Surface:
    """f over a plane: the mesh, and where anything else of the plane stands on it."""

    shown: Mixture  # the marginal of what the plane shows, plane units
    ends: FloatArray  # (2, 2) of x and of y: the square that is drawn
    at: FloatArray  # (s, s, 2) the mesh's vertices in the plane, row 0 at low y
    f: FloatArray  # (s, s) there
    low: float  # f of the lowest minimum
    cut: float  # where f is cut off
    multiple: float  # the cut's height over `low`, in heights of the highest pass or minimum; NaN: those have none

    def place(self, plane: FloatArray) -> FloatArray:
        """Return where places of the plane (..., 2) stand in the box [0, 1]^3, (..., 3); NaN stays NaN."""
        flat = plane.reshape(-1, 2)
        height = np.full(len(flat), np.nan)
        seen = np.isfinite(flat).all(axis=1)
        height[seen] = height_of(self.shown, flat[seen])
        return self.raised(plane, height.reshape(plane.shape[:-1]))

    def raised(self, plane: FloatArray, f: FloatArray) -> FloatArray:
        """Return places of the plane (..., 2) at -`f` (...), no lower than the floor, in the box, (..., 3)."""
        across = (plane - self.ends[:, 0]) / (self.ends[:, 1] - self.ends[:, 0])
        return np.concatenate([across, self.height(f)[..., None]], axis=-1)

    def height(self, f: FloatArray) -> FloatArray:
        """Return the height of `f` in the box, the floor where it is cut off: peaks, the minima of f, stand highest."""
        share = (self.cut - np.minimum(f, self.cut)) / (self.cut - self.low)
        return 0.5 + TALL * (share - 0.5)


@dataclass(frozen=True, slots=True, eq=False)
class SurfaceStage(Stage):
    """A stage whose picture is a surface in a box: places on it have three coordinates until they are turned."""

    surface: Surface


def height_of(shown: Mixture, plane: Points) -> FloatArray:
    """Return f = -ln p (m,) at places of the plane (m, 2), p per the mixture's own unit on each of its two axes."""
    return np.asarray(SCALE - shown.log_density(plane))


def surface_of(told: LandscapeContext, plane: Projection) -> Surface:
    """Return the surface over a plane; its range follows from the heights of all minima and passes drawn on it."""
    shown, found = land.marginal(told.result.release.mixture, plane), told.tree.landscape
    at = land.lattice(plane, land.CELLS)[::STEP, ::STEP]
    f = height_of(shown, at.reshape(-1, 2)).reshape(at.shape[:-1])
    places = np.vstack([found.minima, *(each.location for each in found.transitions)])
    events = height_of(shown, plane(land.unsigned(places)))
    low = float(min(events[: len(found.minima)].min(), f.min()))
    highest = float(events.max()) - low
    reach = float(np.clip(HEADROOM * highest, LEAST, MOST))
    multiple = reach / highest if highest > 1e-9 else float("nan")
    return Surface(shown, land.window(plane), frozen(at), frozen(f), low, low + reach, multiple)


def mesh_layer(told: LandscapeContext, stage: SurfaceStage, groups: Colors, stops: Sequence[DensityLevel]) -> Layer:
    """The mesh's faces as closed curves; in two dimensions they wear the color of their basin in each row.

    A face that lies wholly on the floor is left out. Below a level that is shown a face has no color.
    """
    surface = stage.surface
    corners = _corners(surface.raised(surface.at, surface.f))  # (g, g, 5, 3)
    low = _corners(surface.f[..., None])[..., 0].min(axis=-1)
    kept = low < surface.cut
    arrays: Arrays = {"xy": corners[kept][None]}
    rows, role = np.zeros(stage.clock.n_frames, dtype=np.int16), Role.RELEASED
    if told.regions is not None:
        g = len(low)
        own = groups[:, told.regions.cells[:g, :g][kept]]  # a face's middle lies in the cell of its number
        if stops:
            mean = _corners(surface.f[..., None])[..., :4, 0].mean(axis=-1)[kept] - surface.low
            own = np.where(mean > np.array([[stop.height] for stop in stops]), np.uint8(NO_GROUP), own)
        arrays["group"], role = own, Role.CLUSTER
        if len(own) > 1:
            rows = np.arange(stage.clock.n_frames, dtype=np.int16)
    own_basins = told.regions is not None
    return Layer(
        NAME, Kind.LINES, role, Audience.RELEASED, arrays, frozen(rows), size=1.0, fill=FILL, isolate=own_basins
    )


def box_layers(told: LandscapeContext, stage: SurfaceStage) -> list[Layer]:
    """The floor, which is the box's square, and an upright edge as long as the drawn range of f."""
    bottom, top = 0.5 - TALL / 2, 0.5 + TALL / 2
    square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    floor = np.column_stack([square, np.full(4, bottom)])
    always = rows_at(stage.clock.n_frames, dict.fromkeys(range(stage.clock.n_frames), 0))
    upright = np.array([[[0.0, 1.0, bottom], [0.0, 1.0, top]]])
    words = (f"{AXIS}, from {-stage.surface.cut:.2f} to {-stage.surface.low:.2f}",)
    edges = [
        Layer(
            EDGE, Kind.LINES, Role.REFERENCE, Audience.RELEASED, {"xy": upright[None]}, always, size=2.0, names=words,
            isolate=False,
        ),
        _ticks(stage.surface, always),
    ]  # fmt: skip
    if stage.projection.corners is None:
        return edges
    public = told.words.box_public
    name, role = ("Public box", Role.PUBLIC) if public else ("Box from the data", Role.VIOLATION)
    audience = Audience.PUBLIC if public else Audience.CURATOR
    ends = np.concatenate([floor, np.roll(floor, -1, axis=0)], axis=1)[None]  # (1, 4, 6)
    return [Layer(name, Kind.SEGMENTS, role, audience, {"ends": ends}, always, size=1.0, isolate=False), *edges]


def _ticks(surface: Surface, rows: NDArray[np.int16]) -> Layer:
    """Return a tick at each whole number of the upright edge, with its words."""
    whole = np.arange(np.ceil(-surface.cut), np.floor(-surface.low) + 1.0)
    height = surface.height(-whole)
    at = np.column_stack([np.full(len(whole), 0.0), np.full(len(whole), 1.0), height])
    ends = np.concatenate([at, at + np.array([-TICK, 0.0, 0.0])], axis=1)[None]
    words = tuple(f"{AXIS} = {value:.0f}".replace("-", "−") for value in whole)
    return Layer(
        EDGE, Kind.SEGMENTS, Role.REFERENCE, Audience.RELEASED, {"ends": ends}, rows, size=2.0, names=words,
        isolate=False,
    )  # fmt: skip


def turned(layers: Sequence[Layer], plane: Projection, view: View) -> tuple[tuple[Layer, ...], Axis, Axis]:
    """Return layers in the box as they are seen by `view`, with their depth, and the axes of that picture.

    Faces come from far to near, so that a renderer that knows no depth draws them right.
    """
    turn = replace(view, x=0, y=1, z=2, principal=False)
    words = Words("", Box.cube(0.0, 1.0, 3), (plane.x.label, plane.y.label, AXIS), ("",) * 3)
    front, above = (project(each, words, np.empty((0, 3))) for each in (turn, from_above(turn)))
    x, y = (replace(axis, view=(0.5 - REACH, 0.5 + REACH)) for axis in (front.x, front.y))
    return tuple(_turned(layer, front, above) for layer in layers), x, y


def _turned(layer: Layer, front: Projection, above: Projection) -> Layer:
    arrays = dict(layer.arrays)
    for name in PLACES[layer.kind]:
        places = arrays[name]
        solid = places.reshape(*places.shape[:-1], -1, 3)  # one place, or two ends
        arrays[name] = front(solid).reshape(*places.shape[:-1], -1)
        arrays[f"{name}{DEPTH}"] = above(solid)[..., 1].reshape(*places.shape[:-1], -1)
    if layer.fill:
        order = np.argsort(arrays[f"xy{DEPTH}"][0, :, :4].mean(axis=(1, 2)), kind="stable")
        arrays = {name: np.ascontiguousarray(array[:, order]) for name, array in arrays.items()}
    return replace(layer, arrays=arrays)


def _corners(of: FloatArray) -> FloatArray:
    """Return values (s, s, c) at the vertices as those around each face (s - 1, s - 1, 5, c), the first one twice."""
    first, second, third, fourth = of[:-1, :-1], of[:-1, 1:], of[1:, 1:], of[1:, :-1]
    return np.stack([first, second, third, fourth, first], axis=2)
