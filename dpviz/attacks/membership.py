"""Membership inference: was this record in the data, or another in its place?

The game (Yeom, Giacomelli, Fredrikson & Jha 2018, experiment 1, with a replacement for the fresh draw): a fair coin
puts x or x' into the data, a run releases something, the attacker scores x and says "inside" when the score is at least
a threshold. What the release promises bounds the two rates (`dpviz.attacks.roc_bound`). For geo-indistinguishability it
promises something about x against x' only: that a person took part shows in the number of rows.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import KDTree

from dpviz.core import CentersRelease, FloatArray, Points, PointsRelease, Release, as_points

R = TypeVar("R", bound=Release)


@dataclass(frozen=True, slots=True, eq=False)
class GameScores:
    """The attacker's scores of all rounds, by what the coins had said."""

    inside: FloatArray  # (a,) rounds in which x was in the data
    outside: FloatArray  # (b,) rounds in which x' was


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
    """Play `n_runs` runs in which every target's coin puts row i of `points` or of `others` (n, d) into the data.

    `run(records, rng)` returns a release; `score(release, records)` scores the records (t, d) that the attacker asks
    about, higher meaning "inside", and sees nothing else. `targets` (t,) are the rows that play, all by default; the
    rest stay as in `points` and, in the worst case that privacy is about, are known to the attacker. Rounds of one
    target are independent, those of several targets share runs: bands (`roc_band`) are exact for one target.
    The points are hypothetical: a game on real records is the curator's and each run is one more release.
    Raises ValueError for other shapes, targets that are no rows, n_runs < 2, and coins that all fell alike.
    """
    here, there = as_points(points), as_points(others, name="others")
    if here.shape != there.shape:
        raise ValueError(f"points had shape {here.shape} and others {there.shape}, but each x needs its own x'.")
    rows = np.arange(len(here)) if targets is None else np.asarray(targets, dtype=np.intp)
    if rows.ndim != 1 or not rows.size or not ((rows >= 0) & (rows < len(here))).all():
        raise ValueError(f"targets must be rows from 0 to {len(here) - 1}, one at least.")
    if n_runs < 2:
        raise ValueError(f"n_runs was {n_runs}, but both worlds must be seen: play 2 runs at least.")
    coins = rng.random((n_runs, rows.size)) < 0.5
    if coins.all() or not coins.any():
        raise ValueError(f"All coins of {n_runs} runs fell alike, so one world was never seen. Play more runs.")
    scores = np.empty(coins.shape)
    asked = here[rows]
    for row, coin, generator in zip(scores, coins, rng.spawn(n_runs), strict=True):
        records = here.copy()
        records[rows[~coin]] = there[rows[~coin]]
        row[:] = score(run(records, generator), asked)
    return GameScores(scores[coins], scores[~coins])


def center_fit_scores(release: CentersRelease, records: ArrayLike) -> FloatArray:
    """Return minus the distance of each of `records` (t, d) to its nearest released center: (t,), data units.

    The fit is the loss of a clustering at a record; a record inside pulls a center towards itself. -inf for all when no
    center was released. Yeom et al. 2018, section 3, with this loss.
    """
    return _fit_scores(release.centers, records)


def row_fit_scores(release: PointsRelease, records: ArrayLike) -> FloatArray:
    """Return minus the distance of each of `records` (t, d) to the nearest released row: (t,), data units.

    For an attacker who does not know which row belongs to whom; who does uses `nearer_scores` or the posterior.
    """
    return _fit_scores(release.points, records)


def yeom_guesses(scores: ArrayLike, average_loss: float) -> NDArray[np.bool_]:
    """Return who is called inside: loss <= average_loss, the loss being minus the score; shape of `scores`.

    `average_loss` is the average loss of the records inside, which the attacker knows from elsewhere (a published
    error, or runs of one's own). Yeom et al. 2018, adversary 2 (threshold), with the average loss as its threshold, the
    usual choice when the two laws of the loss are not known.
    Raises ValueError for NaN and for a threshold that is NaN.
    """
    losses = -np.asarray(scores, dtype=np.float64)
    if np.isnan(losses).any() or math.isnan(average_loss):
        raise ValueError("scores or average_loss held NaN, but a loss must be a number or infinite.")
    return np.asarray(losses <= average_loss)


def _fit_scores(places: Points, records: ArrayLike) -> FloatArray:
    asked = as_points(records, n_features=places.shape[1], name="records")
    if not len(places):
        return np.full(len(asked), -np.inf)
    distances, _ = KDTree(places).query(asked)
    return -np.asarray(distances, dtype=np.float64)
