"""The Bayes adversary: a public prior over places, one or more releases, and the best possible guess.

Shokri, Theodorakopoulos, Le Boudec & Hubaux 2011, "Quantifying location privacy" (prior, posterior, expected error);
Chatzikokolakis, Elsalamouny & Palamidessi 2017, "Efficient utility improvement for location privacy" (posterior mean
and geometric median as best guesses). The likelihoods are those of `dpviz.mechanisms.ReleaseLaw`: redrawing divides by
P(inside | x), clamping has mass on the walls, remapping sums over cells.

The prior is a grid, so a result is exact for a person who is at one of its places, and for a person anywhere in the box
as good as the cells are small against 1 / epsilon.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
import scipy
from numpy.typing import ArrayLike

from dpviz.core import Box, FloatArray, Points, PointsRelease, as_points, frozen
from dpviz.mechanisms import GridCells, ReleaseLaw, release_law
from dpviz.solvers import geometric_median

Loss: TypeAlias = Literal["cell", "squared", "distance"]  # 1 for a wrong cell; |x - guess|^2; |x - guess|
LOSSES: tuple[Loss, ...] = get_args(Loss)
MAX_CELLS = 1 << 22  # of a grid: some arrays of this size are held


@dataclass(frozen=True, slots=True, eq=False)
class Prior:
    """What is known about a place before any release: weights on the middles of a grid's cells. Public."""

    box: Box
    shape: tuple[int, ...]  # (n,) cells along each axis
    locations: Points  # (m, n) middles of the cells, the last axis running fastest
    weights: FloatArray  # (m,) >= 0, adding to 1


@dataclass(frozen=True, slots=True, eq=False)
class LocationAdversary:
    """A prior and the law of a release for each of its places; made once, asked for every release."""

    prior: Prior
    law: ReleaseLaw


def uniform_prior(box: Box, shape: Sequence[int]) -> Prior:
    """Return the prior that gives every cell of a grid over the public `box` the same weight.

    `shape` (n,) is the number of cells along each axis. Raises ValueError for a shape that does not fit the box, has an
    axis without cells, or more than 2^22 cells.
    """
    cells = tuple(int(count) for count in shape)
    if len(cells) != box.d or min(cells) < 1 or math.prod(cells) > MAX_CELLS:
        raise ValueError(
            f"shape was {cells}, but the box has {box.d} axes: give each one cell at least, and {MAX_CELLS} in all at "
            "most."
        )
    middles = [
        low + (np.arange(count) + 0.5) * (width / count)
        for low, width, count in zip(box.low, box.widths, cells, strict=True)
    ]
    locations = np.stack(np.meshgrid(*middles, indexing="ij"), axis=-1).reshape(-1, box.d)
    return Prior(box, cells, frozen(locations), frozen(np.full(len(locations), 1.0 / len(locations))))


def empirical_prior(box: Box, shape: Sequence[int], points: ArrayLike, *, smoothing: float = 0.0) -> Prior:
    """Return the prior that counts *public* `points` (p, n) in the cells, `smoothing` >= 0 more in each.

    The points must be public (an old census, a road map): a prior from the private records is no attacker's. Points
    outside the box count at its wall. Raises ValueError as `uniform_prior` does, for bad points or smoothing, and where
    nothing would have any weight.
    """
    even = uniform_prior(box, shape)
    cell = _cells(even, as_points(points, n_features=box.d))
    counts = np.bincount(cell, minlength=len(even.weights)) + smoothing
    if not 0 <= smoothing < math.inf or not counts.sum() > 0:
        raise ValueError(
            f"smoothing was {smoothing} with {len(cell)} points, but it must be >= 0 and finite, and positive when "
            "there are no points."
        )
    return Prior(box, even.shape, even.locations, frozen(counts / counts.sum()))


def location_adversary(
    prior: Prior, *, epsilon: float, domain: str = "none", cells: GridCells | None = None
) -> LocationAdversary:
    """Prepare an adversary against nD-Laplace noise kept in the prior's box by `domain`; `cells` are for remap.

    Everything is public. What does not depend on the release is computed here. Raises ValueError as `release_law` does.
    """
    box = prior.box if domain in ("clamp", "redraw") else None
    return LocationAdversary(prior, release_law(prior.locations, epsilon=epsilon, domain=domain, box=box, cells=cells))


def posterior(release: PointsRelease, adversary: LocationAdversary) -> FloatArray:
    """Return pi(x | z_1 ... z_r) (m,), adding to 1, for a release whose rows z are independent draws for one record.

    pi(x) prod_j K(x)(z_j), normalised. Public, like all it is made of. No rows leave the prior.
    Raises ValueError for rows that do not fit, and where no place of positive weight could have led to them.
    """
    weights, rows = adversary.prior.weights, release.points
    if not len(rows):
        return weights
    logs = adversary.law.log_likelihood(rows[0])
    for row in rows[1:]:  # releases of one record, some dozens
        logs = logs + adversary.law.log_likelihood(row)
    # The best place of positive weight sets the scale: none other underflows to a sum of 0.
    best = logs.max(where=weights > 0, initial=-np.inf)
    if best == -np.inf:
        raise ValueError(
            "No place of positive prior weight can have led to this release. Check epsilon, the domain and its box, or "
            "give the prior some smoothing."
        )
    # A place without weight may be likelier by any factor, and must not become inf * 0.
    found = np.exp(np.minimum(logs - best, 0.0)) * weights
    return np.asarray(found / found.sum())


def best_guess(prior: Prior, posterior_weights: FloatArray, loss: Loss) -> FloatArray:
    """Return the place (n,) with the least expected loss under the posterior (m,).

    "cell": the likeliest cell's middle (MAP), the first of equals; "squared": the posterior mean; "distance": the
    posterior's geometric median. The latter two need not be places of the grid. Raises ValueError for another loss.
    """
    _check_loss(loss)
    if loss == "cell":
        return np.asarray(prior.locations[int(posterior_weights.argmax())])
    if loss == "squared":
        return np.asarray(posterior_weights @ prior.locations)
    seen = posterior_weights > 0
    return geometric_median(prior.locations[seen], posterior_weights[seen])


def expected_error(prior: Prior, posterior_weights: FloatArray, guess: ArrayLike, loss: Loss) -> float:
    """Return the loss of `guess` (n,) to be expected under the posterior (m,): a probability for "cell", else in the
    data's unit, squared for "squared".

    At the best guess it is the adversary's own expected error. Raises ValueError for another loss or shape.
    """
    losses = _losses(prior, np.asarray(guess, dtype=np.float64), loss)
    return float(posterior_weights @ losses)


def error_of(prior: Prior, guess: ArrayLike, location: ArrayLike, loss: Loss) -> float:
    """Return the loss of `guess` (n,) when the record was at `location` (n,); both cells count by the prior's grid."""
    _check_loss(loss)
    guessed, true = (np.asarray(place, dtype=np.float64) for place in (guess, location))
    if guessed.shape != (prior.box.d,) or true.shape != guessed.shape:
        raise ValueError(f"guess and location had shapes {guessed.shape} and {true.shape}, not ({prior.box.d},).")
    if loss == "cell":
        return float(not np.array_equal(_cells(prior, guessed[None]), _cells(prior, true[None])))
    gap = float(np.linalg.norm(guessed - true))
    return gap**2 if loss == "squared" else gap


def posterior_bound(prior: Prior, epsilon: float) -> FloatArray:
    """Return the most that pi(x | z) can be for each place, whatever z is: (m,) in [0, 1].

    pi(x) / sum_x' pi(x') exp(-epsilon |x - x'|), by Bayes' rule and K(x')(z) >= exp(-epsilon |x - x'|) K(x)(z);
    attained at z = x without a domain. Holds after clamping and remapping too (post-processing), and for redrawing with
    the epsilon that is proved for it, up to twice the mechanism's. For m draws of one record pass m epsilon.
    The sum is a convolution over the grid, by FFT: its rounding error is some 1e-16 of the largest sum.
    Raises ValueError for an epsilon that is not positive and finite.
    """
    if not 0 < epsilon < math.inf:
        raise ValueError(f"epsilon was {epsilon}, but it must be positive and finite, per unit of distance.")
    steps = prior.box.widths / prior.shape
    offsets = np.meshgrid(
        *(step * np.arange(1 - count, count) for step, count in zip(steps, prior.shape, strict=True)), indexing="ij"
    )
    kernel = np.exp(-epsilon * np.sqrt(sum(offset**2 for offset in offsets)))
    sums = scipy.signal.fftconvolve(kernel, prior.weights.reshape(prior.shape), mode="valid").ravel()
    # The sum holds x itself with the factor 1, which keeps a rounded sum from a bound above 1.
    sums = np.maximum(sums, prior.weights)
    return np.divide(prior.weights, sums, out=np.zeros_like(sums), where=sums > 0)


def _losses(prior: Prior, guess: FloatArray, loss: Loss) -> FloatArray:
    """Return the loss of one guess (n,) at every place (m,)."""
    _check_loss(loss)
    if guess.shape != (prior.box.d,) or not np.isfinite(guess).all():
        raise ValueError(f"guess had shape {guess.shape}, but it must be ({prior.box.d},) and finite.")
    if loss == "cell":
        return np.asarray(np.arange(len(prior.weights)) != _cells(prior, guess[None])[0], dtype=np.float64)
    gaps = prior.locations - guess
    squares = np.einsum("ij,ij->i", gaps, gaps)
    return np.asarray(squares if loss == "squared" else np.sqrt(squares))


def _cells(prior: Prior, places: Points) -> np.ndarray[tuple[int, ...], np.dtype[np.intp]]:
    """Return the cell (q,) that each place (q, n) lies in or, from outside, is nearest to."""
    inside = prior.box.to_unit(prior.box.clip(places))
    cell = np.minimum((inside * prior.shape).astype(np.intp), np.array(prior.shape) - 1)  # the upper wall is inside
    return np.asarray(np.ravel_multi_index(tuple(cell.T), prior.shape))


def _check_loss(loss: str) -> None:
    if loss not in LOSSES:
        raise ValueError(f"loss was {loss!r}, but it must be one of {', '.join(LOSSES)}.")
