"""The decision paper's pictures: a run beside the clustering without privacy, and its centers. The curator's."""

import numpy as np

from dpviz.data import Dataset
from dpviz.data.geography import METER
from dpviz.plots import Scene, small_svg
from dpviz.stories.ground_layers import SCALE
from dpviz.stories.panel import beside, number
from dpviz.tools.compare.document import Picture
from dpviz.tools.compare.entries import ENTRIES
from dpviz.tools.compare.story import Row
from dpviz.tools.compare.story.run import run_scene
from dpviz.tools.compare.trials import Exact, RepeatedRun
from dpviz.ui.frame import PageFrame
from dpviz.ui.runs import words_of

SMALL = (390, 360)  # CSS pixels of each of two pictures beside each other
MARKS = "Large marks in both: centers."
MOST_CENTERS = 20


def pictures(
    frame: PageFrame, first: str, row: Row | None, run: RepeatedRun | None, exact: Exact
) -> tuple[Picture, ...]:
    """Return the run of `row`, nearest to the median of the method `first`, beside the clustering without privacy."""
    box, words = frame.source.dataset.box, words_of(frame.source)
    unit = box.to_unit(frame.source.dataset.points)
    found = []
    if run is not None and row is not None:
        title = f"{ENTRIES[first].name}, ε = {number(float(row['epsilon']))}"
        scene = run_scene(title, unit, box.to_unit(run.centers), run.nonprivate_labels, words)
        said = f"Nearest to the median: {beside(float(row['inertia_ratio']))} without privacy."
        found.append(Picture(small_svg(scene, SMALL, "run"), title, f"{said} {_bar(scene)}".strip()))
    title = "Without privacy"
    scene = run_scene(title, unit, box.to_unit(exact.nonprivate_centers), exact.nonprivate_labels, words)
    found.append(Picture(small_svg(scene, SMALL, "exact"), title, f"k-means, the best of five starts. {MARKS}"))
    return tuple(found)


def _bar(scene: Scene) -> str:
    """Say how long the bar in a map is."""
    return next(
        (f"Bar: {layer.name.removeprefix(SCALE)}." for layer in scene.layers if layer.name.startswith(SCALE)), ""
    )


def centers(dataset: Dataset, run: RepeatedRun | None) -> tuple[tuple[str, ...], ...]:
    """Return each center in the data's units and, on a map, in degrees."""
    centers = np.empty((0, dataset.d)) if run is None else run.centers[:MOST_CENTERS]
    degrees = np.empty((len(centers), 0))
    if _in_meters(dataset) and dataset.place is not None:
        degrees = dataset.place.to_degrees(centers[:, list(dataset.place.axes)])
    rows = zip(centers.tolist(), degrees.tolist(), strict=True)
    return tuple((str(i + 1), *map(number, own), *(f"{x:.4f}" for x in spot)) for i, (own, spot) in enumerate(rows))


def center_columns(dataset: Dataset) -> tuple[str, ...]:
    """Name what `centers` returns of each, with units."""
    names = (
        f"{name} ({unit})" if unit else name for name, unit in zip(dataset.feature_names, dataset.units, strict=True)
    )
    return (*names, *(("latitude (°)", "longitude (°)") if _in_meters(dataset) else ()))


def _in_meters(dataset: Dataset) -> bool:
    """Whether the data are a map whose numbers are meters still, not scaled to 0 to 1."""
    return dataset.place is not None and dataset.units[dataset.place.axes[0]] == METER
