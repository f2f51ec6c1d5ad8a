"""The attack on one record as a picture and in words: what is known, what is guessed, and how far off that is."""

import math

import numpy as np

from dpviz.core import FloatArray, Points
from dpviz.methods.convergent_kmeans.story.attack_record import ExactKnowledge, Guesses
from dpviz.plots import Audience, Frame, Kind, Layer, Role, Scene
from dpviz.stories import ground_layers as ground
from dpviz.stories.outcomes import PACE_MS, Figure
from dpviz.stories.panel import ceiled, number
from dpviz.stories.stage import SECRET, Clock, Seen, Stage
from dpviz.stories.view import View, Words, project

PICK = "attacked-record"
GUESS = Seen(Role.VIOLATION, Audience.CURATOR)
DISCLOSED = Seen(Role.RELEASED, Audience.CURATOR)  # exact, or of a run that nobody has paid for
NEAR = 0.1  # box widths: a guess that is no farther off has found the record, roughly
EXACT_STOPS = (
    Frame("1: what the attacker has", "All records but one, and so the centers without it."),
    Frame("2: what is disclosed", "Exact centers and counts of all records. One center is a little off."),
    Frame("3: subtract", "That center's move, times its count, leads to the record."),
)


def exact_scene(found: ExactKnowledge, unit: Points, words: Words, view: View, record: int) -> Scene:
    """Return the attack on exact centers in three stops: the curator's. `unit` (n, d) are all records, box units."""
    stage = Stage(project(view, words, unit), Clock(1, ("stop",)))
    every = stage.clock.always()
    moved = np.linalg.norm(found.nonprivate_centers - found.nonprivate_known_centers, axis=1)
    tail = found.nonprivate_known_centers[[int(moved.argmax())]]
    layers = (
        *_ground(stage, unit, words, record),
        stage.marks(
            "Center without the record",
            SECRET,
            every,
            found.nonprivate_known_centers[None],
            symbol="ring",
            size=11.0,
            isolate=False,
        ),
        stage.marks(
            "Exact center, disclosed", DISCLOSED, {1: 0, 2: 0}, found.nonprivate_centers[None], size=7.0, isolate=False
        ),
        stage.arrows(
            "Its move, times its count", GUESS, {2: 0}, tail[None], found.guess[None, None], size=2.0, isolate=False
        ),
        _true(stage, found.nonprivate_record),
        stage.marks(
            "Attacker's guess", GUESS, {2: 0}, found.guess[None, None], symbol="cross", size=13.0, isolate=False
        ),
    )
    return _scene(stage, words, layers, EXACT_STOPS, 2, "Exact centers and counts", pace=1200.0)


def runs_scene(found: Guesses, unit: Points, words: Words, view: View, record: int, title: str) -> Scene:
    """Return the attack on run after run: the guesses, or the line that the record must lie on; the curator's."""
    n_runs = len(found.guesses)
    stage = Stage(project(view, words, unit), Clock(n_runs - 2, ("run",)))  # as many frames as runs
    every, each = stage.clock.always(), {run: run for run in range(n_runs)}
    lines = stage.projection(found.segments)  # (R, 2, 2)
    drawn: list[Layer] = []
    if np.isfinite(lines).any():
        drawn = [
            stage.layer(
                "Lines of all runs",
                Kind.LINES,
                Role.REFERENCE,
                SECRET.audience,
                every,
                {"xy": lines[None]},
                size=1.0,
                isolate=False,
            ),
            stage.layer(
                "The record is on this line",
                Kind.LINES,
                GUESS.role,
                GUESS.audience,
                each,
                {"xy": lines[:, None]},
                size=2.5,
                isolate=False,
            ),
        ]
    if np.isfinite(found.guesses).any():
        drawn += [
            stage.marks(
                "Guesses of all runs",
                Seen(Role.NOISE, SECRET.audience),
                every,
                found.guesses[None],
                symbol="ring",
                size=6.0,
                isolate=False,
            ),
            stage.marks(
                "Attacker's guess", GUESS, each, found.guesses[:, None], symbol="cross", size=13.0, isolate=False
            ),
        ]
    layers = (*_ground(stage, unit, words, record), *drawn, _true(stage, found.nonprivate_record))
    frames = tuple(Frame(f"Run {run + 1} of {n_runs}", "Same records, other noise.") for run in range(n_runs))
    return _scene(stage, words, layers, frames, 0, title, pace=PACE_MS)


def exact_words(found: ExactKnowledge, words: Words, n: int) -> str:
    """Say how exactly the record is recovered."""
    worst = float(np.abs(found.guess - found.nonprivate_record).max())
    digits = "every digit" if worst == 0 else f"{max(0, math.floor(-math.log10(worst)))} digits"
    return (
        f"Exact centers and counts give the record away to whoever has the other {n - 1:,}: right to {digits}, "
        f"off by {length(found.guess, found.nonprivate_record, words)} at most. Floating point is all that is in "
        "the way."
    )


def noisy_words(found: Guesses, epsilon: float) -> str:
    """Say how far off the guesses are, beside a guess that looks at nothing."""
    errors = found.nonprivate_errors
    blind = float(np.linalg.norm(found.nonprivate_record - 0.5))
    near = int((errors <= NEAR).sum())
    return (
        f"With noise for ε = {number(epsilon)} in all, the guess is off by {number(float(np.median(errors)))} box "
        f"widths (median of {len(errors)} runs), and by {number(NEAR)} or less in {near} of them. The middle of the "
        f"box, a guess that looks at nothing, is off by {number(blind)}."
    )


def published_words(found: Guesses, words: Words) -> str:
    """Say what the paper's release leaves of the record, in numbers."""
    known = np.isfinite(found.nonprivate_off)
    if not known.any():
        return (
            "In none of these runs does a center show the ray of its sum: the ones that changed lie on the box's wall."
        )
    lengths = np.linalg.norm(found.segments[known, 1] - found.segments[known, 0], axis=1)
    worst = float(found.nonprivate_off[known].max())
    said = ""
    if words.box.d > 1:
        said = (
            f"In {int(known.sum())} of {len(known)} runs the published centers leave the record on one line, "
            f"{number(float(np.median(lengths)))} box widths long, and it is there to within {ceiled(worst)}. "
        )
    guessed = np.isfinite(found.nonprivate_errors)
    if not guessed.any():
        return f"{said}Noise on the counts never hides the ratios of a center's coordinates."
    middle = float(np.median(found.nonprivate_errors[guessed]))
    return (
        f"{said}The zones that are published on the way say where: the guess is off by {number(middle)} box widths in "
        f"the middle of {int(guessed.sum())} runs."
    )


def error_figure(found: Guesses) -> Figure:
    """Name the error of a guess, beside that of a guess that looks at nothing."""
    blind = float(np.linalg.norm(found.nonprivate_record - 0.5))
    name = "Middle of the box"
    return Figure("error of the guess", "box widths", "the guess is off by more than", mark=blind, mark_name=name)


def digits_of(guess: FloatArray, record: FloatArray, words: Words) -> list[dict[str, str]]:
    """Return a row for each feature: the true value, the guess, and how far it is off, data units, all digits."""
    true, guessed = words.box.from_unit(record), words.box.from_unit(guess)
    units = [f" ({unit})" if unit else "" for unit in words.units]
    return [
        {
            "Feature": f"{name}{unit}",
            "True value": repr(float(a)),
            "Guess": "none" if not math.isfinite(b) else repr(float(b)),
            "Off by": "" if not math.isfinite(b) else number(abs(float(b) - float(a))),
        }
        for name, unit, a, b in zip(words.feature_names, units, true, guessed, strict=True)
    ]


def length(guess: FloatArray, record: FloatArray, words: Words) -> str:
    """Write the largest error of a feature, in its own unit."""
    off = np.abs(words.box.from_unit(guess) - words.box.from_unit(record))
    worst = int((off / words.box.widths).argmax())
    return f"{number(float(off[worst]))} {words.units[worst]}".strip()


def _ground(stage: Stage, unit: Points, words: Words, record: int) -> tuple[Layer, ...]:
    drawn = ground.sample(len(unit))
    drawn = drawn[drawn != record]
    group = np.full((1, len(drawn)), ground.NO_GROUP, dtype=np.uint8)
    known = ground.drawn_records(
        unit[drawn],
        group,
        stage.clock.always(),
        stage,
        name="Records that the attacker has",
        total=len(unit) - 1,
        isolate=False,
        pick=PICK,
    )
    return (*ground.box_layer(stage, public=words.box_public), known)


def picked_row(mark: int, n: int, record: int) -> int | None:
    """Return the row of the record whose mark was clicked, None for one that is not drawn."""
    drawn = ground.sample(n)
    drawn = drawn[drawn != record]
    return int(drawn[mark]) if 0 <= mark < len(drawn) else None


def _true(stage: Stage, record: FloatArray) -> Layer:
    place = record[None, None]
    return stage.marks("The record", SECRET, stage.clock.always(), place, symbol="ring", size=22.0, isolate=False)


def _scene(
    stage: Stage,
    words: Words,
    layers: tuple[Layer, ...],
    frames: tuple[Frame, ...],
    start: int,
    title: str,
    *,
    pace: float,
) -> Scene:
    return Scene(
        title=title,
        alt=f"{words.title}: one record, all others, and what an attacker who has the others makes of a release.",
        caption="Curator view: not a release. The attacker has all gray records but not the ringed one.",
        hint="Click another record to attack it.",
        x=stage.projection.x,
        y=stage.projection.y,
        axes_public=False,
        layers=layers,
        frames=frames,
        start_frame=start,
        pace=pace,
        eased=False,
    )
