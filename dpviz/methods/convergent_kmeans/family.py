"""The k-means family's baselines as pictures: Lloyd's own run, Lloyd with noise, and EUGkM.

Each kind of release has a class, and `RUNS` says which method has which. What
a layer draws for the world it takes from the release, its events and public parameters; what it takes from a trace or
records it draws for the curator.
"""

import math
from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

import numpy as np

from dpviz.accounting import Purpose
from dpviz.baselines._lloyd_family import LloydFamilyRelease, LloydStep
from dpviz.baselines.eugkm import GridRelease, GridStep
from dpviz.core import Counts, FloatArray
from dpviz.methods.convergent_kmeans.run import PACKED, FamilyRun, IteratedRun
from dpviz.metrics import nonprivate_cost
from dpviz.plots import (
    LAW,
    PUBLIC,
    RELEASED,
    SECRET,
    SECRET_NOISE,
    UNRELEASED,
    Frame,
    Ink,
    Kind,
    Layer,
    Role,
)
from dpviz.solvers import EMPTY_SCALES, assign
from dpviz.stories import center_facts
from dpviz.stories import ground_layers as ground
from dpviz.stories.centers import CentersRun
from dpviz.stories.charts import CostLine
from dpviz.stories.ensemble import Ensembles
from dpviz.stories.glossary import meant
from dpviz.stories.ledger import noise_scales
from dpviz.stories.panel import Fact, Sentence, counted, odds
from dpviz.stories.run import Run
from dpviz.stories.stage import Clock, ExactScene, Stage, Stops, stack
from dpviz.stories.view import Projection, View

# method -> what to call it; the order is that of every legend and table
METHODS: Mapping[str, str] = MappingProxyType(
    {
        "lloyd": "Lloyd (no privacy)",
        "repaired": "Convergent, repaired",
        "past": "Convergent, published, past",
        "future": "Convergent, published, future",
        "blum": "BLUM (SuLQ)",
        "dwork": "DWORK",
        "su": "DPLloyd (SU)",
        "gupt": "GUPT",
        "privgene": "PrivGene",
        "eugkm": "EUGkM (grid)",
        "fastlloyd": "FastLloyd",
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
    ("Noise", "From the true average to the released center: what noise on counts and sums does to it."),
    ("Private seeds", "A start that a third of ε pays for: noisy counts of a grid, then k-means on its cells."),
    ("Likely error", "How far the noise of the sums usually throws a center. Small clusters are thrown farther."),
    ("No privacy", "Lloyd's algorithm adds no noise: each center is an exact mean of real records."),
    ("Cells", "A grid whose walls are public or released. Each record counts in one cell; more color, more records."),
    ("Noisy count", "A cell's count with noise, released. Empty cells get noise too, so that they hide who is absent."),
    ("Below zero", "Noise can push a small count below zero. Such a cell weighs nothing, so empty space looks fuller."),
)


def no_budget(_: float) -> str:
    """Say what epsilon does where there is no privacy."""
    return "Lloyd has no budget: ε changes nothing here."


# Lloyd's algorithm, without noise and with it: assign, mean, noise, again and again.

LLOYD_DETAILS = {
    "assign": "Every person joins the nearest center.",
    "mean": "The true average of each cluster stays secret.",
    "noise": "Noise moves the mean, and the noisy mean is released.",
}
L_co = TypeVar("L_co", bound=LloydFamilyRelease, covariant=True)


class LloydFamilyRun(IteratedRun[L_co, LloydStep]):
    """A run of Lloyd's algorithm with noise on counts and sums: BLUM, DWORK and SU."""

    terms = TERMS
    details: ClassVar[Mapping[str, str]] = LLOYD_DETAILS  # what happens in each phase, in public words
    end: ClassVar[str] = "The last noisy means are released."
    noisy: ClassVar[bool] = True

    def stop_words(self) -> tuple[str, Mapping[str, str], str]:
        """Return what the stops show, in public words."""
        start = "Some of the records, or given." if self.release.start is None else PACKED
        return start, self.details, self.end

    def layers(self, plane: Projection) -> tuple[Layer, ...]:
        """Return what is drawn, from back to front; the world's from the release and its events alone."""
        release, trace, noisy = self.release, self.steps, self.noisy
        stage = Stage(plane, self.clock)
        clock, ink = stage.clock, RELEASED if noisy else SECRET
        start = trace[0].previous_centers if release.start is None else release.start
        of_start = ground.start_seen(release.start, release.start_packing)
        groups = (None, *(step.nonprivate_labels for step in trace), self.nonprivate_members)
        rows = {0: 0, **clock.during(*clock.phases, offset=1), clock.release: len(trace) + 1}
        mean, previous = stack(trace, "nonprivate_mean"), stack(trace, "previous_centers")
        from_mean = clock.during(*clock.phases[1:])
        last_mean = trace[-1].nonprivate_mean if noisy else None
        steps = ground.NoisySteps(mean, release.path, from_mean, clock.during("noise")) if noisy else None
        return (
            *ground.box_layer(stage, public=self.words.box_public),
            ground.record_layer(self.unit, groups, rows, stage),
            *ground.cluster_borders(of_start, start, release.path, self.final, stage, ink),
            *(self._error_layers(stage) if noisy else ()),
            *ground.seed_layers(release.start_packing, start, stage),
            *ground.path_layers(of_start, start, release.path, stage, ink),
            stage.arrows("exact move", SECRET, from_mean, previous, mean, size=1.5, dash=True),
            *ground.final_layers(self.final, last_mean, self.reference.nonprivate_centers, stage, ink=ink, steps=steps),
        )

    @property
    def rounds_fact(self) -> Fact:
        """How many iterations there are; public."""
        why = "The number is fixed before the first iteration."
        return Fact("Iterations", str(len(self.release.path)), why, True)

    def own_facts(self) -> tuple[Fact, ...]:
        """Return how many iterations there are, and how many clusters look empty."""
        n_empty = int(np.isnan(self.noise_scales[-1]).sum())
        why = "Their last noisy count was too small to tell from an empty cluster's: their center stayed."
        return (self.rounds_fact, Fact("Look empty", f"{n_empty} of {len(self.release.centers)}", why, True))

    def description(self) -> str:
        """Return what is drawn, from public parameters and the release alone."""
        return f"cluster centers over {counted(len(self.release.path), 'iteration')} of Lloyd's algorithm with noise"

    @cached_property
    def noise_scales(self) -> FloatArray:
        """The noise's scale of each center, (T, k) box units: the sum's / its noisy count; NaN where it stayed.

        The last row follows from the release and its events alone; the others from counts that are not released.
        """
        rows = (*(step.noisy_counts for step in self.steps[:-1]), self.release.noisy_counts)
        counts = np.stack([row for row in rows if row is not None])  # all of them: only Lloyd's own run has none
        of_counts = np.array(noise_scales(self.result, Purpose.COUNTS))[:, None]
        of_sums = np.array(noise_scales(self.result, Purpose.SUMS))[:, None]
        large = counts >= np.maximum(1.0, EMPTY_SCALES * of_counts)
        return np.where(large, of_sums / np.maximum(counts, 1.0), np.nan)

    def _error_layers(self, stage: Stage) -> list[Layer]:
        """How far the sums' noise goes: of every iteration for the curator, for the world of the released counts."""
        scales, path, clock = self.noise_scales, self.release.path, stage.clock
        last = {clock.release: 0, clock.frame(clock.n_steps - 1, "noise"): 0}
        circles = ground.error_circles("likely error", LAW, last, path[-1:], scales[-1:], stage)
        if clock.n_steps > 1:
            earlier = {clock.frame(t, "noise"): t for t in range(clock.n_steps - 1)}
            # The counts on the way are not part of the release.
            circles += ground.error_circles(
                "likely error on the way", SECRET_NOISE, earlier, path[:-1], scales[:-1], stage
            )
        return circles


class ExactLloydRun(LloydFamilyRun[LloydFamilyRelease]):
    """Lloyd's own run: nothing of it is private, and all of it is the curator's."""

    details: ClassVar[Mapping[str, str]] = {
        "assign": LLOYD_DETAILS["assign"],
        "mean": "Every center moves to the true average of its cluster.",
    }
    end = "The true averages are the result: nothing of it is private."
    noisy = False
    scene = ExactScene

    @property
    def lede(self) -> str:
        """What it is for, and who the points are; public."""
        return f"{self.points_are} The centers are exact: **nothing** may be published."

    def finding(self) -> Sentence:
        """Return the run in one sentence."""
        return Sentence(
            curator="Nothing is hidden: the centers are exact means of real records.",
            public="Nothing is released: every number of this run is exact.",
        )

    def ensembles(self, view: View) -> Ensembles:
        """Return nothing: there is no noise."""
        del view
        return None, None

    def own_facts(self) -> tuple[Fact, ...]:
        """Return how many iterations there were: exact, so the curator's."""
        converged = self.steps[-1].outcome == "converged"
        why = "Until no record changes its cluster." if converged else "Stopped at the most allowed."
        return (Fact("Iterations", str(len(self.release.path)), why, False),)

    def risk(self) -> tuple[Fact, ...]:
        """Return what an attacker can do; public."""
        return (Fact("Attacker is right", "no limit", "No noise: every number here is exact.", True),)

    def alt(self) -> str:
        """Return what is drawn without any place: nothing of this run is public."""
        of = "cluster centers of Lloyd's algorithm, which is not private"
        return f"{self.words.title}: {self.params.n_clusters} {of}."

    def public_caption(self) -> str:
        """Return what the public sees."""
        return "Nothing of this run is private: the public sees the box and a public start, and nothing else."


# EUGkM: exact counts of cells, noisy counts, then k-means on the cells, which sees no record any more.

N_STOPS = 5  # of the k-means that the scrubber has: how many steps it took is not part of the release
STOPS = tuple(f"stop {i + 1}" for i in range(N_STOPS))
MOST_WALLS = 3_000  # that can still be told apart
PIXELS = 160  # along an axis of a grid whose cells are not equal
ROUNDING = 1e-9  # of a pixel


class EUGkMRun(FamilyRun[GridRelease, GridStep]):
    """A run of EUGkM: k-means on a grid of noisy counts."""

    terms = TERMS
    ledger_unit = "step"
    note = " Shades are square roots of counts, which are summed over features that are not shown."
    clock = Clock(1, ("exact", "noisy", *STOPS))

    @cached_property
    def walk(self) -> tuple[FloatArray, FloatArray]:
        """The iterations (N_STOPS,) at the scrubber's stops, and their centers (N_STOPS, k, d): the curator's."""
        path = np.stack([self.steps[0].previous_centers, *(step.released_centers for step in self.steps)])
        iterations = np.rint(np.linspace(0, len(self.steps), N_STOPS)).astype(np.intp)
        return iterations.astype(np.float64), path[iterations]

    def stops(self) -> Stops:
        """Return the stops of the scrubber; the same for every run."""
        walk = "k-means moves centers over the noisy cells, and sees nobody."
        frames = (
            Frame("Records", "Every person is in one cell of a grid that the public knows."),
            Frame("Exact counts", "How many people each cell holds stays secret."),
            Frame("Noisy counts", "Noise on every cell, empty ones too: this grid is released."),
            *(Frame(f"Cells: step {i + 1}", walk) for i in range(N_STOPS)),
            Frame("Release", "The centers that k-means found on the noisy cells."),
        )
        return Stops(frames)

    def layers(self, plane: Projection) -> tuple[Layer, ...]:
        """Return what is drawn, from back to front; the world's from the noisy grid and the released centers alone."""
        stage, clock = Stage(plane, self.clock), self.clock
        _, path = self.walk
        walking = {clock.frame(0, stop): i for i, stop in enumerate(STOPS)}
        labels = self.nonprivate_labels
        true = ground.exact_means(self.unit, labels, self.final)
        way = stage.layer("path", Kind.TRAILS, UNRELEASED, walking, plane(path), size=2.0)
        lloyds, noise = self.reference.nonprivate_centers, "error of grid and noise"
        return (
            *ground.box_layer(stage, public=self.words.box_public),
            *([] if plane.nonprivate else self._grid_layers(stage)),
            ground.record_layer(self.unit, (None, labels), {0: 0, clock.release: 1}, stage, size=3.0),
            *ground.border_layer(RELEASED, {clock.release: 0}, self.final[None], stage),
            way,
            stage.marks("center", UNRELEASED, walking, path, size=9.0),
            *ground.final_layers(self.final, true, lloyds, stage, noise=noise),
        )

    def cost_line(self) -> CostLine:
        """Return the exact cost of the centers at each stop."""
        iterations, path = self.walk
        costs = [nonprivate_cost(self.unit, centers, assign(self.unit, centers)) for centers in path]
        when = np.concatenate([np.zeros(self.clock.n_frames - N_STOPS - 1), iterations, iterations[-1:]])
        return CostLine(iterations, np.array(costs), when, "k-means step on the cells")

    def own_facts(self) -> tuple[Fact, ...]:
        """Return the grid's size, and its cells below zero and without any record."""
        counts = self.release.noisy_cell_counts
        below = 100.0 * float(np.mean(counts < 0))
        empty = 100.0 * float(np.mean(self.steps[0].nonprivate_cell_counts == 0))
        return (
            Fact("Cells", f"{len(counts):,}", "More records and a larger ε buy more cells.", True),
            Fact("Cells below zero", odds(below), "Noise pushed their counts below zero: they weigh nothing.", True),
            Fact("Empty cells", odds(empty), "They hold no record, and about half of them look as if they did.", False),
        )

    def description(self) -> str:
        """Return what is drawn, from public parameters and the release alone."""
        return f"cluster centers on a grid of {len(self.release.noisy_cell_counts)} noisy counts"

    def _grid_layers(self, stage: Stage) -> list[Layer]:
        """The grid's walls, the exact counts, and the noisy counts above and below zero, all on one scale."""
        release, clock = self.release, stage.clock
        axes = tuple(int(axis) for axis in stage.projection.matrix.argmax(axis=0)[: min(stage.projection.d, 2)])
        low, high = (corner[:, axes] for corner in release.grid.walls())
        noisy = shaded(release.noisy_cell_counts, low, high)
        exact = shaded(self.steps[0].nonprivate_cell_counts, low, high)
        highest = max(float(np.abs(noisy).max()), 1e-300)  # one scale for all three, and it is released
        after = dict.fromkeys(range(clock.frame(0, "noisy"), clock.n_frames), 0)

        def cells(name: str, ink: Ink, rows: dict[int, int], counts: FloatArray) -> Layer:
            # By the square root of the counts, nothing below zero: noise then looks alike everywhere.
            shade = np.rint(255.0 * np.sqrt(np.clip(counts / highest, 0.0, 1.0))).astype(np.uint8)
            arrays = {"rect": np.array([[[0.0, 0.0, 1.0, 1.0]]]), "value": shade[None, None]}
            return stage.layer(name, Kind.GRID, ink, rows, arrays, isolate=False)

        return [
            *_wall_layer(low, high, stage),
            cells("exact count", SECRET, {clock.frame(0, "exact"): 0}, exact),
            cells("noisy count", RELEASED, after, noisy),
            cells("count below zero", Ink(Role.NOISE, RELEASED.audience), after, -noisy),
        ]


def shaded(counts: Counts, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return a picture's rows, from the low end up: `counts` (m,) by the size of their cells, pixel by pixel.

    Cells lie between `low` and `high` (m, 1 or 2) in the drawn axes; those of one place are summed. Equal cells are
    pixels themselves.
    """
    n_cells = []  # along each axis, 0 where they are not equal
    for axis in range(low.shape[1]):
        widths = high[:, axis] - low[:, axis]
        n_equal = round(1.0 / float(widths[0]))
        n_cells.append(n_equal if np.allclose(widths, 1.0 / n_equal, atol=ROUNDING / n_equal) else 0)
    n_pixels = np.array(n_cells) if all(n_cells) else np.full(len(n_cells), PIXELS)
    # The pixels whose middles are in a cell, and one at least, so that none is lost.
    begin = np.ceil(low * n_pixels - 0.5 - ROUNDING).astype(np.intp).clip(0, n_pixels - 1)
    end = np.ceil(high * n_pixels - 0.5 - ROUNDING).astype(np.intp).clip(begin + 1, n_pixels)
    shares = counts / (end - begin).prod(axis=1)
    if low.shape[1] == 1:
        begin, end = (np.column_stack([each, np.full(len(each), place)]) for each, place in ((begin, 0), (end, 1)))
        n_pixels = np.append(n_pixels, 1)
    shape = int(n_pixels[1]) + 1, int(n_pixels[0]) + 1
    corners = ((begin, begin), (end, begin), (begin, end), (end, end))  # (x, y)
    at = np.concatenate([y[:, 1] * shape[1] + x[:, 0] for x, y in corners])
    changes = np.bincount(at, np.concatenate([shares, -shares, -shares, shares]), math.prod(shape)).reshape(shape)
    return changes.cumsum(axis=0).cumsum(axis=1)[:-1, :-1]


def _wall_layer(low: FloatArray, high: FloatArray, stage: Stage) -> list[Layer]:
    """The walls between the cells, while there are few enough to be seen; they are public or released."""
    if low.shape[1] == 1:
        low, high = (np.column_stack([each, np.full(len(each), side)]) for each, side in ((low, 0.0), (high, 1.0)))
    some = low[:: max(1, len(low) // MOST_WALLS)]  # enough to see that there are too many, before all are sorted
    corners = np.unique(some[:, 0] + 1j * some[:, 1])  # no two of them have a wall in common
    if np.count_nonzero(corners.real > 0) + np.count_nonzero(corners.imag > 0) > MOST_WALLS:
        return []
    sides = np.column_stack([low, low[:, 0], high[:, 1]])
    feet = np.column_stack([low, high[:, 0], low[:, 1]])
    walls = np.unique(np.concatenate([sides[low[:, 0] > 0], feet[low[:, 1] > 0]]), axis=0)
    if len(walls) > MOST_WALLS:
        return []
    rows = {0: 0, stage.clock.frame(0, "exact"): 0}
    arrays = {"ends": walls[None]}
    return [stage.layer("cell", Kind.SEGMENTS, PUBLIC, rows, arrays, size=0.5, isolate=False)]


RUNS: Mapping[str, type[Run[Any, Any, Any]]] = {
    "lloyd": ExactLloydRun,
    "blum": LloydFamilyRun,
    "dwork": LloydFamilyRun,
    "su": LloydFamilyRun,
    "fastlloyd": CentersRun,
    "gupt": CentersRun,
    "privgene": CentersRun,
    "eugkm": EUGkMRun,
}
