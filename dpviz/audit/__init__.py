"""Audit: how much privacy do runs themselves show to be lost? Knows neither algorithms nor attacks, only a `run`.

- `epsilon_lower_bound`: a sound lower bound on epsilon from many runs on two neighboring data sets.
- `Family`: the statistics that are tried on whatever is published.
- `trade_off`: what no attack can exceed, from a mechanism's privacy profile.
"""

from dpviz.audit.bound import (
    CONFIDENCE,
    N_EVENTS,
    VERDICT_CONFIDENCE,
    ChosenEvents,
    EpsilonBound,
    bound_from,
    chosen_events,
    epsilon_lower_bound,
)
from dpviz.audit.events import AuditEvent, chances
from dpviz.audit.family import Family
from dpviz.audit.outcomes import AuditStoppedError, Batch, Outcomes, Progress, gather, joined
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
    "ChosenEvents",
    "EpsilonBound",
    "Family",
    "Outcomes",
    "Profile",
    "Progress",
    "bound_from",
    "chances",
    "chosen_events",
    "epsilon_lower_bound",
    "events_profile",
    "gather",
    "gaussian_profile",
    "joined",
    "laplace_profile",
    "region_profile",
    "trade_off",
]
