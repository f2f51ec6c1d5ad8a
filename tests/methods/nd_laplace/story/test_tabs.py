"""What stands under nD-Laplace's picture: attacks below their limits, clusters, the law near walls, and the game."""

import dataclasses
import math

import numpy as np
import pytest

from dpviz import attacks
from dpviz.mechanisms import redraw_loss
from dpviz.methods.nd_laplace.story import attacks as laplace_attacks
from dpviz.methods.nd_laplace.story import cluster_charts as charts
from dpviz.methods.nd_laplace.story import clusters as laplace_clusters
from dpviz.methods.nd_laplace.story import law as laplace_law
from dpviz.methods.nd_laplace.story import play as laplace_play
from dpviz.methods.nd_laplace.story import repeats as laplace_repeats
from dpviz.methods.nd_laplace.story.told import Measure
from dpviz.plots import Audience
from dpviz.solvers.local_clustering import METHODS
from dpviz.stories import View
from tests.methods.nd_laplace.story.test_story import DOMAINS, tell


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("unit", ["data", "range"])
def test_no_posterior_is_above_its_limit_and_a_release_helps(domain, unit):
    for record in range(12):  # on the way to the data's unit and back some places round to others
        told = tell(domain=domain, unit=unit, level=4.0, record=record)
        found = laplace_attacks.posterior_of(told)
        assert found.weights.sum() == pytest.approx(1.0)
        assert found.best_cell <= found.bound * (1 + 1e-9)
        assert found.expected < found.before


def test_more_features_than_a_grid_holds_are_said():
    with pytest.raises(ValueError, match="drawn for 1 and 2"):
        laplace_attacks.posterior_of(tell(3))


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_measured_roc_stays_under_its_bound(domain):
    told = tell(domain=domain, level=1.0)
    scene, facts = laplace_attacks.roc_chart(told, seed=1)
    lines = {layer.name: layer.arrays for layer in scene.layers}
    budget = attacks.replacement_budget(
        (2.0 if domain == "redraw" else 1.0) * told.params.epsilon, [[0.0, 0.0]], [[told.measure.radius, 0.0]]
    )
    edges = lines["95 % band"]["edges"][0, 0]
    half = math.sqrt(math.log(2.0 / 2.5e-5) / (2.0 * laplace_attacks.N_ROUNDS))  # of both rates, level 0.9999
    curve = lines["The attack"]["xy"][0, 0]
    assert (curve[:, 1] - half <= attacks.roc_bound(np.minimum(curve[:, 0] + half, 1.0), budget)).all()
    assert (edges[:, 1] <= edges[:, 2]).all()
    assert all(fact.public for fact in facts)
    assert all(layer.audience is not Audience.CURATOR for layer in scene.layers)


def test_repeated_releases_close_in_as_the_law_says():
    """n = 2, m = 50: .346 for the mean, .297 for the median (specification); the error of an RMS of 400 is 3 %."""
    mean = float(attacks.mean_error(1.0, 2, 50))
    median = float(laplace_repeats.measured_errors(2)[-1])
    assert mean == pytest.approx(0.346, abs=5e-4)
    error = 0.297 * math.sqrt(1.0 / (4 * laplace_repeats.N_RECORDS))  # a chi-square's, two axes
    assert abs(median - 0.297) < 6 * error
    assert abs(mean - 0.297) > 6 * error
    told = tell()
    first, more = (laplace_repeats.again(told, m, seed=4) for m in (3, 10))
    assert np.array_equal(first, more[:3]), "one more release leaves the others as they were"
    assert np.array_equal(first[0], told.released[told.record])
    assert "ε = 20 per 1.5 m" in laplace_repeats.budget_facts(told, 10)[0].value


@pytest.mark.parametrize("method", METHODS)
def test_without_noise_nothing_flips(method):
    told = tell(level=1e9, n=120)
    rows = laplace_clusters.rows_of(told.n, method)
    box = told.words.box
    found = laplace_clusters.compared(box.from_unit(told.unit), told.result.release.points[rows], method, 3)
    assert not found.flipped.any()
    assert found.agreement.ari == pytest.approx(1.0)
    noisy = tell(level=0.2, n=120)
    other = laplace_clusters.compared(box.from_unit(noisy.unit), noisy.result.release.points[rows], method, 3)
    assert other.agreement.ari < 0.8
    for scene in charts.pair_scenes(noisy, View(), other):
        assert {layer.name for layer in scene.public().layers} == {"Public box"}, "clean clusters are nobody's business"
    public = charts.private_scene(noisy, View(), other.private)
    assert len(public.public().layers) == len(public.layers)


def test_many_agreements_grow_with_epsilon_and_depend_on_their_seed():
    told = tell(n=150)
    arguments = (told.words.box.from_unit(told.unit), told.words.box)

    def agree(level, seed=0):
        params = laplace_clusters.at_level(told.params, level, 1.5)
        return laplace_clusters.many_agreements(*arguments, params, "kmeans", 3, 4, seed).nonprivate_ari

    assert agree(200.0).mean() > 0.95 > 0.5 > agree(0.1).mean()
    assert np.array_equal(agree(2.0), agree(2.0))
    assert not np.array_equal(agree(2.0), agree(2.0, 1))


def test_parameter_curves_are_public_and_mark_their_choice():
    told = tell(n=150, level=100.0)
    found = laplace_clusters.helpers(told.result.release.points)
    assert found.min_points == 4
    named = charts.helper_charts(found)
    assert [name for name, _ in named] == ["elbow", "silhouettes", "gap", "distances"]
    for _, chart in named:
        assert not chart.public().is_empty
        assert any(layer.name == "Chosen" for layer in chart.layers)


def test_the_price_of_drawing_again_is_highest_in_the_corner_and_none_in_the_middle():
    told = tell(domain="redraw", level=10.0)
    box = laplace_law.square_of(told)
    (heat,) = [layer for layer in laplace_law.loss_scene(told).layers if layer.name == "Lost above ε"]
    lost = 1.0 + heat.arrays["value"][0, 0] / 255.0
    corner = redraw_loss(box, epsilon=told.params.epsilon)
    assert lost[0, 0] > 1.5
    assert lost[0, 0] <= corner + 0.01
    assert lost[45, 45] < 1.05
    assert 1.0 < corner <= 2.0
    assert lost == pytest.approx(lost[::-1, ::-1], abs=0.02), "opposite corners cost the same"


@pytest.mark.parametrize("where", laplace_law.PLACES)
def test_the_law_alone_needs_no_record(where):
    told = tell()
    empty = dataclasses.replace(told, unit=told.unit[:0])
    for made in (lambda each: laplace_law.density_scene(each, where), laplace_law.profile_chart):
        assert made(told).caption == made(empty).caption
    rows = laplace_law.dimension_rows(told)
    assert rows[1]["Mean move"] == "1.5 m"
    assert rows[-1]["Lands inside, from a corner"].startswith("under")
    assert rows[0]["Lands inside, from a corner"] == "50 in 100"


class TestGame:
    game = laplace_play.game_of(3.0, Measure(100.0, "m"))

    def test_one_unit_is_one(self):
        assert [Measure(radius, "").said for radius in (1.0, 2.0)] == ["1 unit", "2 units"]

    def test_the_answer_is_not_drawn_before_the_guess(self):
        played, secret = laplace_play.round_of(self.game, 0, 1)
        before = {layer.name for layer in laplace_play.scene(self.game, played, None, None, None).layers}
        assert before == {"Map", "Places to guess", "Released point"}
        score = laplace_play.score_of(self.game, played, secret, 7)
        after = {layer.name for layer in laplace_play.scene(self.game, played, 7, secret, score).layers}
        assert after - before == {"Your guess", "Best attacker's guess", "Where it was"}

    def test_rounds_are_made_again_from_their_seed(self):
        one, two, other = (laplace_play.round_of(self.game, i, 1)[0].release.points for i in (4, 4, 5))
        assert np.array_equal(one, two)
        assert not np.array_equal(one, other)

    def test_nobody_beats_the_best_attacker_in_the_long_run(self):
        """Guessing the place next to the release: its loss cannot be below the expectation by six standard errors."""
        scores = []
        for i in range(150):
            played, secret = laplace_play.round_of(self.game, i, 2)
            gaps = self.game.adversary.prior.locations - played.release.points[0]
            scores.append(laplace_play.score_of(self.game, played, secret, int((gaps**2).sum(axis=1).argmin())))
        tally = attacks.tally_locations(scores)
        assert tally.mean_loss > tally.expected_loss - 6 * tally.standard_error
        best = np.mean([score.adversary_loss for score in scores])
        assert abs(best - tally.expected_loss) < 6 * tally.standard_error
