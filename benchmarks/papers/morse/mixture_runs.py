"""Runs of private mixtures with and without the Morse step, for the Morse tables."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.papers.kept_runs import all_of
from benchmarks.papers.morse.sets import LabeledRecords, draw_moons
from dpviz.core import FloatArray
from dpviz.methods.morse.algorithm import Params, assign, fit, signed_points

# From the authors' code; the paper gives no value.
DELTA = 1e-4
# Records for the comparison of labels, drawn anew for each run. Our choice.
JUDGED = 2500
# A run with at least this ARI has found the clusters. ARI is often near 0 or near 1. Our choice.
HIT = 0.95
# estimator -> calibration
VARIANTS = {"plain": "published", "steady": "tight"}
VARIANT_TITLES = {"plain": "The paper's: plain, published noise", "steady": "Ours: steady, tight noise"}


@dataclass(frozen=True, slots=True)
class MixtureSetting:
    """One cell of a table."""

    # A key of VARIANTS, which determines the calibration.
    estimator: str
    epsilon: float
    n_components: int  # K_0
    # tau_1, appendix H.
    n_iterations: int = 10
    base: str = "dpmog_hard"

    def params(self, n_clusters: int) -> Params:
        """Return the method's parameters."""
        return Params(
            n_components=self.n_components,
            n_clusters=n_clusters,
            epsilon=self.epsilon,
            delta=DELTA,
            n_iterations=self.n_iterations,
            base=self.base,
            calibration=VARIANTS[self.estimator],
            estimator=self.estimator,
        )


@dataclass(frozen=True, slots=True)
class MorseRun:
    """Result of one run. Curator only, because it is compared with the classes."""

    # ARI of the components, with each record in its most likely component.
    before: float
    # ARI of the hierarchy cut to K.
    after: float
    # Components that stand out from the noise.
    n_kept: int
    # Fewer than K minima cannot be cut into K.
    n_minima: int


def runs(
    records: LabeledRecords | None, setting: MixtureSetting, seeds: Sequence[int], *, jobs: int = 1
) -> tuple[MorseRun, ...]:
    """Return one run for each of `seeds`; without `records` each seed draws its own moons. The same for any `jobs`."""
    return all_runs(records, [setting], seeds, jobs=jobs)[setting]


def all_runs(
    records: LabeledRecords | None, settings: Sequence[MixtureSetting], seeds: Sequence[int], *, jobs: int = 1
) -> dict[MixtureSetting, tuple[MorseRun, ...]]:
    """Return the `runs` of each of `settings`."""
    tasks = [(records, setting, seed) for setting in settings for seed in seeds]
    found = iter(all_of(one_run, tasks, len(tasks), jobs=jobs, title="moons" if records is None else records.name))
    return {setting: tuple(next(found) for _ in seeds) for setting in settings}


def one_run(records: LabeledRecords | None, setting: MixtureSetting, seed: int) -> MorseRun:
    """Fit, cut and compare once."""
    from sklearn.metrics import adjusted_rand_score  # slow to load

    data = draw_moons(seed) if records is None else records
    params = setting.params(data.n_clusters)
    release = fit(data.points, data.box, params, rng=np.random.default_rng([seed, 2])).release
    n = len(data.points)
    rows = np.random.default_rng([seed, 3]).choice(n, min(n, JUDGED), replace=False)
    signed, classes = signed_points(data.points[rows], data.box), data.labels[rows]
    components = release.mixture.log_terms(signed).argmax(axis=1)
    clusters = assign(release.mixture, signed, data.n_clusters)
    return MorseRun(
        before=float(adjusted_rand_score(classes, components)),
        after=float(adjusted_rand_score(classes, clusters)),
        n_kept=len(release.kept),
        n_minima=release.tree.n_leaves,
    )


def after(found: Sequence[MorseRun]) -> FloatArray:
    """Return the ARI (R,) with the Morse step."""
    return np.array([run.after for run in found])


def hits(found: Sequence[MorseRun]) -> NDArray[np.bool_]:
    """Return (R,) True for runs that reach HIT."""
    return np.asarray(after(found) >= HIT)
