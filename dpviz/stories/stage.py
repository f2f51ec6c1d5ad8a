"""Stage of a run's picture: its frames, its plane, and the layers on them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dpviz.core import AnyArray, FloatArray, Step, immutable, immutable_value
from dpviz.plots import Frame, Ink, Kind, Layer, Scene, rows_at
from dpviz.stories.view import Projection


@immutable_value
class Clock:
    """Frames of a run of T iterations: the start, the phases of each iteration, the release."""

    n_steps: int
    phases: tuple[str, ...]

    @property
    def n_frames(self) -> int:
        """Number of stops of the scrubber."""
        return len(self.phases) * self.n_steps + 2

    @property
    def release(self) -> int:
        """The last frame."""
        return self.n_frames - 1

    def frame(self, step: int, phase: str) -> int:
        """Return the frame of a phase of the step with index 0, 1, ..."""
        return 1 + len(self.phases) * step + self.phases.index(phase)

    def during(self, *phases: str, offset: int = 0) -> dict[int, int]:
        """Map the frames of these phases of every step to row step + offset; rows below 0 are left out."""
        length, opening = len(self.phases), [self.frame(0, phase) for phase in phases]
        return {length * t + first: t + offset for t in range(max(0, -offset), self.n_steps) for first in opening}

    def always(self, row: int = 0) -> dict[int, int]:
        """Map every frame to one row."""
        return dict.fromkeys(range(self.n_frames), row)

    @property
    def when(self) -> FloatArray:
        """Place of each frame between iterations 0 and T, (n_frames,)."""
        steps = np.arange(1, len(self.phases) * self.n_steps + 1) / len(self.phases)
        return np.concatenate([[0.0], steps, [float(self.n_steps)]])


@immutable
class Stage:
    """The plane and the frames that a layer is drawn on."""

    projection: Projection
    clock: Clock

    def layer(
        self,
        name: str,
        kind: Kind,
        ink: Ink,
        rows: Mapping[int, int],
        arrays: AnyArray | Mapping[str, AnyArray],
        **style: Any,
    ) -> Layer:
        """Make a layer whose `rows` are given as {frame: row}; `arrays` are those of `Layer.from_arrays`."""
        return Layer.from_arrays(
            name, kind, ink, arrays, rows_at(self.clock.n_frames, rows), **{"isolate": True, **style}
        )

    def marks(self, name: str, ink: Ink, rows: Mapping[int, int], places: FloatArray, **style: Any) -> Layer:
        """Make marks at `places` (R, m, d), box units."""
        return self.layer(name, Kind.MARKS, ink, rows, self.projection(places), **style)

    def arrows(
        self, name: str, ink: Ink, rows: Mapping[int, int], tails: FloatArray, heads: FloatArray, **style: Any
    ) -> Layer:
        """Make arrows from `tails` to `heads`, both (R, m, d), box units."""
        arrays = {"tail": self.projection(tails), "head": self.projection(heads)}
        return self.layer(name, Kind.ARROWS, ink, rows, arrays, **style)

    def threads(
        self, name: str, ink: Ink, rows: Mapping[int, int], tails: FloatArray, heads: FloatArray, **style: Any
    ) -> Layer:
        """Make lines from `tails` to `heads`, both (R, m, d), box units: noise, from exact to noisy places."""
        arrays = {"ends": np.concatenate([self.projection(tails), self.projection(heads)], axis=-1)}
        return self.layer(name, Kind.SEGMENTS, ink, rows, arrays, **{"size": 2.5, "glides": "index", **style})


@immutable
class Stops:
    """The stops of a picture's scrubber, in public words."""

    frames: tuple[Frame, ...]

    @property
    def start_frame(self) -> int:
        """The stop that is shown first: the last, which the sentence and the facts are about."""
        return len(self.frames) - 1


@immutable
class ExactScene(Scene):
    """A run without any privacy. The number of its steps is also exact, so the public sees only the first frame."""

    def public(self) -> Scene:
        """Return the public part of the first frame."""
        scene = Scene.public(self)
        layers = tuple(replace(layer, rows=layer.rows[:1]) for layer in scene.layers)
        return replace(scene, layers=layers, frames=scene.frames[:1], start_frame=0)


@immutable
class StepsScene(Scene):
    """A run with a public first frame and release. The number of steps between them is for the curator only."""

    def public(self) -> Scene:
        """Return the public part of both frames."""
        scene = Scene.public(self)
        ends = [0, len(self.frames) - 1]
        layers = tuple(replace(layer, rows=layer.rows[ends]) for layer in scene.layers)
        return replace(scene, layers=layers, frames=(self.frames[0], self.frames[-1]), start_frame=1)


def stack(trace: tuple[Step, ...], name: str) -> FloatArray:
    """Return one field of every step, (T, ...)."""
    return np.stack([getattr(step, name) for step in trace])
