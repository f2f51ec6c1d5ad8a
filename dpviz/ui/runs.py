"""Runs on a page, cached by data, parameters and seeds, and their screen as the audience sees it.

Sessions share no uploaded records and no secret noise.
"""

from __future__ import annotations

import dataclasses
import secrets
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import lru_cache, partial
from typing import Any, TypeAlias

import numpy as np
import streamlit as st

from dpviz.accounting.budgets import price_of
from dpviz.core import (
    AnyAlgorithm,
    Ball,
    Box,
    CentersRelease,
    FloatArray,
    Guarantee,
    Release,
    Result,
    Step,
    fingerprint,
    frozen,
    immutable,
    immutable_value,
)
from dpviz.mechanisms import FROM_DATA, TEACHING, SecretGenerator, public_rng
from dpviz.plots import Scene
from dpviz.plots.page import PictureState
from dpviz.plots.scene import pack
from dpviz.runs import SECRET, honest
from dpviz.stories import View, Words, pair
from dpviz.stories.panel import facts, stacked
from dpviz.stories.recipe import Calls, TargetSpread
from dpviz.stories.run import Run
from dpviz.ui import state
from dpviz.ui.data.picker import Source
from dpviz.ui.live import session_name
from dpviz.ui.server.served import served

# Fits, references and runs remembered over all sessions.
MOST_SHARED = 256
# Runs remembered within one session, for uploaded records.
MOST_PRIVATE = 64
SECRET_BITS = 128
_SECRET = "dpviz:secret-run"
_SECRET_SEED = "dpviz:secret-seed"
# Counts of secret runs on public sets, by the people in them.
_SECRET_RUN_COUNTS = "dpviz:secret-run-counts"
# Releases of own records, by settings.
_OWN_RELEASES = "dpviz:own-releases"
_own_releases = state.session_value(_OWN_RELEASES, dict[tuple[Hashable, ...], Result[Release, Step]])
# Releases that a session can look at again.
MAX_OWN_RELEASES = 8

# Epsilons whose releases a trail joins.
TRAIL = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
MOST_TRAIL_RECORDS = 20_000


@immutable_value
class Noise:
    """Source of a run's noise: a seed that everyone may know, or the operating system.

    Secret noise is for public sets, where each picture is one more release. Pictures of a person's own records are
    teaching runs, until `release_own` draws secret noise for one. Code that needs a different seed than the picture's
    calls `seed_for`; nothing else makes or recognizes one.
    """

    # None if the noise is secret.
    seed: int | None

    @property
    def secret(self) -> bool:
        """True if no one may be able to reproduce the noise."""
        return self.seed is None

    def seed_for(self, source: Source) -> Seed:
        """Return the seed of runs next to the picture: the picture's own seed, or a secret one of this session.

        A secret seed is for these records; other records and `renew_secret` give a new one. It is never shown, written
        or remembered beyond the session.
        """
        if self.seed is not None:
            return Seed(self.seed, secret=False)
        remembered: tuple[Hashable, int] | None = st.session_state.get(_SECRET_SEED)
        if remembered is None or remembered[0] != source.people:
            remembered = (source.people, secrets.randbits(SECRET_BITS))
            st.session_state[_SECRET_SEED] = remembered
        return Seed(remembered[1], secret=True)


@immutable_value
class Seed:
    """A seed, with a flag for a secret one; a secret seed does not show itself."""

    value: int = field(repr=False)
    secret: bool


AnyRun: TypeAlias = Run[Any, Release, Step]


def as_it_is(scene: Scene) -> Scene:
    """Change nothing."""
    return scene


@immutable
class RunRequest:
    """A run that a page asks for: a method, its parameters, and the page's own choices for its picture."""

    algorithm: AnyAlgorithm
    kind: type[AnyRun]
    params: Any
    # Name of the run, if the page's title does not state it.
    name: str = ""
    # Fields of the run, such as the record that is looked at.
    fields: Mapping[str, Any] = field(default_factory=dict)
    # The same parameters over `TRAIL`.
    trail: tuple[Any, ...] = ()
    # Spread of targets that the page has spread.
    spread: TargetSpread | None = None
    # Adds the page's own parts to each picture.
    adapt: Callable[[Scene], Scene] = as_it_is

    @property
    def key(self) -> tuple[Hashable, ...]:
        """A small key of all inputs of the picture except data, noise and view."""
        trail = tuple(scalars(params) for params in self.trail)
        fields = tuple((name, _scalar(value)) for name, value in self.fields.items())
        return (self.algorithm.name, self.kind.__qualname__, scalars(self.params), self.name, trail, self.adapt, fields)


Runs: TypeAlias = tuple[tuple[RunRequest, AnyRun], ...]


@immutable_value
class _Latest:
    """A secret run on screen, kept so that a second look is not a second release."""

    key: tuple[Hashable, ...]
    result: Result[Release, Step]
    # Secret runs on these records up to this one. Each is one more release.
    n_secret_runs: int


@immutable_value
class _Work:
    """Work whose answer `key` alone decides: caches hash the key and nothing else."""

    key: tuple[Hashable, ...]
    make: Callable[[], Any] = field(compare=False)


def words_of(source: Source) -> Words:
    """Return the public description of the data."""
    return Words.from_dataset(source.dataset)


def notices(guarantee: Guarantee) -> tuple[str, ...]:
    """Return the caveats about this very run, not about its method: the origins of its bounds and noise."""
    return tuple(each for each in guarantee.caveats if each in (FROM_DATA, SECRET, TEACHING))


def run_method(request: RunRequest, source: Source, noise: Noise, *, place: int = 0) -> AnyRun:
    """Run the method, or recall the same run; `place` distinguishes pictures on one page.

    For a person's own records, it is the release with exactly these settings if it exists, otherwise a teaching run
    with the noise's seed: looking releases nothing. Raises ValueError for secret noise on such records, and in the
    same cases as the method.
    """
    params, dataset, kind = request.params, source.dataset, request.kind
    key = _key_of(request, source, noise)
    made = find_own_release(request, source)
    if made is not None:
        result, secret = made, True
    elif noise.seed is not None:
        fit = partial(request.algorithm.fit, dataset.points, dataset.box, params, rng=public_rng(noise.seed))
        result, secret = _recall(source, ("fit", *key), fit), False
    elif source.own:
        raise ValueError("A picture of your own records cannot have secret noise. Release them, or use a seed.")
    else:
        result, secret = _secret(request, source, key, place), True
    # Lloyd's run depends only on the data and the start, so it is not made again when epsilon moves.
    group = (kind.reference_group,) if kind.reference_group else (kind.__qualname__, request.algorithm.name)
    start = ("reference", source.key, *group, *kind.reference_key(params, result))
    words = words_of(source)
    reference = _recall(source, start, lambda: kind.find_reference(dataset.points, words, result, params))
    # A release keeps the caveats from when it was drawn.
    guaranteed = (
        result if made is not None else replace(result, guarantee=honest(result.guarantee, dataset, secret=secret))
    )

    def put_together() -> Any:
        run = kind.from_result(guaranteed, params, dataset.points, words, reference)
        return replace(run, classes=dataset.labels)

    # The picture that comes ahead of the page and the page itself share one run.
    shared = not secret and not source.own
    run: AnyRun = _shared(_Work(("run", kind.__qualname__, *key), put_together)) if shared else put_together()
    return replace(run, **request.fields) if request.fields else run


def guarantee_of(request: RunRequest, box: Box) -> Guarantee:
    """Return the guarantee of a run for one record, which is the same for all records. Raises ValueError as the run."""
    key = (request.algorithm.name, scalars(request.params), fingerprint(box.low), fingerprint(box.high))
    return _guarantee(_Work(key, lambda: price_of(request.algorithm.fit, box, request.params)[0]))


# One page's slider has about 40 values.
@lru_cache(maxsize=1024)
def _guarantee(work: _Work) -> Guarantee:
    made: Guarantee = work.make()
    return made


def _key_of(request: RunRequest, source: Source, noise: Noise) -> tuple[Hashable, ...]:
    return (source.key, request.algorithm.name, scalars(request.params), noise.seed)


def count_secret_runs(source: Source, noise: Noise, place: int) -> int:
    """Return the session's number of releases of these records, up to the one on screen; 0 with a seed."""
    latest = st.session_state.get(_SECRET, {}).get(place) if noise.secret and not source.own else None
    return 0 if latest is None else int(latest.n_secret_runs)


def scenes_in_step(
    runs: Runs, scenes: Iterable[Scene], view: View, trails: Sequence[FloatArray | None]
) -> Iterator[Scene]:
    """Yield the pictures of two runs that are stepped together, with any trails, which do not depend on ε."""
    (_, one), (_, other) = runs
    in_step = pair.in_step(one.stops().frames, other.stops().frames)
    for scene, frames, (request, run), centers in zip(scenes, in_step, runs, trails, strict=True):
        trailed = scene if centers is None else pair.with_trail(scene, run, view, centers)
        if run is one:
            trailed = pair.with_finding(trailed, one, other)
        yield replace(pair.lasting(trailed, frames), title=request.name)


def along(request: Callable[[float], RunRequest]) -> tuple[Any, ...]:
    """Return a method's parameters over the trail's budgets."""
    return tuple(request(epsilon).params for epsilon in TRAIL)


def trail_of(source: Source, request: RunRequest, noise: Noise) -> FloatArray | None:
    """Return each center's position at other budgets with the same noise, if that noise can be reproduced."""
    data, seed = source.dataset, noise.seed
    if not request.trail or seed is None or data.n > MOST_TRAIL_RECORDS:
        return None
    key = ("trail", source.key, request.algorithm.name, noise.seed, *map(scalars, request.trail))

    def trail() -> FloatArray:
        releases = []
        for each in request.trail:
            fit = partial(request.algorithm.fit, data.points, data.box, each, rng=public_rng(seed))
            at = ("fit", *_key_of(replace(request, params=each), source, noise))
            releases.append(_recall(source, at, fit).release)
        centers = (each.centers for each in releases if isinstance(each, CentersRelease))
        return frozen(np.stack([data.box.to_unit(each) for each in centers]))

    found: FloatArray = _recall(source, key, trail)
    return found


def scalars(params: Any) -> tuple[Hashable, ...]:
    """Return the parameters as a small frozen key, with fingerprints for values that are not scalars."""
    return tuple(_scalar(getattr(params, field.name)) for field in dataclasses.fields(params))


def _scalar(value: Any) -> Hashable:
    if isinstance(value, np.ndarray):
        return fingerprint(value)
    return (fingerprint(value.center), value.radius) if isinstance(value, Ball) else value


def release_own(
    request: RunRequest, source: Source, enter: Callable[[Result[Release, Step]], None]
) -> Result[Release, Step]:
    """Draw secret noise for a person's own records, once and permanently: one more release of them.

    The caller has asked; `enter` enters the release into the ledger. Raises ValueError as the method does.
    """
    data, key = source.dataset, _key_of(request, source, Noise(None))
    made = _own_releases()
    drawn = request.algorithm.fit(data.points, data.box, request.params, rng=SecretGenerator())
    result: Result[Release, Step] = replace(drawn, guarantee=honest(drawn.guarantee, data, secret=True))
    # A click ends this run when it next accesses the session. A release that is not entered must not be kept, so
    # nothing accesses the session after the entry.
    enter(result)
    made.pop(key, None)
    made[key] = result
    for oldest in list(made)[:-MAX_OWN_RELEASES]:
        del made[oldest]
    return result


def find_own_release(request: RunRequest, source: Source) -> Result[Release, Step] | None:
    """Return the last release of own records with exactly these settings, or None."""
    # The thread that draws ahead of the page, which has no session, also ends here.
    if not source.own:
        return None
    return _own_releases().get(_key_of(request, source, Noise(None)))


def released_total(source: Source) -> float | None:
    """Return the sum of noisy counts of the last release of own records that has counts, or None without one."""
    releases = [result.release for key, result in _own_releases().items() if key[0] == source.key]
    found = [each for each in releases if isinstance(each, CentersRelease) and each.noisy_counts is not None]
    return found[-1].noisy_total if found else None


def forget_own() -> None:
    """Forget all runs on this session's own records, whose traces are exact; releases stay in the ledger."""
    _private.clear()
    st.session_state.pop(_OWN_RELEASES, None)


def _secret(request: RunRequest, source: Source, key: tuple[Hashable, ...], place: int) -> Result[Release, Step]:
    """Draw fresh noise from the operating system whenever anything changed: each picture is one more release."""
    latest_runs: dict[int, _Latest] = st.session_state.setdefault(_SECRET, {})
    latest = latest_runs.get(place)
    if latest is None or latest.key != key:
        data = source.dataset
        result = request.algorithm.fit(data.points, data.box, request.params, rng=SecretGenerator())
        counts: Counter[Hashable] = st.session_state.setdefault(_SECRET_RUN_COUNTS, Counter())
        counts[source.people] += 1
        latest = latest_runs[place] = _Latest(key, result, counts[source.people])
    return latest.result


def renew_secret() -> None:
    """Forget the secret runs on screen and the session's secret seed, so that later runs have new noise."""
    st.session_state.pop(_SECRET_SEED, None)
    st.session_state.pop(_SECRET, None)


def _recall(source: Source, key: tuple[Hashable, ...], make: Callable[[], Any]) -> Any:
    """Return the cached result of `make` for `key`: own records within this session, other records across sessions."""
    return (_private if source.own else _shared)(_Work(key, make))


def _key(work: _Work) -> str:
    # A single text, because the cache takes a tuple apart, which costs more than a lookup should.
    return repr(work.key)


@st.cache_resource(max_entries=MOST_SHARED, show_spinner=False, hash_funcs={_Work: _key})
def _shared(work: _Work) -> Any:
    return work.make()


@st.cache_resource(max_entries=MOST_PRIVATE, show_spinner=False, scope="session", hash_funcs={_Work: _key})
def _private(work: _Work) -> Any:
    return work.make()


# -- On screen --


def facts_html(runs: Runs, *, public: bool) -> str:
    """Write the facts of one run, or of two on the same records, as HTML."""
    first, *others = (run for _, run in runs)
    if not others:
        return first.facts_html(public=public)
    return stacked(facts("The cost of honesty", pair.facts(first, others[0]), public=public))


SCREEN = "dpviz:shown"


@immutable
class MethodScreen:
    """One picture, or two side by side, with all of their inputs."""

    source: Source
    # Curator only.
    runs: Runs
    curators_scenes: tuple[Scene, ...]
    noise: Noise
    view: View
    # True if the public is looking.
    public: bool
    # Every knob of the page, including knobs at their defaults.
    pairs: state.Pairs
    # Facts as HTML.
    numbers: str = ""
    # Data of the slider, as sent to the browser.
    slider: Mapping[str, Any] | None = None
    # Pictures at each value of the slider, None at impossible values; None instead if they would be more releases.
    moments: Callable[[], Iterator[PictureState | None]] | None = None
    # Request of the first picture. Raises ValueError.
    request: Callable[[float], RunRequest] | None = None

    @property
    def scenes(self) -> tuple[Scene, ...]:
        """Pictures that the audience sees, the only ones that may leave."""
        if not self.public:
            return self.curators_scenes
        return tuple(scene.public() for scene in self.curators_scenes)


@immutable
class ChartScreen:
    """Pictures of a page with more than one run, such as Compare; none if the page's audience sees none."""

    source: Source
    # Pictures that the audience sees.
    scenes: tuple[Scene, ...]
    public: bool
    pairs: state.Pairs
    # Lines under an exported picture.
    notes: tuple[str, ...]
    # Calls that make the pictures again.
    calls: Calls
    # Guarantees as plain values.
    guarantees: tuple[Mapping[str, object], ...] = ()


OnScreen: TypeAlias = MethodScreen | ChartScreen


def keep(screen: OnScreen | None) -> None:
    """Remember the current screen; None means that nothing is on screen."""
    st.session_state[SCREEN] = screen


def latest() -> OnScreen | None:
    """Return the screen that is shown now."""
    screen: OnScreen | None = st.session_state.get(SCREEN)
    return screen


# The picture on screen, and the one that may be requested next.
MOST_CACHED = 2


@immutable
class CachedPicture:
    """Runs and their pictures; equal names, equal pictures."""

    name: Hashable
    runs: Runs
    scenes: tuple[Scene, ...]
    # Pictures as the audience sees them.
    packed: tuple[bytes, ...]


class PictureCache:
    """The pictures that a session drew last; the thread that draws ahead of the page uses them as well."""

    def __init__(self) -> None:
        """Make an empty cache."""
        self._pictures: tuple[CachedPicture, ...] = ()

    def recall(self, name: Hashable | None) -> CachedPicture | None:
        """Return the picture drawn under this name, if it is among the last ones; the name None matches none."""
        return next((picture for picture in self._pictures if name is not None and picture.name == name), None)

    def pack(
        self, name: Hashable | None, runs: Runs, scenes: Iterable[Scene], *, public: bool
    ) -> Iterator[CachedPicture]:
        """Pack pictures for their audience, and yield all packed so far after each.

        Keep them all if they have a name.
        """
        picture = CachedPicture(name, runs, (), ())
        for scene in scenes:
            packed = pack(scene.public() if public else scene)
            picture = CachedPicture(name, runs, (*picture.scenes, scene), (*picture.packed, packed))
            yield picture
        if name is not None:
            self._pictures = (*self._pictures, picture)[-MOST_CACHED:]


picture_cache = state.session_value("dpviz:last-pictures", PictureCache)


def name_of(
    source: Source, requests: Sequence[RunRequest], noise: Noise, view: View, looked_at: int | None, *, public: bool
) -> Hashable | None:
    """Name everything that a picture follows from; None for secret noise and own records, which nothing recalls."""
    if noise.secret or source.own:
        return None
    return (source.key, public, noise.seed, view, looked_at, *(request.key for request in requests))


_ADDRESS = served("address")


def address(query: str, *, key: str = "address") -> None:
    """Put `query` into the page's address without a new entry in the history. A live picture does so by itself."""
    # The browser takes no address from a different session, for example after a restart of the server.
    _ADDRESS(data={"query": query, "session": session_name()}, key=key)


def follow(pairs: state.Pairs, *, key: str) -> None:
    """Put a tab's latest changes into the URL of the screen, because the tab runs without the picture.

    `pairs` are the tab's part of the picture's link. Names that the link does not have are left out.
    """
    screen = latest()
    if screen is None:
        return
    changes = dict(pairs)
    moved = [(name, changes.get(name, text)) for name, text in screen.pairs]
    if moved != screen.pairs:
        keep(replace(screen, pairs=moved))
    address(state.differing_query(moved), key=key)
