"""One run of the comparison as a picture: what it released, over the records. The curator's."""

import numpy as np

from dpviz.core import Centers, Labels, Points
from dpviz.plots import Scene
from dpviz.stories import ground_layers as ground
from dpviz.stories.stage import RELEASED, Clock, Stage
from dpviz.stories.view import View, Words, project

N_COLORS = 255  # of clusters; the number after the last is no color


def run_scene(title: str, unit: Points, centers: Centers, labels: Labels, words: Words) -> Scene:
    """Return the records (n, d) in the color of their center's index `labels` (n,), and the centers (k, d); box units.

    The records are colored by what was released, and drawn where they are: the public sees the centers alone.
    """
    stage = Stage(project(View(), words, unit), Clock(-1, ("release",)))  # one frame
    rows = stage.clock.always()
    layers = (
        *ground.box_layer(stage, public=words.box_public),
        ground.record_layer(unit, [np.asarray(labels) % N_COLORS], rows, stage),
        stage.marks("Released center", RELEASED, rows, centers[None], size=12.0),
    )
    scene = Scene(
        title=title,
        alt=f"{words.title}: {len(centers)} released centers over the records.",
        caption="",
        x=stage.projection.x,
        y=stage.projection.y,
        layers=layers,
        scrubber=False,
        axes_public=words.box_public,
        group_names=tuple(f"cluster {i + 1}" for i in range(len(centers))),
    )
    return ground.on_earth(scene, words, View())
