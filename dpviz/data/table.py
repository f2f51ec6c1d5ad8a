"""An uploaded table, and the choice of columns and bounds that makes it a data set."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpviz.core import Box, Confidential, FloatArray, Labels
from dpviz.data.bounds import LARGEST, Bounds, Clipping, clipping, rounded_outward
from dpviz.data.columns import Columns
from dpviz.data.dataset import Dataset
from dpviz.data.decoding import TableError, TableWarning, joined, listed, own, read_bytes, shown
from dpviz.data.geography import EAST, METER, NORTH, filled, on_plane
from dpviz.data.reading import columns_of
from dpviz.data.sampling import kept_rows
from dpviz.data.table_format import READ_OFF, Header, TableFormat

Missing = Literal["error", "drop", "middle"]
MISSING_CHOICES = ("error", "drop", "middle")
Scaling = Literal["none", "unit"]
SCALING_CHOICES = ("none", "unit")
FROM_DATA = "Taken from the data: not private."
TYPED = "Typed by you."
UPLOADED_TITLE = "Uploaded records"  # a file's name can say whose records they are, and would be in every picture
CAVEATS = (
    "The guarantee is for one row of the file. For a person with k rows ε is k times as large, and δ grows faster.",
    "How the file is written is read from all of its rows and taken as public: its separators, its decimal sign, which "
    "columns are numbers.",
)
REPLACED = (
    "Rows are left out by their own values. A guarantee for one record replaced covers changes that keep the row "
    "among the records; how many there are is public."
)
MAX_UNIT = 12  # characters


@dataclass(frozen=True, slots=True, eq=False)
class Table(Confidential):
    """A parsed file. Names, sizes and notes are shown to the person who uploaded it; the cells are the curator's."""

    name: str  # of the file
    digest: str  # first 16 hex digits of the SHA-256 of its bytes, the file's name in a URL
    nonprivate_columns: Columns
    reading: TableFormat = READ_OFF  # settings by hand

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

    @property
    def doubts(self) -> tuple[str, ...]:
        """Those of the notes that say which numbers could be others, by a factor of 1000."""
        return self.nonprivate_columns.doubts

    def warn_of_doubts(self) -> None:
        """Warn, with TableWarning, where numbers could be others; no cell is repeated."""
        for doubt in self.doubts:
            warnings.warn(f"{self.name}: {doubt}", TableWarning, stacklevel=3)

    def decimal(self, column: str) -> str:
        """Return the decimal sign of a column as the file writes it, a point where it has none."""
        return self.nonprivate_columns.decimals.get(column, ".")

    def suggested_bounds(self, column: str) -> Bounds:
        """Return the column's extremes rounded outward to two digits of its width, a constant widened by one unit.

        NOT private: the extremes are two people's values. Raises TableError for a column without numbers.
        """
        values = self._numbers(column)
        finite = values[np.isfinite(values)]
        if not finite.size:
            raise TableError(f"Column {shown(column)} had no finite number to take bounds from. Type its bounds.")
        return rounded_outward(float(finite.min()), float(finite.max()))

    def nonprivate_rows(self, n: int) -> dict[str, list[str]]:
        """Return the first n cells of each column by name, as text. For the eyes of the person who has the file."""
        columns = self.nonprivate_columns
        numbers = {
            name: ["" if np.isnan(value) else f"{value:.10g}" for value in values[:n].tolist()]
            for name, values in columns.nonprivate_numbers.items()
        }
        texts = {name: [str(cell) for cell in values[:n]] for name, values in columns.nonprivate_texts.items()}
        return {name: (numbers | texts)[name] for name in columns.names}

    def nonprivate_n_incomplete(self, features: Sequence[str], label: str | None) -> int:
        """Return how many rows lack a cell of these columns. Raises TableError for columns that are none."""
        missing = [np.isnan(self._numbers(name)) for name in features]
        missing += [] if label is None else [_absent(self._classes(label))]
        return int(np.logical_or.reduce(missing).sum()) if missing else 0

    def dataset(
        self,
        features: Sequence[str],
        label: str | None = None,
        box: Box | None = None,
        missing: Missing = "error",
        *,
        scaling: Scaling = "none",
        units: Sequence[str] = (),
        share: float = 1.0,
        bounds_from_data: bool = False,
        title: str | None = None,
        place: tuple[str, str] | None = None,
    ) -> Dataset:
        """Return the numeric columns `features` (1..d, one name each) as a data set, with `label` as classes 0..c-1.

        `box` has one axis for each feature; records outside are clipped into it and counted in
        `nonprivate_n_clipped`. With None the bounds are those of `suggested_bounds`, which is NOT private and marked
        so. `missing` cells in the chosen columns are an "error", "drop" leaves their rows out, and "middle" puts them
        into the middle of their feature's bounds (a row without label is left out). All three look at each row alone.
        `scaling="unit"` maps the box to [0, 1]^d after clipping. `units` has one unit for each feature, or none.
        `share` in (0, 1] keeps about that part of the complete rows, each by its own features (`sampling`).
        `bounds_from_data` owns up to a `box` of which some bounds are suggested ones. `place` names the features that
        are latitude and longitude, degrees: they become meters east and north of the middle of their bounds, in a
        square (`geography`). Raises TableError.
        """
        names, values, classes = self._chosen(features, label, missing, share)
        axes = None if place is None else _checked_place(place, names)
        from_data = bounds_from_data or box is None
        chosen = self._bounds_from_data(names, values) if box is None else _checked_box(box, names)
        values = filled(values, chosen, axes)
        n_clipped = int(((values < chosen.low) | (values > chosen.high)).any(axis=1).sum())
        if scaling not in SCALING_CHOICES:
            raise TableError(f"scaling was {shown(scaling)}, but it must be one of {', '.join(SCALING_CHOICES)}.")
        points, scaled, here = chosen.clip(values), scaling == "unit", None
        units = _checked_units(units, names)
        if axes is not None:
            points, chosen, here = on_plane(points, chosen, axes)
            named = dict(zip(here.axes, (EAST, NORTH), strict=True))
            units = tuple(METER if i in named else units[i] if units else "" for i in range(len(names)))
            names = tuple(named.get(i, name) for i, name in enumerate(names))
        space = Box.cube(0.0, 1.0, chosen.d) if scaled else chosen
        leaves_out = share < 1.0 or missing == "drop" or (missing == "middle" and label is not None)
        return Dataset(
            space.clip(chosen.to_unit(points)) if scaled else points,
            None if classes is None else _encoded(classes),
            space,
            names,
            UPLOADED_TITLE if title is None else title,
            units=() if scaled else units,
            note="Uploaded records: every run on them is one more release." + ("" if here is None else here.words),
            bounds_note=FROM_DATA if from_data else TYPED,
            bounds_from_data=from_data,
            nonprivate_n_clipped=n_clipped,
            place=None if scaled else here,
            nonprivate_n_left_out=self.n_rows - len(values),
            caveats=(*CAVEATS, REPLACED) if leaves_out else CAVEATS,
        )

    def clipping(
        self,
        features: Sequence[str],
        box: Box,
        label: str | None = None,
        missing: Missing = "error",
        *,
        share: float = 1.0,
        place: tuple[str, str] | None = None,
    ) -> Clipping:
        """Return what clipping into `box` does to the rows that `dataset` takes. NOT private. Raises TableError."""
        names, values, _ = self._chosen(features, label, missing, share)
        chosen = _checked_box(box, names)
        return clipping(filled(values, chosen, None if place is None else _checked_place(place, names)), chosen)

    def _chosen(
        self, features: Sequence[str], label: str | None, missing: Missing, share: float
    ) -> tuple[tuple[str, ...], FloatArray, NDArray[Any] | None]:
        """Return checked names, values (n, d) of the rows that count, NaN only with "middle", and their classes."""
        names = self._checked_features(features, label)
        values = np.column_stack([self._numbers(name) for name in names])
        classes = None if label is None else self._classes(label)
        kept = np.flatnonzero(self._complete_rows(names, values, label, classes, missing))
        if not 0.0 < share <= 1.0:
            raise TableError(f"The share of rows was {share}, but it must be above 0 and at most 1. 1 keeps all rows.")
        if share < 1.0:
            kept = kept[kept_rows(values[kept], share)]
            if not len(kept):
                raise TableError(f"No row was kept: the share of rows was {share:g}. Keep a larger share.")
        return names, values[kept], None if classes is None else classes[kept]

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
        return f"Choose from {listed(self.numeric_columns)}."

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
        names = listed(self.nonprivate_columns.names)
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
            absent[label] = _absent(classes)
        counts = [f"{shown(name)} ({int(rows.sum())})" for name, rows in absent.items() if rows.any()]
        if missing == "middle":  # only a class has no middle
            absent = {name: rows for name, rows in absent.items() if name == label}
            absent.setdefault("", np.zeros(len(values), dtype=np.bool_))
        if counts and missing == "error":
            raise TableError(
                f"Cells were missing or infinite in {joined(counts)} of {self.n_rows:,} rows, but every one must be "
                "a number. Drop those rows, fill them with the middle of their bounds, or choose other columns."
            )
        kept = ~np.logical_or.reduce(list(absent.values()))
        if not kept.any():
            raise TableError(
                f"No row was complete: cells were missing in {joined(counts)} of {self.n_rows} rows. "
                "Choose columns with fewer gaps."
            )
        return np.asarray(kept, dtype=np.bool_)

    def _bounds_from_data(self, names: tuple[str, ...], values: FloatArray) -> Box:
        """Return the box around `values` (n, d), NOT private; raise TableError for a constant column."""
        for axis in np.flatnonzero(np.isnan(values).all(axis=0)):
            raise TableError(f"Column {shown(names[axis])} had no number to take bounds from. Type its bounds.")
        lows, highs = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
        for axis in np.flatnonzero(lows == highs):
            raise TableError(
                f"Column {shown(names[axis])} had one value only, {lows[axis]:g}, so it gives no bounds. Type bounds "
                f"around it, for example {lows[axis]:g} - 1 to {lows[axis]:g} + 1, or leave the column out."
            )
        bounds = [rounded_outward(float(low), float(high)) for low, high in zip(lows, highs, strict=True)]
        try:
            return Box([one.low for one in bounds], [one.high for one in bounds])
        except ValueError as error:
            wide = bool((highs / 2 - lows / 2 > LARGEST / 2).any())
            raise TableError(
                "The columns span more than a number can hold, so they give no bounds. Type narrower bounds."
                if wide
                else str(error)
            ) from None


def read_table(
    file_or_path: Any,
    *,
    sep: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    header: Header = "infer",
) -> Table:
    """Read CSV text (plain or gzip), an Excel workbook (.xlsx), Parquet or points in GeoJSON, from a path or a file.

    The bytes decide which it is, not the name. Takes comma, semicolon, tab or bar between cells, decimal commas, UTF-8,
    UTF-16 and Latin-1. Writes nothing anywhere. A table may have as many rows and columns as memory holds; limits are
    for uploads (`read_confined`).

    `sep`, `decimal`, `thousands` and `header` are those of `pandas.read_csv`; "" is no separator. What is not given is
    read off the file as a whole (see `dpviz.data.numerals`), and a guarantee takes it as public. Raises TableError for
    anything that is no table, or unpacks as none does; warns with TableWarning of numbers that could be others by a
    factor of 1000.
    """
    given, reading = read_bytes(file_or_path), TableFormat(sep, decimal, thousands, header)
    table = Table(given.name, given.digest, columns_of(given.data, own(len(given.data)), reading), reading)
    table.warn_of_doubts()
    return table


def _checked_box(box: Box, names: tuple[str, ...]) -> Box:
    if not isinstance(box, Box) or box.d != len(names):
        given = f"{box.d} axes" if isinstance(box, Box) else f"the type {type(box).__name__}"
        raise TableError(f"The box had {given}, but {len(names)} columns were chosen. Give a Box with bounds for each.")
    return box


def _checked_place(place: tuple[str, str], names: tuple[str, ...]) -> tuple[int, int]:
    """Return which of the features `names` are latitude and longitude."""
    if len(place) != 2 or place[0] == place[1] or not set(place) <= set(names):
        raise TableError(
            f"Latitude and longitude were {listed(tuple(place))}, but they must be two of the features, "
            f"{listed(names)}. Choose both as features, or take them as plain numbers."
        )
    return names.index(place[0]), names.index(place[1])


def _checked_units(units: Sequence[str], names: tuple[str, ...]) -> tuple[str, ...]:
    """Return one printable, short unit for each of `names`, or none at all."""
    given = (units,) if isinstance(units, str) else tuple(units)
    if given and len(given) != len(names):
        raise TableError(f"There were {len(given)} units for {len(names)} columns. Give one for each, '' for none.")
    return tuple("".join(c for c in str(unit) if c.isprintable()).strip()[:MAX_UNIT] for unit in given)


def _absent(classes: NDArray[Any]) -> NDArray[np.bool_]:
    return np.asarray(classes == "" if classes.dtype == object else np.isnan(classes), dtype=np.bool_)


def _encoded(classes: NDArray[Any]) -> Labels:
    """Number the classes (n,) 0..c-1 in sorted order."""
    return np.unique(classes, return_inverse=True)[1].astype(np.intp)
