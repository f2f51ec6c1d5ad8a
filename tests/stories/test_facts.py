"""Every number among a run's facts matches its label: the tests compute it from records and release by other means."""

import dataclasses
import math
import re

import numpy as np
import pytest
from scipy import integrate, optimize, special, stats
from scipy.spatial.distance import cdist, pdist
from sklearn import metrics

from dpviz.accounting import LaplaceEvent
from dpviz.core import Adjacency, attacker_odds
from dpviz.methods.dpm.algorithm.tree import SPLIT
from dpviz.methods.morse import algorithm as morse
from dpviz.methods.nd_laplace import attacks, clusters
from dpviz.methods.nd_laplace.algorithm import redraw_loss
from dpviz.methods.nd_laplace.charts import square_of, wall_facts
from dpviz.methods.nd_laplace.run import PointsLook
from dpviz.solvers import assign_basins
from dpviz.stories.spending import leaves
from tests.stories.conftest import FASTER, records_of, run_on, words_of

N, RADIUS = 700, 1.5
FIGURE = re.compile(r"-?\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?")
RANGE = {"unit": "range"}
RUNS = {
    "nd_laplace": [{"domain": each} for each in ("none", "clamp", "redraw")] + [RANGE, {"domain": "redraw", **RANGE}],
    "source_target": [
        {"method": "nna"},
        {"method": "nas"},
        {"method": "nas", "epsilon": None, "rho": 400.0, "noise": "gaussian"},
    ],
    "morse": [{}, {"base": "dplloyd_mog"}, {"base": "dpcube"}],
    "dpm": [{}, {"calibration": "published"}, {"epsilon": 0.2}],
    "convergent_kmeans": [{"mode": "published"}],
    "dplloyd": [{}, {"epsilon": 0.05}],
    "eugkm": [{}],
    "gupt": [{}],
}
GIVEN = {
    "nd_laplace": {"epsilon": 2.0},
    "source_target": {"epsilon": 40.0, "n_centers": 4, "t": 20, "coreset_radius": 0.01},
    "morse": {"n_components": 24, "n_iterations": 2, "epsilon": 30.0, "n_clusters": 3},
    "dpm": {"epsilon": 5.0},
    "convergent_kmeans": {"epsilon_counts": 0.05},
}


def told(name, options):
    """Return a run in a box that is not a cube, and its records, data units; classes are nearly the clumps."""
    words = words_of(2)
    points, rng = records_of(2, N, 1), np.random.default_rng(2)
    given = {**GIVEN.get(name, {}), **FASTER.get(name, {}), **options}
    if name == "source_target":
        given["targets"] = words.box.from_unit(rng.random((150, 2)))
    run = run_on(name, points, words, np.random.default_rng(3), **given)
    points = words.box.clip(points)
    classes = (points[:, 0] > np.median(points[:, 0])).astype(np.intp) + (rng.random(N) < 0.1)
    if name == "nd_laplace":
        run = dataclasses.replace(run, look=PointsLook.from_params(words.units, run.params, RADIUS))
    elif name == "source_target":
        run = dataclasses.replace(run, classes=classes, target_classes=np.arange(150) % 3)
    elif name in ("dpm", "morse"):
        run = dataclasses.replace(run, classes=classes)
    return run, points


@dataclasses.dataclass
class Limit:
    """A limit: never on the wrong side of its number, and less than a whole step away."""

    value: float
    upper: bool = True


def agrees(shown, exact, text):
    """Check a figure's rounding: counts exactly, chances to whole cases, others to two significant digits or more."""
    if isinstance(exact, Limit) and text.startswith("over 99 in 100"):
        return exact.upper and shown < exact.value <= 100.0
    if isinstance(exact, Limit):
        off = (shown - exact.value) * (1.0 if exact.upper else -1.0)
        return -1e-9 * abs(exact.value) <= off <= max(1.0 * (" in " in text), 0.0101 * abs(exact.value))
    if isinstance(exact, int | np.integer):
        return shown == exact
    if " in 100" in text and shown == round(shown):
        return abs(shown - exact) <= 0.5 + 1e-9
    half_step = 0.5 * 10.0 ** (math.floor(math.log10(abs(exact))) - 1) if exact else 0.0
    return abs(shown - exact) <= half_step + 1e-9


def nd_laplace(run, x):
    """Return the expected facts about moved points: lengths in the unit that ε is per, shares in percent."""
    box, epsilon, redraw = run.words.box, run.params.epsilon, run.params.domain == "redraw"
    per = box.widths if run.params.unit == "range" else np.ones(2)
    times = 100.0 if run.params.unit == "range" else 1.0
    moves, law = (run.release.points - x) / per, stats.gamma(2, scale=1.0 / epsilon)
    lengths = times * np.sqrt((moves**2).sum(axis=1))
    outside = ~((run.release.points >= box.low) & (run.release.points <= box.high)).all(axis=1)
    diagonal = math.dist(box.low / per, box.high / per)
    # The noise goes less than half of the way to the other place: by the distribution of its length, for each angle.
    angles = (np.arange(20_000) + 0.5) / 20_000 * math.pi / 2.0
    nearer = 0.5 + 0.5 * law.cdf(RADIUS / 2.0 / np.cos(angles)).mean()
    some = x[np.linspace(0, len(x) - 1, min(len(x), 300)).astype(int)] / per
    worst = np.mean(1.0 / (1.0 + np.exp(epsilon * (2.0 if redraw else 1.0) * pdist(some))))
    wanted = {
        "Expected move": [times * law.mean()],
        "90 in 100 move at most": [times * law.ppf(0.9)],
        "Outside the box": [100.0 * outside.mean()],
        "Average move, this run": [lengths.mean()],
        "Per feature, root mean square": [times * math.sqrt(np.mean(moves**2))],
        "Per feature, mean": [times * np.mean(np.abs(moves))],
        "Across the whole box": [Limit(attacker_odds(epsilon * diagonal * (2.0 if redraw else 1.0)))],
        "Attacker's minimum error, average over pairs": [Limit(100.0 * worst, upper=False)],
    }
    if redraw:
        return wanted | {"Draws thrown away": [float(np.mean(run.steps[0].n_rejected))]}
    best = 100.0 * nearer if run.params.domain == "none" else Limit(100.0 * nearer)
    return wanted | {"On average over releases": [best]}


def source_target(run, x):
    """Return the expected facts about centers for a secret source."""
    release, targets, step = run.release, run.params.targets, run.step
    across = 2.0 * step.ball.radius
    near = cdist(targets, x).min(axis=1)

    def cost(chosen):
        return np.minimum(near, cdist(targets, targets[chosen]).min(axis=1)).mean()

    def right(chosen):
        labels = np.concatenate([run.target_classes[chosen], run.classes])
        nearest = cdist(targets, np.concatenate([targets[chosen], x])).argmin(axis=1)
        return 100.0 * (labels[nearest] == run.target_classes).mean()

    chosen, reference = release.selected, run.reference
    floor = min(cost(chosen), cost(reference.nonprivate_selected))
    known = np.concatenate([release.centers, targets[chosen]])
    apart = np.abs(near - cdist(targets, release.centers).min(axis=1)) / across
    wanted = {
        "Cost": [cost(chosen)],
        "Compared to no privacy": [cost(chosen) / floor],
        "Ignoring the source": [cost(reference.ignorant) / floor],
        "Cost estimated from S′": [cdist(targets, known).min(axis=1).mean()],
        "Points in S′": [len(release.centers), len(step.core.representatives)],
        "S′ instead of S, measured": [apart.mean()],
        "Right label, no new labels": [right(np.empty(0, dtype=np.intp))],
        "Right label, these centers": [right(chosen)],
        "Right label, Cluster T": [right(reference.ignorant)],
        "Right label, without privacy": [right(reference.nonprivate_selected)],
    }
    noise = [leaf for event in run.events for leaf in leaves(event)]
    scales = {leaf.scale if isinstance(leaf, LaplaceEvent) else leaf.sigma for leaf in noise}
    if run.params.method == "nna":
        counts, noisy = step.nonprivate_counts, step.noisy_counts
        assert release.noisy_counts.min() > release.threshold >= max(noisy[noisy <= release.threshold], default=0.0)
        moved = np.abs(noisy - counts).mean()
        said = {"Noise of a count": [release.scale], "Threshold": [release.threshold]}
    else:
        places = targets[release.origins]
        exact = np.stack([x[np.argsort(row)[: run.params.t]].mean(axis=0) for row in cdist(places, x)])
        off = release.centers - exact
        gaussian = run.params.noise == "gaussian"
        moved = (off.std() if gaussian else np.abs(off).mean()) / across
        said = {"Noise of a mean": [release.scale * across]}
        said["S′ instead of S, bound"] = [Limit(step.nonprivate_bound)]
        assert apart.mean() <= step.nonprivate_bound
    n = np.size(counts if run.params.method == "nna" else off)
    assert moved == pytest.approx(release.scale, rel=6.0 / math.sqrt(n)), "of the size that is said"
    assert len(scales) == 1 or run.params.method == "nna"
    return wanted | said


def morse_facts(run, x):
    """Return the expected facts about a landscape."""
    mixture, unit, k = run.release.mixture, 2.0 * run.words.box.to_unit(x) - 1.0, run.params.n_clusters
    logs = [
        math.log(weight) + stats.multivariate_normal(mean, covariance).logpdf(unit)
        for weight, mean, covariance in zip(mixture.weights, mixture.means, mixture.covariances, strict=True)
    ]
    flowing, homes = morse.assign(mixture, unit, k), morse.assign(mixture, mixture.means, k)
    n_peaks = len({*assign_basins(mixture, mixture.means), *assign_basins(mixture, unit)})
    # The sums of dplloyd_mog have another scale.
    if run.params.base != "dplloyd_mog":
        off = (run.steps[-1].noisy_moments - run.steps[-1].nonprivate_moments).ravel()
        assert off.std() == pytest.approx(run.release.sigma, rel=6.0 / math.sqrt(2.0 * off.size)), "of the size it says"
    return {
        "Agreement with the classes (ARI)": [metrics.adjusted_rand_score(run.classes, flowing)],
        "Labels changed by the shortcut": [100.0 * (homes[np.argmax(logs, axis=0)] != flowing).mean()],
        "Components kept": [len(run.release.kept), len(run.release.start)],
        "Peaks": [n_peaks],
        "Transition points": [len(run.tree.landscape.transitions)],
        "Noise of a count": [run.release.sigma],
    }


def doubt(split, step):
    """Return the probability that noise alone makes a gap look so deep if the gap is only chance."""
    beyond = split.gap_depth - 2.0 * math.sqrt(max(split.noisy_count, 1.0))
    return stats.laplace.sf(beyond, scale=1.0 / step.epsilon_gaps)


def sure(doubt):
    """Return the number reported for a doubt: none if it is as good as a coin."""
    return [] if doubt >= 0.5 else [99.0] if doubt < 0.01 else [100.0 * (1.0 - doubt)]


def dpm(run, x):
    """Return the expected facts about a tree of cuts."""
    tree, unit, cells = run.release.tree, run.words.box.to_unit(x), run.release.tree.cells(x)
    k = len(run.release.centers)

    def cost(centers):
        return (cdist(unit, centers).min(axis=1) ** 2).sum()

    middles = run.words.box.to_unit((tree.low + tree.high) / 2.0)[np.argsort(tree.centers)[-k:]]
    means = np.stack([unit[cells == i].mean(axis=0) if (cells == i).any() else middles[i] for i in range(k)])
    n_classes = len(np.unique(run.classes))
    tried = [split for step in run.levels for split in step.splits]
    outcomes = [split.outcome == SPLIT for split in tried]
    few = [k] * (k < n_classes)
    # no_data_cost has its own test.
    blind = run.no_data_cost
    wanted = {
        "Clusters released": [k],
        "Known classes": [n_classes],
        "Cost": [max(cost(run.words.box.to_unit(run.release.centers)) / run.best_cost, 1.0), *few],
        "Without any data": [max(blind / run.best_cost, 1.0), *few],
        "With exact means": [max(cost(means) / run.best_cost, 1.0)],
        "Agreement with classes": [metrics.adjusted_rand_score(run.classes, cells)],
        "Cuts refused": [len(tried) - sum(outcomes), len(tried)],
        "Levels tried": [len(run.levels), len(tree.least_counts)],
        "Places for a cut": sorted({*np.floor(run.words.box.widths / run.release.interval_sizes + 1e-9).astype(int)}),
        "δ": [Limit(1e6 * run.guarantee.stated.delta)],
    }
    if not run.published:
        clear = [
            split.gap_depth > 2.0 * math.sqrt(max(split.noisy_count, 1.0)) + 1.0 / step.epsilon_gaps
            for step in run.levels
            for split in step.splits
            if split.applied
        ]
        wanted["Cuts at a clear gap"] = [sum(clear), len(clear)]
        if clear:
            doubts = [doubt(split, step) for step in run.levels for split in step.splits if split.applied]
            wanted["Least certain cut"] = sure(max(doubts))
    (stopped,) = [fact.value for fact in run.utility() if fact.label == "What stopped the cutting"]
    assert sum(map(int, re.findall(r"\((\d+)\)", stopped))) == k, "one reason for each cluster"
    return wanted


def of_centers(run, x):
    """Return the expected facts about released centers and about each method's own steps."""
    unit, final = run.words.box.to_unit(x), run.words.box.to_unit(run.release.centers)
    cost = (cdist(unit, final).min(axis=1) ** 2).sum()
    wanted = {
        "Cost": [max(cost / run.best_cost, 1.0)],
        "Without any data": [max(run.no_data_cost / run.best_cost, 1.0)],
    }
    if hasattr(run.release, "path"):
        wanted["Iterations"] = [len(run.release.path)]
    return wanted | OWN[type(run).__name__](run, unit)


def published_zones(run, unit):
    """Return the effect of noise on the last counts and centers, k of each."""
    last = run.steps[-1]
    labels = cdist(unit, last.released_centers).argmin(axis=1)
    sums = np.stack([unit[labels == i].sum(axis=0) for i in range(len(last.final_counts))])
    outside = (sums / np.maximum(last.final_counts, 1.0)[:, None] > 1.0).any(axis=1)
    return {
        "Counts raised to 1": [int((last.final_counts < 1.0).sum()), len(sums)],
        "Centers moved onto the wall": [int(outside.sum()), len(sums)],
    }


def lloyds(run, _unit):
    """Return the number of clusters whose noisy count is not informative."""
    scale = max(leaf.scale for event in run.events for leaf in leaves(event) if leaf.label == "counts")
    stayed = run.release.noisy_counts < max(1.0, 2.0 * scale)
    return {"Look empty": [int(stayed.sum()), len(stayed)]}


def grid(run, unit):
    """Return the expected facts about the grid's cells."""
    counts = run.release.grid.counts(unit)
    assert counts.sum() == len(unit)
    return {
        "Cells": [len(counts)],
        "Cells below zero": [100.0 * float((run.release.noisy_cell_counts < 0).mean())],
        "Empty cells": [100.0 * float((counts == 0).mean())],
    }


OWN = {
    "ConvergentKMeansRun": published_zones,
    "LloydFamilyRun": lloyds,
    "EUGkMRun": grid,
    "CentersRun": lambda _run, _unit: {},
}
ORACLES = {"nd_laplace": nd_laplace, "source_target": source_target, "morse": morse_facts, "dpm": dpm}
ELSEWHERE = {"Distance from Lloyd's centers", "Lloyd's iterations", "What stopped the cutting", "Outcome"}


def check(facts, wanted):
    """Check every figure of the facts against its expected value."""
    facts = {fact.label: fact.value for fact in facts if fact.label not in ELSEWHERE}
    assert facts.keys() == wanted.keys()
    for label, exact in wanted.items():
        text = facts[label]
        shown = [float(each.replace(",", "")) for each in FIGURE.findall(re.sub(" in (100|a million)", "", text))]
        assert len(shown) == len(exact), (label, text)
        assert all(agrees(*pair, text) for pair in zip(shown, exact, strict=True)), (label, text, exact)


@pytest.mark.parametrize(("name", "options"), [(name, options) for name in RUNS for options in RUNS[name]], ids=str)
def test_every_number_among_the_facts_is_what_its_label_says(name, options):
    run, points = told(name, options)
    wanted = ORACLES.get(name, of_centers)(run, points)
    proved = run.guarantee.proved
    if name != "nd_laplace" and proved is not None and proved.adjacency is Adjacency.ADD_REMOVE:
        doubled = attacker_odds(2.0 * proved.epsilon, (1.0 + math.exp(proved.epsilon)) * proved.delta)
        wanted["Which of two records was somebody's?"] = [Limit(min(doubled, 100.0))]
    check(run.facts(), wanted)


def walls(run, _x):
    """Return the cost of drawing again in a corner, and its frequency there."""
    box, epsilon = square_of(run.words.box, run.params), run.params.epsilon
    level = epsilon * RADIUS

    def density(y, x):
        return epsilon**2 / (2.0 * math.pi) * math.exp(-epsilon * math.hypot(x, y))

    inside, _ = integrate.dblquad(density, 0.0, box.widths[0], 0.0, box.widths[1])
    return wall_facts(run.params, run.words.box, run.measure), {
        "Leave, clamp or remap": [Limit(level), RADIUS],
        "Draw again, in the corner": [Limit(level * redraw_loss(box, epsilon=epsilon)), RADIUS],
        "Draw again, proved": [Limit(2.0 * level), RADIUS],
        "Draws inside, from a corner": [100.0 * inside],
    }


def median_of(places, weights):
    """Return the place with the least mean distance to `places`."""
    start = np.average(places, axis=0, weights=weights)
    return optimize.minimize(lambda at: weights @ np.linalg.norm(places - at, axis=1), start, tol=1e-10).x


def repeats(run, x):
    """Return the errors of two guesses from one record's releases."""
    releases = attacks.again(run, 8, seed=0)
    places, here = run.words.box.from_unit(releases), x[run.record]
    return attacks.repeat_facts(run, releases), {
        "Mean is off by": [np.linalg.norm(places.mean(axis=0) - here)],
        "Geometric median is off by": [np.linalg.norm(median_of(places, np.full(8, 1.0 / 8.0)) - here)],
    }


def posteriors(run, x):
    """Return the knowledge about a place after its release: by Bayes' rule, on the same grid."""
    box, epsilon, (n, _) = run.words.box, run.params.epsilon, attacks.CELLS[2]
    steps = [low + (np.arange(n) + 0.5) * width / n for low, width in zip(box.low, box.widths, strict=True)]
    cells = np.stack(np.meshgrid(*steps, indexing="ij"), axis=-1).reshape(-1, 2)
    weights = np.exp(-epsilon * np.linalg.norm(cells - run.release.points[run.record], axis=1))
    weights /= weights.sum()
    guess, best = median_of(cells, weights), weights.argmax()
    middle = (box.low + box.high) / 2.0
    return attacks.posterior_facts(run, attacks.posterior_of(run)), {
        "Attacker expects to be off by": [weights @ np.linalg.norm(cells - guess, axis=1)],
        "Without the release": [np.linalg.norm(cells - middle, axis=1).mean()],
        "Likeliest cell": [100.0 * weights[best]],
        "Limit for that cell": [100.0 / np.exp(-epsilon * np.linalg.norm(cells - cells[best], axis=1)).sum()],
        "Actually off by": [np.linalg.norm(guess - x[run.record])],
    }


def compared(run, x):
    """Return the agreement between clusters of records and of moved points."""
    found = clusters.compare_clusters(x, run.words.box, run.release.points.tobytes(), "kmeans", 3)
    ours, clean, points = found.private.labels, found.nonprivate_labels, run.release.points
    table = metrics.cluster.contingency_matrix(clean, ours)
    kept = table[optimize.linear_sum_assignment(-table)].sum()
    scaled = (points - points.mean(axis=0)) / points.std(axis=0)
    return (*clusters.agreement_facts(found), *clusters.internal_facts(found.private)), {
        "Adjusted Rand index": [metrics.adjusted_rand_score(clean, ours)],
        "Adjusted mutual information": [metrics.adjusted_mutual_info_score(clean, ours)],
        "Rand index": [metrics.rand_score(clean, ours)],
        "Normalized mutual information": [metrics.normalized_mutual_info_score(clean, ours)],
        "Flipped": [100.0 * (1.0 - kept / len(ours))],
        "Clusters found": [3],
        "Silhouette": [metrics.silhouette_score(scaled, ours)],
        "Calinski-Harabasz": [metrics.calinski_harabasz_score(scaled, ours)],
        "Davies-Bouldin": [metrics.davies_bouldin_score(scaled, ours)],
    }


def subset(run, x):
    """Return the expected facts about the first cut that was tried."""
    split, box, tree = run.split(0), run.words.box, run.release.tree
    law = special.softmax(np.where(split.exists, split.epsilon * split.score / (2.0 * split.sensitivity), -np.inf))
    (drawn, at), (top, best) = split.chosen, np.unravel_index(np.nanargmax(split.score), split.score.shape)
    spent = [leaf.epsilon for event in run.events for leaf in leaves(event) if (leaf.label, leaf.step) == ("split", 1)]
    assert tree.split_positions[0] == pytest.approx(box.low[drawn] + box.widths[drawn] * split.positions[drawn, at])
    return run.node_facts(), {
        "Records": [float(round(tree.noisy_counts[0]))],
        "Exact records": [len(x)],
        "Drawn cut": [drawn, tree.split_positions[0]],
        "Best cut": [int(top), box.low[top] + box.widths[top] * split.positions[top, best]],
        "Chance of the drawn cut": [100.0 * law[drawn, at]],
        "Chance of the best cut": [100.0 * law[top, best]],
        "Rank of the drawn cut": [1 + int((law > law[drawn, at] * (1.0 + 1e-9)).sum()), int(split.exists.sum())],
        "Sides": [float(round(count)) for count in tree.child_counts[0]],
        "ε of the draw": [spent[0]],
        "How sure the gap is": sure(doubt(split, run.levels[0])),
    }


@pytest.mark.parametrize(
    ("name", "options", "facts_and_oracle"),
    [
        ("nd_laplace", {"domain": "redraw"}, walls),
        ("nd_laplace", {}, repeats),
        ("nd_laplace", {}, posteriors),
        ("nd_laplace", {"epsilon": 6.0}, compared),
        ("dpm", {"epsilon": 0.5}, subset),
    ],
)
def test_every_number_of_a_tab_is_what_its_label_says(name, options, facts_and_oracle):
    check(*facts_and_oracle(*told(name, options)))
