"""The parameters of convergent k-means, all public."""

from dataclasses import dataclass
from typing import SupportsIndex

from dpviz.core import Centers, check_params, knob, quoted


@dataclass(frozen=True, slots=True, eq=False)
class Params:
    """Parameters, all public."""

    n_clusters: int = knob(5, "Clusters k", "How many centers to find.", low=1, high=64, minimum=1, maximum=10_000)
    mode: str = knob(
        "repaired",
        "Mode",
        "Repaired: the zones stand on noisy means and the guarantee is proved. Published: as in the paper.",
        choices=(("repaired", "Repaired"), ("published", "As published")),
    )
    orientation: str = knob(
        "past",
        "Orientation",
        "Where the zone points: along the last move (past), or towards Lloyd's next mean (future).",
        choices=(("past", "Past"), ("future", "Future")),
    )
    epsilon: float = knob(
        1.0,
        "Privacy budget ε",
        "How much one record may change what is released; repaired mode spends no more. Smaller is more private.",
        low=0.05,
        high=20.0,
        minimum=1e-9,
        log=True,
    )
    epsilon_per_iteration: float = knob(
        0.5,
        "ε per step",
        "Published mode spends this in every step. In repaired mode it is only the temperature inside a zone.",
        low=0.01,
        high=100.0,
        minimum=0.0,
        log=True,
    )
    epsilon_counts: float = knob(
        0.5, "ε₀ of the final counts", "Published mode's last step.", low=0.01, high=100.0, minimum=1e-9, log=True
    )
    start: str = knob(
        "packing",
        "Start",
        "Sphere packing looks at no record. The paper starts from k records, which switches every guarantee off. "
        "Private seeds spend a third of ε on noisy histograms, in repaired mode.",
        choices=(
            ("packing", "Sphere packing (public)"),
            ("private", "Private seeds (a third of ε)"),
            ("records", "k records (as in the paper)"),
        ),
    )
    initial_centers: Centers | None = None  # (k, d) data units, overrides `start`; never exported
    max_iterations: int = knob(
        30, "Most iterations", "Published mode stops here if not converged.", low=1, high=100, minimum=1, maximum=10_000
    )
    n_iterations: int | None = None  # repaired mode's T; None: Su et al.'s rule from a noisy number of records
    tolerance: float = 0.0  # box units; published mode also stops when no center moved farther
    start_seed: int | None = None  # public seed of the start; None: drawn from `rng`

    def __post_init__(self) -> None:
        """Raise KnobError or ValueError for a value that is not allowed."""
        check_params(self)
        _check_whole("n_iterations", self.n_iterations, least=1)
        _check_whole("start_seed", self.start_seed, least=0)
        if not self.tolerance >= 0:
            raise ValueError(f"tolerance was {self.tolerance}, but it must be >= 0. Use 0 to wait for equal labels.")
        if self.mode == "repaired" and self.orientation == "future":
            raise ValueError(
                "orientation was 'future' in repaired mode, but looking ahead needs another pass over the records that "
                "repaired mode does not pay for. Use orientation='past', or mode='published'."
            )


def _check_whole(name: str, value: int | None, *, least: int) -> None:
    whole = isinstance(value, SupportsIndex) and not isinstance(value, bool)
    if value is not None and not (whole and value >= least):
        raise ValueError(f"{name} was {quoted(value)}, but it must be a whole number >= {least}, or None.")
