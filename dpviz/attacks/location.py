"""Location attacks: the Bayes adversary, the two-point game, and reconstruction from several releases.

The Bayes adversary has a public prior over places and makes the best possible guess from one or more releases: Shokri,
Theodorakopoulos, Le Boudec & Hubaux 2011, "Quantifying location privacy" (prior, posterior, expected error);
Chatzikokolakis, Elsalamouny & Palamidessi 2017, "Efficient utility improvement for location privacy" (posterior mean
and geometric median as best guesses). The likelihoods come from `dpviz.mechanisms.ReleaseLaw`: redrawing divides by
P(inside | x), clamping has mass on the walls, remapping sums over cells. The prior is a grid, so a result is exact for
a person at one of its places. For a person anywhere else in the box, it is good if the cells are small compared with
1 / epsilon.

In the two-point game, the record was at x or at x', each with probability 1/2, and the attacker sees one release. The
best attacker answers with the likelier place and is right with probability (1 + TV) / 2, where TV is the total
variation between the two distributions of the release. For the nD-Laplace mechanism without a domain, the likelier
place is the nearer one, so TV is the probability that the noise's part along x' - x stays within |x - x'| / 2.

Each further release of a record helps the attacker and costs epsilon again: m draws z_j = x + r_j u_j of the nD-Laplace
mechanism have the density prod_j exp(-epsilon |x - z_j|) in x. Two estimates of x are the mean and the maximum of the
likelihood, the geometric median. Source for the total cost of independent releases: Andres, Bordenabe, Chatzikokolakis
& Palamidessi 2013.
"""

import math
from collections.abc import Sequence
from typing import Literal, TypeAlias, get_args

import numpy as np
import scipy
from numpy.typing import ArrayLike

from dpviz.core import Box, Budget, FloatArray, Labels, Points, PointsRelease, as_points, frozen, immutable
from dpviz.mechanisms import GridCells, ReleaseLaw, release_law
from dpviz.solvers import geometric_median

# 1 for a wrong cell; |x - guess|^2; |x - guess|.
Loss: TypeAlias = Literal["cell", "squared", "distance"]
LOSSES: tuple[Loss, ...] = get_args(Loss)
# Maximum number of cells of a grid. Several arrays of this size are in memory.
MAX_CELLS = 1 << 22
# Number of features up to which SciPy's K and L stay in the range of floats from SERIES_END on. Checked by
# quadrature.
MAX_FEATURES = 100
# Argument beyond which L overflows. 1 - TV is below 1e-200 there.
STRUVE_END = 600.0
# Arguments below it need only two terms of the series, exact to 1e-12, for n > LOW_FEATURES.
SERIES_END = 0.01
# Up to here, the series' second term is different, and K and L keep their range down to LINEAR_END.
LOW_FEATURES = 6
# Arguments below it need only one term, exact to 1e-10 of TV.
LINEAR_END = 1e-6


@immutable
class Prior:
    """Public knowledge about a place before any release: weights on the middles of a grid's cells."""

    # Public.
    box: Box
    # Number of cells along each axis, (n,).
    shape: tuple[int, ...]
    # Middles of the cells, (m, n); the last axis varies fastest.
    locations: Points
    # At least 0, adding up to 1, (m,).
    weights: FloatArray


@immutable
class LocationAdversary:
    """A prior and the distribution of a release for each of its places. One adversary serves every release."""

    # Public.
    prior: Prior
    # Likelihood of a release for each place.
    law: ReleaseLaw


def uniform_prior(box: Box, shape: Sequence[int]) -> Prior:
    """Return the prior that gives every cell of a grid over the public `box` the same weight.

    `shape` (n,) is the number of cells along each axis. Raises ValueError for a shape that does not fit the box, has an
    axis without cells, or more than 2^22 cells.
    """
    cells = tuple(int(count) for count in shape)
    if len(cells) != box.d or min(cells) < 1 or math.prod(cells) > MAX_CELLS:
        raise ValueError(
            f"shape must have at least one cell for each of the {box.d} axes of the box, and at most "
            f"{MAX_CELLS} cells in all, got {cells}."
        )
    middles = [
        low + (np.arange(count) + 0.5) * (width / count)
        for low, width, count in zip(box.low, box.widths, cells, strict=True)
    ]
    locations = np.stack(np.meshgrid(*middles, indexing="ij"), axis=-1).reshape(-1, box.d)
    return Prior(box, cells, frozen(locations), frozen(np.full(len(locations), 1.0 / len(locations))))


def location_adversary(
    prior: Prior, *, epsilon: float, domain: str = "none", cells: GridCells | None = None
) -> LocationAdversary:
    """Prepare an adversary against nD-Laplace noise. Everything is public.

    Results that do not depend on the release are computed here.

    Parameters
    ----------
    prior
        Places of the grid with their weights, and the box.
    epsilon
        Per unit of distance.
    domain
        Rule that keeps the noise in the prior's box.
    cells
        Cells of the rule "remap".

    Returns
    -------
    LocationAdversary
        The adversary.

    Raises
    ------
    ValueError
        As in `release_law`.
    """
    box = prior.box if domain in ("clamp", "redraw") else None
    return LocationAdversary(prior, release_law(prior.locations, epsilon=epsilon, domain=domain, box=box, cells=cells))


def posterior(release: PointsRelease, adversary: LocationAdversary) -> FloatArray:
    """Return pi(x | z_1 ... z_r) (m,), adding to 1, for a release whose rows z are independent draws for one record.

    pi(x) prod_j K(x)(z_j), normalized. Public, like all its inputs. No rows leave the prior.
    Raises ValueError for rows that do not fit, and if no place of positive weight could have led to them.
    """
    weights, rows = adversary.prior.weights, release.points
    if not len(rows):
        return weights
    logs = adversary.law.log_likelihood(rows[0])
    # Releases of one record: a few dozen rows.
    for row in rows[1:]:
        logs = logs + adversary.law.log_likelihood(row)
    # The best place of positive weight sets the scale, so the sum cannot underflow to 0.
    best = logs.max(where=weights > 0, initial=-np.inf)
    if best == -np.inf:
        raise ValueError(
            "No place of positive prior weight can have led to this release. Check epsilon, the domain and its box, or "
            "give the prior some smoothing."
        )
    # A place without weight may be likelier by any factor, and must not become inf * 0.
    likelihood = np.exp(np.minimum(logs - best, 0.0)) * weights
    return np.asarray(likelihood / likelihood.sum())


def best_guess(prior: Prior, posterior_weights: FloatArray, loss: Loss) -> FloatArray:
    """Return the place with the least expected loss under a posterior.

    Parameters
    ----------
    prior
        Places of the grid.
    posterior_weights
        Posterior (m,) over the places.
    loss
        "cell" asks for the middle of the likeliest cell (MAP), the first one in a tie; "squared" for the posterior
        mean; "distance" for the posterior's geometric median. The latter two need not be places of the grid.

    Returns
    -------
    FloatArray
        The guess (n,).

    Raises
    ------
    ValueError
        If the loss is not one of these.
    """
    _check_loss(loss)
    if loss == "cell":
        return np.asarray(prior.locations[int(posterior_weights.argmax())])
    if loss == "squared":
        return np.asarray(posterior_weights @ prior.locations)
    possible = posterior_weights > 0
    return geometric_median(prior.locations[possible], posterior_weights[possible])


def expected_error(prior: Prior, posterior_weights: FloatArray, guess: ArrayLike, loss: Loss) -> float:
    """Return the expected loss of a guess under a posterior. At the best guess, it is the adversary's expected error.

    Parameters
    ----------
    prior
        Places of the grid.
    posterior_weights
        Posterior (m,) over the places.
    guess
        The guess (n,).
    loss
        Name of the loss, as in `best_guess`.

    Returns
    -------
    float
        A probability for "cell", otherwise in the data's unit, squared for "squared".

    Raises
    ------
    ValueError
        If the loss or the shape is different.
    """
    place = np.asarray(guess, dtype=np.float64)
    _check_loss(loss)
    if place.shape != (prior.box.d,) or not np.isfinite(place).all():
        raise ValueError(f"guess must be finite and have shape ({prior.box.d},), got shape {place.shape}.")
    if loss == "cell":
        losses = np.asarray(np.arange(len(prior.weights)) != _cells(prior, place[None])[0], dtype=np.float64)
    else:
        gaps = prior.locations - place
        squares = np.einsum("ij,ij->i", gaps, gaps)
        losses = np.asarray(squares if loss == "squared" else np.sqrt(squares))
    return float(posterior_weights @ losses)


def error_of(prior: Prior, guess: ArrayLike, location: ArrayLike, loss: Loss) -> float:
    """Return the loss of a guess if the record was at a location.

    Parameters
    ----------
    prior
        Grid whose cells count for the loss "cell".
    guess
        The guess (n,).
    location
        Location of the record (n,).
    loss
        Name of the loss, as in `best_guess`.

    Returns
    -------
    float
        The loss, as in `expected_error`.
    """
    _check_loss(loss)
    guessed, true = (np.asarray(place, dtype=np.float64) for place in (guess, location))
    if guessed.shape != (prior.box.d,) or true.shape != guessed.shape:
        raise ValueError(f"guess and location must have shape ({prior.box.d},), got {guessed.shape} and {true.shape}.")
    if loss == "cell":
        return float(not np.array_equal(_cells(prior, guessed[None]), _cells(prior, true[None])))
    gap = float(np.linalg.norm(guessed - true))
    return gap**2 if loss == "squared" else gap


def posterior_bound(prior: Prior, epsilon: float) -> FloatArray:
    """Return an upper bound on pi(x | z) for each place and any z: (m,) in [0, 1].

    pi(x) / sum_x' pi(x') exp(-epsilon |x - x'|), by Bayes' rule and K(x')(z) >= exp(-epsilon |x - x'|) K(x)(z);
    attained at z = x without a domain. The bound also holds after clamping and remapping (post-processing), and for
    redrawing with the epsilon that is proved for it, up to twice the mechanism's epsilon. For m draws of one record,
    pass m epsilon. The sum is a convolution over the grid, by FFT; its rounding error is about 1e-16 of the largest
    sum. Raises ValueError for an epsilon that is not positive and finite.
    """
    if not 0 < epsilon < math.inf:
        raise ValueError(f"epsilon must be positive and finite, per unit of distance, got {epsilon}.")
    steps = prior.box.widths / prior.shape
    offsets = np.meshgrid(
        *(step * np.arange(1 - count, count) for step, count in zip(steps, prior.shape, strict=True)), indexing="ij"
    )
    kernel = np.exp(-epsilon * np.sqrt(sum(offset**2 for offset in offsets)))
    sums = scipy.signal.fftconvolve(kernel, prior.weights.reshape(prior.shape), mode="valid").ravel()
    # The sum contains x itself with the factor 1. This keeps a bound from a rounded sum at or below 1.
    sums = np.maximum(sums, prior.weights)
    return np.divide(prior.weights, sums, out=np.zeros_like(sums), where=sums > 0)


def _cells(prior: Prior, places: Points) -> Labels:
    """Return the cell (q,) that contains each place (q, n) or, for a place outside, is nearest to it."""
    inside = prior.box.to_unit(prior.box.clip(places))
    # The upper wall is inside.
    cell = np.minimum((inside * prior.shape).astype(np.intp), np.array(prior.shape) - 1)
    return np.asarray(np.ravel_multi_index(tuple(cell.T), prior.shape))


def _check_loss(loss: str) -> None:
    if loss not in LOSSES:
        raise ValueError(f"loss must be one of {', '.join(LOSSES)}, got {loss!r}.")


def laplace_total_variation(epsilon: float, distance: ArrayLike, n_features: int) -> FloatArray:
    """Return the total variation of nD-Laplace releases of two records at a distance.

    It is an upper bound after clamping or remapping, which are post-processing; redrawing can exceed it.

    Parameters
    ----------
    epsilon
        At least 0, per unit of distance.
    distance
        Distance of the records, at least 0, any shape.
    n_features
        Number of features n, from 1 to 100.

    Returns
    -------
    FloatArray
        The total variation, from 0 to 1, in the shape of `distance`.

    Raises
    ------
    ValueError
        If an argument is outside its range.

    Notes
    -----
    TV = y (K_v(y) L_{v-1}(y) + K_{v-1}(y) L_v(y)), y = epsilon distance / 2, v = n / 2, K and L the modified Bessel and
    Struve functions; 1 - exp(-epsilon distance / 2) for n = 1. The noise along one axis has the characteristic function
    (1 + s^2 / epsilon^2)^(-(n + 1) / 2), so its density is proportional to |t|^v K_v(epsilon |t|), whose integral is
    DLMF 10.43.2.
    """
    apart = np.asarray(distance, dtype=np.float64)
    if not 0 <= epsilon < math.inf or not (apart >= 0).all() or not 1 <= n_features <= MAX_FEATURES:
        raise ValueError(
            "epsilon must be finite and at least 0, every distance at least 0, and n_features from 1 "
            f"to {MAX_FEATURES}, got epsilon {epsilon} and n_features {n_features}."
        )
    half = epsilon * apart / 2.0
    if n_features == 1:
        return np.asarray(-np.expm1(-half))
    start = SERIES_END if n_features > LOW_FEATURES else LINEAR_END
    inner = np.clip(half, start, STRUVE_END)
    order = n_features / 2.0
    struve = inner * (
        scipy.special.kv(order, inner) * scipy.special.modstruve(order - 1.0, inner)
        + scipy.special.kv(order - 1.0, inner) * scipy.special.modstruve(order, inner)
    )
    # TV for small y: y Gamma(v) / (sqrt(pi) Gamma(v + 1/2)) (1 - y^2 / (12 (v - 1)) + ...).
    slope = math.exp(math.lgamma(order) - math.lgamma(order + 0.5)) / math.sqrt(math.pi)
    bend = half**2 / (12.0 * (order - 1.0)) if n_features > LOW_FEATURES else 0.0
    series = slope * half * (1.0 - bend)
    return np.where(half >= STRUVE_END, 1.0, np.where(half < start, series, np.clip(struve, 0.0, 1.0)))


def two_point_success(total_variation: ArrayLike) -> FloatArray:
    """Return (1 + TV) / 2, the best attacker's success rate with a prior of 1/2; TV in [0, 1], any shape."""
    variation = np.asarray(total_variation, dtype=np.float64)
    if not ((variation >= 0) & (variation <= 1)).all():
        raise ValueError("total_variation must be in [0, 1], because it is a difference of two probabilities.")
    return np.asarray((1.0 + variation) / 2.0)


def nearer_scores(release: PointsRelease, record: ArrayLike, other: ArrayLike) -> FloatArray:
    """Return |z - x'| - |z - x| of each released row z; a positive score means "it was x".

    It is the best statistic for one row without a domain: the log-likelihood ratio divided by epsilon. With a domain,
    use the likelihood ratio of the domain's release.

    Parameters
    ----------
    release
        Released rows (m, n).
    record
        Candidate x (n,), known to the attacker.
    other
        Candidate x' (n,), known to the attacker.

    Returns
    -------
    FloatArray
        Scores (m,), data units.
    """
    n_features = release.points.shape[1]
    here = as_points(np.atleast_2d(record), n_features=n_features, name="record")
    there = as_points(np.atleast_2d(other), n_features=n_features, name="other")
    gap_here, gap_there = release.points - here, release.points - there
    return np.asarray(
        np.sqrt(np.einsum("ij,ij->i", gap_there, gap_there)) - np.sqrt(np.einsum("ij,ij->i", gap_here, gap_here))
    )


def reconstruct_mean(release: PointsRelease) -> FloatArray:
    """Return the mean (n,) of a release whose m rows are independent draws for one record.

    Unbiased without a domain; its root mean squared error is `mean_error`. Raises ValueError for no rows.
    """
    return np.asarray(_rows(release.points).mean(axis=0))


def reconstruct_median(release: PointsRelease) -> FloatArray:
    """Return the geometric median (n,) of a release whose m rows are independent draws for one record.

    The maximum of the likelihood without a domain; its root mean squared error tends to `median_error` as m grows.
    Raises ValueError for no rows.
    """
    return geometric_median(_rows(release.points))


def mean_error(epsilon: float, n_features: int, n_releases: ArrayLike) -> FloatArray:
    """Return sqrt(n (n + 1)) / (epsilon sqrt(m)), the exact RMS distance of the mean of m releases to the record.

    Parameters
    ----------
    epsilon
        Above 0, per unit of distance.
    n_features
        Number of features n.
    n_releases
        Number of releases m, any shape.

    Returns
    -------
    FloatArray
        The distance, data units, in the shape of `n_releases`.

    Notes
    -----
    E r^2 = n (n + 1) / epsilon^2 for r ~ Gamma(n, 1 / epsilon), and the mean of m independent draws divides it by m.
    """
    draws = _checked(epsilon, n_features, n_releases)
    return np.asarray(math.sqrt(n_features * (n_features + 1)) / (epsilon * np.sqrt(draws)))


def median_error(epsilon: float, n_features: int, n_releases: ArrayLike) -> FloatArray:
    """Return n / (epsilon sqrt(m)), the limit of the geometric median's RMS distance as m grows.

    Parameters
    ----------
    epsilon
        Above 0, per unit of distance.
    n_features
        Number of features n.
    n_releases
        Number of releases m, any shape.

    Returns
    -------
    FloatArray
        The distance, data units, in the shape of `n_releases`.

    Notes
    -----
    The Fisher information of one draw is E (epsilon u)(epsilon u)^T = epsilon^2 / n times the identity, so m draws
    leave an efficient estimate a covariance of n / (epsilon^2 m) on each of n axes. For n = 2 and m = 50 the true
    figure is 5 % larger.
    """
    return np.asarray(n_features / (epsilon * np.sqrt(_checked(epsilon, n_features, n_releases))))


def spent(epsilon: float, n_releases: int) -> Budget:
    """Return the total cost of m releases of one record: m epsilon, per unit of distance like `epsilon`."""
    _checked(epsilon, 1, n_releases)
    return Budget(n_releases * epsilon)


def _rows(points: FloatArray) -> FloatArray:
    if not len(points):
        raise ValueError("The release must have at least one row, because a reconstruction needs a draw.")
    return points


def _checked(epsilon: float, n_features: int, n_releases: ArrayLike) -> FloatArray:
    draws = np.asarray(n_releases, dtype=np.float64)
    if not 0 < epsilon < math.inf or n_features < 1 or not (draws >= 1).all():
        raise ValueError(
            "epsilon must be positive and finite, and n_features and n_releases at least 1, got "
            f"epsilon {epsilon}, n_features {n_features} and n_releases {n_releases!r}."
        )
    return draws
