"""Visible uncertainty: places where centers could have landed, only from the distribution of a run's last noise.

The curator of a teaching run sees draws around the exact values: the mechanism's own arithmetic on exact counts and
sums, with different noise. Everyone sees possible true averages: the same noise subtracted from the release, because
a Laplace or normal distribution is symmetric. If the noise is secret, the curator sees no more than everyone.

Standard noise is drawn once, from a public seed, and only scaled. Draws therefore move continuously with epsilon, and
all pictures share them.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np

from dpviz.accounting import Purpose
from dpviz.core import (
    AnyArray,
    ByteArray,
    Centers,
    CentersRelease,
    Counts,
    FloatArray,
    IntArray,
    Points,
    Result,
    Step,
    frozen,
    immutable,
    immutable_value,
)
from dpviz.core.compiled import compiled
from dpviz.plots import Audience, Ink, Kind, Layer, Role, Scene, rows_at
from dpviz.plots.scene import SHADES
from dpviz.solvers import BOX_MIDDLE, EMPTY_SCALES, noisy_means, steadied
from dpviz.stories import ground_layers as ground
from dpviz.stories.spending import noise_scales
from dpviz.stories.view import GOLDEN, Projection

MOST_DRAWS, FEWEST_DRAWS = 64, 8
# Largest product of draws and centers. More would cost a frame.
MOST_PLACES = 512
# Largest number of cells with fog for borders. With more, fog would fill the box at any epsilon.
MOST_CELLS = 32
# Number of draws that decide a record's color, which has five shades.
DRAIN_DRAWS = 16
# Seed of the standard noise. Public.
SEED = 0
CLOUD, PUBLIC_CLOUD = "small blue dots: where a center could land", "small blue dots: where true averages could be"
FOG, PUBLIC_FOG = "haze: where borders could have run", "haze: where the true borders could run"
CUTS_FOG = "haze: where cuts could have been"
DOT = 4.4  # CSS pixels
# Opacity of a haze that is as narrow as a line.
HAZE = 0.5
# Height of a single feature's dots, as a share of the picture. The height has no meaning.
STRIP = 0.08

Law: TypeAlias = Literal["laplace", "gaussian"]
Shades: TypeAlias = ByteArray


@immutable
class Ensemble:
    """Draws from a noise distribution as a picture shows them, for one audience."""

    draws: FloatArray  # (draws, k, d) box units
    # Whether each record belongs to its nearest center.
    borders: bool = True
    # (draws, m, 4) scene coordinates: the lines that may run elsewhere, if these are not borders.
    ends: FloatArray | None = None
    # Name of the dots, unless they are places where a center or a true average could be.
    cloud: str = ""
    # Function that drains color from records (n, d) in the colors of clusters (n,).
    drain: Callable[[Points, Shades], Shades] | None = None


# The curator's ensemble, and the public's.
Ensembles: TypeAlias = tuple[Ensemble | None, Ensemble | None]


def n_draws(k: int) -> int:
    """Return the number of draws in a picture of k centers."""
    return int(np.clip(MOST_PLACES // max(k, 1), FEWEST_DRAWS, MOST_DRAWS))


@lru_cache(maxsize=64)
def standard_noise(law: Law, n: int, k: int, d: int) -> tuple[FloatArray, FloatArray]:
    """Return independent noise of scale 1, or sigma 1, on counts (n, k) and on sums (n, k, d); the same every time."""
    rng = np.random.default_rng(SEED)
    draw = rng.laplace if law == "laplace" else rng.standard_normal
    return frozen(draw(size=(n, k))), frozen(draw(size=(n, k, d)))


@lru_cache(maxsize=64)
def standard_uniform(n: int, m: int, d: int = 1) -> FloatArray:
    """Return independent uniform numbers (n, m, d), the same every time; the first of m do not depend on m."""
    return frozen(np.random.default_rng(SEED).random((m, n, d)).swapaxes(0, 1).copy())


@immutable_value
class SumNoise:
    """The noise of counts and of sums along each axis: Laplace scales, or sigmas of normal noise."""

    count_scale: float
    sum_scale: float
    law: Law = "laplace"

    def added(self, counts: Counts, sums: FloatArray, n: int) -> tuple[FloatArray, FloatArray]:
        """Return n draws of counts (n k,) and sums (n k, d), one draw behind the other."""
        of_counts, of_sums = standard_noise(self.law, n, *sums.shape)
        noisy_counts, noisy_sums = counts + self.count_scale * of_counts, sums + self.sum_scale * of_sums
        return noisy_counts.ravel(), noisy_sums.reshape(-1, sums.shape[1])

    def landed(
        self,
        counts: Counts,
        sums: FloatArray,
        fallback: Centers,
        means: Callable[[Counts, FloatArray, Centers], Centers],
        n: int,
    ) -> FloatArray:
        """Return n draws (n, k, d) of a mechanism's release from exact `counts` (k,) and `sums` (k, d).

        `means` (noisy counts, noisy sums, fallback) are the mechanism's own; it treats clusters one by one.
        """
        return means(*self.added(counts, sums, n), np.tile(fallback, (n, 1))).reshape(n, *sums.shape)

    def true_means(self, counts: Counts, centers: Centers, origins: FloatArray | float, n: int) -> FloatArray:
        """Return n draws (n, k, d) of the true averages, if noisy `counts` (k,) and `centers` (k, d) were released.

        A center is its origin, a public or released place, plus the noisy sum of x - origin over the noisy count, which
        is at least 1. The draws are clipped into the unit box, which contains all means.
        """
        sums = (centers - origins) * np.maximum(counts, 1.0)[:, None]
        drawn_counts, drawn_sums = self.added(counts, sums, n)
        moves = drawn_sums / np.maximum(drawn_counts, 1.0)[:, None]
        return np.clip(origins + moves.reshape(n, *centers.shape), 0.0, 1.0)


def chosen_again(scores: FloatArray, chances: FloatArray, uniform: FloatArray) -> IntArray:
    """Return the choice of each of `uniform` (n,) among m candidates with these `chances` (m,). Curator only.

    The best come first, as in `exponential`: a number that stays chooses a better one as epsilon grows. A candidate of
    score -inf is excluded.
    """
    order = np.argsort(-scores, kind="stable")[: np.count_nonzero(scores > -np.inf)]
    total = np.cumsum(chances[order])
    places = np.searchsorted(total, uniform * total[-1], side="right").clip(max=len(order) - 1)
    return np.asarray(order[places], dtype=np.intp)


def nearest_drain(draws: FloatArray) -> Callable[[Points, Shades], Shades]:
    """Return a function that grays a record the more, the more of `draws` (n, k, d) move it to another center."""
    some = draws[:DRAIN_DRAWS]
    return lambda unit, groups: shades_of(
        _alike(np.ascontiguousarray(unit), groups, np.ascontiguousarray(some)), len(some)
    )


def shades_of(alike: IntArray, n_draws: int) -> Shades:
    """Compute the gray shade of records (n,) from the number of draws that agree with the release."""
    share = alike / n_draws
    return np.rint(SHADES * (1.0 - share * share * share)).astype(np.uint8)


@compiled
def _alike(unit: Points, groups: Shades, draws: FloatArray) -> IntArray:
    """Count the draws that leave each record with its own center: all draws for a record without a cluster."""
    n, k, d = draws.shape
    result = np.full(len(unit), n, dtype=np.intp)
    for i in range(len(unit)):
        own, same = groups[i], 0
        if own >= k:
            continue
        for draw in range(n):
            least, kept = 0.0, True
            for j in range(d):
                least += (unit[i, j] - draws[draw, own, j]) ** 2
            for center in range(k):
                distance = 0.0
                for j in range(d):
                    distance += (unit[i, j] - draws[draw, center, j]) ** 2
                if distance < least:
                    kept = False
                    break
            same += kept
        result[i] = same
    return result


def of_noisy_means(
    result: Result[CentersRelease, Step],
    final: Centers,
    counts: Counts,
    mean: Centers,
    previous: Centers,
    *,
    seeded: bool,
    teaching: bool,
) -> Ensembles:
    """Return the ensembles of a run that releases noisy sums over noisy counts, as `noisy_means` makes them.

    `final` (k, d) are the released centers, `counts` (k,) and `mean` (k, d) the last step's exact ones, and `previous`
    (k, d) the centers before it, all in box units. After a private start, `seeded`, means go only as far as noise does
    not explain. A center that stayed because of its noisy count says nothing about its true average, which may be
    anywhere. Only a `teaching` run has an ensemble for the curator.
    """
    n = n_draws(len(counts))
    noise = SumNoise(noise_scales(result, Purpose.COUNTS)[-1], noise_scales(result, Purpose.SUMS)[-1])
    noisy_counts = result.release.noisy_counts
    # The method releases counts with the sums.
    assert noisy_counts is not None

    def means(noisy: Counts, sums: FloatArray, fallback: Centers) -> Centers:
        made = noisy_means(noisy, sums, fallback, count_scale=noise.count_scale)
        if not seeded:
            return made
        return steadied(made, fallback, noisy, count_scale=noise.count_scale, sum_scale=noise.sum_scale)

    true = noise.true_means(noisy_counts, final, BOX_MIDDLE, n)
    stayed = noisy_counts < max(1.0, EMPTY_SCALES * noise.count_scale)
    true[:, stayed] = standard_uniform(*true.shape)[:, stayed]
    if not teaching:
        return None, Ensemble(true)
    return centered(noise.landed(counts, counts[:, None] * (mean - BOX_MIDDLE), previous, means, n)), Ensemble(true)


def centered(draws: FloatArray) -> Ensemble:
    """Return a curator's ensemble of centers (n, k, d) whose records are those nearest to them."""
    return Ensemble(draws, drain=nearest_drain(draws))


def with_ensembles(scene: Scene, ensembles: Ensembles, plane: Projection, unit: Points) -> Scene:
    """Add the uncertainty of the release to a picture of features: fog under the records, dots above them."""
    (exact, public), last = ensembles, len(scene.frames) - 1
    records = (
        i
        for i, each in enumerate(scene.layers)
        if each.kind is Kind.POINTS and each.audience is Audience.CURATOR and each.rows[last] >= 0
    )
    at = next(records, None)
    if at is None or not (exact or public):
        return scene
    under: list[Layer] = []
    above: list[Layer] = []
    for ensemble, audience, cloud, fog in (
        (public, Audience.NOISE, PUBLIC_CLOUD, PUBLIC_FOG),
        (exact, Audience.CURATOR, CLOUD, FOG),
    ):
        if ensemble is None:
            continue
        # A hierarchy opens before its last cut.
        shown = dict.fromkeys(range(min(scene.start_frame, last), last + 1), 0)
        ink, rows = Ink(Role.RELEASED, audience), rows_at(len(scene.frames), shown)
        places = plane(ensemble.draws)  # (n, k, 2)
        # Spread a single feature's dots over a strip.
        if plane.d == 1:
            heights = np.modf(GOLDEN * np.arange(1, places[..., 0].size + 1))[0] - 0.5
            places[..., 1] += STRIP * heights.reshape(places.shape[:2])
        arrays: dict[str, AnyArray] = {"xy": places[None]}
        drain: dict[str, AnyArray] = {}
        # Gray the drawn records.
        if ensemble.drain is not None:
            people = scene.layers[at]
            group = people.arrays["group"]
            sample = ground.sample(len(unit), len(group))
            if len(sample) == people.n_marks:
                some = unit if len(sample) == len(unit) else unit[sample]
                drain["drain"] = ensemble.drain(some, group[people.rows[last] if len(group) > 1 else 0])[None]
        above.append(Layer.from_arrays(ensemble.cloud or cloud, Kind.ENSEMBLE, ink, arrays | drain, rows, size=DOT))
        if ensemble.ends is not None:
            arrays["ends"] = ensemble.ends[None]
            under.append(Layer.from_arrays(CUTS_FOG, Kind.ENSEMBLE, ink, arrays, rows, fill=HAZE))
        elif ensemble.borders and plane.d == 2 and 1 < ensemble.draws.shape[1] <= MOST_CELLS:
            under.append(Layer.from_arrays(fog, Kind.ENSEMBLE, ink, arrays, rows, fill=HAZE))
    layers: Sequence[Layer] = (*scene.layers[:at], *under, scene.layers[at], *above, *scene.layers[at + 1 :])
    return replace(scene, layers=tuple(layers))
