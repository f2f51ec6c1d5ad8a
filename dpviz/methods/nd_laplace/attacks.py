"""Attacks on released points: the posterior of one place, two places to distinguish, membership, repeated releases."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from dpviz import attacks
from dpviz.attacks import ClassifierRelease, GameScores
from dpviz.core import (
    BoolArray,
    Box,
    Budget,
    Centers,
    CentersRelease,
    Confidential,
    FloatArray,
    Points,
    PointsRelease,
    ReadOnly,
    frozen,
    immutable,
)
from dpviz.mechanisms import nd_laplace_noise, nearest_places
from dpviz.methods.nd_laplace.algorithm import Params, cells_of, fit, noise_box
from dpviz.methods.nd_laplace.layers import own_marks
from dpviz.methods.nd_laplace.run import NDLaplaceRun, Settings
from dpviz.plots import AID, GUIDE, LAW, RELEASED, SECRET, Audience, Axis, Ink, Kind, Layer, Plot, Role, Scene
from dpviz.solvers import geometric_median, lloyd
from dpviz.stories.charts import pair_of, roc_scene
from dpviz.stories.panel import Fact, at_most, ceiled, number, odds, small_odds, whole_interval
from dpviz.stories.view import View

# Cells of the public grid of possible places, by the number of features.
CELLS = {1: (200,), 2: (80, 80)}
# Rounds of the two-place game in each world.
N_ROUNDS = 2000

ATTACKS = {"centers": "Fit to the nearest center", "tree": "Labels of a decision tree"}
CAPTIONS = {
    "centers": "Someone who knows all other records says that x was in if its nearest center is close.",
    "tree": "The tree answers only with labels. Someone says that x was in if the answer changes only far from x.",
}
NOT_PRESENCE = (
    "Did x send a point, or did x' in its place? Everything is invented: two groups of ten records, known to the "
    "attacker, and one between them. The limit applies to telling x from x'. Presence itself is not protected: "
    "everyone who takes part sends a row, and rows can be counted."
)
# Our choice: records in each of two groups, few enough that one record still has weight.
GROUP = 10
# Places of the groups along the first axis.
PLACES = (0.1, 0.9)
# Standard deviation of a group, as a share of the box.
SPREAD = 0.03
# Largest distance of x from x', as a share of the first axis, so that both stay between the groups.
FARTHEST = 0.5
# Rounds per piece of work: less than a second.
BATCH = 60
# Number of features up to which the attack is cheap.
CHEAP = 5
# The attacker uses the first batch to set the threshold.
N_BATCHES = 8
# Rounds without noise, whose scores repeat.
N_BARE = 40
# Seed of the invented records. Public.
CROWD_SEED = 20

# Largest number of releases of one record.
MOST_RELEASES = 50
RELEASES = (1, 2, 3, 5, 8, 13, 20, 30, 50)
# Number of invented records behind the measured errors.
N_RECORDS = 400


def budget_of(params: Params, pair: FloatArray) -> Budget:
    """Return the proved bound for replacing pair[0] by pair[1] (2, d), in noise units: twice as much with redrawing."""
    return attacks.replacement_budget((2.0 if params.domain == "redraw" else 1.0) * params.epsilon, pair[:1], pair[1:])


# The posterior of one place.


@immutable
class Posterior:
    """Belief of the best attacker after one release, computed only from the release and public inputs."""

    # Prior, in the unit of the noise.
    prior: attacks.Prior
    weights: FloatArray  # (m,)
    # (d,) guess with the smallest expected distance, in the unit of the noise.
    guess: FloatArray
    # Average distance between the guess and the record.
    expected: float
    # Average distance without the release.
    before: float
    # Probability of the likeliest cell.
    best_cell: float
    # Largest probability that this cell can have.
    bound: float


def posterior_of(run: NDLaplaceRun) -> Posterior:
    """Return the Bayes adversary's posterior of the chosen record; raises ValueError for more than two features."""
    d = run.words.box.d
    if d not in CELLS:
        raise ValueError(
            f"The posterior is computed on a grid over all features, so there can be at most 2 features, got {d}."
        )
    box, params = noise_box(run.words.box, run.params), run.params
    prior = attacks.uniform_prior(box, CELLS[d])
    cells = cells_of(run.words.box, params) if params.domain == "remap" else None
    adversary = attacks.location_adversary(prior, epsilon=params.epsilon, domain=params.domain, cells=cells)
    released = run.release.points[[run.record]]
    if run.measure.shares:
        released = run.words.box.to_unit(released)
    # The conversion to data units and back rounds, but only the output of a cell has a likelihood.
    if cells is not None:
        released = cells.outputs[nearest_places(released, cells.outputs)]
    weights = attacks.posterior(PointsRelease(released), adversary)
    guess = attacks.best_guess(prior, weights, "distance")
    best = int(weights.argmax())
    factor = 2.0 if params.domain == "redraw" else 1.0
    return Posterior(
        prior,
        weights,
        guess,
        attacks.expected_error(prior, weights, guess, "distance"),
        _error_before(tuple(box.low.tolist()), tuple(box.high.tolist())),
        float(weights[best]),
        float(attacks.posterior_bound(prior, factor * params.epsilon)[best]),
    )


@lru_cache(maxsize=8)
def _error_before(low: tuple[float, ...], high: tuple[float, ...]) -> float:
    """Return the mean error of the best guess of someone who knows only the box; it does not depend on ε."""
    prior = attacks.uniform_prior(Box(low, high), CELLS[len(low)])
    middle = attacks.best_guess(prior, prior.weights, "distance")
    return attacks.expected_error(prior, prior.weights, middle, "distance")


def posterior_scene(run: NDLaplaceRun, posterior: Posterior) -> Scene:
    """Return the posterior as a heat map. Public, except for the true place of the record."""
    plane, box, d = run.plane(View()), run.words.box, run.words.box.d
    corner = plane(np.ones((1, d)))[0]
    heat = posterior.weights.reshape(posterior.prior.shape).T if d == 2 else posterior.weights[None]
    value = np.rint(255.0 * heat / max(float(heat.max()), 1e-300)).astype(np.uint8)[None, None]
    rect = np.array([[[0.0, 0.0, corner[0], corner[1] if d == 2 else 1.0]]])
    row = [run.record]
    guess = (posterior.guess if run.measure.shares else box.to_unit(posterior.guess[None])[0])[None]
    return Scene(
        title=f"Where is record {run.record}?",
        alt="Heat map of how likely each place is for the chosen record, given its released point.",
        caption="Darker places are more likely, to someone who sees only the release. Before it, all places in the box "
        "were equally likely.",
        x=plane.x,
        y=plane.y,
        layers=(
            Layer.from_arrays("How likely each place is", Kind.GRID, RELEASED, {"rect": rect, "value": value}),
            *run.box_layers(plane),
            own_marks(run.record, plane, "Released point", RELEASED, run.released[row], "circle", 10.0),
            own_marks(run.record, plane, "Attacker's best guess", AID, guess, "cross", 12.0),
            own_marks(run.record, plane, "Where it is", SECRET, run.unit[row], "ring", 12.0),
        ),
    )


def posterior_facts(run: NDLaplaceRun, posterior: Posterior) -> tuple[Fact, ...]:
    """Return the attacker's expected error, and the true error, which only the record's owner knows."""
    words = run.measure.words
    guess = posterior.guess if run.measure.shares else posterior.guess - run.words.box.low
    off = float(np.linalg.norm(guess - run.unit[run.record] / run.scales))
    best, bound = (
        odds(100.0 * chance) if chance >= 0.05 else small_odds(100.0 * chance)
        for chance in (posterior.best_cell, posterior.bound)
    )
    return (
        Fact("Attacker expects to be off by", words(posterior.expected), "Mean distance under the posterior.", True),
        Fact("Without the release", words(posterior.before), "The same, if only the box is known.", True),
        Fact("Likeliest cell", best, "Its chance, given the release.", True),
        Fact("Limit for that cell", bound, "No release makes it likelier.", True),
        Fact("Actually off by", words(off), "Known only to the record's owner."),
    )


# Distinguishing two places.


def roc_chart(run: NDLaplaceRun, *, seed: int) -> tuple[Scene, tuple[Fact, ...]]:
    """Play the two-place game many times, and return the ROC with its bound: all invented, so public.

    A record is in the box's middle or one radius away from it; the attacker knows which released point is its own.
    """
    box, params = noise_box(run.words.box, run.params), run.params
    pair = pair_of(box, min(run.measure.radius, float(box.widths[0])))
    inner = Params(*run.settings[:3])
    scores = []
    for world, place in enumerate(pair):
        rng = np.random.default_rng([seed, world])
        release = fit(np.tile(place, (N_ROUNDS, 1)), box, inner, rng=rng).release
        scores.append(attacks.nearer_scores(release, pair[0], pair[1]))
    roc = attacks.empirical_roc(*scores)
    budget = budget_of(params, pair)
    scene = roc_scene(
        roc,
        budget,
        title=f"Here, or {run.measure.radius_words} away?",
        alt="ROC curve of the best attack on which of two places a record was at, under its theoretical bound.",
        caption="Membership by replacement: which of two places a person was at. Taking part is not hidden: there is "
        "a row. The band shows how certain the true alarms are after that many rounds.",
    )
    most = at_most(100.0 * (1.0 + attacks.advantage_bound(budget)) / 2.0)
    return scene, (
        Fact("Right at best", odds(50.0 + 50.0 * roc.advantage), f"Best threshold of {2 * N_ROUNDS:,} rounds.", True),
        Fact("Limit", most, "No attack is right more often, in the long run.", True),
        _auc_fact(roc, budget),
    )


def _auc_fact(roc: attacks.Roc, budget: Budget) -> Fact:
    value = f"{number(roc.auc)} of {ceiled(attacks.auc_bound(budget))}"
    return Fact("Area under the curve", value, "Coin flip: 0.5.", True)


# Membership: attacks on results from moved points, compared with the same attacks on points that no one moved. Each
# round, a coin puts x or x' into a small invented data set. The attacker knows its other records, which is the worst
# case. Clusters are found in the release, and their centers, or a decision tree of their labels, are published. The
# game touches no record of the data set on screen, because real records would be released anew in every round.


@immutable
class World(ReadOnly, Confidential):
    """The invented data set, public, in the unit of the noise."""

    box: Box
    # (2, d) x and x'.
    pair: FloatArray
    # (2 GROUP + 1, d) records with x in row 0.
    points: Points
    # The same records with x' in row 0.
    others: Points
    # (2, d) initial centers. They are public, so only the records decide.
    start: Centers


def world_of(box: Box, params: Params, radius: float) -> World:
    """Return two groups near opposite walls of the box, and x and x' between them, one `radius` apart if that fits."""
    inner = noise_box(box, params)
    pair = pair_of(inner, min(radius, FARTHEST * float(inner.widths[0])))
    middles = np.full((2, inner.d), 0.5)
    middles[:, 0] = PLACES
    noise = SPREAD * np.random.default_rng(CROWD_SEED).standard_normal((GROUP, inner.d))
    group = np.clip(middles[0] + noise, 0.0, 1.0)
    # Mirrored, so that x belongs to the first group and x' to the second, no matter how close they are to each other.
    crowd = inner.from_unit(np.concatenate([group, 1.0 - group]))
    points, others = (np.concatenate([place[None], crowd]) for place in pair)
    return World(inner, pair, points, others, inner.from_unit(middles))


def rounds_of(d: int) -> int:
    """Return the number of rounds per piece of work. The label-only attack walks along each of d features."""
    return max(BATCH * CHEAP // max(d, CHEAP), 10)


def play_membership(
    points: Points, box: Box, settings: Settings, radius: float, attack: str, moved: bool, n_rounds: int, seed: int
) -> GameScores:
    """Play `n_rounds` of one of ATTACKS in the public box, on points that were moved, or not; a background task.

    The game reads no records. Raises ValueError for an unknown attack.
    """
    del points
    world = world_of(box, Params(*settings), radius)
    # The world is in the unit of the noise.
    inner = Params(*settings[:3])

    def released(records: Points, generator: np.random.Generator) -> Points:
        return fit(records, world.box, inner, rng=generator).release.points if moved else records

    def centers(records: Points, generator: np.random.Generator) -> CentersRelease:
        return CentersRelease(lloyd(released(records, generator), world.start).nonprivate_centers)

    def tree(records: Points, generator: np.random.Generator) -> ClassifierRelease:
        rows = released(records, generator)
        labels = lloyd(rows, world.start).nonprivate_labels
        return attacks.tree_release(PointsRelease(rows), labels, rng=generator)

    def reach(release: ClassifierRelease, records: Points) -> FloatArray:
        # The attacker's own starting places. If none has a different label, the distance is as large as possible.
        far = attacks.label_only_scores(release, records, world.box, rng=np.random.default_rng(0))
        return np.minimum(far, world.box.diagonal)

    pair, rng = (world.points, world.others), np.random.default_rng(seed)
    if attack == "centers":
        return attacks.membership_game(centers, *pair, attacks.center_fit_scores, targets=[0], n_runs=n_rounds, rng=rng)
    if attack == "tree":
        return attacks.membership_game(tree, *pair, reach, targets=[0], n_runs=n_rounds, rng=rng)
    raise ValueError(f"attack must be one of {', '.join(ATTACKS)}, got {attack!r}.")


def membership_chart(
    run: NDLaplaceRun, attack: str, parts: Sequence[GameScores], bare: GameScores
) -> tuple[Scene, tuple[Fact, ...]]:
    """Return the ROC of one of ATTACKS with its bound and band, and the rates at the attacker's threshold. Public.

    `parts` are games on moved points, the first the attacker's own, which only sets the threshold; `bare` is one
    without noise.
    """
    budget = budget_of(run.params, world_of(run.words.box, run.params, run.measure.radius).pair)
    inside, outside = (np.concatenate(each) for each in zip(*((p.inside, p.outside) for p in parts[1:]), strict=True))
    # Rounds are independent, so several games form one.
    roc = attacks.empirical_roc(inside, outside)
    unmoved = attacks.empirical_roc(bare.inside, bare.outside)
    scene = roc_scene(
        roc,
        budget,
        title=ATTACKS[attack],
        alt=f"ROC curve of a membership attack by the {ATTACKS[attack].lower()}, under its theoretical bound.",
        caption=CAPTIONS[attack],
        name="With noise",
        unmoved=unmoved,
    )
    # Average loss of records inside, as in Yeom et al.
    threshold = -float(parts[0].inside.mean())
    right, wrong = (attacks.yeom_guesses(each, threshold) for each in (inside, outside))
    most = at_most(100.0 * float(attacks.roc_bound(wrong.mean(), budget)))
    return scene, (
        Fact(
            "True alarms",
            _rate(right),
            "Share of the rounds with x in; 95 % interval. Threshold: the average loss.",
            True,
        ),
        Fact("False alarms", _rate(wrong), "Share of the rounds with x' in; 95 % interval.", True),
        Fact("Limit for true alarms", most, "At this rate of false alarms, in the long run.", True),
        _auc_fact(roc, budget),
        Fact("The same without noise", number(unmoved.auc), "Area under the curve for points that do not move.", True),
    )


def _rate(alarms: BoolArray) -> str:
    """Write a rate with its interval; its threshold was fixed on other rounds."""
    band = attacks.clopper_pearson([int(alarms.sum())], alarms.size)
    low, high = whole_interval(float(band.low[0]), float(band.high[0]))
    return f"{odds(100.0 * float(alarms.mean()))} ({low} to {high})"


def apart_words(run: NDLaplaceRun) -> str:
    """Describe the distance between x and x' and the resulting ε."""
    pair = world_of(run.words.box, run.params, run.measure.radius).pair
    apart = float(np.linalg.norm(pair[1] - pair[0]))
    doubled = " Drawing again can double it, and this limit includes that." if run.params.domain == "redraw" else ""
    epsilon = ceiled(budget_of(run.params, pair).epsilon)
    return f"Two places {run.measure.words(apart)} apart: ε = {epsilon}.{doubled}"


# The same record is released again and again. Each release costs another ε, and the guesses get closer.


def again(run: NDLaplaceRun, n_releases: int, *, seed: int) -> FloatArray:
    """Return the chosen record's release, and `n_releases` - 1 more of it (m, d), box units: one person's own."""
    record = run.step.nonprivate_points[[run.record]]
    rng = np.random.default_rng([seed, run.record])
    more = fit(np.repeat(record, MOST_RELEASES - 1, axis=0), run.words.box, run.params, rng=rng).release.points
    return np.concatenate([run.released[[run.record]], run.words.box.to_unit(more)])[:n_releases]


def guesses(run: NDLaplaceRun, releases: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean and the geometric median (d,) of releases (m, d) in box units.

    Distances are those of the noise.
    """
    release = PointsRelease(releases / run.scales)
    return attacks.reconstruct_mean(release) * run.scales, attacks.reconstruct_median(release) * run.scales


def repeat_scene(run: NDLaplaceRun, view: View, releases: FloatArray) -> Scene:
    """Return all releases of the record with both guesses: one person's own picture."""
    plane, secret = run.plane(view), Audience.CURATOR
    mean, median = guesses(run, releases)
    return Scene(
        title=f"Record {run.record}, released {len(releases)} times",
        alt="Scatter plot of all releases of one record with their mean and their geometric median.",
        caption="Blue is visible to everyone after this many releases of the same record.",
        x=plane.x,
        y=plane.y,
        axes_public=not plane.nonprivate,
        layers=(
            *run.box_layers(plane),
            own_marks(run.record, plane, "Releases", Ink(Role.RELEASED, secret), releases, "circle", 6.0),
            own_marks(run.record, plane, "Where it is", SECRET, run.unit[[run.record]], "ring", 13.0),
            own_marks(run.record, plane, "Guess: mean", Ink(Role.REFERENCE, secret), mean[None], "diamond", 11.0),
            own_marks(
                run.record, plane, "Guess: geometric median", Ink(Role.VIOLATION, secret), median[None], "cross", 12.0
            ),
        ),
    )


def repeat_facts(run: NDLaplaceRun, releases: FloatArray) -> tuple[Fact, ...]:
    """Return the errors of both guesses. Only the person concerned may see them."""
    place, words = run.unit[run.record], run.measure.words
    mean, median = (float(np.linalg.norm((each - place) / run.scales)) for each in guesses(run, releases))
    return (
        Fact("Mean is off by", words(mean), "Distance to the record."),
        Fact("Geometric median is off by", words(median), "The likeliest place of the record."),
    )


def budget_facts(run: NDLaplaceRun, n_releases: int) -> tuple[Fact, ...]:
    """Return the total cost of this many releases of one record. Public."""
    claim = run.guarantee.proved
    if claim is None:
        return (Fact("Spent", "no limit established", "There is no proof for this run.", True),)
    total = attacks.spent(claim.epsilon, n_releases).epsilon * run.measure.radius
    value = f"ε = {ceiled(total)} per {run.measure.radius_words}"
    return (
        Fact(f"Spent by {n_releases} {'releases' if n_releases > 1 else 'release'}", value, "Budgets add up.", True),
    )


def error_chart(run: NDLaplaceRun, n_releases: int) -> Scene:
    """Return the expected root mean square error of both guesses by the number of releases. Public."""
    d, epsilon = run.words.box.d, run.params.epsilon
    n = np.array(RELEASES, dtype=np.float64)
    x, unit = np.log10(n), 100.0 if run.measure.shares else 1.0
    errors = attacks.mean_error(epsilon, d, n), measured_errors(d) / epsilon, attacks.median_error(epsilon, d, n)
    mean, measured, best = (np.log10(unit * error) for error in errors)
    curves = (
        ("Mean, exactly", mean, Role.REFERENCE, False),
        ("Geometric median, measured", measured, Role.VIOLATION, False),
        ("Best possible for many", best, Role.NOISE, True),
    )
    layers = [Layer.line(name, Ink(role, LAW.audience), x, y, size=2.0, dash=dash) for name, y, role, dash in curves]
    return Plot(
        title="Error of the guesses",
        alt="Line chart of the error of two guesses against the number of releases of the same record.",
        caption=f"Root mean square distance, before the box applies; measured on {N_RECORDS} invented records.",
        x=Axis("releases of one record", view=(-0.05, float(x[-1]) + 0.05), log=True),
        y=Axis("error", run.measure.axis_unit, (float(best.min()) - 0.1, float(mean.max()) + 0.1), log=True),
        layers=(*layers, Layer.cursor("Now", GUIDE, np.log10(n_releases))),
    )


@lru_cache(maxsize=64)
def measured_errors(d: int) -> FloatArray:
    """Return the geometric median's expected root mean square error for each of RELEASES at ε = 1."""
    rng, n_draws = np.random.default_rng(0), N_RECORDS * MOST_RELEASES
    draws = nd_laplace_noise(n_draws, d, epsilon=1.0, rng=rng).displacement.reshape(N_RECORDS, MOST_RELEASES, d)
    errors = [np.sqrt((geometric_median(draws[:, :m]) ** 2).sum(axis=1).mean()) for m in RELEASES]
    return frozen(np.array(errors))
