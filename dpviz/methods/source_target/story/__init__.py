"""Source-target clustering as a picture: a secret source, what is released in its place, and centers chosen beside it.

Everything public is computed from the release, the targets and the parameters.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from dpviz.core import FloatArray, Labels
from dpviz.methods.source_target.story import charts
from dpviz.methods.source_target.story import layers as draw
from dpviz.methods.source_target.story import words as saying
from dpviz.methods.source_target.story.many import outcome
from dpviz.methods.source_target.story.told import SourceTargetContext, context, reference, reference_key
from dpviz.methods.source_target.story.words import TERMS, allowance, contents, risk, sentence, utility
from dpviz.plots import Axis, Frame, Scene
from dpviz.stories.center_facts import not_established
from dpviz.stories.ground_layers import box_layer
from dpviz.stories.panel import counted, number
from dpviz.stories.stage import Stage
from dpviz.stories.view import Projection, View, project

__all__ = [
    "TERMS",
    "SourceTargetContext",
    "allowance",
    "contents",
    "context",
    "not_established",
    "outcome",
    "recolored",
    "reference",
    "reference_key",
    "risk",
    "scene",
    "sentence",
    "side_charts",
    "utility",
    "with_classes",
]
WIDER = (0.0, 0.08, 0.25, 0.6)  # of the frame, on each side; farther out a mark would leave too little of the box


def with_classes(told: SourceTargetContext, source: Labels | None, targets: Labels | None) -> SourceTargetContext:
    """Add the true classes of source (m,) and targets (n,), where a pair knows them."""
    return replace(told, nonprivate_classes=source, target_classes=targets)


def scene(told: SourceTargetContext, view: View, *, rng: np.random.Generator) -> Scene:
    """Return the moving picture; `.public()` leaves what the world may see. Nothing here is drawn by `rng`."""
    del rng
    plane = project(view, told.words, told.unit)
    stage = Stage(plane, draw.CLOCK)
    x, y = _widened(plane, stage.projection(np.concatenate([told.released, told.targets])))
    layers = (
        *box_layer(stage, public=told.words.box_public),
        *draw.given_layers(told, stage),
        *draw.average_layers(told, stage),
        *draw.release_layers(told, stage),
        *draw.choice_layers(told, stage),
    )
    return Scene(
        title=told.words.title,
        alt=saying.alt(told),
        caption=saying.caption(told, plane),
        x=x,
        y=y,
        axes_public=not plane.nonprivate,
        layers=layers,
        frames=frames(told),
        start_frame=draw.CHOICE,
    )


def _widened(plane: Projection, public: FloatArray) -> tuple[Axis, Axis]:
    """Return the plane's axes, wide enough for points (n, 2) that anybody may see: noise leads out of the box.

    They grow by one step of WIDER on every side, so that few moves of ε change the frame.
    """
    axes = (plane.x, plane.y)
    views = np.array([axis.view for axis in axes])
    widths = views[:, 1] - views[:, 0]
    out = np.maximum(views[:, 0] - public, public - views[:, 1]) / widths  # (n, 2), shares of the frame
    needed = float(out.max(initial=0.0))
    more = next((step for step in WIDER if step >= needed), WIDER[-1]) * widths
    low, high = views[:, 0] - more, views[:, 1] + more
    return (
        replace(plane.x, view=(float(low[0]), float(high[0]))),
        replace(plane.y, view=(float(low[1]), float(high[1]))),
    )


def side_charts(told: SourceTargetContext) -> tuple[tuple[str, Scene], ...]:
    """Return (key, chart) of what stands below the numbers: counts and threshold, or the bound and the truth."""
    if told.params.method == "nna":
        return (("counts", charts.count_chart(told)),)
    return (("bound", charts.bound_chart(told)),)


def frames(told: SourceTargetContext) -> tuple[Frame, ...]:
    """Name the stops of the scrubber, in public words."""
    release, params, r = told.result.release, told.params, told.step.n_averages
    given = "Targets and box are public. The source is secret: its records serve whoever is near."
    if params.method == "nna":
        averaged = Frame("1: cells", "Each source record goes to the nearest target with an average.")
        noise = f"Counts and sums get noise of ± {number(release.scale)}."
        refused = f"A noisy count below {number(release.threshold or 0.0)} refuses its cell."
        released = Frame(f"3: release, {told.n_released} of {r} noisy averages", refused)
    else:
        averaged = Frame("1: neighbors", f"For each target, the mean of the {params.t} source records nearest to it.")
        noise = f"Each coordinate gets noise of ± {number(release.scale)} diameters of the ball."
        released = Frame(f"3: release, {counted(r, 'noisy average')}", "All of them are released.")
    k = len(release.selected)
    chosen = (
        f"{k} {'targets become centers' if k != 1 else 'target becomes a center'} beside the averages. That costs no "
        "privacy: nobody looks at the source."
    )
    return (Frame("0: given", given), averaged, Frame("2: noise", noise), released, Frame("4: new centers", chosen))


def recolored(told: SourceTargetContext, shape: tuple[int, int, int]) -> NDArray[np.uint8]:
    """Return a photograph (height, width, 3) whose pixels wear the nearest released color or new center: curator."""
    box, release = told.words.box, told.result.release
    known = np.concatenate([release.centers, told.params.targets[release.selected]])
    colors = np.clip(np.rint(known), 0, 255).astype(np.uint8)
    nearest = np.asarray(cKDTree(known).query(box.from_unit(told.unit), k=1)[1])
    return np.asarray(colors[nearest].reshape(shape))
