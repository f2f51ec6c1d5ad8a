"""Latitude and longitude on a plane: lengths against geodesics, and the detection of a map."""

import io

import numpy as np
import pandas as pd
import pytest
from pyproj import Geod, Proj

from dpviz.core import Box
from dpviz.data import TableError, geography, read_table
from dpviz.data.geography import FINEST, MOST_DRAWN, REACH, WINDOW, LocalMap, likely_map, map_of, outline_on
from dpviz.data.table import Choices
from tests.data.made import parquet

GEOD = Geod(ellps="WGS84")
KM_PER_DEGREE = 111.2


def box_around(latitude, longitude, half_km):
    up = half_km / KM_PER_DEGREE
    across = up / np.cos(np.radians(latitude))
    return Box((latitude - up, longitude - across), (latitude + up, longitude + across))


def lengths(degrees, places):
    """Return geodesics between the first and the second half of places, m, and the plane's distances."""
    half = len(degrees) // 2
    (south, west), (north, east) = degrees[:half].T, degrees[half:].T
    return GEOD.inv(west, south, east, north)[2], np.hypot(*(places[:half] - places[half:]).T)


def plate_carree(degrees, here):
    """Return a map's meters without a projection: wrong away from the equator, and the test must see it."""
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
        # Meters. The two libraries round differently.
        np.testing.assert_allclose(here.to_meters(degrees), expected, atol=1e-6)
        # The series back is cut after the sixth power of the eccentricity: 2e-8 degrees are 2 mm.
        np.testing.assert_allclose(here.to_degrees(expected), degrees, atol=2e-8)
        turned = np.column_stack([degrees[:, 0], degrees[:, 1] + 360.0])
        np.testing.assert_allclose(here.to_meters(turned), expected, atol=1e-5)


def test_what_is_written_down_of_the_pole_is_what_is_computed():
    assert float(geography._q(np.array(np.pi / 2.0))) == geography._POLE


def test_a_place_does_not_hang_on_who_else_is_there():
    degrees = box_around(48.0, 11.0, 25.0).from_unit(np.random.default_rng(4).random((1_003, 2)))
    here = LocalMap(48.0, 11.0)
    whole = here.to_meters(degrees)
    for rows in (slice(0, 1), slice(17, 18), slice(3, 1_003), slice(None, None, -1), slice(5, 500, 7)):
        assert np.array_equal(here.to_meters(degrees[rows]), whole[rows])


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        ((-91.0, 0.0), (10.0, 1.0), "Latitudes"),
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
    # A gap, and a place far away.
    lat[0], lon[1] = np.nan, 99.0
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


def drawn(box, *lines):
    """Return lines of (longitude, latitude) on the map of a box, a list of places each."""
    here, square = map_of(box)
    gap = np.full((1, 2), np.nan)
    rows = np.concatenate([part for line in lines for part in (np.array(line, dtype=float).reshape(-1, 2), gap)])
    meters = outline_on(here, square.high[0], rows)
    gaps = np.flatnonzero(np.isnan(meters).any(axis=1))
    parts = [part[~np.isnan(part).any(axis=1)] for part in np.split(meters, gaps)]
    return here, square.high[0], [part for part in parts if len(part)]


def test_a_line_within_the_map_is_where_its_places_are():
    box = box_around(60.2, 24.9, 20.0)
    places = np.array([[24.8, 60.15], [24.85, 60.2], [24.9, 60.1], [25.0, 60.25]])
    here, _, (line, other) = drawn(box, places, places[::-1])
    meters = here.to_meters(places[:, ::-1])
    # Every place is there to the bit; the parts between places are on the straight line in degrees.
    for one in (line, other):
        assert all((np.abs(one - place).max(axis=1) == 0.0).any() for place in meters)
    between = here.to_degrees(line)[:, ::-1]
    # The series of the way back is cut off: 2e-9 degrees, a tenth of a millimeter.
    assert np.interp(between[:3, 0], *places[:2].T) == pytest.approx(between[:3, 1], abs=1e-8)


def test_lines_are_cut_bent_or_left_out_as_the_map_needs():
    here, half, (line,) = drawn(box_around(60.0, 25.0, 500.0), [[-60.0, 60.0], [120.0, 60.0]])
    # The line reaches the edge.
    assert np.abs(line[:, 0]).max() >= half
    assert np.abs(line).max() < 2.0 * WINDOW * half
    assert here.to_degrees(line)[:, 0] == pytest.approx(60.0, abs=1e-8)
    # A straight line on the plane would be wrong by this much.
    assert np.ptp(line[:, 1]) > 10_000.0
    box = box_around(48.0, 11.0, 50.0)
    assert drawn(box, [[-70.0, 40.0], [-71.0, 41.0]])[2] == []
    # The short way crosses the date line.
    assert drawn(box, [[179.0, 48.0], [-179.0, 48.0]])[2] == []
    # The line's first part crosses the map.
    assert drawn(box, [[11.0, 10.0], [11.0, 80.0], [50.0, 80.0]])[2] != []
    pacific = box_around(-17.0, 179.9, 50.0)
    (line,) = drawn(pacific, [[179.8, -17.0], [-179.9, -17.0]])[2]
    assert np.hypot(*(line[-1] - line[0])) == pytest.approx(GEOD.inv(179.8, -17.0, -179.9, -17.0)[2], rel=1e-4)
    here = LocalMap(85.0, 10.0)
    around = np.array([[each, 88.0] for each in np.linspace(-179.0, 179.0, 80)])
    meters = outline_on(here, 1.5e6, around)
    meters = meters[~np.isnan(meters[:, 0])] - here.to_meters(np.array([[90.0, 0.0]]))
    assert np.ptp(np.arctan2(*meters.T)) > 6.1
    # Lengths on this map are off by less than 1 / cos(c / 2) of c = 7 degrees: 0.2 %.
    assert np.hypot(*meters.T) == pytest.approx(GEOD.inv(0.0, 90.0, 0.0, 88.0)[2], rel=0.004)


def test_a_background_of_any_size_travels_light():
    rng, box = np.random.default_rng(0), box_around(48.0, 11.0, 50.0)
    walk = np.array([11.0, 48.0]) + np.cumsum(rng.normal(0.0, 1e-4, (200_000, 2)), axis=0)
    here, half, lines = drawn(box, walk)
    assert sum(map(len, lines)) <= MOST_DRAWN
    # Coarser, but never off: each place that is kept is in the file.
    whole = here.to_meters(walk[:, ::-1])
    assert all((np.abs(whole - place).max(axis=1) == 0.0).any() for place in np.concatenate(lines)[::97])
    dots = [[[x, y], [x + 1e-7, y]] for x, y in rng.uniform([10.5, 47.7], [11.5, 48.3], (20_000, 2))]
    # Dots shorter than a step are invisible, except on a border between two steps.
    assert len(drawn(box, *dots)[2]) < 20
    dashes = [[[x, y], [x + 0.01, y]] for x, y in rng.uniform([10.5, 47.7], [11.5, 48.3], (20_000, 2))]
    assert sum(len(each) + 1 for each in drawn(box, *dashes)[2]) <= MOST_DRAWN
    assert FINEST * half > 1e-7 * KM_PER_DEGREE * 1000.0
