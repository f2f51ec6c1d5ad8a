"""Morse processing as a picture: a private mixture's landscape, its hierarchy, and the search that found it.

Everything blue or colored is computed from the released mixture: post-processing, which costs nothing.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import numpy as np
import scipy

from dpviz.accounting import zcdp_rho
from dpviz.core import (
    Budget,
    ByteArray,
    Centers,
    Counts,
    FloatArray,
    Labels,
    Points,
    Result,
    immutable_value,
    unit_records,
)
from dpviz.methods.morse import landscape as land
from dpviz.methods.morse import layers as draw
from dpviz.methods.morse.algorithm import MorseRelease, Params, Step
from dpviz.methods.morse.algorithm.bases import DROP_SCALES, LEAST_COUNT
from dpviz.methods.morse.algorithm.budget import MorseScheme, noise_scale
from dpviz.methods.morse.charts import dendrogram
from dpviz.methods.morse.landscape import (
    ColoredLandscape,
    Colors,
    DensityLevel,
    Regions,
    painted,
    signed,
    split_colors,
    unsigned,
)
from dpviz.methods.morse.search import Search, find, search_layers
from dpviz.metrics import adjusted_rand
from dpviz.plots import Frame, Measure, Scene, Strip
from dpviz.plots.scene import Lens
from dpviz.solvers import BOX_MIDDLE, MergeTree, Mixture, assign_basins, features, merge_tree
from dpviz.stories import center_facts, charts, ensemble
from dpviz.stories.ensemble import Ensemble, Ensembles
from dpviz.stories.glossary import meant
from dpviz.stories.ground_layers import box_layer
from dpviz.stories.label import VALUES, Contents, box_words, protected
from dpviz.stories.lens import NoisyAverage, lens_on
from dpviz.stories.outcomes import Figure, Outcome
from dpviz.stories.panel import Fact, ceiled, chance_limit, cluster_names, counted, number, odds, places_words
from dpviz.stories.run import Chart, Run
from dpviz.stories.spending import SpendingRow
from dpviz.stories.stage import Clock, Stage
from dpviz.stories.view import View, Words, plane_caption
from dpviz.stories.wording import Doubt, in_words, things

DENDROGRAM_HEIGHT = 250  # CSS pixels
# Agreement (ARI) from which clusters are exactly, almost, and partly right. Our choice.
EXACT, ALMOST, MIXED = 1.0, 0.9, 0.5
# Share of the requested components up to which most hills count as drowned. Our choice.
DROWNED = 0.5
MOONS = "Two moons"
MOST_NAMED = 24  # clusters
CLOUD, PUBLIC_CLOUD = "small blue dots: where a hill could land", "small blue dots: where true hills could be"
AGREEMENT = Figure("agreement", "ARI", "the agreement is less than", above=False, mark=1.0, mark_name="Perfect")
PEAKS = Figure("number of peaks", "", "the number of peaks is less than", above=False)
TERMS = (
    (
        "Colors",
        "Gray and locked: exact, secret. Blue: released. Orange: noise. Green: public input. Red: refused. "
        "Other colors: clusters.",
    ),
    *meant("epsilon", "delta"),
    (
        "Mixture",
        "Many small Gaussians, the components, made from noisy counts, sums and squares. Only they spend the budget.",
    ),
    (
        "Landscape",
        "The mixture's density p. The paper turns it upside down: its f is −ln p, and peaks are minima of f.",
    ),
    ("Peak", "A place that points flow to: the top of a basin."),
    *meant("basin", "transition point", "TEV"),
    (
        "Dendrogram",
        "Shows which basins join at which density. Cut it anywhere to get that many clusters, of any shape.",
    ),
    ("Level", "Everything denser than a level. Islands appear at peaks and meet at passes, and nowhere else."),
    ("Free", "All of this is computed from the released mixture. Moving the cut or labeling new points costs no ε."),
)


@immutable_value
class LandscapeLook:
    """The view that the scrubber moves, and the pair of components whose search the picture shows."""

    # "cut", "level" or "search".
    moves: str = "cut"
    # Numbers of components from 1. 0: the pass where the last two clusters meet.
    pair: tuple[int, int] = (0, 0)


@dataclass(frozen=True, eq=False)
class MorseRun(Run[Params, MorseRelease, Step]):
    """One run of Morse processing: a private mixture's landscape, and the hierarchy of its peaks."""

    tree: MergeTree = field(kw_only=True)
    # In two dimensions only.
    regions: Regions | None = field(kw_only=True)
    # (n,) the minimum that each record flows to.
    nonprivate_basins: Labels = field(kw_only=True)
    # (L,) colors of the leaves from `split_colors`.
    colors: Labels = field(kw_only=True)
    look: LandscapeLook = field(default=LandscapeLook())

    terms = TERMS
    page_fields = ("look",)

    @classmethod
    def from_result(
        cls, result: Result[MorseRelease, Step], params: Params, points: Points, words: Words, reference: None = None
    ) -> Self:
        """Return the run of `result` on `points` (n, d), data units."""
        del reference
        mixture = result.release.mixture
        tree, unit = merge_tree(mixture), unit_records(points, words.box)
        regions = land.regions(mixture, tree.n_leaves, unit) if mixture.d == 2 else None
        basins = regions.nonprivate_records if regions else assign_basins(mixture, signed(unit))
        return cls(
            result,
            params,
            unit,
            words,
            tree=tree,
            regions=regions,
            nonprivate_basins=basins,
            colors=split_colors(tree, params.n_clusters),
        )

    @property
    def mixture(self) -> Mixture:
        """The released mixture, [-1, 1]^D."""
        return self.release.mixture

    @property
    def component_numbers(self) -> Labels:
        """Names of the mixture's components (K,): numbers from 1 before any was dropped."""
        return self.release.kept + 1

    @cached_property
    def nonprivate_clusters(self) -> Labels:
        """The cluster (n,) of every record."""
        return self.tree.cut(self.params.n_clusters)[self.nonprivate_basins]

    @cached_property
    def nonprivate_ari(self) -> float | None:
        """Agreement of clusters and true classes, if the data set has them."""
        if self.classes is None or not len(self.classes):
            return None
        return adjusted_rand(self.classes, self.nonprivate_clusters)

    @property
    def has_lens(self) -> bool:
        """True for normal noise on the moments of components, each record in one, that hides one record."""
        params, kind = self.params, ("dpmog_hard", "add_remove", "steady", "tight")
        return self.is_flat_lesson and kind == (params.base, params.adjacency, params.estimator, params.calibration)

    def nonprivate_lens(self, record: int) -> Lens:
        """Return the lens on a record, by its index: the mean of its component in the last pass, in [-1, 1]^2.

        The record moves all noisy values of a pass by its moments, so the best attacker against all passes has a closed
        form.
        """
        last, person, sigma, n = self.steps[-1], signed(self.unit[record]), self.release.sigma, len(self.steps)
        moments = last.nonprivate_moments[last.nonprivate_labels[record]]
        noise, least = ensemble.SumNoise(sigma, sigma, "gaussian"), max(LEAST_COUNT, DROP_SCALES * sigma)
        worlds = NoisyAverage(noise, float(moments[0]), moments[1:3], least).worlds(person)
        moved = np.linalg.norm(features(person[None])) * n**0.5 / sigma
        words = f"Noisy mean of your small hill, pass {n} of {n}"
        return lens_on(*worlds, float(scipy.special.ndtr(moved / 2.0)), words, BOX_MIDDLE, 0.5)

    # The hierarchy.

    @property
    def n_clusters(self) -> int:
        """The number of clusters of the cut: at most the number of minima."""
        return min(self.params.n_clusters, self.tree.n_leaves)

    @property
    def n_cuts(self) -> int:
        """The number of cuts that the scrubber has."""
        return land.most_cuts(self.tree)

    @property
    def first_cut(self) -> int:
        """The row of the cut that the run's parameters set."""
        return min(self.n_clusters, self.n_cuts) - 1

    @cached_property
    def cut_colors(self) -> Colors:
        """The color (n_cuts, L) of each minimum at the cut to 1 .. n_cuts clusters."""
        return np.stack([painted(self.colors, self.tree.cut(k + 1)) for k in range(self.n_cuts)])

    @cached_property
    def cut_heights(self) -> FloatArray:
        """Heights (n_cuts,) of the cuts' rules, within the ranges that give 1 .. n_cuts clusters."""
        return np.array([land.cut_height(self.tree, k + 1) for k in range(self.n_cuts)])

    @cached_property
    def levels(self) -> tuple[DensityLevel, ...]:
        """The stops of the level."""
        return land.density_levels(self.tree, self.colors)

    @cached_property
    def search(self) -> Search | None:
        """The search of the pair that the reader chose."""
        return find(self.mixture, self.tree, self.component_numbers, self.look.pair, self.n_clusters)

    # The scrubber.

    @cached_property
    def frames(self) -> tuple[Frame, ...]:
        """The stops of the scrubber, in public words."""
        if self.look.moves == "level":
            return tuple(stop.frame for stop in self.levels)
        if self.look.moves == "cut":
            return land.cut_frames(self.tree)
        if self.search is None:
            return (Frame("No pair", "Only one component is left, so there is no pair to search."),)
        return self.search.frames

    @property
    def start_frame(self) -> int:
        """The stop that the picture opens with."""
        if self.look.moves == "cut":
            return self.first_cut
        return len(self.frames) // 2 if self.look.moves == "level" else len(self.frames) - 1

    @cached_property
    def groups(self) -> Colors:
        """The color of each minimum in each row that marks have: all cuts, all levels, or the cut of the parameters."""
        if self.look.moves == "level":
            return np.stack([stop.islands for stop in self.levels])
        return self.cut_colors if self.look.moves == "cut" else self.cut_colors[[self.first_cut]]

    @property
    def rules(self) -> FloatArray:
        """The height of the dendrogram's rule in each row."""
        if self.look.moves == "level":
            return np.array([stop.height for stop in self.levels])
        return self.cut_heights if self.look.moves == "cut" else self.cut_heights[[self.first_cut]]

    @cached_property
    def colored(self) -> ColoredLandscape:
        """The parts of the release that layers and charts draw."""
        return ColoredLandscape(
            mixture=self.mixture,
            tree=self.tree,
            cells=None if self.regions is None else self.regions.cells,
            colors=self.colors,
            groups=self.groups,
            rules=self.rules,
            component_numbers=self.component_numbers,
            sinks=self.look.moves == "level",
            start_frame=self.start_frame,
        )

    # Words about the run.

    @property
    def lede(self) -> str:
        """The purpose of the method, and its release. Public."""
        return "Crowds of any shape: only **hilltops and borders** are published."

    def _curators_finding(self) -> str:
        """Describe the agreement of the clusters with known classes; without any, return the public finding."""
        ari, k, peaks, doubt = self.nonprivate_ari, self.n_clusters, self.tree.n_leaves, self.doubt
        if self.classes is None or ari is None or k < self.params.n_clusters or k == 1:
            return self._publics_finding()
        hills, many, known = things(peaks, "hill"), self.crowds, len(np.unique(self.classes))
        if k != known:
            return f"{hills} {'merge into' if peaks > k else 'make'} {many}, but the data have {in_words(known)}"
        if doubt is Doubt.GONE:
            if ari >= EXACT:
                return doubt.ends(f"the {many} come out right")
            if ari >= ALMOST:
                return doubt.ends(f"the {many} come out nearly right")
            return doubt.ends(f"the {many} are {'mixed up' if ari >= MIXED else 'torn apart'}")
        if doubt is Doubt.UNPROVED:
            wrong = "partly mixed up" if ari >= MIXED else "torn apart"
            return doubt.ends(f"{hills} make {many}, {'almost right' if ari >= ALMOST else wrong}")
        make = f"{hills} merge into {many}" if peaks > k else f"{hills} make {many}"
        if ari >= EXACT:
            return f"{make}, a perfect match"
        if ari >= ALMOST:
            return f"{make}, a nearly perfect match"
        crowd, some = many.split()[-1], self.words.nouns.record[1].split()[0]
        wrong = f"some {some} join the wrong {crowd[:-1]}" if ari >= MIXED else f"the {crowd} are torn apart"
        if self.is_drowned:
            return f"noise drowns out most hills, and {wrong}"
        return f"{make}, but {wrong}" if ari >= MIXED else f"{hills} merge the wrong way, and {wrong}"

    @property
    def is_drowned(self) -> bool:
        """True if noise leaves at most half of the requested hills. Public."""
        return len(self.component_numbers) <= DROWNED * len(self.release.start)

    def _publics_finding(self) -> str:
        """Describe the landscape, and the part of it that drowned in noise."""
        k, asked, peaks, doubt = self.n_clusters, self.params.n_clusters, self.tree.n_leaves, self.doubt
        hills, clusters = things(peaks, "hill"), things(k, "cluster")
        if k < asked:
            stand = "is" if peaks == 1 else "are"
            return f"only {hills} {stand} left, not enough for {things(asked, 'cluster')}"
        if self.is_drowned and doubt not in (Doubt.GONE, Doubt.UNPROVED):
            return f"noise drowns out most hills: {in_words(peaks)} {'is' if peaks == 1 else 'are'} left, in {clusters}"
        one, more = ("merges into", "merge into") if peaks > k else ("makes", "make")
        return doubt.ends(f"{hills} {one if peaks == 1 else more} {clusters}")

    @property
    def crowds(self) -> str:
        """The name of the clusters: "two moons", "three clusters"."""
        return things(self.n_clusters, "moon" if self.words.title == MOONS and self.n_clusters == 2 else "cluster")

    def strips(self) -> tuple[Strip | None, Strip | None]:
        """Return the axis of the agreement with the known classes, else of the clusters left. Curator only.

        The change of hills with the noise follows from the records, so the public has no axis.
        """
        if self.nonprivate_ari is None:
            asked = self.params.n_clusters
            return Strip("Clusters left", f"of {asked}", "left", 0.0, float(asked)), None
        lines = ((0.0, "blind guess"),)
        return Strip("Real groups matched", "of 1", "agreement", 0.0, 1.04, lines), None

    def losses(self) -> tuple[Measure | None, Measure | None]:
        """Return the agreement with the known classes, else the clusters that are left."""
        ari = self.nonprivate_ari
        if ari is None:
            return Measure(float(self.n_clusters), str(self.n_clusters)), None
        # Only complete agreement appears as 1.00.
        shown = min(ari, 0.99) if ari < EXACT else ari
        return Measure(ari, f"{shown:.2f}".replace("-0.00", "0.00")), None

    def utility(self) -> tuple[Fact, ...]:
        """Return the landscape's numbers (public), and how good the clusters are (exact, so curator only)."""
        release, tree, landscape = self.release, self.tree, self.tree.landscape
        facts = []
        if self.nonprivate_ari is not None:
            why = "Adjusted Rand index of the records' clusters and their true classes: 1 is perfect, 0 is chance."
            facts.append(Fact("Agreement with the classes (ARI)", number(self.nonprivate_ari), why))
        if len(self.unit):
            likeliest = self.mixture.log_terms(signed(self.unit)).argmax(axis=1)
            shortcut = tree.cut(self.params.n_clusters)[landscape.component_minima[likeliest]]
            off = 100.0 * float(np.mean(shortcut != self.nonprivate_clusters))
            why = "Records that the likeliest component alone would put into a different cluster than the flow."
            facts.append(Fact("Labels changed by the shortcut", odds(off), why))
        lost = "" if not tree.n_unreachable else f" Without a pass, joined last: {counted(tree.n_unreachable, 'part')}."
        one_basin = "Two components can share a basin: then they are one peak."
        components = f"{len(self.component_numbers)} of {len(release.start)}"
        noise = "Standard deviation (DPLloyd: scale) of the noise of one count."
        # Compare with the noise of the paper's calibration.
        if self.params.base != "dpcube":
            params, d = self.params, self.words.box.d
            budget = Budget(params.epsilon, params.delta)
            scheme = MorseScheme(
                params.base, True, params.neighbors, budget, d, params.n_components, params.n_iterations
            )
            noise += f" The paper's formula takes {number(noise_scale(scheme))}."
        facts += [
            Fact("Components kept", components, "The others drown in their noise.", True),
            Fact("Peaks", str(tree.n_leaves), f"The most clusters that a cut can give. {one_basin}", True),
            Fact("Transition points", str(len(landscape.transitions)), f"Passes between two basins.{lost}", True),
            Fact("Noise of a count", f"± {number(release.sigma)} records", noise, True),
        ]
        return tuple(facts)

    def contents(self) -> Contents:
        """Return the secrets that a run protects, its public inputs, and the values for the curator only."""
        what = protected(self.guarantee)
        size = ("The number of records",) if what == VALUES else ()
        return Contents(
            what,
            (box_words(self.words), "ε, δ and every other knob", *size),
            ("Records, and who is in which basin", "Agreement with known classes", "Runs other than the released one"),
        )

    def spending(self) -> tuple[SpendingRow, ...]:
        """Return the spending of each step, in zCDP's ρ. Public, because it follows from the events."""
        adjacency, times = self.params.neighbors, self.guarantee.rows**2
        return tuple(
            SpendingRow(i + 1, "Steps", times * zcdp_rho((e,), adjacency), 1) for i, e in enumerate(self.events)
        )

    # Pictures of the run.

    def ensembles(self, view: View) -> Ensembles:
        """Return other places of the small hills under the last pass's noise (curator only), and true ones (public).

        A component that does not stand out from the noise stays at its place in the previous pass. Only bases whose
        last pass has normal noise on all moments have ensembles.
        """
        del view
        last, release = self.steps[-1], self.release
        if last.stage != "em":
            return None, None
        sigma, counts, n = release.sigma, release.noisy_counts, ensemble.n_draws(len(release.kept))
        # The method releases counts with the mixture.
        assert counts is not None
        least = max(LEAST_COUNT, DROP_SCALES * sigma)
        # The records lie in [-1, 1]^d: in widths of the box, sums of x - 1/2 have half of the noise.
        noise = ensemble.SumNoise(sigma, sigma / 2.0, "gaussian")
        true = noise.true_means(counts, unsigned(release.mixture.means), BOX_MIDDLE, n)
        drowned = counts < least
        true[:, drowned] = ensemble.standard_uniform(*true.shape)[:, drowned]
        public = Ensemble(true, borders=False, cloud=PUBLIC_CLOUD)
        if not self.teaching:
            return None, public

        def means(noisy: Counts, sums: FloatArray, fallback: Centers) -> Centers:
            there = np.clip(BOX_MIDDLE + sums / np.maximum(noisy, LEAST_COUNT)[:, None], 0.0, 1.0)
            return there if self.params.estimator == "plain" else np.where((noisy >= least)[:, None], there, fallback)

        before = self.steps[-2].mixture if len(self.steps) > 1 else None
        start = release.start if before is None else before.means
        moments, d = last.nonprivate_moments[release.kept], release.mixture.d
        # Sums of x - 1/2, box units.
        exact = moments[:, 0], moments[:, 1 : 1 + d] / 2.0
        landed = noise.landed(*exact, unsigned(start)[release.kept], means, n)
        return Ensemble(landed, borders=False, cloud=CLOUD), public

    def draw_scene(self, view: View) -> Scene:
        """Return the moving picture; `.public()` keeps only its public part."""
        plane = self.plane(view)
        peaks: FloatArray = self.words.ends.from_unit(unsigned(self.tree.landscape.minima))
        what = {"cut": "cuts of its hierarchy", "level": "levels of its density", "search": "the search of one pair"}
        caption = plane_caption(
            plane,
            "All of it is computed from the released mixture, for free.",
            "Shading and contours are the exact marginal density of the two; peaks and passes are those of all "
            "features, projected.",
            one="The curve is the density; records are spread out so that they can be seen.",
        )
        scene = Scene(
            title=self.words.title,
            alt=f"{self.words.title}: the landscape of a private mixture of "
            f"{counted(len(self.component_numbers), 'component')}, with {counted(self.tree.n_leaves, 'peak')} "
            f"at {places_words(peaks)}, and {what[self.look.moves]}.",
            caption=caption,
            hint="" if plane.nonprivate else "Click a chain between peaks, or a pass, to see its search.",
            x=plane.x,
            y=plane.y,
            axes_public=not plane.nonprivate,
            layers=(),
            frames=self.frames,
            start_frame=self.start_frame,
            group_names=cluster_names(min(self.n_cuts, MOST_NAMED)),
        )
        stage = Stage(plane, Clock(len(self.frames) - 2, ("stop",)))
        search = self.search if self.look.moves == "search" else None
        colored, exact = self.colored, draw.exact_means(self.steps[-1].nonprivate_moments, self.release)
        layers = [
            *box_layer(stage, public=self.words.box_public),
            *draw.ground_layers(colored, stage),
            draw.record_layer(self.unit, self.nonprivate_basins, colored, stage),
            *draw.component_layers(self.release, exact, colored, stage),
            *draw.path_layers(colored, stage),
            *(search_layers(search, colored, stage) if search else []),
            *draw.critical_layers(colored, stage),
        ]
        # Hide the people to keep the picture clear.
        if self.look.moves != "cut":
            layers = [replace(one, shown=False) if one.name == "person" else one for one in layers]
        return replace(scene, layers=tuple(layers))

    def charts(self) -> tuple[Chart, ...]:
        """Return profiles, the dendrogram and the spending."""
        tree = Chart("dendrogram", dendrogram(self.colored, self.frames), DENDROGRAM_HEIGHT)
        return (*self.profile_charts(), tree, Chart("spending", self.spending_chart()))

    def spending_chart(self) -> Scene:
        """Draw the spending of each step from the release's events, in ρ, which adds up where ε does not."""
        proved = self.guarantee.proved
        in_all = "" if proved is None else f" ε = {ceiled(proved.epsilon)} at δ = {chance_limit(proved.delta)} in all."
        note = f"{in_all} Everything after the mixture is free."
        return charts.spending_chart(self.spending(), proved=self.proved, unit="step", symbol="ρ", note=note)

    def recolored(self, shape: tuple[int, int, int]) -> ByteArray:
        """Return a photograph (height, width, 3) in the clusters' mean released colors. Curator only."""
        labels = self.tree.cut(self.n_clusters)[self.nonprivate_basins]
        return center_facts.recolored(self.profiled[0], labels, shape)

    @property
    def profiled(self) -> tuple[Centers, Counts | None]:
        """The weighted mean (k, d) of each cluster's components, data units, and the sum of their counts.

        A cluster without components is placed at its peak.
        """
        clusters, release = self.tree.cut(self.n_clusters), self.release
        own = clusters[self.tree.landscape.component_minima]
        sizes = None
        if release.noisy_counts is not None:
            sizes = np.bincount(own, weights=release.noisy_counts, minlength=self.n_clusters).astype(np.float64)
        weights = np.zeros((self.n_clusters, len(release.centers)))
        weights[own, np.arange(len(own))] = release.mixture.weights
        total = weights.sum(axis=1, keepdims=True)
        means = weights @ release.centers / np.where(total > 0, total, 1.0)
        peaks = self.words.box.from_unit(unsigned(self.tree.landscape.minima))
        return np.where(total > 0, means, peaks[np.unique(clusters, return_index=True)[1]]), sizes

    def outcome(self) -> Outcome:
        """Return this run's part in a picture of many: its peaks, and their agreement with the known classes."""
        peaks = unsigned(self.tree.landscape.minima)
        ari = self.nonprivate_ari
        return Outcome(peaks, self.tree.n_leaves, PEAKS) if ari is None else Outcome(peaks, ari, AGREEMENT)
