"""What a run promises, in one line that travels with every picture of it."""

import math
from typing import Any

from dpviz.core import Adjacency, Claim, Guarantee
from dpviz.stories.panel import ceiled, chance_limit

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
