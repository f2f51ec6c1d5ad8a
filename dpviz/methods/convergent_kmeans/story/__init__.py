"""Convergent k-means as a picture: assign, mean, zone, sample, again and again, then the release."""

import math

import numpy as np
from numpy.typing import NDArray

from dpviz.core import FloatArray, Points, Result, unit_records
from dpviz.methods.convergent_kmeans.algorithm import Params, Step, ZonesRelease
from dpviz.methods.convergent_kmeans.story import zone_layers as draw
from dpviz.methods.convergent_kmeans.story.zone_stage import PHASES, ZonesContext, frames, zone_means
from dpviz.plots import Scene
from dpviz.solvers import LloydRun, lloyd
from dpviz.stories import center_facts, charts, recoloring
from dpviz.stories import ground_layers as ground
from dpviz.stories.center_facts import allowed, contents, not_established, outcome
from dpviz.stories.centers_context import drawable
from dpviz.stories.charts import CostLine
from dpviz.stories.glossary import meant
from dpviz.stories.ledger import ledger_rows
from dpviz.stories.panel import Fact, Sentence, ceiled, counted, number, odds
from dpviz.stories.stage import Clock, Stage, Stops
from dpviz.stories.view import View, Words, project

__all__ = [
    "TERMS",
    "ZonesContext",
    "allowed",
    "contents",
    "context",
    "cost_chart",
    "count_noise",
    "ledger_chart",
    "not_established",
    "outcome",
    "recolored",
    "reference",
    "risk",
    "scene",
    "sentence",
    "utility",
    "variation",
]

ZONE_EXPONENT = 0.303  # of epsilon: the score varies by at most 1.2105 in a zone, and the exponent is a quarter of it
TERMS = (
    (
        "Colors",
        "Gray and locked: exact, secret. Blue: released. Orange: noise. Green: public input. Red: a broken claim.",
    ),
    *meant("epsilon", "box"),
    ("Lloyd's", "k-means without privacy, from the same start: the best that this method could hope for."),
    *meant("center"),
    ("Private seeds", "A start that a third of ε pays for: noisy counts of a grid, then k-means on its cells."),
    ("Exact mean", "The true middle of a cluster. Lloyd's algorithm would move the center there."),
    *meant("convergent zone"),
    (
        "Controller",
        "Says in which direction the next center goes: a point of that ball's border, or Lloyd's next mean (future).",
    ),
    *meant("sampling zone"),
    ("Noisy mean", "The exact mean with noise on its count and its sum. It is released."),
    ("Draw", "The random step from the mean into the zone. Shading shows where it is likely to end."),
    (
        "Clamped noise",
        "What the paper rejects: Laplace noise put back on the convergent zone's border, where draws then pile up. "
        "Switch it on in the legend.",
    ),
    ("Repaired", "The zones stand on noisy means. Everything blue then follows from noise that pays for itself."),
    ("As published", "The zones stand on exact means. The paper's claim for that is not established."),
)
PAPER_RANGE = (
    (0.1, "paper's least", "The least ε per step of the paper's experiments."),
    (1.0, "paper's most", "The largest ε per step of the paper's experiments."),
)


def variation(epsilon: float) -> str:
    """Say how little epsilon moves in published mode: q varies by at most 1.21 in a zone, the exponent by a quarter."""
    fold = ceiled(math.exp(ZONE_EXPONENT * epsilon))
    return f"The data place the zones, not ε. Within one, ε changes the density at most {fold}-fold."


def count_noise(epsilon: float) -> str:
    """Say what epsilon_0 does to a count."""
    return f"Each final count is off by about {number(1.0 / epsilon)} records."


def reference_key(params: Params) -> tuple[object, ...]:
    """Return the parameters that Lloyd's run depends on, for a start with a seed."""
    return (params.n_clusters, params.start, params.start_seed)


def reference(
    points: Points, words: Words, result: Result[ZonesRelease, Step], _params: Params | None = None
) -> LloydRun:
    """Return Lloyd's run from the start of `result`: the curator's. Epsilon does not change it: a page can keep it.

    A private start is another one at every epsilon: then from the public packing that it was found from.
    """
    packing = result.release.start_packing
    start = result.trace[0].previous_centers if packing is None else packing
    return lloyd(unit_records(points, words.box), start)


def context(
    result: Result[ZonesRelease, Step], params: Params, points: Points, words: Words, lloyd_run: LloydRun
) -> ZonesContext:
    """Prepare the context of a run on `points` (n, d), data units; `lloyd_run` is `reference`'s."""
    return ZonesContext(result, params, drawable(points, words, params.n_clusters), words, lloyd_run)


def scene(told: ZonesContext, view: View, *, rng: np.random.Generator) -> Scene:
    """Return the moving picture; `.public()` leaves what the world may see. `rng` draws illustrations only."""
    result, release, trace = told.result, told.result.release, told.result.trace
    stage = Stage(project(view, told.words, told.unit), _clock(told))
    clock, stopping = stage.clock, stops(told)
    start = trace[0].previous_centers if release.start is None else release.start
    of_start = ground.start_seen(release.start, release.start_packing)
    previous = np.concatenate([start[None], release.path[:-1]])
    stands = zone_means(result)
    exact = trace[-1].nonprivate_mean if told.repaired else trace[-1].nonprivate_final_mean
    groups = (None, *(step.nonprivate_members for step in trace), told.nonprivate_members)
    rows = {0: 0, **clock.during(*PHASES, offset=1), clock.release: len(trace) + 1}
    rays = [draw.ray_layer(told.final, stage)] if not told.repaired and told.words.box.d > 1 else []
    layers = [
        *ground.box_layer(stage, public=told.words.box_public),
        ground.record_layer(told.unit, groups, rows, stage),
        *ground.cluster_borders(of_start, start, release.path, told.final, stage),
        *draw.zone_layers(release, stands, told.params.epsilon_per_iteration, previous, stage, rng=rng),
        *ground.seed_layers(release.start_packing, start, stage),
        *ground.path_layers(of_start, start, release.path, stage),
        *draw.noise_layers(trace, release, stands, stage),
        *rays,
        *ground.final_layers(told.final, exact, told.reference.nonprivate_centers, stage),
    ]
    return Scene(
        title=told.words.title,
        alt=_alt(told, clock),
        caption=_caption(told, stage),
        public_caption="Blue is released, orange is noise, green is public. Zones may reach outside the box.",
        x=stage.projection.x,
        y=stage.projection.y,
        axes_public=not stage.projection.nonprivate,
        layers=tuple(layers),
        frames=stopping.frames,
        start_frame=stopping.start_frame,
        group_names=tuple(f"cluster {i + 1}" for i in range(told.params.n_clusters)),
    )


def stops(told: ZonesContext) -> Stops:
    """Return the stops of the scrubber; the first zones are the widest: the idea at a glance."""
    clock = _clock(told)
    return Stops(frames(told.params, told.result.release, clock))


def _clock(told: ZonesContext) -> Clock:
    return Clock(len(told.result.release.zone_radii), PHASES)


def cost_chart(told: ZonesContext) -> Scene:
    """Return cost against iteration, beside Lloyd's from the same start: the curator's only."""
    clock = _clock(told)
    line = CostLine(np.arange(clock.n_steps + 1.0), _costs(told), clock.when)
    return charts.cost_chart(told, line, stops(told))


def ledger_chart(told: ZonesContext) -> Scene:
    """Return what each iteration spends, from the release's events."""
    return charts.ledger_chart(ledger_rows(told.result), proved=told.proved)


def side_charts(told: ZonesContext) -> tuple[tuple[str, Scene], ...]:
    """Return the charts beside the picture: cost against iteration, and the ledger."""
    return (("cost", cost_chart(told)), ("ledger", ledger_chart(told)))


def sentence(told: ZonesContext) -> Sentence:
    """Say the run in one sentence; without a proof no limit is named."""
    if told.repaired:
        spent = f"At ε = {number(told.params.epsilon)}"
    else:
        spent = f"At ε = {number(told.params.epsilon_per_iteration)} a step"
    return center_facts.sentence(told, spent, told.params.n_clusters)


def utility(told: ZonesContext) -> tuple[Fact, ...]:
    """Return how good the released centers are: exact, so the curator's."""
    # Public in repaired mode, so it follows from the release; a future round is two Lloyd steps.
    rounds = len(told.result.release.zone_radii) * (2 if told.params.orientation == "future" else 1)
    start = center_facts.SAME_START if told.result.release.start_packing is None else center_facts.PACKED_START
    facts = [
        *center_facts.cost_facts(told, start),
        Fact("Iterations", str(rounds), _stopped(told), told.repaired),
        center_facts.lloyd_fact(told),
    ]
    if told.params.orientation == "future":
        leaving = 100.0 * float(np.mean([step.leaves_convergent_zone for step in told.result.trace]))
        help_text = "The paper assumes that this never happens: the controller can be farther away than the old center."
        facts.append(Fact("Zones outside the convergent zone", odds(leaving), help_text, False))
    last = told.result.trace[-1]
    if last.final_raised is not None and last.final_clipped is not None:
        k = told.params.n_clusters
        raised, clipped = int(last.final_raised.sum()), int(last.final_clipped.sum())
        facts.append(Fact("Counts raised to 1", f"{raised} of {k}", "Noise had pushed them below 1.", False))
        facts.append(Fact("Centers moved onto the wall", f"{clipped} of {k}", "Noise had pushed them out.", False))
    return tuple(facts)


def risk(told: ZonesContext) -> tuple[Fact, ...]:
    """Return what the guarantee allows an attacker; public."""
    return center_facts.risk(told.result.guarantee.proved)


def recolored(told: ZonesContext, shape: tuple[int, int, int]) -> NDArray[np.uint8]:
    """Return a photograph (height, width, 3) whose pixels, the records, wear their released center's color: curator."""
    return recoloring.recolored(told.result.release.centers, told.nonprivate_labels, shape)


def _costs(told: ZonesContext) -> FloatArray:
    """Return the cost of the start and of the centers after each iteration, with everybody at their nearest center."""
    before = [float(step.nonprivate_cost_before.sum()) for step in told.result.trace]
    return np.array([*before, told.nonprivate_cost])


def _stopped(told: ZonesContext) -> str:
    """Say why the loop ended; public in repaired mode, where it never depends on the records."""
    outcome = "planned" if told.repaired else told.result.trace[-1].outcome
    return {
        "planned": "The number is fixed before the first iteration.",
        "converged": "Assignments repeat.",
        "still": "No center moves farther than the tolerance.",
        "max_iterations": "Stopped at the most allowed: it has not converged.",
    }[outcome] + (
        " A round of the future orientation is two Lloyd steps." if told.params.orientation == "future" else ""
    )


def _alt(told: ZonesContext, clock: Clock) -> str:
    """Describe the picture from public parameters and the release alone."""
    places = "; ".join(", ".join(number(float(x)) for x in center[:3]) for center in told.result.release.centers[:8])
    return (
        f"{told.words.title}: {counted(told.params.n_clusters, 'cluster center')} over "
        f"{counted(clock.n_steps, 'iteration')} of convergent k-means, "
        f"{'repaired' if told.repaired else 'published'} mode, with their sampling zones. "
        f"Released centers at {places}."
    )


def _caption(told: ZonesContext, stage: Stage) -> str:
    """Say what is drawn, from public facts only."""
    if stage.projection.nonprivate:
        return "Principal directions are computed from the records: curator only. Two features have a public view."
    if told.words.box.d > 2:
        return f"Two of {told.words.box.d} features. Zones are balls in all of them, drawn with their true radius."
    if told.words.box.d == 1:
        return "One feature. Height has no meaning: records are spread out so that they can be seen."
    return "Colors are clusters. Gray is secret, blue released, orange noise, green public. Zones may leave the box."
