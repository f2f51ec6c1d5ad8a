"""Source-target clustering as a picture: a secret source, what is released in its place, and centers chosen beside it.

Everything public is computed from the release, the targets and the parameters.
"""

import math
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from dpviz.core import Ball, FloatArray, Points, Result, fingerprint, frozen, unit_records, voronoi_borders
from dpviz.methods.source_target.algorithm import Params, SourceTargetRelease, Step
from dpviz.methods.source_target.algorithm.coreset_cells import coreset
from dpviz.methods.source_target.story import charts
from dpviz.methods.source_target.story import layers as draw
from dpviz.methods.source_target.story import words as saying
from dpviz.methods.source_target.story.told import (
    SELECT_SEED,
    SourceTargetContext,
    TargetReference,
    nonprivate_accuracies,
    unit_of_cost,
)
from dpviz.methods.source_target.story.words import TERMS
from dpviz.plots import Axis, Frame, Scene
from dpviz.solvers import nearest_distance, select_centers
from dpviz.stories import center_facts
from dpviz.stories.ground_layers import box_layer
from dpviz.stories.label import Contents, box_words
from dpviz.stories.outcomes import Figure, Outcome
from dpviz.stories.panel import Fact, Sentence, counted, number
from dpviz.stories.run import Chart
from dpviz.stories.stage import Stage
from dpviz.stories.view import Projection, View, Words, project

WIDER = (0.0, 0.08, 0.25, 0.6)  # of the frame, on each side; farther out a mark would leave too little of the box


def _widened(plane: Projection, public: FloatArray) -> tuple[Axis, Axis]:
    """Return the plane's axes, wide enough for points (n, 2) that anybody may see: noise leads out of the box.

    They grow by one step of WIDER on every side, so that few moves of ε change the frame.
    """
    axes = (plane.x, plane.y)
    views = np.array([axis.view for axis in axes])
    widths = views[:, 1] - views[:, 0]
    out = np.maximum(views[:, 0] - public, public - views[:, 1]) / widths  # (n, 2), shares of the frame
    needed = float(out.max(initial=0.0))
    more = next((step for step in WIDER if step >= needed), WIDER[-1]) * widths
    low, high = views[:, 0] - more, views[:, 1] + more
    return (
        replace(plane.x, view=(float(low[0]), float(high[0]))),
        replace(plane.y, view=(float(low[1]), float(high[1]))),
    )


def frames(told: SourceTargetContext) -> tuple[Frame, ...]:
    """Name the stops of the scrubber, in public words."""
    release, params, r = told.result.release, told.params, told.step.n_averages
    given = "Targets and box are public. The source is secret: its records serve whoever is near."
    if params.method == "nna":
        averaged = Frame("1: cells", "Each source record goes to the nearest target with an average.")
        noise = f"Counts and sums get noise of ± {number(release.scale)}."
        refused = f"A noisy count below {number(release.threshold or 0.0)} refuses its cell."
        released = Frame(f"3: release, {told.n_released} of {r} noisy averages", refused)
    else:
        averaged = Frame("1: neighbors", f"For each target, the mean of the {params.t} source records nearest to it.")
        noise = f"Each coordinate gets noise of ± {number(release.scale)} diameters of the ball."
        released = Frame(f"3: release, {counted(r, 'noisy average')}", "All of them are released.")
    k = len(release.selected)
    chosen = (
        f"{k} {'targets become centers' if k != 1 else 'target becomes a center'} beside the averages. That costs no "
        "privacy: nobody looks at the source."
    )
    return (Frame("0: given", given), averaged, Frame("2: noise", noise), released, Frame("4: new centers", chosen))


class SourceTargetRun(SourceTargetContext):
    """One run of source-target clustering: what stands in for the source, and the centers beside it."""

    terms = TERMS
    page_fields = ("record",)

    @classmethod
    def reference_key(cls, params: Params) -> tuple[object, ...]:
        """Return what the comparison depends on beside the data: not on noise and budget."""
        ball = None if params.ball is None else (fingerprint(params.ball.center), params.ball.radius)
        return (fingerprint(params.targets), ball, params.n_centers, params.solver, params.coreset_radius)

    @classmethod
    def find_reference(cls, points: Points, words: Words, result: object, params: Params) -> TargetReference:
        """Choose centers beside the source itself, and as if there were none."""
        del result
        targets, box = params.targets, words.box
        points = box.clip(points)
        ball = Ball.around(box) if params.ball is None else params.ball
        places = targets[coreset(ball.to_unit(targets), params.coreset_radius).representatives]
        borders = np.empty((1, 0, 4))
        if box.d == 2:
            borders = voronoi_borders(box.to_unit(places)[None], (float(box.widths[0]), float(box.widths[1])))
        beside, alone = (
            select_centers(
                targets, given, params.n_centers, solver=params.solver, rng=np.random.default_rng(SELECT_SEED)
            )
            for given in (points, points[:0])
        )
        return TargetReference(
            frozen(nearest_distance(targets, points)), frozen(beside), frozen(alone), frozen(borders)
        )

    @classmethod
    def of(
        cls,
        result: Result[SourceTargetRelease, Step],
        params: Params,
        points: Points,
        words: Words,
        reference: Any = None,
    ) -> Self:
        """Prepare the context of a run on the source `points` (m, d), data units."""
        release, box = result.release, words.box
        known = np.concatenate([release.centers, params.targets[release.selected]])
        served, servers = cKDTree(known).query(params.targets, k=1)
        unit = unit_records(points, box)
        return cls(
            result=result,
            params=params,
            unit=unit,
            words=words,
            reference=reference,
            targets=box.to_unit(params.targets),
            servers=np.asarray(servers, dtype=np.intp),
            served=np.asarray(served),
        )

    def finding(self) -> Sentence:
        """Say the run in one sentence; without a proof no limit is named."""
        params = self.params
        spent = (
            f"At ρ = {number(params.rho)}" if params.rho is not None else f"At ε = {number(params.epsilon or math.inf)}"
        )
        k, r = len(self.result.release.selected), self.step.n_averages
        centers = f"{k} new {'centers' if k != 1 else 'center'}"
        released = self.n_released if params.method == "nna" else r
        averages = "averages stand" if released != 1 else "average stands"
        means = f"{released} noisy {averages} in for the secret {saying.source_words(self)}"
        made = f"{spent}, {means}"
        cost, without = saying.costs(self)
        off = f"with {centers}, the way to the nearest is {saying.way(cost, without)} without privacy"
        return Sentence(curator=f"{made}; {off}.", public=f"{made}, and {centers} {'are' if k != 1 else 'is'} chosen.")

    def utility(self) -> tuple[Fact, ...]:
        """Return what the release says, public, and what it costs, which is exact: the curator's."""
        unit, (cost, floor) = unit_of_cost(self.words), saying.costs(self)
        ignorant = self.nonprivate_cost(self.reference.ignorant)
        r = self.step.n_averages
        facts = [
            Fact("Cost", f"{number(cost)}{unit}", "Mean distance from a target to the source or a new center.", False),
            Fact(
                "Beside no privacy",
                saying.times(cost, floor),
                "Without privacy, centers are chosen beside S itself.",
                False,
            ),
            Fact(
                "Ignoring the source", saying.times(ignorant, floor), "Cluster T: centers for the targets alone.", False
            ),
            Fact("Cost estimated from S′", f"{number(float(self.served.mean()))}{unit}", "All the public knows.", True),
        ]
        facts += [
            Fact(
                f"Right label, {name}", f"{number(100 * share)} %", "1-NN on T, labels of S and of the centers.", False
            )
            for name, share in nonprivate_accuracies(self)
        ]
        points = f"{self.n_released} of {r}"
        shared = (
            f"{len(self.targets)} targets share {r} averages." if r < len(self.targets) else "Each target has its own."
        )
        return (
            *facts,
            Fact("Points in S′", points, shared, True),
            *saying.noise_facts(self),
            *saying.bound_facts(self),
        )

    def risk(self) -> tuple[Fact, ...]:
        """Return what the guarantee allows an attacker; public."""
        return center_facts.risk(self.result.guarantee.proved)

    def contents(self) -> Contents:
        """Declare what a run protects, takes as public, and shows in confidence."""
        targets = (
            "All targets" if self.targets_public else "The targets, which were spread over the records' bounds here"
        )
        return Contents(
            "Whether one record is in the source, and all of its values. Targets are not protected.",
            (targets, f"{box_words(self.words)}, and the ball around it", "ε or ρ, and every other knob"),
            (
                "Source records, their exact averages and counts",
                "The cost beside the source, and what centers without privacy would cost",
                "The data-dependent bound",
            ),
        )

    def draw(self, view: View, *, rng: np.random.Generator) -> Scene:
        """Return the moving picture; `.public()` leaves what the world may see. Nothing here is drawn by `rng`."""
        del rng
        plane = project(view, self.words, self.unit)
        stage = Stage(plane, draw.CLOCK)
        x, y = _widened(plane, stage.projection(np.concatenate([self.released, self.targets])))
        layers = (
            *box_layer(stage, public=self.words.box_public),
            *draw.given_layers(self, stage),
            *draw.average_layers(self, stage),
            *draw.release_layers(self, stage),
            *draw.choice_layers(self, stage),
        )
        return Scene(
            title=self.words.title,
            alt=saying.alt(self),
            caption=saying.caption(self, plane),
            x=x,
            y=y,
            axes_public=not plane.nonprivate,
            layers=layers,
            frames=frames(self),
            start_frame=draw.CHOICE,
        )

    def charts(self) -> tuple[Chart, ...]:
        """Return (key, chart) of what stands below the numbers: counts and threshold, or the bound and the truth."""
        if self.params.method == "nna":
            return (Chart("counts", charts.count_chart(self)),)
        return (Chart("bound", charts.bound_chart(self)),)

    def recolored(self, shape: tuple[int, int, int]) -> NDArray[np.uint8]:
        """Return a photograph (height, width, 3) whose pixels wear the nearest released color or center: curator."""
        box, release = self.words.box, self.result.release
        known = np.concatenate([release.centers, self.params.targets[release.selected]])
        colors = np.clip(np.rint(known), 0, 255).astype(np.uint8)
        nearest = np.asarray(cKDTree(known).query(box.from_unit(self.unit), k=1)[1])
        return np.asarray(colors[nearest].reshape(shape))

    def outcome(self) -> Outcome:
        """Return what many runs show of this one: its new centers, and what they cost beside the source."""
        floor = self.nonprivate_cost(self.reference.nonprivate_selected)
        unit = unit_of_cost(self.words).strip()
        figure = Figure(
            "mean distance", unit, "the mean distance is more than", mark=floor, mark_name="Without privacy"
        )
        return Outcome(self.selected, self.nonprivate_cost(self.result.release.selected), figure)
