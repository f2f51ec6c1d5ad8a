"""Pictures and words of an audit: two worlds side by side, the attack against its limit, and what was found.

Of real records all of it is the curator's: an audit looks at what a release without noise would show. Statistics and
events have a reader's names: "first zone center, x", not "zone_centers [0, 0]".
"""

import math
import re
from dataclasses import replace

import numpy as np

from dpviz import attacks
from dpviz.audit import CONFIDENCE, VERDICT_CONFIDENCE
from dpviz.audit.bound import AuditEvent
from dpviz.plots import Audience, Axis, Kind, Layer, Plot, Role, Scene, always
from dpviz.stories.charts import roc_scene
from dpviz.stories.glossary import meant
from dpviz.stories.panel import Fact, Sentence, ceiled, floored, number
from dpviz.tools.audit.runs import Audited

BINS = 48
TAIL = 0.5  # percent of the runs beyond either end of the picture
WORLDS = ("First world", "Second world")
FILL = 0.45
HIDDEN = "Measured on real records: the curator sees it, you do not."
SECRET = "The records of both worlds, and how often each event came up in their runs."
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_AXES = "xyz"  # of the synthetic pairs, whose features have no names
_PLACES = ("centers", "places", "points", "parents", "means", "directions")  # arrays whose columns are coordinates
_ENTRY = re.compile(r"(?P<path>[\w.]+) \[(?P<row>\d+)(?:, (?P<column>\d+))?\]")
_NAMES = {  # where taking off an s or an underscore is not enough
    "n_blocks": "number of blocks",
    "value": "value",
    "child_counts": "noisy counts of a cut's sides",
}
_LEARNED = {
    "learned direction (exact)": "weighted sum of all released numbers",
    "learned direction (shrunk)": "weighted sum of all released numbers",
    "learned sum, cut off": "weighted sum of the telling released numbers, each cut off",
}
_SUMMARIES = {"sum": "sum of all", "least": "smallest of the", "largest": "largest of the", "size": "how many"}


def percent(confidence: float) -> str:
    """Write a confidence: 0.9999 as "99.99 %"."""
    return f"{100.0 * confidence:.10g} %"


TERMS = (
    ("World", "One of two data sets that differ in one record. The method runs many times on each."),
    ("Statistic", "A number made of what is published. Half of the runs choose the most telling one."),
    ("Event", "The statistic lies beyond a threshold. The other half of the runs count how often, in each world."),
    (
        "Measured ε",
        f"The least ε that fits the counts, with {percent(CONFIDENCE)} confidence. The true one may be any larger.",
    ),
    *meant("violation"),
    ("Undecided", "So few runs could not have refuted the promise, whatever they had shown."),
    ("Ceiling", "The most that so many runs can show. Worlds that never look alike reach it."),
)


def sentence(audited: Audited) -> Sentence:
    """Return what the runs show, with its confidence; never that something is verified."""
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
        if most > limit:  # the figure could be above the limit, the verdict could not
            most, surely = bound.ceiling_at(VERDICT_CONFIDENCE), f" with {percent(VERDICT_CONFIDENCE)} confidence"
        words = f"Undecided: {bound.n_runs:,} runs can show at most {ceiled(most)}{surely}, and it promised "
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
        # Per unit of distance, the limit for real records tells how far a record moved.
        Fact(f"{kind} ε", ceiled(audited.limit.epsilon), "For these two data sets.", public),
        Fact("Most that can be shown", ceiled(bound.ceiling), "By so many runs, for any method.", True),
    ]
    if bound.events:
        event = bound.events[0]
        likely, other = WORLDS if event.first_is_likely else WORLDS[::-1]
        for world, hits in ((likely, event.hits), (other, event.other_hits)):
            value = f"{hits:,} of {bound.n_estimating:,}"
            help_ = f"The event: {event_words(event)}. Counted in runs that did not choose it."
            numbers.append(Fact(f"Event in the {world.lower()}", value, help_, public))
    return tuple(numbers)


def histogram(audited: Audited) -> Scene:
    """Return how the most telling statistic falls in both worlds, with the event's threshold."""
    bound, audience = audited.bound, Audience.CURATOR if audited.is_own else Audience.NOISE
    one, two = bound.scores, bound.other_scores
    event = bound.events[0] if bound.events else None
    values = np.concatenate([one, two])
    finite = values[np.isfinite(values)]
    # Ends between which nearly all runs of both worlds lie.
    low, high = (float(end) for end in np.percentile(finite if len(finite) else np.zeros(1), [TAIL, 100.0 - TAIL]))
    if event is not None:
        low, high = min(low, event.threshold), max(high, event.threshold)
    pad = 0.05 * (high - low) or max(1e-9, 0.05 * abs(high))
    low, high = low - pad, high + pad
    edges = np.linspace(low, high, BINS + 1)
    shares = [np.histogram(np.clip(values, low, high), edges)[0] / max(len(values), 1) for values in (one, two)]
    tallest = float(max(share.max() for share in shares)) or 1.0
    layers = []
    for i, (world, share) in enumerate(zip(WORLDS, shares, strict=True)):
        x, tops = np.repeat(edges, 2)[1:-1], np.repeat(share, 2)  # the outline (2 m, 3) as x, low, high
        outline = {"edges": np.stack([x, np.zeros(len(x)), tops], axis=1)[None, None]}
        bars = Layer(world, Kind.BANDS, Role.CLUSTER, audience, outline, always(1), fill=FILL, hue=i, isolate=False)
        layers.append(bars)
    if event is not None:
        rule = np.array([[[[event.threshold, 0.0], [event.threshold, 1.1 * tallest]]]])
        role = Role.VIOLATION if audited.is_violated else Role.REFERENCE
        layers.append(Layer("Threshold", Kind.LINES, role, audience, {"xy": rule}, always(1), size=2.5, isolate=False))
    words = "" if event is None else f" The event: {event_words(event)}."
    name = "statistic" if event is None else statistic_words(event.statistic)
    return Plot(
        title="The two worlds",
        alt=f"Histograms of {name} in the two worlds, over {bound.n_estimating:,} runs each. "
        + sentence(audited).curator,
        caption=f"{audited.pair}{words} Bars at the ends hold what lies beyond, too.",
        public_caption=HIDDEN if audited.is_own else "",
        x=Axis(name if not audited.is_own else "statistic", view=(low, high)),
        y=Axis("share of the runs", view=(0.0, 1.1 * tallest)),
        layers=tuple(layers),
        axes_public=not audited.is_own,
    )


def roc(audited: Audited) -> Scene:
    """Return the attack with the chosen statistic against what is allowed and what the noise itself allows."""
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
        alt="Right alarms against false alarms of an attack that looks at the statistic. " + sentence(audited).curator,
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
        words = words[:-1]  # one of "noisy_counts" is a "noisy count"
    first = f"{_ordinal(int(match['row']))} {words}"
    if column is None:
        return first
    return f"{first}, {_axis(int(column)) if path.endswith(_PLACES) else f'{_ordinal(int(column))} entry'}"


def event_words(event: AuditEvent) -> str:
    """Say an event: "first zone center, x above 0.5"."""
    return f"{statistic_words(event.statistic)} {'above' if event.above else 'below'} {number(event.threshold)}"


def _path(path: str) -> str:
    last = path.split(".")[-1]
    return _NAMES.get(last, last.replace("_", " "))


def _ordinal(index: int) -> str:
    return _ORDINALS[index] if index < len(_ORDINALS) else f"number {index + 1}"


def _axis(index: int) -> str:
    return _AXES[index] if index < len(_AXES) else f"feature {index + 1}"
