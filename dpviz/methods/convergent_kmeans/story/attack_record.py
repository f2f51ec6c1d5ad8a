"""The attack that motivates it all (Lu & Shen, figure 1): everybody's centers, all records but one, and the one left.

Three releases of the same records: exact centers and counts, noisy ones (repaired mode), and what the paper publishes.
It is about one exact record: all of it is the curator's.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from dpviz import attacks
from dpviz.attacks import PartitionSums, Segment, ZonePath
from dpviz.core import Box, Confidential, FloatArray, Points, unit_records
from dpviz.methods.convergent_kmeans import algorithm
from dpviz.methods.convergent_kmeans.algorithm import Params, ZonesRelease
from dpviz.solvers import BOX_MIDDLE, EMPTY_SCALES, assign, cluster_sums, lloyd, su_split

N_PRIOR = 2048  # places of the box, equally likely to somebody who knows nothing


@dataclass(frozen=True, slots=True, eq=False)
class ExactKnowledge(Confidential):
    """What exact centers tell, box units."""

    nonprivate_record: FloatArray  # (d,)
    nonprivate_centers: FloatArray  # (k, d) of all records: disclosed
    nonprivate_known_centers: FloatArray  # (k, d) of all but one
    guess: FloatArray  # (d,)


@dataclass(frozen=True, slots=True, eq=False)
class Guesses(Confidential):
    """What the attacker finds in R runs, box units."""

    nonprivate_record: FloatArray  # (d,)
    guesses: FloatArray  # (R, d); NaN where there is none
    segments: FloatArray  # (R, 2, d) in published mode; NaN where a run has none
    nonprivate_off: FloatArray  # (R,) how far the record is from its segment

    @property
    def nonprivate_errors(self) -> FloatArray:
        """How far each guess is off, (R,), box widths."""
        return np.asarray(np.linalg.norm(self.guesses - self.nonprivate_record, axis=1))

    @classmethod
    def joined(cls, parts: Sequence["Guesses"]) -> "Guesses":
        """Put runs together."""
        names = ("guesses", "segments", "nonprivate_off")
        rows = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
        return cls(parts[0].nonprivate_record, **rows)


def attack_exact(points: Points, box: Box, params: Params, record: int) -> ExactKnowledge:
    """Compute the record from Lloyd's exact centers and counts: with it disclosed, without it the attacker's own."""
    unit = unit_records(points, box)
    others = np.delete(unit, record, axis=0)
    start = algorithm.start_centers(points, box, params, rng=np.random.default_rng(params.start_seed))
    disclosed, own = lloyd(unit, start), lloyd(others, start)
    counts = np.bincount(disclosed.nonprivate_labels, minlength=len(start)).astype(np.float64)
    known = cluster_sums(others, own.nonprivate_labels, len(start)).nonprivate_sums
    guess = attacks.exact_record(disclosed.nonprivate_centers, counts, known)
    return ExactKnowledge(unit[record], disclosed.nonprivate_centers, own.nonprivate_centers, guess)


def attack_runs(points: Points, box: Box, params: Params, record: int, seed: int, first: int, count: int) -> Guesses:
    """Attack `count` runs with noise of their own; the mode of `params` says which release."""
    unit = unit_records(points, box)
    others, d = np.delete(unit, record, axis=0), box.d
    guesses, segments = np.full((count, d), np.nan), np.full((count, 2, d), np.nan)
    off = np.full(count, np.nan)
    for row in range(count):
        result = algorithm.fit(points, box, params, rng=np.random.default_rng([seed, first + row]))
        if params.mode == "repaired":
            guesses[row] = guess_noisy(result.release, result.trace[0].epsilon, others)
            continue
        found = guess_published(result.release, box, others, zones=params.orientation == "past")
        if found.segment is not None:
            segments[row], off[row] = found.segment.ends, found.segment.distance(unit[record])
        if found.guess is not None:
            guesses[row] = found.guess
    return Guesses(unit[record], guesses, segments, off)


def guess_noisy(release: ZonesRelease, epsilon: float, others: Points) -> FloatArray:
    """Return the guess (d,) from repaired mode's release, which spends `epsilon` in each iteration, and the others."""
    seen = noisy_sums(release, epsilon)
    counts, sums = known_of(seen.partitions, others)
    prior = scipy.stats.qmc.Halton(others.shape[1], scramble=False).random(N_PRIOR + 1)[1:]  # the first is the corner
    return attacks.expected_record(seen, counts, sums - BOX_MIDDLE * counts[..., None], prior)


def noisy_sums(release: ZonesRelease, epsilon: float) -> PartitionSums:
    """Read counts and sums off repaired mode's release; means that were clipped, or left out, do not tell them."""
    assert release.zone_means is not None
    assert release.noisy_counts_by_iteration is not None
    split = su_split(epsilon, release.centers.shape[1])
    count_scale, sum_scale = 1.0 / split.count, BOX_MIDDLE / split.sum_per_axis
    counts, mean = release.noisy_counts_by_iteration, release.zone_means
    told = (counts >= max(1.0, EMPTY_SCALES * count_scale))[..., None] & (mean > 0.0) & (mean < 1.0)
    sums = np.where(told, (mean - BOX_MIDDLE) * np.maximum(counts, 1.0)[..., None], np.nan)
    first = (
        0 if release.start is not None else 1
    )  # a start of records is not released: what follows from it is left out
    return PartitionSums(partitions_of(release), counts[first:], sums[first:], count_scale, sum_scale)


@dataclass(frozen=True, slots=True, eq=False)
class FoundRecord:
    """What one published release leaves of the record."""

    segment: Segment | None
    guess: FloatArray | None  # (d,) the place on it that fits the zones; None without zones that tell


def guess_published(release: ZonesRelease, box: Box, others: Points, *, zones: bool) -> FoundRecord:
    """Return where the record can be by the paper's release; `zones`: theirs are of the past, and tell the mean."""
    first = 0 if release.start is not None else 1
    seen = ZonePath(
        box.to_unit(release.centers),
        release.path[-1],
        partitions_of(release),
        release.zone_centers[first:],
        release.zone_radii[first:],
    )
    _, final = known_of(seen.partition[None], others)
    segment = attacks.ray_segment(seen, final[0])
    if segment is None or not zones or not len(seen.previous):
        return FoundRecord(segment, None)
    guess, _ = attacks.zone_record(seen, segment, *known_of(seen.previous, others))
    return FoundRecord(segment, guess)


def partitions_of(release: ZonesRelease) -> FloatArray:
    """Return the centers (T, k, d) whose clusters each iteration looks at; the first only where it is public."""
    before = release.path[:-1]
    return np.asarray(before if release.start is None else np.concatenate([release.start[None], before]))


def known_of(partitions: FloatArray, others: Points) -> tuple[FloatArray, FloatArray]:
    """Return the exact counts (T, k) and sums (T, k, d) of the attacker's own records in each partition."""
    k = partitions.shape[1]
    found = [cluster_sums(others, assign(others, centers), k) for centers in partitions]
    shape = (len(partitions), k, partitions.shape[2])
    counts = np.array([each.nonprivate_counts for each in found]).reshape(shape[:2])
    return counts, np.array([each.nonprivate_sums for each in found]).reshape(shape)
