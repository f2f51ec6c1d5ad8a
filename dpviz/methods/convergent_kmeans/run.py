"""Runs of the k-means family, and one of convergent k-means: assign, mean, zone, sample, again and again."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import numpy as np

from dpviz.accounting import Purpose
from dpviz.baselines._lloyd_family import FixedParams, LloydFamilyRelease, LloydStep
from dpviz.core import Centers, Counts, FloatArray, Points, Result, unit_records
from dpviz.methods.convergent_kmeans import layers
from dpviz.methods.convergent_kmeans.algorithm import Params, Step, ZonesRelease
from dpviz.methods.convergent_kmeans.algorithm.step import ZoneStep
from dpviz.plots import RELEASED, SECRET, Frame, Ink, Layer, Scene
from dpviz.solvers import LloydRun, lloyd, public_start
from dpviz.stories import center_facts, charts, ensemble
from dpviz.stories import ground_layers as ground
from dpviz.stories.centers import C_co, CentersRun
from dpviz.stories.charts import CostLine
from dpviz.stories.ensemble import Ensembles
from dpviz.stories.glossary import meant
from dpviz.stories.ledger import noise_scales
from dpviz.stories.panel import Fact, ceiled, cluster_names, counted, number, odds
from dpviz.stories.run import Chart, S_co
from dpviz.stories.stage import Clock, Stage, Stops, stack
from dpviz.stories.view import CURATORS_PLANE, Projection, View, Words

ZONE_EXPONENT = 0.303  # of epsilon: the score varies by at most 1.2105 in a zone, and the exponent is a quarter of it
TERMS = (
    (
        "Colors",
        "Gray and locked: exact, secret. Blue: released. Orange: noise. Green: public input. Red: a broken claim.",
    ),
    *meant("epsilon", "box"),
    ("Lloyd's", "k-means without privacy, from the same start: where this method would end without noise."),
    center_facts.BEST_TERM,
    *meant("center"),
    ("Private seeds", "A start that a third of ε pays for: noisy counts of a grid, then k-means on its cells."),
    ("True average", "The middle of a cluster. Lloyd's algorithm would move the center there."),
    *meant("convergent zone"),
    (
        "Controller",
        "Says in which direction the next center goes: a point of that ball's border, or Lloyd's next mean (future).",
    ),
    *meant("sampling zone"),
    ("Noisy mean", "The true average with noise on its count and its sum. It is released."),
    ("Draw", "The random step from the mean into the zone. Shading shows where it is likely to end."),
    (
        "Clamped noise",
        "What the paper rejects: Laplace noise put back on the convergent zone's border, where draws then pile up. "
        "Switch it on among the layers.",
    ),
    ("Repaired", "The zones stand on noisy means. Everything blue then follows from noise that pays for itself."),
    ("As published", "The zones stand on exact means. The paper's claim for that is not established."),
)
DETAILS = {
    "assign": "Every person joins the nearest center.",
    "mean": "The true average of each cluster stays secret.",
    "zone": "Noise moves the mean. Noisy mean and sampling zone are released.",
    "sample": "The next center is drawn inside the zone.",
}
PUBLISHED_DETAILS = {**DETAILS, "zone": "The paper releases a zone that stands on the true average."}
SEEDS = "Noisy counts of a coarse grid say where the centers start."
PACKED = "Spread over the box without looking at anyone."
RELEASE_DETAILS = {
    "repaired": "The last noisy means and counts are released.",
    "published": "True sums over noisy counts: each red ray hits a true sum exactly.",
}

COLORS = "Colors are clusters. Gray is secret, blue released, orange noise, green public."
PUBLIC_CAPTION = "Blue is released, orange is noise, green is public."
CAPTION = f"{COLORS} Zones may leave the box."
MORE_FEATURES = "Zones are balls in all of them, drawn with their true radius."


def plane_caption(plane: Projection, two: str, more: str) -> str:
    """Return what is drawn, from public facts only: `two` is said of two features, `more` of two out of more."""
    if plane.nonprivate:
        return CURATORS_PLANE
    if plane.d == 1:
        return "One feature. Height has no meaning: records are spread out so that they can be seen."
    return two if plane.d == 2 else f"Two of {plane.d} features. {more}"


def variation(epsilon: float) -> str:
    """Say how little epsilon moves in published mode: q varies by at most 1.21 in a zone, the exponent by a quarter."""
    fold = ceiled(math.exp(ZONE_EXPONENT * epsilon))
    return f"The data place the zones, not ε. Within one, ε changes the density at most {fold}-fold."


def count_noise(epsilon: float) -> str:
    """Say what epsilon_0 does to a count."""
    return f"Each final count is off by about {number(1.0 / epsilon)} records."


def over_counts(noisy_counts: Counts, sums: FloatArray, _fallback: Centers) -> Centers:
    """Return what published mode releases of sums (k, d) from the box's low corner."""
    return np.clip(sums / np.maximum(noisy_counts, 1.0)[:, None], 0.0, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class ZoneMeans:
    """The means that zones stand on, over all iterations: released in repaired mode, secret in published mode."""

    mean: FloatArray  # (T, k, d) box units
    controller: FloatArray  # (T, k, d)
    lam: FloatArray  # (T, k)
    counts: FloatArray  # (T, k) records in each cluster
    released: bool

    @property
    def ink(self) -> Ink:
        """Blue where released, gray where exact and the curator's."""
        return RELEASED if self.released else SECRET


I_co = TypeVar("I_co", bound=LloydFamilyRelease | ZonesRelease, covariant=True)
IS_co = TypeVar("IS_co", bound=LloydStep | ZoneStep, covariant=True)


class FamilyRun(CentersRun[C_co, S_co]):
    """One run of a method of the k-means family, beside Lloyd's from a public start."""

    reference_group = "k-means family"  # a page computes Lloyd's run once for all of them
    ledger_unit: ClassVar[str] = "iteration"  # what the ledger's columns are
    ledger_note: ClassVar[str] = ""  # below the ledger
    note: ClassVar[str] = ""  # below the picture, public
    same_start: ClassVar[bool] = False  # whether Lloyd starts at the method's own start, unless that is private
    scene: ClassVar[type[Scene]] = Scene

    @classmethod
    def reference_key(cls, params: Any, result: object) -> tuple[object, ...]:
        """Return the parameters that Lloyd's run depends on, for a start with a seed."""
        del result
        return (params.n_clusters, getattr(params, "start", "packing"), params.start_seed)

    @classmethod
    def find_reference(cls, points: Points, words: Words, result: Result[Any, Any], params: Any) -> LloydRun:
        """Return Lloyd's run beside `result`: the curator's. Epsilon does not change it: a page can keep it.

        EUGkM and PrivGene start anywhere: then it starts at the sphere packing of `params.start_seed`, of seed 0
        without one.
        """
        seed = 0 if params.start_seed is None else params.start_seed
        start = public_start(*result.release.centers.shape, seed=seed, rng=np.random.default_rng(seed))
        return lloyd(unit_records(points, words.box), start)

    # What differs between kinds of releases.

    def stops(self) -> Stops:
        """Return the stops of the scrubber, in public words."""
        raise NotImplementedError

    def layers(self, plane: Projection) -> tuple[Layer, ...]:
        """Return what is drawn, from back to front."""
        raise NotImplementedError

    def cost_line(self) -> CostLine:
        """Return the exact cost of the centers on the way: the curator's."""
        raise NotImplementedError

    def own_facts(self) -> tuple[Fact, ...]:
        """Return the facts that only this kind of method has."""
        raise NotImplementedError

    def description(self) -> str:
        """Return what is drawn, from public parameters and the release alone: what follows the number of clusters."""
        raise NotImplementedError

    # What they have in common.

    def utility(self) -> tuple[Fact, ...]:
        """Return how good the released centers are: exact, so the curator's."""
        same = self.same_start and getattr(self.params, "start", "") != "private"
        start = center_facts.SAME_START if same else center_facts.PACKED_START
        return (*self.cost_facts(start), *self.own_facts(), self.lloyd_fact)

    def public_notices(self) -> tuple[str, ...]:
        """Return what has to be said beside this run's guarantee; public."""
        return center_facts.public_notices(self)

    def charts(self) -> tuple[Chart, ...]:
        """Return profiles, exact cost against iteration, beside Lloyd's, and what each iteration spends."""
        ledger = charts.ledger_chart(self.ledger(), proved=self.proved, unit=self.ledger_unit, note=self.ledger_note)
        cost = charts.cost_chart(self, self.cost_line(), self.stops())
        return (*self.profile_charts(), Chart("cost", cost), Chart("ledger", ledger))

    def alt(self) -> str:
        """Return what is drawn, with the released places."""
        return f"{self.words.title}: {self.params.n_clusters} {self.description()}. Released centers at {self.places}."

    def caption(self, plane: Projection) -> str:
        """Return what the colors mean to the curator."""
        return plane_caption(plane, COLORS, COLORS) + ("" if plane.nonprivate else self.note)

    def public_caption(self) -> str:
        """Return what the colors mean to the public."""
        return f"{PUBLIC_CAPTION}{self.note}"

    def draw(self, view: View, *, rng: np.random.Generator) -> Scene:
        """Return the moving picture; `.public()` leaves what the world may see. Nothing here is drawn by `rng`."""
        del rng
        plane = self.plane(view)
        return self.drawn(plane, self.layers(plane))

    def drawn(self, plane: Projection, layers: tuple[Layer, ...]) -> Scene:
        """Return the picture of these layers, with its words and stops."""
        stops = self.stops()
        return self.scene(
            title=self.words.title,
            alt=self.alt(),
            caption=self.caption(plane),
            public_caption=self.public_caption(),
            x=plane.x,
            y=plane.y,
            axes_public=not plane.nonprivate,
            layers=layers,
            frames=stops.frames,
            start_frame=stops.start_frame,
            group_names=cluster_names(self.params.n_clusters),
        )


class IteratedRun(FamilyRun[I_co, IS_co]):
    """A run that moves its centers from a start, phase by phase in each of its iterations."""

    same_start = True

    @classmethod
    def find_reference(cls, points: Points, words: Words, result: Result[Any, Any], params: object = None) -> LloydRun:
        """Return Lloyd's run from the method's start: the curator's. A private one moves with ε, its packing not."""
        del params
        packing = result.release.start_packing
        start = result.trace[0].previous_centers if packing is None else packing
        return lloyd(unit_records(points, words.box), start)

    @property
    def clock(self) -> Clock:
        """The picture's frames."""
        return Clock(len(self.release.path), tuple(self.stop_words()[1]))

    def noise_growth(self, times: FloatArray) -> FloatArray | None:
        """Return how many times larger the noise is at `times` this ε: by its iterations, if they follow ε; public."""
        params = self.params
        planned = params.n_iterations is not None or isinstance(params, FixedParams)
        if planned or self.release.start_packing is not None:
            return 1.0 / times
        return center_facts.su_growth(self, times, getattr(params, "max_iterations", math.inf))

    def stop_words(self) -> tuple[str, Mapping[str, str], str]:
        """Return where centers start unless seeds say so, what each phase does, and what is released; public."""
        raise NotImplementedError

    def stops(self) -> Stops:
        """Return the stops of the scrubber, in public words."""
        start, phases, end = self.stop_words()
        iterations = (
            Frame(f"Iteration {t + 1}: {phase}", detail)
            for t in range(self.clock.n_steps)
            for phase, detail in phases.items()
        )
        start = start if self.release.start_packing is None else SEEDS
        return Stops((Frame("Start", start), *iterations, Frame("Release", end)))

    def ensembles(self, view: View) -> Ensembles:
        """Return what the last noise could have done, the curator's; where the true averages could be, public."""
        del view
        last, seeded = self.steps[-1], self.release.start_packing is not None
        return ensemble.of_noisy_means(
            self, last.nonprivate_counts, last.nonprivate_mean, last.previous_centers, seeded=seeded
        )

    def cost_line(self) -> CostLine:
        """Return the exact cost of the start and of the centers after each iteration."""
        clock = self.clock
        before = [float(step.nonprivate_cost_before.sum()) for step in self.steps]
        return CostLine(np.arange(clock.n_steps + 1.0), np.array([*before, self.nonprivate_cost]), clock.when)


class ConvergentKMeansRun(IteratedRun[ZonesRelease, Step]):
    """One run of convergent k-means: zones, draws in them, and the released centers; Lloyd's run beside it."""

    params: Params
    terms = TERMS
    audited = "convergent_kmeans"
    reference_group = ""

    @property
    def repaired(self) -> bool:
        """Whether the zones stand on noisy means."""
        return self.params.mode == "repaired"

    @cached_property
    def zone_means(self) -> ZoneMeans:
        """What the zones stand on, from the release where it holds it."""
        release, trace = self.release, self.steps
        means, counts = release.zone_means, release.noisy_counts_by_iteration
        if means is not None and counts is not None and release.controllers is not None and release.lam is not None:
            return ZoneMeans(means, release.controllers, release.lam, counts, released=True)
        exact = stack(trace, "nonprivate_counts")
        means = stack(trace, "zone_mean")
        return ZoneMeans(means, stack(trace, "controller"), stack(trace, "lam"), exact, released=False)

    def utility(self) -> tuple[Fact, ...]:
        """Return how good the released centers are: exact, so the curator's."""
        future, last = self.params.orientation == "future", self.steps[-1]
        # Public in repaired mode, so it follows from the release; a future round is two Lloyd steps.
        rounds = len(self.release.zone_radii) * (2 if future else 1)
        why_stopped = {  # in repaired mode, the reason never depends on the records
            "planned": "The number is fixed before the first iteration.",
            "converged": "Assignments repeat.",
            "still": "No center moves farther than the tolerance.",
            "max_iterations": "Stopped at the most allowed: it has not converged.",
        }["planned" if self.repaired else last.outcome]
        if future:
            why_stopped += " A round of the future orientation is two Lloyd steps."
        start = center_facts.SAME_START if self.release.start_packing is None else center_facts.PACKED_START
        facts = [
            *self.cost_facts(start),
            Fact("Iterations", str(rounds), why_stopped, self.repaired),
            self.lloyd_fact,
        ]
        if future:
            leaving = 100.0 * float(np.mean([step.leaves_convergent_zone for step in self.steps]))
            help_text = (
                "The paper assumes that this never happens: the controller can be farther away than the old center."
            )
            facts.append(Fact("Zones outside the convergent zone", odds(leaving), help_text, False))
        if last.final_raised is not None and last.final_clipped is not None:
            k = self.params.n_clusters
            raised, clipped = int(last.final_raised.sum()), int(last.final_clipped.sum())
            facts.append(Fact("Counts raised to 1", f"{raised} of {k}", "Noise had pushed them below 1.", False))
            facts.append(Fact("Centers moved onto the wall", f"{clipped} of {k}", "Noise had pushed them out.", False))
        return tuple(facts)

    def stop_words(self) -> tuple[str, Mapping[str, str], str]:
        """Return what the stops show, in public words."""
        start = "The first centers are some of the records." if self.params.start == "records" else PACKED
        return start, DETAILS if self.repaired else PUBLISHED_DETAILS, RELEASE_DETAILS[self.params.mode]

    def ensembles(self, view: View) -> Ensembles:
        """Return what the last noise could have done, the curator's; where the true averages could be, public.

        Published mode adds noise to counts alone and does not release them: what it says of the means is the red ray.
        """
        if self.repaired:
            return super().ensembles(view)
        last = self.steps[-1]
        counts, mean = last.nonprivate_final_counts, last.nonprivate_final_mean
        if not self.teaching or counts is None or mean is None:
            return None, None
        noise = ensemble.SumNoise(noise_scales(self.result, Purpose.FINAL_COUNTS)[-1], 0.0)
        return ensemble.centered(
            noise.landed(counts, counts[:, None] * mean, mean, over_counts, ensemble.n_draws(len(mean)))
        ), None

    def alt(self) -> str:
        """Return what is drawn, from public parameters and the release alone."""
        return (
            f"{self.words.title}: {counted(self.params.n_clusters, 'cluster center')} over "
            f"{counted(self.clock.n_steps, 'iteration')} of convergent k-means, "
            f"{'repaired' if self.repaired else 'published'} mode, with their sampling zones. "
            f"Released centers at {self.places}."
        )

    def caption(self, plane: Projection) -> str:
        """Return what the colors mean to the curator."""
        return plane_caption(plane, CAPTION, MORE_FEATURES)

    def public_caption(self) -> str:
        """Return what the colors mean to the public."""
        return f"{PUBLIC_CAPTION} Zones may reach outside the box."

    def draw(self, view: View, *, rng: np.random.Generator) -> Scene:
        """Return the moving picture; `.public()` leaves what the world may see. `rng` draws illustrations only."""
        release, trace = self.release, self.steps
        stage = Stage(self.plane(view), self.clock)
        clock = stage.clock
        start = trace[0].previous_centers if release.start is None else release.start
        of_start = ground.start_seen(release.start, release.start_packing)
        exact = trace[-1].nonprivate_mean if self.repaired else trace[-1].nonprivate_final_mean
        groups = (None, *(step.nonprivate_members for step in trace), self.nonprivate_members)
        rows = {0: 0, **clock.during(*clock.phases, offset=1), clock.release: len(trace) + 1}
        rays = [layers.ray_layer(self.final, stage)] if not self.repaired and self.words.box.d > 1 else []
        lloyds, steps = self.reference.nonprivate_centers, layers.noisy_steps(self, stage)
        drawn = (
            *ground.box_layer(stage, public=self.words.box_public),
            ground.record_layer(self.unit, groups, rows, stage),
            *ground.cluster_borders(of_start, start, release.path, self.final, stage),
            *layers.zone_layers(self, start, stage, rng=rng),
            *ground.seed_layers(release.start_packing, start, stage),
            *ground.path_layers(of_start, start, release.path, stage),
            *layers.move_layers(self, stage),
            *rays,
            *ground.final_layers(self.final, exact, lloyds, stage, steps=steps),
        )
        return self.drawn(stage.projection, drawn)
