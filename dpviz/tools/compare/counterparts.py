"""Which center became which: of a run and of k-means without privacy, and of two years' releases of a table.

A few percent more cost can hide a group that does not exist: a center that cuts a crowd in two costs little. How a run
stands to k-means is exact. Pairs, moves and words of two years follow from released centers and public bounds; what
noise alone does to centers is measured in other runs on the records: the curator's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy
from scipy.spatial.distance import cdist

from dpviz.core import Centers, Confidential, FloatArray, FoundClusters, Labels
from dpviz.data import Choices, Dataset
from dpviz.metrics import adjusted_rand
from dpviz.stories.panel import Fact, number
from dpviz.stories.profiles import value_text
from dpviz.stories.wording import things
from dpviz.tools.release import DEGREES, Column, ReleaseTable, real_columns, real_units

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
    def of(cls, found: FoundClusters, exact: FoundClusters) -> "Counterparts":
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


# -- Two years --


MOST_TOLD = 2  # columns of the cluster that moved most
LEAST_TOLD = 0.01  # of a column's range; ours
SHARE = "Moved, % of the bounds"  # a column of `Years.lines`
AGAIN = (
    "A cluster is found again where its center lies nearer to last year's than half of the way to the next one. Moves "
    "are shares of the way from one corner of the bounds to the other. Noise moves centers, too."
)


@dataclass(frozen=True, slots=True, eq=False)
class YearCenters:
    """The released centers of one year, in the table's own columns and units: public."""

    columns: tuple[Column, ...]  # (d,) each with its public bounds
    values: FloatArray  # (k, d)

    @classmethod
    def of(cls, centers: Centers, dataset: Dataset, form: Choices | None) -> "YearCenters":
        """Take centers (k, d) in the units of a data set that `form` made of a table."""
        columns, box = real_columns(dataset, form)
        return cls(columns, real_units(centers, dataset, form, box))

    @classmethod
    def of_table(cls, table: ReleaseTable) -> "YearCenters | None":
        """Take the centers of a release, None for one of another kind."""
        if not table.columns[0].name.startswith("center"):
            return None
        axes = [i for i, each in enumerate(table.columns) if each.low is not None]
        values = np.array([[float(row[i]) for i in axes] for row in table.rows]).reshape(len(table.rows), len(axes))
        return cls(tuple(table.columns[i] for i in axes), values)

    @property
    def unit(self) -> FloatArray:
        """The centers (k, d) from one bound of each column, 0, to the other, 1."""
        low, high = (np.array([getattr(each, end) for each in self.columns]) for end in ("low", "high"))
        return np.asarray((self.values - low) / (high - low))

    def text(self, i: int, axis: int) -> str:
        """Write one value of a center with its unit."""
        column = self.columns[axis]
        unit = "°" if column.unit == DEGREES else column.unit
        return value_text(float(self.values[i, axis]), float(column.high or 0.0) - float(column.low or 0.0), unit)


class _Pair(NamedTuple):
    """A center of this year, the one of last year that belongs to it, and the way between, of the diagonal."""

    now: int
    before: int
    move: float
    is_same: bool  # nearer than half of the way from there to the next center of last year


def _paired(now: FloatArray, before: FloatArray) -> tuple[_Pair, ...]:
    """Pair centers (k, d) and (m, d), both between their bounds, so that the ways are short in all."""
    ways, apart = cdist(now, before), cdist(before, before)
    np.fill_diagonal(apart, np.inf)
    diagonal = np.sqrt(now.shape[1])
    ours, theirs = scipy.optimize.linear_sum_assignment(ways)
    return tuple(
        _Pair(i, j, float(ways[i, j] / diagonal), bool(ways[i, j] < 0.5 * apart[j].min()))
        for i, j in zip(ours.tolist(), theirs.tolist(), strict=True)
    )


@dataclass(frozen=True, slots=True, eq=False)
class Years:
    """Two years' released centers with the same columns and bounds: public. Raises ValueError for others."""

    now: YearCenters
    before: YearCenters

    def __post_init__(self) -> None:
        """Compare the columns."""
        if self.now.columns != self.before.columns:
            raise ValueError(
                "The two releases have other columns, bounds or units. Release both years with the same ones: "
                "“Describe it like …” takes them over."
            )

    @property
    def pairs(self) -> tuple[_Pair, ...]:
        """Which center became which."""
        return _paired(self.now.unit, self.before.unit)

    @property
    def sentence(self) -> str:
        """Say how many clusters are found again, which are not, and where the one is that moved most."""
        pairs, k, m = [each for each in self.pairs if each.is_same], len(self.now.values), len(self.before.values)
        said = f"All {m}" if len(pairs) == m and m > 1 else f"{len(pairs)} of {m}"
        noun, verb = "cluster" if m == 1 else "clusters", "is" if len(pairs) == 1 else "are"
        words = [f"{said} {noun} of last year {verb} found again."]
        for who, missing in (
            ("This year's", sorted({*range(k)} - {each.now for each in pairs})),
            ("Last year's", sorted({*range(m)} - {each.before for each in pairs})),
        ):
            if missing:
                numbers = listed([i + 1 for i in missing])
                which = f"cluster {numbers} has" if len(missing) == 1 else f"clusters {numbers} have"
                words.append(f"{who} {which} no counterpart.")
        if pairs:
            words.append(self._farthest(max(pairs, key=lambda each: each.move)))
        return " ".join(words)

    def _farthest(self, pair: _Pair) -> str:
        """Say of the cluster that moved most what changed."""
        ways = np.abs(self.now.unit[pair.now] - self.before.unit[pair.before])
        axes = [i for i in np.argsort(-ways, kind="stable")[:MOST_TOLD].tolist() if ways[i] >= LEAST_TOLD]
        if not axes:
            return "None of them moved by a hundredth of the bounds."
        told = (
            f"{self.now.columns[i].name} {self.before.text(pair.before, i)} → {self.now.text(pair.now, i)}"
            for i in axes
        )
        return f"This year's cluster {pair.now + 1} moved most: {', '.join(told)}."

    def lines(self) -> list[dict[str, str]]:
        """Return a line for each center of this year, with last year's values, and one for each that is gone."""
        pairs = {each.now: each for each in self.pairs}
        found = []
        for i in range(len(self.now.values)):
            pair = pairs.get(i)
            line = {"This year": str(i + 1), "Last year": "" if pair is None else str(pair.before + 1)}
            for axis, column in enumerate(self.now.columns):
                was = "" if pair is None else f"{self.before.text(pair.before, axis)} → "
                line[column.name] = f"{was}{self.now.text(i, axis)}"
            again = "" if pair is None else "yes" if pair.is_same else "no"
            found.append({**line, SHARE: "" if pair is None else number(100.0 * pair.move), "Found again": again})
        for j in sorted({*range(len(self.before.values))} - {each.before for each in pairs.values()}):
            values = {column.name: self.before.text(j, axis) for axis, column in enumerate(self.now.columns)}
            found.append({"This year": "", "Last year": str(j + 1), **values, SHARE: "", "Found again": ""})
        return found

    def beside_noise(self, others: Sequence[YearCenters]) -> str:
        """Say which clusters moved farther than noise moves any: in `others`, runs on this year's records. Curator.

        T(c) is the longest move between this year's centers and c among clusters that are found again: a center that
        landed at another cluster's place is no move. Were last year's centers one more run on the same records, T of
        them and of `others` could be exchanged, and T(last year) is the largest in 1 of len(others) + 1 cases at most.
        """
        moves = {each.now: each.move for each in self.pairs if each.is_same}
        if not others or not moves:
            return ""
        longest = [
            max((each.move for each in _paired(self.now.unit, one.unit) if each.is_same), default=0.0) for one in others
        ]
        runs = f"{things(len(others), 'other run')} on this year's records"
        beyond = sorted(i + 1 for i, move in moves.items() if move > max(longest))
        if beyond:
            which = f"cluster {beyond[0]}" if len(beyond) == 1 else f"clusters {listed(beyond)}"
            chance = f"noise alone does that in 1 of {len(others) + 1} cases at most"
            return f"In {runs} no cluster that is found again moves as far as {which} did: {chance}."
        n_as_far = sum(each >= max(moves.values()) for each in longest)
        return f"All moves may be noise: among {runs}, {n_as_far} moved a cluster as far."
