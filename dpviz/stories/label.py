"""The guarantee in words: one line that travels with every picture, and a label as on food."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from dpviz.accounting import sums
from dpviz.core import Account, Adjacency, Claim, Event, Guarantee, attacker_odds
from dpviz.core.limits import DIGITS
from dpviz.stories.panel import at_most, attacker, ceiled, chance_limit
from dpviz.stories.view import Words

NEIGHBORS = {Adjacency.ADD_REMOVE: "one record added or removed", Adjacency.REPLACE: "one record replaced"}

# What a claim is about, by whether the run is another procedure than the source's.
ORIGINAL, THIS_RUN = ("", " for the original"), ("", " for this run")


def promise(guarantee: Guarantee) -> str:
    """Say the published claim and the proved guarantee in one line; what is not established is never a number alone."""
    stated, proved, differs = guarantee.published, guarantee.proved, bool(guarantee.differs)
    if stated is None:
        return f"Nothing is claimed. Proved: {'nothing' if proved is None else _words(proved)}."
    if proved is None:
        return f"Claimed{ORIGINAL[differs]}, not established: {_words(stated)}. Proved: nothing."
    return f"Stated{ORIGINAL[differs]}: {_words(stated)}. Proved{THIS_RUN[differs]}: {_words(proved)}."


def described(guarantee: Guarantee) -> dict[str, Any]:
    """Return a guarantee as plain values for a file: both claims, caveats, and `promise`'s line."""
    proved = guarantee.proved
    return {
        "line": promise(guarantee),
        "published": None if guarantee.published is None else _claim(guarantee.published),
        "proved": None if proved is None else _claim(proved),
        "caveats": list(guarantee.caveats),
    } | ({"differs": guarantee.differs} if guarantee.differs else {})


def delta_words(claim: Claim) -> str:
    """Write a claim's delta; where it follows a noisy number, what this number made it is no part of the claim."""
    if claim.delta == 0:
        return ""
    most, own = chance_limit(claim.delta), chance_limit(claim.calibrated_delta)
    return f", δ = {most}" + (f" whatever the noisy count (in this run {own})" if own != most else "")


def _words(claim: Claim) -> str:
    per = " per unit of distance" if claim.per_distance else ""
    promised = f"ε = {ceiled(claim.epsilon)}{per}{delta_words(claim)}"
    return f"{promised} for {NEIGHBORS[claim.adjacency]} ({claim.reference.rstrip('.')})"


def _claim(claim: Claim) -> dict[str, Any]:
    return {
        "epsilon": claim.epsilon if math.isfinite(claim.epsilon) else "infinite",  # JSON has no infinity
        "per_distance": claim.per_distance,
        "delta": claim.delta,
        "delta_in_this_run": claim.calibrated_delta,
        "adjacency": claim.adjacency.value,
        "reference": claim.reference,
    }


CURATOR = "A curator who sees all records."
NOBODY = "Nobody: each person adds noise before sending."
BOX, OWN_BOX = "The box", "The box, which was taken from the records here: not private"
RECORD = "Whether one record is in the data, and all of its values."
DIFFERS = "This run is not the authors' own procedure: {}. What they state is about theirs{}."
OURS = "; the proof for this run is dpviz's own"
NOT_PROVED = "No limit is established"
NOTHING = "None: no limit is claimed or proved"
OTHER_NEIGHBORS = "their noise was made for one record replaced"


@dataclass(frozen=True, slots=True)
class Contents:
    """What a method declares about itself, in words; `distances` are (length, words) where epsilon is per distance."""

    protects: str
    public: tuple[str, ...]  # inputs that everybody may know
    secret: tuple[str, ...]  # shown to the curator and never to be released
    trusted: str = CURATOR
    distances: tuple[tuple[float, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Statement:
    """One claim in numbers and words."""

    title: str  # "Stated", "Claimed" or "Proved", and of what where these differ
    numbers: str
    odds: str  # what it lets an attacker reach from a coin's 50 in 100; "" and no more words where nothing is claimed
    neighbors: str
    reference: str


@dataclass(frozen=True, slots=True)
class Label:
    """Everything the card says; nothing of it is exact."""

    kind: str
    contents: Contents
    stated: Statement
    proved: Statement | None
    distances: tuple[tuple[str, str], ...]  # (two places so far apart, odds), of what is proved
    caveats: tuple[str, ...]
    differs: str = ""  # what the run does otherwise than the procedure that `stated` is about; "": it is that one
    account: str = ""  # what the run's events add up to, beside what is stated
    is_overspent: bool = False  # more than is stated


def label_of(guarantee: Guarantee, contents: Contents, events: Sequence[Event] = ()) -> Label:
    """Put a run's guarantee, its method's words and what its `events` add up to on one label."""
    published, proved, stated = guarantee.published, guarantee.proved, guarantee.proved or guarantee.stated
    claimed = proved is None and math.isfinite(stated.epsilon)
    apart: tuple[tuple[str, str], ...] = ()
    if proved is not None and proved.per_distance:
        apart = tuple((words, at_most(_percent(proved, length))) for length, words in contents.distances)
    caveats: tuple[str, ...] = ()
    if guarantee.differs:
        caveats = (DIFFERS.format(guarantee.differs, "" if proved is None else OURS),)
    account, is_overspent = _account(stated, events)
    return Label(
        kind=NOTHING
        if published is proved is None
        else kind_of(stated) + (", claimed and not established" if claimed else ""),
        contents=replace(contents, trusted=f"{contents.trusted} {guarantee.trusted}".strip()),
        stated=_statement("Claimed" if proved is None else "Stated", published, contents, ORIGINAL[bool(caveats)]),
        proved=None if proved is None else _statement("Proved", proved, contents, THIS_RUN[bool(caveats)]),
        distances=apart,
        caveats=(*caveats, *guarantee.caveats),
        differs=guarantee.differs,
        account=account,
        is_overspent=is_overspent,
    )


def _account(claim: Claim, events: Sequence[Event]) -> tuple[str, bool]:
    """Say what the events add up to, and whether that is more than is stated or proves nothing of it.

    Nothing is said where a claim has no sum: no limit at all, or one per distance.
    """
    if not events or claim.per_distance or math.isinf(claim.epsilon):
        return "", False
    try:
        totals = sums(events, claim)
    except ValueError:  # calibrated for a record that is replaced, and stated of one that is added or removed
        return f"The run's events prove nothing for {NEIGHBORS[claim.adjacency]}: {OTHER_NEIGHBORS}.", True
    account = max(totals, key=lambda each: (each.is_over, each.symbol == "ρ"))
    how = "" if claim.account is Account.BASIC or account.symbol == "ρ" else f", composed as {claim.account.value},"
    opening = f"The run's events{how} add up to {account.symbol} ="
    if account.is_over:
        digits = next(n for n in count(DIGITS) if ceiled(account.total, n) != ceiled(account.stated, n))
        over, most = ceiled(account.total, digits), ceiled(account.stated, digits)
        return f"{opening} {over}: more than the {most} that is stated.", True
    if ceiled(account.total) != ceiled(account.stated):
        return f"{opening} {ceiled(account.total)}, within the {ceiled(account.stated)} that is stated.", False
    return f"{opening} {ceiled(account.total)}, as stated.", False


def kind_of(claim: Claim) -> str:
    """Name the kind of differential privacy that a claim is about."""
    if math.isinf(claim.epsilon):
        return "None: nothing is hidden"
    if claim.per_distance:
        return "ε-geo-indistinguishability: ε counts per distance"
    if claim.rho is not None:
        return "zCDP, also stated as (ε, δ)-differential privacy"
    return "(ε, δ)-differential privacy" if claim.delta > 0 else "Pure ε-differential privacy"


def numbers_of(claim: Claim, distance: tuple[float, str] | None = None) -> str:
    """Write a claim's numbers; `distance` is what an epsilon per distance is stated for, with its words."""
    length, words = distance or (1.0, "unit of distance")
    text = f"ε = {ceiled(claim.epsilon * length)} per {words}" if claim.per_distance else f"ε = {ceiled(claim.epsilon)}"
    text += delta_words(claim)
    return text + (f" (ρ = {ceiled(claim.rho)})" if claim.rho is not None else "")


def both_limits(guarantee: Guarantee) -> str:
    """Say in one sentence what the stated and the proved guarantee let an attacker reach, both named."""
    stated, proved = guarantee.published, guarantee.proved
    if stated is None:
        return f"{NOT_PROVED}, and none is claimed." if proved is None else attacker(_percent(proved))
    if proved is None:
        return f"{NOT_PROVED}. The claim, ε = {ceiled(stated.epsilon)}, would mean {at_most(_percent(stated))}."
    if ceiled(stated.epsilon) == ceiled(proved.epsilon):
        return attacker(_percent(proved))
    return f"{attacker(_percent(proved), 'Proved')} Claimed: {at_most(_percent(stated))}."


def written(label: Label) -> dict[str, Any]:
    """Return a label as plain values for a file."""
    contents = label.contents
    return {
        "kind": label.kind,
        "protects": contents.protects,
        "trusted": contents.trusted,
        "public inputs": list(contents.public),
        "shown to the curator, not to be released": list(contents.secret),
        "attacker from a coin's 50 in 100": {
            each.title.split()[0].lower(): each.odds for each in (label.stated, label.proved) if each and each.odds
        }
        | dict(label.distances),
    } | {name: text for name, text in (("differs", label.differs), ("account", label.account)) if text}


def box_words(words: Words) -> str:
    """Name the box as what it is: public, or taken from the records."""
    return BOX if words.box_public else OWN_BOX


def _statement(title: str, claim: Claim | None, contents: Contents, of: str) -> Statement:
    """Write a claim; `of` is which procedure it is about, where there are two."""
    if claim is None:
        return Statement(title, "nothing", "", "", "")
    distance = contents.distances[0] if contents.distances else None
    length = distance[0] if distance else 1.0
    claimed = title == "Claimed" and math.isfinite(claim.epsilon)  # no limit needs no proof
    words = at_most(_percent(claim, length))
    return Statement(
        title=f"{title}{of}",
        numbers=numbers_of(claim, distance),
        odds=f"{words}, if it held" if claimed else words,
        neighbors=NEIGHBORS[claim.adjacency],
        reference=claim.reference,
    )


def _percent(claim: Claim, length: float = 1.0) -> float:
    return attacker_odds(claim.epsilon * (length if claim.per_distance else 1.0), claim.delta)
