"""Latitude and longitude on a plane: lengths against geodesics, and what is taken for a map."""

import io

import numpy as np
import pandas as pd
import pytest
from pyproj import Geod, Proj

from dpviz.core import Box
from dpviz.data import TableError, read_table
from dpviz.data.geography import REACH, LocalMap, likely_map, map_of
from dpviz.data.table import Choices
from tests.data.made import parquet

GEOD = Geod(ellps="WGS84")
KM_PER_DEGREE = 111.2


def box_around(latitude, longitude, half_km):
    up = half_km / KM_PER_DEGREE
    across = up / np.cos(np.radians(latitude))
    return Box((latitude - up, longitude - across), (latitude + up, longitude + across))


def lengths(degrees, places):
    """Return geodesics between the first and the second half of places, m, and what the plane says of them."""
    half = len(degrees) // 2
    (south, west), (north, east) = degrees[:half].T, degrees[half:].T
    return GEOD.inv(west, south, east, north)[2], np.hypot(*(places[:half] - places[half:]).T)


def plate_carree(degrees, here):
    """Return what a map without a projection would say: wrong away from the equator, and the test must see it."""
    return np.radians(degrees - [here.latitude, here.longitude])[:, ::-1] * 6_371_000.0


@pytest.mark.parametrize("latitude", [0.0, 20.0, 48.14, 65.0, -33.9])
def test_meters_agree_with_geodesics_in_every_direction(latitude):
    degrees_box = box_around(latitude, 11.6, 25.0)
    here, square = map_of(degrees_box)
    degrees = degrees_box.from_unit(np.random.default_rng(0).random((2_000, 2)))
    true, drawn = lengths(degrees, here.to_meters(degrees))
    # Over 50 km lengths are off by c²/8 < 4e-6 in all, and by as much along a geodesic that bows: 1e-5 is derived,
    # 0.5 % is what is promised.
    assert np.abs(drawn / true - 1.0).max() < 1e-5 < 0.005
    assert np.ptp(square.widths) == 0.0
    assert (np.abs(here.to_meters(degrees)) <= square.high).all()
    if abs(latitude) > 10.0:
        assert np.abs(lengths(degrees, plate_carree(degrees, here))[1] / true - 1.0).max() > 0.005


@pytest.mark.parametrize(("half_km", "limit"), [(350.0, 0.001), (2_000.0, 0.03)])
def test_the_stated_error_holds_for_a_country_and_a_continent(half_km, limit):
    degrees_box = box_around(40.0, -98.0, half_km)
    here, _ = map_of(degrees_box)
    from_middle = np.random.default_rng(1).normal(size=(500, 2))
    degrees = degrees_box.clip(np.array([40.0, -98.0]) + from_middle * degrees_box.widths / 6.0)
    steps = np.concatenate([degrees, degrees + np.random.default_rng(2).normal(0.0, 0.01, degrees.shape)])
    true, drawn = lengths(steps, here.to_meters(steps))
    assert np.abs(drawn / true - 1.0).max() < limit


def test_the_plane_is_that_of_another_library_and_leads_back():
    rng = np.random.default_rng(3)
    for latitude, longitude in ((0.0, 0.0), (52.5, 13.4), (-41.0, 179.5), (78.0, -20.0)):
        here = LocalMap(latitude, longitude)
        degrees = np.column_stack([latitude + rng.uniform(-3, 3, 50), longitude + rng.uniform(-6, 6, 50)])
        theirs = Proj(f"+proj=laea +lat_0={latitude} +lon_0={longitude} +ellps=WGS84")
        expected = np.column_stack(theirs(degrees[:, 1], degrees[:, 0]))
        np.testing.assert_allclose(here.to_meters(degrees), expected, atol=1e-6)  # m; theirs and ours round apart
        # The series back is cut after the sixth power of the eccentricity: 2e-8 degrees are 2 mm.
        np.testing.assert_allclose(here.to_degrees(expected), degrees, atol=2e-8)
        turned = np.column_stack([degrees[:, 0], degrees[:, 1] + 360.0])
        np.testing.assert_allclose(here.to_meters(turned), expected, atol=1e-5)


def test_a_place_does_not_hang_on_who_else_is_there():
    degrees = box_around(48.0, 11.0, 25.0).from_unit(np.random.default_rng(4).random((1_003, 2)))
    here = LocalMap(48.0, 11.0)
    whole = here.to_meters(degrees)
    for rows in (slice(0, 1), slice(17, 18), slice(3, 1_003), slice(None, None, -1), slice(5, 500, 7)):
        assert np.array_equal(here.to_meters(degrees[rows]), whole[rows])


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        ((-91.0, 0.0), (10.0, 1.0), "latitudes"),
        ((0.0, -100.0), (1.0, 300.0), "longitudes"),
        ((-60.0, -90.0), (60.0, 90.0), "at most 3,000 km"),
        ((-89.0, -100.0), (-88.0, 100.0), "at most 3,000 km"),
    ],
)
def test_bounds_that_are_no_map_are_refused_with_a_way_out(low, high, words):
    with pytest.raises(TableError, match=f"{words}.*plain numbers"):
        map_of(Box(low, high))
    assert REACH == 3_000_000.0


def table_of(**columns):
    text = io.BytesIO()
    pd.DataFrame(columns).to_csv(text, index=False)
    text.seek(0)
    return read_table(text)


def test_a_table_becomes_a_map_around_the_public_middle_whatever_the_records_are():
    degrees = box_around(48.1, 11.6, 10.0)
    lat, lon = degrees.from_unit(np.random.default_rng(5).random((40, 2))).T
    lat[0], lon[1] = np.nan, 99.0  # a gap, and one far away
    choices = Choices(
        ("age", "lon", "lat"),
        missing="middle",
        bounds=((0.0, 120.0), (float(degrees.low[1]), float(degrees.high[1])), (float(degrees.low[0]), 48.2)),
        units=("years", "", ""),
        place=("lat", "lon"),
    )
    age = np.arange(40.0)
    made = choices.dataset(table_of(age=age, lon=lon, lat=lat))
    assert made.feature_names == ("age", "east", "north")
    assert made.units == ("years", "m", "m")
    assert made.place is not None
    assert made.place.axes == (1, 2)
    assert made.nonprivate_n_clipped >= 1
    assert made.box.widths[1] == made.box.widths[2]
    assert abs(made.points[0, 2]) < 20.0, "a gap is in the middle; the middle parallel is bent by meters"
    other = choices.dataset(table_of(age=age[:7], lon=lon[:7], lat=lat[:7]))
    assert other.box == made.box
    assert other.place == made.place
    assert np.array_equal(other.points, made.points[:7])
    plain = choices.dataset(table_of(age=age, lon=lon, lat=lat)).points
    assert np.array_equal(plain, made.points)


@pytest.mark.parametrize(
    ("names", "found", "sure"),
    [
        (("id", "lat", "lon"), ("lat", "lon"), True),
        (("Longitude", "Latitude", "age"), ("Latitude", "Longitude"), True),
        (("homeLat", "homeLng", "z"), ("homeLat", "homeLng"), True),
        (("pickup_latitude", "pickup_longitude", "drop_latitude", "drop_longitude"), "pickup", False),
        (("x", "y", "v"), ("y", "x"), False),
        (("lat", "latitude", "lon", "longitude"), ("lat", "lon"), False),
        (("latitude", "lon", "longitude"), ("latitude", "longitude"), True),
        (("breitengrad", "länge", "längengrad"), ("breitengrad", "längengrad"), True),
        (("lat", "longitude"), ("lat", "longitude"), True),
        (("flat", "plate", "lon"), None, False),
        (("a", "b", "c"), None, False),
    ],
)
def test_what_is_taken_for_a_map(names, found, sure):
    columns = {name: np.random.default_rng(i).uniform(40.0, 60.0, 50) for i, name in enumerate(names)}
    pair, is_sure = likely_map(columns)
    assert is_sure is sure
    assert pair == (("pickup_latitude", "pickup_longitude") if found == "pickup" else found)
    if pair is not None:
        assert likely_map(columns | {pair[0]: columns[pair[0]] + 500_000.0})[0] != pair, "no degrees"


def test_coordinates_in_parquet_are_recognized():
    places = np.random.default_rng(6).uniform(10.0, 20.0, (30, 2))
    table = read_table(io.BytesIO(parquet({"latitude": places[:, 0], "longitude": places[:, 1]})))
    assert likely_map(table.nonprivate_columns.nonprivate_numbers) == (("latitude", "longitude"), True)
