"""What the page of nD-Laplace asks of the background process. No Streamlit here: the process would have to load it.

Released points come as bytes of the rows that are used: a secret release cannot be made again from a seed.
"""

import numpy as np

from dpviz.attacks import GameScores
from dpviz.core import Box, Points
from dpviz.methods.nd_laplace.algorithm import Params
from dpviz.methods.nd_laplace.story import clusters
from dpviz.methods.nd_laplace.story import membership as laplace_membership
from dpviz.methods.nd_laplace.story.clusters import ClustersCompared, Helpers, ManyAgreements, PrivateClusters

Settings = tuple[float, str, str, str]  # ε, domain, remap, unit


def compare(points: Points, box: Box, sample: bytes, method: str, n_clusters: int) -> ClustersCompared:
    """Compare clusters on clean and on released points: the curator's."""
    return clusters.compared(points, _points(sample, box), method, n_clusters)


def private(points: Points, box: Box, n: int, sample: bytes, method: str, n_clusters: int) -> PrivateClusters:
    """Cluster released points, a sample of `n`: a number that is public."""
    del points
    rows = clusters.rows_of(n, method)
    return clusters.private_clusters(_points(sample, box), rows, method, n_clusters)


def helpers(points: Points, box: Box, sample: bytes) -> Helpers:
    """Compute the parameter curves of released points."""
    del points
    return clusters.helpers(_points(sample, box))


def many(
    points: Points, box: Box, settings: Settings, method: str, n_clusters: int, n_runs: int, seed: int
) -> ManyAgreements:
    """Move and cluster many times: the curator's."""
    return clusters.many_agreements(points, box, params_of(settings), method, n_clusters, n_runs, seed)


def membership(
    points: Points, box: Box, settings: Settings, radius: float, attack: str, moved: bool, n_rounds: int, seed: int
) -> GameScores:
    """Play who was in on invented records in the public box; of the records nothing is read."""
    del points
    params = params_of(settings)
    world = laplace_membership.world_of(box, params, radius)
    return laplace_membership.play(world, params, attack, moved=moved, n_rounds=n_rounds, seed=seed)


def settings_of(params: Params) -> Settings:
    """Return the parameters as a key; parameters themselves may hold arrays."""
    return params.epsilon, params.domain, params.remap, params.unit


def params_of(settings: Settings) -> Params:
    """Return the parameters of a key."""
    epsilon, domain, remap, unit = settings
    return Params(epsilon=epsilon, domain=domain, remap=remap, unit=unit)


def _points(sample: bytes, box: Box) -> Points:
    return np.frombuffer(sample, dtype=np.float64).reshape(-1, box.d)
