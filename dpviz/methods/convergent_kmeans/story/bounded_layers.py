"""FastLloyd as a picture: Lloyd's with noise, and around each center the circle that it sees and may move in."""

import numpy as np

from dpviz.baselines._lloyd_family import LloydStep
from dpviz.baselines.fastlloyd import BoundedRelease
from dpviz.methods.convergent_kmeans.story import lloyd_layers
from dpviz.plots import Kind, Layer
from dpviz.stories import ground_layers as ground
from dpviz.stories.centers import CentersRun
from dpviz.stories.charts import CostLine
from dpviz.stories.panel import Fact, counted, number
from dpviz.stories.stage import RELEASED, Stage, Stops
from dpviz.stories.view import Projection

CIRCLE = "Radius bound"
DETAILS = {
    "assign": "Every record joins its nearest center. Those outside of its circle are left out.",
    "mean": "The exact mean of the records in each circle stays secret.",
    "noise": "Noise on counts and moves, and the noisy move is released. It ends at the circle at the latest.",
}
NOTE = (
    " Circles are kin to Lu & Shen's sampling zones: a center may move in its circle alone. Those zones follow from "
    "exact means, these circles from nothing secret."
)
LEDGER_NOTE = " Gaussian noise has no ε of its own: its bars share the run's ε, at the run's δ, as they share μ²."
TERMS = (
    (CIRCLE, "Public. The exact mean is of the records in a center's circle alone, and the center moves within it."),
    *lloyd_layers.TERMS,
)

BoundedContext = CentersRun[BoundedRelease, LloydStep]


def stops(told: BoundedContext) -> Stops:
    """Name every stop of the scrubber, in public words."""
    return lloyd_layers.stops(told, DETAILS)


def layers(told: BoundedContext, plane: Projection) -> tuple[Layer, ...]:
    """Return what is drawn, from back to front: the circles lie on the box and the records."""
    box, records, *others = lloyd_layers.layers(told, plane)
    return (box, records, *_circles(told, Stage(plane, lloyd_layers.clock_of(told))), *others)


def costs(told: BoundedContext) -> CostLine:
    """Return the exact cost of the start and of the centers after each iteration."""
    return lloyd_layers.costs(told)


def facts(told: BoundedContext) -> tuple[Fact, ...]:
    """Return what is particular to this method; what is left out is exact, so the curator's."""
    (rounds, _), release = lloyd_layers.facts(told), told.result.release
    last = told.result.trace[-1]
    n, used = len(told.unit), int(last.nonprivate_counts.sum())
    first, radius = release.radii[[0, -1]].tolist()
    why = f"Box widths, in the last iteration; {number(first)} in the first. Public: it follows from k, d and α."
    left = f"{counted(n - used, 'record')} of {n:,} in the last iteration, too far from every center."
    return (
        rounds,
        Fact("Radius bound", number(radius), why, True),
        Fact("Left out", f"{number(100.0 * (n - used) / max(n, 1))} %", left, False),
    )


def alt(told: BoundedContext) -> str:
    """Say what is drawn, from public parameters and the release alone."""
    return f"{lloyd_layers.alt(told)}, each of which sees the records in a circle around it and moves within it"


def _circles(told: BoundedContext, stage: Stage) -> list[Layer]:
    """The circle around each center before it moves: of the start as secret as that, later around released centers."""
    release, clock = told.result.release, stage.clock
    start = told.result.trace[0].previous_centers if release.start is None else release.start
    of_start = ground.start_seen(release.start, release.start_packing)
    radius = np.broadcast_to(release.radii[:, None], release.path.shape[:2])
    opening = dict.fromkeys((0, *(clock.frame(0, phase) for phase in clock.phases)), 0)
    made = [(f"{CIRCLE} at the start", of_start, opening, start[None], radius[:1])]
    if clock.n_steps > 1:
        rows = clock.during(*clock.phases, offset=-1)
        made.append((CIRCLE, RELEASED, rows, release.path[:-1], radius[1:]))
    return [
        stage.layer(
            name,
            Kind.CIRCLES,
            seen.role,
            seen.audience,
            rows,
            {"center": stage.projection(centers), "radius": radii},
            size=1.0,
            dash=True,
        )
        for name, seen, rows, centers, radii in made
    ]
