"""Convergent k-means and its family (Lu & Shen)."""

from dpviz.baselines import CATALOGUE as BASELINES
from dpviz.core import AuditPlan, Entry, Varied
from dpviz.data import load
from dpviz.methods.convergent_kmeans import algorithm, story
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
from dpviz.methods.convergent_kmeans.story import family, reading
from dpviz.methods.convergent_kmeans.story.chapter import CHAPTER
from dpviz.methods.convergent_kmeans.story.family_runs import METHODS
from dpviz.methods.convergent_kmeans.story.lesson import LESSON
from dpviz.methods.convergent_kmeans.story.worlds import WORLDS
from dpviz.stories.method import Attack, Method, Thumbnail
from dpviz.stories.reading import Reading

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
        question="Where are the centers of the crowd, if each step of the search may only see noisy counts?",
        alt="Records colored by cluster; orange zones from which blue centers are drawn, step by step.",
        made=lambda: (load("blobs", n=500, seed=0), {}),
        seed=112,
        frames=(0, 3, 4, 7, -1),
        params={"epsilon": 2.0},
        hidden=("Density of the draw", "Path of the centers", "Noise of the release", "Controller"),
    ),
    entries=(
        Entry(
            "convergent",
            "Convergent k-means, repaired",
            (("mode", "repaired"), ("start", "private")),
            (("mode", "repaired"), ("start", "private")),
            on=True,
        ),
    ),
    varied=(
        Varied("iterations", "Iterations at most", "params.max_iterations", (2, 5, 10, 20, 50, 100), "convergent"),
    ),
    family={name: family.FamilyRun for name in BASELINES if name in METHODS},
    run=story.ConvergentKMeansRun,
    worlds=WORLDS,
    reading=Reading(reading.MISREADINGS, reading.PAPERS, reading.formulas, reading.words),
    lesson=LESSON,
    chapter=CHAPTER,
    attack=Attack("Find one record in exact centers →", ("tab", "attack"), "attack"),
)

__all__ = ["METHOD", "PAPER", "Params", "Step", "ZonesRelease", "fit", "sample_in_zone", "start_centers", "steps"]
