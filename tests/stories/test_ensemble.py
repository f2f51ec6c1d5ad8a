"""Clouds and fog follow the distribution of the last noise; the public's clouds follow only from the release."""

import dataclasses

import numpy as np
import pytest

import dpviz
from dpviz import methods
from dpviz.baselines import dp_em, dplloyd
from dpviz.core import Box, Guarantee
from dpviz.data import Dataset
from dpviz.mechanisms import TEACHING
from dpviz.methods.convergent_kmeans import algorithm as ckm
from dpviz.methods.convergent_kmeans.algorithm.step import finish
from dpviz.methods.dpm import algorithm as dpm
from dpviz.methods.dpm import uncertainty
from dpviz.methods.dpm.algorithm import centers
from dpviz.methods.morse import run as morse
from dpviz.methods.morse.algorithm import bases
from dpviz.plots import Audience, Kind, csv_text, pack, read_header, svg
from dpviz.runs import run_of
from dpviz.solvers import ClusterSums
from dpviz.stories import View, ensemble
from dpviz.stories.ground_layers import noise_length
from dpviz.stories.view import Plane, project
from tests.stories.marks import other_trace
from tests.stories.test_public_replay import worlds

# Number of draws, and of runs of a mechanism.
N = 2_000
# Kolmogorov and Smirnov, two samples: each comparison is beyond this with probability 2 exp(-2 x^2) = 1e-6.
FAR = np.sqrt(np.log(2e6) / 2.0)
BOX = Box.cube(0.0, 1.0, 2)
HOMES = np.array([[0.25, 0.25], [0.3, 0.75], [0.75, 0.7], [0.75, 0.25]])
POINTS = np.clip(
    HOMES[np.random.default_rng(5).integers(4, size=400)] + 0.07 * np.random.default_rng(6).standard_normal((400, 2)),
    0.0,
    1.0,
)
ONE = {"n_clusters": 4, "start_seed": 0, "n_iterations": 1, "epsilon": 0.5}


def distance(one, other):
    """Return the distance between the distributions of two samples (n,) and (m,), at most 1."""
    both = np.concatenate([one, other])
    at = [np.searchsorted(np.sort(each), both, side="right") / len(each) for each in (one, other)]
    return float(np.abs(at[0] - at[1]).max())


def alike(draws, landed):
    """Return True if draws (n, k, d) have the distribution of `landed` (m, k, d), number by number."""
    (n, k, d), m = draws.shape, len(landed)
    most = max(distance(draws[:, i, j], landed[:, i, j]) for i in range(k) for j in range(d))
    return most <= FAR * np.sqrt(1.0 / n + 1.0 / m)


@pytest.fixture
def many(monkeypatch):
    """Use ensembles of N draws."""
    monkeypatch.setattr(ensemble, "MOST_DRAWS", N)
    monkeypatch.setattr(ensemble, "MOST_PLACES", 1 << 30)


def wrong(monkeypatch, factor):
    """Make the noise `factor` times as wide."""
    right = ensemble.standard_noise
    for module in (ensemble, uncertainty):
        monkeypatch.setattr(module, "standard_noise", lambda *given: tuple(factor * each for each in right(*given)))


def taught(run):
    """Return a run as a teaching run."""
    guarantee = run.result.guarantee
    said = Guarantee(guarantee.published, guarantee.proved, (TEACHING, *guarantee.caveats))
    return dataclasses.replace(run, result=dataclasses.replace(run.result, guarantee=said))


def exact(run):
    return run.ensembles(View())[0].draws


def public(run):
    return run.ensembles(View())[1].draws


# Runs of one iteration, from a public start and with a public budget: releases from other seeds give the distribution.
MODULES = [
    pytest.param("dplloyd", dplloyd, {}, id="dplloyd"),
    pytest.param("convergent_kmeans", ckm, {}, id="repaired"),
]


@pytest.mark.parametrize(("name", "module", "given"), MODULES)
@pytest.mark.usefixtures("many")
def test_the_curators_draws_are_what_other_seeds_release(name, module, given, monkeypatch):
    params = module.Params(**ONE | given)
    landed = np.stack(
        [module.fit(POINTS, BOX, params, rng=np.random.default_rng([7, seed])).release.centers for seed in range(N)]
    )
    run = dpviz.run(name, POINTS, bounds=BOX, seed=1, **ONE | given)
    assert alike(exact(run), landed)
    assert not alike(public(run), landed), "the public's cloud stands around the released centers"
    wrong(monkeypatch, 2.0)
    assert not alike(exact(run), landed)


@pytest.mark.usefixtures("many")
def test_an_iteration_of_dp_em_is_its_own_law(monkeypatch):
    run = dpviz.run("dp_em", POINTS, bounds=BOX, seed=1, n_clusters=4, start_seed=0, epsilon=4.0, delta=1e-5)
    last, before, rng = run.steps[-1], run.steps[-2].mixture, np.random.default_rng(2)
    sigmas = tuple(leaf.sigma for leaf in last.events[-1].events)
    widths = np.repeat(sigmas, [1, 2, 3])
    landed = []
    for _ in range(N):
        noisy = last.nonprivate_moments + widths * rng.standard_normal(last.nonprivate_moments.shape)
        landed.append((dp_em.m_step(noisy, before, before, sigmas).means + 1.0) / 2.0)
    assert alike(exact(run), np.stack(landed))
    wrong(monkeypatch, 2.0)
    assert not alike(exact(run), np.stack(landed))


@pytest.mark.parametrize("estimator", ["steady", "plain"])
@pytest.mark.usefixtures("many")
def test_a_pass_of_morse_is_its_own_law(estimator, monkeypatch):
    given = {"n_components": 6, "n_clusters": 2, "n_iterations": 2, "epsilon": 2.0, "estimator": estimator}
    run = dpviz.run("morse", POINTS, bounds=BOX, seed=1, **given)
    last, before, rng = run.steps[-1], run.steps[-2].mixture, np.random.default_rng(2)
    steady, kept = estimator == "steady", run.release.kept
    landed = []
    for _ in range(N):
        noisy = last.nonprivate_moments + last.sigma * rng.standard_normal(last.nonprivate_moments.shape)
        landed.append((bases.estimate(noisy, before, last.sigma, steady=steady, last=True).mixture.means + 1.0) / 2.0)
    assert alike(exact(run), np.stack(landed)[:, kept])
    assert not alike(public(run), np.stack(landed)[:, kept]), "the public's cloud stands around the released hills"
    wrong(monkeypatch, 2.0)
    assert not alike(exact(run), np.stack(landed)[:, kept])


@pytest.mark.parametrize("base", ["dplloyd_mog", "dpcube"])
def test_morse_has_no_cloud_where_its_last_pass_has_another_law(base):
    run = dpviz.run("morse", POINTS, bounds=BOX, seed=1, n_components=6, n_clusters=2, epsilon=4.0, base=base)
    assert run.ensembles(View()) == (None, None)


@pytest.mark.usefixtures("many")
def test_published_mode_throws_centers_along_the_rays_of_their_sums(monkeypatch):
    given = {"mode": "published", "n_clusters": 4, "start_seed": 0, "epsilon_counts": 0.05}
    run = dpviz.run("convergent_kmeans", POINTS, bounds=BOX, seed=1, **given)
    last, rng = run.steps[-1], np.random.default_rng(4)
    sums = ClusterSums(last.nonprivate_final_counts, last.nonprivate_final_counts[:, None] * last.nonprivate_final_mean)
    landed = np.stack([finish(last, sums, 0.05, "still", rng=rng).final_centers for _ in range(N)])
    assert alike(exact(run), landed)
    assert run.ensembles(View())[1] is None, "the noisy counts are not released"
    wrong(monkeypatch, 2.0)
    assert not alike(exact(run), landed)


@pytest.mark.parametrize("calibration", ["repaired", "published"])
@pytest.mark.usefixtures("many")
def test_dpms_averages_are_drawn_as_they_are_released(calibration, monkeypatch):
    taken = {}
    average = dpm.average

    def kept(*given, rng, **options):
        taken.update(given=given, options=options)
        return average(*given, rng=rng, **options)

    monkeypatch.setattr(dpm, "average", kept)
    box = Box([-3.0, 2.0], [1.0, 9.0])
    run = dpviz.run("dpm", box.from_unit(POINTS), bounds=box, seed=1, epsilon=2.0, calibration=calibration)
    rng = np.random.default_rng(5)
    landed = np.stack([average(*taken["given"], rng=rng, **taken["options"]).centers for _ in range(N)])
    assert alike(exact(run), box.to_unit(landed))
    for seen in (exact(run), public(run)):
        assert seen.min() >= 0.0
        assert seen.max() <= 1.0
    right = uncertainty.standard_noise
    monkeypatch.setattr(uncertainty, "standard_noise", lambda *given: tuple(2.0 * each for each in right(*given)))
    assert not alike(exact(run), box.to_unit(landed))


@pytest.mark.usefixtures("many")
def test_dpms_second_averages_are_drawn_around_the_first_ones_that_there_were(monkeypatch):
    rng, taken, answers, average, draw = np.random.default_rng(5), {}, [], dpm.average, centers.gaussian
    points = rng.uniform(0.1, 0.9, (4, 10))[np.arange(2_000) % 4] + 1e-2 * rng.standard_normal((2_000, 10))

    def kept(*given, rng, **options):
        taken.update(given=given, options=options)
        return average(*given, rng=rng, **options)

    def answered(value, *, sigma, rng):
        answers.append(draw(value, sigma=sigma, rng=rng) if len(answers) % 2 or not answers else answers[0])
        return answers[-1]

    monkeypatch.setattr(dpm, "average", kept)
    monkeypatch.setattr(centers, "gaussian", answered)
    run = dpviz.run("dpm", points, bounds=Box.cube(0.0, 1.0, 10), seed=1, epsilon=30.0)
    assert run.last.n_rounds == len(answers) == 2
    landed = np.stack([average(*taken["given"], rng=rng, **taken["options"]).centers for _ in range(N)])
    assert alike(exact(run), landed)
    right = uncertainty.standard_noise
    monkeypatch.setattr(uncertainty, "standard_noise", lambda *given: tuple(1.4 * each for each in right(*given)))
    assert not alike(exact(run), landed)


def test_a_cut_is_redrawn_by_its_own_chances():
    run = dpviz.run("dpm", POINTS, bounds=BOX, seed=1, epsilon=0.3)
    splits = [split for step in run.levels for split in step.splits if split.applied]
    assert splits
    n = 50_000
    for split in splits:
        axes, places = uncertainty.redrawn(split, (np.arange(n) + 0.5) / n)
        chances = split.probabilities
        for axis in range(2):
            here = np.where(split.exists[axis], split.positions[axis], np.nan)
            found = np.array([np.count_nonzero((axes == axis) & (places == place)) for place in here])
            # Evenly spread numbers fall into a stretch of length p to within one of n p.
            assert np.abs(found - n * np.where(split.exists[axis], chances[axis], 0.0)).max() <= 1.0 + 1e-6 * n
        flat = np.where(split.exists, 1.0 / split.exists.sum(), 0.0)
        assert np.abs(flat - chances).max() > 1e-3, "chances that are all the same would show nothing"


# Public clouds, haze, rings and circles, against true averages of many runs.

CROWDS = np.array([[0.15, 0.2, 0.2], [0.85, 0.15, 0.8], [0.2, 0.85, 0.8], [0.82, 0.8, 0.2]])
ENDS, FOUR, PRIVATE = (0.05, 0.95), {"n_clusters": 4, "start_seed": 0}, {"n_clusters": 4, "start": "private"}
HILLS = {"n_components": 6, "n_clusters": 2, "n_iterations": 2}
# Tolerance, because an average is a ratio of two noisy numbers. Counts are over 20 noise scales.
BEND = 0.01


def many_runs(name, given, *, n=2_000, n_runs=200, d=2):
    """Return runs of a method that differ only by their noise."""
    around, box = 0.03 * np.random.default_rng(6).standard_normal((n, d)), Box.cube(0.0, 1.0, d)
    points = np.clip(CROWDS[np.arange(n) % 4, :d] + around, 0.0, 1.0)
    algorithm, kind = methods.ALGORITHMS[name], methods.run_class(name)
    params, data = algorithm.Params(**given), Dataset(points, None, box, ("x", "y", "z")[:d], "Crowds")
    results = [algorithm.fit(points, box, params, rng=np.random.default_rng(seed)) for seed in range(n_runs)]
    first = run_of(kind, results[0], params, data, results[0].guarantee)
    return [kind.from_result(result, params, points, first.words, first.reference) for result in results]


def true_averages(run):
    """Return the averages (k, d) from which the released centers are made."""
    last = run.steps[-1]
    if isinstance(run, morse.MorseRun):
        moments = last.nonprivate_moments[run.release.kept]
        return (1.0 + moments[:, 1:3] / moments[:, :1]) / 2.0
    return last.nonprivate_centers if hasattr(last, "nonprivate_centers") else last.nonprivate_mean


def border_sides(centers, released):
    """Return the gap (..., pairs) between squared distances of two `centers` from their released centers' middle."""
    one, other = np.triu_indices(len(released), 1)
    middles = (released[one] + released[other]) / 2.0
    return ((centers[..., one, :] - middles) ** 2 - (centers[..., other, :] - middles) ** 2).sum(axis=-1)


def hits(run, stayed=False):
    """Return the frequency with which the middle 90 % of the draws contains a true average or border."""
    seen, true = run.ensembles(View())[1], true_averages(run)
    anywhere = ensemble.standard_uniform(*seen.draws.shape)
    which = (seen.draws == anywhere).all(axis=(0, 2)) == stayed
    pairs = [(seen.draws[:, which], true[which])] if which.any() else []
    if seen.borders and not stayed:
        pairs.append(tuple(border_sides(each, run.final) for each in (seen.draws, true)))
    ends = [np.quantile(draws, ENDS, axis=0) for draws, _ in pairs]
    return [((low <= exact) & (exact <= high)).mean() for (low, high), (_, exact) in zip(ends, pairs, strict=True)]


def off_share(runs):
    """Return by how much the shares of hits differ from the one that is meant, and a tolerance.

    The ends of m draws contain (m - 1) / (m + 1) of 90 % on average, with the variance of a share of m + 2 draws; at
    least four centers have draws of their own. Six standard errors of the runs and of the draws, and BEND.
    """
    found, m = np.array([hits(run) for run in runs]), ensemble.MOST_DRAWS
    error = found.std(axis=0) / np.sqrt(len(found)) + np.sqrt(0.09 / (m + 2) / 4.0)
    return found.mean(axis=0) - 0.9 * (m - 1) / (m + 1), 6.0 * error + BEND


def forget_counts(monkeypatch):
    """Use clouds and rings that ignore the counts' noise."""
    right = ensemble.standard_noise
    monkeypatch.setattr(ensemble, "standard_noise", lambda *given: (0.0 * right(*given)[0], right(*given)[1]))
    monkeypatch.setattr(uncertainty, "count_noise", lambda scales, n: np.zeros((n, len(scales))))


def halve(monkeypatch):
    wrong(monkeypatch, 0.5)


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize(
    ("name", "given", "spoil"),
    [
        ("dplloyd", FOUR | {"n_iterations": 3, "epsilon": 2.0}, forget_counts),
        ("blum", FOUR | {"epsilon": 10.0}, halve),
        ("dwork", FOUR | {"epsilon": 40.0}, halve),
        ("convergent_kmeans", FOUR | {"epsilon": 2.0}, forget_counts),
        ("dp_em", FOUR | {"epsilon": 4.0, "delta": 1e-5}, forget_counts),
        ("morse", HILLS | {"epsilon": 4.0}, halve),
    ],
)
def test_public_clouds_and_haze_contain_the_truth_as_often_as_meant(name, given, spoil, monkeypatch):
    runs = many_runs(name, given)
    off, error = off_share(runs)
    assert (np.abs(off) <= error).all()
    spoil(monkeypatch)
    off, error = off_share(runs)
    assert (off < -error).all()


@pytest.mark.parametrize("calibration", ["repaired", "published"])
def test_clouds_of_dpm_contain_true_averages_as_often_as_their_draws_allow(calibration, monkeypatch):
    runs = many_runs("dpm", {"epsilon": 1.0, "calibration": calibration}, n=20_000, n_runs=100)
    off, error = off_share(runs)
    assert (np.abs(off) <= error).all()
    forget_counts(monkeypatch)
    off, error = off_share(runs)
    assert (off < -error).all()


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("name", ["dplloyd", "convergent_kmeans"])
def test_public_clouds_contain_no_less_after_a_private_start(name, monkeypatch):
    """Means go only as far as noise does not explain: they have less noise than the cloud shows."""
    runs = many_runs(name, PRIVATE | {"epsilon": 2.0})
    off, error = off_share(runs)
    assert (off >= -error).all()
    halve(monkeypatch)
    off, error = off_share(runs)
    assert (off < -error).all()


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("dplloyd", FOUR | {"epsilon": 0.01, "n_iterations": 2}),
        ("dp_em", FOUR | {"epsilon": 0.05, "delta": 1e-5}),
        ("morse", HILLS | {"epsilon": 0.05}),
    ],
)
@pytest.mark.usefixtures("many")
def test_the_cloud_of_a_center_that_stayed_is_all_of_the_box(name, given, monkeypatch):
    """Nothing is known about the average: draws include it in at least 9 of 10 runs. A definite place fails."""
    runs, uniform = many_runs(name, given, n_runs=100), ensemble.standard_uniform
    for definite in (False, True):
        if definite:
            monkeypatch.setattr(ensemble, "standard_uniform", lambda *given: 0.5 + 0.01 * uniform(*given))
        found = [share for run in runs for share in hits(run, stayed=True)]
        assert len(found) > 10
        assert (np.mean(found) >= 0.9) == (not definite)


@pytest.mark.parametrize(
    ("calibration", "d", "view"),
    [
        ("repaired", 1, View()),
        ("repaired", 2, View()),
        ("repaired", 3, View(0, 1, z=2, yaw=25.0, pitch=40.0)),
        ("published", 2, View()),
    ],
)
def test_rings_of_dpm_contain_half_of_the_true_averages(calibration, d, view, monkeypatch):
    """Six standard errors of the runs and of the ring's public draws. Counts without noise are refused."""
    runs = many_runs("dpm", {"epsilon": 1.0, "calibration": calibration}, n=20_000, n_runs=250, d=d)

    def off_half():
        found = []
        for run in runs:
            plane = Plane.from_view(view, run.words)
            place, true = plane.projection(run.final), plane.projection(true_averages(run))
            rings = uncertainty.draw_rings(run.release, run.count_scales, run.subsets, plane, published=run.published)
            around, away = rings[:, :-1] - place[:, None], true - place
            # The inverse of twice an ellipse's second moments is 1 on the ellipse.
            forms = np.linalg.pinv(2.0 * np.einsum("kpi,kpj->kij", around, around) / around.shape[1])
            found.append(np.mean(np.einsum("ki,kij,kj->k", away, forms, away) <= 1.0))
        error = np.std(found) / np.sqrt(len(found)) + np.sqrt(0.25 / uncertainty.N_INSIDE)
        return np.mean(found) - 0.5, 6.0 * error

    off, error = off_half()
    assert abs(off) <= error
    forget_counts(monkeypatch)
    off, error = off_half()
    assert off < -error


@pytest.mark.parametrize(
    ("name", "epsilon", "wrong"), [("dplloyd", 2.0, 1.0), ("blum", 10.0, 0.5), ("dwork", 40.0, 0.5)]
)
def test_likely_errors_are_the_root_mean_square_of_true_errors(name, epsilon, wrong):
    """Six standard errors, and BEND twice over for a square. Refused: `wrong` times the length of the sums' noise."""
    right, refused = [], []
    for run in many_runs(name, FOUR | {"epsilon": epsilon}):
        (layer,) = [each for each in run.picture().layers if each.name == "likely error"]
        squares = ((run.final - true_averages(run)) ** 2).sum(axis=1)
        right.append(np.mean(squares / layer.arrays["radius"][-1] ** 2))
        refused.append(np.mean(squares / (wrong * noise_length(run.noise_scales[0][-1], 2)) ** 2))
    for found in (right, refused):
        error = 6.0 * np.std(found) / np.sqrt(len(found)) + 2.0 * BEND
        assert (abs(np.mean(found) - 1.0) <= error) == (found is right)


def test_draws_only_scale_with_the_noise():
    counts, sums = np.full(4, 100.0), np.random.default_rng(0).random((4, 2))
    moves = [ensemble.SumNoise(scale, scale).added(counts, sums, N)[1] - np.tile(sums, (N, 1)) for scale in (1.0, 0.5)]
    assert moves[0] == pytest.approx(2.0 * moves[1])


TOLD = ["convergent_kmeans", "dplloyd", "blum", "dwork", "dp_em", "dpm", "morse"]
# Names of the layers of hills. The other methods draw centers and averages.
NAMES = {"morse": (morse.CLOUD, morse.PUBLIC_CLOUD)}


@pytest.mark.parametrize("name", TOLD)
def test_one_cloud_is_seen_at_a_time(name):
    run = dpviz.run(name, POINTS, bounds=BOX, seed=1, epsilon=2.0)
    drawn = run.picture()
    clouds = {layer.name: layer for layer in drawn.layers if layer.kind is Kind.ENSEMBLE}
    cloud, public_cloud = NAMES.get(name, (ensemble.CLOUD, ensemble.PUBLIC_CLOUD))
    assert {cloud, public_cloud} <= set(clouds)
    assert all((layer.audience is Audience.CURATOR) == ("true" not in title) for title, layer in clouds.items())
    seen = {layer["name"] for layer in read_header(pack(drawn))["layers"] if layer["kind"] == "ensemble"}
    known = {layer["name"] for layer in read_header(pack(drawn.public()))["layers"] if layer["kind"] == "ensemble"}
    assert cloud in seen
    assert known == {title for title in clouds if "true" in title}
    assert not seen & known
    for scene, titles in ((drawn, seen), (drawn.public(), known)):
        assert {each.layer.name for each in scene.visible() if each.layer.kind is Kind.ENSEMBLE} == titles
        assert {title for title in clouds if title in svg([scene])} == titles
        assert public_cloud in csv_text([scene]) or scene is drawn


@pytest.mark.parametrize("name", TOLD)
def test_with_secret_noise_the_curator_sees_what_everyone_sees(name):
    run = dpviz.run(name, POINTS, bounds=BOX, epsilon=2.0)
    assert not run.teaching
    assert run.ensembles(View())[0] is None
    drawn = run.picture()
    mine, theirs = (
        [layer for layer in read_header(pack(scene))["layers"] if layer["kind"] == "ensemble"]
        for scene in (drawn, drawn.public())
    )
    assert [layer["name"] for layer in mine] == [layer["name"] for layer in theirs]
    assert mine
    assert all(each.drain is None for each in drawn.visible())


@pytest.mark.parametrize("mode", ["repaired", "published"])
def test_the_publics_ensemble_of_zones_follows_from_the_release(tell, mode):
    told = taught(tell(2, mode=mode))
    changed = other_trace(told)
    assert pack(told.picture().public()) == pack(changed.picture().public())
    if mode == "repaired":
        assert not np.array_equal(exact(told), exact(changed)), "the curator's does change"
        leaked = dataclasses.replace(told.ensembles(View())[0], drain=None)
        assert not np.array_equal(leaked.draws, public(told))


@pytest.mark.parametrize("calibration", ["repaired", "published"])
def test_the_publics_ensemble_of_dpm_follows_from_the_release(calibration):
    told, changed = map(taught, worlds("dpm", {"calibration": calibration}))
    assert pack(told.picture().public()) == pack(changed.picture().public())
    assert not np.array_equal(exact(told), exact(changed))
    names = {layer.name for layer in told.picture().public().layers}
    assert ensemble.CUTS_FOG not in names, "where cuts could have been is secret"


@pytest.mark.parametrize(
    ("name", "given"), [("lloyd", {}), ("eugkm", {}), ("em_mc", {}), ("morse", {"base": "dpcube"})]
)
def test_where_no_law_is_known_nothing_is_drawn(name, given):
    run = dpviz.run(name, POINTS, bounds=BOX, seed=1, **given)
    assert all(layer.kind is not Kind.ENSEMBLE for layer in run.picture().layers)


@pytest.mark.parametrize(
    ("d", "view", "clouds", "fogs"),
    [
        (1, View(), 1, 0),
        (2, View(), 1, 1),
        (2, View(1, 0), 1, 1),
        (4, View(3, 1), 1, 0),
        (4, View(principal=True), 0, 0),
        (4, View(0, 1, z=2), 0, 0),
    ],
)
def test_a_cloud_stands_where_features_are_shown_and_fog_where_there_are_two(d, view, clouds, fogs):
    points = np.random.default_rng(1).random((300, d))
    run = dpviz.run("dplloyd", points, bounds=Box.cube(0.0, 1.0, d), seed=1, n_clusters=3, epsilon=5.0)
    drawn = [layer for layer in run.picture(view).seen_layers if layer.kind is Kind.ENSEMBLE]
    assert [layer.fill > 0 for layer in drawn].count(False) == clouds
    assert [layer.fill > 0 for layer in drawn].count(True) == fogs
    if clouds and d > 1:
        places = project(view, run.words, run.unit)(exact(run))
        assert np.array_equal(next(layer for layer in drawn if not layer.fill).arrays["xy"][0], places)


def test_a_record_is_as_gray_as_draws_put_it_elsewhere():
    run = dpviz.run("dplloyd", POINTS, bounds=BOX, seed=1, **ONE | {"epsilon": 0.3})
    draws, drawn = exact(run)[: ensemble.DRAIN_DRAWS], run.picture()
    (shades,) = [layer.arrays["drain"][0] for layer in drawn.seen_layers if "drain" in layer.arrays]
    nearest = np.linalg.norm(POINTS[:, None, None] - draws, axis=3).argmin(axis=2)
    share = (nearest == run.nonprivate_labels[:, None]).mean(axis=1)
    assert np.array_equal(shades, np.rint(4.0 * (1.0 - share**3)))
    assert len(np.unique(shades)) == 5
    records = next(each for each in drawn.visible() if each.layer.kind is Kind.POINTS)
    assert records.drain is shades or np.array_equal(records.drain, shades)
    assert all(each.drain is None for each in drawn.visible(0)), "before the release no record is gray"
    assert all(each.drain is None for each in drawn.visible(hidden=[ensemble.CLOUD])), "nor where the cloud is off"


def test_a_record_of_dpm_is_gray_where_cuts_part_it_from_its_center():
    run = dpviz.run("dpm", POINTS, bounds=BOX, seed=1, epsilon=0.2)
    cuts = uncertainty.Cuts.drawn(run.levels, 64)
    shades = cuts.shades(run.subsets, run.last, POINTS)
    labels, middle = run.last.nonprivate_labels, run.last.nonprivate_centers
    n, kept = ensemble.DRAIN_DRAWS, np.zeros(len(POINTS))
    tree, leaves = run.release.tree, run.last.leaves
    for draw in range(n):
        for i, record in enumerate(POINTS):
            node, parted = leaves[labels[i]], False
            while tree.parents[node] >= 0:
                node = tree.parents[node]
                (m,) = np.flatnonzero(cuts.nodes == node)
                axis, at = cuts.axes[draw, m], cuts.positions[draw, m]
                parted |= (record[axis] < at) != (middle[labels[i]][axis] < at)
            kept[i] += not parted
    assert np.array_equal(shades, np.rint(4.0 * (1.0 - (kept / n) ** 3)))
    assert len(np.unique(shades)) > 1


def test_many_centers_have_fewer_draws():
    assert ensemble.n_draws(5) == ensemble.MOST_DRAWS == 64
    assert ensemble.n_draws(64) == ensemble.FEWEST_DRAWS
    assert ensemble.n_draws(250) * 250 <= 2_000
