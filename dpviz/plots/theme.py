"""Colors, symbols and sizes of a static picture, as in the live one."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpviz.assets import LOOK
from dpviz.plots.scene import SHADES, Audience, Kind, Layer, Role

NO_GROUP = 255  # a mark that belongs to no cluster
SIZES, OPACITIES = LOOK["sizes"], LOOK["opacities"]
SHAPED_POINTS: int = SIZES["point"]["shaped"]  # up to here points have shapes, beyond they are dots
GROUP_SYMBOLS: tuple[str, ...] = tuple(LOOK["symbols"]["groups"])
STROKED = frozenset(LOOK["symbols"]["stroked"])


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


def _theme(name: str) -> Theme:
    own = LOOK["themes"][name]
    roles = {role: own[role.value] for role in Role if role.value in own}
    return Theme(
        name, own["box"], own["text"], roles, tuple(own["clusters"]), own["paperGrid"], own["points"], own["drained"]
    )


LIGHT, DARK = _theme("light"), _theme("dark")


def rgb(color: str) -> tuple[int, int, int]:
    """Return red, green, blue of #rrggbb."""
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)


def is_dashed(layer: Layer) -> bool:
    """Whether a layer's lines are dashed: those of exact values always are."""
    return layer.dash or layer.role is Role.EXACT


def stroke_width(layer: Layer) -> float:
    """Return the width of a layer's lines, pixels."""
    return float(SIZES["line"]["width"] if layer.size == SIZES["default"] else layer.size)


def grown_by(side: float) -> float:
    """Return how much larger marks are than their layers say in a picture whose shorter side has so many pixels."""
    grown = SIZES["grown"]
    return float(min(max(side / grown["px"], grown["least"]), grown["most"]))


def mark_size(layer: Layer) -> float:
    """Return the diameter of a layer's symbols, pixels."""
    return float(SIZES["mark"]["diameter"] if layer.size == SIZES["default"] else layer.size)


def point_size(layer: Layer, n: int) -> float:
    """Return the diameter of a record, pixels: the more there are, the smaller."""
    sizes = SIZES["point"]
    if layer.size != SIZES["default"]:
        return float(min(layer.size, sizes["mostDot"]) if n > SHAPED_POINTS else layer.size)
    return float(next((size for most, size in sizes["steps"] if n <= most), sizes["least"]))


def legend_words(layer: Layer) -> str:
    """Return a layer's name for a legend without a lock symbol."""
    return f"{layer.name} (secret)" if layer.audience is Audience.CURATOR else layer.name
