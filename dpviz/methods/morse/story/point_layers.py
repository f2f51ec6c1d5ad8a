"""The layers of single points in a landscape: components, exact means, records, and new points on their way up."""

from typing import Any

import numpy as np

from dpviz.core import FloatArray
from dpviz.methods.morse.story import landscape_plane as land
from dpviz.methods.morse.story.landscape_layers import RELEASED, SECRET, everywhere, placing, rows_of
from dpviz.methods.morse.story.landscape_stage import Arrays, Colors, LandscapeContext
from dpviz.plots import Audience, Kind, Layer, Role
from dpviz.solvers import Mixture, assign_basins
from dpviz.stories.ground_layers import sample
from dpviz.stories.panel import number
from dpviz.stories.stage import Stage
from dpviz.stories.view import spread

FEW_RECORDS = 1500  # up to here a record is drawn larger
NEW_POINTS = (8, 12, 18, 24, 30, 36, 40)  # of the flow lines' starts, drawn as new points


def component_layers(told: LandscapeContext, stage: Stage, groups: Colors) -> list[Layer]:
    """Components as ellipses, the public start, and for the curator the exact means and the noise that moved them."""
    release, plane = told.result.release, stage.projection
    place = placing(told, stage)
    layers = []
    names = tuple(
        f"component {int(i) + 1}, weight {number(float(w))}"
        for i, w in zip(release.kept, release.mixture.weights, strict=True)
    )
    ids = tuple(release.kept.tolist())
    if plane.d > 1:
        xy = land.ellipses(land.marginal(release.mixture, plane))[None]
        arrays: Arrays = {"xy": xy, "group": groups[:, told.tree.landscape.component_minima]}
        layers.append(
            Layer(
                "Components",
                Kind.LINES,
                Role.CLUSTER,
                RELEASED,
                arrays,
                rows_of(stage, groups),
                size=1.5,
                names=names,
                ids=ids,
            )
        )
    start = {"xy": place(release.start)[None]}
    layers.append(
        Layer(
            "Start (public)",
            Kind.MARKS,
            Role.PUBLIC,
            Audience.PUBLIC,
            start,
            everywhere(stage),
            symbol="square",
            size=6.0,
            isolate=False,
            shown=False,
        )
    )
    exact = exact_means(told)
    if exact is not None:
        kept = place(exact)
        move = {"tail": kept[None], "head": place(release.mixture.means)[None]}
        options: dict[str, Any] = {"isolate": False, "shown": False, "ids": ids}
        layers += [
            Layer("Noise", Kind.ARROWS, Role.NOISE, SECRET, move, everywhere(stage), size=1.5, **options),
            Layer(
                "Exact mean",
                Kind.MARKS,
                Role.EXACT,
                SECRET,
                {"xy": kept[None]},
                everywhere(stage),
                symbol="ring",
                size=7.0,
                names=names,
                **options,
            ),
        ]
    return layers


def exact_means(told: LandscapeContext) -> FloatArray | None:
    """Return the exact means (K, D) of the last pass that the release's components hide: the curator's."""
    moments, kept, d = told.result.trace[-1].nonprivate_moments, told.result.release.kept, told.words.box.d
    if len(moments) != len(told.result.release.start) or moments.shape[1] < 1 + d:
        return None
    counts = moments[kept, :1]
    return np.where(counts > 0, moments[kept, 1 : 1 + d] / np.maximum(counts, 1.0), np.nan)


def record_layer(told: LandscapeContext, stage: Stage, groups: Colors) -> Layer:
    """The records in their clusters' colors: the curator's."""
    drawn = sample(len(told.unit), len(groups))
    group = groups[:, told.nonprivate_basins[drawn]]
    xy = spread(told.unit[drawn], stage.projection)[None]
    arrays: Arrays = {"xy": xy, "group": group}
    return Layer(
        "Records",
        Kind.POINTS,
        Role.CLUSTER,
        SECRET,
        arrays,
        rows_of(stage, groups),
        size=2.0 if len(told.unit) > FEW_RECORDS else 4.0,
        total=len(told.unit),
    )


def path_layers(told: LandscapeContext, stage: Stage, groups: Colors) -> list[Layer]:
    """Flow lines from a public lattice, and a few of its points as new points on their way to a peak."""
    mixture: Mixture = told.result.release.mixture
    starts, place = land.flow_starts(mixture.d), placing(told, stage)
    lines = land.paths(mixture, starts)
    new = [i for i in NEW_POINTS if i < len(starts)] or list(range(0, len(starts), 3))
    if told.regions is None:
        basins = assign_basins(mixture, starts[new])
    else:
        column, row = (land.unsigned(starts[new]) * land.LABELLED).astype(np.intp).T
        basins = told.regions.cells[row, column]
    group, rows = groups[:, basins], rows_of(stage, groups)
    names = tuple(f"new point {i + 1}" for i in range(len(new)))
    flow, way, at = ({"xy": place(each)[None]} for each in (lines, lines[new], starts[new]))
    return [
        Layer(
            "Flow lines",
            Kind.LINES,
            Role.REFERENCE,
            RELEASED,
            flow,
            everywhere(stage),
            size=1.0,
            isolate=False,
            shown=False,
        ),
        Layer(
            "New points climb",
            Kind.LINES,
            Role.CLUSTER,
            RELEASED,
            {**way, "group": group},
            rows,
            size=2.5,
            names=names,
            shown=False,
        ),
        Layer(
            "New points climb",
            Kind.MARKS,
            Role.CLUSTER,
            RELEASED,
            {**at, "group": group},
            rows,
            symbol="square",
            size=8.0,
            names=names,
            legend=False,
            shown=False,
        ),
    ]
