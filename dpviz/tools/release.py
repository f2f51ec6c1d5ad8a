"""What leaves the house: the ledger of a file, the table of a release in real units, and the files that carry it.

**The ledger.** Releases of the same records add up. `Ledger.total_basic` is the sum of the proved claims (Dwork & Roth
2014, theorem 3.16), which holds however a later release followed from an earlier one. `Ledger.total_best` is the least
that is proved by composing all of them at once, at a delta of `EXTRA_DELTA` more; it holds where the settings of later
releases did not follow from what earlier ones showed. What nothing is proved of is named, and never counted as nothing.
"""

import math
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, get_args

from dpviz.accounting import PureEvent, epsilon_of, overspent, pure_epsilon, under_replace, zcdp_epsilon
from dpviz.core import Adjacency, Claim, Event, Guarantee, attacker_odds

Origin = Literal["release", "private curve for k", "last year's settings"]
EXTRA_DELTA = 1e-6  # that the best composition may take beside the releases' own; ours
MOST_ENTRIES = 1_000
MOST_WORDS = 600  # characters of a text in a file
_ID = re.compile(r"[0-9a-f]{16}")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_HASH = re.compile(r"[0-9a-f]{64}|")


class LedgerError(ValueError):
    """A file's ledger that cannot be; the message names the value, what is allowed, and the way out."""


@dataclass(frozen=True, slots=True)
class ReleaseEntry:
    """One release of a file: everything in it is public. `proved` is None where no limit is proved."""

    what: str  # that was released: "5 centers with noisy counts"
    method: str  # key in its catalogue
    title: str  # of the method
    epsilon: float  # as it was asked for; per unit of distance with `per_distance`
    delta: float
    neighbors: Adjacency  # of epsilon and delta
    proved: Claim | None  # what is added up; of a claim per distance that between the farthest places in the box
    day: str  # ISO
    origin: Origin
    fingerprint: str = ""  # SHA-256 of the table; "" where there is none
    per_distance: bool = False
    id: str = ""  # random: by it the same release is recognized in a file and in a browser

    @classmethod
    def of(
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
        stated = guarantee.stated
        return cls(
            what,
            method,
            title,
            stated.epsilon,
            stated.delta,
            stated.adjacency,
            _addable(guarantee.proved, events),
            day,
            origin,
            fingerprint,
            stated.per_distance,
            secrets.token_hex(8),
        )


def _addable(proved: Claim | None, events: Sequence[Event]) -> Claim | None:
    """Return the proved claim as it can be added up, None where the events do not keep it."""
    if proved is None or not math.isfinite(proved.epsilon):
        return None
    if proved.per_distance:
        return Claim(pure_epsilon(events, Adjacency.REPLACE), 0.0, Adjacency.REPLACE, proved.reference)
    try:
        return None if overspent(events, proved) else proved
    except ValueError:  # events for records that are replaced prove nothing of one that is added
        return None


@dataclass(frozen=True, slots=True)
class Total:
    """What the counted entries spend together, for one kind of neighbors; `uncounted` are the others."""

    epsilon: float
    delta: float
    adjacency: Adjacency
    uncounted: tuple[ReleaseEntry, ...]  # nothing is proved of these for such neighbors


@dataclass(frozen=True, slots=True)
class Ledger:
    """Everything that was released of one file, oldest first."""

    entries: tuple[ReleaseEntry, ...] = ()

    def total_basic(self, adjacency: Adjacency = Adjacency.ADD_REMOVE) -> Total:
        """Return the sums of epsilon and delta, which hold whatever a release followed from."""
        claims, uncounted = self._claims(adjacency)
        epsilon, delta = (math.fsum(each) for each in ((c.epsilon for c in claims), (c.delta for c in claims)))
        return Total(epsilon, min(delta, 1.0), adjacency, uncounted)

    def total_best(self, adjacency: Adjacency = Adjacency.ADD_REMOVE) -> Total:
        """Return the least epsilon that is proved of all counted entries together, and its delta.

        It holds where no settings followed from an earlier release. `total_basic` where nothing is gained.
        """
        claims, uncounted = self._claims(adjacency)
        epsilon, delta = _best(claims)
        return Total(epsilon, delta, adjacency, uncounted)

    def odds(self, adjacency: Adjacency = Adjacency.ADD_REMOVE) -> float | None:
        """Return how often, in 100, an attacker is right at most who has seen every release; None without a limit.

        ADD_REMOVE is "has taken part", REPLACE "which of two records was it". By `total_basic`.
        """
        total = self.total_basic(adjacency)
        return None if total.uncounted else attacker_odds(total.epsilon, total.delta)

    def joined(self, other: "Ledger") -> "Ledger":
        """Return both ledgers as one, each release once."""
        known = {each.id for each in self.entries}
        both = (*self.entries, *(each for each in other.entries if each.id not in known))
        return Ledger(tuple(sorted(both, key=lambda each: each.day)))

    def carried(self) -> "Ledger":
        """Return the ledger as another file's settings bring it."""
        return Ledger(tuple(replace(each, origin="last year's settings") for each in self.entries))

    def _claims(self, adjacency: Adjacency) -> tuple[tuple[Claim, ...], tuple[ReleaseEntry, ...]]:
        claims: list[Claim] = []
        uncounted: list[ReleaseEntry] = []
        for each in self.entries:
            if each.proved is None or (adjacency is Adjacency.ADD_REMOVE and each.proved.adjacency is not adjacency):
                uncounted.append(each)
            else:
                claims.append(under_replace(each.proved) if adjacency is Adjacency.REPLACE else each.proved)
        return tuple(claims), tuple(uncounted)


@lru_cache(maxsize=64)  # a distribution takes a while, and a page asks with every run
def _best(claims: tuple[Claim, ...]) -> tuple[float, float]:
    """Return the least (epsilon, delta) of claims under the same neighbors.

    Pure claims compose as privacy loss distributions of their worst case, or with those of zCDP by rho; any other
    claim adds its epsilon and delta.
    """
    basic = math.fsum(each.epsilon for each in claims), min(math.fsum(each.delta for each in claims), 1.0)
    pure = [each for each in claims if each.delta == 0 and each.rho is None]
    zcdp = [each for each in claims if each.delta == 0 or each.rho is not None]
    ways = []
    for composed in (pure, zcdp):
        if len(composed) < 2:
            continue
        others = [each for each in claims if each not in composed]
        delta = math.fsum(each.delta for each in others) + EXTRA_DELTA
        if composed is pure:
            events = [PureEvent(each.reference, each.epsilon) for each in pure]
            epsilon = epsilon_of(events, EXTRA_DELTA, Adjacency.ADD_REMOVE)
        else:
            rho = math.fsum(each.epsilon**2 / 2 if each.rho is None else each.rho for each in zcdp)
            epsilon = zcdp_epsilon(rho, EXTRA_DELTA)
        ways.append((epsilon + math.fsum(each.epsilon for each in others), min(delta, 1.0)))
    best = min(ways, default=basic)
    return best if best[0] < basic[0] else basic


def ledger_to_file(ledger: Ledger) -> list[dict[str, object]]:
    """Return a ledger as JSON has it."""
    return [
        {
            "what": each.what,
            "method": each.method,
            "title": each.title,
            "epsilon": _finite(each.epsilon),
            "delta": each.delta,
            "neighbors": each.neighbors.name.lower(),
            "per_distance": each.per_distance,
            "proved": None
            if each.proved is None
            else {
                "epsilon": each.proved.epsilon,
                "delta": each.proved.delta,
                "neighbors": each.proved.adjacency.name.lower(),
                "rho": each.proved.rho,
                "reference": each.proved.reference,
            },
            "day": each.day,
            "origin": each.origin,
            "fingerprint": each.fingerprint,
            "id": each.id,
        }
        for each in ledger.entries
    ]


def _finite(value: float) -> float | str:
    return value if math.isfinite(value) else "infinite"  # JSON has no infinity


def ledger_from_file(written: object) -> Ledger:
    """Read an untrusted ledger. Raises LedgerError: a release that is left out would make the total too small."""
    if not isinstance(written, list | tuple) or len(written) > MOST_ENTRIES:
        raise LedgerError(f"The file's ledger must be a list of at most {MOST_ENTRIES} releases. Correct it.")
    entries = tuple(_entry(each, number) for number, each in enumerate(written, 1))
    if len({each.id for each in entries}) < len(entries):
        raise LedgerError("The file's ledger has one release twice, but once is enough. Take one of them out.")
    return Ledger(entries)


def _entry(written: object, number: int) -> ReleaseEntry:
    def wrong(name: str, allowed: str) -> LedgerError:
        return LedgerError(f"Release {number} of the file's ledger has a {name} that is none: it must be {allowed}.")

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

    def neighbors(source: Mapping[str, object]) -> Adjacency:
        try:
            return Adjacency[text("neighbors", source).upper()]
        except KeyError:
            raise wrong("neighbors", "add_remove or replace") from None

    def matching(name: str, pattern: re.Pattern[str], allowed: str) -> str:
        if not pattern.fullmatch(text(name)):
            raise wrong(name, allowed)
        return text(name)

    origin = next((each for each in get_args(Origin) if each == written.get("origin")), None)
    if origin is None:
        raise wrong("origin", f"one of {', '.join(get_args(Origin))}")
    proof, claim = written.get("proved"), None
    if proof is not None:
        if not isinstance(proof, Mapping):
            raise wrong("proved guarantee", "an object, or null where nothing is proved")
        rho = None if proof.get("rho") is None else amount("rho", proof)
        numbers = amount("epsilon", proof), amount("delta", proof, 1.0)
        claim = Claim(*numbers, neighbors(proof), text("reference", proof), rho=rho)
    return ReleaseEntry(
        text("what"),
        text("method"),
        text("title"),
        math.inf if written.get("epsilon") == "infinite" else amount("epsilon", written),
        amount("delta", written, 1.0),
        neighbors(written),
        claim,
        matching("day", _DAY, "a day as 2026-01-31"),
        origin,
        matching("fingerprint", _HASH, "64 hex digits, or empty"),
        written.get("per_distance") is True,
        matching("id", _ID, "16 hex digits"),
    )
