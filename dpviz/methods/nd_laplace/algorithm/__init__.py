"""nD-Laplace: owners move their records before anyone sees them, and clustering follows.

Sources: van der Ende, "nD-Laplace", thesis draft, Open University; Andres et al. 2013, "Geo-indistinguishability".

Notation, paper -> code: x_0 -> a row of `points`, z -> a row of `release.points`, r -> `radius`, theta -> `direction`,
p -> `Step.p`, T -> domain="redraw", l / r -> `epsilon_of_level`.

There is no curator: only person i knows the part of a `Step` about record i. Adjacency is REPLACE, one record moves by
a distance; the number of records is public. Records are first clipped into the public box. Clipping moves no two
records further apart, so every bound in terms of their distance still holds.
- none: z = x + r u, epsilon-geo-indistinguishable.
- clamp: z is moved to the nearest place in the box: post-processing.
- redraw: drawn until z is inside. The density is divided by P(inside | x), whose logarithm is epsilon-Lipschitz too, so
  2 epsilon in general; the thesis claims epsilon.
- remap: z is rounded to a public grid and moved to a public place: post-processing.
"""

import math
from collections.abc import Iterator

import numpy as np

from dpviz.accounting import PureEvent, Purpose
from dpviz.core import (
    Adjacency,
    Box,
    Claim,
    FloatArray,
    Guarantee,
    IntArray,
    Points,
    PointsRelease,
    Result,
    as_points,
    ceiled,
    check_params,
    collect,
    immutable,
    knob,
    parameter,
)
from dpviz.core import Step as CoreStep
from dpviz.mechanisms import (
    POINTS_CAVEAT,
    GridCells,
    ReleaseLaw,
    default_grid,
    nd_laplace_noise,
    nearest_places,
    radius_probability,
    redraw_in_box,
    redraw_loss,
    release_law,
    remap_cells,
    remap_table,
)

TITLE = "nD-Laplace"
PAPER = "van der Ende, nD-Laplace (thesis draft)"
ANDRES = "Andrés et al. 2013, Geo-indistinguishability"
TRIANGLE = f"density exp(-ε |z - x|) and the triangle inequality, in any d; in the plane {ANDRES}"
# Our choice: rejected draws per record that a trace keeps for the picture.
SHOWN_REJECTED = 16
LOCAL_CAVEAT = (
    "Each person adds noise before sending: no one else needs to be trusted. This hides where a record is, up to "
    "distances of about 1/ε, but not that someone took part."
)
POST_CAVEATS = {
    "clamp": "Moving a point outside to the box's wall uses public bounds only: post-processing, which keeps ε.",
    "remap": "Grid, prior and rule are public, so moving a point to its place on the grid keeps ε.",
}


@immutable
class Params:
    """Parameters, all public."""

    epsilon: float = knob(
        1.0,
        "ε per unit of distance",
        "Two places d apart can be told apart by a factor of at most e^(ε d). ε means nothing without its unit.",
        low=0.01,
        high=20.0,
        minimum=1e-12,
        log=True,
    )
    domain: str = knob(
        "none",
        "Points outside the box",
        "What happens to a point that the noise moves out of the public box.",
        choices=(
            ("none", "Leave them"),
            ("clamp", "Clamp to the wall"),
            ("redraw", "Draw again"),
            ("remap", "Remap to a grid"),
        ),
    )
    remap: str = knob(
        "mean",
        "Remap to",
        "Under the posterior: its mean is best for squared error, its median for distance. Nearest: the grid place.",
        choices=(("mean", "Posterior mean"), ("median", "Posterior median"), ("nearest", "Nearest place")),
    )
    unit: str = knob(
        "data",
        "Distance is measured in",
        "Features of different units need a common one: divide each by its public range.",
        choices=(("data", "The data's unit"), ("range", "Shares of each feature's public range")),
    )
    grid: Points | None = parameter(
        None, 'Public places (m, d) in data units for `domain="remap"`. None: a grid over the box.'
    )
    prior: FloatArray | None = parameter(
        None, "Public weights (m,) of these places, how likely a record is there. None: all equal."
    )

    def __post_init__(self) -> None:
        """Raise KnobError for a value that is not allowed; grid and prior are checked against the box by `fit`."""
        check_params(self)


@immutable
class Step(CoreStep):
    """The one step, with each person's move. Only person i knows row i."""

    # (n, d) records clipped to the box, data units.
    nonprivate_points: Points
    # (n,) length of the displacement, in the unit of distance of epsilon.
    radius: FloatArray
    # (n, d) unit vectors in the same unit.
    direction: FloatArray
    # (n, d) z before the domain is applied, data units. With redrawing, the last draw.
    before_domain: Points
    # (n,) draws outside the box, with redrawing.
    n_rejected: IntArray
    # (m,) record of each rejected draw.
    rejected_records: IntArray
    # (m, d) first SHOWN_REJECTED rejected draws of each record, data units.
    rejected_points: Points
    # (n, d) released points, data units.
    points: Points
    epsilon: float
    events: tuple[PureEvent, ...]

    @property
    def p(self) -> FloatArray:
        """The probability (n,) of a radius at most this one: C_epsilon(r) of thesis, equation 3.3."""
        if math.isinf(self.epsilon):
            return np.zeros(len(self.radius))
        return radius_probability(self.radius, self.direction.shape[1], epsilon=self.epsilon)

    def rejected_of(self, record: int) -> Points:
        """Return the rejected draws (m, d) of one record, in their order (thesis, figure 5.1)."""
        return np.asarray(self.rejected_points[self.rejected_records == record])


def fit(points: Points, box: Box, params: Params, *, rng: np.random.Generator) -> Result[PointsRelease, Step]:
    """Move every record: collect `steps`, and release.

    Parameters
    ----------
    points
        Records (n, d), clipped into the box. Private.
    box
        Public box.
    params
        Parameters. Public.
    rng
        Generator of the noise.

    Returns
    -------
    Result
        Release and guarantee, which are public, and the trace, which only the owners know.

    Raises
    ------
    ValueError
        If points are bad, a grid or prior does not fit, or redraw would take too long.
    """
    trace = collect(fit, steps, points, box, params, Params, rng)
    return Result.from_trace(PointsRelease(trace[0].points), trace, guarantee_of(box, params))


def steps(points: Points, box: Box, params: Params, *, rng: np.random.Generator) -> Iterator[Step]:
    """Yield the only step.

    Parameters
    ----------
    points
        Records (n, d). Private.
    box
        Public box.
    params
        Parameters. Public.
    rng
        Generator of the noise.

    Yields
    ------
    Step
        The step, which only the owners know.
    """
    exact = box.clip(as_points(points, n_features=box.d))
    inner = noise_box(box, params)
    to_unit = params.unit == "range"
    start = box.to_unit(exact) if to_unit else exact
    n_rejected = np.zeros(len(exact), dtype=np.intp)
    rejected_records, rejected_points = np.zeros(0, dtype=np.intp), np.zeros((0, box.d))
    if params.domain == "redraw":
        draws = redraw_in_box(start, inner, epsilon=params.epsilon, keep=SHOWN_REJECTED, rng=rng)
        shifted, noise = draws.points, draws.noise
        n_rejected, rejected_records, rejected_points = draws.n_rejected, draws.rejected_records, draws.rejected_points
    else:
        noise = nd_laplace_noise(len(start), box.d, epsilon=params.epsilon, rng=rng)
        shifted = start + noise.displacement
    before = box.from_unit(shifted) if to_unit else shifted
    yield Step(
        nonprivate_points=exact,
        radius=noise.radius,
        direction=noise.direction,
        before_domain=before,
        n_rejected=n_rejected,
        rejected_records=rejected_records,
        rejected_points=box.from_unit(rejected_points) if to_unit else rejected_points,
        points=domain_applied(before, shifted, box, params),
        epsilon=params.epsilon,
        events=(local_event(box, params),),
    )


def noise_box(box: Box, params: Params) -> Box:
    """Return `box` in the unit that distances are measured in."""
    return Box.cube(0.0, 1.0, box.d) if params.unit == "range" else box


def local_event(box: Box, params: Params) -> PureEvent:
    """Return the cost to a record anywhere in the box: epsilon times the diagonal D of the box."""
    return PureEvent(
        "nD-Laplace", local_claim(box, params).epsilon, calibrated_for=Adjacency.REPLACE, purpose=Purpose.POINTS
    )


def local_claim(box: Box, params: Params) -> Claim:
    """Return the local DP claim for comparison with others: epsilon D, D the diagonal; 2 epsilon D with redraw."""
    factor = 2.0 if params.domain == "redraw" else 1.0
    epsilon = factor * params.epsilon * noise_box(box, params).diagonal
    return Claim(epsilon, 0.0, Adjacency.REPLACE, "ε per distance times the box's diagonal")


def guarantee_of(box: Box, params: Params) -> Guarantee:
    """Return the thesis's claim and the proved guarantee, both per unit of distance."""
    published = Claim(params.epsilon, 0.0, Adjacency.REPLACE, f"{PAPER}, equation 3.1", per_distance=True)
    redrawn = params.domain == "redraw"
    proved = Claim(
        params.epsilon * (2.0 if redrawn else 1.0),
        0.0,
        Adjacency.REPLACE,
        "density and P(inside | x) both ε-Lipschitz in x" if redrawn else TRIANGLE,
        per_distance=True,
    )
    local = local_claim(box, params).epsilon
    own = (redraw_caveat(box, params),) if redrawn else tuple(filter(None, [POST_CAVEATS.get(params.domain)]))
    diagonal = noise_box(box, params).diagonal
    # Four significant digits, without an exponent as long as the number is readable.
    length = f"{float(f'{diagonal:.4g}'):,.10g}"
    across = f"Across the whole box, whose diagonal is {length}, that is local differential privacy of "
    across += f"ε = {ceiled(local)}."
    return Guarantee(published, proved, (*own, across, LOCAL_CAVEAT, POINTS_CAVEAT))


def redraw_caveat(box: Box, params: Params) -> str:
    """Describe the cost of redrawing in this box."""
    factor = redraw_loss(noise_box(box, params), epsilon=params.epsilon)
    return (
        "The thesis claims ε for drawing again. It divides the density by the chance to land inside, which depends on "
        f"the record: 2 ε per distance is proved, and in a corner of this box {ceiled(factor)} ε is lost. Clamping "
        "keeps ε."
    )


def grid_of(box: Box, params: Params) -> Points:
    """Return the public places (m, d) that remap uses, data units. Raises ValueError for a grid of a wrong width."""
    if params.grid is None:
        return default_grid(box)
    return as_points(params.grid, n_features=box.d, name="grid")


def cells_of(box: Box, params: Params) -> GridCells:
    """Return the grid's cells and their outputs, in the unit of the noise, for `release_law`."""
    places = grid_of(box, params)
    inner = box.to_unit(places) if params.unit == "range" else places
    return remap_cells(inner, remap_table(inner, epsilon=params.epsilon, prior=params.prior, rule=params.remap))


def law(candidates: Points, box: Box, params: Params) -> ReleaseLaw:
    """Return the likelihood of a release for possible places, in the unit of the noise. Public.

    Parameters
    ----------
    candidates
        Possible places (m, d). With unit="range", pass them and z in the box's own coordinates (`box.to_unit`).
    box
        Public box.
    params
        Parameters. Public.

    Returns
    -------
    ReleaseLaw
        The likelihoods.
    """
    cells = cells_of(box, params) if params.domain == "remap" else None
    return release_law(
        candidates, epsilon=params.epsilon, domain=params.domain, box=noise_box(box, params), cells=cells
    )


def domain_applied(before: Points, shifted: Points, box: Box, params: Params) -> Points:
    """Return the release (n, d): `before` in data units, `shifted` the same points in the unit of the noise."""
    if params.domain == "remap":
        places = grid_of(box, params)
        inner = box.to_unit(places) if params.unit == "range" else places
        outputs = remap_table(inner, epsilon=params.epsilon, prior=params.prior, rule=params.remap)
        chosen = outputs[nearest_places(shifted, inner)]
        return box.from_unit(chosen) if params.unit == "range" else chosen
    # Redrawn points are inside in the unit of the noise; clipping only takes back the rounding of from_unit.
    return before.copy() if params.domain == "none" else box.clip(before)
