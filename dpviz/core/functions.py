"""Elementary functions that have the same bits on every processor, in machine code.

NumPy picks vector instructions by the processor, and so do mathematics libraries: the last bit of an exponential then
depends on the machine. The functions here use only additions, products, quotients and roots, each rounded according to
IEEE 754, in one order. All numbers that decide something, are released, or are drawn from a seed go through them.

The polynomials come from FreeBSD's msun, by Sun Microsystems (e_exp.c, e_log.c, k_sin.c, k_cos.c, e_asin.c). Errors are
below 1 unit in the last place for exp, log, sin and cos, below 2 for tan and arcsin, below 4 for expm1 and log1p.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from dpviz.core.arrays import FloatArray
from dpviz.core.compiled import compiled

# Our choice: this many numbers at a time stay in the cache between two passes.
BLOCK = 256
# Adding and subtracting it rounds to a whole number, which is in the sum's lowest bits.
MAGIC = 1.5 * 2.0**52
MAGIC_BITS = 0x4338 << 48
ONE_BITS, FRACTION_BITS = 1023 << 52, (1 << 52) - 1
# High 32 bits of sqrt(1/2).
ROOT_HALF_BITS = 0x3FE6A09E << 32
LN2_HIGH, LN2_LOW, PER_LN2 = 6.93147180369123816490e-01, 1.90821492927058770002e-10, 1.44269504088896338700e00
# The first 33 bits, the next 33 bits, and the rest.
HALF_PI = (1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624879595063154e-21)
# Larger angles are first reduced to their remainder.
FAR = 2.0**20


def exp(values: ArrayLike, *, out: FloatArray | None = None) -> FloatArray:
    """Return e^x of every entry. `out` is the array to write to; passing `values` saves an array."""
    return _each(exp_each, values, out)


def log(values: ArrayLike, *, out: FloatArray | None = None) -> FloatArray:
    """Return ln x of every entry, -inf at 0, NaN below it; `out` as in `exp`."""
    return _each(log_each, values, out)


def expm1(values: ArrayLike) -> FloatArray:
    """Return e^x - 1 of every entry, without cancellation."""
    return _each(_expm1, values)


def log1p(values: ArrayLike) -> FloatArray:
    """Return ln(1 + x) of every entry, without cancellation."""
    return _each(_log1p, values)


def sin(values: ArrayLike) -> FloatArray:
    """Return the sine of every entry, in radians."""
    return sin_cos(values)[0]


def cos(values: ArrayLike) -> FloatArray:
    """Return the cosine of every entry, in radians."""
    return sin_cos(values)[1]


def tan(values: ArrayLike, *, out: FloatArray | None = None) -> FloatArray:
    """Return the tangent of every entry, in radians. `out` is as in `exp`."""
    return _each(_tan, _near(values), out)


def sin_cos(values: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return sine and cosine of every entry, in radians."""
    sine = np.array(_near(values), dtype=np.float64, order="C")
    cosine = np.empty_like(sine)
    _sin_cos(sine.reshape(-1), cosine.reshape(-1))
    return sine[()], cosine[()]


def _near(angles: ArrayLike) -> ArrayLike:
    """Return angles up to FAR as they are, and the remainder of larger angles, whose last digits may be wrong."""
    x = np.asarray(angles, dtype=np.float64)
    if _is_near(x.reshape(-1)):
        return x
    with np.errstate(invalid="ignore"):
        # NaN at infinity.
        return np.where(np.abs(x) < FAR, x, np.fmod(x, 2.0 * math.pi))


def arcsin(values: ArrayLike) -> FloatArray:
    """Return the arc sine in [-pi/2, pi/2] of every entry; NaN outside [-1, 1]."""
    return _each(_arcsin, values)


def arccos(values: ArrayLike) -> FloatArray:
    """Return the arc cosine in [0, pi] of every entry, from |x| by 2 arcsin(sqrt((1 - x) / 2)); NaN outside [-1, 1]."""
    x = np.asarray(values, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        angle = 2.0 * arcsin(np.sqrt((1.0 - np.abs(x)) / 2.0))
    return np.where(x < 0.0, math.pi - angle, angle)[()]


def arctan2(y: ArrayLike, x: ArrayLike) -> FloatArray:
    """Return the angle in [-pi, pi] of every (x, y)."""
    one, other = np.broadcast_arrays(np.asarray(y, dtype=np.float64), np.asarray(x, dtype=np.float64))
    angle, beside = np.array(one, order="C"), np.array(other, order="C")
    _arctan2(angle.reshape(-1), beside.reshape(-1))
    return angle[()]


def power(base: ArrayLike, exponent: ArrayLike) -> FloatArray:
    """Return base^exponent of every pair, by the C library, for few numbers whose last digit matters."""
    one, other = np.broadcast_arrays(np.asarray(base, dtype=np.float64), np.asarray(exponent, dtype=np.float64))
    return np.array([math.pow(*pair) for pair in zip(one.flat, other.flat, strict=True)]).reshape(one.shape)[()]


def _each(function: Callable[[FloatArray], None], values: ArrayLike, out: FloatArray | None = None) -> FloatArray:
    """Apply a function that overwrites one row to `values` of any shape."""
    if out is None or out is not values or not out.flags.c_contiguous:
        result = np.array(values, dtype=np.float64, order="C")
        function(result.reshape(-1))
        if out is None:
            return result[()]
        out[...] = result
        return out
    function(out.reshape(-1))
    return out


@compiled
def exp_each(x: FloatArray) -> None:
    """Overwrite `x` (n,) by e^x.

    x = n ln 2 + r, |r| <= ln 2 / 2; e^x = 2^n e^r. 2^n is a product of two, so that it may be below normal.
    """
    rounded = np.empty(BLOCK)
    whole = rounded.view(np.int64)
    low, high = np.empty(BLOCK), np.empty(BLOCK)
    low_bits, high_bits = low.view(np.int64), high.view(np.int64)
    for start in range(0, len(x), BLOCK):
        part = x[start : start + BLOCK]
        for i in range(len(part)):
            y = part[i]
            if y < -746.0:
                y = -746.0
            if y > 710.0:
                y = 710.0
            part[i] = y
            rounded[i] = y * PER_LN2 + MAGIC
        for i in range(len(part)):
            n = whole[i] - MAGIC_BITS
            half = n >> 1
            low_bits[i] = (half + 1023) << 52
            high_bits[i] = (n - half + 1023) << 52
        for i in range(len(part)):
            n = rounded[i] - MAGIC
            upper, lower = part[i] - n * LN2_HIGH, n * LN2_LOW
            r = upper - lower
            t = r * r
            c = r - t * (
                1.66666666666666019037e-01
                + t
                * (
                    -2.77777777770155933842e-03
                    + t
                    * (6.61375632143793436117e-05 + t * (-1.65339022054652515390e-06 + t * 4.13813679705723846039e-08))
                )
            )
            part[i] = (1.0 - ((lower - (r * c) / (2.0 - c)) - upper)) * low[i] * high[i]


@compiled
def log_each(x: FloatArray) -> None:
    """Overwrite `x` (n,) by ln x.

    x = 2^k (1 + f), sqrt(1/2) < 1 + f < sqrt(2); ln x = k ln 2 + 2 artanh(f / (2 + f)).
    """
    mantissa, shift = np.empty(BLOCK), np.empty(BLOCK)
    bits = mantissa.view(np.int64)
    powers = np.empty(BLOCK)
    power_bits = powers.view(np.int64)
    for start in range(0, len(x), BLOCK):
        part = x[start : start + BLOCK]
        for i in range(len(part)):
            small = part[i] < 2.2250738585072014e-308
            # Scale by 2^54.
            mantissa[i] = part[i] * 18014398509481984.0 if small else part[i]
            shift[i] = 54.0 if small else 0.0
        for i in range(len(part)):
            shifted = bits[i] + (ONE_BITS - ROOT_HALF_BITS)
            power_bits[i] = (shifted >> 52) + (MAGIC_BITS - 1023)
            bits[i] = (shifted & FRACTION_BITS) + ROOT_HALF_BITS
        for i in range(len(part)):
            y = part[i]
            k = powers[i] - MAGIC - shift[i]
            f = mantissa[i] - 1.0
            half_square = 0.5 * f * f
            s = f / (2.0 + f)
            z = s * s
            w = z * z
            odd = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01))
            even = z * (
                6.666666666666735130e-01
                + w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860510165545e-01))
            )
            result = k * LN2_HIGH - ((half_square - (s * (half_square + (odd + even)) + k * LN2_LOW)) - f)
            if y == 0.0:
                result = -np.inf
            if y < 0.0:
                result = np.nan
            # Infinity and NaN stay.
            part[i] = result if y < np.inf else y


@compiled
def _is_near(x: FloatArray) -> bool:
    near = True
    for i in range(len(x)):
        near &= abs(x[i]) <= FAR
    return near


@compiled
def _expm1(x: FloatArray) -> None:
    """With u = e^x, write (u - 1) x / ln u (Kahan): u's rounding changes u - 1 and ln u by the same amount."""
    power = x.copy()
    exp_each(power)
    logs = power.copy()
    log_each(logs)
    for i in range(len(x)):
        less = power[i] - 1.0
        result = less * (x[i] / logs[i])
        if (less == -1.0) | (power[i] == np.inf):
            result = less
        if less == 0.0:
            result = x[i]
        x[i] = result


@compiled
def _log1p(x: FloatArray) -> None:
    """With u = 1 + x, write ln u x / (u - 1) (Kahan): u's rounding changes ln u and u - 1 by the same amount."""
    logs = 1.0 + x
    log_each(logs)
    for i in range(len(x)):
        more = (1.0 + x[i]) - 1.0
        result = logs[i] * (x[i] / more)
        if (more <= -1.0) | (more == np.inf):
            result = logs[i]
        if more == 0.0:
            result = x[i]
        x[i] = result


@compiled
def _sin_cos(x: FloatArray, cosine: FloatArray) -> None:
    """Use x = n pi/2 + r, |r| <= pi/4; n's two lowest bits select sin(r) or cos(r), and the sign."""
    rounded, odd, sign, other = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    whole = rounded.view(np.int64)
    for start in range(0, len(x), BLOCK):
        part, second = x[start : start + BLOCK], cosine[start : start + BLOCK]
        for i in range(len(part)):
            rounded[i] = part[i] * (2.0 / np.pi) + MAGIC
        for i in range(len(part)):
            n = whole[i]
            odd[i] = n & 1
            sign[i] = 1.0 - (n & 2)
            other[i] = 1.0 - ((n + 1) & 2)
        for i in range(len(part)):
            n = rounded[i] - MAGIC
            first = part[i] - n * HALF_PI[0]
            step = n * HALF_PI[1]
            y = first - step
            r = y - (n * HALF_PI[2] - ((first - y) - step))
            z = r * r
            w = z * z
            sine = r + r * z * (
                -1.66666666666666324348e-01
                + z
                * (
                    8.33333333332248946124e-03
                    + z
                    * (
                        -1.98412698298579493134e-04
                        + z
                        * (
                            2.75573137070700676789e-06
                            + z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10)
                        )
                    )
                )
            )
            tail = z * (
                4.16666666666666019037e-02 + z * (-1.38888888888741095749e-03 + z * 2.48015872894767294178e-05)
            ) + w * w * (
                -2.75573143513906633035e-07 + z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11)
            )
            half = 0.5 * z
            near = 1.0 - half
            turned = near + (((1.0 - near) - half) + z * tail)
            swap = odd[i] != 0.0
            part[i] = (turned if swap else sine) * sign[i]
            second[i] = (sine if swap else turned) * other[i]


@compiled
def _tan(x: FloatArray) -> None:
    cosine = np.empty(min(len(x), 8 * BLOCK))
    for start in range(0, len(x), 8 * BLOCK):
        part = x[start : start + 8 * BLOCK]
        _sin_cos(part, cosine)
        for i in range(len(part)):
            part[i] /= cosine[i]


@compiled
def _arcsin(x: FloatArray) -> None:
    """Use arcsin(x) = x + x R(x^2) up to 1/2, and pi/2 - 2 arcsin(sqrt((1 - x) / 2)) beyond it."""
    for i in range(len(x)):
        size = abs(x[i])
        far = size > 0.5
        z = (1.0 - size) * 0.5 if far else size * size
        p = z * (
            1.66666666666666657415e-01
            + z
            * (
                -3.25565818622400915405e-01
                + z
                * (
                    2.01212532134862925881e-01
                    + z
                    * (-4.00555345006794114027e-02 + z * (7.91534994289814532176e-04 + z * 3.47933107596021167570e-05))
                )
            )
        )
        q = 1.0 + z * (
            -2.40339491173441421878e00
            + z * (2.02094576023350569471e00 + z * (-6.88283971605453293030e-01 + z * 7.70381505559019352791e-02))
        )
        s = np.sqrt(z) if far else size
        s = s + s * (p / q)
        result = 1.57079632679489655800e00 - (2.0 * s - 6.12323399573676603587e-17) if far else s
        x[i] = -result if x[i] < 0.0 else result


@compiled
def _arctan2(y: FloatArray, x: FloatArray) -> None:
    """Use the arc tangent of a ratio r <= 1, around the nearest of 0, 1/2 and 1; mirror it into (x, y)'s octant."""
    for i in range(len(y)):
        up, along = abs(y[i]), abs(x[i])
        least, most = min(along, up), max(along, up)
        r = least / most if most > 0.0 else 0.0
        if least == np.inf:
            r = 1.0
        high, low, t = 0.0, 0.0, r
        if r >= 0.6875:
            high, low, t = 7.85398163397448278999e-01, 3.06161699786838301793e-17, (r - 1.0) / (r + 1.0)
        elif r >= 0.4375:
            high, low, t = 4.63647609000806093515e-01, 2.26987774529616870924e-17, (2.0 * r - 1.0) / (2.0 + r)
        z = t * t
        w = z * z
        odd = z * (
            3.33333333333329318027e-01
            + w
            * (
                1.42857142725034663711e-01
                + w
                * (
                    9.09088713343650656196e-02
                    + w
                    * (6.66107313738753120669e-02 + w * (4.97687799461593236017e-02 + w * 1.62858201153657823623e-02))
                )
            )
        )
        even = w * (
            -1.99999999998764832476e-01
            + w
            * (
                -1.11111104054623557880e-01
                + w
                * (-7.69187620504482999495e-02 + w * (-5.83357013379057348645e-02 + w * -3.65315727442169155270e-02))
            )
        )
        angle = high - ((t * (odd + even) - low) - t)
        if up > along:
            angle = np.pi / 2.0 - (angle - 6.12323399573676603587e-17)
        if np.copysign(1.0, x[i]) < 0.0:
            angle = np.pi - (angle - 1.22464679914735317720e-16)
        if np.isnan(x[i]) | np.isnan(y[i]):
            angle = x[i] + y[i]
        y[i] = np.copysign(angle, y[i])
