"""The replay law: a run on wholly other records whose mechanisms answer the same releases the same, to the bit.

It holds for any computation in between: no decision, size, weight or shape reads records except through a mechanism.
It also holds for all steps: fields not called `nonprivate_` follow only from answers, and so do the later inputs of
mechanisms. How much noise that takes is for `test_sensitivity`.
"""

import dataclasses
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from dpviz import mechanisms
from dpviz.baselines import CATALOGUE as BASELINES
from dpviz.baselines import _base, k_curve, source_target_rivals
from dpviz.core import Adjacency, Ball, Box
from dpviz.methods import ALGORITHMS
from dpviz.methods.dpm.algorithm import tree
from tests.plugin import METHOD as PLUGIN
from tests.recorded import modes, needs
from tests.replay import LONGER, RefusedError, Tape, difference

N, OTHERS = 1200, (3, 7200)
EXAMPLES = Path(__file__).resolve().parents[1] / "docs" / "examples"
# Methods that release more than the mechanisms' answers, with reasons. Nothing is proved of it, and the law has to
# refuse it.
LEAKS = {
    "mode=published": "convergent k-means: zones stand on exact means, and the last centers are exact sums over counts",
    "start=records": "the start is made of records",
    "lloyd": "there is no privacy in it",
}


def clumps(n, d, *seed):
    """Return n records in the unit cube, in clumps with their own number, places and width."""
    rng = np.random.default_rng([*seed, n, d])
    k = int(rng.integers(2, 6))
    points = rng.random((k, d))[rng.integers(k, size=n)] + rng.choice([0.03, 0.2]) * rng.standard_normal((n, d))
    return np.clip(points, 0.0, 1.0)


def params_of(name, d, mode, *, longer=False):
    """Return parameters in a mode; `longer` ones make a run that is long, and hardly noisy."""
    made = ALGORITHMS[name].Params
    long = {each.name: LONGER[each.name] for each in dataclasses.fields(made) if longer and each.name in LONGER}
    return made(**{**needs(name, d), **long, **mode})


def cases():
    """Yield every method in every mode of it."""
    for name in ALGORITHMS:
        for mode in modes(name):
            said = ",".join(f"{key}={value}" for key, value in mode.items())
            yield pytest.param(name, mode, id=f"{name}:{said}")


def leaks(name, mode):
    """True if a mode releases more than its mechanisms answer."""
    return any(said in LEAKS for said in (name, *(f"{key}={value}" for key, value in mode.items())))


@pytest.fixture
def tape(monkeypatch):
    return Tape(monkeypatch)


def refused(tape, fit, params, d, *, seed=0):
    """Return the violation of the law by a method, "" for none."""
    box = Box.cube(0.0, 1.0, d)

    def run(points):
        rng = np.random.default_rng(seed)
        result = fit(points, box, params, rng=rng)
        # What draws from the generator afterwards comes to stand where it stood.
        known = (result.release, result.events, result.guarantee, result.trace)
        return *known, rng.random(), rng.spawn(1)[0].random()

    with tape.recording():
        said = run(clumps(N, d, seed))
    claim = said[2].proved or said[2].published
    # If one record is replaced, n is public.
    sizes = OTHERS if claim.adjacency is Adjacency.ADD_REMOVE else (N, N)
    for other, n in enumerate(sizes, start=1):
        try:
            with tape.replaying():
                again = run(clumps(n, d, seed, other))
        # Refusing records reveals something about them.
        except Exception as error:
            return f"{n} other records: {error!r}"
        different = difference(said, again, "result")
        if different:
            return f"{n} other records: {different}"
    return ""


@pytest.mark.parametrize(("name", "mode"), [case for case in cases() if not leaks(*case.values)])
def test_the_same_answers_lead_to_the_same_release(name, mode, tape):
    for d, longer in ((2, False), (3, True)):
        params = params_of(name, d, mode, longer=longer)
        assert not refused(tape, ALGORITHMS[name].fit, params, d)
        assert tape.calls


@pytest.mark.parametrize(("name", "mode"), [case for case in cases() if leaks(*case.values)])
def test_what_is_known_to_leak_is_refused_and_proves_nothing(name, mode, tape):
    params, box = params_of(name, 2, mode), Box.cube(0.0, 1.0, 2)
    result = ALGORITHMS[name].fit(clumps(N, 2, 0), box, params, rng=np.random.default_rng(0))
    assert result.guarantee.proved is None
    assert refused(tape, ALGORITHMS[name].fit, params, 2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 6))
@pytest.mark.parametrize(("name", "mode"), [case for case in cases() if not leaks(*case.values)])
def test_the_law_holds_in_other_dimensions_and_runs(name, mode, seed, tape):
    for d, longer in ((1, True), (2, True), (5, True)):
        if name == "nd_laplace" and d > 3 and mode.get("domain") == "redraw":
            continue  # too many draws fall outside
        params = params_of(name, d, mode, longer=longer)
        assert not refused(tape, ALGORITHMS[name].fit, params, d, seed=seed)


def candidates(points, box, params, *, rng):
    """Make a run of private candidates, which is in no catalog."""
    ball = Ball((box.low + box.high) / 2.0, box.diagonal / 2.0)
    found = source_target_rivals.private_candidate_kmeans(points, ball, 5, params, rng=rng)
    return SimpleNamespace(release=found.centers, events=found.events, guarantee=ADDED, trace=())


def curve(points, box, params, *, rng):
    """Make a private curve of cost against k."""
    found = k_curve.private_curve(points, box, params, "add_remove", rng=rng)
    return SimpleNamespace(release=found.release, events=found.events, guarantee=found.guarantee, trace=())


ADDED = SimpleNamespace(proved=SimpleNamespace(adjacency=Adjacency.ADD_REMOVE), published=None)


@pytest.mark.parametrize("fit", [candidates, curve])
@pytest.mark.parametrize("epsilon", [1.0, 30.0])
def test_replay_holds_for_releases_outside_the_catalogs(fit, epsilon, tape):
    assert not refused(tape, fit, epsilon, 2)


def module_of(source, name, monkeypatch):
    """Import a method from its source, as a package that is not ours."""
    module = ModuleType(name)
    monkeypatch.setitem(sys.modules, name, module)
    exec(compile(source, name, "exec"), vars(module))
    return module


@pytest.mark.parametrize("wrong", [False, True])
def test_a_method_from_outside_is_covered(wrong, monkeypatch):
    """It is in the catalog where it is installed. The wrong variant also places its centers by the exact counts."""
    source = PLUGIN.replace("trace[-1].noisy_counts, 0.0)", "trace[-1].nonprivate_counts, 0.0)") if wrong else PLUGIN
    assert wrong == (source != PLUGIN)
    module = module_of(source, "one_grid_of_another_package", monkeypatch)
    assert bool(refused(Tape(monkeypatch), module.fit, module.Params(), 2)) == wrong


@pytest.mark.parametrize("example", ["noisy_means", "noise_forgotten"])
def test_a_noise_that_was_forgotten_is_refused(example, monkeypatch):
    module = module_of((EXAMPLES / f"{example}.py").read_text("utf-8"), f"{example}_on_tape", monkeypatch)
    assert bool(refused(Tape(monkeypatch), module.fit, module.Params(), 2)) == (example == "noise_forgotten")


def looked_at(monkeypatch, **exact):
    """Make the reference of a gap exact: `exact` has what to give instead, made of what was found and chosen."""
    real = tree._inspect_gaps

    def wrong(*given, **named):
        names = dict(zip(("nodes", "candidates", "chosen", "noisy", "sides", "plan", "level"), given, strict=True))
        for name, made in exact.items():
            names[name] = made(names["candidates"], names["chosen"])
        return real(**names, **named)

    monkeypatch.setattr(tree, "_inspect_gaps", wrong)


def exact_sides(monkeypatch):
    """Let a side be one cluster if the gap is deep beside its exact number of records."""

    def sides(found, chosen):
        below = found.ranks.reshape(len(chosen), -1)[np.arange(len(chosen)), chosen]
        return np.stack([below, found.sizes - below], axis=1)

    looked_at(monkeypatch, sides=sides)


def exact_counts(monkeypatch):
    """Let a gap be clear if it is deep among exactly as many records."""
    looked_at(monkeypatch, noisy=lambda found, _: found.sizes.astype(np.float64))


def open_by_size(monkeypatch):
    """Let a subset be open if it has enough records, exactly counted."""

    def by_size(grown, plan, number):
        node = grown.nodes[number]
        return node.has_room and node.nonprivate_size > 2.0 * plan.least(0)

    monkeypatch.setattr(tree, "_is_open", by_size)


@pytest.mark.parametrize("wrong", [exact_sides, exact_counts, open_by_size])
def test_a_tree_that_reads_exact_counts_is_refused(wrong, tape, monkeypatch):
    assert not refused(tape, ALGORITHMS["dpm"].fit, params_of("dpm", 3, {}, longer=True), 3)
    wrong(monkeypatch)
    assert refused(tape, ALGORITHMS["dpm"].fit, params_of("dpm", 3, {}, longer=True), 3)


USE_SIZE = tuple(name for name, each in BASELINES.items() if "n_public" in each.parameters)


@pytest.mark.parametrize("name", USE_SIZE)
def test_a_plan_made_for_the_exact_number_of_records_is_refused(name, tape, monkeypatch):
    noisy = _base.known_size

    def exact(n, *given, **named):
        return dataclasses.replace(noisy(n, *given, **named), n_records=float(n))

    for module in list(sys.modules.values()):
        if getattr(module, "known_size", None) is noisy:
            monkeypatch.setattr(module, "known_size", exact)
    assert refused(tape, ALGORITHMS[name].fit, params_of(name, 2, {"epsilon": 30.0}), 2)


@pytest.mark.parametrize("name", sorted(set(ALGORITHMS) - {"lloyd"}))
def test_an_answer_that_is_not_from_the_tape_is_noticed(name, tape):
    """So the last answer of each run is released, or decides what is; and all of its noise is on the tape."""

    params = params_of(name, 2, {}, longer=True)
    assert not refused(tape, ALGORITHMS[name].fit, params, 2)
    tape.forgotten = {len(tape.calls) - 1}
    assert "result" in refused(tape, ALGORITHMS[name].fit, params, 2)


def test_other_requests_are_refused(tape):
    """A different mechanism, shape, scale, number of requests, and state of the generator."""
    rng = np.random.default_rng
    with tape.recording():
        first = mechanisms.laplace([1.0, 2.0], scale=1.0, rng=rng(0))
    with tape.replaying():
        assert mechanisms.laplace([7.0, 9.0], scale=1.0, rng=rng(0)).tolist() == first.tolist()
    for message, ask in {
        "of laplace, but gaussian": lambda: mechanisms.gaussian([1.0, 2.0], sigma=1.0, rng=rng(0)),
        r"shape \(2,\), but was asked for shape \(3,\)": lambda: mechanisms.laplace([1.0] * 3, scale=1.0, rng=rng(0)),
        "scale is 1.0, and 2.0": lambda: mechanisms.laplace([1.0, 2.0], scale=2.0, rng=rng(0)),
        "stands elsewhere": lambda: mechanisms.laplace([1.0, 2.0], scale=1.0, rng=rng(1)),
        "once more": lambda: [mechanisms.laplace([1.0, 2.0], scale=1.0, rng=rng(0)) for _ in range(2)],
        "0 answers were asked for, but 1": lambda: None,
    }.items():
        with pytest.raises(RefusedError, match=message), tape.replaying():
            ask()
