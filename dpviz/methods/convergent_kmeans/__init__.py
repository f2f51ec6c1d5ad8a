"""Convergent k-means and its family (Lu & Shen)."""

from dpviz.core import AuditPlan, Entry
from dpviz.data import load
from dpviz.methods.convergent_kmeans import algorithm, family, teaching
from dpviz.methods.convergent_kmeans.algorithm import (
    PAPER,
    Params,
    Step,
    ZonesRelease,
    fit,
    sample_in_zone,
    start_centers,
    steps,
)
from dpviz.methods.convergent_kmeans.run import ConvergentKMeansRun
from dpviz.stories.method import Attack, Method, Thumbnail

METHOD = Method(
    name="convergent_kmeans",
    title=algorithm.TITLE,
    estimator="ConvergentKMeans",
    place="dpviz.methods.convergent_kmeans",
    Params=algorithm.Params,
    fit=algorithm.fit,
    steps=algorithm.steps,
    audit=AuditPlan(
        settings={"n_iterations": 1, "max_iterations": 3},
        more=({"mode": "published", "orientation": "future"},),
        borders=({"n_clusters": 20},),
        first="mode=published",
    ),
    thumbnail=Thumbnail(
        question="Where is everyone's nearest center?",
        alt="Records colored by cluster; orange zones from which blue centers are drawn, step by step.",
        made=lambda: (load("blobs", n=500, seed=0), {}),
        seed=112,
        frames=(0, 3, 4, 7, -1),
        params={"epsilon": 2.0},
        hidden=("density of the draw", "path", "noise", "controller"),
    ),
    entries=(
        Entry(
            words="repaired",
            fields=(("mode", "repaired"), ("start", "private")),
            link=(("mode", "repaired"), ("start", "private")),
            on=True,
            short="k-means",
        ),
        # The mode has no total: Compare's ε is the ε of each step, and its line is at the total that the paper claims.
        *(
            Entry(
                orientation,
                f"published, {orientation} (ε per step)",
                (("mode", "published"), ("orientation", orientation), ("budget", "epsilon_per_iteration")),
                (("mode", "published"), ("orientation", orientation)),
                short=f"Published, {orientation}",
            )
            for orientation in ("past", "future")
        ),
    ),
    family=family.RUNS,
    run=ConvergentKMeansRun,
    worlds=teaching.WORLDS,
    reading=teaching.READING,
    chapter=teaching.CHAPTER,
    attack=Attack("Find one record in exact centers →", ("tab", "attack"), "attack"),
)

__all__ = ["METHOD", "PAPER", "Params", "Step", "ZonesRelease", "fit", "sample_in_zone", "start_centers", "steps"]
