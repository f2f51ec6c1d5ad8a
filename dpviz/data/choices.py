"""What somebody chose for a table of their own, in one object: it makes the data set, here and in a script."""

from dataclasses import dataclass

from dpviz.core import Box
from dpviz.data.dataset import Dataset
from dpviz.data.table import Missing, Scaling, Table
from dpviz.data.table_format import READ_OFF, TableFormat

EACH, SAME, DATA = "each", "same", "data"  # how bounds are given
Pair = tuple[float, float] | None  # None: from the data


@dataclass(frozen=True, slots=True)
class Choices:
    """The answers. `bounds` and `units` stand beside `features`; extremes of the records are not in here."""

    features: tuple[str, ...]
    label: str | None = None  # a column of classes; left out for the public
    missing: Missing = "error"
    scaling: Scaling = "none"
    share: float = 1.0  # of the rows, each kept by its own values
    how: str = EACH
    bounds: tuple[Pair, ...] = ()
    units: tuple[str, ...] = ()
    place: tuple[str, str] | None = None  # features that are latitude and longitude, degrees
    projected: int | None = None  # features that they are projected to, at random; None: not at all
    projection_seed: int = 0  # public
    reading: TableFormat = READ_OFF  # settings by which the file was read

    def pair(self, name: str) -> tuple[float | None, float | None]:
        """Return the typed bounds of the feature `name`, nothing where there are none."""
        found = dict(zip(self.features, self.bounds, strict=False)).get(name)
        return found or (None, None)

    def bounds_of(self, name: str) -> tuple[float, float]:
        """Return the typed bounds of the feature `name`. Raises KeyError where there are none."""
        found = dict(zip(self.features, self.bounds, strict=False))[name]
        if found is None:
            raise KeyError(name)
        return found

    def unit(self, name: str) -> str:
        """Return the typed unit of the feature `name`."""
        return dict(zip(self.features, self.units, strict=False)).get(name, "")

    @property
    def borrowed(self) -> tuple[str, ...]:
        """The features whose bounds came from the data."""
        return tuple(name for name, pair in zip(self.features, self.bounds, strict=False) if pair is None)

    def box(self, table: Table) -> Box:
        """Return the bounds before scaling: the typed ones, and of the others those that `table` suggests.

        Suggested bounds are NOT private. Raises TableError for a column without numbers.
        """
        ends = []
        for place, name in enumerate(self.features):
            pair = self.bounds[place] if place < len(self.bounds) else None
            suggested = None if pair is not None else table.suggested_bounds(name)
            ends.append(pair if suggested is None else (suggested.low, suggested.high))
        low, high = zip(*(end for end in ends if end is not None), strict=True)
        return Box(low, high)

    def dataset(self, table: Table) -> Dataset:
        """Return the data set that these choices make of `table`. Raises TableError as `Table.dataset` does."""
        made = table.dataset(
            self.features,
            self.label,
            self.box(table),
            self.missing,
            scaling=self.scaling,
            units=self.units,
            share=self.share,
            bounds_from_data=len(self.bounds) < len(self.features) or bool(self.borrowed),
            place=self.place,
        )
        return made if self.projected is None else made.projected(self.projected, seed=self.projection_seed)
