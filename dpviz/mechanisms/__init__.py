"""Noise: value + scale + rng -> value, and the exponential mechanism. `dpviz.accounting` computes the cost of a draw.

Every proof is about real numbers. Seeded noise uses floating-point numbers, whose last bits can distinguish neighbors
(Mironov 2012, "On significance of the least significant bits for differential privacy"); no guarantee covers that.
Noise from a `SecretGenerator` on counts and sums keeps its guarantee to the last bit. Choices, and noise on single
records, use floating-point numbers with every generator.
"""

from dpviz.mechanisms.basic import (
    Indices,
    estimated_share,
    exponential,
    exponential_probabilities,
    gaussian,
    laplace,
    randomized_response,
    truth_probability,
)
from dpviz.mechanisms.nd_laplace import (
    PerturbationArea,
    epsilon_of_level,
    nd_laplace,
    nd_laplace_noise,
    perturbation_area,
    radius_probability,
    radius_quantile,
    redraw_in_box,
)
from dpviz.mechanisms.release_law import (
    GridCells,
    ReleaseLaw,
    corner_probability,
    inside_probability,
    log_density,
    redraw_loss,
    release_law,
)
from dpviz.mechanisms.remap import default_grid, nearest_places, remap_cells, remap_table
from dpviz.mechanisms.secret import (
    CHOICES_CAVEAT,
    FROM_DATA,
    POINTS_CAVEAT,
    SUMS_CAVEAT,
    TEACHING,
    OsBits,
    PublicGenerator,
    SecretGenerator,
    public_rng,
)

__all__ = [
    "CHOICES_CAVEAT",
    "FROM_DATA",
    "POINTS_CAVEAT",
    "SUMS_CAVEAT",
    "TEACHING",
    "GridCells",
    "Indices",
    "OsBits",
    "PerturbationArea",
    "PublicGenerator",
    "ReleaseLaw",
    "SecretGenerator",
    "corner_probability",
    "default_grid",
    "epsilon_of_level",
    "estimated_share",
    "exponential",
    "exponential_probabilities",
    "gaussian",
    "inside_probability",
    "laplace",
    "log_density",
    "nd_laplace",
    "nd_laplace_noise",
    "nearest_places",
    "perturbation_area",
    "public_rng",
    "radius_probability",
    "radius_quantile",
    "randomized_response",
    "redraw_in_box",
    "redraw_loss",
    "release_law",
    "remap_cells",
    "remap_table",
    "truth_probability",
]
