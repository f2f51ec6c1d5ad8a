"""What the zones picture is drawn on: a run with its records, its frames, its plane, and what its zones stand on."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.algorithms.convergent_kmeans import Params, Step, ZonesRelease
from dpviz.core import FloatArray, Points, Result
from dpviz.plots import Audience, Frame, Kind, Layer, Role, rows_at
from dpviz.solvers import LloydRun
from dpviz.stories.view import Projection, Words

PHASES = ("assign", "mean", "zone", "sample")
DETAILS = {
    "assign": "Every record joins its nearest center.",
    "mean": "The exact mean of each cluster stays secret.",
    "zone": "Noise moves the mean. The noisy mean and its sampling zone are released.",
    "sample": "The next center is drawn inside the zone.",
}
PUBLISHED_DETAILS = {**DETAILS, "zone": "The paper releases a sampling zone that stands on the exact mean."}
RELEASE_DETAILS = {
    "repaired": "The last noisy means and counts are released.",
    "published": "Exact sums are divided by noisy counts. Each red ray passes exactly through a true sum.",
}


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """A run and everything its picture and numbers need, computed once."""

    result: Result[ZonesRelease, Step]
    params: Params
    unit: Points  # (n, d) records in box units: the curator's
    words: Words
    reference: LloydRun  # Lloyd from the same start: the curator's

    @property
    def final(self) -> FloatArray:
        """The released centers (k, d), box units."""
        return self.words.box.to_unit(self.result.release.centers)

    @property
    def proved(self) -> bool:
        """Whether a guarantee is proved for this very run."""
        return self.result.guarantee.proved is not None

    @property
    def repaired(self) -> bool:
        """Whether the zones stand on noisy means."""
        return self.params.mode == "repaired"


@dataclass(frozen=True, slots=True)
class Clock:
    """Frames of a run of T iterations: the start, four phases of each iteration, the release."""

    n_steps: int

    @property
    def n_frames(self) -> int:
        """Number of stops of the scrubber."""
        return 4 * self.n_steps + 2

    @property
    def release(self) -> int:
        """The last frame."""
        return self.n_frames - 1

    def frame(self, step: int, phase: str) -> int:
        """Return the frame of a phase of the step with index 0, 1, ..."""
        return 1 + 4 * step + PHASES.index(phase)

    def during(self, *phases: str, offset: int = 0) -> dict[int, int]:
        """Map the frames of these phases of every step to row step + offset; rows below 0 are left out."""
        return {self.frame(t, p): t + offset for t in range(self.n_steps) for p in phases if t + offset >= 0}


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """Everything a layer needs to know about where it is drawn."""

    projection: Projection
    clock: Clock

    def layer(
        self,
        name: str,
        kind: Kind,
        role: Role,
        audience: Audience,
        rows: Mapping[int, int],
        arrays: Mapping[str, NDArray[Any]],
        **style: Any,
    ) -> Layer:
        """Make a layer whose `rows` are given as {frame: row}."""
        return Layer(name, kind, role, audience, dict(arrays), rows_at(self.clock.n_frames, rows), **style)


@dataclass(frozen=True, slots=True, eq=False)
class Stand:
    """The means that zones stand on, over all iterations: released in repaired mode, secret in published mode."""

    mean: FloatArray  # (T, k, d) box units
    controller: FloatArray  # (T, k, d)
    lam: FloatArray  # (T, k)
    released: bool

    @property
    def audience(self) -> Audience:
        """Who may see what is drawn from these means."""
        return Audience.RELEASED if self.released else Audience.CURATOR

    @property
    def role(self) -> Role:
        """Blue where released, grey where exact."""
        return Role.RELEASED if self.released else Role.EXACT


def stack(trace: tuple[Step, ...], name: str) -> FloatArray:
    """Return one field of every step, (T, ...)."""
    return np.stack([getattr(step, name) for step in trace])


def stand(result: Result[ZonesRelease, Step]) -> Stand:
    """Return what the zones stand on, from the release where it holds it."""
    release, trace = result.release, result.trace
    if release.zone_means is not None and release.controllers is not None and release.lam is not None:
        return Stand(release.zone_means, release.controllers, release.lam, released=True)
    return Stand(stack(trace, "zone_mean"), stack(trace, "controller"), stack(trace, "lam"), released=False)


def frames(params: Params, clock: Clock) -> tuple[Frame, ...]:
    """Name every stop of the scrubber, in public words."""
    details = DETAILS if params.mode == "repaired" else PUBLISHED_DETAILS
    start = "Spread over the box without looking at any record." if params.start == "packing" else "k of the records."
    stops = [Frame("Start", start)]
    stops += [
        Frame(f"Iteration {t + 1} of {clock.n_steps}: {phase}", details[phase])
        for t in range(clock.n_steps)
        for phase in PHASES
    ]
    return (*stops, Frame("Release", RELEASE_DETAILS[params.mode]))
