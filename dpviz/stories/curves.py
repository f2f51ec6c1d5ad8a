"""Curves with bands, for any chart of something against something over many runs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpviz.core import FloatArray
from dpviz.plots import Audience, Axis, Kind, Layer, Role, Scene, always

BAND_FILL = 0.13
THIN, THICK = 2.0, 3.5  # CSS pixels


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """One line with its band, in the chart's own coordinates; NaN breaks it."""

    name: str
    hue: int  # its color in every chart
    x: FloatArray  # (p,)
    low: FloatArray  # (p,)
    middle: FloatArray  # (p,)
    high: FloatArray  # (p,)
    pick: str = ""  # what a click reports
    exact: bool = False  # gray and dashed: not private
    chosen: bool = False
    dashed: bool = False  # in its own color, but not to be held against the others


def layers_of(curves: Sequence[Curve], audience: Audience) -> tuple[tuple[Layer, ...], tuple[Layer, ...]]:
    """Return (bands, lines), so that a chart can put something between them."""
    return tuple(_band(curve, audience) for curve in curves), tuple(_line(curve, audience) for curve in curves)


def curve_chart(title: str, curves: Sequence[Curve], *, x: str, y: str, caption: str) -> Scene:
    """Return public curves over logarithmic axes; coordinates are decimal logarithms."""
    ends = [(np.nanmin(curve.x), np.nanmax(curve.x)) for curve in curves]
    heights = np.concatenate([np.concatenate([curve.low, curve.middle, curve.high]) for curve in curves])
    heights = heights[np.isfinite(heights)]
    low, high = (float(heights.min()), float(heights.max())) if len(heights) else (0.0, 1.0)
    pad = 0.04 * max(high - low, 0.1)
    bands, lines = layers_of(curves, Audience.PUBLIC)
    return Scene(
        title=title,
        alt=f"Line chart of {y} against {x}, for {', '.join(curve.name for curve in curves)}.",
        caption=caption,
        x=Axis(x, view=(min(at for at, _ in ends) - 0.03, max(at for _, at in ends) + 0.03), log=True),
        y=Axis(y, view=(low - pad, high + pad), log=True),
        layers=(*bands, *lines),
        equal=False,
        scrubber=False,
    )


def _band(curve: Curve, audience: Audience) -> Layer:
    return Layer(
        curve.name,
        Kind.BANDS,
        Role.EXACT if curve.exact else Role.CLUSTER,
        audience,
        {"edges": np.stack([curve.x, curve.low, curve.high], axis=1)[None, None]},
        always(1),
        fill=BAND_FILL,
        hue=curve.hue,
        legend=False,
        isolate=False,
    )


def _line(curve: Curve, audience: Audience) -> Layer:
    return Layer(
        curve.name,
        Kind.LINES,
        Role.EXACT if curve.exact else Role.CLUSTER,
        audience,
        {"xy": np.stack([curve.x, curve.middle], axis=1)[None, None]},
        always(1),
        size=THICK if curve.chosen else THIN,
        dash=curve.exact or curve.dashed,
        hue=curve.hue,
        isolate=False,
        pick=curve.pick,
    )
