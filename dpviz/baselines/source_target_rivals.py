"""What private source-target clustering is compared with; functions, because each has inputs of its own.

Cluster T ignores the source; non-private STC uses the source itself; Private k-means publishes 100 private centers of
the whole source and treats those as the source. The paper's fourth, DP-GAN, a private generative network, is absent.
"""

import math
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from dpviz.baselines.private_candidates import PrivateCenters, private_candidate_kmeans
from dpviz.core import Ball, Labels, Points
from dpviz.solvers import select_centers

N_PRIVATE_CENTERS = 100  # section 6
ABSENT = "absent: it needs a private generative network, which is not built"

# name -> what to call it, or why it is not there; the order is that of every table
RIVALS: Mapping[str, str] = MappingProxyType(
    {
        "nonprivate": "Non-private STC",
        "cluster_t": "Cluster T",
        "private_kmeans": "Private k-means",
        "dp_gan": "DP-GAN",
    }
)


def cluster_targets(targets: Points, n_centers: int, *, solver: str = "fasterpam", rng: np.random.Generator) -> Labels:
    """Return the indices of k targets that cover the targets alone. The source is not looked at."""
    return select_centers(targets, [], n_centers, solver=solver, rng=rng)


def nonprivate_stc(
    source: Points, targets: Points, n_centers: int, *, solver: str = "fasterpam", rng: np.random.Generator
) -> Labels:
    """Return the indices of k targets chosen beside the source itself: the floor. Nothing is private."""
    return select_centers(targets, source, n_centers, solver=solver, rng=rng)


def private_kmeans_points(
    source: Points,
    ball: Ball,
    *,
    epsilon: float | None = None,
    rho: float | None = None,
    n_clusters: int = N_PRIVATE_CENTERS,
    rng: np.random.Generator,
) -> PrivateCenters:
    """Return private centers of the source, to stand for S'; give epsilon or rho.

    Under rho-zCDP epsilon is sqrt(2 rho), because epsilon-DP is epsilon^2/2-zCDP; the paper's text has sqrt(rho / 2), a
    quarter of the budget. Raises ValueError unless exactly one budget is given.
    """
    if (epsilon is None) == (rho is None):
        raise ValueError(f"epsilon was {epsilon} and rho {rho}, but exactly one of them must be given.")
    budget = math.sqrt(2.0 * rho) if rho is not None else float(epsilon or 0.0)
    return private_candidate_kmeans(source, ball, n_clusters, budget, rng=rng)
