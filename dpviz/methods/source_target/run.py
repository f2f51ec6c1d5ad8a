"""One run of source-target clustering as a picture: a secret source, its release, and new centers.

Everything public is computed from the release, the targets and the parameters.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy

from dpviz.attacks.shifts import best_threshold_rate
from dpviz.core import (
    Ball,
    ByteArray,
    Centers,
    Confidential,
    FloatArray,
    Labels,
    Points,
    ReadOnly,
    fingerprint,
    immutable,
    voronoi_borders,
)
from dpviz.data import NEUTRAL
from dpviz.methods.source_target import layers
from dpviz.methods.source_target.algorithm import (
    Params,
    SanitizeStep,
    SourceTargetRelease,
    Step,
    guarantees,
    nonprivate_difference,
)
from dpviz.methods.source_target.algorithm.coreset_cells import coreset
from dpviz.methods.source_target.charts import bound_chart, cost_of, count_chart
from dpviz.plots import Frame, Layer, Measure, Scene, Strip
from dpviz.plots.scene import Lens
from dpviz.solvers import best_centers, nearest_distance, select_centers
from dpviz.stories import center_facts
from dpviz.stories.center_facts import NoiseLaw
from dpviz.stories.ensemble import SumNoise
from dpviz.stories.glossary import meant
from dpviz.stories.ground_layers import box_layer
from dpviz.stories.label import Contents, both_limits, box_words
from dpviz.stories.lens import NoisyAverage, lens_on
from dpviz.stories.outcomes import Figure, Outcome
from dpviz.stories.panel import Fact, ceiled, counted, number, places_words
from dpviz.stories.run import Chart, Run
from dpviz.stories.stage import Stage
from dpviz.stories.view import Projection, View, Words, plane_caption, project
from dpviz.stories.wording import ROOM_LIMIT, in_words, length_words, things

# Seed of the random starts and samples of selections for comparison.
SELECT_SEED = 0
# Share of the distance without privacy. A distance that is larger by at most this share counts as hardly larger. Our
# choice.
NEAR = 0.1
# Share of the distance that helpers save. Losing as much is as bad as ignoring the helpers. Our choice.
SAVED = 0.9
# Share of the averages outside the box. Our choice.
SCATTERED = 0.5
# Ends of strips, relative to the lines on them.
LEAST_WAY, MOST_WAY, LEAST_NOISE = 0.8, 1.3, 0.3
TERMS = (
    ("Colors", "Gray and locked: exact, secret. Blue: released. Orange: noise. Green: public input. Red: refused."),
    (
        "The question",
        "Where do you put k first-aid points when some residents are secretly paramedics? Places near a paramedic are "
        "served already, but the points must not give away who is one.",
    ),
    ("Source S", "The secret records: the paramedics. Each of them serves whoever is near."),
    ("Targets T", "The public places that need somebody near. New centers are chosen from them."),
    ("S′", "Points that are released instead of S: means of records, with noise."),
    ("NNA", "Each record goes to its nearest target. A target's cell with enough records gives one noisy mean."),
    ("NAS", "Each target gives the noisy mean of the t records nearest to it."),
    ("Threshold", "A cell whose noisy count is below it is refused: a mean of few records would be all noise."),
    *meant("coreset"),
    ("Cost", "The mean distance from a target to the nearest of the source and the new centers."),
    *meant("epsilon", "delta", "rho"),
)


def allowance(words: Words, params: Params) -> Callable[[float], str]:
    """Return a function from a budget to the limits of the stated and the proved guarantee on an attacker, in words."""
    at = guarantees(words.box, params)
    return lambda budget: both_limits(at(budget))


def unit_of_cost(units: Sequence[str]) -> str:
    """Return the unit of a distance: the features' unit if they share one, else ""."""
    return units[0] if len(set(units)) == 1 else ""


def times(cost: float, floor: float) -> str:
    """Return a cost as a multiple of the one without privacy, in words."""
    if floor > 0:
        return f"{number(cost / floor)} × without privacy"
    return "as good as without privacy" if cost == 0 else "worse than without privacy, 0"


@immutable
class TargetReference(ReadOnly, Confidential):
    """The comparison for the run, and the public borders of its cells; distances in data units."""

    # (n,) from each target to its nearest source record. Infinite if there is none.
    nonprivate_distances: FloatArray
    # (k,) the cheapest targets that several searches with the source itself have found.
    nonprivate_selected: Labels
    # (k,) targets chosen as if there were no source, "Cluster T". Public.
    ignorant: Labels
    # (1, m, 4) box units, borders of the representatives' cells. (1, 0, 4) unless d = 2.
    borders: FloatArray


@dataclass(frozen=True, eq=False)
class SourceTargetRun(Run[Params, SourceTargetRelease, Step]):
    """One run: the release that replaces the source, and the new centers; `unit`, `classes` are the source's (m,)."""

    reference: TargetReference
    # False: the targets were spread over bounds that come from the records.
    targets_public: bool = True
    # The source record that the reader looks at.
    record: int | None = None
    target_classes: Labels | None = None  # (n,)

    terms = TERMS
    page_fields = ("record",)

    @classmethod
    def reference_key(cls, params: Params, result: object) -> tuple[object, ...]:
        """Return a key of the comparison's inputs except the data; noise and budget are not among them."""
        del result
        ball = None if params.ball is None else (fingerprint(params.ball.center), params.ball.radius)
        return (fingerprint(params.targets), ball, params.n_centers, params.solver, params.coreset_radius)

    @classmethod
    def find_reference(cls, points: Points, words: Words, result: object, params: Params) -> TargetReference:
        """Return the best centers found with the source itself, and centers without any source."""
        del result
        targets, box = params.targets, words.box
        points = box.clip(points)
        ball = Ball.around(box) if params.ball is None else params.ball
        places = targets[coreset(ball.to_unit(targets), params.coreset_radius).representatives]
        borders = np.empty((1, 0, 4))
        if box.d == 2:
            borders = voronoi_borders(box.to_unit(places)[None], (float(box.widths[0]), float(box.widths[1])))
        rng = np.random.default_rng(SELECT_SEED)
        alone = select_centers(targets, points[:0], params.n_centers, solver=params.solver, rng=rng)
        beside = best_centers(targets, points, params.n_centers, (alone,), rng=rng)
        return TargetReference(nearest_distance(targets, points), beside, alone, borders)

    @cached_property
    def targets(self) -> Points:
        """T (n, d), box units. Public."""
        return self.words.box.to_unit(self.params.targets)

    @cached_property
    def known(self) -> Points:
        """S', then the new centers (m' + k, d), data units."""
        return np.concatenate([self.release.centers, self.params.targets[self.release.selected]])

    @cached_property
    def service(self) -> tuple[FloatArray, Labels]:
        """Distance (n,) of each target to the nearest of `known`, data units, and which one that is."""
        distances, servers = scipy.spatial.cKDTree(self.known).query(self.params.targets, k=1)
        return np.asarray(distances), np.asarray(servers, dtype=np.intp)

    @property
    def step(self) -> SanitizeStep:
        """The first step. Only arrays that the release also has are public."""
        step = self.steps[0]
        assert isinstance(step, SanitizeStep)
        return step

    @property
    def n_released(self) -> int:
        """Number of points in S'."""
        return len(self.release.centers)

    @property
    def selected(self) -> Points:
        """The new centers (k, d), box units."""
        return self.targets[self.release.selected]

    @property
    def released(self) -> Points:
        """S' (m', d), box units."""
        return self.words.box.to_unit(self.release.centers)

    @property
    def refused(self) -> Labels:
        """The rows (m,) of `step.core.representatives` without a released average. Public."""
        return np.flatnonzero(~np.isin(self.step.core.representatives, self.release.origins))

    @property
    def has_lens(self) -> bool:
        """True for Laplace noise on the counts and sums of cells over two features."""
        laplace = (self.params.method, self.params.noise) == ("nna", "laplace")
        return self.is_flat_lesson and laplace and self.release.scale > 0.0

    def nonprivate_lens(self, record: int) -> Lens:
        """Return the lens on a source record, by its index: the average of its cell, in diameters of the ball."""
        step, ball, box, scale = self.step, self.step.ball, self.words.box, self.release.scale
        person, least = ball.to_unit(step.nonprivate_source[record]), step.threshold or 0.0
        cell = np.asarray(step.nonprivate_labels)[record]
        count = float(np.asarray(step.nonprivate_counts)[cell])
        sums = count * ball.to_unit(step.nonprivate_averages[cell])
        rate = best_threshold_rate(np.append(1.0, np.abs(person)) / scale, (count - least) / scale)
        worlds = NoisyAverage(SumNoise(scale, scale), count, sums, least).worlds(person)
        words = "Noisy average of your cell, without its count"
        return lens_on(*worlds, rate, words, box.to_unit(ball.center), 2.0 * ball.radius / box.widths)

    def nonprivate_cost(self, chosen: Labels) -> float:
        """Return the mean distance from a target to its nearest of the source and the `chosen` targets, data units."""
        return cost_of(self.reference.nonprivate_distances, self.params.targets, chosen)

    def nonprivate_difference(self) -> float:
        """Return the difference that the bound limits, in diameters of the ball."""
        box = self.words.box
        return nonprivate_difference(box.from_unit(self.unit), box, self.params, self.release.centers)

    def nonprivate_accuracies(self) -> tuple[tuple[str, float], ...]:
        """Return (choice, share of targets whose nearest labeled point has their class); () if a class is unknown.

        The source and the chosen targets have labels, which domain adaptation pays for. Curator only.
        """
        known, classes = self.classes, self.target_classes
        if known is None or classes is None or len(known) == 0:
            return ()
        source, targets = self.words.box.from_unit(self.unit), self.params.targets
        choices = (
            ("no new labels", np.empty(0, dtype=np.intp)),
            ("these centers", self.release.selected),
            ("Cluster T", self.reference.ignorant),
            ("without privacy", self.reference.nonprivate_selected),
        )
        shares = []
        for name, chosen in choices:
            # The chosen targets come first, so that a labeled target is its own nearest neighbor in case of ties.
            nearest = scipy.spatial.cKDTree(np.concatenate([targets[chosen], source])).query(targets, k=1)[1]
            labels = np.concatenate([classes[chosen], known])[nearest]
            shares.append((name, float((labels == classes).mean())))
        return tuple(shares)

    @cached_property
    def costs(self) -> tuple[float, float]:
        """Costs of the new centers and of the best known centers, including the new ones. Curator only."""
        cost = self.nonprivate_cost(self.release.selected)
        return cost, min(cost, self.nonprivate_cost(self.reference.nonprivate_selected))

    @property
    def reach(self) -> float | None:
        """One kilometer in box widths; None if the picture is no map of a neighborhood's people. Public."""
        box = self.words.box
        if box.d != 2 or self.is_neutral or set(self.words.units) != {"m"} or np.ptp(box.widths) > 0.0:
            return None
        reach = layers.REACH / float(box.widths[0])
        return reach if layers.LEAST_REACH <= reach <= layers.MOST_REACH else None

    def nonprivate_dark(self, chosen: Labels) -> Labels:
        """Return the targets that are more than a kilometer from the source and the `chosen` targets. Curator only."""
        targets = self.params.targets
        near = np.minimum(self.reference.nonprivate_distances, nearest_distance(targets, targets[chosen]))
        return np.flatnonzero(near > layers.REACH)

    @property
    def record_word(self) -> str:
        """The word for one secret record: "paramedic". Public."""
        return self.words.nouns.source[0]

    @property
    def risk_label(self) -> str:
        """The attacker's question. Public."""
        return "Is a record in the source?" if self.is_neutral else f"Is someone a {self.record_word}?"

    @property
    def lede(self) -> str:
        """The purpose of the method, and the meaning of its points. Public."""
        if self.reach is not None:
            return "Where is help needed? Only **blue marks** are published."
        wanted = "Choose centers for the" if self.is_neutral else "Bring help to"
        return f"{wanted} {self.words.nouns.target[1]}; only **blue marks** about {self.source_named} are published."

    def _curators_finding(self) -> str:
        """Describe the distance of help, compared with no privacy and with ignoring the source."""
        many, (cost, floor), ignored = self.source_words, self.costs, self.cost_of_ignoring
        near, help_is = cost <= (1.0 + NEAR) * floor, "targets are" if self.is_neutral else "help is"
        if self.reach is not None:
            one, all_of_them = self.words.nouns.target
            n = len(self.nonprivate_dark(self.release.selected))
            far = f"{in_words(n)} {one} is" if n == 1 else f"{in_words(n)} {all_of_them} are"
            if not self.hides:
                return self.doubt.ends(f"{far} far from help")
            return (
                f"{many} stay hidden, and only {far} far from help"
                if near
                else f"noise hides {many}, but {far} far from help"
            )
        if cost > ignored > floor:
            far = "served so badly" if self.is_neutral else "so far away"
            return f"{help_is} {far} that ignoring {self.source_named} works better"
        if not near and cost > floor + SAVED * (ignored - floor):
            nearer = "hardly better served" if self.is_neutral else "hardly closer"
            return f"{help_is} {nearer} than if the {many} were ignored"
        if self.is_neutral:
            farther = f"{help_is} served {'nearly as well' if near else 'a little worse'}"
        else:
            farther = f"{help_is} {'almost as close as without privacy' if near else 'a little farther away'}"
        if not self.hides:
            return self.doubt.ends(farther)
        return f"{'the source stays' if self.is_neutral else f'{many} stay'} hidden; {farther}"

    @property
    def is_neutral(self) -> bool:
        """True if the data set has no name for the source. Public."""
        return self.words.nouns.source == NEUTRAL.source

    @property
    def source_words(self) -> str:
        """The word for the whole source: "paramedics", "source". Public."""
        return "source" if self.is_neutral else self.words.nouns.source[1]

    @property
    def source_named(self) -> str:
        """The source in the middle of a sentence: "paramedics", "the source". Public."""
        return "the source" if self.is_neutral else self.source_words

    @property
    def hides(self) -> bool:
        """True if a proof keeps an attacker's odds so low that the source can be called secret. Public."""
        risk = self.risk_measure()
        return risk is not None and risk.value <= ROOM_LIMIT

    def _publics_finding(self) -> str:
        """Describe the choice, whether noise moved averages off the map, and the remaining doubt."""
        k, released = len(self.release.selected), self.released
        outside = float(((released < 0.0) | (released > 1.0)).any(axis=1).mean()) if len(released) else 0.0
        if not len(released):
            return f"no average was released: the places were picked without {self.source_named}"
        if outside > SCATTERED:
            return "noise scatters the averages, so these places may be mere guesses"
        return self.doubt.ends(f"{things(k, 'place')} {'is' if k == 1 else 'are'} chosen")

    @cached_property
    def cost_of_ignoring(self) -> float:
        """Cost, with the source, of centers chosen for the targets alone. Curator only."""
        return self.nonprivate_cost(self.reference.ignorant)

    def strips(self) -> tuple[Strip | None, Strip | None]:
        """Return the axes of the distance to the nearest helper, and of the noise of averages (public).

        The change of the distance with ε follows from the records. Without public targets, the public has no axis.
        """
        _, floor = self.costs
        ignored = self.cost_of_ignoring
        where = f"{self.words.nouns.target[1].capitalize()}' distance to {'a center' if self.is_neutral else 'help'}"
        lines = ((ignored, f"ignoring {self.source_named}"), (floor, "without privacy"))
        low, high = LEAST_WAY * floor, max(MOST_WAY * ignored, floor) or 1.0
        public = replace(
            center_facts.noise_strip("Noise moves averages by", self.words), low=LEAST_NOISE, high=100.0, log=True
        )
        return Strip(where, "", "away", low, high, lines), (
            public if self.targets_public and self.words.box_public else None
        )

    def losses(self) -> tuple[Measure | None, Measure | None]:
        """Return the way to the nearest helper, and how far noise moves a released average."""
        unit, (cost, _), law = unit_of_cost(self.words.units), self.costs, self.noise_law
        public = None if law is None else law.measure(self.noise_growth(center_facts.FACTORS), self.words)
        return Measure(cost, length_words(cost, unit)), public

    @cached_property
    def noise_law(self) -> NoiseLaw | None:
        """The distances that noise moves released averages; None if targets or box are secret. Public."""
        if not self.n_released or not self.targets_public or not self.words.box_public:
            return None
        # The noise is in diameters of the ball.
        release, box, gaussian = self.release, self.words.box, self.params.noise == "gaussian"
        ball = Ball.around(box) if self.params.ball is None else self.params.ball
        per = np.full(self.n_released, box.diagonal / (2.0 * ball.radius))
        noise = np.array([release.scale * (1.0 if gaussian else math.sqrt(2.0))])
        of_counts = np.zeros(1) if release.noisy_counts is None else noise
        counts = 1.0 if release.noisy_counts is None else np.maximum(release.noisy_counts, 1.0)
        moves = (release.centers - ball.center) / (2.0 * ball.radius)
        return center_facts.law_of_averages(moves, of_counts, noise, counts * per, (gaussian, gaussian))

    def noise_growth(self, times: FloatArray) -> FloatArray | None:
        """Return the noise's growth at `times` (m,) this ε or ρ; None if it does not follow a power. Public."""
        if self.params.rho is not None:
            return 1.0 / np.sqrt(times)
        return 1.0 / times if self.params.noise == "laplace" else None

    def utility(self) -> tuple[Fact, ...]:
        """Return facts of the release (public), and its cost (exact, so curator only)."""
        unit, (cost, floor), step, release = unit_of_cost(self.words.units), self.costs, self.step, self.release
        ignorant = times(self.cost_of_ignoring, floor)
        r, law = step.n_averages, "scale" if self.params.noise == "laplace" else "standard deviation"
        shared = f"{len(self.targets)} targets share {r} averages."
        facts = [
            Fact("Cost", length_words(cost, unit), "Mean distance from a target to the source or a new center."),
            Fact("Compared to no privacy", times(cost, floor), "Without privacy, centers are chosen next to S itself."),
            Fact("Ignoring the source", ignorant, "Cluster T: centers for the targets alone."),
            Fact(
                "Cost estimated from S′",
                length_words(float(self.service[0].mean()), unit),
                "Everything that the public knows.",
                True,
            ),
            *(
                Fact(f"Right label, {name}", f"{number(100 * share)} %", "1-NN on T, labels of S and of the centers.")
                for name, share in self.nonprivate_accuracies()
            ),
            Fact(
                "Points in S′",
                f"{self.n_released} of {r}",
                shared if r < len(self.targets) else "Each target has its own.",
                True,
            ),
        ]
        if release.threshold is None:
            size = f"± {number(release.scale * (2.0 * step.ball.radius))} {unit}".rstrip()
            facts.append(Fact("Noise of a mean", size, f"On each coordinate ({law}).", True))
        else:
            size, least = f"± {number(release.scale)} records", f"{number(release.threshold)} records"
            facts.append(Fact("Noise of a count", size, f"Also of each sum ({law}).", True))
            facts.append(Fact("Threshold", least, "Means of cells below it are refused.", True))
        share = "Mean change of a target's distance to the source, in diameters of the ball."
        facts.append(Fact("S′ instead of S, measured", number(self.nonprivate_difference()), share))
        bound = step.nonprivate_bound
        if bound is not None:
            limit = "no bound: fewer than t records" if math.isnan(bound) else f"at most {ceiled(bound)}"
            # In diameters, no two costs differ by more than 1.
            if math.isfinite(bound) and bound >= 1.0:
                limit += ", which says nothing"
            help_text = (
                f"Holds with probability 1 - γ = {number(1 - self.params.gamma)}. At 1 or above, it says nothing."
            )
            facts.append(Fact("S′ instead of S, bound", limit, help_text))
        return tuple(facts)

    def contents(self) -> Contents:
        """Return the secrets that a run protects, its public inputs, and the values for the curator only."""
        targets = (
            "All targets" if self.targets_public else "The targets, which were spread over the records' bounds here"
        )
        return Contents(
            "Whether one record is in the source, and all of its values. Targets are not protected.",
            (targets, f"{box_words(self.words)}, and the ball around it", "ε or ρ, and every other knob"),
            (
                "Source records, their exact averages and counts",
                "The cost with the source, and the cost of centers without privacy",
                "The data-dependent bound",
            ),
        )

    def draw_scene(self, view: View) -> Scene:
        """Return the moving picture; `.public()` keeps only its public part."""
        plane = project(view, self.words, self.unit)
        words, release, step, public = self.words, self.release, self.step, self.targets_public
        targets, refused, selected = self.targets, self.refused, self.release.selected
        borders = self.reference.borders if self.params.method == "nna" and words.box.d == 2 else None
        known, (_, servers) = words.box.to_unit(self.known), self.service
        ground: list[Layer] = []
        dark: list[Layer] = []
        if self.reach is not None and public:
            ground = layers.light_layers(self.unit, self.released, self.selected, self.reach, plane)
            far, help_at = self.nonprivate_dark(selected), np.concatenate([self.unit, self.selected])
            helpers = help_at[scipy.spatial.cKDTree(help_at).query(targets[far], k=1)[1]]
            dark = layers.dark_layers(targets, helpers, far, words.nouns, plane)
        return Scene(
            title=self.words.title,
            alt=f"{self.words.title}: {len(self.targets)} public targets, {self.n_released} released points in place "
            f"of the secret source, and {len(selected)} new centers at {places_words(self.params.targets[selected])}.",
            caption=self.caption(plane),
            x=plane.x,
            y=plane.y,
            axes_public=not plane.nonprivate,
            layers=(
                *ground,
                *box_layer(Stage(plane, layers.CLOCK), public=self.words.box_public),
                *layers.given_layers(self.unit, targets, words.nouns, self.record, plane, targets_public=public),
                *dark,
                *layers.average_layers(self.unit, targets, step, refused, borders, words, plane, targets_public=public),
                *layers.release_layers(targets, step, refused, release, words, self.source_words, plane),
                *layers.choice_layers(
                    targets, selected, self.reference.nonprivate_selected, known, servers, words.nouns, plane
                ),
            ),
            frames=self.frames(),
            start_frame=layers.CHOICE,
        )

    def caption(self, plane: Projection) -> str:
        """Return the caption from public facts only."""
        released = self.released
        text = plane_caption(
            plane,
            "Gray is secret, green public, blue released. Lines lead from each target to whoever serves it.",
            "Points that look close in the picture may be far apart.",
        )
        outside = int(((released < 0.0) | (released > 1.0)).any(axis=1).sum())
        if outside and not plane.nonprivate:
            return f"{outside} of {len(released)} released points lie outside the box, thrown there by noise. {text}"
        return text

    def frames(self) -> tuple[Frame, ...]:
        """Return the stops of the scrubber, in public words."""
        release, params, r, k = self.release, self.params, self.step.n_averages, len(self.release.selected)
        scale, nouns = number(release.scale), self.words.nouns
        (source, sources), (target, targets), centers = nouns.source, nouns.target, nouns.center[k != 1]
        if params.method == "nna":
            averages = Frame("1: cells", f"Each {source} is counted at the nearest {target}.")
            noise = f"Counts and sums get noise of ± {scale}."
            least = number(release.threshold or 0.0)
            passed = f"{self.n_released} of {r} cells pass. A noisy count below {least} is refused."
            points = Frame("3: release", passed)
        else:
            averages = Frame("1: neighbors", f"For each {target} the {params.t} nearest {sources} are averaged.")
            noise = f"Each coordinate gets noise of ± {scale} diameters of the ball."
            points = Frame("3: release", f"All {counted(r, 'noisy average')} are released.")
        return (
            Frame("0: given", f"The {targets} are public. The {sources} are secret."),
            averages,
            Frame("2: noise", noise),
            points,
            Frame("4: new centers", f"{k} {centers} {'go' if k != 1 else 'goes'} where no noisy average is near."),
        )

    @property
    def profiled(self) -> tuple[Centers, None]:
        """The new centers (k, d), data units: public targets that the release chooses."""
        return self.params.targets[self.release.selected], None

    def charts(self) -> tuple[Chart, ...]:
        """Return profiles of the new centers; counts and threshold, or the bound and the truth."""
        if self.params.method == "nna":
            own = Chart("counts", count_chart(self.release, self.step, self.refused))
        else:
            bound = bound_chart(self.step, self.params.coreset_radius, self.nonprivate_difference())
            own = Chart("bound", bound)
        return (*self.profile_charts(), own)

    def recolored(self, shape: tuple[int, int, int]) -> ByteArray:
        """Return a photograph (height, width, 3) in the nearest released colors or centers. Curator only."""
        nearest = scipy.spatial.cKDTree(self.known).query(self.words.box.from_unit(self.unit), k=1)[1]
        return center_facts.recolored(self.known, np.asarray(nearest), shape)

    def outcome(self) -> Outcome:
        """Return this run's part in a picture of many: its new centers, and their cost with the source."""
        floor = self.nonprivate_cost(self.reference.nonprivate_selected)
        # Many runs share one mark, and no run is drawn below it.
        cost = max(self.costs[0], floor)
        unit = unit_of_cost(self.words.units)
        figure = Figure(
            "mean distance", unit, "the mean distance is more than", mark=floor, mark_name="Without privacy"
        )
        return Outcome(self.selected, cost, figure)
