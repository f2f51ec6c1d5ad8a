"""One method at every budget, with the same random numbers: a run for each stop, and pictures of all of them.

The runs are made in the background process: no Streamlit here. Every stop is one more release, so that all of it is
the curator's.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dpviz.core import Box, Centers, Confidential, FloatArray, Points, frozen, unit_records
from dpviz.methods import ALGORITHMS, run_class
from dpviz.metrics import nonprivate_cost
from dpviz.plots import SECRET, UNPAID, Audience, Axis, Frame, Kind, Layer, Plot, Role, Scene, always
from dpviz.solvers import assign
from dpviz.stories import ground_layers as ground
from dpviz.stories.center_facts import cost_ratio
from dpviz.stories.centers import CentersRun
from dpviz.stories.panel import cluster_names, number
from dpviz.stories.stage import Clock, Stage
from dpviz.stories.view import MARGIN, View, Words, project

NamedParams = tuple[tuple[str, Hashable], ...]  # the fields of a method's parameters

PACE_MS = 160.0  # from one budget to the next
SAME_NOISE = "The same random numbers at every ε."
HIGHEST = 1e6  # ratio of costs in the chart


@dataclass(frozen=True, slots=True, eq=False)
class State(Confidential):
    """A run at one budget: its release in box units, and the clusters of the sampled records."""

    epsilon: float
    centers: Centers  # (k, d) released, box units
    nonprivate_labels: NDArray[np.uint8]  # (m,) nearest released center of each sampled record
    nonprivate_cost: float  # of all records, box units squared


def state_at(
    points: Points, box: Box, method: str, params: NamedParams, epsilon: float, seed: int, n_stops: int
) -> State:
    """Run one of `ALGORITHMS` once, at one of `n_stops` budgets."""
    algorithm = ALGORITHMS[method]
    result = algorithm.fit(points, box, algorithm.Params(**dict(params)), rng=np.random.default_rng(seed))
    unit, centers = unit_records(points, box), box.to_unit(result.release.centers)
    labels = assign(unit, centers)
    sampled = labels[ground.sample(len(unit), n_stops)].astype(np.uint8)
    return State(epsilon, centers, sampled, nonprivate_cost(unit, centers, labels))


def lloyd_reference(points: Points, box: Box, method: str, params: NamedParams, seed: int) -> tuple[Centers, float]:
    """Return the centers (k, d), box units, of Lloyd's algorithm from the start of such a run, and k-means' cost."""
    algorithm = ALGORITHMS[method]
    full = algorithm.Params(**dict(params))
    result = algorithm.fit(points, box, full, rng=np.random.default_rng(seed))
    kind, words = run_class(method), Words("", box, (), ())
    run = kind.from_result(result, full, points, words, kind.find_reference(points, words, result, full))
    assert isinstance(run, CentersRun)  # the others do not play over ε
    return run.reference.nonprivate_centers, run.best_cost


def scene(
    states: Sequence[State], unit: Points, lloyd: Centers | None, words: Words, view: View, *, start: float
) -> Scene:
    """Return the moving picture of `states`, epsilon growing, over the records (n, d), box units: the curator's.

    `lloyd` (k, d) are the centers without privacy, box units, None where there are none to compare with; the picture
    begins at the epsilon nearest to `start`.
    """
    stops = _epsilons(states)
    stage = Stage(project(view, words, unit), Clock(len(states) - 2, ("stop",)))  # as many frames as states
    rows = {frame: frame for frame in range(len(states))}
    centers = np.stack([state.centers for state in states])  # (E, k, d)
    sampled = ground.sample(len(unit), len(states))
    labels = np.stack([state.nonprivate_labels for state in states])
    lloyds = []
    if lloyd is not None:
        always_rows, name = stage.clock.always(), "center without privacy"
        lloyds.append(stage.marks(name, SECRET, always_rows, lloyd[None], symbol="cross", isolate=False))
    layers = [
        *ground.box_layer(stage, public=words.box_public),
        ground.drawn_records(unit[sampled], labels, rows, stage, total=len(unit)),
        *ground.border_layer(UNPAID, rows, centers, stage),
        stage.layer("path as ε grows", Kind.TRAILS, UNPAID, rows, stage.projection(centers), size=1.5),
        *lloyds,
        stage.marks("center at this ε", UNPAID, rows, centers, size=12.0),
    ]
    return Scene(
        title="",
        alt=f"{words.title}: {centers.shape[1]} cluster centers at {len(states)} values of ε from "
        f"{number(stops[0])} to {number(stops[-1])}, with the same noise.",
        caption="ε grows, the random numbers stay. Each ε would be a separate release.",
        hint="Play, or drag the slider.",
        x=stage.projection.x,
        y=stage.projection.y,
        axes_public=False,
        layers=tuple(layers),
        frames=_frames(states),
        start_frame=nearest(stops, start),
        group_names=cluster_names(centers.shape[1]),
        pace=PACE_MS,
    )


def cost_chart(states: Sequence[State], floor: float) -> Scene:
    """Return the exact cost against epsilon, over k-means' cost `floor`; the chart follows the picture's stops."""
    stops = _epsilons(states)
    values = (float(np.log10(stops[0])), float(np.log10(stops[-1])))
    x = (np.log10(stops) - values[0]) / (values[1] - values[0])
    ratios = [cost_ratio(state.nonprivate_cost, floor) for state in states]
    y = np.log10(np.minimum(ratios, HIGHEST))
    low, high = 0.0, max(0.3, float(y.max()))
    pad = 0.06 * (high - low)
    fixed = always(len(states))
    layer = partial(Layer, audience=Audience.CURATOR, isolate=False)
    level = np.array([[-MARGIN, 0.0], [1.0 + MARGIN, 0.0]])[None, None]
    moving = np.arange(len(states), dtype=np.int16)
    curve = np.stack([x, y], axis=1)
    return Plot(
        title="Cost at each ε",
        alt="Line chart of the clustering cost against ε.",
        caption="1 is k-means' cost without privacy. One run: other noise would draw another line.",
        x=Axis("ε", "", (-MARGIN, 1.0 + MARGIN), values, log=True),
        y=Axis("cost", "× k-means", (low - pad, high + pad), log=True),
        axes_public=False,
        layers=(
            layer("k-means' cost", Kind.LINES, Role.REFERENCE, arrays={"xy": level}, rows=fixed, size=1.0),
            layer("Cost", Kind.LINES, Role.EXACT, arrays={"xy": curve[None, None]}, rows=fixed, size=2.0),
            layer("Now", Kind.MARKS, Role.RELEASED, arrays={"xy": curve[:, None]}, rows=moving, size=9.0),
            layer("ε", Kind.CURSOR, Role.REFERENCE, arrays={"x": x}, rows=moving, legend=False),
        ),
        frames=_frames(states),
    )


def nearest(stops: FloatArray, epsilon: float) -> int:
    """Return the index of the stop nearest to epsilon in ratio; the lowest where epsilon is not positive."""
    return int(np.abs(np.log(stops) - np.log(max(epsilon, 1e-12))).argmin())


def _epsilons(states: Sequence[State]) -> FloatArray:
    """Return the stops (E,); raises ValueError for fewer than two, or where they do not grow."""
    stops = np.array([state.epsilon for state in states])
    if len(stops) < 2 or not (np.diff(stops) > 0).all() or stops[0] <= 0:
        raise ValueError(f"The stops were {stops.tolist()}, but there must be two or more that grow from above 0.")
    return frozen(stops)


def _frames(states: Sequence[State]) -> tuple[Frame, ...]:
    return tuple(Frame(f"ε = {number(state.epsilon)}", SAME_NOISE) for state in states)
