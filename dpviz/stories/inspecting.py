"""Summary of the records in a region that the curator has drawn: their number, values and classes.

Curator only, because everything here is exact.
"""

from collections.abc import Sequence

import numpy as np

from dpviz.core import BoolArray, FloatArray, Labels, Points
from dpviz.stories.panel import number
from dpviz.stories.view import Projection, View, Words, project, spread

# Largest number of classes that the summary names, the largest classes first.
MOST_CLASSES = 6


def inside(places: FloatArray, corners: FloatArray) -> BoolArray:
    """Return a mask of the `places` (n, 2) inside a polygon (m, 2), by the parity of crossings to the right."""
    mask = np.zeros(len(places), dtype=bool)
    if len(corners) < 3 or not len(places):
        return mask
    near = ((places >= corners.min(axis=0)) & (places <= corners.max(axis=0))).all(axis=1)
    x, y = places[near].T
    parity = np.zeros(len(x), dtype=bool)
    # A polygon has a few dozen edges.
    for (x0, y0), (x1, y1) in zip(corners, np.roll(corners, 1, axis=0), strict=True):
        if y0 != y1:
            parity ^= ((y0 > y) != (y1 > y)) & (x < (x1 - x0) * (y - y0) / (y1 - y0) + x0)
    mask[near] = parity
    return mask


def facts(
    corners: Sequence[tuple[float, float]],
    unit: Points,
    words: Words,
    view: View,
    classes: Labels | None = None,
    plane: Projection | None = None,
) -> tuple[str, ...]:
    """Describe all records (n, d), box units, inside a polygon of the picture's plane, drawn or not.

    `classes` (n,) are the known classes. `plane` is the picture's plane, if it is not the plain one of `view`. The
    texts are plain, not HTML; they may contain names from a file.
    """
    plane = project(view, words, unit) if plane is None else plane
    mask = inside(spread(unit, plane), np.asarray(corners, dtype=np.float64).reshape(-1, 2))
    n = int(mask.sum())
    share = f" ({number(100.0 * n / len(unit))} %)" if len(unit) else ""
    lines = [f"Selected: {n:,} of {len(unit):,} records{share}"]
    if n == 0:
        return tuple(lines)
    points, units = words.ends.from_unit(unit[mask]), words.own_units
    for i in view.features(words.box.d) or range(min(words.box.d, 3)):
        column, unit_name = points[:, i], f" {units[i]}" if units[i] else ""
        low, high, mean = (number(float(value)) for value in (column.min(), column.max(), column.mean()))
        lines.append(f"{words.feature_names[i]}: {low} to {high}{unit_name}, mean {mean}{unit_name}")
    if classes is not None and len(classes) == len(unit):
        names, counts = np.unique(classes[mask], return_counts=True)
        largest = np.argsort(-counts, kind="stable")
        sentences = [f"class {names[i] + 1}: {counts[i]:,}" for i in largest[:MOST_CLASSES]]
        rest = len(names) - MOST_CLASSES
        lines.append(f"Known classes: {', '.join(sentences)}{f' and {rest} more' if rest > 0 else ''}")
    return tuple(lines)
