"""Colors, symbols and sizes of a static picture, as in the live one."""

import numpy as np
from numpy.typing import NDArray

from dpviz.assets import LOOK
from dpviz.core import immutable_value
from dpviz.plots.scene import SHADES, Audience, Kind, Layer, Role

# Group of a mark that does not belong to any cluster.
NO_GROUP = 255
SIZES, OPACITIES = LOOK["sizes"], LOOK["opacities"]
# Up to this many points have shapes; more points are dots.
SHAPED_POINTS: int = SIZES["point"]["shaped"]
GROUP_SYMBOLS: tuple[str, ...] = tuple(LOOK["symbols"]["groups"])
STROKED = frozenset(LOOK["symbols"]["stroked"])


@immutable_value
class Theme:
    """One set of colors, #rrggbb."""

    name: str
    background: str
    text: str
    roles: dict[Role, str]
    clusters: tuple[str, ...]
    # Opacity of the text's color in grid lines.
    grid: float
    # Opacity of records.
    points: float
    # Color of a record that may belong to any cluster.
    drained: str
    # Ground near a light, and far from all of them.
    lit: str
    unlit: str

    def color(self, layer: Layer, group: int) -> str:
        """Return the color of a layer's mark in cluster `group`; palettes start at the layer's hue."""
        if layer.role is Role.CLUSTER:
            if group != NO_GROUP:
                return self.clusters[(group + layer.hue) % len(self.clusters)]
            # Gray means secret.
            return self.roles[Role.EXACT] if layer.audience is Audience.CURATOR else self.text
        if layer.role is Role.EXACT and layer.symbol == "ring" and layer.kind is Kind.MARKS:
            # A true average lies on blue.
            return self.text
        return self.roles.get(layer.role, self.text)

    def shaded(self, color: str, shade: int) -> str:
        """Return a color that has lost `shade` of its SHADES parts."""
        return mixed(color, self.drained, shade / SHADES)

    def ground(self, steps: int) -> list[str]:
        """Return the tones of a light of so many steps, the darkest first, (steps + 1,)."""
        return [mixed(self.unlit, self.lit, step / steps) for step in range(steps + 1)]

    def colors(self, layer: Layer) -> NDArray[np.str_]:
        """Return the color of a layer's marks in each cluster, (256,)."""
        return np.array([self.color(layer, group) for group in range(256)])


def _theme(name: str) -> Theme:
    own = LOOK["themes"][name]
    roles = {role: own[role.value] for role in Role if role.value in own}
    same = {key: own[key] for key in ("text", "points", "drained", "lit", "unlit")}
    return Theme(name, own["box"], roles=roles, clusters=tuple(own["clusters"]), grid=own["paperGrid"], **same)


LIGHT, DARK = _theme("light"), _theme("dark")


def rgb(color: str) -> tuple[int, int, int]:
    """Return red, green, blue of #rrggbb."""
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)


def mixed(one: str, other: str, share: float) -> str:
    """Return the color that is `share` of the way from one #rrggbb to the other."""
    parts = zip(rgb(one), rgb(other), strict=True)
    return "#" + "".join(f"{round(a + share * (b - a)):02x}" for a, b in parts)


def is_dashed(layer: Layer) -> bool:
    """Return True if a layer's lines are dashed. Lines of exact values always are."""
    return layer.dash or layer.role is Role.EXACT


def stroke_width(layer: Layer) -> float:
    """Return the width of a layer's lines, pixels."""
    return float(SIZES["line"]["width"] if layer.size == SIZES["default"] else layer.size)


def grown_by(side: float) -> float:
    """Return the size factor of marks in a picture whose shorter side is `side` pixels long."""
    grown = SIZES["grown"]
    return float(min(max(side / grown["px"], grown["least"]), grown["most"]))


def mark_size(layer: Layer) -> float:
    """Return the diameter of a layer's symbols, pixels."""
    return float(SIZES["mark"]["diameter"] if layer.size == SIZES["default"] else layer.size)


def point_size(layer: Layer, n: int) -> float:
    """Return the diameter of a record, pixels, which is smaller if there are more records."""
    sizes = SIZES["point"]
    if layer.size != SIZES["default"]:
        return float(min(layer.size, sizes["mostDot"]) if n > SHAPED_POINTS else layer.size)
    return float(next((size for most, size in sizes["steps"] if n <= most), sizes["least"]))


def legend_words(layer: Layer) -> str:
    """Return a layer's name for a legend without a lock symbol."""
    return f"{layer.name} (secret)" if layer.audience is Audience.CURATOR else layer.name
