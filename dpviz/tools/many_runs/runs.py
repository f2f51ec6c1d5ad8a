"""Many runs of a method, for the background process, and what they lose: the band of the stage's strip, the curator's.

No Streamlit here: the process would have to load it.
"""

import time
from collections import OrderedDict
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dpviz.core import AnyAlgorithm, Box, Labels, Points, Release, Step
from dpviz.methods import ALGORITHMS, run_class
from dpviz.stories.method import RunClass
from dpviz.stories.outcomes import Outcome
from dpviz.stories.run import Run
from dpviz.stories.view import Words

SEEDS = ("noise", "start", "both")  # what differs from run to run


@dataclass(frozen=True, slots=True)
class Draws:
    """Which seeds differ between the runs with numbers `first` to `first` + `count` - 1."""

    seed: int
    first: int
    count: int
    vary: str = "noise"

    def __post_init__(self) -> None:
        """Validate `vary`."""
        if self.vary not in SEEDS:
            raise ValueError(f"vary was {self.vary!r}, but it must be one of {', '.join(SEEDS)}.")

    def noise(self, run: int) -> np.random.Generator:
        """Return the generator of a run's noise; the same one for all runs where only the start differs."""
        return np.random.default_rng([self.seed, 0 if self.vary == "start" else run])


@dataclass(frozen=True)
class RunsQuestion:
    """A method with its parameters. Equal questions have equal answers on one source: `key` stands for `params`."""

    algorithm: str  # of `ALGORITHMS`
    key: tuple[Hashable, ...]
    units: tuple[str, ...]
    fields: tuple[tuple[str, Hashable], ...]  # of the run: what only the page chooses
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

    `units` are those of the features, `fields` what only the page chooses of a run. A start that differs needs
    `params.start_seed`.
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
    references: dict[Hashable, Any],
) -> Iterator[Run[object, Release, Step]]:
    """Yield a run of a method on the records (n, d), data units, for each of `draws`: the curator's.

    `references` are the non-private runs by what they depend on, such as Lloyd's algorithm from one start; one that is
    missing is computed and joins them.
    """
    for number in range(draws.first, draws.first + draws.count):
        own = params
        if draws.vary != "noise":  # another start; the constructor checks the parameters again
            own = replace(params, start_seed=int(params.start_seed or 0) + number)
        result = algorithm.fit(points, words.box, own, rng=draws.noise(number))
        key = kind.reference_key(own, result)
        if key not in references:
            references[key] = kind.find_reference(points, words, result, own)
        yield replace(kind.from_result(result, own, points, words, references[key]), classes=classes)


# -- What they lose --


SHARES = (0.1, 0.5, 0.9)  # the band's quantiles
MOST_RUNS = 25
FEWEST_RUNS = 7  # fewer have no band
SECONDS = 1.5  # of work at one value of the slider, after its first run
SEED = 0  # of the noise, at every value: public, as all runs here are teaching runs
MOST_PAGES = 4  # whose non-private runs are kept


@dataclass(frozen=True)
class LossQuestion:
    """A method with its parameters on one source. `page` and `key` stand for the rest: equal ones, equal answers."""

    page: str  # of everything but ε
    key: tuple[Hashable, ...]  # of the parameters
    algorithm: str = field(compare=False)  # of `ALGORITHMS`
    params: Any = field(compare=False)
    words: Words = field(compare=False)


@dataclass(slots=True)
class _Page:
    """What the values of one slider share."""

    references: dict[Hashable, Any] = field(default_factory=dict)  # non-private runs
    pace: float = 0.0  # s of processor time that a run takes, 0 while that is unknown

    def exceeds(self, seconds: float) -> bool:
        """Whether the fewest runs of a band take longer than that, after the first one."""
        return self.pace * (FEWEST_RUNS - 1) > seconds


_pages: OrderedDict[str, _Page] = OrderedDict()


def loss_band(
    points: Points, box: Box, classes: Labels | None, question: LossQuestion, seconds: float = SECONDS
) -> tuple[float, ...]:
    """Return the quantiles `SHARES` of what `MOST_RUNS` runs with other noise lose; () where there is no band.

    The runs are `Draws(SEED, 0, MOST_RUNS)`, whatever ε is. When `seconds` of processor time are over the answer is of
    the runs so far. There is no band where a run has no loss, a quantile is not finite, or `FEWEST_RUNS` take too long;
    then no other value of the page is tried.
    """
    del box  # that of the words
    page, name = _pages.setdefault(question.page, _Page()), question.algorithm
    _pages.move_to_end(question.page)
    while len(_pages) > MOST_PAGES:
        _pages.popitem(last=False)
    if page.exceeds(seconds):
        return ()
    draws = Draws(SEED, 0, MOST_RUNS)
    kind, own = run_class(name), (question.params, draws, question.words, page.references)
    losses: list[float] = []
    began = 0.0
    for run in each_run(ALGORITHMS[name], kind, points, classes, *own):
        curator, _ = run.losses()
        if curator is None:
            return ()
        losses.append(curator.value)
        now = time.process_time()  # of this process alone: neither a rest nor other work counts
        if len(losses) == 1:  # which has found the reference: its time is no measure
            began = now
            continue
        page.pace = (now - began) / (len(losses) - 1)
        if now - began > seconds or (len(losses) < FEWEST_RUNS and page.exceeds(seconds)):
            break
    if len(losses) < FEWEST_RUNS:
        return ()
    with np.errstate(invalid="ignore"):  # two losses without a bound
        band = np.quantile(losses, SHARES)
    return tuple(map(float, band)) if np.isfinite(band).all() else ()
