"""Convergent k-means as a picture: assign, mean, zone, sample, again and again, then the release."""

import math
from typing import Self

import numpy as np

from dpviz.core import FloatArray, Points, Result, unit_records
from dpviz.methods.convergent_kmeans.algorithm import Params, Step, ZonesRelease
from dpviz.methods.convergent_kmeans.story import zone_layers as draw
from dpviz.methods.convergent_kmeans.story.zone_stage import PHASES, ZonesContext, frames, zone_means
from dpviz.plots import Scene
from dpviz.solvers import LloydRun, lloyd
from dpviz.stories import center_facts, charts
from dpviz.stories import ground_layers as ground
from dpviz.stories.centers import drawable
from dpviz.stories.charts import CostLine
from dpviz.stories.glossary import meant
from dpviz.stories.panel import Fact, Sentence, ceiled, counted, number, odds
from dpviz.stories.run import Chart
from dpviz.stories.stage import Clock, Stage, Stops
from dpviz.stories.view import View, Words, project

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


def _clock(told: ZonesContext) -> Clock:
    return Clock(len(told.result.release.zone_radii), PHASES)


def cost_chart(told: ZonesContext) -> Scene:
    """Return cost against iteration, beside Lloyd's from the same start: the curator's only."""
    clock = _clock(told)
    line = CostLine(np.arange(clock.n_steps + 1.0), _costs(told), clock.when)
    return charts.cost_chart(told, line, told.stops())


def ledger_chart(told: ZonesContext) -> Scene:
    """Return what each iteration spends, from the release's events."""
    return charts.ledger_chart(told.ledger(), proved=told.proved)


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


class ConvergentKMeansRun(ZonesContext):
    """One run of convergent k-means: zones, draws in them, and the released centers."""

    terms = TERMS

    @classmethod
    def reference_key(cls, params: Params) -> tuple[object, ...]:
        """Return the parameters that Lloyd's run depends on, for a start with a seed."""
        return (params.n_clusters, params.start, params.start_seed)

    @classmethod
    def find_reference(
        cls, points: Points, words: Words, result: Result[ZonesRelease, Step], params: object = None
    ) -> LloydRun:
        """Return Lloyd's run from the start of `result`: the curator's. Epsilon does not change it: a page can keep it.

        A private start is another one at every epsilon: then from the public packing that it was found from.
        """
        del params
        packing = result.release.start_packing
        start = result.trace[0].previous_centers if packing is None else packing
        return lloyd(unit_records(points, words.box), start)

    @classmethod
    def of(
        cls,
        result: Result[ZonesRelease, Step],
        params: Params,
        points: Points,
        words: Words,
        reference: LloydRun | None = None,
    ) -> Self:
        """Prepare the context of a run on `points` (n, d), data units; `lloyd_run` is `reference`'s."""
        return cls(result, params, drawable(points, words, params.n_clusters), words, reference)

    def finding(self) -> Sentence:
        """Say the run in one sentence; without a proof no limit is named."""
        if self.repaired:
            spent = f"At ε = {number(self.params.epsilon)}"
        else:
            spent = f"At ε = {number(self.params.epsilon_per_iteration)} a step"
        return center_facts.sentence(self, spent, self.params.n_clusters)

    def utility(self) -> tuple[Fact, ...]:
        """Return how good the released centers are: exact, so the curator's."""
        # Public in repaired mode, so it follows from the release; a future round is two Lloyd steps.
        rounds = len(self.result.release.zone_radii) * (2 if self.params.orientation == "future" else 1)
        start = center_facts.SAME_START if self.result.release.start_packing is None else center_facts.PACKED_START
        facts = [
            *center_facts.cost_facts(self, start),
            Fact("Iterations", str(rounds), _stopped(self), self.repaired),
            center_facts.lloyd_fact(self),
        ]
        if self.params.orientation == "future":
            leaving = 100.0 * float(np.mean([step.leaves_convergent_zone for step in self.result.trace]))
            help_text = (
                "The paper assumes that this never happens: the controller can be farther away than the old center."
            )
            facts.append(Fact("Zones outside the convergent zone", odds(leaving), help_text, False))
        last = self.result.trace[-1]
        if last.final_raised is not None and last.final_clipped is not None:
            k = self.params.n_clusters
            raised, clipped = int(last.final_raised.sum()), int(last.final_clipped.sum())
            facts.append(Fact("Counts raised to 1", f"{raised} of {k}", "Noise had pushed them below 1.", False))
            facts.append(Fact("Centers moved onto the wall", f"{clipped} of {k}", "Noise had pushed them out.", False))
        return tuple(facts)

    def draw(self, view: View, *, rng: np.random.Generator) -> Scene:
        """Return the moving picture; `.public()` leaves what the world may see. `rng` draws illustrations only."""
        result, release, trace = self.result, self.result.release, self.result.trace
        stage = Stage(project(view, self.words, self.unit), _clock(self))
        clock, stopping = stage.clock, self.stops()
        start = trace[0].previous_centers if release.start is None else release.start
        of_start = ground.start_seen(release.start, release.start_packing)
        previous = np.concatenate([start[None], release.path[:-1]])
        stands = zone_means(result)
        exact = trace[-1].nonprivate_mean if self.repaired else trace[-1].nonprivate_final_mean
        groups = (None, *(step.nonprivate_members for step in trace), self.nonprivate_members)
        rows = {0: 0, **clock.during(*PHASES, offset=1), clock.release: len(trace) + 1}
        rays = [draw.ray_layer(self.final, stage)] if not self.repaired and self.words.box.d > 1 else []
        layers = [
            *ground.box_layer(stage, public=self.words.box_public),
            ground.record_layer(self.unit, groups, rows, stage),
            *ground.cluster_borders(of_start, start, release.path, self.final, stage),
            *draw.zone_layers(release, stands, self.params.epsilon_per_iteration, previous, stage, rng=rng),
            *ground.seed_layers(release.start_packing, start, stage),
            *ground.path_layers(of_start, start, release.path, stage),
            *draw.noise_layers(trace, release, stands, stage),
            *rays,
            *ground.final_layers(self.final, exact, self.reference.nonprivate_centers, stage),
        ]
        return Scene(
            title=self.words.title,
            alt=_alt(self, clock),
            caption=_caption(self, stage),
            public_caption="Blue is released, orange is noise, green is public. Zones may reach outside the box.",
            x=stage.projection.x,
            y=stage.projection.y,
            axes_public=not stage.projection.nonprivate,
            layers=tuple(layers),
            frames=stopping.frames,
            start_frame=stopping.start_frame,
            group_names=tuple(f"cluster {i + 1}" for i in range(self.params.n_clusters)),
        )

    def charts(self) -> tuple[Chart, ...]:
        """Return the charts beside the picture: cost against iteration, and the ledger."""
        return (Chart("cost", cost_chart(self)), Chart("ledger", ledger_chart(self)))

    def stops(self) -> Stops:
        """Return the stops of the scrubber; the first zones are the widest: the idea at a glance."""
        clock = _clock(self)
        return Stops(frames(self.params, self.result.release, clock))

    def public_notices(self) -> tuple[str, ...]:
        """Return what has to be said beside this run's guarantee; public."""
        return center_facts.public_notices(self)
