"""Many runs of one method: each outcome as one stop of a picture that plays, and their figures as a quantile dotplot.

Every run is one more release that nobody has paid for, and figures are exact: all of it is the curator's.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpviz.core import Confidential, FloatArray, Points
from dpviz.plots import Frame, Role, Scene
from dpviz.stories import ground_layers as ground
from dpviz.stories.panel import number
from dpviz.stories.stage import PUBLIC, SECRET, SECRET_NOISE, Clock, Seen, Stage
from dpviz.stories.view import Projection, Words

PACE_MS = 450.0  # from one run to the next, without gliding: runs are independent
UNPAID = Seen(Role.RELEASED, SECRET.audience)  # a release that nobody has paid for


@dataclass(frozen=True, slots=True)
class Figure:
    """One number that says how useful a run is: its name, its unit, and how to speak of runs beyond a threshold."""

    name: str
    unit: str
    beyond: str  # "the cost is more than"
    above: bool = True  # runs beyond a threshold lie above it
    mark: float | None = None  # what stands beside the runs
    mark_name: str = ""

    def words(self, value: float) -> str:
        """Write a value with its unit."""
        return f"{number(value)} {self.unit}".strip()


@dataclass(frozen=True, slots=True, eq=False)
class Outcome(Confidential):
    """One run: what it releases to be drawn, and its figure."""

    places: Points  # (m, d) released, box units
    nonprivate_value: float
    figure: Figure


def scene(
    outcomes: Sequence[Outcome],
    plane: Projection,
    words: Words,
    *,
    unit: Points | None = None,
    inputs: Points | None = None,
    exact: Points | None = None,
    exact_name: str = "Without privacy",
) -> Scene:
    """Return the runs one after another, all of them faint behind: the curator's.

    `unit` (n, d) are records, `given` (g, d) public inputs and `exact` (e, d) what no privacy would give, box units.
    Raises ValueError for no runs.
    """
    if not outcomes:
        raise ValueError("There were no runs, but a picture of many runs needs one at least.")
    n_runs, most = len(outcomes), max(1, *(len(each.places) for each in outcomes))
    d = plane.d
    places = np.full((n_runs, most, d), np.nan)
    for row, each in zip(places, outcomes, strict=True):
        row[: len(each.places)] = each.places
    stage = Stage(plane, Clock(n_runs - 2, ("run",)))  # as many frames as runs
    every, rows = stage.clock.always(), {run: run for run in range(n_runs)}
    layers = [*ground.box_layer(stage, public=words.box_public)]
    if inputs is not None:
        layers.append(stage.marks("Target", PUBLIC, every, inputs[None], symbol="square", size=4.0, isolate=False))
    if unit is not None:
        marks = ground.sample(len(unit))
        group = np.full((1, len(marks)), ground.NO_GROUP, dtype=np.uint8)
        layers.append(ground.drawn_records(unit[marks], group, every, stage, total=len(unit), isolate=False))
    cloud = {"symbol": "ring", "size": 5.0, "isolate": False}
    layers.append(stage.marks("All runs", SECRET_NOISE, every, places.reshape(1, -1, d), **cloud))
    if exact is not None:
        layers.append(stage.marks(exact_name, SECRET, every, exact[None], symbol="cross", size=10.0, isolate=False))
    layers.append(stage.marks("This run", UNPAID, rows, places, size=12.0, isolate=False))
    return Scene(
        title="Run after run",
        alt=f"{words.title}: what {n_runs} runs with the same knobs would release, one after another.",
        caption="Each stop is one run with the same knobs: one of these is what you get.",
        hint="Play, pause, or step with the arrow keys.",
        x=plane.x,
        y=plane.y,
        axes_public=False,  # every run is one more release
        layers=tuple(layers),
        frames=tuple(Frame(f"Run {run + 1} of {n_runs}", "Same records, same knobs.") for run in range(n_runs)),
        pace=PACE_MS,
        eased=False,
    )


def values_of(outcomes: Sequence[Outcome]) -> FloatArray:
    """Return the figures (R,) of all runs: exact, the curator's."""
    return np.array([each.nonprivate_value for each in outcomes])
