"""Chapter 11: a promise measured. Runs of two worlds catch a method that forgot half of its noise."""

from functools import cache

import numpy as np

from dpviz.audit import Batch, EpsilonBound, epsilon_lower_bound
from dpviz.core import FloatArray, Knob, Points
from dpviz.mechanisms import laplace
from dpviz.plots import Audience, Axis, Kind, Layer, Role, Scene, always
from dpviz.stories.course.chapter import Chapter, still
from dpviz.stories.lesson import Answer, Question, ranges
from dpviz.stories.panel import floored

N = 20  # people, you among them
EPSILON = 1.0  # as claimed
N_RUNS = 20_000  # of each world
SEED = 6
LOW, HIGH, WIDTH = 10.0, 29.0, 1.0  # of the bars, people
SHARES = (("1", "All"), ("0.5", "Half"), ("0.25", "A quarter"))
NOISE = Knob("course_noise", "choice", "1", "Noise that is added", "The claim stays ε = 1.", choices=SHARES)


def counts(n_people: int, n_runs: int, share: float, rng: np.random.Generator) -> FloatArray:
    """Return published counts (n_runs,) of so many people with this share of the noise that ε = 1 needs."""
    return laplace(np.full(n_runs, float(n_people)), scale=share / EPSILON, rng=rng)


@cache
def bound(share: float) -> EpsilonBound:
    """Audit the count: run it with you and without you."""

    def draw(points: Points, n_runs: int, rng: np.random.Generator) -> FloatArray:
        return counts(len(points), n_runs, share, rng)

    worlds = np.zeros((N, 1)), np.zeros((N - 1, 1))
    return epsilon_lower_bound(Batch(draw), *worlds, n_runs=N_RUNS, rng=np.random.default_rng(SEED))


def measured() -> Answer:
    """Say what the runs show of half the noise, and of all of it."""
    half, whole = bound(0.5), bound(1.0)
    words = {"measured": floored(half.epsilon_lower), "honest": floored(whole.epsilon_lower), "runs": f"{N_RUNS:,}"}
    return Answer(half.epsilon_lower, words)


def picture(share: str, *, answered: bool) -> Scene:
    """Draw how often each count was published, with you and without you."""
    del answered  # all of the noise does not tell what half of it shows
    edges = np.arange(LOW, HIGH + WIDTH / 2, WIDTH)
    layers, highest = [], 0.0
    for hue, (name, n) in enumerate((("With you", N), ("Without you", N - 1))):
        drawn = counts(n, N_RUNS, float(share), np.random.default_rng([SEED, n]))
        height = 100.0 * np.histogram(drawn, edges)[0] / N_RUNS
        steps = np.stack([np.repeat(edges, 2)[1:-1], np.zeros(2 * len(height)), np.repeat(height, 2)], axis=1)
        highest = max(highest, float(height.max()))
        seen = (Kind.BANDS, Role.CLUSTER, Audience.RELEASED)
        layers.append(Layer(name, *seen, {"edges": steps[None, None]}, always(1), fill=0.45, hue=hue, isolate=False))
    return still(
        "What is published, in two worlds",
        f"Bars of how often each count is published in {N_RUNS:,} runs with you and without you.",
        Axis("published count", "people", (LOW, HIGH), (0.0, 1.0)),
        Axis("runs", "in 100", (0.0, 1.1 * highest), (0.0, 1.0)),
        *layers,
    )


def told(share: str) -> str:
    """Say what the audit finds."""
    found = bound(float(share))
    least = floored(found.epsilon_lower)
    if found.violates(EPSILON):
        return f"Claimed: ε = {EPSILON:g}. {N_RUNS:,} runs show at least **ε = {least}**: the claim is false."
    shown = f"{N_RUNS:,} runs show at least ε = {least}"
    return f"Claimed: ε = {EPSILON:g}. {shown}: nothing contradicts the claim, and nothing proves it."


CHAPTER = Chapter(
    "audit",
    "A promise, measured",
    f"A count of {N} people is published with noise, and claims ε = {EPSILON:g}. An audit runs it {N_RUNS:,} times "
    "with you and as often without you: the less alike the two worlds look, the larger ε really is.",
    Question(
        "Suppose it forgot half of its noise. What do the runs show?",
        ranges("Nothing suspicious", "A little more than claimed", "The claim is clearly false", at=(1.0, 1.5)),
        measured,
        "That ε is at least **{measured}**, not 1: the false claim is caught. With all of its noise the runs show "
        "{honest}: no contradiction, and no proof either, since a cleverer attack might find more.",
    ),
    NOISE,
    picture,
    told,
    "An audit can catch a false promise by runs of two worlds. It can never prove a true one.",
    asked="0.5",
)
