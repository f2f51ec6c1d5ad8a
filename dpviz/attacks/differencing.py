"""One record from all records' centers, for an attacker who has every other record (Lu & Shen, figure 1).

Everything is in box units, [0, 1]^d. The attacker knows the n - 1 other records and the partition that a release is
based on, and so also the others' exact counts n'_i and sums s'_i. They are passed as `nonprivate_known_*`; the attacker
has them.

- `exact_record`: from exact centers S_i and counts n_i, x = sum_i (n_i S_i - s'_i). The only error is rounding.
- `likeliest_record`: from noisy counts and sums, the most likely of the places that single clusters point at.
- `expected_record`: the same, averaged over a prior; better if noise hides nearly everything.
- `ray_segment`: from centers that lie on the rays of their sums, c_i = s_i / (noisy count): s_i = tau c_i for some
  unknown tau, so x lies on the line tau c_i - s'_i, exactly (errata of the specification on theorem 5).
- `zone_record`: also from a published sampling zone (P, r) around an exact mean S = (s' + x) / (n' + 1), which lies on
  |S - S_prev| - |S - P| = r: together with the line, that is x itself.
"""

import numpy as np

from dpviz.core import Centers, Counts, FloatArray, Labels, Points, Release, immutable
from dpviz.solvers import BOX_MIDDLE, assign

# Sine of an angle that rounding cannot explain.
OFF_RAY = 1e-9
# Box units. A center this close to a wall may have been clipped onto it.
ON_WALL = 1e-9
# Minimum number of places that share a posterior: the inverse sum of their squared probabilities. Our choice.
ENOUGH = 20.0
# Places of a segment at which zones are compared.
N_PLACES = 4001
# Refinements of an interval: more than a float has digits.
N_REFINED = 60


@immutable
class PartitionSums(Release):
    """Noisy counts, and sums of x - 1/2, of the clusters of T partitions by released centers. Box units.

    Sums are NaN if a release does not contain them.
    """

    # Centers whose nearest records are counted, (T, k, d).
    partitions: FloatArray
    counts: FloatArray  # (T, k)
    sums: FloatArray  # (T, k, d)
    # Scale of the counts' Laplace noise. Public.
    count_scale: float
    # Scale of the Laplace noise of each coordinate. Public.
    sum_scale: float


@immutable
class ZonePath(Release):
    """Centers on the rays of their sums, and the zones published on the way. Box units."""

    # Final centers, (k, d).
    centers: Centers
    # Centers whose clusters were summed, (k, d).
    partition: Centers
    # S_prev, (T, k, d).
    previous: FloatArray
    # P, (T, k, d).
    zone_centers: FloatArray
    # r, (T, k).
    zone_radii: FloatArray


@immutable
class Segment:
    """All places where the record can be, given the release: a piece of a line in the box."""

    cluster: int
    ends: FloatArray  # (2, d)

    def at(self, share: FloatArray) -> Points:
        """Return the places (m, d) at shares (m,) of its length."""
        return np.asarray(self.ends[0] + share[:, None] * (self.ends[1] - self.ends[0]))

    def distance(self, place: FloatArray) -> float:
        """Return the distance of a place (d,) from the segment."""
        way = self.ends[1] - self.ends[0]
        share = np.clip((place - self.ends[0]) @ way / max(float(way @ way), 1e-300), 0.0, 1.0)
        return float(np.linalg.norm(place - self.ends[0] - share * way))


def exact_record(
    nonprivate_centers: Centers, nonprivate_counts: Counts, nonprivate_known_sums: FloatArray
) -> FloatArray:
    """Return the one missing record of exact centers and counts: sum_i (n_i S_i - s'_i), for any partition.

    Parameters
    ----------
    nonprivate_centers
        Disclosed centers (k, d).
    nonprivate_counts
        Disclosed counts (k,).
    nonprivate_known_sums
        Sums (k, d) of all records except one.

    Returns
    -------
    FloatArray
        The record (d,), up to the rounding error of the sums.
    """
    sums = nonprivate_counts[:, None] * nonprivate_centers
    return np.asarray((sums - nonprivate_known_sums).sum(axis=0))


def likeliest_record(
    release: PartitionSums, nonprivate_known_counts: FloatArray, nonprivate_known_sums: FloatArray
) -> FloatArray:
    """Return the likeliest of the places that single noisy sums point at.

    Parameters
    ----------
    release
        Noisy counts and sums of several partitions.
    nonprivate_known_counts
        Counts (T, k) of all other records.
    nonprivate_known_sums
        Sums of x - 1/2 (T, k, d) of all other records.

    Returns
    -------
    FloatArray
        The attacker's guess (d,), box units.

    Notes
    -----
    A record at x in cluster c_t(x) of each partition leaves Laplace-distributed residuals: ln L(x) = const + sum_t
    [(|N_t| - |N_t - 1|) / b_n + (|D_t| - |D_t - (x - 1/2)|) / b_s], N and D the differences of counts and sums in that
    cluster. The attack tries all D + 1/2, clipped into the box, and the median over t along the clusters of the best
    one.
    """
    count = release.counts - nonprivate_known_counts  # (T, k), N
    total = release.sums - nonprivate_known_sums  # (T, k, d), D
    pointed = np.clip(np.nan_to_num(total) + BOX_MIDDLE, 0.0, 1.0)
    tried = pointed.reshape(-1, total.shape[-1])
    score, clusters = _likelihood(tried, release, count, total)
    best = int(score.argmax())
    middle = np.median(pointed[np.arange(len(count)), clusters[best]], axis=0)[None]
    again, _ = _likelihood(middle, release, count, total)
    return np.asarray(middle[0] if again[0] > score[best] else tried[best])


def expected_record(
    release: PartitionSums, nonprivate_known_counts: FloatArray, nonprivate_known_sums: FloatArray, prior: Points
) -> FloatArray:
    """Return the mean of the posterior over equally likely places, which has the smallest squared error.

    If fewer than ENOUGH places share the posterior, they are too coarse for a mean, and `likeliest_record` is returned.

    Parameters
    ----------
    release
        Noisy counts and sums of several partitions.
    nonprivate_known_counts
        Counts (T, k) of all other records.
    nonprivate_known_sums
        Sums of x - 1/2 (T, k, d) of all other records.
    prior
        Equally likely places (m, d), box units.

    Returns
    -------
    FloatArray
        The guess (d,), box units.
    """
    count, total = release.counts - nonprivate_known_counts, release.sums - nonprivate_known_sums
    score, _ = _likelihood(prior, release, count, total)
    weights = np.exp(score - score.max())
    weights /= weights.sum()
    if 1.0 / float(weights @ weights) < ENOUGH:
        return likeliest_record(release, nonprivate_known_counts, nonprivate_known_sums)
    return np.asarray(weights @ prior)


def ray_segment(release: ZonePath, nonprivate_known_sums: FloatArray) -> Segment | None:
    """Return the record's possible places, given the others' exact sums (k, d) in the final clusters; None if all fit.

    The cluster is the one whose center is farthest off the ray of the others' sum. The result is also None if that
    center lies on a wall: it was clipped, and its ray is lost. With one feature there is only one ray, so the whole box
    remains.
    """
    centers, known = release.centers, nonprivate_known_sums
    d = centers.shape[1]
    if d == 1:
        return Segment(0, np.array([[0.0], [1.0]]))
    free = ((centers > ON_WALL) & (centers < 1.0 - ON_WALL)).all(axis=1)
    # The sine of the angle between center and sum, which is precise for small angles; 1 if either is 0.
    lengths = np.linalg.norm(centers, axis=1), np.linalg.norm(known, axis=1)
    one, other = (
        rows / np.where(length > 0, length, 1.0)[:, None]
        for rows, length in zip((centers, known), lengths, strict=True)
    )
    across = one - np.einsum("ij,ij->i", one, other)[:, None] * other
    off = np.where(free, np.where((lengths[0] > 0) & (lengths[1] > 0), np.linalg.norm(across, axis=1), 1.0), 0.0)
    cluster = int(off.argmax())
    if off[cluster] < OFF_RAY:
        return None
    way, start = centers[cluster] / np.linalg.norm(centers[cluster]), known[cluster]
    # tau at which x_j = tau u_j - s'_j is 0 and 1, where u_j > 0 in the open box.
    low, high = start / way, (1.0 + start) / way
    first, last = float(low.max()), float(high.min())
    if not first < last:
        return None
    return Segment(cluster, np.stack([first * way - start, last * way - start]))


def zone_record(
    release: ZonePath, segment: Segment, nonprivate_known_counts: FloatArray, nonprivate_known_sums: FloatArray
) -> tuple[FloatArray, float]:
    """Return the place on a segment that fits all zones best, and its misfit.

    Parameters
    ----------
    release
        Zones of all iterations.
    segment
        Places to choose from.
    nonprivate_known_counts
        Exact counts (T, k) of the others in the clusters of `release.previous`.
    nonprivate_known_sums
        Their exact sums (T, k, d).

    Returns
    -------
    place
        The place (d,), box units.
    misfit
        Its mean distance off the zones, box units: the root mean square over t of n' + 1 times
        |S - S_prev| - |S - P| - r, with S = (s' + x) / (n' + 1).
    """
    known = nonprivate_known_counts, nonprivate_known_sums
    shares = np.linspace(0.0, 1.0, N_PLACES)
    best = int(_misfit(segment.at(shares), release, *known).argmin())
    # Near the record the misfit grows like a distance, not like its square, so narrowing keeps all digits.
    low, high = shares[max(best - 1, 0)], shares[min(best + 1, N_PLACES - 1)]
    for _ in range(N_REFINED):
        inner = np.linspace(low, high, 9)
        best = int(_misfit(segment.at(inner), release, *known).argmin())
        low, high = inner[max(best - 1, 0)], inner[min(best + 1, 8)]
    place = segment.at(np.array([0.5 * (low + high)]))
    return place[0], float(_misfit(place, release, *known)[0])


def _likelihood(
    places: Points, release: PartitionSums, count: FloatArray, total: FloatArray
) -> tuple[FloatArray, Labels]:
    """Return the log-likelihood (m,) of places (m, d), and the cluster (m, T) that each would be in."""
    clusters = np.stack([assign(places, partition) for partition in release.partitions], axis=1)
    turns = np.arange(len(count))
    n, sums = count[turns, clusters], total[turns, clusters]  # (m, T) and (m, T, d)
    of_counts = (np.abs(n) - np.abs(n - 1.0)).sum(axis=1) / release.count_scale
    gained = np.abs(sums) - np.abs(sums - (places[:, None] - BOX_MIDDLE))
    of_sums = np.nansum(gained, axis=(1, 2)) / release.sum_scale
    return np.asarray(of_counts + of_sums), clusters


def _misfit(places: Points, release: ZonePath, counts: FloatArray, sums: FloatArray) -> FloatArray:
    """Return the misfit (m,) of places (m, d) to the zones."""
    clusters = np.stack([assign(places, partition) for partition in release.previous], axis=1)  # (m, T)
    turns = np.arange(len(release.previous))
    n = counts[turns, clusters] + 1.0
    mean = (sums[turns, clusters] + places[:, None]) / n[..., None]  # (m, T, d), S
    before, zone = release.previous[turns, clusters], release.zone_centers[turns, clusters]
    off = np.linalg.norm(mean - before, axis=-1) - np.linalg.norm(mean - zone, axis=-1)
    off -= release.zone_radii[turns, clusters]
    return np.asarray(np.sqrt(np.mean((n * off) ** 2, axis=1)))
