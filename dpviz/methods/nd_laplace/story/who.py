"""Play the attacker: who was in? One of two people sent a point; guess which one. Invented, or one of the uploaded."""

from dataclasses import dataclass

import numpy as np

from dpviz import attacks
from dpviz.attacks import MembershipRound, MembershipSecret, MembershipTally
from dpviz.core import FloatArray, Points, PointsRelease, frozen
from dpviz.mechanisms import nd_laplace
from dpviz.methods.nd_laplace.story.ground import SIDE, Ground, invented
from dpviz.methods.nd_laplace.story.told import Measure
from dpviz.plots import Kind, Layer, Role, Scene, always
from dpviz.stories.panel import Fact, odds

NAMES = ("A", "B")
SEEN = (-0.1, 1.1)  # of the map's side; a point beyond is drawn at the rim, on the side where it is


@dataclass(frozen=True, slots=True, eq=False)
class TwoPlacesGame:
    """The public part of a game: A and B stand one radius apart on a map."""

    level: float
    measure: Measure
    own: Ground | None = None  # around one of the uploaded people, who is A; None: both are invented

    @property
    def ground(self) -> Ground:
        """What it is played on."""
        return invented(self.measure) if self.own is None else self.own

    @property
    def candidates(self) -> FloatArray:
        """Where A and B are, (2, 2), in the unit of the noise."""
        radius = self.measure.radius
        if self.own is not None and self.own.here is not None:
            return self.own.here + radius * np.array([[0.0, 0.0], [1.0, 0.0]])
        return radius * np.array([[SIDE / 2 - 0.5, SIDE / 2], [SIDE / 2 + 0.5, SIDE / 2]])

    @property
    def total_variation(self) -> float:
        """How far apart the two laws of a release are: it depends on the level alone."""
        return float(attacks.laplace_total_variation(self.level, 1.0, 2))


def round_of(game: TwoPlacesGame, number_of: int, seed: int) -> tuple[MembershipRound, MembershipSecret]:
    """Return a round (from 0) and its answer, which is not to be shown before the guess."""
    epsilon = game.level / game.measure.radius

    def run(records: Points, rng: np.random.Generator) -> PointsRelease:
        return PointsRelease(frozen(nd_laplace(records, epsilon=epsilon, rng=rng)))

    rng = np.random.default_rng([seed, number_of])
    here, there = game.candidates
    return next(attacks.membership_rounds(run, here[None], there, n_rounds=1, rng=rng))


def best_guess(played: MembershipRound) -> int:
    """Return who is likelier, 0 or 1: the nearer of the two."""
    here, there = played.candidates
    return 0 if attacks.nearer_scores(_released(played), here, there)[0] > 0 else 1


def scene(game: TwoPlacesGame, played: MembershipRound, secret: MembershipSecret | None) -> Scene:
    """Return the map of a round; the answer is drawn only where `secret` is given, after the guess."""
    ground = game.ground

    def marks(name: str, where: Points, role: Role, symbol: str, size: float) -> Layer:
        xy = np.clip(ground.drawn(where), *SEEN)
        return Layer(
            name, Kind.MARKS, role, ground.audience, {"xy": xy}, always(1), symbol=symbol, size=size, isolate=False
        )

    layers = [
        marks("A", played.candidates[0], Role.PUBLIC, "square", 12.0),
        marks("B", played.candidates[1], Role.PUBLIC, "diamond", 13.0),
        marks("Released point", _released(played).points, Role.RELEASED, "circle", 13.0),
    ]
    if secret is not None:
        layers.append(marks("Who sent it", played.candidates[secret.nonprivate_index], Role.EXACT, "ring", 17.0))
    return Scene(
        title="A or B?",
        alt="A map with two people, A on the left and B on the right, and one released point.",
        caption="A or B sent this point, with equal chances. A point off the map is drawn at its rim."
        if secret is None
        else f"It was {NAMES[secret.nonprivate_index]}.",
        x=ground.axes[0],
        y=ground.axes[1],
        layers=tuple(layers),
        place=ground.place,
    )


def tally_facts(tally: MembershipTally) -> tuple[Fact, ...]:
    """Return the player's share of right guesses beside the best attacker's."""
    low, high = round(100.0 * tally.low), round(100.0 * tally.high)
    share = 100.0 * tally.n_correct / tally.n_rounds
    return (
        Fact("Rounds", str(tally.n_rounds), "Scored so far.", True),
        Fact("You were right", f"{odds(share)} ({low} to {high})", "95 % interval: what your skill may be.", True),
        Fact("The best attacker", odds(100.0 * tally.best_rate), "(1 + TV)/2: nobody is right more often.", True),
    )


def _released(played: MembershipRound) -> PointsRelease:
    if not isinstance(played.release, PointsRelease):
        raise TypeError("The round's release held no points, but a map needs them. Make rounds by round_of.")
    return played.release
