"""Validation of a browser's messages about the live picture."""

import numpy as np
import pytest

from dpviz.plots import Audience, Axis, Kind, Layer, Role, Scene, always
from dpviz.ui.live import LiveState, read_state


def scene(*picks: str) -> Scene:
    layers = tuple(
        Layer("c", Kind.LINES, Role.RELEASED, Audience.RELEASED, {"xy": np.zeros((1, 1, 2, 2))}, always(1), pick=pick)
        for pick in picks
    )
    return Scene("", "", "", Axis("x"), Axis("y"), layers)


def test_a_click_is_read_with_its_number() -> None:
    assert read_state({"picked": ["two", 3]}, scene("one", "two")) == LiveState(None, "two", 3)
    assert read_state({"picked": ("one", 1.8e12), "selected": 4.0}, scene("one")) == LiveState(4, "one", 1_800 * 10**9)


@pytest.mark.parametrize("pick", ["three", "", None, 1, ["one"], {"one": 1}, "o" * 81, b"one"])
def test_only_what_the_scene_offers_in_eighty_characters_can_be_picked(pick: object) -> None:
    offered = ("one", "", "o" * 81)
    assert read_state({"picked": [pick, 2]}, scene(*offered)) == LiveState(None, None, 2)
    assert read_state({"picked": ["o" * 80, 2]}, scene("o" * 80)).picked == "o" * 80


@pytest.mark.parametrize("number", [-1, 10**400, 0.5, 1.5, float("nan"), float("inf"), True, "1", None, [1]])
def test_a_number_of_clicks_or_a_cluster_that_makes_no_sense_is_none(number: object) -> None:
    assert read_state({"picked": ["one", number]}, scene("one")).pick_count == 0
    assert read_state({"selected": number}, scene()).selected is None


@pytest.mark.parametrize("state", [None, [], "picked", {}, {"picked": None}, {"picked": ["one"]}, {"picked": "on"}])
def test_a_state_that_makes_no_sense_is_the_first_one(state: object) -> None:
    assert read_state(state, scene("one")) == LiveState()


def test_a_region_is_read_with_its_number() -> None:
    state = read_state({"region": [7, [[0, 0], [1, 0.5], [0.25, 1]]]}, scene())
    assert state.region == ((0.0, 0.0), (1.0, 0.5), (0.25, 1.0))
    assert state.region_number == 7


@pytest.mark.parametrize(
    "region",
    [
        None,
        [],
        [7],
        [7, []],
        [7, [[0, 0], [1, 1]]],
        [-1, [[0, 0]] * 3],
        [7, [[0, 0, 0]] * 3],
        [7, [[0, "1"]] * 3],
        [7, [[0, float("nan")]] * 3],
        [7, [[0, True]] * 3],
        [7, [[0, 0]] * 257],
        [7, "abc"],
        {"a": 1},
    ],
)
def test_a_region_that_makes_no_sense_is_none(region: object) -> None:
    assert read_state({"region": region}, scene()) == LiveState()
