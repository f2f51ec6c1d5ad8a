"""A tape of the mechanisms' answers in one run, replayed in runs on different records.

A run's release is a function of public inputs, of its mechanisms' answers, and of public randomness. So the same
answers lead to the same release, to the bit, whatever the records are.
"""

import dataclasses
import functools
import inspect
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum

import numpy as np

from dpviz import mechanisms
from dpviz.baselines import _base
from dpviz.methods.dpm.algorithm import plan

# All that draws from a generator: the first argument is private, all others must be public or released.
MECHANISMS = (
    *(
        each
        for each in (getattr(mechanisms, name) for name in mechanisms.__all__)
        if inspect.isfunction(each) and "rng" in inspect.signature(each).parameters
    ),
    _base.noisy_whole,
    # As published, a place among all existing gaps, so its options are also private.
    plan._dp_percentile,
)
# With this module in between, it has a different one of that name.
CHOICE = mechanisms.exponential
ADDED_LATER = (mechanisms.nd_laplace_noise,)  # it is given no record, and its noise is added to records
OF_ANY_LENGTH = (plan._dp_percentile,)
# A run of each method, long enough to come to borders that it has drawn itself.
LONGER = {"n_clusters": 5, "n_components": 6, "max_depth": 4, "n_scales": 2, "epsilon": 30.0}
LONGER |= dict.fromkeys(("n_iterations", "n_levels"), 3)


class RefusedError(AssertionError):
    """Another request than the one that the tape has an answer for."""


@dataclass
class Call:
    """One request and its answer."""

    mechanism: object
    value: np.ndarray | None  # private; None where the mechanism is given no record
    public: dict
    answer: object
    given: tuple  # (args, keywords) as they were, but for the generator


class Tape:
    """Records the answers of all mechanisms, and plays them in the order in which they were recorded."""

    def __init__(self, monkeypatch):
        """Intercept all calls of mechanisms."""
        self.calls, self.playing, self.place, self.inside = [], False, 0, False
        self.forgotten = set()  # numbers of answers that are drawn anew, from the records at hand
        self.asked = []  # (mechanism, private value, public arguments) of the run that is being made
        known = {id(mechanism): mechanism for mechanism in MECHANISMS}
        for module, name, mechanism in _places(tuple(map(id, sys.modules.values()))):
            if id(getattr(module, name, None)) in known:
                monkeypatch.setattr(module, name, self._between(mechanism))

    @contextmanager
    def recording(self):
        """Record the run that is made inside."""
        self.calls, self.playing, self.asked = [], False, []
        yield self

    @contextmanager
    def replaying(self):
        """Answer the run that is made inside. Raises RefusedError unless it asks for all that is on the tape."""
        self.playing, self.place, self.asked = True, 0, []
        yield self
        if self.place != len(self.calls):
            raise RefusedError(f"{self.place} answers were asked for, but {len(self.calls)} are on the tape.")

    def _drawn(self, real, given, rng):
        """Draw an answer; a mechanism that is called in it is part of it."""
        self.inside = True
        try:
            return real(*given[0], rng=rng, **given[1])
        finally:
            self.inside = False

    def _between(self, real):
        signature = inspect.signature(real)
        first = next(iter(signature.parameters))

        @functools.wraps(real)
        def mechanism(*given, rng, **named):
            if self.inside:  # a mechanism inside a mechanism is part of it
                return real(*given, rng=rng, **named)
            public = dict(signature.bind(*given, rng=None, **named).arguments)
            del public["rng"]
            value = None if real in ADDED_LATER else np.array(public.pop(first))
            self.asked.append((real, value, public))
            if not self.playing:
                return self._recorded(real, value, public, (given, named), rng)
            if self.place in self.forgotten:
                self.place += 1
                return self._drawn(real, (given, named), rng)
            return self._answered(real, value, public, rng)

        return mechanism

    def _recorded(self, real, value, public, given, rng):
        args, named = given
        kept = tuple(map(_copied, args)), {key: _copied(each) for key, each in named.items()}
        call = Call(real, value, {key: _copied(each) for key, each in public.items()}, None, kept)
        answer = self._drawn(real, given, rng)
        call.answer = _copied(answer)
        self.calls.append(call)
        return Added(answer, call, playing=False) if real in ADDED_LATER else answer

    def _answered(self, real, value, public, rng):
        if self.place == len(self.calls):
            raise RefusedError(f"{real.__name__} was asked once more, after all {self.place} answers were given.")
        call, number = self.calls[self.place], self.place + 1
        self.place += 1
        what = f"answer {number} of {len(self.calls)}"
        if call.mechanism is not real:
            raise RefusedError(f"{what} is of {call.mechanism.__name__}, but {real.__name__} was asked.")
        where = f"{what}, of {real.__name__}"
        if value is not None and real not in OF_ANY_LENGTH and value.shape != call.value.shape:
            raise RefusedError(f"{where}, is for shape {call.value.shape}, but was asked for shape {value.shape}.")
        if real is CHOICE and (np.isfinite(value) != np.isfinite(call.value)).any():
            raise RefusedError(f"{where}: other candidates are excluded, and which ones are must be public.")
        different = difference(call.public, public, "request")
        if different:
            raise RefusedError(f"{where}: what must be public follows the records: {different}.")
        # Given what it was given then, a draw that is repeated until it fits takes as much of the generator.
        again = self._drawn(real, call.given, rng)
        if difference(call.answer, again, ""):
            raise RefusedError(f"{where}: its generator stands elsewhere than in the run that was recorded.")
        return Added(again, call, playing=True) if real in ADDED_LATER else again


class Added:
    """Polar noise that its owner adds to a record: the sum is the answer, whatever the record is."""

    def __init__(self, noise, call, *, playing):
        """Keep the sum on the tape, or take it from there."""
        self._noise, self._call, self._playing = noise, call, playing
        self.radius, self.direction = noise.radius, noise.direction

    @property
    def displacement(self):
        """The additions."""
        return self

    __array_ufunc__ = None  # an array leaves the addition to us

    def __radd__(self, exact):
        """Return the moved records."""
        if not self._playing:
            self._call.value = exact + self._noise.displacement
        elif self._call.value.shape != exact.shape:
            raise RefusedError(f"{self._call.value.shape} were moved on the tape, but now {exact.shape}.")
        return self._call.value.copy()


@functools.cache
def _places(_modules):
    """Return (module, name, mechanism) of all that can be called as a mechanism, in any package that has methods."""
    known = {id(mechanism): mechanism for mechanism in MECHANISMS}
    return [
        (module, name, known[id(value)])
        for module in list(sys.modules.values())
        if inspect.ismodule(module) and module.__name__ != __name__ and not module.__name__.startswith("tests.")
        for name, value in list(vars(module).items())
        if id(value) in known
    ]


def difference(one, other, path):
    """Return the place where two values differ to the bit, or ""; fields called `nonprivate_` may differ."""
    if one is other:
        return ""
    if isinstance(one, float | np.floating) and isinstance(other, float | np.floating):
        one, other = np.array(one), np.array(other)
    if type(one) is not type(other):
        return f"{path} is {one!r}, and {other!r}"
    if isinstance(one, np.ndarray):
        same = (one.shape, one.dtype, one.tobytes()) == (other.shape, other.dtype, other.tobytes())
        return "" if same else f"{path} is {one.tolist()}, and {other.tolist()}"
    if isinstance(one, tuple | list | dict) or (not isinstance(one, Enum) and type(one).__eq__ is object.__eq__):
        parts, others = _parts(one), _parts(other)
        if parts.keys() != others.keys():
            return f"{path} has {list(parts)}, and {list(others)}"
        return next(filter(None, (difference(parts[key], others[key], f"{path}.{key}") for key in parts)), "")
    if dataclasses.is_dataclass(one):
        return difference(_parts(one), _parts(other), path)
    return "" if one == other else f"{path} is {one!r}, and {other!r}"


def _parts(value):
    if isinstance(value, dict):
        return value
    if isinstance(value, tuple | list):
        return dict(enumerate(value))
    if dataclasses.is_dataclass(value):
        names = (field.name for field in dataclasses.fields(value))
        return {name: getattr(value, name) for name in names if not name.startswith("nonprivate_")}
    return vars(value)


def _copied(value):
    return value.copy() if isinstance(value, np.ndarray) else value
