"""Play the attacker: rounds to guess in, and a score against the best possible adversary.

A round is two objects of two types. The public part is a `Release` and is all that a player, a page or an attack gets.
The secret is a `Step`, like everything that only the curator may see, so the type checker rejects it where a release is
required. Scoring takes both, after the guess. Records are invented here, drawn from the public prior or placed by the
caller: a game on real records would release them once more in each round.
"""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import ArrayLike

from dpviz.attacks.location import (
    LocationAdversary,
    Loss,
    best_guess,
    error_of,
    expected_error,
    posterior,
    two_point_success,
)
from dpviz.attacks.roc import clopper_pearson
from dpviz.core import FloatArray, Points, PointsRelease, Release, Step, as_points, frozen, immutable, immutable_value

# Records (m, n) -> one released row for each record.
Mechanism = Callable[[Points, np.random.Generator], PointsRelease]


@immutable
class LocationRound(Release):
    """A round of "Where was the record?". Public: some draws for one record."""

    # Rows are independent draws for one record.
    release: PointsRelease


@immutable
class LocationSecret(Step):
    """The answer of a `LocationRound`, not to be shown before the guess."""

    nonprivate_location: FloatArray  # (n,)


@immutable
class LocationScore:
    """Scores of one guess and of the best adversary, who saw the same release."""

    # Loss of the player's guess at the true place.
    player_loss: float
    # Loss of the best guess at the true place, which includes luck.
    adversary_loss: float
    # Expected loss of the best guess before the place is known. No strategy expects less.
    expected_loss: float
    adversary_guess: FloatArray  # (n,)


@immutable
class MembershipRound(Release):
    """A round of "Who was in?". Public: two candidates, and a release of a data set with one of them."""

    # x and x', (2, n).
    candidates: Points
    # Public.
    release: Release


@immutable
class MembershipSecret(Step):
    """The answer of a `MembershipRound`, not to be shown before the guess."""

    # Row of the candidates, 0 or 1.
    nonprivate_index: int


@immutable_value
class LocationTally:
    """Many scored guesses of one player."""

    # Number of scored rounds.
    n_rounds: int
    # Mean loss of the player's guesses.
    mean_loss: float
    # Expected loss of the best adversary, averaged over the same rounds.
    expected_loss: float


@immutable_value
class MembershipTally:
    """Many scored guesses of one player."""

    # Number of played rounds.
    n_rounds: int
    # Number of rounds with a right guess.
    n_correct: int
    # Low end of the Clopper-Pearson 95 % interval of the player's rate.
    low: float
    # High end of this interval.
    high: float
    # (1 + TV) / 2. No strategy is right more often in the long run.
    best_rate: float


def location_rounds(
    mechanism: Mechanism, adversary: LocationAdversary, *, n_rounds: int, n_releases: int = 1, rng: np.random.Generator
) -> Iterator[tuple[LocationRound, LocationSecret]]:
    """Yield rounds, each with a place drawn from the adversary's prior and independent releases of it.

    The same generator state gives the same rounds, and round i is the same for any number of rounds.

    Parameters
    ----------
    mechanism
        Function of records and a generator that must release by the distribution that the adversary assumes; otherwise
        the adversary's expected error is not the best.
    adversary
        Prior and distribution.
    n_rounds
        Number of rounds, at least 1.
    n_releases
        Number of draws for each place, at least 1.
    rng
        Generator of places and noise.

    Yields
    ------
    tuple
        The round, and its secret.

    Raises
    ------
    ValueError
        If a number is below 1.
    """
    if n_rounds < 1 or n_releases < 1:
        raise ValueError(f"n_rounds and n_releases must be at least 1, got {n_rounds} and {n_releases}.")
    prior = adversary.prior
    for generator in rng.spawn(n_rounds):
        location = prior.locations[generator.choice(len(prior.weights), p=prior.weights)]
        released = mechanism(np.tile(location, (n_releases, 1)), generator)
        yield LocationRound(released), LocationSecret(location.copy())


def score_location(
    played: LocationRound, secret: LocationSecret, guess: ArrayLike, adversary: LocationAdversary, loss: Loss
) -> LocationScore:
    """Score one guess after it was made; a pure function of its arguments.

    The adversary's expected loss is the loss of the best guess under the posterior of this round.

    Parameters
    ----------
    played
        The round that the guess is about.
    secret
        Its true place.
    guess
        The guess (n,).
    adversary
        Prior and distribution.
    loss
        Name of the loss, as in `best_guess`.

    Returns
    -------
    LocationScore
        Loss of the guess and of the adversary.

    Raises
    ------
    ValueError
        If the guess has a different shape or the loss is unknown.
    """
    prior, truth = adversary.prior, secret.nonprivate_location
    weights = posterior(played.release, adversary)
    best = best_guess(prior, weights, loss)
    return LocationScore(
        error_of(prior, guess, truth, loss),
        error_of(prior, best, truth, loss),
        expected_error(prior, weights, best, loss),
        frozen(best),
    )


def tally_locations(scores: list[LocationScore]) -> LocationTally:
    """Add up scored guesses of one loss; the best adversary's own mean loss scatters around `expected_loss`.

    Raises ValueError without scores.
    """
    if not scores:
        raise ValueError("A tally needs at least one round, got no scores.")
    return LocationTally(
        len(scores),
        float(np.mean([score.player_loss for score in scores])),
        float(np.mean([score.expected_loss for score in scores])),
    )


def membership_rounds(
    run: Callable[[Points, np.random.Generator], Release],
    points: ArrayLike,
    other: ArrayLike,
    *,
    target: int = 0,
    n_rounds: int,
    rng: np.random.Generator,
) -> Iterator[tuple[MembershipRound, MembershipSecret]]:
    """Yield rounds in which a fair coin leaves a row of the records in place or replaces it.

    Both candidates are public, and the other rows are invented. Rounds are reproducible like `location_rounds`.

    Parameters
    ----------
    run
        Function of records and a generator that returns a release.
    points
        Records (m, n).
    other
        Replacement (n,) of the target.
    target
        Index of the row.
    n_rounds
        Number of rounds, at least 1.
    rng
        Generator of coins and noise.

    Yields
    ------
    tuple
        The round, and its secret.

    Raises
    ------
    ValueError
        If the target is not a row, a shape is different, or `n_rounds` is below 1.
    """
    records = as_points(points)
    stranger = as_points(np.atleast_2d(other), n_features=records.shape[1], name="other")[0]
    if n_rounds < 1 or not 0 <= target < len(records):
        raise ValueError(
            f"n_rounds must be at least 1 and target a row from 0 to {len(records) - 1}, got {n_rounds} and {target}."
        )
    candidates = frozen(np.stack([records[target], stranger]))
    for generator in rng.spawn(n_rounds):
        index = int(generator.integers(2))
        world = records.copy()
        world[target] = candidates[index]
        yield MembershipRound(candidates, run(world, generator)), MembershipSecret(index)


def is_correct(secret: MembershipSecret, guess: int) -> bool:
    """Return True if the guess, 0 or 1, names the candidate that was in. Raises ValueError otherwise."""
    if guess not in (0, 1):
        raise ValueError(f"guess must be 0 or 1, a row of the candidates, got {guess}.")
    return guess == secret.nonprivate_index


def tally_memberships(n_correct: int, n_rounds: int, total_variation: float) -> MembershipTally:
    """Compare a player's share of correct guesses with (1 + TV) / 2, the best adversary's share.

    Parameters
    ----------
    n_correct
        Number of correct guesses.
    n_rounds
        Number of rounds, at least 1.
    total_variation
        Total variation between the releases of the two worlds: `laplace_total_variation` for released rows, or its
        bound `advantage_bound`.

    Returns
    -------
    MembershipTally
        Both shares.

    Raises
    ------
    ValueError
        If a count or the variation is invalid.
    """
    band = clopper_pearson([n_correct], n_rounds)
    best = float(two_point_success(total_variation))
    return MembershipTally(n_rounds, n_correct, float(band.low[0]), float(band.high[0]), best)
