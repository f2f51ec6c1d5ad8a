"""What is said of every run that releases centers: how far off they are, and what its guarantee allows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpviz.accounting import PureEvent, Purpose, under_replace
from dpviz.core import Adjacency, Centers, CentersRelease, Claim, FloatArray, Labels, Result, Step, attacker_odds
from dpviz.metrics import matched_distance
from dpviz.stories.label import RECORD, Contents, box_words
from dpviz.stories.ledger import leaves, scale_of
from dpviz.stories.outcomes import Figure, Outcome
from dpviz.stories.panel import Fact, Sentence, at_most, attacker, counted, number

if TYPE_CHECKING:
    from dpviz.stories.centers import CentersRun

SAME_START = "Sum of squared distances; Lloyd starts from the same centers."
PACKED_START = "Sum of squared distances; Lloyd starts from a public sphere packing."

AS_GOOD = "Curator only, as costs are exact: centers chosen without any record would cost no more than this run's."
WOULD_DO = "; centers chosen without any record would do as well"  # the end of a curator's sentence
HELP = (
    "Cost of the box's middle, or of centers packed evenly into the box: no record is read. A run that costs as much "
    "has learned nothing."
)

RANDOM = 1.0 / math.sqrt(12.0)  # standard deviation of a place that is even over the box, in its widths
COST = Figure("cost", "× Lloyd's", "the cost is more than", mark=1.0, mark_name="Lloyd's")


def allowed(epsilon: float) -> str:
    """Say what a proved epsilon allows an attacker."""
    return attacker(attacker_odds(epsilon))


def stated(epsilon: float) -> str:
    """Say what a stated epsilon would allow where another one is proved."""
    return f"{attacker(attacker_odds(epsilon), 'As claimed')} What is proved stands under Guarantee."


def not_established(_: float) -> str:
    """Say that nothing is proved: the start or the bounds came from the records."""
    return "No limit is established: the start or the bounds come from the records."


def sentence(run: CentersRun[CentersRelease, Step], spent: str, n_clusters: int) -> Sentence:
    """Say the run in one sentence; `spent` is its budget in words. What ε allows stands beside the slider."""
    off = number(100.0 * distance_share(run))
    as_good = WOULD_DO if run.nonprivate_cost >= run.no_data_cost else ""
    return Sentence(
        curator=f"{spent}, the centers are {off} % of the box's diagonal from noise-free k-means{as_good}.",
        public=f"{spent}, {counted(n_clusters, 'center')} {'is' if n_clusters == 1 else 'are'} released.",
    )


def distance_share(run: CentersRun[CentersRelease, Step]) -> float:
    """Return the matched distance to Lloyd's centers as a share of the box's diagonal (box units)."""
    return matched_distance(run.final, run.reference.nonprivate_centers) / math.sqrt(run.words.box.d)


def cost_facts(run: CentersRun[CentersRelease, Step], start: str) -> tuple[Fact, ...]:
    """Return cost and distance beside Lloyd's, and what no data costs: exact, so the curator's.

    `start` says where Lloyd starts.
    """
    cost = run.nonprivate_cost
    best = float(run.reference.nonprivate_costs[-1])
    ratio = cost / best if best > 0 else 1.0 if cost == best else float("inf")
    off = number(round(100.0 * distance_share(run), 9))  # rounding errors are no distance
    far = "Mean distance to Lloyd's centers under the best matching, against the box's diagonal."
    return (
        Fact("Cost", f"{number(ratio)} × Lloyd's", start, False),
        no_data_fact(cost, run.no_data_cost, best, "Lloyd's"),
        Fact("Off Lloyd's centers", f"{off} % of the box", far, False),
    )


def no_data_fact(cost: float, without_data: float, best: float, beside: str) -> Fact:
    """Return what no data costs as a multiple of `best`, called `beside`, and say where a run's `cost` is no less."""
    times = number(without_data / best) if best > 0 else number(float("inf") if without_data else 1.0)
    cost_words = f"{times} × {beside}"
    return Fact("Without any data", f"{cost_words}: no worse" if cost >= without_data else cost_words, HELP, False)


def notices(run: CentersRun[CentersRelease, Step]) -> tuple[str, ...]:
    """Return what has to be said beside this run's guarantee: exact, so the curator's."""
    return (AS_GOOD,) if run.nonprivate_cost >= run.no_data_cost else ()


def public_notices(run: CentersRun[CentersRelease, Step]) -> tuple[str, ...]:
    """Return what has to be said beside this run's guarantee; public."""
    return drowned(last_noise(run.result, Purpose.SUMS), run.result.release, run.words.box.d)


def last_noise(result: Result[CentersRelease, Step], purpose: Purpose) -> FloatArray:
    """Return the standard deviations of the noise last drawn for `purpose`: (k,) or (1,), (0,) where none was."""
    for event in reversed(result.events):
        parts = [leaf for leaf in leaves(event) if not isinstance(leaf, PureEvent) and leaf.purpose is purpose]
        if parts:
            return math.sqrt(2.0) * np.array([scale_of(leaf) for leaf in parts])
    return np.zeros(0)


def drowned(noise: FloatArray, release: CentersRelease, d: int) -> tuple[str, ...]:
    """Say that averages in `d` features have more noise than places picked at random differ by; else nothing.

    `noise` (k,) or (1,) is the standard deviation of each released sum, in widths of the box; over the mean of the
    released counts, it is that of a typical average. Public.
    """
    counts = release.noisy_counts
    if counts is None or not len(counts) or not len(noise):
        return ()
    typical = float(np.median(noise)) / max(float(np.mean(counts)), 1.0)
    if typical < RANDOM:
        return ()
    return (
        f"In {counted(d, 'feature')}, noise moves an average by about {number(typical)} widths of the box per feature; "
        f"places picked at random differ by {number(RANDOM)}. Take fewer features or clusters, or a larger ε.",
    )


def lloyd_fact(run: CentersRun[CentersRelease, Step]) -> Fact:
    """Return how long Lloyd's algorithm took: exact, so the curator's."""
    rounds = str(run.reference.n_iterations)
    return Fact("Lloyd's iterations", rounds, "Until assignments repeat, no privacy.", False)


def risk(proved: Claim | None) -> tuple[Fact, ...]:
    """Return what the guarantee allows beyond the odds that stand beside the slider; public."""
    if proved is None or proved.adjacency is Adjacency.REPLACE:
        return ()
    double = under_replace(proved)
    twice = at_most(attacker_odds(double.epsilon, double.delta))
    cost = "2ε" if proved.delta == 0 else "2ε and (1 + e^ε)δ"
    return (Fact("If your record were replaced", twice, f"Replacing is removing and adding: {cost}.", True),)


def contents(run: CentersRun[CentersRelease, Step]) -> Contents:
    """Declare what a run that releases centers protects, takes as public, and shows in confidence."""
    public = [box_words(run.words), "k, ε and every other knob"]
    secret = ["Records, and who is in which cluster", "True means and counts, costs, Lloyd's centers"]
    if getattr(run.params, "start", "packing") == "records":
        secret.append("The start: real records, which are published all the same")
    elif getattr(run.params, "start", "packing") == "private":
        public.append("The packing that the start's search begins at, which looks at no record")
    else:
        public.append("The start: a packing of the box, which looks at no record")
    return Contents(RECORD, tuple(public), tuple(secret))


def outcome(run: CentersRun[CentersRelease, Step]) -> Outcome:
    """Return what many runs show of this one: its centers, and their cost beside Lloyd's from the same start."""
    best, cost = float(run.reference.nonprivate_costs[-1]), run.nonprivate_cost
    return Outcome(run.final, cost / best if best > 0 else math.nan, COST)


def recolored(centers: Centers, nonprivate_labels: Labels, shape: tuple[int, int, int]) -> NDArray[np.uint8]:
    """Return the picture (height, width, 3) in which each pixel, row by row, wears its cluster's released center.

    The centers (k, 3) are colors from 0 to 255; noise that threw one out of this range leaves it at its end. Which
    pixel is in which cluster is exact, so that the picture is the curator's.
    """
    colors = np.clip(np.rint(centers), 0, 255).astype(np.uint8)
    return colors[nonprivate_labels].reshape(shape)
