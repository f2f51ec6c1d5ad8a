"""Cores that algorithms and baselines share: Lloyd's and medoids' steps, starts, zones, mixture landscapes."""

from dpviz.solvers.block_lloyd import lloyd_in_blocks
from dpviz.solvers.capped_medoids import SOLVERS, cost, nearest_distance, select_centers, select_several
from dpviz.solvers.cells import SEED_SHARE, CellSeeds, private_seeds
from dpviz.solvers.geometric_median import geometric_median
from dpviz.solvers.landscapes.basins import assign_basins, assign_clusters, assign_components
from dpviz.solvers.landscapes.flow import flow_lines
from dpviz.solvers.landscapes.merge import MergeTree, merge_tree
from dpviz.solvers.landscapes.mixture import Local, Mixture
from dpviz.solvers.landscapes.plane_basins import basins_by_lattice, lattice_basins
from dpviz.solvers.landscapes.saddles import (
    Candidates,
    Landscape,
    TransitionPoint,
    critical_points,
    landscape,
    transition_points,
)
from dpviz.solvers.landscapes.strings import Strings
from dpviz.solvers.lloyd import ClusterSums, LloydRun, assign, cluster_costs, cluster_sums, cluster_totals, lloyd, means
from dpviz.solvers.moments import (
    MomentRecords,
    features,
    hard_moments,
    label_moments,
    moment_length,
    records,
    repaired_covariances,
    soft_moments,
    streamed,
    unpacked,
)
from dpviz.solvers.nearest import Members, Nearest, Partition, nearest_among, squared_lengths
from dpviz.solvers.noisy_lloyd import (
    BOX_MIDDLE,
    EMPTY_SCALES,
    LloydBudget,
    centered_sums,
    noisy_means,
    steadied,
    su_iterations,
    su_split,
)
from dpviz.solvers.packing import sphere_packing
from dpviz.solvers.start import dataless_centers, public_start, start_from, starts_private
from dpviz.solvers.zone_law import SCORE_SENSITIVITY
from dpviz.solvers.zones import (
    ZoneDraw,
    ZoneSample,
    clamped_laplace,
    controller_angle,
    draw_in_zone,
    draws_ahead,
    past_controller,
    placed_in_zone,
    sample_in_zone,
    spread_in_zone,
    tosses,
    zone_density,
    zone_offset,
)

__all__ = [
    "BOX_MIDDLE",
    "EMPTY_SCALES",
    "SCORE_SENSITIVITY",
    "SEED_SHARE",
    "SOLVERS",
    "Candidates",
    "CellSeeds",
    "ClusterSums",
    "Landscape",
    "LloydBudget",
    "LloydRun",
    "Local",
    "Members",
    "MergeTree",
    "Mixture",
    "MomentRecords",
    "Nearest",
    "Partition",
    "Strings",
    "TransitionPoint",
    "ZoneDraw",
    "ZoneSample",
    "assign",
    "assign_basins",
    "assign_clusters",
    "assign_components",
    "basins_by_lattice",
    "centered_sums",
    "clamped_laplace",
    "cluster_costs",
    "cluster_sums",
    "cluster_totals",
    "controller_angle",
    "cost",
    "critical_points",
    "dataless_centers",
    "draw_in_zone",
    "draws_ahead",
    "features",
    "flow_lines",
    "geometric_median",
    "hard_moments",
    "label_moments",
    "landscape",
    "lattice_basins",
    "lloyd",
    "lloyd_in_blocks",
    "means",
    "merge_tree",
    "moment_length",
    "nearest_among",
    "nearest_distance",
    "noisy_means",
    "past_controller",
    "placed_in_zone",
    "private_seeds",
    "public_start",
    "records",
    "repaired_covariances",
    "sample_in_zone",
    "select_centers",
    "select_several",
    "soft_moments",
    "sphere_packing",
    "spread_in_zone",
    "squared_lengths",
    "start_from",
    "starts_private",
    "steadied",
    "streamed",
    "su_iterations",
    "su_split",
    "tosses",
    "transition_points",
    "unpacked",
    "zone_density",
    "zone_offset",
]
