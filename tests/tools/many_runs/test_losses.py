"""The band of the losses of many runs: quantiles of the runs from its seeds, and few runs if one run is slow."""

from dataclasses import replace

import numpy as np
import pytest

from dpviz.core import Box
from dpviz.methods import CATALOGUE
from dpviz.methods.convergent_kmeans import algorithm
from dpviz.plots import Measure
from dpviz.stories.view import Words
from dpviz.tools.many_runs import runs
from dpviz.tools.many_runs.runs import FEWEST_RUNS, MOST_RUNS, SECONDS, SEED, LossQuestion, loss_band

METHOD = CATALOGUE["convergent_kmeans"]
POINTS = np.random.default_rng(0).random((400, 2))
WORDS = Words("", Box.cube(0, 1, 2), ("x", "y"), ("m", "m"))


def lost(result, reference):
    """Return the loss of the stub's run: the distance of its centers from Lloyd's centers."""
    return float(np.linalg.norm(result.release.centers - reference.nonprivate_centers))


class Lossy(METHOD.run):
    """A run with a loss, regardless of the method's own loss."""

    def losses(self):
        return Measure(lost(self.result, self.reference), ""), None


class Clock:
    """A processor's clock on which a run takes this many seconds."""

    def __init__(self, pace):
        self.now, self.pace = 100.0, pace

    def process_time(self):
        self.now += self.pace
        return self.now


@pytest.fixture
def made(monkeypatch):
    """Let runs have losses and forget other tests' pages; return the number of runs of the method and its reference."""
    counts = {"fit": 0, "reference": 0}
    find = METHOD.run.find_reference

    def fit(*given, rng):
        counts["fit"] += 1
        return algorithm.fit(*given, rng=rng)

    def reference(*given):
        counts["reference"] += 1
        return find(*given)

    monkeypatch.setattr(runs, "ALGORITHMS", {METHOD.name: replace(METHOD, fit=fit)})
    monkeypatch.setattr(runs, "run_class", lambda _: Lossy)
    monkeypatch.setattr(Lossy, "find_reference", staticmethod(reference))
    monkeypatch.setattr(runs, "_pages", type(runs._pages)())
    return counts


def question(epsilon=1.0, page="page", **options):
    params = algorithm.Params(**{"n_clusters": 3, "start_seed": 0, "epsilon": epsilon, **options})
    return LossQuestion(page, (epsilon,), METHOD.name, params, WORDS)


def band(asked, **options):
    return loss_band(POINTS, WORDS.box, None, asked, **options)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_a_band_is_the_quantiles_of_the_runs_that_its_seeds_make(made, epsilon):
    asked = question(epsilon)

    def direct(seeds):
        losses = []
        for start, noise in seeds:
            params = replace(asked.params, start_seed=start)
            result = algorithm.fit(POINTS, WORDS.box, params, rng=np.random.default_rng([SEED, noise]))
            losses.append(lost(result, METHOD.run.find_reference(POINTS, WORDS, result, params)))
        return tuple(np.quantile(losses, [0.1, 0.5, 0.9]))

    runs = range(MOST_RUNS)
    assert band(asked) == direct(zip(runs, runs, strict=True))
    assert made["fit"] == MOST_RUNS
    assert band(asked) != direct((run + MOST_RUNS, run + MOST_RUNS) for run in runs), "other seeds have another band"
    assert band(asked) != direct((0, run) for run in runs), "one start has another band"


def test_a_band_holds_the_middle_eighty_percent_of_its_runs(made, monkeypatch):
    values = iter(np.random.default_rng(1).permutation(MOST_RUNS))
    monkeypatch.setattr(Lossy, "losses", lambda _: (Measure(float(next(values)), ""), None))
    # Quantiles of 0, 1, ..., 24.
    assert band(question()) == pytest.approx((2.4, 12.0, 21.6))
    assert made["fit"] == MOST_RUNS


def test_values_of_a_slider_share_the_runs_without_privacy_on_few_pages(made):
    for epsilon in (0.1, 1.0, 10.0):
        band(question(epsilon))
    assert made["reference"] == MOST_RUNS
    band(question(n_clusters=4))
    assert made["reference"] == 2 * MOST_RUNS
    band(question(page="other"))
    assert made["reference"] == 3 * MOST_RUNS
    made["reference"] = 0
    for page in range(3 * runs.MOST_PAGES):
        band(question(page=str(page)))
    assert len(runs._pages) == runs.MOST_PAGES
    assert made["reference"] == 3 * runs.MOST_PAGES * MOST_RUNS


@pytest.mark.parametrize("n_runs", [FEWEST_RUNS + 1, 12, MOST_RUNS])
def test_slow_runs_are_fewer(made, monkeypatch, n_runs):
    # The first run is not counted.
    monkeypatch.setattr(runs, "time", Clock(SECONDS / (n_runs - 1.5)))
    assert len(band(question())) == 3
    assert made["fit"] == n_runs
    assert len(band(question(2.0))) == 3, "the next value has a band as well"


def test_where_a_few_runs_take_too_long_there_is_no_band_and_no_other_value_is_tried(made, monkeypatch):
    monkeypatch.setattr(runs, "time", Clock(SECONDS / (FEWEST_RUNS - 1) + 0.01))
    assert band(question()) == ()
    assert made["fit"] == 2, "the second tells how long a run takes"
    assert band(question(2.0)) == ()
    assert made["fit"] == 2
    assert len(band(question(2.0), seconds=np.inf)) == 3, "a page without a server waits for all"
    assert made["fit"] == 2 + MOST_RUNS


def test_a_slow_reference_does_not_make_a_run_slow(made, monkeypatch):
    clock = Clock(0.0)
    find = Lossy.find_reference

    def slow(*given):
        clock.now += 100 * SECONDS
        return find(*given)

    monkeypatch.setattr(runs, "time", clock)
    monkeypatch.setattr(Lossy, "find_reference", staticmethod(slow))
    assert len(band(question())) == 3
    assert made["fit"] == MOST_RUNS


def test_a_run_without_a_loss_and_a_loss_without_a_bound_have_no_band(made, monkeypatch):
    monkeypatch.setattr(Lossy, "losses", lambda _: (None, None))
    assert band(question()) == ()
    assert made["fit"] == 1
    monkeypatch.setattr(Lossy, "losses", lambda _: (Measure(np.inf, "no limit"), None))
    assert band(question()) == ()
