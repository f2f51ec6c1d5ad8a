"""One run of a grid, by its coordinates: what is run on which records with which seeds, whatever stands beside it."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from dpviz.core import Box, Points, fingerprint
from dpviz.data import Dataset, load, subsample
from dpviz.data.source_target import SourceTarget
from dpviz.data.target_pairs import PAIRS, load_pair, source_of, spread_targets
from dpviz.methods import ALGORITHMS

Scalar = str | int | float | bool
Fields = tuple[tuple[str, Scalar], ...]  # (name, value), sorted by name

SEED_BITS = 31  # of a run's own noise seed: as many as a page's address takes


@dataclass(frozen=True, slots=True)
class GivenRecords:
    """Records that are handed over and not in the gallery; two are the same if all bits are."""

    digest: str
    dataset: Dataset = field(compare=False, repr=False)

    @classmethod
    def of(cls, dataset: Dataset) -> "GivenRecords":
        """Take a data set; the digest is of its records, classes and box."""
        labels = np.empty(0) if dataset.labels is None else dataset.labels
        parts = (dataset.points, labels, dataset.box.low, dataset.box.high)
        return cls("".join(fingerprint(np.asarray(part))[:8] for part in parts), dataset)


@dataclass(frozen=True, slots=True)
class TrialSource:
    """Which records a run reads."""

    name: str  # of the gallery, or what given records are called
    n: int
    knobs: Fields
    seed: int  # of a made-up set's draw, or of a real set's sample
    given: GivenRecords | None = None

    def dataset(self) -> Dataset:
        """Return the records; the same arguments give the same bits. Raises ValueError as `load` does."""
        if self.given is None and self.name in PAIRS:
            return source_of(self.name, self.pair())
        if self.given is None:
            return load(self.name, n=self.n, seed=self.seed, **dict(self.knobs))
        return subsample(self.given.dataset, self.n, rng=np.random.default_rng(self.seed))

    def pair(self) -> SourceTarget:
        """Return source and targets of a pair. Raises ValueError as `load_pair` does."""
        return load_pair(self.name, n=self.n, seed=self.seed, **dict(self.knobs))


@dataclass(frozen=True, slots=True)
class TrialTargets:
    """Public targets; given ones are the same if all bits are."""

    number: int = 0  # so many, even over the box
    digest: str = ""
    points: Points | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, points: Points) -> "TrialTargets":
        """Take given targets (t, d)."""
        return cls(len(points), fingerprint(points), points)

    def public(self, source: TrialSource, box: Box) -> dict[str, Any]:
        """Return the fields of Params that they are for the records of `source`, which lie in the public `box`."""
        if self.number == 0:
            pair = source.pair()
            return {"targets": pair.targets, "ball": pair.ball}
        if self.points is not None:
            return {"targets": self.points}
        return {"targets": spread_targets(box, self.number, "even", rng=np.random.default_rng(source.seed))}


PAIR_TARGETS = TrialTargets()  # those that come with the source


@dataclass(frozen=True, slots=True)
class Trial:
    """One run: its coordinates in the grid, and nothing that depends on the other runs or on their order."""

    source: TrialSource
    n_clusters: int  # of the non-private floor
    method: str  # of ALGORITHMS
    fields: Fields  # of the method's Params, without its budget and its start seed
    budget: str | None  # field of Params that takes epsilon; None: the method spends none
    epsilon: float  # infinite where the method spends none
    start_seed: int
    noise_seed: int
    targets: TrialTargets | None = None  # of methods that choose among targets alone

    @property
    def key(self) -> str:
        """Name of the run: equal coordinates have equal names, in every process and on every machine."""
        return self._digest(32)

    @property
    def noise_key(self) -> int:
        """Seed of the run's generator, `np.random.default_rng(noise_key)`: another one for all other coordinates."""
        words = int(self._digest(32), 16)
        # The seed that was asked for, then the coordinates: two noise seeds have nothing in common.
        made = np.random.SeedSequence([self.noise_seed, words]).generate_state(1, np.uint32)[0]
        return int(made >> np.uint32(32 - SEED_BITS))

    def params(self, box: Box | None = None) -> Any:
        """Return the method's Params; one with targets needs the records' public `box`.

        Raises ValueError for values that it does not take.
        """
        public = {} if self.targets is None or box is None else self.targets.public(self.source, box)
        return made_params(self.method, self.fields, self.budget, self.epsilon, self.start_seed, public)

    def _digest(self, length: int) -> str:
        source = self.source
        digest = "" if source.given is None else source.given.digest
        told = [source.name, source.n, source.knobs, source.seed, digest, self.n_clusters, self.method, self.fields]
        told += [self.budget, self.epsilon, self.start_seed, self.noise_seed]
        if self.targets is not None:  # other methods' runs have the names that they have without targets
            told += [self.targets.number, self.targets.digest]
        return hashlib.blake2b(json.dumps(told).encode(), digest_size=length // 2).hexdigest()


def made_params(
    method: str,
    fields: Fields,
    budget: str | None,
    epsilon: float,
    start_seed: int,
    public: Mapping[str, Any] = MappingProxyType({}),
) -> Any:
    """Return a method's Params, with `epsilon` in the field `budget` and the start's seed where there is one.

    `public` are its public arrays; without them a method with targets gets one, to try its other fields.
    """
    algorithm = ALGORITHMS[method]
    given: dict[str, Any] = {**dict(fields), **public}
    if algorithm.targets is not None:
        given.setdefault("targets", np.zeros((1, 1)))
    if budget is not None:
        given[budget] = epsilon
    if algorithm.has_start:
        given["start_seed"] = start_seed
    return algorithm.Params(**given)
