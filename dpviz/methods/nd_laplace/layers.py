"""Layers of nD-Laplace's picture: all points, and the move of one record with its perturbation area.

Gray is known to only one person, orange is noise, blue is visible to everyone, green is public.
"""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import scipy

from dpviz.core import AnyArray, Confidential, FloatArray, Labels, Points, algebra, immutable, immutable_value
from dpviz.mechanisms import nd_laplace_noise, perturbation_area
from dpviz.methods.nd_laplace.algorithm import Params, Step, grid_of
from dpviz.plots import GUIDE, PUBLIC, RELEASED, SECRET, SECRET_NOISE, Frame, Ink, Kind, Layer, rows_at
from dpviz.stories.ground_layers import NO_GROUP, box_layer, sample
from dpviz.stories.ground_layers import SCALE as SCALE_NAME
from dpviz.stories.panel import number
from dpviz.stories.stage import Clock, Stage
from dpviz.stories.view import GOLDEN, Projection, Words
from dpviz.stories.wording import METERS, length_words

# Number of records whose move is drawn.
MOST_THREADS = 1_000
# Number of moves that are drawn in full, so that single moves can be followed.
N_FULL = 20
# Opacity of both.
THREAD, FULL_THREAD = 0.12, 0.6
# Share of the picture. A longer thread is fainter, so that many threads never hide the map.
SHORT = 0.15
# Smallest share of its opacity that a thread keeps.
FAINTEST = 0.25
# Further draws that show the distribution.
N_DRAWS = 200
# With at most this many records, points are large.
FEW = 1_500
# Scene coordinates between which the density is drawn.
DENSE = (-0.75, 1.75)
# Cells of the density along each axis.
N_CELLS = 80
BLUR = 1.6  # cells
# Name of the message of a click on a record.
PICK = "record"
HALF, NINE_IN_TEN = "half land inside", "9 in 10 land inside"
# Vertices of a ring.
TURNS = 97
# Half the height of a ring on a strip, on which height has no meaning.
STRIP = 0.03
# Place of the bar's end, from the lower right corner of the box.
SCALE_PLACE = (0.02, 0.025)


@immutable_value
class Measure:
    """The radius r of the level: two places at most r apart can be distinguished by at most a factor of e^level."""

    # In the unit of the noise.
    radius: float
    # For example "m". Empty if the features have no unit.
    unit: str = ""
    # True if the unit is the public range of each feature.
    shares: bool = False

    @classmethod
    def from_params(cls, units: tuple[str, ...], params: Params, radius: float) -> Self:
        """Return the radius in the unit that the parameters measure distances in."""
        if params.unit == "range":
            return cls(radius, shares=True)
        return cls(radius, units[0] if len(set(units)) == 1 else "")

    def words(self, length: float) -> str:
        """Write a length with its unit."""
        if self.shares:
            return f"{number(100.0 * length)} % of the range"
        digits = number(length)
        return f"{digits} {self.unit or ('unit' if digits == '1' else 'units')}"

    @property
    def radius_words(self) -> str:
        """The radius with its unit."""
        return self.words(self.radius)

    @property
    def near_words(self) -> str:
        """The radius with a unit that a line has room for."""
        if self.shares:
            return self.words(self.radius)
        words = length_words(self.radius, self.unit, number)
        return "1 unit" if words == "1 units" else words

    @property
    def axis_unit(self) -> str:
        """The unit of an axis of lengths."""
        return "% of the range" if self.shares else self.unit


def frames_of(domain: str) -> tuple[Frame, ...]:
    """Name the stops: the move of every record, in the same words for all."""
    again = domain == "redraw"
    release = {
        "none": "Every point is sent as it is, also from outside the box.",
        "clamp": "A point outside goes to the nearest place on the public wall.",
        "redraw": "Every point is inside: anyone who landed outside drew again.",
        "remap": "Every point goes to its place of a public grid.",
    }
    before = [Frame("Before the box", "Where the noise led, before the box applies.")]
    return (
        Frame("Before", "Each person knows their own place, and nobody else's."),
        Frame(
            "Radius",
            "A length is drawn, again and again, until the point is inside."
            if again
            else "Everyone draws how far to move: short moves are likely.",
        ),
        Frame("Direction", "All directions are equally likely."),
        *(before if domain in ("clamp", "remap") else []),
        Frame("Release", release[domain]),
    )


def threaded(n: int) -> Labels:
    """Return the rows of n whose moves are drawn, spread evenly; the same for the same n."""
    return np.arange(0, n, max(1, -(-n // MOST_THREADS)), dtype=np.intp)


def thread_opacity(ends: FloatArray) -> FloatArray:
    """Return the opacity (R, m) of threads `ends` (R, m, 4): long ones are fainter, N_FULL of them are full."""
    length = np.hypot(ends[..., 2] - ends[..., 0], ends[..., 3] - ends[..., 1])
    full = np.zeros(ends.shape[1], dtype=bool)
    full[:: max(1, -(-len(full) // N_FULL))] = True
    fading = np.clip(SHORT / np.maximum(length, 1e-12), FAINTEST, 1.0)
    return np.where(full, FULL_THREAD * np.sqrt(fading), THREAD * fading)


def placed(unit: Points, plane: Projection, rows: Labels | None = None) -> FloatArray:
    """Return places (n, 2) in the picture for points (n, d).

    On a strip, each keeps the height of its record in `rows`.
    """
    xy = plane(unit)
    if plane.d == 1:
        records = np.arange(len(unit)) if rows is None else rows
        # The same heights as `spread` gives.
        xy[:, 1] = np.modf(GOLDEN * (records + 1.0))[0]
    return xy


def own_marks(record: int, plane: Projection, name: str, ink: Ink, unit: Points, symbol: str, size: float) -> Layer:
    """Return marks of a record's places (m, d), box units, in a picture with one frame."""
    xy = placed(unit, plane, np.full(len(unit), record))[None]
    return Layer.from_arrays(name, Kind.MARKS, ink, xy, symbol=symbol, size=size)


def outlines(centers: FloatArray, radii: FloatArray, scales: FloatArray, plane: Projection) -> FloatArray:
    """Return the outlines (m, p, 2) of balls of `radii` (m,), noise units, around places (m, 2) of the picture.

    `scales` (d,) are box units of one noise unit along each feature.
    The picture of a ball {x + r u} under a linear map M is the ellipse r (M M^T)^(1/2) (cos, sin).
    """
    # (d, 2) from noise units to the picture.
    matrix = plane.matrix * scales[:, None]
    values, vectors = algebra.eigen(algebra.product(matrix.T, matrix))
    root = vectors * np.sqrt(np.maximum(values, 0.0)) @ vectors.T
    # Angles begin at the foot, because the label of a ring is halfway along, at its top.
    angles = np.linspace(-0.5 * np.pi, 1.5 * np.pi, TURNS)
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    rings = radii[:, None, None] * (circle @ root)
    if plane.d == 1:
        rings[..., 1] = STRIP * circle[:, 1]
    return centers[:, None, :] + rings


def draw_layers(
    unit: Points,
    released: Points,
    step: Step,
    record: int,
    params: Params,
    words: Words,
    measure: Measure,
    scales: FloatArray,
    plane: Projection,
    *,
    rng: np.random.Generator,
) -> tuple[Layer, ...]:
    """Draw records and released points (n, d), box units, and one record's perturbation area, from back to front.

    `measure` is the radius that ε is for, and `scales` (d,) are box units of one noise unit. `rng` draws the noise.
    """
    box = words.box
    middle = ("domain",) if params.domain in ("clamp", "remap") else ()
    stage = Stage(plane, Clock(1, ("radius", "direction", *middle)))
    layers = box_layer(stage, public=words.box_public)
    # A bar in the lower right corner is as long as the radius for which ε is stated.
    if plane.corners is not None:
        length = measure.radius * float(np.abs(plane.matrix[:, 0] * scales).max())
        low, end = SCALE_PLACE[1], max(1.0 - SCALE_PLACE[0], length)
        start, half = end - length, 0.5 * SCALE_PLACE[1] / 2.0
        ends = np.array([[start, low, end, low], *([at, low - half, at, low + half] for at in (start, end))])
        length_text = measure.near_words if measure.unit in METERS else measure.radius_words
        name = f"{SCALE_NAME}{length_text} (the distance ε is for)"
        layers.append(_layer(stage, name, Kind.SEGMENTS, GUIDE, stage.clock.always(), ends[None], size=2.0))
    if params.domain == "remap":
        places = plane(box.to_unit(grid_of(box, params)))
        xy, name = np.unique(np.round(places, 9), axis=0)[None], "Places of the public grid"
        layers.append(_layer(stage, name, Kind.MARKS, PUBLIC, stage.clock.always(), xy, symbol="square", size=2.5))
    before = box.to_unit(step.before_domain)
    layers += _crowd(unit, before, released, stage)
    if not len(released):
        return tuple(layers)
    rejected = box.to_unit(step.rejected_of(record)) if params.domain == "redraw" else np.empty((0, box.d))
    chosen = _Chosen(record, unit[[record]], before[[record]], released[[record]], step.radius[[record]], rejected)
    return (*layers, *_chosen_layers(chosen, params.epsilon, measure, scales, stage, rng))


def _layer(
    stage: Stage,
    name: str,
    kind: Kind,
    ink: Ink,
    rows: Mapping[int, int],
    arrays: FloatArray | Mapping[str, AnyArray],
    **style: Any,
) -> Layer:
    """Return a layer whose `rows` are given as {frame: row}."""
    return Layer.from_arrays(name, kind, ink, arrays, rows_at(stage.clock.n_frames, rows), **style)


def _crowd(unit: Points, before: Points, released: Points, stage: Stage) -> list[Layer]:
    """Draw everyone's records, moves and released points, and the density of the release."""
    n = len(released)
    clock, plane, rows = stage.clock, stage.projection, sample(n)
    release = {clock.release: 0}
    layers = []
    if plane.d == 2:
        xy = placed(released, plane, np.arange(n))
        counts, _, _ = np.histogram2d(xy[:, 1], xy[:, 0], bins=N_CELLS, range=(DENSE, DENSE))  # (y, x)
        smooth = scipy.ndimage.gaussian_filter(counts, BLUR)
        value = np.rint(255.0 * np.sqrt(smooth / max(float(smooth.max()), 1e-12))).astype(np.uint8)[None, None]
        middle, reach = np.full((1, 1, 2), sum(DENSE) / 2.0), np.full((1, 1), (DENSE[1] - DENSE[0]) / 2.0)
        arrays: dict[str, AnyArray] = {"center": middle, "radius": reach, "value": value}
        layers.append(_layer(stage, "Density of sent points", Kind.HEAT, RELEASED, release, arrays, shown=False))
    small, none = n > FEW, np.full((1, len(rows)), NO_GROUP, dtype=np.uint8)

    def points(name: str, ink: Ink, frames: dict[int, int], all_places: Points, size: float, **style: str) -> Layer:
        arrays: dict[str, AnyArray] = {"xy": placed(all_places[rows], plane, rows)[None], "group": none}
        return _layer(stage, name, Kind.POINTS, ink, frames, arrays, size=size, total=n, glides="index", **style)

    # The moves of an even sample of the records, each drawn as a faint thread.
    some = threaded(n)
    tails = placed(unit[some], plane, some)
    heads = [plane.pinned(placed(each[some], plane, some)) for each in (before, released)]
    ends = np.stack([np.concatenate([tails, each], axis=1) for each in heads])
    during = {**clock.during(*clock.phases[1:]), clock.release: 1}
    threads = {"ends": ends, "alpha": thread_opacity(ends)}
    layers += [
        _layer(stage, "noise", Kind.SEGMENTS, SECRET_NOISE, during, threads, size=1.0, glides="index"),
        points("person", SECRET, clock.always(), unit, 2.0, pick=PICK),
    ]
    size = 2.5 if small else 4.5
    if "domain" in clock.phases:
        layers.append(points("before the box", SECRET_NOISE, {clock.frame(0, "domain"): 0}, before, size))
    return [*layers, points("sent point", RELEASED, release, released, size, label="a sent point")]


@immutable
class _Chosen(Confidential):
    """The record that the reader looks at, and its move; box units, and the radius in noise units."""

    record: int
    nonprivate_place: Points  # (1, d)
    # (1, d) place after the noise, before the box is applied.
    nonprivate_before: Points
    released: Points  # (1, d)
    nonprivate_radius: FloatArray  # (1,)
    # (m, d) draws outside the box that were redrawn.
    nonprivate_rejected: Points


def _chosen_layers(
    chosen: _Chosen, epsilon: float, measure: Measure, scales: FloatArray, stage: Stage, rng: np.random.Generator
) -> list[Layer]:
    """Draw the chosen record: its perturbation area, draws from the distribution, and its actual move."""
    clock, plane, words, d = stage.clock, stage.projection, measure.words, len(scales)
    area, always, i = perturbation_area(d, epsilon=epsilon), clock.always(), np.array([chosen.record])
    moving = dict.fromkeys(range(1, clock.n_frames), 0)
    own: dict[str, Any] = {"ids": (chosen.record,)}
    ways = (chosen.nonprivate_place, chosen.nonprivate_before, chosen.released)
    here, before, after = (placed(each, plane, i) for each in ways)

    # The mean radius, the circles that contain half and 9 in 10 of all releases, and draws from the distribution.
    half, most, _ = area.radii
    rings = outlines(np.repeat(here, 3, axis=0), np.array([area.mean_radius, half, most]), scales, plane)[None]
    law = nd_laplace_noise(N_DRAWS, d, epsilon=epsilon, rng=rng).displacement
    draws = placed(chosen.nonprivate_place + law * scales, plane, np.full(N_DRAWS, chosen.record))[None]
    mean = f"Perturbation area: mean radius {words(area.mean_radius)}"
    other = f"{N_DRAWS} other draws"
    ring: dict[str, Any] = {"size": 1.5, **own}
    layers = [
        _layer(stage, other, Kind.MARKS, SECRET_NOISE, always, draws, size=3.0, shown=False),
        _layer(stage, mean, Kind.LINES, SECRET_NOISE, always, rings[:, :1], shown=False, **ring),
        _layer(stage, NINE_IN_TEN, Kind.LINES, SECRET_NOISE, moving, rings[:, 2:], dash=True, **ring),
        _layer(stage, HALF, Kind.LINES, SECRET_NOISE, moving, rings[:, 1:2], **ring),
    ]

    # The actual move: the length, the draws that ended outside the box (thesis, figure 5.1), the vector.
    length = outlines(here, chosen.nonprivate_radius, scales, plane)[None]
    drawing = {frame: 0 for frame in moving if frame != clock.release}
    layers.append(_layer(stage, "Noise distance r", Kind.LINES, SECRET_NOISE, drawing, length, size=2.0, **own))
    rejected = chosen.nonprivate_rejected
    if len(rejected):
        xy = placed(rejected, plane, np.full(len(rejected), chosen.record))[None]
        cross = {"symbol": "cross", "size": 9.0}
        layers.append(_layer(stage, "Its rejected draws", Kind.MARKS, SECRET_NOISE, moving, xy, **cross))
    late = {**clock.during(*clock.phases[1:]), clock.release: 1}
    arrow = {"tail": np.stack([here, here]), "head": plane.pinned(np.stack([before, after]))}
    last, ring_mark = {clock.release: 0}, {"symbol": "ring", "size": 11.0}
    return [
        *layers,
        _layer(stage, "this person's noise", Kind.ARROWS, SECRET_NOISE, late, arrow, size=2.4, label="noise", **own),
        _layer(stage, "this person", Kind.MARKS, SECRET, always, here[None], label="a person", **ring_mark, **own),
        _layer(stage, "what they send", Kind.MARKS, RELEASED, last, after[None], size=9.0, label="a sent point", **own),
    ]
