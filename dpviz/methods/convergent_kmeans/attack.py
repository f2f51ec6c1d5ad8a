"""The attack that motivates the method (Lu & Shen, figure 1), on one record from all centers and all other records.

Three releases of the same records: exact centers and counts, noisy ones (repaired mode), and the paper's release. One
exact record is at stake, so everything here is curator only. The background process runs `attack_exact` and
`attack_runs`. The results appear as a picture and in words: the known values, the guess, and the error of the guess.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy

from dpviz import attacks
from dpviz.attacks import PartitionSums, Segment, ZonePath
from dpviz.core import Box, Confidential, FloatArray, Labels, Points, immutable, unit_records
from dpviz.methods.convergent_kmeans import algorithm
from dpviz.methods.convergent_kmeans.algorithm import Params, ZonesRelease
from dpviz.plots import SECRET, SECRET_NOISE, UNPAID, UNRELEASED, WRONG, Frame, Kind, Layer, Scene
from dpviz.solvers import BOX_MIDDLE, EMPTY_SCALES, assign, cluster_sums, lloyd, su_split
from dpviz.stories import ground_layers as ground
from dpviz.stories.outcomes import PACE_MS, Figure
from dpviz.stories.panel import ceiled, number
from dpviz.stories.stage import Clock, Stage
from dpviz.stories.view import View, Words, project

# Number of places in the box that are equally likely to an attacker without knowledge.
N_PRIOR = 2048
PICK = "attacked-record"
# Box widths. A guess that is off by at most this much counts as finding the record.
NEAR = 0.1
EXACT_STOPS = (
    Frame("1: what the attacker has", "All records except one, and therefore the centers without it."),
    Frame("2: what is disclosed", "Exact centers and counts of all records. One center differs slightly."),
    Frame("3: subtract", "That center's move, times its count, leads to the record."),
)


@dataclass(frozen=True)
class AttackQuestion:
    """A method with its parameters; `key` identifies them, so equal questions have equal answers."""

    key: tuple[Hashable, ...]
    record: int
    params: Params = field(compare=False)


@immutable
class ExactKnowledge(Confidential):
    """Disclosure by exact centers, box units."""

    nonprivate_record: FloatArray  # (d,)
    # (k, d) centers of all records: disclosed.
    nonprivate_centers: FloatArray
    # (k, d) centers of all records except one.
    nonprivate_known_centers: FloatArray
    guess: FloatArray  # (d,)


@immutable
class Guesses(Confidential):
    """The attacker's guesses in R runs, box units."""

    nonprivate_record: FloatArray  # (d,)
    # (R, d) NaN without a guess.
    guesses: FloatArray
    # (R, 2, d) in published mode. NaN if a run has none.
    segments: FloatArray
    # (R,) distance of the record from its segment.
    nonprivate_off: FloatArray

    @property
    def nonprivate_errors(self) -> FloatArray:
        """Errors (R,) of the guesses, box widths."""
        return np.asarray(np.linalg.norm(self.guesses - self.nonprivate_record, axis=1))

    @classmethod
    def joined(cls, parts: Sequence["Guesses"]) -> "Guesses":
        """Concatenate the guesses of batches of runs."""
        names = ("guesses", "segments", "nonprivate_off")
        rows = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
        return cls(parts[0].nonprivate_record, **rows)


def attack_exact(points: Points, box: Box, question: AttackQuestion) -> ExactKnowledge:
    """Compute the record from Lloyd's exact centers and counts, which are disclosed with it and known without it."""
    params, record = question.params, question.record
    unit = unit_records(points, box)
    others = np.delete(unit, record, axis=0)
    start = algorithm.start_centers(points, box, params, rng=np.random.default_rng(params.start_seed))
    disclosed, own = lloyd(unit, start), lloyd(others, start)
    counts = np.bincount(disclosed.nonprivate_labels, minlength=len(start)).astype(np.float64)
    known = cluster_sums(others, own.nonprivate_labels, len(start)).nonprivate_sums
    guess = attacks.exact_record(disclosed.nonprivate_centers, counts, known)
    return ExactKnowledge(unit[record], disclosed.nonprivate_centers, own.nonprivate_centers, guess)


def attack_runs(points: Points, box: Box, question: AttackQuestion, seed: int, first: int, count: int) -> Guesses:
    """Attack `count` runs, each with its own noise. The mode of the question's parameters determines the release."""
    params, record = question.params, question.record
    unit = unit_records(points, box)
    others, d = np.delete(unit, record, axis=0), box.d
    guesses, segments = np.full((count, d), np.nan), np.full((count, 2, d), np.nan)
    off = np.full(count, np.nan)
    for row in range(count):
        result = algorithm.fit(points, box, params, rng=np.random.default_rng([seed, first + row]))
        if params.mode == "repaired":
            guesses[row] = guess_noisy(result.release, result.trace[0].epsilon, others)
            continue
        segment, guess = guess_published(result.release, box, others, zones=params.orientation == "past")
        if segment is not None:
            segments[row], off[row] = segment.ends, segment.distance(unit[record])
        if guess is not None:
            guesses[row] = guess
    return Guesses(unit[record], guesses, segments, off)


def guess_noisy(release: ZonesRelease, epsilon: float, others: Points) -> FloatArray:
    """Return the guess (d,) from repaired mode's release, which spends `epsilon` in each iteration, and the others.

    Counts and sums are read from the release; means that were clipped or left out do not reveal them.
    """
    assert release.zone_means is not None
    assert release.noisy_counts_by_iteration is not None
    split = su_split(epsilon, release.centers.shape[1])
    count_scale, sum_scale = 1.0 / split.count, BOX_MIDDLE / split.sum_per_axis
    counts, mean = release.noisy_counts_by_iteration, release.zone_means
    is_exact = (counts >= max(1.0, EMPTY_SCALES * count_scale))[..., None] & (mean > 0.0) & (mean < 1.0)
    sums = np.where(is_exact, (mean - BOX_MIDDLE) * np.maximum(counts, 1.0)[..., None], np.nan)
    # A start made from records is not released, so everything that follows from it is left out.
    first = 0 if release.start is not None else 1
    noisy = PartitionSums(partitions_of(release), counts[first:], sums[first:], count_scale, sum_scale)
    known_counts, known_sums = known_of(noisy.partitions, others)
    # The first point is the corner.
    prior = scipy.stats.qmc.Halton(others.shape[1], scramble=False).random(N_PRIOR + 1)[1:]
    return attacks.expected_record(noisy, known_counts, known_sums - BOX_MIDDLE * known_counts[..., None], prior)


def guess_published(
    release: ZonesRelease, box: Box, others: Points, *, zones: bool
) -> tuple[Segment | None, FloatArray | None]:
    """Return the record's places that the paper's release allows, and the one (d,) that fits the zones.

    With `zones`, the release has zones of the past, which reveal the mean. Either result is None if the release does
    not determine it.
    """
    first = 0 if release.start is not None else 1
    path = ZonePath(
        box.to_unit(release.centers),
        release.path[-1],
        partitions_of(release),
        release.zone_centers[first:],
        release.zone_radii[first:],
    )
    _, final = known_of(path.partition[None], others)
    segment = attacks.ray_segment(path, final[0])
    if segment is None or not zones or not len(path.previous):
        return segment, None
    guess, _ = attacks.zone_record(path, segment, *known_of(path.previous, others))
    return segment, guess


def partitions_of(release: ZonesRelease) -> FloatArray:
    """Return the centers (T, k, d) whose clusters each iteration uses; the first ones only if they are public."""
    before = release.path[:-1]
    return before if release.start is None else np.concatenate([release.start[None], before])


def known_of(partitions: FloatArray, others: Points) -> tuple[FloatArray, FloatArray]:
    """Return the exact counts (T, k) and sums (T, k, d) of the attacker's own records in each partition."""
    k = partitions.shape[1]
    clusters = [cluster_sums(others, assign(others, centers), k) for centers in partitions]
    shape = (len(partitions), k, partitions.shape[2])
    counts = np.array([each.nonprivate_counts for each in clusters]).reshape(shape[:2])
    return counts, np.array([each.nonprivate_sums for each in clusters]).reshape(shape)


def exact_scene(knowledge: ExactKnowledge, unit: Points, words: Words, view: View, record: int) -> Scene:
    """Return the attack on exact centers in three stops. `unit` (n, d) are all records, box units. Curator only."""
    stage = Stage(project(view, words, unit), Clock(1, ("stop",)))
    every, after, at_end = stage.clock.always(), {1: 0, 2: 0}, {2: 0}
    own, exact, guess = knowledge.nonprivate_known_centers, knowledge.nonprivate_centers, knowledge.guess[None, None]
    tail = own[[int(np.linalg.norm(exact - own, axis=1).argmax())]]
    layers = (
        *_ground(stage, unit, words, record),
        stage.marks("center without the record", SECRET, every, own[None], symbol="ring", size=11.0, isolate=False),
        stage.marks("exact center, disclosed", UNPAID, after, exact[None], size=7.0, isolate=False),
        stage.arrows("its move, times its count", WRONG, at_end, tail[None], guess, size=2.0, isolate=False),
        _true(stage, knowledge.nonprivate_record),
        stage.marks("attacker's guess", WRONG, at_end, guess, symbol="cross", size=13.0, isolate=False),
    )
    return _scene(stage, words, layers, EXACT_STOPS, 2, "Exact centers and counts", pace=1200.0)


def runs_scene(guesses: Guesses, unit: Points, words: Words, view: View, record: int, title: str) -> Scene:
    """Return the attack on one run after another: guesses, or the line that must contain the record. Curator only."""
    places, n_runs = guesses.guesses, len(guesses.guesses)
    # One frame per run.
    stage = Stage(project(view, words, unit), Clock(n_runs - 2, ("run",)))
    every, each = stage.clock.always(), {run: run for run in range(n_runs)}
    lines = stage.projection(guesses.segments)  # (R, 2, 2)
    layers = [*_ground(stage, unit, words, record)]
    if np.isfinite(lines).any():
        layers += [
            stage.layer("lines of all runs", Kind.LINES, UNRELEASED, every, lines[None], size=1.0, isolate=False),
            stage.layer("the record is on this line", Kind.LINES, WRONG, each, lines[:, None], size=2.5, isolate=False),
        ]
    if np.isfinite(places).any():
        layers += [
            stage.marks(
                "guesses of all runs", SECRET_NOISE, every, places[None], symbol="ring", size=6.0, isolate=False
            ),
            stage.marks("attacker's guess", WRONG, each, places[:, None], symbol="cross", size=13.0, isolate=False),
        ]
    layers.append(_true(stage, guesses.nonprivate_record))
    frames = tuple(Frame(f"Run {run + 1} of {n_runs}", "Same records, different noise.") for run in range(n_runs))
    return _scene(stage, words, tuple(layers), frames, 0, title, pace=PACE_MS)


def exact_words(knowledge: ExactKnowledge, words: Words, n: int) -> str:
    """Describe how exactly the record is recovered."""
    record, guess, box = knowledge.nonprivate_record, knowledge.guess, words.ends
    worst = float(np.abs(guess - record).max())
    digits = "every digit" if worst == 0 else f"{max(0, math.floor(-math.log10(worst)))} digits"
    off = np.abs(box.from_unit(guess) - box.from_unit(record))
    # Axis of the largest error, which is given in the unit of the feature.
    axis = int((off / box.widths).argmax())
    length = f"{ceiled(float(off[axis]))} {words.own_units[axis]}".strip()
    return (
        f"Exact centers and counts reveal the record to anyone who has the other {n - 1:,}. The guess has {digits} "
        f"right and is off by at most {length}, so it is exact."
    )


def noisy_words(guesses: Guesses, epsilon: float) -> str:
    """Describe the error of the guesses, compared with a guess without any release."""
    errors = guesses.nonprivate_errors
    blind = float(np.linalg.norm(guesses.nonprivate_record - 0.5))
    near = int((errors <= NEAR).sum())
    return (
        f"With noise for ε = {number(epsilon)} in total, the guess is off by {number(float(np.median(errors)))} box "
        f"widths (median of {len(errors)} runs), and by {number(NEAR)} or less in {near} of them. A guess without "
        f"data, the middle of the box, is off by {number(blind)}."
    )


def published_words(guesses: Guesses, words: Words) -> str:
    """Describe in numbers the places that the paper's release leaves for the record."""
    known = np.isfinite(guesses.nonprivate_off)
    if not known.any():
        return "No center in these runs shows the ray of its sum: the centers that changed lie on the box's wall."
    lengths = np.linalg.norm(guesses.segments[known, 1] - guesses.segments[known, 0], axis=1)
    worst = float(guesses.nonprivate_off[known].max())
    on_line = ""
    if words.box.d > 1:
        on_line = (
            f"In {int(known.sum())} of {len(known)} runs the published centers narrow the record down to one line, "
            f"{number(float(np.median(lengths)))} box widths long; the record is on it to within {ceiled(worst)}. "
        )
    guessed = np.isfinite(guesses.nonprivate_errors)
    if not guessed.any():
        return f"{on_line}Noise on the counts never hides the ratios of a center's coordinates."
    middle = float(np.median(guesses.nonprivate_errors[guessed]))
    return (
        f"{on_line}The zones published on the way narrow it down further: the guess is off by {number(middle)} box "
        f"widths (median of {int(guessed.sum())} runs)."
    )


def error_figure(guesses: Guesses) -> Figure:
    """Write the error of a guess next to the error of a blind guess."""
    blind = float(np.linalg.norm(guesses.nonprivate_record - 0.5))
    name = "Middle of the box"
    return Figure("error of the guess", "box widths", "the guess is off by more than", mark=blind, mark_name=name)


def digits_of(guess: FloatArray, record: FloatArray, words: Words) -> list[dict[str, str]]:
    """Return a row for each feature: the true value, the guess, and its error, in its own unit, with all digits."""
    true, guessed = words.ends.from_unit(record), words.ends.from_unit(guess)
    units = [f" ({unit})" if unit else "" for unit in words.own_units]
    return [
        {
            "Feature": f"{name}{unit}",
            "True value": repr(float(a)),
            "Guess": "none" if not math.isfinite(b) else repr(float(b)),
            "Off by": "" if not math.isfinite(b) else number(abs(float(b) - float(a))),
        }
        for name, unit, a, b in zip(words.feature_names, units, true, guessed, strict=True)
    ]


def picked_row(mark: int, n: int, record: int) -> int | None:
    """Return the row of the record whose mark was clicked, None for a record that is not drawn."""
    rows = _drawn_rows(n, record)
    return int(rows[mark]) if 0 <= mark < len(rows) else None


def _drawn_rows(n: int, record: int) -> Labels:
    rows = ground.sample(n)
    return np.asarray(rows[rows != record])


def _ground(stage: Stage, unit: Points, words: Words, record: int) -> tuple[Layer, ...]:
    rows = _drawn_rows(len(unit), record)
    known = ground.drawn_records(
        unit[rows],
        np.full((1, len(rows)), ground.NO_GROUP, dtype=np.uint8),
        stage.clock.always(),
        stage,
        name="records that the attacker has",
        total=len(unit) - 1,
        isolate=False,
        pick=PICK,
    )
    return (*ground.box_layer(stage, public=words.box_public), known)


def _true(stage: Stage, record: FloatArray) -> Layer:
    place = record[None, None]
    return stage.marks("the record", SECRET, stage.clock.always(), place, symbol="ring", size=22.0, isolate=False)


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
        alt=f"{words.title}: one record, all others, and the guess from a release by an attacker who has the others.",
        caption="Curator view: not a release. The attacker has all gray records except the ringed one.",
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
