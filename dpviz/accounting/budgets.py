"""Open budgets: every release made meanwhile is added up, and refused before it exceeds the budget."""

import math
import multiprocessing
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any

import numpy as np

from dpviz.accounting.closed_forms import zcdp_epsilon
from dpviz.accounting.composition import for_group, overspent, pure_epsilon, under_replace
from dpviz.core import Adjacency, Box, Claim, Event, Guarantee, charge_with, without_charge
from dpviz.core.limits import ROUNDING, ceiled, floored
from dpviz.core.method import AnyFit

NEIGHBORS = {"add_remove": Adjacency.ADD_REMOVE, "replace": Adjacency.REPLACE}
_OPEN: list["OpenBudget"] = []  # of this process, in whatever thread a release is made
_LOCK = Lock()
ROWS = (
    "One person has at most {rows} rows: the limits count all of them together, {rows} times the ε of one row. Who has "
    "more is protected less."
)
ELSEWHERE = (
    "A budget is open in the process that started this one, which does not see what is released here. {title} was not "
    "run. Use n_jobs=1, or threads: joblib.parallel_config(backend='threading')."
)


class BudgetError(ValueError):
    """A release would exceed an open budget, or cannot be added to it; nothing has been released."""


@dataclass(frozen=True, slots=True)
class Spent:
    """One release in a budget: its title, and the claim that is proved of it under the budget's neighbors."""

    title: str
    claim: Claim


class OpenBudget:
    """A budget for a `with` block: releases of estimators and of methods' own `fit` made inside are added up.

    One that would exceed the budget is refused before it runs, as is one of which nothing is proved. All releases count
    as if they were on the same records, which is never too little. Give `epsilon` > 0 with the `delta` in [0, 1) of
    all releases together, or `rho` > 0 for zCDP, where `delta` is only where epsilon is read off. `neighbors` is
    "add_remove" or "replace". Threads are counted; a release in a process that this one started (n_jobs) is refused.

        with dpviz.budget(epsilon=3) as b:
            DPM(epsilon=1, bounds=(0, 1)).fit(X)
            b.epsilon_spent, b.remaining, b.releases

    Raises ValueError for a budget that cannot be; BudgetError, one of them, is raised by what does not fit.
    """

    def __init__(
        self,
        epsilon: float | None = None,
        delta: float = 0.0,
        *,
        rho: float | None = None,
        neighbors: str = "add_remove",
    ) -> None:
        """Open nothing yet."""
        if neighbors not in NEIGHBORS:
            raise ValueError(f"neighbors was {neighbors!r}, but it must be one of {', '.join(NEIGHBORS)}.")
        if (epsilon is None) == (rho is None):
            raise ValueError(f"epsilon was {epsilon} and rho {rho}, but exactly one of them must be given.")
        for name, value in (("epsilon", epsilon), ("rho", rho)):
            if value is not None and not 0 < value < math.inf:
                raise ValueError(f"{name} was {value}, but it must be finite and > 0.")
        if not 0 <= delta < 1:
            raise ValueError(f"delta was {delta}, but it must be in [0, 1).")
        self.epsilon, self.delta, self.rho = epsilon, delta, rho
        self.adjacency = NEIGHBORS[neighbors]
        self.releases: tuple[Spent, ...] = ()
        self._process = os.getpid()

    @property
    def rho_spent(self) -> float:
        """Sum of rho; a pure epsilon counts as epsilon^2/2 (Bun & Steinke 2016, proposition 1.4 and lemma 1.7)."""
        claims = [each.claim for each in self.releases]
        return math.fsum(each.epsilon**2 / 2 if each.rho is None else each.rho for each in claims)

    @property
    def delta_spent(self) -> float:
        """Sum of delta; with a budget of rho the delta at which `epsilon_spent` is stated."""
        return self.delta if self.rho is not None else math.fsum(each.claim.delta for each in self.releases)

    @property
    def epsilon_spent(self) -> float:
        """Sum of epsilon (Dwork & Roth 2014, theorem 3.16); with a budget of rho its epsilon at `delta`."""
        if self.rho is None:
            return math.fsum(each.claim.epsilon for each in self.releases)
        return zcdp_epsilon(self.rho_spent, self.delta)

    @property
    def remaining(self) -> float:
        """What is left of epsilon, of a budget of rho that of rho."""
        left = self.epsilon - self.epsilon_spent if self.rho is None and self.epsilon is not None else None
        return max(0.0, (self.rho or 0.0) - self.rho_spent if left is None else left)

    def __repr__(self) -> str:
        """Say what is left of how much, and what was released."""
        name, whole = ("ε", self.epsilon) if self.rho is None else ("ρ", self.rho)
        titles = ", ".join(each.title for each in self.releases) or "nothing was released"
        return f"<Budget: {floored(self.remaining)} of {name} = {ceiled(whole or 0.0)} left; {titles}>"

    def __enter__(self) -> "OpenBudget":
        """Open the budget; one opened within another one is part of it."""
        self._process = os.getpid()
        with _LOCK:
            _OPEN.append(self)
            with suppress(FileExistsError):
                os.close(os.open(_mark(self._process), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the budget; its sums remain."""
        with _LOCK:
            _OPEN.remove(self)
            if not any(each._process == os.getpid() for each in _OPEN):
                _mark(os.getpid()).unlink(missing_ok=True)

    def _add(self, title: str, guarantee: Guarantee, events: Sequence[Event]) -> None:
        """Add a release; raises BudgetError beyond the budget, and `charge` takes it out again."""
        spent = Spent(title, self._claim(title, guarantee, events))
        self.releases = (*self.releases, spent)
        if self.rho is not None:
            over = _beyond("rho", self.rho_spent, self.rho)
        else:
            assert self.epsilon is not None
            over = _beyond("epsilon", self.epsilon_spent, self.epsilon) or _beyond(
                "delta", self.delta_spent, self.delta
            )
        if over:
            name = over.partition(" ")[0]
            raise BudgetError(
                f"{title} would bring the releases to {over}. It was not run. Lower its "
                f"{'epsilon' if name == 'rho' else name}, or open a budget of more {name} beforehand."
            )

    def _claim(self, title: str, guarantee: Guarantee, events: Sequence[Event]) -> Claim:
        """Return what is proved of a release under this budget's neighbors. Raises BudgetError where nothing is."""
        claim = guarantee.proved
        if claim is None or not math.isfinite(claim.epsilon):
            raise BudgetError(
                f"No guarantee of {title} is proved, so it cannot be added up. It was not run. Choose a proved mode "
                "and public bounds, or run it outside of the budget."
            )
        if claim.per_distance:
            # Between two places in the box: what the events state for a record that may be anywhere in it.
            claim = Claim(pure_epsilon(events, Adjacency.REPLACE), 0.0, Adjacency.REPLACE, claim.reference)
        try:
            exceeds = overspent(events, claim)
        except ValueError as error:
            raise BudgetError(f"The noise of {title} does not prove its guarantee: {error} It was not run.") from error
        if exceeds:
            raise BudgetError(f"The noise of {title} spends more than its guarantee says. It was not run.")
        if claim.adjacency is Adjacency.REPLACE and self.adjacency is Adjacency.ADD_REMOVE:
            raise BudgetError(
                f"The guarantee of {title} is about a record that changes, and this budget about one that is added or "
                "removed: nothing follows from the one for the other. It was not run. Use "
                "budget(..., neighbors='replace')."
            )
        if self.adjacency is Adjacency.REPLACE:
            claim = under_replace(claim)
        if self.rho is not None and claim.rho is None and claim.delta > 0:
            raise BudgetError(
                f"The guarantee of {title} has a delta and no rho, so it cannot be added to a budget of rho. It was "
                "not run. Use budget(epsilon=..., delta=...)."
            )
        return claim


def charge(title: str, price: Callable[[], tuple[Guarantee, Sequence[Event]]]) -> None:
    """Add a release that is about to be made to all budgets that are open in this process.

    `price` returns the release's cost, from public inputs alone; it is called only where a budget is open. Raises
    BudgetError, with nothing added anywhere, where one of them does not allow it.
    """
    if is_open_elsewhere():
        raise BudgetError(ELSEWHERE.format(title=title))
    if not _OPEN:
        return
    guarantee, events = price()
    with _LOCK:
        before = [(each, each.releases) for each in _OPEN]
        try:
            for each in _OPEN:
                each._add(title, guarantee, events)
        except BudgetError:
            for each, releases in before:
                each.releases = releases
            raise


def _beyond(name: str, total: float, allowed: float) -> str:
    if total <= allowed * (1.0 + ROUNDING):
        return ""
    digits = next(n for n in range(6, 18) if f"{total:.{n}g}" != f"{allowed:.{n}g}")
    return f"{name} = {total:.{digits}g}, but {allowed:.{digits}g} is the budget"


def check_rows(rows: object) -> None:
    """Raise ValueError for a limit of rows per person that is none."""
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        raise ValueError(f"rows_per_person was {rows!r}, but it must be a whole number >= 1.")


def for_person(guarantee: Guarantee, rows: int) -> Guarantee:
    """Restate both claims for all rows of a person, at most `rows` >= 1, which a caveat then says."""
    if rows == 1:
        return guarantee
    published, proved = (
        None if claim is None else for_group(claim, rows) for claim in (guarantee.published, guarantee.proved)
    )
    caveats = (*guarantee.caveats, ROWS.format(rows=rows))
    return replace(guarantee, published=published, proved=proved, caveats=caveats)


def price_of(fit: AnyFit, box: Box, params: Any, rows: int = 1) -> tuple[Guarantee, Sequence[Event]]:
    """Return a run's cost, which is that of one on no records, since a guarantee is the same for all records.

    It is for all rows of a person, at most `rows`. A run that starts from records gets public places instead.
    """
    n_places = params.n_clusters if getattr(params, "start", None) == "records" else 0
    places = box.from_unit(np.random.default_rng(0).random((n_places, box.d)))
    with without_charge():
        run = fit(places, box, params, rng=np.random.default_rng(0))
    if run.guarantee.proved is not None and run.guarantee.proved.per_distance:
        return run.guarantee, rows * run.events  # the events say what a move across the box costs
    return for_person(run.guarantee, rows), run.events


def is_open() -> bool:
    """Whether a budget is open in this process."""
    return bool(_OPEN)


def is_open_elsewhere() -> bool:
    """Whether a budget is open in the process that started this one, which does not count releases of this one.

    A copied process (fork) has the budgets of the other one; any other reads the file that marks them.
    """
    here, parent = os.getpid(), multiprocessing.parent_process()
    if any(each._process != here for each in _OPEN):
        return True
    above = {os.getppid(), *(() if parent is None else (parent.pid,))}
    return any(_mark(process).exists() for process in above if process is not None)


def _mark(process: int) -> Path:
    """Return the file that exists while a process has an open budget."""
    return Path(tempfile.gettempdir()) / f"dpviz-budget-{process}"


charge_with(
    lambda fit, box, params: charge(
        getattr(sys.modules.get(fit.__module__), "TITLE", fit.__module__), lambda: price_of(fit, box, params)
    )
)
with suppress(OSError):
    _mark(os.getpid()).unlink(missing_ok=True)  # of a process that had this one's number and was killed
