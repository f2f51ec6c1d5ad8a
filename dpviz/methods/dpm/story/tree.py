"""DPM's split tree as a picture of its own, and the strips of scores of one subset."""

import numpy as np
from numpy.typing import NDArray

from dpviz.core import FloatArray
from dpviz.methods.dpm.algorithm import SplitTrace
from dpviz.methods.dpm.story.layers import PICK
from dpviz.methods.dpm.story.told import TreeContext, about, place, reason, titles
from dpviz.plots import Audience, Axis, Kind, Layer, Role, Scene, always
from dpviz.stories.panel import Fact, counted, number
from dpviz.stories.stage import RELEASED, SECRET, SECRET_NOISE, Seen

ROOM = 0.5  # levels left free above the root and below the deepest leaf


def tree_chart(told: TreeContext) -> Scene:
    """Return the tree, a row a level; a click on a node reports it. All of it is released."""
    tree, cells = told.result.release.tree, told.cells
    at = places(tree.children, tree.levels)
    m, n_leaves, deepest = len(at), int((tree.children[:, 0] < 0).sum()), int(tree.levels.max())
    inner, leaf = tree.children[:, 0] >= 0, np.flatnonzero(tree.children[:, 0] < 0)
    edges = np.full((m, 2, 2), np.nan)
    child = np.flatnonzero(tree.parents >= 0)
    edges[child] = np.stack([at[tree.parents[child]], at[child]], axis=1)
    leaves = np.full((len(leaf), 2), np.nan)
    leaves[tree.centers[leaf]] = at[leaf]
    clusters = tuple(f"cluster {i + 1} ({about(float(n))})" for i, n in enumerate(told.result.release.noisy_counts))  # type: ignore[arg-type]
    released = (Role.RELEASED, Audience.RELEASED)
    names = titles(told)
    layers = [
        _layer("Side of a cut", Kind.LINES, *released, edges[None], size=1.25, legend=False),
        _layer("Cluster", Kind.MARKS, Role.CLUSTER, Audience.RELEASED, leaves[None], names=clusters, size=15.0),
        _layer(
            "Cut",
            Kind.MARKS,
            *released,
            np.where(inner[:, None], at, np.nan)[None],
            names=names,
            size=12.0,
            symbol="square",
        ),
        _layer(
            "Refused cut",
            Kind.MARKS,
            Role.VIOLATION,
            Audience.RELEASED,
            np.where(cells.refused[:, None], at - [0.0, 0.3], np.nan)[None],
            names=names,
            size=8.0,
            symbol="cross",
        ),
        _layer("Subset", Kind.MARKS, *released, at[None], names=names, size=3.0, pick=PICK, legend=False),
        _layer(
            "Chosen", Kind.MARKS, Role.REFERENCE, Audience.RELEASED, at[None, [told.node]], size=22.0, symbol="ring"
        ),
    ]
    n_cuts, n_refused = int(cells.applied.sum()), int(cells.refused.sum())
    return Scene(
        title="Split tree",
        alt=f"Tree of {counted(m, 'subset')}: {n_cuts} cut in two, {counted(n_refused, 'cut')} refused, "
        f"{counted(n_leaves, 'cluster')}.",
        caption="From all records at the top to the clusters.",
        hint="Click a node to look into it.",
        x=Axis("", view=(-0.7, n_leaves - 0.3), ticks=False),
        y=Axis(
            "level",
            view=(-deepest - ROOM, ROOM),
            values=(0.0, -1.0),
            whole=True,
        ),
        layers=tuple(layers),
        equal=False,
        scrubber=False,
    )


def places(children: NDArray[np.intp], levels: NDArray[np.intp]) -> FloatArray:
    """Return where the nodes (m, 2) of a tree stand: leaves side by side, parents over the middle of their children."""
    at = np.zeros((len(children), 2))
    at[:, 1] = -levels
    order: list[int] = []
    left, waiting = 0, [0]
    while waiting:
        node = waiting.pop()
        order.append(node)
        below, above = (int(child) for child in children[node])
        if below < 0:
            at[node, 0], left = left, left + 1
        else:
            waiting += [above, below]
    for node in reversed(order):  # parents come before their children
        if children[node, 0] >= 0:
            at[node, 0] = at[children[node], 0].mean()
    return at


def strips(told: TreeContext, feature: int | None) -> tuple[tuple[str, Scene], ...]:
    """Return charts of the chosen node along a feature, None for the one that was cut; () where no cut was tried.

    Scores and chances are exact, and so are the ends of their axes: nothing of these charts is public.
    """
    split = told.split(told.node)
    if split is None:
        return ()
    axis = int(told.cells.axes[told.node]) if feature is None else feature
    x = _places_axis(told, axis)
    places_here = split.positions[axis]
    here = np.flatnonzero(split.exists[axis] & (places_here >= x.view[0]) & (places_here <= x.view[1]))
    at = places_here[here]
    empty, central = split.emptiness[axis][here], split.centreness[axis][here]
    score, chances = split.weights.emptiness_weight * empty + central, split.probabilities[axis][here]
    where = told.words.feature_names[axis]
    low = 0.98 * float(score.min(initial=1.0 + split.weights.emptiness_weight))
    charts = (
        (
            "emptiness",
            "share",
            "Emptiness and centreness",
            (0.0, 1.0),
            _bars("Emptiness", at, empty, split, axis, seen=SECRET),
        ),
        (
            "score",
            "score",
            "Score",
            (low, float(score.max(initial=low))),
            _bars("Score", at, score, split, axis, seen=SECRET),
        ),
        (
            "chance",
            "chance",
            "Chance of the cut",
            (0.0, float(chances.max(initial=0.0)) or 1.0),
            _bars("Chance", at, chances, split, axis, seen=SECRET_NOISE),
        ),
    )
    curve = np.stack([at, central], axis=1)[None, None]
    centreness = _layer("Centreness", Kind.LINES, Role.REFERENCE, Audience.CURATOR, curve, size=2.5)
    return tuple(
        (
            name,
            Scene(
                title=f"{title} along {where}",
                alt=f"Bar chart over the candidates along {where} of one subset.",
                caption="",
                x=x,
                y=Axis(
                    label,
                    view=(ends[0], ends[0] + 1.08 * (ends[1] - ends[0]) + 1e-9),
                ),
                axes_public=False,
                layers=(bars, *([centreness] if name == "emptiness" else []), *_rules(told, split, axis, ends)),
                equal=False,
                scrubber=False,
            ),
        )
        for name, label, title, ends, bars in charts
    )


def facts(told: TreeContext) -> tuple[Fact, ...]:
    """Return the chosen subset in numbers, each for its audience."""
    tree, node = told.result.release.tree, told.node
    counted = Fact("Records", about(float(tree.noisy_counts[node])), "Counted with noise.", True)
    split = told.split(node)
    became = Fact("Outcome", reason(told, node), "A cut needs two sides that look large enough.", True)
    if split is None:
        return counted, became
    sides = " and ".join(about(float(count)) for count in tree.child_counts[node])
    axis, at = split.chosen
    top, best = split.nonprivate_best
    law = split.probabilities
    rank = int((law > law[axis, at]).sum()) + 1
    return (
        counted,
        Fact("Exact records", f"{split.nonprivate_count:,}", "How many there really are.", False),
        Fact("Drawn cut", place(told, node), "Released.", True),
        Fact("Best cut", _where(told, split, top, best), "The candidate of the highest score.", False),
        Fact("Chance of the drawn cut", _percent(float(law[axis, at])), "Of one draw.", False),
        Fact("Chance of the best cut", _percent(float(law[top, best])), "Of one draw.", False),
        Fact(
            "Rank of the drawn cut",
            f"{rank:,} of {int(split.exists.sum()):,}",
            "By chance; ties count as equal.",
            False,
        ),
        Fact("Sides", sides, "Counted with noise.", True),
        Fact("ε of the draw", number(split.epsilon), "Deeper levels get more: their subsets are smaller.", True),
        became,
    )


def _where(told: TreeContext, split: SplitTrace, axis: int, at: int) -> str:
    box, name = told.words.box, told.words.feature_names[axis]
    unit = f" {told.words.units[axis]}" if told.words.units[axis] else ""
    return f"{name} at {number(float(box.low[axis] + box.widths[axis] * split.positions[axis, at]))}{unit}"


def _percent(chance: float) -> str:
    return f"{number(100.0 * chance)} in 100" if chance >= 1e-4 else "below 0.01 in 100"


def _places_axis(told: TreeContext, axis: int) -> Axis:
    """Show the subset's own cell; the whole box where a published cut lies outside of it. Released."""
    cells, node, box = told.cells, told.node, told.words.box
    low, high = float(cells.low[node, axis]), float(cells.high[node, axis])
    position = float(cells.positions[node]) if axis == cells.axes[node] else low
    if not low <= position <= high or not high > low:
        low, high = 0.0, 1.0
    pad = 0.02 * (high - low)
    ends = (float(box.low[axis]), float(box.high[axis]))
    return Axis(told.words.feature_names[axis], told.words.units[axis], (low - pad, high + pad), ends)


def _bars(name: str, at: FloatArray, values: FloatArray, split: SplitTrace, axis: int, *, seen: Seen) -> Layer:
    """Make a bar for each candidate, as wide as its interval."""
    gaps = np.diff(split.positions[axis][split.exists[axis]])
    half = 0.46 * float(gaps.min()) if gaps.size else 0.01
    fill = 0.5 if seen.role is Role.NOISE else 0.25
    rect = np.stack([at - half, np.zeros_like(at), at + half, values], axis=1)[None]
    return Layer(
        name, Kind.BARS, seen.role, seen.audience, {"rect": rect}, always(1), size=0.75, fill=fill, isolate=False
    )


def _curve(at: FloatArray, values: FloatArray) -> FloatArray:
    return np.stack([at, values], axis=1)[None, None]


def _rules(told: TreeContext, split: SplitTrace, axis: int, ends: tuple[float, float]) -> tuple[Layer, ...]:
    """The drawn cut, released, and the best one, where they are along this feature."""
    along, at = split.nonprivate_best
    best = (float(split.positions[along, at]), along)
    drawn = (float(told.cells.positions[told.node]), int(told.cells.axes[told.node]))

    def rule(name: str, where: tuple[float, int], seen: Seen, size: float) -> Layer:
        x = where[0] if where[1] == axis else np.nan
        xy = np.array([[x, ends[0]], [x, ends[1]]])[None, None]
        return _layer(name, Kind.LINES, seen.role, seen.audience, xy, size=size)

    return rule("Best cut", best, SECRET, 2.0), rule("Drawn cut", drawn, RELEASED, 3.0)


def _layer(name: str, kind: Kind, role: Role, audience: Audience, xy: FloatArray, **style: object) -> Layer:
    array = xy if kind is not Kind.LINES or xy.ndim == 4 else xy[None]
    return Layer(name, kind, role, audience, {"xy": array}, always(1), isolate=False, **style)  # type: ignore[arg-type]
