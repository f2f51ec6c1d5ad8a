"""Morse processing of private mixtures (Byun, Choi & Lee)."""

from dpviz.core import AuditPlan, Entry
from dpviz.data import load
from dpviz.methods.morse import teaching
from dpviz.methods.morse.algorithm import (
    PAPER,
    TITLE,
    MergeTree,
    Mixture,
    MorseRelease,
    Params,
    Step,
    TransitionPoint,
    assign,
    clustered,
    disagreement,
    fit,
    merge_tree,
    signed_points,
    steps,
)
from dpviz.methods.morse.run import MorseRun
from dpviz.methods.morse.teaching import CHAPTER, WORLDS
from dpviz.stories.method import Method, Thumbnail

# Our choice: large enough to show in a few thousand runs.
AUDIT_DELTA = 1e-3

METHOD = Method(
    name="morse",
    title=TITLE,
    estimator="MorseClustering",
    place="dpviz.methods.morse",
    Params=Params,
    fit=fit,
    steps=steps,
    audit=AuditPlan(
        settings={"n_components": 1, "n_clusters": 1, "n_iterations": 1, "delta": AUDIT_DELTA},
        more=tuple({"base": base, "calibration": "published"} for base in ("dpmog", "dplloyd_mog", "dpcube")),
        idle=frozenset({"estimator"}),
        borders=(
            {"n_components": 2},
            *({"n_components": 2, "base": base} for base in ("dpmog", "dplloyd_mog", "dpcube")),
        ),
    ),
    clustered=clustered,
    thumbnail=Thumbnail(
        question="Which hills belong together?",
        alt="Two moons of records over a landscape of small Gaussians that merge into fewer, larger regions.",
        made=lambda: (load("moons", n=5000, seed=0), {}),
        seed=1,
        frames=(-1, 3, 2, 1),
        params={"epsilon": 5.0, "n_iterations": 2},
    ),
    entries=(
        # With few passes, each has a larger budget. The method's own page does the same.
        Entry(
            fields=(("n_iterations", 2),),
            link=(("base", "dpmog_hard"), ("n_components", "22"), ("n_iterations", "2")),
            on=True,
            short="Morse",
        ),
    ),
    run=MorseRun,
    worlds=WORLDS,
    reading=teaching.READING,
    chapter=CHAPTER,
)

__all__ = [
    "METHOD",
    "PAPER",
    "MergeTree",
    "Mixture",
    "MorseRelease",
    "Params",
    "Step",
    "TransitionPoint",
    "assign",
    "disagreement",
    "fit",
    "merge_tree",
    "signed_points",
    "steps",
]
