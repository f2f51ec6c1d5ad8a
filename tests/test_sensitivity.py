"""With one more record and fixed releases, the inputs of noise and choices move by exactly the events' amounts.

A run is made once, and each mechanism's output is kept. The same run is made again on records that lie on its own
borders (between centers, on planes, in corners of lattices), with one record added, removed or replaced, and each
mechanism repeats its answer, whatever its input. The inputs in the two runs are compared: the total loss is at most
the total of the run's events.
"""

import dataclasses
import itertools
import math
import sys
from functools import partial

import numpy as np
import pytest

from dpviz import mechanisms, solvers
from dpviz.accounting import ParallelEvent, PureEvent, Purpose, SequenceEvent, pure_epsilon, zcdp_rho
from dpviz.baselines import _base, em_mc, lsh_splits
from dpviz.core import Adjacency, Box, knobs
from dpviz.methods import ALGORITHMS
from dpviz.solvers import assign, grids, noisy_lloyd, weighted
from dpviz.solvers.lloyd import nearness
from dpviz.tools.audit.cases import params_of
from tests import replay
from tests.one_record import border_pool, by_remainder, components, last_before
from tests.replay import LONGER

ROUNDING = 1e-9  # relative: sums of a hundred records in doubles
# Distance from a center. Records beyond its radius or its cluster move others.
AWAY = (0.1, 0.4)
# Numbers of records. One more fills whole groups of 4 and of 64, which many a library rounds differently.
NUMBERS = (3, 63)
INTERVAL = Purpose.INTERVAL
LOCAL = ("lloyd", "nd_laplace")  # no privacy, and noise that each record has of its own
# It draws a place among the records' own gaps, so the options differ. Its law is in methods/dpm/algorithm.
OWN_PLACES = ("dpm", "published")


def modes():
    """Yield (method, choices) of every combination of choices with a proof; others return early."""
    for method in sorted(set(ALGORITHMS) - set(LOCAL)):
        made, plan = ALGORITHMS[method].Params, ALGORITHMS[method].audit
        free = [knob for knob in knobs(made) if knob.kind == "choice" and knob.name not in plan.idle]
        longer = {field.name: LONGER[field.name] for field in dataclasses.fields(made) if field.name in LONGER}
        for values in itertools.product(*([value for value, _ in knob.choices if value != "records"] for knob in free)):
            choices = {knob.name: value for knob, value in zip(free, values, strict=True)}
            if (method, *values) != OWN_PLACES:
                yield pytest.param(method, {**longer, **choices}, id=":".join((method, *values)))


# A mechanism's request, and the cost of a move of 1 in its private value.
WORTH = {
    mechanisms.laplace: lambda scale: ("noise", scale),
    mechanisms.gaussian: lambda sigma: ("gaussian", sigma),
    _base.noisy_whole: lambda epsilon: ("noise", 1.0 / epsilon),
    mechanisms.exponential: lambda epsilon, sensitivity: ("choice", 2.0 * sensitivity / epsilon),
}


class Tape(replay.Tape):
    """A tape that knows the centers by which records were assigned in the run that was recorded."""

    def __init__(self, monkeypatch):
        """Also watch the assignment."""
        super().__init__(monkeypatch)
        self.centers = []
        for name, module in list(sys.modules.items()):
            if name.startswith("dpviz."):
                for key, value in list(vars(module).items()):
                    if value is nearness:
                        monkeypatch.setattr(module, key, self._watched)

    def _watched(self, centers):
        if not self.playing:
            self.centers.append(np.array(centers))
        return nearness(centers)

    def record(self, method, unit, params, box=None):
        """Return the result of a run that is recorded."""
        self.centers = []
        with self.recording():
            return self._run(method, unit, params, box)

    def replay(self, method, unit, params, box=None):
        """Return the result of a run that is answered from the tape, and the inputs of its mechanisms."""
        with self.replaying():
            result = self._run(method, unit, params, box)
        given = []
        for mechanism, value, public in self.asked:
            kind, worth = WORTH[mechanism](**public)
            given.append((kind, value.astype(np.float64), np.array(worth, dtype=np.float64)))
        return result, given

    def _run(self, method, unit, params, box):
        """Run the method on records (n, d) of [0, 1]^d scaled to `box`."""
        box = Box.cube(0.0, 1.0, unit.shape[1]) if box is None else box
        points = box.clip(box.from_unit(unit))
        return ALGORITHMS[method].fit(points, box, params, rng=np.random.default_rng(0))


def far(value, other):
    """Return |value - other| in exact arithmetic, rounded once, as IEEE 754 has every difference of two doubles."""
    assert np.isfinite([value, other]).all()
    return np.abs(value - other)


def losses(one, other):
    """Return pure epsilon (infinite with Gaussian noise) and rho of two runs' inputs to the same mechanisms."""
    pure, rho = [], []
    for (kind, x, scale), (_, y, _) in zip(one, other, strict=True):
        if kind == "choice":  # each row among its own: the log-ratio's range
            moved = np.subtract(x, y, out=np.full(x.shape, np.nan), where=np.isfinite(x))
            found = np.atleast_1d((np.nanmax(moved, axis=-1) - np.nanmin(moved, axis=-1)) / scale)
        else:
            found = far(x, y) / np.where(scale > 0, scale, 1.0)
        pure.append(math.inf if kind == "gaussian" and found.any() else float(found.sum()))
        rho.append(float((found**2).sum()) / (8.0 if kind == "choice" else 2.0))
    return math.fsum(pure), math.fsum(rho)


def own_decisions(tape, result, d):
    """Return the functions that decided about records (m, d) in a run: planes, components or centers."""
    release = result.release
    if isinstance(release, lsh_splits.CoresetRelease):
        return [lambda unit, plane=plane: lsh_splits.sides(unit - release.mean, plane) for plane in release.planes]
    mixtures = [each for each in (getattr(step, "mixture", None) for step in result.trace) if each is not None]
    centers = [partial(assign, centers=each) for each in tape.centers if each.shape[1] == d]
    return [partial(components, mixture=mixture) for mixture in mixtures] or centers


def on_own_borders(decisions, n, d, seed):
    """Return n + 1 records on borders, half of them copies of one that is the last before another decision.

    The last one goes.
    """
    rng = np.random.default_rng([seed, n, d])
    records = border_pool(d)[rng.integers(len(border_pool(d)), size=n + 1)]
    crowded = records[:1]
    if decisions:
        crowded = last_before(*rng.random((2, 1, d)), decisions[rng.integers(len(decisions))])
    records[rng.random(n + 1) < 0.5] = crowded
    if seed % 2:
        records[-1] = rng.integers(2, size=d)  # a corner: it moves sums farthest
    return records


def shares(tape, method, choices, d, seeds=range(2), box=None):
    """Yield a run's measured loss divided by the total of its events, repeatedly; nothing without a proof."""
    params = params_of(method, choices, Box.cube(0.0, 1.0, d) if box is None else box)
    for seed, n in itertools.product(seeds, NUMBERS):
        first = tape.record(method, on_own_borders([], n, d, seed)[:n], params, box)
        if first.guarantee.proved is None:
            return
        adjacency = first.guarantee.proved.adjacency
        records = on_own_borders(own_decisions(tape, first, d), n, d, seed)
        less = records[:-1]
        more = records if adjacency is Adjacency.ADD_REMOVE else np.vstack([less[:-1], records[-1:]])
        (result, given), (_, others) = (tape.replay(method, unit, params, box) for unit in (more, less))
        allowed = pure_epsilon(result.events, adjacency), zcdp_rho(result.events, adjacency)
        found = zip(losses(given, others), allowed, strict=True)
        yield max(loss / limit for loss, limit in found if math.isfinite(limit))


STEPS = 2.0**34  # doubles across an axis: twice as many as a box needs
FAR = Box([1.7e18, -(2.0**53)], [1.7e18 + 256 * STEPS, STEPS - 2.0**53])


@pytest.mark.parametrize(("d", "seeds", "box"), [(2, 2, None), (5, 2, None), (2, 1, FAR)], ids=["2", "5", "far from 0"])
@pytest.mark.parametrize(("method", "choices"), list(modes()))
def test_no_record_moves_more_than_the_events_say(method, choices, d, seeds, box, monkeypatch):
    try:
        found = [*shares(Tape(monkeypatch), method, choices, d, range(seeds), box)]
    except ValueError as error:
        pytest.skip(str(error))  # a combination that the method refuses
    assert max(found, default=0.0) <= 1.0 + ROUNDING


@pytest.mark.parametrize("ends", [(1.7e18, 1.7e18 + 1e7), (2.0**53, 2.0**53 + 16)])
def test_nor_would_averages_of_cells_where_boxes_are_refused(ends, monkeypatch):
    """DPM's averages were summed in data units: twice the sensitivity in the second of these boxes."""
    monkeypatch.setattr(sys.modules[Box.__module__], "FEWEST_STEPS", 1.0)
    box, tape, found = Box(*ends), Tape(monkeypatch), []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        unit = rng.choice(rng.integers(9, size=3) / 8.0, (400, 1))
        unit[-1] = rng.integers(9) / 8.0
        params = params_of("dpm", {"epsilon": 30.0}, box)
        tape.record("dpm", unit, params, box)
        (result, given), (_, others) = (tape.replay("dpm", held, params, box) for held in (unit, unit[:-1]))
        allowed = zcdp_rho(result.events[-1:], Adjacency.ADD_REMOVE)
        found.append(losses(given[-1:], others[-1:])[1] / allowed)
    assert 0.1 < max(found) <= 1.0 + ROUNDING


def at_both_ends(d, centers):
    """Return places (m, d) where one record moves most: corners, and both ends of clusters along the axes."""
    corners = np.array(list(itertools.product((0.0, 1.0), repeat=d)))
    ends = [
        np.clip(one + sign * away * axis, 0.0, 1.0)
        for one in centers
        for sign in (-1.0, 1.0)
        for away in AWAY
        for axis in (np.eye(d)[0], np.ones(d) / math.sqrt(d))
    ]
    return np.unique(np.vstack([corners, *ends]), axis=0)


def leaves(events):
    """Yield the events of a sequence, and of one part of those in parallel."""
    for event in events:
        if isinstance(event, SequenceEvent):
            yield from leaves(event.events)
        elif isinstance(event, ParallelEvent):
            yield from leaves(event.parts[:1])
        else:
            yield event


def paid_by(call, kind, worth, events):
    """Take from `events`, in their order, the payment for an answer; return its purpose and its allowed loss.

    (None, infinity) where no event does.
    """
    for place, event in enumerate(events):
        if "scale" in call.public or kind == "gaussian":
            allowed = getattr(event, "epsilon" if kind == "noise" else "mu", math.inf)
            if np.any(
                getattr(event, "scale" if kind == "noise" else "sigma", math.nan) == worth
                # Each part has its own.
            ):
                return purpose_of(events.pop(place)), allowed
        # The law of an interval size is given as it is: its epsilon is in it.
        elif isinstance(event, PureEvent) and (event.epsilon == call.public["epsilon"] or event.purpose is INTERVAL):
            same = [each for each in events if each == event] if kind == "noise" else [event]
            for each in same:  # out of one part, and into another
                events.remove(each)
            return purpose_of(event), len(same) * event.epsilon
    # Two kinds of noise of one scale, stated by their joint cost.
    pure = [] if kind == "gaussian" else [each for each in events if isinstance(each, PureEvent)]
    return (purpose_of(pure[0]), pure[0].epsilon) if pure else (None, math.inf)


def purpose_of(event):
    """Return the purpose of an event in words."""
    return event.label if event.purpose is None else event.purpose.value


def reached(tape, method, params, d, n):
    """Return the largest measured loss of the answers for each purpose, as a share of the loss in their event."""
    rng = np.random.default_rng(d)
    # Records in two corners.
    crowds = rng.integers(2, size=(n, 1)) + 0.02 * rng.uniform(-1.0, 1.0, (n, d))
    first = tape.record(method, np.clip(crowds, 0.0, 1.0), params)
    if first.guarantee.proved is None:
        return {}
    others, events = np.clip(crowds[:-1], 0.0, 1.0), list(leaves(first.events))
    centers = [one for each in tape.centers if each.shape[1] == d for one in each]
    given = [tape.replay(method, np.vstack([others, place]), params)[1] for place in at_both_ends(d, centers[:3])]
    replaced = first.guarantee.proved.adjacency is Adjacency.REPLACE
    before = given if replaced else [tape.replay(method, others, params)[1]]
    found = {}
    for i, call in enumerate(tape.calls):
        kind, _, worth = given[0][i]
        one, other = (np.stack([each[i][1] for each in runs]) for runs in (given, before))
        moved = np.subtract(
            one[:, None], other, out=np.full((len(one), *other.shape), np.nan), where=np.isfinite(other)
        )
        if kind == "choice":
            lost = (np.nanmax(moved, axis=-1) - np.nanmin(moved, axis=-1)).max() / worth
        else:
            moved = np.abs(moved / worth).reshape(*moved.shape[:2], -1)
            lost = (np.sqrt((moved**2).sum(axis=-1)) if kind == "gaussian" else moved.sum(axis=-1)).max()
        purpose, allowed = paid_by(call, kind, worth, events)
        assert purpose is not None, f"no event pays for answer {i + 1}, of {call.mechanism.__name__}"
        found[purpose] = max(found.get(purpose, 0.0), float(lost / allowed))
    return found


# Purposes of which no record here moves all that is allowed, and how much it does.
NOT_ALL = {
    "A pick": 0.45,  # a record added lowers all scores: half of what changed ones may do
    "Swaps": 0.45,  # the same
    "averages of the leaves": 0.7,  # LSH-Splits: hardly a leaf holds both corners
    "Mean of the blocks": 0.45,  # a block without records answers a center in the middle
    "Points": 0.45,  # NAS: a record takes the place of one that is not at the opposite end
    "Splits": 0.6,  # a subset has twice as many records as would move its score most
    "Interval size": 0.0,  # two crowds have few gaps
}


@pytest.mark.parametrize(("method", "choices"), list(modes()))
def test_each_answer_costs_what_its_own_event_says(method, choices, monkeypatch):
    """And no less: one record moves exactly this much, so the test would find twice the amount."""
    tape = Tape(monkeypatch)
    alone = {name: 1 for name in ("n_clusters", "n_components") if name in choices}
    settings = [({**choices, **alone}, 1, n) for n in NUMBERS] + [(choices, 2, NUMBERS[1])]
    try:
        made = [(params_of(method, chosen, Box.cube(0.0, 1.0, d)), d, n) for chosen, d, n in settings]
    except ValueError as error:
        pytest.skip(str(error))  # a combination that the method refuses
    found = [reached(tape, method, params, d, n) for params, d, n in made]
    most = {purpose: max(each.get(purpose, 0.0) for each in found) for purpose in set().union(*found)}
    assert all(NOT_ALL.get(purpose, 0.9) <= share <= 1.0 + ROUNDING for purpose, share in most.items()), most


def by_place(records, slopes, offsets):
    """Return winners as a matrix library finds them: records left over at the end are rounded another way."""
    return (by_remainder(records, slopes) + offsets).argmax(axis=1)


def hung_on_others(monkeypatch):
    """Make decisions about records round like matrix products."""
    for decides in (solvers.assign, solvers.hard_moments):
        monkeypatch.setattr(sys.modules[decides.__module__], "argmax_linear", by_place)
    monkeypatch.setattr(lsh_splits, "projections", by_remainder)


def from_the_corner(monkeypatch):
    """Let sums be of x, not of x - 1/2: one record moves them twice as far."""
    for module in (sys.modules["dpviz.baselines._lloyd_family"], em_mc, lsh_splits):
        monkeypatch.setattr(module, "centered_sums", lambda sums: sums.nonprivate_sums)


def counted_twice(monkeypatch):
    """Let a record count twice in its cell of a private start."""
    counts = grids.CellGrid.counts
    monkeypatch.setattr(grids.CellGrid, "counts", lambda grid, unit: 2.0 * counts(grid, unit))


def binned_twice(monkeypatch):
    """Let a record count twice in its bins of a private start's marginals."""
    monkeypatch.setattr(weighted, "marginal_counts", lambda unit, n_bins: 2.0 * grids.marginal_counts(unit, n_bins))


@pytest.mark.parametrize("wrong", [counted_twice, binned_twice])
@pytest.mark.parametrize("method", ["convergent_kmeans", "blum", "dwork", "dplloyd", "fastlloyd"])
def test_a_cell_of_a_private_start_that_counts_twice_is_caught(method, wrong, monkeypatch):
    wrong(monkeypatch)
    choices = {"n_clusters": 5, "n_iterations": 1, "epsilon": 30.0, "start": "private"}
    assert any(share > 1.0 + ROUNDING for share in shares(Tape(monkeypatch), method, choices, 2, range(20)))


def from_beyond(monkeypatch):
    """Let records beyond the radius of their center count as well."""
    near_moves = noisy_lloyd.near_moves
    monkeypatch.setattr(noisy_lloyd, "near_moves", lambda *given: near_moves(*given[:-1], math.inf))


WRONG = {
    from_beyond: ("fastlloyd",),
    hung_on_others: ("convergent_kmeans", "blum", "dwork", "dplloyd", "fastlloyd", "morse", "lsh_splits"),
    from_the_corner: ("convergent_kmeans", "blum", "dwork", "dplloyd", "em_mc", "lsh_splits"),
}


@pytest.mark.parametrize(("wrong", "method"), [(wrong, method) for wrong, names in WRONG.items() for method in names])
def test_more_than_the_events_say_is_caught(wrong, method, monkeypatch):
    wrong(monkeypatch)
    choices = next(each.values[1] for each in modes() if each.values[0] == method)
    found = shares(Tape(monkeypatch), method, choices, 5, range(60))
    assert any(share > 1.0 + ROUNDING for share in found)
