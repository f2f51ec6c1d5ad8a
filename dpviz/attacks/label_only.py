"""Label-only membership inference: how far is a record from where a published classifier changes its answer?

Training pushes the boundary away from the records it saw (Choquette-Choo, Tramer, Carlini & Papernot 2021; Li & Zhang
2021), so a far boundary speaks for "inside". The distance is found by asking for labels alone, like HopSkipJump (Chen,
Jordan & Wainwright 2020), whose well-kept implementation (Adversarial Robustness Toolbox) walks one record at a time
and brings a framework of 367 files; so this is a label-only attack of our own, for many records at once:

1. From each record x take the nearest places of another label among random ones in the box (HopSkipJump starts from
   one such place).
2. Halve the segment to x until its end b lies just behind the boundary (the same binary search).
3. Instead of an estimated gradient, move b's coordinates one by one to x's as far as the label stays another. For
   classifiers whose cells are boxes, such as decision trees, this ends at the point nearest to x in b's cell or in one
   that is nearer still; elsewhere it only tightens the distance.

The result is the distance of a point that truly has another label: an upper bound of the true distance, never less.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from dpviz.core import Box, FloatArray, Labels, Points, PointsRelease, Release, as_points

HALVINGS = 30  # of a segment: 1e-9 of it; trees compare in single precision anyway
N_PLACES = 2000  # random places to start from
N_STARTS = 16  # of them for each record; more find the nearest cell more often
N_SWEEPS = 2  # over the coordinates: moving one can free another
CELLS = 1 << 22  # distances held at a time


@dataclass(frozen=True, slots=True, eq=False)
class ClassifierRelease(Release):
    """A published classifier that can only be asked for labels."""

    predict: Callable[[Points], Labels]  # (q, d) data units -> (q,)


def tree_release(release: PointsRelease, labels: ArrayLike, *, rng: np.random.Generator) -> ClassifierRelease:
    """Train a decision tree on released points (n, d) and their cluster labels (n,), and publish its answers.

    Post-processing when the labels were computed from the released points too; trained on true points it is the
    non-private tree that the thesis compares with (van der Ende, section 5.3.2). Full depth, Gini impurity.
    Raises ValueError for another number of labels.
    """
    from sklearn.tree import DecisionTreeClassifier  # type: ignore[import-untyped]  # slow to load; it ships no types

    answers = np.asarray(labels, dtype=np.intp)
    if answers.shape != (len(release.points),):
        raise ValueError(f"labels had shape {answers.shape}, but the release has {len(release.points)} rows: one each.")
    tree = DecisionTreeClassifier(random_state=int(rng.integers(2**31))).fit(release.points, answers)
    # What tree.predict does, without its checks of the input: they cost ten times the answer to a few questions.
    leaves, of_leaf = tree.tree_, tree.classes_[tree.tree_.value[:, 0, :].argmax(axis=1)]
    return ClassifierRelease(lambda points: np.asarray(of_leaf[leaves.apply(points.astype(np.float32))], dtype=np.intp))


def boundary_distances(
    release: ClassifierRelease, records: ArrayLike, box: Box, *, rng: np.random.Generator
) -> FloatArray:
    """Return how far each of `records` (t, d) is from the nearest place of another label that was found: (t,).

    In data units, never below the true distance; infinite where no random place of the public `box` had another label.
    Asks the classifier alone, some 30 N_STARTS (2 d + 1) times a record.
    Raises ValueError for records that do not fit the box.
    """
    asked = as_points(records, n_features=box.d, name="records")
    places = box.from_unit(rng.random((N_PLACES, box.d)))
    behind, owners = _starts(asked, release.predict(asked), places, release.predict(places))
    distances = np.full(len(asked), np.inf)
    if not len(owners):
        return distances
    own, own_labels = asked[owners], release.predict(asked)[owners]

    def other(points: Points) -> FloatArray:
        return np.asarray((release.predict(points) != own_labels)[:, None], dtype=np.float64)

    behind = _halved(own, behind, other)
    for axis in np.tile(np.arange(box.d), N_SWEEPS):
        behind = _along(own, behind, axis, other)
    gaps = behind - own
    np.minimum.at(distances, owners, np.sqrt(np.einsum("ij,ij->i", gaps, gaps)))
    return distances


def label_only_scores(
    release: ClassifierRelease,
    records: ArrayLike,
    box: Box,
    *,
    labels: ArrayLike | None = None,
    rng: np.random.Generator,
) -> FloatArray:
    """Return the boundary distance of each of `records` (t, d) as its score (t,), higher meaning "inside".

    Where the attacker knows the records' `labels` (t,), a record that the classifier gets wrong scores minus its
    distance (the sign is ours: a wrong answer speaks against "inside"). Without labels the distance
    itself: the names of clusters change from run to run. Raises ValueError for another number of labels.
    """
    distances = boundary_distances(release, records, box, rng=rng)
    if labels is None:
        return distances
    known = np.asarray(labels, dtype=np.intp)
    if known.shape != distances.shape:
        raise ValueError(f"labels had shape {known.shape}, but there are {len(distances)} records: one each.")
    right = release.predict(as_points(records, name="records")) == known
    return np.where(right, distances, -distances)


def _starts(records: Points, labels: Labels, places: Points, place_labels: Labels) -> tuple[Points, Labels]:
    """Return the nearest places of another label of each record (s, d), with the record's index (s,)."""
    rows = max(1, CELLS // len(places))
    parts = []
    for first in range(0, len(records), rows):
        far = cdist(records[first : first + rows], places)
        far[labels[first : first + rows, None] == place_labels] = np.inf
        nearest = np.argpartition(far, N_STARTS, axis=1)[:, :N_STARTS]
        mine, slot = np.nonzero(np.isfinite(np.take_along_axis(far, nearest, axis=1)))
        parts.append((places[nearest[mine, slot]], first + mine))
    if not parts:
        return places[:0], np.zeros(0, dtype=np.intp)
    return np.concatenate([start for start, _ in parts]), np.concatenate([owner for _, owner in parts])


def _halved(own: Points, behind: Points, other: Callable[[Points], FloatArray]) -> Points:
    """Return, on each segment from `own` to `behind` (s, d), a point just behind the boundary: its label is another."""
    near, far = np.zeros((len(own), 1)), np.ones((len(own), 1))  # shares of the way; `far` has another label throughout
    for _ in range(HALVINGS):
        middle = 0.5 * (near + far)
        beyond = other(own + middle * (behind - own)) > 0
        near, far = np.where(beyond, near, middle), np.where(beyond, middle, far)
    return own + far * (behind - own)


def _along(own: Points, behind: Points, axis: int, other: Callable[[Points], FloatArray]) -> Points:
    """Move one coordinate of `behind` (s, d) to that of `own` as far as the label stays another."""
    aligned = behind.copy()
    aligned[:, axis] = own[:, axis]
    # Where all of the way is free no search is needed, and the coordinate becomes the record's own, to the bit.
    free = other(aligned) > 0
    return np.where(free, aligned, _halved(aligned, behind, other))
