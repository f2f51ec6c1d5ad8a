"""A made-up city in metres: districts, scattered houses, and a river where nobody lives."""

import math
from dataclasses import dataclass

import numpy as np

from dpviz.core import Box, FloatArray, Labels, Points, algebra, functions
from dpviz.data.dataset import Dataset

SIDE = 10_000.0  # m
CITY_BOX = Box.cube(0.0, SIDE, 2)

RIVER_MIDDLE = 4_700.0  # m, northing at mid-map
RIVER_SWING = 650.0  # m
RIVER_HALF_WIDTH = 280.0  # m
SCATTERED_SHARE = 0.08  # records that live outside every district


@dataclass(frozen=True, slots=True)
class District:
    """A Gaussian cloud of homes; lengths in metres, the angle in degrees from east, counter-clockwise."""

    east: float
    north: float
    sigma_along: float
    sigma_across: float
    angle: float
    share: float  # of the records that live in districts


# Ours. The shares add up to 1.
DISTRICTS = (
    District(4_600, 6_900, 560, 430, 15, 0.26),  # old town
    District(7_700, 7_400, 700, 400, -30, 0.18),  # station
    District(1_600, 7_500, 380, 700, 10, 0.14),  # harbour
    District(2_300, 2_300, 520, 480, 0, 0.17),  # university
    District(5_500, 2_500, 700, 360, 35, 0.15),  # market
    District(8_400, 2_400, 480, 420, -20, 0.10),  # garden suburb
)


@dataclass(frozen=True, slots=True)
class CityKnobs:
    """The map is fixed: there is nothing to move."""


def river_middle(east: FloatArray) -> FloatArray:
    """Return the northing (n,) of the river's middle at each easting (n,), in metres."""
    return RIVER_MIDDLE + RIVER_SWING * functions.sin(2 * np.pi * east / SIDE + 0.6) + 0.05 * (east - SIDE / 2)


def city(n: int, knobs: CityKnobs, *, rng: np.random.Generator) -> Dataset:  # noqa: ARG001  (one shape for all sets)
    """Draw `n` homes in [0, 10000]^2 metres; label i is district i, the last label the scattered homes.

    Homes that fall into the river or off the map are drawn again, so that neither bank nor wall is crowded.
    """
    points, labels = np.empty((0, 2)), np.empty(0, dtype=np.intp)
    while len(points) < n:
        more, more_labels = _homes(n - len(points), rng=rng)
        dry = np.abs(more[:, 1] - river_middle(more[:, 0])) > RIVER_HALF_WIDTH
        keep = dry & ((more >= CITY_BOX.low) & (more <= CITY_BOX.high)).all(axis=1)
        points, labels = np.vstack([points, more[keep]]), np.concatenate([labels, more_labels[keep]])
    return Dataset(
        points,
        labels,
        CITY_BOX,
        ("east", "north"),
        "City",
        units=("m", "m"),
        note="Homes along a river: places need noise in meters, and noise can put people into the water.",
        bounds_note="The edge of the map.",
    )


def _homes(n: int, *, rng: np.random.Generator) -> tuple[Points, Labels]:
    """Draw `n` homes (n, 2) before the river, and their district (n,)."""
    shares = np.array([(1 - SCATTERED_SHARE) * district.share for district in DISTRICTS] + [SCATTERED_SHARE])
    labels = rng.choice(len(shares), size=n, p=shares / shares.sum()).astype(np.intp)
    noise = rng.standard_normal((n, 2))
    points = rng.uniform(0.0, SIDE, size=(n, 2))
    for label, district in enumerate(DISTRICTS):
        here = labels == label
        turn = np.deg2rad(district.angle)
        axes = np.array([[math.cos(turn), math.sin(turn)], [-math.sin(turn), math.cos(turn)]])  # rows: along, across
        sigmas = np.array([district.sigma_along, district.sigma_across])
        points[here] = np.array([district.east, district.north]) + algebra.product(noise[here] * sigmas, axes)
    return points, labels
