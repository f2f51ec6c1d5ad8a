"""Effect of one source record more, less or elsewhere, with the same noise, on the release and its cost."""

import math

import numpy as np

from dpviz.core import Box, Confidential, FloatArray, Points, Result, immutable
from dpviz.methods.source_target import algorithm
from dpviz.methods.source_target.algorithm import Params, SourceTargetRelease, Step
from dpviz.methods.source_target.charts import cost_of
from dpviz.methods.source_target.layers import dots, thinning
from dpviz.methods.source_target.run import SELECT_SEED
from dpviz.plots import SECRET, UNPAID, WRONG, Audience, Frame, Ink, Kind, Layer, Role, Scene, rows_at
from dpviz.solvers import best_centers, nearest_distance
from dpviz.stories.ground_layers import box_layer
from dpviz.stories.panel import number
from dpviz.stories.stage import Clock, Stage
from dpviz.stories.view import View, Words, project, spread

PLACES = Ink(Role.PUBLIC, Audience.CURATOR)
FRAMES = (
    Frame("Before", "The release with the record where it is."),
    Frame("Both", "The same noise on both sources."),
    Frame("After", "The release without the record, or with the record elsewhere."),
)
ALWAYS, BEFORE, BOTH, AFTER, LAST = (
    rows_at(len(FRAMES), dict.fromkeys(frames, 0)) for frames in ((0, 1, 2), (0, 1), (1,), (1, 2), (2,))
)


@immutable
class SourceChange(Confidential):
    """Two neighboring sources under the same noise. Curator only."""

    row: int
    # (m, d) data units.
    nonprivate_before: Points
    # (m - 1, d), or (m, d) if the record was moved.
    nonprivate_after: Points
    before: Result[SourceTargetRelease, Step]
    after: Result[SourceTargetRelease, Step]
    # (3, 2) costs of the choice before, the choice after, and the best choice, on either source.
    nonprivate_costs: FloatArray

    @property
    def n_centers_changed(self) -> int:
        """Number of new centers that differ."""
        return len(np.setdiff1d(self.after.release.selected, self.before.release.selected))

    @property
    def shared(self) -> tuple[FloatArray, FloatArray]:
        """The released points (s, d) of targets that have one before and after, in the same order."""
        first, second = self.before.release, self.after.release
        _, before, after = np.intersect1d(first.origins, second.origins, return_indices=True)
        return first.centers[before], second.centers[after]

    @property
    def farthest(self) -> float:
        """Largest distance between a released point before and after, data units; 0 without any."""
        first, second = self.shared
        return float(np.linalg.norm(first - second, axis=1).max(initial=0.0))


def change_record(points: Points, box: Box, params: Params, row: int, place: Points | None, seed: int) -> SourceChange:
    """Return the change when record `row` of the source (m, d) is removed, or moved to `place` (d,), in data units.

    Noise is drawn for the targets' averages, so it does not depend on the source. With one seed, both runs have the
    same noise.
    """
    if place is None:
        other = np.delete(points, row, axis=0)
    else:
        other = points.copy()
        other[row] = place
    worlds = (points, other)
    before, after = (algorithm.fit(each, box, params, rng=np.random.default_rng(seed)) for each in worlds)
    targets, costs = params.targets, np.empty((3, 2))
    both = before.release.selected, after.release.selected
    for column, each in enumerate(worlds):
        distances = nearest_distance(targets, each)
        best = best_centers(targets, each, params.n_centers, both, rng=np.random.default_rng(SELECT_SEED))
        for line, chosen in enumerate((*both, best)):
            costs[line, column] = cost_of(distances, targets, chosen)
    return SourceChange(row, points, other, before, after, costs)


def change_scene(change: SourceChange, params: Params, words: Words, view: View) -> Scene:
    """Return both releases, one over the other. Curator only, because the noise is known."""
    to_unit, targets = words.box.to_unit, params.targets
    plane = project(view, words, to_unit(change.nonprivate_before))
    first, second = change.before.release, change.after.release
    lost = np.setdiff1d(first.origins, second.origins)
    gained = np.setdiff1d(second.origins, first.origins)
    source, places = spread(to_unit(change.nonprivate_before), plane), plane(to_unit(targets))
    tails, heads = (plane(to_unit(points)[None]) for points in change.shared)
    marks = (
        ("Average before", UNPAID, BEFORE, first.centers, "diamond", 8.0),
        ("Average after", UNPAID, LAST, second.centers, "diamond", 8.0),
        ("Released before only", WRONG, BEFORE, targets[lost], "cross", 9.0),
        ("Released after only", WRONG, AFTER, targets[gained], "square", 9.0),
        ("New centers before", UNPAID, BEFORE, targets[first.selected], "circle", 11.0),
        ("New centers after", UNPAID, AFTER, targets[second.selected], "ring", 18.0),
    )
    layers = [
        *box_layer(Stage(plane, Clock(1, ("both",))), public=words.box_public),
        Layer.from_arrays(
            "Source record", Kind.POINTS, SECRET, dots(source[:: thinning(len(source))]), ALWAYS, size=3.0
        ),
        Layer.from_arrays("Target", Kind.POINTS, PLACES, dots(places), ALWAYS, size=4.0, symbol="square"),
        Layer.from_arrays("Moves", Kind.ARROWS, UNPAID, {"tail": tails, "head": heads}, BOTH, size=1.5),
        *(
            Layer.from_arrays(name, Kind.MARKS, ink, plane(to_unit(points)[None]), rows, symbol=symbol, size=size)
            for name, ink, rows, points, symbol, size in marks
        ),
        Layer.from_arrays(
            "The record", Kind.MARKS, SECRET, source[None, [change.row]], BEFORE, symbol="ring", size=14.0
        ),
    ]
    if len(change.nonprivate_after) == len(change.nonprivate_before):
        tails, heads = (
            plane(to_unit(points[[change.row]])[None]) for points in (change.nonprivate_before, change.nonprivate_after)
        )
        layers.append(
            Layer.from_arrays("It moves", Kind.ARROWS, SECRET, {"tail": tails, "head": heads}, BOTH, size=2.0)
        )
    return Scene(
        title="One record, the same noise",
        alt=f"Both releases, one over the other: {change.n_centers_changed} of {len(second.selected)} new centers "
        "differ.",
        caption="Filled: before. Rings: after. Red: a mean that passes the threshold on one side only.",
        x=plane.x,
        y=plane.y,
        axes_public=False,
        layers=tuple(layers),
        frames=FRAMES,
        start_frame=1,
    )


def cost_rows(change: SourceChange, unit: str) -> list[dict[str, str]]:
    """Return a table of costs on either source: of the choice before, the choice after and the best choice."""
    names = ("Chosen before", "Chosen after", "Best, no privacy")
    return [
        {"": name, "Cost before": f"{number(float(line[0]))}{unit}", "Cost after": f"{number(float(line[1]))}{unit}"}
        for name, line in zip(names, change.nonprivate_costs, strict=True)
    ]


def observation(k: int, epsilon: float, delta: float) -> tuple[float, float]:
    """Return (extra cost in a ball of radius 1, least probability) of observation 4.2, for k <= 6 in the plane.

    Of the two sources with and without the record, any (epsilon, delta)-DP choice costs at least 1/(2k + 4) more than
    the best on one, with probability at least (1 - 2 delta)/(2 e^epsilon).
    """
    return 1.0 / (2 * k + 4), max(0.0, (1.0 - 2.0 * delta) / 2.0) * math.exp(-epsilon)
