"""Array types and the one check that every array of records passes."""

import hashlib
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
Points = FloatArray  # (n, d) data units, one record a row
Centers = FloatArray  # (k, d) data units
Counts = FloatArray  # (k,) records, noisy ones may be negative
Labels = NDArray[np.intp]  # (n,) index of a center

DType = TypeVar("DType", bound=np.generic)


def frozen(array: NDArray[DType]) -> NDArray[DType]:
    """Make `array` read-only and return it: results are shared between sessions."""
    array.setflags(write=False)
    return array


def fingerprint(array: NDArray[Any]) -> str:
    """Return what stands for an array's shape, type and bits in the key of a cache; equal arrays have equal ones."""
    kept = np.ascontiguousarray(array)
    # A digest, not a hash of the process: a job is named by it in one process and done in another.
    return hashlib.blake2b(f"{kept.dtype}{kept.shape}".encode() + kept.tobytes(), digest_size=16).hexdigest()


def as_points(values: ArrayLike, *, n_features: int | None = None, name: str = "points") -> Points:
    """Return `values` as finite float64 records (n, d), one a row; n may be 0, d is at least 1.

    Raises ValueError when the array is not two-dimensional, holds NaN or infinity, or has another
    number of columns than `n_features`.
    """
    try:
        points: NDArray[Any] = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} could not be read as numbers ({error}). Pass an array of shape (n, d) of floats."
        ) from None
    if points.ndim != 2 or points.shape[1] == 0:
        raise ValueError(
            f"{name} had shape {points.shape}, but it must be (n, d) with d >= 1. "
            "Reshape one column with points.reshape(-1, 1)."
        )
    if n_features is not None and points.shape[1] != n_features:
        raise ValueError(
            f"{name} had {points.shape[1]} columns, but the box has {n_features}. "
            "Give one pair of bounds for each column."
        )
    if not np.isfinite(points).all():
        n_bad = int((~np.isfinite(points)).any(axis=1).sum())
        raise ValueError(
            f"{name} held NaN or infinity in {n_bad} of {len(points)} rows, but every value must be finite. "
            "Drop or fill those rows first."
        )
    return np.ascontiguousarray(points)
