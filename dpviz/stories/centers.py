"""Run of any method that releases centers: the basis of its picture and numbers, and a picture for methods without one.

The picture has the box, the records and the released centers. A method that yields `MovedCenters` has a stop for each
of them, for the curator. If they include the centers before their noise, and the run's events name noise that was
added, threads show it.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from functools import cached_property
from statistics import median
from types import MappingProxyType
from typing import Any, ClassVar, Self, TypeAlias, TypeVar

import numpy as np

from dpviz.accounting import GaussianEvent, LaplaceEvent, ParallelEvent, Purpose, SequenceEvent
from dpviz.core import (
    Box,
    ByteArray,
    CentersRelease,
    Event,
    FloatArray,
    Labels,
    MovedCenters,
    Points,
    Result,
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
from dpviz.stories.center_facts import NoiseLaw, distance_words
from dpviz.stories.charts import CostLine
from dpviz.stories.glossary import meant
from dpviz.stories.label import Contents, box_words, protected
from dpviz.stories.outcomes import Outcome
from dpviz.stories.panel import Fact, Sentence, cluster_names, places_words, times
from dpviz.stories.run import Chart, Run, S_co
from dpviz.stories.stage import Clock, Stage, StepsScene, Stops
from dpviz.stories.view import Projection, View, Words
from dpviz.stories.wording import Doubt, opened, things

# Largest number of clusters in a picture, because a group is one byte.
MOST_CLUSTERS = 250
TERMS = (
    *meant("center", "box"),
    ("Lloyd's", "k-means without privacy, with as many centers, from one start: where noise-free centers end."),
    center_facts.BEST_TERM,
)
FRAMES = (Frame("Records", "What the curator has."), Frame("Release", "What the world sees."))
PHASES = ("step",)
CAPTION = "Colors are clusters. Gray is secret, blue released, green public."
PUBLIC_CAPTION = "Blue is released, green is public."

# Share that a run may lose of the cost that centers save compared with a blind guess. Our choice.
LOST, FOUND = 0.5, 0.1
# Share of the diagonal. In a picture, centers this close to their true places look exact. Our choice.
EXACT = 0.002
# Thresholds of typical noise, as a share of a blind guess's error. Our choice.
NOISY, QUIET = 0.5, 0.1
# Share of the diagonal. Rounding errors are not a distance.
ROUNDING = 1e-12


class Placement(Enum):
    """Placement of released centers compared with k-means' own, from worst to best. Curator only."""

    BLIND = 1
    DRAGGED = 2
    MISSED = 3
    ELSEWHERE_WORSE = 4
    ELSEWHERE = 5
    WOBBLING = 6
    LUCKY = 7
    NEAR_UNPROTECTED = 8
    EXACT_UNPROTECTED = 9
    LANDED = 10


class Blur(Enum):
    """Typical distance that noise moves released centers, compared with random places. Public."""

    UNKNOWN = 1
    MOSTLY = 2
    SOME = 3
    HARDLY = 4


# A headline for one center, and for several. {centers} becomes "one center" or "five centers".
Headline: TypeAlias = tuple[str, str]
HEADLINES: Mapping[Placement, Headline] = MappingProxyType(
    {
        Placement.BLIND: ("the center is no better than a blind guess", "the centers are no better than a blind guess"),
        Placement.DRAGGED: ("noise drags the center off its crowd", "noise drags the centers off their crowds"),
        Placement.MISSED: ("the center misses its crowd", "the centers miss their crowds"),
        Placement.ELSEWHERE_WORSE: (
            "the center lands elsewhere and serves its crowd less well",
            "the centers land elsewhere and serve their crowds less well",
        ),
        Placement.ELSEWHERE: (
            "the center lands elsewhere but serves its crowd just as well",
            "the centers land elsewhere but serve their crowds just as well",
        ),
        Placement.WOBBLING: ("the center wobbles but finds its crowd", "the centers wobble but find their crowds"),
        Placement.LUCKY: (
            "lucky noise: the center lands well, but most tries would miss",
            "lucky noise: the centers land well, but most tries would miss",
        ),
        Placement.NEAR_UNPROTECTED: (
            "the center is close, but almost nobody is protected",
            "the centers are close, but almost nobody is protected",
        ),
        Placement.EXACT_UNPROTECTED: (
            "the center is nearly exact, but almost nobody is protected",
            "the centers are nearly exact, but almost nobody is protected",
        ),
        Placement.LANDED: ("{centers} lands where it should", "{centers} land where they should"),
    }
)
PUBLIC_HEADLINES: Mapping[Blur, Headline] = MappingProxyType(
    {
        Blur.UNKNOWN: ("{centers} is released", "{centers} are released"),
        Blur.MOSTLY: ("this center is mostly noise", "these centers are mostly noise"),
        Blur.SOME: ("noise blurs the center", "noise blurs the {centers}"),
        Blur.HARDLY: ("noise hardly moves the center", "noise hardly moves the {centers}"),
    }
)
# These headlines already report that almost no one is protected, or that the centers differ. The other headlines end
# with the doubt left.
COMPLETE = {
    Placement.ELSEWHERE_WORSE,
    Placement.ELSEWHERE,
    Placement.LUCKY,
    Placement.NEAR_UNPROTECTED,
    Placement.EXACT_UNPROTECTED,
}

C_co = TypeVar("C_co", bound=CentersRelease, covariant=True)


class CentersRun(Run[Any, C_co, S_co]):
    """A run that releases centers, next to Lloyd's run without privacy."""

    terms = TERMS
    headlines: ClassVar[Mapping[Placement, Headline]] = HEADLINES
    public_headlines: ClassVar[Mapping[Blur, Headline]] = PUBLIC_HEADLINES
    # Unit of a column in the chart of the spending.
    spending_unit: ClassVar[str] = "step"
    scene: ClassVar[type[Scene]] = StepsScene
    reference: LloydRun

    @classmethod
    def from_result(cls, result: Any, params: Any, points: Points, words: Words, reference: Any = None) -> Self:
        """Return the run of `result` on `points` (n, d), data units; raises ValueError for too many centers."""
        return cls(result, params, drawable(points, words, len(result.release.centers)), words, reference)

    @classmethod
    def reference_key(cls, params: Any, result: Any) -> tuple[object, ...]:
        """Return the number of centers of Lloyd's run: as many as are requested, else as many as are released."""
        return (getattr(params, "n_clusters", None) or max(1, len(result.release.centers)),)

    @classmethod
    def find_reference(cls, points: Points, words: Words, result: Any, params: Any) -> LloydRun:
        """Return Lloyd's run from a public start, with the requested or the released number of centers."""
        k = getattr(params, "n_clusters", None) or max(1, len(result.release.centers))
        start = public_start(k, words.box.d, seed=0, rng=np.random.default_rng(0))
        return lloyd(unit_records(points, words.box), start)

    @property
    def final(self) -> FloatArray:
        """The released centers (k, d), box units."""
        return self.words.box.to_unit(self.result.release.centers)

    @cached_property
    def nonprivate_members(self) -> Members:
        """The nearest released center of each record, found only for the records that are requested. Curator only."""
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
        """The cost of k-means without privacy, box units squared, the same at every epsilon. Curator only.

        The lesser of two: Lloyd's run for comparison, and the best of several starts with as many clusters.
        """
        lloyds = self.reference
        best = nonprivate_kmeans(self.unit, len(lloyds.nonprivate_centers))
        return min(float(lloyds.nonprivate_costs[-1]), float(best.nonprivate_costs[-1]))

    @property
    def no_data_cost(self) -> float:
        """The cost of as many centers chosen without data, box units squared; the same at every epsilon.

        Curator only.
        """
        return no_data_cost(self.unit, Box.cube(0.0, 1.0, self.words.box.d), len(self.final))

    @property
    def places(self) -> str:
        """The first released centers in words, data units. Public."""
        return places_words(self.release.centers)

    @cached_property
    def noise_law(self) -> NoiseLaw | None:
        """The distances that noise moves released centers; None if its distribution is unknown. Public."""
        k, d = self.final.shape
        on_centers = center_facts.last_noise(self.result, Purpose.BLOCKS)
        if len(on_centers):
            per = np.full(k, math.sqrt(d))
            return center_facts.law_of_averages(np.zeros((k, d)), np.zeros(1), on_centers, per, (False, False))
        around = self.release.sums_around
        moves = self.final - (BOX_MIDDLE if around is None else around)
        return center_facts.noise_law(self.result, moves, Purpose.SUMS)

    @cached_property
    def noise_share(self) -> float | None:
        """Mean distance that noise moves a released center, as a share of the diagonal. None if unknown. Public."""
        return None if self.noise_law is None else self.noise_law.share

    def noise_growth(self, times: FloatArray) -> FloatArray | None:
        """Return the growth of the noise at `times` (m,) this ε, None if no rule gives it. Public."""
        del times
        return None

    @cached_property
    def distance_share(self) -> float:
        """The matched distance to Lloyd's centers, box units, as a share of the box's diagonal. Curator only."""
        off = matched_distance(self.final, self.reference.nonprivate_centers) / math.sqrt(self.words.box.d)
        return 0.0 if off < ROUNDING else off

    @cached_property
    def blind_share(self) -> float:
        """Distance from centers without data to Lloyd's, share of the diagonal, same at every epsilon. Curator only."""
        return center_facts.blind_share(self.reference.nonprivate_centers)

    @property
    def lede(self) -> str:
        """The purpose of the run, and its release. Public."""
        many, starts = self.words.nouns.record[1], getattr(self.params, "start", "") == "records"
        out = "the **start**, made of records, and blue centers" if starts else "only **blue centers**"
        return f"Find crowds of {many}; {out} are published."

    def finding(self) -> Sentence:
        """Describe the run in one sentence, from its exact cost, distance from exact centers, and noise distribution.

        The sentence blames noise for moving the centers only if its distribution is also wide. It calls a draw lucky
        only if the centers land well even though the distribution is wide.
        """
        k, guarantee = len(self.final), self.guarantee
        if guarantee.published is guarantee.proved is None:
            text = f"{things(k, 'center')} {'is' if k == 1 else 'are'} released, with no claim of privacy"
            return Sentence(opened(text), opened(text))
        curator, public = (
            pair[k != 1].format(centers=things(k, "center"))
            for pair in (self.headlines[self.placement], self.public_headlines[self.blur])
        )
        if self.placement not in COMPLETE:
            curator = self.doubt.ends(curator)
        return Sentence(opened(curator), opened(self.doubt.ends(public)))

    @property
    def placement(self) -> Placement:
        """The placement of the released centers compared with k-means' own. Curator only."""
        lost, law = self.lost_share, self.noise_share
        loud = law is not None and law >= NOISY * self.blind_share
        if lost >= 1.0:
            return Placement.BLIND
        if lost >= LOST:
            return Placement.DRAGGED if loud else Placement.MISSED
        # One of several ways to divide the crowds.
        if self.distance_share >= NOISY * self.blind_share > 0.0:
            return Placement.ELSEWHERE_WORSE if lost >= FOUND else Placement.ELSEWHERE
        if lost >= FOUND:
            return Placement.WOBBLING
        if loud:
            return Placement.LUCKY
        if self.doubt is Doubt.GONE:
            return Placement.EXACT_UNPROTECTED if self.distance_share < EXACT else Placement.NEAR_UNPROTECTED
        return Placement.LANDED

    @property
    def blur(self) -> Blur:
        """The distances that noise moves released centers. Public."""
        law = self.noise_share
        if law is None:
            return Blur.UNKNOWN
        if law >= NOISY * center_facts.RANDOM:
            return Blur.MOSTLY
        return Blur.SOME if law >= QUIET * center_facts.RANDOM else Blur.HARDLY

    @property
    def lost_share(self) -> float:
        """The lost share of the cost that k-means saves over a blind guess: 0 is k-means, 1 a blind guess.

        Curator only.
        """
        best, without = self.best_cost, self.no_data_cost
        cost = self.nonprivate_cost
        if without > best:
            return max(cost - best, 0.0) / (without - best)
        return 0.0 if cost <= without else 1.0

    def strips(self) -> tuple[Strip | None, Strip | None]:
        """Return the axes of the centers' distance to exact ones, and of the distance noise moves them (public)."""
        public = None if self.noise_share is None else center_facts.noise_strip("Noise moves centers by", self.words)
        blind = 100.0 * self.blind_share
        lines = ((blind, "a blind guess"),) if blind > 0 else ()
        top = center_facts.ROOM * blind or 1.0
        return Strip("Centers miss by", distance_words(0.0, self.words)[1], "off", 0.0, top, lines), public

    def losses(self) -> tuple[Measure | None, Measure | None]:
        """Return the centers' distance from exact ones, and the mean distance that noise moves them."""
        off, law = self.distance_share, self.noise_law
        public = None if law is None else law.measure(self.noise_growth(center_facts.FACTORS), self.words)
        return Measure(100.0 * off, distance_words(off, self.words)[0]), public

    def utility(self) -> tuple[Fact, ...]:
        """Return the quality of the released centers. Curator only, because these facts are exact."""
        return self.cost_facts(center_facts.PACKED_START)

    def cost_facts(self, start: str) -> tuple[Fact, ...]:
        """Return the cost next to k-means, the cost without data, and the distance to Lloyd's centers. Curator only.

        `start` describes the run that the cost is compared with.
        """
        cost, best = self.nonprivate_cost, self.best_cost
        return (
            Fact("Cost", f"{times(center_facts.cost_ratio(cost, best))} × k-means", start),
            center_facts.no_data_fact(cost, self.no_data_cost, best, "k-means"),
            Fact(
                "Distance from Lloyd's centers",
                " ".join(distance_words(self.distance_share, self.words)).rstrip(),
                "Mean distance to Lloyd's centers under the best matching.",
            ),
        )

    @property
    def lloyd_fact(self) -> Fact:
        """The number of Lloyd's iterations. Curator only, because it is exact."""
        rounds = str(self.reference.n_iterations)
        return Fact("Lloyd's iterations", rounds, "Until assignments repeat, no privacy.")

    def contents(self) -> Contents:
        """Return the secrets that the run protects, its public inputs, and the values for the curator only."""
        public = [box_words(self.words), "k, ε and every other knob"]
        secret = ["Records, and who is in which cluster", "True averages and counts, costs, Lloyd's centers"]
        if getattr(self.params, "start", "packing") == "records":
            secret.append("The start: real records. This run publishes them, so nothing is proved")
        elif getattr(self.params, "start", "packing") == "private":
            public.append("The packing where the start's search begins, which uses no records")
        else:
            public.append("The start: a packing of the box, which uses no records")
        return Contents(protected(self.guarantee), tuple(public), tuple(secret))

    def nonprivate_notices(self) -> tuple[str, ...]:
        """Return the notices about this run that go with its guarantee. Curator only, because they are exact."""
        n, k = len(self.unit), len(self.release.centers)
        few = (center_facts.few_records(n, k),) if n < k else ()
        notices = (*super().nonprivate_notices(), *few)
        return (*notices, center_facts.AS_GOOD) if self.nonprivate_cost >= self.no_data_cost else notices

    def outcome(self) -> Outcome:
        """Return this run's part in a picture of many: its centers, and their cost next to k-means. Curator only."""
        best = self.best_cost
        ratio = center_facts.cost_ratio(self.nonprivate_cost, best) if best > 0 else math.nan
        return Outcome(self.final, ratio, center_facts.COST)

    def cost_line(self) -> CostLine | None:
        """Return the exact cost of the centers at each step, None for a release alone. Curator only."""
        return None

    def charts(self) -> tuple[Chart, ...]:
        """Return charts of the profiles, the exact cost next to Lloyd's cost, and the spending from the events."""
        made, line = list(self.profile_charts()), self.cost_line()
        if line is not None:
            lloyds = self.reference.nonprivate_costs
            made.append(Chart("cost", charts.cost_chart(line, lloyds, len(self.unit), self.stops())))
        spending = charts.spending_chart(self.spending(), proved=self.proved, unit=self.spending_unit)
        return (*made, Chart("spending", spending))

    def recolored(self, shape: tuple[int, int, int]) -> ByteArray:
        """Return a photograph (height, width, 3) in its clusters' released colors. Curator only."""
        return center_facts.recolored(self.release.centers, self.nonprivate_labels, shape)

    @property
    def clock(self) -> Clock:
        """The frames of the picture: the records, the steps, then the release."""
        return Clock(sum(isinstance(step, MovedCenters) for step in self.steps), PHASES)

    def stops(self) -> Stops:
        """Return the stops of the scrubber, in public words."""
        n = self.clock.n_steps
        steps = (Frame(f"Step {i} of {n}", "Only the curator sees it.") for i in range(1, n + 1))
        return Stops((FRAMES[0], *steps, FRAMES[1]))

    def layers(self, stage: Stage) -> tuple[Layer, ...]:
        """Return the layers from back to front."""
        moves = [step for step in self.steps if isinstance(step, MovedCenters)]
        noise = list(_find_noise(moves, self.result, self.words.box, stage))
        # The centers of each step. Curator only, like the number of steps.
        centers = []
        for some in _alike(moves):
            rows = {stage.clock.frame(i, PHASES[0]): row for row, i in enumerate(some)}
            places = self.words.box.to_unit(np.stack([step.centers for step in some.values()]))
            centers.append(stage.marks("center", UNRELEASED, rows, places, size=10.0))
        always, release = stage.clock.always(), stage.clock.release
        return (
            *ground.box_layer(stage, public=self.words.box_public),
            ground.record_layer(self.unit, [None, self.nonprivate_members], always | {release: 1}, stage),
            *ground.border_layer(RELEASED, {release: 0}, self.final[None], stage),
            *centers,
            *(stage.threads("noise", SECRET_NOISE, rows, before, after) for rows, before, after in noise),
            stage.marks("released center", RELEASED, {release: 0}, self.final[None], size=13.0),
            # The centers before their noise, on top of the centers. Curator only, because they are exact.
            *(
                stage.marks("center before noise", SECRET, rows, before, symbol="ring", size=8.0)
                for rows, before, _ in noise
            ),
        )

    def alt(self) -> str:
        """Describe the picture, from public facts alone."""
        k = len(self.final)
        return f"{self.words.title}: {k} released {'center' if k == 1 else 'centers'} over the records."

    def caption(self, plane: Projection) -> str:
        """Return the meaning of the colors for the curator."""
        del plane
        return CAPTION

    def public_caption(self) -> str:
        """Return the meaning of the colors for the public."""
        return PUBLIC_CAPTION

    def draw_scene(self, view: View) -> Scene:
        """Return the moving picture; `.public()` keeps only its public part."""
        stage, stops = Stage(self.plane(view), self.clock), self.stops()
        plane = stage.projection
        return self.scene(
            title=self.words.title,
            alt=self.alt(),
            caption=self.caption(plane),
            public_caption=self.public_caption(),
            x=plane.x,
            y=plane.y,
            axes_public=not plane.nonprivate,
            layers=self.layers(stage),
            frames=stops.frames,
            start_frame=stops.start_frame,
            group_names=cluster_names(len(self.final)),
        )


def _alike(moves: Sequence[MovedCenters]) -> list[dict[int, MovedCenters]]:
    """Return the steps by their numbers, grouped by the number of centers, like a layer's marks."""
    numbers = sorted({len(step.centers) for step in moves})
    return [{i: step for i, step in enumerate(moves) if len(step.centers) == k} for k in numbers]


def _find_noise(
    moves: Sequence[MovedCenters], result: Result[CentersRelease, Step], box: Box, stage: Stage
) -> Iterator[tuple[dict[int, int], FloatArray, FloatArray]]:
    """Yield frames and rows, and centers before and after their noise, if the run's events name such noise."""
    if not any(map(_is_added, result.events)):
        return
    for some in _alike(moves):
        if all(step.nonprivate_centers is None for step in some.values()):
            continue
        rows = {stage.clock.frame(i, PHASES[0]): row for row, i in enumerate(some)}
        after = [step.centers for step in some.values()]
        exact = (step.nonprivate_centers for step in some.values())
        before = [center if each is None else each for center, each in zip(after, exact, strict=True)]
        if np.array_equal(moves[-1].centers, result.release.centers) and len(moves) - 1 in some:
            # The release has the centers of the last step.
            rows = rows | {stage.clock.release: len(some) - 1}
        yield rows, box.to_unit(np.stack(before)), box.to_unit(np.stack(after))


def _is_added(event: Event) -> bool:
    """Check whether an event is noise that was added to a number, and not a choice."""
    if isinstance(event, SequenceEvent):
        return any(map(_is_added, event.events))
    if isinstance(event, ParallelEvent):
        return any(map(_is_added, event.parts))
    return isinstance(event, LaplaceEvent | GaussianEvent)


@array_cache(16)
def no_data_cost(points: Points, box: Box, n_clusters: int) -> float:
    """Return the cost of centers chosen without data for `points` (n, d), in squared units of `box`.

    The cost is the sum of squared distances: the lower of two, for the box's middle and for the median of three public
    packings of k centers. Curator only, because it is exact.
    """
    middle, *packed = (box.from_unit(centers) for centers in dataless_centers(n_clusters, box.d))
    costs = [nonprivate_cost(points, centers, assign(points, centers)) for centers in packed]
    alone = points - middle
    return min(float(np.einsum("ij,ij->", alone, alone)), median(costs))


def drawable(points: Points, words: Words, n_clusters: int) -> Points:
    """Return the records (n, d) in box units; raises ValueError for more clusters than a picture allows."""
    if n_clusters > MOST_CLUSTERS:
        raise ValueError(f"n_clusters must be at most {MOST_CLUSTERS} in a picture, got {n_clusters}.")
    return unit_records(points, words.box)
