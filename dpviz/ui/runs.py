"""Runs, remembered by what they depend on: data, parameters, seeds. Nothing uploaded or secret is shared."""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np
import streamlit as st

from dpviz.core import (
    Algorithm,
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
from dpviz.mechanisms import FROM_DATA, SecretGenerator, public_rng
from dpviz.stories import Words
from dpviz.stories.story import AnyStory, RunContext, Story
from dpviz.ui.data.picker import Source

MOST_RUNS = 256  # remembered over all sessions
MOST_CONTEXTS = 64
MOST_PRIVATE_RUNS = 32  # remembered within one session, for uploaded records
SECRET_BITS = 128
_SECRET = "dpviz:secret-run"
_SECRET_SEED = "dpviz:secret-seed"
_RELEASES = "dpviz:releases"

TEACHING = (
    "Teaching run: its noise is drawn the quick way, in floating point, and can be reproduced from the seed, so it "
    "protects nobody. Use secret noise to release."
)
SECRET = "Noise came from the operating system and is not stored: this picture cannot be made again."


P = TypeVar("P")
C = TypeVar("C", bound=RunContext)


@dataclass(frozen=True, slots=True)
class Noise:
    """Where a run's noise comes from: a seed that everybody may know, or the operating system; this says which.

    Whoever needs a seed beside the picture's asks `seed_for`; nothing else makes or recognizes one.
    """

    seed: int | None  # None: secret

    @property
    def secret(self) -> bool:
        """Whether nobody shall be able to make the noise again."""
        return self.seed is None

    def of(self, source: Source) -> Noise:
        """Return where noise on these records comes from: that on uploaded ones is secret, whatever was chosen.

        A seed would let anybody subtract the noise, and a shared cache keep the run.
        """
        return Noise(None) if source.uploaded else self

    def seed_for(self, source: Source) -> Seed:
        """Return the seed of runs beside the picture's: the picture's own, or a secret one of this session.

        A secret seed is for these records; other records and `renew_secret` give another one. It is never shown,
        written or remembered beyond the session.
        """
        seed = self.of(source).seed
        if seed is not None:
            return Seed(seed, secret=False)
        kept: tuple[Hashable, int] | None = st.session_state.get(_SECRET_SEED)
        if kept is None or kept[0] != source.people:
            kept = (source.people, secrets.randbits(SECRET_BITS))
            st.session_state[_SECRET_SEED] = kept
        return Seed(kept[1], secret=True)


@dataclass(frozen=True, slots=True)
class Seed:
    """A seed, and whether it is secret; a secret one does not show itself."""

    value: int = field(repr=False)
    secret: bool


@dataclass(frozen=True, slots=True, eq=False)
class Run(Generic[C]):
    """One run ready to be told, and how many releases this session has made of the same records."""

    told: C
    n_releases: int


@dataclass(frozen=True, slots=True)
class _Latest:
    """A secret run on screen, so that looking at it again is not releasing again."""

    key: tuple[Hashable, ...]
    result: Result[Release, Step]
    n_releases: int


@dataclass(frozen=True, slots=True, eq=False)
class _Job:
    """Work whose answer `key` alone decides: caches hash the key and nothing else."""

    key: tuple[Hashable, ...]
    algorithm: AnyAlgorithm
    story: AnyStory
    source: Source
    params: Any
    result: Result[Release, Step] | None = None  # what the reference is for
    seed: int | None = None  # of the run's noise, part of `key`; None for secret noise

    @property
    def words(self) -> Words:
        """What the public knows of the data."""
        return words_of(self.source)

    def run(self, rng: np.random.Generator) -> Result[Release, Step]:
        """Run the algorithm with noise from `rng`."""
        dataset = self.source.dataset
        return self.algorithm.fit(dataset.points, dataset.box, self.params, rng=rng)

    def seeded(self) -> Result[Release, Step]:
        """Run the algorithm with the noise of the seed."""
        assert self.seed is not None  # secret noise has a generator of its own
        return self.run(public_rng(self.seed))

    def reference(self) -> Any:
        """Run the story's non-private reference from the start of `result`."""
        assert self.result is not None  # a job for a reference has one
        return self.story.reference(self.source.dataset.points, self.words, self.result, self.params)


@dataclass(frozen=True, slots=True, eq=False)
class _Trail:
    """The same job with one parameter after the other."""

    key: tuple[Hashable, ...]
    jobs: tuple[_Job, ...]

    def centers(self) -> FloatArray:
        """Run what was not run before and return the centers (E, k, d), box units."""
        fit, box = _private_fit if self.jobs[0].source.own else _fit, self.jobs[0].source.dataset.box
        releases = [fit(job).release for job in self.jobs]
        return frozen(np.stack([box.to_unit(each.centers) for each in releases if isinstance(each, CentersRelease)]))


@dataclass(frozen=True, slots=True, eq=False)
class _ContextJob:
    """A story of a run; the picture that comes ahead of the page and the page itself tell the same one."""

    key: tuple[Hashable, ...]
    job: _Job
    result: Result[Release, Step]
    reference: Any

    def context(self) -> Any:
        job = self.job
        return job.story.context(self.result, job.params, job.source.dataset.points, job.words, self.reference)


def words_of(source: Source) -> Words:
    """Return what the public knows of the data."""
    return Words.of(source.dataset)


def notices(guarantee: Guarantee) -> tuple[str, ...]:
    """Return the caveats that are about this very run, not about its method: where bounds and noise came from."""
    return tuple(each for each in guarantee.caveats if each in (FROM_DATA, SECRET, TEACHING))


def tell(
    algorithm: Algorithm[P, Any, Any],
    story: Story[P, Any, Any, Any, C],
    source: Source,
    params: P,
    noise: Noise,
    *,
    place: int = 0,
) -> Run[C]:
    """Run the algorithm, or recall the same run, and prepare its story; `place` tells pictures on one page apart."""
    noise = noise.of(source)
    run_key = (source.key, algorithm.name, scalars(params), noise.seed)
    job = _Job(run_key, algorithm, story, source, params, seed=noise.seed)
    n_releases = 0
    if noise.secret:
        latest = _secret(job, place)
        result, n_releases = latest.result, latest.n_releases
    else:
        result = _private_fit(job) if source.own else _fit(job)
    # Lloyd's run depends on the data and the start only, so that it is not made again when epsilon moves.
    start = _Job((source.key, story.name, *story.reference_key(params)), algorithm, story, source, params, result)
    lloyd_run = _private_reference(start) if source.own else _reference(start)
    shared = not noise.secret and not source.own
    told = dataclasses.replace(result, guarantee=honest(result.guarantee, source, noise))
    context_job = _ContextJob((story.name, *run_key), job, told, lloyd_run)
    return Run(_context(context_job) if shared else context_job.context(), n_releases)


def centers_over(
    algorithm: AnyAlgorithm, story: AnyStory, source: Source, params: Sequence[Any], noise: Noise
) -> FloatArray:
    """Return the centers (E, k, d), box units, that each of E parameters releases with the same noise from a seed."""
    noise = noise.of(source)
    if noise.secret:
        raise ValueError("The same noise again needs a noise seed, but secret noise has none.")
    jobs = tuple(
        _Job((source.key, algorithm.name, scalars(each), noise.seed), algorithm, story, source, each, seed=noise.seed)
        for each in params
    )
    trail = _Trail(tuple(job.key for job in jobs), jobs)
    return (_private_centers if source.own else _centers)(trail)


def scalars(params: Any) -> tuple[Hashable, ...]:
    """Return the parameters as a small frozen key: what is no scalar by its fingerprint."""
    return tuple(_scalar(getattr(params, field.name)) for field in dataclasses.fields(params))


def _scalar(value: Any) -> Hashable:
    if isinstance(value, np.ndarray):
        return fingerprint(value)
    return (fingerprint(value.center), value.radius) if isinstance(value, Ball) else value


def honest(guarantee: Guarantee, source: Source, noise: Noise) -> Guarantee:
    """Add to a guarantee what the algorithm cannot know: where bounds and noise came from."""
    caveats = (SECRET if noise.secret else TEACHING, *guarantee.caveats, *source.dataset.caveats)
    if source.dataset.bounds_from_data:
        guarantee = dataclasses.replace(guarantee, proved=None)
        caveats = (FROM_DATA, *caveats)
    return dataclasses.replace(guarantee, caveats=caveats)


def _secret(job: _Job, place: int) -> _Latest:
    """Draw fresh noise from the operating system whenever anything changed: each picture is one more release."""
    shown: dict[int, _Latest] = st.session_state.setdefault(_SECRET, {})
    latest = shown.get(place)
    if latest is not None and latest.key == job.key:
        return latest
    result = job.run(SecretGenerator())
    shown[place] = _Latest(job.key, result, count_release(job.source))
    return shown[place]


def count_release(source: Source) -> int:
    """Count one more release of these records, and return how many the session has made of them."""
    released: dict[tuple[Hashable, ...], int] = st.session_state.setdefault(_RELEASES, {})
    released[source.people] = released.get(source.people, 0) + 1
    return released[source.people]


def renew_secret() -> None:
    """Forget the secret runs on screen and the session's secret seed, so that the next ones have new noise."""
    st.session_state.pop(_SECRET_SEED, None)
    st.session_state.pop(_SECRET, None)


def _key(job: _Job | _ContextJob | _Trail) -> str:
    return repr(job.key)  # one text: the cache takes a tuple apart, which costs more than a look-up should


@st.cache_resource(max_entries=MOST_CONTEXTS, show_spinner=False, hash_funcs={_ContextJob: _key})
def _context(context_job: _ContextJob) -> Any:
    return context_job.context()


@st.cache_resource(max_entries=MOST_RUNS, show_spinner=False, hash_funcs={_Job: _key})
def _fit(job: _Job) -> Result[Release, Step]:
    return job.seeded()


@st.cache_resource(max_entries=MOST_PRIVATE_RUNS, show_spinner=False, scope="session", hash_funcs={_Job: _key})
def _private_fit(job: _Job) -> Result[Release, Step]:
    return job.seeded()


@st.cache_resource(max_entries=MOST_RUNS, show_spinner=False, hash_funcs={_Job: _key})
def _reference(job: _Job) -> Any:
    return job.reference()


@st.cache_resource(max_entries=MOST_PRIVATE_RUNS, show_spinner=False, scope="session", hash_funcs={_Job: _key})
def _private_reference(job: _Job) -> Any:
    return job.reference()


@st.cache_resource(max_entries=MOST_CONTEXTS, show_spinner=False, hash_funcs={_Trail: _key})
def _centers(trail: _Trail) -> FloatArray:
    return trail.centers()


@st.cache_resource(max_entries=MOST_PRIVATE_RUNS, show_spinner=False, scope="session", hash_funcs={_Trail: _key})
def _private_centers(trail: _Trail) -> FloatArray:
    return trail.centers()
