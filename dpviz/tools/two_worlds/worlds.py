"""Two worlds: the data as they are, and with one record removed, moved or added; many runs in each, and an attacker.

The background process makes the runs. This module does not import Streamlit, because the process would have to load
it. The claim decides which operations are offered. Under ADD_REMOVE, a record can be added or removed. There, a move
is one of each and costs (2 epsilon, (1 + e^epsilon) delta) or 4 rho. Under REPLACE, and for geo-indistinguishability
with its epsilon per distance, only a move is offered.
"""

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpviz.accounting import delta_of, under_replace, zcdp_epsilon
from dpviz.attacks import HeldOutScore, center_statistics, laplace_total_variation, two_point_success
from dpviz.attacks.location import MAX_FEATURES
from dpviz.core import (
    Adjacency,
    Box,
    CentersRelease,
    Claim,
    Confidential,
    Event,
    FloatArray,
    Guarantee,
    Points,
    attacker_odds,
    immutable,
    immutable_value,
)
from dpviz.methods import ALGORITHMS, CATALOGUE
from dpviz.plots import MEMBERS, SECRET, Audience, Axis, Kind, Layer, Scene, always
from dpviz.stories.ground_layers import NO_GROUP, box_layer, sample
from dpviz.stories.method import Cloud, Cuts, Worlds
from dpviz.stories.panel import at_most, number, whole_interval
from dpviz.stories.stage import Clock, Stage
from dpviz.stories.view import Plane, View, Words, project, spread

# From this percentage on, a claim is no longer a limit.
NO_LIMIT = 99.95
REMOVE, MOVE, ADD = "remove", "move", "add"
OPERATIONS = ((REMOVE, "It is removed"), (MOVE, "It is moved"), (ADD, "One more is added"))
# Worlds of a method that is named by a string.
AnyWorlds = Worlds[Any, Any]
# Worlds of methods without a page.
CENTERS: AnyWorlds = Worlds()


class DistanceParams(Protocol):
    """Parameters of a method whose epsilon is per distance."""

    @property
    def epsilon(self) -> float:
        """Per distance, in `unit`."""

    @property
    def unit(self) -> str:
        """Either "data", or "range" for a share of the box."""

    @property
    def domain(self) -> str:
        """Treatment of draws outside the box."""


@immutable_value
class Change:
    """The difference between the two worlds; places are in data units. Hashable, because it is part of a job's key."""

    # One of OPERATIONS.
    operation: str
    # Row of the record that is removed or moved.
    row: int = 0
    # (d,) place of a record that is moved or added.
    place: tuple[float, ...] = ()

    @property
    def names(self) -> tuple[str, str]:
        """Titles of the two worlds."""
        first, second = {
            REMOVE: (f"With record {self.row}", "Without it"),
            MOVE: (f"Record {self.row} in place", "Record moved"),
            ADD: ("As they are", "With one more"),
        }[self.operation]
        return first, second


@immutable
class Neighbors(Confidential):
    """Two data sets that differ in one record. Curator only."""

    # (n, d) each, or one row less or more, data units.
    nonprivate_worlds: tuple[Points, Points]
    # (1 or 2, d) places where the record is or would be, inside the box.
    nonprivate_spots: Points

    @property
    def apart(self) -> FloatArray:
        """Vector (d,) from the record's place to its place in the other world, data units; 0 without a move."""
        return np.asarray(self.nonprivate_spots[-1] - self.nonprivate_spots[0])


@immutable_value
class Limit:
    """Maximum percentage of right guesses, and whether it is proved."""

    percent: float
    established: bool


def offered(claim: Claim, n: int) -> tuple[str, ...]:
    """Return the operations that a claim covers on `n` records; empty if there are none."""
    if claim.per_distance or claim.adjacency is Adjacency.REPLACE:
        return (MOVE,) if n else ()
    return (REMOVE, MOVE, ADD) if n else (ADD,)


def neighbors(points: Points, box: Box, change: Change) -> Neighbors:
    """Return the two worlds of `change` for records `points` (n, d), clipped into the public `box` first.

    Raises ValueError for a row that does not exist, and for a place with a wrong shape or without numbers.
    """
    records = box.clip(points)
    row, spot = change.row, np.array(change.place, dtype=np.float64)
    if change.operation != ADD and not 0 <= row < len(records):
        raise ValueError(f"record must be from 0 to {len(records) - 1}, because there are {len(records)}, got {row}")
    if change.operation == REMOVE:
        return Neighbors((records, np.delete(records, row, axis=0)), records[[row]])
    if spot.shape != (box.d,) or not np.isfinite(spot).all():
        raise ValueError(f"place must have {box.d} finite numbers, got {spot.size}")
    there = box.clip(spot[None])
    if change.operation == ADD:
        return Neighbors((records, np.concatenate([records, there])), there)
    second = records.copy()
    second[row] = there[0]
    return Neighbors((records, second), np.concatenate([records[[row]], there]))


@dataclass(frozen=True)
class WorldsQuestion:
    """A mechanism and two worlds. Equal questions have equal answers: a question is a job's key."""

    # Name in `ALGORITHMS`.
    method: str
    # Parameters, as a key.
    scalars: tuple[Hashable, ...]
    change: Change
    params: Any = field(compare=False)

    @property
    def worlds(self) -> AnyWorlds:
        """Readers of the method's releases."""
        return CATALOGUE[self.method].worlds if self.method in CATALOGUE else CENTERS

    @property
    def by_record(self) -> bool:
        """True if one call makes all runs."""
        return self.worlds.by_record is not None


def run_world(
    points: Points, box: Box, question: WorldsQuestion, world: int, n_runs: int, seed: tuple[int, ...]
) -> Cloud:
    """Run the mechanism `n_runs` times in world 0 or 1, with noise from `seed`, and read the releases.

    Runs of other seeds or worlds are independent. Raises ValueError as the mechanism and `neighbors` do.
    """
    pair = neighbors(points, box, question.change)
    records, spots = pair.nonprivate_worlds[world], pair.nonprivate_spots
    rng = np.random.default_rng((*seed, world))
    algorithm, worlds = ALGORITHMS[question.method], question.worlds
    if worlds.by_record is not None:
        return worlds.by_record(spots, box, question.params, world, n_runs, rng=rng)
    releases = [algorithm.fit(records, box, question.params, rng=each).release for each in rng.spawn(n_runs)]
    places = [each.centers if worlds.places is None else worlds.places(each, box) for each in releases]
    cuts = None if worlds.cuts is None else Cuts.joined([worlds.cuts(each, box) for each in releases])
    statistics = np.stack([statistics_of(worlds, each, spots, box) for each in releases])
    return Cloud(np.concatenate(places), cuts, statistics)


def statistics_of(worlds: AnyWorlds, release: CentersRelease, spots: Points, box: Box) -> FloatArray:
    """Return the numbers (f,) that an attacker interested in `spots` (s, d) reads from a release.

    f depends only on the type of the release.
    """
    centers = center_statistics(release, spots, box)
    if worlds.statistics is None:
        return centers
    return np.concatenate([centers, worlds.statistics(release, spots, box)])


def farthest_corner(box: Box, place: Points) -> FloatArray:
    """Return the corner (d,) of the public box that is farthest from `place` (d,)."""
    return np.where(place - box.low > box.high - place, box.low, box.high)


def limit(guarantee: Guarantee, operation: str, distance: float = 0.0) -> Limit:
    """Return the limit of the proved claim on an attacker, or else of the published claim; see `allowed`."""
    proved = guarantee.proved
    return Limit(allowed(guarantee.stated if proved is None else proved, operation, distance), proved is not None)


def allowed(claim: Claim, operation: str, distance: float = 0.0) -> float:
    """Return the maximum percentage of right guesses between two equally likely worlds under `claim`.

    It is 100 (e^E + D) / (1 + e^E), with (E, D) = (epsilon, delta) if the claim's adjacency covers the operation. For a
    move under ADD_REMOVE, (E, D) is the better of (2 epsilon, (1 + e^epsilon) delta) and the conversion of 4 rho at the
    claim's delta. For a claim per distance, E = epsilon `distance`, in the unit that epsilon is per.
    Raises ValueError for an operation that the claim does not cover.
    """
    if operation not in offered(claim, 1):
        raise ValueError(
            f"operation must be one that this claim covers, {', '.join(offered(claim, 1))}, got {operation!r}"
        )
    if claim.per_distance:
        return claim.odds(distance)
    if operation != MOVE or claim.adjacency is Adjacency.REPLACE:
        return claim.odds()
    doubled = under_replace(claim)
    odds = doubled.odds()
    if doubled.rho is not None:
        odds = min(odds, attacker_odds(zcdp_epsilon(doubled.rho, claim.delta), claim.delta))
    return odds


def noise_limit(_points: Points, _box: Box, events: Iterable[Event], operation: str) -> float:
    """Return 50 (1 + delta(0)), the largest percentage of right guesses that the noise of `events` allows.

    It is computed as a background job. delta(0) is the total variation of the worst pair of neighbors, from the events'
    privacy loss distributions at epsilon 0, under REPLACE for a move. It is a bound if nothing in the events follows
    from the records.
    """
    adjacency = Adjacency.REPLACE if operation == MOVE else Adjacency.ADD_REMOVE
    return 50.0 * (1.0 + delta_of(events, 0.0, adjacency))


def noise_distance(params: DistanceParams, box: Box, apart: FloatArray) -> float:
    """Return the length of `apart` (d,), data units, in the unit that nD-Laplace's epsilon is per."""
    return float(np.linalg.norm(apart / box.widths if params.unit == "range" else apart))


def one_radius_away(params: DistanceParams, box: Box, place: Points, radius: float) -> FloatArray:
    """Return `place` (d,) after a move by `radius`, in the unit that epsilon is per, inside the public box.

    The move goes toward the farthest corner, and no farther.
    """
    way = farthest_corner(box, place) - place
    return place + min(1.0, radius / noise_distance(params, box, way)) * way


def laplace_limit(epsilon: float, distance: float, d: int) -> float:
    """Return the limit, in 100, of nD-Laplace noise of `epsilon` per distance between two places.

    The limit is exact without a domain. Clamping and remapping are post-processing, which can only lower it. Drawing
    again can exceed it.
    """
    return 100.0 * float(two_point_success(laplace_total_variation(epsilon, distance, d)))


@immutable_value
class Odds:
    """Bounds on a guess between two worlds."""

    most: Limit
    # Limit from the noise alone, in 100; None if nothing is proved or the limit is unknown.
    noise: float | None
    # Epsilon times distance, for a claim per distance.
    level: float | None
    # Whether a move counts twice.
    doubled: bool


def odds_of(
    guarantee: Guarantee, change: Change, params: DistanceParams, box: Box, pair: Neighbors, noise: float | None
) -> Odds:
    """Return the odds of a change; `noise` comes from `noise_limit`, and a claim per distance ignores it."""
    claim = guarantee.stated if guarantee.proved is None else guarantee.proved
    doubled = change.operation == MOVE and claim.adjacency is Adjacency.ADD_REMOVE
    if not claim.per_distance:
        return Odds(limit(guarantee, change.operation), noise if guarantee.proved is not None else None, None, doubled)
    distance = noise_distance(params, box, pair.apart)
    exact = params.domain != "redraw" and box.d <= MAX_FEATURES
    own = laplace_limit(params.epsilon, distance, box.d) if exact else None
    return Odds(limit(guarantee, change.operation, distance), own, claim.epsilon * distance, doubled=False)


def sentence(score: HeldOutScore, most: Limit) -> str:
    """Return the attacker's score and the limit of the guarantee in words, as whole cases in 100.

    A rule that did worse than a coin toss does not count as better, even though its opposite would have done better.
    """
    n_right, (low, high) = round(100.0 * score.rate), whole_interval(score.low, score.high)
    coin = f"not shown to do better than a coin ({low} to {high} in 100)"
    start = f"An attacker who guesses from this release is {f'right {n_right} times in 100' if n_right > 50 else coin}"
    if most.established:
        return f"{start}; the guarantee allows {at_most(most.percent)}."
    if most.percent >= NO_LIMIT:
        return f"{start}. Nothing is proved for this release, and no claim limits it."
    claim = f"the published claim, which is not established, would allow {at_most(most.percent)}"
    broken = ": less than this attacker reaches" if 100.0 * score.low > most.percent else ""
    return f"{start}. Nothing is proved for this release; {claim}{broken}."


def interval_words(score: HeldOutScore) -> str:
    """Return the confidence interval as a sentence."""
    low, high = whole_interval(score.low, score.high)
    return (
        f"Between {low} and {high} in 100, with 95 % confidence: the rule was chosen on half of the runs and scored on "
        f"the other {score.n_rounds}. A coin is right 50 times; a different rule may do better."
    )


def remarks(odds: Odds, *, planned: bool) -> tuple[str, ...]:
    """Return the limit from the noise alone and how a move counts; `planned` is False for runs that plan as they go."""
    sentences = []
    if odds.noise is not None and planned:
        sentences.append(f"The mechanism's own noise allows {at_most(odds.noise)}.")
    if odds.doubled:
        sentences.append("A move is one removal and one addition, so the limit counts it twice.")
    if odds.level is not None:
        sentences.append(
            f"ε times the distance of the move is {number(odds.level)}. Other people's rows reveal nothing about it."
        )
    return tuple(sentences)


# -- The picture of two worlds --


# Report of a click on a record.
PICK = "record"
# Maximum number of marks of a world.
MOST_DRAWN = 2000
# Maximum number of different cuts of a world.
MOST_CUTS = 60
# Digits, in box units, up to which two cuts are the same.
SAME = 6
# Symbols of the two worlds. Their colors are the first two of the palette.
SYMBOLS = ("ring", "cross")
# A ring is visible around a cross.
SIZES = (9.0, 6.0)
# Share and minimum number of releases that count as near the record. Our choice.
NEAREST, FEWEST = 0.15, 20
LEAST_PAD = 0.01  # box widths
# Percentiles of the drawn points that a picture must include.
ENDS = (0.5, 99.5)
# Margin on each side, relative to the span of those points.
MARGIN = 0.1
# Nothing moves, so one of the clock's two frames remains.
CLOCK = Clock(0, ())
ALWAYS = {0: 0}
Arrays = dict[str, NDArray[Any]]


def pickable(scene: Scene) -> Scene:
    """Let a click on a record report PICK, in a picture whose records report nothing by themselves."""
    records = (Kind.POINTS, Audience.CURATOR, "person")
    layers = (
        replace(layer, pick=PICK) if (layer.kind, layer.audience, layer.name) == records else layer
        for layer in scene.layers
    )
    return replace(scene, layers=tuple(layers))


def row_of(mark: int, n: int) -> int | None:
    """Return the row of a mark in an even sample of n records; None for a mark that does not exist."""
    sampled = sample(n)
    return int(sampled[mark]) if mark < len(sampled) else None


def cloud_scene(
    clouds: tuple[Cloud, Cloud], pair: Neighbors, change: Change, what: str, words: Words, view: View, *, near: bool
) -> Scene:
    """Draw the releases of both worlds over the records; `what` names a mark, such as "released center".

    `near` shows the part around the record; otherwise the picture shows the whole box.

    Curator only: both worlds are made from the exact records, and the world of a release is exact information.
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
    beyond = " The record itself may be outside the picture." if near and not inside else ""
    return Scene(
        title="Two worlds",
        alt=f"What {n_runs} runs released in each of two worlds, one over the other: {first.lower()}, "
        f"{second.lower()}.",
        caption=f"Exact, and not a release: {n_runs} runs in each world. Rings: {first}. Crosses: {second}.{beyond}",
        x=x,
        y=y,
        axes_public=False,
        layers=tuple(replace(layer, rows=always(1)) for layer in layers),
        hint="Click a record to choose it.",
        scrubber=False,
    )


def _release_marks(what: str, places: Points, world: int, stage: Stage, name: str) -> Layer:
    """Return the releases of one world: rings in the first, crosses in the second, so neither hides the other."""
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
    """Return the layers of the record, its place in the other world, and the path to that place."""
    added = change.operation == ADD
    records = words.box.to_unit(pair.nonprivate_worlds[int(added)])
    # In a one-dimensional strip, a record stays at its height.
    here = spread(records, stage.projection)[[-1 if added else change.row]]

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
    """Return the axis with nearly all of `places` (m,) in view; with the whole box, or without it."""
    if not len(places):
        return axis
    low, high = (float(end) for end in np.percentile(places, ENDS))
    pad = max(MARGIN * (high - low), LEAST_PAD if near else 0.0)
    low, high = low - pad, high + pad
    return replace(axis, view=(low, high) if near else (min(axis.view[0], low), max(axis.view[1], high)))
