"""The private curve of cost against k as a picture and a ledger. All of it is released: anyone may see it."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dpviz.accounting import spent_epsilon
from dpviz.baselines.k_curve import CurveRelease, KCurve
from dpviz.core import Adjacency
from dpviz.plots import Audience, Axis, Kind, Layer, Role, Scene, always
from dpviz.stories.ledger import leaves, words_of
from dpviz.stories.panel import ceiled, number

MECHANISM = (
    "One noisy histogram of the records on a public grid, then k-means on its cells for each k. Only the histogram "
    "reads the records, so that all values of k together cost one ε. Each new curve is one more release."
)


def curve_scene(release: CurveRelease, k: int) -> Scene:
    """Return the curve with its knee, and a rule at the `k` that stands now."""
    ks = np.arange(1, len(release.costs) + 1)
    xy = np.stack([ks.astype(np.float64), np.log10(release.costs)], axis=1)
    low, high = float(xy[:, 1].min()), float(xy[:, 1].max())
    pad = 0.06 * max(high - low, 0.1)
    shares = [f"{number(100.0 * cost)} % of the cost of one center" for cost in release.costs]
    names = tuple(f"k = {each}: {share}" for each, share in zip(ks, shares, strict=True))
    at = release.suggested - 1
    layers = (
        _layer("Now", Kind.CURSOR, Role.REFERENCE, {"x": np.array([float(k)])}, Audience.PUBLIC),
        _layer("Private cost", Kind.LINES, Role.RELEASED, {"xy": xy[None, None]}, legend=False),
        _layer("Private cost", Kind.MARKS, Role.RELEASED, {"xy": xy[None]}, size=8.0, names=names),
        _layer("Knee", Kind.MARKS, Role.REFERENCE, {"xy": xy[None, at : at + 1]}, symbol="ring", size=19.0),
    )
    return Scene(
        title="Private cost against k",
        alt=f"Line chart of the private cost against k; the knee is at {release.suggested}.",
        caption=f"The knee is at k = {release.suggested}: a reading of the curve, not a proof of so many groups.",
        x=Axis("clusters k", view=(0.5, len(ks) + 0.5), whole=True),
        y=Axis("cost", "× that of one center", view=(low - pad, high + pad), log=True),
        layers=layers,
        equal=False,
        scrubber=False,
    )


def ledger(looks: Sequence[KCurve], adjacency: Adjacency) -> list[dict[str, str]]:
    """Return what every curve has spent on what, a line each, and the sum."""
    lines = []
    for i, look in enumerate(looks, start=1):
        for leaf in (leaf for event in look.events for leaf in leaves(event)):
            spent = spent_epsilon((leaf,), adjacency)
            lines.append({"Curve": str(i), "Spent on": words_of(leaf), "ε": ceiled(spent)})
    total = spent_epsilon([event for look in looks for event in look.events], adjacency)
    return [*lines, {"Curve": "all", "Spent on": "Choosing k", "ε": ceiled(total)}]


def _layer(
    name: str, kind: Kind, role: Role, arrays: dict[str, Any], audience: Audience = Audience.RELEASED, **style: Any
) -> Layer:
    return Layer(name, kind, role, audience, arrays, always(1), isolate=False, **style)
