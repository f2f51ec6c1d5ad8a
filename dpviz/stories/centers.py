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
from dpviz.stories.center_facts import NoiseLaw
from dpviz.stories.glossary import meant
from dpviz.stories.label import Contents, box_words, protected
from dpviz.stories.outcomes import Outcome
from dpviz.stories.panel import Fact, Sentence, cluster_names, number, places_words
from dpviz.stories.run import Chart, Run, S_co
from dpviz.stories.stage import Clock, Stage, StepsScene
from dpviz.stories.view import View, Words
from dpviz.stories.wording import Doubt, opened, percent, things

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

LOST, FOUND = 0.5, 0.1  # of the cost that centers save beside a blind guess: what a run may lose of it; ours
EXACT = 0.002  # of the diagonal: centers this near are on their true places, as far as a picture shows; ours
NOISY, QUIET = 0.5, 0.1  # typical noise, as a share of what a blind guess misses by; ours
ROUNDING = 1e-12  # of the diagonal: rounding errors are no distance


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
    def noise_law(self) -> NoiseLaw | None:
        """How far noise moves released centers; None where no law says it: public."""
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
        """How far noise moves a released center on average, of the diagonal; None where no law says it: public."""
        return None if self.noise_law is None else self.noise_law.share

    def noise_growth(self, times: FloatArray) -> FloatArray | None:
        """Return how many times larger the noise is at `times` (m,) this ε, None where no rule says it; public."""
        del times
        return None

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
        many, starts = self.words.nouns.record[1], getattr(self.params, "start", "") == "records"
        out = "the **start**, which is records, and blue centers" if starts else "only **blue centers**"
        return f"Find crowds of {many}; {out} are published."

    def finding(self) -> Sentence:
        """Say the run in one sentence, by its exact cost, its distance from noise-free centers, and its noise's law.

        That noise has moved the centers is said only where its law is large too, and that a draw was lucky only where
        the centers land though it is.
        """
        k, guarantee = len(self.final), self.guarantee
        if guarantee.published is guarantee.proved is None:
            said = f"{things(k, 'center')} {'is' if k == 1 else 'are'} released, and nobody claims to hide anything"
            return Sentence(opened(said), opened(said))
        return Sentence(opened(self._curators_finding(k, self.doubt)), opened(self._publics_finding(k, self.doubt)))

    def _curators_finding(self, k: int, doubt: Doubt) -> str:
        the, crowd = ("the center", "its crowd") if k == 1 else ("the centers", "their crowds")
        miss, land, find = ("misses", "lands", "finds") if k == 1 else ("miss", "land", "find")
        lost, law = self.lost_share, self.noise_share
        loud = law is not None and law >= NOISY * self.blind_share
        if lost >= 1.0:
            blind = center_facts.BLIND
            return doubt.ends(blind if k > 1 else blind.replace("centers are", "center is"))
        if lost >= LOST:
            if loud:
                return doubt.ends(f"noise drags {the} off {crowd}")
            return doubt.ends(f"{the} {miss} {crowd}")
        if self.distance_share >= NOISY * self.blind_share > 0.0:  # one of several ways to divide the crowds
            stand, serve = ("stands", "serves its crowd") if k == 1 else ("stand", "serve their crowds")
            return f"{the} {stand} elsewhere, and {serve} {'less' if lost >= FOUND else 'just as'} well"
        if lost >= FOUND:
            return doubt.ends(f"{the} {'wobbles' if k == 1 else 'wobble'}, but {find} {crowd}")
        if loud:
            return f"lucky noise: {the} {land}, but most draws this noisy would miss"
        if doubt is Doubt.GONE:
            if self.distance_share < EXACT:
                return f"{the} {'is' if k == 1 else 'are'} exact, but the guarantee no longer protects anyone"
            return f"{the} {'is' if k == 1 else 'are'} nearly exact, but the guarantee is gone"
        should = "where it should" if k == 1 else "where they should"
        return doubt.ends(f"{things(k, 'center')} {land} {should}")

    def _publics_finding(self, k: int, doubt: Doubt) -> str:
        law, these = self.noise_share, things(k, "center")
        if law is None:
            return doubt.ends(f"{these} {'is' if k == 1 else 'are'} released")
        if law >= NOISY * center_facts.RANDOM:
            return doubt.ends(f"{'this center is' if k == 1 else 'these centers are'} mostly noise")
        if law >= QUIET * center_facts.RANDOM:
            return doubt.ends(f"noise blurs the {these if k > 1 else 'center'}")
        return doubt.ends(f"noise hardly moves the {these if k > 1 else 'center'}")

    @property
    def lost_share(self) -> float:
        """What it loses of the cost that k-means saves beside a blind guess: 0 is k-means', 1 no better."""
        best, without = self.best_cost, self.no_data_cost
        cost = self.nonprivate_cost
        if without > best:
            return max(cost - best, 0.0) / (without - best)
        return 0.0 if cost <= without else 1.0

    def strips(self) -> tuple[Strip | None, Strip | None]:
        """Return the axis of what the centers miss by, and the public's, of what noise moves them by."""
        public = None if self.noise_share is None else center_facts.noise_strip("Noise moves centers by")
        blind = 100.0 * self.blind_share
        lines = ((blind, "a blind guess"),) if blind > 0 else ()
        top = center_facts.ROOM * blind or 1.0
        return Strip("Centers miss by", center_facts.DIAGONAL, "off", 0.0, top, lines), public

    def losses(self) -> tuple[Measure | None, Measure | None]:
        """Return what the centers miss by, and what noise moves them by on average."""
        off, law = self.distance_share, self.noise_law
        off = 0.0 if off < ROUNDING else off
        public = None if law is None else law.measure(self.noise_growth(center_facts.FACTORS))
        return Measure(100.0 * off, percent(off)), public

    def utility(self) -> tuple[Fact, ...]:
        """Return how good the released centers are: exact, so the curator's."""
        return self.cost_facts(center_facts.PACKED_START)

    def cost_facts(self, start: str) -> tuple[Fact, ...]:
        """Return the cost beside k-means', what no data costs, and the distance to Lloyd's centers: the curator's.

        `start` says what the cost is held against.
        """
        cost, best = self.nonprivate_cost, self.best_cost
        off = number(round(100.0 * self.distance_share, 9))  # rounding errors are no distance
        far = "Mean distance to Lloyd's centers under the best matching."
        return (
            Fact("Cost", f"{number(center_facts.cost_ratio(cost, best))} × k-means", start, False),
            center_facts.no_data_fact(cost, self.no_data_cost, best, "k-means"),
            Fact("Off Lloyd's centers", f"{off} % of the box's diagonal", far, False),
        )

    @property
    def lloyd_fact(self) -> Fact:
        """How long Lloyd's algorithm took: exact, so the curator's."""
        rounds = str(self.reference.n_iterations)
        return Fact("Lloyd's iterations", rounds, "Until assignments repeat, no privacy.", False)

    def risk(self) -> tuple[Fact, ...]:
        """Return what the guarantee allows an attacker; public."""
        return center_facts.risk(self.guarantee.proved)

    def contents(self) -> Contents:
        """Declare what a run that releases centers protects, takes as public, and shows in confidence."""
        public = [box_words(self.words), "k, ε and every other knob"]
        secret = ["Records, and who is in which cluster", "True averages and counts, costs, Lloyd's centers"]
        if getattr(self.params, "start", "packing") == "records":
            secret.append("The start: real records. This run publishes them, so that nothing is proved")
        elif getattr(self.params, "start", "packing") == "private":
            public.append("The packing that the start's search begins at, which looks at no record")
        else:
            public.append("The start: a packing of the box, which looks at no record")
        return Contents(protected(self.guarantee), tuple(public), tuple(secret))

    def nonprivate_notices(self) -> tuple[str, ...]:
        """Return what has to be said beside this run's guarantee: exact, so the curator's."""
        n, k = len(self.unit), len(self.release.centers)
        few = (center_facts.few_records(n, k),) if n < k else ()
        return (*few, center_facts.AS_GOOD) if self.nonprivate_cost >= self.no_data_cost else few

    def outcome(self) -> Outcome:
        """Return what many runs show of this one: its centers, and their cost beside k-means'."""
        best = self.best_cost
        ratio = center_facts.cost_ratio(self.nonprivate_cost, best) if best > 0 else math.nan
        return Outcome(self.final, ratio, center_facts.COST)

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
