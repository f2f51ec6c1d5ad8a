"""Remembered runs and their keys, and the runs that are made anew."""

import dataclasses
from dataclasses import replace

import numpy as np
import pytest

from dpviz.core import Ball, Box
from dpviz.data import Dataset, load
from dpviz.mechanisms import SecretGenerator
from dpviz.methods import CATALOGUE
from dpviz.methods.convergent_kmeans import algorithm
from dpviz.methods.source_target import algorithm as source_target
from dpviz.stories.centers import CentersRun
from dpviz.ui import runs
from dpviz.ui.data.drawing import start_sheet
from dpviz.ui.data.picker import UPLOAD, Source

SEEDED, SECRET = runs.Noise(0), runs.Noise(None)
POINTS = np.random.default_rng(0).random((80, 2))


def source(*, uploaded=False, bounds_from_data=False, key=None):
    dataset = Dataset(POINTS, None, Box.cube(0, 1, 2), ("a", "b"), "title", bounds_from_data=bounds_from_data)
    return Source(dataset, key or (UPLOAD if uploaded else "set", "digest", ("a", "b"), ()), (), uploaded)


@pytest.fixture
def run(session, monkeypatch):  # noqa: ARG001 (an empty session is all that is wanted of it)
    """Return runs.run_method with empty caches, and `calls`: how often the algorithm and its reference were made."""
    runs._shared.clear()
    calls, generators = {"fit": 0, "reference": 0}, []

    def counted(name, function):
        def call(*args, **kwargs):
            calls[name] += 1
            if "rng" in kwargs:
                generators.append(kwargs["rng"])
            return function(*args, **kwargs)

        return call

    method = CATALOGUE["convergent_kmeans"]
    counting = replace(method, fit=counted("fit", algorithm.fit))
    monkeypatch.setattr(method.run, "find_reference", counted("reference", method.run.find_reference))
    # A session's own cache needs a running session; this replacement never remembers.
    monkeypatch.setattr(runs, "_private", lambda work: work.make())

    def make(given=None, noise=SEEDED, **options):
        params = algorithm.Params(**{"n_clusters": 3, "start_seed": 0, **options})
        return runs.run_method(runs.RunRequest(counting, method.run, params), given or source(), noise)

    def release(given, **options):
        params = algorithm.Params(**{"n_clusters": 3, "start_seed": 0, **options})
        return runs.release_own(runs.RunRequest(counting, method.run, params), given, lambda _: None)

    make.calls, make.release, make.generators = calls, release, generators
    return make


def n_releases(given=None, noise=SECRET):
    return runs.count_secret_runs(given or source(), noise, 0)


# A different value for each parameter.
OTHER = {
    "n_clusters": 4,
    "mode": "published",
    "epsilon": 2.0,
    "epsilon_per_iteration": 0.7,
    "epsilon_counts": 0.7,
    "start": "records",
    "max_iterations": 1,
    "n_iterations": 3,
    "tolerance": 0.5,
    "start_seed": 1,
}


def test_the_same_run_is_made_once(run):
    first, second = run(), run()
    assert run.calls == {"fit": 1, "reference": 1}
    assert first.result.release is second.result.release
    assert n_releases(noise=SEEDED) == 0, "a teaching run is no release"


# Pages set no arrays, so the initial centers are left out.
@pytest.mark.parametrize(
    "field", [field.name for field in dataclasses.fields(algorithm.Params) if field.name != "initial_centers"]
)
def test_every_parameter_is_part_of_the_key(run, field):
    options = {"mode": "published"} if field == "orientation" else {}
    run(**options)
    run(**{**options, **({"orientation": "future"} if field == "orientation" else {field: OTHER[field]})})
    assert run.calls["fit"] == 2, field


def test_seed_and_data_are_part_of_the_key_and_epsilon_of_no_reference(run):
    run()
    run(noise=runs.Noise(1))
    run(source(key=("set", "other")))
    assert run.calls == {"fit": 3, "reference": 2}
    for epsilon in (0.5, 2.0):
        run(epsilon=epsilon)
    assert run.calls == {"fit": 5, "reference": 2}
    for changes in ({"n_clusters": 4}, {"start": "records"}, {"start_seed": 5}):
        run(**changes)
    assert run.calls["reference"] == 5


# Methods that are compared with Lloyd's run.
COMPARED = ["convergent_kmeans"]


@pytest.mark.parametrize("name", COMPARED)
def test_reference_keys_hold_what_the_reference_reads(name):
    params = CATALOGUE[name].Params
    read = [field.name for field in dataclasses.fields(params) if field.name in ("n_clusters", "start")]
    keys = {field: CATALOGUE[name].run.reference_key(params(**{field: OTHER[field]}), None) for field in read}
    assert len({CATALOGUE[name].run.reference_key(params(), None), *keys.values()}) == 1 + len(read)


def test_a_method_that_finds_its_own_k_is_compared_with_as_many_centers(session):  # noqa: ARG001
    dpm, ks, data = CATALOGUE["dpm"], set(), Source(load("blobs", n=2000, seed=0), ("own k",), (), uploaded=False)
    for epsilon in (0.1, 0.3, 1.0):
        run = runs.run_method(runs.RunRequest(dpm, CentersRun, dpm.Params(epsilon=epsilon)), data, SEEDED)
        assert len(run.reference.nonprivate_centers) == len(run.release.centers)
        ks.add(len(run.release.centers))
    assert len(ks) > 1, "else one k would do for all"


def test_a_seed_makes_the_same_run_again(run):
    first = run().release.centers
    runs._shared.clear()
    assert np.array_equal(run().release.centers, first)
    assert not np.array_equal(run(noise=runs.Noise(1)).release.centers, first)


def test_secret_noise_is_drawn_once_for_one_picture(run):
    first = run(noise=SECRET)
    assert n_releases() == 1
    assert run(noise=SECRET).result.release is first.result.release
    assert n_releases() == 1


def test_every_change_of_a_secret_picture_is_one_more_release(run):
    run(noise=SECRET)
    run(noise=SECRET, epsilon=2.0)
    assert n_releases() == 2
    back = run(noise=SECRET)
    assert n_releases() == 3, "going back is releasing again: nothing was kept"
    assert run.calls["fit"] == 3
    runs.renew_secret()
    renewed = run(noise=SECRET)
    assert n_releases() == 4
    assert not np.array_equal(renewed.release.centers, back.release.centers)


def test_secret_noise_never_reaches_the_shared_cache(run, monkeypatch):
    def shared(work):
        return work.make() if work.key[0] == "reference" else pytest.fail("a secret run was shared")

    monkeypatch.setattr(runs, "_shared", shared)
    run(noise=SECRET)
    run.release(source(uploaded=True))
    run(source(uploaded=True))


def test_drawings_and_uploads_never_reach_the_shared_caches(run, monkeypatch):
    monkeypatch.setattr(runs, "_shared", lambda _: pytest.fail("a drawing was shared"))
    told = run(dataclasses.replace(source(key=("draw", "digest")), sheet=start_sheet("one")), noise=SEEDED)
    assert runs.TEACHING in told.result.guarantee.caveats
    monkeypatch.setattr(runs, "_shared", lambda _: pytest.fail("an uploaded table was shared"))
    told = run(source(uploaded=True))
    assert runs.TEACHING in told.result.guarantee.caveats
    run.release(source(uploaded=True))
    assert runs.SECRET in run(source(uploaded=True)).result.guarantee.caveats


@pytest.mark.parametrize("given", [source(uploaded=True), replace(source(key=("draw", "d")), sheet=start_sheet("one"))])
def test_looking_at_own_records_draws_no_secret_noise(run, monkeypatch, given):
    monkeypatch.setattr(runs, "SecretGenerator", lambda: pytest.fail("a view made a release"))
    for options in ({}, {"epsilon": 2.0}, {"n_clusters": 4}):
        assert runs.TEACHING in run(given, **options).result.guarantee.caveats
    with pytest.raises(ValueError, match="A picture of your own records cannot have secret noise"):
        run(given, noise=SECRET)


def test_a_release_is_drawn_once_and_recalled_with_its_settings_alone(run):
    here = source(uploaded=True)
    made = run.release(here)
    assert run(here).release is made.release
    assert run(here, noise=runs.Noise(5)).release is made.release, "a seed is not of a release's settings"
    assert runs.SECRET in run(here).result.guarantee.caveats
    others = [run(here, epsilon=2.0), run(source(uploaded=True, key=(UPLOAD, "other", ("a", "b"), ())))]
    assert all(runs.TEACHING in each.result.guarantee.caveats for each in others)
    again = run.release(here)
    assert run(here).release is again.release
    assert not np.array_equal(again.release.centers, made.release.centers)
    assert n_releases(here, SEEDED) == 0, "own records have a ledger of their own"


def test_noise_without_a_seed_is_the_operating_systems(run):
    run(noise=SECRET)
    run.release(source(uploaded=True))
    run(noise=SEEDED)
    assert [isinstance(rng, SecretGenerator) for rng in run.generators] == [True, True, False]


def test_a_session_holds_the_last_releases_alone(run):
    here = source(uploaded=True)
    for k in range(runs.MAX_OWN_RELEASES + 1):
        run.release(here, n_clusters=2 + k)
    assert runs.TEACHING in run(here, n_clusters=2).result.guarantee.caveats
    assert runs.SECRET in run(here, n_clusters=3).result.guarantee.caveats


def test_releases_are_not_forgotten_while_another_set_is_looked_at(run):
    counted = []
    for name in "abab":
        run(source(key=(name,)), noise=SECRET)
        counted.append(n_releases())
    assert counted == [1, 1, 2, 2]


def test_the_remembered_result_is_left_as_it_was(run):
    run()
    first = run(source(bounds_from_data=True, key=("other",)))
    again = run()
    assert first.result.guarantee.proved is None
    assert again.result.guarantee.proved is not None
    assert again.result.guarantee.caveats.count(runs.TEACHING) == 1


def test_parameters_with_arrays_are_named_by_what_is_in_them():
    targets = np.random.default_rng(0).random((20, 2))

    def key(targets, ball=None, **options):
        return runs.scalars(source_target.Params(targets=targets, ball=ball, epsilon=1.0, **options))

    assert key(targets) == key(targets.copy())
    assert hash(key(targets, Ball(np.zeros(2), 1.0))) == hash(key(targets.copy(), Ball(np.zeros(2), 1.0)))
    others = [
        key(targets[:-1]),
        key(targets + 1e-12),
        key(targets, t=7),
        key(targets, Ball(np.zeros(2), 1.0)),
        key(targets, Ball(np.ones(2), 1.0)),
        key(targets, Ball(np.ones(2), 2.0)),
    ]
    assert len({key(targets), *others}) == 1 + len(others)


def test_a_typed_seed_is_the_seed_of_all_runs_and_public(session):
    found = runs.Noise(7).seed_for(source())
    assert (found.value, found.secret) == (7, False)
    assert not session, "nothing of it is kept"


def test_a_secret_seed_is_one_for_these_records_until_it_is_renewed(session):
    here, noise = source(key=("set", "digest")), SECRET
    found = noise.seed_for(here)
    assert found.secret
    assert noise.seed_for(here) == found
    assert str(found.value) not in repr(found)
    others = source(key=("set", "other"))
    assert noise.seed_for(others).value != found.value
    again = noise.seed_for(here)
    runs.renew_secret()
    renewed = noise.seed_for(here)
    assert len({found.value, again.value, renewed.value}) == 3
    session.clear()
    assert noise.seed_for(here).value != renewed.value, "another session has another one"
    # The chance that 20 seeds all fit in 64 bits is 2^-1280.
    many = [runs.Noise(None).seed_for(source(key=("set", str(i)))).value for i in range(20)]
    assert max(many) >= 2**64
    assert max(many) < 2**runs.SECRET_BITS
