"""The map projection of latitude and longitude to meters around the middle of a public box; detection of such columns.

Lambert's azimuthal equal-area projection of the WGS 84 ellipsoid in its closed form (Snyder, Map Projections: A Working
Manual, USGS 1987, equations 3-11 to 3-18 and 24-17 to 24-26). Areas are exact. Lengths are true at the middle. At an
angle c from it, lengths across the direction to the middle are longer by 1/cos(c/2), and lengths along it shorter by
cos(c/2): 0.001 % within a city, 0.1 % at 500 km, 3 % at 3,000 km, the maximum reach of a box.
"""

import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dpviz.core import Box, FloatArray, functions, immutable_value
from dpviz.data.files import TableError
from dpviz.data.transforms import rounded_outward

# Semi-major axis of WGS 84, m.
MAJOR = 6_378_137.0
# Squared eccentricity of WGS 84.
E2 = 0.006_694_379_990_141_316
E = E2**0.5
# Maximum distance from the middle to the farthest corner of a box, m.
REACH = 3_000_000.0
# Points on each side of a box whose distance is measured.
ALONG = 181
# Window to which a background is cut, as a multiple of the map's square. Our choice.
WINDOW = 1.1
# Parts of a background's line that is as long as the window. Our choice.
BENDS = 16
# Share of half the square within which places of a background are merged. Our choice.
FINEST = 1.0 / 1000.0
# Maximum number of places of a background, because it travels with every picture. Our choice.
MOST_DRAWN = 6_000
EAST, NORTH, METER = "east", "north", "m"
MOST_LATITUDE, TURN = 90.0, 360.0  # degrees
# Share of a column's values that may lie outside the range of degrees.
MOST_ODD = 0.01

_LATITUDE = re.compile(r"(?:^|(?<=[^a-z]))(latitude|lat|breitengrad|breite)(?=$|[^a-z])")
_SHORT, _FULL = ("lon", "long", "lng"), ("longitude",)
_GERMAN_SHORT, _GERMAN_FULL = ("länge", "laenge"), ("längengrad", "laengengrad")
# Words for longitude for each word for latitude, the most similar first.
_LONGITUDE = {
    "lat": (*_SHORT, *_FULL),
    "latitude": (*_FULL, *_SHORT),
    "breite": (*_GERMAN_SHORT, *_GERMAN_FULL),
    "breitengrad": (*_GERMAN_FULL, *_GERMAN_SHORT),
}
# Words with no other meaning. "Breite" and "Länge" are also width and length.
LATITUDES = {"lat", "latitude", "breitengrad"}
LONGITUDES = {"lon", "lng", *_FULL, *_GERMAN_FULL}
_WEAK = (("y", "x"), ("north", "east"), ("northing", "easting"))


def _q(latitude: FloatArray) -> FloatArray:
    """Return Snyder's q (3-12) of latitudes in radians; q / q(90°) is the sine of the authalic latitude."""
    sine = functions.sin(latitude)
    return np.asarray(
        (1.0 - E2) * (sine / (1.0 - E2 * sine * sine) - functions.log((1.0 - E * sine) / (1.0 + E * sine)) / (2.0 * E))
    )


# `_q` at 90°, written down so that an import runs no machine code.
_POLE = 1.9955310875028376
# Radius of the sphere of the same area, m.
_AUTHALIC = MAJOR * (_POLE / 2.0) ** 0.5


@immutable_value
class LocalMap:
    """The plane around a public middle, degrees; `axes` are the features that point east and north."""

    latitude: float
    longitude: float
    axes: tuple[int, int] = (0, 1)

    def to_meters(self, degrees: FloatArray) -> FloatArray:
        """Return (n, 2) meters east and north of the middle of (n, 2) latitudes and longitudes, each by itself."""
        turned = np.radians(self.wrapped(np.ascontiguousarray(degrees[:, 1])) - self.longitude)
        sine = np.clip(_q(np.radians(np.ascontiguousarray(degrees[:, 0]))) / _POLE, -1.0, 1.0)
        cosine = np.sqrt(1.0 - sine * sine)
        middle_sine, middle_cosine, stretch = self._middle()
        toward = cosine * functions.cos(turned)
        # 0 on the other side of the Earth.
        below = np.maximum(1.0 + middle_sine * sine + middle_cosine * toward, 1e-12)
        scale = _AUTHALIC * np.sqrt(2.0 / below)
        east = scale * stretch * cosine * functions.sin(turned)
        return np.column_stack([east, scale / stretch * (middle_cosine * sine - middle_sine * toward)])

    def to_degrees(self, meters: FloatArray) -> FloatArray:
        """Return the (n, 2) latitudes and longitudes of (n, 2) meters east and north of the middle."""
        middle_sine, middle_cosine, stretch = self._middle()
        x, y = meters[:, 0] / stretch, meters[:, 1] * stretch
        far = np.hypot(x, y)
        angle = 2.0 * functions.arcsin(np.minimum(far / (2.0 * _AUTHALIC), 1.0))
        share = np.divide(functions.sin(angle), far, out=np.full_like(far, 1.0 / _AUTHALIC), where=far > 0.0)
        sine = np.clip(functions.cos(angle) * middle_sine + y * share * middle_cosine, -1.0, 1.0)
        turned = functions.arctan2(x * share, middle_cosine * functions.cos(angle) - y * middle_sine * share)
        authalic = functions.arcsin(sine)
        latitude = (
            authalic
            + (E2 / 3.0 + 31.0 * E2**2 / 180.0 + 517.0 * E2**3 / 5040.0) * functions.sin(2.0 * authalic)
            + (23.0 * E2**2 / 360.0 + 251.0 * E2**3 / 3780.0) * functions.sin(4.0 * authalic)
            + 761.0 * E2**3 / 45360.0 * functions.sin(6.0 * authalic)
        )
        return np.column_stack([np.degrees(latitude), self.longitude + np.degrees(turned)])

    def wrapped(self, longitudes: FloatArray) -> FloatArray:
        """Return longitudes within half a turn of the middle: -179 becomes 181 if the middle is 180."""
        return longitudes - TURN * np.round((longitudes - self.longitude) / TURN)

    @property
    def words(self) -> str:
        """Position of the plane, as the continuation of a sentence."""
        return (
            f" East and north are meters from latitude {self.latitude:.5g}, longitude {self.longitude:.6g}; north is "
            "up and areas are true."
        )

    def _middle(self) -> tuple[float, float, float]:
        """Return sine and cosine of the middle's authalic latitude, and Snyder's D (24-20)."""
        latitude = np.radians(self.latitude)
        sine = float(_q(np.array(latitude))) / _POLE
        cosine = float(np.sqrt(1.0 - sine * sine))
        across = float(functions.cos(latitude) / np.sqrt(1.0 - E2 * functions.sin(latitude) ** 2))
        return sine, cosine, MAJOR * across / (_AUTHALIC * cosine)


def map_of(degrees: Box) -> tuple[LocalMap, Box]:
    """Return the plane around the middle of public bounds (latitude, longitude), and the square that contains them.

    It is a square, so that a length is equally long in all directions in every unit of the box. Raises TableError for
    bounds that are not degrees, or reach too far for a plane.
    """
    (south, west), (north, east) = degrees.low.tolist(), degrees.high.tolist()
    if south < -MOST_LATITUDE or north > MOST_LATITUDE or west < -TURN or east > TURN or east - west > TURN:
        raise TableError(
            "Latitudes must be from -90 to 90 degrees and longitudes from -180 to 180, but the map "
            f"runs from latitude {south:g} to {north:g} and from longitude {west:g} to {east:g}. "
            "Correct its bounds, or use the columns as plain numbers."
        )
    here = LocalMap(south / 2.0 + north / 2.0, west / 2.0 + east / 2.0)
    up, across = np.linspace(south, north, ALONG), np.linspace(west, east, ALONG)
    edges = [(up, np.full(ALONG, end)) for end in (west, east)] + [
        (np.full(ALONG, end), across) for end in (south, north)
    ]
    # The two ends of a whole turn are one place. Just inside it, each end is on its own side.
    outline = np.concatenate([here.to_meters(np.column_stack(edge)) for edge in edges])
    farthest = float(np.hypot(*outline.T).max())
    if farthest > REACH or east - west > TURN / 2.0:
        raise TableError(
            f"The map reached {farthest / 1000.0:,.0f} km from its middle, but a plane shows at most "
            f"{REACH / 1000.0:,.0f} km without wrong lengths. Type narrower bounds of latitude and longitude, or take "
            "the columns as plain numbers."
        )
    half = rounded_outward(-float(np.abs(outline).max()), float(np.abs(outline).max())).high
    return here, Box.cube(-half, half, 2)


def outline_on(place: LocalMap, half: float, degrees: FloatArray) -> FloatArray:
    """Return lines (p, 2), longitudes and latitudes with NaN between two, as (q, 2) meters east and north of a middle.

    Parts outside the window around the square of `half` its width, m, are cut off. Lines are straight in degrees, as in
    GeoJSON, so long lines bend. Places nearer than `FINEST` of the square are merged.
    """
    reach = WINDOW * half
    around = np.linspace(-reach, reach, ALONG)
    edge = np.full(ALONG, reach)
    sides = [np.column_stack(each) for each in ((around, edge), (around, -edge), (edge, around), (-edge, around))]
    rim = place.to_degrees(np.concatenate(sides))
    low, high = rim.min(axis=0)[::-1], rim.max(axis=0)[::-1]  # longitude, latitude
    for pole, end in ((-MOST_LATITUDE, low), (MOST_LATITUDE, high)):
        if np.abs(place.to_meters(np.array([[pole, place.longitude]]))).max() <= reach:
            low[0], high[0], end[1] = place.longitude - TURN / 2.0, place.longitude + TURN / 2.0, pole
    lines = np.column_stack([place.wrapped(degrees[:, 0]), degrees[:, 1]])
    start, way = lines[:-1], np.diff(lines, axis=0)
    # A line that leaves on one side of the Earth returns on the other side. That part is not drawn.
    fits = np.isfinite(way).all(axis=1) & (np.abs(way[:, 0]) <= TURN / 2.0)
    # Liang & Barsky 1984.
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.stack([(low - start) / way, (high - start) / way])
    still = way == 0.0
    outside = (still & ((start < low) | (start > high))).any(axis=1)
    enter = np.where(still, 0.0, ends.min(axis=0)).max(axis=1).clip(0.0)
    leave = np.where(still, 1.0, ends.max(axis=0)).min(axis=1).clip(max=1.0)
    kept = np.flatnonzero(fits & ~outside & (enter < leave))
    if not len(kept):
        return np.empty((0, 2))
    parts = np.ceil(np.abs(way[kept] * (leave - enter)[kept, None] / (high - low)).max(axis=1) * BENDS).astype(np.intp)
    parts = np.maximum(parts, 1)
    row = np.repeat(np.arange(len(kept)), parts + 1)
    step = np.arange(len(row)) - np.repeat(np.cumsum(parts + 1) - (parts + 1), parts + 1)
    share = enter[kept][row] + (leave - enter)[kept][row] * step / parts[row]
    places = start[kept][row] + share[:, None] * way[kept][row]
    meters = place.to_meters(places[:, ::-1])
    # Whether a part begins at the end of the part before it.
    goes_on = np.zeros(len(row), dtype=np.bool_)
    first = step == 0
    follows = np.zeros(len(kept), dtype=np.bool_)
    follows[1:] = (np.diff(kept) == 1) & (leave[kept][:-1] == 1.0) & (enter[kept][1:] == 0.0)
    goes_on[first] = follows[row[first]]
    return _thinned(meters, first & ~goes_on, first & goes_on, FINEST * half)


def _thinned(meters: FloatArray, begins: NDArray[np.bool_], again: NDArray[np.bool_], finest: float) -> FloatArray:
    """Return lines with NaN between them, of at most `MOST_DRAWN` rows: coarser steps leave out more.

    `begins` (q,) marks places that begin a line, `again` (q,) places that repeat the place before them.
    """
    meters, begins = meters[~again], begins[~again]
    line = np.cumsum(begins) - 1
    ends = np.append(begins[1:], True)
    while True:
        cell = np.round(meters / finest)
        moved = begins.copy()
        moved[1:] |= (cell[1:] != cell[:-1]).any(axis=1)
        # A line within one step is a dot.
        seen = (np.bincount(line, moved) > 1.0)[line]
        keep = (moved | ends) & seen
        if keep.sum() + (begins & seen).sum() <= MOST_DRAWN:
            break
        finest *= 2.0
    kept, starts = meters[keep], np.flatnonzero(begins[keep])
    return np.insert(kept, starts[1:], np.nan, axis=0)


def filled(values: FloatArray, box: Box, axes: tuple[int, int] | None) -> FloatArray:
    """Move missing values (n, d) to the middle of `box`, and longitudes to the middle's side of the Earth."""
    filled = np.where(np.isnan(values), box.low / 2 + box.high / 2, values)
    if axes is not None:
        middle = (box.low[list(axes)] + box.high[list(axes)]) / 2.0
        filled[:, axes[1]] = LocalMap(*middle.tolist()).wrapped(filled[:, axes[1]])
    return filled


def on_plane(points: FloatArray, box: Box, axes: tuple[int, int]) -> tuple[FloatArray, Box, LocalMap]:
    """Turn the features `axes`, latitude and longitude, of points (n, d) in `box` into meters, east before north."""
    columns, (first, second) = list(axes), sorted(axes)
    here, square = map_of(Box(box.low[columns], box.high[columns]))
    projected, low, high = points.copy(), box.low.copy(), box.high.copy()
    projected[:, [first, second]] = square.clip(here.to_meters(points[:, columns]))
    low[[first, second]], high[[first, second]] = square.low, square.high
    return projected, Box(low, high), replace(here, axes=(first, second))


def most_degrees(name: str) -> float | None:
    """Return the largest number of degrees for a column of this name; None if it is not latitude or longitude."""
    words = set(re.split(r"[^a-zäöü]+", _split(name)))
    return MOST_LATITUDE if words & LATITUDES else TURN if words & LONGITUDES else None


def likely_map(columns: Mapping[str, FloatArray]) -> tuple[tuple[str, str] | None, bool]:
    """Find the two numeric `columns` that may be latitude and longitude; also return whether that is certain enough.

    It uses names, pairs and ranges. It reads the values, so it is NOT private: it is a suggestion for the curator.
    """
    lower = {name.lower(): name for name in columns}
    named = [(name, partner) for name in columns for partner in [_partner(name, lower)] if partner is not None]
    fitting = [pair for pair in named if _in_degrees(columns, pair)]
    if fitting:
        return fitting[0], len(named) == 1
    weak = [(lower[y], lower[x]) for y, x in _WEAK if y in lower and x in lower]
    return next((pair for pair in weak if _in_degrees(columns, pair)), None), False


def _split(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).lower()


def _partner(name: str, lower: Mapping[str, str]) -> str | None:
    """Return the column with the same name as `name`, except that it has a word for longitude."""
    words = _split(name)
    latitude = _LATITUDE.search(words)
    if latitude is None:
        return None
    for word in _LONGITUDE[latitude[1]]:
        alike = f"{words[: latitude.start()]}{word}{words[latitude.end() :]}"
        for key, column in lower.items():
            if alike in (key, _split(column)) and column != name:
                return column
    return None


def _in_degrees(columns: Mapping[str, FloatArray], pair: tuple[str, str]) -> bool:
    """Return True if nearly all values of a pair of columns can be degrees, and not all are whole numbers."""
    for name, most in zip(pair, (MOST_LATITUDE, TURN), strict=True):
        values = columns[name][np.isfinite(columns[name])]
        if not values.size or np.mean(np.abs(values) > most) > MOST_ODD or (values == np.round(values)).all():
            return False
    return True
