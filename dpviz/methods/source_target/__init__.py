"""Source-target clustering: public places beside a secret source (Schnapp & Sabato)."""

import numpy as np

from dpviz.core import AuditPlan, Box, Choices, Labels, Points, Targets
from dpviz.data import Dataset
from dpviz.data.target_pairs import load_pair, source_of
from dpviz.methods.source_target import algorithm, story
from dpviz.methods.source_target.algorithm import (
    PAPER,
    Params,
    SanitiseStep,
    SelectStep,
    SourceTargetRelease,
    Step,
    cost,
    fit,
    guarantees,
    nonprivate_difference,
    sanitise,
    select,
    select_centers,
    steps,
)
from dpviz.methods.source_target.story import reading
from dpviz.methods.source_target.story.chapter import CHAPTER
from dpviz.methods.source_target.story.lesson import LESSON
from dpviz.stories.method import Method, Thumbnail
from dpviz.stories.reading import Reading


def _two_targets(_choices: Choices, box: Box) -> Choices:
    """Return targets in the middle of the box and in a corner."""
    return {"targets": box.from_unit(np.stack([np.full(box.d, 0.5), np.ones(box.d)]))}


def _choose(targets: Points, records: Points, n_centers: int, solver: str, rng: np.random.Generator) -> Labels:
    return algorithm.select_centers(targets, records, n_centers, solver=solver, rng=rng)


def _selected(release: algorithm.SourceTargetRelease) -> Labels:
    return release.selected


def _first_aid() -> tuple[Dataset, Choices]:
    pair = load_pair("first_aid", n=300, seed=0, n_targets=200)
    return source_of("first_aid", pair), {"targets": pair.targets, "ball": pair.ball}


METHOD = Method(
    name="source_target",
    title=algorithm.TITLE,
    estimator="SourceTargetClustering",
    place="dpviz.methods.source_target",
    Params=algorithm.Params,
    fit=algorithm.fit,
    steps=algorithm.steps,
    audit=AuditPlan(
        settings={"epsilon": 1.0, "n_centers": 1, "t": 5},
        more=({"method": "nas", "noise": "gaussian"},),
        idle=frozenset({"solver", "threshold"}),
        borders=({}, {"method": "nas"}),
        placed=_two_targets,
    ),
    thumbnail=Thumbnail(
        question="Where do you put first-aid points when some residents are secretly paramedics?",
        alt="Green public places, gray secret helpers, blue released stand-ins, and the centers chosen beside them.",
        made=_first_aid,
        seed=1,
        frames=(0, 1, 3, -1),
        params={"epsilon": 2.0, "n_centers": 5},
        hidden=("Served by an average", "Choice without privacy"),
    ),
    targets=Targets(algorithm.cost, _choose, _selected),
    run=story.SourceTargetRun,
    reading=Reading(reading.MISREADINGS, reading.PAPERS, reading.formulas, reading.words),
    lesson=LESSON,
    chapter=CHAPTER,
)

__all__ = [
    "METHOD",
    "PAPER",
    "Params",
    "SanitiseStep",
    "SelectStep",
    "SourceTargetRelease",
    "Step",
    "cost",
    "fit",
    "guarantees",
    "nonprivate_difference",
    "sanitise",
    "select",
    "select_centers",
    "steps",
]
