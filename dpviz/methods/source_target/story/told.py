"""A run of source-target clustering and everything its picture and numbers need, computed once."""

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.spatial import cKDTree

from dpviz.core import (
    Confidential,
    FloatArray,
    Labels,
    Points,
)
from dpviz.methods.source_target.algorithm import Params, SanitiseStep, SourceTargetRelease, Step, nonprivate_difference
from dpviz.solvers import nearest_distance
from dpviz.stories.run import Run
from dpviz.stories.view import Words

SELECT_SEED = 0  # of selections that stand beside the run: they need it for very many targets only


@dataclass(frozen=True, slots=True, eq=False)
class TargetReference(Confidential):
    """What the run is compared with, and the public borders of its cells; distances in data units."""

    nonprivate_distances: FloatArray  # (n,) from each target to its nearest source record; infinite without any
    nonprivate_selected: Labels  # (k,) chosen beside the source itself: the floor
    ignorant: Labels  # (k,) chosen as if there were no source, "Cluster T": public
    borders: FloatArray  # (1, m, 4) box units, of the representatives' cells; (1, 0, 4) unless d = 2


@dataclass(frozen=True, eq=False)
class SourceTargetContext(Run[Params, SourceTargetRelease, Step]):
    """A run with its source, its targets and what it is compared with; `unit` and `classes` are the source's (m,)."""

    reference: TargetReference
    targets: Points = field(kw_only=True)  # box units, public
    servers: Labels = field(kw_only=True)  # (n,) who serves each target best as the release tells it: S', then centers
    served: FloatArray = field(kw_only=True)  # (n,) how far away that is, data units
    targets_public: bool = True  # False: the targets were spread over bounds that come from the records
    record: int | None = None  # the source record that the reader looks at
    target_classes: Labels | None = None  # (n,)

    @property
    def step(self) -> SanitiseStep:
        """The first step; of its arrays only what the release has as well is public."""
        step = self.result.trace[0]
        assert isinstance(step, SanitiseStep)
        return step

    @property
    def n_released(self) -> int:
        """Number of points in S'."""
        return len(self.result.release.centers)

    @property
    def selected(self) -> Points:
        """The new centers (k, d), box units."""
        return np.asarray(self.targets[self.result.release.selected])

    @property
    def released(self) -> Points:
        """S' (m', d), box units."""
        return self.words.box.to_unit(self.result.release.centers)

    @property
    def representatives(self) -> Points:
        """The targets that have an average of their own (r, d), box units."""
        return np.asarray(self.targets[self.step.core.representatives])

    @property
    def refused(self) -> Labels:
        """The representatives (as rows of `representatives`) without a released average: the release says so."""
        return np.flatnonzero(~np.isin(self.step.core.representatives, self.result.release.origins))

    def nonprivate_cost(self, chosen: Labels) -> float:
        """Return the mean distance from a target to its nearest of the source and the `chosen` targets, data units."""
        return cost_of(self.reference.nonprivate_distances, self.params.targets, chosen)

    def nonprivate_difference(self) -> float:
        """Return what the bound is about, in diameters of the ball."""
        box = self.words.box
        return nonprivate_difference(box.from_unit(self.unit), box, self.params, self.result.release.centers)


def cost_of(distances: FloatArray, targets: Points, chosen: Labels) -> float:
    """Return the mean of the smaller of `distances` (n,) and the distance to the nearest `chosen` target."""
    return float(np.minimum(distances, nearest_distance(targets, targets[chosen])).mean())


def nonprivate_accuracies(told: SourceTargetContext) -> tuple[tuple[str, float], ...]:
    """Return (choice, share of targets whose nearest labelled point has their class); () where a class is unknown.

    Labelled are the source and the chosen targets: what domain adaptation pays for. Curator only.
    """
    known, wanted = told.classes, told.target_classes
    if known is None or wanted is None or len(known) == 0:
        return ()
    source, targets = told.words.box.from_unit(told.unit), told.params.targets
    choices = (
        ("no new labels", np.empty(0, dtype=np.intp)),
        ("these centers", told.result.release.selected),
        ("Cluster T", told.reference.ignorant),
        ("without privacy", told.reference.nonprivate_selected),
    )
    found = []
    for name, chosen in choices:
        # The chosen come first, so that a target that is itself labelled finds itself among equals.
        nearest = cKDTree(np.concatenate([targets[chosen], source])).query(targets, k=1)[1]
        labels = np.concatenate([wanted[chosen], known])[nearest]
        found.append((name, float((labels == wanted).mean())))
    return tuple(found)


def diameter(told: SourceTargetContext) -> float:
    """Return the ball's diameter in data units, public."""
    return 2.0 * told.step.ball.radius


def unit_of_cost(words: Words) -> str:
    """Return the unit of a distance: that of the features where they share one."""
    units = set(words.units)
    return f" {units.pop()}" if len(units) == 1 and "" not in units else ""


def vacuous(bound: float) -> bool:
    """Say whether a bound on a difference of costs, in diameters, says nothing: no two costs differ by more than 1."""
    return not math.isfinite(bound) or bound >= 1.0
