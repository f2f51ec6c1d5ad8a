"""An uploaded table, and the choice of columns and bounds that makes it a data set."""

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpviz.core import Box, FloatArray, Labels
from dpviz.data.dataset import Dataset
from dpviz.data.decoding import TableError, decode, shown
from dpviz.data.parsing import Columns, parse

Missing = Literal["error", "drop"]
MISSING_CHOICES = ("error", "drop")
MAX_LISTED = 8  # columns that a message lists
LARGEST = sys.float_info.max


@dataclass(frozen=True, slots=True)
class Bounds:
    """Lower and higher end of one column, data units, low < high."""

    low: float
    high: float


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A parsed file. Names, sizes and notes are shown to the person who uploaded it; the cells are the curator's."""

    name: str  # of the file
    digest: str  # first 16 hex digits of the SHA-256 of its bytes, the file's name in a URL
    nonprivate_columns: Columns

    @property
    def n_rows(self) -> int:
        """Number of records, missing cells or not."""
        return self.nonprivate_columns.n_rows

    @property
    def numeric_columns(self) -> tuple[str, ...]:
        """Columns whose every cell is a number or missing, in the file's order: features or label."""
        return tuple(
            name for name in self.nonprivate_columns.names if name in self.nonprivate_columns.nonprivate_numbers
        )

    @property
    def text_columns(self) -> tuple[str, ...]:
        """All other columns, in the file's order: label only."""
        return tuple(name for name in self.nonprivate_columns.names if name in self.nonprivate_columns.nonprivate_texts)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was changed or guessed while reading, one sentence each; may repeat a shortened cell."""
        return self.nonprivate_columns.notes

    def suggested_bounds(self, column: str) -> Bounds:
        """Return the column's extremes rounded outward to two digits of its width, a constant widened by one unit.

        NOT private: the extremes are two people's values. Raises TableError for a column without numbers.
        """
        values = self._numbers(column)
        finite = values[np.isfinite(values)]
        if not finite.size:
            raise TableError(f"Column {shown(column)} had no finite number to take bounds from. Type its bounds.")
        return _rounded_outward(float(finite.min()), float(finite.max()))

    def dataset(
        self,
        features: Sequence[str],
        label: str | None = None,
        box: Box | None = None,
        missing: Missing = "error",
        *,
        title: str | None = None,
    ) -> Dataset:
        """Return the numeric columns `features` (1..d, one name each) as a data set, with `label` as classes 0..c-1.

        `box` has one axis for each feature; records outside are clipped into it and counted in
        `nonprivate_n_clipped`. With None the bounds are those of `suggested_bounds`, which is NOT private and marked
        so. `missing` cells in the chosen columns are an "error", or "drop" leaves their rows out. Raises TableError.
        """
        names = self._checked_features(features, label)
        values = np.column_stack([self._numbers(name) for name in names])
        classes = None if label is None else self._classes(label)
        kept = self._complete_rows(names, values, label, classes, missing)
        values = values[kept]
        chosen = self._bounds_from_data(names, values) if box is None else _checked_box(box, names)
        n_clipped = int(((values < chosen.low) | (values > chosen.high)).any(axis=1).sum())
        return Dataset(
            chosen.clip(values),
            None if classes is None else _encoded(classes[kept]),
            chosen,
            names,
            self.name if title is None else title,
            note="Uploaded records: every run on them is one more release.",
            bounds_from_data=box is None,
            nonprivate_n_clipped=n_clipped,
        )

    def _numbers(self, name: Any) -> FloatArray:
        """Return a numeric column (n,)."""
        if isinstance(name, str) and name in self.nonprivate_columns.nonprivate_numbers:
            return self.nonprivate_columns.nonprivate_numbers[name]
        if isinstance(name, str) and name in self.nonprivate_columns.nonprivate_texts:
            raise TableError(f"Column {shown(name)} is text, but features must be numbers. {self._numeric_listed()}")
        raise TableError(f"There is no column {shown(name)} in the file. {self._numeric_listed()}")

    def _numeric_listed(self) -> str:
        if not self.numeric_columns:
            return "No column of this file is numeric: choose another file."
        return f"Choose from {_listed(self.numeric_columns)}."

    def _checked_features(self, features: Any, label: Any) -> tuple[str, ...]:
        names = (features,) if isinstance(features, str) else tuple(features)
        if not names:
            raise TableError(f"No feature was chosen, but at least one is needed. {self._numeric_listed()}")
        for name in names:
            self._numbers(name)
        repeated = [name for name in names if names.count(name) > 1]
        if repeated:
            raise TableError(f"Column {shown(repeated[0])} was chosen twice, but once is enough. Drop one of them.")
        if label in names:
            raise TableError(f"Column {shown(label)} was chosen as feature and as label. Use it for one of them.")
        return names

    def _classes(self, label: Any) -> NDArray[Any]:
        """Return the label column (n,) as written, text or numbers."""
        if isinstance(label, str) and label in self.nonprivate_columns.nonprivate_texts:
            return self.nonprivate_columns.nonprivate_texts[label]
        if isinstance(label, str) and label in self.nonprivate_columns.nonprivate_numbers:
            return self.nonprivate_columns.nonprivate_numbers[label]
        names = _listed(self.nonprivate_columns.names)
        raise TableError(f"There is no column {shown(label)} to take labels from. Choose from {names}, or no label.")

    def _complete_rows(
        self,
        names: tuple[str, ...],
        values: FloatArray,
        label: str | None,
        classes: NDArray[Any] | None,
        missing: Missing,
    ) -> NDArray[np.bool_]:
        """Return which rows (n,) have every chosen cell; raise TableError as `missing` says."""
        if missing not in MISSING_CHOICES:
            raise TableError(f"missing was {shown(missing)}, but it must be one of {', '.join(MISSING_CHOICES)}.")
        absent = {name: np.isnan(values[:, axis]) for axis, name in enumerate(names)}
        if label is not None and classes is not None:
            absent[label] = classes == "" if classes.dtype == object else np.isnan(classes)
        counts = [f"{shown(name)} ({int(rows.sum())})" for name, rows in absent.items() if rows.any()]
        if counts and missing == "error":
            raise TableError(
                f"Cells were missing or infinite in {_joined(counts)} of {self.n_rows} rows, but every one must be "
                'a number. Choose to drop those rows (missing="drop"), or other columns.'
            )
        kept = ~np.logical_or.reduce(list(absent.values()))
        if not kept.any():
            raise TableError(
                f"No row was complete: cells were missing in {_joined(counts)} of {self.n_rows} rows. "
                "Choose columns with fewer gaps."
            )
        return np.asarray(kept, dtype=np.bool_)

    def _bounds_from_data(self, names: tuple[str, ...], values: FloatArray) -> Box:
        """Return the box around `values` (n, d), NOT private; raise TableError for a constant column."""
        lows, highs = values.min(axis=0), values.max(axis=0)
        for axis in np.flatnonzero(lows == highs):
            raise TableError(
                f"Column {shown(names[axis])} had one value only, {lows[axis]:g}, so it gives no bounds. Type bounds "
                f"around it, for example {lows[axis]:g} - 1 to {lows[axis]:g} + 1, or leave the column out."
            )
        bounds = [_rounded_outward(float(low), float(high)) for low, high in zip(lows, highs, strict=True)]
        try:
            return Box([one.low for one in bounds], [one.high for one in bounds])
        except ValueError:
            raise TableError(
                "The columns span more than a number can hold, so they give no bounds. Type narrower bounds."
            ) from None


def read_table(file_or_path: Any) -> Table:
    """Read CSV text, plain or gzip, from a path or a binary file object, into a Table. Writes nothing anywhere.

    Takes comma, semicolon, tab or bar between cells, decimal commas, UTF-8, UTF-16 and Latin-1. Raises TableError for
    anything that is no table within the limits of `decoding` and `parsing`.
    """
    decoded = decode(file_or_path)
    columns = parse(decoded.text)
    said = Columns(
        columns.names,
        columns.n_rows,
        columns.nonprivate_numbers,
        columns.nonprivate_texts,
        (*decoded.notes, *columns.notes),
    )
    return Table(decoded.name, decoded.digest, said)


def _checked_box(box: Box, names: tuple[str, ...]) -> Box:
    if not isinstance(box, Box) or box.d != len(names):
        given = f"{box.d} axes" if isinstance(box, Box) else f"the type {type(box).__name__}"
        raise TableError(f"The box had {given}, but {len(names)} columns were chosen. Give a Box with bounds for each.")
    return box


def _encoded(classes: NDArray[Any]) -> Labels:
    """Number the classes (n,) 0..c-1 in sorted order."""
    return np.unique(classes, return_inverse=True)[1].astype(np.intp)


def _rounded_outward(low: float, high: float) -> Bounds:
    """Round to a step of about a hundredth of the width; a constant gets one unit on each side, or the next float."""
    if low == high:
        return Bounds(
            max(min(low - 1.0, math.nextafter(low, -math.inf)), -LARGEST),
            min(max(high + 1.0, math.nextafter(high, math.inf)), LARGEST),
        )
    half = high / 2 - low / 2  # the full width may overflow
    try:
        digits = 2 - math.ceil(math.log10(half))
        step = 10.0**-digits
        outer = Bounds(round(math.floor(low / step) * step, digits), round(math.ceil(high / step) * step, digits))
    except (OverflowError, ValueError, ZeroDivisionError):
        return Bounds(low, high)  # as wide or as narrow as floats go: nothing to round
    # Rounding to decimals can move a bound back inside by the last bit, or past the largest float.
    return Bounds(max(min(outer.low, low), -LARGEST), min(max(outer.high, high), LARGEST))


def _listed(names: tuple[str, ...]) -> str:
    return _joined([shown(name) for name in names])


def _joined(parts: list[str]) -> str:
    """Join at most MAX_LISTED parts with commas and say how many more there are."""
    rest = len(parts) - MAX_LISTED
    return ", ".join(parts[:MAX_LISTED]) + (f" and {rest} more" if rest > 0 else "")
