"""The charts beside a source-target picture: counts against the threshold, the bound against the truth."""

import numpy as np

from dpviz.core import FloatArray
from dpviz.methods.source_target.story.told import SourceTargetContext
from dpviz.plots import Audience, Axis, Kind, Layer, Role, Scene, always
from dpviz.stories.panel import number

BAR = 0.8  # of a column's width
EMPTY = 1.0  # diameters: no two costs differ by more


def count_chart(told: SourceTargetContext) -> Scene:
    """Return the noisy counts of the cells, the largest first, beside the threshold; those refused are secret."""
    release, step = told.result.release, told.step
    assert release.noisy_counts is not None
    assert release.threshold is not None
    released = np.sort(release.noisy_counts)[::-1]
    layers = [_bars("Released", Role.RELEASED, Audience.RELEASED, released, 0)]
    if step.noisy_counts is not None and len(told.refused):
        refused = np.sort(step.noisy_counts[told.refused])[::-1]
        layers.append(_bars("Refused", Role.VIOLATION, Audience.CURATOR, refused, len(released)))
    r, top = step.n_averages, max(float(released.max(initial=0.0)), 2.0 * release.threshold)
    level = np.array([[[[-1.0, release.threshold], [r + 1.0, release.threshold]]]])
    layers.append(
        Layer("Threshold", Kind.LINES, Role.PUBLIC, Audience.PUBLIC, {"xy": level}, always(1), size=1.5, isolate=False)
    )
    return Scene(
        title="Noisy counts",
        alt=f"Bar chart of the noisy counts of {len(released)} released cells beside the threshold of "
        f"{number(release.threshold)} records.",
        caption="Cells from the fullest on. A cell below the threshold is refused: nothing of it is released.",
        x=Axis("cells", view=(-1.0, r + 1.0), ticks=False),
        y=Axis("records, with noise", view=(min(0.0, -0.1 * top), 1.08 * top)),
        layers=tuple(layers),
        equal=False,
        scrubber=False,
    )


def bound_chart(told: SourceTargetContext) -> Scene:
    """Return the parts of the data-dependent bound beside the difference that it is about: exact, the curator's."""
    step, params = told.step, told.params
    parts = [step.nonprivate_delta_t or 0.0, step.noise_bound or 0.0, max(params.coreset_radius, 0.0)]
    bound, measured = step.nonprivate_bound, told.nonprivate_difference()
    lanes = ("S′ instead of S, measured", "Neighbors: Δ", "Noise: Λ", "Coreset: C", "Bound in all")
    values = np.array([measured, *parts, float("nan") if bound is None else bound])
    rect = np.array([[[0.0, i + 0.15, value, i + 0.85] for i, value in enumerate(values)]])
    secret, top = Audience.CURATOR, float(np.nanmax(np.append(values[np.isfinite(values)], EMPTY)))
    level = np.array([[[[EMPTY, 0.0], [EMPTY, len(lanes)]]]])
    return Scene(
        title="The bound and the truth",
        alt="Bar chart of the parts of the data-dependent bound beside the measured difference.",
        caption="In diameters of the ball. A bound to the right of the line is empty: it says nothing.",
        x=Axis("diameters", view=(0.0, 1.06 * top)),
        y=Axis("", view=(0.0, float(len(lanes))), names=lanes),
        axes_public=False,
        layers=(
            Layer(
                "Mean change of cost",
                Kind.BARS,
                Role.EXACT,
                secret,
                {"rect": rect},
                always(1),
                fill=0.5,
                names=lanes,
                isolate=False,
            ),
            Layer(
                "Empty from here on",
                Kind.LINES,
                Role.VIOLATION,
                secret,
                {"xy": level},
                always(1),
                size=1.5,
                dash=True,
                isolate=False,
            ),
        ),
        equal=False,
        scrubber=False,
    )


def _bars(name: str, role: Role, audience: Audience, heights: FloatArray, first: int) -> Layer:
    left = first + np.arange(len(heights)) + (1.0 - BAR) / 2.0
    rect = np.stack([left, np.zeros(len(heights)), left + BAR, heights], axis=1)[None]
    return Layer(name, Kind.BARS, role, audience, {"rect": rect}, always(1), fill=0.8, isolate=False)
