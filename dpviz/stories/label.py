"""The guarantee in words: one line that travels with every picture, and a label as on food."""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import count
from typing import Any, Literal

from dpviz.accounting import sums
from dpviz.assets import FOLDER as ASSETS
from dpviz.core import Account, Adjacency, Claim, Event, Guarantee, immutable_value
from dpviz.core.limits import DIGITS
from dpviz.plots import Measure
from dpviz.stories.panel import at_most, attacker, ceiled, chance_limit, floored, limit
from dpviz.stories.view import Words

NEIGHBORS = {Adjacency.ADD_REMOVE: "one record added or removed", Adjacency.REPLACE: "one record replaced"}

# An attacker's question that such neighbors limit.
QUESTIONS = {Adjacency.ADD_REMOVE: "Did somebody take part?", Adjacency.REPLACE: "Which of two records was somebody's?"}

# Object of a claim: without and with a difference between the run's procedure and the source's.
ORIGINAL, THIS_RUN = ("", " in the paper"), ("", " for what you see")


def promise(guarantee: Guarantee) -> str:
    """Return the published claim and the proved guarantee in one line. An unproved number never appears alone."""
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


Verdict = Literal["proved", "claimed", "broken"]
# Committed audit of all methods and modes.
AUDITED = ASSETS / "audit" / "methods.json"
# The epsilon that every mode claims in the audit.
AUDITED_EPSILON = "1"
# Decimals of a measured ε in the audit's rows.
AUDITED_DECIMALS = 4
# Beyond it, a factor means nothing to a reader.
LARGEST_FACTOR = 1e15
FACTORS = ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"))
NOTHING_CLAIMED = "Nothing is claimed, and nothing is proved."


def least(measured: float) -> float:
    """Return the measured ε of an audit's row as it may be printed: three digits, never more than the runs have shown.

    The row has a rounded value, perhaps rounded up.
    """
    return float(floored(max(0.0, measured - 0.5 * 10.0**-AUDITED_DECIMALS)))


@cache
def _leaks() -> tuple[tuple[str, tuple[tuple[str, str], ...], float], ...]:
    """Return (method, its settings, measured ε) of each violation in the committed audit."""
    (table,) = json.loads(AUDITED.read_text("utf-8"))["tables"]
    found = []
    for row in table["rows"]:
        if row["verdict"] == "violation found" and row["proved"] is None:
            name, *parts = row["key"].split(":")
            settings = (part.partition("=") for part in ",".join(parts).split(",") if "=" in part)
            found.append((name, tuple((field, value) for field, _, value in settings), least(float(row["measured"]))))
    return tuple(found)


def measured_leak(name: str, params: object) -> float | None:
    """Return the committed audit's lower bound on ε for a mode that claims ε = 1; None if no violation was found."""
    leaks = [
        measured
        for method, settings, measured in _leaks()
        if method == name and all(str(getattr(params, field, None)) == value for field, value in settings)
    ]
    return max(leaks, default=None)


def guarantee_in_a_sentence(
    guarantee: Guarantee,
    *,
    who: str = "person",
    distance: tuple[float, str] | None = None,
    box_public: bool = True,
    leak: float | None = None,
) -> tuple[Verdict, str]:
    """Return a verdict on the guarantee, and one sentence that begins with it.

    `who` is the word for one record. `distance` is the distance for which an ε per distance is read, in words too.
    `leak` is an audit's lower bound for the same mode where it claims ε = 1.
    Every ε has as many digits as on the card, and a factor has two.
    """
    stated, proved = guarantee.published, guarantee.proved
    length, apart = distance or (1.0, "1 unit")
    claimed = "" if stated is None or math.isinf(stated.epsilon) else ceiled(_epsilon(stated, length))
    if proved is None or math.isinf(proved.epsilon):
        if not claimed:
            return "claimed", NOTHING_CLAIMED
        opening = f"Claimed {claimed}, proved nothing"
        if not box_public:
            return "claimed", f"{opening}: the bounds come from the data."
        if leak is None or leak <= 1.0:
            return "claimed", f"{opening}."
        where = "an" if claimed == AUDITED_EPSILON else f"for a claim of {AUDITED_EPSILON}, an"
        return "broken", f"{opening}: {where} audit measures at least {floored(leak)}."
    of_proof = ceiled(_epsilon(proved, length))
    factor = factor_words(_epsilon(proved, length))
    if not factor:
        return "proved", f"Proved, but ε = {of_proof} limits almost nothing."
    more = ""
    if stated is not None and claimed and _epsilon(proved, length) > _epsilon(stated, length) and claimed != of_proof:
        more = f", not the {factor_words(_epsilon(stated, length)).removesuffix(' times')} that is claimed"
    if proved.per_distance:
        return (
            "proved",
            f"Proved. A sent point is at most {factor} as likely to come from you as from {apart} away{more}.",
        )
    change = (
        f"Replacing one {who}'s record" if proved.adjacency is Adjacency.REPLACE else f"Adding or removing one {who}"
    )
    slack = f", plus {chance_limit(proved.delta)}" if proved.delta > 0 else ""
    better = (
        stated is not None
        and claimed not in ("", of_proof)
        and factor != factor_words(_epsilon(stated, length))
        and not more
        and proved.adjacency is stated.adjacency
        and proved.delta <= stated.delta
    )
    of_less = f": ε = {of_proof}" if better else ""
    return "proved", f"Proved{of_less}. {change} makes no result more than {factor} as likely{slack}{more}."


def factor_words(epsilon: float) -> str:
    """Write e^ε as a limit: "1.11 times", "2.8 times", "490 million times"; "" if it is too large for words."""
    factor = math.exp(min(epsilon, 700.0))
    if factor > LARGEST_FACTOR:
        return ""
    if factor < 2.0:
        return f"{ceiled(factor)} times"
    scale, name = next(((scale, f" {name}") for scale, name in FACTORS if factor >= scale), (1.0, ""))
    return f"{ceiled_two(factor / scale)}{name} times"


def ceiled_two(value: float) -> str:
    """Write an upper limit with two significant digits, never less than it is: 0.91, 2.8, 23,000."""
    # Decimal place of the second digit. It is negative before the point.
    return ceiled(value, decimals=1 - math.floor(math.log10(value)) if value > 0 and math.isfinite(value) else 0)


def odds_measure(claim: Claim | None, length: float = 1.0) -> Measure | None:
    """Return the limit of a proved claim on an attacker, times in 100; None without a claim."""
    if claim is None:
        return None
    percent = claim.odds(length)
    return Measure(percent, limit(percent))


def delta_words(claim: Claim) -> str:
    """Write a claim's delta, and this run's own delta if it follows a noisy number; that one is not a claim."""
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
        # JSON has no infinity.
        "epsilon": claim.epsilon if math.isfinite(claim.epsilon) else "infinite",
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
VALUES = "All values of one record; that it is in the data is public."
PLACE = "Where one person is, among places not far apart. Taking part is not hidden."
DIFFERS = "This run is not the authors' own procedure: {}. Their statement is about their procedure{}."
OURS = "; the proof for this run is dpviz's own"
NOT_PROVED = "No limit is established"
NOTHING = "None: no limit is claimed or proved"
OTHER_NEIGHBORS = "their noise was made for one record replaced"


@immutable_value
class Contents:
    """A method's description of itself, in words; `distances` are (length, words) if epsilon is per distance."""

    protects: str
    # Public inputs.
    public: tuple[str, ...]
    # Shown to the curator and never to be released.
    secret: tuple[str, ...]
    trusted: str = CURATOR
    distances: tuple[tuple[float, str], ...] = ()


@immutable_value
class Statement:
    """One claim in numbers and words."""

    # "Stated", "Claimed" or "Proved", followed by the procedure's name if the run differs from the original one.
    title: str
    numbers: str
    # An attacker's reach from a coin's 50 in 100. "", as are the words below, if nothing is claimed.
    odds: str
    neighbors: str
    reference: str


@immutable_value
class Label:
    """All text of the card; none of it is exact."""

    kind: str
    contents: Contents
    stated: Statement
    proved: Statement | None
    # (distance between two places, odds), of the proved claim.
    distances: tuple[tuple[str, str], ...]
    caveats: tuple[str, ...]
    # Differences between the run and the procedure that `stated` is about. "" if there are none.
    differs: str = ""
    # Total of the run's events, next to the stated amount.
    account: str = ""
    # Whether the total exceeds the stated amount.
    is_overspent: bool = False


def protected(guarantee: Guarantee) -> str:
    """Return the protected part of one record. If records are replaced, its presence is not protected."""
    claim = guarantee.proved or guarantee.stated
    if claim.per_distance:
        return PLACE
    words = VALUES if claim.adjacency is Adjacency.REPLACE else RECORD
    return words.replace("one record", "one person") if guarantee.rows > 1 else words


def label_of(guarantee: Guarantee, contents: Contents, events: Sequence[Event] = ()) -> Label:
    """Return a label with a run's guarantee, its method's words and the total of its `events`."""
    published, proved, stated = guarantee.published, guarantee.proved, guarantee.proved or guarantee.stated
    claimed = proved is None and math.isfinite(stated.epsilon)
    apart: tuple[tuple[str, str], ...] = ()
    if proved is not None and proved.per_distance:
        apart = tuple((words, at_most(proved.odds(length))) for length, words in contents.distances)
    caveats: tuple[str, ...] = ()
    if guarantee.differs:
        caveats = (DIFFERS.format(guarantee.differs, "" if proved is None else OURS),)
    row = guarantee.of_row
    account, is_overspent = _account(row.proved or row.stated, "stated" if proved is None else "proved", events)
    if account and guarantee.rows > 1:
        account = f"For one row: {account[:1].lower()}{account[1:]}"
    return Label(
        kind=NOTHING
        if published is proved is None
        else kind_of(stated) + (", claimed and not established" if claimed else ""),
        contents=replace(contents, trusted=f"{contents.trusted} {guarantee.trusted}".strip()),
        stated=_statement("Claimed" if proved is None else "Stated", guarantee, contents, ORIGINAL[bool(caveats)]),
        proved=None if proved is None else _statement("Proved", guarantee, contents, THIS_RUN[bool(caveats)]),
        distances=apart,
        caveats=(*caveats, *guarantee.caveats),
        differs=guarantee.differs,
        account=account,
        is_overspent=is_overspent,
    )


def _account(claim: Claim, kind: str, events: Sequence[Event]) -> tuple[str, bool]:
    """State the total of the events, and whether it exceeds the stated amount or proves nothing about it.

    Return "" if a claim has no sum: it has no limit at all, or one per distance.
    """
    if not events or claim.per_distance or math.isinf(claim.epsilon):
        return "", False
    try:
        totals = sums(events, claim)
    except ValueError:
        # The noise was calibrated for a replaced record, but the claim is about an added or removed one.
        return f"The run's events prove nothing for {NEIGHBORS[claim.adjacency]}: {OTHER_NEIGHBORS}.", True
    account = max(totals, key=lambda each: (each.is_over, each.symbol == "ρ"))
    how = "" if claim.account is Account.BASIC or account.symbol == "ρ" else f", composed as {claim.account.value},"
    opening = f"The run's events{how} add up to {account.symbol} ="
    if account.is_over:
        digits = next(n for n in count(DIGITS) if ceiled(account.total, n) != ceiled(account.stated, n))
        over, most = ceiled(account.total, digits), ceiled(account.stated, digits)
        return f"{opening} {over}: more than the {most} that is {kind}.", True
    if ceiled(account.total) != ceiled(account.stated):
        return f"{opening} {ceiled(account.total)}, within the {ceiled(account.stated)} that is {kind}.", False
    return f"{opening} {ceiled(account.total)}, as {kind}.", False


def kind_of(claim: Claim) -> str:
    """Return the name of the kind of differential privacy that a claim is about."""
    if math.isinf(claim.epsilon):
        return "None: nothing is hidden"
    if claim.per_distance:
        return "ε-geo-indistinguishability: ε counts per distance"
    if claim.rho is not None:
        return "zCDP, also stated as (ε, δ)-differential privacy"
    return "(ε, δ)-differential privacy" if claim.delta > 0 else "Pure ε-differential privacy"


def numbers_of(claim: Claim, distance: tuple[float, str] | None = None) -> str:
    """Write a claim's numbers; `distance` is the distance for an epsilon per distance, in words too."""
    length, words = distance or (1.0, "unit of distance")
    text = f"ε = {ceiled(claim.epsilon * length)} per {words}" if claim.per_distance else f"ε = {ceiled(claim.epsilon)}"
    text += delta_words(claim)
    return text + (f" (ρ = {ceiled(claim.rho)})" if claim.rho is not None else "")


def person_words(guarantee: Guarantee) -> str:
    """Return the sentence next to a comparison that changes one row of a person; "" if a person has one row."""
    if guarantee.rows == 1:
        return ""
    limits = numbers_of(guarantee.proved) if guarantee.proved is not None else "nothing is proved"
    return (
        f"One row changes here, and the limit is for one row. For all rows of a person, at most {guarantee.rows:,}: "
        f"{limits}."
    )


def both_limits(guarantee: Guarantee) -> str:
    """State the limits of the stated and the proved guarantee on an attacker in one sentence that names both."""
    stated, proved = guarantee.published, guarantee.proved
    if stated is None:
        return f"{NOT_PROVED}, and none is claimed." if proved is None else attacker(proved.odds())
    if proved is None:
        return f"{NOT_PROVED}. The claim, ε = {ceiled(stated.epsilon)}, would mean {at_most(stated.odds())}."
    if ceiled(stated.epsilon) == ceiled(proved.epsilon):
        return attacker(proved.odds())
    return f"{attacker(proved.odds(), 'Proved')} Claimed: {at_most(stated.odds())}."


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
    """Describe the box as public or as taken from the records."""
    return BOX if words.box_public else OWN_BOX


def _statement(title: str, guarantee: Guarantee, contents: Contents, of: str) -> Statement:
    """Write a claim; `of` names the procedure, if there are two."""
    claim = guarantee.proved if title == "Proved" else guarantee.published
    if claim is None:
        return Statement(title, "nothing", "", "", "")
    distance = contents.distances[0] if contents.distances else None
    length = distance[0] if distance else 1.0
    # A claim without a limit needs no proof.
    claimed = title == "Claimed" and math.isfinite(claim.epsilon)
    words = at_most(claim.odds(length))
    unit = "one record" if guarantee.rows == 1 else f"one person's rows, at most {guarantee.rows:,},"
    return Statement(
        title=f"{title}{of}",
        numbers=numbers_of(claim, distance),
        odds=f"{words}, if it held" if claimed else words,
        neighbors=NEIGHBORS[claim.adjacency].replace("one record", unit),
        reference=claim.reference,
    )


def _epsilon(claim: Claim, length: float) -> float:
    return claim.epsilon * (length if claim.per_distance else 1.0)
