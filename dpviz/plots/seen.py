"""What of a scene is drawn at one stop of its scrubber, with the layers that are switched on."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.core import FloatArray
from dpviz.plots.scene import Axis, Kind, Layer, Scene


@dataclass(frozen=True, slots=True, eq=False)
class SeenLayer:
    """A layer with the row that is shown of it."""

    layer: Layer
    row: int

    def array(self, name: str) -> NDArray[Any]:
        """Return the shown row of an array, without its row axis; positions as float64."""
        array = self.layer.arrays[name]
        row = array[0 if array.shape[0] == 1 else self.row]
        return np.asarray(row, dtype=np.float64) if array.dtype.kind == "f" else np.asarray(row)

    @property
    def n_marks(self) -> int:
        """Number of marks, curves or records."""
        if self.layer.kind is Kind.CURSOR:
            return 1
        return int(next(iter(self.layer.arrays.values())).shape[1])

    @property
    def groups(self) -> NDArray[np.intp]:
        """The cluster whose color each mark wears (m,): what the group array says, else its index."""
        if self.layer.kind is not Kind.GRID and "group" in self.layer.arrays:
            return self.array("group").astype(np.intp)
        return np.arange(self.n_marks)

    def name(self, i: int, group_names: tuple[str, ...]) -> str:
        """Return what mark i is called, '' where it has no name."""
        if i < len(self.layer.names):
            return self.layer.names[i]
        one_each = self.layer.isolate and self.layer.kind not in (Kind.POINTS, Kind.GRID)
        return group_names[i] if one_each and i < len(group_names) else ""


def switched_off(scene: Scene) -> frozenset[str]:
    """Return the names of the layers that are off until the reader asks for them."""
    return frozenset(layer.name for layer in scene.layers if not layer.shown)


def seen(scene: Scene, frame: int | None = None, hidden: Collection[str] | None = None) -> tuple[SeenLayer, ...]:
    """Return what is drawn, from back to front; `frame` None is the scene's first, `hidden` None what begins hidden.

    Raises ValueError for a frame that the scene has not.
    """
    at = scene.start_frame if frame is None else frame
    if not 0 <= at < len(scene.frames):
        raise ValueError(f"frame was {at}, but the scene has frames 0 to {len(scene.frames) - 1}.")
    off = switched_off(scene) if hidden is None else hidden
    shown = [SeenLayer(layer, int(layer.rows[at])) for layer in in_order(scene.layers) if layer.name not in off]
    return tuple(one for one in shown if one.row >= 0)


def in_order(layers: tuple[Layer, ...]) -> tuple[Layer, ...]:
    """Return layers from back to front: as a scene has them, but no band in front of a line."""
    first = next((i for i, layer in enumerate(layers) if layer.kind is Kind.LINES), len(layers))
    rest = layers[first:]
    bands = tuple(layer for layer in rest if layer.kind is Kind.BANDS)
    return (*layers[:first], *bands, *(layer for layer in rest if layer.kind is not Kind.BANDS))


def to_data(axis: Axis, at: Any) -> FloatArray:
    """Return the data values of scene coordinates."""
    low, high = axis.values
    values = low + (high - low) * np.asarray(at, dtype=np.float64)
    with np.errstate(over="ignore"):
        return np.asarray(10.0**values if axis.log else values)


def axis_title(axis: Axis) -> str:
    """Return an axis's label with its unit."""
    return f"{axis.label} ({axis.unit})" if axis.unit else axis.label
