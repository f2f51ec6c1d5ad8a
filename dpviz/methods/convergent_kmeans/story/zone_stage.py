"""What the zones picture is drawn on: a run with its records, its frames, its plane, and what its zones stand on."""

from dataclasses import dataclass

from dpviz.core import FloatArray, Result
from dpviz.methods.convergent_kmeans.algorithm import Params, Step, ZonesRelease
from dpviz.plots import Audience, Frame, Role
from dpviz.stories.centers import CentersRun
from dpviz.stories.stage import Clock, stack

PHASES = ("assign", "mean", "zone", "sample")
DETAILS = {
    "assign": "Every record joins its nearest center.",
    "mean": "The exact mean of each cluster stays secret.",
    "zone": "Noise moves the mean. The noisy mean and its sampling zone are released.",
    "sample": "The next center is drawn inside the zone.",
}
PUBLISHED_DETAILS = {**DETAILS, "zone": "The paper releases a sampling zone that stands on the exact mean."}
SEEDS = "From a public packing to where noisy counts of a coarse grid say that records are: k-means on its cells."
RELEASE_DETAILS = {
    "repaired": "The last noisy means and counts are released.",
    "published": "Exact sums are divided by noisy counts. Each red ray passes exactly through a true sum.",
}


class ZonesContext(CentersRun[ZonesRelease, Step]):
    """A run and everything its picture and numbers need, computed once; Lloyd's run is from the same start."""

    params: Params

    @property
    def repaired(self) -> bool:
        """Whether the zones stand on noisy means."""
        return self.params.mode == "repaired"


@dataclass(frozen=True, slots=True, eq=False)
class ZoneMeans:
    """The means that zones stand on, over all iterations: released in repaired mode, secret in published mode."""

    mean: FloatArray  # (T, k, d) box units
    controller: FloatArray  # (T, k, d)
    lam: FloatArray  # (T, k)
    counts: FloatArray  # (T, k) records in each cluster
    released: bool

    @property
    def audience(self) -> Audience:
        """Who may see what is drawn from these means."""
        return Audience.RELEASED if self.released else Audience.CURATOR

    @property
    def role(self) -> Role:
        """Blue where released, gray where exact."""
        return Role.RELEASED if self.released else Role.EXACT


def zone_means(result: Result[ZonesRelease, Step]) -> ZoneMeans:
    """Return what the zones stand on, from the release where it holds it."""
    release, trace = result.release, result.trace
    means, counts = release.zone_means, release.noisy_counts_by_iteration
    if means is not None and counts is not None and release.controllers is not None and release.lam is not None:
        return ZoneMeans(means, release.controllers, release.lam, counts, released=True)
    exact = stack(trace, "nonprivate_counts")
    return ZoneMeans(stack(trace, "zone_mean"), stack(trace, "controller"), stack(trace, "lam"), exact, released=False)


def frames(params: Params, release: ZonesRelease, clock: Clock) -> tuple[Frame, ...]:
    """Name every stop of the scrubber, in public words."""
    details = DETAILS if params.mode == "repaired" else PUBLISHED_DETAILS
    start = "k of the records." if params.start == "records" else "Spread over the box without looking at any record."
    start = start if release.start_packing is None else SEEDS
    stops = [Frame("Start", start)]
    stops += [
        Frame(f"Iteration {t + 1} of {clock.n_steps}: {phase}", details[phase])
        for t in range(clock.n_steps)
        for phase in PHASES
    ]
    return (*stops, Frame("Release", RELEASE_DETAILS[params.mode]))
