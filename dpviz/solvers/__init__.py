"""Cores that algorithms and baselines share: Lloyd's step and its noisy form, starts, sampling zones."""

from dpviz.solvers.block_lloyd import lloyd_in_blocks
from dpviz.solvers.lloyd import ClusterSums, LloydRun, assign, cluster_costs, cluster_sums, cluster_totals, lloyd, means
from dpviz.solvers.noisy_lloyd import (
    BOX_MIDDLE,
    EMPTY_SCALES,
    LloydBudget,
    centered_sums,
    noisy_means,
    su_iterations,
    su_split,
)
from dpviz.solvers.packing import sphere_packing
from dpviz.solvers.start import public_start, start_from
from dpviz.solvers.zones import (
    SCORE_SENSITIVITY,
    ZoneSample,
    clamped_laplace,
    controller_angle,
    draw_in_zone,
    past_controller,
    sample_in_zone,
    spread_in_zone,
    zone_density,
    zone_offset,
)

__all__ = [
    "BOX_MIDDLE",
    "EMPTY_SCALES",
    "SCORE_SENSITIVITY",
    "ClusterSums",
    "LloydBudget",
    "LloydRun",
    "ZoneSample",
    "assign",
    "centered_sums",
    "clamped_laplace",
    "cluster_costs",
    "cluster_sums",
    "cluster_totals",
    "controller_angle",
    "draw_in_zone",
    "lloyd",
    "lloyd_in_blocks",
    "means",
    "noisy_means",
    "past_controller",
    "public_start",
    "sample_in_zone",
    "sphere_packing",
    "spread_in_zone",
    "start_from",
    "su_iterations",
    "su_split",
    "zone_density",
    "zone_offset",
]
