"""Real records that ship with scikit-learn, each with a public box written down here by hand.

The bounds are ours: what such a measurement can be, rounded outwards to friendly numbers. Records are clipped into
them, and nothing here looks at the records to find a bound.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpviz.core import Box, FloatArray
from dpviz.data.dataset import N_CHANNELS, Dataset, Image

N_IRIS = 150
N_BREAST_CANCER = 569
PIXEL_STRIDE = 4  # ours: every fourth row and column of the photograph's 427 x 640 pixels
IMAGE_HEIGHT = 107  # ceil(427 / 4)
IMAGE_WIDTH = 160
BRIGHTEST = 255.0


@dataclass(frozen=True, slots=True)
class Feature:
    """One measured quantity with its public range."""

    name: str
    low: float
    high: float
    unit: str = ""


# What iris flowers of the garden can measure, with room to spare.
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


# Lengths and areas are in pixels of the scanner, the others are ratios; no length can be below 0.
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
COLOUR_FEATURES = tuple(Feature(name, 0.0, BRIGHTEST) for name in ("red", "green", "blue"))


# scikit-learn is imported where it is used: loading it takes a second that synthetic sets need not wait for.


def iris() -> Dataset:
    """Return 150 iris flowers, 4 lengths in cm, 3 species (Fisher 1936)."""
    from sklearn.datasets import load_iris  # type: ignore[import-untyped]  # scikit-learn ships no types

    values, classes = load_iris(return_X_y=True)
    return _dataset(
        values,
        classes,
        IRIS_FEATURES,
        "Iris flowers",
        "Only 150 records: noise that thousands would hide is plain to see.",
    )


def breast_cancer() -> Dataset:
    """Return 569 tumour samples, 30 measures of their cell nuclei, 2 diagnoses (Wolberg, Street, Mangasarian 1993)."""
    from sklearn.datasets import load_breast_cancer

    values, classes = load_breast_cancer(return_X_y=True)
    return _dataset(
        values,
        classes,
        BREAST_CANCER_FEATURES,
        "Breast cancer",
        "Thirty features share one budget, and ranges from 0.05 to 5000 punish a method that does not rescale.",
    )


def photograph() -> Dataset:
    """Return the colours of every fourth pixel each way of scikit-learn's china.jpg, with the image to recolour."""
    from sklearn.datasets import load_sample_image

    pixels: NDArray[np.uint8] = load_sample_image("china.jpg")  # (427, 640, 3)
    colours = np.ascontiguousarray(pixels[::PIXEL_STRIDE, ::PIXEL_STRIDE])
    return _dataset(
        colours.reshape(-1, N_CHANNELS).astype(np.float64),
        None,
        COLOUR_FEATURES,
        "Colors of a photograph",
        "Centers become a palette, so that error can be seen as wrong colors.",
        image=Image(IMAGE_HEIGHT, IMAGE_WIDTH, colours),
    )


def _dataset(
    values: FloatArray,
    classes: NDArray[np.integer] | None,
    features: tuple[Feature, ...],
    title: str,
    note: str,
    image: Image | None = None,
) -> Dataset:
    """Clip `values` (n, d) into the box that `features` (d,) declare."""
    box = Box([feature.low for feature in features], [feature.high for feature in features])
    return Dataset(
        box.clip(values),
        None if classes is None else classes.astype(np.intp),
        box,
        tuple(feature.name for feature in features),
        title,
        units=tuple(feature.unit for feature in features),
        note=note,
        image=image,
    )
