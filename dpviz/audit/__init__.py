"""Audit: measure the privacy loss that runs themselves show. It takes a `run` instead of an algorithm or an attack.

- `epsilon_lower_bound`: a sound lower bound on epsilon from many runs on two neighboring data sets.
- `Family`: the statistics of all published output.
- `dpviz.audit(method)` itself: audit a method on neighbors that are as far apart as possible (`dpviz.many.audit`).
- `trade_off`: the bound on all attacks, from a mechanism's privacy profile.
"""

import sys

from dpviz import CalledPackage
from dpviz.audit.bound import (
    CONFIDENCE,
    VERDICT_CONFIDENCE,
    AuditEvent,
    BoundOptions,
    EpsilonBound,
    chances,
    chosen_events,
    epsilon_lower_bound,
    events_profile,
    least_epsilons,
    trade_off,
)
from dpviz.audit.outcomes import Batch, Outcomes, gather, joined
from dpviz.audit.statistics import Family

__all__ = [
    "CONFIDENCE",
    "VERDICT_CONFIDENCE",
    "AuditEvent",
    "Batch",
    "BoundOptions",
    "EpsilonBound",
    "Family",
    "Outcomes",
    "chances",
    "chosen_events",
    "epsilon_lower_bound",
    "events_profile",
    "gather",
    "joined",
    "least_epsilons",
    "trade_off",
]

# `dpviz.audit("mine.py")` audits a method.
sys.modules[__name__].__class__ = CalledPackage
