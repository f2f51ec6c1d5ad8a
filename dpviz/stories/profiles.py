"""Released centers in words: their outstanding features in the columns' real units, and a picture of all features.

A profile is a function of released values and of public ones (bounds, names, units, the middle of a map). The same
release from different records has the same profiles, and the public reads the same text as the curator.
"""

import math
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpviz.core import Box, Centers, FloatArray, immutable_value
from dpviz.core.limits import number
from dpviz.data.geography import TURN
from dpviz.plots import CLUSTERS, PUBLIC, Axis, Ink, Kind, Layer, Plot, Scene
from dpviz.plots.scene import Role
from dpviz.stories.view import Words
from dpviz.stories.wording import length_words

# Distance from the middle beyond which a value is high or low, as a share of a feature's public range: its outer
# thirds. Our choice.
FAR = 1.0 / 6.0
# Distance from the mean of the released centers, as a share of the range. Smaller distances do not count. Our choice.
APART = 0.05
# Share of the farthest center's distance from that mean, in a feature. Closer centers do not stand out in this feature.
# Our choice.
SHARE = 0.5
# Largest number of features in a sentence.
MOST_TOLD = 4
# Largest number of characters of a feature's name, or of a cluster's.
LONGEST_NAME = 40
# Number of steps in which a feature's range is written: 71 of 0 to 120 years.
STEPS = 100.0
BIG = ((1e9, "billion"), (1e6, "million"))
# Beyond these, a value is written with three digits.
MOST_DECIMALS, LARGEST = 6, 1e12
WINDS = ("east", "north-east", "north", "north-west", "west", "south-west", "south", "south-east")
OLDER = re.compile(r"\bages?\b|\balter\b|\byears? old\b")
# Names of counted things, because "few income" is not English.
MANY = re.compile(
    r"^(?:n|num|number of|count of)? ?((?:\w+ )?(?:visits|children|people|persons|rooms|bedrooms|bathrooms|beds|trips"
    r"|rides|orders|purchases|items|calls|clicks|reviews|guests|nights|days|hours|stays|passengers|patients|cars))$"
)
ON_AVERAGE = "Close to the average of the released centers."
IN_THE_MIDDLE = "Near the middle of the public bounds."
NO_PROFILE = (
    "These features are random mixes of the columns. The way back is not unique, so no profile is shown. "
    "Choose fewer columns instead of a projection to read the clusters in years, euros or places."
)
LEAST_HEIGHT, LANE_HEIGHT, AROUND_LANES = 170, 38, 90  # CSS pixels
# Room as a share of the axes' length. Half the height of an axis's ends as a share of a lane.
ROOM, END = 0.03, 0.1
WAYS = ("west to east", "south to north")
# Height of the axis, as a share of a lane: level with its name.
AXIS = 0.4
# Largest number of values that a pointer can read one by one.
MOST_MARKED = 600


@immutable_value
class RealValue:
    """One value of a released center in its column's own unit. Public."""

    name: str
    value: float
    # "" for none.
    unit: str
    # The value with its unit, to a hundredth of the public range.
    text: str


@immutable_value
class Profile:
    """A released center in words. Public."""

    # "cluster 1", or a name that a person gave.
    name: str
    # For example "Older (71 years), south-east, few visits (2)."
    sentence: str
    # (d,) in the columns' order. Places on a map are given as longitude and latitude.
    values: tuple[RealValue, ...]
    # Released size, with its noise. None if the method releases none.
    count: float | None
    # Index of the cluster's color.
    color: int

    @property
    def size(self) -> str:
        """The released size: "about 240", "" without one."""
        return "" if self.count is None else f"about {max(round(float(f'{self.count:.2g}')), 0):,}"


def profiles(
    centers: Centers, words: Words, counts: FloatArray | None = None, names: Sequence[str] = ()
) -> tuple[Profile, ...]:
    """Return the profiles of released centers (k, d), in the units of `words.box`, in their order.

    `counts` (k,) are released sizes. `names` are a person's names for the clusters, "" for no name. No center has a
    profile if features were projected at random; `NO_PROFILE` explains the reason.

    A center's profile names a feature if the center is at least half as far from the mean of the released centers as
    the farthest one. The feature is high or low if the center is in that outer third of the public range, else above
    or below the average. The profile names the place on a map unless the center is in the middle of the centers. If
    there is only one center, it is compared with the middle of the range.
    """
    k = len(centers)
    if words.projected or k == 0:
        return ()
    unit = _in_bounds(centers, words)
    # fsum is the same in every order of the centers.
    mean = np.array([math.fsum(column) / k for column in unit.T]) if k > 1 else np.full(words.box.d, 0.5)
    place = _map_axes(words)
    aspects: list[tuple[int, ...]] = [(i,) for i in range(words.box.d) if place is None or i not in place]
    aspects += [] if place is None else [place]
    # Distances (k,) from the mean, for each aspect.
    ways = [np.sqrt(((unit[:, list(axes)] - mean[list(axes)]) ** 2).sum(axis=1)) for axes in aspects]
    least = [
        FAR if k == 1 else APART if axes is place else max(APART, SHARE * float(way.max()))
        for axes, way in zip(aspects, ways, strict=True)
    ]
    values = real_values(centers, words)
    profiles = []
    for i in range(k):
        # Rounded, so that equal distances stay in the columns' order regardless of the last bit of a sum.
        found = sorted(
            (j for j in range(len(aspects)) if round(float(ways[j][i]), 9) >= round(least[j], 9)),
            key=lambda j: (-round(float(ways[j][i]), 9), aspects[j]),
        )
        parts = [_describe_feature(aspects[j], unit[i], mean, values[i], alone=k == 1) for j in found[:MOST_TOLD]]
        sentence = ", ".join(parts)
        nothing = IN_THE_MIDDLE if k == 1 else ON_AVERAGE
        name = shortened(names[i]) if i < len(names) else ""
        profiles.append(
            Profile(
                name or f"cluster {i + 1}",
                f"{sentence[:1].upper()}{sentence[1:]}." if sentence else nothing,
                values[i],
                None if counts is None else float(counts[i]),
                i,
            )
        )
    return tuple(profiles)


@immutable_value
class NamedPlace:
    """A name that a person gave to a cluster, and the place of its released center at that time."""

    name: str
    # (d,) of the released center, box units.
    place: tuple[float, ...]


def carried(named: Sequence[NamedPlace], unit: Centers) -> tuple[str, ...]:
    """Return the names of released centers (k, d), box units, "" for none: a name goes by place, never by number.

    It belongs to the nearest center, if that is nearer than a sixth of the diagonal; of two names the nearer one.
    """
    names, ways = [""] * len(unit), [FAR * math.sqrt(unit.shape[1])] * len(unit)
    for each in named if len(unit) else ():
        lengths = np.sqrt(((unit - np.array(each.place)) ** 2).sum(axis=1))
        nearest = int(lengths.argmin())
        if lengths[nearest] < ways[nearest]:
            names[nearest], ways[nearest] = each.name, float(lengths[nearest])
    return tuple(names)


def _bounds(words: Words) -> Box:
    """Return the public bounds of the features in their own units."""
    return words.box if words.scale is None else words.scale.before


def _own(centers: Centers, words: Words) -> Centers:
    """Return centers (k, d) in the features' own units."""
    return np.asarray(centers, dtype=np.float64) if words.scale is None else words.scale.back(centers)


def _in_bounds(centers: Centers, words: Words) -> Centers:
    """Scale centers (k, d) so that each feature's public bounds are 0 and 1."""
    return _bounds(words).to_unit(_own(centers, words))


def _map_axes(words: Words) -> tuple[int, int] | None:
    """Return the features that point east and north, None without a map."""
    if words.map_place is not None:
        return words.map_place.axes
    return None if words.ground is None else (0, 1)


def _describe_feature(
    axes: tuple[int, ...], unit: FloatArray, mean: FloatArray, values: Sequence[RealValue], *, alone: bool
) -> str:
    """Return one feature of a center, or its place on a map, in words."""
    columns = list(axes)
    off, apart = unit[columns] - 0.5, unit[columns] - mean[columns]
    outer = round(float(np.sqrt((off**2).sum())), 9) >= round(FAR, 9) and float((off * apart).sum()) > 0.0
    if len(axes) > 1:
        return _wind(off) if outer or alone else f"{_wind(apart)} of the average"
    value = values[axes[0]]
    name, high = spelled(value.name), bool(apart[0] > 0.0)
    if OLDER.search(name):
        phrase = "older" if high else "younger"
    elif many := MANY.search(name):
        phrase = (
            f"{'many' if high else 'few'} {many[1]}"
            if outer
            else f"{'more' if high else 'fewer'} {many[1]} than average"
        )
    elif outer:
        phrase = f"{'high' if high else 'low'} {name}"
    else:
        phrase = f"{'above' if high else 'below'}-average {name}"
    return f"{phrase} ({value.text})"


def _wind(way: FloatArray) -> str:
    """Return the compass direction of an offset to the east and north."""
    return WINDS[round(math.atan2(float(way[1]), float(way[0])) / (math.pi / 4.0)) % 8]


def spelled(name: str) -> str:
    """Return a column's name as words of a sentence: "visits_per_year" is "visits per year"."""
    words = re.sub(r"[_\s]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z][a-z])", " ", name)).split()
    return shortened(" ".join(each if each.isupper() else each.lower() for each in words)) or "feature"


def shortened(name: str) -> str:
    """Return a name in one line of at most `LONGEST_NAME` printable characters."""
    line = " ".join("".join(each if each.isprintable() else " " for each in name).split())
    return line if len(line) <= LONGEST_NAME else f"{line[: LONGEST_NAME - 1]}…"


def real_values(centers: Centers, words: Words) -> tuple[tuple[RealValue, ...], ...]:
    """Convert centers (k, d) from the units of `words.box` to the columns' own, by public scales and maps.

    Places on a map become longitude and latitude instead of distances east and north.
    """
    box, place = _bounds(words), words.map_place
    values, widths = _own(centers, words).copy(), box.widths.copy()
    names, units_said = list(words.feature_names), list(words.own_units)
    if place is not None:
        east, north = place.axes
        degrees = place.to_degrees(values[:, [east, north]])
        corners = np.array([box.low[[east, north]], box.high[[east, north]]])
        span = np.abs(np.diff(place.to_degrees(corners), axis=0))[0]
        values[:, north] = degrees[:, 0]
        # From -180 to 180.
        values[:, east] = degrees[:, 1] - TURN * np.round(degrees[:, 1] / TURN)
        widths[north], widths[east] = span
        names[east], names[north] = "longitude", "latitude"
        units_said[east] = units_said[north] = "°"
    return tuple(
        tuple(
            RealValue(name, float(value) + 0.0, unit_word, value_text(float(value), float(width), unit_word))
            for name, value, unit_word, width in zip(names, row, units_said, widths, strict=True)
        )
        for row in values
    )


def bounds_words(low: float, high: float, unit: str = "") -> str:
    """Write the public bounds of a feature with all of their digits, as they were typed."""
    return f"{low:,.10g} to {high:,.10g}{f' {unit}' if unit else ''}"


def value_text(value: float, width: float, unit: str = "") -> str:
    """Write a value of a feature whose public range is `width` wide, to about a hundredth of it, with its unit.

    Commas separate thousands only from 10,000 on, so a year is written 2013.
    """
    decimals = round(-math.log10(width / STEPS))
    if decimals > MOST_DECIMALS or not abs(value) < LARGEST:
        text = number(value)
    else:
        for scale, word in BIG:
            if abs(value) >= scale:
                value, decimals, unit = value / scale, decimals + round(math.log10(scale)), f"{word} {unit}".strip()
                break
        rounded = round(value, decimals) + 0.0
        text = f"{rounded:{',' if abs(rounded) >= 10_000 else ''}.{max(decimals, 0)}f}"
        text = text.rstrip("0").rstrip(".") if decimals > 0 else text
    return f"{text}{'' if unit in ('°', '%') else ' '}{unit}" if unit else text


def profile_chart(profiles: Sequence[Profile], centers: Centers, words: Words) -> Scene:
    """Return parallel coordinates of released centers (k, d): an axis for each feature, from bound to public bound.

    One line for each cluster, in its color; everyone sees all of it.
    """
    k, d = len(profiles), words.box.d
    unit = _in_bounds(centers, words)
    # The first feature is on top.
    lanes = np.arange(d)[::-1] + AXIS
    xy = np.stack([unit, np.broadcast_to(lanes, unit.shape)], axis=-1)  # (k, d, 2)
    axes = np.column_stack([np.zeros(d), lanes, np.ones(d), lanes])
    ends = np.concatenate([[[x, y - END, x, y + END] for x in (0.0, 1.0)] for y in lanes])
    bounds = PUBLIC if words.box_public else Ink(Role.VIOLATION, PUBLIC.audience)
    name = "public bounds" if words.box_public else "bounds from the data"
    layers = [
        Layer.from_arrays(name, Kind.SEGMENTS, bounds, np.concatenate([axes, ends])[None], size=1.5),
        Layer.from_arrays("released center", Kind.LINES, CLUSTERS, xy[None], size=2.0, isolate=True),
    ]
    if 0 < k * d <= MOST_MARKED:
        group = np.repeat(np.arange(k, dtype=np.uint8), d)[None]
        read = tuple(f"{one.name}: {spelled(each.name)} {each.text}" for one in profiles for each in one.values)
        arrays: dict[str, NDArray[np.generic]] = {"xy": xy.reshape(1, -1, 2), "group": group}
        layers.append(Layer.from_arrays("value", Kind.MARKS, CLUSTERS, arrays, size=9.0, names=read, legend=False))
    box, place = _bounds(words), _map_axes(words)
    # Each feature with its public bounds, in the columns' own units.
    lane_names = []
    for i, (feature, measure) in enumerate(zip(words.feature_names, words.own_units, strict=True)):
        if place is not None and i in place:
            lane_names.append(f"{WAYS[place.index(i)]} ({length_words(float(box.widths[i]), measure)})")
        else:
            extent = bounds_words(float(box.low[i]), float(box.high[i]), measure)
            lane_names.append(f"{spelled(feature)} ({extent})")
    low, high = float(unit.min(initial=0.0)), float(unit.max(initial=1.0))
    # For example "cluster 1: older (71 years), south-east; about 240 people".
    legend = []
    for one in profiles:
        line = f"{one.name}: {one.sentence[:1].lower()}{one.sentence[1:].removesuffix('.')}"
        legend.append(f"{line}; {one.size} {words.nouns.record[1]}" if one.size else line)
    return Plot(
        title="Profiles of the clusters",
        alt="Parallel coordinates of the released centers. "
        + " ".join(f"{one.name}: {one.sentence}" for one in profiles),
        caption="One line for each released center; each axis runs from one public bound to the other.",
        x=Axis("", view=(low - ROOM, high + ROOM), ticks=False),
        y=Axis("", view=(0.0, float(d)), names=tuple(reversed(lane_names))),
        layers=tuple(layers),
        group_names=tuple(legend),
    )


def chart_height(d: int) -> int:
    """Return the height of a picture of d features, CSS pixels."""
    return max(LEAST_HEIGHT, AROUND_LANES + LANE_HEIGHT * d)
