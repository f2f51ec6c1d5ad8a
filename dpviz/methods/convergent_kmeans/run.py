"""Runs of the k-means family and of convergent k-means: assign, mean, zone, sample, repeated."""

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

import numpy as np

from dpviz.accounting import Purpose
from dpviz.attacks.shifts import best_guess_rate
from dpviz.baselines._lloyd_family import FixedParams, LloydFamilyRelease, LloydStep
from dpviz.core import Adjacency, Centers, Counts, FloatArray, Points, Result, unit_records
from dpviz.methods.convergent_kmeans import layers
from dpviz.methods.convergent_kmeans.algorithm import Params, Step, ZonesRelease
from dpviz.methods.convergent_kmeans.algorithm.step import ZoneStep
from dpviz.methods.convergent_kmeans.layers import ZoneMeans
from dpviz.plots import RELEASED, Frame, Ink, Layer, Scene
from dpviz.plots.scene import Lens
from dpviz.solvers import BOX_MIDDLE, EMPTY_SCALES, LloydRun, assign, lloyd
from dpviz.stories import center_facts, ensemble
from dpviz.stories import ground_layers as ground
from dpviz.stories.centers import Blur, CentersRun, Headline, Placement
from dpviz.stories.charts import CostLine
from dpviz.stories.ensemble import Ensembles, SumNoise
from dpviz.stories.glossary import meant
from dpviz.stories.lens import NoisyAverage, lens_on, person_shifts
from dpviz.stories.panel import Fact, ceiled, counted, number, odds
from dpviz.stories.spending import adjacency_of, noise_scales
from dpviz.stories.stage import Clock, Stage, Stops, stack
from dpviz.stories.view import Projection, View, Words, plane_caption

# Factor of epsilon: the score varies by at most 1.2105 in a zone, and the exponent is a quarter of that.
ZONE_EXPONENT = 0.303
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
        "Sets the direction of the next center: a point on that ball's border, or Lloyd's next mean (future).",
    ),
    *meant("sampling zone"),
    ("Noisy mean", "The true average with noise on its count and its sum. It is released."),
    ("Draw", "The random step from the mean into the zone. Shading shows where it is likely to end."),
    (
        "Clamped noise",
        "The paper rejects this: Laplace noise put back on the convergent zone's border, where draws then pile up. "
        "Switch it on among the layers.",
    ),
    (
        "Repaired",
        "The zones are computed from noisy means. Everything blue follows from noise that the budget pays for.",
    ),
    ("As published", "The zones are computed from exact means. The paper's claim about them is not established."),
)
DETAILS = {
    "assign": "Every person joins the nearest center.",
    "mean": "The true average of each cluster stays secret.",
    "zone": "Noise moves the mean. Noisy mean and sampling zone are released.",
    "sample": "The next center is drawn inside the zone.",
}
PUBLISHED_DETAILS = {**DETAILS, "zone": "The paper releases a zone computed from the true average."}
SEEDS = "Noisy counts on a coarse grid decide where the centers start."
PACKED = "Spread over the box without looking at anyone."
RELEASE_DETAILS = {
    "repaired": "The last noisy means and counts are released.",
    "published": "True sums over noisy counts: each red ray hits a true sum exactly.",
}

# Headlines next to the picture: the curator's, then everyone's. The first entries are shared by all methods that
# release centers. An entry added after them replaces a headline for k-means only.
HEADLINES: Mapping[Placement, Headline] = MappingProxyType({**CentersRun.headlines})
PUBLIC_HEADLINES: Mapping[Blur, Headline] = MappingProxyType({**CentersRun.public_headlines})
COLORS = "Colors are clusters. Gray is secret, blue released, orange noise, green public."
PUBLIC_CAPTION = "Blue is released, orange is noise, green is public."
CAPTION = f"{COLORS} Zones may leave the box."


def variation(epsilon: float) -> str:
    """Explain the small effect of epsilon in published mode: q varies by 1.21 in a zone, the exponent by 1/4 of it."""
    fold = ceiled(math.exp(ZONE_EXPONENT * epsilon))
    return f"The data, not ε, place the zones. Within a zone, ε changes the density at most {fold}-fold."


def count_noise(epsilon: float) -> str:
    """State the effect of epsilon_0 on a count."""
    return f"Each final count is off by about {number(1.0 / epsilon)} records."


def over_counts(noisy_counts: Counts, sums: FloatArray, _fallback: Centers) -> Centers:
    """Return the centers that published mode releases for sums (k, d) from the box's low corner."""
    return np.clip(sums / np.maximum(noisy_counts, 1.0)[:, None], 0.0, 1.0)


I_co = TypeVar("I_co", bound=LloydFamilyRelease | ZonesRelease, covariant=True)
IS_co = TypeVar("IS_co", bound=LloydStep | ZoneStep, covariant=True)


class FamilyRun(CentersRun[I_co, IS_co]):
    """One run that moves its centers from a start, phase by phase in each iteration, next to Lloyd's run.

    The family's methods override the words of the stops and the facts, and the layers of a step.
    """

    # A page computes Lloyd's run once for the whole family.
    reference_group = "k-means family"
    spending_unit = "iteration"
    scene = Scene
    # Ink of the centers at each iteration.
    ink: ClassVar[Ink] = RELEASED

    @classmethod
    def reference_key(cls, params: Any, result: object) -> tuple[object, ...]:
        """Return the parameters that Lloyd's run depends on, for a start with a seed."""
        del result
        return (params.n_clusters, params.start, params.start_seed)

    @classmethod
    def find_reference(cls, points: Points, words: Words, result: Result[Any, Any], params: object = None) -> LloydRun:
        """Return Lloyd's run from the method's start, or from a private start's packing. Curator only."""
        del params
        packing = result.release.start_packing
        start = result.trace[0].previous_centers if packing is None else packing
        return lloyd(unit_records(points, words.box), start)

    def stop_words(self) -> tuple[str, Mapping[str, str], str]:
        """Return the words for the start (unless seeds replace it), for each phase and for the release. Public."""
        raise NotImplementedError

    def own_facts(self) -> tuple[Fact, ...]:
        """Return the facts that only this kind of method has."""
        raise NotImplementedError

    def step_layers(self, stage: Stage) -> tuple[Sequence[Layer], Sequence[Layer]]:
        """Return the layers of the steps, below and above the centers' path, which begins at `start` (k, d)."""
        raise NotImplementedError

    def true_averages(self, stage: Stage) -> tuple[Centers | None, ground.NoisySteps | None]:
        """Return the exact averages behind the release and at each step, if noise moves them. Curator only."""
        raise NotImplementedError

    @property
    def start(self) -> Centers:
        """The first centers, box units. Curator only if they are not released."""
        return self.steps[0].previous_centers if self.release.start is None else self.release.start

    @property
    def clock(self) -> Clock:
        """The picture's frames."""
        return Clock(len(self.release.path), tuple(self.stop_words()[1]))

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

    def noise_growth(self, times: FloatArray) -> FloatArray | None:
        """Return the noise's growth at `times` this ε. It follows the iterations if these depend on ε. Public."""
        params, release = self.params, self.release
        planned = params.n_iterations is not None or isinstance(params, FixedParams)
        if planned or release.start_packing is not None:
            return 1.0 / times
        most = getattr(params, "max_iterations", math.inf)
        return center_facts.su_growth(release, params.epsilon, times, self.words.box.d, most)

    def ensembles(self, view: View) -> Ensembles:
        """Return draws of the last noise (curator only), and of the true averages (public)."""
        del view
        last, seeded = self.steps[-1], self.release.start_packing is not None
        exact = (last.nonprivate_counts, last.nonprivate_mean, last.previous_centers)
        return ensemble.of_noisy_means(self.result, self.final, *exact, seeded=seeded, teaching=self.teaching)

    @property
    def has_lens(self) -> bool:
        """True if noise on sums of two features hides one record more or less."""
        noisy = noise_scales(self.result, Purpose.SUMS) and adjacency_of(self.events) is Adjacency.ADD_REMOVE
        return bool(self.is_flat_lesson and noisy)

    def nonprivate_lens(self, record: int) -> Lens:
        """Return the lens on one record of two features, by its index: the average of its cluster in the last step."""
        last, person = self.steps[-1], self.unit[record] - BOX_MIDDLE
        cluster = assign(self.unit[record : record + 1], last.previous_centers)[0]
        count = float(last.nonprivate_counts[cluster])
        scales = [noise_scales(self.result, purpose)[-1] for purpose in (Purpose.COUNTS, Purpose.SUMS)]
        noise = SumNoise(scales[0], scales[1])
        n_steps = len(self.steps)
        sums = count * (last.nonprivate_mean[cluster] - BOX_MIDDLE)
        average = NoisyAverage(noise, count, sums, max(1.0, EMPTY_SCALES * scales[0]))
        words = "Noisy average of your cluster" + (f", step {n_steps} of {n_steps}" if n_steps > 1 else "")
        return lens_on(
            *average.worlds(person), best_guess_rate(person_shifts(self.events, person)), words, origin=BOX_MIDDLE
        )

    def cost_line(self) -> CostLine:
        """Return the exact cost of the start and of the centers after each iteration."""
        clock = self.clock
        before = [float(step.nonprivate_cost_before.sum()) for step in self.steps]
        return CostLine(np.arange(clock.n_steps + 1.0), np.array([*before, self.nonprivate_cost]), clock.when)

    def utility(self) -> tuple[Fact, ...]:
        """Return the quality of the released centers. Curator only, because these facts are exact."""
        start = center_facts.SAME_START if self.release.start_packing is None else center_facts.PACKED_START
        return (*self.cost_facts(start), *self.own_facts(), self.lloyd_fact)

    def public_notices(self) -> tuple[str, ...]:
        """Return the notices that go with this run's guarantee. Public."""
        noise = center_facts.last_noise(self.result, Purpose.SUMS)
        return center_facts.drowned(noise, self.release, self.words.box.d)

    def caption(self, plane: Projection) -> str:
        """Return the meaning of the colors for the curator."""
        return plane_caption(plane, COLORS, COLORS)

    def public_caption(self) -> str:
        """Return the meaning of the colors for the public."""
        return PUBLIC_CAPTION

    def layers(self, stage: Stage) -> tuple[Layer, ...]:
        """Return the layers from back to front; public layers follow from the release and its events alone."""
        release, trace, clock = self.release, self.steps, stage.clock
        start = self.start
        of_start = ground.start_seen(release.start, release.start_packing)
        groups = (None, *(step.nonprivate_members for step in trace), self.nonprivate_members)
        rows = {0: 0, **clock.during(*clock.phases, offset=1), clock.release: len(trace) + 1}
        below, above = self.step_layers(stage)
        exact, steps = self.true_averages(stage)
        return (
            *ground.box_layer(stage, public=self.words.box_public),
            ground.record_layer(self.unit, groups, rows, stage),
            *ground.cluster_borders(of_start, start, release.path, self.final, stage, self.ink),
            *below,
            *ground.seed_layers(release.start_packing, start, stage),
            *ground.path_layers(of_start, start, release.path, stage, self.ink),
            *above,
            *ground.final_layers(
                self.final, exact, self.reference.nonprivate_centers, stage, ink=self.ink, steps=steps
            ),
        )


class ConvergentKMeansRun(FamilyRun[ZonesRelease, Step]):
    """One run of convergent k-means: zones, draws in them, and the released centers; Lloyd's run for comparison."""

    params: Params
    terms = TERMS
    headlines = HEADLINES
    public_headlines = PUBLIC_HEADLINES
    audited = "convergent_kmeans"
    reference_group = ""

    @property
    def repaired(self) -> bool:
        """True if the zones are based on noisy means."""
        return self.params.mode == "repaired"

    @cached_property
    def zone_means(self) -> ZoneMeans:
        """The means under the zones, from the release if it has them."""
        return ZoneMeans.from_run(self.release, self.steps)

    def own_facts(self) -> tuple[Fact, ...]:
        """Return the number of iterations, and the reason why they ended."""
        future = self.params.orientation == "future"
        # Public in repaired mode, because it follows from the release. A round with "future" orientation is two Lloyd
        # steps.
        rounds = len(self.release.zone_radii) * (2 if future else 1)
        # In repaired mode, the reason never depends on the records.
        why_stopped = {
            "planned": "The number is fixed before the first iteration.",
            "converged": "Assignments repeat.",
            "still": "No center moves farther than the tolerance.",
            "max_iterations": "Stopped at the limit: it has not converged.",
        }["planned" if self.repaired else self.steps[-1].outcome]
        if future:
            why_stopped += " A round of the future orientation is two Lloyd steps."
        return (Fact("Iterations", str(rounds), why_stopped, self.repaired),)

    def utility(self) -> tuple[Fact, ...]:
        """Return the quality of the released centers. Curator only, because these facts are exact."""
        facts, last = list(super().utility()), self.steps[-1]
        if self.params.orientation == "future":
            leaving = 100.0 * float(np.mean([step.leaves_convergent_zone for step in self.steps]))
            help_text = (
                "The paper assumes that this never happens: the controller can be farther away than the old center."
            )
            facts.append(Fact("Zones outside the convergent zone", odds(leaving), help_text))
        if last.final_raised is not None and last.final_clipped is not None:
            k = self.params.n_clusters
            raised, clipped = int(last.final_raised.sum()), int(last.final_clipped.sum())
            facts.append(Fact("Counts raised to 1", f"{raised} of {k}", "Noise had pushed them below 1."))
            facts.append(Fact("Centers moved onto the wall", f"{clipped} of {k}", "Noise had pushed them out."))
        return tuple(facts)

    def stop_words(self) -> tuple[str, Mapping[str, str], str]:
        """Return the text of the stops, in public words."""
        start = "The first centers are some of the records." if self.params.start == "records" else PACKED
        return start, DETAILS if self.repaired else PUBLISHED_DETAILS, RELEASE_DETAILS[self.params.mode]

    def ensembles(self, view: View) -> Ensembles:
        """Return draws of the last noise (curator only), and of the true averages (public).

        Published mode adds noise only to counts and does not release them. Its information about the means is the red
        ray.
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
        """Describe the picture from public parameters and the release alone."""
        return (
            f"{self.words.title}: {counted(self.params.n_clusters, 'cluster center')} over "
            f"{counted(self.clock.n_steps, 'iteration')} of convergent k-means, "
            f"{'repaired' if self.repaired else 'published'} mode, with their sampling zones. "
            f"Released centers at {self.places}."
        )

    def caption(self, plane: Projection) -> str:
        """Return the meaning of the colors for the curator."""
        return plane_caption(plane, CAPTION, "Zones are balls in all of them, drawn with their true radius.")

    def public_caption(self) -> str:
        """Return the meaning of the colors for the public."""
        return f"{PUBLIC_CAPTION} Zones may reach outside the box."

    def step_layers(self, stage: Stage) -> tuple[Sequence[Layer], Sequence[Layer]]:
        """Return the zones below the path, and the moves above it."""
        release, means = self.release, self.zone_means
        rng = np.random.default_rng(self.illustration_seed)
        zones = layers.zone_layers(release, means, self.start, self.params.epsilon_per_iteration, stage, rng=rng)
        moves = layers.move_layers(release, self.steps, means, stage)
        rays = [layers.ray_layer(self.final, stage)] if not self.repaired and self.words.box.d > 1 else []
        return zones, [*moves, *rays]

    def true_averages(self, stage: Stage) -> tuple[Centers | None, ground.NoisySteps | None]:
        """Return the last exact averages, and their noise if the zones are based on noisy means."""
        last, clock, means = self.steps[-1], stage.clock, self.zone_means
        after = clock.during("zone", "sample") if means.released else {}
        exact = stack(self.steps, "nonprivate_mean")
        steps = ground.NoisySteps(exact, means.mean, clock.during("mean", "zone", "sample"), after)
        return (last.nonprivate_mean if self.repaired else last.nonprivate_final_mean), steps
