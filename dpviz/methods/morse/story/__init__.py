"""Morse processing as a picture: a private mixture's landscape, its hierarchy, and the search that found it.

Everything blue or colored is computed from the released mixture: post-processing, which costs nothing.
"""

from dataclasses import replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dpviz.accounting import zcdp_rho
from dpviz.core import Budget, Labels, Points, Result, unit_records
from dpviz.methods.morse.algorithm import MorseRelease, Params, Step
from dpviz.methods.morse.algorithm.budget import MorseScheme, noise_scale
from dpviz.methods.morse.story import dendrogram, surface_scene
from dpviz.methods.morse.story import landscape_layers as draw
from dpviz.methods.morse.story import landscape_plane as land
from dpviz.methods.morse.story import landscape_words as saying
from dpviz.methods.morse.story import point_layers as points_of
from dpviz.methods.morse.story import string_search as strings
from dpviz.methods.morse.story.landscape_stage import (
    LandscapeContext,
    cut_frames,
    cut_heights,
    level_frames,
    levels,
    split_colors,
)
from dpviz.methods.morse.story.landscape_words import TERMS
from dpviz.methods.morse.story.search import search_layers
from dpviz.plots import Frame, Scene
from dpviz.solvers import assign_basins, merge_tree
from dpviz.stories import center_facts, charts
from dpviz.stories.ground_layers import box_layer
from dpviz.stories.label import RECORD, Contents, box_words
from dpviz.stories.ledger import LedgerRow
from dpviz.stories.outcomes import Figure, Outcome
from dpviz.stories.panel import Fact, Sentence, agreement, ceiled, chance_limit, counted, number, odds
from dpviz.stories.run import Chart
from dpviz.stories.stage import Clock, Stage
from dpviz.stories.view import View, Words, project

DENDROGRAM_HEIGHT = 250  # CSS pixels
AGREEMENT = Figure("agreement", "ARI", "the agreement is less than", above=False, mark=1.0, mark_name="Perfect")
PEAKS = Figure("number of peaks", "", "the number of peaks is less than", above=False)


def ledger_chart(told: LandscapeContext) -> Scene:
    """Return what each step spends, from the release's events, in ρ: that adds up where ε does not."""
    proved = told.result.guarantee.proved
    in_all = "" if proved is None else f" ε = {ceiled(proved.epsilon)} at δ = {chance_limit(proved.delta)} in all."
    note = f"{in_all} Everything after the mixture is free."
    return charts.ledger_chart(told.ledger(), proved=told.proved, unit="step", symbol="ρ", note=note)


def _frames(told: LandscapeContext) -> tuple[tuple[Frame, ...], int]:
    """Return the stops of the scrubber, in public words, and the one that is shown first."""
    if told.look.moves == "level":
        named = level_frames(levels(told))
        return named, len(named) // 2
    if told.look.moves == "search":
        found = strings.find(told)
        if found is None:
            return (Frame("No pair", "One component is left: there is nothing to search between."),), 0
        named = strings.frames(found)
        return named, len(named) - 1
    return cut_frames(told), min(told.n_clusters, told.n_cuts) - 1


def _cheap(told: LandscapeContext) -> Labels:
    mixture = told.result.release.mixture
    best = mixture.quick_log_terms(land.signed(told.unit)).argmax(axis=1)
    return np.asarray(told.tree.cut(told.params.n_clusters)[told.tree.landscape.component_minima[best]])


def _noise_fact(told: LandscapeContext) -> Fact:
    """Say how much noise each count has, beside what the other calibration takes."""
    params, sigma = told.params, told.result.release.sigma
    value, why = f"± {number(sigma)} records", "Standard deviation (DPLloyd: scale) of the noise of one count."
    if params.base != "dpcube":
        scheme = MorseScheme(
            params.base,
            True,
            params.neighbors,
            Budget(params.epsilon, params.delta),
            told.words.box.d,
            params.n_components,
            params.n_iterations,
        )
        why += f" The paper's formula takes {number(noise_scale(scheme))}."
    return Fact("Noise of a count", value, why, True)


class MorseRun(LandscapeContext):
    """One run of Morse processing: a private mixture's landscape, and the hierarchy of its peaks."""

    terms = TERMS
    page_fields = ("look",)

    @classmethod
    def of(
        cls, result: Result[MorseRelease, Step], params: Params, points: Points, words: Words, reference: None = None
    ) -> Self:
        """Prepare the context of a run on `points` (n, d), data units."""
        del reference
        mixture = result.release.mixture
        tree, unit = merge_tree(mixture), unit_records(points, words.box)
        regions = land.regions(mixture, tree.n_leaves, unit) if mixture.d == 2 else None
        basins = regions.nonprivate_records if regions else assign_basins(mixture, land.signed(unit))
        return cls(
            result, params, unit, words, tree=tree, regions=regions, nonprivate_basins=basins, colors=split_colors(tree)
        )

    def finding(self) -> Sentence:
        """Say the run in one sentence; without a proof no limit is named."""
        spent = f"At ε = {number(self.params.epsilon)}"
        release, k, k0 = self.result.release, self.n_clusters, len(self.result.release.start)
        many, one = ("" if k0 == 1 else "s", "s") if len(release.kept) == 1 else ("s", "")
        kept = f"{len(release.kept)}" + (f" of {k0}" if len(release.kept) < k0 else "")
        clusters = f"{k} {'clusters' if k != 1 else 'cluster'}"
        peaks = f"{self.tree.n_leaves} {'peaks' if self.tree.n_leaves != 1 else 'peak'}"
        made = f"{spent}, {kept} noisy component{many} make{one} a landscape of {peaks}, cut into {clusters}"
        if k < self.params.n_clusters:
            made += f": {self.params.n_clusters} were asked for, but there are no more peaks (raise ε or change K₀)"
        ari = self.nonprivate_ari
        hit = "" if ari is None else f"; they {agreement(ari)}"
        return Sentence(curator=f"{made}{hit}.", public=f"{made}.")

    def utility(self) -> tuple[Fact, ...]:
        """Return the landscape's numbers, public, and how good the clusters are, which is exact: the curator's."""
        release, tree = self.result.release, self.tree
        ari, k0 = self.nonprivate_ari, len(release.start)
        facts = []
        if ari is not None:
            why = "Adjusted Rand index of the records' clusters and their true classes: 1 is perfect, 0 is chance."
            facts.append(Fact("Agreement with the classes (ARI)", number(ari), why, False))
        if len(self.unit):
            off = 100.0 * float(np.mean(_cheap(self) != self.nonprivate_clusters))
            why = "Records that the likeliest component alone would put into another cluster than the flow does."
            facts.append(Fact("Labels changed by the shortcut", odds(off), why, False))
        found = len(tree.landscape.transitions)
        lost = "" if not tree.n_unreachable else f" Without a pass, joined last: {counted(tree.n_unreachable, 'part')}."
        one_basin = "Two components can share a basin: then they are one peak."
        facts += [
            Fact("Components kept", f"{len(release.kept)} of {k0}", "The others drown in their noise.", True),
            Fact("Peaks", str(tree.n_leaves), f"Most clusters that a cut can give. {one_basin}", True),
            Fact("Transition points", str(found), f"Passes between two basins.{lost}", True),
            _noise_fact(self),
        ]
        return tuple(facts)

    def risk(self) -> tuple[Fact, ...]:
        """Return what the guarantee allows an attacker; public."""
        return center_facts.risk(self.result.guarantee.proved)

    def contents(self) -> Contents:
        """Declare what a run protects, takes as public, and shows in confidence."""
        size = ("The number of records",) if self.params.adjacency == "replace" else ()
        return Contents(
            RECORD if not size else "All values of one record; that it is in the data is public.",
            (box_words(self.words), "ε, δ and every other knob", *size),
            (
                "Records, and who is in which basin",
                "Agreement with known classes",
                "Runs beside the one that is released",
            ),
        )

    def draw(self, view: View, *, rng: np.random.Generator) -> Scene:
        """Return the moving picture; `.public()` leaves what the world may see. Nothing here is drawn by `rng`."""
        del rng
        look = self.look
        plane = project(view, self.words, self.unit)
        if view.surface and plane.d > 1:
            return surface_scene.scene(self, plane, view, *_frames(self))
        frames, start = _frames(self)
        stage = Stage(plane, Clock(len(frames) - 2, ("stop",)))
        groups = draw.group_rows(self, look.moves)
        stops = levels(self) if look.moves == "level" else ()
        found = strings.find(self) if look.moves == "search" else None
        layers = [
            *box_layer(stage, public=self.words.box_public),
            *draw.ground_layers(self, stage, groups, stops),
            points_of.record_layer(self, stage, groups),
            *points_of.component_layers(self, stage, groups),
            *points_of.path_layers(self, stage, groups),
            *(search_layers(self, stage, found) if found else []),
            *draw.critical_layers(self, stage, groups, joins=look.moves == "cut"),
        ]
        if look.moves != "cut":  # less to look past
            layers = [replace(one, shown=False) if one.name in ("Components", "Records") else one for one in layers]
        return Scene(
            title=self.words.title,
            alt=saying.alt(self),
            caption=saying.caption(self, plane),
            hint="" if plane.nonprivate else saying.HINT,
            x=plane.x,
            y=plane.y,
            axes_public=not plane.nonprivate,
            layers=tuple(layers),
            frames=frames,
            start_frame=start,
            group_names=self.group_names,
        )

    def charts(self) -> tuple[Chart, ...]:
        """Return the dendrogram and the ledger."""
        frames, start = _frames(self)
        groups, heights = draw.group_rows(self, self.look.moves), cut_heights(self)
        if self.look.moves == "level":
            heights = np.array([stop.height for stop in levels(self)])
        elif self.look.moves == "search":
            heights = heights[[min(self.n_clusters, self.n_cuts) - 1]]
        tree = dendrogram.chart(self, frames, start, heights, groups)
        return (Chart("dendrogram", tree, DENDROGRAM_HEIGHT), Chart("ledger", ledger_chart(self)))

    def ledger(self) -> tuple[LedgerRow, ...]:
        """Return what each step spends, in zCDP's ρ: public, it follows from the events."""
        adjacency = self.params.neighbors
        return tuple(LedgerRow(i + 1, "Steps", zcdp_rho((e,), adjacency), 1) for i, e in enumerate(self.result.events))

    def recolored(self, shape: tuple[int, int, int]) -> NDArray[np.uint8]:
        """Return a photograph (height, width, 3) whose pixels wear their cluster's mean released color: curator."""
        clusters, release = self.tree.cut(self.n_clusters), self.result.release
        own = clusters[self.tree.landscape.component_minima]
        weights = np.zeros((self.n_clusters, len(release.centers)))
        weights[own, np.arange(len(own))] = release.mixture.weights
        total = weights.sum(axis=1, keepdims=True)
        means = weights @ release.centers / np.where(total > 0, total, 1.0)
        peaks = self.words.box.from_unit(land.unsigned(self.tree.landscape.minima))
        firsts = np.unique(clusters, return_index=True)[1]
        colors = np.where(total > 0, means, peaks[firsts])
        return np.clip(np.rint(colors), 0, 255).astype(np.uint8)[clusters[self.nonprivate_basins]].reshape(shape)

    def outcome(self) -> Outcome:
        """Return what many runs show of this one: its peaks, and how well its clusters agree with the known classes."""
        peaks = land.unsigned(self.tree.landscape.minima)
        ari = self.nonprivate_ari
        return Outcome(peaks, self.tree.n_leaves, PEAKS) if ari is None else Outcome(peaks, ari, AGREEMENT)
