"""What every run is given, checked in one place, in words that name the way out."""

import numpy as np

from dpviz.core.box import Box


def check_arguments(box: Box, params: object, kind: type, rng: np.random.Generator) -> None:
    """Raise TypeError unless a run is given a `Box`, parameters of its own `kind`, and a Generator.

    Types say so, too, but a call from a notebook is seldom type-checked, and a `None` would be found deep inside.
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


def _given(value: object) -> str:
    return "None" if value is None else f"a {type(value).__name__}" + (f", {value!r}" if isinstance(value, int) else "")
