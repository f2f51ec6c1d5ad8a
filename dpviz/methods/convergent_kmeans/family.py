"""The k-means family's baselines as pictures: Lloyd's own run, Lloyd with noise, and EUGkM.

Each kind of release has a class, and `RUNS` assigns one to each method. GUPT, PrivGene and FastLloyd have the default
picture of released centers.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from dpviz.accounting import Purpose
from dpviz.baselines import CATALOGUE as BASELINES
from dpviz.baselines._lloyd_family import LloydFamilyRelease, LloydStep
from dpviz.baselines.eugkm import GridRelease, GridStep
from dpviz.core import Centers, FloatArray, Points, Result, unit_records
from dpviz.methods.convergent_kmeans import layers
from dpviz.methods.convergent_kmeans.run import COLORS, PACKED, PUBLIC_CAPTION, FamilyRun
from dpviz.metrics import nonprivate_cost
from dpviz.plots import RELEASED, SECRET, UNRELEASED, Frame, Kind, Layer, Scene
from dpviz.solvers import EMPTY_SCALES, LloydRun, assign, lloyd, public_start
from dpviz.stories import center_facts
from dpviz.stories import ground_layers as ground
from dpviz.stories.centers import CentersRun
from dpviz.stories.charts import CostLine
from dpviz.stories.ensemble import Ensembles
from dpviz.stories.glossary import meant
from dpviz.stories.ground_layers import NoisySteps
from dpviz.stories.panel import Fact, Sentence, counted, odds
from dpviz.stories.run import Run
from dpviz.stories.spending import noise_scales
from dpviz.stories.stage import Clock, ExactScene, Stage, Stops, stack
from dpviz.stories.view import Projection, View, Words, plane_caption

_MODES = {
    "repaired": "Convergent, repaired",
    "past": "Convergent, published, past",
    "future": "Convergent, published, future",
}
# Titles of the family, by baseline or mode, in the order of menus and tables.
METHODS: Mapping[str, str] = MappingProxyType(
    {
        name: _MODES[name] if name in _MODES else BASELINES[name].title
        for name in ("lloyd", *_MODES, "blum", "dwork", "dplloyd", "gupt", "privgene", "eugkm", "fastlloyd")
    }
)
TERMS = (
    (
        "Colors",
        "Gray and locked: exact, secret. Blue: released. Orange: noise. Green: public input. Red: a broken claim.",
    ),
    *meant("epsilon", "box"),
    ("Lloyd's", "k-means without privacy, from one start: where noise-free centers end."),
    center_facts.BEST_TERM,
    *meant("center"),
    ("True average", "The true middle of a cluster. Lloyd's algorithm would move the center there."),
    ("Noise", "From the true average to the released center: the effect of noise on its count and sum."),
    ("Private seeds", "A start that a third of ε pays for: noisy counts of a grid, then k-means on its cells."),
    ("Likely error", "How far the noise of the sums usually throws a center. Small clusters are thrown farther."),
    ("No privacy", "Lloyd's algorithm adds no noise: each center is an exact mean of real records."),
    (
        "Cells",
        "A grid whose walls are public or released. Each record counts in one cell. More color means more records.",
    ),
    ("Noisy count", "A cell's count with noise, released. Even empty cells get noise, to hide who is absent."),
    ("Below zero", "Noise can push a small count below zero. Such a cell weighs nothing, so empty space looks fuller."),
)


def no_budget(_: float) -> str:
    """Explain that epsilon changes nothing without privacy."""
    return "Lloyd has no budget: ε changes nothing here."


LLOYD_PHASES = {
    "assign": "Every person joins the nearest center.",
    "mean": "The true average of each cluster stays secret.",
    "noise": "Noise moves the mean, and the noisy mean is released.",
}
EXACT_PHASES = {"assign": LLOYD_PHASES["assign"], "mean": "Every center moves to the true average of its cluster."}


class LloydFamilyRun(FamilyRun[LloydFamilyRelease, LloydStep]):
    """A run of Lloyd's algorithm with noise on counts and sums: BLUM, DWORK and SU."""

    terms = TERMS

    def stop_words(self) -> tuple[str, Mapping[str, str], str]:
        """Return the text of the stops, in public words."""
        return _start_words(self.release), LLOYD_PHASES, "The last noisy means are released."

    def step_layers(self, stage: Stage) -> tuple[Sequence[Layer], Sequence[Layer]]:
        """Return the layers of the noise's typical size, and of the exact moves."""
        return layers.error_layers(*self.noise_scales, self.release.path, stage), [_exact_moves(self.steps, stage)]

    def true_averages(self, stage: Stage) -> tuple[Centers | None, NoisySteps | None]:
        """Return the exact averages, of the last step and of all."""
        mean, clock = stack(self.steps, "nonprivate_mean"), stage.clock
        return mean[-1], NoisySteps(mean, self.release.path, clock.during("mean", "noise"), clock.during("noise"))

    def own_facts(self) -> tuple[Fact, ...]:
        """Return the number of iterations, and the number of clusters that look empty. Public."""
        n_empty = int(np.isnan(self.noise_scales[0][-1]).sum())
        why = "Their last noisy count was too small to rule out an empty cluster, so their center stayed in place."
        return (
            Fact("Iterations", str(len(self.release.path)), "The number is fixed before the first iteration.", True),
            Fact("Look empty", f"{n_empty} of {len(self.release.centers)}", why, True),
        )

    def alt(self) -> str:
        """Describe the picture, from public parameters and the release alone."""
        return (
            f"{self.words.title}: {self.params.n_clusters} cluster centers over "
            f"{counted(len(self.release.path), 'iteration')} of Lloyd's algorithm with noise. "
            f"Released centers at {self.places}."
        )

    @cached_property
    def noise_scales(self) -> tuple[FloatArray, FloatArray]:
        """The scales of each center's noise on sums, in box units, and counts, over its noisy count; NaN if it stayed.

        Each has shape (T, k). The last row follows from the release and its events alone; the others from counts that
        are not released.
        """
        rows = (*(step.noisy_counts for step in self.steps[:-1]), self.release.noisy_counts)
        # Every row has counts, because only Lloyd's own run has none.
        counts = np.stack([row for row in rows if row is not None])
        of_counts = np.array(noise_scales(self.result, Purpose.COUNTS))[:, None]
        of_sums = np.array(noise_scales(self.result, Purpose.SUMS))[:, None]
        large = counts >= np.maximum(1.0, EMPTY_SCALES * of_counts)
        per = np.where(large, np.maximum(counts, 1.0), np.nan)
        return of_sums / per, of_counts / per


class ExactLloydRun(FamilyRun[LloydFamilyRelease, LloydStep]):
    """Lloyd's own run, without any privacy. Curator only."""

    terms = TERMS
    scene = ExactScene
    ink = SECRET

    @property
    def lede(self) -> str:
        """The purpose of the run, and the meaning of its points. Public."""
        return f"{self.points_are} The centers are exact: **nothing** may be published."

    def finding(self) -> Sentence:
        """Return the run in one sentence."""
        return Sentence(
            curator="Nothing is hidden: the centers are exact means of real records.",
            public="Nothing is released: every number in this run is exact.",
        )

    def stop_words(self) -> tuple[str, Mapping[str, str], str]:
        """Return the text of the stops, in public words."""
        end = "The true averages are the result, so nothing is private."
        return _start_words(self.release), EXACT_PHASES, end

    def step_layers(self, stage: Stage) -> tuple[Sequence[Layer], Sequence[Layer]]:
        """Return the exact moves."""
        return (), [_exact_moves(self.steps, stage)]

    def true_averages(self, stage: Stage) -> tuple[Centers | None, NoisySteps | None]:
        """Return nothing: the centers are the averages."""
        del stage
        return None, None

    def ensembles(self, view: View) -> Ensembles:
        """Return no ensembles, because there is no noise."""
        del view
        return None, None

    def own_facts(self) -> tuple[Fact, ...]:
        """Return the number of iterations. Curator only, because it is exact."""
        converged = self.steps[-1].outcome == "converged"
        why = "Until no record changes its cluster." if converged else "Stopped at the limit."
        return (Fact("Iterations", str(len(self.release.path)), why),)

    def risk(self) -> tuple[Fact, ...]:
        """Return the attacker's odds, which have no limit. Public."""
        return (Fact("Attacker is right", "no limit", "No noise: every number here is exact.", True),)

    def alt(self) -> str:
        """Describe the picture without any place, because nothing of this run is public."""
        of = "cluster centers of Lloyd's algorithm, which is not private"
        return f"{self.words.title}: {self.params.n_clusters} {of}."

    def public_caption(self) -> str:
        """Return the caption for the public."""
        return "Nothing in this run is private: the public sees only the box and a public start."


def _start_words(release: LloydFamilyRelease) -> str:
    return "Some of the records, or given." if release.start is None else PACKED


def _exact_moves(steps: tuple[LloydStep, ...], stage: Stage) -> Layer:
    previous, mean = stack(steps, "previous_centers"), stack(steps, "nonprivate_mean")
    from_mean = stage.clock.during(*stage.clock.phases[1:])
    return stage.arrows("exact move", SECRET, from_mean, previous, mean, size=1.5, dash=True)


# EUGkM: exact counts of cells, noisy counts, then k-means on the cells, which no longer sees any record.

# Number of k-means stops of the scrubber. The release does not include the number of steps.
N_STOPS = 5
STOPS = tuple(f"stop {i + 1}" for i in range(N_STOPS))
GRID_NOTE = " Shades are square roots of counts, which are summed over features that are not shown."


class EUGkMRun(CentersRun[GridRelease, GridStep]):
    """A run of EUGkM: k-means on a grid of noisy counts."""

    terms = TERMS
    reference_group = FamilyRun.reference_group
    scene = Scene
    clock = Clock(1, ("exact", "noisy", *STOPS))

    @classmethod
    def reference_key(cls, params: Any, result: object) -> tuple[object, ...]:
        """Return the parameters that Lloyd's run depends on: the family's, from a packing."""
        del result
        return (params.n_clusters, "packing", params.start_seed)

    @classmethod
    def find_reference(cls, points: Points, words: Words, result: Result[Any, Any], params: Any) -> LloydRun:
        """Return Lloyd's run from the sphere packing of the start's seed, or of seed 0. Curator only.

        Epsilon does not change the run, so a page can keep it.
        """
        seed = 0 if params.start_seed is None else params.start_seed
        start = public_start(*result.release.centers.shape, seed=seed, rng=np.random.default_rng(seed))
        return lloyd(unit_records(points, words.box), start)

    @cached_property
    def walk(self) -> tuple[FloatArray, FloatArray]:
        """The iterations (N_STOPS,) at the scrubber's stops, and their centers (N_STOPS, k, d). Curator only."""
        path = np.stack([self.steps[0].previous_centers, *(step.released_centers for step in self.steps)])
        iterations = np.rint(np.linspace(0, len(self.steps), N_STOPS)).astype(np.intp)
        return iterations.astype(np.float64), path[iterations]

    def stops(self) -> Stops:
        """Return the stops of the scrubber; the same for every run."""
        walk = "k-means moves centers over the noisy cells and sees nobody."
        frames = (
            Frame("Records", "Every person is in one cell of a grid that the public knows."),
            Frame("Exact counts", "The number of people in each cell stays secret."),
            Frame("Noisy counts", "Every cell gets noise, even empty ones. This grid is released."),
            *(Frame(f"Cells: step {i + 1}", walk) for i in range(N_STOPS)),
            Frame("Release", "The centers that k-means found on the noisy cells."),
        )
        return Stops(frames)

    def layers(self, stage: Stage) -> tuple[Layer, ...]:
        """Return the layers from back to front; public layers follow from the noisy grid and the released centers."""
        clock, plane, labels, (_, path) = stage.clock, stage.projection, self.nonprivate_labels, self.walk
        walking = {clock.frame(0, stop): i for i, stop in enumerate(STOPS)}
        exact = ground.exact_means(self.unit, labels, self.final)
        cell_counts = self.steps[0].nonprivate_cell_counts
        lloyds, noise = self.reference.nonprivate_centers, "error of grid and noise"
        return (
            *ground.box_layer(stage, public=self.words.box_public),
            *([] if plane.nonprivate else layers.grid_layers(self.release, cell_counts, stage)),
            ground.record_layer(self.unit, (None, labels), {0: 0, clock.release: 1}, stage, size=3.0),
            *ground.border_layer(RELEASED, {clock.release: 0}, self.final[None], stage),
            stage.layer("path", Kind.TRAILS, UNRELEASED, walking, plane(path), size=2.0),
            stage.marks("center", UNRELEASED, walking, path, size=9.0),
            *ground.final_layers(self.final, exact, lloyds, stage, noise=noise),
        )

    def cost_line(self) -> CostLine:
        """Return the exact cost of the centers at each stop."""
        iterations, path = self.walk
        costs = [nonprivate_cost(self.unit, centers, assign(self.unit, centers)) for centers in path]
        when = np.concatenate([np.zeros(self.clock.n_frames - N_STOPS - 1), iterations, iterations[-1:]])
        return CostLine(iterations, np.array(costs), when, "k-means step on the cells")

    def utility(self) -> tuple[Fact, ...]:
        """Return the cost, the grid's size, and its cells below zero and without any record."""
        counts = self.release.noisy_cell_counts
        below = 100.0 * float(np.mean(counts < 0))
        empty = 100.0 * float(np.mean(self.steps[0].nonprivate_cell_counts == 0))
        return (
            *self.cost_facts(center_facts.PACKED_START),
            Fact("Cells", f"{len(counts):,}", "More records and a larger ε buy more cells.", True),
            Fact("Cells below zero", odds(below), "Noise pushed their counts below zero: they weigh nothing.", True),
            Fact("Empty cells", odds(empty), "They hold no records, but about half of them look as if they did."),
            self.lloyd_fact,
        )

    def alt(self) -> str:
        """Describe the picture, from public parameters and the release alone."""
        return (
            f"{self.words.title}: {self.params.n_clusters} cluster centers on a grid of "
            f"{len(self.release.noisy_cell_counts)} noisy counts. Released centers at {self.places}."
        )

    def caption(self, plane: Projection) -> str:
        """Return the meaning of the colors for the curator."""
        return plane_caption(plane, COLORS, COLORS) + ("" if plane.nonprivate else GRID_NOTE)

    def public_caption(self) -> str:
        """Return the meaning of the colors for the public."""
        return f"{PUBLIC_CAPTION}{GRID_NOTE}"


RUNS: Mapping[str, type[Run[Any, Any, Any]]] = {
    "lloyd": ExactLloydRun,
    "blum": LloydFamilyRun,
    "dwork": LloydFamilyRun,
    "dplloyd": LloydFamilyRun,
    "fastlloyd": CentersRun,
    "gupt": CentersRun,
    "privgene": CentersRun,
    "eugkm": EUGkMRun,
}
