"""What the type checker must accept and refuse; read by tests/test_types.py, never run.

Each ignore is under `warn_unused_ignores`: the day the line becomes legal, the ignore is unused and the check fails.
"""

from dataclasses import dataclass
from typing import Any

from dpviz.core import Centers, CentersRelease, PointsRelease, Release, Result, Step


@dataclass(frozen=True, slots=True, eq=False)
class LookAlike(Step):
    """A step with the very fields of a release: a structural type would let it through."""

    centers: Centers
    noisy_counts: None = None


def attack(release: Release) -> None:
    """Take what an attack may see."""


def attack_centers(release: CentersRelease) -> None:
    """Take published centers."""


def accepted(centers: CentersRelease, points: PointsRelease, result: Result[CentersRelease, LookAlike]) -> None:
    """Pass releases, which are public."""
    attack(centers)
    attack(points)
    attack(result.release)
    attack_centers(centers)
    attack_centers(result.release)


def refused(step: Step, look_alike: LookAlike, result: Result[CentersRelease, LookAlike], centers: Centers) -> None:
    """Pass what only the curator may see, or what nobody has vouched for."""
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
