"""Cards of the gallery: for each set a small picture, its size, its box, and a line about it.

They are computed offline, so that a page neither loads nor draws twenty sets. After a change to a set, write them again
with `python -m dpviz.data.cards`. A test compares the file with the sets.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache

import numpy as np

from dpviz.assets import FOLDER as ASSETS
from dpviz.assets import LOOK
from dpviz.core import immutable_value
from dpviz.data.dataset import Dataset
from dpviz.data.gallery import DATASETS, load, size_limits

FILE = ASSETS / "gallery.json"
# Size of a thumbnail, in its own units.
WIDTH, HEIGHT, MARGIN = 160, 100, 7
# Records drawn with seed 0.
N_DRAWN = 240
DOT = 3.2
# Maximum number of units in a card.
MOST_UNITS = 3

# The picture follows the theme of its page. Records without a class are gray.
LIGHT, DARK = ((*theme["clusters"], theme["exact"]) for theme in LOOK["themes"].values())
NO_CLASS = len(LIGHT) - 1
# A pixel's color is rounded to one hex digit per channel.
COLOR_STEP = 0x11


@immutable_value
class Card:
    """Public text about a set, and its thumbnail. The sets are examples, so nothing in them is secret here."""

    title: str
    size: str
    units: str
    box: str
    bounds_note: str
    note: str
    # SVG.
    thumbnail: str


@cache
def cards() -> Mapping[str, Card]:
    """Return the cards in the file by the sets' names; a set may be missing."""
    written: dict[str, dict[str, str]] = json.loads(FILE.read_text("utf-8"))
    return {name: Card(**card) for name, card in written.items()}


def title(name: str) -> str:
    """Return the title of the set `name`, or the name itself if there is no card."""
    card = cards().get(name)
    return card.title if card else name.replace("_", " ").capitalize()


def make_card(name: str) -> Card:
    """Make the card of the set `name`."""
    limits, whole = size_limits(name), load(name)
    named = list(dict.fromkeys(unit for unit in whole.units if unit))
    rest = len(named) - MOST_UNITS
    units = ", ".join(named[:MOST_UNITS]) + (f" and {rest} more" if rest > 0 else "") if named else "no units"
    records = f"{limits.default:,} records" + ("" if limits.maximum == limits.default else " or another number")
    return Card(
        whole.title,
        f"{records}, {whole.d} feature{'' if whole.d == 1 else 's'}",
        units,
        _box(whole),
        whole.bounds_note,
        whole.note,
        thumbnail(name),
    )


def thumbnail(name: str) -> str:
    """Draw records of the set `name` in its box over two features, colored by class or, for an image, by pixel."""
    sample = load(name, n=min(N_DRAWN, size_limits(name).default))
    unit = sample.box.to_unit(sample.points)[:, :2]
    x = MARGIN + unit[:, 0] * (WIDTH - 2 * MARGIN)
    y = HEIGHT - MARGIN - (unit[:, 1] if sample.d > 1 else 0.5) * (HEIGHT - 2 * MARGIN)
    places = np.column_stack([x, y])
    if load(name).image is not None:
        groups = np.rint(sample.points / COLOR_STEP).astype(int)  # (n, 3), one hex digit each
        looks = [f'stroke="#{"".join(f"{digit:x}" for digit in color)}"' for color in np.unique(groups, axis=0)]
    else:
        groups = (np.full(sample.n, NO_CLASS) if sample.labels is None else sample.labels % NO_CLASS)[:, None]
        looks = [f'class="c{one}"' for one in np.unique(groups)]
    # One path for each class or color.
    dots = ""
    for look, group in zip(looks, np.unique(groups, axis=0), strict=True):
        here = places[(groups == group).all(axis=1)]
        dots += f'<path {look} d="{"".join(f"M{x:.1f} {y:.1f}h0" for x, y in here)}"/>'
    dark = "".join(f".c{i}{{stroke:{color}}}" for i, color in enumerate(DARK))
    light = "".join(f".c{i}{{stroke:{color}}}" for i, color in enumerate(LIGHT))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" fill="none" stroke-linecap="round" '
        f'stroke-width="{DOT}"><style>{light}@media (prefers-color-scheme:dark){{{dark}}}</style>{dots}</svg>'
    )


def _box(dataset: Dataset) -> str:
    """Write the bounds of the first two features, or of all features if they are the same."""
    low, high, units = dataset.box.low, dataset.box.high, dataset.units
    if len({*zip(low.tolist(), high.tolist(), units, strict=True)}) == 1 and dataset.d > 1:
        return f"every feature {_range(low[0], high[0], units[0])}"
    sides = [
        f"{name} {_range(low[i], high[i], units[i])}"
        for i, name in enumerate(dataset.feature_names)
        if i < MOST_UNITS - 1
    ]
    return ", ".join(sides) + (", …" if dataset.d > len(sides) else "")


def _range(low: float, high: float, unit: str) -> str:
    return f"{low:,.6g} to {high:,.6g}{f' {unit}' if unit else ''}"


def write() -> None:
    """Write the cards of all sets to FILE."""
    rows = {name: asdict(make_card(name)) for name in DATASETS}
    FILE.write_text(json.dumps(rows, ensure_ascii=False, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    write()
