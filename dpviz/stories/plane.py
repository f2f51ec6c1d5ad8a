"""Cells of a box and cuts along its axes in a picture of one, two or three features. Box units [0, 1] throughout."""

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from dpviz.core import FloatArray, algebra
from dpviz.stories.view import Projection, View, Words, project

# Corners of a cell's outline, as 0 (low) and 1 (high) of each shown feature; None lifts the pen.
SQUARE = ((0, 0), (1, 0), (1, 1), (0, 1), (0, 0))
OUTLINES: dict[int, tuple[tuple[int, ...] | None, ...]] = {
    1: ((0,), None, (1,)),
    2: SQUARE,
    3: (
        *((*corner, 0) for corner in SQUARE),
        None,
        *((*corner, 1) for corner in SQUARE),
        *(end for x, y in SQUARE[1:4] for end in (None, (x, y, 0), (x, y, 1))),
    ),
}
CUTS = {1: ((),), 2: ((0,), (1,)), 3: SQUARE}  # the same for a cut, in the features that it leaves whole
HALF = {1: 0.6745, 2: 1.1774}  # standard deviations that half of a normal law's draws stay within, in a line, a plane
TURNS = 41  # vertices of an ellipse


@dataclass(frozen=True, slots=True, eq=False)
class Plane:
    """A picture's plane and the features in it; cuts along any other feature cannot be drawn as lines."""

    projection: Projection
    features: tuple[int, ...]

    @classmethod
    def of(cls, view: View, words: Words) -> "Plane":
        """Return the plane of a view of features; principal directions have no cuts."""
        flat = View(view.x, view.y, z=view.z, yaw=view.yaw, pitch=view.pitch)
        return cls(project(flat, words, np.empty((0, words.box.d))), flat.features(words.box.d))

    @property
    def flat(self) -> bool:
        """Whether both axes of the picture are features."""
        return len(self.features) < 3

    def outlines(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """Return the outlines (m, p, 2) of cells (m, d); NaN where the pen is lifted."""
        corners = OUTLINES[len(self.features)]
        if len(self.features) == 1:
            return np.concatenate([self._upright(low[:, 0]), self._gap(len(low)), self._upright(high[:, 0])], axis=1)
        path = np.full((len(low), len(corners), low.shape[1]), np.nan)
        for vertex, corner in enumerate(corners):
            if corner is not None:
                path[:, vertex] = 0.0
                for feature, end in zip(self.features, corner, strict=True):
                    path[:, vertex, feature] = (high if end else low)[:, feature]
        return self.projection(path)

    def cuts(self, low: FloatArray, high: FloatArray, axes: NDArray[np.intp], positions: FloatArray) -> FloatArray:
        """Return cuts at `positions` (m,) along `axes` (m,) through cells (m, d)."""
        if len(self.features) == 1:
            return self._upright(np.where(axes == self.features[0], positions, np.nan))
        ends = CUTS[len(self.features)]
        path = np.full((len(low), len(ends), low.shape[1]), np.nan)
        for axis in self.features:
            rows = np.flatnonzero(axes == axis)
            others = [feature for feature in self.features if feature != axis]
            for vertex, corner in enumerate(ends):
                path[rows, vertex] = 0.0
                path[rows, vertex, axis] = positions[rows]
                for feature, end in zip(others, corner, strict=True):
                    path[rows, vertex, feature] = (high if end else low)[rows, feature]
        return self.projection(path)

    def middles(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """Return the middles (m, 2) of cells (m, d)."""
        return self.projection((low + high) / 2.0)

    def noise(self, centers: FloatArray, sigmas: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
        """Return the ellipses (k, p, 2) that half of the noise stays within, around `centers` (k, d).

        The noise is normal with `sigmas` (k, d) along the features and independent between them. In a flat picture an
        ellipse ends where its center is put back: at the cell (k, d).
        """
        at = self.projection(centers)[:, None]
        if len(self.features) == 1:
            reach = HALF[1] * sigmas[:, :1]
            ends = np.clip(centers + np.concatenate([-reach, reach], axis=1), low, high)
            return np.stack([ends, np.broadcast_to(at[..., 1], ends.shape)], axis=2)
        spread = sigmas[:, :, None] * self.projection.matrix  # (k, d, 2)
        values, vectors = algebra.eigen(np.einsum("kdi,kdj->kij", spread, spread))
        roots = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors  # (k, 2, 2): columns are half axes
        turn = np.linspace(0.0, 2.0 * np.pi, TURNS)
        circle = HALF[2] * np.stack([np.cos(turn), np.sin(turn)], axis=1)  # (p, 2)
        around = at + np.einsum("pj,kij->kpi", circle, roots)
        if self.flat:
            columns = list(self.features)
            around = np.clip(around, low[:, None, columns], high[:, None, columns])
        return np.asarray(around)

    def box(self) -> FloatArray:
        """Return the whole box's edges (e, 4)."""
        if len(self.features) < 3:
            corners = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
            return np.concatenate([corners, np.roll(corners, -1, axis=0)], axis=1)
        ends = np.zeros((0, 2, self.projection.d))
        for axis in self.features:
            others = [feature for feature in self.features if feature != axis]
            edge = np.zeros((4, 2, self.projection.d))
            edge[:, 1, axis] = 1.0
            for row, corner in enumerate(product((0.0, 1.0), repeat=2)):
                edge[row][:, others] = corner
            ends = np.concatenate([ends, edge])
        return self.projection(ends).reshape(-1, 4)

    @staticmethod
    def _upright(places: FloatArray) -> FloatArray:
        """Return upright lines (m, 2, 2) over the height of a strip."""
        return np.stack([np.stack([places, np.zeros_like(places)], 1), np.stack([places, np.ones_like(places)], 1)], 1)

    @staticmethod
    def _gap(n: int) -> FloatArray:
        return np.full((n, 1, 2), np.nan)
