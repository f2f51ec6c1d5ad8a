"""The lesson on Morse processing: a private landscape, what is free once it is released, and where noise comes from."""

from functools import cache

import numpy as np

from dpviz.core import Result
from dpviz.data import Dataset, load
from dpviz.methods.morse import algorithm
from dpviz.methods.morse.algorithm import MorseRelease, Params, Step
from dpviz.methods.morse.story.runs import RIGHT
from dpviz.stories import lesson
from dpviz.stories.lesson import Answer, Lesson, Question, ranges

N, BLUR = 5_000, 0.08  # moons that are harder to tell apart than the page's: ε decides
N_RUNS = 10  # noise seeds 0 to 9
PASSES = 2  # as on the page


@cache
def records() -> Dataset:
    """Return the records of every step."""
    return load("moons", n=N, seed=0, noise=BLUR)


def run(seed: int, **params: object) -> Result[MorseRelease, Step]:
    """Run Morse processing as the page does."""
    data = records()
    asked = Params(n_iterations=PASSES, **params)  # type: ignore[arg-type]  # the knobs of Params
    return algorithm.fit(data.points, data.box, asked, rng=np.random.default_rng(seed))


@cache
def right_runs(epsilon: float) -> Answer:
    """Count the runs whose two clusters are the two moons."""
    from sklearn.metrics import adjusted_rand_score  # type: ignore[import-untyped]  # slow to load; no types

    data, right = records(), 0
    signed = algorithm.signed_points(data.points, data.box)
    for seed in range(N_RUNS):
        labels = algorithm.assign(run(seed, epsilon=epsilon).release.mixture, signed, 2)
        right += adjusted_rand_score(data.labels, labels) >= RIGHT
    return Answer(float(right), {"measured": str(right), "runs": str(N_RUNS)})


def cost_of_cutting() -> Answer:
    """Compare what is proved for runs that cut the same mixture into 2 and into 5."""
    two, five = (run(0, epsilon=5.0, n_clusters=k).guarantee.proved for k in (2, 5))
    assert two is not None
    assert five is not None
    more = 100.0 * abs(five.epsilon / two.epsilon - 1.0)
    return Answer(more, {"measured": f"{more:.0f}", "proved": f"{five.epsilon:.3g}"})


def noise_ratio() -> Answer:
    """Compare the noise of the paper's formula with the least that the same release needs."""
    published, tight = (run(0, calibration=each, adjacency="replace").release.sigma for each in ("published", "tight"))
    ratio = published / tight
    words = {"measured": f"{ratio:.2g}", "published": f"{published:.3g}", "tight": f"{tight:.3g}"}
    return Answer(ratio, words)


MOONS = ranges("0 to 3", "4 to 7", "8 to 10", at=(3.5, 7.5))
LESSON = Lesson(
    "morse",
    "morse",
    "A landscape of small hills",
    "Why a private mixture can find clusters of any shape, and what comes free after the release.",
    {
        "data": "moons",
        "n": str(N),
        "data_noise": str(BLUR),
        "epsilon": "5.0",
        "n_iterations": str(PASSES),
        "noise_seed": "112",
        "moves": "cut",
    },
    (
        lesson.LessonStep(
            "Read the picture",
            "22 small Gaussians, made with noise, are a landscape: high where many records are. Stars are its peaks; "
            "blue lines join peaks over the passes between them. Scrub: the hierarchy is cut into 1, 2, 3 clusters, "
            "and regions part.",
        ),
        lesson.LessonStep(
            "Two moons",
            "No straight line separates these two moons of 5,000 records, so two centers never find them. Chains of "
            "peaks can. ε is 5, K is 2.",
            question=Question(
                "In how many of 10 runs are the two clusters the two moons?",
                MOONS,
                lambda: right_runs(5.0),
                "In **{measured} of {runs}** (adjusted Rand index of 0.95 or more, noise seeds 0 to 9). A moon is a "
                "row of hills with high passes; between the moons the passes are low.",
                exact=True,
            ),
        ),
        lesson.LessonStep(
            "Less ε",
            "Say ε falls to 1. Means and shapes of the hills get noisier: one hill between the moons joins them, one "
            "missing hill breaks a chain.",
            question=Question(
                "In how many of 10 runs are the moons of 5,000 records found, with K = 2?",
                MOONS,
                lambda: right_runs(1.0),
                "In **{measured} of {runs}**. A chain holds or it breaks, so that runs are right or wrong, hardly in "
                "between. One lucky picture proves nothing: look at Many runs.",
                exact=True,
            ),
            after={"epsilon": "1.0"},
        ),
        lesson.LessonStep(
            "Cut again",
            "The same mixture is now cut into 5 clusters instead of 2. The hierarchy was computed from the released "
            "mixture, without another look at any record.",
            {"n_clusters": "5"},
            Question(
                "How much more ε does that cost, in 100?",
                ranges("Nothing", "Up to half as much again", "More", at=(0.5, 50)),
                cost_of_cutting,
                "**{measured}** in 100 more: both runs are proved for ε = {proved}. What follows from a release is "
                "free, as often as you like. Only a look at the records costs.",
            ),
        ),
        lesson.LessonStep(
            "How much noise is needed?",
            "The paper has a formula for the noise. Its proof is right, but generous: less noise keeps the same "
            "promise for the same release.",
            {"epsilon": "1.0", "adjacency": "replace"},
            Question(
                "How many times the least noise is the paper's?",
                ranges("Up to 1.1 times", "1.1 to 2 times", "2 to 4 times", "More", at=(1.1, 2, 4)),
                noise_ratio,
                "**{measured} times**: {published} against {tight}, both for changing one record. Better accounting is "
                "accuracy for nothing. Now the picture has the paper's; Calibration, in the sidebar, has both.",
            ),
            {"calibration": "published"},
        ),
        lesson.LessonStep(
            "Turn it",
            "The same landscape as a surface: hills are clusters, and the highest pass between two hills joins them "
            "first. Drag to turn it, scrub to part them.",
            {"relief": "surface"},
        ),
        lesson.LessonStep(
            "What the public sees",
            "Records are gone, the landscape stays: the public can cut and label it as well as the curator. Move ε "
            "and watch hills grow and drift.",
            {"audience": "public"},
        ),
    ),
)
