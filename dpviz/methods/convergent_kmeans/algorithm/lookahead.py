"""What iterations of convergent k-means draw whatever the records are, some iterations at once.

Each iteration has generators of its own, named by the run's seed and the iteration's number. A slider that moves the
budget draws the same numbers again and again, so those of a `PublicGenerator` are remembered, and no others.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from dpviz.core import FloatArray, frozen
from dpviz.mechanisms import PublicGenerator, SecretGenerator
from dpviz.solvers import ZoneDraw, controller_angle, draws_ahead, tosses, zone_offset

AT_ONCE = 8  # iterations whose zones are drawn together: each law costs a hundred small steps, however many they are
REMEMBERED = 64  # draws of some iterations at once, a few kilobytes each


class GeneratorSource(Protocol):
    """Names a generator, and the generators that come from it."""

    def child(self, *numbers: int) -> Self:
        """Name a generator's child, or a child's child."""

    def generator(self) -> np.random.Generator:
        """Make it."""


class GeneratorSeed(NamedTuple):
    """Names a generator without making it, as `numpy.random.Generator.spawn` would."""

    kind: Any  # class of the bit generator
    entropy: tuple[int, ...]
    path: tuple[int, ...]  # from the first generator to this one, the number of each child

    def child(self, *numbers: int) -> "GeneratorSeed":
        """Name a generator's child, or a child's child."""
        return self._replace(path=self.path + numbers)

    def generator(self) -> np.random.Generator:
        """Make it."""
        return np.random.Generator(self.kind(np.random.SeedSequence(self.entropy, spawn_key=self.path)))


class SecretSource(NamedTuple):
    """Secret bits: they have no streams, so that every child reads the same source."""

    rng: SecretGenerator

    def child(self, *_numbers: int) -> "SecretSource":
        """Name the same source."""
        return self

    def generator(self) -> np.random.Generator:
        """Return it."""
        return self.rng


@dataclass(frozen=True, slots=True, eq=False)
class Chance:
    """What one iteration draws whatever the records are."""

    noise: GeneratorSource  # of the noisy counts and sums, whose scale it may not know yet
    gamma: FloatArray  # (k,) NaN with orientation "future"
    lam: FloatArray  # (k,)
    turns: FloatArray | None  # (k, d) directions that the controller is turned to; none with orientation "future"
    draw: ZoneDraw


@dataclass(frozen=True, slots=True, eq=False)
class _Tossed:
    """Of m iterations."""

    gamma: FloatArray  # (m, k)
    lam: FloatArray  # (m, k)
    turns: FloatArray | None  # (m, k, d)
    uniforms: FloatArray  # (m, k, 2)
    sides: FloatArray  # (m, k, d)


def chances(
    n_iterations: int, shape: tuple[int, int], temperature: float, *, past: bool, rng: np.random.Generator
) -> Iterator[Chance]:
    """Yield what each iteration draws for `shape` = (k, d); `rng` is for these draws alone."""
    seed = SecretSource(rng) if isinstance(rng, SecretGenerator) else _seed_of(rng)
    for first in range(0, n_iterations, AT_ONCE):
        numbers = range(first, min(first + AT_ONCE, n_iterations))
        public = isinstance(rng, PublicGenerator) and isinstance(seed, GeneratorSeed)
        tossed = _remembered(seed, numbers, shape, past) if public else _tossed(seed, numbers, shape, past)
        draws = draws_ahead(tossed.lam, temperature, tossed.uniforms, tossed.sides, remember=public)
        turns = [None] * len(numbers) if tossed.turns is None else tossed.turns
        noise = (seed.child(number, 0) for number in numbers)
        yield from map(Chance, noise, tossed.gamma, tossed.lam, turns, draws)


def _seed_of(rng: np.random.Generator) -> GeneratorSeed:
    """Name a generator; raises TypeError for one that was not made from a seed, as `spawn` does."""
    root = rng.bit_generator.seed_seq
    if not isinstance(root, np.random.SeedSequence):
        raise TypeError(f"rng was made from {type(root).__name__}. Make it by numpy.random.default_rng(seed).")
    entropy = np.ravel(np.asarray(root.entropy, dtype=np.object_))
    return GeneratorSeed(type(rng.bit_generator), tuple(int(part) for part in entropy), root.spawn_key)


def _tossed(seed: GeneratorSource, numbers: range, shape: tuple[int, int], past: bool) -> _Tossed:
    k, d = shape
    placing, turns = np.empty((len(numbers), k, 2)), np.empty((len(numbers), k, d))
    uniforms, sides = np.empty((len(numbers), k, 2)), np.empty((len(numbers), k, d))
    for i, number in enumerate(numbers):
        zone_rng, sample_rng = (seed.child(number, part).generator() for part in (1, 2))
        placing[i] = zone_rng.random((k, 2))
        turns[i] = zone_rng.standard_normal((k, d)) if past else np.nan
        uniforms[i], sides[i] = tosses(k, d, rng=sample_rng)
    gamma = controller_angle(placing[..., 1]) if d > 1 else np.zeros((len(numbers), k))
    return _Tossed(
        gamma=frozen(gamma if past else np.full_like(gamma, np.nan)),
        lam=frozen(zone_offset(placing[..., 0])),
        turns=frozen(turns) if past else None,
        uniforms=frozen(uniforms),
        sides=frozen(sides),
    )


_remembered = lru_cache(maxsize=REMEMBERED)(_tossed)
