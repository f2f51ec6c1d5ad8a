"""Code that the type checker must accept or refuse; read by tests/test_types.py, never run.

Each ignore is under `warn_unused_ignores`: the day the line becomes legal, the ignore is unused and the check fails.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpviz import budget
from dpviz.attacks import (
    ClassifierRelease,
    LocationAdversary,
    LocationRound,
    LocationSecret,
    MembershipSecret,
    boundary_distances,
    center_fit_scores,
    nearer_scores,
    posterior,
    reconstruct_mean,
    reconstruct_median,
    tree_release,
)
from dpviz.core import Box, Centers, CentersRelease, Labels, Points, PointsRelease, Release, Result, Step
from dpviz.estimators import DPM, ConvergentKMeans, NDLaplace


@dataclass(frozen=True, slots=True, eq=False)
class LookAlike(Step):
    """A step with the very fields of a release: a structural type would let it through."""

    centers: Centers
    noisy_counts: None = None


@dataclass(frozen=True, slots=True, eq=False)
class PointsStep(Step):
    """A step with the fields of released records, of centers and of a classifier."""

    points: Points
    centers: Centers
    predict: Callable[[Points], Labels]
    noisy_counts: None = None


RNG = np.random.default_rng(0)


def attack(release: Release) -> None:
    """Accept the information that an attack may see."""


def attack_centers(release: CentersRelease) -> None:
    """Take published centers."""


def accepted(centers: CentersRelease, points: PointsRelease, result: Result[CentersRelease, LookAlike]) -> None:
    """Pass releases, which are public."""
    attack(centers)
    attack(points)
    attack(result.release)
    attack_centers(centers)
    attack_centers(result.release)


def the_attacks_accept(
    centers: CentersRelease,
    points: PointsRelease,
    labels: Labels,
    tree: ClassifierRelease,
    adversary: LocationAdversary,
) -> None:
    """Pass each attack its allowed information."""
    center_fit_scores(centers, [[0.0]])
    nearer_scores(points, [0.0], [1.0])
    posterior(points, adversary)
    reconstruct_mean(points)
    reconstruct_median(points)
    boundary_distances(tree, [[0.0]], Box.cube(0, 1, 1), rng=RNG)
    tree_release(points, labels, rng=RNG)


def the_attacks_refuse(
    step: PointsStep, records: Points, result: Result[PointsRelease, PointsStep], adversary: LocationAdversary
) -> None:
    """Pass each attack a step that looks like a release, a whole result, or bare records."""
    center_fit_scores(step, [[0.0]])  # type: ignore[arg-type]
    nearer_scores(step, [0.0], [1.0])  # type: ignore[arg-type]
    posterior(step, adversary)  # type: ignore[arg-type]
    posterior(result, adversary)  # type: ignore[arg-type]
    posterior(result.trace[-1], adversary)  # type: ignore[arg-type]
    reconstruct_mean(records)  # type: ignore[arg-type]
    reconstruct_mean(step)  # type: ignore[arg-type]
    reconstruct_median(result.trace[-1])  # type: ignore[arg-type]
    boundary_distances(step, [[0.0]], Box.cube(0, 1, 1), rng=RNG)  # type: ignore[arg-type]
    tree_release(step, records, rng=RNG)  # type: ignore[arg-type]


def the_game_refuses(played: LocationRound, place: LocationSecret, member: MembershipSecret) -> None:
    """Pass a secret where the public part of a round belongs."""
    attack(played)
    attack(place)  # type: ignore[arg-type]
    attack(member)  # type: ignore[arg-type]
    reconstruct_mean(place)  # type: ignore[arg-type]


def estimators_are_typed(records: Points, box: Box) -> None:
    """Build and use estimators, whose classes are made when they are imported."""
    labels: Labels = DPM(epsilon=1.0, bounds=box).fit(records).predict(records)
    made = ConvergentKMeans(5, mode="repaired", bounds=((0, 0), (1, 1)), random_state=1)
    moved: Points = NDLaplace(epsilon=2.0, bounds=(0.0, 1.0)).fit(records).transform(records)
    attack(made.fit(moved).release_)
    with budget(epsilon=3.0) as spent:
        float(spent.epsilon_spent)
    ConvergentKMeans("5", bounds=box)  # type: ignore[arg-type]
    ConvergentKMeans(5, mode="repared", bounds=box)  # type: ignore[arg-type]
    DPM(epsilon=str(labels), bounds=box)  # type: ignore[arg-type]


def refused(step: Step, look_alike: LookAlike, result: Result[CentersRelease, LookAlike], centers: Centers) -> None:
    """Pass values that only the curator may see, or that nothing declares as public."""
    attack(step)  # type: ignore[arg-type]
    attack(look_alike)  # type: ignore[arg-type]
    attack(result)  # type: ignore[arg-type]
    attack(result.trace)  # type: ignore[arg-type]
    attack(result.trace[-1])  # type: ignore[arg-type]
    attack(centers)  # type: ignore[arg-type]
    attack_centers(look_alike)  # type: ignore[arg-type]


def refused_as_result(step: LookAlike) -> Result[Any, Any]:
    """Put a step where a release belongs."""
    disguised: CentersRelease = step  # type: ignore[assignment]
    return Result(disguised, (step,), (), guarantee=None)  # type: ignore[arg-type]
