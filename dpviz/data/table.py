"""Tables: the formats that are read, and the choice of columns and bounds that turns a table into a data set.

**Categories** of a column become features, one for each value that a person has typed or confirmed: 1 in the feature
of a record's own value, 0 in the others, bounds 0 to 1. For a value that is not in the list, and for a gap, all of them
are 0, or the row is left out. In the unit cube, the bounds of such a feature weigh w / sqrt(2), so a change of category
moves a record by at most |(w, -w)| / sqrt(2) = w. With w = 1, that is as far as the bounds of a different feature. The
list, the rule and w are public inputs, never taken from the records. A record's features follow from them and its own
cell.
"""

import math
import re
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal, get_args

import numpy as np
from annotated_types import Ge, Gt, Le, Len, Lt
from numpy.typing import NDArray

from dpviz.core import Box, Confidential, FloatArray, frozen, immutable, immutable_value
from dpviz.data.dataset import MOST_ROWS_EACH, Dataset
from dpviz.data.features import CHOOSE, GAPS, count_odd
from dpviz.data.files import (
    CSV,
    GEOJSON,
    READ_OFF,
    UPLOADED,
    Columns,
    FileOrPath,
    Header,
    Limits,
    TableError,
    TableFormat,
    TableWarning,
    binary_format,
    date_of,
    decode,
    is_json,
    listed,
    own,
    quoted,
    read_bytes,
)
from dpviz.data.geography import EAST, METER, NORTH, filled, on_plane
from dpviz.data.transforms import (
    LARGEST,
    LEAST_CHANGE,
    MAX_SEED,
    Bounds,
    Clipping,
    Scale,
    clipping,
    map_weights,
    rounded_outward,
    sample_mask,
)

MOST_FEATURES = 50
# Maximum number of categories of one column.
MOST_CATEGORIES = 20
# Maximum number of characters.
MOST_NAME, MOST_UNIT = 1_000, 12
# Minimum share of the rows in a sample. Our choice.
LEAST_SHARE = 0.001
LARGEST_AMOUNT = 1e300

Missing = Literal["error", "drop", "middle"]
# Text or numbers, as in the file, (n,).
Classes = NDArray[np.object_] | FloatArray
Scaling = Literal["none", "unit"]
Unlisted = Literal["zeros", "drop"]
# How bounds are given: one by one, one pair for all, from the data.
How = Literal["each", "same", "data"]
Name = Annotated[str, Len(1, MOST_NAME)]
# A column, and its values that become features.
Category = tuple[Name, Annotated[tuple[Name, ...], Len(1, MOST_CATEGORIES)]]
End = Annotated[float, Gt(-LARGEST_AMOUNT), Lt(LARGEST_AMOUNT)]
# None means from the data.
Pair = tuple[End, End] | None
FROM_DATA = "Taken from the data: not private."
TYPED = "Typed by you."
# Not the name of the file, because it can reveal whose records these are.
UPLOADED_TITLE = "Uploaded records"
ONE_ROW = (
    "The guarantee is for one row of the file. For a person with k rows ε is k times as large, and δ grows faster."
)
CAVEATS = (
    ONE_ROW,
    "The file's format is detected from all rows and treated as public: its separators, its decimal sign, and which "
    "columns are numbers.",
)
REPLACED = (
    "Rows are left out because of their own values. A guarantee for replacing one record covers changes that keep "
    "the row among the records, and treats the number of records as public; a guarantee for adding or removing a "
    "record hides that number."
)
OTHERS = "Only rows whose {} is {} are records here; the others do not affect any result."
# Whole names.
COUNTING_NAMES = ("index", "key", "nr", "no", "row", "rownames", "row names", "number", "case")
# Anywhere in a name.
NAMING = re.compile(r"\b(id|ids|uuid|guid|rownames)\b|^unnamed 0$")
# Names of a last row that sums up the others.
TOTAL = re.compile(r"(?:(?:grand|sub)[ -]?)?totals?:?|sum:?|average:?|mean:?|gesamt:?|summe:?", re.IGNORECASE)
# Names of numbers, if these are all different.
COUNTING = re.compile(r"\b(no|key|index|number)$|(nr|nummer)$")
# Name of the first column if the file has no name for it.
NAMELESS = "column 1"
# Number of rows from which close numbers that are all different are not a coincidence. Our choice.
FEWEST_NUMBERED = 100
# Maximum span of values that number n rows, as a multiple of n. Our choice.
MOST_SPAN = 2.0
# A change of category moves a record along two features.
HALF = math.sqrt(0.5)
# Ways in which bounds are given.
EACH: How = "each"
SAME: How = "same"
DATA: How = "data"


def columns_of(data: bytes, limits: Limits = UPLOADED, reading: TableFormat = READ_OFF) -> Columns:
    """Return the columns of a file's bytes like `read_table`, but within `limits`. Raises TableError."""
    binary = binary_format(data)
    if binary is not None:
        return binary.parse(data, limits, reading)
    text, notes = decode(data, limits)
    columns = (GEOJSON if is_json(text) else CSV).parse(text, limits, reading)
    return replace(columns, notes=(*notes, *columns.notes))


@immutable
class Table(Confidential):
    """A parsed file. Names, sizes and notes are for the person who uploaded it. Cells are curator only."""

    # Name of the file.
    name: str
    # First 16 hex digits of the SHA-256 of its bytes, which are the file's name in a URL.
    digest: str
    nonprivate_columns: Columns
    # Settings made by hand.
    reading: TableFormat = READ_OFF

    @property
    def n_rows(self) -> int:
        """Number of records, missing cells or not."""
        return self.nonprivate_columns.n_rows

    @property
    def numeric_columns(self) -> tuple[str, ...]:
        """Columns whose every cell is a number or missing, in the file's order: features or label."""
        columns = self.nonprivate_columns
        return tuple(name for name in columns.names if name in columns.nonprivate_numbers)

    @property
    def text_columns(self) -> tuple[str, ...]:
        """All other columns, in the file's order: label only."""
        columns = self.nonprivate_columns
        return tuple(name for name in columns.names if name in columns.nonprivate_texts)

    def select(self, features: Sequence[str] | None) -> tuple[str, ...]:
        """Return the columns that are features: `features`, or all.

        Raises TableError if all are requested and one is text.
        """
        if features is None and self.text_columns:
            why = [note for note in self.notes if any(f" {quoted(name)}" in note for name in self.text_columns)]
            raise TableError(
                f"Every column must be a number, but there is text in {listed(self.text_columns)}. {' '.join(why[:2])} "
                + CHOOSE.replace("'x', 'y'", listed(self.numeric_columns) or "'x', 'y'")
            )
        return self.nonprivate_columns.names if features is None else tuple(features)

    def nonprivate_is_identifier(self, column: str) -> bool:
        """Return True if a column seems to name or number the rows: by its name, or by values that are all different.

        NOT private: it suggests columns to leave out of a form at first. Only the user's choice counts.
        """
        columns = self.nonprivate_columns
        words = _split_name(column)
        if words in COUNTING_NAMES or NAMING.search(words):
            return True
        if column in columns.nonprivate_texts:
            texts = columns.nonprivate_texts[column].tolist()
            return 1 < len(texts) == len(set(texts))
        values = columns.nonprivate_numbers[column]
        if not len(values) or not np.isfinite(values).all():
            return False
        n, span = len(values), float(values.max() - values.min())
        is_nameless = column == NAMELESS and any(not each.startswith("column ") for each in columns.names)
        is_dense = n >= FEWEST_NUMBERED and span < MOST_SPAN * n
        differ = span >= n - 1 and len(np.unique(values)) == n
        return (is_nameless or is_dense or COUNTING.search(words) is not None) and (
            differ and bool((values == np.round(values)).all())
        )

    def nonprivate_repeated_ids(self) -> tuple[tuple[str, int], ...]:
        """Return the columns with a name of an identifier whose values repeat, and how many values each has.

        NOT private: a hint for the person who knows the file.
        """
        found = []
        for column in self.nonprivate_columns.names:
            if NAMING.search(_split_name(column)):
                n_values = len(set(self._classes(column).tolist()))
                if 1 < n_values < self.n_rows:
                    found.append((column, n_values))
        return tuple(found)

    def nonprivate_total(self) -> str:
        """Return a hint if the last row seems to be a total and not a record, or "". NOT private, like the hint above.

        One of its cells must contain such a word. The row counts as a record until it is removed from the file.
        """
        texts = self.nonprivate_columns.nonprivate_texts.values()
        words = [str(cells[-1]).strip() for cells in texts if len(cells)]
        found = next((each for each in words if TOTAL.fullmatch(each)), None)
        if found is None:
            return ""
        return f"The last row is named {quoted(found)} and counts as a record. If it is a sum, remove it from the file."

    def nonprivate_values(self, column: str, most: int) -> tuple[str, ...]:
        """Return the most frequent values of a column as text, in descending order; no numbers with fractions."""
        cells = self._classes(column)
        if cells.dtype != object:
            cells = cells[np.isfinite(cells) & (cells == np.round(cells))]
        counts = Counter(cell if isinstance(cell, str) else str(int(cell)) for cell in cells.tolist() if cell != "")
        return tuple(sorted(counts, key=lambda value: (-counts[value], value))[:most])

    def nonprivate_has(self, column: str, value: str) -> NDArray[np.bool_]:
        """Return a mask (n,) of the rows with `value` in a column, as text or as its number. Raises TableError."""
        cells = self._classes(column)
        if cells.dtype == object:
            return np.asarray(cells == value, dtype=np.bool_)
        try:
            number = float(value)
        except ValueError:
            raise TableError(
                f"Column {quoted(column)} has numbers, but its category {quoted(value)} is not a number. "
                "Enter a number with a decimal point, or leave the category out."
            ) from None
        return np.asarray(cells == number, dtype=np.bool_)

    @property
    def notes(self) -> tuple[str, ...]:
        """Changes and guesses made while reading, one sentence each; may repeat a shortened cell."""
        return self.nonprivate_columns.notes

    @property
    def doubts(self) -> tuple[str, ...]:
        """The notes about numbers that may be wrong by a factor of 1000."""
        return self.nonprivate_columns.doubts

    def warn_of_doubts(self) -> None:
        """Warn, with TableWarning, about numbers that may be wrong, without repeating a cell."""
        for doubt in self.doubts:
            warnings.warn(f"{self.name}: {doubt}", TableWarning, stacklevel=3)

    def decimal(self, column: str) -> str:
        """Return the decimal sign of a column in the file, or a point if the column has none."""
        return self.nonprivate_columns.decimals.get(column, ".")

    @property
    def dates(self) -> frozenset[str]:
        """The numeric columns that are dates, in days."""
        return self.nonprivate_columns.dates

    def nonprivate_range(self, column: str) -> Bounds | None:
        """Return a column's smallest and largest number, None if there is none. They are two people's values."""
        values = self._numbers(column)
        finite = values[np.isfinite(values)]
        return Bounds(float(finite.min()), float(finite.max())) if finite.size else None

    def suggested_bounds(self, column: str) -> Bounds:
        """Return the column's extremes rounded outward to two digits of its width, a constant widened by one unit.

        NOT private: the extremes are two people's values. Raises TableError for a column without numbers.
        """
        values = self._numbers(column)
        finite = values[np.isfinite(values)]
        if not finite.size:
            raise TableError(f"Column {quoted(column)} has no finite number to take bounds from. Enter its bounds.")
        return rounded_outward(float(finite.min()), float(finite.max()))

    def nonprivate_rows(self, n: int) -> dict[str, list[str]]:
        """Return the first n cells of each column by name, as text. Only for the person who has the file."""
        columns = self.nonprivate_columns
        rows: dict[str, list[str]] = {}
        for name in columns.names:
            if name in columns.nonprivate_texts:
                rows[name] = [str(cell) for cell in columns.nonprivate_texts[name][:n]]
            else:
                values = columns.nonprivate_numbers[name][:n].tolist()
                written = date_of if name in columns.dates else "{:.10g}".format
                rows[name] = ["" if np.isnan(value) else written(value) for value in values]
        return rows

    def nonprivate_n_incomplete(self, features: Sequence[str], label: str | None) -> int:
        """Return the number of rows that lack a cell of these columns. Raises TableError for unknown columns."""
        missing = [np.isnan(self._numbers(name)) for name in features]
        missing += [] if label is None else [_is_absent(self._classes(label))]
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
        per_kilometer: Sequence[float | None] = (),
        n_categories: int = 0,
        category_weight: float = 1.0,
    ) -> Dataset:
        """Return the numeric columns `features` (1..d, one name each) as a data set, with `label` as classes 0..c-1.

        `box` has one axis for each feature; records outside are clipped into it and counted in `nonprivate_n_clipped`.
        With None, the bounds come from `suggested_bounds`, which is NOT private, and the data set is marked
        accordingly. `missing` cells in the chosen columns are an "error"; "drop" leaves their rows out, and "middle"
        replaces them by the middle of their feature's bounds (a row without label is left out). All three treat each
        row alone. `scaling="unit"` maps the box to [0, 1]^d after clipping, and `Dataset.scale` maps back. `units` has
        one unit for each feature, or none. `share` in (0, 1] keeps about that share of the complete rows, each by its
        own features (`transforms`). Set `bounds_from_data` if any bound in `box` was computed from the data. `place`
        names the features that are latitude and longitude, degrees: they become meters east and north of the middle of
        their bounds, in a square (`geography`). `per_kilometer` is, for each feature of a scaled map, the amount that
        weighs as much as a kilometer; with None, or if it is empty, a feature's range weighs as much as the square's
        side. The last `n_categories` features are 0 or 1 by a record's category. They need the unit cube, in which a
        change of category moves a record by at most `category_weight`. Raises TableError.
        """
        names, values, classes = self._selected(features, label, missing, share)
        axes = None if place is None else _checked_place(place, names)
        from_data = bounds_from_data or box is None
        chosen = self._bounds_from_data(names, values) if box is None else _checked_box(box, names)
        values = filled(values, chosen, axes)
        n_clipped = int(((values < chosen.low) | (values > chosen.high)).any(axis=1).sum())
        if scaling not in get_args(Scaling):
            raise TableError(f"scaling must be one of {', '.join(get_args(Scaling))}, got {quoted(scaling)}.")
        points, scaled, here = chosen.clip(values), scaling == "unit", None
        units = (units,) if isinstance(units, str) else tuple(units)
        if units and len(units) != len(names):
            raise TableError(
                f"units must have one entry for each of the {len(names)} columns, '' for none, got {len(units)}."
            )
        units = tuple("".join(c for c in str(unit) if c.isprintable()).strip()[:MOST_UNIT] for unit in units)
        if axes is not None:
            points, chosen, here = on_plane(points, chosen, axes)
            named = dict(zip(here.axes, (EAST, NORTH), strict=True))
            units = tuple(METER if i in named else units[i] if units else "" for i in range(len(names)))
            names = tuple(named.get(i, name) for i, name in enumerate(names))
        weights = np.ones(len(names))
        if per_kilometer:
            if axes is None or not scaled or len(per_kilometer) != len(names):
                raise TableError(
                    'Amounts that weigh as much as a kilometer are for a map with scaling="unit", one for each '
                    f"of the {len(names)} features, or none, got {len(per_kilometer)}."
                )
            weights = map_weights(chosen.widths, axes, per_kilometer)
        if n_categories:
            if not scaled or not LEAST_CHANGE <= category_weight <= 1.0:
                raise TableError(
                    f"The weight of a change of category must be {LEAST_CHANGE:g} to 1 of a feature's bounds, "
                    f'with scaling="unit", got {quoted(category_weight)} with scaling={scaling!r}. Set both.'
                )
            weights[-n_categories:] = HALF * category_weight
        scale = (
            Scale(chosen, names, units or ("",) * len(names), frozen(weights), here, n_categories) if scaled else None
        )
        leaves_out = share < 1.0 or missing == "drop" or (missing == "middle" and label is not None)
        return Dataset(
            points if scale is None else scale.places(points),
            # Classes are numbered 0..c-1 in sorted order.
            None if classes is None else np.unique(classes, return_inverse=True)[1].astype(np.intp),
            chosen if scale is None else Box.cube(0.0, 1.0, chosen.d),
            names,
            UPLOADED_TITLE if title is None else title,
            units=() if scaled else units,
            note="Uploaded records: nothing leaves before you release it."
            + ("" if here is None else here.words)
            + ("" if scale is None else f" {scale.words}"),
            bounds_note=FROM_DATA if from_data else TYPED,
            bounds_from_data=from_data,
            nonprivate_n_clipped=n_clipped,
            place=None if scaled else here,
            scale=scale,
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
        """Return the effect of clipping into `box` on the rows that `dataset` takes. NOT private. Raises TableError."""
        names, values, _ = self._selected(features, label, missing, share)
        chosen = _checked_box(box, names)
        return clipping(filled(values, chosen, None if place is None else _checked_place(place, names)), chosen)

    def _selected(
        self, features: Sequence[str], label: str | None, missing: Missing, share: float
    ) -> tuple[tuple[str, ...], FloatArray, Classes | None]:
        """Return checked names, values (n, d) of the included rows, NaN only with "middle", and their classes."""
        names = (features,) if isinstance(features, str) else tuple(features)
        if not names:
            raise TableError(f"At least one feature must be chosen, got none. {self._numeric_listed()}")
        columns = [self._numbers(name) for name in names]
        for name in names:
            if names.count(name) > 1:
                raise TableError(f"Column {quoted(name)} is chosen twice. Remove one of them.")
        if label in names:
            raise TableError(
                f"Column {quoted(label)} is chosen both as a feature and as the label. Use it as one of them only."
            )
        values = np.column_stack(columns)
        classes = None if label is None else self._classes(label)
        if missing not in get_args(Missing):
            raise TableError(f"missing must be one of {', '.join(get_args(Missing))}, got {quoted(missing)}.")
        absent = [(name, np.isnan(column)) for name, column in zip(names, columns, strict=True)]
        absent += [] if classes is None else [(str(label), _is_absent(classes))]
        counts = count_odd([each for each, _ in absent], [rows for _, rows in absent])
        if counts and missing == "error":
            raise TableError(
                f"{GAPS} {counts} of {self.n_rows:,} rows, but all cells must be numbers. Drop those rows, "
                "fill them with the middle of their bounds, or choose other columns."
            )
        # Only a class has no middle.
        odd = [rows for name, rows in absent if missing != "middle" or name == label]
        selected = np.flatnonzero(~np.any(odd, axis=0)) if odd else np.arange(len(values))
        if not len(selected):
            raise TableError(
                f"No row is complete: cells are missing in {counts} of {self.n_rows} rows. Choose columns "
                "with fewer gaps."
            )
        if not 0.0 < share <= 1.0:
            raise TableError(f"The share of rows must be above 0 and at most 1, got {share}. 1 keeps all rows.")
        if share < 1.0:
            selected = selected[sample_mask(values[selected], share)]
            if not len(selected):
                raise TableError(f"A share of {share:g} of the rows keeps no row. Keep a larger share.")
        return names, values[selected], None if classes is None else classes[selected]

    def _numbers(self, name: str) -> FloatArray:
        """Return a numeric column (n,)."""
        columns = self.nonprivate_columns
        if isinstance(name, str) and name in columns.nonprivate_numbers:
            return columns.nonprivate_numbers[name]
        if isinstance(name, str) and name in columns.nonprivate_texts:
            raise TableError(f"Column {quoted(name)} is text, but features must be numbers. {self._numeric_listed()}")
        raise TableError(f"There is no column {quoted(name)} in the file. {self._numeric_listed()}")

    def _numeric_listed(self) -> str:
        if not self.numeric_columns:
            return "No column of this file is numeric: choose another file."
        return f"Choose from {listed(self.numeric_columns)}."

    def _classes(self, label: str) -> Classes:
        """Return the label column (n,) as in the file, text or numbers."""
        columns = self.nonprivate_columns
        if not isinstance(label, str) or label not in columns.names:
            names = listed(columns.names)
            raise TableError(
                f"There is no column {quoted(label)} to take labels from. Choose from {names}, or no label."
            )
        texts = columns.nonprivate_texts
        return texts[label] if label in texts else columns.nonprivate_numbers[label]

    def _bounds_from_data(self, names: tuple[str, ...], values: FloatArray) -> Box:
        """Return the box around `values` (n, d), NOT private; raise TableError for a constant column."""
        for axis in np.flatnonzero(np.isnan(values).all(axis=0)):
            raise TableError(f"Column {quoted(names[axis])} has no number to take bounds from. Enter its bounds.")
        lows, highs = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
        for axis in np.flatnonzero(lows == highs):
            raise TableError(
                f"Column {quoted(names[axis])} has only one value, {lows[axis]:g}, so it gives no bounds. "
                f"Enter bounds around it, for example {lows[axis]:g} - 1 to {lows[axis]:g} + 1, or leave "
                "the column out."
            )
        bounds = [rounded_outward(float(low), float(high)) for low, high in zip(lows, highs, strict=True)]
        try:
            return Box([one.low for one in bounds], [one.high for one in bounds])
        except ValueError as error:
            wide = bool((highs / 2 - lows / 2 > LARGEST / 2).any())
            raise TableError(
                "The columns span more than a number can hold, so they yield no bounds. Type narrower bounds."
                if wide
                else str(error)
            ) from None


def _split_name(column: str) -> str:
    """Return the words of a column's name in lower case: "patientId" -> "patient id"."""
    return re.sub(r"[_\W]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", column)).strip().lower()


@immutable_value
class Choices:
    """A user's choices for their own table. `dataset` applies them, in the app and in scripts.

    `bounds` and `units` are parallel to `features`; extremes of the records are not included. Ranges and lengths apply
    to choices from outside, in a file of settings or a link.
    """

    features: Annotated[tuple[Name, ...], Len(1, MOST_FEATURES)]
    # A column of classes, which is left out for the public.
    label: Name | None = None
    missing: Missing = "error"
    scaling: Scaling = "none"
    # Share of the rows. Each row is kept by its own values.
    share: Annotated[float, Ge(LEAST_SHARE), Le(1)] = 1.0
    how: How = EACH
    bounds: tuple[Pair, ...] = ()
    units: tuple[Annotated[str, Len(0, MOST_UNIT)], ...] = ()
    # Features that are latitude and longitude, degrees.
    place: tuple[str, str] | None = None
    # Number of features to which they are projected at random. None for no projection.
    projected: Annotated[int, Ge(1)] | None = None
    # Public.
    projection_seed: Annotated[int, Ge(0), Le(MAX_SEED)] = 0
    # Settings with which the file was read.
    reading: TableFormat = READ_OFF
    # For a scaled map: the amount of each feature that weighs as much as a kilometer.
    per_kilometer: tuple[Annotated[float, Gt(0), Lt(LARGEST_AMOUNT)] | None, ...] = ()
    # Columns whose typed values are features. They need scaling="unit".
    categories: tuple[Category, ...] = ()
    # Maximum move of a record by a change of category; 1 is as far as a feature's bounds.
    category_weight: Annotated[float, Ge(LEAST_CHANGE), Le(1)] = 1.0
    # Treatment of a row whose value is not in its column's list.
    unlisted: Unlisted = "zeros"
    # A column, and the value that the included rows have in it.
    group: tuple[Name, Name] | None = None
    # Rows of one person, at most. 0: not stated.
    rows_per_person: Annotated[int, Ge(0), Le(MOST_ROWS_EACH)] = 0

    @property
    def indicators(self) -> tuple[str, ...]:
        """The features that are 0 or 1, one for each category, in their order."""
        return tuple(f"{column} = {value}" for column, values in self.categories for value in values)

    @property
    def axes(self) -> tuple[str, ...]:
        """The features of the records before any projection."""
        return (*self.features, *self.indicators)

    def bounds_of(self, name: str) -> tuple[float, float]:
        """Return the typed bounds of the feature `name`, 0 to 1 for a category. Raises KeyError if there are none."""
        if name in self.indicators:
            return 0.0, 1.0
        pair = dict(zip(self.features, self.bounds, strict=False))[name]
        if pair is None:
            raise KeyError(name)
        return pair

    def unit(self, name: str) -> str:
        """Return the typed unit of the feature `name`."""
        return dict(zip(self.features, self.units, strict=False)).get(name, "")

    @property
    def borrowed(self) -> tuple[str, ...]:
        """The features whose bounds came from the data."""
        return tuple(name for name, pair in zip(self.features, self.bounds, strict=False) if pair is None)

    def box(self, table: Table) -> Box:
        """Return the bounds before scaling: typed bounds, and bounds suggested by `table` for the other features.

        Suggested bounds are NOT private. Raises TableError for a column without numbers.
        """
        bounds = dict(zip(self.features, self.bounds, strict=False))
        ends = []
        for name in self.features:
            pair = bounds.get(name)
            if pair is None:
                suggested = table.suggested_bounds(name)
                pair = suggested.low, suggested.high
            elif not pair[0] < pair[1]:
                first, second = (date_of(end) if name in table.dates else f"{end:,.15g}" for end in pair)
                raise TableError(
                    f"The low end of the bounds of {quoted(name)} must be below the high end, got {first} and "
                    f"{second}. Swap them, or correct one."
                )
            ends.append(pair)
        return Box(*zip(*ends, *[(0.0, 1.0)] * len(self.indicators), strict=True))

    def rows(self, table: Table) -> Table:
        """Return the used columns of `table`, one of 0 and 1 for each category, and the included rows.

        Each row stays or goes by its own cells. Raises TableError for a category that its column cannot have, and if no
        row is left.
        """
        if not self.categories and self.group is None:
            return table
        if len(set(self.axes)) < len(self.axes):
            raise TableError("Two features would have the same name, but names must be unique. Leave a category out.")
        keep, indicators = np.ones(table.n_rows, dtype=np.bool_), []
        if self.group is not None:
            keep &= table.nonprivate_has(*self.group)
        for column, values in self.categories:
            found = [table.nonprivate_has(column, value) for value in values]
            indicators += found
            if self.unlisted == "drop":
                keep &= np.logical_or.reduce(found)
        if not keep.any():
            raise TableError("No row has the chosen group, or a category of the lists. Check their spelling.")
        before = table.nonprivate_columns
        used = [name for name in before.names if name in (*self.features, self.label)]
        numbers = {name: before.nonprivate_numbers[name] for name in used if name in before.nonprivate_numbers}
        numbers |= {name: rows.astype(np.float64) for name, rows in zip(self.indicators, indicators, strict=True)}
        texts = {name: before.nonprivate_texts[name][keep] for name in used if name not in numbers}
        columns = replace(
            before,
            names=(*used, *self.indicators),
            n_rows=int(keep.sum()),
            nonprivate_numbers={name: values[keep] for name, values in numbers.items()},
            nonprivate_texts=texts,
        )
        return replace(table, nonprivate_columns=columns)

    def clipping(self, table: Table) -> Clipping:
        """Return the effect of the bounds on the rows that `dataset` takes. NOT private. Raises TableError."""
        return self.rows(table).clipping(
            self.axes, self.box(table), self.label, self.missing, share=self.share, place=self.place
        )

    def dataset(self, table: Table) -> Dataset:
        """Return the data set that these choices make of `table`. Raises TableError like `Table.dataset`."""
        rows, n_categories = self.rows(table), len(self.indicators)
        dataset = rows.dataset(
            self.axes,
            self.label,
            self.box(table),
            self.missing,
            scaling=self.scaling,
            units=(*self.units, *("",) * n_categories) if self.units else (),
            share=self.share,
            bounds_from_data=len(self.bounds) < len(self.features) or bool(self.borrowed),
            place=self.place,
            per_kilometer=(*self.per_kilometer, *(None,) * n_categories) if self.per_kilometer else (),
            n_categories=n_categories,
            category_weight=self.category_weight,
        )
        if self.group is not None or (self.categories and self.unlisted == "drop"):
            words = () if self.group is None else (OTHERS.format(*map(quoted, self.group)),)
            dataset = replace(
                dataset,
                nonprivate_n_left_out=dataset.nonprivate_n_left_out + table.n_rows - rows.n_rows,
                note=" ".join((dataset.note, *words)),
                caveats=tuple(dict.fromkeys((*dataset.caveats, *words, REPLACED))),
            )
        if self.rows_per_person:
            caveats = tuple(each for each in dataset.caveats if each != ONE_ROW)
            dataset = replace(dataset, rows_per_person=self.rows_per_person, caveats=caveats)
        return dataset if self.projected is None else dataset.projected(self.projected, seed=self.projection_seed)


def read_table(
    file_or_path: FileOrPath,
    *,
    sep: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    header: Header = "infer",
    sheet: str | None = None,
) -> Table:
    """Read a table from a path or an open file.

    CSV text (plain or gzip), workbooks (.xlsx, .ods), Parquet and points in GeoJSON are supported. The bytes determine
    the format, not the name. Cells may be separated by comma, semicolon, tab or bar; decimal commas, UTF-8, UTF-16 and
    Latin-1 are supported. Nothing is written to disk. A table may have as many rows and columns as fit in memory;
    limits apply to uploads (`read_confined`). Settings that are None are inferred from the whole file (see
    `dpviz.data.parsing`), and a guarantee treats them as public.

    Parameters
    ----------
    file_or_path
        A path, or a file opened in binary mode.
    sep
        Separator of cells, as in `pandas.read_csv`; "" for none.
    decimal
        Decimal sign, as in `pandas.read_csv`.
    thousands
        Sign between thousands, as in `pandas.read_csv`.
    header
        Row of the names, as in `pandas.read_csv`.
    sheet
        Name of a visible sheet of a workbook; None for the first one.

    Returns
    -------
    Table
        The table.

    Raises
    ------
    TableError
        If the file is not a table, or unpacks to a size that is implausible for one.

    Warns
    -----
    TableWarning
        If numbers may be wrong by a factor of 1000.
    """
    file, reading = read_bytes(file_or_path), TableFormat(sep, decimal, thousands, header, sheet)
    table = Table(file.name, file.digest, columns_of(file.data, own(len(file.data)), reading), reading)
    table.warn_of_doubts()
    return table


def _checked_box(box: Box, names: tuple[str, ...]) -> Box:
    if not isinstance(box, Box) or box.d != len(names):
        words = f"{box.d} axes" if isinstance(box, Box) else f"the type {type(box).__name__}"
        raise TableError(f"The Box must have bounds for each of the {len(names)} chosen columns, got {words}.")
    return box


def _checked_place(place: tuple[str, str], names: tuple[str, ...]) -> tuple[int, int]:
    """Return the indices of latitude and longitude among the features `names`."""
    if len(place) != 2 or place[0] == place[1] or not set(place) <= set(names):
        raise TableError(
            f"Latitude and longitude must be two of the features {listed(names)}, got {listed(tuple(place))}. "
            f"Choose both as features, or take them as plain numbers."
        )
    return names.index(place[0]), names.index(place[1])


def _is_absent(classes: Classes) -> NDArray[np.bool_]:
    return np.asarray(classes == "" if classes.dtype == object else np.isnan(classes), dtype=np.bool_)
