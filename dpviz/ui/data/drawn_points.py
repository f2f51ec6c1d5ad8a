"""What is drawn by hand, as a value: places and classes, and how a file of settings carries them."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpviz.core import Confidential, FloatArray, Labels, frozen

MOST_POINTS = 5_000
CLASSES = 6
MEANING = "Each point is [across, up, class]: shares of the box from 0 to 1, and a whole number."
NOT_HERE = "Saved in the public view: the drawn points are not in this file."


@dataclass(frozen=True, slots=True, eq=False)
class DrawnPoints(Confidential):
    """The points as they are: places (n, 2) in box units, and the class of each."""

    places: FloatArray
    classes: Labels

    @property
    def digest(self) -> str:
        """A fingerprint."""
        return hashlib.sha256(self.places.tobytes() + self.classes.tobytes()).hexdigest()[:16]


def to_file(sheet: DrawnPoints | None) -> dict[str, Any]:
    """Return what a file says of a drawing; `sheet` None: only that its points are not there."""
    if sheet is None:
        return {"note": NOT_HERE}
    rows = zip(sheet.places.tolist(), sheet.classes.tolist(), strict=True)
    return {"note": MEANING, "points": [[*place, each] for place, each in rows]}


def from_file(value: Any) -> DrawnPoints | None:
    """Read what anybody may have written; None where it holds no points. Raises ValueError in the reader's words."""
    if not isinstance(value, Mapping):
        raise ValueError("The file's drawing must be an object with a list of points. Correct it.")
    rows = value.get("points")
    if rows is None:
        return None
    if not isinstance(rows, list):
        raise ValueError("The file's drawn points must be a list. Correct it.")
    if len(rows) > MOST_POINTS:
        raise ValueError(
            f"The file has {len(rows):,} drawn points, but a drawing has at most {MOST_POINTS:,}. Take some out."
        )
    wrong = next((i for i, row in enumerate(rows) if not _is_point(row)), None)
    if wrong is not None:
        raise ValueError(
            f"The file's drawn point {wrong + 1:,} must be [across, up, class]: two numbers from 0 to 1 and a whole "
            f"number from 0 to {CLASSES - 1}. Correct it."
        )
    return made([value for row in rows for value in row])


def made(flat: Sequence[float]) -> DrawnPoints:
    """Return the sheet of across, up, class, across, ...; a place outside the box is moved onto its wall."""
    table = np.array(flat, dtype=np.float64).reshape(-1, 3)
    return DrawnPoints(frozen(np.clip(table[:, :2], 0.0, 1.0)), frozen(table[:, 2].astype(np.intp)))


def _is_point(row: Any) -> bool:
    # Comparing is safe where converting is not: a whole number of a JSON file may be too large for a float.
    return (
        isinstance(row, list)
        and len(row) == 3
        and all(isinstance(value, int | float) and not isinstance(value, bool) for value in row)
        and all(0 <= value <= 1 for value in row[:2])
        and is_class(row[2])
    )


def is_class(value: float) -> bool:
    """Say whether a number is one of the classes."""
    return 0 <= value < CLASSES and value == int(value)
