"""Compare's other pictures: small frontiers along a second parameter, the private curve of k, and one run's centers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpviz.accounting import spent_epsilon
from dpviz.baselines.k_curve import CurveRelease, KCurve
from dpviz.core import Adjacency, Centers, Labels, Points
from dpviz.plots import RELEASED, Audience, Axis, Kind, Layer, Plot, Role, Scene, always
from dpviz.stories import ground_layers as ground
from dpviz.stories.ledger import leaves, words_of
from dpviz.stories.panel import ceiled, cluster_names, number
from dpviz.stories.stage import Clock, Stage
from dpviz.stories.view import View, Words, project
from dpviz.tools.compare.frontier import Series, frontier, ranking

MARK = 6.0  # CSS pixels
N_COLORS = 255  # of clusters; the number after the last is no color
MECHANISM = (
    "One noisy histogram of the records on a public grid, then k-means on its cells for each k. Only the histogram "
    "reads the records, so that all values of k together cost one ε. Each new curve is one more release."
)


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """One value of the second parameter, and the methods' lines at it. The curator's."""

    words: str  # such as "Clusters k = 3"
    series: tuple[Series, ...]


def small_multiples(panels: Sequence[Panel], adjacency: str) -> tuple[Scene | None, ...]:
    """Return a frontier for each panel, None without a line; equal heights mean equal costs in all of them.

    Nothing in them can be clicked, and the picture above has their legend.
    """
    every = tuple(one for panel in panels for one in panel.series)
    scenes: list[Scene | None] = []
    for panel in panels:
        if not panel.series:
            scenes.append(None)
            continue
        scene = frontier(panel.series, adjacency, within=every)
        layers = tuple(
            replace(layer, legend=False, pick="", size=MARK if layer.kind is Kind.MARKS else layer.size)
            for layer in scene.layers
        )
        words = f"{panel.words}: {scene.alt[0].lower()}{scene.alt[1:]}"
        scenes.append(replace(scene, title=panel.words, alt=words, caption="", hint="", layers=layers))
    return tuple(scenes)


def median_costs(panels: Sequence[Panel], epsilon: float) -> list[Mapping[str, str]]:
    """Return the median cost of each method at `epsilon`, a line for each panel; "" where no run could be made."""
    names = dict.fromkeys((one.legend for panel in panels for one in panel.series), "")
    lines: list[Mapping[str, str]] = []
    for panel in panels:
        costs = {
            one.legend: number(float(np.nanmedian(one.nonprivate_ratios[:, one.epsilons.index(epsilon)])))
            for one in panel.series
            if epsilon in one.epsilons
        }
        lines.append({"": panel.words, **names, **costs})
    return lines


def winners(panels: Sequence[Panel], epsilon: float, n_runs: int) -> str:
    """Say for how many values which proved line is lowest at `epsilon`: whether the parameter turns the order round.

    "" where no two can be ranked. A value counts when all of its methods have their `n_runs` runs.
    """
    counts: dict[str, int] = {}
    rankings = [ranking(panel.series, epsilon, n_runs) for panel in panels]
    for ranked in rankings:
        if ranked:
            counts[ranked[0].name] = counts.get(ranked[0].name, 0) + 1
    if max(map(len, rankings), default=0) < 2:
        return ""
    words = " and ".join(f"{name} in {count}" for name, count in counts.items())
    return f"Lowest median cost at ε = {number(epsilon)}: {words} of {sum(counts.values())} pictures."


def curve_scene(release: CurveRelease, k: int) -> Scene:
    """Return the private, released curve of cost against k with its knee, and a rule at the present `k`."""
    ks = np.arange(1, len(release.costs) + 1)
    xy = np.stack([ks.astype(np.float64), np.log10(release.costs)], axis=1)
    low, high = float(xy[:, 1].min()), float(xy[:, 1].max())
    pad = 0.06 * max(high - low, 0.1)
    names = tuple(
        f"k = {each}: {number(100.0 * cost)} % of the cost of one center"
        for each, cost in zip(ks, release.costs, strict=True)
    )
    at, released, frame = release.suggested - 1, Audience.RELEASED, always(1)
    now = {"x": np.array([float(k)])}
    line, marks, knee = {"xy": xy[None, None]}, {"xy": xy[None]}, {"xy": xy[None, at : at + 1]}
    layers = (
        Layer("Now", Kind.CURSOR, Role.REFERENCE, Audience.PUBLIC, now, frame, isolate=False),
        Layer("Private cost", Kind.LINES, Role.RELEASED, released, line, frame, isolate=False, legend=False),
        Layer("Private cost", Kind.MARKS, Role.RELEASED, released, marks, frame, isolate=False, size=8.0, names=names),
        Layer("Knee", Kind.MARKS, Role.REFERENCE, released, knee, frame, isolate=False, symbol="ring", size=19.0),
    )
    return Plot(
        title="Private cost against k",
        alt=f"Line chart of the private cost against k; the knee is at {release.suggested}.",
        caption=f"The knee is at k = {release.suggested}: a reading of the curve, not a proof of so many groups.",
        x=Axis("clusters k", view=(0.5, len(ks) + 0.5), whole=True),
        y=Axis("cost", "× that of one center", view=(low - pad, high + pad), log=True),
        layers=layers,
    )


def ledger(curves: Sequence[KCurve], adjacency: Adjacency) -> list[dict[str, str]]:
    """Return what every private curve has spent on what, a line each, and the sum."""
    lines = [
        {"Curve": str(i), "Spent on": words_of(leaf), "ε": ceiled(spent_epsilon((leaf,), adjacency))}
        for i, curve in enumerate(curves, start=1)
        for event in curve.events
        for leaf in leaves(event)
    ]
    total = spent_epsilon([event for curve in curves for event in curve.events], adjacency)
    return [*lines, {"Curve": "all", "Spent on": "Choosing k", "ε": ceiled(total)}]


def run_scene(
    title: str, unit: Points, centers: Centers, labels: Labels, words: Words, view: View | None = None
) -> Scene:
    """Return the records (n, d) in the color of their center's index `labels` (n,), and the centers (k, d); box units.

    The records are colored by what was released, and drawn where they are: the public sees the centers alone.
    """
    view = view or View()
    stage = Stage(project(view, words, unit), Clock(-1, ("release",)))  # one frame
    rows = stage.clock.always()
    layers = (
        *ground.box_layer(stage, public=words.box_public),
        ground.record_layer(unit, [np.asarray(labels) % N_COLORS], rows, stage),
        stage.marks("released center", RELEASED, rows, centers[None], size=12.0),
    )
    scene = Scene(
        title=title,
        alt=f"{words.title}: {len(centers)} released centers over the records.",
        caption="",
        x=stage.projection.x,
        y=stage.projection.y,
        layers=layers,
        scrubber=False,
        axes_public=words.box_public,
        group_names=cluster_names(len(centers)),
    )
    return ground.on_map(scene, words, view)
