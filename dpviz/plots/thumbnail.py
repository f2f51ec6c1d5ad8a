"""A scene as a small picture without words: one SVG that steps through some of its stops by itself.

Nothing in it needs a script: the stops take turns by style rules, and a reader who asks for less motion sees the last.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

from dpviz.plots.scene import Kind, Layer, Scene
from dpviz.plots.seen import SeenLayer, in_order, switched_off
from dpviz.plots.svg import clean
from dpviz.plots.svg_marks import PixelPlane, draw
from dpviz.plots.theme import LIGHT, Theme

SECONDS = 1.1  # that one stop is shown; ours
LAST = 3  # turns that the last stop is shown for
MOST_POINTS = 500  # more are a cloud at this size; every so many are drawn


def thumbnail(
    scene: Scene,
    frames: Sequence[int],
    *,
    size: tuple[int, int],
    hidden: Collection[str] = (),
    theme: Theme = LIGHT,
) -> str:
    """Return the scene at these stops of its scrubber, one after another, in `size` pixels; `hidden` layers are off.

    Layers that begin hidden stay so. Raises ValueError for no stops, or one that the scene has not.
    """
    if not frames or not all(0 <= frame < len(scene.frames) for frame in frames):
        raise ValueError(
            f"frames were {list(frames)}, but there must be one at least, of 0 to {len(scene.frames) - 1}."
        )
    width, height = size
    off = {*switched_off(scene), *hidden}
    parts, turns = [], set()
    for place, layer in enumerate(map(_thinned, (each for each in in_order(scene.layers) if each.name not in off))):
        rows = [int(layer.rows[frame]) for frame in frames]
        for row in dict.fromkeys(row for row in rows if row >= 0):
            shown = tuple(each == row for each in rows)
            marks = "".join(draw(SeenLayer(layer, row), _plane(scene, width, height), theme, f"t{place}r{row}"))
            if all(shown):
                parts.append(marks)
            else:
                turns.add(shown)
                parts.append(f'<g class="{_name(shown)}">{marks}</g>')
    style = "".join(_turning(shown) for shown in sorted(turns))
    style += f"@media(prefers-reduced-motion:reduce){{{''.join(_resting(shown) for shown in sorted(turns))}}}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img"><title>{clean(scene.title)}</title><style>{style}</style>{"".join(parts)}</svg>'
    )


def _thinned(layer: Layer) -> Layer:
    if layer.kind is not Kind.POINTS:
        return layer
    step = -(-layer.arrays["xy"].shape[1] // MOST_POINTS) or 1
    return replace(layer, arrays={name: array[:, ::step] for name, array in layer.arrays.items()})


def _plane(scene: Scene, width: int, height: int) -> PixelPlane:
    """Show the whole view; where units are equal the view grows along the longer side."""
    (x0, x1), (y0, y1) = scene.x.view, scene.y.view
    if scene.equal:
        unit = min(width / (x1 - x0), height / (y1 - y0))
        across, up = (width / unit - (x1 - x0)) / 2, (height / unit - (y1 - y0)) / 2
        x0, x1, y0, y1 = x0 - across, x1 + across, y0 - up, y1 + up
    return PixelPlane(0.0, 0.0, width, height, x0, x1, y0, y1)


def _name(shown: tuple[bool, ...]) -> str:
    return "s" + "".join("1" if each else "0" for each in shown)


def _turning(shown: tuple[bool, ...]) -> str:
    """Return the rules of what is seen in these turns only; the last turn takes longer than the others."""
    name, n = _name(shown), len(shown) + LAST - 1
    steps = [
        f"{100.0 * turn / n:.4g}%{{visibility:{'visible' if seen else 'hidden'}}}" for turn, seen in enumerate(shown)
    ]
    end = f"100%{{visibility:{'visible' if shown[-1] else 'hidden'}}}"
    return f".{name}{{animation:{name} {n * SECONDS:g}s step-end infinite}}@keyframes {name}{{{''.join(steps)}{end}}}"


def _resting(shown: tuple[bool, ...]) -> str:
    return f".{_name(shown)}{{animation:none;visibility:{'visible' if shown[-1] else 'hidden'}}}"
