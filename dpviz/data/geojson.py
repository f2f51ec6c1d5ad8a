"""Points of a GeoJSON text (RFC 7946) as a table: latitude, longitude, and the properties that are numbers or text."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from dpviz.data.columns import Columns
from dpviz.data.decoding import UPLOADED, Limits, TableError, shown
from dpviz.data.parsing import column_names, typed

LATITUDE, LONGITUDE = "latitude", "longitude"
MAX_DIGITS = 400  # of a whole number; a float has at most 309 before its point
WAY_OUT = "Save the points as a GeoJSON FeatureCollection, or as CSV with latitude and longitude."
_DEGREES = ("CRS84", "4326")  # in names of reference systems whose coordinates are degrees


def is_json(text: str) -> bool:
    """Say whether a text is a JSON object or list rather than a table."""
    return text.lstrip()[:1] == "{" or text.lstrip()[:2] in ("[{", "[]")


def read_geojson(text: str, limits: Limits = UPLOADED) -> Columns:
    """Return one row for each point; raises TableError for anything else, or beyond `limits`."""
    features = _features(_parsed(text), limits)
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
    columns += [[cells.get(name, "") for _, _, cells in rows] for name in names]
    called, notes = column_names([LATITUDE, LONGITUDE, *names])
    if n_deep:
        notes = (*notes, f"Properties that hold lists or objects were left out, in {n_deep} features.")
    if n_high:
        notes = (*notes, f"Heights were left out, in {n_high} features.")
    return typed(pd.DataFrame(dict(enumerate(columns)), dtype=str), called, notes)


def _parsed(text: str) -> dict[str, Any]:
    try:
        whole = json.loads(text, parse_int=_whole)
    except TableError:
        raise
    except (ValueError, RecursionError):  # also one that is nested a thousand times
        raise TableError(f"The file looked like JSON but was damaged or nested too deeply. {WAY_OUT}") from None
    if not isinstance(whole, dict):
        raise TableError(f"The file was JSON but no GeoJSON object. {WAY_OUT}")
    system = json.dumps(whole.get("crs"))[:1_000]
    if whole.get("crs") is not None and not any(name in system for name in _DEGREES):
        raise TableError(
            f"The file's coordinates are of {shown(system)}, but they must be degrees (WGS 84). Save it in WGS 84."
        )
    return whole


def _whole(digits: str) -> float | int:
    return int(digits) if len(digits) < MAX_DIGITS else float(digits)


def _features(whole: dict[str, Any], limits: Limits) -> list[Any]:
    """Return the features of a collection, or what stands for one; raises TableError where there are none."""
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
    return [each for feature in found for each in _single(feature)]


def _single(feature: Any) -> Iterator[Any]:
    """Yield a feature, one of many points once for each of them."""
    geometry = feature.get("geometry") if isinstance(feature, Mapping) else None
    if not isinstance(geometry, Mapping) or geometry.get("type") != "MultiPoint":
        yield feature
        return
    many = geometry.get("coordinates")
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


def _cells(properties: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the flat properties by name, as a table would have them."""
    for name, value in properties.items():
        if value is None:
            yield name, ""
        elif isinstance(value, str):
            yield name, value.strip()
        elif isinstance(value, bool):
            yield name, "true" if value else "false"
        elif _is_number(value):
            yield name, repr(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
