"""What many runs of a method lose, for the background process: the band of the stage's strip. The curator's.

No Streamlit here: the process would have to load it.
"""

import time
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpviz.core import Box, Labels, Points
from dpviz.methods import ALGORITHMS, run_class
from dpviz.stories.view import Words
from dpviz.tools.many_runs.runs import Draws, each_run

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
