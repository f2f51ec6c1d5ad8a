"""Calibration and composition. Events are facts; accounting adds them up; every account names its adjacency."""

from dpviz.accounting.closed_forms import (
    gaussian_sigma,
    gdp_delta,
    gdp_epsilon,
    gdp_mu,
    zcdp_epsilon,
    zcdp_rho_for,
)
from dpviz.accounting.composition import pure_epsilon, under_replace, zcdp_rho
from dpviz.accounting.events import (
    GaussianEvent,
    LaplaceEvent,
    ParallelEvent,
    PureEvent,
    Purpose,
    SequenceEvent,
    cell_event,
)
from dpviz.accounting.pld import delta_of, epsilon_of, privacy_loss_distribution
from dpviz.accounting.spending import epsilon_share, overspent, spent, spent_epsilon

__all__ = [
    "GaussianEvent",
    "LaplaceEvent",
    "ParallelEvent",
    "PureEvent",
    "Purpose",
    "SequenceEvent",
    "cell_event",
    "delta_of",
    "epsilon_of",
    "epsilon_share",
    "gaussian_sigma",
    "gdp_delta",
    "gdp_epsilon",
    "gdp_mu",
    "overspent",
    "privacy_loss_distribution",
    "pure_epsilon",
    "spent",
    "spent_epsilon",
    "under_replace",
    "zcdp_epsilon",
    "zcdp_rho",
    "zcdp_rho_for",
]
