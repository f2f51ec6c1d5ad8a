"""What moves on the picture of nD-Laplace: everybody's points, and one record's way with its perturbation area.

Gray is what one person alone knows, orange is noise, blue is what everybody sees, green is public.
"""

from typing import Any

import numpy as np
import scipy

from dpviz.core import FloatArray, Labels
from dpviz.mechanisms import nd_laplace_noise
from dpviz.methods.nd_laplace.algorithm import grid_of
from dpviz.methods.nd_laplace.story.told import PointsContext, outlines, placed
from dpviz.plots import Frame, Kind, Layer, Role
from dpviz.stories.ground_layers import NO_GROUP, box_layer, sample
from dpviz.stories.panel import number
from dpviz.stories.stage import PUBLIC, RELEASED, SECRET, SECRET_NOISE, Clock, Seen, Stage
from dpviz.stories.view import Projection

MOST_MOVES = 100  # records whose displacement is drawn, and that can be clicked
N_DRAWS = 200  # further draws that show the law
FEW = 1500  # records up to which every released point and some moves are drawn at first; more are a density
DENSE = (-0.75, 1.75)  # scene coordinates between which the density is drawn
N_CELLS = 80  # of it, along each axis
BLUR = 1.2  # cells
PICK = "record"  # what a click on a record reports
RINGS = "Perturbation area"


def frames_of(told: PointsContext) -> tuple[Frame, ...]:
    """Name the stops: the way of every record, in words that are the same for all."""
    domain = told.params.domain
    redrawn = " Drawn again until the point is inside." if domain == "redraw" else ""
    kept = {
        "none": "Every point is sent as it is, also from outside the box.",
        "clamp": "A point outside goes to the nearest place on the wall. That uses public bounds only.",
        "redraw": "Every point is inside: who was outside has drawn again.",
        "remap": "Every point goes to its place of a public grid.",
    }
    before = [Frame("Before the box", "Where the noise has led, before anybody looks at the box.")]
    return (
        Frame("Before", "Each person knows their own place, and nobody else's."),
        Frame("Radius", f"A length r is drawn: short ones are likely, and ε sets the scale.{redrawn}"),
        Frame("Direction", "All directions are equally likely."),
        *(before if domain in ("clamp", "remap") else []),
        Frame("Release", kept[domain]),
    )


def clock_of(told: PointsContext) -> Clock:
    """Return the stops of the scrubber."""
    middle = ("domain",) if told.params.domain in ("clamp", "remap") else ()
    return Clock(1, ("radius", "direction", *middle))


def sampled(n: int) -> Labels:
    """Return the rows of n whose way is drawn and that can be clicked, spread evenly; the same for the same n."""
    return np.arange(0, n, max(1, -(-n // MOST_MOVES)), dtype=np.intp)


def layers(told: PointsContext, plane: Projection, rng: np.random.Generator) -> list[Layer]:
    """Return what is drawn, from back to front."""
    stage = Stage(plane, clock_of(told))
    return [
        *box_layer(stage, public=told.words.box_public),
        *_scale_bar(told, stage),
        *_grid(told, stage),
        *_crowd(told, stage),
        *_ways(told, stage),
        *(_chosen(told, stage, rng) if told.n else []),
    ]


def _crowd(told: PointsContext, stage: Stage) -> list[Layer]:
    """Everybody's records and released points."""
    clock, kept = stage.clock, sample(told.n)
    style = {"size": 2.5 if told.n > FEW else 4.0, "isolate": False, "total": told.n, "glides": "index"}
    last = {clock.release: 0}
    dense = told.n > FEW and stage.projection.d == 2
    found = [
        *([_density(told, stage)] if dense else []),
        _points("Records", SECRET, clock.always(), told.unit, stage, kept, style),
        _points("Released points", RELEASED, last, told.released, stage, kept, {**style, "shown": not dense}),
    ]
    if "domain" in clock.phases:
        before = told.words.box.to_unit(told.step.before_domain)
        between = {clock.frame(0, "domain"): 0}
        found.insert(-1, _points("Before the box", SECRET_NOISE, between, before, stage, kept, style))
    return found


def _density(told: PointsContext, stage: Stage) -> Layer:
    """Where the released points are many: cells of the picture, blurred, so that a crowd does not hide one person."""
    plane = stage.projection
    xy = placed(told.released, plane, np.arange(told.n))
    counts, _, _ = np.histogram2d(xy[:, 1], xy[:, 0], bins=N_CELLS, range=(DENSE, DENSE))  # (y, x)
    smooth = scipy.ndimage.gaussian_filter(counts, BLUR)
    value = np.rint(255.0 * np.sqrt(smooth / max(float(smooth.max()), 1e-12))).astype(np.uint8)[None, None]
    arrays = {"rect": np.array([[[DENSE[0], DENSE[0], DENSE[1], DENSE[1]]]]), "value": value}
    rows = {stage.clock.release: 0}
    return stage.layer("Released density", Kind.GRID, RELEASED.role, RELEASED.audience, rows, arrays, isolate=False)


def _points(
    name: str, seen: Seen, rows: dict[int, int], unit: FloatArray, stage: Stage, kept: Labels, style: dict[str, Any]
) -> Layer:
    xy = placed(unit[kept], stage.projection, kept)[None]
    group = np.full(xy.shape[:2], NO_GROUP, dtype=np.uint8)
    return stage.layer(name, Kind.POINTS, seen.role, seen.audience, rows, {"xy": xy, "group": group}, **style)


def _ways(told: PointsContext, stage: Stage) -> list[Layer]:
    """The displacements of some records, and what can be clicked."""
    rows, clock, plane = sampled(told.n), stage.clock, stage.projection
    tails = placed(told.unit[rows], plane, rows)
    heads = [told.words.box.to_unit(told.step.before_domain[rows]), told.released[rows]]
    ends = np.stack([np.concatenate([tails, placed(each, plane, rows)], axis=1) for each in heads])
    way = {**clock.during(*clock.phases[1:]), clock.release: 1}
    names = tuple(f"record {int(i)}" for i in rows)
    shared: dict[str, Any] = {"isolate": False, "names": names, "ids": tuple(rows.tolist())}
    some = "" if len(rows) == told.n else f" of {len(rows)}"
    noise, exact = SECRET_NOISE, SECRET
    return [
        stage.layer(
            f"Moves{some}",
            Kind.SEGMENTS,
            noise.role,
            noise.audience,
            way,
            {"ends": ends},
            size=1.0,
            shown=told.n <= FEW,
            **shared,
        ),
        stage.layer(
            "Selectable record",
            Kind.MARKS,
            exact.role,
            exact.audience,
            clock.always(),
            {"xy": tails[None]},
            symbol="ring",
            size=5.0,
            pick=PICK,
            **shared,
        ),
    ]


def _chosen(told: PointsContext, stage: Stage, rng: np.random.Generator) -> list[Layer]:
    """The chosen record: its perturbation area by the law, draws from it, and what really happened to it."""
    clock, plane, i = stage.clock, stage.projection, np.array([told.record])
    here = placed(told.unit[i], plane, i)
    before = placed(told.words.box.to_unit(told.step.before_domain[i]), plane, i)
    after = placed(told.released[i], plane, i)
    drawn = {**dict.fromkeys(range(1, clock.release), 0), clock.release: 1}
    length = outlines(here, told.step.radius[i], told, plane)
    heads = np.stack([before, after])
    arrow = {"tail": np.stack([here, here]), "head": heads}
    own: dict[str, Any] = {"isolate": False, "ids": (told.record,)}
    exact, noise, blue = SECRET, SECRET_NOISE, RELEASED
    late = {**clock.during(*clock.phases[1:]), clock.release: 1}
    return [
        *_area(told, stage, here, rng),
        stage.layer(
            "Noise distance r",
            Kind.LINES,
            noise.role,
            noise.audience,
            drawn if told.params.domain != "remap" else {k: 0 for k in drawn if k != clock.release},
            {"xy": length[None].repeat(2, axis=0)},
            size=2.0,
            **own,
        ),
        *_rejected(told, stage),
        stage.layer("Noise vector", Kind.ARROWS, noise.role, noise.audience, late, arrow, size=2.5, **own),
        stage.layer(
            "Chosen record",
            Kind.MARKS,
            exact.role,
            exact.audience,
            clock.always(),
            {"xy": here[None]},
            symbol="ring",
            size=12.0,
            **own,
        ),
        stage.layer(
            "The chosen record's point",
            Kind.MARKS,
            blue.role,
            blue.audience,
            {clock.release: 0},
            {"xy": after[None]},
            size=11.0,
            **own,
        ),
    ]


def _area(told: PointsContext, stage: Stage, here: FloatArray, rng: np.random.Generator) -> list[Layer]:
    """The mean radius, the circles that hold 50, 90 and 95 in 100 releases, and draws from the law."""
    area, plane, noise = told.area, stage.projection, SECRET_NOISE
    radii = np.array([area.mean_radius, *area.radii])
    rings = outlines(np.repeat(here, len(radii), axis=0), radii, told, plane)
    said = [told.measure.words(radius) for radius in area.radii]
    names = tuple(f"{round(100 * level)} in 100 within {r}" for level, r in zip(area.levels, said, strict=True))
    law = nd_laplace_noise(N_DRAWS, told.words.box.d, epsilon=told.params.epsilon, rng=rng).displacement
    center = told.unit[told.record] + law * told.scales
    draws = placed(center, plane, np.full(N_DRAWS, told.record))
    always = stage.clock.always()
    options: dict[str, Any] = {"isolate": False}
    return [
        stage.layer(
            f"{N_DRAWS} other draws",
            Kind.MARKS,
            noise.role,
            noise.audience,
            always,
            {"xy": draws[None]},
            size=3.0,
            shown=False,
            **options,
        ),
        stage.layer(
            f"{RINGS}: mean radius {told.measure.words(area.mean_radius)}",
            Kind.LINES,
            noise.role,
            noise.audience,
            always,
            {"xy": rings[None, :1]},
            size=2.5,
            ids=(told.record,),
            **options,
        ),
        stage.layer(
            f"Holds {', '.join(number(100 * level) for level in area.levels)} in 100",
            Kind.LINES,
            noise.role,
            noise.audience,
            always,
            {"xy": rings[None, 1:]},
            size=1.25,
            dash=True,
            shown=False,
            ids=tuple(f"{told.record} {level}" for level in area.levels),
            names=names,
            **options,
        ),
    ]


def _rejected(told: PointsContext, stage: Stage) -> list[Layer]:
    """The draws of the chosen record that ended outside the box (thesis, figure 5.1)."""
    found = told.step.rejected_of(told.record)
    if not len(found) or told.params.domain != "redraw":
        return []
    rows = np.full(len(found), told.record)
    xy = placed(told.words.box.to_unit(found), stage.projection, rows)[None]
    during = dict.fromkeys(range(1, stage.clock.n_frames), 0)
    return [
        stage.layer(
            "Its rejected draws",
            Kind.MARKS,
            SECRET_NOISE.role,
            SECRET_NOISE.audience,
            during,
            {"xy": xy},
            symbol="cross",
            size=9.0,
            isolate=False,
        )
    ]


def _grid(told: PointsContext, stage: Stage) -> list[Layer]:
    """The public places that remap moves to."""
    if told.params.domain != "remap":
        return []
    unit = told.words.box.to_unit(grid_of(told.words.box, told.params))
    xy = np.unique(np.round(stage.projection(unit), 9), axis=0)
    always = stage.clock.always()
    return [
        stage.layer(
            "Places of the public grid",
            Kind.MARKS,
            PUBLIC.role,
            PUBLIC.audience,
            always,
            {"xy": xy[None]},
            symbol="square",
            size=2.5,
            isolate=False,
        )
    ]


def _scale_bar(told: PointsContext, stage: Stage) -> list[Layer]:
    """A bar as long as the radius that ε is stated for, under the box's lower wall."""
    plane = stage.projection
    if plane.corners is None:
        return []
    length = told.measure.radius * float(np.abs(plane.matrix[:, 0] * told.scales).max())
    low = -0.055
    ends = np.array(
        [[0.0, low, length, low], [0.0, low - 0.012, 0.0, low + 0.012], [length, low - 0.012, length, low + 0.012]]
    )
    name, always = f"Scale: {told.measure.said}, the distance ε is for", stage.clock.always()
    style: dict[str, Any] = {"size": 3.0, "isolate": False}
    return [stage.layer(name, Kind.SEGMENTS, Role.REFERENCE, PUBLIC.audience, always, {"ends": ends[None]}, **style)]
