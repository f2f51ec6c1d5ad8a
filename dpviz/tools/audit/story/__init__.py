"""An audit as pictures and words: two worlds side by side, the attack against its limit, and what was found.

Of real records all of it is the curator's: an audit looks at what a release without noise would show.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dpviz import attacks
from dpviz.audit import CONFIDENCE, VERDICT_CONFIDENCE, EpsilonBound
from dpviz.core import Budget, FloatArray
from dpviz.plots import Audience, Axis, Kind, Layer, Role, Scene, always
from dpviz.stories.glossary import meant
from dpviz.stories.panel import Fact, Sentence, ceiled, floored
from dpviz.stories.roc import roc_scene
from dpviz.tools.audit.story.words import event_words, percent, statistic_words

BINS = 48
TAIL = 0.5  # percent of the runs beyond either end of the picture
WORLDS = ("First world", "Second world")
FILL = 0.45
HIDDEN = "Measured on real records: the curator sees it, you do not."
SECRET = "The records of both worlds, and how often each event came up in their runs."
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


@dataclass(frozen=True, slots=True, eq=False)
class Audited:
    """One finished audit with the limit that it is held against."""

    bound: EpsilonBound
    limit: Budget  # what is proved, else what is claimed, for these neighbors
    is_proved: bool
    pair: str  # the neighbors in words
    is_own: bool  # real records
    best: Callable[[FloatArray], FloatArray] | None = None  # the mechanism's own trade-off curve, where it is known

    @property
    def is_violated(self) -> bool:
        """Whether the limit is refuted."""
        return math.isfinite(self.limit.epsilon) and self.bound.violates(self.limit.epsilon)

    @property
    def is_undecided(self) -> bool:
        """Whether so few runs could not refute the limit, whatever they had shown."""
        return math.isfinite(self.limit.epsilon) and self.bound.is_undecided(self.limit.epsilon)

    @property
    def audience(self) -> Audience:
        """Who may see what was measured."""
        return Audience.CURATOR if self.is_own else Audience.NOISE


def sentence(audited: Audited) -> Sentence:
    """Say what was found, with its confidence; never that something is verified."""
    bound, limit = audited.bound, audited.limit.epsilon
    runs = f"{bound.n_runs:,} runs of each world"
    least, sure = f"ε is at least {floored(bound.epsilon_lower)}", f"{percent(bound.confidence)} confidence"
    more = " More runs might show more." if bound.at_ceiling else ""
    kind = "proved" if audited.is_proved else "claimed"
    if math.isinf(limit):
        said = f"No limit is claimed here, and {least}: {runs}, {sure}.{more}"
    elif audited.is_violated:
        said = f"Violation found: {least} ({kind}: {ceiled(limit)}). {runs}: the figure has {sure}, "
        said = f"{said}the verdict {percent(VERDICT_CONFIDENCE)}.{more}"
    elif audited.is_undecided:
        most, asked = bound.ceiling, ""
        if most > limit:  # the figure could be above the limit, the verdict could not
            most, asked = bound.ceiling_at(VERDICT_CONFIDENCE), f" with {percent(VERDICT_CONFIDENCE)} confidence"
        said = f"Undecided: {bound.n_runs:,} runs can show at most {ceiled(most)}{asked}, and it promised "
        said = f"{said}{ceiled(limit)} ({kind}). They show that {least}, with {sure}."
    else:
        said = f"No violation found in {runs}: {least} with {sure} ({kind}: {ceiled(limit)}).{more}"
    return Sentence(said, HIDDEN if audited.is_own else said)


def facts(audited: Audited) -> tuple[Fact, ...]:
    """Return the counts behind the sentence."""
    bound, public = audited.bound, not audited.is_own
    sure = f"Lower end at {percent(bound.confidence)} confidence."
    shown = [Fact("Measured ε, at least", floored(bound.epsilon_lower), sure, public)]
    kind = "Proved" if audited.is_proved else "Claimed"
    # Per unit of distance, the limit for real records tells how far a record moved.
    shown.append(Fact(f"{kind} ε", ceiled(audited.limit.epsilon), "For these two data sets.", public))
    shown.append(Fact("Most that can be shown", ceiled(bound.ceiling), "By so many runs, for any method.", True))
    if bound.events:
        event = bound.events[0]
        likely, other = WORLDS if event.first_is_likely else WORLDS[::-1]
        for world, hits in ((likely, event.hits), (other, event.other_hits)):
            value = f"{hits:,} of {bound.n_estimating:,}"
            help_ = f"The event: {event_words(event)}. Counted in runs that did not choose it."
            shown.append(Fact(f"Event in the {world.lower()}", value, help_, public))
    return tuple(shown)


def histogram(audited: Audited) -> Scene:
    """Return how the most telling statistic falls in both worlds, with the event's threshold."""
    bound, seen = audited.bound, audited.audience
    one, two = bound.scores, bound.other_scores
    event = bound.events[0] if bound.events else None
    low, high = _span(one, two, None if event is None else event.threshold)
    edges = np.linspace(low, high, BINS + 1)
    shares = [np.histogram(np.clip(values, low, high), edges)[0] / max(len(values), 1) for values in (one, two)]
    tallest = float(max(share.max() for share in shares)) or 1.0
    layers = [
        Layer(
            world,
            Kind.BANDS,
            Role.CLUSTER,
            seen,
            {"edges": _steps(edges, share)[None, None]},
            always(1),
            fill=FILL,
            hue=i,
            isolate=False,
        )
        for i, (world, share) in enumerate(zip(WORLDS, shares, strict=True))
    ]
    if event is not None:
        rule = np.array([[[[event.threshold, 0.0], [event.threshold, 1.1 * tallest]]]])
        role = Role.VIOLATION if audited.is_violated else Role.REFERENCE
        layers.append(Layer("Threshold", Kind.LINES, role, seen, {"xy": rule}, always(1), size=2.5, isolate=False))
    words = "" if event is None else f" The event: {event_words(event)}."
    name = "statistic" if event is None else statistic_words(event.statistic)
    return Scene(
        title="The two worlds",
        alt=f"Histograms of {name} in the two worlds, over {bound.n_estimating:,} runs each. "
        + sentence(audited).curator,
        caption=f"{audited.pair}{words} Bars at the ends hold what lies beyond, too.",
        public_caption=HIDDEN if audited.is_own else "",
        x=Axis(name if not audited.is_own else "statistic", view=(low, high)),
        y=Axis("share of the runs", view=(0.0, 1.1 * tallest)),
        layers=tuple(layers),
        equal=False,
        scrubber=False,
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


def _steps(edges: FloatArray, heights: FloatArray) -> FloatArray:
    """Return a histogram's outline (2 m, 3) as x, low, high."""
    x, high = np.repeat(edges, 2)[1:-1], np.repeat(heights, 2)
    return np.stack([x, np.zeros(len(x)), high], axis=1)


def _span(one: FloatArray, two: FloatArray, threshold: float | None) -> tuple[float, float]:
    """Return ends between which nearly all runs of both worlds lie."""
    values = np.concatenate([one, two])
    finite = values[np.isfinite(values)]
    if not len(finite):
        finite = np.zeros(1)
    low, high = (float(end) for end in np.percentile(finite, [TAIL, 100.0 - TAIL]))
    if threshold is not None:
        low, high = min(low, threshold), max(high, threshold)
    pad = 0.05 * (high - low) or max(1e-9, 0.05 * abs(high))
    return low - pad, high + pad
