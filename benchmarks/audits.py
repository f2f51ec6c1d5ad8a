"""Benchmarks of audits and two worlds: an answer on the Audit page, and a click or a move of ε with known clouds.

They measure the processor time of the page and its background process, so other work on the machine counts little.
Specification: 3 s for fast mechanisms, and known clouds follow the slider within the latency target.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.move import MOST_MS
from benchmarks.registry import Benchmark, Measure, sized, typical
from dpviz.audit import Batch, joined
from dpviz.data import load
from dpviz.methods import CATALOGUE
from dpviz.plots import pack
from dpviz.stories import View, Words
from dpviz.stories.method import Cloud
from dpviz.tools.audit import runs as audit_tasks
from dpviz.tools.audit.cases import cases
from dpviz.tools.two_worlds import worlds as two_worlds
from dpviz.tools.two_worlds.worlds import WorldsQuestion, cloud_scene, run_world

# The Audit page's own number.
RUNS = 500
# Factor on the number of runs for a Batch, which makes many runs in one call.
BATCHED = 10
MOST_ANSWER_MS = 3000.0
# Limit for one piece in the background: a cancel waits for one piece, then no other begins.
MOST_JOB_MS = 1000.0
N, WORLD_RUNS, REDRAWN = 10_000, 200, 20
FAST = ("nd_laplace", "dplloyd", "blum", "dwork", "gupt", "eugkm")
# It has 4,001 records; the others have 21.
SLOWEST = "dpm:gaps"
# method -> data set and the parameters that the method needs.
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "convergent_kmeans": ("blobs", {}),
    "dpm": ("blobs", {}),
    "morse": ("moons", {"n_components": 22, "n_clusters": 2, "epsilon": 1.0, "delta": 1e-4, "n_iterations": 2}),
    "nd_laplace": ("blobs", {"epsilon": 1.0}),
    "source_target": ("blobs", {"epsilon": 1.0, "n_centers": 5}),
}


def processor_ms(action: Callable[[], object]) -> float:
    """Return the processor time of one call, ms."""
    start = time.process_time()
    action()
    return 1e3 * (time.process_time() - start)


def answer(key: str) -> Measure:
    """Time all pieces between a question and its answer, one after the other."""
    case = cases()[key]
    at_once = isinstance(case.runner, Batch)
    chunk = sized(audit_tasks.CHUNK, 10)
    sizes = [sized(RUNS * BATCHED, 100)] if at_once else [chunk] * (sized(RUNS, 20) // chunk)

    def asked() -> None:
        worlds = [[part(key, world, chunk, size) for chunk, size in enumerate(sizes)] for world in (0, 1)]
        audit_tasks.counted_of([case], [(joined(worlds[0]), joined(worlds[1]))])

    # Warms up everything that is made only once.
    part(key, 0, 0, 1)
    taken = processor_ms(asked)
    return Measure(taken, f"{taken:.0f} ms", f"{sum(sizes):,} runs of each world")


def piece(key: str) -> Measure:
    """Time one piece of the runs of a slow mechanism."""
    part(key, 0, 0, 1)
    n_runs = sized(audit_tasks.CHUNK, 1)
    taken = processor_ms(lambda: part(key, 0, 0, n_runs))
    return Measure(taken, f"{taken:.0f} ms", f"{n_runs} runs")


def part(key: str, world: int, chunk: int, n_runs: int) -> Any:
    """Do one of the page's jobs."""
    pair = cases()[key].pair
    return audit_tasks.part(pair.points, pair.box, key, audit_tasks.CONSTRUCTED, 1.0, 0, world, chunk, n_runs, 0)


def clouds(name: str) -> Measure:
    """Time the odds, the picture and its bytes if the runs of both worlds are known."""
    data_name, given = METHODS[name]
    dataset, algorithm, n_runs = load(data_name, n=sized(N, 500)), CATALOGUE[name], sized(WORLD_RUNS, 8)
    if name == "source_target":
        given = {**given, "targets": dataset.points[: sized(600, 100)]}
    params = algorithm.Params(**given)
    operation = two_worlds.MOVE if name == "nd_laplace" else two_worlds.REMOVE
    place = tuple(two_worlds.farthest_corner(dataset.box, dataset.points[0]))
    change = two_worlds.Change(operation, 0, place if operation == two_worlds.MOVE else ())
    question = WorldsQuestion(algorithm.name, (), change, params)
    known: tuple[Cloud, Cloud] = (
        run_world(dataset.points, dataset.box, question, 0, n_runs, (0,)),
        run_world(dataset.points, dataset.box, question, 1, n_runs, (0,)),
    )
    result = algorithm.fit(dataset.points, dataset.box, params, rng=np.random.default_rng(0))
    words = Words(dataset.title, dataset.box, dataset.feature_names, dataset.units, box_public=True)

    def drawn(seed: int) -> None:
        pair = two_worlds.neighbors(dataset.points, dataset.box, change)
        two_worlds.odds_of(result.guarantee, change, params, dataset.box, pair, 60.0)
        pack(cloud_scene(known, pair, change, "released center", words, View(), near=seed % 2 == 0))

    taken = typical(drawn, REDRAWN)
    return Measure(taken.processor, f"{taken.processor:.1f} ms", f"clock {taken.clock:.1f} ms")


BENCHMARKS = (
    *(Benchmark(f"audit page's answer: {key}", partial(answer, key), MOST_ANSWER_MS) for key in FAST),
    Benchmark(f"audit page's answer: {SLOWEST}", partial(answer, SLOWEST)),
    Benchmark(f"audit: a cancel waits for, {SLOWEST}", partial(piece, SLOWEST), MOST_JOB_MS),
    *(Benchmark(f"two worlds, known: {name}, n = {N:,}", partial(clouds, name), MOST_MS) for name in METHODS),
)
