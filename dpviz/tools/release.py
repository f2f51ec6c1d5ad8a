"""Releases of own records: their ledger, the table of a release in real units, and the files that contain it.

**The table.** It shows the release in the columns and units of the person's own table: degrees on a map, years and
euros instead of 0 to 1. The conversion is the public inverse of `Choices.dataset`. The table and the files follow only
from the release and from public inputs.

**The ledger.** Releases of the same records add up. `total_basic` is the sum of the proved claims (Dwork & Roth 2014,
theorem 3.16), which holds even if a later release depended on an earlier one. `total_best` is the smallest proved
total from composing all claims at once, at a delta of `EXTRA_DELTA` more. It holds if the settings of later releases
did not depend on earlier results. Releases without a proof are named and never counted as zero.
"""

import csv
import hashlib
import io
import json
import math
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, fields, replace
from datetime import date, datetime
from functools import lru_cache
from typing import Any, Literal, Protocol, TypeAlias, get_args, runtime_checkable

import numpy as np

from dpviz.accounting import PureEvent, across_box, epsilon_of, for_group, overspent, under_replace, zcdp_epsilon
from dpviz.core import (
    Adjacency,
    AnyAlgorithm,
    Box,
    CentersRelease,
    Claim,
    Event,
    FloatArray,
    Guarantee,
    Labels,
    Points,
    PointsRelease,
    Release,
    attacker_odds,
    immutable,
    immutable_value,
)
from dpviz.core.limits import ROUNDING
from dpviz.data import Choices, Dataset
from dpviz.data.dataset import MOST_ROWS_EACH
from dpviz.data.geography import on_plane
from dpviz.plots.table import defused
from dpviz.stories.label import described
from dpviz.stories.panel import counted
from dpviz.tools.trials import versions

Origin = Literal["release", "private curve for k", "last year's settings"]
FORMAT, VERSION = "dpviz release", 1
DEGREES = "degrees"
FINAL = (
    "The noise comes from the operating system and is not stored: no one can draw this release again, or remove its "
    "noise. Another run with the same settings is another release, and adds to this one."
)
FROM_RECORDS = (
    "The bounds were taken from the records, which reveals two people's values. Enter public bounds under Data "
    "before you release."
)
# Delta that the best composition may spend in addition to the releases' own deltas. Our choice.
EXTRA_DELTA = 1e-6
MOST_ENTRIES = 1_000
# Maximum number of characters of a text in a file.
MOST_WORDS = 600
_ID = re.compile(r"[0-9a-f]{16}")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_HASH = re.compile(r"[0-9a-f]{64}|")


class ReleaseLedgerError(ValueError):
    """Invalid ledger in a file; the message gives the value and the allowed values, and suggests a solution."""


@immutable_value
class ReleaseEntry:
    """One release of a file: everything in it is public. `proved` is None if no limit is proved."""

    # Released object: "5 centers with noisy counts".
    what: str
    # Key of the method in its catalog.
    method: str
    # Title of the method.
    title: str
    # Requested epsilon; per unit of distance with `per_distance`.
    epsilon: float
    delta: float
    # Neighbors that epsilon and delta are about.
    neighbors: Adjacency
    # Claim that is added up. For a claim per distance, it is the claim between the farthest places in the box.
    proved: Claim | None
    # ISO date.
    day: str
    origin: Origin
    # SHA-256 of the table; "" if there is no table.
    fingerprint: str = ""
    per_distance: bool = False
    # Random identifier, which recognizes the same release in a file and in a browser.
    id: str = ""
    # Maximum number of rows per person, to which all numbers refer.
    rows: int = 1
    # Stated and proved claims about one row, from which the numbers for `rows` follow; None if unknown, or for one row.
    of_row: tuple[Claim, Claim | None] | None = None

    @classmethod
    def from_guarantee(
        cls,
        guarantee: Guarantee,
        events: Sequence[Event],
        *,
        what: str,
        method: str,
        title: str,
        day: str,
        origin: Origin,
        fingerprint: str = "",
    ) -> "ReleaseEntry":
        """Return the entry of a run with this guarantee and these events, with a new id."""
        stated, row = guarantee.stated, guarantee.of_row
        return cls(
            what,
            method,
            title,
            stated.epsilon,
            stated.delta,
            stated.adjacency,
            _addable(guarantee, events),
            day,
            origin,
            fingerprint,
            stated.per_distance,
            secrets.token_hex(8),
            guarantee.rows,
            (row.stated, _addable(row, events)) if guarantee.rows > 1 else None,
        )

    def for_person(self, rows: int) -> "ReleaseEntry":
        """Restate the entry for a person with more rows than it counts; fewer rows change nothing."""
        if rows <= self.rows:
            return self
        now = Claim(self.epsilon, self.delta, self.neighbors, self.title), self.proved
        of_row = now if self.rows == 1 else self.of_row
        # Without claims about one row, the rows of a person are covered by groups as large as the entry's.
        (stated, proved), times = (now, math.ceil(rows / self.rows)) if of_row is None else (of_row, rows)
        stated = for_group(stated, times)
        proved = None if proved is None else for_group(proved, times)
        return replace(self, epsilon=stated.epsilon, delta=stated.delta, proved=proved, rows=rows, of_row=of_row)


def _addable(guarantee: Guarantee, events: Sequence[Event]) -> Claim | None:
    """Return the proved claim in a form that can be added up; None if the events do not keep it."""
    proved = guarantee.proved
    if proved is None or not math.isfinite(proved.epsilon):
        return None
    if proved.per_distance:
        return across_box(guarantee, events)
    try:
        if overspent(events, guarantee.of_row.proved or proved):
            return None
    # Events for replaced records prove nothing about an added record.
    except ValueError:
        return None
    return Claim(proved.epsilon, proved.delta, proved.adjacency, proved.reference, rho=proved.rho)


@immutable_value
class Total:
    """Total spending of the counted entries, for one kind of neighbors; `uncounted` are the other entries."""

    epsilon: float
    delta: float
    # Entries for which nothing is proved under such neighbors.
    uncounted: tuple[ReleaseEntry, ...]


@immutable_value
class ReleaseLedger:
    """All releases of one file, oldest first."""

    entries: tuple[ReleaseEntry, ...] = ()

    def total_basic(self, adjacency: Adjacency = Adjacency.ADD_REMOVE) -> Total:
        """Return the sums of epsilon and delta, which hold even if a release depended on earlier ones."""
        claims, uncounted = self._claims(adjacency)
        epsilon, delta = (math.fsum(each) for each in ((c.epsilon for c in claims), (c.delta for c in claims)))
        return Total(epsilon, min(delta, 1.0), uncounted)

    def total_best(self, adjacency: Adjacency = Adjacency.ADD_REMOVE) -> Total:
        """Return the smallest epsilon that is proved for all counted entries together, and its delta.

        It holds if no settings depended on an earlier release. It equals `total_basic` if nothing is gained.
        """
        claims, uncounted = self._claims(adjacency)
        return Total(*_best(claims), uncounted)

    def odds(self, adjacency: Adjacency = Adjacency.ADD_REMOVE) -> float | None:
        """Return the limit, in 100, on right guesses of an attacker who has seen every release; None without a limit.

        The limit follows from `total_basic`. Under ADD_REMOVE, the guess is "has taken part"; under REPLACE, it is
        "which of two records".
        """
        total = self.total_basic(adjacency)
        return None if total.uncounted else attacker_odds(total.epsilon, total.delta)

    def joined(self, other: "ReleaseLedger") -> "ReleaseLedger":
        """Return both ledgers as one, each release once, for the larger of the two stated numbers of rows."""
        known, rows = {each.id for each in self.entries}, {each.id: each.rows for each in other.entries}
        # The known statement is restated. The other total can have lost precision through several numbers of rows.
        restated = (each.for_person(rows.get(each.id, 1)) for each in self.entries)
        both = (*restated, *(each for each in other.entries if each.id not in known))
        return ReleaseLedger(tuple(sorted(both, key=lambda each: each.day)))

    def for_person(self, rows: int) -> "ReleaseLedger":
        """Return the ledger for a person with at most `rows` rows."""
        return ReleaseLedger(tuple(each.for_person(rows) for each in self.entries))

    def carried(self) -> "ReleaseLedger":
        """Return the ledger as it is after an import through the settings of a different file."""
        return ReleaseLedger(tuple(replace(each, origin="last year's settings") for each in self.entries))

    def _claims(self, adjacency: Adjacency) -> tuple[tuple[Claim, ...], tuple[ReleaseEntry, ...]]:
        claims: list[Claim] = []
        uncounted: list[ReleaseEntry] = []
        for each in self.entries:
            if each.proved is None or (adjacency is Adjacency.ADD_REMOVE and each.proved.adjacency is not adjacency):
                uncounted.append(each)
            else:
                claims.append(under_replace(each.proved) if adjacency is Adjacency.REPLACE else each.proved)
        return tuple(claims), tuple(uncounted)


# A distribution takes a while to compute, and a page needs it in every run.
@lru_cache(maxsize=64)
def _best(claims: tuple[Claim, ...]) -> tuple[float, float]:
    """Return the smallest (epsilon, delta) for all claims together, under the same neighbors.

    Pure claims compose as privacy loss distributions of their worst case, or with zCDP claims by rho. Any other claim
    adds its epsilon and delta.
    """
    basic = math.fsum(each.epsilon for each in claims), min(math.fsum(each.delta for each in claims), 1.0)
    pure = [each for each in claims if each.delta == 0 and each.rho is None]
    zcdp = [each for each in claims if each.delta == 0 or each.rho is not None]
    ways = []
    for composed in (pure, zcdp):
        if len(composed) < 2:
            continue
        # Comparing claims with each other takes seconds for 1,000 claims.
        own = {id(each) for each in composed}
        others = [each for each in claims if id(each) not in own]
        delta = math.fsum(each.delta for each in others) + EXTRA_DELTA
        if composed is pure:
            events = [PureEvent(each.reference, each.epsilon) for each in pure]
            epsilon = epsilon_of(events, EXTRA_DELTA, Adjacency.ADD_REMOVE)
        else:
            rho = math.fsum(each.epsilon**2 / 2 if each.rho is None else each.rho for each in zcdp)
            epsilon = zcdp_epsilon(rho, EXTRA_DELTA)
        ways.append((epsilon + math.fsum(each.epsilon for each in others), min(delta, 1.0)))
    best = min(ways, default=basic)
    return best if best[0] < basic[0] * (1.0 - ROUNDING) else basic


def write_release_ledger(ledger: ReleaseLedger) -> list[dict[str, object]]:
    """Return a ledger in its JSON form."""
    return [
        asdict(each)
        | {
            "epsilon": _finite(each.epsilon),
            "neighbors": each.neighbors.name.lower(),
            "proved": _write_claim(each.proved),
            "of_row": None if each.of_row is None else [_write_claim(claim) for claim in each.of_row],
        }
        for each in ledger.entries
    ]


def _write_claim(claim: Claim | None) -> dict[str, object] | None:
    if claim is None:
        return None
    return {
        "epsilon": _finite(claim.epsilon),
        "delta": claim.delta,
        "neighbors": claim.adjacency.name.lower(),
        "rho": claim.rho,
        "reference": claim.reference,
    }


def _finite(value: float) -> float | str:
    # JSON has no infinity.
    return value if math.isfinite(value) else "infinite"


def read_release_ledger(written: object) -> ReleaseLedger:
    """Read an untrusted ledger. Raises ReleaseLedgerError: a release left out would make the total too small."""
    if not isinstance(written, list | tuple) or len(written) > MOST_ENTRIES:
        raise ReleaseLedgerError(f"The file's ledger must be a list of at most {MOST_ENTRIES} releases. Correct it.")
    entries = tuple(_entry(each, number) for number, each in enumerate(written, 1))
    if len({each.id for each in entries}) < len(entries):
        raise ReleaseLedgerError("The file's ledger has the same release twice. Remove one of them.")
    return ReleaseLedger(entries)


def _entry(written: object, number: int) -> ReleaseEntry:
    def wrong(name: str, allowed: str) -> ReleaseLedgerError:
        return ReleaseLedgerError(f"Release {number} of the file's ledger has an invalid {name}: it must be {allowed}.")

    if not isinstance(written, Mapping):
        raise wrong("form", "an object with its method, ε, date and guarantee")

    def text(name: str, source: Mapping[str, object] = written) -> str:
        value = source.get(name)
        if not isinstance(value, str) or len(value) > MOST_WORDS or not value.isprintable():
            raise wrong(name, f"text of at most {MOST_WORDS} characters")
        return value

    def amount(name: str, source: Mapping[str, object], most: float = math.inf) -> float:
        value = source.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= min(most, 1e300):
            raise wrong(name, "a finite number" + (f" from 0 to {most:g}" if math.isfinite(most) else ", not below 0"))
        return float(value)

    def epsilon(source: Mapping[str, object]) -> float:
        return math.inf if source.get("epsilon") == "infinite" else amount("epsilon", source)

    def neighbors(source: Mapping[str, object]) -> Adjacency:
        try:
            return Adjacency[text("neighbors", source).upper()]
        except KeyError:
            raise wrong("neighbors", "add_remove or replace") from None

    def matching(name: str, pattern: re.Pattern[str], allowed: str) -> str:
        if not pattern.fullmatch(text(name)):
            raise wrong(name, allowed)
        return text(name)

    def day() -> str:
        with suppress(ValueError):
            return date.fromisoformat(matching("day", _DAY, "a day as 2026-01-31")).isoformat()
        raise wrong("day", "a day of the calendar as 2026-01-31")

    origin = next((each for each in get_args(Origin) if each == written.get("origin")), None)
    if origin is None:
        raise wrong("origin", f"one of {', '.join(get_args(Origin))}")
    rows = written.get("rows", 1)
    if isinstance(rows, bool) or not isinstance(rows, int) or not 1 <= rows <= MOST_ROWS_EACH:
        raise wrong("number of rows of one person", f"a whole number from 1 to {MOST_ROWS_EACH:,}")

    def claim(proof: object, *, is_proved: bool = True) -> Claim | None:
        if proof is None:
            return None
        if not isinstance(proof, Mapping):
            raise wrong("proved guarantee", "an object, or null if nothing is proved")
        rho = None if proof.get("rho") is None else amount("rho", proof)
        numbers = amount("epsilon", proof) if is_proved else epsilon(proof), amount("delta", proof, 1.0)
        if 0 in (numbers[0], rho) and written.get("epsilon") != 0:
            raise wrong("proved guarantee", "above 0 in ε and ρ, as the stated ε is")
        return Claim(*numbers, neighbors(proof), text("reference", proof), rho=rho)

    entry = ReleaseEntry(
        text("what"),
        text("method"),
        text("title"),
        epsilon(written),
        amount("delta", written, 1.0),
        neighbors(written),
        claim(written.get("proved")),
        day(),
        origin,
        matching("fingerprint", _HASH, "64 hex digits, or empty"),
        written.get("per_distance") is True,
        matching("id", _ID, "16 hex digits"),
        rows,
    )
    if written.get("of_row") is None:
        return entry
    of_row = written["of_row"]
    if isinstance(of_row, list) and len(of_row) == 2 and rows > 1:
        stated, row = claim(of_row[0], is_proved=False), claim(of_row[1])
        if stated is not None:
            one = replace(entry, epsilon=stated.epsilon, delta=stated.delta, proved=row, rows=1)
            if _agree(one.for_person(rows), entry):
                return replace(entry, of_row=(stated, row))
    raise wrong("guarantee of one row", "the stated and the proved one, from which those of all rows follow")


def _agree(one: ReleaseEntry, other: ReleaseEntry) -> bool:
    """Return True if two entries have the same claims, up to rounding."""

    def numbers(entry: ReleaseEntry) -> tuple[float, ...]:
        # No proof differs from a proof of 0.
        proved = (-1.0,) * 3 if (claim := entry.proved) is None else (claim.epsilon, claim.delta, claim.rho or 0.0)
        return (entry.epsilon, entry.delta, *proved)

    return all(math.isclose(a, b, rel_tol=ROUNDING) for a, b in zip(numbers(one), numbers(other), strict=True))


Cell: TypeAlias = float | int | str


@immutable_value
class Column:
    """One column of a release, with its public bounds; None for a missing bound."""

    name: str
    unit: str = ""
    low: float | None = None
    high: float | None = None


@immutable
class ReleaseTable:
    """A release in real units: all columns that were clustered, and the method's other released values."""

    what: str
    columns: tuple[Column, ...]
    # Cells by row; "" if a row has no value.
    rows: tuple[tuple[Cell, ...], ...]

    def csv(self) -> bytes:
        """Return the table as CSV (RFC 4180, UTF-8): every number with all of its digits."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\r\n")
        for row in ([each.name for each in self.columns], *self.rows):
            writer.writerow([defused(each) if isinstance(each, str) else each for each in row])
        return out.getvalue().encode("utf-8", "replace")


@runtime_checkable
class _Joined(Protocol):
    """A release whose centers are hills, which are joined to clusters."""

    @property
    def component_clusters(self) -> Labels: ...


def table_of(
    algorithm: AnyAlgorithm, params: Any, release: Release, dataset: Dataset, form: Choices | None
) -> ReleaseTable:
    """Return the table of a release on `dataset`.

    `form` made the data set from a person's table; None for a synthetic data set. `algorithm` made the release with
    `params`. Raises ValueError for bounds that were taken from the records, and for an unsupported kind of release.
    """
    if dataset.bounds_from_data:
        raise ValueError(FROM_RECORDS)
    columns, box = real_columns(dataset, form)
    names = {each.name for each in columns}

    def own(name: str, unit: str = "") -> Column:
        while name in names:
            name = f"{name} (released)"
        return Column(name, unit)

    if isinstance(release, PointsRelease):
        rows = real_units(release.points, dataset, form, box).tolist()
        return ReleaseTable(counted(len(rows), "noisy point"), columns, tuple(map(tuple, rows)))
    if not isinstance(release, CentersRelease):
        raise ValueError(f"release must have centers or points, got {type(release).__name__}")
    places = real_units(release.centers, dataset, form, box)
    with_counts, blank = "", list[str]()
    if release.noisy_counts is not None:
        with_counts, blank = " with noisy counts", [""]
        places = np.column_stack([places, release.noisy_counts])
        columns = (*columns, own("noisy count", "records"))
    cells = places.tolist()
    if algorithm.targets is not None:
        chosen = real_units(params.targets[algorithm.targets.selected(release)], dataset, form, box).tolist()
        rows = [("new center", i, *place, *blank) for i, place in enumerate(chosen, 1)]
        rows += [("noisy average", i, *place) for i, place in enumerate(cells, 1)]
        what = f"{counted(len(chosen), 'new center')} and {counted(len(cells), 'noisy average')}{with_counts}"
        return ReleaseTable(what, (own("kind"), own("number"), *columns), tuple(rows))
    if isinstance(release, _Joined):
        clusters = (release.component_clusters + 1).tolist()
        rows = [(i, hill, *place) for i, (hill, place) in enumerate(zip(clusters, cells, strict=True), 1)]
        what = f"{counted(len(cells), 'hill')} in {counted(len(set(clusters)), 'cluster')}{with_counts}"
        return ReleaseTable(what, (own("hill"), own("cluster"), *columns), tuple(rows))
    rows = [(i, *place) for i, place in enumerate(cells, 1)]
    what = f"{counted(len(cells), 'center')}{with_counts}"
    return ReleaseTable(what, (own("center"), *columns), tuple(rows))


def real_columns(dataset: Dataset, form: Choices | None) -> tuple[tuple[Column, ...], Box]:
    """Return the columns of the person's own table with typed bounds and units, and the box of those bounds."""
    if form is None:
        box, names, units = dataset.box, dataset.feature_names, dataset.units
    else:
        names = form.axes
        box = Box(*zip(*map(form.bounds_of, names), strict=True))
        units = tuple(DEGREES if each in (form.place or ()) else form.unit(each) for each in names)
    ends = zip(names, units, box.low.tolist(), box.high.tolist(), strict=True)
    return tuple(Column(*each) for each in ends), box


def real_units(points: Points, dataset: Dataset, form: Choices | None, box: Box) -> FloatArray:
    """Convert points (m, d') from the units of `dataset` to the units of the person's table (m, d) with bounds `box`.

    If features were projected, each result is the point nearest to the box's middle among those that project there.
    """
    if dataset.projection is not None:
        points = dataset.projection.back(points)
    if dataset.scale is not None:
        points = dataset.scale.back(points)
    if form is None or form.place is None:
        return points
    axes = form.features.index(form.place[0]), form.features.index(form.place[1])
    _, _, here = on_plane(np.empty((0, box.d)), box, axes)
    real = points.copy()
    real[:, list(axes)] = here.to_degrees(points[:, list(here.axes)])
    return real


@immutable
class ReleaseFiles:
    """The files of one release, and its entry in the ledger. Nothing in them is exact."""

    table: ReleaseTable
    entry: ReleaseEntry
    sidecar: Mapping[str, object]

    @property
    def stem(self) -> str:
        """The files' name without its ending: method, ε and the beginning of the fingerprint."""
        return f"dpviz_{self.entry.method}_epsilon-{self.entry.epsilon:g}_release_{self.entry.fingerprint[:8]}"

    def json(self) -> bytes:
        """Return the sidecar of the release as JSON, for machines."""
        return (json.dumps(self.sidecar, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode(
            "utf-8", "replace"
        )

    def xlsx(self) -> bytes:
        """Return the table as an Excel workbook, with a second sheet that describes the release."""
        about: list[tuple[Cell, ...]] = [
            ("Released", self.table.what),
            ("Method", self.entry.title),
            ("Guarantee", str(self.sidecar["guarantee"])),
            ("Day", self.entry.day),
            ("Again", FINAL),
            ("Fingerprint of the CSV table (SHA-256)", self.entry.fingerprint),
            *((f"Unit of {each.name}", each.unit) for each in self.table.columns if each.unit),
        ]
        head = tuple(each.name for each in self.table.columns)
        return workbook({"Release": (head, *self.table.rows), "About": about})


def release_files(
    algorithm: AnyAlgorithm,
    params: Any,
    table: ReleaseTable,
    guarantee: Guarantee,
    events: Sequence[Event],
    ledger: ReleaseLedger,
    day: str,
) -> ReleaseFiles:
    """Return the files of a release. They state the ledger, whose last entry is this release; `day` is an ISO date.

    `guarantee` is the guarantee of the run on the person's data, with its caveats. `ledger` is the ledger before this
    release.
    """
    fingerprint = hashlib.sha256(table.csv()).hexdigest()
    names = {"what": table.what, "method": algorithm.name, "title": algorithm.title}
    entry = ReleaseEntry.from_guarantee(guarantee, events, **names, day=day, origin="release", fingerprint=fingerprint)
    after = ReleaseLedger((*ledger.entries, entry))
    claims = described(guarantee)
    settings = ((each.name, getattr(params, each.name)) for each in fields(params))
    sidecar: dict[str, object] = {
        "format": FORMAT,
        "version": VERSION,
        "released": table.what,
        "rows": len(table.rows),
        "columns": [
            {"name": each.name, "unit": each.unit, "low": each.low, "high": each.high} for each in table.columns
        ],
        "method": algorithm.name,
        "title": algorithm.title,
        "settings": {
            name: value
            for name, value in settings
            if value is None or isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))
        },
        "versions": dict(versions()),
        "day": day,
        "epsilon": _finite(entry.epsilon),
        "delta": entry.delta,
        "neighbors": entry.neighbors.value,
        "per_distance": entry.per_distance,
        "guarantee": claims.pop("line"),
        **claims,
        "again": FINAL,
        "table": {"format": "csv", "sha256": fingerprint},
        "ledger": {"releases": write_release_ledger(after), "totals": totals_to_file(after)},
    }
    return ReleaseFiles(table, entry, sidecar)


def totals_to_file(ledger: ReleaseLedger) -> dict[str, object]:
    """Return a ledger's totals for JSON: for each kind of neighbors, added up and composed at best."""
    totals: dict[str, object] = {}
    for adjacency in Adjacency:
        basic, best, odds = ledger.total_basic(adjacency), ledger.total_best(adjacency), ledger.odds(adjacency)
        totals[adjacency.value] = {
            "added_up": {"epsilon": basic.epsilon, "delta": basic.delta},
            "best": {"epsilon": best.epsilon, "delta": best.delta},
            "attacker_right_in_100_at_most": odds,
            "releases_without_a_proof": len(basic.uncounted),
        }
    return totals


# Fixed time of writing, so that equal tables have equal bytes.
_LONG_AGO = datetime(1980, 1, 1)


class _Exact(float):
    """A number that is written with all of its digits, although XlsxWriter formats it with 16."""

    def __format__(self, _: str) -> str:
        return float.__repr__(self)


def workbook(sheets: Mapping[str, Iterable[Sequence[Cell]]]) -> bytes:
    """Return an Excel workbook with these sheets; numbers keep all digits, and text is never a formula."""
    from xlsxwriter import Workbook  # type: ignore[import-untyped]  # slow to load, for a click; it ships no types

    out = io.BytesIO()
    # Nothing is written to a disk.
    with Workbook(out, {"in_memory": True}) as book:
        book.set_properties({"created": _LONG_AGO})
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for i, row in enumerate(rows):
                for j, cell in enumerate(row):
                    if not isinstance(cell, str):
                        sheet.write_number(i, j, _Exact(cell))
                    elif cell:
                        sheet.write_string(i, j, "".join(each if each.isprintable() else " " for each in cell))
    return out.getvalue()
