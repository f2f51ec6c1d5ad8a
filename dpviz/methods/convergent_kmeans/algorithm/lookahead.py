"""The random draws of convergent k-means that do not depend on the records, for some iterations at once.

Each iteration has its own generators, named by the run's seed and the iteration's number. A slider that changes the
budget repeats the same draws, so only draws of a `PublicGenerator` are cached.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple, Protocol, Self

import numpy as np

from dpviz.core import FloatArray, ReadOnly, immutable
from dpviz.mechanisms import PublicGenerator, SecretGenerator
from dpviz.solvers import ZoneDraw, controller_angle, draws_ahead, tosses, zone_offset

# Iterations whose zones are drawn together. A draw costs a hundred small steps, no matter how many zones there are.
AT_ONCE = 8
# Number of cached draws, a few kilobytes each.
CACHED_DRAWS = 64


class GeneratorSource(Protocol):
    """Name of a generator and of its children."""

    def child(self, *numbers: int) -> Self:
        """Return the name of a child, or of a child's child."""

    def generator(self) -> np.random.Generator:
        """Return the generator."""


class GeneratorSeed(NamedTuple):
    """Name of a generator that `numpy.random.Generator.spawn` would return."""

    kind: type[np.random.BitGenerator]
    entropy: tuple[int, ...]
    # Number of each child, from the first generator to this one.
    path: tuple[int, ...]

    def child(self, *numbers: int) -> "GeneratorSeed":
        """Return the name of a child, or of a child's child."""
        return self._replace(path=self.path + numbers)

    def generator(self) -> np.random.Generator:
        """Return the generator."""
        return np.random.Generator(self.kind(np.random.SeedSequence(self.entropy, spawn_key=self.path)))


class SecretSource(NamedTuple):
    """Secret bits: they have no streams, so all children are the same source."""

    rng: SecretGenerator

    def child(self, *_numbers: int) -> "SecretSource":
        """Return the same source."""
        return self

    def generator(self) -> np.random.Generator:
        """Return the generator."""
        return self.rng


@immutable
class Chance:
    """The draws of one iteration."""

    # Source of the noise of counts and sums. Its scale may not be known yet.
    noise: GeneratorSource
    # (k,) NaN with orientation "future".
    gamma: FloatArray
    lam: FloatArray  # (k,)
    # (k, d) directions to which the controller turns. None with orientation "future".
    turns: FloatArray | None
    draw: ZoneDraw


@immutable
class _Tosses(ReadOnly):
    """The draws of m iterations before their distributions are integrated."""

    gamma: FloatArray  # (m, k)
    lam: FloatArray  # (m, k)
    turns: FloatArray | None  # (m, k, d)
    uniforms: FloatArray  # (m, k, 2)
    sides: FloatArray  # (m, k, d)


def chances(
    n_iterations: int, shape: tuple[int, int], temperature: float, *, past: bool, rng: np.random.Generator
) -> Iterator[Chance]:
    """Yield the draws of each iteration for `shape` = (k, d); `rng` is only for these draws.

    Raises TypeError for a generator without a seed, like `spawn`.
    """
    seed: GeneratorSource
    if isinstance(rng, SecretGenerator):
        seed = SecretSource(rng)
    else:
        root = rng.bit_generator.seed_seq
        if not isinstance(root, np.random.SeedSequence):
            raise TypeError(
                f"rng must be made by numpy.random.default_rng(seed), got one made from {type(root).__name__}."
            )
        entropy = np.ravel(np.asarray(root.entropy, dtype=np.object_))
        seed = GeneratorSeed(type(rng.bit_generator), tuple(int(part) for part in entropy), root.spawn_key)
    for first in range(0, n_iterations, AT_ONCE):
        numbers = range(first, min(first + AT_ONCE, n_iterations))
        public = isinstance(rng, PublicGenerator) and isinstance(seed, GeneratorSeed)
        batch = _cached_tosses(seed, numbers, shape, past) if public else _toss(seed, numbers, shape, past)
        draws = draws_ahead(batch.lam, temperature, batch.uniforms, batch.sides, remember=public)
        turns = [None] * len(numbers) if batch.turns is None else batch.turns
        noise = (seed.child(number, 0) for number in numbers)
        yield from map(Chance, noise, batch.gamma, batch.lam, turns, draws)


def _toss(seed: GeneratorSource, numbers: range, shape: tuple[int, int], past: bool) -> _Tosses:
    k, d = shape
    placing, turns = np.empty((len(numbers), k, 2)), np.empty((len(numbers), k, d))
    uniforms, sides = np.empty((len(numbers), k, 2)), np.empty((len(numbers), k, d))
    for i, number in enumerate(numbers):
        zone_rng, sample_rng = (seed.child(number, part).generator() for part in (1, 2))
        placing[i] = zone_rng.random((k, 2))
        turns[i] = zone_rng.standard_normal((k, d)) if past else np.nan
        uniforms[i], sides[i] = tosses(k, d, rng=sample_rng)
    gamma = controller_angle(placing[..., 1]) if d > 1 else np.zeros((len(numbers), k))
    return _Tosses(
        gamma=gamma if past else np.full_like(gamma, np.nan),
        lam=zone_offset(placing[..., 0]),
        turns=turns if past else None,
        uniforms=uniforms,
        sides=sides,
    )


_cached_tosses = lru_cache(maxsize=CACHED_DRAWS)(_toss)
