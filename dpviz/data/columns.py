"""What is made of every file: named columns of numbers or text."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpviz.core import Confidential, FloatArray

Texts = NDArray[np.object_]  # (n,) of str


@dataclass(frozen=True, slots=True, eq=False)
class Columns(Confidential):
    """The columns of a table in their order, curator only but for the names."""

    names: tuple[str, ...]
    n_rows: int
    nonprivate_numbers: Mapping[str, FloatArray]  # (n,) each; NaN where a cell is missing or not finite
    nonprivate_texts: Mapping[str, Texts]  # (n,) each; '' where a cell is missing
    notes: tuple[str, ...]
    doubts: tuple[str, ...] = ()  # those of the notes that say which numbers may be wrong by a factor of 1000
    decimals: Mapping[str, str] = field(default_factory=dict)  # decimal signs of numeric columns that were text
