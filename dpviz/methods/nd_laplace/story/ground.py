"""What a game is played on: an invented map, or a part of the uploaded one, in its own coordinates.

A record's owner is the only one who may see a game about it: each round is one more release of that record.
"""

from dataclasses import dataclass

import numpy as np

from dpviz.core import FEWEST_STEPS, Box, Confidential, FloatArray, frozen
from dpviz.methods.nd_laplace.story.told import Measure, PointsContext
from dpviz.plots import Audience, Axis
from dpviz.stories.view import View

SIDE = 8.0  # of the map, radii
ACROSS, UP = "across", "up"


@dataclass(frozen=True, slots=True, eq=False)
class Ground(Confidential):
    """A square of a plane, in the unit of the noise; `here` is the record's place on it, None where it is invented."""

    box: Box  # two axes, equally long
    axes: tuple[Axis, Axis]  # scene coordinates 0 and 1 are the square's ends
    here: FloatArray | None = None  # (2,) nonprivate: known to its owner alone
    place: tuple[float, float] | None = None  # of a map on Earth: latitude and longitude of its middle

    @property
    def side(self) -> float:
        """Length of the side."""
        return float(self.box.widths[0])

    @property
    def audience(self) -> Audience:
        """Who may see a game here."""
        return Audience.PUBLIC if self.here is None else Audience.CURATOR

    def drawn(self, places: FloatArray) -> FloatArray:
        """Return places (m, 2) or (2,) in scene coordinates (1, m, 2)."""
        return np.asarray((np.atleast_2d(places) - self.box.low) / self.side)[None]


def invented(measure: Measure) -> Ground:
    """Return a map of SIDE radii that is nobody's."""
    side = SIDE * measure.radius
    unit, times = ("% of the range", 100.0) if measure.shares else (measure.unit, 1.0)
    axes = [Axis(name, unit, (-0.15, 1.15), (0.0, times * side)) for name in (ACROSS, UP)]
    return Ground(Box.cube(0.0, side, 2), (axes[0], axes[1]))


def playable(told: PointsContext, view: View) -> bool:
    """Say whether the records have two features side by side in the picture to play on."""
    return told.n > 0 and told.words.box.d > 1 and not view.principal and view.x != view.y


def around(told: PointsContext, view: View, record: int, *, centered: bool = False) -> Ground:
    """Return the part of the public box that the place of `record` is in, by its two features that the picture shows.

    The box is cut into squares of SIDE radii, so that the square says no more of the place than that it is there;
    `centered` has the place in the middle instead, for a game in which it is no secret.
    """
    features, side = [view.x, view.y], SIDE * told.measure.radius
    scales = told.scales[features]  # box units of one unit of noise
    place, whole = told.unit[record, features] / scales, 1.0 / scales
    side = max(side, 2.0 * FEWEST_STEPS * float(np.spacing(whole.max())))  # as a box needs
    low = place - side / 2.0
    if not centered:
        side = min(side, float(whole.max()))
        low = np.minimum(np.floor(place / side) * side, np.maximum(whole - side, 0.0))
    words = told.words
    start, widths = words.box.low[features], words.box.widths[features]
    ends = [start + corner * scales * widths for corner in (low, low + side)]
    axes = [
        Axis(words.feature_names[feature], words.units[feature], (-0.15, 1.15), (float(ends[0][i]), float(ends[1][i])))
        for i, feature in enumerate(features)
    ]
    on_earth = words.place is not None and tuple(features) == words.place.axes
    middle = (words.place.latitude, words.place.longitude) if words.place is not None and on_earth else None
    return Ground(Box(low, low + side), (axes[0], axes[1]), frozen(place.copy()), middle)
