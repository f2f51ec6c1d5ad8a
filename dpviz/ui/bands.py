"""Bands of the stage's strip of losses: losses of runs with other starts and noise at each value of the slider.

Bands are for the curator only, and come only from teaching runs on public sets. Uploaded records, drawn records,
secret noise and the public view have no bands, because each run would be one more release. The bands' runs are the same
at every value and for every noise seed of the page, so sessions share the bands. The bands of pages as they open are
shipped: `python -m tests.shipped_bands`.
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
from dpviz.core import immutable
from dpviz.plots.page import Band
from dpviz.tools.many_runs.runs import LossQuestion, loss_band
from dpviz.ui.asking import Job, Work, background
from dpviz.ui.controls import last_move
from dpviz.ui.data.picker import Source
from dpviz.ui.runs import Noise, RunRequest, scalars, words_of
from dpviz.ui.server import ahead
from dpviz.ui.server.ahead import Bands, Draw

# Value of the slider -> run. Raises ValueError.
Request: TypeAlias = Callable[[float], RunRequest]
# Page -> value of the slider -> band.
FILE = ASSETS / "bands.json"
_OWN, _TOLD = "dpviz:bands", "dpviz:bands-told"


@immutable
class LossBands:
    """The bands at the values of a page's slider; a page that would have to make further releases for them has none."""

    request: Request
    source: Source
    noise: Noise
    values: Sequence[float]
    public: bool

    @property
    def page(self) -> str | None:
        """Hash of data, method and knobs, without ε and the noise's seed; None if no value has a band."""
        if self.public or self.source.own or self.noise.secret:
            return None
        # The highest value is the knob's own. A link's value can lie between the knob's values.
        for value in reversed(self.values):
            with suppress(ValueError):
                asked = self.request(value)
                return _hashed(self.source.key, asked.algorithm.name, scalars(asked.params))
        return None

    def offered(self) -> Bands | None:
        """Return the source of the bands at all values, or None if there are no bands."""
        page = self.page
        if page is None:
            return None
        process = background()
        own: dict[Hashable, Work] = st.session_state.setdefault(_OWN, {})

        def ask(value: float) -> tuple[float, ...] | Work:
            if value in (there := shipped().get(page, {})):
                return there[value]
            question = self._question(page, value)
            if question is None:
                return ()
            answers = process.ask(self.source, [_job(question)], own)
            return answers.pending or answers.found[0] or ()

        return Bands(_hashed(page, self.values), ask)

    def ahead(self, draw: Draw, key: str) -> dict[str, Any]:
        """Offer to `draw` at the values of the slider of that key, with their bands; return the browser's options.

        The bands that are already known are sent only once.
        """
        first, known = self.offered(), None
        address = ahead.offer(self.values, draw, first)
        if first is not None and st.session_state.get(_TOLD) != first.key:
            st.session_state[_TOLD], known = first.key, self.known()
        bands = first.key if first else None
        return {"address": address, "slider": key, "move": last_move(key), "bands": bands, "known": known}

    def computed(self) -> list[Band | None]:
        """Compute the bands here and now, for a page without a server; None for values without a band.

        Every band covers all runs, however long they take, so that equal pages have equal bands.
        """
        data = self.source.dataset
        return self._each(lambda _, each: loss_band(data.points, data.box, data.labels, each, math.inf))

    def known(self) -> list[Band | None]:
        """Return the bands that are part of the package, or that any session requested; runs nothing."""
        process = background()
        return self._each(
            lambda value, each: shipped().get(each.page, {}).get(value) or process.recall(self.source, _job(each))
        )

    def _each(self, find: Callable[[float, LossQuestion], Any]) -> list[Band | None]:
        page = self.page
        questions = [None if page is None else self._question(page, value) for value in self.values]
        asked = zip(self.values, questions, strict=True)
        return [None if each is None else find(value, each) or None for value, each in asked]

    def _question(self, page: str, value: float) -> LossQuestion | None:
        """Return the question for the background process, or None if the value is impossible."""
        try:
            asked = self.request(value)
        except ValueError:
            return None
        return LossQuestion(page, scalars(asked.params), asked.algorithm.name, asked.params, words_of(self.source))


@cache
def shipped() -> Mapping[str, Mapping[float, Band]]:
    """Return the bands in the package, by page and value of the slider; only for public sets."""
    whole = json.loads(FILE.read_text(encoding="utf-8"))
    return {page: {float(value): tuple(band) for value, band in bands.items()} for page, bands in whole.items()}


def _job(question: LossQuestion) -> Job:
    return Job(loss_band, (question,), classified=True, usual=False)


def _hashed(*parts: object) -> str:
    return sha256(repr(parts).encode()).hexdigest()[:32]
