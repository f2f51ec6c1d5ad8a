"""ROC curves of attacks on moved points under the bound of a replacement: every record in them is invented."""

from collections.abc import Callable

import numpy as np

from dpviz import attacks
from dpviz.core import Box, Budget, FloatArray
from dpviz.plots import Audience, Axis, Kind, Layer, Role, Scene, always

GREY = 200  # points of a bound's curve
MOST_DRAWN = 400  # thresholds of a curve


def pair_of(box: Box, apart: float) -> FloatArray:
    """Return two places (2, d), `apart` along the first axis, around the box's middle."""
    middle = 0.5 * (box.low + box.high)
    half = np.zeros(box.d)
    half[0] = 0.5 * apart
    return np.stack([middle - half, middle + half])


def roc_scene(
    roc: attacks.Roc,
    budget: Budget,
    *,
    title: str,
    alt: str,
    caption: str,
    name: str = "The attack",
    unmoved: attacks.Roc | None = None,
    limit: str = "No attack lies above",
    best: Callable[[FloatArray], FloatArray] | None = None,
) -> Scene:
    """Return a measured ROC with its 95 % band, the bound, and the same attack on points that nobody moved.

    `limit` names the bound, `best` is the mechanism's own trade-off curve where it is known.
    """
    rates = np.linspace(0.0, 1.0, GREY)
    keep = np.unique(np.linspace(0, len(roc.thresholds) - 1, MOST_DRAWN).astype(np.intp))
    band = attacks.roc_band(roc).true_positive
    edges = np.stack([roc.false_positive, band.low, band.high], axis=1)[keep]
    law = Audience.NOISE

    def line(name: str, x: FloatArray, y: FloatArray, role: Role, *, dash: bool = False) -> Layer:
        xy = np.stack([x, y], axis=1)[None, None]
        return Layer(name, Kind.LINES, role, law, {"xy": xy}, always(1), size=2.0, dash=dash, isolate=False)

    bare = (
        ()
        if unmoved is None
        else (line("Without noise", unmoved.false_positive, unmoved.true_positive, Role.REFERENCE),)
    )
    return Scene(
        title=title,
        alt=alt,
        caption=caption,
        x=Axis("false alarms", view=(-0.02, 1.02)),
        y=Axis("right alarms", view=(-0.02, 1.02)),
        equal=False,
        layers=(
            Layer(
                "95 % band",
                Kind.BANDS,
                Role.NOISE,
                law,
                {"edges": edges[None, None]},
                always(1),
                fill=0.2,
                isolate=False,
            ),
            line("A coin", rates, rates, Role.REFERENCE, dash=True),
            line(limit, rates, attacks.roc_bound(rates, budget), Role.PUBLIC),
            *(() if best is None else (line("Best attack on this noise", rates, best(rates), Role.PUBLIC, dash=True),)),
            *bare,
            line(name, roc.false_positive[keep], roc.true_positive[keep], Role.NOISE),
        ),
    )
