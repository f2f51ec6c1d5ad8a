"""Laplace and Gaussian noise. Dwork & Roth 2014, "The algorithmic foundations of differential privacy".

From a seeded generator, standard noise is drawn first and scaled afterwards: for one seed a result moves continuously
with the scale, and the generator ends in the same state whatever the scale was. Its last bits are not covered by the
proofs (Mironov 2012). From a `SecretGenerator` the noise is that of real numbers, rounded to a public grid: there the
proofs hold to the last bit, see `secret`.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from dpviz.core import FloatArray
from dpviz.mechanisms.secret import SecretGenerator


def laplace(value: ArrayLike, *, scale: ArrayLike, rng: np.random.Generator) -> FloatArray:
    """Add Laplace noise: value + scale Z, density of Z exp(-|z|) / 2, all Z independent.

    `value` has any shape, in the caller's unit; `scale` >= 0 is in the same unit and broadcasts to that shape.
    The result has the shape of `value`. Scale 0 (epsilon = infinity) returns the value exactly.

    The result is epsilon-DP with epsilon = l1_sensitivity / scale for one scale; `value` stays private.
    Raises ValueError for a scale that is negative, NaN, infinite or of another shape, and for a value that is not
    finite.
    Source: Dwork & Roth 2014, definition 3.3 and theorem 3.6. The proof covers the last bits of secret noise, not those
    of seeded noise (Mironov 2012).
    """
    exact, spread = _checked(value, scale, name="scale")
    if isinstance(rng, SecretGenerator):
        return _secret(rng.rounded_laplace, exact, spread)
    return exact + spread * rng.laplace(size=exact.shape)


def gaussian(value: ArrayLike, *, sigma: ArrayLike, rng: np.random.Generator) -> FloatArray:
    """Add Gaussian noise: value + sigma Z, Z standard normal, all Z independent.

    `value` has any shape, in the caller's unit; `sigma` >= 0 is in the same unit and broadcasts to that shape.
    The result has the shape of `value`. Sigma 0 (epsilon = infinity) returns the value exactly.

    The result is mu-GDP with mu = l2_sensitivity / sigma for one sigma; `value` stays private. It has no pure
    epsilon.
    Raises ValueError for a sigma that is negative, NaN, infinite or of another shape, and for a value that is not
    finite.
    Source: Dwork & Roth 2014, appendix A.1; mu-GDP: Dong, Roth & Su 2022, theorem 2.7. The proof covers the
    last bits of secret noise, not those of seeded noise (Mironov 2012).
    """
    exact, spread = _checked(value, sigma, name="sigma")
    if isinstance(rng, SecretGenerator):
        return _secret(rng.rounded_gaussian, exact, spread)
    return exact + spread * rng.standard_normal(size=exact.shape)


def _secret(
    rounded: Callable[[FloatArray, FloatArray], FloatArray], exact: FloatArray, spread: FloatArray
) -> FloatArray:
    """Add secret noise where there is any to add."""
    wide = np.broadcast_to(spread, exact.shape)
    noisy = exact.copy()
    noisy[wide > 0] = rounded(exact[wide > 0], wide[wide > 0])
    return noisy


def _checked(value: ArrayLike, scale: ArrayLike, *, name: str) -> tuple[FloatArray, FloatArray]:
    """Return (value, scale) as float64 arrays; raise ValueError for what no mechanism can use."""
    exact = np.asarray(value, dtype=np.float64)
    spread = np.asarray(scale, dtype=np.float64)
    # One number, the usual case, needs no arrays: a run asks for noise many times. NaN fails the comparison.
    if not (float(spread) >= 0 if spread.ndim == 0 else (spread >= 0).all()):
        raise ValueError(f"{name} was {scale!r}, but it must be >= 0. Use 0 for no noise (epsilon = infinity).")
    if math.isinf(spread) if spread.ndim == 0 else np.isinf(spread).any():
        raise ValueError(
            f"{name} was infinite (epsilon = 0), but it must be finite: nothing of the value would be left. "
            "Give this step a share of the budget, or leave it out."
        )
    if spread.ndim > 0 and np.broadcast_shapes(exact.shape, spread.shape) != exact.shape:
        raise ValueError(
            f"{name} had shape {spread.shape}, but it must broadcast to the value's shape {exact.shape}. "
            "Pass one number, or one for each coordinate."
        )
    if not np.isfinite(exact).all():
        raise ValueError("value held NaN or infinity, but noise hides finite numbers only. Clip into the box first.")
    return exact, spread
