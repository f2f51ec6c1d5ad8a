"""Open budgets. They add up all releases made while they are open, and refuse a release that would exceed them."""

import functools
import math
import multiprocessing
import numbers
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

import numpy as np

from dpviz.accounting.closed_forms import zcdp_epsilon
from dpviz.accounting.composition import across_box, for_group, overspent, under_replace
from dpviz.core import Adjacency, Box, Claim, Event, Guarantee, charge_with, immutable_value, quoted, without_charge
from dpviz.core.limits import ROUNDING, ceiled, floored
from dpviz.core.method import AnyFit

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")
# A public column, and the value in it that some records have.
Part: TypeAlias = tuple[str, str | int]
NEIGHBORS = {"add_remove": Adjacency.ADD_REMOVE, "replace": Adjacency.REPLACE}
# Budgets that are open in this process, for releases in any thread.
_OPEN: list["OpenBudget"] = []
_LOCK = Lock()
# Parts that are open here, each with its budget and its records. Other threads do not see them: their releases count as
# if they were on all records, which is never too little.
_PARTS: ContextVar[tuple[tuple["OpenBudget", Part, object], ...]] = ContextVar("parts", default=())
# delta at which epsilon of zCDP is stated if no delta was given. Our choice.
STATED_DELTA = 1e-9
ROWS = (
    "One person has at most {rows} rows: the limits count all of them together, {rows} times the ε of one row. A "
    "person with more rows is protected less."
)
# Environment variable that processes inherit: the files, one per line, that exist while their processes have budgets.
MARKS = "DPVIZ_BUDGETS"
ELSEWHERE = (
    "A budget is open in a process that started this one, which does not see the releases made here. {title} was not "
    "run. Use n_jobs=1, or threads: joblib.parallel_config(backend='threading')."
)


class BudgetError(ValueError):
    """A release would exceed an open budget, or cannot be added to it. Nothing has been released."""


@immutable_value
class Spent:
    """One release in a budget: its title, and the claim that is proved for it under the budget's neighbors."""

    # Title of the release.
    title: str
    # Claim that is proved for it.
    claim: Claim
    # Part that the release is on. None for all records.
    part: Part | None = None

    @property
    def name(self) -> str:
        """Title and part."""
        return self.title if self.part is None else f"{self.title} ({_named(self.part)})"


class OpenBudget:
    """A budget for a `with` block: releases by estimators and by methods' own `fit` inside it are added up.

    A release that would exceed the budget is refused before it runs, and so is a release without a proved guarantee.
    All releases count as if they were on the same records, which is never too little. Make releases on disjoint records
    in separate `part` blocks. Give `epsilon` > 0 with the total `delta` in [0, 1) of all releases, or `rho` > 0 for
    zCDP; then `delta` is only the value at which epsilon is stated. `neighbors` is "add_remove" or "replace". Releases
    in threads count; a release in a process that this one started (n_jobs) is refused. `spend` adds a release that was
    made without dpviz.

        with dpviz.budget(epsilon=3) as b:
            DPM(epsilon=1, bounds=(0, 1)).fit(X)
            b.epsilon_spent, b.remaining, b.releases

    Raises ValueError for an invalid budget. A release that does not fit raises BudgetError, which is a ValueError.
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
            raise ValueError(f"neighbors must be one of {', '.join(NEIGHBORS)}, got {neighbors!r}.")
        if (epsilon is None) == (rho is None):
            raise ValueError(f"Exactly one of epsilon and rho must be given, got epsilon {epsilon} and rho {rho}.")
        for name, value in (("epsilon", epsilon), ("rho", rho)):
            if value is not None and not (isinstance(value, numbers.Real) and 0 < value < math.inf):
                raise ValueError(f"{name} must be finite and above 0, got {quoted(value)}.")
        if not 0 <= delta < 1:
            raise ValueError(f"delta must be in [0, 1), got {delta}.")
        self.epsilon, self.delta, self.rho = epsilon, delta, rho
        self.adjacency = NEIGHBORS[neighbors]
        self.releases: tuple[Spent, ...] = ()
        self._process = os.getpid()

    @property
    def rho_spent(self) -> float:
        """Sum of rho; a pure epsilon counts as epsilon^2/2 (Bun & Steinke 2016, proposition 1.4 and lemma 1.7)."""
        return self._sum(_rho)

    @property
    def delta_spent(self) -> float:
        """Sum of delta; for a budget of rho, the delta at which `epsilon_spent` is stated."""
        return self.delta if self.rho is not None else self._sum(lambda claim: claim.delta)

    @property
    def epsilon_spent(self) -> float:
        """Sum of epsilon (Dwork & Roth 2014, theorem 3.16); for a budget of rho, its epsilon at `delta`."""
        if self.rho is None:
            return self._sum(_epsilon)
        return zcdp_epsilon(self.rho_spent, self.delta)

    @property
    def remaining(self) -> float:
        """Remaining epsilon, or remaining rho for a budget of rho. Within `part`, the rest for that part."""
        opened = self._opened
        part = None if opened is None else opened[0]
        if self.epsilon is not None:
            return max(0.0, self.epsilon - self._sum(_epsilon, part))
        return max(0.0, (self.rho or 0.0) - self._sum(_rho, part))

    @contextmanager
    def part(self, records: T, /, **value: str | int) -> Iterator[T]:
        """Count the releases of this block as releases on the records with one value in one public column.

        For a pandas frame, the block receives the rows with this value, without the column. Any other object is
        returned unchanged, and you must ensure that all its records have the value. A release on any other records is
        refused, even if you only changed the rows or left out columns that have no names.

            for region in ("north", "south"):
                with b.part(frame, region=region) as rows:
                    dpviz.run("dplloyd", rows, bounds=bounds, epsilon=1)

        Parts of one column have no record in common, so for each column a budget counts the most expensive part, in
        addition to releases outside of parts. That is proved: if a record is added or removed, all parts except its own
        have the same records as before, in every column (Dwork & Roth 2014, theorem 3.16, on the releases that see it).
        A record that is replaced may stay in its part; then each release costs as much as for a replaced record. Or it
        leaves part i for part j, which costs a_i + a_j <= 2 max(a_i, a_j), where a_i and a_j are the costs for an added
        or removed record; `under_replace` is at least double that, in epsilon, delta and rho. So both cases are
        covered, but only if releases are proved for an added or removed record: others are refused. `rows_per_person`
        counts a person's rows in all parts together: sums over parts are then at most as large as with all rows in one
        part.

        Name the parts from public knowledge: the values that occur are a fact about the records. Columns add up. Raises
        ValueError for a value that is not text or a whole number, a missing column, a budget that is not open, and a
        part within a part.
        """
        if len(value) != 1:
            raise ValueError(f"A part must have one column, got {len(value)}: budget.part(data, region='north').")
        ((column, which),) = value.items()
        which = int(which) if isinstance(which, np.integer) else which
        if not isinstance(which, str | int):
            raise ValueError(
                "The value of a part must be text or a whole number, because other values can be equal "
                f"without looking alike, got {which!r} for {column}. Add a column of names to the records."
            )
        self._check_open()
        if self._opened is not None:
            raise ValueError(f"The part {_named(self._opened[0])} is open, so it has no parts. Leave it first.")
        rows, columns = records, getattr(records, "columns", ())
        # If pandas is not loaded, the records are not a pandas frame.
        pandas = sys.modules.get("pandas")
        is_pandas = pandas is not None and isinstance(records, pandas.DataFrame)
        if column not in columns and is_pandas:
            raise ValueError(f"There is no column {column!r}; there are {', '.join(map(str, columns))}.")
        if column in columns and not is_pandas:
            raise ValueError(
                f"Only a pandas data frame can be split here. The records of {_named((column, which))} are "
                f"a {type(records).__name__} with this column. Pass the rows that have the value, without "
                "the column."
            )
        if column in columns:
            # Convert to Python's own values. A column can find one date by several texts, and one short float by
            # several numbers, so one part would count as several.
            frame = cast("pd.DataFrame", records)
            chosen = [isinstance(each, str | int | float) and each == which for each in frame[column].tolist()]
            rows = cast(T, frame.loc[np.array(chosen, dtype=bool)].drop(columns=column))
        token = _PARTS.set((*_PARTS.get(), (self, (column, which), rows)))
        try:
            yield rows
        finally:
            _PARTS.reset(token)

    def spend(
        self,
        title: str,
        epsilon: float | None = None,
        delta: float = 0.0,
        *,
        rho: float | None = None,
        neighbors: str | None = None,
    ) -> None:
        """Add a release of the same records that was made elsewhere, with its proved guarantee.

        Give `epsilon` with `delta`, or `rho`; `neighbors` are the budget's by default. Within `part`, it is a release
        on that part. Raises ValueError for invalid numbers, and BudgetError like any release.

            with dpviz.budget(epsilon=3, delta=1e-6) as b:
                b.spend("Histogram of ages", epsilon=0.5)
        """
        self._check_open()
        if (epsilon is None) == (rho is None):
            raise ValueError(f"Exactly one of epsilon and rho must be given, got epsilon {epsilon} and rho {rho}.")
        if neighbors is not None and neighbors not in NEIGHBORS:
            raise ValueError(f"neighbors must be one of {', '.join(NEIGHBORS)}, got {neighbors!r}.")
        if rho is not None:
            delta = delta or self.delta or STATED_DELTA
            epsilon = zcdp_epsilon(rho, delta)
        assert epsilon is not None
        adjacency = self.adjacency if neighbors is None else NEIGHBORS[neighbors]
        claim = Claim(epsilon, delta, adjacency, title, rho=rho)
        charge(title, lambda: (Guarantee(None, claim), ()))

    def __repr__(self) -> str:
        """Show the remaining budget, the total, and the releases."""
        name, whole = ("ε", self.epsilon) if self.rho is None else ("ρ", self.rho)
        titles = ", ".join(each.name for each in self.releases) or "nothing was released"
        return f"<Budget: {floored(self.remaining)} of {name} = {ceiled(whole or 0.0)} left; {titles}>"

    def __enter__(self) -> "OpenBudget":
        """Open the budget. A budget that is opened within another budget is part of it."""
        self._process = os.getpid()
        with _LOCK:
            _OPEN.append(self)
            with suppress(FileExistsError):
                os.close(os.open(_mark(self._process), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            os.environ[MARKS] = "\n".join(dict.fromkeys((*_marks(), _mark(self._process))))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the budget; its sums remain."""
        with _LOCK:
            _OPEN.remove(self)
            if not any(each._process == os.getpid() for each in _OPEN):
                with suppress(FileNotFoundError):
                    os.unlink(_mark(os.getpid()))
                os.environ[MARKS] = "\n".join(each for each in _marks() if each != _mark(os.getpid()))

    def _check_open(self) -> None:
        if self not in _OPEN:
            raise ValueError("The budget is not open, so nothing would be counted. Use it within `with budget:`.")

    @property
    def _opened(self) -> tuple[Part, object] | None:
        """The part of this budget that is open here, with its records."""
        return next(((part, rows) for budget, part, rows in _PARTS.get() if budget is self), None)

    def _sum(self, cost: Callable[[Claim], float], part: Part | None = None) -> float:
        """Add up `cost` over the releases that see one record: those of `part`, and other columns' costliest part."""
        whole: list[float] = []
        columns: dict[str, dict[str | int, list[float]]] = {}
        for each in self.releases:
            if each.part is None:
                whole.append(cost(each.claim))
            else:
                columns.setdefault(each.part[0], {}).setdefault(each.part[1], []).append(cost(each.claim))
        seen = (
            math.fsum(parts.get(part[1], ()))
            if part is not None and part[0] == column
            else max(math.fsum(each) for each in parts.values())
            for column, parts in columns.items()
        )
        return math.fsum((*whole, *seen))

    def _add(self, title: str, guarantee: Guarantee, events: Sequence[Event], records: object) -> None:
        """Add a release on `records`; raises BudgetError beyond the budget, and then `charge` removes the release."""
        part, rows = self._opened or (None, None)
        if part is not None and records is not None and not _are_rows_of(rows, records):
            raise BudgetError(
                f"{title} received records that are not in the part {_named(part)}. It was not run. Pass "
                "the rows of the block, `with budget.part(data, ...) as rows`, without changes. Scale the "
                "records and choose columns before you open the part. Within it, you can only choose "
                "columns of a frame."
            )
        spent = Spent(title, self._claim(title, guarantee, events, part), part)
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
                f"{spent.name} would bring the total to {over}. It was not run. Lower its "
                f"{'epsilon' if name == 'rho' else name}, or open a budget with more {name} first."
            )

    def _claim(self, title: str, guarantee: Guarantee, events: Sequence[Event], part: Part | None) -> Claim:
        """Return the claim that is proved for a release under this budget's neighbors.

        Raises BudgetError if there is none.
        """
        claim = guarantee.proved
        if claim is None:
            raise BudgetError(
                f"{title} has no proved guarantee, so it cannot be added up. It was not run. Choose a "
                "proved mode and public bounds, or run it outside the budget."
            )
        if not math.isfinite(claim.epsilon):
            raise BudgetError(f"{title} at ε = ∞ has no privacy, so no budget allows it. It was not run.")
        row = guarantee.of_row.proved or claim
        if claim.per_distance:
            claim = row = across_box(guarantee, events)
        try:
            exceeds = overspent(events, row)
        except ValueError as error:
            raise BudgetError(f"The noise of {title} does not prove its guarantee: {error} It was not run.") from error
        if exceeds:
            raise BudgetError(f"The noise of {title} spends more than its guarantee states. It was not run.")
        if claim.adjacency is Adjacency.REPLACE and self.adjacency is Adjacency.ADD_REMOVE:
            raise BudgetError(
                f"The guarantee of {title} is about replacing a record, but this budget is about adding or "
                "removing one, and neither implies the other. It was not run. Use budget(..., "
                "neighbors='replace')."
            )
        if claim.adjacency is Adjacency.REPLACE and part is not None:
            raise BudgetError(
                f"The guarantee of {title} is about a record that changes within {_named(part)}. A replaced "
                "record may also move to a different part, which removes one record here and adds one "
                "there, and nothing is proved about that. It was not run. Choose a mode whose proof is "
                "about adding or removing a record."
            )
        if self.adjacency is Adjacency.REPLACE:
            claim = under_replace(claim)
        if self.rho is not None and claim.rho is None and claim.delta > 0:
            raise BudgetError(
                f"The guarantee of {title} has a delta but no rho, so it cannot be added to a budget of "
                "rho. It was not run. Use budget(epsilon=..., delta=...)."
            )
        return claim


def charge(title: str, price: Callable[[], tuple[Guarantee, Sequence[Event]]], records: object = None) -> None:
    """Add an upcoming release to all budgets that are open in this process.

    `price` returns the release's cost, from public inputs alone; it is called only if a budget is open. `records` are
    the caller's records, and must be rows of the open part; None if they are not known. Raises BudgetError, with
    nothing added anywhere, if one of the budgets does not allow it.
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
                each._add(title, guarantee, events, records)
        except BudgetError:
            for each, releases in before:
                each.releases = releases
            raise


def _epsilon(claim: Claim) -> float:
    return claim.epsilon


def _rho(claim: Claim) -> float:
    return claim.epsilon**2 / 2 if claim.rho is None else claim.rho


def _are_rows_of(rows: object, records: object) -> bool:
    """Return True if all `records`, with repetitions, are rows of a part; columns are found by their names."""
    if records is rows:
        return True
    if isinstance(records, str | os.PathLike) or isinstance(rows, str | os.PathLike):
        return isinstance(rows, str | os.PathLike) and str(records) == str(rows)
    names, ours = (list(getattr(each, "columns", getattr(each, "feature_names", ()))) for each in (records, rows))
    try:
        if names and ours:
            rows = cast(Any, rows)[names] if hasattr(rows, "columns") else rows
        left, right = (np.asarray(getattr(each, "points", each), dtype=np.float64) + 0.0 for each in (records, rows))
    except (KeyError, TypeError, ValueError):
        return False
    if left.ndim != 2 or right.ndim != 2 or left.shape[1] != right.shape[1]:
        return False
    return not Counter(row.tobytes() for row in left) - Counter(row.tobytes() for row in right)


def _named(part: Part) -> str:
    return f"{part[0]} = {part[1]}"


def _beyond(name: str, total: float, allowed: float) -> str:
    if total <= allowed * (1.0 + ROUNDING):
        return ""
    digits = next(n for n in range(6, 18) if f"{total:.{n}g}" != f"{allowed:.{n}g}")
    return f"{name} = {total:.{digits}g}, but the budget is {allowed:.{digits}g}"


def check_rows(rows: object) -> None:
    """Raise ValueError for an invalid limit of rows per person."""
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        raise ValueError(f"rows_per_person must be a whole number of at least 1, got {rows!r}.")


def for_person(guarantee: Guarantee, rows: int) -> Guarantee:
    """Restate both claims for all rows of a person, at most `rows` >= 1, and add a caveat about it.

    A number below that of the guarantee changes nothing.
    """
    if rows <= guarantee.rows:
        return guarantee
    guarantee = guarantee.of_row
    published, proved = (
        None if claim is None else for_group(claim, rows) for claim in (guarantee.published, guarantee.proved)
    )
    caveats = (*guarantee.caveats, ROWS.format(rows=rows))
    return replace(guarantee, published=published, proved=proved, caveats=caveats, rows=rows, row=guarantee)


def price_of(fit: AnyFit, box: Box, params: Any, rows: int = 1) -> tuple[Guarantee, Sequence[Event]]:
    """Return a run's cost, computed by a run without records, because a guarantee is the same for all records.

    It is for all rows of a person, at most `rows`. A run that starts from records gets public places instead.
    """
    n_places = params.n_clusters if getattr(params, "start", None) == "records" else 0
    places = box.from_unit(np.random.default_rng(0).random((n_places, box.d)))
    with without_charge():
        run = fit(places, box, params, rng=np.random.default_rng(0))
    return for_person(run.guarantee, rows), run.events


def is_open() -> bool:
    """Return True if a budget is open in this process."""
    return bool(_OPEN)


def is_open_elsewhere() -> bool:
    """Return True if a budget is open in a process above this one, with any processes and shells in between.

    Such a process does not count releases of this one. A copied process (fork) has the budgets of the original. Any
    other process reads the files that mark budgets: those of its ancestors, and those in its inherited environment.
    """
    here = os.getpid()
    if any(each._process != here for each in _OPEN):
        return True
    above = (_mark(each) for each in _ancestors(here, os.getppid()))
    return any(os.path.exists(each) for each in (*above, *_marks()) if each != _mark(here))


@functools.lru_cache(maxsize=1)
def _ancestors(process: int, parent: int) -> tuple[int, ...]:
    """Return the processes above this one; without /proc, only the nearest and the parent known to multiprocessing."""
    started_by = multiprocessing.parent_process()
    found = [parent, *(() if started_by is None or started_by.pid is None else (started_by.pid,))]
    with suppress(OSError, ValueError):
        while found[0] > 1:
            # proc(5): the state and then the parent follow the name, which is in parentheses and may contain any
            # character.
            status = Path(f"/proc/{found[0]}/stat").read_text("utf-8", "replace")
            found.insert(0, int(status.rpartition(")")[2].split()[1]))
    return tuple(each for each in found if each != process)


def _marks() -> list[str]:
    return os.environ.get(MARKS, "").splitlines()


def _mark(process: int) -> str:
    """Return the file that exists while a process has an open budget, as a string, because every run looks for some."""
    return f"{tempfile.gettempdir()}/dpviz-budget-{process}"


charge_with(
    lambda fit, points, box, params: charge(
        getattr(sys.modules.get(fit.__module__), "TITLE", fit.__module__), lambda: price_of(fit, box, params), points
    )
)
with suppress(OSError):
    # Left behind by a killed process that had the same process ID as this one.
    os.unlink(_mark(os.getpid()))
