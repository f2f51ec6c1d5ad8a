"""The picture of two worlds: what many runs release with one record, and without it or with it elsewhere."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.core import FloatArray, Points
from dpviz.plots import MEMBERS, SECRET, Audience, Axis, Kind, Layer, Scene, always
from dpviz.stories.ground_layers import NO_GROUP, box_layer, sample
from dpviz.stories.method import Cloud
from dpviz.stories.stage import Clock, Stage
from dpviz.stories.view import Plane, View, Words, project, spread
from dpviz.tools.two_worlds.worlds import ADD, Change, Neighbors

PICK = "record"  # what a click on a record reports
MOST_DRAWN = 2000  # marks of a world
MOST_CUTS = 60  # different ones of a world
SAME = 6  # digits, box units, up to which two cuts are the same
SYMBOLS = ("ring", "cross")  # of the two worlds; their colors are the palette's first two
SIZES = (9.0, 6.0)  # a ring is visible around a cross
NEAREST, FEWEST = 0.15, 20  # share and least number of releases that count as near the record; ours
LEAST_PAD = 0.01  # box widths
ENDS = (0.5, 99.5)  # percentiles of the drawn points that a picture shows at least
MARGIN = 0.1  # on each side, of their span
CLOCK = Clock(0, ())  # nothing moves: one of its two frames remains
ALWAYS = {0: 0}
Arrays = dict[str, NDArray[Any]]


def pickable(scene: Scene) -> Scene:
    """Let a click on a record report PICK, in a picture whose records report nothing of their own."""
    records = (Kind.POINTS, Audience.CURATOR, "person")
    layers = (
        replace(layer, pick=PICK) if (layer.kind, layer.audience, layer.name) == records else layer
        for layer in scene.layers
    )
    return replace(scene, layers=tuple(layers))


def row_of(mark: int, n: int) -> int | None:
    """Return the row of a mark where an even sample of n records is drawn; None for a mark that does not exist."""
    sampled = sample(n)
    return int(sampled[mark]) if mark < len(sampled) else None


def cloud_scene(
    clouds: tuple[Cloud, Cloud], pair: Neighbors, change: Change, what: str, words: Words, view: View, *, near: bool
) -> Scene:
    """Draw the releases of both worlds over the records; `what` names a mark, such as "released center".

    `near` shows the part around the record, else all of the box.

    The curator's: both worlds are made from the exact records, and the world of a release is exact, too.
    """
    box = words.box
    records = box.to_unit(pair.nonprivate_worlds[0])
    flat = View(view.x, view.y, principal=view.principal)
    stage = Stage(project(flat, words, records), CLOCK)
    releases = [box.to_unit(cloud.places) for cloud in clouds]
    places = stage.projection(np.concatenate(releases))
    spot = stage.projection(box.to_unit(pair.nonprivate_spots[:1]))[0]
    if near:
        gaps = np.linalg.norm(places - spot, axis=1)
        places = places[np.argsort(gaps, kind="stable")[: max(FEWEST, math.ceil(NEAREST * len(places)))]]
    xy = spread(records, stage.projection)[sample(len(records))]
    record_arrays: Arrays = {"xy": xy[None], "group": np.full((1, len(xy)), NO_GROUP, dtype=np.uint8)}
    layers = [
        *box_layer(stage, public=words.box_public),
        stage.layer("person", Kind.POINTS, SECRET, ALWAYS, record_arrays, size=2.0, pick=PICK, isolate=False),
        *_cut_layers(clouds, change, flat, words, stage),
        *(_release_marks(what, each, world, stage, change.names[world]) for world, each in enumerate(releases)),
        *_changed_record(pair, change, words, stage),
    ]
    first, second = change.names
    n_runs = clouds[0].n_runs
    x = _visible(stage.projection.x, places[:, 0], near=near)
    y = _visible(stage.projection.y, places[:, 1], near=near) if box.d > 1 else stage.projection.y
    inside = all(axis.view[0] <= at <= axis.view[1] for at, axis in zip(spot, (x, y), strict=True))
    beyond = " The record itself may lie outside what is shown." if near and not inside else ""
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


def _release_marks(what: str, places: Points, world: int, stage: Stage, name: str) -> Layer:
    """Return the releases of one world: rings in the first, crosses in the second, so that neither hides the other."""
    most = min(len(places), MOST_DRAWN)
    xy = spread(places[np.arange(most) * len(places) // max(most, 1)], stage.projection)
    return stage.layer(
        f"{what}: {name}",
        Kind.MARKS,
        MEMBERS,
        ALWAYS,
        {"xy": xy[None], "group": np.zeros((1, most), dtype=np.uint8)},
        total=len(places),
        symbol=SYMBOLS[world],
        size=SIZES[world],
        hue=world,
        isolate=False,
    )


def _changed_record(pair: Neighbors, change: Change, words: Words, stage: Stage) -> list[Layer]:
    """Return the record, its place in the other world, and the way there."""
    added = change.operation == ADD
    records = words.box.to_unit(pair.nonprivate_worlds[int(added)])
    places = spread(records, stage.projection)  # on a strip a record stays at its height
    here = places[[-1 if added else change.row]]

    def mark(name: str, xy: FloatArray, symbol: str) -> Layer:
        style = {"symbol": symbol, "size": 14.0, "isolate": False}
        return stage.layer(name, Kind.MARKS, SECRET, ALWAYS, xy[None], **style)

    record = mark("The record that is added" if added else f"Record {change.row}", here, "ring")
    if len(pair.nonprivate_spots) < 2:
        return [record]
    there = here.copy()
    there[0] = stage.projection(words.box.to_unit(pair.nonprivate_spots[1]))
    if words.box.d == 1:
        there[0, 1] = here[0, 1]
    arrow: Arrays = {"tail": here[None], "head": there[None]}
    return [
        stage.layer("Its move", Kind.ARROWS, SECRET, ALWAYS, arrow, size=1.5, isolate=False),
        record,
        mark("Where it is moved", there, "diamond"),
    ]


def _cut_layers(clouds: tuple[Cloud, Cloud], change: Change, view: View, words: Words, stage: Stage) -> list[Layer]:
    """Return the most frequent released cuts, solid in the first world and dashed in the second; DPM's trees only."""
    layers = []
    for world, cloud in enumerate(clouds):
        if cloud.cuts is None or view.principal:
            continue
        cuts, plane = cloud.cuts, Plane.from_view(view, words)
        projected = plane.cuts(cuts.low, cuts.high, cuts.axes, cuts.positions)  # (c, p, 2)
        visible = projected[np.isfinite(projected).all(axis=(1, 2))]
        lines, counts = np.unique(visible.round(SAME), axis=0, return_counts=True)
        order = np.argsort(-counts, kind="stable")[:MOST_CUTS]
        layers.append(
            stage.layer(
                f"Released cut: {change.names[world]}",
                Kind.LINES,
                MEMBERS,
                ALWAYS,
                {"xy": lines[order][None], "group": np.zeros((1, len(order)), dtype=np.uint8)},
                size=1.5,
                dash=world == 1,
                names=tuple(f"in {count} of {cloud.n_runs} runs" for count in counts[order]),
                hue=world,
                isolate=False,
            )
        )
    return layers


def _visible(axis: Axis, places: FloatArray, *, near: bool) -> Axis:
    """Return the axis with nearly all of `places` (m,) in view; with the whole box, or alone."""
    if not len(places):
        return axis
    low, high = (float(end) for end in np.percentile(places, ENDS))
    pad = max(MARGIN * (high - low), LEAST_PAD if near else 0.0)
    low, high = low - pad, high + pad
    return replace(axis, view=(low, high) if near else (min(axis.view[0], low), max(axis.view[1], high)))
