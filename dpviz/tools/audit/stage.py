"""The Audit page's stage: two numbers, two stacks of runs that grow, and one sentence of what they show.

Only runs are counted that chose neither the statistic nor its threshold, so that the bound holds at any number of them
that is fixed beforehand. While runs are played the numbers are those of the runs so far; on the way a promise is called
broken only where all runs together break it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpviz.audit import CONFIDENCE, VERDICT_CONFIDENCE, least_epsilons
from dpviz.core import Confidential, FloatArray
from dpviz.plots import Layer, Role
from dpviz.stories.panel import ceiled, floored
from dpviz.stories.wording import MOST_CHARACTERS, MOST_WORDS
from dpviz.tools.audit.pictures import TAIL, event_words, percent, roc
from dpviz.tools.audit.runs import Audited

COLUMNS = 21  # of dots, from one side of the picture to the other; ours
LEAST_COLUMNS = 5  # of them on each side of the threshold, so that words fit; ours
ONE_BY_ONE = 24  # runs of each world that are played one at a time; ours
GROWTH = 12  # then each step plays a twelfth of the runs so far; ours
MOST_POINTS = 60  # of a line in the small ROC chart; ours
NOTHING = "nothing"  # is promised
HALVES = "Half of the runs of each world choose the attack; the other half test it, and only those are counted."
LEDE = "Two worlds differ in one person: you. An attacker sees one result and says which world it came from."
WORLDS = {False: ("With you", "Without you"), True: ("With your record", "With another one")}
SAYS = {False: ("you", "not you"), True: ("yours", "another")}
STARTED = "The runs have begun. Can an attacker tell the two worlds apart?"
STOPPED = "Stopped: nothing is shown of runs that are not complete."
KEPT = "An attack can break a promise; only a proof can keep it."
REPAIRED = "Its repaired version, which the {} page shows, is proved."
IT = "It"  # a method that a sentence has no room to name

IntArray: TypeAlias = NDArray[np.intp]
Tone: TypeAlias = Literal["broken", "open", "kept"]


@dataclass(frozen=True, slots=True)
class PlayedRuns:
    """What the first runs of both worlds show."""

    n: int  # runs of each world
    right: int  # times the attacker's word was right, in the world where it is likely
    wrong: int  # times it was wrong, in the other one
    leak: float  # epsilon at least, at the audit's confidence
    leak_text: str
    most: float  # epsilon that so many runs can show
    finding: str
    tone: Tone
    columns: tuple[tuple[int, ...], tuple[int, ...]]  # dots (COLUMNS,) in each world


@dataclass(frozen=True, slots=True)
class RocLine:
    """One line of the small chart behind "See the attack"."""

    name: str
    kind: Literal["attack", "limit", "best", "coin"]
    points: tuple[tuple[float, float], ...]  # false alarms and right alarms, in [0, 1]


@dataclass(frozen=True, slots=True, eq=False)
class AuditStage(Confidential):
    """Everything that stands on the stage of one finished audit; of real records it is the curator's."""

    promised: float | None  # epsilon; None: no limit
    promised_text: str
    note: str  # what else is promised: a delta
    worlds: tuple[str, str]  # names, the upper one first
    says: str  # what the attacker says beyond the threshold
    first_is_likely: bool  # whether that is right in the upper world
    edge: int  # the first column beyond the threshold; COLUMNS without one
    played: tuple[PlayedRuns, ...]  # the last one has all runs
    verdict: str
    words: str  # after the verdict
    title: str  # of what is behind "See the attack"
    paragraphs: tuple[str, ...]
    lines: tuple[RocLine, ...]


def stage_of(audited: Audited, who: str = IT, repaired: str = "") -> AuditStage:
    """Return what stands on the stage of a finished audit of `who`; `repaired` names the page of its proved version."""
    bound, limit = audited.bound, audited.limit
    event = bound.events[0] if bound.events else None
    likely = event is None or event.first_is_likely
    columns, edge = _columns(audited)
    # The numbers of runs of each world (m,) at which play stops: one by one, then ever more at once.
    stops = list(range(1, min(ONE_BY_ONE, bound.n_estimating) + 1))
    while stops[-1] < bound.n_estimating:
        stops.append(min(bound.n_estimating, stops[-1] + max(2, stops[-1] // GROWTH)))
    marks = np.array(stops)
    # How many of the first runs lie in each column, (m, COLUMNS) for each world: those between two stops, added up.
    first = np.searchsorted(marks, np.arange(marks[-1]), side="right")  # the stop that counts a run first
    size = len(marks) * COLUMNS
    places = [first * COLUMNS + each[: marks[-1]] for each in columns]
    counts = [np.bincount(each, minlength=size).reshape(-1, COLUMNS).cumsum(axis=0) for each in places]
    hits = [each[:, edge:].sum(axis=1) for each in counts]
    right, wrong = hits if likely else hits[::-1]
    level = bound.options.level()
    leaks = np.maximum(least_epsilons(right, wrong, marks, level, limit.delta), 0.0)
    most = np.maximum(least_epsilons(marks, 0, marks, level, limit.delta), 0.0)
    sure = least_epsilons(right, wrong, marks, bound.options.level(VERDICT_CONFIDENCE), limit.delta)
    leaks[-1], most[-1] = bound.epsilon_lower, bound.ceiling  # of all events, each with its share of the error
    played = []
    for i, n in enumerate(marks.tolist()):
        is_last = i == len(marks) - 1
        leak = float(leaks[i])
        if is_last:
            finding, tone = finding_of(audited, who), tone_of(audited)
        elif audited.is_violated and sure[i] > limit.epsilon:
            finding, tone = broken(limit.epsilon, leak, who), "broken"
        else:
            finding, tone = f"{2 * n:,} runs so far: can an attacker tell the two worlds apart?", "open"
        dots = tuple(tuple(each[i].tolist()) for each in counts)
        played.append(
            PlayedRuns(
                n, int(right[i]), int(wrong[i]), leak, floored(leak), float(most[i]), finding, tone, (dots[0], dots[1])
            )
        )
    verdict, words = verdict_of(audited, repaired)
    promised = math.isfinite(limit.epsilon)
    return AuditStage(
        promised=limit.epsilon if promised else None,
        promised_text=ceiled(limit.epsilon) if promised else NOTHING,
        note=f"δ = {ceiled(limit.delta)}" if limit.delta > 0 else "",
        worlds=WORLDS[audited.moves],
        says=SAYS[audited.moves][not likely],
        first_is_likely=likely,
        edge=edge,
        played=tuple(played),
        verdict=verdict,
        words=words,
        title=_title(audited),
        paragraphs=_paragraphs(audited),
        lines=_lines(audited),
    )


# Words.


def tone_of(audited: Audited) -> Tone:
    """Return how the numbers are shown: "open" where the runs decide nothing."""
    if audited.is_violated:
        return "broken"
    return "open" if audited.is_undecided or _is_doubtful(audited) else "kept"


def finding_of(audited: Audited, who: str = IT) -> str:
    """Return what all runs show, in at most 68 characters; never that something is verified."""
    bound, limit = audited.bound, audited.limit.epsilon
    least, promised = floored(bound.epsilon_lower), ceiled(limit)
    if math.isinf(limit):
        return f"Nothing is promised here, and at least {least} leaks."
    if audited.is_violated:
        return broken(limit, bound.epsilon_lower, who)
    if audited.is_undecided:
        runs = f"{2 * bound.n_estimating:,} runs"
        # At the verdict's confidence where the bound's own could be above.
        most = bound.ceiling if bound.ceiling <= audited.limit.epsilon else bound.ceiling_at(VERDICT_CONFIDENCE)
        return f"Undecided: {runs} can show at most {ceiled(most)}, and it promised {promised}."
    if _is_doubtful(audited):
        return f"Undecided: it promised {promised}, and these runs point to {least}."
    measured = estimate(audited)
    if 0.0 < measured <= limit:
        return f"Kept so far: this attack measures about {measured:.2g} of the promised {promised}."
    if bound.epsilon_lower > 0.0 and least != "0":
        return _named(who, f"promised {promised}; this attack shows at least {least}.")
    return _named(who, f"promised {promised}; this attack cannot surely tell the worlds apart.")


def broken(limit: float, leak: float, who: str = IT) -> str:
    """Return the finding of a promise that the runs refute."""
    return _named(who, f"promised {ceiled(limit)}, but leaks at least {floored(leak)}: broken.")


def _named(who: str, words: str) -> str:
    """Begin a finding with the method's name where there is room for it."""
    named = f"{who} {words}"
    is_short = len(named) <= MOST_CHARACTERS and len(named.split()) <= MOST_WORDS
    return named if is_short else f"{IT} {words}"


def verdict_of(audited: Audited, repaired: str = "") -> tuple[str, str]:
    """Return what is claimed and proved, and what the runs can say of it."""
    limit, claimed = audited.limit.epsilon, audited.claimed
    if audited.is_proved:
        if math.isinf(claimed):
            verdict = f"Claimed nothing, proved {ceiled(limit)}."
        elif ceiled(claimed) == ceiled(limit):
            verdict = "Proved."
        else:
            verdict = f"Claimed {ceiled(claimed)}, proved {ceiled(limit)}."
        if audited.is_violated:
            return verdict, "The runs contradict the proof: one of the two is wrong."
        return verdict, "These runs alone could not show it." if audited.is_undecided else KEPT
    if math.isinf(limit):
        return "Nothing is claimed, and nothing is proved.", "There is no promise to break."
    verdict = f"ε = {ceiled(limit)} is only claimed: nobody has proved it."
    if repaired:
        return verdict, REPAIRED.format(repaired)
    if audited.is_violated:
        return verdict, "One attack is enough to break a promise."
    return verdict, "More runs might settle it." if tone_of(audited) == "open" else KEPT


def estimate(audited: Audited) -> float:
    """Return the epsilon that the counts of the strongest event point to, no bound: inf where it never errs."""
    bound = audited.bound
    if not bound.events:
        return 0.0
    event, n = bound.events[0], bound.n_estimating
    rate, other = event.hits / n - audited.limit.delta, event.other_hits / n
    if rate <= 0.0:
        return 0.0
    return math.log(rate / other) if other else math.inf


def _is_doubtful(audited: Audited) -> bool:
    """Return whether the bound is above the promise, and not surely enough to call that broken."""
    limit = audited.limit.epsilon
    return not audited.is_violated and math.isfinite(limit) and audited.bound.epsilon_lower > limit


def _title(audited: Audited) -> str:
    if math.isinf(audited.limit.epsilon):
        return "Nothing is promised, so nothing is forbidden"
    if audited.is_violated:
        return "The attack goes where the promise forbids"
    if audited.is_undecided:
        return "So few runs could not break this promise"
    return "Too close to call" if _is_doubtful(audited) else "The attack stays where the promise allows"


def _paragraphs(audited: Audited) -> tuple[str, ...]:
    """Return what stands under the small chart: the pair, the attack with its counts, and how sure the numbers are."""
    bound, worlds = audited.bound, [world[0].lower() + world[1:] for world in WORLDS[audited.moves]]
    told = "No number that is released differs between the two worlds."
    if bound.events:
        event, n = bound.events[0], bound.n_estimating
        says = SAYS[audited.moves][not event.first_is_likely]
        here, there = worlds if event.first_is_likely else worlds[::-1]
        told = (
            f"The attacker says “{says}” where this is so: {event_words(event)}. That is right in {event.hits:,} of "
            f"{n:,} runs {here}, and wrong in {event.other_hits:,} of {n:,} {there}."
        )
    sure = (
        f"With {percent(CONFIDENCE)} confidence the leak is at least {floored(bound.epsilon_lower)}; so many runs can "
        f"show at most {ceiled(bound.ceiling)}. A promise counts as broken at {percent(VERDICT_CONFIDENCE)} confidence."
    )
    return audited.pair, told, sure, HALVES


# Dots.


def _columns(audited: Audited) -> tuple[tuple[IntArray, IntArray], int]:
    """Return each run's column (n,) in both worlds, and the first column beyond the threshold.

    The threshold is an edge between two columns, and what the attacker looks for is on its right.
    """
    bound = audited.bound
    event = bound.events[0] if bound.events else None
    sign = 1.0 if event is None or event.above else -1.0
    worlds = [sign * values for values in (bound.scores, bound.other_scores)]
    values = np.concatenate(worlds)
    finite = values[np.isfinite(values)]
    low, high = (float(end) for end in np.percentile(finite if len(finite) else np.zeros(1), [TAIL, 100.0 - TAIL]))
    threshold = sign * event.threshold if event is not None else high
    low, high = min(low, threshold), max(high, threshold)
    span = high - low or 1.0
    edge = round(COLUMNS * (threshold - low) / span)
    edge = COLUMNS if event is None else min(max(edge, LEAST_COLUMNS), COLUMNS - LEAST_COLUMNS)
    right = COLUMNS - edge
    width = max((threshold - low) / edge, (high - threshold) / right if right else 0.0) or span
    columns = []
    for each in worlds:  # those at the ends hold what lies beyond, too
        with np.errstate(over="ignore"):
            at = edge + np.floor(np.clip((each - threshold) / width, -COLUMNS, COLUMNS)).astype(np.intp)
        lesser = np.clip(at, 0, max(edge - 1, 0))
        columns.append(np.where(each > threshold, np.clip(at, edge, COLUMNS - 1), lesser))
    return (columns[0], columns[1]), edge


# The small chart behind "See the attack".


def _lines(audited: Audited) -> tuple[RocLine, ...]:
    """Return the lines of `pictures.roc` with few points each: the attack comes last."""
    kinds: dict[str, Literal["attack", "limit", "best", "coin"]] = {
        "A coin": "coin",
        "The attack": "attack",
        "Best attack on this noise": "best",
    }
    layers: Sequence[Layer] = [layer for layer in roc(audited).layers if "xy" in layer.arrays]
    lines = [
        RocLine(layer.name, kinds.get(layer.name, "limit"), _points(layer.arrays["xy"][0, 0]))
        for layer in layers
        if not (layer.role is Role.PUBLIC and not math.isfinite(audited.limit.epsilon))
    ]
    return tuple(lines)


def _points(line: FloatArray) -> tuple[tuple[float, float], ...]:
    """Return a line (m, 2) without points between two others on one straight line, and no more than are seen."""
    line = np.round(line, 4)
    step = np.diff(line, axis=0)
    line = line[np.concatenate([[True], (step != 0.0).any(axis=1)])]
    before, after = line[1:-1] - line[:-2], line[2:] - line[1:-1]
    turns = np.abs(before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0]) > 1e-9
    line = line[np.concatenate([[True], turns, [True]])] if len(line) > 2 else line
    keep = np.unique(np.linspace(0, len(line) - 1, MOST_POINTS).astype(np.intp))
    return tuple((float(x), float(y)) for x, y in line[keep])
