"""The start of every run: its arguments are checked, in words that name the way out, and open budgets are charged."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from dpviz.core.box import Box

_CHARGES: list[Callable[[Callable[..., Any], Box, Any], None]] = []  # called with a run's fit, box and parameters
_CHARGED: ContextVar[bool] = ContextVar("charged", default=False)  # whether the runs of this thread are charged already


def check_arguments(
    box: Box, params: object, kind: type, rng: np.random.Generator, fit: Callable[..., Any] | None = None
) -> None:
    """Raise TypeError unless a run is given a `Box`, parameters of its own `kind`, and a Generator.

    Types say so, too, but a call from a notebook is seldom type-checked, and a `None` would be found deep inside.
    `fit` is the function that is called: its run is charged to the open budgets. Raises what `charge_run` does.
    """
    if not isinstance(box, Box):
        raise TypeError(
            f"box was {_given(box)}, but it must be a Box of public bounds, such as Box(low=(0, 0), high=(1, 1)). "
            "Choose bounds that are known without the records: taken from them, they give the outermost away."
        )
    if not isinstance(params, kind):
        raise TypeError(
            f"params was {_given(params)}, but it must be the {kind.__name__} of {kind.__module__}. "
            f"Without changes: {kind.__name__}()."
        )
    if not isinstance(rng, np.random.Generator):
        seed = rng if isinstance(rng, int) else "seed"
        raise TypeError(
            f"rng was {_given(rng)}, but it must be a numpy.random.Generator. "
            f"Pass rng=np.random.default_rng({seed}); whoever knows the seed can take the noise away."
        )
    if fit is not None:
        charge_run(fit, box, params)


def charge_with(charge: Callable[[Callable[..., Any], Box, Any], None]) -> None:
    """Have `charge` called before every run, with its fit, box and parameters; what it raises stops the run."""
    _CHARGES.append(charge)


def charge_run(fit: Callable[..., Any], box: Box, params: object) -> None:
    """Charge a run of `fit` to the open budgets, once; raises BudgetError where one does not allow it."""
    if not _CHARGED.get():
        for charge in _CHARGES:
            charge(fit, box, params)


@contextmanager
def charged() -> Iterator[None]:
    """Have the runs of this block charged to nobody: they are charged already, or release nothing."""
    token = _CHARGED.set(True)
    try:
        yield
    finally:
        _CHARGED.reset(token)


def _given(value: object) -> str:
    return "None" if value is None else f"a {type(value).__name__}" + (f", {value!r}" if isinstance(value, int) else "")
