"""The lesson on nD-Laplace: an ε that needs a distance, two homes, a hundred releases, and clusters after it."""

from functools import cache

import numpy as np

from dpviz import attacks
from dpviz.core import Labels, Points, PointsRelease, attacker_odds
from dpviz.data import Dataset, load
from dpviz.mechanisms import nd_laplace
from dpviz.stories.lesson import Answer, Lesson, LessonStep, Question, ranges
from dpviz.stories.panel import limit

RADIUS = 500.0  # m, of the page's list: number 4
LEVEL = 1.0  # ε within it
EPSILON = LEVEL / RADIUS  # per meter
N_DRAWS = 20_000
N_PEOPLE = 200  # whose hundred releases are averaged
N_RELEASES = 100
N_CLUSTERS, N_RUNS = 6, 5  # as many clusters as the tab begins with
SEED = 4


@cache
def records() -> Dataset:
    """Return the records of every step."""
    return load("city", n=600, seed=0)


def draws(n: int, seed: int, east: float = 0.0) -> PointsRelease:
    """Return n releases of one place, meters from the origin."""
    place = np.tile([east, 0.0], (n, 1))
    return PointsRelease(nd_laplace(place, epsilon=EPSILON, rng=np.random.default_rng([SEED, seed])))


@cache
def mean_move() -> Answer:
    """Measure how far a point moves on average."""
    moved = float(np.linalg.norm(draws(N_DRAWS, 0).points, axis=1).mean())
    return Answer(moved, {"measured": f"{round(moved, -1):,.0f} m", "draws": f"{N_DRAWS:,}"})


def two_homes() -> Answer:
    """Measure how often the best attacker tells two homes a radius apart."""
    here, there = np.zeros(2), np.array([RADIUS, 0.0])
    mine = attacks.nearer_scores(draws(N_DRAWS, 1), here, there) > 0
    theirs = attacks.nearer_scores(draws(N_DRAWS, 2, RADIUS), here, there) < 0
    share = 50.0 * float(mine.mean() + theirs.mean())
    return Answer(share, {"measured": f"{share:.0f}", "limit": limit(attacker_odds(LEVEL))})


def averaged() -> Answer:
    """Measure how far the mean of a hundred releases is from the place, root mean square."""
    places = np.array([attacks.reconstruct_mean(draws(N_RELEASES, 3 + person)) for person in range(N_PEOPLE)])
    error = float(np.sqrt((places**2).sum(axis=1).mean()))
    once = float(np.sqrt((draws(N_DRAWS, 0).points ** 2).sum(axis=1).mean()))
    spent = attacks.spent(LEVEL, N_RELEASES).epsilon
    words = {"measured": f"{round(error, -1):,.0f} m", "once": f"{round(once, -1):,.0f} m", "spent": f"{spent:.0f}"}
    return Answer(100.0 * error / once, words)


def agreement() -> Answer:
    """Compare k-means on moved points with k-means on true ones: the middle of the runs."""
    from sklearn.metrics import adjusted_rand_score  # type: ignore[import-untyped]  # slow to load; no types

    data = records()
    clean = _clusters(data.points)
    found = [
        adjusted_rand_score(
            clean, _clusters(nd_laplace(data.points, epsilon=EPSILON, rng=np.random.default_rng([SEED, 7, run])))
        )
        for run in range(N_RUNS)
    ]
    middle = float(np.median(found))
    return Answer(middle, {"measured": f"{middle:.2f}", "runs": str(N_RUNS)})


def _clusters(points: Points) -> Labels:
    from sklearn.cluster import KMeans  # type: ignore[import-untyped]  # slow to load; no types

    return np.asarray(KMeans(N_CLUSTERS, n_init=2, random_state=0).fit_predict(points))


LESSON = Lesson(
    "laplace",
    "nd_laplace",
    "Hiding a place",
    "Protection without a curator: ε per distance, two homes, and why a hundred releases are too many.",
    {
        "data": "city",
        "n": "600",
        "radius": "4",
        "epsilon": "2.0",
        "under": "walls",
        "domain": "none",
        "noise_seed": "112",
    },
    (
        LessonStep(
            "No curator",
            "Everyone moves their own place before sending it. Gray is the true place, known to that person alone. "
            "Blue was sent. Click a record: the orange ring is how far it moves on average.",
        ),
        LessonStep(
            "ε needs a distance",
            "Say ε is 1 within 500 m: two places up to 500 m apart can be told apart by a factor of e at most. "
            "Farther apart protects less, nearer protects more.",
            question=Question(
                "How far does a place move, on average?",
                ranges("Less than 250 m", "250 to 750 m", "750 to 1,500 m", "More", at=(250, 750, 1500)),
                mean_move,
                "**{measured}**, the mean of {draws} draws made just now. In the plane the law is 2 over ε per meter: "
                "twice the radius that ε = 1 is for. A radius is not how far a place moves.",
            ),
            after={"epsilon": "1.0"},
        ),
        LessonStep(
            "Two homes",
            "An attacker knows that you live in one of two homes, 500 m apart, and sees the place that you sent. ε is "
            "1 within 500 m.",
            {"epsilon": "1.0"},
            Question(
                "How often is the best attacker right, in 100?",
                ranges("50 to 60", "60 to 70", "70 to 80", "More than 80", at=(60, 70, 80)),
                two_homes,
                "**{measured}** in 100. The guarantee allows {limit}: that is for the worst place you could send, and "
                "most tell less. Two homes 5 km apart are told apart nearly always.",
            ),
        ),
        LessonStep(
            "Again and again",
            "You send your place every day, each time with new noise and ε = 1 within 500 m. The attacker takes the "
            "mean of 100 days.",
            {"epsilon": "1.0"},
            Question(
                "How much of one day's error is left, in 100?",
                ranges("Less than 5", "5 to 30", "30 to 60", "More than 60", at=(5, 30, 60)),
                averaged,
                "**{measured}** instead of {once}: a tenth. Errors shrink with the square root of the releases, while "
                "the budgets add up: ε = {spent} within 500 m. Attacks, under the picture, lets you watch it.",
            ),
            {"under": "attacks"},
        ),
        LessonStep(
            "What is left for clusters",
            "k-means makes six clusters of the places that were sent. Compare them with six clusters of the true "
            "places: 1 is the same, 0 is chance (adjusted Rand index).",
            {"epsilon": "1.0"},
            Question(
                "How alike are they, for 600 people?",
                ranges("Below 0.3", "0.3 to 0.6", "0.6 to 0.9", "Above 0.9", at=(0.3, 0.6, 0.9)),
                agreement,
                "**{measured}**, the middle of {runs} runs. Moves of a kilometer hide a person in a town of ten, but "
                "hardly a neighborhood: noise that is fair to all cancels out in a crowd.",
                exact=True,
            ),
            {"under": "clusters"},
        ),
        LessonStep(
            "At the edge",
            "Some places were sent to beyond the town. Clamped to its wall they are as well protected: that uses what "
            "was sent and nothing else. Drawing again until one is inside costs up to twice the ε: try Draw again.",
            {"epsilon": "1.0", "domain": "clamp"},
        ),
        LessonStep(
            "What the public sees",
            "Only sent places are left. Move ε and watch the town dissolve: here everyone can see privacy grow.",
            {"epsilon": "1.0", "audience": "public"},
        ),
    ),
)
