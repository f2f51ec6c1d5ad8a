"""Reproductions of Schnapp & Sabato's experiments in section 6 and appendix C, as far as their data are available."""

from functools import cache, partial
from itertools import permutations
from pathlib import Path

import numpy as np

from benchmarks.papers.kept_runs import made
from benchmarks.papers.source_target.cost_tables import (
    NO_CORESET,
    REAL,
    SIZES,
    cost_table,
    orderings_table,
    times_table,
)
from benchmarks.papers.source_target.pair_runs import (
    METHODS,
    PairOutcome,
    PairSetting,
    PairSpec,
    runs,
    settings_of,
    timed,
)
from benchmarks.papers.source_target.sets import OFFICE, QUARTILES, mnist, office, superconductivity
from dpviz.data import target_pairs as pairs
from dpviz.methods.source_target.algorithm import PAPER
from dpviz.tables import ResultTable

SOURCE = f"{PAPER}, section 6 and appendix C"
# Section 6.
RUNS = 30
# Our choice: the paper's pictures are lost.
KS = (2, 10, 20)
REAL_KS = (10,)
ORDER_K = 10
# Appendix C.1.
TS = (75, 150, 300)
DIGITS = ((1, 7), (7, 1), (6, 9), (9, 6), (2, 5), (5, 2))


def _synthetic(number: int, folder: Path, rng: np.random.Generator) -> pairs.SourceTarget:  # noqa: ARG001 (no file)
    return pairs.synthetic(number, rng=rng)


SYNTHETIC = tuple(PairSpec(f"Synthetic {number}", partial(_synthetic, number)) for number in (1, 2, 3))
REAL_PAIRS = (
    *(
        PairSpec(f"MNIST {one} → {other}", partial(mnist, source_digit=one, target_digit=other))
        for one, other in DIGITS
    ),
    *(PairSpec(f"Office {a} → {b}", partial(office, source=a, target=b)) for a, b in permutations(OFFICE, 2)),
    *(
        PairSpec(f"Superconductivity {a} → {b}", partial(superconductivity, source=a, target=b))
        for a, b in permutations(QUARTILES, 2)
    ),
)
# Appendix C.1 has 6 → 9, amazon → webcam, h → mh.
BY_T = (*SYNTHETIC, REAL_PAIRS[2], REAL_PAIRS[6], REAL_PAIRS[-1])
# Figure 187.
TIMED = (*BY_T, next(pair for pair in REAL_PAIRS if pair.name == "Office dslr → webcam"))


def tables(folder: Path, n_runs: int, seed: int, jobs: int, only: str | None = None) -> tuple[ResultTable, ...]:
    """Return all tables, or `only` one, from `n_runs` draws of each pair.

    Raises ValueError for data sets that are missing from `folder`, and for an unknown table.
    """
    for pair in REAL_PAIRS:
        # Finds a missing file before minutes are spent.
        pair.draw(folder, rng=np.random.default_rng(0))
    both, one, by_t = settings_of(METHODS, ablation=True), settings_of(METHODS), settings_of(["nas"], ts=TS)

    def found(chosen: tuple[PairSpec, ...], settings: list[PairSetting], ks: tuple[int, ...]) -> list[PairOutcome]:
        return [run for pair in chosen for run in runs(pair, folder, settings, ks, seed, n_runs, jobs=jobs)]

    @cache
    def synthetic() -> list[PairOutcome]:
        return found(SYNTHETIC, both, KS)

    @cache
    def real() -> list[PairOutcome]:
        return found(REAL_PAIRS, both, REAL_KS)

    def times() -> ResultTable:
        return times_table([time for pair in TIMED for time in timed(pair, folder, one, ORDER_K, seed)], SIZES, REAL)

    def by_neighbors() -> ResultTable:
        ran = found(BY_T, by_t, (ORDER_K,))
        return cost_table("neighbours", "NAS by the number of neighbors", ran, SIZES, REAL)

    makers = {
        "orderings": lambda: orderings_table(synthetic(), real(), ORDER_K),
        "synthetic": lambda: cost_table("synthetic", "Synthetic sets: cost by k", synthetic(), SIZES, NO_CORESET),
        "real": lambda: cost_table("real", "Real pairs: cost by k", real(), REAL),
        "neighbours": by_neighbors,
        "times": times,
    }
    return made(makers, only)
