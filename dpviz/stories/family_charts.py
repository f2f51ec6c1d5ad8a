"""Charts of many runs of many methods: medians as lines, the middle of the runs as bands, Lloyd's cost as 1."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpviz.core import Confidential, FloatArray
from dpviz.plots import Audience, Axis, Kind, Layer, Role, Scene, always
from dpviz.stories.curves import Curve, layers_of

BAND = (5.0, 95.0)  # percentiles of the runs
LOWEST_RATIO, HIGHEST_RATIO = 1e-3, 1e6  # of a cost to Lloyd's; a chart needs an end
LEAST_VIEW = (-0.05, 0.18)  # decades around Lloyd's cost: a smaller spread is not blown up


@dataclass(frozen=True, slots=True, eq=False)
class CostSpread(Confidential):
    """One method's runs along an axis: all exact costs, the curator's."""

    key: str  # what a click reports
    name: str
    hue: int  # its colour in every chart
    x: FloatArray  # (p,) iterations, or epsilons
    nonprivate_values: FloatArray  # (R, p) mean squared distances; NaN where a run has none
    exact: bool = False  # the method has no privacy: gray and dashed


def cost_by_iteration(spreads: Sequence[CostSpread], floor: float, *, longest: float, chosen: str = "") -> Scene:
    """Return the cost after each iteration up to `longest`, as multiples of `floor`: Lloyd's from the same start."""
    return _chart(
        spreads,
        floor,
        chosen,
        title="Cost after each iteration",
        x=Axis("iteration", view=(-0.25, longest + 0.25), whole=True),
        what="after each iteration",
        cursor=None,
    )


def cost_by_epsilon(
    spreads: Sequence[CostSpread], floor: float, *, epsilon: float, label: str, chosen: str = ""
) -> Scene:
    """Return the released centers' cost against `label`, as multiples of `floor`; a rule stands at `epsilon`."""
    logs = [np.log10(spread.x[[0, -1]]) for spread in spreads] or [np.array([-1.0, 1.0])]
    low, high = min(ends[0] for ends in logs), max(ends[1] for ends in logs)
    labels = [replace(spread, x=np.log10(spread.x)) for spread in spreads]
    return _chart(
        labels,
        floor,
        chosen,
        title=f"Cost of the release against {label}",
        x=Axis(label, view=(low - 0.06, high + 0.06), log=True),
        what=f"of the released centers against {label}",
        cursor=float(np.log10(epsilon)),
    )


def _chart(
    spreads: Sequence[CostSpread],
    floor: float,
    chosen: str,
    *,
    title: str,
    x: Axis,
    what: str,
    cursor: float | None,
) -> Scene:
    curves = [_curve(spread, floor, chosen=spread.key == chosen) for spread in spreads]
    ends = [value for curve in curves for value in (np.nanmin(curve.low), np.nanmax(curve.high))]
    ink = [*LEAST_VIEW, *(float(value) for value in ends if np.isfinite(value))]
    bands, lines = layers_of(curves, Audience.CURATOR)
    pad = 0.04 * (max(ink) - min(ink))
    return Scene(
        title=title,
        alt=f"Line chart of the clustering cost {what}, for {', '.join(spread.name for spread in spreads)}.",
        caption="Lines are medians, bands the middle 90 % of runs. 1 is Lloyd's cost from the same start.",
        hint="Click a line to see its method.",
        x=x,
        y=Axis("cost", "× Lloyd's", view=(min(ink) - pad, max(ink) + pad), log=True),
        axes_public=False,  # the axes end at exact costs
        layers=(*bands, *_rules(x, cursor), *lines),
        equal=False,
        scrubber=False,
    )


def _curve(spread: CostSpread, floor: float, *, chosen: bool) -> Curve:
    low, middle, high = percentiles(_ratios(spread.nonprivate_values, floor))
    return Curve(spread.name, spread.hue, spread.x, low, middle, high, spread.key, spread.exact, chosen)


def _ratios(values: FloatArray, floor: float) -> FloatArray:
    """Return decimal logarithms of costs over Lloyd's; where Lloyd's is 0, every other is the worst."""
    over = values / floor if floor > 0 else np.where(values > 0, HIGHEST_RATIO, values + 1.0)
    return np.asarray(np.log10(np.clip(over, LOWEST_RATIO, HIGHEST_RATIO)))


def percentiles(logs: FloatArray) -> FloatArray:
    """Return low, median and high (3, p) of values (R, p) over the runs, NaN where none has a value."""
    result = np.full((3, logs.shape[1]), np.nan)
    some = np.isfinite(logs).any(axis=0)
    result[:, some] = np.nanpercentile(logs[:, some], (BAND[0], 50.0, BAND[1]), axis=0)
    return result


def _rules(x: Axis, cursor: float | None) -> list[Layer]:
    """Lloyd's cost as a line over the whole width, and where epsilon stands now."""
    level = np.array([[x.view[0], 0.0], [x.view[1], 0.0]])[None, None]
    floor = Layer(
        "Lloyd's final cost",
        Kind.LINES,
        Role.REFERENCE,
        Audience.CURATOR,
        {"xy": level},
        always(1),
        size=1.0,
        isolate=False,
    )
    if cursor is None:
        return [floor]
    here = Layer(
        "Now", Kind.CURSOR, Role.REFERENCE, Audience.CURATOR, {"x": np.array([cursor])}, always(1), legend=False
    )
    return [floor, here]
