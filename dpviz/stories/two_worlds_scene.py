"""Two clouds over each other: what many runs release with one record and without it, or with it elsewhere."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.core import FloatArray, Points
from dpviz.plots import Audience, Axis, Kind, Layer, Role, Scene, always
from dpviz.stories.dpm_plane import Plane
from dpviz.stories.ground_layers import NO_GROUP, box_layer, sample
from dpviz.stories.stage import SECRET, Clock, Stage
from dpviz.stories.two_worlds import ADD, Change, Neighbors
from dpviz.stories.two_worlds_cloud import Cloud, Cuts
from dpviz.stories.view import View, Words, project, spread

PICK = "record"  # what a click on a record reports
MOST_DRAWN = 2500  # points of a world, so that both have shapes
MOST_CUTS = 300  # of a world
ENDS = (0.5, 99.5)  # percentiles of the drawn points that a picture shows at least
MARGIN = 0.04  # beside them, of what they span
CLOCK = Clock(0, ())  # nothing moves: of its two frames one is kept
ALWAYS = {0: 0}
Arrays = dict[str, NDArray[Any]]


def pickable(scene: Scene) -> Scene:
    """Let a click on a record report PICK, in a picture whose records report nothing of their own."""
    layers = tuple(replace(layer, pick=PICK) if _are_records(layer) else layer for layer in scene.layers)
    return replace(scene, layers=layers)


def row_of(mark: int, n: int) -> int | None:
    """Return which of n records a mark is where an even sample is drawn; None for a mark that is not there."""
    drawn = sample(n)
    return int(drawn[mark]) if mark < len(drawn) else None


def cloud_scene(
    clouds: tuple[Cloud, Cloud], pair: Neighbors, change: Change, what: str, words: Words, view: View
) -> Scene:
    """Draw what the runs released in either world, over the records; `what` names it, such as "Released center".

    The curator's: both worlds are made from the exact records, and whose world a release is from is exact, too.
    """
    records = words.box.to_unit(pair.nonprivate_worlds[0])
    flat = View(view.x, view.y, principal=view.principal)
    stage = Stage(project(flat, words, records), CLOCK)
    drawn, group = _interleaved([words.box.to_unit(cloud.places) for cloud in clouds])
    xy = spread(drawn, stage.projection)
    layers = [
        *box_layer(stage, public=words.box_public),
        _records(records, stage),
        *_cut_layers(clouds, flat, words, stage),
        _points(what, xy, group, stage, total=sum(len(cloud.places) for cloud in clouds)),
        *_record_layers(pair, change, words, stage),
    ]
    first, second = change.names
    n_runs = clouds[0].n_runs
    return Scene(
        title="Two worlds",
        alt=f"What {n_runs} runs released in each of two worlds, over each other: {first.lower()}, {second.lower()}.",
        caption=f"Curator view: not a release. {n_runs} runs in each world. Circles: {first}. Squares: {second}.",
        x=_reaching(stage.projection.x, xy[:, 0]),
        y=_reaching(stage.projection.y, xy[:, 1]) if words.box.d > 1 else stage.projection.y,
        axes_public=False,
        layers=tuple(replace(layer, rows=always(1)) for layer in layers),
        group_names=(first, second),
        hint="Click a record to choose it.",
        scrubber=False,
    )


def _are_records(layer: Layer) -> bool:
    return layer.kind is Kind.POINTS and layer.audience is Audience.CURATOR and layer.name == "Records"


def _interleaved(worlds: list[Points]) -> tuple[Points, NDArray[np.uint8]]:
    """Return points of both worlds (m, d) in turns, so that neither hides the other, and whose each is (m,)."""
    kept = [
        each[np.arange(min(len(each), MOST_DRAWN)) * len(each) // max(1, min(len(each), MOST_DRAWN))] for each in worlds
    ]
    turn = np.concatenate([np.arange(len(each)) / max(len(each), 1) for each in kept])
    order = np.argsort(turn, kind="stable")
    group = np.concatenate([np.full(len(each), i, dtype=np.uint8) for i, each in enumerate(kept)])
    return np.concatenate(kept)[order], group[order]


def _points(what: str, xy: FloatArray, group: NDArray[np.uint8], stage: Stage, *, total: int) -> Layer:
    arrays: Arrays = {"xy": xy[None], "group": group[None]}
    size = 7.0 if len(xy) < 1500 else 5.0
    return stage.layer(what, Kind.POINTS, Role.CLUSTER, Audience.CURATOR, ALWAYS, arrays, size=size, total=total)


def _records(unit: Points, stage: Stage) -> Layer:
    drawn = spread(unit, stage.projection)[sample(len(unit))]
    arrays: Arrays = {"xy": drawn[None], "group": np.full((1, len(drawn)), NO_GROUP, dtype=np.uint8)}
    style: dict[str, Any] = {"size": 2.5, "pick": PICK, "isolate": False}
    return stage.layer("Records", Kind.POINTS, SECRET.role, SECRET.audience, ALWAYS, arrays, **style)


def _record_layers(pair: Neighbors, change: Change, words: Words, stage: Stage) -> list[Layer]:
    """The record, where it would be instead, and the way there."""
    records = words.box.to_unit(pair.nonprivate_worlds[1] if change.operation == ADD else pair.nonprivate_worlds[0])
    places = spread(records, stage.projection)  # on a strip a record stays at its height
    here = places[[-1 if change.operation == ADD else change.row]]
    own: dict[str, Any] = {"isolate": False}
    name = "The record that is added" if change.operation == ADD else f"Record {change.row}"
    made = [_mark(name, here, stage, "ring")]
    if len(pair.nonprivate_spots) == 2:
        there = here.copy()
        there[0] = stage.projection(words.box.to_unit(pair.nonprivate_spots[1]))
        if words.box.d == 1:
            there[0, 1] = here[0, 1]
        arrow: Arrays = {"tail": here[None], "head": there[None]}
        made.insert(
            0, stage.layer("Its move", Kind.ARROWS, SECRET.role, SECRET.audience, ALWAYS, arrow, size=1.5, **own)
        )
        made.append(_mark("Where it is moved", there, stage, "diamond"))
    return made


def _mark(name: str, xy: FloatArray, stage: Stage, symbol: str) -> Layer:
    style: dict[str, Any] = {"symbol": symbol, "size": 14.0, "isolate": False}
    return stage.layer(name, Kind.MARKS, SECRET.role, SECRET.audience, ALWAYS, {"xy": xy[None]}, **style)


def _cut_layers(clouds: tuple[Cloud, Cloud], view: View, words: Words, stage: Stage) -> list[Layer]:
    """The released cuts as lines, whole in the first world and dashed in the second; DPM's trees only."""
    made = []
    for world, cloud in enumerate(clouds):
        if cloud.cuts is None or view.principal:
            continue
        lines = _lines(cloud.cuts, Plane.of(view, words))
        arrays: Arrays = {"xy": lines[None], "group": np.full((1, len(lines)), world, dtype=np.uint8)}
        name = ("Released cut", "Released cut (second world)")[world]
        options: dict[str, Any] = {"size": 1.0, "dash": world == 1}
        made.append(stage.layer(name, Kind.LINES, Role.CLUSTER, Audience.CURATOR, ALWAYS, arrays, **options))
    return made


def _lines(cuts: Cuts, plane: Plane) -> FloatArray:
    """Return the cuts along features that are shown (c, p, 2), at most MOST_CUTS of them, evenly over the runs."""
    found = plane.cuts_at(cuts.low, cuts.high, cuts.axes, cuts.positions)
    seen = found[np.isfinite(found).all(axis=(1, 2))]
    most = min(len(seen), MOST_CUTS)
    return seen[np.arange(most) * len(seen) // max(most, 1)]


def _reaching(axis: Axis, values: FloatArray) -> Axis:
    """Show the box and nearly all that was released: noise can lead far outside."""
    if not len(values):
        return axis
    low, high = (float(end) for end in np.percentile(values, ENDS))
    pad = MARGIN * (high - low)
    return replace(axis, view=(min(axis.view[0], low - pad), max(axis.view[1], high + pad)))
