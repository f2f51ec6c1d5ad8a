"""nD-Laplace: every person moves their own point before anyone sees it (van der Ende; Andrés et al.)."""

import numpy as np

from dpviz.core import AuditPlan, Entry, algebra
from dpviz.data import load
from dpviz.methods.nd_laplace.algorithm import (
    TITLE,
    Params,
    Step,
    cells_of,
    fit,
    grid_of,
    guarantee_of,
    law,
    local_claim,
    local_event,
    noise_box,
    redraw_caveat,
    steps,
)
from dpviz.methods.nd_laplace.run import NDLaplaceRun
from dpviz.methods.nd_laplace.teaching import CHAPTER, READING, WORLDS
from dpviz.stories.method import Attack, Method, Thumbnail

# The largest radius on its page: the full range of a feature.
RADIUS_OF_ONE = 8


METHOD = Method(
    name="nd_laplace",
    title=TITLE,
    estimator="NDLaplace",
    place="dpviz.methods.nd_laplace",
    Params=Params,
    fit=fit,
    steps=steps,
    audit=AuditPlan(
        more=tuple({"domain": "remap", "remap": rule} for rule in ("median", "nearest")),
        idle=frozenset({"remap"}),
        by_record=True,
        # The epsilon that gives the diagonal of the box a total of 1.
        placed=lambda choices, box: {
            "epsilon": 1.0 / algebra.length(np.ones(box.d) if choices.get("unit") == "range" else box.widths)
        },
    ),
    thumbnail=Thumbnail(
        question="What if you trust nobody?",
        alt="Gray places of people in a town, orange moves, and the blue places that are sent instead.",
        made=lambda: (load("city", n=250, seed=0), {}),
        seed=1,
        frames=(0, 2, -1),
        params={"epsilon": 0.006},
        hidden=("Scale: 1 m (the distance ε is for)",),
    ),
    entries=(
        Entry(
            fields=(("unit", "range"),),
            link=(("distance", "range"), ("radius", str(RADIUS_OF_ONE)), ("domain", "none")),
        ),
    ),
    run=NDLaplaceRun,
    worlds=WORLDS,
    reading=READING,
    chapter=CHAPTER,
    attack=Attack("Guess who lives where →", ("under", "play"), "game"),
)

__all__ = [
    "METHOD",
    "Params",
    "Step",
    "cells_of",
    "fit",
    "grid_of",
    "guarantee_of",
    "law",
    "local_claim",
    "local_event",
    "noise_box",
    "redraw_caveat",
    "steps",
]
