"""The parameters of source-target clustering, all public."""

import math
from dataclasses import dataclass

import numpy as np

from dpviz.core import Ball, Points, as_points, check_params, frozen, knob, quoted


@dataclass(frozen=True, slots=True, eq=False)
class Params:
    """Parameters, all public. Give exactly one of `epsilon` and `rho`; infinity is no noise.

    Raises KnobError or ValueError for a value that is not allowed, and for an empty set of targets.
    """

    targets: Points  # (n, d) T, data units, n >= 1
    n_centers: int = knob(
        10, "Centers k", "How many targets to choose as new centers.", low=1, high=40, minimum=1, maximum=100_000
    )
    epsilon: float | None = None  # > 0
    delta: float | None = None  # in (0, 1); needed by Gaussian noise with epsilon; with rho: where it is converted
    rho: float | None = None  # > 0, zCDP
    method: str = knob(
        "nna",
        "Method",
        "NNA: mean of the records nearest to each target. NAS: mean of each target's t nearest records.",
        choices=(("nna", "NNA: cells"), ("nas", "NAS: neighbors")),
    )
    noise: str = knob(
        "laplace",
        "Noise",
        "Laplace gives pure ε; Gaussian needs δ or ρ.",
        choices=(("laplace", "Laplace"), ("gaussian", "Gaussian")),
    )
    calibration: str = knob(
        "published",
        "Calibration",
        "As published: the paper's formula. Tight: the least that this release needs.",
        choices=(("published", "As published"), ("tight", "Tight")),
    )
    threshold: str = knob(
        "published",
        "Threshold",
        "From which noisy count NNA releases a cell's mean. The lemma's is higher and refuses more empty cells.",
        choices=(("published", "As published"), ("lemma", "From the lemma")),
    )
    gamma: float = knob(
        0.05,
        "γ",
        "How often an empty cell may pass NNA's threshold, or noise may pass NAS's bound.",
        low=0.001,
        high=0.5,
        minimum=1e-12,
        maximum=0.999,
        log=True,
    )
    t: int = knob(150, "Neighbors t", "How many records NAS averages.", low=1, high=600, minimum=1, maximum=10**9)
    coreset_radius: float = knob(
        0.05,
        "Coreset radius C",
        "Targets this near share one average, in diameters of the ball; 0: each target has its own.",
        low=0.0,
        high=0.3,
        minimum=0.0,
        maximum=1.0,
    )
    solver: str = knob(
        "fasterpam",
        "Selection",
        "How the centers are chosen beside the released points.",
        choices=(("fasterpam", "FasterPAM"), ("akm", "AkM (as published)"), ("greedy", "Greedy")),
    )
    ball: Ball | None = None  # None: the smallest ball that holds the box

    def __post_init__(self) -> None:
        """Keep a read-only copy of the targets and check every value."""
        targets = np.array(as_points(self.targets, name="targets"), order="C")
        if len(targets) == 0:
            raise ValueError("targets had no rows, but there must be at least one point to cover. Load a target set.")
        object.__setattr__(self, "targets", frozen(targets))
        check_params(self)
        if (self.epsilon is None) == (self.rho is None):
            raise ValueError(f"epsilon was {self.epsilon} and rho {self.rho}, but exactly one of them must be given.")
        for name, value in (("epsilon", self.epsilon), ("rho", self.rho)):
            if value is not None and not value > 0:
                raise ValueError(f"{name} was {quoted(value)}, but it must be > 0. Use math.inf for no noise.")
        if self.delta is not None and not 0 < self.delta < 1:
            raise ValueError(f"delta was {self.delta}, but it must be in (0, 1). Use None with Laplace noise.")
        if self.noise == "gaussian" and self.delta is None and self.epsilon is not None and math.isfinite(self.epsilon):
            raise ValueError("delta was None, but Gaussian noise with epsilon needs one. Give delta, rho, or Laplace.")
