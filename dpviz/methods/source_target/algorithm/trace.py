"""What a run of source-target clustering leaves behind: what is published, and its two steps for the curator."""

from dataclasses import dataclass

from dpviz.core import Ball, Centers, CentersRelease, Counts, Event, FloatArray, Labels, Points, Step
from dpviz.methods.source_target.algorithm.coreset_cells import Coreset


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SourceTargetRelease(CentersRelease):
    """S' and the targets chosen beside it.

    `centers` (m', d) are S', in data units; NAS's may lie outside ball and box. `noisy_counts` (m',) of NNA's cells,
    None for NAS.
    """

    selected: Labels  # (k,) T_k: ascending indices into the targets
    origins: Labels  # (m',) the target whose neighbors or cell a released point stands for
    scale: float  # Laplace's b or Gaussian's sigma, in diameters of the ball (NNA: also in records)
    threshold: float | None  # NNA: the noisy count from which an average is released


@dataclass(frozen=True, slots=True, eq=False)
class SourceTargetStep(Step):
    """One of the two steps. Curator only."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SanitiseStep(SourceTargetStep):
    """From S to S'. `released_*`, `origins` and what is public may be published; the rest is the curator's.

    r representatives of the targets; points are in data units, distances in diameters of the ball.
    """

    events: tuple[Event, ...]
    method: str  # "nas" or "nna"
    ball: Ball  # public
    core: Coreset  # public
    scale: float  # public
    threshold: float | None  # public; NNA only
    noise_bound: float | None  # Lambda, public; NAS only
    released_points: Centers  # (m', d) S'
    released_counts: Counts | None  # (m',) noisy; NNA only
    origins: Labels  # (m',) indices into the targets
    noisy_averages: Centers  # (r, d); NNA: NaN where the average was refused
    noisy_counts: Counts | None  # (r,) also of refused cells; NNA only
    nonprivate_source: Points  # (m, d) the records as used: inside box and ball; (0, d) where they come in chunks
    nonprivate_averages: Centers  # (r, d) exact; NNA: NaN where a cell is empty
    nonprivate_counts: Counts | None  # (r,) records of each cell; NNA only
    nonprivate_labels: Labels | None  # (m,) the representative whose cell a record is in; NNA in memory only
    nonprivate_neighbors: Labels | None  # (r, min(t, m)) the records averaged; NAS only
    nonprivate_distances: FloatArray | None  # (r,) Delta_t(x, S); NAS only
    nonprivate_delta_t: float | None  # Delta_t(S), mean over all targets; NaN where m < t; NAS only
    nonprivate_bound: float | None  # Delta_t + Lambda + C, on Diff(S, S') with probability 1 - gamma; NAS only

    @property
    def n_averages(self) -> int:
        """Number of representatives r, public."""
        return len(self.core.representatives)


@dataclass(frozen=True, slots=True, eq=False)
class SelectStep(SourceTargetStep):
    """From S' to T_k."""

    selected: Labels  # (k,) ascending indices into the targets
