"""The clusters of a run beside those of k-means without privacy.

A few percent more cost can hide a group that does not exist: a center that cuts a crowd in two costs little. The
comparison is exact. Curator only.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from dpviz.core import Confidential, FloatArray, FoundClusters, Labels
from dpviz.metrics import adjusted_rand
from dpviz.stories.panel import Fact, number
from dpviz.stories.wording import things

ALIKE = ((0.95, "almost the same groups"), (0.8, "mostly the same groups"), (0.5, "partly the same groups"))  # ours
OTHERS = "other groups"
HEAD = ("Released center", "Nearest without privacy", "Distance (data units)", "Near")  # of `Counterparts.lines`
HELP = (
    "Adjusted Rand index (ARI) of the records' clusters with those of k-means without privacy: 1 for the same groups, "
    "0 for groups that agree by chance."
)
FOUND = (
    "A cluster without privacy is found again where a released center is nearer to its center than half of the way to "
    "the next one."
)


@dataclass(frozen=True, slots=True, eq=False)
class Counterparts(Confidential):
    """How m released centers stand to the k centers without privacy. Curator only."""

    nonprivate_ari: float  # of the records' labels by both: 1 for the same groups, 0 for chance
    nonprivate_nearest: Labels  # (m,) which center without privacy is the nearest one of each
    nonprivate_distances: FloatArray  # (m,) to it, data units
    nonprivate_near: tuple[bool, ...]  # (m,) whether that is less than half of its way to the next one
    n_clusters: int  # k

    @classmethod
    def match(cls, found: FoundClusters, exact: FoundClusters) -> "Counterparts":
        """Compare clusters of the same records, `found` by a release and the `exact` ones."""
        ari = adjusted_rand(exact.nonprivate_labels, found.nonprivate_labels)
        distances = cdist(found.centers, exact.centers)  # (m, k)
        nearest = distances.argmin(axis=1)
        apart = cdist(exact.centers, exact.centers)
        np.fill_diagonal(apart, np.inf)
        least = distances.min(axis=1)
        near = tuple((least < 0.5 * apart.min(axis=1)[nearest]).tolist())
        return cls(ari, nearest, least, near, len(exact.centers))

    @property
    def nonprivate_found(self) -> frozenset[int]:
        """The clusters without privacy that are found again, by index."""
        return frozenset(int(j) for j, near in zip(self.nonprivate_nearest, self.nonprivate_near, strict=True) if near)

    @property
    def alike(self) -> str:
        """How much the groups agree, in words."""
        return next((words for least, words in ALIKE if self.nonprivate_ari >= least), OTHERS)

    @property
    def sentence(self) -> str:
        """Say how many clusters are found again, how far the groups agree, and which centers have none of their own."""
        k, n_found = self.n_clusters, len(self.nonprivate_found)
        said = f"All {k}" if n_found == k and k > 1 else f"{n_found} of {k}"
        verb = "is" if n_found == 1 else "are"
        words = f"{said} clusters without privacy {verb} found again ({self.alike}, ARI {self._ari})."
        return f"{words} {self.oddities}".rstrip()

    @property
    def oddities(self) -> str:
        """Say which released centers share a cluster without privacy, and which have none there; "" for none."""
        groups = [
            [i + 1 for i, near in enumerate(self.nonprivate_near) if near and self.nonprivate_nearest[i] == j]
            for j in sorted(self.nonprivate_found)
        ]
        parts = [f"Released centers {listed(group)} share one cluster." for group in groups if len(group) > 1]
        stray = [i + 1 for i, near in enumerate(self.nonprivate_near) if not near]
        if stray:
            which = f"center {stray[0]} has" if len(stray) == 1 else f"centers {listed(stray)} have"
            parts.append(f"Released {which} no counterpart without privacy.")
        return " ".join(parts)

    @property
    def _ari(self) -> str:
        return number(round(self.nonprivate_ari, 2))

    def lines(self) -> tuple[tuple[str, str, str, str], ...]:
        """Return of each released center its number, its counterpart's, their distance, and whether it is near."""
        return tuple(
            (str(i + 1), str(int(j) + 1), number(float(distance)), "yes" if near else "no")
            for i, (j, distance, near) in enumerate(
                zip(self.nonprivate_nearest, self.nonprivate_distances, self.nonprivate_near, strict=True)
            )
        )

    def facts(self) -> tuple[Fact, ...]:
        """Return the two numbers that stand beside a run's cost: exact ones."""
        return (
            Fact("Agreement with no privacy", f"{self._ari}, {self.alike}", HELP, False),
            Fact("Clusters found again", f"{len(self.nonprivate_found)} of {self.n_clusters}", FOUND, False),
        )


def typical(runs: Sequence[Counterparts | None]) -> str:
    """Say over several runs how many find all clusters again, and their median agreement; None: released nothing."""
    k = next((run.n_clusters for run in runs if run is not None), 0)
    if not k:
        return ""
    n_all = sum(run is not None and len(run.nonprivate_found) == k for run in runs)
    ari = float(np.median([0.0 if run is None else run.nonprivate_ari for run in runs]))
    every = "the cluster" if k == 1 else f"all {things(k, 'cluster')}"
    return (
        f"Are they the same clusters? {n_all} of {things(len(runs), 'run')} find {every} that k-means finds without "
        f"privacy; the median agreement (ARI) is {number(round(ari, 2))}, where 1 is the same and 0 is chance."
    )


def listed(numbers: Sequence[int]) -> str:
    """Write numbers in a sentence, at least one: "2, 3 and 5"."""
    first = ", ".join(map(str, numbers[:-1]))
    return f"{first} and {numbers[-1]}" if first else str(numbers[-1])
