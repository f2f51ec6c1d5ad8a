"""What is audited: every method and mode of the two catalogues and noise itself, on neighbors as far apart as can be.

A new method is found by being in a catalogue: it is audited with its defaults and with each choice of its knobs, on
records in the box's middle and one in a corner. Its `audit` plan holds what it needs beside that.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np

from dpviz.audit import Batch, Family
from dpviz.core import (
    Adjacency,
    AnyAlgorithm,
    Box,
    Choices,
    Claim,
    FloatArray,
    Guarantee,
    Points,
    Release,
    Result,
    knobs,
)
from dpviz.methods import ALGORITHMS, CATALOGUE, OUTSIDE
from dpviz.tools.audit.last_bits import NOISY_COUNT
from dpviz.tools.audit.pairs import (
    Pair,
    alternating_gaps,
    between_centers,
    corner_moved,
    corner_record,
    farthest_places,
    lattice_corner,
    own_pair,
    pairs_in,
)

# Everything that has a catalogue entry, and the noise itself.
AUDITED: Mapping[str, AnyAlgorithm] = MappingProxyType({**ALGORITHMS, NOISY_COUNT.name: NOISY_COUNT})
DELTA = 1e-3  # of modes that need one: large enough to be seen in many runs; ours
Fields = Choices

KEPT = 256  # usual pairs that are remembered; ours
BUDGETS = ("epsilon", "rho")  # how the names of budgets begin
SHOWN = ("mode", "calibration")  # knobs that a mode is told by, whatever their value


@dataclass(frozen=True, slots=True, eq=False)
class AuditCase:
    """One method in one mode on one pair of neighbors; everything in it was made up, nothing is a person's."""

    key: str  # unique, for links: "dpm:calibration=published"
    method: str  # name in a catalogue
    title: str
    mode: str  # in words
    choices: Fields  # fields of Params that differ from the method's own
    params: Any  # of every run: `params_of` this method, these choices and the pair's box
    given: Pair | None = None  # None: the usual one, which follows the claim
    scale: float = 1.0  # of all budgets, against those that the case is run with by itself

    @property
    def pair(self) -> Pair:
        """The two neighboring data sets. The usual ones take a run, to read the claim, when first asked for."""
        return _usual_pair(self.key) if self.given is None else self.given

    @property
    def pair_name(self) -> str:
        """Name of the pair, "" for the usual one."""
        return "" if self.given is None else self.given.name

    @property
    def family(self) -> Family:
        """The statistics that are tried."""
        return Family(box=self.pair.box)

    @property
    def guarantee(self) -> Guarantee:
        """The two claims of a run on `pair.points`."""
        return self.result(self.pair.points, np.random.default_rng(0)).guarantee

    @property
    def has_budget(self) -> bool:
        """Whether there is a budget to be scaled."""
        return bool(_budgets(self.params))

    @property
    def has_page(self) -> bool:
        """Whether the method has a page of its own."""
        return self.method in CATALOGUE

    def run(self, points: Points, rng: np.random.Generator) -> Release:
        """Run once and return what is published."""
        release: Release = self.result(points, rng).release
        return release

    def result(self, points: Points, rng: np.random.Generator) -> Result[Any, Any]:
        """Run once and return everything."""
        return _fitted(self.method, points, self.pair.box, self.params, rng)

    @property
    def runner(self) -> Callable[[Points, np.random.Generator], Release] | Batch:
        """The way to run many times: where each record is moved by itself, many runs are many records."""
        if AUDITED[self.method].audit.by_record and len(self.pair.points) == 1:
            return Batch(self._many_rows)
        return self.run

    def _many_rows(self, points: Points, n_runs: int, rng: np.random.Generator) -> FloatArray:
        released: FloatArray = self.result(np.tile(points, (n_runs, 1)), rng).release.points
        return released

    def epsilon_of(self, claim: Claim) -> float:
        """Return what a claim allows for this pair: epsilon per distance counts for the distance."""
        return claim.epsilon * self.pair.distance if claim.per_distance else claim.epsilon


def params_of(method: str, choices: Fields, box: Box) -> Any:
    """Return a method's parameters in a public box: short runs with a public start, and these choices.

    Raises ValueError for a combination that the method refuses.
    """
    made, plan = AUDITED[method].Params, AUDITED[method].audit
    names = {field.name for field in fields(made)}
    common = {name: value for name, value in {"n_clusters": 1, "start_seed": 0}.items() if name in names}
    given = {**common, **plan.given, **plan.placed(choices, box), **choices}
    has_delta = "delta" in names and given.get("noise", "gaussian") == "gaussian" and "delta" not in given
    return made(**given, **({"delta": DELTA} if has_delta else {}))


def scaled(case: AuditCase, scale: float) -> AuditCase:
    """Return the same case with `scale` times each of its budgets: the usual ones claim ε = 1 in all, or less.

    Raises ValueError for budgets that the method refuses.
    """
    return replace(case, params=_with_budgets(case.params, scale), scale=scale)


def _budgets(params: Any) -> dict[str, float]:
    named = {each.name: getattr(params, each.name) for each in fields(params) if each.name.startswith(BUDGETS)}
    return {name: value for name, value in named.items() if value is not None}


def _with_budgets(params: Any, scale: float) -> Any:
    return replace(params, **{name: scale * value for name, value in _budgets(params).items()})


def _fitted(method: str, points: Points, box: Box, params: Any, rng: np.random.Generator) -> Result[Any, Any]:
    result: Result[Any, Any] = AUDITED[method].fit(points, box, params, rng=rng)
    return result


@lru_cache(maxsize=1)
def cases() -> Mapping[str, AuditCase]:
    """Return everything that is audited, by key, in the catalogues' order."""
    return MappingProxyType({case.key: case for method in AUDITED for case in _cases(method)})


def judged(guarantee: Guarantee) -> Claim:
    """Return the claim that runs are held against: what is proved, where something is, else what is published."""
    return guarantee.proved or guarantee.stated


def own_case(case: AuditCase, points: Points, box: Box, record: int) -> AuditCase:
    """Return the same mode on somebody's records (n, d), with and without row `record`, or with it moved.

    A record that stays is moved to the corner of the box that is farthest from it.
    Raises ValueError for a row that there is not, and for a box that the method refuses.
    """
    params = _with_budgets(params_of(case.method, case.choices, box), case.scale)
    claim = judged(_fitted(case.method, points, box, params, np.random.default_rng(0)).guarantee)
    pair = own_pair(points, box, record, claim.adjacency, shares=case.choices.get("unit") == "range")
    if AUDITED[case.method].audit.by_record:
        words = f"Record {record} and the farthest corner of the box: other records are perturbed without it."
        pair = replace(pair, words=words, points=pair.points[[record]], neighbour=pair.neighbour[[record]])
    return replace(case, key=f"{case.key}:own={record}", given=pair, params=params)


def cases_in(case: AuditCase, box: Box) -> tuple[AuditCase, ...]:
    """Return a case on each pair of neighbors that is made up for it: several in `box` where its method came from
    outside, as nothing is known of it; the case as it is, else.

    Raises ValueError for a box that the method refuses.
    """
    if case.method not in OUTSIDE or case.pair_name:
        return (case,)
    params = _with_budgets(params_of(case.method, case.choices, box), case.scale)
    first = pairs_in(box, Adjacency.ADD_REMOVE)[0]
    claim = judged(_fitted(case.method, first.points, box, params, np.random.default_rng(0)).guarantee)
    pairs = pairs_in(box, claim.adjacency, alone=AUDITED[case.method].audit.by_record)
    return tuple(replace(case, given=pair, params=params) for pair in pairs)


def _cases(method: str) -> Iterator[AuditCase]:
    for choices in _modes(method):
        try:
            params = params_of(method, choices, corner_record().box)
        except ValueError:
            continue  # the method refuses this combination
        for pair in _pairs(method):
            told = ",".join(f"{name}={value}" for name, value in choices.items())
            key = ":".join(part for part in (method, told, "" if pair is None else pair.name) if part)
            title, mode = AUDITED[method].title, _words(method, choices, params)
            made = params if pair is None else params_of(method, choices, pair.box)
            yield AuditCase(key, method, title, mode, choices, made, pair)
    yield from _on_borders(method)


def _on_borders(method: str) -> Iterator[AuditCase]:
    """Yield proved modes on copies of one record that lies on a border of what it is decided between."""
    for choices in AUDITED[method].audit.borders:
        pair = between_centers() if choices.get("n_clusters") == 20 else lattice_corner()
        params = params_of(method, choices, pair.box)
        told = ",".join(f"{name}={value}" for name, value in choices.items() if isinstance(value, str))
        key = ":".join(part for part in (method, told, pair.name) if part)
        mode = _words(method, choices, params)
        yield AuditCase(key, method, AUDITED[method].title, mode, choices, params, pair)


def _modes(method: str) -> Iterator[Fields]:
    """Yield the defaults, then each other choice of each knob, then the combinations named above."""
    yield {}
    for knob in knobs(AUDITED[method].Params):
        if knob.kind == "choice" and knob.name not in AUDITED[method].audit.idle:
            yield from ({knob.name: value} for value, _ in knob.choices if value != knob.default)
    yield from AUDITED[method].audit.more


def _pairs(method: str) -> Iterator[Pair | None]:
    """Yield the neighbors for one mode: those that its claim is about; None for the usual ones."""
    if AUDITED[method].audit.by_record:
        yield farthest_places()
        return
    if AUDITED[method].audit.gaps:
        yield alternating_gaps()
    yield None


@lru_cache(maxsize=KEPT)
def _usual_pair(key: str) -> Pair:
    """Return the usual neighbors for the claim of a case. Only who is audited is run: some plans take a second."""
    case, usual = cases()[key], corner_record()
    claim = judged(_fitted(case.method, usual.points, usual.box, case.params, np.random.default_rng(0)).guarantee)
    return corner_moved() if claim.adjacency is Adjacency.REPLACE else usual


def _words(method: str, choices: Fields, params: Any) -> str:
    """Say the mode in the knobs' own words."""
    parts = []
    for knob in knobs(AUDITED[method].Params):
        if knob.kind == "choice" and (knob.name in choices or knob.name in SHOWN):
            parts.append(dict(knob.choices)[getattr(params, knob.name)])
    return ", ".join(parts) or "default"
