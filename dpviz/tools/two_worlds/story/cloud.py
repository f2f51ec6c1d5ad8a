"""Many runs of a method in one of two worlds."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpviz.attacks import center_statistics
from dpviz.core import Box, CentersRelease, FloatArray, Points, frozen
from dpviz.methods import ALGORITHMS, CATALOGUE
from dpviz.stories.worlds import Cloud, Cuts, Worlds
from dpviz.tools.two_worlds.story import Change, neighbors

CENTERS: Worlds[Any, CentersRelease] = Worlds()  # of methods without a page


@dataclass(frozen=True)
class WorldsQuestion:
    """Which mechanism and which two worlds. Equal questions have equal answers, so that a job is named by one."""

    method: str  # of `ALGORITHMS`
    scalars: tuple[Any, ...]  # what stands for the parameters
    change: Change
    params: Any = field(compare=False)

    @property
    def worlds(self) -> Worlds[Any, Any]:
        """How releases are read."""
        return CATALOGUE[self.method].worlds if self.method in CATALOGUE else CENTERS

    @property
    def by_record(self) -> bool:
        """Whether one call makes all runs."""
        return self.worlds.by_record is not None


def run_world(
    points: Points, box: Box, question: WorldsQuestion, world: int, n_runs: int, seed: tuple[int, ...]
) -> Cloud:
    """Run the mechanism `n_runs` times in world 0 or 1, with noise from `seed`, and read what was released.

    Runs of other seeds or worlds are independent. Raises ValueError as the mechanism and `neighbors` do.
    """
    pair = neighbors(points, box, question.change)
    records, spots = pair.nonprivate_worlds[world], pair.nonprivate_spots
    rng = np.random.default_rng((*seed, world))
    algorithm, worlds = ALGORITHMS[question.method], question.worlds
    if worlds.by_record is not None:
        return worlds.by_record(spots, box, question.params, world, n_runs, rng=rng)
    releases = [algorithm.fit(records, box, question.params, rng=each).release for each in rng.spawn(n_runs)]
    places = [each.centers if worlds.places is None else worlds.places(each, box) for each in releases]
    cuts = None if worlds.cuts is None else Cuts.joined([worlds.cuts(each, box) for each in releases])
    found = np.stack([statistics_of(worlds, each, spots, box) for each in releases])
    return Cloud(frozen(np.concatenate(places)), cuts, frozen(found))


def statistics_of(worlds: Worlds[Any, Any], release: CentersRelease, spots: Points, box: Box) -> FloatArray:
    """Return what an attacker who asks about `spots` (s, d) reads from a release, (f,); f depends on its type alone."""
    centers = center_statistics(release, spots, box)
    if worlds.statistics is None:
        return centers
    return np.concatenate([centers, worlds.statistics(release, spots, box)])
