"""What EUGkM, GUPT and PrivGene know of the number of records, and what knowing it costs."""

from dataclasses import dataclass

import numpy as np

from dpviz.accounting import LaplaceEvent, Purpose
from dpviz.core import Adjacency
from dpviz.mechanisms import laplace

SIZE_SHARE = 0.02  # of epsilon, for a noisy number of records; ours
N_PUBLIC_CAVEAT = "The number of records was given as public: the guarantee holds only if it is."
N_KNOWN_CAVEAT = "Changing one record keeps the number of records, so it is public: the run uses it as it is."


@dataclass(frozen=True, slots=True)
class KnownSize:
    """A number of records that the public may know, and the budget that is left after learning it."""

    n_records: float  # public or noisy; a noisy one may be negative
    epsilon: float  # left for everything else
    events: tuple[LaplaceEvent, ...]


def known_size(
    n: int, epsilon: float, n_public: int | None, adjacency: Adjacency, *, rng: np.random.Generator
) -> KnownSize:
    """Return `n_public` or, under REPLACE, where neighbors have equally many records, `n` itself: both are free.

    Otherwise n + Laplace(1 / eps_n) with eps_n = SIZE_SHARE epsilon (one record moves n by one).
    """
    if n_public is not None:
        return KnownSize(float(n_public), epsilon, ())
    if adjacency is Adjacency.REPLACE:
        return KnownSize(float(n), epsilon, ())
    event = LaplaceEvent("number of records", 1.0, 1.0 / (SIZE_SHARE * epsilon), purpose=Purpose.SIZE)
    noisy = float(laplace(np.float64(n), scale=event.scale, rng=rng))
    return KnownSize(noisy, (1.0 - SIZE_SHARE) * epsilon, (event,))


def size_differs(n_public: int | None, adjacency: Adjacency) -> str:
    """Say, as part of a sentence, what a run does otherwise than a source that takes n as known; "" for nothing."""
    if n_public is not None or adjacency is Adjacency.REPLACE:
        return ""
    return f"{100.0 * SIZE_SHARE:g} % of ε counts the records"


def size_caveats(n_public: int | None, adjacency: Adjacency) -> tuple[str, ...]:
    """Return what has to be said about the number of records."""
    if n_public is not None:
        return (N_PUBLIC_CAVEAT,)
    return (N_KNOWN_CAVEAT,) if adjacency is Adjacency.REPLACE else ()
