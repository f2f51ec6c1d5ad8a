"""nD-Laplace as a picture: everyone moves their own point before anyone sees it.

There is no curator. Gray marks values that only one person knows: the record, the length and the direction of its
move. Every picture is in box units. Noise is in the unit that ε refers to: the data's own unit, or shares of each
feature's public range, which are the box units themselves.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import numpy as np

from dpviz.attacks import laplace_total_variation, two_point_success
from dpviz.attacks.location import MAX_FEATURES
from dpviz.core import (
    Box,
    ByteArray,
    FloatArray,
    Points,
    PointsRelease,
    Result,
    attacker_odds,
    frozen,
    immutable_value,
    unit_records,
)
from dpviz.mechanisms import PerturbationArea, perturbation_area, radius_quantile
from dpviz.methods.nd_laplace.algorithm import Params, Step, local_claim, noise_box
from dpviz.methods.nd_laplace.charts import radius_chart
from dpviz.methods.nd_laplace.layers import Measure, draw_layers, frames_of
from dpviz.metrics import mean_pair_error, nonprivate_displacement
from dpviz.plots import Layer, Scene, Strip
from dpviz.plots import Measure as StripMeasure
from dpviz.plots.scene import Lens
from dpviz.stories.center_facts import BAND, inverse
from dpviz.stories.glossary import meant
from dpviz.stories.ground_layers import box_layer
from dpviz.stories.label import NOBODY, Contents, box_words, protected
from dpviz.stories.lens import lens_on
from dpviz.stories.outcomes import Figure, Outcome
from dpviz.stories.panel import Fact, Sentence, at_least, at_most, number, odds
from dpviz.stories.run import Chart, Run
from dpviz.stories.stage import Clock, Stage
from dpviz.stories.view import MARGIN, Projection, View, Words, project
from dpviz.stories.wording import MOST_CHARACTERS, Doubt, length_words, percent

# Number of records whose pairs are averaged: the number of pairs grows with its square.
PAIRED = 300
# Ratio of a picture's longest side to its shortest up to which lengths are equal on both axes. Our choice.
LONGEST = 4.0
# Widths of the map. Greater distances make no difference.
MOST_MAPS = 10.0
# Shares of the map's width, which separate the sentences about the length of a move. Our choice.
GONE, OUTLINE, DISTRICTS, STREETS = 1.0, 0.3, 0.1, 0.03
# Widths of the map: the lower end of a strip's axis, whose upper end is MOST_MAPS. Our choice.
LEAST_MAPS = 0.005
TERMS = (
    ("Gray", "Known to one person alone. There is no curator here: everyone adds noise before sending."),
    *meant("local model", "geo-indistinguishability", "perturbation area"),
    ("Rings", "Circles that contain half, or 9 in 10, of the places where the chosen person can land."),
    ("Clamp", "Points outside go to the wall of the public box. It costs nothing."),
    ("Draw again", "Until the point is inside. Near a wall it reveals more: up to twice the ε."),
    ("Remap", "Points go to places of a public grid. It costs nothing."),
)
# ε, domain, remap, unit.
Settings = tuple[float, str, str, str]


@immutable_value
class PointsLook(Measure):
    """The page's own settings of the picture: the radius that ε is for, and the record with a perturbation area."""

    record: int = 0

    @property
    def measure(self) -> Measure:
        """The radius with its unit, equal for all records."""
        return Measure(self.radius, self.unit, self.shares)


def has_one_unit(box: Box, units: tuple[str, ...]) -> bool:
    """Check whether raw distances over all features make sense: one unit, or ranges of about one size."""
    if len(set(units)) > 1:
        return False
    return bool(units and units[0]) or float(box.widths.max() / box.widths.min()) <= LONGEST


@dataclass(frozen=True, eq=False)
class NDLaplaceRun(Run[Params, PointsRelease, Step]):
    """One run of nD-Laplace. The release is public; only person i knows the rest of row i."""

    look: PointsLook = field(kw_only=True)

    terms = TERMS
    page_fields = ("look",)

    @classmethod
    def from_result(
        cls, result: Result[PointsRelease, Step], params: Params, points: Points, words: Words, reference: None = None
    ) -> Self:
        """Return the run on `points` (n, d), data units; ε is per unit until the page names its radius."""
        del reference
        look = PointsLook.from_params(words.units, params, 1.0)
        return cls(result, params, unit_records(points, words.box), words, look=look)

    # The run in numbers.

    @property
    def measure(self) -> Measure:
        """The radius that ε is for."""
        return self.look.measure

    @property
    def record(self) -> int:
        """The record whose perturbation area is drawn."""
        return self.look.record

    @property
    def step(self) -> Step:
        """The one step."""
        return self.steps[0]

    @property
    def level(self) -> float:
        """The bound on the difference of two places within the radius: epsilon times the radius."""
        return self.params.epsilon * self.measure.radius

    @property
    def proved_level(self) -> float | None:
        """The proved level, or None."""
        claim = self.guarantee.proved
        return None if claim is None else claim.epsilon * self.measure.radius

    @property
    def settings(self) -> Settings:
        """The parameters as a key, because parameters themselves may contain arrays."""
        return self.params.epsilon, self.params.domain, self.params.remap, self.params.unit

    @property
    def released(self) -> Points:
        """The released points (n, d), box units."""
        return self.words.box.to_unit(self.release.points)

    @property
    def n(self) -> int:
        """Number of records. Public, because every person sends a row."""
        return len(self.release.points)

    @property
    def area(self) -> PerturbationArea:
        """The distribution of the radius, in the unit of the noise."""
        return perturbation_area(self.words.box.d, epsilon=self.params.epsilon)

    @property
    def is_free(self) -> bool:
        """True if points stay where the noise moved them, even outside the box. Public."""
        return self.params.domain == "none"

    @property
    def scales(self) -> FloatArray:
        """Box units of one unit of noise along each feature, (d,)."""
        box = self.words.box
        return np.ones(box.d) if self.params.unit == "range" else 1.0 / box.widths

    @property
    def has_lens(self) -> bool:
        """True if two features of a person have noise alone, and stay where it moves them."""
        return self.is_flat_lesson and self.is_free

    def nonprivate_lens(self, record: int) -> Lens:
        """Return the lens on a record, by its index: its place, and the place one radius across, toward the middle."""
        here, measure, epsilon = self.unit[record] / self.scales, self.measure, self.params.epsilon
        ends = here + np.array([[0.0, 0.0], [measure.radius if self.unit[record, 0] < 0.5 else -measure.radius, 0.0]])
        lens = lens_on(
            ends,
            lambda places: -epsilon * np.linalg.norm(places - ends[:, None], axis=2),
            float(two_point_success(laplace_total_variation(epsilon, measure.radius, 2))),
            "Where your point lands",
            unit=self.scales,
        )
        return replace(lens, names=("from your place", f"from {measure.near_words} away"))

    # Words about the run.

    @property
    def distance(self) -> tuple[float, str]:
        """The radius that ε is for, with its words."""
        return self.measure.radius, self.measure.near_words

    @cached_property
    def nonprivate_move(self) -> float:
        """The mean move of the records, in the unit of the noise, which no one knows. 0 without records."""
        return nonprivate_displacement(self.unit / self.scales, self.released / self.scales).distance if self.n else 0.0

    @property
    def width(self) -> float:
        """The longest side of the box, in the unit of the noise. Public."""
        return float((1.0 / self.scales).max())

    def _away(self, move: float) -> str:
        """Write how far points move."""
        if move > MOST_MAPS * self.width:
            return "over ten maps"
        if self.measure.shares:
            return f"{percent(move / self.width)} of the map"
        return length_words(move, self.measure.unit)

    def _format_move(self, length: float) -> str:
        """Write a move in the unit of the noise, wherever it appears."""
        return percent(length) if self.measure.shares else length_words(length, self.measure.unit)

    @property
    def risk_label(self) -> str:
        """The attacker's question. Public."""
        return f"Which of two places {self.measure.near_words} apart?"

    @property
    def lede(self) -> str:
        """The purpose of the method, and its release. Public."""
        who = "person" if self.record_word == "person" else "owner"
        return f"Trust nobody: every {who} sends only a **noisy point**."

    def finding(self) -> Sentence:
        """Describe the run in one sentence: the expected move, and how much of the map it leaves. Public."""
        law, urban, doubt = self.area.mean_radius, set(self.words.units) == {"m"}, self.doubt
        share, away = law / self.width, self._away(law)
        # Walls change the places where points land, but not the protection from the noise.
        lands = f"Everyone lands {away} away on average" if self.is_free else f"Noise averages {away} inside the map"
        if share >= GONE:
            left = ": only noise is left"
        elif share >= OUTLINE:
            left = ": only a blur is left"
        elif share >= DISTRICTS:
            left = f": {'only districts still show' if urban else 'only groups still show'}"
        elif share >= STREETS:
            left = f": {'streets show, but not houses' if urban else 'details begin to show'}"
        elif doubt is Doubt.UNPROVED:
            left = "; no guarantee is proved"
        elif doubt is Doubt.GONE:
            left = f": your {'home' if urban else 'place'} shows through"
        else:
            left = ": only small details blur"
        sentence = f"{lands}{left}."
        if len(sentence) > MOST_CHARACTERS:
            sentence = sentence.replace(" of the map", "", 1).replace("Everyone lands", "All land", 1)
        if self.words.box_public:
            return Sentence(sentence, sentence)
        # If the map's bounds come from the records, the public does not learn its width.
        return Sentence(sentence, f"Noise averages {self._format_move(law)}{doubt.value}.")

    def strips(self) -> tuple[Strip | None, Strip | None]:
        """Return the axes of the points' move, next to the map's width, which is public if the bounds are."""
        times = 100.0 if self.measure.shares else 1.0
        line = (times * self.width, "the map's width")
        unit = "of the range" if self.measure.shares else ""
        low, high = LEAST_MAPS * line[0], 2.0 * MOST_MAPS * line[0]
        by_law = "Expected move" if self.is_free else "Average noise"
        return (
            Strip("Average move", unit, "moved", low, high, (line,), log=True),
            Strip(by_law, unit, "moved", low, high, (line,), log=True) if self.words.box_public else None,
        )

    def losses(self) -> tuple[StripMeasure | None, StripMeasure | None]:
        """Return the mean move of the points in this run, and by its distribution before the domain's step."""
        law, times, words = self.area.mean_radius, 100.0 if self.measure.shares else 1.0, self._format_move
        move = self.nonprivate_move
        # Without walls, the move is proportional to 1/ε like its distribution, up to the luck of this draw.
        own = inverse(times * move, times * move, times * move) if self.is_free else ()
        run = StripMeasure(times * move, words(move), own) if self.n else None
        d = self.words.box.d
        low, high = times * radius_quantile(BAND, d, epsilon=d / law)
        expected = StripMeasure(times * law, words(law), inverse(low, times * law, high))
        return run, expected if self.words.box_public else None

    def utility(self) -> tuple[Fact, ...]:
        """Return the distance of the release from the records: for their owners only, except for the distribution."""
        area, words = self.area, self._format_move
        facts = [
            Fact("Expected move", words(area.mean_radius), "n/ε, before the box applies.", True),
            Fact("90 in 100 move at most", words(area.radii[1]), "Quantile of the Gamma distribution.", True),
        ]
        if self.n:
            box, points = self.words.box, self.release.points
            outside = ((points < box.low) | (points > box.high)).any(axis=1)
            move = nonprivate_displacement(self.unit / self.scales, self.released / self.scales)
            facts += [
                Fact(
                    "Outside the box",
                    odds(100.0 * float(outside.mean())),
                    "Released points, visible to everyone.",
                    True,
                ),
                Fact("Average move, this run", words(move.distance), "From record to release."),
                Fact("Per feature, root mean square", words(float(np.sqrt(move.mse))), "Root of the MSE."),
                Fact("Per feature, mean", words(move.mae), "Mean absolute error."),
            ]
            if self.params.domain == "redraw":
                again = float(self.step.n_rejected.mean())
                facts.append(Fact("Draws thrown away", f"{number(again)} each", "Depends on the records."))
        return tuple(facts)

    def risk(self) -> tuple[Fact, ...]:
        """Return the guarantee's limits on an attacker. Public, except for the mean over the records' pairs."""
        if self.proved_level is None:
            return ()
        facts = []
        # The best attack is known for a single point only.
        if self.params.domain != "redraw" and self.words.box.d <= MAX_FEATURES and self.guarantee.rows == 1:
            variation = laplace_total_variation(self.params.epsilon, self.measure.radius, self.words.box.d)
            best = 100.0 * float(two_point_success(variation))
            words = odds(best) if self.is_free else at_most(best)
            why = f"Best attacker. Which of two places {self.measure.radius_words} apart is yours; a coin: 50 in 100."
            facts.append(Fact("On average over releases", words, why, True))
        across = self.guarantee.rows * local_claim(self.words.box, self.params).epsilon
        why = "Which of two places at opposite corners of the box is yours."
        facts.append(Fact("Across the whole box", at_most(attacker_odds(across)), why, True))
        if self.n > 1:
            rows = np.linspace(0, self.n - 1, min(self.n, PAIRED)).astype(np.intp)
            error = mean_pair_error(self.unit[rows] / self.scales, epsilon=self.proved_level / self.measure.radius)
            why = "Least error between two records, in the worst release, averaged over pairs of up to 300 records."
            facts.append(Fact("Attacker's minimum error, average over pairs", at_least(100.0 * error), why))
        return tuple(facts)

    def contents(self) -> Contents:
        """Return the secrets that a run protects, its public inputs, and the values that only their owners know."""
        measure, diagonal = self.measure, noise_box(self.words.box, self.params).diagonal
        near = [
            measure.radius * times for times in (1.0, 2.0, 5.0) if times == 1.0 or measure.radius * times < diagonal
        ]
        grid = ("The grid, and the prior belief",) if self.params.domain == "remap" else ()
        return Contents(
            protected(self.guarantee),
            (box_words(self.words), "ε, the unit of distance, the number of persons", *grid),
            ("Each person's own place", "How far and where it was moved", "Clusters of the true places"),
            NOBODY,
            (
                *((length, measure.words(length)) for length in near),
                (diagonal, f"{measure.words(diagonal)}, across the box"),
            ),
        )

    # What is drawn.

    def draw_scene(self, view: View) -> Scene:
        """Return the moving picture; `.public()` keeps only its public part."""
        plane, frames = self.plane(view), frames_of(self.params.domain)
        basis = f"ε = {number(self.level)} per {self.measure.radius_words}."
        if self.measure.shares:
            basis += " Shares of each feature's public range are the unit."
        again = "drawn again until it is inside, " if self.params.domain == "redraw" else ""
        return Scene(
            title=self.words.title,
            alt=f"Scatter plot of {self.n:,} points, each moved by its owner, with the public box and one record's "
            f"perturbation area of mean radius {self.measure.words(self.area.mean_radius)}.",
            caption=f"{basis} Each person shifts their own point by a random distance r in a random direction, {again}"
            "and sends it. Circles show where the chosen one could have gone.",
            public_caption=f"{basis} Everyone else sees only what is blue.",
            x=plane.x,
            y=plane.y,
            axes_public=not plane.nonprivate,
            layers=draw_layers(
                self.unit,
                self.released,
                self.step,
                self.record,
                self.params,
                self.words,
                self.measure,
                self.scales,
                plane,
                rng=np.random.default_rng(self.illustration_seed),
            ),
            frames=frames,
            start_frame=len(frames) - 1,
        )

    def plane(self, view: View) -> Projection:
        """Return the plane of `view`, with equal lengths on both axes of a map if the box allows it."""
        plane = project(view, self.words, self.unit)
        if plane.corners is None or plane.nonprivate:
            return plane
        box, ratio = self.words.box, np.ones(2)
        widths = box.widths[[view.x] if box.d == 1 else [view.x, view.y]]
        if self.params.unit == "data" and box.d > 1 and widths.max() <= LONGEST * widths.min():
            ratio = widths / widths.max()
        axes = []
        for axis, side in zip((plane.x, plane.y), ratio.tolist(), strict=True):
            # Values at scene coordinates 0 and 1. The box's upper wall is at `side`.
            low, high = axis.values
            values = low, low + (high - low) / side
            axes.append(replace(axis, view=(-MARGIN, side + MARGIN), values=values, ends=(0.0, side)))
        matrix, corners = frozen(plane.matrix * ratio), frozen(plane.corners * ratio)
        return replace(plane, matrix=matrix, x=axes[0], y=axes[1], corners=corners)

    def box_layers(self, plane: Projection) -> list[Layer]:
        """Draw the box in a picture with one frame."""
        return box_layer(Stage(plane, Clock(-1, ("still",))), public=self.words.box_public)

    def charts(self) -> tuple[Chart, ...]:
        """Return the chart below the numbers: how far points move."""
        return (Chart("radius", radius_chart(self.step.radius, self.params, self.words.box.d, self.measure)),)

    def recolored(self, shape: tuple[int, int, int]) -> ByteArray:
        """Return a photograph (height, width, 3) whose pixels have their released colors."""
        return np.clip(np.rint(self.release.points), 0, 255).astype(np.uint8).reshape(shape)

    def outcome(self) -> Outcome:
        """Return this run's part in a picture of many: the chosen record's released place, and its move."""
        measure, row = self.measure, self.record
        move = float(np.linalg.norm((self.released[row] - self.unit[row]) / self.scales))
        times, unit = (100.0, "% of the range") if measure.shares else (1.0, measure.unit or "units")
        mean = times * self.area.mean_radius
        figure = Figure("move of this record", unit, "it is moved by more than", mark=mean, mark_name="Expected")
        return Outcome(self.released[[row]], times * move, figure)
