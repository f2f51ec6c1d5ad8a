"""Outlines of symbols, and one template for many marks: the letters that an SVG is made of."""

import math

import numpy as np

from dpviz.core import FloatArray


def symbol_path(symbol: str, r: float) -> str:
    """Return a symbol's outline around (0, 0), about as large as a disc of radius `r`."""
    corners = {
        "square": (4, 0.25, 1.22),
        "diamond": (4, 0.0, 1.28),
        "triangle": (3, -0.5, 1.38),
        "down": (3, 0.5, 1.38),
    }
    if symbol in corners:
        count, turn, size = corners[symbol]
        return _polygon(np.full(count, size * r), turn)
    if symbol == "star":
        return _polygon(np.tile([1.4 * r, 0.62 * r], 5), -0.5)
    if symbol == "plus":
        return f"M{-1.1 * r:.2f} 0H{1.1 * r:.2f}M0 {-1.1 * r:.2f}V{1.1 * r:.2f}"
    if symbol == "cross":
        return f"M{-r:.2f} {-r:.2f}L{r:.2f} {r:.2f}M{-r:.2f} {r:.2f}L{r:.2f} {-r:.2f}"
    if symbol == "lock":
        a, b = 0.55 * r, 0.3 * r
        return (
            f"M{-0.9 * r:.2f} {-0.1 * r:.2f}H{0.9 * r:.2f}V{1.1 * r:.2f}H{-0.9 * r:.2f}Z"
            f"M{-a:.2f} {-0.1 * r:.2f}V{-a:.2f}A{a:.2f} {a:.2f} 0 0 1 {a:.2f} {-a:.2f}V{-0.1 * r:.2f}"
            f"H{b:.2f}V{-0.5 * r:.2f}A{b:.2f} {b:.2f} 0 0 0 {-b:.2f} {-0.5 * r:.2f}V{-0.1 * r:.2f}Z"
        )
    return f"M{-r:.2f} 0A{r:.2f} {r:.2f} 0 1 0 {r:.2f} 0A{r:.2f} {r:.2f} 0 1 0 {-r:.2f} 0Z"


def _polygon(radii: FloatArray, turn: float) -> str:
    angles = np.pi * (turn + 2.0 * np.arange(len(radii)) / len(radii))
    places = np.stack([radii * np.cos(angles), radii * np.sin(angles)], axis=-1)
    return "M" + fill_rows("%.2f %.2f ", places).rstrip().replace(" -", " -") + "Z"


def fill_rows(template: str, rows: FloatArray) -> str:
    """Fill a template once for every row, in one go; rows that are not finite are left out."""
    flat = rows.reshape(len(rows), math.prod(rows.shape[1:]))  # not -1, which no rows leave open
    kept = flat[np.isfinite(flat).all(axis=1)]
    return (template * len(kept)) % tuple(kept.ravel().tolist())
