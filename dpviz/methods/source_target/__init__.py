"""Source-target clustering: public places that complement a secret source (Schnapp & Sabato)."""

import warnings

import numpy as np

from dpviz.core import AuditPlan, Choices, Targets
from dpviz.data import Dataset
from dpviz.data.target_pairs import load_pair, source_of
from dpviz.methods.source_target import algorithm
from dpviz.methods.source_target.algorithm import (
    PAPER,
    Params,
    SanitizeStep,
    SelectStep,
    SourceTargetRelease,
    Step,
    cost,
    fit,
    guarantees,
    nonprivate_difference,
    sanitize,
    select,
    select_centers,
    steps,
)
from dpviz.methods.source_target.run import SourceTargetRun
from dpviz.methods.source_target.teaching import CHAPTER, READING
from dpviz.solvers import best_centers
from dpviz.stories.method import Method, Thumbnail

_FORMER = {"SanitiseStep": "SanitizeStep", "sanitise": "sanitize"}


def __getattr__(name: str) -> object:
    """Return the object that had this name, with a DeprecationWarning."""
    if name not in _FORMER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    words = f"{name!r} is now called {_FORMER[name]!r}. The former name will be removed."
    warnings.warn(words, DeprecationWarning, stacklevel=2)
    return globals()[_FORMER[name]]


def first_aid() -> tuple[Dataset, Choices]:
    """Return the thumbnail's secret source, and its public targets."""
    pair = load_pair("first_aid", n=300, seed=0, n_targets=200)
    return source_of("first_aid", pair), {"targets": pair.targets, "ball": pair.ball}


METHOD = Method(
    name="source_target",
    title=algorithm.TITLE,
    estimator="SourceTargetClustering",
    place="dpviz.methods.source_target",
    Params=Params,
    fit=fit,
    steps=steps,
    audit=AuditPlan(
        settings={"epsilon": 1.0, "n_centers": 1, "t": 5},
        more=({"method": "nas", "noise": "gaussian"},),
        idle=frozenset({"solver", "threshold"}),
        borders=({}, {"method": "nas"}),
        # Targets in the middle of the box and in a corner.
        placed=lambda _choices, box: {"targets": box.from_unit(np.stack([np.full(box.d, 0.5), np.ones(box.d)]))},
    ),
    thumbnail=Thumbnail(
        question="Help near secret helpers?",
        alt="Green public places, gray secret helpers, blue released stand-ins, and the centers chosen beside them.",
        made=first_aid,
        seed=1,
        frames=(0, 1, 3, -1),
        params={"epsilon": 2.0, "n_centers": 5},
    ),
    targets=Targets(
        cost,
        lambda targets, records, k, known, rng: best_centers(targets, records, k, known, rng=rng),
        lambda release: release.selected,
    ),
    run=SourceTargetRun,
    reading=READING,
    chapter=CHAPTER,
)

__all__ = [
    "METHOD",
    "PAPER",
    "Params",
    "SanitizeStep",
    "SelectStep",
    "SourceTargetRelease",
    "Step",
    "cost",
    "fit",
    "guarantees",
    "nonprivate_difference",
    "sanitize",
    "select",
    "select_centers",
    "steps",
]
