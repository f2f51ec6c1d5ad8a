"""Calibration and composition of noise.

Events are facts, accounting adds them up, and every account has an adjacency.
"""

# Registers the check of open budgets in every process.
from dpviz.accounting import budgets as budgets
from dpviz.accounting.closed_forms import gaussian_sigma, gdp_delta, gdp_epsilon, gdp_mu, zcdp_epsilon, zcdp_rho_for
from dpviz.accounting.composition import (
    Sum,
    across_box,
    delta_of,
    dp_events,
    epsilon_of,
    epsilon_share,
    for_group,
    gaussian_mu,
    overspent,
    privacy_loss_distribution,
    pure_epsilon,
    spent_epsilon,
    sums,
    under_replace,
    zcdp_rho,
)
from dpviz.accounting.events import (
    GaussianEvent,
    LaplaceEvent,
    ParallelEvent,
    PureEvent,
    Purpose,
    SequenceEvent,
    cell_event,
)

__all__ = [
    "GaussianEvent",
    "LaplaceEvent",
    "ParallelEvent",
    "PureEvent",
    "Purpose",
    "SequenceEvent",
    "Sum",
    "across_box",
    "cell_event",
    "delta_of",
    "dp_events",
    "epsilon_of",
    "epsilon_share",
    "for_group",
    "gaussian_mu",
    "gaussian_sigma",
    "gdp_delta",
    "gdp_epsilon",
    "gdp_mu",
    "overspent",
    "privacy_loss_distribution",
    "pure_epsilon",
    "spent_epsilon",
    "sums",
    "under_replace",
    "zcdp_epsilon",
    "zcdp_rho",
    "zcdp_rho_for",
]
