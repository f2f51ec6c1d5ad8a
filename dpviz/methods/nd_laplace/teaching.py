"""What is to be learned of nD-Laplace: readings of its picture, two worlds, the lesson, and the course's chapter."""

import math
from functools import cache

import numpy as np

from dpviz import attacks
from dpviz.attacks.location import mean_error
from dpviz.core import Box, Knob, Labels, Points, PointsRelease, attacker_odds, frozen
from dpviz.data import Dataset, load
from dpviz.mechanisms import epsilon_of_level, nd_laplace, perturbation_area
from dpviz.mechanisms.nd_laplace import radius_quantile
from dpviz.methods.nd_laplace.algorithm import Params, fit
from dpviz.methods.nd_laplace.run import PointsLook
from dpviz.metrics import adjusted_rand
from dpviz.stories.method import Cloud, Worlds
from dpviz.stories.panel import attacker, limit, number
from dpviz.stories.teaching import (
    Answer,
    Formula,
    Known,
    Lesson,
    LessonStep,
    Question,
    Reading,
    RunChapter,
    ranges,
    tex,
)

# Reading: misreadings, papers, formulas with the numbers of a run.


SYMBOLS = {
    r"\varepsilon": "the budget per unit of distance",
    r"\ell,\ r": "the level, and the radius that it is for",
    "n": "number of features",
    "m": "number of releases of one place",
    r"d(x, x')": "how far apart two places are",
}
MOST_EXPONENT = 700.0  # of a finite power of e
RELEASES = 10  # of one place, in the formula for several; ours


def formulas(known: Known) -> tuple[Formula, ...]:
    """Return the formulas of a run, with lengths in the unit of the noise."""
    epsilon, n = known.params.epsilon, known.d
    look = known.look if isinstance(known.look, PointsLook) else PointsLook(1.0)
    unit, level = "shares of the range" if look.shares else look.unit, epsilon * look.radius
    area = perturbation_area(n, epsilon=epsilon)
    far = float(radius_quantile(0.95, n, epsilon=epsilon))
    factor, twice = (2.0, r"2 \cdot ") if known.params.domain == "redraw" else (1.0, "")
    return (
        Formula(
            "Budget per unit of distance",
            r"\varepsilon = \frac{\ell}{r}",
            rf"\varepsilon = \frac{{{tex(level)}}}{{{tex(look.radius)}}}",
            epsilon,
            f"per {unit}" if unit else "",
            "Andrés et al. 2013, definition 3.1",
        ),
        Formula(
            "Two places a radius apart: how much likelier one may make a release",
            r"e^{2\varepsilon r}" if factor > 1 else r"e^{\varepsilon r}",
            rf"e^{{{twice}{tex(epsilon)} \cdot {tex(look.radius)}}}",
            _exp(factor * level),
            "times, at most",
            "van der Ende, equation 3.1" + ("; doubled, as drawing again costs up to twice" if factor > 1 else ""),
        ),
        Formula(
            "Mean length of the noise: the perturbation area",
            r"\frac{n}{\varepsilon}",
            rf"\frac{{{n}}}{{{tex(epsilon)}}}",
            area.mean_radius,
            unit,
            "van der Ende, equation 3.4",
        ),
        Formula(
            "95 in 100 releases lie within",
            r"\frac{1}{\varepsilon}\,\Gamma_n^{-1}(0.95)",
            rf"\frac{{1}}{{{tex(epsilon)}}} \cdot {tex(far * epsilon)}",
            far,
            unit,
            "van der Ende, equation 3.3: lengths follow a Gamma law",
        ),
        Formula(
            "Least error between two equally likely places a radius apart",
            r"\frac{100}{1 + e^{\varepsilon\, d(x, x')}}",
            rf"\frac{{100}}{{1 + e^{{{tex(factor * level)}}}}}",
            100.0 / (1.0 + _exp(factor * level)),
            "in 100",
            "van der Ende, equation 2.2, the right way round",
        ),
        Formula(
            f"How far off the mean of {RELEASES} releases is",
            r"\frac{\sqrt{n(n + 1)}}{\varepsilon \sqrt{m}}",
            rf"\frac{{\sqrt{{{n} \cdot {n + 1}}}}}{{{tex(epsilon)} \sqrt{{{RELEASES}}}}}",
            float(mean_error(epsilon, n, RELEASES)),
            unit,
            "ours: root of the mean square, exactly",
        ),
    )


def _exp(level: float) -> float:
    return math.exp(level) if level < MOST_EXPONENT else math.inf


READING = Reading.of("nd_laplace", formulas, lambda _: SYMBOLS)


# Two worlds: one record, moved many times.


def by_record(spots: Points, box: Box, params: Params, world: int, n_runs: int, *, rng: np.random.Generator) -> Cloud:
    """Draw the record's own row many times: the other rows are noise of their own and say nothing of it."""
    release = fit(np.repeat(spots[[world]], n_runs, axis=0), box, params, rng=rng).release
    in_range = params.unit == "range"
    rows, ends = (box.to_unit(each) if in_range else each for each in (release.points, spots))
    nearer = attacks.nearer_scores(PointsRelease(rows), ends[0], ends[1])
    return Cloud(release.points, None, frozen(np.column_stack([nearer, rows])))


WORLDS: Worlds[Params, PointsRelease] = Worlds(by_record=by_record)


# The lesson: an ε that needs a distance, two homes, a hundred releases, and clusters after it.

N = 600  # people
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
    return load("city", n=N, seed=0)


def draws(n: int, seed: int, east: float = 0.0) -> PointsRelease:
    """Return n releases of one place, meters from the origin."""
    place = np.tile([east, 0.0], (n, 1))
    return PointsRelease(nd_laplace(place, epsilon=EPSILON, rng=np.random.default_rng([SEED, seed])))


@cache
def mean_move() -> Answer:
    """Measure how far a point moves on average."""
    mean = float(np.linalg.norm(draws(N_DRAWS, 0).points, axis=1).mean())
    return Answer(mean, {"measured": f"{round(mean, -1):,.0f} m", "draws": f"{N_DRAWS:,}"})


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
    points = records().points
    clean, indices = _clusters(points), []
    for run in range(N_RUNS):
        moved = nd_laplace(points, epsilon=EPSILON, rng=np.random.default_rng([SEED, 7, run]))
        indices.append(adjusted_rand(clean, _clusters(moved)))
    middle = float(np.median(indices))
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
        "n": str(N),
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
            f"Say ε is {LEVEL:g} within {RADIUS:g} m: two places up to {RADIUS:g} m apart can be told apart by "
            "a factor of e at most. "
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
            f"An attacker knows that you live in one of two homes, {RADIUS:g} m apart, and sees the place that "
            "you sent. "
            f"ε is {LEVEL:g} within {RADIUS:g} m.",
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
            f"You send your place every day, each time with new noise and ε = {LEVEL:g} within {RADIUS:g} m. "
            "The attacker takes "
            f"the mean of {N_RELEASES} days.",
            {"epsilon": "1.0"},
            Question(
                "How much of one day's error is left, in 100?",
                ranges("Less than 5", "5 to 30", "30 to 60", "More than 60", at=(5, 30, 60)),
                averaged,
                "**{measured}** instead of {once}, both root mean squares: a tenth. Errors shrink with the square root "
                f"of the releases, while the budgets add up: ε = {{spent}} within {RADIUS:g} m. Attacks, under the "
                "picture, lets you watch it.",
            ),
            {"under": "attacks"},
        ),
        LessonStep(
            "What is left for clusters",
            "k-means makes six clusters of the places that were sent. Compare them with six clusters of the true "
            "places: 1 is the same, 0 is chance (adjusted Rand index).",
            {"epsilon": "1.0"},
            Question(
                f"How alike are they, for {N} people?",
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


# The chapter of the course: everyone adds noise before sending, and ε needs a distance.

SENT = Knob("course_sent", "float", 4.0, "ε within 500 m", "Of one place that is sent.", 0.1, 10.0, 0.1, 10.0, log=True)


def apart_words(level: float) -> str:
    """Say how well two places are told apart."""
    return attacker(attacker_odds(level), f"Which of two places {RADIUS:g} m apart")


def move_words(level: float) -> str:
    """Say how far places move on average."""
    mean = perturbation_area(2, epsilon=epsilon_of_level(level, RADIUS)).mean_radius
    return f"ε = {number(level)} within {RADIUS:g} m: by the formula, a place moves **{number(mean)} m** on average."


CHAPTER = RunChapter(
    "sending",
    "Noise before sending",
    "People trust nobody: each moves their own place at random (orange) and sends only that (blue). "
    f"Here ε says how hard it is to tell apart two places {RADIUS:g} m from each other. At first "
    f"ε = {SENT.default:g}.",
    Question(
        f"At ε = 1 within {RADIUS:g} m, how far does a place move on average?",
        ranges("Less than 250 m", "250 to 750 m", "750 to 1,500 m", "More", at=(250, 750, 1500)),
        mean_move,
        "**{measured}**, the mean of {draws} tries: where nobody is trusted, each place needs noise enough of its "
        "own. Places farther apart are easier to tell apart: ε counts per distance.",
    ),
    SENT,
    records,
    lambda level: {"epsilon": epsilon_of_level(float(level), RADIUS)},
    {"person": "True place", "sent point": "Place that is sent", "noise": "Move"},
    1,
    "Noise added before sending protects from everybody, the collector too; its ε counts per distance.",
    1.0,
    lambda level: {"data": "city", "n": str(N), "radius": "4", "epsilon": str(float(level)), "noise_seed": "1"},
    apart_words,
    move_words,
)
