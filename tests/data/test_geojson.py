"""GeoJSON points as a table, and malicious files."""

import gzip
import io
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.data import TableError, read_confined, read_outlines, read_table
from dpviz.data.files import MOST_OUTLINE_BYTES
from dpviz.data.geojson import LEVELS, MOST_VERTICES, outlines_of
from dpviz.data.table import columns_of


def feature(longitude, latitude, /, **properties):
    place = {"type": "Point", "coordinates": [longitude, latitude]}
    return {"type": "Feature", "geometry": place, "properties": properties}


def collection(*features, **more):
    return json.dumps({"type": "FeatureCollection", "features": list(features), **more}).encode()


def test_points_become_rows_with_their_numbers_and_texts():
    many = {"type": "MultiPoint", "coordinates": [[1.5, 2.5], [3.5, 4.5, 99.0]]}
    data = collection(
        feature(11.57, 48.14, age=31, town="Ulm ", ok=True, tags=["a"]),
        feature(-70.25, -33, age=None, latitude=7),
        {"type": "Feature", "geometry": None, "properties": None},
        {"type": "Feature", "geometry": many, "properties": {"age": 1e3}},
    )
    table = read_table(io.BytesIO(b"\n " + data))
    numbers = table.nonprivate_columns.nonprivate_numbers
    assert np.array_equal(numbers["latitude"], [48.14, -33.0, np.nan, 2.5, 4.5], equal_nan=True)
    assert np.array_equal(numbers["longitude"], [11.57, -70.25, np.nan, 1.5, 3.5], equal_nan=True)
    assert np.array_equal(numbers["age"], [31.0, np.nan, np.nan, 1e3, 1e3], equal_nan=True)
    assert numbers["latitude (2)"][1] == 7.0
    assert table.text_columns == ("town", "ok")
    assert any("lists or objects" in note for note in table.notes)
    assert any("Heights" in note for note in table.notes)


URN = "urn:ogc:def:crs:"
FAR = (f"{URN}EPSG::3857", "ETRS89 / UTM zone 32N", f"{URN}EPSG::43260")
POLYGON = {"type": "Feature", "geometry": {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 0]]]}}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b'{"a": 1}', "GeoJSON with points"),
        *((each, "JSON, but not a") for each in (b'[{"lat": 1}]', b'[\n {"a": 1\n}\n]', b"[1, 2]", b"[\n]", b"[[1]]")),
        (b"[ {", "JSON but is damaged"),
        (b'{"lat": 48.1}\n{"lat": 48.2}\n', "JSON lines"),
        (collection(), "without a feature"),
        (collection(POLYGON), "it must be a point"),
        (collection(feature(1.0, "north")), "without two numbers"),
        (collection("x"), "not an object"),
        (collection(feature(1.0, 2.0), crs={"properties": {"name": "urn:ogc:def:crs:EPSG::3857"}}), "WGS 84"),
        *((collection(feature(1.0, 2.0), crs={"properties": {"name": n}}), n.removeprefix(URN)) for n in FAR),
        (b'{"type": "FeatureCollection", "features": [', "damaged"),
        (b'{"a":' * 20_000, "nested too deeply"),
        (b'{"type":"Point","coordinates":' + b"[" * 90_000, "nested too deeply"),
        (collection(*[feature(1, 2, **{f"p{i}": i}) for i in range(300)]), "columns"),
        (b'{"type":"FeatureCollection","features":[' + b"{}," * 200_001 + b"{}]}", "rows"),
    ],
)
def test_what_is_no_table_of_points_is_refused_with_a_way_out(data, words):
    with pytest.raises(TableError, match=words) as found:
        columns_of(data)
    assert len(str(found.value)) < 400


def test_numbers_of_thousands_of_digits_are_numbers_or_missing():
    row = json.dumps(feature(1.0, 2.0, n=0)).replace('"n": 0', f'"n": 1{"0" * 5_000}')
    table = read_table(io.BytesIO(f'{{"type":"FeatureCollection","features":[{row}]}}'.encode()))
    assert any("infinite" in note for note in table.notes)


def test_a_bomb_of_lists_ends_only_its_own_process():
    bomb = b'{"type":"FeatureCollection","features":[' + b"[]," * 8_000_000 + b"[]]}"
    with pytest.raises(TableError, match=r"MB of memory|5 seconds|rows"):
        read_confined(io.BytesIO(bomb))


def test_a_feature_of_several_points_is_said_and_one_of_none_stays():
    def points(person, *places):
        return {
            "type": "Feature",
            "geometry": {"type": "MultiPoint", "coordinates": places},
            "properties": {"p": person},
        }

    columns = columns_of(collection(points("a", [1.5, 2.5], [3.5, 4.5]), points("b", [5.5, 6.5]), points("c")))
    assert columns.nonprivate_texts["p"].tolist() == ["a", "a", "b", "c"]
    assert np.isnan(columns.nonprivate_numbers["latitude"][3])
    assert any("1 feature has several points, 2 in all" in note for note in columns.notes)


NEAR = ("urn:ogc:def:crs:EPSG::4258", "EPSG:4269", "ETRS89", "http://www.opengis.net/def/crs/OGC/0/CRS83")


@pytest.mark.parametrize("name", [*NEAR, "urn:ogc:def:crs:OGC:1.3:CRS84", "EPSG:4326", "WGS 84"])
def test_degrees_are_read_with_a_note_unless_they_are_wgs_84(name):
    columns = columns_of(collection(feature(11.5, 48.1), crs={"type": "name", "properties": {"name": name}}))
    assert columns.nonprivate_numbers["latitude"].tolist() == [48.1]
    assert [note.endswith("within meters of WGS 84.") for note in columns.notes] == [True] * (name in NEAR)


def test_a_name_in_brackets_is_no_json():
    assert columns_of(b"[1],[2]\n3,4\n").names == ("[1]", "[2]")


RING = [[11.0, 48.0], [11.5, 48.0], [11.5, 48.4], [11.0, 48.0]]


def shape(kind, coordinates):
    return {"type": kind, "coordinates": coordinates}


def background(*shapes, **more):
    features = [{"type": "Feature", "geometry": each, "properties": {"name": "secret"}} for each in shapes]
    return json.dumps({"type": "FeatureCollection", "features": features, **more}).encode()


def split(lines):
    """Return the lines of a background, one list of places each."""
    gaps = np.flatnonzero(np.isnan(lines).any(axis=1))
    return [part[~np.isnan(part).any(axis=1)].tolist() for part in np.split(lines, gaps)]


@pytest.mark.parametrize(
    ("kind", "coordinates", "expected"),
    [
        ("LineString", RING[:2], [RING[:2]]),
        ("MultiLineString", [RING[:2], RING[1:3]], [RING[:2], RING[1:3]]),
        ("Polygon", [RING, RING[:3]], [RING, RING[:3]]),
        ("MultiPolygon", [[RING], [RING[:3], RING]], [RING, RING[:3], RING]),
    ],
)
def test_lines_and_borders_of_areas_are_a_background(kind, coordinates, expected):
    nested = {"type": "GeometryCollection", "geometries": [shape("Point", [1.0, 2.0]), shape(kind, coordinates)]}
    for data in (
        json.dumps(shape(kind, coordinates)).encode(),
        background(shape(kind, coordinates)),
        background(nested),
    ):
        assert split(outlines_of(data)) == expected
    # A third number is a height.
    high = json.loads(json.dumps(coordinates).replace("48.0]", "48.0, 500.0]"))
    assert split(outlines_of(background(shape(kind, high)))) == expected


def test_odd_shapes_and_packed_files_are_a_background():
    data = background(shape("MultiPolygon", [[RING], [RING[:3], RING]]))
    assert split(read_outlines(io.BytesIO(gzip.compress(data)))) == split(outlines_of(data)) == [RING, RING[:3], RING]
    odd = [None, {}, shape("Polygon", []), shape("Polygon", [[]]), shape("LineString", RING[:1]), shape("Polygon", 5)]
    assert split(outlines_of(background(*odd, shape("LineString", RING)))) == [RING]


def deep(levels):
    text = '{"type": "GeometryCollection", "geometries": [' * levels
    return (text + json.dumps(shape("LineString", RING)) + "]}" * levels).encode()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"a,b\n1,2", "damaged"),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"type": "Polygon", "coordinates": ' + b"[" * 900_000, "nested too deeply"),
        (deep(50), "no lines"),
        (background(shape("Point", [1.0, 2.0])), "Points are not a background"),
        (background(shape("LineString", [[500.0, 0.0], [0.0, 0.0]])), "Longitudes must be from"),
        (background(shape("LineString", [[4_468_000.0, 5_333_000.0], [1.0, 1.0]])), "Longitudes must be from"),
        (background(shape("LineString", [[0.0, 91.0], [0.0, 0.0]])), "latitudes from"),
        (b'{"type": "LineString", "coordinates": [[NaN, 1], [2, 3]]}', "Longitudes must be from"),
        (b'{"type": "LineString", "coordinates": [[1e999, 1], [2, 3]]}', "Longitudes must be from"),
        (b'{"type": "LineString", "coordinates": [[1' + b"0" * 5_000 + b", 1], [2, 3]]}", "Longitudes must be from"),
        (background(shape("LineString", [[True, 1.0], [2.0, 3.0]])), "not a pair of numbers"),
        (background(shape("LineString", [["1", "1"], [2.0, 3.0]])), "not a pair of numbers"),
        (background(shape("LineString", RING), crs={"properties": {"name": "urn:ogc:def:crs:EPSG::25832"}}), "degrees"),
        (b"\x89PNG" + bytes(500), "PNG"),
        (b"", "empty"),
    ],
)
def test_what_is_no_background_is_refused_in_words(data, words):
    with pytest.raises(TableError, match=words) as refused:
        read_outlines(io.BytesIO(data))
    assert len(str(refused.value)) < 400


def test_a_background_has_a_most():
    many = [[11.0 + i / 1e6, 48.0] for i in range(MOST_VERTICES)]
    with pytest.raises(TableError, match="places on its lines"):
        outlines_of(json.dumps(shape("LineString", many)).encode())
    with pytest.raises(TableError, match="MB"):
        read_outlines(io.BytesIO(b" " * (MOST_OUTLINE_BYTES + 1)))
    bomb = gzip.compress(b" " * (4 * MOST_OUTLINE_BYTES))
    with pytest.raises(TableError, match="MB"):
        read_outlines(io.BytesIO(bomb))


@given(
    st.recursive(st.none() | st.booleans() | st.floats() | st.text(max_size=3), lambda each: st.lists(each, max_size=3))
)
def test_odd_coordinates_end_in_lines_or_in_words(coordinates):
    for kind in LEVELS:
        try:
            lines = outlines_of(json.dumps(shape(kind, coordinates)).encode())
        except TableError:
            continue
        assert lines.shape[1] == 2
        assert (np.abs(lines[~np.isnan(lines[:, 0])]) <= [360.0, 90.0]).all()
