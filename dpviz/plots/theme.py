"""Colors, symbols and sizes of a static picture, as in the live one."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpviz.core.geometry import CLUSTERS_DARK, CLUSTERS_LIGHT
from dpviz.plots.scene import SHADES, Audience, Kind, Layer, Role

NO_GROUP = 255  # a mark that belongs to no cluster
DEFAULT_SIZE = 6.0  # of Layer.size: each kind then has its own width
GROWN_PX, LEAST_GROWN, MOST_GROWN = 560.0, 0.72, 1.44  # the picture that sizes are meant for, and their limits
SHAPED_POINTS = 6000  # up to here points have shapes, beyond they are dots
GROUP_SYMBOLS = ("circle", "square", "triangle", "diamond", "plus", "cross", "down", "star")
STROKED = frozenset({"ring", "cross", "plus"})


@dataclass(frozen=True, slots=True)
class Theme:
    """One set of colors, #rrggbb."""

    name: str
    background: str
    text: str
    roles: dict[Role, str]
    clusters: tuple[str, ...]
    grid: float  # opacity of the text's color in grid lines
    points: float  # opacity of records
    drained: str  # of a record that may belong to any cluster

    def color(self, layer: Layer, group: int) -> str:
        """Return the color of a layer's mark in cluster `group`; palettes start at the layer's hue."""
        if layer.role is Role.CLUSTER:
            if group != NO_GROUP:
                return self.clusters[(group + layer.hue) % len(self.clusters)]
            return self.roles[Role.EXACT] if layer.audience is Audience.CURATOR else self.text  # gray is secret
        if layer.role is Role.EXACT and layer.symbol == "ring" and layer.kind is Kind.MARKS:
            return self.text  # a true average: it lies on blue
        return self.roles.get(layer.role, self.text)

    def shaded(self, color: str, shade: int) -> str:
        """Return a color that has lost `shade` of SHADES parts of itself."""
        parts = zip(rgb(color), rgb(self.drained), strict=True)
        return "#" + "".join(f"{round(own + shade / SHADES * (gray - own)):02x}" for own, gray in parts)

    def colors(self, layer: Layer) -> NDArray[np.str_]:
        """Return the color of a layer's marks in each cluster, (256,)."""
        return np.array([self.color(layer, group) for group in range(256)])


LIGHT = Theme(
    "light",
    "#ffffff",
    "#1b2330",
    {
        Role.EXACT: "#737984",
        Role.RELEASED: "#0b5cad",
        Role.NOISE: "#d9770f",
        Role.PUBLIC: "#2f9e6b",
        Role.VIOLATION: "#c8102e",
    },
    CLUSTERS_LIGHT,
    grid=0.08,
    points=0.78,
    drained="#c9ccd1",
)
DARK = Theme(
    "dark",
    "#161c25",
    "#eceff4",
    {
        Role.EXACT: "#a3aab5",
        Role.RELEASED: "#3f95e0",
        Role.NOISE: "#f5a13d",
        Role.PUBLIC: "#5fdcab",
        Role.VIOLATION: "#f2545f",
    },
    CLUSTERS_DARK,
    grid=0.1,
    points=0.85,
    drained="#4b5462",
)


def rgb(color: str) -> tuple[int, int, int]:
    """Return red, green, blue of #rrggbb."""
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)


def is_dashed(layer: Layer) -> bool:
    """Whether a layer's lines are dashed: those of exact values always are."""
    return layer.dash or layer.role is Role.EXACT


def stroke_width(layer: Layer) -> float:
    """Return the width of a layer's lines, pixels."""
    return 1.75 if layer.size == DEFAULT_SIZE else layer.size


def grown_by(side: float) -> float:
    """Return how much larger marks are than their layers say in a picture whose shorter side has so many pixels."""
    return min(max(side / GROWN_PX, LEAST_GROWN), MOST_GROWN)


def mark_size(layer: Layer) -> float:
    """Return the diameter of a layer's symbols, pixels."""
    return 11.0 if layer.size == DEFAULT_SIZE else layer.size


def point_size(layer: Layer, n: int) -> float:
    """Return the diameter of a record, pixels: the more there are, the smaller."""
    if layer.size != DEFAULT_SIZE:
        return min(layer.size, 3.0) if n > SHAPED_POINTS else layer.size
    steps = ((600, 6.5), (1500, 5.5), (SHAPED_POINTS, 4.5), (12_000, 2.5))
    return next((size for most, size in steps if n <= most), 2.0)


def legend_words(layer: Layer) -> str:
    """Return a layer's name for a legend without a lock symbol."""
    return f"{layer.name} (secret)" if layer.audience is Audience.CURATOR else layer.name
