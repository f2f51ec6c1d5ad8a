"""DPM run many times with other noise: where it cuts, how many clusters it finds, which cuts come again."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpviz.core import Box, FloatArray, Points, frozen
from dpviz.methods.dpm import algorithm as dpm
from dpviz.methods.dpm.story.cells import Cells
from dpviz.methods.dpm.story.told import TreeContext
from dpviz.plots import Audience, Axis, Kind, Layer, Role, Scene, always
from dpviz.stories.outcomes import Figure
from dpviz.stories.plane import Plane
from dpviz.stories.view import View

SIDE = 96  # columns and rows of the heat; ours
COST = Figure("cost", "× k-means'", "the cost is more than", mark=1.0, mark_name="k-means")
NEAR = 0.02  # of the axis: two cuts no farther apart are the same one; ours


@dataclass(frozen=True, slots=True, eq=False)
class ManyCuts:
    """The applied cuts of R runs, box units; each run is one more release, so all of it is the curator's."""

    n_clusters: NDArray[np.intp]  # (R,)
    runs: NDArray[np.intp]  # (c,) the run of each cut
    axes: NDArray[np.intp]  # (c,)
    positions: FloatArray  # (c,)
    low: FloatArray  # (c, d) the cell that was cut
    high: FloatArray  # (c, d)

    @classmethod
    def joined(cls, parts: Sequence["ManyCuts"]) -> "ManyCuts":
        """Put runs together."""
        firsts = np.cumsum([0, *(len(part.n_clusters) for part in parts)])

        def both(name: str) -> NDArray[np.generic]:
            return frozen(np.concatenate([getattr(part, name) for part in parts]))

        runs = np.concatenate([part.runs + first for part, first in zip(parts, firsts, strict=False)])
        rest = {name: both(name) for name in ("n_clusters", "axes", "positions", "low", "high")}
        return cls(runs=frozen(runs), **rest)  # type: ignore[arg-type]


def run_many(points: Points, box: Box, params: dpm.Params, *, n_runs: int, seed: tuple[int, ...]) -> ManyCuts:
    """Run DPM `n_runs` times with noise from `seed`."""
    found = []
    for rng in np.random.default_rng(seed).spawn(n_runs):
        release = dpm.fit(points, box, params, rng=rng).release
        cells = Cells.of(release.tree, box)
        cut = np.flatnonzero(cells.applied)
        found.append(
            ManyCuts(
                np.array([len(release.centers)]),
                np.zeros(len(cut), dtype=np.intp),
                cells.axes[cut],
                cells.positions[cut],
                cells.low[cut],
                cells.high[cut],
            )
        )
    return ManyCuts.joined(found)


def again(told: TreeContext, many: ManyCuts) -> tuple[tuple[int, ...], FloatArray]:
    """Return the shown run's applied cuts (c,), by node, and the share of runs that have each again (c,).

    A run has a cut again if one of its own is along the same feature, no farther than NEAR of the axis away, and its
    cell holds the middle of the shown cut in all other features.
    """
    cells = told.cells
    nodes = np.flatnonzero(cells.applied)
    shares = np.zeros(len(nodes))
    for i, node in enumerate(nodes):
        axis = int(cells.axes[node])
        others = np.arange(cells.low.shape[1]) != axis
        middle = (cells.low[node] + cells.high[node])[others] / 2.0
        same = (many.axes == axis) & (np.abs(many.positions - cells.positions[node]) <= NEAR)
        same &= ((many.low[:, others] <= middle) & (middle <= many.high[:, others])).all(axis=1)
        shares[i] = len(np.unique(many.runs[same])) / max(len(many.n_clusters), 1)
    return tuple(int(node) for node in nodes), shares


def heat(many: ManyCuts, features: tuple[int, ...]) -> FloatArray:
    """Return the share of runs with a cut through each part of a plane of one or two features (rows, SIDE)."""
    rows = 1 if len(features) == 1 else SIDE
    passed = np.zeros((len(many.n_clusters), rows, SIDE), dtype=bool)
    for run, axis, position, low, high in zip(many.runs, many.axes, many.positions, many.low, many.high, strict=True):
        if axis not in features:
            continue
        at = min(int(position * SIDE), SIDE - 1)
        if rows == 1:
            passed[run, 0, at] = True
            continue
        other = features[1] if axis == features[0] else features[0]
        first, last = int(low[other] * SIDE), int(np.ceil(high[other] * SIDE))
        if axis == features[0]:
            passed[run, first:last, at] = True
        else:
            passed[run, at, first:last] = True
    return np.asarray(passed.mean(axis=0)) if len(passed) else np.zeros((rows, SIDE))


def heat_chart(told: TreeContext, many: ManyCuts, view: View) -> Scene:
    """Return where the runs cut, in two features, with the shown run's cuts on top: the curator's."""
    flat = View(view.x, view.y)
    plane = Plane.of(flat, told.words)
    share = heat(many, plane.features)
    value = np.rint(255.0 * np.sqrt(share)).astype(np.uint8)[None, None]
    cuts = np.where(told.cells.applied[:, None, None], told.cells.drawn(plane), np.nan)
    square = np.array([[[0.0, 0.0, 1.0, 1.0]]])
    hidden = told.words.box.d > len(plane.features)
    more = f" Cuts along the other {told.words.box.d - len(plane.features)} features are not here." if hidden else ""
    n_runs = len(many.n_clusters)
    shown = {"xy": cuts[None]}
    layers = (
        Layer(
            "Cuts of all runs",
            Kind.GRID,
            Role.NOISE,
            Audience.CURATOR,
            {"rect": square, "value": value},
            always(1),
            isolate=False,
        ),
        Layer("Cuts shown above", Kind.LINES, Role.RELEASED, Audience.RELEASED, shown, always(1), size=1.5, dash=True),
    )
    return Scene(
        title="Where the runs cut",
        alt=f"Heat map of the places where {n_runs} runs with other noise cut the box.",
        caption=f"The stronger the shade, the more of {n_runs} runs cut there: shades are square roots.{more}",
        x=plane.projection.x,
        y=plane.projection.y,
        axes_public=False,  # every run is one more release
        layers=layers,
        scrubber=False,
    )


def k_chart(told: TreeContext, many: ManyCuts) -> Scene:
    """Return how many clusters the runs found, beside the shown run's number and that of the known classes."""
    found, counts = np.unique(many.n_clusters, return_counts=True)
    known = [] if told.classes is None or not len(told.classes) else [len(np.unique(told.classes))]
    low, high = min([*found, told.k, *known]), max([*found, told.k, *known])
    top = float(counts.max())
    rect = np.stack([found - 0.38, np.zeros(len(found)), found + 0.38, counts], axis=1)[None].astype(np.float64)
    layers = [
        Layer(
            "Runs",
            Kind.BARS,
            Role.NOISE,
            Audience.CURATOR,
            {"rect": rect},
            always(1),
            fill=0.5,
            isolate=False,
            names=tuple(f"{n} runs find {k}" for k, n in zip(found, counts, strict=True)),
        )
    ]
    rules = [("Shown run", told.k, Role.RELEASED, Audience.RELEASED, 6.0)]
    if known:  # on top, and thinner, as both are often the same number
        rules.append(("Known classes", known[0], Role.EXACT, Audience.CURATOR, 2.0))
    for name, k, role, audience, size in rules:
        xy = np.array([[[[k, 0.0], [k, 1.1 * top]]]], dtype=np.float64)
        layers.append(Layer(name, Kind.LINES, role, audience, {"xy": xy}, always(1), size=size, isolate=False))
    return Scene(
        title="Clusters found",
        alt=f"Bar chart of the number of clusters that {len(many.n_clusters)} runs found.",
        caption="Runs with the same knobs and other noise.",
        x=Axis("clusters", view=(float(low) - 0.8, float(high) + 0.8), whole=True),
        y=Axis("runs", view=(0.0, 1.12 * top), whole=True),
        axes_public=False,
        layers=tuple(layers),
        equal=False,
        scrubber=False,
    )
