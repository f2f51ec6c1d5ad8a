"""Marks of a small drawing in the colors of all pictures: gray secret, blue released, orange noise, green public."""

import math
from collections.abc import Iterable

from dpviz.plots.scene import Role
from dpviz.plots.theme import DARK, LIGHT, Theme

EXACT, RELEASED, NOISE, PUBLIC, BROKEN, TEXT, ONE, TWO = "e", "r", "n", "p", "v", "t", "a", "b"
_ROLES = {EXACT: Role.EXACT, RELEASED: Role.RELEASED, NOISE: Role.NOISE, PUBLIC: Role.PUBLIC, BROKEN: Role.VIOLATION}


def _colors(theme: Theme, marks: str) -> str:
    named = {name: theme.roles[role] for name, role in _ROLES.items()}
    named |= {TEXT: theme.text, ONE: theme.clusters[0], TWO: theme.clusters[1]}
    return "".join(f".{name}{{--c:{color}}}" for name, color in named.items() if f' {name}"' in marks)


def style(marks: str) -> str:
    """Return the rules of what is drawn; inside of an image they follow the scheme of the element that shows it."""
    return (
        "*{stroke-width:1.8;stroke-linecap:round;fill:none}.f{fill:var(--c)}.s{stroke:var(--c)}.o{opacity:.3}"
        "text{font:600 13px system-ui,sans-serif}"
        f"{_colors(LIGHT, marks)}@media(prefers-color-scheme:dark){{{_colors(DARK, marks)}}}"
    )


def dots(places: Iterable[tuple[float, float]], color: str, r: float = 3.0) -> str:
    """Draw filled dots of radius `r`."""
    return "".join(f'<circle class="f {color}" cx="{x:g}" cy="{y:g}" r="{r:g}"/>' for x, y in places)


def ring(x: float, y: float, r: float, color: str) -> str:
    """Draw an empty circle of radius `r`."""
    return f'<circle class="s {color}" cx="{x:g}" cy="{y:g}" r="{r:g}"/>'


def disc(x: float, y: float, r: float, color: str) -> str:
    """Draw a circle filled with a light shade."""
    return f'<circle class="f o {color}" cx="{x:g}" cy="{y:g}" r="{r:g}"/>'


def path(at: Iterable[tuple[float, float]], color: str, *, dashed: bool = False) -> str:
    """Draw a line through these places."""
    line = "L".join(f"{x:.4g} {y:.4g}" for x, y in at)
    kind = ' stroke-dasharray="3 3"' if dashed else ""
    return f'<path class="s {color}" d="M{line}"{kind}/>'


def arrow(x0: float, y0: float, x1: float, y1: float, color: str) -> str:
    """Draw an arrow that ends at (x1, y1)."""
    along = math.atan2(y1 - y0, x1 - x0)
    ends = [(x1 - 6 * math.cos(along + turn), y1 - 6 * math.sin(along + turn)) for turn in (0.45, -0.45)]
    return path([(x0, y0), (x1, y1)], color) + path([ends[0], (x1, y1), ends[1]], color)


def box(x: float, y: float, width: float, height: float, color: str, *, filled: bool = False) -> str:
    """Draw a rectangle's border, or with `filled` its light shade."""
    kind = "f o" if filled else "s"
    return f'<rect class="{kind} {color}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="2"/>'


def star(x: float, y: float, color: str) -> str:
    """Draw the mark of a center."""
    return f'<path class="f {color}" d="M{x:g} {y - 6:g}l6 6-6 6-6-6z"/>'


def word(x: float, y: float, words: str, color: str = TEXT) -> str:
    """Write words in the middle above (x, y)."""
    return f'<text class="f {color}" x="{x:g}" y="{y:g}" text-anchor="middle">{words}</text>'
