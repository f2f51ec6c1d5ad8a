"""Source-target pairs of real records: MNIST, Office-Caltech and superconductors, read from a folder of files.

Scale and ball come from the records' own extremes, as in the paper, so they are not private.
"""

from functools import lru_cache
from pathlib import Path

import numpy as np

from dpviz.core import Ball, Box, FloatArray, Labels, algebra, frozen
from dpviz.data import read_table
from dpviz.data.target_pairs import PROJECTED, SourceTarget

OFFICE = ("amazon", "webcam", "dslr")
QUARTILES = ("low", "middle-low", "middle-high", "high")


def mnist(folder: str | Path, source_digit: int, target_digit: int, *, rng: np.random.Generator) -> SourceTarget:
    """Read the test images of two digits, projected to 8 axes; classes are digits. Raises ValueError if missing."""
    arrays = _arrays(folder, "mnist_t10k.npz", ("X", "y"))
    classes = arrays["y"]
    both = [arrays["X"][classes == digit].astype(np.float64) / 255.0 for digit in (source_digit, target_digit)]
    digits_of = (source_digit, target_digit)
    labels = [np.full(len(images), digit, dtype=np.intp) for images, digit in zip(both, digits_of, strict=True)]
    return _projected(f"MNIST {source_digit} → {target_digit}", both, (labels[0], labels[1]), rng=rng)


def office(folder: str | Path, source: str, target: str, *, rng: np.random.Generator) -> SourceTarget:
    """Read two of OFFICE as Caltech's SURF features with their classes, projected to 8 axes. Raises ValueError."""
    names = [f"{kind}_{domain}" for domain in (source, target) for kind in "Xy"]
    arrays = _arrays(folder, "office_caltech_surf.npz", tuple(names))
    both = [arrays[f"X_{domain}"].astype(np.float64) for domain in (source, target)]
    labels = tuple(arrays[f"y_{domain}"].astype(np.intp) for domain in (source, target))
    return _projected(f"Office {source} → {target}", both, (labels[0], labels[1]), rng=rng)


def superconductivity(folder: str | Path, source: str, target: str, *, rng: np.random.Generator) -> SourceTarget:
    """Read two of QUARTILES of the critical temperature, with standardized columns projected to 8 axes.

    The paper's column for the split is unknown; the temperature is our choice. Raises ValueError for a missing file.
    """
    path = Path(folder) / "superconductivity_sample.csv.gz"
    if not path.is_file():
        raise ValueError(f"{path.name} is not in the folder. Pass the folder of the data sets with --data.")
    features, temperature = _materials(path, path.stat().st_mtime_ns)
    part = np.searchsorted(np.quantile(temperature, [0.25, 0.5, 0.75]), temperature, side="right")
    both = [features[part == QUARTILES.index(name)] for name in (source, target)]
    return _projected(f"Superconductivity {source} → {target}", both, (None, None), rng=rng)


def _projected(
    title: str, both: list[FloatArray], labels: tuple[Labels | None, Labels | None], *, rng: np.random.Generator
) -> SourceTarget:
    """Project source and targets by one public random matrix; the ball is from the records, as in the paper."""
    matrix = rng.standard_normal((both[0].shape[1], PROJECTED)) / np.sqrt(PROJECTED)
    source, targets = (algebra.product(points, matrix) for points in both)
    every = np.concatenate([source, targets])
    middle = every.mean(axis=0)
    radius = float(np.linalg.norm(every - middle, axis=1).max())
    box = Box(middle - radius, middle + radius)
    note = "Scale and ball are the records' own extremes, as in the paper: that is not private."
    ball = Ball(middle, radius)
    return SourceTarget(title, source, targets, box, ball, *labels, note=note, bounds_from_data=True)


@lru_cache(maxsize=1)
def _materials(path: Path, changed: int) -> tuple[FloatArray, FloatArray]:
    """Read the standardized features (m, d) and the critical temperatures (m,), once for all pairs and draws."""
    # Part of the cache key: a rewritten file is read again.
    del changed
    table = read_table(path)
    points = table.dataset(list(table.numeric_columns)).points
    column = list(table.numeric_columns).index("critical_temp")
    features = np.delete(points, column, axis=1)
    features = (features - features.mean(axis=0)) / np.maximum(features.std(axis=0), 1e-12)
    return frozen(features), frozen(points[:, column].copy())


def _arrays(folder: str | Path, name: str, keys: tuple[str, ...]) -> dict[str, FloatArray]:
    path = Path(folder) / name
    if not path.is_file():
        raise ValueError(f"{name} is not in the folder. Pass the folder of the data sets with --data.")
    return dict(zip(keys, _unpacked(path, path.stat().st_mtime_ns, keys), strict=True))


@lru_cache(maxsize=1)
def _unpacked(path: Path, changed: int, keys: tuple[str, ...]) -> tuple[FloatArray, ...]:
    """Read arrays of one file, once for all draws of a pair; MNIST takes longer to unpack than to cluster."""
    # Part of the cache key, as above.
    del changed
    name = path.name
    with np.load(path, allow_pickle=False) as archive:
        missing = [key for key in keys if key not in archive]
        if missing:
            raise ValueError(f"{name} has no {', '.join(missing)}. Use the file from the list of data sets.")
        return tuple(frozen(archive[key]) for key in keys)
