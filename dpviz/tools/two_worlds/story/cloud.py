"""What many runs release in one world: the places that are drawn, and the numbers that an attacker guesses from.

Everything in a `Cloud` is read from releases and public inputs alone; whose world it is, is the curator's.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.attacks import center_statistics, nearer_scores
from dpviz.core import Box, CentersRelease, FloatArray, Points, PointsRelease, frozen
from dpviz.methods.convergent_kmeans.algorithm import ZonesRelease
from dpviz.methods.dpm.algorithm import TreeRelease
from dpviz.methods.dpm.story.plane import Cells
from dpviz.methods.morse.algorithm import Mixture, MorseRelease
from dpviz.methods.nd_laplace import algorithm as nd_laplace
from dpviz.solvers.landscape.descent import distinct
from dpviz.solvers.landscape.flow import settle
from dpviz.tools.two_worlds.story import Change, neighbors


@dataclass(frozen=True)
class Question:
    """Which mechanism and which two worlds. Equal questions have equal answers, so that a job is named by one."""

    fit: Callable[..., Any]  # of a module, so that it can be sent
    scalars: tuple[Any, ...]  # what stands for the parameters
    change: Change
    params: Any = field(compare=False)


@dataclass(frozen=True, slots=True, eq=False)
class Cuts:
    """Applied cuts of released trees, box units."""

    low: FloatArray  # (c, d) the cell that was cut
    high: FloatArray  # (c, d)
    axes: NDArray[np.intp]  # (c,)
    positions: FloatArray  # (c,)


@dataclass(frozen=True, slots=True, eq=False)
class Cloud:
    """Releases of R runs in one world."""

    places: Points  # (m, d) what is drawn of all runs, data units
    cuts: Cuts | None
    statistics: FloatArray  # (R, f) of each run, for the attacker

    @property
    def n_runs(self) -> int:
        """How many runs."""
        return len(self.statistics)

    @classmethod
    def joined(cls, parts: Sequence["Cloud"]) -> "Cloud":
        """Put runs together."""
        places, statistics = (np.concatenate([getattr(part, name) for part in parts]) for name in cls._arrays())
        every = [part.cuts for part in parts if part.cuts is not None]
        return cls(frozen(places), _joined_cuts(every) if every else None, frozen(statistics))

    @staticmethod
    def _arrays() -> tuple[str, str]:
        return "places", "statistics"


def run_world(points: Points, box: Box, question: Question, world: int, n_runs: int, seed: tuple[int, ...]) -> Cloud:
    """Run the mechanism `n_runs` times in world 0 or 1, with noise from `seed`, and read what was released.

    Runs of other seeds or worlds are independent. Raises ValueError as the mechanism and `neighbors` do.
    """
    pair = neighbors(points, box, question.change)
    records, spots = pair.nonprivate_worlds[world], pair.nonprivate_spots
    rng = np.random.default_rng((*seed, world))
    if question.fit is nd_laplace.fit:
        return _moved(spots, box, question.params, world, n_runs, rng=rng)
    releases = [question.fit(records, box, question.params, rng=each).release for each in rng.spawn(n_runs)]
    places = np.concatenate([places_of(each, box) for each in releases])
    trees = [Cells.of(each.tree, box) for each in releases if isinstance(each, TreeRelease)]
    cuts = _joined_cuts([_cuts(each) for each in trees]) if trees else None
    found = np.stack([statistics_of(each, spots, box) for each in releases])
    return Cloud(frozen(places), cuts, frozen(found))


def places_of(release: CentersRelease, box: Box) -> Points:
    """Return what is drawn of a release (m, d), data units: the peaks of a mixture, else the centers."""
    if not isinstance(release, MorseRelease):
        return release.centers
    peaks = peaks_of(release.mixture)
    return box.from_unit((peaks + 1.0) / 2.0)


def peaks_of(mixture: Mixture) -> Points:
    """Return the peaks (m, D) that the means of a mixture's components flow to."""
    ends = settle(mixture, mixture.means)
    return ends[np.unique(distinct(mixture, ends), return_index=True)[1]]


def statistics_of(release: CentersRelease, spots: Points, box: Box) -> FloatArray:
    """Return what an attacker who asks about `spots` (s, d) reads from a release, (f,); f depends on its type alone."""
    parts = [center_statistics(release, spots, box)]
    if isinstance(release, ZonesRelease):
        parts += [_zone_statistics(release, box.to_unit(spot), box) for spot in spots]
    elif isinstance(release, TreeRelease):
        parts.append(_tree_statistics(release, spots, box))
    return np.concatenate(parts)


def _zone_statistics(release: ZonesRelease, spot: FloatArray, box: Box) -> FloatArray:
    """Return the first zone near a spot (d,), box units, the released center's ray from the corner, and the counts."""
    first = release.zone_centers[0] if release.start is None else release.start
    own = int(np.linalg.norm(first - spot, axis=1).argmin())
    center = box.to_unit(release.centers[own])
    ray = center / max(float(np.linalg.norm(center)), np.finfo(np.float64).tiny)
    counts = np.zeros(2)
    if release.noisy_counts_by_iteration is not None:
        every = release.noisy_counts_by_iteration
        counts = np.array([every.sum(axis=1).mean(), every[:, own].mean()])
    return np.concatenate([release.zone_centers[0, own], release.zone_radii[0, [own]], ray, counts])


def _tree_statistics(release: TreeRelease, spots: Points, box: Box) -> FloatArray:
    """Return the root's noisy count and cut, and the count and center of the leaf that each spot falls in."""
    tree, counts = release.tree, release.noisy_counts
    leaves = tree.cells(spots)
    own = np.zeros(len(spots)) if counts is None else counts[leaves]
    cut = np.nan_to_num(tree.split_positions[0], nan=float(box.low.min()))
    root = np.array([tree.noisy_counts[0], float(tree.split_axes[0]), cut])
    return np.concatenate([root, own, box.to_unit(release.centers[leaves]).ravel()])


def _moved(
    spots: Points, box: Box, params: nd_laplace.Params, world: int, n_runs: int, *, rng: np.random.Generator
) -> Cloud:
    """Draw the record's own row many times: the other rows are noise of their own and say nothing of it."""
    drawn = nd_laplace.fit(np.repeat(spots[[world]], n_runs, axis=0), box, params, rng=rng).release
    in_range = params.unit == "range"
    rows, ends = (box.to_unit(each) if in_range else each for each in (drawn.points, spots))
    nearer = nearer_scores(PointsRelease(rows), ends[0], ends[1])
    return Cloud(drawn.points, None, frozen(np.column_stack([nearer, rows])))


def _cuts(cells: Cells) -> Cuts:
    cut = np.flatnonzero(cells.applied)
    return Cuts(cells.low[cut], cells.high[cut], cells.axes[cut], cells.positions[cut])


def _joined_cuts(parts: Sequence[Cuts]) -> Cuts:
    def both(name: str) -> NDArray[Any]:
        return frozen(np.concatenate([getattr(part, name) for part in parts]))

    return Cuts(both("low"), both("high"), both("axes"), both("positions"))
