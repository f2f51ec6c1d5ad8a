"""A lens on one person: where a noisy average lands with her and without her, and an attacker's conclusion from it.

The lens enlarges the exact average of one person's cluster in the last step of a run, until her pull on it has a fixed
length. Both worlds keep what earlier steps released. Everything in the lens is exact, so only the curator of a
teaching run may see it.
"""

from collections.abc import Iterator

import numpy as np

from dpviz.accounting import LaplaceEvent, ParallelEvent, Purpose
from dpviz.attacks.shifts import best_guess_rate
from dpviz.core import BoolArray, Confidential, Event, FloatArray, Points, frozen, immutable
from dpviz.plots.scene import Lens
from dpviz.solvers import BOX_MIDDLE, EMPTY_SCALES
from dpviz.stories.ensemble import SumNoise
from dpviz.stories.spending import leaves

# Length of a person's pull as a share of the lens's radius.
PULL = 0.62
# Cells of the glass along each axis.
N_CELLS = 25
# Values of the noisy count that represent its distribution.
N_COUNTS = 128
# Dots that the lens shows, on average, and the places where a dot can be.
N_DOTS, N_PLACES = 150, 4096
# Places (2 n, 2) in the lens for dots of both worlds in turn, and a number from 0 to 1 for each place.
_DRAWN = np.random.default_rng(0).random((4 * N_PLACES, 3))
_WITHIN = np.flatnonzero(((2.0 * _DRAWN[:, :2] - 1.0) ** 2).sum(axis=1) < 1.0)[: 2 * N_PLACES]
PLACES, NUMBERS = frozen(2.0 * _DRAWN[_WITHIN, :2] - 1.0), frozen(_DRAWN[_WITHIN, 2])
# Value of a cell from which nothing follows, and the largest difference from it.
UNDECIDED, SURE = 128, 127


def person_shifts(events: tuple[Event, ...], person: FloatArray) -> Iterator[float]:
    """Yield the shift of each noisy value of a run that one record moves, in scales of its noise.

    `person` (d,) are the record's coordinates, box units. Centered sums move by its distance from the middle of the
    box, and all other values by their sensitivity. The scales are those of this run: if a noisy number of records
    chose them, the shifts are those of a run with that number. Raises TypeError for noise that is not Laplace's.
    """
    for event in events:
        # A record is in one part, and the noise of all parts has the same scales.
        part = event.parts[0] if isinstance(event, ParallelEvent) else event
        for leaf in leaves(part):
            if not isinstance(leaf, LaplaceEvent):
                raise TypeError(f"{leaf.label} has noise that is not Laplace's, so its shift is unknown.")
            if leaf.purpose is Purpose.SUMS:
                yield from np.abs(person - BOX_MIDDLE) / leaf.scale
            else:
                yield from [leaf.sensitivity / leaf.scale] * leaf.n_coordinates


@immutable
class NoisyAverage(Confidential):
    """The noisy average of one cluster in one world: a noisy sum from the box's middle over a noisy count.

    A noisy count below the smallest that is used releases no average. All values are exact. Curator only.
    """

    noise: SumNoise
    count: float
    # (d,) from the middle of the box, box units.
    sums: FloatArray

    @property
    def mean(self) -> FloatArray:
        """The exact average (d,), box units."""
        return BOX_MIDDLE + self.sums / self.count

    def without(self, person: FloatArray) -> "NoisyAverage":
        """Return the same cluster without one of its records (d,), box units."""
        return NoisyAverage(self.noise, self.count - 1.0, self.sums - (person - BOX_MIDDLE))

    def log_density(self, places: Points, counts: FloatArray, log_weights: FloatArray) -> FloatArray:
        """Return the logarithm of the average's density at places (n, d), box units, before it is clipped into the box.

        `counts` (m,) are the noisy counts to integrate over, with their weights. The average x has the count c and the
        sum c (x - 1/2), so its density is the integral of p(c) c^d prod_j p(c (x_j - 1/2)) over c.
        """
        off = (places[:, None] - BOX_MIDDLE) * counts[:, None] - self.sums
        logs = -np.abs(off).sum(axis=2) / self.noise.sum_scale + len(self.sums) * np.log(counts)
        logs = logs - np.abs(counts - self.count) / self.noise.count_scale + log_weights
        highest = logs.max(axis=1)
        return np.asarray(highest + np.log(np.exp(logs - highest[:, None]).sum(axis=1)))


def lens_on(average: NoisyAverage, person: FloatArray, events: tuple[Event, ...], words: str) -> Lens:
    """Return the lens on one person, one of the records behind a noisy average. Curator only.

    `person` (2,) are her features, box units, `events` those of the whole run, and `words` name the average. Raises
    ValueError unless there are two features.
    """
    if person.shape != (2,):
        raise ValueError(f"A lens needs a person with two features, got shape {person.shape}.")
    worlds = (average, average.without(person))
    ends = np.stack([world.mean for world in worlds])
    middle, radius = ends.mean(axis=0), float(np.linalg.norm(ends[0] - ends[1])) / PULL
    sides = np.linspace(-1.0, 1.0, N_CELLS)
    cells = np.stack(np.meshgrid(sides, sides), axis=-1).reshape(-1, 2)
    logs = log_densities(average, person, middle + radius * cells)
    chance = 1.0 / (1.0 + np.exp(logs[1] - logs[0]))
    values = UNDECIDED + np.rint(SURE * (2.0 * chance - 1.0))
    dots, inside = _thinned([each.reshape(N_CELLS, N_CELLS) for each in logs])
    return Lens(
        at=(float(middle[0]), float(middle[1])),
        radius=radius,
        ends=(ends - middle) / radius,
        glass=values.reshape(N_CELLS, N_CELLS).astype(np.uint8),
        dots=dots,
        inside=inside,
        rate=best_guess_rate(person_shifts(events, person)),
        words=words,
    )


def log_densities(average: NoisyAverage, person: FloatArray, places: Points) -> tuple[FloatArray, FloatArray]:
    """Return the logarithms of an average's density at places (n, d), box units, with a person and without her."""
    # Noisy counts (m,) that are equally likely between both worlds, and the logarithms of their weights.
    scale = average.noise.count_scale
    quantiles = (np.arange(N_COUNTS) + 0.5) / N_COUNTS - 0.5
    steps = -np.sign(quantiles) * np.log1p(-2.0 * np.abs(quantiles))
    counts = average.count - 0.5 + scale * steps
    used = counts >= max(1.0, EMPTY_SCALES * scale)
    counts, log_weights = counts[used], np.abs(steps[used])
    other = average.without(person)
    return average.log_density(places, counts, log_weights), other.log_density(places, counts, log_weights)


def _thinned(logs: list[FloatArray]) -> tuple[FloatArray, BoolArray]:
    """Return dots (n, 2) in the lens, as dense as the averages of both worlds, and whether each is with the person.

    `logs` are the logarithms of both densities on the cells of the glass.
    """
    inside = np.arange(len(PLACES)) % 2 == 0
    x, y = ((PLACES + 1.0) / 2.0 * (N_CELLS - 1)).T
    left, low = np.minimum(x.astype(np.intp), N_CELLS - 2), np.minimum(y.astype(np.intp), N_CELLS - 2)
    right, high = x - left, y - low
    highest = max(each.max() for each in logs)
    density = np.empty(len(PLACES))
    for log, world in zip(logs, (inside, ~inside), strict=True):
        below, above = (
            log[low, left] * (1 - right) + log[low, left + 1] * right,
            log[low + 1, left] * (1 - right) + log[low + 1, left + 1] * right,
        )
        density[world] = np.exp(below * (1 - high) + above * high - highest)[world]
    some = density * N_DOTS / density.sum() > NUMBERS
    return PLACES[some], inside[some]
