"""Audit: how much privacy do runs themselves show to be lost? It takes a `run`, and no algorithm or attack.

- `epsilon_lower_bound`: a sound lower bound on epsilon from many runs on two neighboring data sets.
- `Family`: the statistics of whatever is published.
- `trade_off`: the bound on all attacks, from a mechanism's privacy profile.
"""

from dpviz.audit.bound import (
    CONFIDENCE,
    N_EVENTS,
    VERDICT_CONFIDENCE,
    AuditEvent,
    BoundOptions,
    ChosenEvents,
    EpsilonBound,
    chances,
    chosen_events,
    epsilon_lower_bound,
    least_epsilons,
)
from dpviz.audit.outcomes import AuditStoppedError, Batch, Outcomes, Progress, gather, joined
from dpviz.audit.statistics import Family
from dpviz.audit.theory import (
    Profile,
    events_profile,
    gaussian_profile,
    laplace_profile,
    region_profile,
    trade_off,
)

__all__ = [
    "CONFIDENCE",
    "N_EVENTS",
    "VERDICT_CONFIDENCE",
    "AuditEvent",
    "AuditStoppedError",
    "Batch",
    "BoundOptions",
    "ChosenEvents",
    "EpsilonBound",
    "Family",
    "Outcomes",
    "Profile",
    "Progress",
    "chances",
    "chosen_events",
    "epsilon_lower_bound",
    "events_profile",
    "gather",
    "gaussian_profile",
    "joined",
    "laplace_profile",
    "least_epsilons",
    "region_profile",
    "trade_off",
]
