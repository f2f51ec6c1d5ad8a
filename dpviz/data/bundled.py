"""Real records that ship with scikit-learn or Plotly, each with a public box written down here by hand.

The bounds are our choice: the possible range of each measurement, rounded outwards to friendly numbers. Records are
clipped into them, and no bound is computed from the records.
"""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpviz.core import Box, FloatArray
from dpviz.data.dataset import N_CHANNELS, NEUTRAL, Dataset, Image, Nouns
from dpviz.data.table import read_table

N_IRIS = 150
N_BREAST_CANCER = 569
N_WINE = 178
N_DIGITS = 1_797
N_DIABETES = 442
N_GAPMINDER = 1_704
N_CARSHARE = 249
# Our choice: every fourth row and column of the photograph's 427 x 640 pixels.
PIXEL_STRIDE = 4
# ceil(427 / 4).
IMAGE_HEIGHT = 107
IMAGE_WIDTH = 160
BRIGHTEST = 255.0


@dataclass(frozen=True, slots=True)
class Feature:
    """One measured quantity with its public range."""

    name: str
    low: float
    high: float
    unit: str = ""


# Possible lengths of garden iris flowers, with room to spare.
IRIS_FEATURES = (
    Feature("sepal length", 3.0, 9.0, "cm"),
    Feature("sepal width", 1.0, 5.0, "cm"),
    Feature("petal length", 0.0, 8.0, "cm"),
    Feature("petal width", 0.0, 3.0, "cm"),
)


@dataclass(frozen=True, slots=True)
class NucleusMeasure:
    """A measure of cell nuclei and the largest value of its three columns; each starts at 0."""

    name: str
    highest_mean: float
    highest_error: float
    highest_worst: float


# Lengths and areas are in scanner pixels, the other measures are ratios. No length can be below 0.
NUCLEUS_MEASURES = (
    NucleusMeasure("radius", 40.0, 5.0, 50.0),
    NucleusMeasure("texture", 50.0, 6.0, 60.0),
    NucleusMeasure("perimeter", 250.0, 30.0, 300.0),
    NucleusMeasure("area", 3_000.0, 600.0, 5_000.0),
    NucleusMeasure("smoothness", 0.25, 0.05, 0.3),
    NucleusMeasure("compactness", 0.5, 0.2, 1.5),
    NucleusMeasure("concavity", 0.5, 0.5, 1.5),
    NucleusMeasure("concave points", 0.25, 0.1, 0.4),
    NucleusMeasure("symmetry", 0.5, 0.1, 0.8),
    NucleusMeasure("fractal dimension", 0.15, 0.05, 0.25),
)
BREAST_CANCER_FEATURES = (
    *(Feature(f"mean {measure.name}", 0.0, measure.highest_mean) for measure in NUCLEUS_MEASURES),
    *(Feature(f"{measure.name} error", 0.0, measure.highest_error) for measure in NUCLEUS_MEASURES),
    *(Feature(f"worst {measure.name}", 0.0, measure.highest_worst) for measure in NUCLEUS_MEASURES),
)
# Possible contents of wines. Indices and optical densities have no unit.
WINE_FEATURES = (
    Feature("alcohol", 8.0, 16.0, "%"),
    Feature("malic acid", 0.0, 8.0, "g/L"),
    Feature("ash", 0.0, 5.0, "g/L"),
    Feature("alcalinity of ash", 0.0, 40.0),
    Feature("magnesium", 0.0, 250.0, "mg/L"),
    Feature("total phenols", 0.0, 6.0),
    Feature("flavanoids", 0.0, 8.0),
    Feature("nonflavanoid phenols", 0.0, 1.0),
    Feature("proanthocyanins", 0.0, 5.0),
    Feature("color intensity", 0.0, 20.0),
    Feature("hue", 0.0, 2.5),
    Feature("od280/od315 of diluted wines", 0.0, 5.0),
    Feature("proline", 0.0, 2_500.0, "mg/L"),
)
# Pixels of a scanned digit along each side.
DIGIT_SIDE = 8
# Pixels added up along each side: 16 features of ink, because most of the 64 pixels are blank.
BLOCK = 2
BLOCKS = DIGIT_SIDE // BLOCK
# A pixel counts from 0 to 16.
MOST_INK = 16.0 * BLOCK**2
# From the middle outward, an order that uses no records: the corners of nearly every digit are blank.
DIGIT_ORDER = (5, 6, 9, 10, 1, 2, 4, 7, 8, 11, 13, 14, 0, 3, 12, 15)
DIGIT_FEATURES = tuple(Feature(f"ink {i // BLOCKS + 1}.{i % BLOCKS + 1}", 0.0, MOST_INK) for i in DIGIT_ORDER)
# scikit-learn's order, except that sex is last: two bars make a poor first picture.
DIABETES_ORDER = (0, 2, 3, 4, 5, 6, 7, 8, 9, 1)
DIABETES_FEATURES = (
    Feature("age", 0.0, 100.0, "years"),
    Feature("body mass index", 10.0, 60.0, "kg/m²"),
    Feature("blood pressure", 40.0, 160.0, "mmHg"),
    Feature("total cholesterol", 50.0, 400.0, "mg/dL"),
    Feature("LDL", 0.0, 300.0, "mg/dL"),
    Feature("HDL", 0.0, 150.0, "mg/dL"),
    Feature("cholesterol over HDL", 0.0, 15.0),
    Feature("log triglycerides", 2.0, 8.0),
    Feature("blood sugar", 40.0, 300.0, "mg/dL"),
    Feature("sex", 0.0, 3.0),
)
GAPMINDER_COLUMNS = ("gdpPercap", "lifeExp", "pop")
GAPMINDER_FEATURES = (
    Feature("GDP per person", 0.0, 120_000.0, "$"),
    Feature("life expectancy", 0.0, 100.0, "years"),
    Feature("population", 0.0, 2e9, "people"),
)
CARSHARE_COLUMNS = ("centroid_lon", "centroid_lat", "car_hours", "peak_hour")
# Montreal and the water around it.
CARSHARE_FEATURES = (
    Feature("longitude", -74.0, -73.4, "°"),
    Feature("latitude", 45.35, 45.75, "°"),
    Feature("car hours", 0.0, 5_000.0, "h"),
    Feature("peak hour", 0.0, 24.0, "h"),
)
OUTWARD = "What such a measurement can be, rounded outward by hand."
OF_ITS_KIND = "All that the file can hold."
COLOR_FEATURES = tuple(Feature(name, 0.0, BRIGHTEST) for name in ("red", "green", "blue"))


# Names of the records, if they are not persons.
RECORDS = {
    "Iris flowers": ("flower", "flowers"),
    "Wine": ("wine", "wines"),
    "Digits": ("image", "images"),
    "Gapminder": ("country in one year", "countries in one year"),
    "Car sharing": ("place", "places"),
}
PIXELS = ("pixel", "pixels")


def iris() -> Dataset:
    """Return 150 iris flowers, 4 lengths in cm, 3 species (Fisher 1936)."""
    note = "Only 150 records: noise that thousands would hide is plain to see."
    return _dataset(*_from_sklearn("iris"), IRIS_FEATURES, "Iris flowers", note)


def breast_cancer() -> Dataset:
    """Return 569 tumor samples, 30 measures of their cell nuclei, 2 diagnoses (Wolberg, Street, Mangasarian 1993)."""
    note = "Thirty features share one budget, and ranges from 0.05 to 5000 punish a method that does not rescale."
    return _dataset(*_from_sklearn("breast_cancer"), BREAST_CANCER_FEATURES, "Breast cancer", note)


def wine() -> Dataset:
    """Return 178 Italian wines, 13 chemical measures, 3 cultivars (Forina et al. 1991)."""
    note = "Thirteen measures of 178 wines: too few records to pay for so many features."
    return _dataset(*_from_sklearn("wine"), WINE_FEATURES, "Wine", note)


def digits() -> Dataset:
    """Return 1797 handwritten digits, the ink in 4 x 4 blocks of their 8 x 8 pixels, 10 classes (Alpaydin 1998)."""
    values, classes = _from_sklearn("digits")  # (n, 64), row by row
    blocks = values.reshape(-1, BLOCKS, BLOCK, BLOCKS, BLOCK).sum(axis=(2, 4)).reshape(-1, BLOCKS**2)
    return _dataset(
        blocks[:, DIGIT_ORDER],
        classes,
        DIGIT_FEATURES,
        "Digits",
        "Ten classes in sixteen features: no two features show them, all together do.",
        bounds_note=OF_ITS_KIND,
    )


def diabetes() -> Dataset:
    """Return 442 patients, age, sex and 8 measures, without classes (Efron et al. 2004)."""
    values, _ = _from_sklearn("diabetes", scaled=False)
    return _dataset(
        values[:, DIABETES_ORDER],
        None,
        DIABETES_FEATURES,
        "Diabetes",
        "One cloud of patients without clusters, where a promise to each of them matters.",
    )


def gapminder() -> Dataset:
    """Return 142 countries in 12 years, wealth, health and size, 5 continents (Gapminder, by way of Plotly)."""
    return _from_plotly(
        "gapminder",
        GAPMINDER_COLUMNS,
        "continent",
        GAPMINDER_FEATURES,
        "Gapminder",
        "Each country is twelve records, so that a promise to one record protects one year of a country.",
    )


def carshare() -> Dataset:
    """Return 249 places in Montreal where shared cars parked, for how long, and their busiest hour (from Plotly)."""
    return _from_plotly(
        "carshare",
        CARSHARE_COLUMNS,
        None,
        CARSHARE_FEATURES,
        "Car sharing",
        "Few places in a wide box: noise carries them off the streets.",
    )


def photograph() -> Dataset:
    """Return the colors of every fourth pixel each way of scikit-learn's china.jpg, with the image to recolor."""
    return _photograph(
        "china.jpg", "Colors of a photograph", "Centers become a palette, so that error can be seen as wrong colors."
    )


def flower() -> Dataset:
    """Return the colors of every fourth pixel each way of scikit-learn's flower.jpg, with the image to recolor."""
    return _photograph(
        "flower.jpg", "Colors of a flower", "One bright color is rare: a private palette may lose the flower."
    )


def _from_sklearn(name: str, **options: bool) -> tuple[FloatArray, NDArray[np.integer]]:
    # Loading scikit-learn takes a second, which synthetic sets do not need.
    import sklearn.datasets  # type: ignore[import-untyped]  # scikit-learn ships no types

    values, classes = getattr(sklearn.datasets, f"load_{name}")(return_X_y=True, **options)
    return values, classes


def _photograph(file: str, title: str, note: str) -> Dataset:
    from sklearn.datasets import load_sample_image

    pixels: NDArray[np.uint8] = load_sample_image(file)  # (427, 640, 3)
    colors = np.ascontiguousarray(pixels[::PIXEL_STRIDE, ::PIXEL_STRIDE])
    return _dataset(
        colors.reshape(-1, N_CHANNELS).astype(np.float64),
        None,
        COLOR_FEATURES,
        title,
        note,
        image=Image(IMAGE_HEIGHT, IMAGE_WIDTH, colors),
        bounds_note=OF_ITS_KIND,
    )


def _from_plotly(
    name: str, columns: tuple[str, ...], label: str | None, features: tuple[Feature, ...], title: str, note: str
) -> Dataset:
    """Read `columns` of a table inside the package Plotly, without importing the package."""
    plotly = find_spec("plotly")
    if plotly is None or plotly.origin is None:
        raise ValueError(f"The set {name} comes with Plotly, which is not installed. Install it: pip install plotly")
    table = read_table(Path(plotly.origin).parent / "package_data" / "datasets" / f"{name}.csv.gz")
    wide = Box([-1e12] * len(columns), [1e12] * len(columns))
    records = table.dataset(columns, label, wide)
    return _dataset(records.points, records.labels, features, title, note)


def _dataset(
    values: FloatArray,
    classes: NDArray[np.integer] | None,
    features: tuple[Feature, ...],
    title: str,
    note: str,
    image: Image | None = None,
    bounds_note: str = OUTWARD,
) -> Dataset:
    """Clip `values` (n, d) into the box that `features` (d,) declare."""
    box = Box([feature.low for feature in features], [feature.high for feature in features])
    record = RECORDS.get(title, NEUTRAL.record) if image is None else PIXELS
    return Dataset(
        box.clip(values),
        None if classes is None else classes.astype(np.intp),
        box,
        tuple(feature.name for feature in features),
        title,
        units=tuple(feature.unit for feature in features),
        note=note,
        bounds_note=bounds_note,
        image=image,
        nouns=Nouns(record=record),
    )
