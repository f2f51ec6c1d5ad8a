"""DPM: clusters by cuts through empty space (Liebenow, Schütt, Braun, Gehrke, Thaeter & Mohammadi)."""

from dpviz.core import AuditPlan, Entry
from dpviz.data import load
from dpviz.methods.dpm import algorithm, teaching
from dpviz.methods.dpm.algorithm import (
    PAPER,
    CentersStep,
    LevelStep,
    Params,
    Plan,
    PlanStep,
    Shares,
    SplitTrace,
    SplitTree,
    Step,
    TreeRelease,
    centreness,
    emptiness,
    fit,
    interval_size,
    level_epsilons,
    steps,
)
from dpviz.methods.dpm.run import DPMRun
from dpviz.methods.dpm.teaching import CHAPTER, WORLDS
from dpviz.stories.method import Method, Thumbnail

METHOD = Method(
    name="dpm",
    title=algorithm.TITLE,
    estimator="DPM",
    place="dpviz.methods.dpm",
    Params=algorithm.Params,
    fit=algorithm.fit,
    steps=algorithm.steps,
    audit=AuditPlan(settings={"n_levels": 1}, gaps=True, borders=({},)),
    thumbnail=Thumbnail(
        question="Where is nobody? Cut there.",
        alt="Records in a box that blue lines cut into parts where it is empty, level by level.",
        made=lambda: (load("blobs", n=1500, seed=0), {}),
        seed=3,
        frames=(0, 2, 3, 5, -1),
        params={"epsilon": 4.0},
        hidden=("noise", "noise of 20 draws", "noisy count"),
    ),
    entries=(
        Entry(words="repaired", link=(("calibration", "repaired"),), on=True, short="DPM"),
        Entry(
            "published",
            "as published",
            (("calibration", "published"),),
            (("calibration", "published"),),
            on=True,
            short="DPM as published",
        ),
    ),
    run=DPMRun,
    worlds=WORLDS,
    reading=teaching.READING,
    chapter=CHAPTER,
)

__all__ = [
    "METHOD",
    "PAPER",
    "CentersStep",
    "LevelStep",
    "Params",
    "Plan",
    "PlanStep",
    "Shares",
    "SplitTrace",
    "SplitTree",
    "Step",
    "TreeRelease",
    "centreness",
    "emptiness",
    "fit",
    "interval_size",
    "level_epsilons",
    "steps",
]
