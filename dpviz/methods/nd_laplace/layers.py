"""What moves on the picture of nD-Laplace: everybody's points, and one record's way with its perturbation area.

Gray is what one person alone knows, orange is noise, blue is what everybody sees, green is public.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
from numpy.typing import NDArray

from dpviz.core import FloatArray, Labels, Points, algebra
from dpviz.mechanisms import nd_laplace_noise
from dpviz.methods.nd_laplace.algorithm import grid_of
from dpviz.plots import Frame, Kind, Layer, Role, rows_at
from dpviz.plots.scene import PUBLIC, RELEASED, SECRET, SECRET_NOISE, Ink
from dpviz.stories.ground_layers import NO_GROUP, box_layer, sample
from dpviz.stories.panel import number
from dpviz.stories.stage import Clock, Stage
from dpviz.stories.view import GOLDEN, Projection

if TYPE_CHECKING:
    from dpviz.methods.nd_laplace.run import NDLaplaceRun

MOST_MOVES = 100  # records whose displacement is drawn, and that can be clicked
N_DRAWS = 200  # further draws that show the law
FEW = 1500  # records up to which every released point and some moves are drawn at first; more are a density
DENSE = (-0.75, 1.75)  # scene coordinates between which the density is drawn
N_CELLS = 80  # of it, along each axis
BLUR = 1.2  # cells
PICK = "record"  # what a click on a record reports
TURNS = 97  # vertices of a ring
STRIP = 0.03  # half the height of a ring on a strip, where height has no meaning
SCALE = Ink(Role.REFERENCE, PUBLIC.audience)


def frames_of(run: NDLaplaceRun) -> tuple[Frame, ...]:
    """Name the stops: the way of every record, in words that are the same for all."""
    domain = run.params.domain
    again = " Drawn again until the point is inside." if domain == "redraw" else ""
    release = {
        "none": "Every point is sent as it is, also from outside the box.",
        "clamp": "A point outside goes to the nearest place on the wall. That uses public bounds only.",
        "redraw": "Every point is inside: who was outside has drawn again.",
        "remap": "Every point goes to its place of a public grid.",
    }
    before = [Frame("Before the box", "Where the noise has led, before anybody looks at the box.")]
    return (
        Frame("Before", "Each person knows their own place, and nobody else's."),
        Frame("Radius", f"A length r is drawn: short ones are likely, and ε sets the scale.{again}"),
        Frame("Direction", "All directions are equally likely."),
        *(before if domain in ("clamp", "remap") else []),
        Frame("Release", release[domain]),
    )


def sampled(n: int) -> Labels:
    """Return the rows of n whose way is drawn and that can be clicked, spread evenly; the same for the same n."""
    return np.arange(0, n, max(1, -(-n // MOST_MOVES)), dtype=np.intp)


def placed(unit: Points, plane: Projection, rows: Labels | None = None) -> FloatArray:
    """Return where to draw points (n, d), (n, 2); on a strip each keeps the height of its record, one of `rows`."""
    xy = plane(unit)
    if plane.d == 1:
        records = np.arange(len(unit)) if rows is None else rows
        xy[:, 1] = np.modf(GOLDEN * (records + 1.0))[0]  # as `spread` has it
    return xy


def own_marks(
    run: NDLaplaceRun, plane: Projection, name: str, ink: Ink, unit: Points, symbol: str, size: float
) -> Layer:
    """Return marks of the chosen record's places (m, d), box units, in a picture with one frame."""
    xy = placed(unit, plane, np.full(len(unit), run.record))[None]
    return Layer.of(name, Kind.MARKS, ink, xy, symbol=symbol, size=size)


def outlines(centers: FloatArray, radii: FloatArray, run: NDLaplaceRun, plane: Projection) -> FloatArray:
    """Return the outlines (m, p, 2) of balls of `radii` (m,), noise units, around places (m, 2) of the picture.

    The picture of a ball {x + r u} under a linear map M is the ellipse r (M M^T)^(1/2) (cos, sin).
    """
    matrix = plane.matrix * run.scales[:, None]  # (d, 2) from noise units to the picture
    values, vectors = algebra.eigen(algebra.product(matrix.T, matrix))
    root = vectors * np.sqrt(np.maximum(values, 0.0)) @ vectors.T
    angles = np.linspace(0.0, 2.0 * np.pi, TURNS)
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    rings = radii[:, None, None] * (circle @ root)
    if plane.d == 1:
        rings[..., 1] = STRIP * circle[:, 1]
    return np.asarray(centers[:, None, :] + rings)


def layers_of(run: NDLaplaceRun, plane: Projection, rng: np.random.Generator) -> list[Layer]:
    """Return what is drawn, from back to front."""
    middle = ("domain",) if run.params.domain in ("clamp", "remap") else ()
    stage = Stage(plane, Clock(1, ("radius", "direction", *middle)))
    layers = box_layer(stage, public=run.words.box_public)
    if plane.corners is not None:  # a bar as long as the radius that ε is stated for, under the box's lower wall
        length = run.measure.radius * float(np.abs(plane.matrix[:, 0] * run.scales).max())
        low = -0.055
        ends = np.array(
            [[0.0, low, length, low], [0.0, low - 0.012, 0.0, low + 0.012], [length, low - 0.012, length, low + 0.012]]
        )
        name = f"Scale: {run.measure.radius_words}, the distance ε is for"
        layers.append(_layer(stage, name, Kind.SEGMENTS, SCALE, stage.clock.always(), ends[None], size=3.0))
    if run.params.domain == "remap":
        places = plane(run.words.box.to_unit(grid_of(run.words.box, run.params)))
        xy, name = np.unique(np.round(places, 9), axis=0)[None], "Places of the public grid"
        layers.append(_layer(stage, name, Kind.MARKS, PUBLIC, stage.clock.always(), xy, symbol="square", size=2.5))
    return [*layers, *_crowd(run, stage), *_moves(run, stage), *(_chosen(run, stage, rng) if run.n else [])]


def _layer(
    stage: Stage,
    name: str,
    kind: Kind,
    ink: Ink,
    rows: Mapping[int, int],
    arrays: NDArray[np.float64] | Mapping[str, NDArray[Any]],
    **style: Any,
) -> Layer:
    """Return a layer whose `rows` are given as {frame: row}."""
    return Layer.of(name, kind, ink, arrays, rows_at(stage.clock.n_frames, rows), **style)


def _crowd(run: NDLaplaceRun, stage: Stage) -> list[Layer]:
    """Everybody's records and released points; many points are a density at first, which hides no single person."""
    clock, plane, rows = stage.clock, stage.projection, sample(run.n)
    dense = run.n > FEW and plane.d == 2
    release = {clock.release: 0}
    crowds: list[tuple[str, Ink, dict[int, int], Points, bool]] = [
        ("Records", SECRET, clock.always(), run.unit, True),
        ("Released points", RELEASED, release, run.released, not dense),
    ]
    if "domain" in clock.phases:
        before = run.words.box.to_unit(run.step.before_domain)
        crowds.insert(1, ("Before the box", SECRET_NOISE, {clock.frame(0, "domain"): 0}, before, True))
    layers = []
    if dense:
        xy = placed(run.released, plane, np.arange(run.n))
        counts, _, _ = np.histogram2d(xy[:, 1], xy[:, 0], bins=N_CELLS, range=(DENSE, DENSE))  # (y, x)
        smooth = scipy.ndimage.gaussian_filter(counts, BLUR)
        value = np.rint(255.0 * np.sqrt(smooth / max(float(smooth.max()), 1e-12))).astype(np.uint8)[None, None]
        arrays = {"rect": np.array([[[DENSE[0], DENSE[0], DENSE[1], DENSE[1]]]]), "value": value}
        layers.append(_layer(stage, "Released density", Kind.GRID, RELEASED, release, arrays))
    size, group = 2.5 if run.n > FEW else 4.0, np.full((1, len(rows)), NO_GROUP, dtype=np.uint8)
    for name, ink, frames, unit, visible in crowds:
        arrays = {"xy": placed(unit[rows], plane, rows)[None], "group": group}
        style = {"size": size, "total": run.n, "glides": "index", "shown": visible}
        layers.append(_layer(stage, name, Kind.POINTS, ink, frames, arrays, **style))
    return layers


def _moves(run: NDLaplaceRun, stage: Stage) -> list[Layer]:
    """The displacements of some records, and what can be clicked."""
    rows, clock, plane = sampled(run.n), stage.clock, stage.projection
    tails = placed(run.unit[rows], plane, rows)
    heads = [run.words.box.to_unit(run.step.before_domain[rows]), run.released[rows]]
    ends = np.stack([np.concatenate([tails, placed(each, plane, rows)], axis=1) for each in heads])
    during = {**clock.during(*clock.phases[1:]), clock.release: 1}
    style: dict[str, Any] = {"names": tuple(f"record {int(i)}" for i in rows), "ids": tuple(rows.tolist())}
    name = "Moves" if len(rows) == run.n else f"Moves of {len(rows)}"
    ring = {"symbol": "ring", "size": 5.0, "pick": PICK, **style}
    return [
        _layer(stage, name, Kind.SEGMENTS, SECRET_NOISE, during, ends, size=1.0, shown=run.n <= FEW, **style),
        _layer(stage, "Selectable record", Kind.MARKS, SECRET, clock.always(), tails[None], **ring),
    ]


def _chosen(run: NDLaplaceRun, stage: Stage, rng: np.random.Generator) -> list[Layer]:
    """The chosen record: its perturbation area by the law, draws from it, and what really happened to it."""
    clock, plane, area, words = stage.clock, stage.projection, run.area, run.measure.words
    always, i = clock.always(), np.array([run.record])
    own: dict[str, Any] = {"ids": (run.record,)}
    here = placed(run.unit[i], plane, i)
    before = placed(run.words.box.to_unit(run.step.before_domain[i]), plane, i)
    after = placed(run.released[i], plane, i)

    # The mean radius, the circles that hold 50, 90 and 95 in 100 releases, and draws from the law.
    radii = np.array([area.mean_radius, *area.radii])
    rings = outlines(np.repeat(here, len(radii), axis=0), radii, run, plane)[None]
    law = nd_laplace_noise(N_DRAWS, run.words.box.d, epsilon=run.params.epsilon, rng=rng).displacement
    draws = placed(run.unit[run.record] + law * run.scales, plane, np.full(N_DRAWS, run.record))[None]
    mean = f"Perturbation area: mean radius {words(area.mean_radius)}"
    quantiles = f"Holds {', '.join(number(100 * level) for level in area.levels)} in 100"
    dashed: dict[str, Any] = {
        "size": 1.25,
        "dash": True,
        "shown": False,
        "ids": tuple(f"{run.record} {level}" for level in area.levels),
        "names": tuple(
            f"{round(100 * level)} in 100 within {words(radius)}"
            for level, radius in zip(area.levels, area.radii, strict=True)
        ),
    }
    layers = [
        _layer(stage, f"{N_DRAWS} other draws", Kind.MARKS, SECRET_NOISE, always, draws, size=3.0, shown=False),
        _layer(stage, mean, Kind.LINES, SECRET_NOISE, always, rings[:, :1], size=2.5, **own),
        _layer(stage, quantiles, Kind.LINES, SECRET_NOISE, always, rings[:, 1:], **dashed),
    ]

    # What really happened: the length, the draws that ended outside the box (thesis, figure 5.1), the vector.
    moving = dict.fromkeys(range(1, clock.n_frames), 0)
    length = outlines(here, run.step.radius[i], run, plane)[None].repeat(2, axis=0)
    circled = {**moving, clock.release: 1}
    if run.params.domain == "remap":
        del circled[clock.release]
    layers.append(_layer(stage, "Noise distance r", Kind.LINES, SECRET_NOISE, circled, length, size=2.0, **own))
    rejected = run.step.rejected_of(run.record)
    if len(rejected) and run.params.domain == "redraw":
        xy = placed(run.words.box.to_unit(rejected), plane, np.full(len(rejected), run.record))[None]
        cross = {"symbol": "cross", "size": 9.0}
        layers.append(_layer(stage, "Its rejected draws", Kind.MARKS, SECRET_NOISE, moving, xy, **cross))
    late = {**clock.during(*clock.phases[1:]), clock.release: 1}
    arrow = {"tail": np.stack([here, here]), "head": np.stack([before, after])}
    point, last = "The chosen record's point", {clock.release: 0}
    return [
        *layers,
        _layer(stage, "Noise vector", Kind.ARROWS, SECRET_NOISE, late, arrow, size=2.5, **own),
        _layer(stage, "Chosen record", Kind.MARKS, SECRET, always, here[None], symbol="ring", size=12.0, **own),
        _layer(stage, point, Kind.MARKS, RELEASED, last, after[None], size=11.0, **own),
    ]
