"""One run of a grid, by its coordinates: what is run on which records with which seeds, whatever stands beside it."""

import hashlib
import json
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np

from dpviz import algorithms, baselines
from dpviz.core import fingerprint
from dpviz.data import Dataset, load, subsample

Scalar = str | int | float | bool
Fields = tuple[tuple[str, Scalar], ...]  # (name, value), sorted by name

LEFT_OUT = {"source_target": "it chooses among public targets, which a grid does not hold, and its cost is another one"}
METHODS: dict[str, ModuleType] = {
    name: module for name, module in {**algorithms.CATALOGUE, **baselines.CATALOGUE}.items() if name not in LEFT_OUT
}
SEED_BITS = 31  # of a run's own noise seed: as many as a page's address takes


@dataclass(frozen=True, slots=True)
class Given:
    """Records that are handed over and not in the gallery; two are the same if all bits are."""

    digest: str
    dataset: Dataset = field(compare=False, repr=False)

    @classmethod
    def of(cls, dataset: Dataset) -> "Given":
        """Take a data set; the digest is of its records, classes and box."""
        labels = np.empty(0) if dataset.labels is None else dataset.labels
        parts = (dataset.points, labels, dataset.box.low, dataset.box.high)
        return cls("".join(fingerprint(np.asarray(part))[:8] for part in parts), dataset)


@dataclass(frozen=True, slots=True)
class Source:
    """Which records a run reads."""

    name: str  # of the gallery, or what given records are called
    n: int
    knobs: Fields
    seed: int  # of a made-up set's draw, or of a real set's sample
    given: Given | None = None

    def dataset(self) -> Dataset:
        """Return the records; the same arguments give the same bits. Raises ValueError as `load` does."""
        if self.given is None:
            return load(self.name, n=self.n, seed=self.seed, **dict(self.knobs))
        return subsample(self.given.dataset, self.n, rng=np.random.default_rng(self.seed))


@dataclass(frozen=True, slots=True)
class Trial:
    """One run: its coordinates in the grid, and nothing that depends on the other runs or on their order."""

    source: Source
    n_clusters: int  # of the non-private floor
    method: str  # of METHODS
    fields: Fields  # of the method's Params, without its budget and its start seed
    budget: str | None  # field of Params that takes epsilon; None: the method spends none
    epsilon: float  # infinite where the method spends none
    start_seed: int
    noise_seed: int

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

    def params(self) -> Any:
        """Return the method's Params. Raises ValueError for values that it does not take."""
        return made_params(self.method, self.fields, self.budget, self.epsilon, self.start_seed)

    def _digest(self, length: int) -> str:
        source = self.source
        digest = "" if source.given is None else source.given.digest
        told = [source.name, source.n, source.knobs, source.seed, digest, self.n_clusters, self.method, self.fields]
        told += [self.budget, self.epsilon, self.start_seed, self.noise_seed]
        return hashlib.blake2b(json.dumps(told).encode(), digest_size=length // 2).hexdigest()


def made_params(method: str, fields: Fields, budget: str | None, epsilon: float, start_seed: int) -> Any:
    """Return a method's Params, with `epsilon` in the field `budget` and the start's seed where there is one."""
    params = METHODS[method].Params
    given: dict[str, Any] = dict(fields)
    if budget is not None:
        given[budget] = epsilon
    if "start_seed" in params.__dataclass_fields__:
        given["start_seed"] = start_seed
    return params(**given)
