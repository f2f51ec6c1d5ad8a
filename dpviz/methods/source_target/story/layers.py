"""The layers of source-target clustering: source and targets, averages, noise, S', new centers and whom they serve."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.core import FloatArray, Labels, Points
from dpviz.methods.source_target.story.told import SourceTargetContext
from dpviz.plots import Audience, Kind, Layer, Role
from dpviz.stories.ground_layers import MOST_DRAWN, NO_GROUP
from dpviz.stories.panel import counted, number
from dpviz.stories.stage import PUBLIC, RELEASED, SECRET, SECRET_NOISE, Clock, Seen, Stage
from dpviz.stories.view import spread

CLOCK = Clock(1, ("averages", "noise", "release"))
AVERAGES, NOISE, RELEASE, CHOICE = 1, 2, 3, 4  # frames
FANS = 5  # targets whose nearest records are drawn
FAN_LINES = 60  # of each
LARGEST = 0.045  # radius of the largest count's circle, box widths
FEW_RECORDS = 1_500  # up to here a record is drawn larger
FEW_TARGETS = 150
PICK = "source"  # what a click on a source record reports
REFUSED = Seen(Role.VIOLATION, Audience.RELEASED)
SERVED = Seen(Role.REFERENCE, Audience.RELEASED)


def thinning(n: int) -> int:
    """Return j so that every j-th of n records is drawn."""
    return max(1, -(-n // MOST_DRAWN))


def given_layers(told: SourceTargetContext, stage: Stage) -> list[Layer]:
    """The source, which is the curator's, the targets, which are public, and the record that is looked at."""
    every, n = thinning(len(told.unit)), len(told.targets)
    size = 3.0 if len(told.unit) > FEW_RECORDS else 5.0
    source = _dots("Source record", SECRET, told.unit[::every], stage, size=size, pick=PICK)
    drawn = PUBLIC if told.targets_public else Seen(Role.VIOLATION, Audience.CURATOR)
    targets = _dots("Target", drawn, told.targets, stage, size=6.0 if n <= FEW_TARGETS else 4.5, symbol="square")
    layers = [source, targets]
    if told.record is not None and told.record < len(told.unit):
        place = spread(told.unit, stage.projection)[None, [told.record]]
        layers.append(
            stage.layer(
                "Record you look at",
                Kind.MARKS,
                *_seen(SECRET),
                _always(),
                {"xy": place},
                symbol="ring",
                size=15.0,
                isolate=False,
            )
        )
    return layers


def average_layers(told: SourceTargetContext, stage: Stage) -> list[Layer]:
    """Where averages are taken: the public cells or some fans, and the exact averages."""
    step, places = told.step, told.representatives
    counts = told.params.method == "nna"
    during = _during(AVERAGES, NOISE, RELEASE) if counts else _during(AVERAGES)
    layers = []
    if counts and told.words.box.d == 2:
        arrays = {"ends": told.reference.borders}
        layers.append(
            stage.layer(
                "Cell of a target", Kind.SEGMENTS, *_seen(_green(told)), during, arrays, size=1.0, isolate=False
            )
        )
    if not counts and step.nonprivate_neighbors is not None and step.nonprivate_neighbors.size:
        layers.append(_fans(told, stage, step.nonprivate_neighbors))
    if len(places) < len(told.targets):
        names = tuple(f"stands for {counted(int(weight), 'target')}" for weight in step.core.weights)
        layers.append(
            stage.marks(
                "Target with an average",
                _green(told),
                _during(AVERAGES, NOISE, RELEASE),
                places[None],
                symbol="square",
                size=7.0,
                names=names,
                isolate=False,
            )
        )
    exact = told.words.box.to_unit(step.nonprivate_averages)
    known = step.nonprivate_counts
    names = () if known is None else tuple(counted(int(count), "record") for count in known)
    layers.append(
        stage.marks(
            "Exact average",
            SECRET,
            _during(AVERAGES, NOISE),
            exact[None],
            symbol="ring",
            size=8.0,
            names=names,
            isolate=False,
        )
    )
    moved = told.words.box.to_unit(step.noisy_averages)
    layers.append(
        stage.arrows("Noise", SECRET_NOISE, _during(NOISE), exact[None], moved[None], size=1.5, isolate=False)
    )
    return layers


def release_layers(told: SourceTargetContext, stage: Stage) -> list[Layer]:
    """S' with its noisy counts, and what the threshold refused."""
    counts, released = told.result.release.noisy_counts, told.released
    names: tuple[str, ...] = ()
    origins = tuple(told.result.release.origins.tolist())
    layers = []
    if counts is not None:
        names = tuple(f"about {number(float(count))} records (noisy)" for count in counts)
        radius = LARGEST * np.sqrt(counts / counts.max(initial=1.0))
        arrays = {"center": stage.projection(released)[None], "radius": radius[None]}
        layers.append(
            stage.layer(
                "Noisy count (area)",
                Kind.CIRCLES,
                *_seen(RELEASED),
                _during(RELEASE),
                arrays,
                size=1.0,
                fill=0.12,
                isolate=False,
                names=names,
                ids=origins,
            )
        )
        layers += _refused(told, stage)
    layers.append(
        stage.marks(
            "Noisy average",
            RELEASED,
            _during(NOISE, RELEASE, CHOICE),
            released[None],
            symbol="diamond",
            size=9.0,
            names=names,
            ids=origins,
            isolate=False,
        )
    )
    return layers


def choice_layers(told: SourceTargetContext, stage: Stage) -> list[Layer]:
    """The new centers, whom they serve as the release tells it, and for the curator the choice without privacy."""
    last, new = _during(CHOICE), told.servers >= told.n_released
    known = np.concatenate([told.released, told.selected])
    lines = np.stack([told.targets, known[told.servers]], axis=1)  # (n, 2, d)
    served = np.bincount(told.servers[new] - told.n_released, minlength=len(told.selected))
    names = tuple(f"new center {i + 1}, serves {counted(int(n), 'target')}" for i, n in enumerate(served))
    floor = told.targets[told.reference.nonprivate_selected]
    cross: dict[str, Any] = {"symbol": "cross", "size": 10.0, "isolate": False, "glides": "place"}
    return [
        _lines("Served by an average", SERVED, lines, ~new, stage, 1.0),
        _lines("Served by a new center", RELEASED, lines, new, stage, 1.2),
        stage.marks("Choice without privacy", SECRET, last, floor[None], **cross),
        stage.marks(
            "New center", RELEASED, last, told.selected[None], size=14.0, names=names, glides="place", isolate=False
        ),
    ]


def _refused(told: SourceTargetContext, stage: Stage) -> list[Layer]:
    """Cells without a released average: that is public; how many records they seemed to have is not released."""
    refused, step, shown = told.refused, told.step, _during(RELEASE)
    places = told.representatives[refused][None]
    cross: dict[str, Any] = {"symbol": "cross", "size": 6.0, "isolate": False}
    layers = [stage.marks("Refused: too few", REFUSED, shown, places, **cross)]
    noisy, exact = step.noisy_counts, step.nonprivate_counts
    if noisy is not None and exact is not None:
        names = tuple(f"noisy count {number(float(noisy[i]))}, exactly {int(exact[i])}" for i in refused)
        layers.append(
            stage.marks(
                "Counts of the refused",
                SECRET,
                shown,
                places,
                symbol="ring",
                size=9.0,
                names=names,
                isolate=False,
                shown=False,
            )
        )
    return layers


def _fans(told: SourceTargetContext, stage: Stage, neighbors: Labels) -> Layer:
    """Lines from some targets, evenly chosen, to some of their nearest records."""
    rows = np.unique(np.linspace(0, len(neighbors) - 1, FANS).astype(np.intp))
    columns = np.unique(np.linspace(0, neighbors.shape[1] - 1, FAN_LINES).astype(np.intp))
    records = neighbors[np.ix_(rows, columns)]  # (f, l)
    drawn = spread(told.unit, stage.projection)
    tails = np.broadcast_to(stage.projection(told.representatives[rows])[:, None], (*records.shape, 2))
    ends = np.concatenate([tails, drawn[records]], axis=-1).reshape(1, -1, 4)
    return stage.layer(
        "Nearest records of some targets",
        Kind.SEGMENTS,
        *_seen(SECRET),
        _during(AVERAGES),
        {"ends": ends},
        size=1.0,
        isolate=False,
    )


def _dots(name: str, seen: Seen, unit: Points, stage: Stage, **style: Any) -> Layer:
    xy = spread(unit, stage.projection) if seen is SECRET else stage.projection(unit)
    arrays: dict[str, NDArray[Any]] = {"xy": xy[None], "group": np.full((1, len(unit)), NO_GROUP, dtype=np.uint8)}
    return stage.layer(name, Kind.POINTS, *_seen(seen), _always(), arrays, isolate=False, **style)


def _lines(name: str, seen: Seen, ends: FloatArray, drawn: NDArray[np.bool_], stage: Stage, size: float) -> Layer:
    """Draw those of the targets' lines (n, 2, d) that are `drawn` (n,): each glides to its target's next server."""
    arrays = {"ends": stage.projection(ends[drawn]).reshape(1, -1, 4)}
    style: dict[str, Any] = {"size": size, "isolate": False, "ids": tuple(np.flatnonzero(drawn).tolist())}
    return stage.layer(name, Kind.SEGMENTS, *_seen(seen), _during(CHOICE), arrays, **style)


def _green(told: SourceTargetContext) -> Seen:
    return PUBLIC if told.targets_public else Seen(Role.VIOLATION, Audience.CURATOR)


def _seen(seen: Seen) -> tuple[Role, Audience]:
    return seen.role, seen.audience


def _during(*frames: int) -> dict[int, int]:
    return dict.fromkeys(frames, 0)


def _always() -> dict[int, int]:
    return CLOCK.always()
