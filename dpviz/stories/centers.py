"""A run of any method that releases centers: what its picture and numbers need, and a picture for methods without one.

The picture has the box, the records and the released centers. A method that yields `MovedCenters` has a stop for each
of them, for the curator; where they say what the centers were before their noise, and the run's events name noise that
was added, threads show it.
"""

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from statistics import median
from typing import Any, Self, TypeVar

import numpy as np

from dpviz.accounting import GaussianEvent, LaplaceEvent, ParallelEvent, Purpose, SequenceEvent
from dpviz.core import (
    Box,
    ByteArray,
    Centers,
    CentersRelease,
    Event,
    FloatArray,
    Labels,
    MovedCenters,
    Points,
    Step,
    unit_records,
)
from dpviz.core.arrays import array_cache
from dpviz.metrics import matched_distance, nonprivate_cost
from dpviz.plots import RELEASED, SECRET, SECRET_NOISE, UNRELEASED, Frame, Layer, Measure, Scene, Strip
from dpviz.solvers import (
    BOX_MIDDLE,
    LloydRun,
    Members,
    assign,
    dataless_centers,
    lloyd,
    nearest_among,
    nonprivate_kmeans,
    public_start,
)
from dpviz.stories import center_facts, charts
from dpviz.stories import ground_layers as ground
from dpviz.stories.glossary import meant
from dpviz.stories.label import Contents
from dpviz.stories.outcomes import Outcome
from dpviz.stories.panel import Fact, Sentence, cluster_names, places_words
from dpviz.stories.run import Chart, Run, S_co
from dpviz.stories.stage import Clock, Stage, StepsScene
from dpviz.stories.view import View, Words

MOST_CLUSTERS = 250  # a group is one byte
TERMS = (
    *meant("center", "box"),
    ("Lloyd's", "k-means without privacy, with as many centers, from one start: where noise-free centers end."),
    center_facts.BEST_TERM,
)
FRAMES = (Frame("Records", "What the curator has."), Frame("Release", "What the world sees."))
PHASES = ("step",)
CAPTION = "Colors are clusters. Gray is secret, blue released, green public."
PUBLIC_CAPTION = "Blue is released, green is public."


C_co = TypeVar("C_co", bound=CentersRelease, covariant=True)


class CentersRun(Run[Any, C_co, S_co]):
    """A run that releases centers, beside Lloyd's run without privacy."""

    terms = TERMS
    reference: LloydRun

    @classmethod
    def of(cls, result: Any, params: Any, points: Points, words: Words, reference: Any = None) -> Self:
        """Return the run of `result` on `points` (n, d), data units; raises ValueError for too many centers."""
        return cls(result, params, drawable(points, words, len(result.release.centers)), words, reference)

    @classmethod
    def reference_key(cls, params: Any, result: Any) -> tuple[object, ...]:
        """Return how many centers Lloyd's run has: as many as are asked for, else released."""
        return (getattr(params, "n_clusters", None) or max(1, len(result.release.centers)),)

    @classmethod
    def find_reference(cls, points: Points, words: Words, result: Any, params: Any) -> LloydRun:
        """Return Lloyd's run from a public start, with as many centers as are asked for, else released."""
        k = getattr(params, "n_clusters", None) or max(1, len(result.release.centers))
        start = public_start(k, words.box.d, seed=0, rng=np.random.default_rng(0))
        return lloyd(unit_records(points, words.box), start)

    @property
    def final(self) -> FloatArray:
        """The released centers (k, d), box units."""
        return self.words.box.to_unit(self.result.release.centers)

    @cached_property
    def nonprivate_members(self) -> Members:
        """Who is nearest to which released center, found for those who are asked for."""
        return nearest_among(self.unit).members(self.final)

    @cached_property
    def nonprivate_labels(self) -> Labels:
        """The nearest released center (n,) of every record."""
        return np.asarray(self.nonprivate_members[:], dtype=np.intp)

    @cached_property
    def nonprivate_cost(self) -> float:
        """The sum of squared distances of the records to the nearest released center, box units squared."""
        return nonprivate_cost(self.unit, self.final, self.nonprivate_labels)

    @property
    def best_cost(self) -> float:
        """What k-means costs without privacy, box units squared, the same at every epsilon: the curator's.

        The lesser of two: Lloyd's run beside this one, and the best of several starts with as many clusters.
        """
        lloyds = self.reference
        best = nonprivate_kmeans(self.unit, len(lloyds.nonprivate_centers))
        return min(float(lloyds.nonprivate_costs[-1]), float(best.nonprivate_costs[-1]))

    @property
    def no_data_cost(self) -> float:
        """What as many centers cost that no record was read for, box units squared; the same at every epsilon."""
        return no_data_cost(self.unit, Box.cube(0.0, 1.0, self.words.box.d), len(self.final))

    @property
    def places(self) -> str:
        """The first released centers in words, data units: public."""
        return places_words(self.release.centers)

    @cached_property
    def noise_share(self) -> float | None:
        """How far noise moves a released center on average, of the diagonal; None where no law says it: public."""
        return center_facts.noise_share(self.result, self.final - self.sums_around, Purpose.SUMS)

    @property
    def sums_around(self) -> FloatArray | float:
        """The places (k, d), box units, from which records are taken before they are summed: public."""
        return BOX_MIDDLE

    @property
    def noise_power(self) -> float:
        """The power of 1/ε that the noise goes by, 0 where it goes by none; public."""
        return 0.0

    @cached_property
    def distance_share(self) -> float:
        """The matched distance to Lloyd's centers as a share of the box's diagonal (box units): the curator's."""
        return matched_distance(self.final, self.reference.nonprivate_centers) / math.sqrt(self.words.box.d)

    @cached_property
    def blind_share(self) -> float:
        """By what centers without data miss Lloyd's, of the diagonal; the same at every epsilon: the curator's."""
        return center_facts.blind_share(self.reference.nonprivate_centers)

    @property
    def lede(self) -> str:
        """What it is for, and who the points are; public."""
        return f"Find crowds of {self.words.nouns.record[1]}; only **blue centers** are published."

    def finding(self) -> Sentence:
        """Return the run in one sentence; it names no protection that is not proved."""
        return center_facts.sentence(self)

    def strips(self) -> tuple[Strip | None, Strip | None]:
        """Return the axis of what the centers miss by, and the public's, of what noise moves them by."""
        return center_facts.strips(self)

    def losses(self) -> tuple[Measure | None, Measure | None]:
        """Return what the centers miss by, and what noise moves them by on average."""
        return center_facts.losses(self)

    def utility(self) -> tuple[Fact, ...]:
        """Return how good the released centers are: exact, so the curator's."""
        return center_facts.cost_facts(self, center_facts.PACKED_START)

    def risk(self) -> tuple[Fact, ...]:
        """Return what the guarantee allows an attacker; public."""
        return center_facts.risk(self.guarantee.proved)

    def contents(self) -> Contents:
        """Return what the run protects, takes as public, and shows in confidence."""
        return center_facts.contents(self)

    def nonprivate_notices(self) -> tuple[str, ...]:
        """Return what has to be said beside this run's guarantee: exact, so the curator's."""
        return center_facts.notices(self)

    def outcome(self) -> Outcome:
        """Return what a picture of many runs shows of this one: its centers, and their cost beside k-means'."""
        return center_facts.outcome(self)

    def charts(self) -> tuple[Chart, ...]:
        """Return the clusters' profiles, and what the run spends, from its events."""
        ledger = charts.ledger_chart(self.ledger(), proved=self.proved, unit="step")
        return (*self.profile_charts(), Chart("ledger", ledger))

    def recolored(self, shape: tuple[int, int, int]) -> ByteArray:
        """Return a photograph (height, width, 3) whose pixels wear their released center's color: the curator's."""
        return center_facts.recolored(self.release.centers, self.nonprivate_labels, shape)

    def draw(self, view: View, *, rng: np.random.Generator) -> Scene:
        """Draw box, records, steps and released centers; nothing here is drawn by `rng`."""
        del rng
        plane = self.plane(view)
        moves = [step for step in self.result.trace if isinstance(step, MovedCenters)]
        k = len(self.final)
        stage = Stage(plane, Clock(len(moves), PHASES))  # the records, the steps, then the release
        always, release = stage.clock.always(), stage.clock.release
        layers = (
            *ground.box_layer(stage, public=self.words.box_public),
            ground.record_layer(self.unit, [None, self.nonprivate_members], always | {release: 1}, stage),
            *ground.border_layer(RELEASED, {release: 0}, self.final[None], stage),
            *_moves(moves, self, stage),
            stage.marks("released center", RELEASED, {release: 0}, self.final[None], size=13.0),
            # Where centers were before their noise, on top of the centers: exact, so the curator's.
            *(
                stage.marks("center before noise", SECRET, rows, before, symbol="ring", size=8.0)
                for rows, before, _ in _noise(moves, self, stage)
            ),
        )
        steps = (Frame(f"Step {i} of {len(moves)}", "Only the curator sees it.") for i in range(1, len(moves) + 1))
        return StepsScene(
            title=self.words.title,
            alt=f"{self.words.title}: {k} released {'center' if k == 1 else 'centers'} over the records.",
            caption=CAPTION,
            public_caption=PUBLIC_CAPTION,
            x=plane.x,
            y=plane.y,
            axes_public=not plane.nonprivate,
            layers=layers,
            frames=(FRAMES[0], *steps, FRAMES[1]),
            start_frame=len(always) - 1,
            group_names=cluster_names(k),
        )


def _moves(moves: Sequence[MovedCenters], run: CentersRun[CentersRelease, Step], stage: Stage) -> Iterator[Layer]:
    """Yield the centers of each step, and the noise on them: the curator's, as how many steps there are is."""
    for some in _alike(moves):
        rows = {stage.clock.frame(i, PHASES[0]): row for row, i in enumerate(some)}
        centers = _unit([step.centers for step in some.values()], run)
        yield stage.marks("center", UNRELEASED, rows, centers, size=10.0)
    for rows, before, after in _noise(moves, run, stage):
        yield stage.threads("noise", SECRET_NOISE, rows, before, after)


def _alike(moves: Sequence[MovedCenters]) -> list[dict[int, MovedCenters]]:
    """Return the steps by their numbers, those of equally many centers together, as a layer's marks are."""
    numbers = sorted({len(step.centers) for step in moves})
    return [{i: step for i, step in enumerate(moves) if len(step.centers) == k} for k in numbers]


def _noise(
    moves: Sequence[MovedCenters], run: CentersRun[CentersRelease, Step], stage: Stage
) -> Iterator[tuple[dict[int, int], FloatArray, FloatArray]]:
    """Yield frames and rows, the centers before their noise, and after it, where the run's events name such noise."""
    if not any(map(_is_added, run.result.events)):
        return
    for some in _alike(moves):
        if all(step.nonprivate_centers is None for step in some.values()):
            continue
        rows = {stage.clock.frame(i, PHASES[0]): row for row, i in enumerate(some)}
        before = (step.nonprivate_centers for step in some.values())
        exact = _unit(
            [step.centers if each is None else each for step, each in zip(some.values(), before, strict=True)], run
        )
        if np.array_equal(moves[-1].centers, run.result.release.centers) and len(moves) - 1 in some:
            rows = rows | {stage.clock.release: len(some) - 1}  # the last step's centers are what is released
        yield rows, exact, _unit([step.centers for step in some.values()], run)


def _unit(centers: Sequence[Centers], run: CentersRun[CentersRelease, Step]) -> FloatArray:
    return run.words.box.to_unit(np.stack(centers))


def _is_added(event: Event) -> bool:
    """Whether an event is noise that was added to a number, and not a choice."""
    if isinstance(event, SequenceEvent):
        return any(map(_is_added, event.events))
    if isinstance(event, ParallelEvent):
        return any(map(_is_added, event.parts))
    return isinstance(event, LaplaceEvent | GaussianEvent)


@array_cache(16)
def no_data_cost(points: Points, box: Box, n_clusters: int) -> float:
    """Return the sum of squared distances of `points` (n, d) to centers that no record was read for, units of `box`.

    The lesser of two: the box's middle, and the median of three public packings of k centers. Exact: the curator's.
    """
    middle, *packed = (box.from_unit(centers) for centers in dataless_centers(n_clusters, box.d))
    costs = [nonprivate_cost(points, centers, assign(points, centers)) for centers in packed]
    alone = points - middle
    return min(float(np.einsum("ij,ij->", alone, alone)), median(costs))


def drawable(points: Points, words: Words, n_clusters: int) -> Points:
    """Return the records (n, d) in box units; raises ValueError for more clusters than a picture holds."""
    if n_clusters > MOST_CLUSTERS:
        raise ValueError(f"n_clusters was {n_clusters}, but a picture holds at most {MOST_CLUSTERS}.")
    return unit_records(points, words.box)
