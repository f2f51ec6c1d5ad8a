"""Which runs are remembered, by what, and which are made anew."""

import dataclasses
from dataclasses import replace

import numpy as np
import pytest

from dpviz.core import Ball, Box
from dpviz.data import Dataset
from dpviz.methods import CATALOGUE
from dpviz.methods.convergent_kmeans import algorithm, story
from dpviz.methods.source_target import algorithm as source_target
from dpviz.stories.label import label_of
from dpviz.ui import runs
from dpviz.ui.data.drawing import started
from dpviz.ui.data.picker import UPLOAD, Source

SEEDED, SECRET = runs.Noise(0), runs.Noise(None)
POINTS = np.random.default_rng(0).random((80, 2))


def source(*, uploaded=False, bounds_from_data=False, key=None):
    dataset = Dataset(POINTS, None, Box.cube(0, 1, 2), ("a", "b"), "title", bounds_from_data=bounds_from_data)
    return Source(dataset, key or (UPLOAD if uploaded else "set", "digest", ("a", "b"), ()), (), uploaded)


@pytest.fixture
def tell(session, monkeypatch):  # noqa: ARG001 (an empty session is all that is wanted of it)
    """Return runs.tell with empty caches, and `calls`: how often the algorithm and its reference were made."""
    runs._fit.clear()
    runs._reference.clear()
    calls = {"fit": 0, "reference": 0}

    def counted(name, function):
        def call(*args, **kwargs):
            calls[name] += 1
            return function(*args, **kwargs)

        return call

    method = CATALOGUE["convergent_kmeans"]
    counting = replace(method, fit=counted("fit", algorithm.fit))
    story_told = replace(method.run, reference=counted("reference", story.reference))
    # A session's own cache needs a running session; here it is one that never remembers.
    monkeypatch.setattr(runs, "_private_reference", lambda job: job.reference())
    monkeypatch.setattr(runs, "_private_fit", lambda job: job.run(np.random.default_rng(job.key[-1])))

    def make(given=None, noise=SEEDED, **options):
        params = algorithm.Params(**{"n_clusters": 3, "start_seed": 0, **options})
        return runs.tell(counting, story_told, given or source(), params, noise)

    make.calls = calls
    return make


def centers(run):
    return run.told.result.release.centers


OTHER = {  # another value for each parameter
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


def test_the_same_run_is_made_once(tell):
    first, second = tell(), tell()
    assert tell.calls == {"fit": 1, "reference": 1}
    assert first.told.result.release is second.told.result.release
    assert first.n_releases == 0, "a teaching run is no release"


@pytest.mark.parametrize(
    "field", [field.name for field in dataclasses.fields(algorithm.Params) if field.name != "initial_centers"]
)  # pages set no arrays
def test_every_parameter_is_part_of_the_key(tell, field):
    options = {"mode": "published"} if field == "orientation" else {}
    tell(**options)
    tell(**{**options, **({"orientation": "future"} if field == "orientation" else {field: OTHER[field]})})
    assert tell.calls["fit"] == 2, field


def test_seed_and_data_are_part_of_the_key(tell):
    tell()
    tell(noise=runs.Noise(1))
    tell(source(key=("set", "other")))
    assert tell.calls == {"fit": 3, "reference": 2}


def test_epsilon_does_not_run_lloyd_again(tell):
    for epsilon in (0.5, 1.0, 2.0):
        tell(epsilon=epsilon)
    assert tell.calls == {"fit": 3, "reference": 1}
    for changes in ({"n_clusters": 4}, {"start": "records"}, {"start_seed": 5}):
        tell(**changes)
    assert tell.calls["reference"] == 4


COMPARED = ["convergent_kmeans"]  # with Lloyd's run


@pytest.mark.parametrize("name", COMPARED)
def test_reference_keys_hold_what_the_reference_reads(name):
    params = CATALOGUE[name].Params
    read = [field.name for field in dataclasses.fields(params) if field.name in ("n_clusters", "start")]
    keys = {field: CATALOGUE[name].run.reference_key(params(**{field: OTHER[field]})) for field in read}
    assert len({CATALOGUE[name].run.reference_key(params()), *keys.values()}) == 1 + len(read)


def test_a_seed_makes_the_same_run_again(tell):
    first = centers(tell())
    runs._fit.clear()
    assert np.array_equal(centers(tell()), first)
    assert not np.array_equal(centers(tell(noise=runs.Noise(1))), first)


def test_secret_noise_is_drawn_once_for_one_picture(tell):
    first, again = tell(noise=SECRET), tell(noise=SECRET)
    assert first.told.result.release is again.told.result.release
    assert first.n_releases == again.n_releases == 1


def test_every_change_of_a_secret_picture_is_one_more_release(tell):
    tell(noise=SECRET)
    changed = tell(noise=SECRET, epsilon=2.0)
    back = tell(noise=SECRET)
    assert (changed.n_releases, back.n_releases) == (2, 3), "going back is releasing again: nothing was kept"
    assert tell.calls["fit"] == 3
    runs.renew_secret()
    renewed = tell(noise=SECRET)
    assert renewed.n_releases == 4
    assert not np.array_equal(centers(renewed), centers(back))


def test_secret_noise_never_reaches_the_shared_cache(tell, monkeypatch):
    monkeypatch.setattr(runs, "_fit", lambda _: pytest.fail("a secret run was shared"))
    tell(noise=SECRET)
    tell(source(uploaded=True), noise=SECRET)


def test_drawn_records_never_reach_the_shared_caches_but_keep_their_seed(tell, monkeypatch):
    monkeypatch.setattr(runs, "_fit", lambda _: pytest.fail("a drawing was shared"))
    monkeypatch.setattr(runs, "_reference", lambda _: pytest.fail("a drawing was shared"))
    told = tell(dataclasses.replace(source(key=("draw", "digest")), sheet=started("one")), noise=SEEDED).told
    assert runs.TEACHING in told.result.guarantee.caveats


def test_uploads_never_reach_the_shared_caches(tell, monkeypatch):
    monkeypatch.setattr(runs, "_fit", lambda _: pytest.fail("an uploaded table was shared"))
    monkeypatch.setattr(runs, "_reference", lambda _: pytest.fail("an uploaded table was shared"))
    for noise in (SECRET, SEEDED):
        told = tell(source(uploaded=True), noise=noise).told
        assert runs.SECRET in told.result.guarantee.caveats, "a seed is not taken either"
        assert runs.TEACHING not in told.result.guarantee.caveats


def test_releases_of_one_file_add_up_whatever_its_bounds(tell):
    wide = source(uploaded=True, key=(UPLOAD, "digest", ("a", "b"), (0, 0, 2, 2), "error"))
    one = source(uploaded=True, key=(UPLOAD, "digest", ("a",), (0, 0, 1, 1), "drop"))
    other = source(uploaded=True, key=(UPLOAD, "another", ("a",), (), "error"))
    counted = [tell(given, noise=SECRET).n_releases for given in (wide, one, other, wide, other)]
    assert counted == [1, 2, 1, 3, 2]


def test_releases_are_not_forgotten_while_another_set_is_looked_at(tell):
    counted = [tell(source(key=(name,)), noise=SECRET).n_releases for name in "abab"]
    assert counted == [1, 1, 2, 2]


def test_a_known_seed_is_called_a_teaching_run(tell):
    seeded, secret = tell().told.result.guarantee, tell(noise=SECRET).told.result.guarantee
    assert seeded.caveats[0] == runs.TEACHING
    assert secret.caveats[0] == runs.SECRET
    for said in (seeded, secret):
        assert said.caveats[1:] == (tell().told.result.guarantee.caveats[1:])
        assert said.proved is not None


def test_bounds_from_the_data_take_the_proof_away(tell):
    for noise in (SEEDED, SECRET):
        told = tell(source(uploaded=True, bounds_from_data=True), noise=noise).told
        assert told.result.guarantee.proved is None
        assert told.result.guarantee.caveats[0] == runs.FROM_DATA
        assert label_of(told.result.guarantee, told.contents()).proved is None
    assert tell(source(uploaded=True), noise=SECRET).told.result.guarantee.proved is not None


def test_the_remembered_result_is_left_as_it_was(tell):
    tell()
    first = tell(source(bounds_from_data=True, key=("other",)))
    again = tell()
    assert first.told.result.guarantee.proved is None
    assert again.told.result.guarantee.proved is not None
    assert again.told.result.guarantee.caveats.count(runs.TEACHING) == 1


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


@pytest.mark.parametrize(("noise", "uploaded"), [(SECRET, False), (SECRET, True), (SEEDED, True)])
def test_a_secret_seed_is_one_for_these_records_until_it_is_renewed(session, noise, uploaded):
    here = source(uploaded=uploaded, key=(UPLOAD, "digest", "b") if uploaded else ("set", "digest"))
    found = noise.seed_for(here)
    assert found.secret
    assert noise.seed_for(here) == found
    assert str(found.value) not in repr(found)
    others = source(uploaded=uploaded, key=(UPLOAD, "other", "b") if uploaded else ("set", "other"))
    assert noise.seed_for(others).value != found.value
    again = noise.seed_for(here)
    runs.renew_secret()
    renewed = noise.seed_for(here)
    assert len({found.value, again.value, renewed.value}) == 3
    session.clear()
    assert noise.seed_for(here).value != renewed.value, "another session has another one"
    # 20 seeds that all fit in 64 bits have a chance of 2^-1280.
    many = [runs.Noise(None).seed_for(source(key=("set", str(i)))).value for i in range(20)]
    assert max(many) >= 2**64
    assert max(many) < 2**runs.SECRET_BITS


def test_other_columns_of_a_file_have_the_same_secret_seed(session):  # noqa: ARG001
    one, other = (source(uploaded=True, key=(UPLOAD, "digest", columns)) for columns in ("ab", "cd"))
    assert SECRET.seed_for(one) == SECRET.seed_for(other), "the same people"


def test_noise_on_an_upload_is_secret_whatever_was_chosen():
    assert SEEDED.of(source(uploaded=True)).secret
    assert not SEEDED.of(source()).secret
    assert SECRET.of(source()).secret
