"""One run of convergent k-means: assign, mean, zone, sample, again and again, then the release."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpviz.accounting import Purpose
from dpviz.core import Centers, Counts, FloatArray, Points, Result, unit_records
from dpviz.methods.convergent_kmeans import layers
from dpviz.methods.convergent_kmeans.algorithm import Params, Step, ZonesRelease
from dpviz.plots import RELEASED, SECRET, Frame, Ink, Scene
from dpviz.solvers import LloydRun, lloyd
from dpviz.stories import center_facts, charts, ensemble
from dpviz.stories import ground_layers as ground
from dpviz.stories.centers import CentersRun
from dpviz.stories.charts import CostLine
from dpviz.stories.ensemble import Ensembles
from dpviz.stories.glossary import meant
from dpviz.stories.ledger import noise_scales
from dpviz.stories.panel import Fact, ceiled, cluster_names, counted, number, odds
from dpviz.stories.run import Chart
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
PHASES = ("assign", "mean", "zone", "sample")
DETAILS = {
    "assign": "Every person joins the nearest center.",
    "mean": "The true average of each cluster stays secret.",
    "zone": "Noise moves the mean. Noisy mean and sampling zone are released.",
    "sample": "The next center is drawn inside the zone.",
}
PUBLISHED_DETAILS = {**DETAILS, "zone": "The paper releases a zone that stands on the true average."}
SEEDS = "Noisy counts of a coarse grid say where the centers start."
RELEASE_DETAILS = {
    "repaired": "The last noisy means and counts are released.",
    "published": "True sums over noisy counts: each red ray hits a true sum exactly.",
}


CAPTION = "Colors are clusters. Gray is secret, blue released, orange noise, green public. Zones may leave the box."
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


class ConvergentKMeansRun(CentersRun[ZonesRelease, Step]):
    """One run of convergent k-means: zones, draws in them, and the released centers; Lloyd's run beside it."""

    params: Params
    terms = TERMS
    audited = "convergent_kmeans"

    @classmethod
    def reference_key(cls, params: Params, result: object) -> tuple[object, ...]:
        """Return the parameters that Lloyd's run depends on, for a start with a seed."""
        del result
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

    @property
    def repaired(self) -> bool:
        """Whether the zones stand on noisy means."""
        return self.params.mode == "repaired"

    @property
    def clock(self) -> Clock:
        """The picture's frames."""
        return Clock(len(self.release.zone_radii), PHASES)

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

    def noise_growth(self, times: FloatArray) -> FloatArray:
        """Return how many times larger the noise is at `times` this ε: by its iterations, if they follow ε; public."""
        fixed = self.params.n_iterations is not None or self.release.start_packing is not None
        return 1.0 / times if fixed else center_facts.su_growth(self, times, self.params.max_iterations)

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

    def public_notices(self) -> tuple[str, ...]:
        """Return what has to be said beside this run's guarantee; public."""
        return center_facts.public_notices(self)

    def stops(self) -> Stops:
        """Return the stops of the scrubber, in public words."""
        clock, release = self.clock, self.release
        details = DETAILS if self.repaired else PUBLISHED_DETAILS
        start = "Spread over the box without looking at anyone."
        if release.start_packing is not None:
            start = SEEDS
        elif self.params.start == "records":
            start = "The first centers are some of the records."
        iterations = (
            Frame(f"Iteration {t + 1}: {phase}", details[phase]) for t in range(clock.n_steps) for phase in PHASES
        )
        return Stops((Frame("Start", start), *iterations, Frame("Release", RELEASE_DETAILS[self.params.mode])))

    def charts(self) -> tuple[Chart, ...]:
        """Return profiles, exact cost beside Lloyd's from the same start, and what each iteration spends."""
        clock = self.clock
        before = [float(step.nonprivate_cost_before.sum()) for step in self.steps]
        line = CostLine(np.arange(clock.n_steps + 1.0), np.array([*before, self.nonprivate_cost]), clock.when)
        return (
            *self.profile_charts(),
            Chart("cost", charts.cost_chart(self, line, self.stops())),
            Chart("ledger", charts.ledger_chart(self.ledger(), proved=self.proved)),
        )

    def ensembles(self, view: View) -> Ensembles:
        """Return what the last noise could have done, the curator's; where the true averages could be, public.

        Published mode adds noise to counts alone and does not release them: what it says of the means is the red ray.
        """
        del view
        last, release = self.steps[-1], self.release
        if self.repaired:
            seeded = release.start_packing is not None
            return ensemble.of_noisy_means(
                self, last.nonprivate_counts, last.nonprivate_mean, last.previous_centers, seeded=seeded
            )
        counts, mean = last.nonprivate_final_counts, last.nonprivate_final_mean
        if not self.teaching or counts is None or mean is None:
            return None, None
        noise = ensemble.SumNoise(noise_scales(self.result, Purpose.FINAL_COUNTS)[-1], 0.0)
        return ensemble.centered(
            noise.landed(counts, counts[:, None] * mean, mean, over_counts, ensemble.n_draws(len(mean)))
        ), None

    def draw(self, view: View, *, rng: np.random.Generator) -> Scene:
        """Return the moving picture; `.public()` leaves what the world may see. `rng` draws illustrations only."""
        release, trace = self.release, self.steps
        stage = Stage(self.plane(view), self.clock)
        clock, stops = stage.clock, self.stops()
        start = trace[0].previous_centers if release.start is None else release.start
        of_start = ground.start_seen(release.start, release.start_packing)
        exact = trace[-1].nonprivate_mean if self.repaired else trace[-1].nonprivate_final_mean
        groups = (None, *(step.nonprivate_members for step in trace), self.nonprivate_members)
        rows = {0: 0, **clock.during(*PHASES, offset=1), clock.release: len(trace) + 1}
        rays = [layers.ray_layer(self.final, stage)] if not self.repaired and self.words.box.d > 1 else []
        alt = (  # from public parameters and the release alone
            f"{self.words.title}: {counted(self.params.n_clusters, 'cluster center')} over "
            f"{counted(clock.n_steps, 'iteration')} of convergent k-means, "
            f"{'repaired' if self.repaired else 'published'} mode, with their sampling zones. "
            f"Released centers at {self.places}."
        )
        return Scene(
            title=self.words.title,
            alt=alt,
            caption=plane_caption(stage.projection, CAPTION, MORE_FEATURES),
            public_caption="Blue is released, orange is noise, green is public. Zones may reach outside the box.",
            x=stage.projection.x,
            y=stage.projection.y,
            axes_public=not stage.projection.nonprivate,
            layers=(
                *ground.box_layer(stage, public=self.words.box_public),
                ground.record_layer(self.unit, groups, rows, stage),
                *ground.cluster_borders(of_start, start, release.path, self.final, stage),
                *layers.zone_layers(self, start, stage, rng=rng),
                *ground.seed_layers(release.start_packing, start, stage),
                *ground.path_layers(of_start, start, release.path, stage),
                *layers.move_layers(self, stage),
                *rays,
                *ground.final_layers(
                    self.final,
                    exact,
                    self.reference.nonprivate_centers,
                    stage,
                    steps=layers.noisy_steps(self, stage),
                ),
            ),
            frames=stops.frames,
            start_frame=stops.start_frame,
            group_names=cluster_names(self.params.n_clusters),
        )
