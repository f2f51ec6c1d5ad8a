"""Pictures and words of an audit: two worlds side by side, the attack against its limit, the stage, and the reading.

For real records, everything here is curator only, because an audit examines the information in a release without noise.
Statistics and events have names that a reader understands: "first zone center, x", not "zone_centers [0, 0]".

The stage has two numbers, two growing stacks of runs, and one sentence about their result. The counts leave out the
runs that chose the statistic or its threshold, so the bound holds at any number of runs that is fixed in advance.
During play, the numbers are for the runs so far, but a promise is called broken only if all runs together break it.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpviz import attacks
from dpviz.audit import CONFIDENCE, VERDICT_CONFIDENCE, EpsilonBound, least_epsilons
from dpviz.audit.bound import AuditEvent, allowed_hits, chances
from dpviz.core import Confidential, FloatArray, immutable, immutable_value
from dpviz.plots import Audience, Axis, Ink, Kind, Layer, Plot, Role, Scene
from dpviz.stories.charts import roc_scene
from dpviz.stories.glossary import meant
from dpviz.stories.panel import Fact, Sentence, ceiled, chance_limit, floored, number
from dpviz.stories.recipe import Calls, Data
from dpviz.stories.teaching import BUDGET, KAIROUZ, SYMBOLS, Formula, attackers_share, read_texts, tex
from dpviz.stories.wording import MOST_CHARACTERS, MOST_WORDS
from dpviz.tools.audit.runs import Audited, AuditQuestion

BINS = 48
# Percent of the runs beyond each end of the picture.
TAIL = 0.5
WORLDS = ("First world", "Second world")
FILL = 0.45
HIDDEN = "Measured on real records: only the curator sees it."
SECRET = "The records of both worlds, and how often each event came up in their runs."
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
# Axis names of the synthetic pairs, whose features have no names.
_AXES = "xyz"
# Arrays whose columns are coordinates.
_PLACES = ("centers", "places", "points", "parents", "means", "directions")
_ENTRY = re.compile(r"(?P<path>[\w.]+) \[(?P<row>\d+)(?:, (?P<column>\d+))?\]")
# Names for which removing an "s" or an underscore is not enough.
_NAMES = {"n_blocks": "number of blocks", "value": "value", "child_counts": "noisy counts of a cut's sides"}
_LEARNED = {
    "learned direction (exact)": "weighted sum of all released numbers",
    "learned direction (shrunk)": "weighted sum of all released numbers",
    "learned sum, cut off": "weighted sum of the informative released numbers, each cut off",
}
_SUMMARIES = {"sum": "sum of all", "least": "smallest of the", "largest": "largest of the", "size": "how many"}


def percent(confidence: float) -> str:
    """Write a confidence: 0.9999 as "99.99 %"."""
    return f"{100.0 * confidence:.10g} %"


TERMS = (
    ("World", "One of two data sets that differ in one record. The method runs many times on each."),
    ("Statistic", "A number computed from published values. Half of the runs choose the most informative statistic."),
    (
        "Event",
        "The statistic is beyond a threshold. The other half of the runs count how often this happens in each world.",
    ),
    (
        "Measured ε",
        f"The smallest ε that fits the counts, with {percent(CONFIDENCE)} confidence. The true ε may be much larger.",
    ),
    *meant("violation"),
    ("Undecided", "With so few runs, no result could have refuted the promise."),
    ("Ceiling", "The largest ε that this number of runs can show. Worlds that never produce the same result reach it."),
)


def sentence(audited: Audited) -> Sentence:
    """Return the result of the runs, with its confidence. It never claims that anything is verified."""
    bound, limit = audited.bound, audited.limit.epsilon
    runs = f"{bound.n_runs:,} runs of each world"
    least, sure = f"ε is at least {floored(bound.epsilon_lower)}", f"{percent(bound.options.confidence)} confidence"
    more = " More runs might show more." if bound.at_ceiling else ""
    kind = "proved" if audited.is_proved else "claimed"
    if math.isinf(limit):
        words = f"No limit is claimed here, and {least}: {runs}, {sure}.{more}"
    elif audited.is_violated:
        words = f"Violation found: {least} ({kind}: {ceiled(limit)}). {runs}: the figure has {sure}, "
        words += f"the verdict {percent(VERDICT_CONFIDENCE)}.{more}"
    elif audited.is_undecided:
        most, surely = bound.ceiling, ""
        # The bound could be above the limit, but the verdict could not.
        if most > limit:
            most, surely = bound.ceiling_at(VERDICT_CONFIDENCE), f" with {percent(VERDICT_CONFIDENCE)} confidence"
        words = f"Undecided: {bound.n_runs:,} runs can show at most {ceiled(most)}{surely}, but the promise is "
        words += f"{ceiled(limit)} ({kind}). They show that {least}, with {sure}."
    else:
        words = f"No violation found in {runs}: {least} with {sure} ({kind}: {ceiled(limit)}).{more}"
    return Sentence(words, HIDDEN if audited.is_own else words)


def facts(audited: Audited) -> tuple[Fact, ...]:
    """Return the counts behind the sentence."""
    bound, public = audited.bound, not audited.is_own
    sure = f"Lower end at {percent(bound.options.confidence)} confidence."
    kind = "Proved" if audited.is_proved else "Claimed"
    numbers = [
        Fact("Measured ε, at least", floored(bound.epsilon_lower), sure, public),
        # For ε per unit of distance, the limit for real records reveals how far a record moved.
        Fact(f"{kind} ε", ceiled(audited.limit.epsilon), "For these two data sets.", public),
        Fact("Largest ε that can be shown", ceiled(bound.ceiling), "With this many runs, for any method.", True),
    ]
    if bound.events:
        event = bound.events[0]
        likely, other = WORLDS if event.first_is_likely else WORLDS[::-1]
        for world, hits in ((likely, event.hits), (other, event.other_hits)):
            value = f"{hits:,} of {bound.n_estimating:,}"
            help_ = f"The event: {event_words(event)}. Counted in runs that did not choose it."
            numbers.append(Fact(f"Event in the {world.lower()}", value, help_, public))
    return tuple(numbers)


def _ends(values: FloatArray) -> tuple[float, float]:
    """Return ends between which nearly all runs of both worlds lie."""
    finite = values[np.isfinite(values)]
    low, high = np.percentile(finite if len(finite) else np.zeros(1), [TAIL, 100.0 - TAIL])
    return float(low), float(high)


def histogram(audited: Audited) -> Scene:
    """Return a histogram of the most telling statistic in both worlds, with the event's threshold."""
    bound, audience = audited.bound, Audience.CURATOR if audited.is_own else Audience.NOISE
    one, two = bound.scores, bound.other_scores
    event = bound.events[0] if bound.events else None
    values = np.concatenate([one, two])
    low, high = _ends(values)
    if event is not None:
        low, high = min(low, event.threshold), max(high, event.threshold)
    pad = 0.05 * (high - low) or max(1e-9, 0.05 * abs(high))
    low, high = low - pad, high + pad
    edges = np.linspace(low, high, BINS + 1)
    shares = [np.histogram(np.clip(values, low, high), edges)[0] / max(len(values), 1) for values in (one, two)]
    tallest = float(max(share.max() for share in shares)) or 1.0
    layers = []
    for i, (world, share) in enumerate(zip(WORLDS, shares, strict=True)):
        # Outline (2 m, 3) as x, low, high.
        x, tops = np.repeat(edges, 2)[1:-1], np.repeat(share, 2)
        outline = np.stack([x, np.zeros(len(x)), tops], axis=1)[None, None]
        layers.append(Layer.from_arrays(world, Kind.BANDS, Ink(Role.CLUSTER, audience), outline, fill=FILL, hue=i))
    if event is not None:
        ink = Ink(Role.VIOLATION if audited.is_violated else Role.REFERENCE, audience)
        layers.append(Layer.line("Threshold", ink, [event.threshold] * 2, [0.0, 1.1 * tallest], size=2.5))
    words = "" if event is None else f" The event: {event_words(event)}."
    name = "statistic" if event is None else statistic_words(event.statistic)
    return Plot(
        title="The two worlds",
        alt=f"Histograms of {name} in the two worlds, over {bound.n_estimating:,} runs each. "
        + sentence(audited).curator,
        caption=f"{audited.pair}{words} Bars at the ends include everything beyond them.",
        public_caption=HIDDEN if audited.is_own else "",
        x=Axis(name if not audited.is_own else "statistic", view=(low, high)),
        y=Axis("share of the runs", view=(0.0, 1.1 * tallest)),
        layers=tuple(layers),
        axes_public=not audited.is_own,
    )


def roc(audited: Audited) -> Scene:
    """Return the ROC chart of the attack with the chosen statistic, the limit, and the limit from the noise itself."""
    bound = audited.bound
    scores = [bound.scores, bound.other_scores]
    if bound.events:
        event = bound.events[0]
        scores = scores if event.first_is_likely else scores[::-1]
        scores = scores if event.above else [-values for values in scores]
    kind = "proved" if audited.is_proved else "claimed"
    scene = roc_scene(
        attacks.empirical_roc(scores[0], scores[1]),
        audited.limit,
        title="The attack against the limit",
        alt="True alarms against false alarms of an attack on the statistic. " + sentence(audited).curator,
        caption=f"The attack guesses by a threshold. Above the {kind} line the promise would be broken.",
        name="The attack",
        limit=f"What is {kind}",
        best=audited.best,
    )
    if not audited.is_own:
        return scene
    return replace(scene, layers=tuple(replace(layer, audience=Audience.CURATOR) for layer in scene.layers))


def statistic_words(statistic: str) -> str:
    """Name a statistic of `dpviz.audit.statistics` in words, counting from 1."""
    if statistic in _LEARNED:
        return _LEARNED[statistic]
    if " less " in statistic:
        left, right = statistic.split(" less ")
        return f"{statistic_words(left)}, minus {statistic_words(right)}"
    if match := re.fullmatch(r"(sum|least|largest|size) of ([\w.]+)", statistic):
        return f"{_SUMMARIES[match[1]]} {_path(match[2])}"
    if match := re.fullmatch(r"direction of center (\d+), axis (\d+)", statistic):
        return f"direction of the {_ordinal(int(match[1]))} center from the box's corner, {_axis(int(match[2]))}"
    if match := re.fullmatch(r"nearness to a ratio of the (first|second) world", statistic):
        return f"minus the distance of a center's ratio of coordinates to one that only the {match[1]} world showed"
    if match := re.fullmatch(r"(\d+) is in ([\w.]+)", statistic):
        return f"whether {_path(match[2])} holds number {int(match[1]) + 1} (1) or not (0)"
    match = _ENTRY.fullmatch(statistic)
    if match is None:
        return _path(statistic)
    path, column, words = match["path"], match["column"], _path(match["path"])
    if words.endswith("s") and not words.endswith("ss") and path.split(".")[-1] not in _NAMES:
        # One entry of "noisy_counts" is a "noisy count".
        words = words[:-1]
    first = f"{_ordinal(int(match['row']))} {words}"
    if column is None:
        return first
    return f"{first}, {_axis(int(column)) if path.endswith(_PLACES) else f'{_ordinal(int(column))} entry'}"


def event_words(event: AuditEvent) -> str:
    """Describe an event: "first zone center, x above 0.5"."""
    return f"{statistic_words(event.statistic)} {'above' if event.above else 'below'} {number(event.threshold)}"


def _path(path: str) -> str:
    last = path.split(".")[-1]
    return _NAMES.get(last, last.replace("_", " "))


def _ordinal(index: int) -> str:
    return _ORDINALS[index] if index < len(_ORDINALS) else f"number {index + 1}"


def _axis(index: int) -> str:
    return _AXES[index] if index < len(_AXES) else f"feature {index + 1}"


# -- The stage --


# Columns of dots across the picture. Our choice.
COLUMNS = 21
# Minimum number of columns on each side of the threshold, so that the words fit. Our choice.
LEAST_COLUMNS = 5
# Share of a world's runs in one column beyond which columns are ranks. Our choice.
CROWD = 0.5
# Steps of this share of a circle never meet.
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
# Runs of each world that are played one at a time. Our choice.
ONE_BY_ONE = 24
# After that, each step plays a twelfth of the runs so far. Our choice.
GROWTH = 12
# Maximum number of points of a line in the small ROC chart. Our choice.
MOST_POINTS = 60
# Promise of a method that promises nothing.
NOTHING = "nothing"
HALVES = "Half of the runs of each world choose the attack; the other half test it, and only those are counted."
LEDE = "Two worlds differ in one person: you. An attacker sees one result, a dot, and guesses which world it came from."
SIDES = {False: ("With you", "Without you"), True: ("With your record", "With a different one")}
SAYS = {False: ("you", "not you"), True: ("yours", "another")}
STARTED = "The runs have begun. Can an attacker tell the two worlds apart?"
STOPPED = "Stopped: incomplete runs show nothing."
KEPT = "An attack can break a promise; only a proof can keep it."
# Stands for a method if a sentence has no room for its name.
IT = "It"

IntArray: TypeAlias = NDArray[np.intp]
Tone: TypeAlias = Literal["broken", "open", "kept"]


@immutable_value
class PlayedRuns:
    """Result of the first runs of both worlds."""

    # Runs of each world.
    n: int
    # Number of times the attacker's word was right, in the world where the event is likely.
    right: int
    # Number of times the attacker's word was wrong, in the opposite world.
    wrong: int
    # Largest number of right words that the promise allows for so few wrong ones.
    allowed: int
    # Lower bound on epsilon at the audit's confidence.
    leak: float
    leak_text: str
    # Largest epsilon that this number of runs can show.
    most: float
    finding: str
    tone: Tone
    # Dots in each column (COLUMNS,), for each world.
    columns: tuple[tuple[int, ...], tuple[int, ...]]


@immutable_value
class RocLine:
    """One line of the small chart behind "See the attack"."""

    name: str
    kind: Literal["attack", "limit", "best", "coin"]
    # False alarms and true alarms, in [0, 1].
    points: tuple[tuple[float, float], ...]


@immutable
class AuditStage(Confidential):
    """Contents of the stage for one finished audit. For real records, curator only."""

    # Promised epsilon; None: no limit.
    promised: float | None
    promised_text: str
    # Rest of the promise: a delta.
    note: str
    # Names of the worlds, the upper world first.
    worlds: tuple[str, str]
    # The attacker's answer beyond the threshold.
    says: str
    # Whether that word is right in the upper world.
    first_is_likely: bool
    # First column beyond the threshold; COLUMNS if there is no threshold.
    edge: int
    # Numbers at each stop of the play. The last entry has all runs.
    played: tuple[PlayedRuns, ...]
    verdict: str
    # Words after the verdict.
    words: str
    # Title of the part behind "See the attack".
    title: str
    paragraphs: tuple[str, ...]
    lines: tuple[RocLine, ...]


def stage_of(audited: Audited, who: str = IT, repaired: str = "") -> AuditStage:
    """Return the stage of a finished audit of `who`; `repaired` names the page of the method's proved version."""
    bound, limit = audited.bound, audited.limit
    event = bound.events[0] if bound.events else None
    likely = event is None or event.first_is_likely
    columns, edge = _columns(audited)
    # Numbers of runs of each world (m,) at which play stops: first one run at a time, then more and more at once.
    stops = list(range(1, min(ONE_BY_ONE, bound.n_estimating) + 1))
    while stops[-1] < bound.n_estimating:
        stops.append(min(bound.n_estimating, stops[-1] + max(2, stops[-1] // GROWTH)))
    marks = np.array(stops)
    # Number of the first runs in each column, (m, COLUMNS) for each world: a running sum of the runs between stops.
    # Stop at which a run is first counted.
    first = np.searchsorted(marks, np.arange(marks[-1]), side="right")
    size = len(marks) * COLUMNS
    places = [first * COLUMNS + each[: marks[-1]] for each in columns]
    counts = [np.bincount(each, minlength=size).reshape(-1, COLUMNS).cumsum(axis=0) for each in places]
    hits = [each[:, edge:].sum(axis=1) for each in counts]
    right, wrong = hits if likely else hits[::-1]
    level = bound.options.level()
    leaks = np.maximum(least_epsilons(right, wrong, marks, level, limit.delta), 0.0)
    most = np.maximum(least_epsilons(marks, 0, marks, level, limit.delta), 0.0)
    allowed = allowed_hits(wrong, marks, bound.options.level(VERDICT_CONFIDENCE), limit.epsilon, limit.delta)
    # The last values are for all events, each with its share of the error.
    leaks[-1], most[-1] = bound.epsilon_lower, bound.ceiling
    played = []
    for i, n in enumerate(marks.tolist()):
        is_last = i == len(marks) - 1
        leak = float(leaks[i])
        if is_last:
            finding, tone = finding_of(audited, who), tone_of(audited)
        elif audited.is_violated and right[i] > allowed[i]:
            finding, tone = broken(limit.epsilon, leak, who), "broken"
        elif leak > limit.epsilon:
            finding, tone = doubtful(limit.epsilon, leak), "open"
        else:
            finding, tone = f"{2 * n:,} runs so far: can an attacker tell the two worlds apart?", "open"
        dots = tuple(tuple(each[i].tolist()) for each in counts)
        played.append(
            PlayedRuns(
                n,
                int(right[i]),
                int(wrong[i]),
                int(allowed[i]),
                leak,
                floored(leak),
                float(most[i]),
                finding,
                tone,
                (dots[0], dots[1]),
            )
        )
    verdict, words = verdict_of(audited, repaired)
    promised = math.isfinite(limit.epsilon)
    return AuditStage(
        promised=limit.epsilon if promised else None,
        promised_text=ceiled(limit.epsilon) if promised else NOTHING,
        note=f"δ = {chance_limit(limit.delta)}" if limit.delta > 0 else "",
        worlds=SIDES[audited.moves],
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
    """Return the tone of the numbers: "open" if the runs decide nothing."""
    if audited.is_violated:
        return "broken"
    return "open" if audited.is_undecided or _is_doubtful(audited) else "kept"


def finding_of(audited: Audited, who: str = IT) -> str:
    """Return the result of all runs, in at most 68 characters. It never claims that anything is verified."""
    bound, limit = audited.bound, audited.limit.epsilon
    least, promised = floored(bound.epsilon_lower), ceiled(limit)
    if math.isinf(limit):
        return f"Nothing is promised here, and the leak is at least {least}."
    if audited.is_violated:
        return broken(limit, bound.epsilon_lower, who)
    if _is_doubtful(audited):
        return doubtful(limit, bound.epsilon_lower)
    if audited.is_undecided:
        runs = f"{2 * bound.n_estimating:,} runs"
        # A figure could be above the limit, but the verdict, which has more confidence, could not.
        if bound.ceiling > limit:
            return f"Undecided: the promise is {promised}; {runs} are too few to break it."
        return f"Undecided: the promise is {promised}; {runs} can show at most {ceiled(bound.ceiling)}."
    if least != "0":
        return f"Kept so far: the promise is {promised}; these runs show at least {least}."
    return _named(who, f"promised {promised}; this attack can hardly tell the worlds apart.")


def broken(limit: float, leak: float, who: str = IT) -> str:
    """Return the finding of a promise that the runs refute."""
    return _named(who, f"promised {ceiled(limit)}, but leaks at least {floored(leak)}: broken.")


def doubtful(limit: float, leak: float) -> str:
    """Return the finding of a bound above the promise that is too unsure to call the promise broken."""
    return f"Undecided: the promise is {ceiled(limit)}, and these runs point to {floored(leak)}."


def _named(who: str, words: str) -> str:
    """Begin a finding with the method's name if it fits."""
    named = f"{who} {words}"
    is_short = len(named) <= MOST_CHARACTERS and len(named.split()) <= MOST_WORDS
    return named if is_short else f"{IT} {words}"


def verdict_of(audited: Audited, repaired: str = "") -> tuple[str, str]:
    """Return the claim and the proof in words, and the contribution of the runs."""
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
    fate = "is claimed, and these runs disprove it" if audited.is_violated else "is only claimed: no one has proved it"
    verdict = f"ε = {ceiled(limit)} {fate}."
    if repaired:
        return verdict, f"Its repaired version, which the {repaired} page shows, is proved."
    if audited.is_violated:
        return verdict, "One attack is enough to break a promise."
    return verdict, "More runs might settle it." if tone_of(audited) == "open" else KEPT


def _is_doubtful(audited: Audited) -> bool:
    """Return True if the bound is above the promise, but not surely enough to call the promise broken."""
    limit = audited.limit.epsilon
    return not audited.is_violated and math.isfinite(limit) and audited.bound.epsilon_lower > limit


def _title(audited: Audited) -> str:
    if math.isinf(audited.limit.epsilon):
        return "Nothing is promised, so nothing is forbidden"
    if audited.is_violated:
        return "The attack goes where the promise forbids"
    if audited.is_undecided:
        return "Too few runs to break this promise"
    return "Too close to call" if _is_doubtful(audited) else "The attack stays where the promise allows"


def _paragraphs(audited: Audited) -> tuple[str, ...]:
    """Return the text under the small chart: the pair, the attack with its counts, and the confidence."""
    bound, worlds = audited.bound, [world[0].lower() + world[1:] for world in SIDES[audited.moves]]
    counts = "No number that is released differs between the two worlds."
    if bound.events:
        event, n = bound.events[0], bound.n_estimating
        says = SAYS[audited.moves][not event.first_is_likely]
        here, there = worlds if event.first_is_likely else worlds[::-1]
        counts = (
            f"The attacker says “{says}” in this case: {event_words(event)}. That is right in {event.hits:,} of "
            f"{n:,} runs {here}, and wrong in {event.other_hits:,} of {n:,} {there}."
        )
    sure = (
        f"With {percent(CONFIDENCE)} confidence the leak is at least {floored(bound.epsilon_lower)}; this many runs "
        f"can show at most {ceiled(bound.ceiling)}. A promise counts as broken at {percent(VERDICT_CONFIDENCE)} "
        "confidence."
    )
    return audited.pair, counts, sure, HALVES


# Dots.


def _columns(audited: Audited) -> tuple[tuple[IntArray, IntArray], int]:
    """Return each run's column (n,) in both worlds, and the first column beyond the threshold.

    The threshold is an edge between two columns. The event that the attacker looks for is to its right. If one column
    holds most runs of a world, columns are places in the order of all runs, so that no column hides the others.
    """
    bound = audited.bound
    event = bound.events[0] if bound.events else None
    sign = 1.0 if event is None or event.above else -1.0
    worlds = [sign * values for values in (bound.scores, bound.other_scores)]
    values = np.concatenate(worlds)
    low, high = _ends(values)
    threshold = sign * event.threshold if event is not None else high
    low, high = min(low, threshold), max(high, threshold)
    edge = COLUMNS if event is None else _edge((threshold - low) / (high - low or 1.0))
    right = COLUMNS - edge
    width = max((threshold - low) / edge, (high - threshold) / right if right else 0.0) or 1.0
    with np.errstate(over="ignore"):
        at = edge + np.floor(np.clip((values - threshold) / width, -COLUMNS, COLUMNS)).astype(np.intp)
    beyond = values > threshold
    n = len(worlds[0])
    # The outermost columns also hold the runs beyond them.
    columns = np.where(beyond, np.clip(at, edge, COLUMNS - 1), np.clip(at, 0, max(edge - 1, 0)))
    if event is not None and max(np.bincount(each).max() for each in np.split(columns, [n])) > CROWD * n:
        ranks, below = _ranks(values, n), int((~beyond).sum())
        edge = _edge(below / len(values))
        right = COLUMNS - edge
        lesser, more = ranks * edge // max(below, 1), (ranks - below) * right // max(len(values) - below, 1)
        columns = np.where(beyond, edge + more, lesser)
    first, second = np.split(columns, [n])
    return (first, second), edge


def _edge(share: float) -> int:
    """Return the first column beyond a threshold at a share of the picture; both sides have room for words."""
    return min(max(round(COLUMNS * share), LEAST_COLUMNS), COLUMNS - LEAST_COLUMNS)


def _ranks(values: FloatArray, n: int) -> IntArray:
    """Return each run's place in the order of all runs, from 0; equal ones of the first n and of the others mix."""
    shares = np.concatenate([np.arange(n) * GOLDEN % 1.0, np.arange(len(values) - n) * GOLDEN % 1.0])
    ranks = np.empty(len(values), dtype=np.intp)
    ranks[np.lexsort((shares, values))] = np.arange(len(values))
    return ranks


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
    line = line[np.concatenate([[True], (np.diff(line, axis=0) != 0.0).any(axis=1)])]
    before, after = line[1:-1] - line[:-2], line[2:] - line[1:-1]
    turns = np.abs(before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0]) > 1e-9
    line = line[np.concatenate([[True], turns, [True]])] if len(line) > 2 else line
    keep = np.unique(np.linspace(0, len(line) - 1, MOST_POINTS).astype(np.intp))
    return tuple((float(x), float(y)) for x, y in line[keep])


# -- Reading material --


MISREADINGS, PAPERS = read_texts(
    "audit",
    KAIROUZ,
    confidence=percent(CONFIDENCE),
    sure=percent(VERDICT_CONFIDENCE),
    errors=f"{100 * (1 - CONFIDENCE):.3g}",
)

WORDS = {
    BUDGET: SYMBOLS[BUDGET],
    "N": "runs that estimate, in each world: those that did not choose the event",
    "K": "events that the other half of the runs chooses",
    r"\alpha": "error allowed at one end of one event",
    "a,\\ b": "how often the event happened where it is likely, and in the other world",
    "p_-,\\ p_+": "smallest and largest chance that fits",
    "B^{-1}": "quantile of the Beta distribution",
}


def formulas(audited: Audited, *, public: bool = False) -> tuple[Formula, ...]:
    """Return the formulas from the counts to a measured ε. Counts on real records are hidden from the `public`."""
    bound, options = audited.bound, audited.bound.options
    n, level, confidence = bound.n_estimating, options.level(), tex(options.confidence)
    parts = [
        Formula(
            "Error allowed at one end of one event",
            rf"\alpha = \frac{{1 - {confidence}}}{{2 K}}",
            rf"\alpha = \frac{{1 - {confidence}}}{{2 \cdot {options.n_events}}}",
            level,
            source="the union bound over all ends",
        ),
        Formula(
            "The largest ε that this many runs can show",
            r"\varepsilon_{\max} = \ln\frac{\alpha^{1/N} - \delta}{1 - \alpha^{1/N}}",
            rf"\varepsilon_{{\max}} = \ln\frac{{{tex(level)}^{{1/{n}}} - {tex(options.delta)}}}"
            rf"{{1 - {tex(level)}^{{1/{n}}}}}",
            bound.ceiling,
            source="Clopper & Pearson 1934, with a = N and b = 0",
        ),
    ]
    if public and audited.is_own:
        return tuple(parts)
    if bound.events:
        parts += _of_event(bound, bound.events[0])
    if audited.is_proved and math.isfinite(audited.limit.epsilon):
        parts.append(attackers_share(audited.limit.epsilon, audited.limit.delta))
    return tuple(parts)


def _of_event(bound: EpsilonBound, event: AuditEvent) -> list[Formula]:
    """Return the chances of an event that fit its counts, and the ε that follows."""
    n, level, delta = bound.n_estimating, bound.options.level(), tex(bound.options.delta)
    ends = chances(n, level)
    low, high = float(ends[0][event.hits]), float(ends[1][event.other_hits])
    exact, alpha = "Clopper & Pearson 1934", tex(level)
    return [
        Formula(
            "Chance of the event where it is likely, at least",
            r"p_- = B^{-1}(\alpha;\ a,\ N - a + 1)",
            rf"p_- = B^{{-1}}({alpha};\ {event.hits},\ {n - event.hits + 1})" if event.hits else "p_-",
            low,
            source=exact,
            is_least=True,
        ),
        Formula(
            "Chance of the event in the other world, at most",
            r"p_+ = B^{-1}(1 - \alpha;\ b + 1,\ N - b)",
            rf"p_+ = B^{{-1}}(1 - {alpha};\ {event.other_hits + 1},\ {n - event.other_hits})"
            if event.other_hits < n
            else "p_+",
            high,
            source=exact,
            is_limit=True,
        ),
        Formula(
            "Measured ε, at least",
            r"\hat\varepsilon = \max\left(0,\ \ln\frac{p_- - \delta}{p_+}\right)",
            rf"\hat\varepsilon = \max\left(0,\ \ln\frac{{{tex(low)} - {delta}}}{{{tex(high)}}}\right)",
            bound.epsilon_lower,
            source="Jagielski, Ullman & Oprea 2020",
            is_least=True,
        ),
    ]


def code(data: Data, question: AuditQuestion) -> Calls:
    """Return the calls behind the pictures of an audit."""
    return Calls(
        data,
        ("from dpviz.tools.audit import pictures, runs",),
        (
            f"question = runs.{question!r}",
            "found = runs.counted(dataset.points, dataset.box, question)",
            "audited = runs.against_limit(*found, is_own=question.is_own)",
            "scenes = [pictures.histogram(audited), pictures.roc(audited)]",
        ),
    )
