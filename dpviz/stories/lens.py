"""A lens on one person: where a release lands with and without this person, and an attacker's conclusion.

The lens enlarges the place of a release without its noise until the step from one world to the other has a fixed
length. Both worlds keep what earlier steps released. Everything in the lens is exact, so only the curator of a
teaching run may see it.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
import scipy

from dpviz.accounting import LaplaceEvent, ParallelEvent, Purpose
from dpviz.core import BoolArray, Confidential, Event, FloatArray, Points, frozen, immutable
from dpviz.plots.scene import Lens
from dpviz.stories.ensemble import SumNoise
from dpviz.stories.spending import leaves

# Length of the step between the worlds as a share of the lens's radius, and the smallest radius.
PULL, LEAST_RADIUS = 0.62, 1e-9
# Cells of the glass along each axis.
N_CELLS = 25
# Values of the noisy count that represent its distribution, and the largest share that may be too small to be used.
N_COUNTS, MOST_UNUSED = 128, 1.0 - 1e-12
# Dots that the lens shows, on average, and the places where a dot can be.
N_DOTS, N_PLACES = 150, 4096
# Places (2 n, 2) in the lens for dots of both worlds in turn, and a number from 0 to 1 for each place.
_DRAWN = np.random.default_rng(0).random((4 * N_PLACES, 3))
_WITHIN = np.flatnonzero(((2.0 * _DRAWN[:, :2] - 1.0) ** 2).sum(axis=1) < 1.0)[: 2 * N_PLACES]
PLACES, NUMBERS = frozen(2.0 * _DRAWN[_WITHIN, :2] - 1.0), frozen(_DRAWN[_WITHIN, 2])
# Value of a cell from which nothing follows, and the largest difference from it.
UNDECIDED, SURE = 128, 127


# Function from places (n, 2) to the logarithms of a release's density there, in both worlds.
Densities = Callable[[Points], Sequence[FloatArray] | FloatArray]


def person_shifts(events: tuple[Event, ...], person: FloatArray) -> Iterator[float]:
    """Yield the shift of each noisy value of a run that one record moves, in scales of its noise.

    `person` (d,) is the record from the middle of the box, box units, by which centered sums move. All other values
    move by their sensitivity. The scales are those of this run: if a noisy number of records chose them, the shifts are
    those of a run with that number. Raises TypeError for noise that is not Laplace's.
    """
    for event in events:
        # A record is in one part, and the noise of all parts has the same scales.
        part = event.parts[0] if isinstance(event, ParallelEvent) else event
        for leaf in leaves(part):
            if not isinstance(leaf, LaplaceEvent):
                raise TypeError(f"{leaf.label} has noise that is not Laplace's, so its shift is unknown.")
            if leaf.purpose is Purpose.SUMS:
                yield from np.abs(person) / leaf.scale
            else:
                yield from [leaf.sensitivity / leaf.scale] * leaf.n_coordinates


@immutable
class NoisyAverage(Confidential):
    """The noisy average of one cluster in one world: a noisy sum of records from a public origin over a noisy count.

    A noisy count below `least` releases no average. All values are exact. Curator only.
    """

    noise: SumNoise
    count: float
    # (d,) from the origin.
    sums: FloatArray
    least: float

    @property
    def mean(self) -> FloatArray:
        """The exact average (d,) from the origin, which is the average of an empty cluster."""
        return self.sums / max(self.count, 1.0)

    def without(self, person: FloatArray) -> "NoisyAverage":
        """Return the same cluster without one of its records (d,), from the origin."""
        return NoisyAverage(self.noise, self.count - 1.0, self.sums - person, self.least)

    def potential(self, noise: FloatArray, scale: float) -> FloatArray:
        """Return the negative logarithm of the density of noise of a scale, up to a constant."""
        return np.abs(noise) / scale if self.noise.law == "laplace" else (noise / scale) ** 2 / 2.0

    def worlds(self, person: FloatArray) -> tuple[FloatArray, Densities]:
        """Return the exact averages (2, d) with one of the records (d,) and without it, and both densities."""
        return np.stack([self.mean, self.without(person).mean]), partial(log_densities, self, person)

    def log_density(self, places: Points, counts: FloatArray, log_weights: FloatArray) -> FloatArray:
        """Return the logarithm of the average's density at places (n, d) from the origin, before it is clipped.

        `counts` (m,) are the noisy counts to integrate over, with their weights. The average x has the count c and the
        sum c x, so its density is the integral of p(c) c^d prod_j p(c x_j) over c.
        """
        logs = log_weights - self.potential(counts - self.count, self.noise.count_scale)
        for x, total in zip(places.T, self.sums, strict=True):
            logs = logs + np.log(counts) - self.potential(np.outer(x, counts) - total, self.noise.sum_scale)
        return scipy.special.logsumexp(logs, axis=1)


def lens_on(
    ends: FloatArray,
    log_densities: Densities,
    rate: float,
    words: str,
    origin: FloatArray | float = 0.0,
    unit: FloatArray | float = 1.0,
) -> Lens:
    """Return the lens on one person. Curator only.

    `ends` (2, 2) are the places of the release without noise in both worlds, and `words` name the release. `rate` is
    how often the best attacker is right. A place x of the lens is `origin` + `unit` x in box units.
    """
    middle = ends.mean(axis=0)
    radius = max(float(np.linalg.norm(ends[0] - ends[1])) / PULL, LEAST_RADIUS)
    sides = np.linspace(-1.0, 1.0, N_CELLS)
    logs = log_densities(middle + radius * np.stack(np.meshgrid(sides, sides), axis=-1).reshape(-1, 2))
    chance = 1.0 / (1.0 + np.exp(logs[1] - logs[0]))
    values = UNDECIDED + np.rint(SURE * (2.0 * chance - 1.0))
    dots, inside = _thinned(logs)
    x, y = (origin + unit * middle).tolist()
    return Lens(
        at=(x, y),
        radius=radius * float(np.broadcast_to(unit, 2)[0]),
        ends=(ends - middle) / radius,
        glass=values.reshape(N_CELLS, N_CELLS).astype(np.uint8),
        dots=dots,
        inside=inside,
        rate=rate,
        words=words,
    )


def log_densities(average: NoisyAverage, person: FloatArray, places: Points) -> tuple[FloatArray, FloatArray]:
    """Return the logarithms of an average's density at places (n, d) from the origin, with a person and without."""
    # Noisy counts (m,) that are used and equally likely between both worlds, and the logarithms of their weights.
    scale, count = average.noise.count_scale, average.count - 0.5
    least = (average.least - count) / scale
    law = scipy.stats.laplace if average.noise.law == "laplace" else scipy.stats.norm
    unused = min(law.cdf(least), MOST_UNUSED)
    steps = law.ppf(unused + (1.0 - unused) * (np.arange(N_COUNTS) + 0.5) / N_COUNTS)
    counts, log_weights, other = count + scale * steps, average.potential(steps, 1.0), average.without(person)
    return average.log_density(places, counts, log_weights), other.log_density(places, counts, log_weights)


def _thinned(logs: Sequence[FloatArray] | FloatArray) -> tuple[FloatArray, BoolArray]:
    """Return dots (n, 2) in the lens, as dense as the averages of both worlds, and whether each is with the person.

    `logs` are the logarithms of both densities on the cells of the glass.
    """
    inside = np.arange(len(PLACES)) % 2 == 0
    # The rows of the glass go up.
    at = ((PLACES[:, ::-1] + 1.0) / 2.0 * (N_CELLS - 1)).T
    log = np.where(
        inside, *(scipy.ndimage.map_coordinates(each.reshape(N_CELLS, N_CELLS), at, order=1) for each in logs)
    )
    density = np.exp(log - log.max())
    some = density * N_DOTS / density.sum() > NUMBERS
    return PLACES[some], inside[some]
