"""Play the attacker: who was in? One of two invented people sent a point; guess which one."""

from dataclasses import dataclass

import numpy as np

from dpviz import attacks
from dpviz.attacks import MembershipRound, MembershipSecret, MembershipTally
from dpviz.core import FloatArray, Points, PointsRelease, frozen
from dpviz.mechanisms import nd_laplace
from dpviz.methods.nd_laplace.story.told import Measure
from dpviz.plots import Audience, Axis, Kind, Layer, Role, Scene, always
from dpviz.stories.panel import Fact, odds

NAMES = ("A", "B")
SIDE = 8.0  # of the map, radii
SEEN = (-0.1, 1.1)  # of the map's side; a point beyond is drawn at the rim, on the side where it is


@dataclass(frozen=True, slots=True)
class TwoPlacesGame:
    """The public part of a game: A and B stand one radius apart on a map."""

    level: float
    measure: Measure

    @property
    def candidates(self) -> FloatArray:
        """Where A and B are, (2, 2), in the unit of the noise."""
        radius = self.measure.radius
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
    side = SIDE * game.measure.radius

    def marks(name: str, where: Points, role: Role, symbol: str, size: float) -> Layer:
        xy = np.clip(np.atleast_2d(where) / side, *SEEN)[None]
        return Layer(
            name, Kind.MARKS, role, Audience.PUBLIC, {"xy": xy}, always(1), symbol=symbol, size=size, isolate=False
        )

    layers = [
        marks("A", played.candidates[0], Role.PUBLIC, "square", 12.0),
        marks("B", played.candidates[1], Role.PUBLIC, "diamond", 13.0),
        marks("Released point", _released(played).points, Role.RELEASED, "circle", 13.0),
    ]
    if secret is not None:
        layers.append(marks("Who sent it", played.candidates[secret.nonprivate_index], Role.EXACT, "ring", 17.0))
    unit = 100.0 if game.measure.shares else 1.0
    label = "% of the range" if game.measure.shares else game.measure.unit
    axes = [Axis(name, label, (-0.15, 1.15), (0.0, unit * side)) for name in ("across", "up")]
    return Scene(
        title="A or B?",
        alt="A map with two people, A on the left and B on the right, and one released point.",
        caption="A or B sent this point, with equal chances. A point off the map is drawn at its rim."
        if secret is None
        else f"It was {NAMES[secret.nonprivate_index]}.",
        x=axes[0],
        y=axes[1],
        layers=tuple(layers),
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
