"""How a table is written: separator, decimal sign, separator of thousands and header row."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from dpviz.data.decoding import TableError, shown

SEPARATORS = (",", ";", "\t", "|")
NO_SEPARATOR = ""
DECIMALS = (".", ",")
THOUSANDS = ("", ",", ".", " ", "'")  # "": none
MOST_HEADER = 1_000  # ours
Header = int | Literal["infer"] | None


@dataclass(frozen=True, slots=True)
class TableFormat:
    """How a file is read: public settings, named as `pandas.read_csv` names them. None is read off the file.

    `sep` ("" for one column) and `header` are of text files and workbooks, `decimal` and `thousands` ("" for none) of
    all numbers that are written as text. `header` is the row of the names, 0 for the first one that is not empty, None
    if there are no names; rows above it are left out. Raises TableError for any other value.
    """

    sep: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    header: Header = "infer"

    def __post_init__(self) -> None:
        """Check the settings."""
        for name, value, allowed in (
            ("sep", self.sep, (*SEPARATORS, " ", NO_SEPARATOR)),
            ("decimal", self.decimal, DECIMALS),
            ("thousands", self.thousands, THOUSANDS),
        ):
            if value is not None and value not in allowed:
                listed = ", ".join(map(repr, allowed))
                raise TableError(f"{name} was {shown(value)}, but it must be one of {listed}, or None to read it off.")
        if self.decimal is not None and self.decimal == self.thousands:
            raise TableError(f"decimal and thousands were both {self.decimal!r}, but they must differ. Change one.")
        is_row = isinstance(self.header, int) and not isinstance(self.header, bool) and 0 <= self.header <= MOST_HEADER
        if not (is_row or self.header is None or self.header == "infer"):
            raise TableError(
                f"header was {shown(self.header)}, but it must be a row from 0 to {MOST_HEADER}, None if the file has "
                'no names, or "infer".'
            )

    @property
    def decimals(self) -> tuple[str, ...]:
        """The decimal signs that a file may have."""
        if self.decimal is not None:
            return (self.decimal,)
        return tuple(sign for sign in DECIMALS if self.thousands not in DECIMALS or sign != self.thousands)

    @property
    def chosen(self) -> dict[str, Any]:
        """The settings that are not read off the file, by name."""
        return {name: value for name, value in asdict(self).items() if value != getattr(READ_OFF, name)}


READ_OFF = TableFormat()
