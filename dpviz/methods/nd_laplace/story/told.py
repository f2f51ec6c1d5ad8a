"""A run of nD-Laplace with what its picture needs: in which unit distance is measured, and what is drawn where.

Box units are what every picture works in. Noise lives in the unit that ε is per: the data's own, or shares of each
feature's public range, which are the box units themselves.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from dpviz import attacks
from dpviz.core import Box, Budget, FloatArray, Labels, Points, PointsRelease, algebra, frozen
from dpviz.mechanisms import PerturbationArea, perturbation_area
from dpviz.methods.nd_laplace.algorithm import Params, Step
from dpviz.stories.panel import number
from dpviz.stories.run import Run
from dpviz.stories.view import GOLDEN, Projection, View, project

LONGEST = 4.0  # longest side of a picture's box against its shortest, up to which a length is as long both ways; ours
MARGIN = 0.1  # of the box, left free around it: noise leads outside
TURNS = 97  # vertices of a ring
STRIP = 0.03  # half the height of a ring on a strip, where height has no meaning


@dataclass(frozen=True, slots=True)
class Measure:
    """The radius r that the level is for: two places at most r apart may be told apart by e^level at most."""

    radius: float  # in the unit of the noise
    unit: str  # "m"; "" where the features have none
    shares: bool = False  # the unit is each feature's public range

    def words(self, length: float) -> str:
        """Write a length with its unit."""
        if self.shares:
            return f"{number(100.0 * length)} % of the range"
        said = number(length)
        return f"{said} {self.unit or ('unit' if said == '1' else 'units')}"

    @property
    def said(self) -> str:
        """The radius with its unit."""
        return self.words(self.radius)


@dataclass(frozen=True, slots=True)
class PointsLook:
    """What only the page knows of the picture: the radius that ε is for, and whose perturbation area is drawn."""

    radius: float  # in the unit of the noise
    unit: str = ""
    shares: bool = False  # the unit is each feature's public range
    record: int = 0

    @property
    def measure(self) -> Measure:
        """The radius with its unit."""
        return Measure(self.radius, self.unit, self.shares)


@dataclass(frozen=True, eq=False)
class PointsContext(Run[Params, PointsRelease, Step]):
    """One run: the release is everybody's, the rest of row i is known to person i alone."""

    look: PointsLook = field(kw_only=True)

    @property
    def measure(self) -> Measure:
        """The radius that ε is for."""
        return self.look.measure

    @property
    def record(self) -> int:
        """Whose perturbation area is drawn."""
        return self.look.record

    @property
    def step(self) -> Step:
        """The one step."""
        return self.result.trace[0]

    @property
    def level(self) -> float:
        """What two places within the radius may differ by: epsilon times the radius."""
        return self.params.epsilon * self.measure.radius

    @property
    def proved_level(self) -> float | None:
        """The level that is proved, None where nothing is."""
        proved = self.result.guarantee.proved
        return None if proved is None else proved.epsilon * self.measure.radius

    @property
    def released(self) -> Points:
        """The released points (n, d), box units."""
        return self.words.box.to_unit(self.result.release.points)

    @property
    def n(self) -> int:
        """Number of records: public, every person sends a row."""
        return len(self.result.release.points)

    @property
    def area(self) -> PerturbationArea:
        """The law of the radius, in the unit of the noise."""
        return perturbation_area(self.words.box.d, epsilon=self.params.epsilon)

    @property
    def scales(self) -> FloatArray:
        """Box units of one unit of noise along each feature, (d,)."""
        return unit_scales(self.words.box, self.params)


def unit_scales(box: Box, params: Params) -> FloatArray:
    """Return how many box units one unit of noise is along each feature, (d,)."""
    return np.ones(box.d) if params.unit == "range" else 1.0 / box.widths


def measure_of(units: tuple[str, ...], params: Params, radius: float) -> Measure:
    """Return the radius in the unit that the parameters measure distances in."""
    if params.unit == "range":
        return Measure(radius, "", shares=True)
    return Measure(radius, units[0] if len(set(units)) == 1 else "")


def look_at(measure: Measure, record: int) -> PointsLook:
    """Return the look of a page that states ε for this radius."""
    return PointsLook(measure.radius, measure.unit, measure.shares, record)


def has_one_unit(box: Box, units: tuple[str, ...]) -> bool:
    """Say whether distances over all features make sense as they are: one unit, or ranges of about one size."""
    if len(set(units)) > 1:
        return False
    return bool(units and units[0]) or float(box.widths.max() / box.widths.min()) <= LONGEST


def plane_of(view: View, told: PointsContext) -> Projection:
    """Return the projection of `view`; a map whose lengths are the same both ways where the box allows it."""
    plane = project(view, told.words, told.unit)
    if plane.corners is None or plane.nonprivate:
        return plane
    widths, box = told.words.box.widths, told.words.box
    shown = [view.x] if box.d == 1 else [view.x, view.y]
    longest = float(widths[shown].max())
    ratio = np.ones(2)
    if told.params.unit == "data" and box.d > 1 and longest <= LONGEST * float(widths[shown].min()):
        ratio = widths[shown] / longest
    x, y = (
        replace(axis, view=(-MARGIN, float(side) + MARGIN), values=_reached(axis.values, float(side)))
        for axis, side in zip((plane.x, plane.y), ratio, strict=True)
    )
    return replace(plane, matrix=frozen(plane.matrix * ratio), x=x, y=y, corners=frozen(plane.corners * ratio))


def outlines(centers: FloatArray, radii: FloatArray, told: PointsContext, plane: Projection) -> FloatArray:
    """Return the outlines (m, p, 2) of balls of `radii` (m,), noise units, around places (m, 2) of the picture.

    The picture of a ball {x + r u} under a linear map M is the ellipse r (M M^T)^(1/2) (cos, sin).
    """
    matrix = plane.matrix * told.scales[:, None]  # (d, 2) from noise units to the picture
    values, vectors = algebra.eigen(algebra.product(matrix.T, matrix))
    root = vectors * np.sqrt(np.maximum(values, 0.0)) @ vectors.T
    angles = np.linspace(0.0, 2.0 * np.pi, TURNS)
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    rings = radii[:, None, None] * (circle @ root)
    if plane.d == 1:
        rings[..., 1] = STRIP * circle[:, 1]
    return np.asarray(centers[:, None, :] + rings)


def placed(unit: Points, plane: Projection, rows: Labels | None = None) -> FloatArray:
    """Return where to draw points (n, d), (n, 2); on a strip each keeps the height of its record, one of `rows`."""
    drawn = plane(unit)
    if plane.d == 1:
        records = np.arange(len(unit)) if rows is None else rows
        drawn[:, 1] = np.modf(GOLDEN * (records + 1.0))[0]  # as `spread` has it
    return drawn


def _reached(values: tuple[float, float], side: float) -> tuple[float, float]:
    """Return the data values of 0 and 1 where the box's upper wall is at `side`."""
    low, high = values
    return low, low + (high - low) / side


def budget_of(params: Params, pair: FloatArray) -> Budget:
    """Return what is proved for replacing pair[0] by pair[1] (2, d), noise units: twice as much under redraw."""
    return attacks.replacement_budget((2.0 if params.domain == "redraw" else 1.0) * params.epsilon, pair[:1], pair[1:])
