"""Methods as scikit-learn estimators: one class for each method and baseline, also for those of other packages.

`ESTIMATORS` has them by the name of the method. `bounds` are required, and public; noise is secret unless
`random_state` is given; releases within `dpviz.budget()` are added up.
"""

from collections.abc import Mapping
from difflib import get_close_matches
from types import MappingProxyType

from dpviz.accounting.budgets import BudgetError
from dpviz.estimators.base import PrivacyLeakWarning, PrivateClusterer, PrivateEstimator, PrivateTransformer, make
from dpviz.methods import ALGORITHMS

ESTIMATORS: Mapping[str, type[PrivateEstimator]] = MappingProxyType(
    {name: make(algorithm) for name, algorithm in ALGORITHMS.items()}
)
globals().update({each.__name__: each for each in ESTIMATORS.values()})

__all__ = [
    "ESTIMATORS",
    "BudgetError",
    "PrivacyLeakWarning",
    "PrivateClusterer",
    "PrivateEstimator",
    "PrivateTransformer",
    *(each.__name__ for each in ESTIMATORS.values()),
]


def __getattr__(name: str) -> object:
    """Raise AttributeError with the most similar name."""
    near = get_close_matches(name, __all__, 1, 0.4)
    guess = f" Perhaps {near[0]}?" if near else ""
    raise AttributeError(f"dpviz.estimators has no {name!r}.{guess} ESTIMATORS has all by their methods' names.")
