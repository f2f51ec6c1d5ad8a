"""Bands of the stage's strip of losses: what runs with other noise lose at each value of the privacy slider.

They are the curator's, and made of teaching runs on public sets alone. Uploaded and drawn records, secret noise and the
public have none: each run would be one more release. The noise is the same at every value and whatever the page's
noise seed is, so that sessions share them. Those of pages as they open are shipped: `python -m tests.shipped_bands`.
"""

import json
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from hashlib import sha256
from typing import Any, TypeAlias

import streamlit as st

from dpviz.assets import FOLDER as ASSETS
from dpviz.tools.many_runs.losses import LossQuestion, loss_band
from dpviz.ui.data.picker import Source
from dpviz.ui.runs import AnyRun, Noise, RunRequest, scalars, words_of
from dpviz.ui.server.ahead import Bands
from dpviz.ui.server.background import Job, background

Band: TypeAlias = tuple[float, float, float]  # what 10, 50 and 90 % of the runs lose no more than
Request: TypeAlias = Callable[[float], RunRequest[AnyRun]]  # value of the slider -> run; raises ValueError
FILE = ASSETS / "bands.json"  # page -> value of the slider -> band
_OWN, _TOLD = "dpviz:bands", "dpviz:bands-told"


def offered(request: Request, source: Source, noise: Noise, values: Sequence[float], *, public: bool) -> Bands | None:
    """Return what tells the band at any of `values` of the slider, None where it would take further releases."""
    page = None if _barred(source, noise, public=public) else page_of(request, source, values)
    if page is None:
        return None
    process = background()
    own: dict[Hashable, Any] = st.session_state.setdefault(_OWN, {})

    def ask(value: float) -> tuple[float, ...] | None:
        if value in (there := shipped().get(page, {})):
            return there[value]
        question = _question(request, page, source, value)
        if question is None:
            return ()
        answers = process.ask(source, [_job(question)], own)
        answer: tuple[float, ...] | None = answers.found[0]
        return () if answers.problem else answer

    return Bands(_hashed(page, values), ask)


def bands(
    request: Request, source: Source, noise: Noise, values: Sequence[float], *, public: bool
) -> list[Band | None]:
    """Compute the bands at `values` here and now, for a page without a server; None where there is none.

    Every band is of all runs, however long they take, so that equal pages have equal bands.
    """
    data = source.dataset

    def compute(_: float, question: LossQuestion) -> object:
        return loss_band(data.points, data.box, data.labels, question, math.inf)

    return _each(compute, request, source, noise, values, public=public)


def known(
    request: Request, source: Source, noise: Noise, values: Sequence[float], *, public: bool
) -> list[Band | None]:
    """Return the bands at `values` that are shipped, or were asked for by any session; runs nothing."""
    process = background()

    def find(value: float, question: LossQuestion) -> object:
        return shipped().get(question.page, {}).get(value) or process.recall(source, _job(question))

    return _each(find, request, source, noise, values, public=public)


def news(
    offer: Bands | None, request: Request, source: Source, noise: Noise, values: Sequence[float]
) -> list[Band | None] | None:
    """Return what is known of an offer that the browser does not have yet; None where it was told before."""
    if offer is None or st.session_state.get(_TOLD) == offer.key:
        return None
    st.session_state[_TOLD] = offer.key
    return known(request, source, noise, values, public=False)


@cache
def shipped() -> Mapping[str, Mapping[float, Band]]:
    """Return the bands that come along, by page and value of the slider; of public sets alone."""
    whole = json.loads(FILE.read_text(encoding="utf-8"))
    return {page: {float(value): tuple(band) for value, band in bands.items()} for page, bands in whole.items()}


def _each(
    find: Callable[[float, LossQuestion], object],
    request: Request,
    source: Source,
    noise: Noise,
    values: Sequence[float],
    *,
    public: bool,
) -> list[Band | None]:
    page = None if _barred(source, noise, public=public) else page_of(request, source, values)
    found: list[Band | None] = []
    for value in values:
        question = None if page is None else _question(request, page, source, value)
        band: Any = None if question is None else find(value, question)
        found.append(band or None)
    return found


def _job(question: LossQuestion) -> Job:
    return Job(loss_band, (question,), classified=True, usual=False)


def _barred(source: Source, noise: Noise, *, public: bool) -> bool:
    return public or source.own or noise.secret


def page_of(request: Request, source: Source, values: Sequence[float]) -> str | None:
    """Name data, method and knobs, but neither ε nor the noise's seed; None where no value is possible."""
    for value in reversed(values):  # the highest is the knob's own: a link's value stands between
        with suppress(ValueError):
            asked = request(value)
            return _hashed(source.key, asked.algorithm.name, scalars(asked.params))
    return None


def _question(request: Request, page: str, source: Source, value: float) -> LossQuestion | None:
    """Return the question for the background process, None where the value is impossible."""
    try:
        asked = request(value)
    except ValueError:
        return None
    return LossQuestion(page, scalars(asked.params), asked.algorithm.name, asked.params, words_of(source))


def _hashed(*parts: object) -> str:
    return sha256(repr(parts).encode()).hexdigest()[:32]
