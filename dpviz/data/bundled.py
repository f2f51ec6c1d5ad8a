"""Real records that ship with scikit-learn or Plotly, each with a public box that is written by hand.

The bounds in `assets/bundled.toml` are our choice: the possible range of each measurement, rounded outward to friendly
numbers. Records are clipped into them, and no bound is computed from the records.
"""

import tomllib
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpviz.assets import text
from dpviz.core import Box, FloatArray
from dpviz.data.dataset import N_CHANNELS, NEUTRAL, Dataset, Image, Nouns
from dpviz.data.table import read_table

# Our choice: every fourth row and column of the photograph's 427 x 640 pixels.
PIXEL_STRIDE = 4
# ceil(427 / 4).
IMAGE_HEIGHT = 107
IMAGE_WIDTH = 160


# Pixels of a scanned digit along each side.
DIGIT_SIDE = 8
# Pixels added up along each side: 16 features of ink, because most of the 64 pixels are blank.
BLOCK = 2
BLOCKS = DIGIT_SIDE // BLOCK
# From the middle outward, an order that uses no records: the corners of nearly every digit are blank.
DIGIT_ORDER = (5, 6, 9, 10, 1, 2, 4, 7, 8, 11, 13, 14, 0, 3, 12, 15)
# scikit-learn's order, except that sex is last, because two bars would make a poor first picture.
DIABETES_ORDER = (0, 2, 3, 4, 5, 6, 7, 8, 9, 1)
OUTWARD = "The possible range of such a measurement, rounded outward by hand."
# Title, note, features with public bounds, and nouns of each set.
_WRITTEN = tomllib.loads(text("bundled.toml"))


def iris() -> Dataset:
    """Return 150 iris flowers, 4 lengths in cm, 3 species (Fisher 1936)."""
    return _dataset("iris", *_from_sklearn("iris"))


def breast_cancer() -> Dataset:
    """Return 569 tumor samples, 30 measures of their cell nuclei, 2 diagnoses (Wolberg, Street, Mangasarian 1993)."""
    return _dataset("breast_cancer", *_from_sklearn("breast_cancer"))


def wine() -> Dataset:
    """Return 178 Italian wines, 13 chemical measures, 3 cultivars (Forina et al. 1991)."""
    return _dataset("wine", *_from_sklearn("wine"))


def digits() -> Dataset:
    """Return 1797 handwritten digits, the ink in 4 x 4 blocks of their 8 x 8 pixels, 10 classes (Alpaydin 1998)."""
    values, classes = _from_sklearn("digits")  # (n, 64), row by row
    blocks = values.reshape(-1, BLOCKS, BLOCK, BLOCKS, BLOCK).sum(axis=(2, 4)).reshape(-1, BLOCKS**2)
    return _dataset("digits", blocks[:, DIGIT_ORDER], classes)


def diabetes() -> Dataset:
    """Return 442 patients, age, sex and 8 measures, without classes (Efron et al. 2004)."""
    values, _ = _from_sklearn("diabetes", scaled=False)
    return _dataset("diabetes", values[:, DIABETES_ORDER])


def gapminder() -> Dataset:
    """Return 142 countries in 12 years, wealth, health and size, 5 continents (Gapminder, through Plotly)."""
    return _from_plotly("gapminder", ("gdpPercap", "lifeExp", "pop"), "continent")


def carshare() -> Dataset:
    """Return 249 places in Montreal where shared cars parked, for how long, and their busiest hour (from Plotly)."""
    return _from_plotly("carshare", ("centroid_lon", "centroid_lat", "car_hours", "peak_hour"))


def image() -> Dataset:
    """Return the colors of every fourth pixel along each axis of scikit-learn's china.jpg, and the image."""
    return _photograph("china")


def flower() -> Dataset:
    """Return the colors of every fourth pixel along each axis of scikit-learn's flower.jpg, and the image."""
    return _photograph("flower")


def _from_sklearn(name: str, **options: bool) -> tuple[FloatArray, NDArray[np.integer]]:
    # Loading scikit-learn takes a second, which synthetic sets do not need.
    import sklearn.datasets  # type: ignore[import-untyped]  # scikit-learn ships no types

    values, classes = getattr(sklearn.datasets, f"load_{name}")(return_X_y=True, **options)
    return values, classes


def _photograph(name: str) -> Dataset:
    from sklearn.datasets import load_sample_image

    pixels: NDArray[np.uint8] = load_sample_image(f"{name}.jpg")  # (427, 640, 3)
    colors = np.ascontiguousarray(pixels[::PIXEL_STRIDE, ::PIXEL_STRIDE])
    values = colors.reshape(-1, N_CHANNELS).astype(np.float64)
    return _dataset(name, values, image=Image(IMAGE_HEIGHT, IMAGE_WIDTH, colors))


def _from_plotly(name: str, columns: tuple[str, ...], label: str | None = None) -> Dataset:
    """Read `columns` of a table inside the package Plotly, without importing the package."""
    plotly = find_spec("plotly")
    if plotly is None or plotly.origin is None:
        raise ValueError(f"The set {name} comes with Plotly, which is not installed. Install it: pip install plotly")
    table = read_table(Path(plotly.origin).parent / "package_data" / "datasets" / f"{name}.csv.gz")
    records = table.dataset(columns, label, Box([-1e12] * len(columns), [1e12] * len(columns)))
    return _dataset(name, records.points, records.labels)


def _dataset(
    name: str, values: FloatArray, classes: NDArray[np.integer] | None = None, image: Image | None = None
) -> Dataset:
    """Clip `values` (n, d) into the box that is written for the set `name`."""
    written = _WRITTEN[name]
    names, lows, highs, *_ = zip(*written["features"], strict=False)
    box = Box(lows, highs)
    return Dataset(
        box.clip(values),
        None if classes is None else classes.astype(np.intp),
        box,
        names,
        written["title"],
        units=tuple("".join(unit) for _, _, _, *unit in written["features"]),
        note=written["note"],
        bounds_note=written.get("bounds_note", OUTWARD),
        image=image,
        nouns=Nouns(record=tuple(written.get("record", NEUTRAL.record))),
    )
