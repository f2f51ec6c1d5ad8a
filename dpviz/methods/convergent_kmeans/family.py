"""The k-means family's baselines as pictures: Lloyd's own run, Lloyd with noise, FastLloyd, EUGkM, GUPT and PrivGene.

Each kind of release has a class, and `RUNS` says which method has which. What
a layer draws for the world it takes from the release, its events and public parameters; what it takes from a trace or
records it draws for the curator.
"""

import math
from collections.abc import Mapping
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

import numpy as np
import scipy

from dpviz.accounting import PureEvent, Purpose
from dpviz.baselines._lloyd_family import LloydFamilyRelease, LloydStep
from dpviz.baselines.eugkm import GridRelease, GridStep
from dpviz.baselines.fastlloyd import BoundedRelease, bounded_move
from dpviz.baselines.gupt import BlocksRelease, BlocksStep, in_order
from dpviz.baselines.privgene import FIRST_MOVE, SHRINK, GeneRelease, GeneStep
from dpviz.core import Counts, FloatArray, Points, Result, unit_records
from dpviz.mechanisms import exponential_probabilities
from dpviz.methods.convergent_kmeans.run import PACKED, FamilyRun, IteratedRun
from dpviz.metrics import nonprivate_cost
from dpviz.plots import (
    LAW,
    MEMBERS,
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
from dpviz.solvers import EMPTY_SCALES, LloydRun, assign, lloyd, public_start
from dpviz.stories import center_facts, ensemble
from dpviz.stories import ground_layers as ground
from dpviz.stories.center_facts import NoiseLaw
from dpviz.stories.charts import CostLine
from dpviz.stories.ensemble import Ensembles, n_draws, standard_noise
from dpviz.stories.glossary import meant
from dpviz.stories.ledger import leaves, noise_scales
from dpviz.stories.panel import Fact, Sentence, counted, number, odds
from dpviz.stories.run import Run
from dpviz.stories.stage import Clock, ExactScene, Stage, Stops, stack
from dpviz.stories.view import Projection, View, Words

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
CIRCLE = "Radius bound"
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
    (CIRCLE, "Public. The true average is of the records in a center's circle alone, and the center moves within it."),
    ("Cells", "A grid whose walls are public or released. Each record counts in one cell; more color, more records."),
    ("Noisy count", "A cell's count with noise, released. Empty cells get noise too, so that they hide who is absent."),
    ("Below zero", "Noise can push a small count below zero. Such a cell weighs nothing, so empty space looks fuller."),
    ("Block", "A random part of the records. Each block finds its own centers, without privacy."),
    ("Block's center", "Colors are the order from left to right: all first centers are averaged, all second ones, ..."),
    ("Mean of the blocks", "If two clusters change places between blocks, it lies between them. More ε does not help."),
    ("Candidate", "A whole set of k centers. The first ones are random, later ones are children of the picked ones."),
    ("Parents", "The candidates that a private pick prefers: low cost is likely, not certain. They are released."),
    ("Best candidate", "The one of least cost. A pick without privacy would always take it."),
    ("Where a child may move", "A child mixes the centers of two parents, then moves one of them, less every round."),
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

        Where no center stays for its count, FastLloyd, NaN is where a noisy count says nothing: below 1.

        The last row follows from the release and its events alone; the others from counts that are not released.
        """
        rows = (*(step.noisy_counts for step in self.steps[:-1]), self.release.noisy_counts)
        counts = np.stack([row for row in rows if row is not None])  # all of them: only Lloyd's own run has none
        of_counts = np.array(noise_scales(self.result, Purpose.COUNTS))[:, None]
        of_sums = np.array(noise_scales(self.result, Purpose.SUMS))[:, None]
        scales = 0.0 if isinstance(self.release, BoundedRelease) else EMPTY_SCALES
        large = counts >= np.maximum(1.0, scales * of_counts)
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


class FastLloydRun(LloydFamilyRun[BoundedRelease]):
    """Lloyd's with noise, and around each center the circle that it sees and may move in."""

    details: ClassVar[Mapping[str, str]] = {
        "assign": "Every person joins the nearest center within whose circle they are.",
        "mean": "The true average of the people in each circle stays secret.",
        "noise": "The move gets noise, is released, and ends within the circle.",
    }
    note = (
        " Circles are kin to Lu & Shen's sampling zones: a center may move in its circle alone. Those zones follow "
        "from exact means, these circles from nothing secret."
    )
    ledger_note = " Gaussian noise has no ε of its own: its bars share the run's ε, at the run's δ, as they share μ²."

    def noise_growth(self, times: FloatArray) -> None:
        """None: how Gaussian noise goes with ε is no rule of the release's."""

    @property
    def sums_around(self) -> FloatArray:
        """The centers before the last move; where they were not released, the noise of counts is left out."""
        path, start = self.release.path, self.release.start
        return path[-2] if len(path) > 1 else self.final if start is None else start

    def layers(self, plane: Projection) -> tuple[Layer, ...]:
        """Return what is drawn, from back to front: the circles lie on the box and the records.

        The circle around each center before it moves is of the start as secret as that, later around released centers.
        """
        box, records, *others = super().layers(plane)
        release, stage = self.release, Stage(plane, self.clock)
        clock = stage.clock
        start = self.steps[0].previous_centers if release.start is None else release.start
        of_start = ground.start_seen(release.start, release.start_packing)
        radius = np.broadcast_to(release.radii[:, None], release.path.shape[:2])
        opening = dict.fromkeys((0, *(clock.frame(0, phase) for phase in clock.phases)), 0)
        circles = [(f"{CIRCLE.lower()} at the start", of_start, opening, start[None], radius[:1])]
        if clock.n_steps > 1:
            rows = clock.during(*clock.phases, offset=-1)
            circles.append((CIRCLE.lower(), RELEASED, rows, release.path[:-1], radius[1:]))
        drawn_circles = (
            stage.layer(name, Kind.CIRCLES, ink, rows, {"center": plane(centers), "radius": radii}, size=1.0, dash=True)
            for name, ink, rows, centers, radii in circles
        )
        return (box, records, *drawn_circles, *others)

    def ensembles(self, view: View) -> Ensembles:
        """Return what the last noise could have done to the moves, the curator's; where the true averages could be.

        A move that was cut off at its circle does not say how far it would have gone: the true average may be anywhere
        around the center before it. With a start that is not released nothing is said of it.
        """
        del view
        release, last, n = self.release, self.steps[-1], ensemble.n_draws(len(self.final))
        of_counts, of_sums = (noise_scales(self.result, purpose)[-1] for purpose in (Purpose.COUNTS, Purpose.SUMS))
        noise = ensemble.SumNoise(math.sqrt(2.0) * of_counts, math.sqrt(2.0) * of_sums, "gaussian")
        radius = float(release.radii[-1])
        before = release.start if len(release.path) == 1 else release.path[-2]
        exact = public = None
        if before is not None and release.noisy_counts is not None:
            true = noise.true_means(release.noisy_counts, self.final, before, n)
            whole = np.linalg.norm(self.final - before, axis=1) < radius * (1.0 - ROUNDING)
            hidden = ~whole | (release.noisy_counts < 1.0)
            anywhere = np.clip(before + radius * (2.0 * ensemble.standard_uniform(*true.shape) - 1.0), 0.0, 1.0)
            true[:, hidden] = anywhere[:, hidden]
            public = ensemble.Ensemble(true)
        if self.teaching:
            previous, counts = last.previous_centers, last.nonprivate_counts
            moves = counts[:, None] * (last.nonprivate_mean - previous)
            exact = ensemble.centered(noise.landed(counts, moves, previous, partial(bounded_move, radius=radius), n))
        return exact, public

    def own_facts(self) -> tuple[Fact, ...]:
        """Return the circles, and who is left out of them: that is exact, so the curator's."""
        n, used = len(self.unit), int(self.steps[-1].nonprivate_counts.sum())
        first, radius = self.release.radii[[0, -1]].tolist()
        why = f"Box widths, in the last iteration; {number(first)} in the first. Public: it follows from k, d and α."
        outside = f"{counted(n - used, 'record')} of {n:,} in the last iteration, too far from every center."
        return (
            self.rounds_fact,
            Fact("Radius bound", number(radius), why, True),
            Fact("Left out", f"{number(100.0 * (n - used) / max(n, 1))} %", outside, False),
        )

    def description(self) -> str:
        """Return what is drawn, from public parameters and the release alone."""
        return f"{super().description()}, each of which sees the records in a circle around it and moves within it"


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


# GUPT: every block of records finds its own centers, and noise hides the mean of them. The mean matters: where
# two clusters change places between blocks, it lies between them.

MOST_ANSWERS = 2_000  # centers of blocks that are drawn; the rest of the blocks are left out evenly
N_COLORS = 250  # a group is one byte, 255 is no group


class GuptRun(FamilyRun[BlocksRelease, BlocksStep]):
    """A run of GUPT: the noisy mean of the blocks' centers."""

    terms = TERMS
    ledger_unit = "step"
    same_start = True
    clock = Clock(1, ("blocks", "answers", "mean", "noise"))

    @cached_property
    def noise_law(self) -> NoiseLaw:
        """How far noise moves released centers: public."""
        k, d = self.final.shape
        scale = noise_scales(self.result, Purpose.BLOCKS)[0] / math.sqrt(d)
        lengths = np.full(k, center_facts.mean_length(d, gaussian=False) * math.sqrt(2.0) * scale)
        _, noise = standard_noise("laplace", n_draws(k), k, d)
        return NoiseLaw(lengths, scale * np.linalg.norm(noise, axis=2))

    def noise_growth(self, times: FloatArray) -> FloatArray:
        """Return 1 / times: all noise is 1/ε of that at ε = 1, but for what it makes of the number of blocks."""
        return 1.0 / times

    @classmethod
    def find_reference(cls, points: Points, words: Words, result: Result[Any, Any], params: Any) -> LloydRun:
        """Return Lloyd's run from the blocks' start: the curator's.

        GUPT has the packing in an order of its own: with a seed Lloyd takes the packing's, so that a run kept for one
        method is to the bit that of any other.
        """
        if params.start_seed is None:
            return lloyd(unit_records(points, words.box), result.trace[0].start)
        return super().find_reference(points, words, result, params)

    def stops(self) -> Stops:
        """Return the stops of the scrubber, in public words."""
        n = self.release.n_blocks
        frames = (
            Frame("Start", "All blocks start from the same public centers."),
            Frame("Blocks", f"Everyone draws one of {n} blocks, and can change no other."),
            Frame("Blocks' centers", "Each block finds its centers alone, colored from left to right."),
            Frame("Mean", "Centers of one color are averaged over all blocks."),
            Frame("Noise", "Noise hides the mean, and the noisy mean is released."),
            Frame("Release", "The noisy means, moved into the box."),
        )
        return Stops(frames)

    def layers(self, plane: Projection) -> tuple[Layer, ...]:
        """Return what is drawn, from back to front; the world's from the release, events and the public seed."""
        step, stage, clock, final = self.steps[0], Stage(plane, self.clock), self.clock, self.final
        end, noisy = {clock.release: 0}, {clock.frame(0, "noise"): 0}
        averaged = {clock.frame(0, "mean"): 0, **noisy}
        scale = np.full((1, len(final)), noise_scales(self.result, Purpose.BLOCKS)[0])
        mean = step.nonprivate_mean

        blocks = step.nonprivate_blocks
        by_block = ground.record_layer(
            self.unit,
            (blocks % N_COLORS,),
            {clock.frame(0, "blocks"): 0},
            stage,
            name="person, by block",
            names=tuple(f"block {block + 1}" for block in blocks[ground.sample(len(blocks))]),
            isolate=False,
        )
        # The blocks' centers in the color of their order, and lines from them to their mean.
        every = max(1, -(-step.nonprivate_block_centers.shape[0] * len(final) // MOST_ANSWERS))
        answers = step.nonprivate_block_centers[::every]  # (L', k, d)
        flat = plane(answers.reshape(-1, answers.shape[-1]))[None]
        order = np.tile(np.arange(len(final), dtype=np.uint8), len(answers))[None]
        heads: FloatArray = np.broadcast_to(mean, answers.shape).reshape(-1, answers.shape[-1])
        lines = {"ends": np.concatenate([flat[0], plane(heads)], axis=1)[None]}
        from_answers = {clock.frame(0, "answers"): 0, **averaged}
        # Where every block starts, from the public seed; without one it is not part of the release.
        starts, seed = [], self.params.start_seed
        if seed is not None:
            start = in_order(public_start(*final.shape, seed=seed, rng=np.random.default_rng(seed)))
            starts = [stage.marks("start", PUBLIC, {0: 0}, start[None], symbol="square", size=9.0)]
        return (
            *ground.box_layer(stage, public=self.words.box_public),
            ground.record_layer(self.unit, (None, self.nonprivate_labels), {0: 0, clock.release: 1}, stage),
            by_block,
            *ground.border_layer(RELEASED, end, final[None], stage),
            stage.layer("to the mean", Kind.SEGMENTS, SECRET, averaged, lines, size=0.75, isolate=False),
            stage.layer(
                "center of a block", Kind.POINTS, MEMBERS, from_answers, {"xy": flat, "group": order}, size=8.0
            ),
            *starts,
            *ground.error_circles("likely error", LAW, noisy | end, final[None], scale, stage),
            stage.threads("noise", SECRET_NOISE, noisy, mean[None], final[None]),
            stage.marks("mean of the blocks", SECRET, averaged | end, mean[None], symbol="ring", size=13.0),
            stage.marks("noisy mean", RELEASED, noisy, final[None], size=11.0),
            *ground.final_layers(final, None, self.reference.nonprivate_centers, stage),
        )

    def ensembles(self, view: View) -> Ensembles:
        """Return what other noise on the mean of the blocks would have made; where that mean could be, public."""
        del view
        n, scale = ensemble.n_draws(len(self.final)), noise_scales(self.result, Purpose.BLOCKS)[0]
        public = ensemble.Ensemble(ensemble.moved(self.final, scale, "laplace", n))
        if not self.teaching:
            return None, public
        return ensemble.centered(ensemble.moved(self.steps[0].nonprivate_mean, scale, "laplace", n)), public

    def cost_line(self) -> CostLine:
        """Return the exact cost of the public start and of the release."""
        pair = (self.steps[0].start, self.final)
        costs = [nonprivate_cost(self.unit, centers, assign(self.unit, centers)) for centers in pair]
        return CostLine(np.array([0.0, 1.0]), np.array(costs), self.clock.when, "step")

    def own_facts(self) -> tuple[Fact, ...]:
        """Return noise and blocks, and how often a block's center lies at another one's mean."""
        answers, mean = self.steps[0].nonprivate_block_centers, self.steps[0].nonprivate_mean
        n_blocks, k, d = answers.shape
        nearest = scipy.spatial.distance.cdist(answers.reshape(-1, d), mean).argmin(axis=1).reshape(n_blocks, k)
        swapped = odds(100.0 * float(np.mean(nearest != np.arange(k))))
        width = number(float(100.0 * ground.noise_length(np.array(noise_scales(self.result, Purpose.BLOCKS)[0]), d)))
        one = "Each one clusters its own records; one record can change one of them."
        return (
            Fact("Noise", f"{width} % of the box", "How far a center is usually thrown in the picture.", True),
            Fact("Blocks", str(n_blocks), one, True),
            Fact("At another mean", swapped, "Blocks' centers that lie nearer to the mean of another order.", False),
        )

    def description(self) -> str:
        """Return what is drawn, from public parameters and the release alone."""
        return f"cluster centers, each the noisy mean of the centers of {self.release.n_blocks} blocks of records"


# PrivGene: candidates, a private pick of parents, their children, and so on to one last pick.

MOST_CANDIDATE_CENTERS = 2_000  # drawn a round; the rest of the candidates are left out evenly


class PrivGeneRun(FamilyRun[GeneRelease, GeneStep]):
    """A run of PrivGene: a search among sets of centers that picks privately."""

    terms = TERMS
    ledger_unit = "round"

    @property
    def clock(self) -> Clock:
        """The picture's frames, of every round; the last round's pick is the result."""
        return Clock(len(self.release.parents) + 1, ("candidates", "pick"))

    def stops(self) -> Stops:
        """Return the stops of the scrubber, in public words."""
        clock = self.clock
        first = "Random sets of centers. Nobody is looked at."
        later = "The parents, and children that mix the centers of two of them."
        pick = "A private pick: candidates of low cost are likely."
        rounds = (
            Frame(f"Round {t + 1}: {phase}", pick if phase == "pick" else later if t else first)
            for t in range(clock.n_steps)
            for phase in clock.phases
        )
        records = Frame("Records", "Every candidate is judged by its cost on these.")
        return Stops((records, *rounds, Frame("Release", "The last pick.")))

    def layers(self, plane: Projection) -> tuple[Layer, ...]:
        """Return what is drawn, from back to front; the world's from the released parents and centers alone."""
        release, trace, final = self.release, self.steps, self.final
        stage, clock = Stage(plane, self.clock), self.clock
        # The picks of every round, (R, m', k, d); the last round has one, repeated.
        picks = np.concatenate([release.parents, np.broadcast_to(final, (1, *release.parents.shape[1:]))])
        firsts, beside = picks[:, 0], picks[:-1, 1:]
        until_next = {**clock.during("candidates", offset=-1), **clock.during("pick")}
        best = np.stack([step.population[step.nonprivate_scores.argmax()] for step in trace])
        true = ground.exact_means(self.unit, self.nonprivate_labels, final)

        # The records in the colors of the nearest center of the first pick.
        some = self.unit[ground.sample(len(self.unit), clock.n_steps + 1)]
        groups = (None, *(assign(some, centers) for centers in firsts))
        rows = {0: 0, **clock.during("candidates"), **clock.during("pick", offset=1), clock.release: clock.n_steps}
        records = ground.record_layer(some, groups, rows, stage, total=len(self.unit))

        # All centers of the candidates; the children are in the trace alone, so they are the curator's.
        m, k, d = trace[0].population.shape
        every = max(1, -(-m * k // MOST_CANDIDATE_CENTERS))
        xy = plane(np.stack([step.population[::every].reshape(-1, d) for step in trace]))
        candidates = stage.layer(
            "center of a candidate",
            Kind.POINTS,
            UNRELEASED,
            clock.during("candidates", "pick"),
            {"xy": xy, "group": np.zeros((1, xy.shape[1]), dtype=np.uint8)},
            size=4.0,
            isolate=False,
        )
        parents = []
        others = beside.reshape(len(beside), beside.shape[1] * beside.shape[2], beside.shape[3])
        if others.shape[0] > 0 and others.shape[1] > 0:
            frames = {frame: row for frame, row in until_next.items() if row < clock.n_steps - 1}
            parents = [stage.marks("parent", RELEASED, frames, others, size=5.0, isolate=False)]
        lloyds, noise = self.reference.nonprivate_centers, "error of the search"
        return (
            *ground.box_layer(stage, public=self.words.box_public),
            records,
            *ground.border_layer(RELEASED, {clock.release: 0}, final[None], stage),
            candidates,
            *self._move_layers(firsts, stage),
            stage.marks("best candidate", SECRET, clock.during("pick"), best, symbol="ring", size=15.0, isolate=False),
            *parents,
            stage.marks("pick", RELEASED, until_next, firsts, size=11.0, isolate=False),
            *ground.final_layers(final, true, lloyds, stage, noise=noise),
        )

    def ensembles(self, view: View) -> Ensembles:
        """Return what the last pick could have been, the curator's: its chances follow from exact scores.

        Center i of one candidate is not center i of another, so that no record has a color to lose.
        """
        del view
        if not self.teaching:
            return None, None
        last, (k, d) = self.steps[-1], self.final.shape
        (event,) = (leaf for leaf in leaves(last.events[-1]) if isinstance(leaf, PureEvent))
        scores = last.nonprivate_scores
        chances = exponential_probabilities(scores, epsilon=event.epsilon, sensitivity=float(d))
        uniform = ensemble.standard_uniform(ensemble.n_draws(k), 1)[:, 0, 0]
        return ensemble.Ensemble(last.population[ensemble.chosen_again(scores, chances, uniform)]), None

    def cost_line(self) -> CostLine:
        """Return the exact cost of every round's first pick."""
        clock = self.clock
        costs = np.array([-step.nonprivate_scores[step.chosen[0]] for step in self.steps])
        when = np.maximum(np.ceil(clock.when), 1.0)
        return CostLine(np.arange(1.0, clock.n_steps + 1.0), costs, when, "round")

    def own_facts(self) -> tuple[Fact, ...]:
        """Return rounds and candidates, and how often the best one was picked."""
        trace = self.steps
        best = sum(bool(step.nonprivate_scores[step.chosen[0]] == step.nonprivate_scores.max()) for step in trace)
        why = "Rounds whose first pick was the one of least cost."
        return (
            Fact("Rounds", str(self.clock.n_steps), "Each one spends the same.", True),
            Fact("Candidates", str(self.params.population), "Sets of centers in each round.", True),
            Fact("Best one picked", f"{best} of {len(trace)}", why, False),
        )

    def description(self) -> str:
        """Return what is drawn, from public parameters and the release alone."""
        return f"cluster centers picked among random candidates over {self.clock.n_steps} rounds"

    def _move_layers(self, firsts: FloatArray, stage: Stage) -> list[Layer]:
        """Where a center of the first picks (R, k, d) may go: the law is public, and so is its half-width."""
        clock, plane = stage.clock, stage.projection
        if plane.nonprivate or clock.n_steps < 2:
            return []
        half = (FIRST_MOVE * SHRINK ** np.arange(clock.n_steps - 1))[:, None, None]  # of round t + 1, box units
        middle = plane(firsts[:-1])  # (R - 1, k, 2)
        reach = half if plane.d > 1 else half * (1.0, np.inf)  # one feature is drawn as high as the strip
        rect = np.clip(np.concatenate([middle - reach, middle + reach], axis=2), 0.0, 1.0)
        return [
            stage.layer(
                "where a child may move",
                Kind.BARS,
                LAW,
                clock.during("candidates", offset=-1),
                rect,
                size=1.0,
                fill=0.07,
                isolate=False,
            )
        ]


RUNS: Mapping[str, type[Run[Any, Any, Any]]] = {
    "lloyd": ExactLloydRun,
    "blum": LloydFamilyRun,
    "dwork": LloydFamilyRun,
    "su": LloydFamilyRun,
    "fastlloyd": FastLloydRun,
    "gupt": GuptRun,
    "privgene": PrivGeneRun,
    "eugkm": EUGkMRun,
}
