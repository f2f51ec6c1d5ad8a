import numpy as np
import pytest

from dpviz.data import load
from dpviz.data.city import DISTRICTS, RIVER_HALF_WIDTH, river_middle


def test_nobody_lives_in_the_river_or_on_the_wall():
    city = load("city", n=20_000)
    assert (np.abs(city.points[:, 1] - river_middle(city.points[:, 0])) > RIVER_HALF_WIDTH).all()
    assert ((city.points > 0) & (city.points < 10_000)).all()
    assert city.units == ("m", "m")


def test_every_district_has_its_place():
    city = load("city", n=20_000)
    assert sum(district.share for district in DISTRICTS) == pytest.approx(1.0)
    for label, district in enumerate(DISTRICTS):
        homes = city.points[city.labels == label]
        # The river and the walls cut off a little, so the mean may move by a fraction of the size.
        offset = np.linalg.norm(homes.mean(axis=0) - [district.east, district.north])
        assert offset < 0.1 * district.sigma_along
    assert (city.labels == len(DISTRICTS)).any()


def test_people_live_on_both_banks():
    city = load("city")
    north = city.points[:, 1] > river_middle(city.points[:, 0])
    assert 0.3 < north.mean() < 0.8
