"""One iteration of convergent k-means, for all clusters at once: stand, aim, draw. See `convergent_kmeans`."""

from dataclasses import replace
from typing import ClassVar

import numpy as np

from dpviz.accounting import LaplaceEvent, ParallelEvent, PureEvent, Purpose
from dpviz.baselines._lloyd_family import noisy_sums
from dpviz.core import Adjacency, BoolArray, Centers, Counts, Event, FloatArray, Labels, Step, frozen, immutable
from dpviz.mechanisms import laplace
from dpviz.methods.convergent_kmeans.algorithm.lookahead import Chance
from dpviz.solvers import (
    CellSeeds,
    ClusterSums,
    Members,
    Partition,
    cluster_costs,
    means,
    past_controller,
    placed_in_zone,
    su_split,
)
from dpviz.solvers.noisy_lloyd import LloydProblem, cell_pass

# Box units. Larger than the rounding error of places near 1, for any a. With "past", |X - S| equals a.
ROUNDING = 1e-12


@immutable
class ZonesProblem:
    """Everything that stays the same over the iterations."""

    # Records and their box.
    records: LloydProblem
    n_clusters: int
    repaired: bool
    # "past" or "future".
    orientation: str
    # T, or the largest number in published mode.
    n_iterations: int
    # Epsilon of each iteration: its budget in repaired mode, the paper's epsilon_t in published mode.
    epsilon: float
    # Epsilon inside a zone. The same number in published mode.
    temperature: float
    # Cost of fixing `n_iterations`.
    plan_events: tuple[Event, ...] = ()
    # True after a private start. Its centers are too good to follow noise alone.
    seeded: bool = False


@immutable
class ZoneStep(Step):
    """One iteration. All fields are curator only. Arrays have one row per cluster, in box units [0, 1]^d."""

    in_box: ClassVar[tuple[str, ...]] = (
        "previous_centers",
        "nonprivate_mean",
        "zone_mean",
        "far_point",
        "controller",
        "zone_center",
        "released_centers",
        "final_centers",
        "nonprivate_final_mean",
    )

    # Counted from 1.
    iteration: int
    # Epsilon of this iteration: its budget in repaired mode, the paper's epsilon_t in published mode.
    epsilon: float
    # (k, d) S_prev.
    previous_centers: Centers
    nonprivate_counts: Counts  # (k,)
    # (k, d) S. An empty cluster keeps S_prev.
    nonprivate_mean: Centers
    # (k,) repaired mode only.
    noisy_counts: Counts | None
    # (k, d) mean on which the zone is built: S, or the noisy mean in repaired mode.
    zone_mean: Centers
    # (k,) a = |S_prev - zone_mean|.
    convergent_radius: FloatArray
    # (k, d) Y = 2 zone_mean - S_prev.
    far_point: Centers
    # (k,) angle from Y to X in radians. NaN with orientation "future".
    gamma: FloatArray
    # (k, d) X.
    controller: Centers
    lam: FloatArray  # (k,)
    # (k, d) P.
    zone_center: Centers
    # (k,) r.
    zone_radius: FloatArray
    # (k,) delta.
    reach: FloatArray
    # (k,) alpha in radians.
    angle: FloatArray
    # (k, d) S_hat.
    released_centers: Centers
    # Nearest records of each previous center. (0,) if the records come in chunks.
    nonprivate_members: Members
    # (k,) costs of the clusters at S_prev, box units squared.
    nonprivate_cost_before: FloatArray
    # (k,) costs of the same clusters at S_hat.
    nonprivate_cost_after: FloatArray
    # 1, or 2 with orientation "future", whose controller is a second Lloyd step.
    lloyd_rounds: int
    # "moving", "converged", "still" (tolerance), "max_iterations", or "planned" (last iteration in repaired mode).
    outcome: str
    events: tuple[Event, ...]
    # Seeds of the first step after a private start.
    seeds: CellSeeds | None = None
    # Published mode's last iteration also has the final sums over noisy counts, and which of them were mended.
    # (k,) noisy counts. A center times its count is the exact sum.
    final_counts: Counts | None = None
    # (k,) True if the noisy count was below 1 and became 1.
    final_raised: BoolArray | None = None
    # (k,) True if the center was outside the box and was clipped into it.
    final_clipped: BoolArray | None = None
    # (k, d) released centers, box units.
    final_centers: Centers | None = None
    # (k,) counts of the clusters whose sums are released.
    nonprivate_final_counts: Counts | None = None
    nonprivate_final_mean: Centers | None = None  # (k, d)

    @property
    def nonprivate_labels(self) -> Labels:
        """Nearest previous center of each record (n,); (0,) if the records come in chunks."""
        return np.asarray(self.nonprivate_members[:], dtype=np.intp)

    @property
    def leaves_convergent_zone(self) -> BoolArray:
        """True (k,) for zones that may reach out of their convergent zone, |X - S| > a, which "future" allows."""
        return lengths(self.controller - self.zone_mean) > self.convergent_radius + ROUNDING


def zone_step(problem: ZonesProblem, centers: Centers, clusters: Partition, iteration: int, chance: Chance) -> ZoneStep:
    """Do steps 1 to 5 of one iteration, for all clusters at once; `clusters` are those of `centers`."""
    gamma, lam = chance.gamma, chance.lam
    sums, squares = clusters.sums, clusters.nonprivate_squares
    exact = means(sums, centers)
    noisy_counts: Counts | None = None
    if problem.repaired:
        rngs = [chance.noise.child(part).generator() for part in range(2)]
        split, adjacency = su_split(problem.epsilon, centers.shape[1]), Adjacency.ADD_REMOVE
        noisy = noisy_sums(sums, centers, split, adjacency, iteration, rngs=rngs, seeded=problem.seeded)
        mean, noisy_counts, event = noisy.centers, frozen(noisy.counts), noisy.event
    # The paper uses the exact means. The event is the paper's claim, not a proved fact.
    else:
        claimed = PureEvent("one cluster (claimed)", problem.epsilon, purpose=Purpose.DRAWS, step=iteration)
        event = ParallelEvent(f"iteration {iteration} (claimed)", (claimed,) * len(exact))
        mean = exact
    # Y.
    far_point = 2.0 * mean - centers
    # The controller X with the gamma and lambda of this iteration (steps 3 and 4).
    if chance.turns is not None:
        controller = past_controller(mean, far_point, gamma, chance.turns)
    else:
        controller = means(cell_pass(problem.records, mean).sums, mean)
    sample = placed_in_zone(mean, controller, chance.draw)
    return ZoneStep(
        iteration=iteration,
        outcome="moving",
        lloyd_rounds=2 if problem.orientation == "future" else 1,
        epsilon=problem.epsilon,
        events=(*problem.plan_events, event) if iteration == 1 else (event,),
        previous_centers=centers,
        nonprivate_members=clusters.nonprivate_members,
        nonprivate_counts=sums.nonprivate_counts,
        nonprivate_mean=exact,
        noisy_counts=noisy_counts,
        zone_mean=mean,
        convergent_radius=lengths(mean - centers),
        far_point=far_point,
        gamma=gamma,
        controller=controller,
        lam=lam,
        zone_center=mean + lam[:, None] * (controller - mean),
        zone_radius=(1.0 - lam) * lengths(controller - mean),
        reach=sample.reach,
        angle=sample.angle,
        released_centers=sample.points,
        nonprivate_cost_before=cluster_costs(sums, squares, centers),
        nonprivate_cost_after=cluster_costs(sums, squares, sample.points),
    )


def lengths(vectors: FloatArray) -> FloatArray:
    """Return the Euclidean length of each row."""
    squares: FloatArray = np.einsum("ij,ij->i", vectors, vectors)
    return np.sqrt(squares)


def finish(step: ZoneStep, sums: ClusterSums, epsilon: float, outcome: str, *, rng: np.random.Generator) -> ZoneStep:
    """Return exact sum from the box's low corner / noisy count, at least 1; clipped into the box (alg. 1, line 12)."""
    event = LaplaceEvent("final counts", 1.0, 1.0 / epsilon, purpose=Purpose.FINAL_COUNTS, step=step.iteration + 1)
    noisy_counts = laplace(sums.nonprivate_counts, scale=event.scale, rng=rng)
    centers = sums.nonprivate_sums / np.maximum(noisy_counts, 1.0)[:, None]
    clipped = np.clip(centers, 0.0, 1.0)
    return replace(
        step,
        final_counts=frozen(noisy_counts),
        final_raised=frozen(np.asarray(noisy_counts < 1.0)),
        final_clipped=frozen(np.asarray(((centers < 0.0) | (centers > 1.0)).any(axis=1))),
        final_centers=frozen(clipped),
        nonprivate_final_counts=frozen(sums.nonprivate_counts.astype(np.float64)),
        nonprivate_final_mean=frozen(means(sums, clipped)),
        outcome=outcome,
        events=(*step.events, event),
    )
