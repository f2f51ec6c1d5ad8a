"""Points of a GeoJSON text (RFC 7946) as a table: latitude, longitude, and the properties that are numbers or text."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from dpviz.data.columns import Columns
from dpviz.data.decoding import UPLOADED, Limits, TableError, shown
from dpviz.data.numerals import typed
from dpviz.data.parsing import column_names
from dpviz.data.table_format import READ_OFF, TableFormat

LATITUDE, LONGITUDE = "latitude", "longitude"
MAX_DIGITS = 400  # of a whole number; a float has at most 309 before its point
WAY_OUT = "Save the points as a GeoJSON FeatureCollection, or as CSV with latitude and longitude."
WGS_84 = ("CRS84", "CRS84H", "4326", "4979", "WGS84")  # how names of reference systems end, without blanks
NEAR_WGS_84 = ("4258", "ETRS89", "4269", "NAD83", "CRS83", "4283", "GDA94", "7844", "GDA2020")  # degrees, within meters
SYSTEM_PREFIX = re.compile(r"^(urn:(x-)?ogc:def:crs:|https?://www\.opengis\.net/(def/crs/|gml/srs/))", re.IGNORECASE)


def is_json(text: str) -> bool:
    """Say whether a text is a JSON object or list rather than a table."""
    if re.match(r'\s*\[\s*["\d-]', text):
        return text.rstrip().endswith("]")  # a name of a column can begin with a bracket
    return re.match(r"\s*(\{|\[\s*[\[{\]])", text) is not None


def read_geojson(text: str, limits: Limits = UPLOADED, reading: TableFormat = READ_OFF) -> Columns:
    """Return one row for each point; raises TableError for anything else, or beyond `limits`."""
    whole, system_notes = _parsed(text)
    features, point_notes = _features(whole, limits)
    limits.refuse_size(len(features), 2)
    names: dict[str, None] = {}
    rows, n_deep, n_high = [], 0, 0
    for place, feature in enumerate(features, start=1):
        longitude, latitude, has_height = _point(feature, place)
        properties = feature.get("properties")
        cells = dict(_cells(properties if isinstance(properties, Mapping) else {}))
        n_deep += len(cells) < len(properties or ())
        n_high += has_height
        names.update(dict.fromkeys(cells))
        limits.refuse_size(len(features), len(names) + 2)
        rows.append((latitude, longitude, cells))
    columns = [[latitude for latitude, _, _ in rows], [longitude for _, longitude, _ in rows]]
    columns += [[cells.get(name, ("", False))[0] for _, _, cells in rows] for name in names]
    stored = [np.ones(len(rows), dtype=np.bool_)] * 2
    stored += [np.array([cells.get(name, ("", False))[1] for _, _, cells in rows], dtype=np.bool_) for name in names]
    called, notes = column_names([LATITUDE, LONGITUDE, *names])
    notes = (*system_notes, *point_notes, *notes)
    if n_deep:
        notes = (*notes, f"Properties that hold lists or objects were left out, in {n_deep} features.")
    if n_high:
        notes = (*notes, f"Heights were left out, in {n_high} features.")
    frame = pd.DataFrame(dict(enumerate(columns)), dtype=str)
    return typed(frame, called, notes, stored=dict(enumerate(stored)), reading=reading)


def _parsed(text: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the object that a text is, and a note on its coordinates where they are not exactly of WGS 84."""
    try:
        whole = json.loads(text, parse_int=_whole)
    except (ValueError, RecursionError) as error:  # also one that is nested a thousand times
        if isinstance(error, json.JSONDecodeError) and error.msg == "Extra data" and text[error.pos] in "{[":
            raise TableError(f"The file was JSON lines, one object in each, but no GeoJSON object. {WAY_OUT}") from None
        raise TableError(f"The file looked like JSON but was damaged or nested too deeply. {WAY_OUT}") from None
    if not isinstance(whole, dict):
        raise TableError(f"The file was JSON, but no GeoJSON object. {WAY_OUT}")
    system = _system(whole.get("crs"))
    last = re.split(r"[:/#]", system.replace(" ", ""))[-1].upper()
    if not system or last in WGS_84:
        return whole, ()
    if last in NEAR_WGS_84:
        return whole, (f"The coordinates are of {shown(system)}: degrees, within meters of WGS 84.",)
    raise TableError(
        f"The file's coordinates are of {shown(system)}, but they must be degrees (WGS 84). Save it in WGS 84."
    )


def _system(crs: Any) -> str:
    """Return the name of a reference system without what all names begin with, "" where a file names none."""
    if crs is None:
        return ""
    properties = crs.get("properties") if isinstance(crs, Mapping) else None
    if not isinstance(properties, Mapping):
        return str(crs)[:1_000] or "an unnamed system"
    name = properties.get("name", properties.get("code", properties.get("href")))
    return SYSTEM_PREFIX.sub("", str(name)[:1_000]) or "an unnamed system"


def _whole(digits: str) -> float | int:
    return int(digits) if len(digits) < MAX_DIGITS else float(digits)


def _features(whole: dict[str, Any], limits: Limits) -> tuple[list[Any], tuple[str, ...]]:
    """Return one feature for each point of a collection, or of what stands for one, and a note where one has several.

    Raises TableError where there are none.
    """
    kind = whole.get("type")
    if kind == "FeatureCollection":
        found = whole.get("features")
    elif kind == "Feature":
        found = [whole]
    elif kind in ("Point", "MultiPoint"):
        found = [{"geometry": whole}]
    else:
        raise TableError(f"The file was JSON of the type {shown(kind)}, but it must be GeoJSON with points. {WAY_OUT}")
    if not isinstance(found, list) or not found:
        raise TableError(f"The file was GeoJSON without a feature, but it must have at least one. {WAY_OUT}")
    limits.refuse_size(len(found), 2)
    single = [list(_single(feature)) for feature in found]
    several = [len(points) for points in single if len(points) > 1]
    notes: tuple[str, ...] = ()
    if several and kind != "MultiPoint":
        features = "1 feature has" if len(several) == 1 else f"{len(several)} features have"
        notes = (
            f"{features} several points, {sum(several)} in all. Each point became a record, and the promise covers one "
            "record: whoever has several is protected less.",
        )
    return [each for points in single for each in points], notes


def _single(feature: Any) -> Iterator[Any]:
    """Yield a feature, one of many points once for each of them, and one of no point without a place."""
    geometry = feature.get("geometry") if isinstance(feature, Mapping) else None
    if not isinstance(geometry, Mapping) or geometry.get("type") != "MultiPoint":
        yield feature
        return
    many = geometry.get("coordinates")
    if many == []:
        yield {**feature, "geometry": None}
        return
    for each in many if isinstance(many, list) else [None]:
        yield {**feature, "geometry": {"type": "Point", "coordinates": each}}


def _point(feature: Any, place: int) -> tuple[str, str, bool]:
    """Return longitude and latitude as written, empty for a feature without a place, and whether it has a height."""
    if not isinstance(feature, Mapping):
        raise TableError(f"Feature {place} of the file was no object. {WAY_OUT}")
    geometry = feature.get("geometry")
    if geometry is None:
        return "", "", False
    kind = geometry.get("type") if isinstance(geometry, Mapping) else type(geometry).__name__
    if kind != "Point":
        raise TableError(
            f"Feature {place} of the file was a {shown(kind)}, but only points are read. Take the middles of areas and "
            "lines first, and save those."
        )
    coordinates = geometry.get("coordinates")
    if not isinstance(coordinates, list) or len(coordinates) < 2 or not all(map(_is_number, coordinates[:2])):
        raise TableError(f"Feature {place} of the file had a point without two numbers. {WAY_OUT}")
    return repr(coordinates[0]), repr(coordinates[1]), len(coordinates) > 2


def _cells(properties: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, bool]]]:
    """Yield the flat properties by name, as a table would have them, and whether they are numbers."""
    for name, value in properties.items():
        if value is None:
            yield name, ("", False)
        elif isinstance(value, str):
            yield name, (value.strip(), False)
        elif isinstance(value, bool):
            yield name, ("true" if value else "false", False)
        elif _is_number(value):
            yield name, (repr(value), True)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
