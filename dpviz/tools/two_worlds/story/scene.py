"""Two clouds over each other: what many runs release with one record and without it, or with it elsewhere."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.core import FloatArray, Points
from dpviz.plots import Audience, Axis, Kind, Layer, Role, Scene, always
from dpviz.stories.ground_layers import NO_GROUP, box_layer, sample
from dpviz.stories.plane import Plane
from dpviz.stories.stage import SECRET, Clock, Stage
from dpviz.stories.view import View, Words, project, spread
from dpviz.stories.worlds import Cloud, Cuts
from dpviz.tools.two_worlds.story import ADD, Change, Neighbors

PICK = "record"  # what a click on a record reports
MOST_DRAWN = 2000  # marks of a world
MOST_CUTS = 60  # different ones of a world
SAME = 6  # digits, box units, up to which two cuts are the same
SYMBOLS = ("ring", "cross")  # of the two worlds; their colors are the palette's first two
SIZES = (9.0, 6.0)  # a ring is seen around a cross
NEAREST, FEWEST = 0.15, 20  # share and least number of what was released that is near the record; ours
LEAST_PAD = 0.01  # box widths
ENDS = (0.5, 99.5)  # percentiles of the drawn points that a picture shows at least
MARGIN = 0.1  # beside them, of what they span
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
    clouds: tuple[Cloud, Cloud], pair: Neighbors, change: Change, what: str, words: Words, view: View, *, near: bool
) -> Scene:
    """Draw what the runs released in either world, over the records; `what` names it, such as "Released center".

    `near` shows the part around the record, else all of the box.

    The curator's: both worlds are made from the exact records, and whose world a release is from is exact, too.
    """
    records = words.box.to_unit(pair.nonprivate_worlds[0])
    flat = View(view.x, view.y, principal=view.principal)
    stage = Stage(project(flat, words, records), CLOCK)
    released = [words.box.to_unit(cloud.places) for cloud in clouds]
    drawn = stage.projection(np.concatenate(released))
    if near:
        drawn = _nearest(drawn, stage.projection(words.box.to_unit(pair.nonprivate_spots[0])))
    layers = [
        *box_layer(stage, public=words.box_public),
        _records(records, stage),
        *_cut_layers(clouds, change, flat, words, stage),
        *(_points(what, each, world, stage, change.names[world]) for world, each in enumerate(released)),
        *_record_layers(pair, change, words, stage),
    ]
    first, second = change.names
    n_runs = clouds[0].n_runs
    x = _seen(stage.projection.x, drawn[:, 0], near=near)
    y = _seen(stage.projection.y, drawn[:, 1], near=near) if words.box.d > 1 else stage.projection.y
    spots = stage.projection(words.box.to_unit(pair.nonprivate_spots[:1]))
    beyond = " The record itself lies outside what is shown." if near and not _inside(spots[0], x, y) else ""
    return Scene(
        title="Two worlds",
        alt=f"What {n_runs} runs released in each of two worlds, over each other: {first.lower()}, {second.lower()}.",
        caption=f"Exact, and not a release: {n_runs} runs in each world. Rings: {first}. Crosses: {second}.{beyond}",
        x=x,
        y=y,
        axes_public=False,
        layers=tuple(replace(layer, rows=always(1)) for layer in layers),
        hint="Click a record to choose it.",
        scrubber=False,
    )


def _are_records(layer: Layer) -> bool:
    return layer.kind is Kind.POINTS and layer.audience is Audience.CURATOR and layer.name == "Records"


def _points(what: str, places: Points, world: int, stage: Stage, name: str) -> Layer:
    """What one world released: rings in the first, crosses in the second, so that neither hides the other."""
    most = min(len(places), MOST_DRAWN)
    drawn = spread(places[np.arange(most) * len(places) // max(most, 1)], stage.projection)
    arrays: Arrays = {"xy": drawn[None], "group": np.zeros((1, most), dtype=np.uint8)}
    style: dict[str, Any] = {"symbol": SYMBOLS[world], "size": SIZES[world], "hue": world, "isolate": False}
    return stage.layer(
        f"{what}: {name}", Kind.MARKS, Role.CLUSTER, Audience.CURATOR, ALWAYS, arrays, total=len(places), **style
    )


def _records(unit: Points, stage: Stage) -> Layer:
    drawn = spread(unit, stage.projection)[sample(len(unit))]
    arrays: Arrays = {"xy": drawn[None], "group": np.full((1, len(drawn)), NO_GROUP, dtype=np.uint8)}
    style: dict[str, Any] = {"size": 2.0, "pick": PICK, "isolate": False}
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


def _cut_layers(clouds: tuple[Cloud, Cloud], change: Change, view: View, words: Words, stage: Stage) -> list[Layer]:
    """The released cuts as lines, whole in the first world and dashed in the second; DPM's trees only."""
    made = []
    for world, cloud in enumerate(clouds):
        if cloud.cuts is None or view.principal:
            continue
        lines, counts = _lines(cloud.cuts, Plane.of(view, words))
        arrays: Arrays = {"xy": lines[None], "group": np.zeros((1, len(lines)), dtype=np.uint8)}
        name = f"Released cut: {change.names[world]}"
        names = tuple(f"in {count} of {cloud.n_runs} runs" for count in counts)
        options: dict[str, Any] = {"size": 1.5, "dash": world == 1, "names": names, "hue": world, "isolate": False}
        made.append(stage.layer(name, Kind.LINES, Role.CLUSTER, Audience.CURATOR, ALWAYS, arrays, **options))
    return made


def _lines(cuts: Cuts, plane: Plane) -> tuple[FloatArray, NDArray[np.intp]]:
    """Return the different cuts along features that are shown (c, p, 2), and how often each came; most often first."""
    found = plane.cuts(cuts.low, cuts.high, cuts.axes, cuts.positions)
    seen = found[np.isfinite(found).all(axis=(1, 2))]
    lines, counts = np.unique(seen.round(SAME), axis=0, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:MOST_CUTS]
    return lines[order], counts[order]


def _seen(axis: Axis, drawn: FloatArray, *, near: bool) -> Axis:
    """Show nearly all of `drawn` (m,); with the whole box, or alone."""
    if not len(drawn):
        return axis
    low, high = (float(end) for end in np.percentile(drawn, ENDS))
    pad = max(MARGIN * (high - low), LEAST_PAD if near else 0.0)
    low, high = low - pad, high + pad
    return replace(axis, view=(low, high) if near else (min(axis.view[0], low), max(axis.view[1], high)))


def _inside(spot: FloatArray, x: Axis, y: Axis) -> bool:
    return all(axis.view[0] <= at <= axis.view[1] for at, axis in zip(spot, (x, y), strict=True))


def _nearest(xy: FloatArray, spot: FloatArray) -> FloatArray:
    """Return the share NEAREST of drawn places (m, 2) that are nearest to a spot (2,)."""
    gaps = np.linalg.norm(xy - spot, axis=1)
    return xy[np.argsort(gaps, kind="stable")[: max(FEWEST, math.ceil(NEAREST * len(xy)))]]
