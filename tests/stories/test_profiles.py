"""Profiles of released centers: words and values follow only from the release and from public inputs."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.core import Box, CentersRelease, frozen
from dpviz.data import load
from dpviz.data.geography import map_of
from dpviz.data.table import read_table
from dpviz.data.transforms import Scale
from dpviz.methods import CATALOGUE
from dpviz.plots import Audience, scene_hash
from dpviz.stories import Words
from dpviz.stories.profiles import (
    APART,
    FAR,
    IN_THE_MIDDLE,
    LONGEST_NAME,
    ON_AVERAGE,
    SHARE,
    WINDS,
    NamedPlace,
    carried,
    profile_chart,
    profiles,
    shortened,
    spelled,
    value_text,
)
from tests.recorded import needs
from tests.stories.conftest import run_on

TOLD = sorted({*CATALOGUE, *(name for method in CATALOGUE.values() for name in method.family)} - {"nd_laplace"})
HERE, SQUARE = map_of(Box([60.0, 24.0], [60.4, 25.2]))
TOWN = Words(
    "Town",
    Box([18.0, *SQUARE.low, 0.0], [90.0, *SQUARE.high, 30.0]),
    ("age", "east", "north", "n_visits"),
    ("years", "m", "m", ""),
    place=dataclasses.replace(HERE, axes=(1, 2)),
)


def numbered(d, low=0.0, high=1.0):
    return Words("Set", Box.cube(low, high, d), tuple(f"f{i}" for i in range(d)), ("",) * d)


def test_a_center_is_told_in_words_and_real_units():
    reach = SQUARE.high[0]
    centers = np.array([[71.2, 0.7 * reach, -0.7 * reach, 2.0], [30.0, -0.7 * reach, 0.6 * reach, 14.0]])
    one, other = profiles(centers, TOWN, np.array([240.4, -3.0]))
    assert one.sentence == "South-east, older (71 years), few visits (2)."
    assert other.sentence == "North-west, younger (30 years), more visits than average (14)."
    assert (one.name, one.color, one.count, one.size) == ("cluster 1", 0, 240.4, "about 240")
    # A noisy count may be negative.
    assert other.size == "about 0"
    assert [value.name for value in one.values] == ["age", "longitude", "latitude", "n_visits"]
    latitude, longitude = HERE.to_degrees(centers[:1, 1:3])[0]
    assert [value.value for value in one.values] == pytest.approx([71.2, longitude, latitude, 2.0], abs=1e-9)
    assert one.values[1].text.endswith("°")


def test_names_of_a_person_stand_in_for_numbers():
    told = profiles(np.array([[0.1], [0.9], [0.5]]), numbered(1), names=("  retired\npeople ", ""))
    assert [each.name for each in told] == ["retired people", "cluster 2", "cluster 3"]


@pytest.mark.parametrize("weight", [1.0, 0.25])
def test_scaled_features_are_told_as_if_they_had_not_been(weight):
    weights = np.array([weight, 1.0, 1.0, weight])
    scale = Scale(TOWN.box, TOWN.feature_names, TOWN.units, weights, TOWN.place)
    scaled = Words(
        "Town",
        Box.cube(0.0, 1.0, 4),
        TOWN.feature_names,
        ("",) * 4,
        scale=scale,
    )
    centers = TOWN.box.from_unit(np.random.default_rng(1).random((5, 4)))
    plain, back = profiles(centers, TOWN), profiles(scale.places(centers), scaled)
    assert [each.sentence for each in plain] == [each.sentence for each in back]
    assert [[v.text for v in each.values] for each in plain] == [[v.text for v in each.values] for each in back]
    # Rounding of a way to [0, 1] and back: a few units in the last place of the widest feature.
    given, returned = ([[v.value for v in each.values] for each in told] for told in (plain, back))
    assert np.abs(np.array(given) - returned).max() < 1e-9


def test_an_uploaded_table_is_told_in_its_columns_units(tmp_path):
    rng = np.random.default_rng(0)
    rows = rng.uniform([60.0, 24.0, 18.0], [60.4, 25.0, 90.0], (400, 3))
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["lat,lon,age", *(",".join(map(repr, row)) for row in rows.tolist())]), "utf-8")
    box = Box([60.0, 24.0, 0.0], [60.4, 25.0, 120.0])
    options = {"features": ("lat", "lon", "age"), "box": box, "units": ("", "", "years"), "place": ("lat", "lon")}
    for scaling in ("none", "unit"):
        words = Words.from_dataset(read_table(path).dataset(**options, scaling=scaling))
        (told,) = profiles(words.box.from_unit(np.array([[0.5, 0.5, 0.75]])), words)
        assert told.sentence == "Older (90 years)."
        values = {value.name: value.value for value in told.values}
        assert values == pytest.approx({"longitude": 24.5, "latitude": 60.2, "age": 90.0}, abs=1e-6)
    mixed = read_table(path).dataset(**options).projected(2, seed=1)
    assert profiles(mixed.box.from_unit(np.full((2, 2), 0.1)), Words.from_dataset(mixed)) == ()


# The thirds and the middle are included: ties and edges.
UNIT = st.integers(0, 24).map(lambda step: step / 24.0)


@st.composite
def some_centers(draw):
    n, m = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    return np.array(draw(st.lists(st.lists(UNIT, min_size=m, max_size=m), min_size=n, max_size=n)))


@given(some_centers(), st.randoms(use_true_random=False))
def test_profiles_go_with_their_centers_whatever_the_order(centers, random):
    order = list(range(len(centers)))
    random.shuffle(order)
    words = numbered(centers.shape[1])
    told = [each.sentence for each in profiles(centers, words)]
    assert [each.sentence for each in profiles(centers[order], words)] == [told[i] for i in order]


@given(some_centers())
def test_what_is_told_stands_out_and_what_stands_out_is_told(centers):
    words, (k, d) = numbered(centers.shape[1]), centers.shape
    told = profiles(centers, words)
    mean = centers.mean(axis=0) if k > 1 else np.full(d, 0.5)
    for center, profile in zip(centers, told, strict=True):
        said = set()
        for i in range(d):
            way, farthest = center[i] - mean[i], np.abs(centers[:, i] - mean[i]).max()
            if abs(way) < (FAR if k == 1 else max(APART, SHARE * farthest)) - 1e-9:
                continue
            outer = abs(center[i] - 0.5) >= FAR - 1e-9 and (center[i] - 0.5) * way > 0
            word = ("high " if way > 0 else "low ") if outer else ("above-average " if way > 0 else "below-average ")
            said.add(f"{word}f{i} ({value_text(center[i], 1.0)})")
        parts = profile.sentence[0].lower() + profile.sentence[1:].removesuffix(".")
        nothing = IN_THE_MIDDLE if k == 1 else ON_AVERAGE
        assert (set(parts.split(", ")) == said) if said else profile.sentence == nothing


def test_a_center_alone_equal_centers_and_none():
    assert profiles(np.array([[0.5]]), numbered(1))[0].sentence == IN_THE_MIDDLE
    assert profiles(np.array([[2.0 / 3.0]]), numbered(1))[0].sentence == "High f0 (0.67)."
    assert {each.sentence for each in profiles(np.full((3, 2), 0.9), numbered(2))} == {ON_AVERAGE}
    assert profiles(np.empty((0, 3)), numbered(3)) == ()
    assert profile_chart((), np.empty((0, 3)), numbered(3)).layers


@given(some_centers(), st.randoms(use_true_random=False))
def test_names_go_by_place_and_not_by_number(centers, random):
    order = list(range(len(centers)))
    random.shuffle(order)
    named = [NamedPlace(f"n{i}", tuple(place)) for i, place in enumerate(centers.tolist()) if i % 2 == 0]
    names = carried(named, centers)
    # Among centers in one place, the first gets the name; among names in one place, the center gets the first.
    first = {tuple(place): i for i, place in reversed(list(enumerate(centers.tolist())))}
    kept = {}
    for each in named:
        kept.setdefault(each.place, each.name)
    assert dict(enumerate(names)) == {
        i: kept.get(tuple(place), "") if first[tuple(place)] == i else "" for i, place in enumerate(centers.tolist())
    }
    moved = carried(named, centers[order])
    assert {tuple(centers[order][i]): name for i, name in enumerate(moved) if name} == kept


def test_a_name_is_lost_with_its_cluster():
    named = [NamedPlace("old", (0.9, 0.9)), NamedPlace("young", (0.1, 0.9)), NamedPlace("younger", (0.12, 0.9))]
    assert carried(named, np.array([[0.1, 0.1], [0.8, 0.85], [0.11, 0.9]])) == ("", "old", "young")
    assert carried(named, np.empty((0, 2))) == ()
    assert carried([], np.full((2, 2), 0.5)) == ("", "")


@pytest.mark.parametrize("turn", range(8))
def test_the_compass_has_eight_winds(turn):
    angle = turn * np.pi / 4.0
    way = 0.4 * SQUARE.widths[0] * np.array([np.cos(angle), np.sin(angle)])
    (told,) = profiles(np.array([[54.0, *way, 15.0]]), TOWN)
    assert told.sentence.removesuffix(".").lower() == WINDS[turn]


def test_places_crowded_in_one_corner_are_told_beside_each_other():
    corner = 0.8 * SQUARE.high[0]
    centers = np.array([[54.0, corner - side, corner, 15.0] for side in (0.0, 0.5 * corner)])
    east, west = profiles(centers, TOWN)
    assert east.sentence == "North-east."
    assert west.sentence == "West of the average."


def test_on_a_map_every_place_off_the_average_is_told():
    reach = SQUARE.high[0]
    centers = np.array([[54.0, x * reach, 0.0, 15.0] for x in (-0.9, -0.2, 0.2, 0.9)])
    assert [each.sentence for each in profiles(centers, TOWN)] == [
        "West.",
        "West of the average.",
        "East of the average.",
        "East.",
    ]
    assert profile_chart(profiles(centers, TOWN), centers, TOWN).y.names[1:3] == (
        "south to north (68 km)",
        "west to east (68 km)",
    )


@pytest.mark.parametrize(
    ("value", "width", "unit", "text"),
    [
        (71.23, 120.0, "years", "71 years"),
        (2013.44, 20.0, "", "2013.4"),
        (62_311.0, 250_000.0, "€", "62,000 €"),
        (1_534_000_000.0, 2e9, "people", "1.53 billion people"),
        (-20_400_000.0, 9e7, "", "-20 million"),
        (7_034.0, 120_000.0, "$", "7000 $"),
        (0.123456, 1.0, "", "0.12"),
        (-0.001, 1.0, "", "0"),
        (24.9384, 1.2, "°", "24.94°"),
        (1.0, 1e-12, "", "1"),
        (1e20, 1e22, "", "1.00e+20"),
        (float("nan"), 1.0, "m", "not defined m"),
    ],
)
def test_a_value_is_as_exact_as_its_range_allows(value, width, unit, text):
    assert value_text(value, width, unit) == text


def test_names_of_columns_become_words():
    assert spelled("visits_perYear") == "visits per year"
    assert spelled("GDP") == "GDP"
    assert spelled("\n\x00 ") == "feature"
    assert len(shortened("x" * 500)) == LONGEST_NAME


@pytest.fixture(params=TOLD)
def run(request):
    points, box = load("blobs", n=600, seed=0).points, load("blobs", n=600, seed=0).box
    words = Words("Set", box, ("age", "income"), ("years", "€"))
    return run_on(request.param, points, words, np.random.default_rng(2), **needs(request.param, 2))


def test_every_method_of_centers_has_profiles_that_everyone_sees(run):
    assert isinstance(run.release, CentersRelease)
    told = run.profiles()
    assert told
    (chart,) = [each for each in run.charts() if each.key == "profiles"]
    assert all(layer.audience is not Audience.CURATOR for layer in chart.scene.layers)
    assert scene_hash(chart.scene) == scene_hash(chart.scene.public())
    assert len(chart.scene.group_names) == len(told)


def test_profiles_read_the_release_and_nothing_else(run):
    """The release is the same, with a different trace and without its records."""
    other = dataclasses.replace(
        run, result=dataclasses.replace(run.result, trace=run.result.trace[:1]), unit=frozen(run.unit[:1] * 0.0)
    )
    assert other.profiles() == run.profiles()
    (one,), (two,) = ([scene_hash(c.scene) for c in each.profile_charts()] for each in (run, other))
    assert one == two
