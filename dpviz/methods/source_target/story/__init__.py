"""Source-target clustering as a picture: a secret source, what is released in its place, and centers chosen beside it.

Everything public is computed from the release, the targets and the parameters.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from dpviz.core import Labels
from dpviz.methods.source_target.story import charts
from dpviz.methods.source_target.story import layers as draw
from dpviz.methods.source_target.story import words as saying
from dpviz.methods.source_target.story.many import outcome
from dpviz.methods.source_target.story.told import Context, context, reference, reference_key
from dpviz.methods.source_target.story.words import TERMS, allowance, contents, risk, sentence, utility
from dpviz.plots import Frame, Scene
from dpviz.stories.center_facts import not_established
from dpviz.stories.ground_layers import box_layer
from dpviz.stories.panel import number
from dpviz.stories.stage import Stage
from dpviz.stories.view import View, project

__all__ = [
    "TERMS",
    "Context",
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


def with_classes(told: Context, source: Labels | None, targets: Labels | None) -> Context:
    """Add the true classes of source (m,) and targets (n,), where a pair knows them."""
    return replace(told, nonprivate_classes=source, target_classes=targets)


def scene(told: Context, view: View, *, rng: np.random.Generator) -> Scene:
    """Return the moving picture; `.public()` leaves what the world may see. Nothing here is drawn by `rng`."""
    del rng
    plane = project(view, told.words, told.unit)
    stage = Stage(plane, draw.CLOCK)
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
        x=plane.x,
        y=plane.y,
        axes_public=not plane.nonprivate,
        layers=layers,
        frames=frames(told),
        start_frame=draw.CHOICE,
    )


def side_charts(told: Context) -> tuple[tuple[str, Scene], ...]:
    """Return (key, chart) of what stands below the numbers: counts and threshold, or the bound and the truth."""
    if told.params.method == "nna":
        return (("counts", charts.count_chart(told)),)
    return (("bound", charts.bound_chart(told)),)


def frames(told: Context) -> tuple[Frame, ...]:
    """Name the stops of the scrubber, in public words."""
    release, params, r = told.result.release, told.params, told.step.n_averages
    given = "Targets and box are public. The source is secret: its records serve whoever is near."
    if params.method == "nna":
        averaged = Frame("1: cells", "Each source record goes to the nearest target with an average.")
        noise = f"Counts and sums get noise of ± {number(release.scale)}."
        refused = f"A noisy count below {number(release.threshold or 0.0)} refuses its cell."
        released = Frame(f"3: S′, {told.n_released} of {r} means", refused)
    else:
        averaged = Frame("1: neighbors", f"For each target, the mean of the {params.t} source records nearest to it.")
        noise = f"Each coordinate gets noise of ± {number(release.scale)} diameters of the ball."
        released = Frame(f"3: S′, {r} means", "All of them are released.")
    k = len(release.selected)
    chosen = (
        f"{k} {'targets' if k != 1 else 'target'} become centers beside S′. That costs no privacy: S is not looked at."
    )
    return (Frame("0: given", given), averaged, Frame("2: noise", noise), released, Frame("4: new centers", chosen))


def recolored(told: Context, shape: tuple[int, int, int]) -> NDArray[np.uint8]:
    """Return a photograph (height, width, 3) whose pixels wear the nearest released color or new center: curator."""
    box, release = told.words.box, told.result.release
    known = np.concatenate([release.centers, told.params.targets[release.selected]])
    colors = np.clip(np.rint(known), 0, 255).astype(np.uint8)
    nearest = np.asarray(cKDTree(known).query(box.from_unit(told.unit), k=1)[1])
    return np.asarray(colors[nearest].reshape(shape))
