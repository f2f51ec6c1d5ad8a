"""Recommendation of a first method from public values alone, before a record is read or budget is spent.

The rule uses the number of records times ε per coordinate of a center: n ε / (k d). It was fitted on every second data
set of the frontier and tested on the others in docs/frontier.md. Its bands are the ranges over all data sets.
`python -m benchmarks.recommended` fits both again.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from dpviz.core import Box, CentersRelease, immutable_value
from dpviz.stories.panel import times

__all__ = ["Recommendation", "recommend"]

WANTED = ("centers", "regions", "points", "source")
# Maximum number of features for a noisy grid: in all cases, and if n ε / (k d) is at least ENOUGH.
GRID_ALWAYS, GRID_MOST = 4, 8
# n ε / (k d) from which a noisy grid or private seeds are worth their cost.
ENOUGH = 10.0
# n ε below which a grid of few cells is chosen for any number of features.
LITTLE = 40.0
# Maps a lower bound on n ε / (k d) to the cost, × k-means without privacy: median and range over all data sets of the
# frontier. Fewer records never have a narrower range.
BANDS: Sequence[tuple[float, tuple[float, float, float]]] = (
    (0.0, (2.22, 0.91, 16.4)),
    (5.0, (1.36, 0.91, 12.13)),
    (20.0, (1.13, 0.91, 2.87)),
    (100.0, (1.02, 0.91, 2.41)),
    (500.0, (1.0, 0.91, 2.41)),
)


@immutable_value
class Recommendation:
    """A method with its parameters and its expected cost. It follows from public values, so no budget was spent.

    `dpviz.run(it.method, data, **it.params)` runs it.
    """

    # Name of the method for `dpviz.run`.
    method: str
    # Parameters of the method, including epsilon.
    params: Mapping[str, Any]
    # Expected cost, × k-means without privacy and with as many centers; None if cost is not meaningful.
    cost: float | None
    # Range over all sets of the frontier. Nothing bounds the cost on other records.
    band: tuple[float, float] | None
    # Reason, in one sentence.
    reason: str

    @property
    def expected(self) -> str:
        """Return the expected cost, in words; "" if cost is not meaningful."""
        if self.cost is None or self.band is None:
            return ""
        low, high = self.band
        return (
            f"about {times(self.cost)} times k-means without privacy ({times(low)} to {times(high)} on dpviz's 38 "
            "data sets; yours can be outside this range)"
        )


def recommend(
    *,
    n: float | CentersRelease,
    epsilon: float,
    delta: float | None = None,
    n_clusters: int | None = None,
    d: int | None = None,
    bounds: Box | Sequence[Sequence[float]] | None = None,
    wanted: str = "centers",
) -> Recommendation:
    """Recommend a method from public values alone.

    No record is read and no budget is spent.

        dpviz.recommend(n=20_000, d=2, n_clusters=5, epsilon=1)

    Parameters
    ----------
    n
        Number of records, at least 0. If it is secret: its order of magnitude, or a release of these records, whose
        noisy counts are then added up. Public.
    epsilon
        Privacy budget of the run, above 0. For ``wanted="points"``, it is per unit of distance.
    delta
        Delta in (0, 1), which allows methods that need one and is then their delta. None asks for pure epsilon.
    n_clusters
        Number of centers to find, at least 1. None only if `wanted` is not "centers".
    d
        Number of features, at least 1. By default, the number of features of `bounds`.
    bounds
        Public bounds of the features: a Box, or (low, high) with d numbers each, data units.
    wanted
        Kind of result: "centers"; "regions", which are clusters of any shape and, without `n_clusters`, of any number;
        "points", each of which is moved before it leaves its owner; or "source", in which records stay secret while
        public places near them are chosen.

    Returns
    -------
    Recommendation
        The method, its parameters, its expected cost with a range, and the reason. Public.

    Raises
    ------
    ValueError
        If a value is out of its range, if neither `d` nor `bounds` is given or they contradict each other, if
        "centers" is requested without `n_clusters`, or "regions" without `delta`.
    """
    if isinstance(n, CentersRelease):
        n = n.noisy_total
    if bounds is not None:
        found = bounds.d if isinstance(bounds, Box) else len(bounds[0])
        if d not in (None, found):
            raise ValueError(
                f"d must be the number of features of bounds, which is {found}, got {d}. Leave one of them out."
            )
        d = found
    if wanted not in WANTED:
        raise ValueError(f"wanted must be one of {', '.join(WANTED)}, got {wanted!r}")
    if d is None or d < 1 or not epsilon > 0 or not 0 <= n < math.inf or (n_clusters is not None and n_clusters < 1):
        raise ValueError(
            f"n must be at least 0, epsilon above 0, and n_clusters and d at least 1, got n = {n}, "
            f"epsilon = {epsilon}, n_clusters = {n_clusters}, d = {d}. Pass d, or public bounds."
        )
    if delta is not None and not 0 < delta < 1:
        raise ValueError(f"delta must be above 0 and below 1, or None for pure ε, got {delta}")
    if wanted == "regions" and delta is None:
        raise ValueError(
            "delta must be given for regions, because every method for them needs a δ, got None. Pass "
            'a delta, such as 1e-6, or use wanted="centers".'
        )
    if wanted == "points":
        reason = "Each record is moved by its owner before anyone sees it; ε is per range of a feature."
        params = {"epsilon": epsilon, "unit": "range", "domain": "clamp"}
        return Recommendation("nd_laplace", params, None, None, reason)
    if wanted == "source":
        asked = {} if n_clusters is None else {"n_centers": n_clusters}
        reason = "Noisy averages replace the secret source, and places are chosen with them; add your targets."
        return Recommendation("source_target", {"epsilon": epsilon, **asked}, None, None, reason)
    if wanted == "regions" and n_clusters is None:
        reason = "It cuts through empty space as often as ε allows, so you do not have to know k."
        return Recommendation("dpm", {"epsilon": epsilon, "delta": delta}, None, None, reason)
    if wanted == "regions":
        reason = "Regions of any shape are chained from small noisy hills, until k remain."
        return Recommendation(
            "morse", {"epsilon": epsilon, "delta": delta, "n_clusters": n_clusters}, None, None, reason
        )
    if n_clusters is None:
        raise ValueError(
            'n_clusters must be given for centers, got None. Pass it, or use wanted="regions", which '
            "finds its own number."
        )
    share = share_of(n, epsilon, n_clusters, d)
    method, reason = method_for(share, share * n_clusters * d, d, pure=delta is None)
    _, (cost, low, high) = max(each for each in BANDS if each[0] <= share)
    own: Mapping[str, Mapping[str, Any]] = {"convergent_kmeans": {"start": "private"}, "fastlloyd": {"delta": delta}}
    params = {"epsilon": epsilon, "n_clusters": n_clusters, **own.get(method, {})}
    return Recommendation(method, params, cost, (low, high), reason)


def share_of(n: float, epsilon: float, k: int, d: int) -> float:
    """Return the records times ε per coordinate of a center, with n rounded to the nearest power of two."""
    return float(2.0 ** round(math.log2(max(n, 1.0))) * epsilon / (k * d))


def method_for(share: float, n_epsilon: float, d: int, *, pure: bool) -> tuple[str, str]:
    """Return the method and its reason for n ε / (k d) = `share`, n ε = `n_epsilon` and `d` features."""
    if d <= GRID_ALWAYS or n_epsilon < LITTLE or (d <= GRID_MOST and share >= ENOUGH):
        return "eugkm", "One noisy grid shows where records are, and k-means on it spends nothing more."
    if share < ENOUGH:
        few = (
            f"About {share:.2g} records times ε support each number, and in {d} features the cells of a grid contain "
            "even fewer:"
        )
        if pure:
            return "dplloyd", f"{few} noisy averages cost least here without a δ. With a δ, FastLloyd costs less."
        return "fastlloyd", f"{few} only short noisy moves are left. This method needs a δ."
    return "convergent_kmeans", (
        f"In {d} features a grid's cells hold too few records: noisy seeds and one noisy step of k-means reveal more."
    )
