"""Runs of source-target clustering and its comparators on one pair, for its tables."""

import math
import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.spatial import cKDTree

from benchmarks.papers.kept_runs import all_of
from dpviz.baselines.source_target_rivals import private_kmeans_points
from dpviz.core import FloatArray, Labels, Points
from dpviz.data.target_pairs import SourceTarget
from dpviz.methods.source_target.algorithm import Params, sanitize
from dpviz.methods.source_target.algorithm.coreset_cells import coreset
from dpviz.solvers import nearest_distance, select_several

# Section 6.
BUDGETS = {"ε = 3": {"epsilon": 3.0}, "ρ = 3": {"rho": 3.0}}
NO_BUDGET = "none"
# Section 6.
T = 150
# Section 6.
CORESET = 0.05
# Repeats of each timing. Our choice.
REPEATS = 3
METHODS = {
    "nonprivate": "Non-private STC",
    "cluster_t": "Cluster T",
    "nna": "NNA",
    "nas": "NAS",
    "private_kmeans": "Private k-means",
}
# Methods that make S' from the coreset. The rivals never do; with a coreset, they select among its points.
CORED = ("nna", "nas")


@dataclass(frozen=True, slots=True)
class PairSpec:
    """One pair of a table; `draw(folder, rng=rng)` returns it, with a new draw or projection for each run."""

    name: str
    draw: Callable[..., SourceTarget]


@dataclass(frozen=True, slots=True)
class PairSetting:
    """One way to choose centers."""

    method: str
    budget: str = NO_BUDGET
    coreset: bool = True
    t: int = T


@dataclass(frozen=True, slots=True)
class PairOutcome:
    """One choice of k centers. Curator only."""

    pair: str
    setting: PairSetting
    k: int
    # Cost in diameters of the ball.
    cost: float
    # Cost of non-private STC on the same draw.
    floor: float
    # 1-NN accuracy on the targets with the labels of S and T_k; NaN without labels.
    accuracy: float


@dataclass(frozen=True, slots=True)
class RunTime:
    """Time of one choice of k centers, in milliseconds of processor time."""

    pair: str
    setting: PairSetting
    k: int
    release: float  # S'
    selection: float  # T_k


def runs(
    pair: PairSpec,
    folder: Path,
    settings: Sequence[PairSetting],
    ks: Sequence[int],
    seed: int,
    n_runs: int,
    *,
    jobs: int = 1,
) -> list[PairOutcome]:
    """Return every setting and k on each of `n_runs` draws of one pair; the same for any `jobs`."""
    tasks = ((pair, folder, settings, ks, (seed, zlib.crc32(pair.name.encode()), i)) for i in range(n_runs))
    done = all_of(one_run, tasks, n_runs, jobs=jobs, title=pair.name)
    return [outcome for one in done for outcome in one]


def one_run(
    pair: PairSpec, folder: Path, settings: Sequence[PairSetting], ks: Sequence[int], seed: tuple[int, int, int]
) -> list[PairOutcome]:
    """Draw the pair once and try every setting on it; the noise of a setting does not depend on the others."""
    data = pair.draw(folder, rng=np.random.default_rng([*seed, 0]))
    unit = data.ball.to_unit(data.targets)
    source = data.ball.to_unit(data.ball.project(data.box.clip(data.source)))
    ceilings = nearest_distance(unit, source)
    best, core = _select(unit, source, ks), coreset(unit, CORESET)
    floors = {k: _cost(unit, ceilings, best[k]) for k in ks}
    found = []
    for i, setting in enumerate(settings):
        released = _released(data, setting, np.random.default_rng([*seed, 1 + i]))
        chosen = best
        if setting.coreset and setting.method not in CORED:
            few = _select(unit[core.representatives], released, ks, core.weights)
            chosen = {k: core.representatives[few[k]] for k in ks}
        elif setting.method != "nonprivate":
            chosen = _select(unit, released, ks)
        for k in ks:
            outcome = _cost(unit, ceilings, chosen[k]), floors[k], _accuracy(data, unit, source, chosen[k])
            found.append(PairOutcome(pair.name, setting, k, *outcome))
    return found


def timed(pair: PairSpec, folder: Path, settings: Sequence[PairSetting], k: int, seed: int) -> list[RunTime]:
    """Return the time of each setting on one draw of a pair, in processor time: the minimum of REPEATS."""
    data = pair.draw(folder, rng=np.random.default_rng([seed, zlib.crc32(pair.name.encode())]))
    unit, source = data.ball.to_unit(data.targets), data.ball.to_unit(data.ball.project(data.box.clip(data.source)))
    found = []
    for setting in settings:
        times = []
        for i in range(REPEATS):
            begin = time.process_time()
            released = source if setting.method == "nonprivate" else _released(data, setting, np.random.default_rng(i))
            middle = time.process_time()
            _select(unit, released, [k])
            times.append((middle - begin, time.process_time() - middle))
        release, selection = (1000.0 * min(column) for column in zip(*times, strict=True))
        found.append(RunTime(pair.name, setting, k, release, selection))
    return found


def settings_of(methods: Iterable[str], *, ablation: bool = False, ts: Sequence[int] = (T,)) -> list[PairSetting]:
    """Return every setting of some methods: NNA and NAS with the coreset, the comparators without it.

    With `ablation`, also the reverse. Methods without a budget, coreset or t appear once.
    """
    made: dict[PairSetting, None] = {}
    for method in methods:
        usual = method in CORED
        for budget in BUDGETS if method in (*CORED, "private_kmeans") else (NO_BUDGET,):
            for cored in (usual, not usual) if ablation and method != "nonprivate" else (usual,):
                for t in ts if method == "nas" else (T,):
                    made[PairSetting(method, budget, cored, t)] = None
    return list(made)


def _released(data: SourceTarget, setting: PairSetting, rng: np.random.Generator) -> Points:
    """Return S' (m', d) in the ball's unit; empty for Cluster T."""
    if setting.method in ("nonprivate", "cluster_t"):
        return np.empty((0, data.box.d))
    epsilon, rho = (BUDGETS[setting.budget].get(name) for name in ("epsilon", "rho"))
    if setting.method == "private_kmeans":
        return data.ball.to_unit(
            private_kmeans_points(data.source, data.ball, epsilon=epsilon, rho=rho, rng=rng).centers
        )
    params = Params(
        data.targets,
        epsilon=epsilon,
        rho=rho,
        method=setting.method,
        noise="laplace" if rho is None else "gaussian",
        t=setting.t,
        coreset_radius=CORESET if setting.coreset else 0.0,
        ball=data.ball,
    )
    return data.ball.to_unit(sanitize(data.source, data.box, params, rng=rng).released_points)


def _select(unit: Points, released: Points, ks: Sequence[int], weights: FloatArray | None = None) -> dict[int, Labels]:
    # It only draws samples from many targets, and no set here has that many.
    chosen = select_several(unit, released, ks, weights=weights, rng=np.random.default_rng(0))
    return dict(zip(ks, chosen, strict=True))


def _cost(unit: Points, ceilings: FloatArray, chosen: Labels) -> float:
    return float(np.minimum(ceilings, nearest_distance(unit, unit[chosen])).mean())


def _accuracy(data: SourceTarget, unit: Points, source: Points, chosen: Labels) -> float:
    """Return the share of targets whose nearest point of S and T_k has the same class; chosen targets do not count."""
    if data.source_labels is None or data.target_labels is None or len(chosen) == len(unit):
        return math.nan
    known = np.concatenate([source, unit[chosen]])
    labels = np.concatenate([data.source_labels, data.target_labels[chosen]])
    others = np.setdiff1d(np.arange(len(unit)), chosen)
    nearest = np.asarray(cKDTree(known).query(unit[others], k=1)[1])
    return float(np.mean(labels[nearest] == data.target_labels[others]))
