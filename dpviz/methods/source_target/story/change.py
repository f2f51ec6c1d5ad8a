"""One source record more, less or elsewhere, with the same noise: what changes in the release, and what it costs."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.core import Box, Confidential, FloatArray, Points, Result
from dpviz.methods.source_target import algorithm
from dpviz.methods.source_target.algorithm import Params, SourceTargetRelease, Step
from dpviz.methods.source_target.story.told import SELECT_SEED, cost_of
from dpviz.plots import Audience, Frame, Kind, Layer, Role, Scene
from dpviz.solvers import nearest_distance, select_centers
from dpviz.stories.ground_layers import MOST_DRAWN, NO_GROUP, box_layer
from dpviz.stories.panel import number
from dpviz.stories.stage import Clock, Seen, Stage
from dpviz.stories.view import View, Words, project, spread

HERE = Seen(Role.RELEASED, Audience.CURATOR)  # with known noise both releases are the curator's
PLACES = Seen(Role.PUBLIC, Audience.CURATOR)
EXACT = Seen(Role.EXACT, Audience.CURATOR)
LOST = Seen(Role.VIOLATION, Audience.CURATOR)
CLOCK = Clock(1, ("both",))
ALWAYS, BEFORE, BOTH, AFTER = CLOCK.always(), {0: 0, 1: 0}, {1: 0}, {1: 0, 2: 0}  # frame -> row
FRAMES = (
    Frame("Before", "The release with the record where it is."),
    Frame("Both", "The same noise on both sources."),
    Frame("After", "The release without the record, or with the record elsewhere."),
)


@dataclass(frozen=True, slots=True, eq=False)
class SourceChange(Confidential):
    """Two neighboring sources under the same noise; everything is the curator's."""

    row: int
    nonprivate_before: Points  # (m, d) data units
    nonprivate_after: Points  # (m - 1, d), or (m, d) where the record was moved
    before: Result[SourceTargetRelease, Step]
    after: Result[SourceTargetRelease, Step]
    nonprivate_costs: FloatArray  # (3, 2) of the choice before, the choice after and the best, on either source

    @property
    def n_centers_changed(self) -> int:
        """How many new centers are others."""
        return len(np.setdiff1d(self.after.release.selected, self.before.release.selected))

    @property
    def shared(self) -> tuple[FloatArray, FloatArray]:
        """Return the released points (s, d) of targets that have one before and after, in the same order."""
        first, second = self.before.release, self.after.release
        _, left, right = np.intersect1d(first.origins, second.origins, return_indices=True)
        return first.centers[left], second.centers[right]

    @property
    def farthest(self) -> float:
        """Return how far the released point that moves most does, data units; 0 without any."""
        first, second = self.shared
        return float(np.linalg.norm(first - second, axis=1).max(initial=0.0))


def change(points: Points, box: Box, params: Params, row: int, place: Points | None, seed: int) -> SourceChange:
    """Take record `row` of the source (m, d) away, or move it to `place` (d,), data units, and run both with one seed.

    Noise is drawn for the targets' averages, so that it does not depend on the source: both runs have the same.
    """
    if place is None:
        other = np.delete(points, row, axis=0)
    else:
        other = points.copy()
        other[row] = place
    worlds = (points, other)
    before, after = (algorithm.fit(each, box, params, rng=np.random.default_rng(seed)) for each in worlds)
    targets, costs = params.targets, np.empty((3, 2))
    for column, each in enumerate(worlds):
        distances = nearest_distance(targets, each)
        rng = np.random.default_rng(SELECT_SEED)
        best = select_centers(targets, each, params.n_centers, solver=params.solver, rng=rng)
        for line, chosen in enumerate((before.release.selected, after.release.selected, best)):
            costs[line, column] = cost_of(distances, targets, chosen)
    return SourceChange(row, points, other, before, after, costs)


def change_scene(seen: SourceChange, params: Params, words: Words, view: View) -> Scene:
    """Draw both releases over each other; the curator's, because the noise is known."""
    plane = project(view, words, words.box.to_unit(seen.nonprivate_before))
    stage, unit = Stage(plane, CLOCK), words.box.to_unit
    first, second = seen.before.release, seen.after.release
    source = spread(unit(seen.nonprivate_before), plane)[None]
    every = max(1, -(-source.shape[1] // MOST_DRAWN))
    lost = np.setdiff1d(first.origins, second.origins)
    gained = np.setdiff1d(second.origins, first.origins)
    left, right = seen.shared
    layers = [
        *box_layer(stage, public=words.box_public),
        _dots("Source record", EXACT, source[:, ::every], stage, 3.0),
        _dots("Target", PLACES, stage.projection(unit(params.targets))[None], stage, 4.0, symbol="square"),
        stage.arrows("Moves", HERE, BOTH, unit(left)[None], unit(right)[None], size=1.5, isolate=False),
        _marks("Average before", HERE, BEFORE, unit(first.centers), stage, "diamond", 8.0),
        _marks("Average after", HERE, {2: 0}, unit(second.centers), stage, "diamond", 8.0),
        _marks("Released before only", LOST, BEFORE, unit(params.targets[lost]), stage, "cross", 9.0),
        _marks("Released after only", LOST, AFTER, unit(params.targets[gained]), stage, "square", 9.0),
        _marks("New centers before", HERE, BEFORE, unit(params.targets[first.selected]), stage, "circle", 11.0),
        _marks("New centers after", HERE, AFTER, unit(params.targets[second.selected]), stage, "ring", 18.0),
        stage.layer(
            "The record",
            Kind.MARKS,
            EXACT.role,
            EXACT.audience,
            BEFORE,
            {"xy": source[:, [seen.row]]},
            symbol="ring",
            size=14.0,
            isolate=False,
        ),
    ]
    if len(seen.nonprivate_after) == len(seen.nonprivate_before):
        ends = unit(np.stack([seen.nonprivate_before[seen.row], seen.nonprivate_after[seen.row]]))
        layers.append(stage.arrows("It moves", EXACT, BOTH, ends[None, :1], ends[None, 1:], size=2.0, isolate=False))
    return Scene(
        title="One record, the same noise",
        alt=f"Both releases over each other: {seen.n_centers_changed} of {len(second.selected)} new centers differ.",
        caption="Filled: before. Rings: after. Red: a mean that passes the threshold on one side only.",
        x=plane.x,
        y=plane.y,
        axes_public=False,
        layers=tuple(layers),
        frames=FRAMES,
        start_frame=1,
    )


def rows_of(seen: SourceChange, unit: str) -> list[dict[str, str]]:
    """Return a table: what the choice before, the choice after and the best cost on either source."""
    names = ("Chosen before", "Chosen after", "Best, no privacy")
    return [
        {"": name, "Cost before": f"{number(float(line[0]))}{unit}", "Cost after": f"{number(float(line[1]))}{unit}"}
        for name, line in zip(names, seen.nonprivate_costs, strict=True)
    ]


def observation(k: int, epsilon: float, delta: float) -> tuple[float, float]:
    """Return (extra cost in a ball of radius 1, least probability) of observation 4.2, for k <= 6 in the plane.

    Of the two sources with and without the record, any (epsilon, delta)-DP choice costs at least 1/(2k + 4) more than
    the best on one, with probability at least (1 - 2 delta)/(2 e^epsilon).
    """
    return 1.0 / (2 * k + 4), max(0.0, (1.0 - 2.0 * delta) / 2.0) * math.exp(-epsilon)


def _dots(name: str, seen: Seen, xy: FloatArray, stage: Stage, size: float, **style: Any) -> Layer:
    arrays: dict[str, NDArray[Any]] = {"xy": xy, "group": np.full(xy.shape[:2], NO_GROUP, dtype=np.uint8)}
    return stage.layer(name, Kind.POINTS, seen.role, seen.audience, ALWAYS, arrays, size=size, isolate=False, **style)


def _marks(name: str, seen: Seen, rows: dict[int, int], unit: Points, stage: Stage, symbol: str, size: float) -> Layer:
    return stage.marks(name, seen, rows, unit[None], symbol=symbol, size=size, isolate=False)
