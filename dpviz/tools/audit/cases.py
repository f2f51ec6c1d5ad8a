"""Audit cases: every method and mode of the two catalogs and noise itself, on neighbors as far apart as possible.

A new method is audited because it is in a catalog: with its defaults and with each choice of its parameters, on
records in the middle of the box and one in a corner. Its `audit` plan contains any further needs. A broken promise
shows most on these neighboring data sets. Their records are synthetic.
"""

from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any, cast

import numpy as np

from dpviz.audit import Batch, Family
from dpviz.core import (
    Adjacency,
    AnyAlgorithm,
    Box,
    Choices,
    Claim,
    Confidential,
    FloatArray,
    Guarantee,
    Points,
    Release,
    Result,
    frozen,
    immutable,
    knobs,
)
from dpviz.methods import ALGORITHMS, OUTSIDE
from dpviz.tools.audit.last_bits import NOISY_COUNT

# Everything that has a catalog entry, and the noise itself.
AUDITED: Mapping[str, AnyAlgorithm] = ChainMap({NOISY_COUNT.name: NOISY_COUNT}, cast(Any, ALGORITHMS))
# Delta for modes that need one. It is large enough to show in many runs. Our choice.
DELTA = 1e-3
# Number of usual pairs in the cache. Our choice.
CACHED_PAIRS = 256
# Prefixes of the names of budgets.
BUDGETS = ("epsilon", "rho")
# Parameters that the description of a mode always names, whatever their value.
MODE_KNOBS = ("mode", "calibration")
# Number of records in the middle of the box, so that only the record in the corner moves a sum. Our choice.
RECORDS = 20
# Number of records in the counterexample to Liebenow et al., lemma 1.
GAPS = 4001
# Half of a large gap in that counterexample, in data units.
GAP = 0.00994
# Width of that counterexample's box, in data units.
WIDTH = 40.2
# A place between two of the 20 packed centers of seed 0: two ways of adding up a score assign it to different sides.
BETWEEN = (0.5492964540159488, 0.7296474498157)
# Number of copies of the record at BETWEEN. Until 0.1.0, one copy fewer reversed the assignment.
CROWD = 16_000
UNIT = Box.cube(0.0, 1.0, 2)
# Corner of halved cubes, cells and bins. It is also halfway between the audit's two targets.
LATTICE_CORNER = (0.75, 0.25)


@immutable
class Pair(Confidential):
    """Two neighboring data sets and the public box."""

    # Name of the pair; "" for the usual pair.
    name: str
    # One plain sentence about the pair.
    words: str
    points: Points  # (n, d)
    neighbor: Points  # (n', d)
    box: Box
    adjacency: Adjacency
    # Distance between the two places of a record that moves; 0 if a record is added or removed.
    distance: float = 0.0


def corner(d: int) -> FloatArray:
    """Return the unit box's corner (d,) that is high along every second axis, off the ray through the middle."""
    return np.asarray(np.arange(d) % 2 == 0, dtype=np.float64)


def alternating_gaps() -> Pair:
    """Return the counterexample to Liebenow et al., lemma 1.

    Gaps are small along one axis where they are large along the other axis. Without the first record, they meet.
    """
    large = (2 + np.random.default_rng(0).uniform(-0.2, 0.2, (GAPS - 1, 2))) * GAP
    even = (np.arange(GAPS - 1) % 2 == 0)[:, None] == np.array([True, False])
    columns = np.concatenate([np.zeros((1, 2)), np.cumsum(np.where(even, 0.02 * GAP, large), axis=0)])
    points = np.column_stack([columns[:, 0], columns[::-1, 1]])
    words = (
        "Gaps that are small along one axis where they are large along the other, with and without the first record."
    )
    return _pair("gaps", words, points, points[1:], Box.cube(0.0, WIDTH, 2))


def copies(place: tuple[float, float], n: int, where: str) -> Pair:
    """Return `n` copies of one record at `place`, a border between two clusters, cells or sides, and one copy fewer."""
    points = np.tile(np.array(place), (n, 1))
    words = f"Records on borders: {n:,} copies of one record {where}, with and without one of them."
    return _pair("borders", words, points, points[:-1])


def pairs_in(box: Box, adjacency: Adjacency, *, alone: bool = False) -> tuple[Pair, ...]:
    """Return neighbors in a public box for an unknown method: they differ in a record far away from the other records.

    The record is in a corner or moves to the opposite corner: off the ray through the middle, as far from the data's
    zero as the box goes, and away from the other records. This reveals noise that ignores the width of the box, its
    distance from 0, or the distance between records. `alone` leaves the other records out.
    """
    middle = np.tile((box.low + box.high) / 2.0, (RECORDS, 1))
    slanting = np.where(corner(box.d) > 0, box.high, box.low)
    far = np.where(np.abs(box.high) >= np.abs(box.low), box.high, box.low)
    near = np.where(far == box.low, box.high, box.low)
    ends = np.where((np.arange(RECORDS) % 2 == 0)[:, None], far, near)
    places = (
        ("Records in the box's middle", middle, slanting, "a corner", "the opposite one"),
        ("Records in the box's middle", middle, far, "the corner farthest from 0", "the opposite one"),
        ("Records in one corner of the box", np.tile(near, (RECORDS, 1)), far, "the opposite one", "theirs"),
        ("Records in two opposite corners of the box", ends, far, "one of them", "the other"),
    )
    pairs = []
    for where, others, place, there, across in places[:1] if alone else places:
        opposite = np.where(place == box.low, box.high, box.low)
        records = np.vstack([others[:0] if alone else others, place])
        if adjacency is Adjacency.ADD_REMOVE:
            words, neighbor = f"{where}, with and without one in {there}.", records[:-1]
        else:
            words = f"{where}, and one that moves from {there} to {across}."
            if alone:
                words = f"One record that moves from {there} of the box to {across}."
            neighbor = np.vstack([records[:-1], opposite])
        pairs.append(_pair("", words, records, neighbor, box))
    return tuple(pairs)


def own_pair(points: Points, box: Box, record: int, adjacency: Adjacency, *, shares: bool = False) -> Pair:
    """Return records (n, d), clipped into the box, with and without row `record`, or with it in the farthest corner.

    `shares` measures how far it moves in widths of the box. Raises ValueError for a row that does not exist.
    """
    if not 0 <= record < len(points):
        raise ValueError(f"record must be a row from 0 to {len(points) - 1}, got {record}")
    clipped = box.clip(points)
    if adjacency is Adjacency.ADD_REMOVE:
        rest = np.delete(clipped, record, axis=0)
        return Pair("own", f"Your records, with and without record {record}.", clipped, rest, box, adjacency)
    other = clipped.copy()
    other[record] = np.where(clipped[record] > (box.low + box.high) / 2.0, box.low, box.high)
    step = other[record] - clipped[record]
    distance = float(np.linalg.norm(step / box.widths if shares else step))
    words = f"Your records, and the same with record {record} moved to the farthest corner of the box."
    return Pair("own", words, clipped, other, box, adjacency, distance)


def _pair(name: str, words: str, points: Points, neighbor: Points, box: Box = UNIT) -> Pair:
    """Return two data sets. The second one has a different last record, or one record less."""
    moves = len(points) == len(neighbor)
    distance = float(np.linalg.norm(points[-1] - neighbor[-1])) if moves else 0.0
    adjacency = Adjacency.REPLACE if moves else Adjacency.ADD_REMOVE
    return Pair(name, words, frozen(points), frozen(neighbor.copy()), box, adjacency, distance)


@immutable
class AuditCase:
    """One method in one mode on one pair of neighbors. All of it is synthetic and describes no real person."""

    # Unique key, for links: "dpm:calibration=published".
    key: str
    # Name of the method in a catalog.
    method: str
    title: str
    # Mode, in words.
    mode: str
    # Fields of Params that differ from the method's defaults.
    choices: Choices
    # Parameters of every run: `params_of` this method, these choices and the pair's box.
    params: Any
    # Pair of this case; None for the usual pair, which follows from the claim.
    own_pair: Pair | None = None
    # Factor on all budgets, relative to the budgets of the unscaled case.
    scale: float = 1.0

    @property
    def pair(self) -> Pair:
        """The two neighboring data sets. The usual limits need a run, to read the claim, on first use."""
        return _usual_pair(self.key) if self.own_pair is None else self.own_pair

    @property
    def pair_name(self) -> str:
        """Name of the pair, "" for the usual one."""
        return "" if self.own_pair is None else self.own_pair.name

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
        """True if the case has a budget that can be scaled."""
        return bool(_budgets(self.params))

    def run(self, points: Points, rng: np.random.Generator) -> Release:
        """Run once, and return the release."""
        release: Release = self.result(points, rng).release
        return release

    def result(self, points: Points, rng: np.random.Generator) -> Result[Any, Any]:
        """Run once and return everything."""
        return AUDITED[self.method].fit(points, self.pair.box, self.params, rng=rng)

    @property
    def runner(self) -> Callable[[Points, np.random.Generator], Release] | Batch:
        """The function that makes many runs: if a method moves each record by itself, many runs are many records."""
        if AUDITED[self.method].audit.by_record and len(self.pair.points) == 1:
            return Batch(lambda points, n_runs, rng: self.result(np.tile(points, (n_runs, 1)), rng).release.points)
        return self.run

    def epsilon_of(self, claim: Claim) -> float:
        """Return a claim's epsilon for this pair. An epsilon per distance is multiplied by the pair's distance."""
        return claim.epsilon * self.pair.distance if claim.per_distance else claim.epsilon


def params_of(method: str, choices: Choices, box: Box) -> Any:
    """Return a method's parameters in a public box: short runs with a public start, and these choices.

    Raises ValueError for a combination that the method refuses.
    """
    algorithm, plan = AUDITED[method], AUDITED[method].audit
    common = {name: value for name, value in {"n_clusters": 1, "start_seed": 0}.items() if name in algorithm.parameters}
    values = {**common, **plan.settings, **plan.placed(choices, box), **choices}
    if "delta" in algorithm.parameters and values.get("noise", "gaussian") == "gaussian":
        values.setdefault("delta", DELTA)
    return algorithm.make_params(values)


def scaled(case: AuditCase, scale: float) -> AuditCase:
    """Return the same case with `scale` times each of its budgets: the usual ones claim ε = 1 in all, or less.

    Raises ValueError for budgets that the method refuses.
    """
    return replace(case, params=_with_budgets(case.params, scale), scale=scale)


def _budgets(params: Any) -> dict[str, float]:
    budgets = {each.name: getattr(params, each.name) for each in fields(params) if each.name.startswith(BUDGETS)}
    return {name: value for name, value in budgets.items() if value is not None}


def _with_budgets(params: Any, scale: float) -> Any:
    return replace(params, **{name: scale * value for name, value in _budgets(params).items()})


def _claim_on(method: str, points: Points, box: Box, params: object) -> Claim:
    """Return the claim of one run that its runs are held against."""
    return judged(AUDITED[method].fit(points, box, params, rng=np.random.default_rng(0)).guarantee)


@lru_cache(maxsize=1)
def cases() -> Mapping[str, AuditCase]:
    """Return everything that is audited, by key, in the catalogs' order."""
    return MappingProxyType({case.key: case for method in AUDITED for case in _cases(method)})


def calibrations(method: str) -> tuple[AuditCase, ...]:
    """Return a method's published and proved versions, in this order, on the same neighbors; () unless it has both."""
    usual, *others = (case for case in cases().values() if case.method == method)
    for case in others:
        if case.choices and set(case.choices) <= set(MODE_KNOBS) and case.pair_name == usual.pair_name:
            return (usual, case) if "published" in usual.mode else (case, usual)
    return ()


def judged(guarantee: Guarantee) -> Claim:
    """Return the claim that runs are compared with: the proved claim, or the published claim if nothing is proved."""
    return guarantee.proved or guarantee.stated


def own_case(case: AuditCase, points: Points, box: Box, record: int) -> AuditCase:
    """Return the same mode on a person's own records (n, d), with and without row `record`, or with it moved.

    A record that stays is moved to the corner of the box that is farthest from it.
    Raises ValueError for a row that does not exist, and for a box that the method refuses.
    """
    params = _with_budgets(params_of(case.method, case.choices, box), case.scale)
    adjacency = _claim_on(case.method, points, box, params).adjacency
    pair = own_pair(points, box, record, adjacency, shares=case.choices.get("unit") == "range")
    if AUDITED[case.method].audit.by_record:
        words = f"Record {record} and the farthest corner of the box: other records are perturbed without it."
        pair = replace(pair, words=words, points=pair.points[[record]], neighbor=pair.neighbor[[record]])
    return replace(case, key=f"{case.key}:own={record}", own_pair=pair, params=params)


def cases_in(case: AuditCase, box: Box) -> tuple[AuditCase, ...]:
    """Return a case on each synthetic pair of neighbors: several in `box` for an outside method, else the case itself.

    Nothing is known about an outside method. Raises ValueError for a box that the method refuses.
    """
    if case.method not in OUTSIDE or case.pair_name:
        return (case,)
    params = _with_budgets(params_of(case.method, case.choices, box), case.scale)
    adjacency = _claim_on(case.method, pairs_in(box, Adjacency.ADD_REMOVE)[0].points, box, params).adjacency
    pairs = pairs_in(box, adjacency, alone=AUDITED[case.method].audit.by_record)
    return tuple(replace(case, own_pair=pair, params=params) for pair in pairs)


def _cases(method: str) -> Iterator[AuditCase]:
    """Yield the defaults, then each other choice of each knob, then the combinations of the method's plan.

    Each case is on the neighbors that its claim is about. The last cases are proved modes on copies of one record on a
    border between two clusters, cells or sides.
    """
    algorithm, plan = AUDITED[method], AUDITED[method].audit
    modes: list[Choices] = [{}]
    for knob in knobs(algorithm.Params):
        if knob.kind == "choice" and knob.name not in plan.idle:
            modes += ({knob.name: value} for value, _ in knob.choices if value != knob.default)
    pairs: tuple[Pair | None, ...] = (alternating_gaps(), None) if plan.gaps else (None,)
    if plan.by_record:
        pairs = pairs_in(UNIT, Adjacency.REPLACE, alone=True)
    for choices in (*modes, *plan.more):
        try:
            params = params_of(method, choices, UNIT)
        except ValueError:
            # The method refuses this combination.
            continue
        for pair in pairs:
            key = ",".join(f"{name}={value}" for name, value in choices.items())
            yield _case(method, key, choices, params if pair is None else params_of(method, choices, pair.box), pair)
    for choices in plan.borders:
        if choices.get("n_clusters") == 20:
            pair = copies(BETWEEN, CROWD, "between two public centers")
        else:
            pair = copies(LATTICE_CORNER, RECORDS, "in a corner of grids' cells")
        key = ",".join(f"{name}={value}" for name, value in choices.items() if isinstance(value, str))
        yield _case(method, key, choices, params_of(method, choices, pair.box), pair)


def _case(method: str, mode_key: str, choices: Choices, params: Any, pair: Pair | None) -> AuditCase:
    """Return a case whose mode is in the knobs' own words."""
    key = ":".join(part for part in (method, mode_key, "" if pair is None else pair.name) if part)
    words = [
        dict(knob.choices)[getattr(params, knob.name)]
        for knob in knobs(AUDITED[method].Params)
        if knob.kind == "choice" and (knob.name in choices or knob.name in MODE_KNOBS)
    ]
    return AuditCase(key, method, AUDITED[method].title, ", ".join(words) or "default", choices, params, pair)


@lru_cache(maxsize=CACHED_PAIRS)
def _usual_pair(key: str) -> Pair:
    """Return the usual neighbors for the claim of a case. Only cases that are audited are run: some take a second."""
    case, usual = cases()[key], pairs_in(UNIT, Adjacency.ADD_REMOVE)[0]
    return pairs_in(UNIT, _claim_on(case.method, usual.points, usual.box, case.params).adjacency)[0]
