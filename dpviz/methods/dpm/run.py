"""One run of DPM as a picture: score, choose, count, level by level, then centers with their noise."""

import math
from collections import Counter
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np

from dpviz.accounting import LaplaceEvent, Purpose, gaussian_sigma
from dpviz.core import Box, Budget, ByteArray, FloatArray, IntArray, Result
from dpviz.methods.dpm import layers, uncertainty
from dpviz.methods.dpm.algorithm import CentersStep, LevelStep, Params, PlanStep, SplitTrace, Step, TreeRelease
from dpviz.methods.dpm.algorithm.centers import ball_shares, is_twice
from dpviz.methods.dpm.algorithm.plan import CHANCE, COUNT_DELTA_SHARE, shares_for
from dpviz.methods.dpm.cells import TOO_FEW, Cells, Subsets, about
from dpviz.metrics import adjusted_rand, nonprivate_cost
from dpviz.plots import Frame, Measure, Scene, Strip
from dpviz.solvers import LloydRun, assign, nonprivate_kmeans
from dpviz.stories import center_facts, charts, spending
from dpviz.stories.center_facts import AS_GOOD, FACTORS, NoiseLaw, cost_ratio, no_data_fact
from dpviz.stories.centers import no_data_cost
from dpviz.stories.ensemble import Ensembles
from dpviz.stories.glossary import meant
from dpviz.stories.label import RECORD, Contents, box_words
from dpviz.stories.outcomes import Outcome
from dpviz.stories.panel import Fact, chance_limit, cluster_names, counted, number, places_words, times
from dpviz.stories.run import Chart, Run
from dpviz.stories.spending import SpendingRow
from dpviz.stories.view import Plane, View
from dpviz.stories.wording import Doubt, in_words, percent, things

# The clusters count as tighter if their spread is at most this share of the spread of a single cluster. Our choice.
TIGHT = 0.8
# A side that noise may refuse counts as large as a cluster if it has more than this share of all records. Our choice.
COARSE = 0.1
TYPICAL_DELTA = 1e-5
TERMS = (
    (
        "Colors",
        "Gray and locked: exact, secret. Blue: released. Orange: noise. Green: public input. Red: a refused cut.",
    ),
    *meant("epsilon", "delta", "box", "cut"),
    (
        "Candidate",
        "A place where a cut is allowed: the middle of a split interval. All intervals of a feature have "
        "the same size.",
    ),
    *meant("emptiness", "centreness"),
    ("Score", "Centreness, and emptiness times its weight. The better the score, the likelier the cut."),
    (
        "Chance of each cut",
        "Orange ribbons along the edges of boxes show how likely each cut is. They are secret, because scores are "
        "exact. Thin lines around them are draws of the noise that a choice adds, none of them from this run.",
    ),
    ("Noisy count", "The number of records with noise. It is released, and both sides of a cut must be large enough."),
    (
        "Clear gap",
        "A gap whose noisy depth stands out from its noise and from chance. There, a cut may split off few records.",
    ),
    (
        "Refused cut",
        "A side's noisy count was too small, or no gap was clear. The subset stays whole and is a cluster.",
    ),
    ("Half of the noise", "Half of all draws of a center's noise would stay inside this ring."),
    ("Repaired", "The guarantee is proved. Depth and shares follow the noisy number of records."),
    ("As published", "As printed. Its claim is not established for two or more features: a lemma is false there."),
)
DETAILS = {
    "score": "Where is it emptiest, yet central? Each place gets a chance.",
    "choose": "Chance draws one cut in each box, and its place is published.",
    "count": "Both sides are counted with noise: {made}, {refused} refused.",
}
# Texts by the number of rounds of averages.
RELEASED = {
    1: "Each box left is a cluster. Its noisy average is published.",
    2: "Each box left is a cluster. Its average is taken twice: over everyone in it, then over moves within a ball "
    "around the first.",
}
DOUBTED = "How often noise would leave a chance gap shallower than this one, for example where clusters touch."
TURN = "Drag the box to turn it, or set the angles under Axes. "
LOOK = "Click a cut to look into it below."


def _format_chance(chance: float) -> str:
    return f"{number(100.0 * chance)} in 100" if chance >= 1e-4 else "below 0.01 in 100"


@cache
def _sigmas() -> tuple[FloatArray, FloatArray]:
    """Return logarithms of ε and of sigma. Sigma as a function of ε hardly depends on δ."""
    epsilons = np.geomspace(1e-5, 1e3, 81)
    sigmas = [gaussian_sigma(1.0, Budget(float(each), TYPICAL_DELTA)) for each in epsilons]
    return np.log(epsilons), np.log(sigmas)


@dataclass(frozen=True, eq=False)
class DPMRun(Run[Params, TreeRelease, Step]):
    """One run of DPM: the tree of cuts, and the clusters between them."""

    # The subset that the reader looks into.
    chosen: int = 0

    terms = TERMS
    page_fields = ("chosen",)
    audited = "dpm"

    @cached_property
    def cells(self) -> Cells:
        """The released tree, box units."""
        return Cells.from_tree(self.release.tree, self.words.box)

    @cached_property
    def final(self) -> FloatArray:
        """The released centers (k, d), box units."""
        return self.words.box.to_unit(self.release.centers)

    @property
    def k(self) -> int:
        """Number of clusters found; released."""
        return len(self.release.centers)

    @cached_property
    def subsets(self) -> Subsets:
        """Public descriptions of the released tree."""
        return Subsets(self.release.tree, self.cells, self.words)

    @property
    def published(self) -> bool:
        """True if the run follows the paper."""
        return self.params.calibration == "published"

    @property
    def node(self) -> int:
        """The chosen subset, or the root if the tree has no such subset."""
        return self.chosen if self.chosen < len(self.cells.axes) else 0

    @property
    def last(self) -> CentersStep:
        """The last step."""
        last = self.steps[-1]
        assert isinstance(last, CentersStep)
        return last

    @property
    def levels(self) -> tuple[LevelStep, ...]:
        """The levels of cuts."""
        return tuple(step for step in self.steps if isinstance(step, LevelStep))

    def split(self, node: int) -> SplitTrace | None:
        """Return the cut that was tried at a node, None if there was none. Curator only."""
        return next((split for step in self.levels for split in step.splits if split.node == node), None)

    @cached_property
    def cost_ratio(self) -> float:
        """Inertia of the released centers over that of k-means with as many centers, at least 1. Curator only."""
        return cost_ratio(self.nonprivate_cost, self.best_cost)

    @cached_property
    def nonprivate_cost(self) -> float:
        """Inertia of the released centers, box units squared. Curator only."""
        return nonprivate_cost(self.unit, self.final, assign(self.unit, self.final))

    @property
    def no_data_cost(self) -> float:
        """Inertia of as many centers chosen without data, box units squared. Curator only."""
        return no_data_cost(self.unit, Box.cube(0.0, 1.0, self.words.box.d), self.k)

    @property
    def nonprivate_kmeans(self) -> LloydRun:
        """k-means with as many centers, the best of several starts. Curator only."""
        return nonprivate_kmeans(self.unit, self.k)

    @property
    def best_cost(self) -> float:
        """Inertia of k-means with as many centers, box units squared."""
        return float(self.nonprivate_kmeans.nonprivate_costs[-1])

    @cached_property
    def agreement(self) -> float | None:
        """Adjusted Rand index of the cells with the known classes; None without any. Curator only."""
        if self.classes is None or len(self.classes) < 2:
            return None
        return adjusted_rand(self.classes, self.last.nonprivate_labels)

    @property
    def n_classes(self) -> int:
        """Number of known classes, 0 without any. Curator only."""
        return int(self.shared.shape[1])

    @cached_property
    def shared(self) -> IntArray:
        """Number of records that each cluster shares with each known class (k, m); (k, 0) without any. Curator only."""
        if self.classes is None or not len(self.classes):
            return np.zeros((self.k, 0), dtype=np.intp)
        n_classes = int(self.classes.max()) + 1
        table = np.bincount(self.last.nonprivate_labels * n_classes + self.classes, minlength=self.k * n_classes)
        table = table.reshape(self.k, n_classes)
        return table[:, table.any(axis=0)]

    @cached_property
    def n_found(self) -> int:
        """Number of known classes found. Curator only.

        A cluster finds a class if it has more than half of it, and more of it than of any other class.
        """
        table = self.shared
        if not table.size:
            return 0
        most, classes = table.argmax(axis=1), np.arange(table.shape[1])
        holds = (2 * table > table.sum(axis=0)) & (most[:, None] == classes)
        return int(holds.any(axis=0).sum())

    @property
    def is_too_noisy(self) -> bool:
        """True if noise alone kept DPM from cutting a subset with most records of two known classes. Curator only.

        Its gap is deeper than chance explains, but was not clear in the noise, or its noisy count was too small for
        any cut.
        """
        homes = np.bincount(self.shared.argmax(axis=0), minlength=self.k)
        tree = self.release.tree
        for node in np.flatnonzero(tree.centers >= 0).tolist():
            if homes[tree.centers[node]] < 2:
                continue
            if self.subsets.stop_reason(node) == TOO_FEW:
                return True
            split = self.split(node)
            if split is not None and not self.published:
                depths = split.nonprivate_depths[split.exists]
                if depths.max(initial=0) > CHANCE * math.sqrt(max(split.noisy_count, 1.0)):
                    return True
        return False

    @property
    def lede(self) -> str:
        """The purpose of the method, and its release. Public."""
        return "Cut through empty space; only **cuts and averages** are published."

    def _curators_finding(self) -> str:
        k, known, found, doubt = self.k, self.n_classes, self.n_found, self.doubt
        cuts = things(k - 1, "cut")
        if known == 0:
            return self._finding_without_classes(cuts)
        if k == 1 < known:
            why = "too noisy to see any gap" if self.is_too_noisy else "no gap is clear enough to cut"
            return f"{why}: the whole map remains one cluster"
        if found < known:
            some = f"{in_words(known - found)} of the" if found else "all"
            lost = f"{some} {in_words(known)} clusters {'is' if known - found == 1 else 'are'} lost"
            if known == 1:
                lost = "the only cluster is lost"
            if doubt is Doubt.GONE:
                return doubt.ends(f"{lost}")
            if k < known:
                why = "too noisy to see every gap" if self.is_too_noisy else "not every gap is clear enough"
                return f"{why}: {lost}"
            some = f"{'only ' if found else ''}{in_words(found) if found else 'none'} of {in_words(known)} clusters"
            return f"cuts run through crowds: {some} {'is' if found < 2 else 'are'} found"
        every = f"all {in_words(known)} clusters" if known > 1 else "the only cluster"
        if k > known:
            return f"{cuts} find {every} but split {'some' if known > 1 else 'it'} needlessly"
        if k == 1:
            return doubt.ends("no cut is needed: there is only one cluster")
        if doubt is Doubt.GONE:
            return doubt.ends(f"{every} {'are' if known > 1 else 'is'} found")
        if doubt is Doubt.ROOM:
            return f"{cuts} through empty space {'find' if k > 2 else 'finds'} {every}"
        return doubt.ends(f"{cuts} {'find' if k > 2 else 'finds'} {every}")

    def _finding_without_classes(self, cuts: str) -> str:
        if self.k == 1:
            return "no gap is clear enough to cut: the whole map remains one cluster"
        leave = f"{cuts} {'leave' if self.k > 2 else 'leaves'} {things(self.k, 'cluster')}"
        if self.nonprivate_cost >= self.no_data_cost:
            return f"{leave}, no better than a blind guess"
        if self.doubt in (Doubt.GONE, Doubt.UNPROVED):
            return self.doubt.ends(f"{leave}")
        return f"{leave}, {'' if self.spread_share <= TIGHT else 'hardly '}tighter than one big cluster"

    @cached_property
    def spread_share(self) -> float:
        """Square root of the ratio of the cost to that of one exact center for everyone. Curator only."""
        one = float(nonprivate_kmeans(self.unit, 1).nonprivate_costs[-1])
        return math.sqrt(self.nonprivate_cost / one) if one > 0 else 0.0

    def _publics_finding(self) -> str:
        if self.k == 1:
            return "no gap is clear enough to cut: the whole map remains one cluster"
        cuts = things(self.k - 1, "cut")
        leave = f"{'leave' if self.k > 2 else 'leaves'} {things(self.k, 'cluster')}"
        if self.published or self.doubt in (Doubt.GONE, Doubt.UNPROVED):
            return self.doubt.ends(f"{cuts} {leave}")
        tree = self.release.tree
        if tree.minimum_count > COARSE * max(float(tree.noisy_counts[0]), 1.0):
            return f"{cuts} {'are' if self.k > 2 else 'is'} made, but this much noise may hide more gaps"
        if self.n_clear_cuts == self.k - 1:
            return self.doubt.ends(f"{cuts} through clear gaps {leave}")
        return f"{cuts}, {in_words(self.n_clear_cuts)} of them through clear gaps, {leave}"

    @cached_property
    def noise_law(self) -> NoiseLaw | None:
        """The distances that noise moves released averages; None in published calibration. Public.

        If there are two averages, it is the noise of the first one; see `first_round`. It ignores that averages are
        moved back into their cells. Published sums are in data units, with origin 0.
        """
        if self.published:
            return None
        moves = self.final - (self.cells.low + self.cells.high)[self.subsets.leaves] / 2.0
        of_counts = math.sqrt(2.0) * np.linalg.norm(self.count_scales, axis=1)
        return center_facts.noise_law(self.first_round, moves, Purpose.AVERAGES, of_counts)

    @property
    def first_round(self) -> Result[TreeRelease, Step]:
        """The result without a second average, whose noise is at most the first one's but is not released."""
        events = self.result.events
        return replace(self.result, events=events[: len(events) + 1 - self.last.n_rounds])

    def noise_growth(self, times: FloatArray) -> FloatArray:
        """Return the growth of the averages' noise at `times` (m,) this ε, with the same cuts. Public.

        If there are two rounds, the first one has sqrt(2) times the noise.
        """
        n, d, epsilons = float(self.release.tree.noisy_counts[0]), self.words.box.d, self.params.epsilon * times
        now, *then = (
            math.log(each * (self.params.shares or shares_for(n, each, d)).averages)
            for each in (self.params.epsilon, *epsilons.tolist())
        )
        known = _sigmas()
        factors = np.exp(np.interp([now, *then], *known) - np.interp(now, *known))
        balls = np.outer(factors, ball_shares(d, gaussian_sigma(1.0, self.last.budget), self.last.noisy_counts))
        twice = [not self.published and is_twice(d, each) for each in balls]
        noise = factors * np.where(twice, math.sqrt(2.0), 1.0)
        return np.asarray(noise[1:] / noise[0])

    @cached_property
    def count_scales(self) -> FloatArray:
        """The Laplace scales (k, 3) whose draws add up to the noise of each leaf's count. Public.

        A leaf whose cut was refused has its own count and the sum of its sides' counts, each weighted by 1 / variance.
        In published calibration, it has only its own count.
        """
        scales = {
            leaf.step: spending.scale_of(leaf)
            for event in self.events
            for leaf in spending.leaves(event)
            if isinstance(leaf, LaplaceEvent) and leaf.purpose is Purpose.COUNTS
        }
        levels, refused = self.cells.levels[self.subsets.leaves], self.cells.refused[self.subsets.leaves]
        rows = []
        for level, tried in zip(levels.tolist(), refused.tolist(), strict=True):
            own, side = scales[level], scales[level + 1] if tried and not self.published else math.inf
            # Weight of the leaf's own count.
            weight = 1.0 / (1.0 + own**2 / (2.0 * side**2))
            rows.append((weight * own, *([(1.0 - weight) * side] * 2 if weight < 1.0 else (0.0, 0.0))))
        return np.array(rows)

    def strips(self) -> tuple[Strip | None, Strip | None]:
        """Return the axes of the known clusters found (or of the spread left), and of the noise (public).

        The distribution of the cuts is secret, so the public's axis shows how far noise moves an average.
        """
        public = None if self.published else center_facts.noise_strip("Noise moves averages by", self.words)
        known = self.n_classes
        if not known:
            whole = (100.0, "one center")
            return Strip("Distance, compared with one center for all", "", "spread", 0.0, 115.0, (whole,)), public
        return Strip("Clusters found", f"of {known}", "found", 0.0, float(known)), public

    def losses(self) -> tuple[Measure | None, Measure | None]:
        """Return the number of known clusters found, else the remaining spread, and how far noise moves averages."""
        public = None if self.noise_law is None else self.noise_law.measure(self.noise_growth(FACTORS), self.words)
        if self.n_classes:
            return Measure(float(self.n_found), str(self.n_found)), public
        return Measure(100.0 * self.spread_share, percent(self.spread_share)), public

    def utility(self) -> tuple[Fact, ...]:
        """Return the facts about the clusters found (public), and about their quality (curator only)."""
        tree = self.release.tree
        n_refused, n_tried = int(self.cells.refused.sum()), int(self.cells.tried.sum())
        exact = self.words.box.to_unit(self.last.nonprivate_centers)
        without = cost_ratio(nonprivate_cost(self.unit, exact, assign(self.unit, exact)), self.best_cost)
        # Next to the known classes, a cost compared with k-means with as few centers would sound like success.
        with_as_many = f" with {self.k}" if self.k < self.n_classes else ""
        facts = [Fact("Clusters released", str(self.k), "Subsets that were not cut.", True)]
        if self.classes is not None and len(self.classes):
            facts.append(Fact("Known classes", str(self.n_classes), "From the data. DPM does not use them."))
        facts += [
            Fact(
                "Cost",
                f"{times(self.cost_ratio)} × k-means{with_as_many}",
                "Sum of squared distances to the nearest center, divided by that of k-means with as many centers and "
                "no privacy.",
            ),
            no_data_fact(self.nonprivate_cost, self.no_data_cost, self.best_cost, f"k-means{with_as_many}"),
            Fact(
                "With exact means",
                f"{times(without)} × k-means",
                "The cost if the centers of the same cells had no noise: the loss due to the cuts alone.",
            ),
        ]
        if self.agreement is not None:
            ari = number(round(self.agreement, 3))
            facts.append(Fact("Agreement with classes", ari, "Adjusted Rand index: 1 same, 0 chance."))
        refused = f"{n_refused} of {n_tried}"
        least = f"{'A' if self.published else 'Without a clear gap a'} side must have more than "
        least += f"{number(tree.minimum_count)} records, counted with noise."
        facts.append(Fact("Cuts refused", refused, least, True))
        if not self.published:
            clear = f"{self.n_clear_cuts} of {self.k - 1}"
            facts.append(Fact("Cuts at a clear gap", clear, "The other cuts may well divide a single cluster.", True))
            if self.cells.applied.any():
                doubted = int(np.argmax(np.where(self.cells.applied, self.gap_doubts, -1.0)))
                facts.append(self.sureness("Least certain cut", doubted))
        depth = "The paper's depth." if self.published else "Their limit follows the noisy number of records."
        if self.params.n_levels is not None:
            depth = "You set their limit."
        numbers = np.maximum(np.floor(self.words.box.widths / self.release.interval_sizes + 1e-9), 1.0)
        low, high = int(numbers.min()), int(numbers.max())
        places = f"{low} per feature" if low == high else f"{low} to {high} per feature"
        return (
            *facts,
            Fact(
                "What stopped the cutting",
                self.why_stopped(),
                "The reasons why subsets were not cut. Each of them is a cluster.",
                True,
            ),
            Fact("Levels tried", f"{self.cells.n_levels} of {len(tree.least_counts)}", depth, True),
            Fact("Places for a cut", places, "Candidates: one in each split interval.", True),
            Fact("δ", *self._delta(), True),
        )

    def node_facts(self) -> tuple[Fact, ...]:
        """Return the chosen subset in numbers, each for its audience."""
        tree, node, subsets = self.release.tree, self.node, self.subsets
        counted = Fact("Records", about(float(tree.noisy_counts[node])), "Counted with noise.", True)
        split = self.split(node)
        became = Fact("Outcome", subsets.reason(node), "A cut needs two sides that look large enough.", True)
        if split is None:
            return counted, became
        sides = " and ".join(about(float(count)) for count in tree.child_counts[node])
        axis, at = split.chosen
        top, best = split.nonprivate_best
        law = split.probabilities
        rank = int((law > law[axis, at]).sum()) + 1
        box, unit = self.words.ends, self.words.own_units[top]
        place = number(float(box.low[top] + box.widths[top] * split.positions[top, best]))
        over_levels = (
            "Deeper levels get more: their subsets are smaller." if self.published else "As much at every level."
        )
        where = f"{self.words.feature_names[top]} at {place}{f' {unit}' if unit else ''}"
        return (
            counted,
            Fact("Exact records", f"{split.nonprivate_count:,}", "How many there really are."),
            Fact("Drawn cut", subsets.cut_place(node), "Released.", True),
            Fact("Best cut", where, "The candidate of the highest score."),
            Fact("Chance of the drawn cut", _format_chance(float(law[axis, at])), "Of one draw."),
            Fact("Chance of the best cut", _format_chance(float(law[top, best])), "Of one draw."),
            Fact(
                "Rank of the drawn cut", f"{rank:,} of {int(split.exists.sum()):,}", "By chance; ties count as equal."
            ),
            Fact("Sides", sides, "Counted with noise.", True),
            *(() if self.published else (self.sureness("How sure the gap is", node),)),
            Fact("ε of the draw", number(split.epsilon), over_levels, True),
            became,
        )

    def contents(self) -> Contents:
        """Return the secrets that a run protects, its public inputs, and the values for the curator only."""
        n = () if self.params.n_public is None else ("The number of records, as you say",)
        return Contents(
            RECORD,
            (box_words(self.words), "ε and every other knob", *n),
            (
                "Records, and who is in which cluster",
                "Scores, and where a cut was likely: they are exact",
                "Agreement with known classes, and k-means beside it",
            ),
        )

    def nonprivate_notices(self) -> tuple[str, ...]:
        """Return the notices that go with this run's guarantee. Curator only, because they are exact."""
        notices = super().nonprivate_notices()
        return (*notices, AS_GOOD) if self.nonprivate_cost >= self.no_data_cost else notices

    def public_notices(self) -> tuple[str, ...]:
        """Return the notices that go with this run's guarantee. Public. Published noise is in data units."""
        if self.published:
            return ()
        return center_facts.drowned(
            center_facts.last_noise(self.first_round, Purpose.AVERAGES), self.release, self.words.box.d
        )

    def _delta(self) -> tuple[str, str]:
        """Return delta and its source."""
        claim = self.guarantee.stated
        if self.params.delta is not None:
            return f"{chance_limit(claim.delta)}, given", "You chose it."
        delta = chance_limit(claim.delta)
        if self.params.n_public is not None:
            return f"{delta} (from the public count)", "1/(n √n) of the number of records, which you said is public."
        why = "The largest possible 1/(n √n) for a noisy number of records, at least 1,000. For this run's number it is"
        return f"{delta} (whatever the noisy count)", (
            f"{why} {chance_limit(claim.calibrated_delta)}, which proves nothing."
        )

    def spending(self) -> tuple[SpendingRow, ...]:
        """Return the spending: each level's counts and cuts, then the averages, at their share of delta. Public."""
        share = 1.0 - COUNT_DELTA_SHARE if self.published else 1.0
        rows = spending.list_spending(self.result, delta=share * self.guarantee.of_row.stated.calibrated_delta)
        return tuple(sorted(rows, key=lambda row: row.column))

    def spending_chart(self) -> Scene:
        """Draw the spending of each level from the release's events."""
        # The column after the planned levels, even if cuts ended sooner.
        last = max(row.column for row in self.spending())
        opening = f"Bar 0: before the first cut. Bar {last}: the averages, which also get all of δ."
        return charts.spending_chart(self.spending(), proved=self.proved, unit="level", opening=opening)

    def charts(self) -> tuple[Chart, ...]:
        """Return the charts next to the picture, by name."""
        return (*self.profile_charts(), Chart("spending", self.spending_chart()))

    def ensembles(self, view: View) -> Ensembles:
        """Return other averages and, for the curator only, other cuts from the same distribution."""
        return uncertainty.draw_again(
            self.release,
            self.levels,
            self.last,
            self.subsets,
            self.count_scales,
            view,
            published=self.published,
            teaching=self.teaching,
        )

    def draw_scene(self, view: View) -> Scene:
        """Return the moving picture; `.public()` keeps only its public part."""
        # Other stories illustrate a distribution with draws.
        plane, cells, clock = Plane.from_view(view, self.words), self.cells, layers.clock_of(self.cells)
        stops = [Frame("Start", "Everyone is in one box. Their number is counted with noise.")]
        for level in range(clock.n_steps):
            here = cells.levels == level
            n_refused = int((cells.refused & here).sum())
            made = counted(int((cells.tried & here).sum()) - n_refused, "cut")
            for phase in layers.PHASES:
                stops.append(Frame(f"Level {level + 1}: {phase}", DETAILS[phase].format(made=made, refused=n_refused)))
        return Scene(
            title=self.words.title,
            alt=f"{self.words.title}: {counted(self.k, 'cluster')} that DPM found by cutting the box on "
            f"{counted(cells.n_levels, 'level')}, {'published' if self.published else 'repaired'} calibration. "
            f"Released centers at {places_words(self.release.centers)}.",
            caption=self._caption(plane, public=False),
            public_caption=self._caption(plane, public=True),
            hint=f"{TURN if len(plane.features) == 3 else ''}{LOOK}",
            x=plane.projection.x,
            y=plane.projection.y,
            layers=layers.draw_layers(
                self.unit,
                self.levels,
                self.last,
                self.subsets,
                self.release,
                self.count_scales,
                self.nonprivate_kmeans.nonprivate_centers,
                plane,
                chosen=self.node,
                published=self.published,
            ),
            frames=(*stops, Frame("Release", RELEASED[self.last.n_rounds])),
            start_frame=clock.release,
            group_names=cluster_names(self.k),
        )

    def _caption(self, plane: Plane, *, public: bool) -> str:
        """Return the caption from public facts only."""
        d, n_shown = self.words.box.d, len(plane.features)
        parts = []
        if d == 1:
            parts.append("One feature. Height has no meaning.")
        elif n_shown < d:
            parts.append(
                f"{('Two', 'Three')[n_shown - 2]} of {d} features. A diamond is a cut along a feature not shown."
            )
        if n_shown == 3:
            parts.append(f"Its edges: {plane.projection.x.label}.")
        if public:
            parts.append("Blue is released, orange is noise, green is public, red is refused.")
        elif d < 3:
            parts.append("Colors are clusters. Gray is secret, blue released, orange noise, green public, red refused.")
        return " ".join(parts)

    def recolored(self, shape: tuple[int, int, int]) -> ByteArray:
        """Return a photograph (height, width, 3) in its clusters' released colors. Curator only."""
        return center_facts.recolored(self.release.centers, self.last.nonprivate_labels, shape)

    def outcome(self) -> Outcome:
        """Return this run's part in a picture of many: its centers, and their cost next to k-means with as many."""
        return Outcome(self.final, self.cost_ratio, center_facts.COST)

    def why_stopped(self) -> str:
        """Count the reasons why subsets were not cut, the most common first."""
        why = Counter(self.subsets.stop_reason(int(node)) for node in np.flatnonzero(self.release.tree.centers >= 0))
        return ", ".join(f"{reason} ({times})" for reason, times in why.most_common())

    @cached_property
    def gap_doubts(self) -> FloatArray:
        """The chance (m,) that noise alone makes a chance gap look as deep as a tried cut's gap. Released.

        P(Laplace >= depth - CHANCE sqrt(n~)), noise of the public scale of the cut's level: records of one smooth
        cluster leave gaps of CHANCE sqrt(n~). NaN if no cut was tried, and in published calibration.
        """
        tree, first = self.release.tree, self.steps[0]
        assert isinstance(first, PlanStep)
        epsilons = np.append(first.plan.gap_epsilons, 0.0)[np.minimum(tree.levels, first.plan.n_levels)]
        beyond = epsilons * (tree.gap_depths - CHANCE * np.sqrt(np.maximum(tree.noisy_counts, 1.0)))
        tail = 0.5 * np.exp(-np.abs(beyond))
        return np.where(beyond >= 0.0, tail, 1.0 - tail)

    def sureness(self, label: str, node: int) -> Fact:
        """Return the certainty that there is a gap at a node's tried cut. Public."""
        doubt = float(self.gap_doubts[node])
        value = "over 99 in 100" if doubt < 0.01 else f"{100.0 * (1.0 - doubt):.0f} in 100"
        return Fact(label, "no more than a coin" if doubt >= 0.5 else value, DOUBTED, True)

    @property
    def n_clear_cuts(self) -> int:
        """Number of cuts of a repaired run at a clear gap, by released numbers."""
        tree, first = self.release.tree, self.steps[0]
        assert isinstance(first, PlanStep)
        cuts = np.flatnonzero(self.cells.applied)
        return sum(tree.gap_depths[i] > first.plan.clear(tree.levels[i], tree.noisy_counts[i]) for i in cuts)
