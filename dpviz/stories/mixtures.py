"""Run that releases a Gaussian mixture: the picture of its centers, with the area that each component covers."""

import math
from functools import cached_property

import numpy as np

from dpviz.accounting import Purpose
from dpviz.baselines.dp_em import FIRM_SCALES, EmStep, MixtureRelease
from dpviz.core import Centers, Counts, FloatArray, algebra
from dpviz.plots import RELEASED, Kind, Layer
from dpviz.solvers import BOX_MIDDLE, Mixture
from dpviz.stories import ensemble, spending
from dpviz.stories.center_facts import NoiseLaw, noise_law
from dpviz.stories.centers import CentersRun
from dpviz.stories.ensemble import Ensembles
from dpviz.stories.stage import Stage
from dpviz.stories.view import CIRCLE, HALF, Projection, View


class MixtureRun(CentersRun[MixtureRelease, EmStep]):
    """A run of DP-EM, in which an ellipse around each released center contains half of its component."""

    terms = (
        *CentersRun.terms,
        ("ellipse", "Contains half of what a released component describes. Computed from the release alone."),
    )

    def ensembles(self, view: View) -> Ensembles:
        """Return the means with other noise (curator only), and places of the true means (public).

        A component whose noisy count does not clearly exceed its noise stays in its place. A run does not keep the
        first iteration's start, so a run of one iteration has no ensemble for the curator.
        """
        del view
        last, counts, n = self.steps[-1], self.release.noisy_counts, ensemble.n_draws(len(self.final))
        # The method releases counts with the mixture.
        assert counts is not None
        # The records lie in [-1, 1]^d: in widths of the box, sums of x - 1/2 have half of the noise.
        count_sigma, sum_sigma = (
            math.sqrt(2.0) * spending.noise_scales(self.result, purpose)[-1]
            for purpose in (Purpose.COUNTS, Purpose.SUMS)
        )
        noise = ensemble.SumNoise(count_sigma, sum_sigma / 2.0, "gaussian")
        true = noise.true_means(counts, self.final, BOX_MIDDLE, n)
        stayed = counts <= FIRM_SCALES * count_sigma
        true[:, stayed] = ensemble.standard_uniform(*true.shape)[:, stayed]
        if not self.teaching or len(self.steps) < 2:
            return None, ensemble.Ensemble(true)

        def means(noisy: Counts, sums: FloatArray, fallback: Centers) -> Centers:
            firm = (noisy > FIRM_SCALES * count_sigma)[:, None]
            return np.where(firm, np.clip(BOX_MIDDLE + sums / np.where(firm, noisy[:, None], 1.0), 0.0, 1.0), fallback)

        d, moments = self.final.shape[1], last.nonprivate_moments
        exact = moments[:, 0]
        # Sums of x - 1/2, box units.
        sums = moments[:, 1 : 1 + d] / 2.0
        before = (self.steps[-2].mixture.means + 1.0) / 2.0
        return ensemble.centered(noise.landed(exact, sums, before, means, n)), ensemble.Ensemble(true)

    @cached_property
    def noise_law(self) -> NoiseLaw | None:
        """The distances that noise moves released centers. Public. Sums are in [-1, 1]^d."""
        law = noise_law(self.result, 2.0 * (self.final - BOX_MIDDLE), Purpose.SUMS)
        return None if law is None else NoiseLaw(law.lengths / 2.0, law.draws / 2.0)

    def layers(self, stage: Stage) -> tuple[Layer, ...]:
        """Return the centers, and in a plane the ellipses of the release on top; a single feature has none."""
        layers, plane = super().layers(stage), stage.projection
        if plane.d == 1:
            return layers
        arrays = {"xy": ellipses(self.release.mixture, plane)[None]}
        rows = {stage.clock.release: 0}
        return (*layers, stage.layer("half of a component", Kind.LINES, RELEASED, rows, arrays, size=1.5))


def ellipses(mixture: Mixture, plane: Projection) -> FloatArray:
    """Return closed curves (K, p, 2), plane units, that contain half of each component of a mixture in [-1, 1]^d.

    A component's shadow on the plane is normal with covariance M' (Sigma / 4) M around the shadow of its mean.
    """
    shadows = np.einsum("di,kde,ej->kij", plane.matrix, mixture.covariances / 4.0, plane.matrix)
    values, vectors = algebra.eigen((shadows + shadows.transpose(0, 2, 1)) / 2.0)
    half_axes = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]  # (K, 2, 2), columns
    return np.asarray(plane((mixture.means + 1.0) / 2.0)[:, None] + np.einsum("kij,pj->kpi", half_axes, HALF * CIRCLE))
