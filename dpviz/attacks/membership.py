"""Membership inference: find out whether a record was in the data, or a different one in its place.

In the game (Yeom, Giacomelli, Fredrikson & Jha 2018, experiment 1, with a replacement for the fresh draw), a fair coin
puts x or x' into the data, a run releases something, and the attacker scores x and answers "inside" if the score is at
least a threshold. The release's guarantee bounds the two rates (`dpviz.attacks.roc_bound`). Geo-indistinguishability
only gives a guarantee about x against x': the number of rows shows that a person took part.

`label_only_scores` attacks a published classifier by a record's distance from the boundary at which the answer changes.
Training pushes the boundary away from the records it saw (Choquette-Choo, Tramer, Carlini & Papernot 2021; Li & Zhang
2021), so a distant boundary is evidence for "inside". The distance is computed from labels alone, like in HopSkipJump
(Chen, Jordan & Wainwright 2020). Its well-maintained implementation (Adversarial Robustness Toolbox) walks one record
at a time and brings a framework of 367 files. Our choice is therefore a separate label-only attack, for many records at
once:

1. For each record x, take the nearest places with a different label among random places in the box (HopSkipJump starts
   from one such place).
2. Halve the segment to x until its end b lies just behind the boundary (the same binary search).
3. Instead of an estimated gradient, move b's coordinates one by one to x's as far as the label remains different. For
   classifiers whose cells are boxes, such as decision trees, this ends at the point nearest to x in b's cell or in one
   that is nearer still; elsewhere it only tightens the distance.

The result is the distance of a point that truly has a different label: an upper bound of the true distance.
"""

import math
from collections.abc import Callable
from typing import TypeVar

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from dpviz.core import Box, CentersRelease, FloatArray, Labels, Points, PointsRelease, Release, as_points, immutable

# Halvings of a segment, to 1e-9 of it. Trees compare in single precision anyway.
HALVINGS = 30
# Random places to start from.
N_PLACES = 2000
# Starts for each record. More starts find the nearest cell more often.
N_STARTS = 16
# Sweeps over the coordinates, because moving one coordinate can free another.
N_SWEEPS = 2
# Distances in memory at a time.
CELLS = 1 << 22

R = TypeVar("R", bound=Release)


@immutable
class GameScores:
    """The attacker's scores of all rounds, by the result of the coin."""

    # Scores of rounds with x in the data, (a,).
    inside: FloatArray
    # Scores of rounds with x' in the data, (b,).
    outside: FloatArray


def membership_game(
    run: Callable[[Points, np.random.Generator], R],
    points: ArrayLike,
    others: ArrayLike,
    score: Callable[[R, Points], FloatArray],
    *,
    targets: ArrayLike | None = None,
    n_runs: int,
    rng: np.random.Generator,
) -> GameScores:
    """Play runs in which a coin for each target puts its row of `points` or of `others` into the data.

    The points are hypothetical: a game on real records is curator only, and each run is one more release. Rounds of one
    target are independent, those of several targets share runs: bands (`roc_band`) are exact for one target.

    Parameters
    ----------
    run
        Function of records and a generator that returns a release.
    points
        Records (n, d). Those that do not play stay in the data and, in the worst case that privacy is about, are known
        to the attacker.
    others
        Replacements (n, d) of the rows.
    score
        Function of a release and records (t, d) that returns scores (t,), higher meaning "inside". It sees nothing
        else.
    targets
        Rows (t,) that play; all by default.
    n_runs
        Number of runs, at least 2.
    rng
        Generator of coins and runs.

    Returns
    -------
    GameScores
        Scores of all rounds.

    Raises
    ------
    ValueError
        If shapes differ, targets are not rows, `n_runs` is below 2, or all coins gave the same result.
    """
    here, there = as_points(points), as_points(others, name="others")
    if here.shape != there.shape:
        raise ValueError(
            "points and others must have the same shape, because each x needs its own x', got "
            f"{here.shape} and {there.shape}."
        )
    rows = np.arange(len(here)) if targets is None else np.asarray(targets, dtype=np.intp)
    if rows.ndim != 1 or not rows.size or not ((rows >= 0) & (rows < len(here))).all():
        raise ValueError(f"targets must be rows from 0 to {len(here) - 1}, one at least.")
    if n_runs < 2:
        raise ValueError(f"n_runs must be at least 2, because both worlds must occur, got {n_runs}.")
    coins = rng.random((n_runs, rows.size)) < 0.5
    if coins.all() or not coins.any():
        raise ValueError(f"All {n_runs} coins fell alike, so one world never occurred. Play more runs.")
    scores = np.empty(coins.shape)
    candidates = here[rows]
    for row, coin, generator in zip(scores, coins, rng.spawn(n_runs), strict=True):
        records = here.copy()
        records[rows[~coin]] = there[rows[~coin]]
        row[:] = score(run(records, generator), candidates)
    return GameScores(scores[coins], scores[~coins])


def center_fit_scores(release: CentersRelease, records: ArrayLike) -> FloatArray:
    """Return minus the distance of each of `records` (t, d) to its nearest released center: (t,), data units.

    The fit is the loss of a clustering at a record; a record inside pulls a center toward itself. -inf for all records
    if no center was released. Source: Yeom et al. 2018, section 3, with this loss.
    """
    rows = as_points(records, n_features=release.centers.shape[1], name="records")
    if not len(release.centers):
        return np.full(len(rows), -np.inf)
    distances, _ = scipy.spatial.KDTree(release.centers).query(rows)
    return -np.asarray(distances, dtype=np.float64)


def yeom_guesses(scores: ArrayLike, average_loss: float) -> NDArray[np.bool_]:
    """Return True for the records called inside: loss <= average_loss, where the loss is minus the score.

    The result has the shape of `scores`. `average_loss` is the average loss of the records inside, which the attacker
    knows from elsewhere (a published error, or the attacker's own runs). Source: Yeom et al. 2018, adversary 2
    (threshold), with the average loss as its threshold, the usual choice if the two distributions of the loss are
    unknown.
    Raises ValueError for NaN and for a threshold that is NaN.
    """
    losses = -np.asarray(scores, dtype=np.float64)
    if np.isnan(losses).any() or math.isnan(average_loss):
        raise ValueError("scores and average_loss must be numbers or infinite, got NaN.")
    return np.asarray(losses <= average_loss)


@immutable
class ClassifierRelease(Release):
    """A published classifier that returns labels and nothing else."""

    # Places (q, d), data units -> labels (q,).
    predict: Callable[[Points], Labels]


def tree_release(release: PointsRelease, labels: ArrayLike, *, rng: np.random.Generator) -> ClassifierRelease:
    """Train a decision tree on released points and their cluster labels, and publish its answers.

    It is post-processing if the labels were also computed from the released points. Trained on true points, it is the
    non-private tree that the thesis compares with. Full depth, Gini impurity.

    Parameters
    ----------
    release
        Released points (n, d).
    labels
        Cluster labels (n,).
    rng
        Generator of the tree.

    Returns
    -------
    ClassifierRelease
        The tree's answers.

    Raises
    ------
    ValueError
        If the number of labels is different.

    References
    ----------
    van der Ende, section 5.3.2.
    """
    from sklearn.tree import DecisionTreeClassifier  # type: ignore[import-untyped]  # slow to load; it ships no types

    answers = np.asarray(labels, dtype=np.intp)
    if answers.shape != (len(release.points),):
        raise ValueError(
            f"labels must have one entry for each of the {len(release.points)} rows of the release, got "
            f"shape {answers.shape}."
        )
    tree = DecisionTreeClassifier(random_state=int(rng.integers(2**31))).fit(release.points, answers)
    # tree.predict without its input checks, which cost ten times as much as the labels of a few points.
    leaves, of_leaf = tree.tree_, tree.classes_[tree.tree_.value[:, 0, :].argmax(axis=1)]
    return ClassifierRelease(lambda points: np.asarray(of_leaf[leaves.apply(points.astype(np.float32))], dtype=np.intp))


def boundary_distances(
    release: ClassifierRelease, records: ArrayLike, box: Box, *, rng: np.random.Generator
) -> FloatArray:
    """Return the distance of each record from the nearest known place with a different label.

    Only the classifier is called, about 30 N_STARTS (2 d + 1) times per record.

    Parameters
    ----------
    release
        A published classifier.
    records
        Records (t, d).
    box
        Public box of the random places.
    rng
        Generator of the random places.

    Returns
    -------
    FloatArray
        Distances (t,), data units, never below the true distance, and infinite if no random place had a different
        label.

    Raises
    ------
    ValueError
        If the records do not fit the box.
    """
    points = as_points(records, n_features=box.d, name="records")
    places = box.from_unit(rng.random((N_PLACES, box.d)))
    behind, owners = _starts(points, release.predict(points), places, release.predict(places))
    distances = np.full(len(points), np.inf)
    if not len(owners):
        return distances
    own, own_labels = points[owners], release.predict(points)[owners]

    def other(points: Points) -> FloatArray:
        return np.asarray((release.predict(points) != own_labels)[:, None], dtype=np.float64)

    behind = _halved(own, behind, other)
    for axis in np.tile(np.arange(box.d), N_SWEEPS):
        # Move this coordinate to that of `own` as far as the label remains different. If the whole way is free, no
        # search is needed, and the coordinate becomes the record's own, to the bit.
        aligned = behind.copy()
        aligned[:, axis] = own[:, axis]
        behind = np.where(other(aligned) > 0, aligned, _halved(aligned, behind, other))
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
    """Return the boundary distance of each record as its score; higher means "inside".

    If the attacker knows the labels, a record that the classifier gets wrong scores minus its distance (the sign is our
    choice, because a wrong answer is evidence against "inside"). Without labels, the score is the distance itself,
    because the names of clusters change from run to run.

    Parameters
    ----------
    release
        A published classifier.
    records
        Records (t, d).
    box
        Public box of the random places.
    labels
        Labels (t,) of the records, if the attacker knows them.
    rng
        Generator of the random places.

    Returns
    -------
    FloatArray
        Scores (t,).

    Raises
    ------
    ValueError
        If the number of labels is different.
    """
    distances = boundary_distances(release, records, box, rng=rng)
    if labels is None:
        return distances
    known = np.asarray(labels, dtype=np.intp)
    if known.shape != distances.shape:
        raise ValueError(
            f"labels must have one entry for each of the {len(distances)} records, got shape {known.shape}."
        )
    right = release.predict(as_points(records, name="records")) == known
    return np.where(right, distances, -distances)


def _starts(records: Points, labels: Labels, places: Points, place_labels: Labels) -> tuple[Points, Labels]:
    """Return the nearest places (s, d) with a different label for each record, with the record's index (s,)."""
    rows = max(1, CELLS // len(places))
    parts = []
    for first in range(0, len(records), rows):
        far = scipy.spatial.distance.cdist(records[first : first + rows], places)
        far[labels[first : first + rows, None] == place_labels] = np.inf
        nearest = np.argpartition(far, N_STARTS, axis=1)[:, :N_STARTS]
        mine, slot = np.nonzero(np.isfinite(np.take_along_axis(far, nearest, axis=1)))
        parts.append((places[nearest[mine, slot]], first + mine))
    if not parts:
        return places[:0], np.zeros(0, dtype=np.intp)
    return np.concatenate([start for start, _ in parts]), np.concatenate([owner for _, owner in parts])


def _halved(own: Points, behind: Points, other: Callable[[Points], FloatArray]) -> Points:
    """Return a point just behind the boundary on each segment from `own` to `behind` (s, d). Its label is different."""
    # Shares of the distance. `far` has a different label throughout.
    near, far = np.zeros((len(own), 1)), np.ones((len(own), 1))
    for _ in range(HALVINGS):
        middle = 0.5 * (near + far)
        beyond = other(own + middle * (behind - own)) > 0
        near, far = np.where(beyond, near, middle), np.where(beyond, middle, far)
    return own + far * (behind - own)
