"""Play the attacker: where was the record? It is an invented one, or, for its owner's eyes, one of the uploaded."""

from dataclasses import dataclass

import numpy as np

from dpviz import attacks
from dpviz.attacks import LocationAdversary, LocationRound, LocationScore, LocationSecret, LocationTally
from dpviz.core import Points, PointsRelease, frozen
from dpviz.mechanisms import nd_laplace
from dpviz.methods.nd_laplace.story.ground import Ground, invented
from dpviz.methods.nd_laplace.story.told import Measure
from dpviz.plots import Kind, Layer, Role, Scene, always
from dpviz.stories.panel import Fact, number

PLACES = 15  # along each side of the map that can be guessed
PICK = "guess"
MOST_ROUNDS = 200
LOSS: attacks.Loss = "distance"


@dataclass(frozen=True, slots=True, eq=False)
class LocationGame:
    """The public part of a game; rounds come from its seed."""

    level: float
    measure: Measure
    adversary: LocationAdversary
    ground: Ground


def game_of(level: float, measure: Measure, ground: Ground | None = None) -> LocationGame:
    """Return a game on this ground, else on an invented map; every place of it is equally likely to the attacker."""
    ground = invented(measure) if ground is None else ground
    prior = attacks.uniform_prior(ground.box, (PLACES, PLACES))
    return LocationGame(level, measure, attacks.location_adversary(prior, epsilon=level / measure.radius), ground)


def round_of(game: LocationGame, number_of: int, seed: int) -> tuple[LocationRound, LocationSecret]:
    """Return a round (from 0) and its answer, which is not to be shown before the guess."""
    epsilon = game.level / game.measure.radius

    def mechanism(records: Points, rng: np.random.Generator) -> PointsRelease:
        return PointsRelease(frozen(nd_laplace(records, epsilon=epsilon, rng=rng)))

    rng = np.random.default_rng([seed, number_of])
    here = game.ground.here
    if here is not None:
        return LocationRound(mechanism(here[None], rng)), LocationSecret(here)
    return next(attacks.location_rounds(mechanism, game.adversary, n_rounds=1, rng=rng))


def place_of(game: LocationGame, index: int) -> Points:
    """Return the place (2,) that a mark stands for."""
    return np.asarray(game.adversary.prior.locations[index])


def score_of(game: LocationGame, played: LocationRound, secret: LocationSecret, index: int) -> LocationScore:
    """Score the guess of a place."""
    return attacks.score_location(played, secret, place_of(game, index), game.adversary, LOSS)


def scene(
    game: LocationGame,
    played: LocationRound,
    guess: int | None,
    secret: LocationSecret | None,
    score: LocationScore | None,
) -> Scene:
    """Return the map of a round; the answer is drawn only where `secret` is given, after the guess."""
    ground, shown = game.ground, game.ground.audience

    def marks(name: str, where: Points, role: Role, symbol: str, size: float, pick: str = "") -> Layer:
        arrays = {"xy": ground.drawn(where)}
        return Layer(
            name, Kind.MARKS, role, shown, arrays, always(1), symbol=symbol, size=size, isolate=False, pick=pick
        )

    corners = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    ends = np.concatenate([corners, np.roll(corners, -1, axis=0)], axis=1)[None]
    layers = [
        Layer("Map", Kind.SEGMENTS, Role.PUBLIC, shown, {"ends": ends}, always(1), size=1.0, isolate=False),
        marks("Places to guess", game.adversary.prior.locations, Role.PUBLIC, "square", 5.0, PICK),
        marks("Released point", played.release.points, Role.RELEASED, "circle", 13.0),
    ]
    if guess is not None:
        layers.append(marks("Your guess", place_of(game, guess), Role.REFERENCE, "cross", 13.0))
    if secret is not None and score is not None:
        layers += [
            marks("Best attacker's guess", score.adversary_guess, Role.NOISE, "diamond", 12.0),
            marks("Where it was", secret.nonprivate_location, Role.EXACT, "ring", 15.0),
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


def score_facts(game: LocationGame, score: LocationScore) -> tuple[Fact, ...]:
    """Return one guess beside the best attacker's."""
    words = game.measure.words
    own = game.ground.here is not None
    expected = "If all places were equally likely. Your people are not." if own else "No strategy expects less."
    return (
        Fact("You were off by", words(score.player_loss), "Distance of your guess to the record.", True),
        Fact("The best attacker", words(score.adversary_loss), "He saw the same release.", True),
        Fact("What he expected", words(score.expected_loss), expected, True),
    )


def tally_facts(game: LocationGame, tally: LocationTally) -> tuple[Fact, ...]:
    """Return all guesses beside the best attacker's expectation."""
    words = game.measure.words
    ratio = tally.mean_loss / tally.expected_loss if tally.expected_loss > 0 else 1.0
    return (
        Fact("Rounds", str(tally.n_rounds), "Scored so far.", True),
        Fact("You, on average", words(tally.mean_loss), "Mean distance of your guesses.", True),
        Fact("Best attacker expects", words(tally.expected_loss), "Over the same rounds.", True),
        Fact("Your score", f"{number(ratio)} × the best", "1 is as good as anybody can be; luck goes both ways.", True),
    )
