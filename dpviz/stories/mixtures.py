"""A run that releases a Gaussian mixture: the picture of its centers, with what each component covers."""

from dataclasses import replace

import numpy as np

from dpviz.baselines.dp_em import EmStep, MixtureRelease
from dpviz.core import FloatArray, algebra
from dpviz.plots import Kind, Scene
from dpviz.solvers import Mixture
from dpviz.stories.centers import PHASES, CentersRun
from dpviz.stories.stage import RELEASED, Clock, Stage
from dpviz.stories.view import HALF, TURNS, Projection, View


class MixtureRun(CentersRun[MixtureRelease, EmStep]):
    """A run of DP-EM: an ellipse around each released center holds half of its component."""

    terms = (
        *CentersRun.terms,
        ("ellipse", "Half of what a released component describes lies in it; it follows from the release alone."),
    )

    def draw(self, view: View, *, rng: np.random.Generator) -> Scene:
        """Draw the centers, and in a plane the ellipses of the release; a single feature has none."""
        scene, plane = super().draw(view, rng=rng), self.plane(view)
        if plane.d == 1:
            return scene
        stage = Stage(plane, Clock(len(self.steps), PHASES))
        arrays = {"xy": ellipses(self.release.mixture, plane)[None]}
        rows = {stage.clock.release: 0}
        layer = stage.layer("Half of a component", Kind.LINES, RELEASED.role, RELEASED.audience, rows, arrays, size=1.5)
        return replace(scene, layers=(*scene.layers, layer))


def ellipses(mixture: Mixture, plane: Projection) -> FloatArray:
    """Return closed curves (K, p, 2), plane units, that hold half of each component of a mixture in [-1, 1]^d.

    A component's shadow on the plane is normal with covariance M' (Sigma / 4) M around the shadow of its mean.
    """
    shadows = np.einsum("di,kde,ej->kij", plane.matrix, mixture.covariances / 4.0, plane.matrix)
    values, vectors = algebra.eigen((shadows + shadows.transpose(0, 2, 1)) / 2.0)
    half_axes = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]  # (K, 2, 2), columns
    turn = np.linspace(0.0, 2.0 * np.pi, TURNS)
    circle = HALF[2] * np.stack([np.cos(turn), np.sin(turn)], axis=1)  # (p, 2)
    return np.asarray(plane((mixture.means + 1.0) / 2.0)[:, None] + np.einsum("kij,pj->kpi", half_axes, circle))
