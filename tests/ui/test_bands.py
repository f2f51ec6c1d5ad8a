"""Bands of the strip of losses: offered only to the curator of a teaching run on a public set."""

from concurrent.futures import Future
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from dpviz.core import Box
from dpviz.data import Dataset
from dpviz.methods import CATALOGUE
from dpviz.methods.convergent_kmeans import algorithm
from dpviz.plots import Measure
from dpviz.tools.many_runs import runs
from dpviz.ui import bands
from dpviz.ui.asking import Answers
from dpviz.ui.bands import LossBands
from dpviz.ui.data.drawing import start_sheet
from dpviz.ui.data.picker import UPLOAD, Source
from dpviz.ui.runs import Noise, RunRequest
from tests.shipped_bands import computed, questions

METHOD = CATALOGUE["convergent_kmeans"]
VALUES = (0.1, 1.0, 10.0)
SEEDED, SECRET = Noise(0), Noise(None)
IMPOSSIBLE = 1.0


class Lossy(METHOD.run):
    """A run with a loss, regardless of the method's own loss."""

    def losses(self):
        return Measure(float(self.result.release.centers.sum()), ""), None


def source(key="set", **options):
    points = np.random.default_rng(0).random((40, 2))
    return Source(
        Dataset(points, None, Box.cube(0, 1, 2), ("a", "b"), "title"), (key,), (), **{"uploaded": False, **options}
    )


def request_at(epsilon, k=3, **options):
    params = algorithm.Params(n_clusters=k, epsilon=epsilon, start_seed=0)
    return RunRequest(METHOD, METHOD.run, params, **options)


def partly(epsilon):
    """Refuse one value, in words that the public may not read."""
    if epsilon == IMPOSSIBLE:
        raise ValueError("17 records are too few.")
    return request_at(epsilon)


@pytest.fixture
def process(session, monkeypatch):  # noqa: ARG001 (an empty session is all that is wanted of it)
    """Work here, at the second question; `asked` are the jobs, `runs` how often the method was run."""
    process = SimpleNamespace(asked=[], runs=0, problem="", work=Future())

    def ask(asked_source, jobs, _own):
        process.asked += jobs
        if process.problem or process.asked.count(jobs[0]) == 1:
            return Answers((None,) * len(jobs), process.problem, None if process.problem else process.work)
        data = asked_source.dataset
        return Answers(tuple(job.task(data.points, data.box, data.labels, *job.arguments) for job in jobs))

    def fit(*given, rng):
        process.runs += 1
        return algorithm.fit(*given, rng=rng)

    process.ask = ask
    process.recall = lambda _source, job: (1.0, 2.0, 3.0) if process.asked.count(job) > 1 else None
    monkeypatch.setattr(bands, "background", lambda: process)
    monkeypatch.setattr(runs, "ALGORITHMS", {METHOD.name: replace(METHOD, fit=fit)})
    monkeypatch.setattr(runs, "run_class", lambda _: Lossy)
    monkeypatch.setattr(runs, "_pages", type(runs._pages)())
    return process


def offered(request=request_at, given=None, noise=SEEDED, values=VALUES, *, public=False):
    return LossBands(request, given or source(), noise, values, public).offered()


def all_of(request):
    return LossBands(request, source(), SEEDED, VALUES, public=False)


BARRED = {
    "uploaded records": {"given": source(UPLOAD, uploaded=True)},
    "drawn records": {"given": source("drawn", sheet=start_sheet("one"))},
    "secret noise": {"noise": SECRET},
    "the public": {"public": True},
}


@pytest.mark.parametrize("case", BARRED)
def test_nothing_is_run_where_each_run_would_be_one_more_release(process, case):
    assert offered(**BARRED[case]) is None
    given = {"given": source(), "noise": SEEDED, "public": False, **BARRED[case]}
    barred = LossBands(request_at, given["given"], given["noise"], VALUES, given["public"])
    assert barred.computed() == barred.known() == [None] * len(VALUES)
    assert (process.runs, process.asked) == (0, [])


def test_without_these_reasons_all_of_it_is_run(process):
    """Else the test above shows nothing."""
    assert offered() is not None
    assert None not in all_of(request_at).computed()
    assert process.runs == len(VALUES) * runs.MOST_RUNS


def test_a_band_is_unknown_at_first_and_then_that_of_a_page_without_a_server(process):
    offer = offered(partly)
    found = [(offer.ask(value), offer.ask(value)) for value in VALUES]
    here = all_of(partly).computed()
    assert here[1] is None, "it is impossible"
    assert found == [(process.work, here[0]), ((), ()), (process.work, here[2])]
    assert here[0] != here[2]


def test_what_is_known_is_told_without_a_run(process):
    offer = offered(partly)
    offer.ask(VALUES[0])
    offer.ask(VALUES[0])
    runs = process.runs
    found = all_of(partly).known()
    assert found == [(1.0, 2.0, 3.0), None, None]
    assert process.runs == runs


def test_what_is_shipped_is_neither_run_nor_told_twice(process, monkeypatch):
    page = all_of(request_at).page
    monkeypatch.setattr(bands, "shipped", lambda: {page: {VALUES[0]: (4.0, 5.0, 6.0)}})
    offer = offered()
    assert offer.ask(VALUES[0]) == (4.0, 5.0, 6.0)
    told, again = (all_of(request_at).ahead(iter, "knob:epsilon") for _ in range(2))
    assert told["known"] == [(4.0, 5.0, 6.0), None, None]
    assert told["bands"] == again["bands"] == offer.key
    assert again["known"] is None
    other = all_of(lambda each: request_at(each, k=4)).ahead(iter, "knob:epsilon")
    assert other["known"] == [None] * len(VALUES)
    assert (process.runs, process.asked) == (0, [])


@pytest.mark.parametrize("page", CATALOGUE)
def test_shipped_bands_are_those_of_runs_made_here(page):
    ((name, found),) = computed(page, [1.0]).items()
    there = bands.shipped()[name]
    assert found["1.0"] == pytest.approx(there[1.0], rel=1e-4), "sums of other processors differ in their last digits"
    assert found["1.0"] != pytest.approx(there[0.1], rel=1e-4)
    assert None not in questions(page).known(), "the strip opens with all of its curve"


def test_sessions_share_a_band_and_other_jobs_are_not_thought_as_long(process):
    offered().ask(1.0)
    (job,) = process.asked
    assert not job.secret
    assert not job.usual


def test_without_a_possible_value_or_an_answer_there_is_no_band(process):
    process.problem = "The background work failed."
    assert offered().ask(1.0) == ()

    def never(epsilon):
        raise ValueError(f"ε was {epsilon}.")

    assert offered(never) is None
    assert all_of(never).computed() == [None] * len(VALUES)
    assert process.runs == 0


def test_a_key_stands_for_data_method_and_knobs_and_values_but_not_for_noise_and_looks(process):  # noqa: ARG001
    key = offered().key
    looks = {"name": "other", "fields": {"chosen": 3}, "adapt": lambda scene: scene}
    assert offered(lambda each: request_at(each, **looks)).key == key
    assert offered(noise=Noise(7)).key == key
    others = [
        offered(lambda each: request_at(each, k=4)),
        offered(given=source("another")),
        offered(values=(*VALUES, 11.0)),
        offered(lambda each: replace(request_at(each), algorithm=replace(METHOD, name="another"))),
    ]
    assert len({key, *(each.key for each in others)}) == 5


def test_a_link_with_an_epsilon_of_its_own_shares_the_bands_of_the_others(process):
    offered().ask(1.0)
    offered(values=(*VALUES[:2], 3.3, VALUES[2])).ask(1.0)
    assert process.asked[0] == process.asked[1]
    assert hash(process.asked[0].arguments) == hash(process.asked[1].arguments)
