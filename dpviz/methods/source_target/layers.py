"""The layers of source-target clustering: source and targets, averages, noise, S', new centers and whom they serve."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from dpviz.core import AnyArray, ByteArray, FloatArray, Labels, Points
from dpviz.data import Nouns
from dpviz.methods.source_target.algorithm import SanitizeStep, SourceTargetRelease
from dpviz.plots import (
    AID,
    PUBLIC,
    REFUSED,
    RELEASED,
    SECRET,
    SECRET_NOISE,
    UNRELEASED,
    WRONG,
    Ink,
    Kind,
    Layer,
    rows_at,
)
from dpviz.stories.ground_layers import MOST_DRAWN, NO_GROUP
from dpviz.stories.panel import counted, number
from dpviz.stories.stage import Clock
from dpviz.stories.view import Projection, Words, spread

CLOCK = Clock(1, ("averages", "noise", "release"))
START, AVERAGES, NOISE, RELEASE, CHOICE = ALWAYS = tuple(range(CLOCK.n_frames))
# Number of targets whose nearest records are drawn.
FANS = 5
# Lines per target.
FAN_LINES = 60
# Radius of the circle for the largest count, in box widths.
LARGEST = 0.045
# With at most this many records, each is drawn larger.
FEW_RECORDS = 1_500
FEW_TARGETS = 150
# Opacity of a cell's border and of a refusal.
CELL, CROSS = 0.4, 0.6
# Opacity of the line from a target to its new center.
SPOKE = 0.18
# Opacity of the line that shows the noise of an average.
THREAD = 0.5
# Number of averages above which each thread is fainter.
MANY = 50
# Share of the picture. A longer thread is fainter, so that many threads never hide the map.
SHORT = 0.1
# Smallest share of its opacity that a thread keeps.
FAINTEST = 0.3
AVERAGE = "noisy average"
# In meters. A resident farther than this from any help counts as far. The tones of the ground change at equal shares of
# this distance.
REACH, TONES = 1_000.0, 5
# Opacity of the line from such a resident to help.
DARK_WAY = 0.55
# The reach in box widths on a map that shows a neighborhood.
LEAST_REACH, MOST_REACH = 0.03, 0.4
# Steps of the ground, along each axis, at which a light is drawn. A pixel or two on a stage.
LIGHT_PLACES = 160
# Name of the message of a click on a source record.
PICK = "source"


def thinning(n: int) -> int:
    """Return j so that every j-th of n records is drawn."""
    return max(1, -(-n // MOST_DRAWN))


def dots(xy: FloatArray) -> dict[str, FloatArray | ByteArray]:
    """Return the arrays of points (m, 2) that belong to no cluster."""
    return {"xy": xy[None], "group": np.full((1, len(xy)), NO_GROUP, dtype=np.uint8)}


def given_layers(
    unit: Points, targets: Points, nouns: Nouns, record: int | None, plane: Projection, *, targets_public: bool
) -> list[Layer]:
    """Draw the source (m, d), curator only, the targets (n, d), and the source record that the reader looks at."""
    layers = [
        _layer(
            nouns.source[0],
            Kind.POINTS,
            SECRET,
            ALWAYS,
            dots(spread(unit[:: thinning(len(unit))], plane)),
            size=3.0 if len(unit) > FEW_RECORDS else 4.0,
            pick=PICK,
        ),
        _layer(
            nouns.target[0],
            Kind.POINTS,
            PUBLIC if targets_public else WRONG,
            ALWAYS,
            dots(plane(targets)),
            label=f"{nouns.target[0]} (public)" if targets_public else "",
            size=5.0 if len(targets) <= FEW_TARGETS else 4.5,
        ),
    ]
    if record is not None and record < len(unit):
        place = spread(unit, plane)[None, [record]]
        layers.append(
            _layer(f"{nouns.source[0]} you look at", Kind.MARKS, SECRET, ALWAYS, place, symbol="ring", size=15.0)
        )
    return layers


def light_layers(unit: Points, known: Points, centers: Points, reach: float, plane: Projection) -> list[Layer]:
    """Light the ground within `reach` of help, all in box units.

    The curator sees light around the source (m, d) and the new centers (k, d), the public around the `known`
    (m', d) noisy averages and the centers.
    """
    zones = (np.arange(TONES, dtype=np.float64) + 1.0)[None] / TONES * reach
    sources = plane(np.unique(np.rint(unit * LIGHT_PLACES), axis=0) / LIGHT_PLACES)[None]
    new = plane(centers)
    exact = {"xy": np.stack([np.full_like(new, np.nan), new]), "fixed_xy": sources, "zones": zones}
    rows = rows_at(CLOCK.n_frames, dict.fromkeys(ALWAYS, 0) | {CHOICE: 1})
    released = {"xy": plane(np.concatenate([known, centers]))[None], "fixed_xy": sources[:, :0], "zones": zones}
    return [
        Layer.from_arrays("light: help is near", Kind.LIGHT, SECRET, exact, rows),
        _layer("light: known help is near", Kind.LIGHT, RELEASED, (CHOICE,), released),
    ]


def dark_layers(targets: Points, helpers: Points, far: Labels, nouns: Nouns, plane: Projection) -> list[Layer]:
    """Draw the targets (n, d) far from help, `far`, with paths to the nearest helpers (f, d), box units."""
    name, places = f"{nouns.target[0]} far from help", plane(targets[far])
    ways = np.concatenate([places, plane(helpers)], axis=-1)[None]
    ids = tuple(far.tolist())
    arrays = {"ends": ways, "alpha": np.full((1, len(far)), DARK_WAY)}
    return [
        _layer("path to help", Kind.SEGMENTS, UNRELEASED, (CHOICE,), arrays, size=1.0, ids=ids, legend=False),
        _layer(name, Kind.MARKS, UNRELEASED, (CHOICE,), places[None], size=5.5, ids=ids, label="over 1 km from help"),
    ]


def average_layers(
    unit: Points,
    targets: Points,
    step: SanitizeStep,
    refused: Labels,
    borders: FloatArray | None,
    words: Words,
    plane: Projection,
    *,
    targets_public: bool,
) -> list[Layer]:
    """Draw where averages are taken: the public cells inside `borders`, or some fans, and the exact averages.

    `refused` are the averages that are not released.
    """
    places, to_unit = targets[step.core.representatives], words.box.to_unit
    ink, throughout, layers = PUBLIC if targets_public else WRONG, (AVERAGES, NOISE, RELEASE), []
    if borders is not None:
        cells = {"ends": borders, "alpha": np.full(borders.shape[:2], CELL)}
        layers.append(_layer("cell", Kind.SEGMENTS, ink, throughout, cells, size=1.0))
    neighbors = step.nonprivate_neighbors
    # Lines from evenly chosen targets to some of their averaged records.
    if neighbors is not None and neighbors.size:
        rows = np.unique(np.linspace(0, len(neighbors) - 1, FANS).astype(np.intp))
        columns = np.unique(np.linspace(0, neighbors.shape[1] - 1, FAN_LINES).astype(np.intp))
        records = neighbors[np.ix_(rows, columns)]  # (f, l)
        tails = np.broadcast_to(plane(places[rows])[:, None], (*records.shape, 2))
        ends = np.concatenate([tails, spread(unit, plane)[records]], axis=-1).reshape(1, -1, 4)
        layers.append(_layer("nearest records of some targets", Kind.SEGMENTS, SECRET, (AVERAGES,), ends, size=1.0))
    if len(places) < len(targets):
        one, many = words.nouns.target
        names = tuple(f"stands for {n} {one if n == 1 else many}" for n in step.core.weights.astype(int).tolist())
        style = {"symbol": "square", "size": 7.0, "names": names}
        layers.append(_layer(f"{one} with an average", Kind.MARKS, ink, throughout, plane(places[None]), **style))
    exact = plane(to_unit(step.nonprivate_averages)[None])
    noisy = plane.pinned(plane(to_unit(step.noisy_averages)[None]))
    threads = np.concatenate([exact, noisy], axis=-1).repeat(2, axis=0)
    # A refused average is not released.
    threads[1, refused] = np.nan
    length = np.hypot(threads[..., 2] - threads[..., 0], threads[..., 3] - threads[..., 1])
    most = THREAD * min(1.0, MANY / max(len(places) - len(refused), 1)) ** 0.5
    noise = {"ends": threads, "alpha": most * np.clip(SHORT / np.maximum(length, 1e-12), FAINTEST, 1.0)}
    during = rows_at(CLOCK.n_frames, {NOISE: 0, RELEASE: 1})
    counts = () if step.nonprivate_counts is None else step.nonprivate_counts
    style = {"symbol": "ring", "size": 8.0, "names": tuple(counted(int(count), "record") for count in counts)}
    return [
        *layers,
        _layer("exact average", Kind.MARKS, SECRET, (AVERAGES, NOISE), exact, **style),
        Layer.from_arrays("noise", Kind.SEGMENTS, SECRET_NOISE, noise, during, size=1.5, ids=tuple(range(len(places)))),
    ]


def release_layers(
    targets: Points,
    step: SanitizeStep,
    refused: Labels,
    release: SourceTargetRelease,
    words: Words,
    source_words: str,
    plane: Projection,
) -> list[Layer]:
    """Draw S' with its noisy counts; the `refused` cells, which are public, and their counts, which are not."""
    counts, xy, during = release.noisy_counts, plane(words.box.to_unit(release.centers))[None], (RELEASE,)
    marks: dict[str, object] = {"ids": tuple(release.origins.tolist())}
    layers = []
    if counts is not None:
        marks["names"] = tuple(f"about {number(float(count))} records (noisy)" for count in counts)
        radius = LARGEST * np.sqrt(counts / counts.max(initial=1.0))
        circles = {"center": xy, "radius": radius[None]}
        crosses = plane(targets[step.core.representatives[refused]][None])
        faint = {"xy": crosses, "alpha": np.full(crosses.shape[:2], CROSS)}
        layers = [
            _layer("noisy count (area)", Kind.CIRCLES, RELEASED, during, circles, size=1.0, fill=0.12, **marks),
            _layer("refused: too few", Kind.MARKS, REFUSED, during, faint, symbol="cross", size=5.0),
        ]
        noisy, exact = step.noisy_counts, step.nonprivate_counts
        if noisy is not None and exact is not None:
            names = tuple(f"noisy count {number(float(noisy[i]))}, exactly {int(exact[i])}" for i in refused)
            style = {"symbol": "ring", "size": 9.0, "names": names, "shown": False}
            layers.append(_layer("counts of the refused", Kind.MARKS, SECRET, during, crosses, **style))
    marks["label"] = f"{AVERAGE} of {source_words}"
    points = _layer(AVERAGE, Kind.MARKS, RELEASED, (NOISE, RELEASE, CHOICE), xy, symbol="diamond", size=9.0, **marks)
    return [*layers, points]


def choice_layers(
    targets: Points,
    selected: Labels,
    nonprivate_selected: Labels,
    known: Points,
    servers: Labels,
    nouns: Nouns,
    plane: Projection,
) -> list[Layer]:
    """Draw the `selected` targets, whom they serve, and for the curator the choice without privacy.

    `known` (m' + k, d) are S' and then the new centers, box units; `servers` (n,) are those nearest to the targets.
    """
    during, n_released = (CHOICE,), len(known) - len(selected)
    by_new = servers >= n_released
    lines = np.stack([targets, known[servers]], axis=1)  # (n, 2, d)
    served = np.bincount(servers[by_new] - n_released, minlength=len(selected))
    center, (one, many) = nouns.center[0], nouns.target
    names = tuple(f"nearest for {n} {one if n == 1 else many}" for n in served.tolist())
    layers = []
    for name, ink, rows, hub, servers_of in (
        ("nearest noisy average", AID, ~by_new, AVERAGE, servers),
        (f"nearest {center}", RELEASED, by_new, center, servers - n_released),
        # Each line glides to the next server of its target.
    ):
        ids = tuple(np.flatnonzero(rows).tolist())
        ends = plane(lines[rows]).reshape(1, -1, 4)
        arrays = {"ends": ends, "alpha": np.full((1, len(ids)), SPOKE), "hub": servers_of[rows][None].astype(np.int32)}
        style: dict[str, Any] = {"size": 1.0, "ids": ids, "hub": hub, "label": hub, "shown": hub == center}
        layers.append(_layer(name, Kind.SEGMENTS, ink, during, arrays, **style))
    cross = {"symbol": "cross", "size": 10.0, "glides": "place", "shown": False}
    disc = {"symbol": "aid", "size": 17.0, "names": names, "glides": "place"}
    return [
        *layers,
        _layer(
            "choice without privacy", Kind.MARKS, SECRET, during, plane(targets[nonprivate_selected][None]), **cross
        ),
        _layer(center, Kind.MARKS, RELEASED, during, plane(targets[selected][None]), **disc),
    ]


def _layer(
    name: str, kind: Kind, ink: Ink, frames: tuple[int, ...], arrays: FloatArray | Mapping[str, AnyArray], **style: Any
) -> Layer:
    """Return a layer that is drawn in some frames, and fades with no cluster."""
    return Layer.from_arrays(name, kind, ink, arrays, rows_at(CLOCK.n_frames, dict.fromkeys(frames, 0)), **style)
