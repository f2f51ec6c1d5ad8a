"""Many runs of a method, for the background process: their outcomes, their losses, and a run at every ε.

The losses are the band of the stage's strip. Curator only. This module does not import Streamlit, because the process
would have to load it.
"""

import time
from collections import OrderedDict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.core import (
    AnyAlgorithm,
    Box,
    Centers,
    Confidential,
    FloatArray,
    Labels,
    Points,
    Release,
    Result,
    Step,
    frozen,
    immutable,
    immutable_value,
    unit_records,
)
from dpviz.methods import ALGORITHMS, run_class
from dpviz.metrics import nonprivate_cost
from dpviz.plots import SECRET, UNPAID, UNRELEASED, Axis, Frame, Kind, Layer, Plot, Scene, always
from dpviz.solvers import assign
from dpviz.stories import ground_layers as ground
from dpviz.stories.center_facts import cost_ratio
from dpviz.stories.centers import CentersRun
from dpviz.stories.method import RunClass
from dpviz.stories.outcomes import Outcome
from dpviz.stories.panel import cluster_names, number
from dpviz.stories.run import Run
from dpviz.stories.stage import Clock, Stage
from dpviz.stories.view import MARGIN, View, Words, project

# Seeds that differ from run to run.
SEEDS = ("noise", "start", "both")


@immutable_value
class Draws:
    """Runs with numbers `first` to `first` + `count` - 1, and the seeds that differ between them."""

    seed: int
    first: int
    count: int
    vary: str = "both"

    def __post_init__(self) -> None:
        """Validate `vary`."""
        if self.vary not in SEEDS:
            raise ValueError(f"vary must be one of {', '.join(SEEDS)}, got {self.vary!r}")

    def noise(self, run: int) -> np.random.Generator:
        """Return the generator of a run's noise; it is the same for all runs if only the start differs."""
        return np.random.default_rng([self.seed, 0 if self.vary == "start" else run])


@dataclass(frozen=True)
class RunsQuestion:
    """A method with its parameters. Equal questions have equal answers on one source: `key` represents `params`."""

    # Name in `ALGORITHMS`.
    algorithm: str
    key: tuple[Hashable, ...]
    units: tuple[str, ...]
    # Fields of the run that only the page chooses.
    fields: tuple[tuple[str, Hashable], ...]
    params: object = field(compare=False)


def outcomes(
    points: Points, box: Box, classes: Labels | None, question: RunsQuestion, draws: Draws
) -> tuple[Outcome, ...]:
    """Run a method once for each of `draws`."""
    name = question.algorithm
    run, fields = run_class(name), dict(question.fields)
    return run_many(ALGORITHMS[name], run, points, box, classes, question.params, draws, question.units, fields)


def run_many(
    algorithm: AnyAlgorithm,
    kind: RunClass,
    points: Points,
    box: Box,
    classes: Labels | None,
    params: Any,
    draws: Draws,
    units: tuple[str, ...] = (),
    fields: Mapping[str, Any] | None = None,
) -> tuple[Outcome, ...]:
    """Run a method on the records (n, d) once for each of `draws`, and return the outcome of each run.

    `units` are the units of the features; `fields` are the fields of a run that only the page chooses.
    """
    words = Words("", box, ("",) * box.d, units or ("",) * box.d)
    runs = each_run(algorithm, kind, points, classes, params, draws, words, {})
    return tuple(replace(run, **(fields or {})).outcome() for run in runs)


def each_run(
    algorithm: AnyAlgorithm,
    kind: RunClass,
    points: Points,
    classes: Labels | None,
    params: Any,
    draws: Draws,
    words: Words,
    references: dict[Hashable, object],
) -> Iterator[Run[object, Release, Step]]:
    """Yield a run of a method on the records (n, d), data units, for each of `draws`. Curator only.

    `references` are the non-private runs, such as Lloyd's algorithm from one start. Each key contains everything that
    the run depends on. A missing run is computed and added.
    """
    for i in range(draws.first, draws.first + draws.count):
        own = params
        # Each run has a different start. The constructor checks the parameters again.
        if draws.vary != "noise" and algorithm.has_start:
            own = replace(params, start_seed=int(params.start_seed or 0) + i)
        result = algorithm.fit(points, words.box, own, rng=draws.noise(i))
        key = kind.reference_key(own, result)
        if key not in references:
            references[key] = kind.find_reference(points, words, result, own)
        yield replace(kind.from_result(result, own, points, words, references[key]), classes=classes)


# -- Their losses --


# Quantiles of the band.
SHARES = (0.1, 0.5, 0.9)
MOST_RUNS = 25
# Minimum number of runs for a band.
FEWEST_RUNS = 7
# Seconds of work at one value of the slider, after its first run.
SECONDS = 1.5
# Seed of the noise at every value. It is public, because all runs here are teaching runs.
SEED = 0
# Number of pages whose non-private runs are kept.
MOST_PAGES = 4


@dataclass(frozen=True)
class LossQuestion:
    """A method with its parameters on one source. `page` and `key` represent the rest and determine the answer."""

    # Key of everything except ε.
    page: str
    # Key of the parameters.
    key: tuple[Hashable, ...]
    # Name in `ALGORITHMS`.
    algorithm: str = field(compare=False)
    params: Any = field(compare=False)
    words: Words = field(compare=False)


@dataclass(slots=True)
class _Page:
    """Data shared by all values of one slider."""

    # Non-private runs.
    references: dict[Hashable, object] = field(default_factory=dict)
    # Seconds of processor time per run; 0 while unknown.
    pace: float = 0.0

    def exceeds(self, seconds: float) -> bool:
        """Return True if the minimum number of runs for a band takes longer than `seconds`, after the first run."""
        return self.pace * (FEWEST_RUNS - 1) > seconds


_pages: OrderedDict[str, _Page] = OrderedDict()


def loss_band(
    points: Points, box: Box, classes: Labels | None, question: LossQuestion, seconds: float = SECONDS
) -> tuple[float, ...]:
    """Return the quantiles `SHARES` of the losses of `MOST_RUNS` runs; () without a band.

    The runs are `Draws(SEED, 0, MOST_RUNS)`, whatever ε is: each has its own start and noise. After `seconds` of
    processor time of the method, the answer covers the runs so far. There is no band if a run has no loss, a quantile
    is not finite, or `FEWEST_RUNS` runs take too long. In the last case, no other value of the page is tried.
    """
    # The box of the words is used instead.
    del box
    page, name = _pages.setdefault(question.page, _Page()), question.algorithm
    _pages.move_to_end(question.page)
    while len(_pages) > MOST_PAGES:
        _pages.popitem(last=False)
    if page.exceeds(seconds):
        return ()
    algorithm, spent = ALGORITHMS[name], list[float]()

    def fit(*given: Any, rng: np.random.Generator) -> Result[Any, Any]:
        # Time of this process only: neither pauses, nor other work, nor the references of new starts count.
        began = time.process_time()
        result = algorithm.fit(*given, rng=rng)
        spent.append(time.process_time() - began)
        return result

    own = question.params, Draws(SEED, 0, MOST_RUNS), question.words, page.references
    losses: list[float] = []
    for run in each_run(replace(algorithm, fit=fit), run_class(name), points, classes, *own):
        curator, _ = run.losses()
        if curator is None:
            return ()
        losses.append(curator.value)
        # The first run may load what it needs, so its time is not a measure.
        if len(losses) == 1:
            continue
        total = sum(spent[1:])
        page.pace = total / (len(losses) - 1)
        if total > seconds or (len(losses) < FEWEST_RUNS and page.exceeds(seconds)):
            break
    if len(losses) < FEWEST_RUNS:
        return ()
    # Two losses may both be unbounded.
    with np.errstate(invalid="ignore"):
        band = np.quantile(losses, SHARES)
    return tuple(map(float, band)) if np.isfinite(band).all() else ()


# -- One run at every ε, with the same random numbers. Every stop is one more release. --


# Fields of a method's parameters.
NamedParams = tuple[tuple[str, Hashable], ...]

# Milliseconds from one budget to the next.
PACE_MS = 160.0
# Largest ratio of costs in the chart.
HIGHEST = 1e6


@immutable
class State(Confidential):
    """A run at one budget: its release in box units, and the clusters of the sampled records."""

    epsilon: float
    # (k, d) released centers, box units.
    centers: Centers
    # (m,) nearest released center of each sampled record.
    nonprivate_labels: NDArray[np.uint8]
    # Cost over all records, box units squared.
    nonprivate_cost: float


def state_at(
    points: Points, box: Box, method: str, params: NamedParams, epsilon: float, seed: int, n_stops: int
) -> State:
    """Run one of `ALGORITHMS` once, at one of `n_stops` budgets."""
    algorithm = ALGORITHMS[method]
    result = algorithm.fit(points, box, algorithm.Params(**dict(params)), rng=np.random.default_rng(seed))
    unit, centers = unit_records(points, box), box.to_unit(result.release.centers)
    labels = assign(unit, centers)
    sampled = labels[ground.sample(len(unit), n_stops)].astype(np.uint8)
    return State(epsilon, centers, sampled, nonprivate_cost(unit, centers, labels))


def lloyd_reference(points: Points, box: Box, method: str, params: NamedParams, seed: int) -> tuple[Centers, float]:
    """Return the centers (k, d), box units, of Lloyd's algorithm from the start of such a run, and k-means' cost."""
    algorithm = ALGORITHMS[method]
    full = algorithm.Params(**dict(params))
    result = algorithm.fit(points, box, full, rng=np.random.default_rng(seed))
    kind, words = run_class(method), Words("", box, (), ())
    run = kind.from_result(result, full, points, words, kind.find_reference(points, words, result, full))
    # Only methods that release centers play over ε.
    assert isinstance(run, CentersRun)
    return run.reference.nonprivate_centers, run.best_cost


def epsilon_scene(
    states: Sequence[State], unit: Points, lloyd: Centers | None, words: Words, view: View, *, start: float
) -> Scene:
    """Return the moving picture of `states`, epsilon growing, over the records (n, d), box units. Curator only.

    `lloyd` (k, d) are the centers without privacy, box units; None if there are none to compare with. The picture
    begins at the epsilon nearest to `start`.
    """
    stops = _epsilons(states)
    # As many frames as states.
    stage = Stage(project(view, words, unit), Clock(len(states) - 2, ("stop",)))
    rows = {frame: frame for frame in range(len(states))}
    centers = np.stack([state.centers for state in states])  # (E, k, d)
    sampled = ground.sample(len(unit), len(states))
    labels = np.stack([state.nonprivate_labels for state in states])
    lloyds = []
    if lloyd is not None:
        always_rows, name = stage.clock.always(), "center without privacy"
        lloyds.append(stage.marks(name, SECRET, always_rows, lloyd[None], symbol="cross", isolate=False))
    layers = [
        *ground.box_layer(stage, public=words.box_public),
        ground.drawn_records(unit[sampled], labels, rows, stage, total=len(unit)),
        *ground.border_layer(UNPAID, rows, centers, stage),
        stage.layer("path as ε grows", Kind.TRAILS, UNPAID, rows, stage.projection(centers), size=1.5),
        *lloyds,
        stage.marks("center at this ε", UNPAID, rows, centers, size=12.0),
    ]
    return Scene(
        title="",
        alt=f"{words.title}: {centers.shape[1]} cluster centers at {len(states)} values of ε from "
        f"{number(stops[0])} to {number(stops[-1])}, with the same noise.",
        caption="ε grows, the random numbers stay the same. Each ε would be a separate release.",
        hint="Play, or drag the slider.",
        x=stage.projection.x,
        y=stage.projection.y,
        axes_public=False,
        layers=tuple(layers),
        frames=_frames(states),
        start_frame=nearest(stops, start),
        group_names=cluster_names(centers.shape[1]),
        pace=PACE_MS,
    )


def cost_chart(states: Sequence[State], floor: float) -> Scene:
    """Return the exact cost against epsilon, over k-means' cost `floor`; the chart follows the picture's stops."""
    stops = _epsilons(states)
    values = (float(np.log10(stops[0])), float(np.log10(stops[-1])))
    x = (np.log10(stops) - values[0]) / (values[1] - values[0])
    y = np.log10(np.minimum([cost_ratio(state.nonprivate_cost, floor) for state in states], HIGHEST))
    low, high = 0.0, max(0.3, float(y.max()))
    pad = 0.06 * (high - low)
    fixed = always(len(states))
    moving = np.arange(len(states), dtype=np.int16)
    return Plot(
        title="Cost at each ε",
        alt="Line chart of the clustering cost against ε.",
        caption="1 is k-means' cost without privacy. One run: different noise would draw a different line.",
        x=Axis("ε", "", (-MARGIN, 1.0 + MARGIN), values, log=True),
        y=Axis("cost", "× k-means", (low - pad, high + pad), log=True),
        axes_public=False,
        layers=(
            Layer.line("k-means' cost", UNRELEASED, [-MARGIN, 1.0 + MARGIN], [0.0, 0.0], rows=fixed, size=1.0),
            Layer.line("Cost", SECRET, x, y, rows=fixed, size=2.0),
            Layer.from_arrays("Now", Kind.MARKS, UNPAID, np.stack([x, y], axis=1)[:, None], moving, size=9.0),
            Layer.from_arrays("ε", Kind.CURSOR, UNRELEASED, x, moving, legend=False),
        ),
        frames=_frames(states),
    )


def nearest(stops: FloatArray, epsilon: float) -> int:
    """Return the index of the stop nearest to epsilon in ratio; the lowest stop if epsilon is not positive."""
    return int(np.abs(np.log(stops) - np.log(max(epsilon, 1e-12))).argmin())


def _epsilons(states: Sequence[State]) -> FloatArray:
    """Return the stops (E,). Raises ValueError for fewer than two stops, or if they do not increase."""
    stops = np.array([state.epsilon for state in states])
    if len(stops) < 2 or not (np.diff(stops) > 0).all() or stops[0] <= 0:
        raise ValueError(f"states must have at least two stops that grow from above 0, got {stops.tolist()}")
    return frozen(stops)


def _frames(states: Sequence[State]) -> tuple[Frame, ...]:
    return tuple(Frame(f"ε = {number(state.epsilon)}", "The same random numbers at every ε.") for state in states)
