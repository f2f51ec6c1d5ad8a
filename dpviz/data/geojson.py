"""Parses GeoJSON (RFC 7946): points with their properties as a table, lines and areas as a background for maps."""

import json
import re
from collections.abc import Iterator, Mapping, Sized
from itertools import chain

import numpy as np
import pandas as pd

from dpviz.core import FloatArray
from dpviz.data.files import (
    MOST_OUTLINE_BYTES,
    READ_OFF,
    UPLOADED,
    Columns,
    Limits,
    TableError,
    TableFormat,
    decode,
    quoted,
)
from dpviz.data.parsing import column_names, typed

LATITUDE, LONGITUDE = "latitude", "longitude"
MOST_LONGITUDE, MOST_LATITUDE = 360.0, 90.0  # degrees
# Maximum number of digits of a whole number. A float has at most 309 before its point.
MAX_DIGITS = 400
WAY_OUT = "Save points as a GeoJSON FeatureCollection, or as CSV with latitude and longitude."
OUTLINES_WAY_OUT = "Save districts or a coast as a GeoJSON FeatureCollection of lines and areas, in degrees (WGS 84)."
# Maximum number of vertices of a background. Our choice.
MOST_VERTICES = 500_000
# Maximum nesting of collections of geometries. Our choice.
MOST_NESTED = 4
# Levels of lists around a line's positions.
LEVELS = {"LineString": 0, "MultiLineString": 1, "Polygon": 1, "MultiPolygon": 2}
# Endings of names of reference systems, without blanks.
WGS_84 = ("CRS84", "CRS84H", "4326", "4979", "WGS84")
# In degrees, and equal within meters.
NEAR_WGS_84 = ("4258", "ETRS89", "4269", "NAD83", "CRS83", "4283", "GDA94", "7844", "GDA2020")
SYSTEM_PREFIX = re.compile(r"^(urn:(x-)?ogc:def:crs:|https?://www\.opengis\.net/(def/crs/|gml/srs/))", re.IGNORECASE)


def read_geojson(text: str, limits: Limits = UPLOADED, reading: TableFormat = READ_OFF) -> Columns:
    """Return one row for each point; raises TableError for anything else, or beyond `limits`."""
    collection, system_notes = _parsed(text)
    points, point_notes = _points(collection, limits)
    limits.refuse_size(len(points), 2)
    names: dict[str, None] = {}
    rows, n_deep, n_high = [], 0, 0
    for place, feature in enumerate(points, start=1):
        longitude, latitude, has_height = _coordinates(feature, place)
        properties = feature.get("properties") if isinstance(feature, Mapping) else None
        cells = dict(_cells(properties)) if isinstance(properties, Mapping) else {}
        n_deep += isinstance(properties, Sized) and len(cells) < len(properties)
        n_high += has_height
        names.update(dict.fromkeys(cells))
        limits.refuse_size(len(points), len(names) + 2)
        rows.append((latitude, longitude, cells))
    filled = [[cells.get(name, ("", False)) for _, _, cells in rows] for name in names]
    columns = [[latitude for latitude, _, _ in rows], [longitude for _, longitude, _ in rows]]
    columns += [[text for text, _ in column] for column in filled]
    stored = [np.ones(len(rows), dtype=np.bool_)] * 2
    stored += [np.array([is_stored for _, is_stored in column], dtype=np.bool_) for column in filled]
    unique_names, notes = column_names([LATITUDE, LONGITUDE, *names])
    notes = (*system_notes, *point_notes, *notes)
    if n_deep:
        notes = (*notes, f"Properties that hold lists or objects were left out, in {n_deep} features.")
    if n_high:
        notes = (*notes, f"Heights were left out, in {n_high} features.")
    return typed(pd.DataFrame(dict(enumerate(columns)), dtype=str), unique_names, notes, stored=stored, reading=reading)


def outlines_of(data: bytes) -> FloatArray:
    """Return the lines and the borders of areas in a GeoJSON file, as (p, 2) longitudes and latitudes.

    A row of NaN separates two lines. Points and properties are left out. Raises TableError for a file without lines,
    with coordinates that are not degrees, or beyond the limits of a background.
    """
    if len(data) > MOST_OUTLINE_BYTES:
        raise TableError(
            f"A background can have at most {MOST_OUTLINE_BYTES // 1000000} MB, but this one has "
            f"{len(data) / 1000000.0:,.1f} MB. Simplify its lines, or keep only the part around your "
            "map."
        )
    text, _ = decode(data, Limits(MOST_OUTLINE_BYTES, MOST_OUTLINE_BYTES))
    whole, _ = _parsed(text, OUTLINES_WAY_OUT)
    lines: list[object] = []
    for geometry in _geometries(whole):
        kind, places = geometry.get("type"), geometry.get("coordinates")
        if kind not in LEVELS:
            continue
        parts = [places]
        for _ in range(LEVELS[str(kind)]):
            parts = list(chain.from_iterable(each if isinstance(each, list) else () for each in parts))
        lines += parts
    rows: list[tuple[float, float]] = []
    for line in lines:
        if not isinstance(line, list) or len(line) < 2:
            continue
        if len(rows) + len(line) >= MOST_VERTICES:
            raise TableError(
                f"A background can have at most {MOST_VERTICES:,} places on its lines, but this one has "
                "more. Simplify its lines, or keep only the part around your map."
            )
        rows += [(np.nan, np.nan)] if rows else []
        rows += [_position(place) for place in line]
    if not rows:
        raise TableError(f"The background has no lines and no areas. Points are not a background. {OUTLINES_WAY_OUT}")
    return np.array(rows, dtype=np.float64)


def _geometries(whole: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    """Yield every geometry of a collection, a feature or a geometry; other objects are left out."""
    waiting: list[tuple[object, int]] = [(whole, 0)]
    while waiting:
        each, depth = waiting.pop()
        if not isinstance(each, Mapping) or depth > MOST_NESTED + 2:
            continue
        match each.get("type"):
            case "FeatureCollection":
                inner = each.get("features")
            case "GeometryCollection":
                inner = each.get("geometries")
            case "Feature":
                inner = [each.get("geometry")]
            case _:
                yield each
                continue
        waiting += [(one, depth + 1) for one in reversed(inner)] if isinstance(inner, list) else []


def _position(place: object) -> tuple[float, float]:
    """Return longitude and latitude of a line's place. Raises TableError if it is not a place on Earth."""
    if isinstance(place, list) and len(place) >= 2 and _is_number(place[0]) and _is_number(place[1]):
        longitude, latitude = float(place[0]), float(place[1])
        if abs(longitude) <= MOST_LONGITUDE and abs(latitude) <= MOST_LATITUDE:
            return longitude, latitude
        raise TableError(
            "Longitudes must be from -180 to 180 degrees and latitudes from -90 to 90, but the "
            f"background has a place at {longitude:g}, {latitude:g}. {OUTLINES_WAY_OUT}"
        )
    raise TableError(f"The background has a line with a place that is not a pair of numbers. {OUTLINES_WAY_OUT}")


def _parsed(text: str, way_out: str = WAY_OUT) -> tuple[dict[str, object], tuple[str, ...]]:
    """Return the object in a text, and a note about its coordinates if they are not exactly WGS 84."""
    try:
        # A number with more than MAX_DIGITS digits would take time that grows with the square of their number.
        whole = json.loads(text, parse_int=lambda digits: int(digits) if len(digits) < MAX_DIGITS else float(digits))
    # Also raised for an object that is nested a thousand times.
    except (ValueError, RecursionError) as error:
        if isinstance(error, json.JSONDecodeError) and error.msg == "Extra data" and text[error.pos] in "{[":
            raise TableError(
                f"The file has JSON lines, which are not GeoJSON. Save its records as CSV. {way_out}"
            ) from None
        raise TableError(f"The file looks like JSON but is damaged or nested too deeply. {way_out}") from None
    if not isinstance(whole, dict):
        raise TableError(f"The file is JSON, but not a GeoJSON object. Save its records as CSV. {way_out}")
    crs = whole.get("crs")
    if crs is None:
        return whole, ()
    properties = crs.get("properties") if isinstance(crs, Mapping) else None
    if isinstance(properties, Mapping):
        name = properties.get("name", properties.get("code", properties.get("href")))
        system = SYSTEM_PREFIX.sub("", str(name)[:1_000]) or "an unnamed system"
    else:
        system = str(crs)[:1_000] or "an unnamed system"
    last = re.split(r"[:/#]", system.replace(" ", ""))[-1].upper()
    if last in WGS_84:
        return whole, ()
    if last in NEAR_WGS_84:
        return whole, (f"The coordinates use {quoted(system)}: degrees, within meters of WGS 84.",)
    raise TableError(
        f"The file's coordinates are of {quoted(system)}, but they must be degrees (WGS 84). Save it in WGS 84."
    )


def _points(whole: dict[str, object], limits: Limits) -> tuple[list[object], tuple[str, ...]]:
    """Return one feature for each point of a collection, feature or geometry, and a note if one has several points.

    A feature without points has no geometry. Raises TableError without a feature.
    """
    kind = whole.get("type")
    if kind == "FeatureCollection":
        features = whole.get("features")
    elif kind == "Feature":
        features = [whole]
    elif kind in ("Point", "MultiPoint"):
        features = [{"geometry": whole}]
    else:
        raise TableError(f"The file is JSON of the type {quoted(kind)}, but it must be GeoJSON with points. {WAY_OUT}")
    if not isinstance(features, list) or not features:
        raise TableError(f"The file is GeoJSON without a feature, but it must have at least one. {WAY_OUT}")
    limits.refuse_size(len(features), 2)
    single: list[object] = []
    # Numbers of points.
    several = []
    for feature in features:
        geometry = feature.get("geometry") if isinstance(feature, Mapping) else None
        if not isinstance(geometry, Mapping) or geometry.get("type") != "MultiPoint":
            single.append(feature)
            continue
        places = geometry.get("coordinates")
        if places == []:
            single.append({**feature, "geometry": None})
            continue
        places = places if isinstance(places, list) else [None]
        single += [{**feature, "geometry": {"type": "Point", "coordinates": each}} for each in places]
        several += [len(places)] if len(places) > 1 else []
    if not several or kind == "MultiPoint":
        return single, ()
    words = "1 feature has" if len(several) == 1 else f"{len(several)} features have"
    note = (
        f"{words} several points, {sum(several)} in all. Each point became a record, and the promise covers one "
        "record: a person with several is protected less."
    )
    return single, (note,)


def _coordinates(feature: object, place: int) -> tuple[str, str, bool]:
    """Return longitude and latitude as text, empty for a feature without a place, and whether it has a height."""
    if not isinstance(feature, Mapping):
        raise TableError(f"Feature {place} of the file is not an object. {WAY_OUT}")
    geometry = feature.get("geometry")
    if geometry is None:
        return "", "", False
    kind = geometry.get("type") if isinstance(geometry, Mapping) else type(geometry).__name__
    if kind != "Point":
        raise TableError(
            f"Feature {place} of the file is a {quoted(kind)}, but it must be a point. Replace areas "
            "and lines with their centers first, and save those."
        )
    coordinates = geometry.get("coordinates")
    if not isinstance(coordinates, list) or len(coordinates) < 2 or not all(map(_is_number, coordinates[:2])):
        raise TableError(f"Feature {place} of the file is a point without two numbers. {WAY_OUT}")
    longitude, latitude = coordinates[:2]
    if abs(longitude) > MOST_LONGITUDE or abs(latitude) > MOST_LATITUDE:
        raise TableError(
            f"Feature {place} of the file is at {longitude:,.10g}, {latitude:,.10g}, but GeoJSON has degrees: "
            "longitude from -180 to 180, then latitude from -90 to 90. Save the file in WGS 84, or meters as CSV."
        )
    return repr(longitude), repr(latitude), len(coordinates) > 2


def _cells(properties: Mapping[str, object]) -> Iterator[tuple[str, tuple[str, bool]]]:
    """Yield the flat properties by name, in a table's form, and whether they are numbers."""
    for name, value in properties.items():
        if value is None:
            yield name, ("", False)
        elif isinstance(value, str):
            yield name, (value.strip(), False)
        elif isinstance(value, bool):
            yield name, ("true" if value else "false", False)
        elif _is_number(value):
            yield name, (repr(value), True)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
