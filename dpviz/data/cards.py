"""What the gallery shows of each set before it is loaded: a small picture, its size, its box, and a line about it.

Cards are made offline, so that a page neither loads nor draws twenty sets: after a change to a set, write them again
with `python -m dpviz.data.cards`. A test compares the file with the sets.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache

import numpy as np

from dpviz.assets import FOLDER as ASSETS
from dpviz.core import FloatArray
from dpviz.core.geometry import CLUSTERS_DARK, CLUSTERS_LIGHT
from dpviz.data.dataset import Dataset
from dpviz.data.gallery import DATASETS, load, size_limits

FILE = ASSETS / "gallery.json"
WIDTH, HEIGHT, MARGIN = 160, 100, 7  # of a thumbnail, in its own units
N_DRAWN = 240  # records, drawn with seed 0
DOT = 3.2
MOST_UNITS = 3  # that a card lists

# The picture follows the theme of the page that holds it; records without a class are gray.
LIGHT, DARK = (*CLUSTERS_LIGHT, "#737984"), (*CLUSTERS_DARK, "#a3aab5")
NO_CLASS = len(LIGHT) - 1
COLOUR_STEP = 0x11  # a pixel's color is kept to one hex digit for each channel


@dataclass(frozen=True, slots=True)
class Card:
    """Public words about a set, and its thumbnail. The sets are examples: nothing in them is anybody's secret here."""

    title: str
    size: str
    units: str
    box: str
    bounds_note: str
    note: str
    thumbnail: str  # an SVG


@cache
def cards() -> Mapping[str, Card]:
    """Return the cards by the sets' names, as the file has them; a set may be missing."""
    written: dict[str, dict[str, str]] = json.loads(FILE.read_text("utf-8"))
    return {name: Card(**card) for name, card in written.items()}


def title(name: str) -> str:
    """Return what the set `name` is called; without a card its name has to do."""
    card = cards().get(name)
    return card.title if card else name.replace("_", " ").capitalize()


def make_card(name: str) -> Card:
    """Make the card of the set `name`."""
    limits, whole = size_limits(name), load(name)
    records = f"{limits.default:,} records" + ("" if limits.maximum == limits.default else " or another number")
    return Card(
        whole.title,
        f"{records}, {whole.d} feature{'' if whole.d == 1 else 's'}",
        _units(whole),
        _box(whole),
        whole.bounds_note,
        whole.note,
        thumbnail(name),
    )


def thumbnail(name: str) -> str:
    """Draw records of the set `name` in its box over two features, colored by class or, of an image, by pixel."""
    sample = load(name, n=min(N_DRAWN, size_limits(name).default))
    unit = sample.box.to_unit(sample.points)[:, :2]
    x = MARGIN + unit[:, 0] * (WIDTH - 2 * MARGIN)
    y = HEIGHT - MARGIN - (unit[:, 1] if sample.d > 1 else 0.5) * (HEIGHT - 2 * MARGIN)
    places = np.column_stack([x, y])
    dark = "".join(f".c{i}{{stroke:{colour}}}" for i, colour in enumerate(DARK))
    light = "".join(f".c{i}{{stroke:{colour}}}" for i, colour in enumerate(LIGHT))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" fill="none" stroke-linecap="round" '
        f'stroke-width="{DOT}"><style>{light}@media (prefers-color-scheme:dark){{{dark}}}</style>'
        f"{''.join(_dots(sample, places, load(name).image is not None))}</svg>"
    )


def _dots(sample: Dataset, places: FloatArray, is_image: bool) -> Iterator[str]:
    """Yield one path for each class or color, a dot for each of `places` (n, 2)."""
    if is_image:
        digits = np.rint(sample.points / COLOUR_STEP).astype(int)  # (n, 3), one hex digit each
        for colour in np.unique(digits, axis=0):
            here = (digits == colour).all(axis=1)
            yield f'<path stroke="#{"".join(f"{digit:x}" for digit in colour)}" d="{_path(places[here])}"/>'
        return
    classes = np.full(sample.n, NO_CLASS) if sample.labels is None else sample.labels % NO_CLASS
    for one in np.unique(classes):
        yield f'<path class="c{one}" d="{_path(places[classes == one])}"/>'


def _path(places: FloatArray) -> str:
    return "".join(f"M{x:.1f} {y:.1f}h0" for x, y in places)


def _units(dataset: Dataset) -> str:
    found = list(dict.fromkeys(unit for unit in dataset.units if unit))
    if not found:
        return "no units"
    rest = len(found) - MOST_UNITS
    return ", ".join(found[:MOST_UNITS]) + (f" and {rest} more" if rest > 0 else "")


def _box(dataset: Dataset) -> str:
    """Write the bounds of the first two features, or of all where they are the same."""
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
    made = {name: asdict(make_card(name)) for name in DATASETS}
    FILE.write_text(json.dumps(made, ensure_ascii=False, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    write()
