"""Picture of a release alone: centers or points in a public box, if nothing else of the run is available."""

import numpy as np

from dpviz.core import FEWEST_STEPS, Box, CentersRelease, FloatArray, Guarantee, PointsRelease, Release
from dpviz.plots import RELEASED, Frame, Kind, Scene
from dpviz.stories.ground_layers import NO_GROUP, box_layer, sample
from dpviz.stories.label import promise
from dpviz.stories.panel import cluster_names
from dpviz.stories.stage import Clock, Stage
from dpviz.stories.view import View, Words, project

# Free room around the released values if no box is known, as a share of their extent.
_ROOM = 0.05


def released_scene(release: Release, guarantee: Guarantee, words: Words | None = None) -> Scene:
    """Return a picture of released centers or points: the release, its promise, and the box in `words`, all public.

    Without `words`, the axes end at the released values. Raises ValueError for a release of another kind.
    """
    if isinstance(release, CentersRelease):
        values, name = release.centers, "center"
    elif isinstance(release, PointsRelease):
        values, name = release.points, "point"
    else:
        raise ValueError(
            f"The release was a {type(release).__name__}, but only released centers or points are drawn by themselves. "
            "Give the data and the parameters of the run, too."
        )
    known = words is not None
    words = words or _around(values)
    plane = project(View(), words, values[:0])
    # One frame.
    stage = Stage(plane, Clock(-1, ()))
    xy = plane(words.box.to_unit(values))
    always = stage.clock.always()
    if name == "center":
        layer = stage.layer("released center", Kind.MARKS, RELEASED, always, xy[None])
    else:
        places = xy[sample(len(xy))][None]
        arrays: dict[str, np.ndarray] = {"xy": places, "group": np.full(places.shape[:2], NO_GROUP, dtype=np.uint8)}
        style = {"isolate": False, "total": len(xy)}
        layer = stage.layer("released point", Kind.POINTS, RELEASED, always, arrays, **style)
    said = f"{len(values):,} released {name}{'' if len(values) == 1 else 's'}"
    return Scene(
        title=words.title,
        alt=f"{words.title}: {said}." if words.title else f"{said}.",
        caption=promise(guarantee),
        x=plane.x,
        y=plane.y,
        layers=(*(box_layer(stage, public=words.box_public) if known else ()), layer),
        frames=(Frame(""),),
        group_names=cluster_names(len(values)) if name == "center" else (),
    )


def _around(values: FloatArray) -> Words:
    """Return a box around released values (m, d), and names for its axes."""
    d = values.shape[1]
    low, high = (values.min(axis=0), values.max(axis=0)) if len(values) else (np.zeros(d), np.ones(d))
    room = np.where(high > low, _ROOM * (high - low), 1.0)
    # A box needs this width.
    room = np.maximum(room, FEWEST_STEPS * np.spacing(np.maximum(np.abs(low), np.abs(high))))
    names = tuple(f"feature {i + 1}" for i in range(d))
    return Words("", Box(low - room, high + room), names, ("",) * d)
