"""Games of the attacker: where was a record, and which of two people sent a point. Invented, or one of the uploaded.

A record's owner is the only one who may see a game about it: each round is one more release of that record.
"""

from dataclasses import replace
from functools import partial

import numpy as np

from dpviz import attacks
from dpviz.attacks import (
    LocationAdversary,
    LocationRound,
    LocationScore,
    LocationSecret,
    LocationTally,
    MembershipRound,
    MembershipSecret,
    MembershipTally,
)
from dpviz.core import FEWEST_STEPS, Box, Confidential, FloatArray, Points, PointsRelease, frozen, immutable
from dpviz.mechanisms import nd_laplace
from dpviz.methods.nd_laplace.layers import Measure
from dpviz.methods.nd_laplace.run import NDLaplaceRun
from dpviz.plots import Audience, Axis, Ink, Kind, Layer, Role, Scene
from dpviz.stories.panel import Fact, number, odds, whole_interval
from dpviz.stories.view import CORNERS, View, edges_of

# Side of the map, in radii.
SIDE = 8.0
# Possible guesses along each side of the map.
PLACES = 15
PICK = "guess"
# Largest numbers of rounds of a game.
MOST_LOCATIONS, MOST_MEMBERSHIPS = 200, 1000
LOSS: attacks.Loss = "distance"
NAMES = ("A", "B")
# In sides of the map. A point outside is drawn on the nearest rim.
RIM = (-0.1, 1.1)


@immutable
class Ground(Confidential):
    """A square of a plane in the unit of the noise. `here` is the place of the record on it, None if it is invented."""

    # Two axes of equal length.
    box: Box
    # Scene coordinates 0 and 1 are the ends of the square.
    axes: tuple[Axis, Axis]
    # (2,) place of the record. Only its owner knows it.
    here: FloatArray | None = None
    # Latitude and longitude of the middle of a map on Earth.
    place: tuple[float, float] | None = None

    @property
    def side(self) -> float:
        """Length of the side."""
        return float(self.box.widths[0])

    @property
    def audience(self) -> Audience:
        """Audience of a game on this ground."""
        return Audience.PUBLIC if self.here is None else Audience.CURATOR

    def project(self, places: FloatArray) -> FloatArray:
        """Return places (m, 2) or (2,) in scene coordinates (1, m, 2)."""
        return ((np.atleast_2d(places) - self.box.low) / self.side)[None]

    def marks(self, name: str, places: Points, role: Role, symbol: str, size: float, pick: str = "") -> Layer:
        """Return marks at `places` (m, 2) or (2,)."""
        xy, ink = self.project(places), Ink(role, self.audience)
        return Layer.from_arrays(name, Kind.MARKS, ink, xy, symbol=symbol, size=size, pick=pick)


def invented(measure: Measure) -> Ground:
    """Return an invented map of SIDE radii."""
    side = SIDE * measure.radius
    values = (0.0, (100.0 if measure.shares else 1.0) * side)
    across, up = (Axis(name, measure.axis_unit, (-0.15, 1.15), values) for name in ("across", "up"))
    return Ground(Box.cube(0.0, side, 2), (across, up))


def playable(run: NDLaplaceRun, view: View) -> bool:
    """Check whether the picture shows two features of the records side by side to play on."""
    return run.n > 0 and run.words.box.d > 1 and not view.principal and view.x != view.y


def around(run: NDLaplaceRun, view: View, record: int, *, centered: bool = False) -> Ground:
    """Return the part of the public box around `record`, in the two features that the picture shows.

    The box is cut into squares of SIDE radii, so that the square reveals only that the place is in it. With `centered`,
    the place is in the middle instead, for a game in which it is not secret.
    """
    features, side = [view.x, view.y], SIDE * run.measure.radius
    # Box units per unit of noise.
    scales = run.scales[features]
    place, whole = run.unit[record, features] / scales, 1.0 / scales
    # A box needs this width.
    side = max(side, 2.0 * FEWEST_STEPS * float(np.spacing(whole.max())))
    low = place - side / 2.0
    if not centered:
        side = min(side, float(whole.max()))
        low = np.minimum(np.floor(place / side) * side, np.maximum(whole - side, 0.0))
    words = run.words
    start, widths = words.box.low[features], words.box.widths[features]
    ends = [start + corner * scales * widths for corner in (low, low + side)]
    axes = [
        Axis(words.feature_names[feature], words.units[feature], (-0.15, 1.15), (float(ends[0][i]), float(ends[1][i])))
        for i, feature in enumerate(features)
    ]
    middle = None
    if words.place is not None and tuple(features) == words.place.axes:
        middle = words.place.latitude, words.place.longitude
    return Ground(Box(low, low + side), (axes[0], axes[1]), frozen(place.copy()), middle)


def release_of(epsilon: float, records: Points, rng: np.random.Generator) -> PointsRelease:
    """Return the release of `records` (n, d), in the unit of the noise, with the domain left as it is."""
    return PointsRelease(nd_laplace(records, epsilon=epsilon, rng=rng))


class LocationGame:
    """A game that asks for the place of the record. This part is public; rounds come from their seed.

    To the attacker, every place of the ground is equally likely. The ground is invented if it is None.
    """

    def __init__(self, level: float, measure: Measure, ground: Ground | None = None) -> None:
        """Set the level within the radius, and the map of the game."""
        self.measure, self.epsilon = measure, level / measure.radius
        self.ground = invented(measure) if ground is None else ground
        prior = attacks.uniform_prior(self.ground.box, (PLACES, PLACES))
        self.adversary: LocationAdversary = attacks.location_adversary(prior, epsilon=self.epsilon)

    def play(self, index: int, seed: int) -> tuple[LocationRound, LocationSecret]:
        """Return a round (from 0) and its answer, which is not to be shown before the guess."""
        rng, here = np.random.default_rng([seed, index]), self.ground.here
        mechanism = partial(release_of, self.epsilon)
        if here is not None:
            return LocationRound(mechanism(here[None], rng)), LocationSecret(here)
        return next(attacks.location_rounds(mechanism, self.adversary, n_rounds=1, rng=rng))

    def score(self, game_round: LocationRound, secret: LocationSecret, guess: int) -> LocationScore:
        """Score the guess of a place, one of the adversary's prior."""
        return attacks.score_location(game_round, secret, self.places[guess], self.adversary, LOSS)

    @property
    def places(self) -> Points:
        """The places (m, 2) that can be guessed."""
        return self.adversary.prior.locations

    def scene(
        self,
        game_round: LocationRound,
        guess: int | None = None,
        secret: LocationSecret | None = None,
        score: LocationScore | None = None,
    ) -> Scene:
        """Return the map of a round; the answer is drawn only where `secret` is given, after the guess."""
        ground = self.ground
        layers = [
            Layer.from_arrays(
                "Map", Kind.SEGMENTS, Ink(Role.PUBLIC, ground.audience), edges_of(CORNERS)[None], size=1.0
            ),
            ground.marks("Places to guess", self.places, Role.PUBLIC, "square", 5.0, PICK),
            ground.marks("Released point", game_round.release.points, Role.RELEASED, "circle", 13.0),
        ]
        if guess is not None:
            layers.append(ground.marks("Your guess", self.places[guess], Role.REFERENCE, "cross", 13.0))
        if secret is not None and score is not None:
            layers += [
                ground.marks("Best attacker's guess", score.adversary_guess, Role.NOISE, "diamond", 12.0),
                ground.marks("Where it was", secret.nonprivate_location, Role.EXACT, "ring", 15.0),
            ]
        caption = "Every place of the map is equally likely before the release."
        if ground.here is not None:
            caption = "One of your people is in this part of your map, and has sent the blue point."
        return Scene(
            title="Where was the record?",
            alt="A map with places to guess and one released point.",
            caption=caption if guess is None else "The ring is where it was.",
            x=ground.axes[0],
            y=ground.axes[1],
            layers=tuple(layers),
            place=ground.place,
            hint="Click where you think the record was." if guess is None else "",
        )

    def score_facts(self, score: LocationScore) -> tuple[Fact, ...]:
        """Return one guess next to the best attacker's guess."""
        words = self.measure.words
        expected = "No strategy has a smaller expected error."
        if self.ground.here is not None:
            expected = "This assumes that all places are equally likely. Yours are not."
        return (
            Fact("You were off by", words(score.player_loss), "Distance of your guess to the record.", True),
            Fact("The best attacker", words(score.adversary_loss), "They saw the same release.", True),
            Fact("What they expected", words(score.expected_loss), expected, True),
        )

    def tally_facts(self, tally: LocationTally) -> tuple[Fact, ...]:
        """Return all guesses next to the best attacker's expectation."""
        words = self.measure.words
        ratio = tally.mean_loss / tally.expected_loss if tally.expected_loss > 0 else 1.0
        luck = "No one can expect to beat 1; luck goes both ways."
        return (
            Fact("Rounds", str(tally.n_rounds), "Scored so far.", True),
            Fact("You, on average", words(tally.mean_loss), "Mean distance of your guesses.", True),
            Fact("Best attacker expects", words(tally.expected_loss), "Over the same rounds.", True),
            Fact("Your score", f"{number(ratio)} × the best", luck, True),
        )


@immutable
class TwoPlacesGame:
    """A game that asks whether A or B took part. This part is public. A and B are one radius apart on a map."""

    level: float
    measure: Measure
    # Map around one of the uploaded people, who is A. None if both are invented.
    own: Ground | None = None

    @property
    def ground(self) -> Ground:
        """Ground of the game."""
        return invented(self.measure) if self.own is None else self.own

    @property
    def candidates(self) -> FloatArray:
        """Places (2, 2) of A and B, in the unit of the noise."""
        radius = self.measure.radius
        if self.own is not None and self.own.here is not None:
            return self.own.here + radius * np.array([[0.0, 0.0], [1.0, 0.0]])
        return radius * np.array([[SIDE / 2 - 0.5, SIDE / 2], [SIDE / 2 + 0.5, SIDE / 2]])

    @property
    def total_variation(self) -> float:
        """Distance between the two distributions of a release. It depends only on the level."""
        return float(attacks.laplace_total_variation(self.level, 1.0, 2))

    def play(self, index: int, seed: int) -> tuple[MembershipRound, MembershipSecret]:
        """Return a round (from 0) and its answer, which is not to be shown before the guess."""
        here, there = self.candidates
        rng, mechanism = np.random.default_rng([seed, index]), partial(release_of, self.level / self.measure.radius)
        return next(attacks.membership_rounds(mechanism, here[None], there, n_rounds=1, rng=rng))

    def scene(self, game_round: MembershipRound, secret: MembershipSecret | None) -> Scene:
        """Return the map of a round; the answer is drawn only where `secret` is given, after the guess."""
        ground, places, release = self.ground, game_round.candidates, game_round.release
        if not isinstance(release, PointsRelease):
            raise TypeError("game_round must have a release of points for the map. Make rounds with `play`.")
        layers = [
            ground.marks("A", places[0], Role.PUBLIC, "square", 12.0),
            ground.marks("B", places[1], Role.PUBLIC, "diamond", 13.0),
            ground.marks("Released point", release.points, Role.RELEASED, "circle", 13.0),
        ]
        caption = "A or B sent this point, with equal chances. A point off the map is drawn at its edge."
        if secret is not None:
            layers.append(ground.marks("Who sent it", places[secret.nonprivate_index], Role.EXACT, "ring", 17.0))
            caption = f"It was {NAMES[secret.nonprivate_index]}."
        on_map = (replace(layer, arrays={"xy": np.clip(layer.arrays["xy"], *RIM)}) for layer in layers)
        return Scene(
            title="A or B?",
            alt="A map with two people, A on the left and B on the right, and one released point.",
            caption=caption,
            x=ground.axes[0],
            y=ground.axes[1],
            layers=tuple(on_map),
            place=ground.place,
        )


def membership_facts(tally: MembershipTally) -> tuple[Fact, ...]:
    """Return the player's share of right guesses next to the best attacker's share."""
    low, high = whole_interval(tally.low, tally.high)
    share = 100.0 * tally.n_correct / tally.n_rounds
    return (
        Fact("Rounds", str(tally.n_rounds), "Scored so far.", True),
        Fact("You were right", f"{odds(share)} ({low} to {high})", "95 % interval: what your skill may be.", True),
        Fact("The best attacker", odds(100.0 * tally.best_rate), "(1 + TV)/2: nobody is right more often.", True),
    )
