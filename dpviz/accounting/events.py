"""Facts about noise that was added: events, which the rest of `dpviz.accounting` adds up.

Sensitivities and epsilons belong to one adjacency. By convention it is ADD_REMOVE; a leaf event whose sensitivity was
derived for REPLACE has `calibrated_for=Adjacency.REPLACE`. A sensitivity for ADD_REMOVE counts at most double under
REPLACE (one record out, one in: the triangle inequality). Nothing follows in the other direction.

Scales and the number of steps must be public. They may follow from earlier releases only if the total, of pure epsilon
or of rho, is fixed beforehand (Rogers et al. 2016; Feldman & Zrnic 2021): the actual spend of a run is not a guarantee.
Privacy loss distributions need scales that do not follow from any private data.
"""

import math
from enum import Enum
from typing import TypeAlias

from dpviz.core import Adjacency, Event, immutable_value


class Purpose(Enum):
    """Purpose of noise or of a choice, in words for a reader."""

    SIZE = "Number of records"
    START = "Start"
    COUNTS = "Counts"
    GAPS = "Gaps"
    SUMS = "Sums"
    FINAL_COUNTS = "Final counts (claimed)"
    DRAWS = "Draws (claimed)"
    MARGINALS = "Marginals"
    CELLS = "Cells"
    BLOCKS = "Mean of the blocks"
    PICKS = "A pick"
    EXACT = "Exact means"
    INTERVAL = "Interval size"
    SPLITS = "Splits"
    AVERAGES = "Averages"
    MOMENTS = "Moments"
    SECOND_MOMENTS = "Second moments"
    SWAPS = "Swaps"
    POINTS = "Points"


@immutable_value
class LaplaceEvent(Event):
    """Laplace noise of one scale on the coordinates that one record can move, each by at most `sensitivity`.

    Coordinates that the record cannot reach do not count: a histogram under ADD_REMOVE has `n_coordinates=1`. Doubling
    its sensitivity also covers REPLACE, where two cells move by one each: two shifts of s are never easier to detect
    than one of 2 s.
    """

    # The noisy value, for a reader.
    label: str
    # Sensitivity per coordinate, unit of the value.
    sensitivity: float
    # b, same unit; 0 for no noise.
    scale: float
    # Number of coordinates that one record can move.
    n_coordinates: int = 1
    # Neighbors that the sensitivity is for.
    calibrated_for: Adjacency = Adjacency.ADD_REMOVE
    # Purpose of the noise. None if no page names it.
    purpose: Purpose | None = None
    # Iteration, round or level that pays for it; 0 before the first.
    step: int = 0

    def __post_init__(self) -> None:
        """Validate the fields."""
        _check_noise("sensitivity", self.sensitivity, "scale", self.scale)
        if self.n_coordinates < 1 or self.n_coordinates != int(self.n_coordinates):
            raise ValueError(f"n_coordinates must be a whole number of at least 1, got {self.n_coordinates}.")

    @property
    def epsilon_per_coordinate(self) -> float:
        """Sensitivity / scale."""
        return _ratio(self.sensitivity, self.scale)

    @property
    def epsilon(self) -> float:
        """Pure epsilon of the step: n_coordinates sensitivity / scale."""
        # Multiply before the division, so that d (1/2) / (1/2 / e) is d e, at least nearly to the last bit.
        return _ratio(self.n_coordinates * self.sensitivity, self.scale)

    @property
    def rho(self) -> float:
        """ZCDP of the step: each coordinate is epsilon^2/2 (Bun & Steinke 2016, proposition 1.4)."""
        return self.n_coordinates * self.epsilon_per_coordinate**2 / 2


@immutable_value
class GaussianEvent(Event):
    """Gaussian noise of one sigma on a vector that one record moves by at most `l2_sensitivity`."""

    # The noisy value, for a reader.
    label: str
    # L2 sensitivity, unit of the value.
    l2_sensitivity: float
    # Same unit; 0 for no noise.
    sigma: float
    # Neighbors that the sensitivity is for.
    calibrated_for: Adjacency = Adjacency.ADD_REMOVE
    # Purpose of the noise. None if no page names it.
    purpose: Purpose | None = None
    # Iteration, round or level that pays for it; 0 before the first.
    step: int = 0

    def __post_init__(self) -> None:
        """Validate the fields."""
        _check_noise("l2_sensitivity", self.l2_sensitivity, "sigma", self.sigma)

    @property
    def mu(self) -> float:
        """Mu of Gaussian DP: l2_sensitivity / sigma."""
        return _ratio(self.l2_sensitivity, self.sigma)

    @property
    def epsilon(self) -> float:
        """Pure epsilon: infinite, unless the record moves nothing."""
        return math.inf if self.mu > 0 else 0.0

    @property
    def rho(self) -> float:
        """ZCDP of the step: mu^2/2 (Bun & Steinke 2016, proposition 1.6)."""
        return self.mu**2 / 2


@immutable_value
class PureEvent(Event):
    """A step known by its pure epsilon alone.

    `bounded_range=True` means that the log-ratio of any two neighbors spans at most epsilon from its smallest to its
    largest value, as for the exponential mechanism (Durfee & Rogers 2019). Then rho is epsilon^2/8.
    """

    # The choice or release, for a reader.
    label: str
    # At least 0, may be infinite.
    epsilon: float
    # Whether rho is epsilon^2/8.
    bounded_range: bool = False
    # Neighbors that epsilon is for.
    calibrated_for: Adjacency = Adjacency.ADD_REMOVE
    # Purpose of the step. None if no page names it.
    purpose: Purpose | None = None
    # Iteration, round or level that pays for it; 0 before the first.
    step: int = 0

    def __post_init__(self) -> None:
        """Validate the fields."""
        if not self.epsilon >= 0:
            raise ValueError(f"epsilon must be at least 0, got {self.epsilon}. Use math.inf for no privacy.")

    @property
    def rho(self) -> float:
        """ZCDP of the step: epsilon^2/8 for bounded range (Cesar & Rogers 2021), otherwise epsilon^2/2."""
        return self.epsilon**2 / (8 if self.bounded_range else 2)


@immutable_value
class SequenceEvent(Event):
    """Steps that all read the same records. A later step may use the releases of earlier ones."""

    # Description of the steps, for a reader.
    label: str
    # The steps, in order.
    events: tuple[Event, ...]

    def __post_init__(self) -> None:
        """Keep the steps as a tuple."""
        object.__setattr__(self, "events", tuple(self.events))


@immutable_value
class ParallelEvent(Event):
    """One step on each of several disjoint parts of the records.

    A record's part must follow from the record and public or already released values. `membership_only=True` means that
    a part's step only uses a record's membership (a count): a record that changes and stays in its part changes
    nothing. See `pure_epsilon` for the effect under REPLACE.
    """

    # Description of the parts, for a reader.
    label: str
    # One event for each part.
    parts: tuple[Event, ...]
    # Whether a step only uses a record's membership.
    membership_only: bool = False

    def __post_init__(self) -> None:
        """Keep the parts as a tuple."""
        object.__setattr__(self, "parts", tuple(self.parts))


def cell_event(
    label: str, epsilon: float, adjacency: Adjacency, *, purpose: Purpose, step: int = 0, grids: int = 1
) -> LaplaceEvent:
    """Return the noise on all cells of one grid, or of several together, that spends an epsilon.

    One record is in one cell of each grid; a changed record leaves that cell and enters a different one.

    Parameters
    ----------
    label
        Name of the noisy counts, for a reader.
    epsilon
        Budget of all grids together.
    adjacency
        Neighbors that the noise is calibrated for.
    purpose
        Purpose of the noise.
    step
        Iteration, round or level that pays for it; 0 before the first.
    grids
        Number of grids.

    Returns
    -------
    LaplaceEvent
        Noise of one scale on all cells.
    """
    # Number of cells that one record changes.
    n_cells = grids * (2 if adjacency is Adjacency.REPLACE else 1)
    return LaplaceEvent(
        label, 1.0, n_cells / epsilon, n_coordinates=n_cells, calibrated_for=adjacency, purpose=purpose, step=step
    )


Leaf: TypeAlias = LaplaceEvent | GaussianEvent | PureEvent


def group_size(leaf: Leaf, adjacency: Adjacency) -> int:
    """Return the factor, 1 or 2, by which one change under `adjacency` exceeds a leaf's own sensitivity.

    Raises ValueError for a leaf calibrated for REPLACE in an account under ADD_REMOVE.
    """
    if leaf.calibrated_for is adjacency:
        return 1
    if adjacency is Adjacency.REPLACE:
        return 2
    raise ValueError(
        f"{leaf.label!r} is calibrated for REPLACE, but the account is for ADD_REMOVE (as is also "
        "needed if a record moves between parallel parts). A bound on changed records says nothing "
        "about added records. State the sensitivity for ADD_REMOVE."
    )


def unknown(event: Event) -> TypeError:
    """Return the error for an event that no accountant here can handle."""
    return TypeError(
        "An event must be a LaplaceEvent, GaussianEvent, PureEvent, SequenceEvent or "
        f"ParallelEvent, got a {type(event).__name__}."
    )


def _ratio(sensitivity: float, scale: float) -> float:
    if sensitivity == 0:
        return 0.0
    return sensitivity / scale if scale > 0 else math.inf


def _check_noise(sensitivity_name: str, sensitivity: float, scale_name: str, scale: float) -> None:
    if not 0 <= sensitivity < math.inf:
        raise ValueError(
            f"{sensitivity_name} must be finite and at least 0, got {sensitivity}. Clip the records first."
        )
    if not 0 <= scale < math.inf:
        raise ValueError(f"{scale_name} must be finite and at least 0, got {scale}. Use 0 for no noise.")
