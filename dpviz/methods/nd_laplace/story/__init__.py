"""nD-Laplace as a picture: everyone moves their own point before anyone sees it.

There is no curator. Gray is what one person alone knows: the record, the length and the direction of its move.
"""

from collections.abc import Callable
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dpviz.attacks import laplace_total_variation, two_point_success
from dpviz.attacks.location import MAX_FEATURES
from dpviz.core import Points, PointsRelease, Result, attacker_odds, unit_records
from dpviz.mechanisms import radius_probability
from dpviz.methods.nd_laplace.algorithm import Params, Step, local_claim, noise_box
from dpviz.methods.nd_laplace.story import layers as draw
from dpviz.methods.nd_laplace.story.told import Measure, PointsContext, look_at, measure_of, plane_of
from dpviz.metrics import mean_pair_error, nonprivate_displacement
from dpviz.plots import Audience, Axis, Kind, Layer, Role, Scene, always
from dpviz.stories.glossary import meant
from dpviz.stories.label import NOBODY, Contents, box_words
from dpviz.stories.outcomes import Figure, Outcome
from dpviz.stories.panel import Fact, Sentence, at_least, at_most, attacker, number, odds
from dpviz.stories.run import Chart
from dpviz.stories.view import Projection, View, Words

PAIRED = 300  # records whose pairs are averaged: their number grows with the square
INSIDER = "Each person"  # sees what the public does not: there is no curator
TERMS = (
    ("Gray", "Known to one person alone. There is no curator here: everyone adds noise before sending."),
    *meant("local model", "geo-indistinguishability", "perturbation area"),
    ("Rings", "Circles that hold 50, 90 and 95 in 100 releases of the chosen record. The legend switches them on."),
    ("Clamp", "Points outside go to the wall of the public box. It costs nothing."),
    ("Draw again", "Until the point is inside. Near a wall it tells more: up to twice the ε."),
    ("Remap", "Points go to places of a public grid. It costs nothing."),
)


def radius_chart(told: PointsContext) -> Scene:
    """Return the law of the radius beside how far the records really moved: the latter is theirs alone."""
    shape, edges = told.words.box.d, _edges(told)
    density = np.diff(_below(edges, shape)) / np.diff(edges)
    middles = 0.5 * (edges[1:] + edges[:-1])
    law = np.stack([middles, density], axis=1)[None, None]
    scaled = told.step.radius * told.params.epsilon
    counts = np.histogram(scaled, edges)[0] / max(told.n, 1) / np.diff(edges)
    rect = np.stack([edges[:-1], np.zeros(len(counts)), edges[1:], counts], axis=1)[None]
    name = "The law, before drawing again" if told.params.domain == "redraw" else "The law"
    layers = (
        Layer(
            "Records' radii",
            Kind.BARS,
            Role.NOISE,
            Audience.CURATOR,
            {"rect": rect},
            always(1),
            fill=0.5,
            isolate=False,
        ),
        Layer(name, Kind.LINES, Role.NOISE, Audience.NOISE, {"xy": law}, always(1), size=2.0, isolate=False),
    )
    per = 1.0 / told.params.epsilon
    return Scene(
        title="How far points move",
        alt="Density of the distance between record and released point.",
        caption=f"Gamma law of shape {shape}: mean {told.measure.words(shape * per)}.",
        x=Axis(
            "distance",
            "% of the range" if told.measure.shares else told.measure.unit,
            (0.0, float(edges[-1])),
            (0.0, 100.0 * per if told.measure.shares else per),
        ),
        y=Axis("density", view=(0.0, 1.5 * float(density.max())), ticks=False),
        layers=layers,
        equal=False,
        scrubber=False,
    )


def distance(told: PointsContext) -> tuple[float, str]:
    """Return the radius that claims are stated for, in the unit of their epsilon, and its words."""
    return told.measure.radius, told.measure.said


def allowed(measure: Measure, *, factor: float = 1.0) -> Callable[[float], str]:
    """Return what says in words what a level within the radius allows; `factor` is what drawing again costs."""

    def note(level: float) -> str:
        return attacker(attacker_odds(factor * level), f"Two places {measure.said} apart")

    return note


def _basis(told: PointsContext) -> str:
    inner = "Shares of each feature's public range are the unit." if told.measure.shares else ""
    return f"ε = {number(told.level)} per {told.measure.said}. {inner}".strip()


def _caption(told: PointsContext) -> str:
    kept = "drawn again until it is inside, " if told.params.domain == "redraw" else ""
    return (
        f"{_basis(told)} Each person shifts their own point by a random distance r in a random direction, {kept}and "
        "sends it. Circles show where the chosen one could have gone."
    )


def _alt(told: PointsContext) -> str:
    return (
        f"Scatter plot of {told.n:,} points, each moved by its owner, with the public box"
        f" and one record's perturbation area of mean radius {told.measure.words(told.area.mean_radius)}."
    )


def _edges(told: PointsContext) -> NDArray[np.float64]:
    """Return the bins of epsilon times the radius: public, to far beyond the mean."""
    d = told.words.box.d
    return np.linspace(0.0, d + 5.0 * np.sqrt(d) + 2.0, 41)


def _below(scaled: NDArray[np.float64], d: int) -> NDArray[np.float64]:
    return radius_probability(scaled, d, epsilon=1.0)


class NDLaplaceRun(PointsContext):
    """One run of nD-Laplace: points that their owners moved before anyone saw them."""

    terms = TERMS
    page_fields = ("look",)

    @classmethod
    def of(
        cls, result: Result[PointsRelease, Step], params: Params, points: Points, words: Words, reference: None = None
    ) -> Self:
        """Return the run on `points` (n, d), data units; ε is per unit until the page names its radius."""
        del reference
        unit = unit_records(points, words.box)
        return cls(result, params, unit, words, look=look_at(measure_of(words.units, params, 1.0), 0))

    def finding(self) -> Sentence:
        """Say the run in one sentence; ε never comes without its distance."""
        mean = self.measure.words(self.area.mean_radius)
        spent = f"At ε = {number(self.level)} per {self.measure.said}, every point moves {mean} on average"
        if not self.n:
            return Sentence(curator=f"{spent}.", public=f"{spent}.")
        moved = nonprivate_displacement(self.unit / self.scales, self.released / self.scales).distance
        return Sentence(curator=f"{spent} ({self.measure.words(moved)} in this run).", public=f"{spent}.")

    def utility(self) -> tuple[Fact, ...]:
        """Return how far the release is from the records: theirs alone, but for the law."""
        area, measure = self.area, self.measure
        facts = [
            Fact("Expected move", measure.words(area.mean_radius), "n/ε, before the box is looked at.", True),
            Fact("90 in 100 move at most", measure.words(area.radii[1]), "Quantile of the Gamma law.", True),
        ]
        if self.n:
            box = self.words.box
            outside = ((self.result.release.points < box.low) | (self.result.release.points > box.high)).any(axis=1)
            moved = nonprivate_displacement(self.unit / self.scales, self.released / self.scales)
            facts += [
                Fact("Outside the box", odds(100.0 * float(outside.mean())), "Released points, seen by all.", True),
                Fact("Average move, this run", measure.words(moved.distance), "From record to release.", False),
                Fact(
                    "Per feature, root mean square", measure.words(float(np.sqrt(moved.mse))), "Root of the MSE.", False
                ),
                Fact("Per feature, mean", measure.words(moved.mae), "Mean absolute error.", False),
            ]
            if self.params.domain == "redraw":
                again = float(self.step.n_rejected.mean())
                facts.append(Fact("Draws thrown away", f"{number(again)} each", "Depends on the records.", False))
        return tuple(facts)

    def risk(self) -> tuple[Fact, ...]:
        """Return what the guarantee allows an attacker; public but for the average over the records' pairs."""
        level, d = self.proved_level, self.words.box.d
        if level is None:
            return ()
        apart = f"Which of two places {self.measure.said} apart is yours; a coin: 50 in 100."
        facts = []
        if self.params.domain != "redraw" and d <= MAX_FEATURES:
            variation = laplace_total_variation(self.params.epsilon, self.measure.radius, d)
            best = 100.0 * float(two_point_success(variation))
            about = "" if self.params.domain == "none" else "at most "
            facts.append(Fact("On average over releases", f"{about}{odds(best)}", f"Best attacker. {apart}", True))
        across = local_claim(self.words.box, self.params).epsilon
        why = "Which of two places at opposite corners of the box is yours."
        facts.append(Fact("Across the whole box", at_most(attacker_odds(across)), why, True))
        if self.n > 1:
            rows = np.linspace(0, self.n - 1, min(self.n, PAIRED)).astype(np.intp)
            error = mean_pair_error(self.unit[rows] / self.scales, epsilon=self.params.epsilon)
            why = "Least error between two records, in the worst release, averaged over pairs of up to 300 records."
            facts.append(Fact("Attacker's minimum error, average over pairs", at_least(100.0 * error), why, False))
        return tuple(facts)

    def contents(self) -> Contents:
        """Declare what a run protects, takes as public, and shows to each person alone."""
        measure, diagonal = self.measure, noise_box(self.words.box, self.params).diagonal
        near = [
            measure.radius * times for times in (1.0, 2.0, 5.0) if times == 1.0 or measure.radius * times < diagonal
        ]
        grid = ("The grid, and what is believed before",) if self.params.domain == "remap" else ()
        return Contents(
            "Where one person is, among places not far apart. That somebody took part is not hidden.",
            (box_words(self.words), "ε, the unit of distance, the number of persons", *grid),
            ("Each person's own place", "How far and where it was moved", "Clusters of the true places"),
            NOBODY,
            (
                *((length, measure.words(length)) for length in near),
                (diagonal, f"{measure.words(diagonal)}, across the box"),
            ),
        )

    def draw(self, view: View, *, rng: np.random.Generator) -> Scene:
        """Return the moving picture; `.public()` leaves what the world may see. `rng` draws what only shows the law."""
        drawn = plane_of(view, self)
        frames = draw.frames_of(self)
        return Scene(
            title=self.words.title,
            alt=_alt(self),
            caption=_caption(self),
            public_caption=f"{_basis(self)} Everyone else sees only what is blue.",
            x=drawn.x,
            y=drawn.y,
            axes_public=not drawn.nonprivate,
            layers=tuple(draw.layers(self, drawn, rng)),
            frames=frames,
            start_frame=len(frames) - 1,
        )

    def plane(self, view: View) -> Projection:
        """Return the plane of the picture: a map of equal lengths has another than the view alone says."""
        return plane_of(view, self)

    def charts(self) -> tuple[Chart, ...]:
        """Return (key, chart) of what stands below the numbers: how far points move."""
        return (Chart("radius", radius_chart(self)),)

    def recolored(self, shape: tuple[int, int, int]) -> NDArray[np.uint8]:
        """Return a photograph (height, width, 3) whose pixels wear their released colors."""
        return np.clip(np.rint(self.result.release.points), 0, 255).astype(np.uint8).reshape(shape)

    def outcome(self) -> Outcome:
        """Return what many runs show of this one: where the chosen record is seen, and how far it was moved."""
        measure, row = self.measure, self.record
        moved = float(np.linalg.norm((self.released[row] - self.unit[row]) / self.scales))
        times, unit = (100.0, "% of the range") if measure.shares else (1.0, measure.unit or "units")
        mean = ("Expected", times * self.area.mean_radius)
        figure = Figure("move of this record", unit, "it is moved by more than", mark=mean[1], mark_name=mean[0])
        return Outcome(self.released[[row]], times * moved, figure)
