"""Runs on a page, cached by data, parameters and seeds, and what is on screen of them, as the audience sees it.

Sessions share no uploaded records and no secret noise.
"""

from __future__ import annotations

import dataclasses
import secrets
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import streamlit as st

from dpviz.core import (
    AnyAlgorithm,
    Ball,
    CentersRelease,
    FloatArray,
    Guarantee,
    Release,
    Result,
    Step,
    fingerprint,
    frozen,
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

MOST_SHARED = 256  # fits, references and runs remembered over all sessions
MOST_PRIVATE = 64  # remembered within one session, for uploaded records
SECRET_BITS = 128
_SECRET = "dpviz:secret-run"
_SECRET_SEED = "dpviz:secret-seed"
_SECRET_RUN_COUNTS = "dpviz:secret-run-counts"  # of public sets, by the people in them
_OWN_RELEASES = "dpviz:own-releases"  # of own records, by settings
MAX_OWN_RELEASES = 8  # that a session can look at again

TRAIL = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)  # epsilons whose releases a trail joins
MOST_TRAIL_RECORDS = 20_000


@dataclass(frozen=True, slots=True)
class Noise:
    """Where a run's noise comes from: a seed that everybody may know, or the operating system; this says which.

    Secret noise is for public sets, where each picture is one more release. Pictures of a person's own records are
    teaching runs, until `release_own` draws secret noise for one. Whoever needs a seed beside the picture's asks
    `seed_for`; nothing else makes or recognizes one.
    """

    seed: int | None  # None: secret

    @property
    def secret(self) -> bool:
        """Whether nobody shall be able to make the noise again."""
        return self.seed is None

    def seed_for(self, source: Source) -> Seed:
        """Return the seed of runs beside the picture's: the picture's own, or a secret one of this session.

        A secret seed is for these records; other records and `renew_secret` give another one. It is never shown,
        written or remembered beyond the session.
        """
        if self.seed is not None:
            return Seed(self.seed, secret=False)
        remembered: tuple[Hashable, int] | None = st.session_state.get(_SECRET_SEED)
        if remembered is None or remembered[0] != source.people:
            remembered = (source.people, secrets.randbits(SECRET_BITS))
            st.session_state[_SECRET_SEED] = remembered
        return Seed(remembered[1], secret=True)


@dataclass(frozen=True, slots=True)
class Seed:
    """A seed, and whether it is secret; a secret one does not show itself."""

    value: int = field(repr=False)
    secret: bool


AnyRun: TypeAlias = Run[Any, Release, Step]


def as_it_is(scene: Scene) -> Scene:
    """Change nothing."""
    return scene


@dataclass(frozen=True, slots=True, eq=False)
class RunRequest:
    """A run that a page asks for: a method, its parameters, and what only the page chooses of its picture."""

    algorithm: AnyAlgorithm
    kind: type[AnyRun]
    params: Any
    name: str = ""  # where the page's title does not say it
    fields: Mapping[str, Any] = field(default_factory=dict)  # of the run, such as the record that is looked at
    trail: tuple[Any, ...] = ()  # the same parameters over `TRAIL`
    spread: TargetSpread | None = None  # of targets that the page has spread
    adapt: Callable[[Scene], Scene] = as_it_is  # adds to each picture what only the page knows

    @property
    def key(self) -> tuple[Hashable, ...]:
        """A small key of everything that the picture follows from, beside data, noise and view."""
        trail = tuple(scalars(params) for params in self.trail)
        fields = tuple((name, _scalar(value)) for name, value in self.fields.items())
        return (self.algorithm.name, self.kind.__qualname__, scalars(self.params), self.name, trail, self.adapt, fields)


Runs: TypeAlias = tuple[tuple[RunRequest, AnyRun], ...]


@dataclass(frozen=True, slots=True)
class _Latest:
    """A secret run on screen, so that looking at it again is not releasing again."""

    key: tuple[Hashable, ...]
    result: Result[Release, Step]
    n_secret_runs: int  # of these records up to this one: each is one more release


@dataclass(frozen=True, slots=True, eq=False)
class _Work:
    """Work whose answer `key` alone decides: caches hash the key and nothing else."""

    key: tuple[Hashable, ...]
    make: Callable[[], Any]


def words_of(source: Source) -> Words:
    """Return what the public knows of the data."""
    return Words.from_dataset(source.dataset)


def notices(guarantee: Guarantee) -> tuple[str, ...]:
    """Return the caveats that are about this very run, not about its method: where bounds and noise came from."""
    return tuple(each for each in guarantee.caveats if each in (FROM_DATA, SECRET, TEACHING))


def run_method(request: RunRequest, source: Source, noise: Noise, *, place: int = 0) -> AnyRun:
    """Run the method, or recall the same run; `place` tells pictures on one page apart.

    Of a person's own records it is the release with these very settings, where there is one, else a teaching run with
    the noise's seed: looking releases nothing. Raises ValueError for secret noise on them, and as the method does.
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
        raise ValueError("Secret noise was asked for a picture of own records. Release them, or use a seed.")
    else:
        result, secret = _secret(request, source, key, place), True
    # Lloyd's run depends on the data and the start only, so that it is not made again when epsilon moves.
    group = (kind.reference_group,) if kind.reference_group else (kind.__qualname__, request.algorithm.name)
    start = ("reference", source.key, *group, *kind.reference_key(params, result))
    words = words_of(source)
    reference = _recall(source, start, lambda: kind.find_reference(dataset.points, words, result, params))
    guaranteed = replace(result, guarantee=honest(result.guarantee, dataset, secret=secret))

    def put_together() -> Any:
        run = kind.from_result(guaranteed, params, dataset.points, words, reference)
        return replace(run, classes=dataset.labels)

    # The picture that comes ahead of the page and the page itself share one run.
    shared = not secret and not source.own
    run: AnyRun = _shared(_Work(("run", kind.__qualname__, *key), put_together)) if shared else put_together()
    return replace(run, **request.fields) if request.fields else run


def _key_of(request: RunRequest, source: Source, noise: Noise) -> tuple[Hashable, ...]:
    return (source.key, request.algorithm.name, scalars(request.params), noise.seed)


def count_secret_runs(source: Source, noise: Noise, place: int) -> int:
    """Return how many releases of these records the session had made with the secret run on screen; 0 with a seed."""
    latest = st.session_state.get(_SECRET, {}).get(place) if noise.secret and not source.own else None
    return 0 if latest is None else int(latest.n_secret_runs)


def scenes_in_step(
    runs: Runs, scenes: Iterable[Scene], view: View, trails: Sequence[FloatArray | None]
) -> Iterator[Scene]:
    """Yield the pictures of two that are stepped together, with the trails that there are: ε does not move them."""
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
    """Return where each center stands at other budgets with the same noise, if that noise can be made again."""
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
    """Return the parameters as a small frozen key: what is no scalar by its fingerprint."""
    return tuple(_scalar(getattr(params, field.name)) for field in dataclasses.fields(params))


def _scalar(value: Any) -> Hashable:
    if isinstance(value, np.ndarray):
        return fingerprint(value)
    return (fingerprint(value.center), value.radius) if isinstance(value, Ball) else value


def release_own(request: RunRequest, source: Source) -> Result[Release, Step]:
    """Draw secret noise for a person's own records, once and for good: one more release of them.

    The caller has asked, and enters it into the ledger. Raises ValueError as the method does.
    """
    data, key = source.dataset, _key_of(request, source, Noise(None))
    drawn = request.algorithm.fit(data.points, data.box, request.params, rng=SecretGenerator())
    result: Result[Release, Step] = replace(drawn, guarantee=honest(drawn.guarantee, data, secret=True))
    made: dict[Hashable, Result[Release, Step]] = st.session_state.setdefault(_OWN_RELEASES, {})
    made.pop(key, None)
    made[key] = result
    for oldest in list(made)[:-MAX_OWN_RELEASES]:
        del made[oldest]
    return result


def find_own_release(request: RunRequest, source: Source) -> Result[Release, Step] | None:
    """Return the last release of own records with these very settings; None where there is none, or no such records."""
    if not source.own:  # also the thread that draws ahead of the page, which has no session
        return None
    made: dict[Hashable, Result[Release, Step]] = st.session_state.get(_OWN_RELEASES, {})
    return made.get(_key_of(request, source, Noise(None)))


def forget_own() -> None:
    """Forget all runs on this session's own records, whose traces are exact; what was released stays in the ledger."""
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
    """Forget the secret runs on screen and the session's secret seed, so that the next ones have new noise."""
    st.session_state.pop(_SECRET_SEED, None)
    st.session_state.pop(_SECRET, None)


def _recall(source: Source, key: tuple[Hashable, ...], make: Callable[[], Any]) -> Any:
    """Recall what `make` made before under `key`: own records within this session, others over all of them."""
    return (_private if source.own else _shared)(_Work(key, make))


def _key(work: _Work) -> str:
    return repr(work.key)  # one text: the cache takes a tuple apart, which costs more than a look-up should


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
    return stacked(facts("What honesty costs", pair.facts(first, others[0]), public=public))


SCREEN = "dpviz:shown"


@dataclass(frozen=True, slots=True, eq=False)
class MethodScreen:
    """One picture, or two beside each other, with everything that they follow from."""

    source: Source
    runs: Runs  # the curator's
    curators_scenes: tuple[Scene, ...]
    noise: Noise
    view: View
    public: bool  # whether the public is looking
    pairs: state.Pairs  # every knob of the page, also those at their defaults
    numbers: str = ""  # facts, HTML
    slider: Mapping[str, Any] | None = None  # as the browser was sent it
    # What is seen at each of its values, None at impossible ones; None instead of all where that is more releases.
    moments: Callable[[], Iterator[PictureState | None]] | None = None
    request: Callable[[float], RunRequest] | None = None  # of the first picture; raises ValueError

    @property
    def scenes(self) -> tuple[Scene, ...]:
        """What the audience sees: the only pictures that may leave."""
        if not self.public:
            return self.curators_scenes
        return tuple(scene.public() for scene in self.curators_scenes)


@dataclass(frozen=True, slots=True, eq=False)
class ChartScreen:
    """The pictures of a page that is no single run's, such as Compare's: none, where its audience sees none."""

    source: Source
    scenes: tuple[Scene, ...]  # what the audience sees
    public: bool
    pairs: state.Pairs
    notes: tuple[str, ...]  # lines under a picture that is taken away
    calls: Calls  # that make the pictures again
    guarantees: tuple[Mapping[str, object], ...] = ()  # as plain values


OnScreen: TypeAlias = MethodScreen | ChartScreen


def keep(screen: OnScreen | None) -> None:
    """Remember what is on screen now; None: nothing is."""
    st.session_state[SCREEN] = screen


def latest() -> OnScreen | None:
    """Return what is on screen."""
    screen: OnScreen | None = st.session_state.get(SCREEN)
    return screen


MOST_CACHED = 2  # the one on screen, and the one that may be asked for next


@dataclass(frozen=True, slots=True, eq=False)
class CachedPicture:
    """Runs and their pictures; equal names, equal pictures."""

    name: Hashable
    runs: Runs
    scenes: tuple[Scene, ...]
    packed: tuple[bytes, ...]  # as the audience sees them


class PictureCache:
    """The pictures that a session drew last; the thread that draws ahead of the page uses them as well."""

    def __init__(self) -> None:
        """Make an empty cache."""
        self._pictures: tuple[CachedPicture, ...] = ()

    def recall(self, name: Hashable | None) -> CachedPicture | None:
        """Return what was drawn under this name, if it is among the last; None never is."""
        return next((picture for picture in self._pictures if name is not None and picture.name == name), None)

    def pack(
        self, name: Hashable | None, runs: Runs, scenes: Iterable[Scene], *, public: bool
    ) -> Iterator[CachedPicture]:
        """Pack pictures for their audience: after each, what there is. Hold them all if they have a name."""
        picture = CachedPicture(name, runs, (), ())
        for scene in scenes:
            packed = pack(scene.public() if public else scene)
            picture = CachedPicture(name, runs, (*picture.scenes, scene), (*picture.packed, packed))
            yield picture
        if name is not None:
            self._pictures = (*self._pictures, picture)[-MOST_CACHED:]


picture_cache = state.session_value("dpviz:last-pictures", PictureCache)


def name_of(
    source: Source, requests: Sequence[RunRequest], noise: Noise, view: View, *, public: bool
) -> Hashable | None:
    """Name everything that a picture follows from; None for secret noise and own records, which nothing recalls."""
    if noise.secret or source.own:
        return None
    return (source.key, public, noise.seed, view, *(request.key for request in requests))


_ADDRESS = served("address")


def address(query: str, *, key: str = "address") -> None:
    """Put `query` into the page's address without a new entry in the history. A live picture does so by itself."""
    # Of another session, as after a restart of the server, the browser takes no other address.
    _ADDRESS(data={"query": query, "session": session_name()}, key=key)


def follow(pairs: state.Pairs, *, key: str) -> None:
    """Put what a tab has just moved into the address of what is on screen: the tab runs without the picture.

    `pairs` are those of the picture's link that are the tab's; names that the link has not are left out.
    """
    screen = latest()
    if screen is None:
        return
    changes = dict(pairs)
    moved = [(name, changes.get(name, text)) for name, text in screen.pairs]
    if moved != screen.pairs:
        keep(replace(screen, pairs=moved))
    address(state.differing_query(moved), key=key)
