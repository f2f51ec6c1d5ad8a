"""The layers of source-target clustering: source and targets, averages, noise, S', new centers and whom they serve."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpviz.core import FloatArray
from dpviz.plots import Audience, Kind, Layer, Role, rows_at
from dpviz.plots.scene import PUBLIC, RELEASED, SECRET, SECRET_NOISE, Ink
from dpviz.stories.ground_layers import MOST_DRAWN, NO_GROUP
from dpviz.stories.panel import counted, number
from dpviz.stories.stage import Clock
from dpviz.stories.view import Projection, spread

if TYPE_CHECKING:
    from dpviz.methods.source_target.run import SourceTargetRun

CLOCK = Clock(1, ("averages", "noise", "release"))
START, AVERAGES, NOISE, RELEASE, CHOICE = ALWAYS = tuple(range(CLOCK.n_frames))
FANS = 5  # targets whose nearest records are drawn
FAN_LINES = 60  # of each
LARGEST = 0.045  # radius of the largest count's circle, box widths
FEW_RECORDS = 1_500  # up to here a record is drawn larger
FEW_TARGETS = 150
PICK = "source"  # what a click on a source record reports
REFUSED = Ink(Role.VIOLATION, Audience.RELEASED)
SERVED = Ink(Role.REFERENCE, Audience.RELEASED)
UNSAFE = Ink(Role.VIOLATION, Audience.CURATOR)  # targets that follow from the records


def thinning(n: int) -> int:
    """Return j so that every j-th of n records is drawn."""
    return max(1, -(-n // MOST_DRAWN))


def dots(xy: FloatArray) -> dict[str, FloatArray | NDArray[np.uint8]]:
    """Return the arrays of points (m, 2) that belong to no cluster."""
    return {"xy": xy[None], "group": np.full((1, len(xy)), NO_GROUP, dtype=np.uint8)}


def given_layers(run: SourceTargetRun, plane: Projection) -> list[Layer]:
    """The source, which is the curator's, the targets, which are public, and the record that is looked at."""
    layers = [
        _layer(
            "Source record",
            Kind.POINTS,
            SECRET,
            ALWAYS,
            dots(spread(run.unit[:: thinning(len(run.unit))], plane)),
            size=3.0 if len(run.unit) > FEW_RECORDS else 5.0,
            pick=PICK,
        ),
        _layer(
            "Target",
            Kind.POINTS,
            _target_ink(run),
            ALWAYS,
            dots(plane(run.targets)),
            size=6.0 if len(run.targets) <= FEW_TARGETS else 4.5,
            symbol="square",
        ),
    ]
    if run.record is not None and run.record < len(run.unit):
        place = spread(run.unit, plane)[None, [run.record]]
        layers.append(_layer("Record you look at", Kind.MARKS, SECRET, ALWAYS, place, symbol="ring", size=15.0))
    return layers


def average_layers(run: SourceTargetRun, plane: Projection) -> list[Layer]:
    """Where averages are taken: the public cells or some fans, and the exact averages."""
    step, places, to_unit = run.step, run.representatives, run.words.box.to_unit
    targets, throughout, layers = _target_ink(run), (AVERAGES, NOISE, RELEASE), []
    if run.params.method == "nna" and run.words.box.d == 2:
        borders = run.reference.borders
        layers.append(_layer("Cell of a target", Kind.SEGMENTS, targets, throughout, borders, size=1.0))
    neighbors = step.nonprivate_neighbors
    if neighbors is not None and neighbors.size:  # lines from some targets, evenly chosen, to some of those averaged
        rows = np.unique(np.linspace(0, len(neighbors) - 1, FANS).astype(np.intp))
        columns = np.unique(np.linspace(0, neighbors.shape[1] - 1, FAN_LINES).astype(np.intp))
        records = neighbors[np.ix_(rows, columns)]  # (f, l)
        tails = np.broadcast_to(plane(places[rows])[:, None], (*records.shape, 2))
        ends = np.concatenate([tails, spread(run.unit, plane)[records]], axis=-1).reshape(1, -1, 4)
        layers.append(_layer("Nearest records of some targets", Kind.SEGMENTS, SECRET, (AVERAGES,), ends, size=1.0))
    if len(places) < len(run.targets):
        names = tuple(f"stands for {counted(int(weight), 'target')}" for weight in step.core.weights)
        style = {"symbol": "square", "size": 7.0, "names": names}
        layers.append(_layer("Target with an average", Kind.MARKS, targets, throughout, plane(places[None]), **style))
    exact = plane(to_unit(step.nonprivate_averages)[None])
    arrows = {"tail": exact, "head": plane(to_unit(step.noisy_averages)[None])}
    counts = () if step.nonprivate_counts is None else step.nonprivate_counts
    style = {"symbol": "ring", "size": 8.0, "names": tuple(counted(int(count), "record") for count in counts)}
    return [
        *layers,
        _layer("Exact average", Kind.MARKS, SECRET, (AVERAGES, NOISE), exact, **style),
        _layer("Noise", Kind.ARROWS, SECRET_NOISE, (NOISE,), arrows, size=1.5),
    ]


def release_layers(run: SourceTargetRun, plane: Projection) -> list[Layer]:
    """S' with its noisy counts; refused cells, which are public, and their counts, which are not."""
    counts, xy, during = run.release.noisy_counts, plane(run.released)[None], (RELEASE,)
    marks: dict[str, object] = {"ids": tuple(run.release.origins.tolist())}
    layers = []
    if counts is not None:
        marks["names"] = tuple(f"about {number(float(count))} records (noisy)" for count in counts)
        radius = LARGEST * np.sqrt(counts / counts.max(initial=1.0))
        circles = {"center": xy, "radius": radius[None]}
        refused, step = run.refused, run.step
        crosses = plane(run.representatives[refused][None])
        layers = [
            _layer("Noisy count (area)", Kind.CIRCLES, RELEASED, during, circles, size=1.0, fill=0.12, **marks),
            _layer("Refused: too few", Kind.MARKS, REFUSED, during, crosses, symbol="cross", size=6.0),
        ]
        noisy, exact = step.noisy_counts, step.nonprivate_counts
        if noisy is not None and exact is not None:
            names = tuple(f"noisy count {number(float(noisy[i]))}, exactly {int(exact[i])}" for i in refused)
            style = {"symbol": "ring", "size": 9.0, "names": names, "shown": False}
            layers.append(_layer("Counts of the refused", Kind.MARKS, SECRET, during, crosses, **style))
    points = _layer(
        "Noisy average", Kind.MARKS, RELEASED, (NOISE, RELEASE, CHOICE), xy, symbol="diamond", size=9.0, **marks
    )
    return [*layers, points]


def choice_layers(run: SourceTargetRun, plane: Projection) -> list[Layer]:
    """The new centers, whom they serve as the release tells it, and for the curator the choice without privacy."""
    during, (_, servers) = (CHOICE,), run.service
    by_new = servers >= run.n_released
    lines = np.stack([run.targets, run.words.box.to_unit(run.known)[servers]], axis=1)  # (n, 2, d)
    served = np.bincount(servers[by_new] - run.n_released, minlength=len(run.selected))
    names = tuple(f"new center {i + 1}, serves {counted(int(n), 'target')}" for i, n in enumerate(served))
    floor = plane(run.targets[run.reference.nonprivate_selected][None])
    layers = []
    for name, ink, rows, size in (
        ("Served by an average", SERVED, ~by_new, 1.0),
        ("Served by a new center", RELEASED, by_new, 1.2),
    ):  # each line glides to its target's next server
        ids = tuple(np.flatnonzero(rows).tolist())
        ends = plane(lines[rows]).reshape(1, -1, 4)
        layers.append(_layer(name, Kind.SEGMENTS, ink, during, ends, size=size, ids=ids))
    cross = {"symbol": "cross", "size": 10.0, "glides": "place"}
    style = {"size": 14.0, "names": names, "glides": "place"}
    return [
        *layers,
        _layer("Choice without privacy", Kind.MARKS, SECRET, during, floor, **cross),
        _layer("New center", Kind.MARKS, RELEASED, during, plane(run.selected[None]), **style),
    ]


def _target_ink(run: SourceTargetRun) -> Ink:
    return PUBLIC if run.targets_public else UNSAFE


def _layer(
    name: str,
    kind: Kind,
    ink: Ink,
    frames: tuple[int, ...],
    arrays: FloatArray | Mapping[str, NDArray[Any]],
    **style: Any,
) -> Layer:
    """Return a layer that is drawn in some frames, and fades with no cluster."""
    return Layer.of(name, kind, ink, arrays, rows_at(CLOCK.n_frames, dict.fromkeys(frames, 0)), **style)
