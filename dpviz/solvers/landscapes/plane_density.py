"""Log-densities of many places in the plane, in machine code: a block of places side by side, component by component.

The exponential is written out, so that a processor takes several places at once: e^v = 2^n e^r, n = round(v log2 e),
e^r by its series, |r| <= ln(2) / 2, and 2^n by its bits. Adding ROUNDER rounds to an integer, in the lowest bits.
"""

import math

import numpy as np

from dpviz.core import FloatArray, Points, compiled

BLOCK = 64  # places side by side: what is kept of them stays in the cache
LOWEST = -708.0  # e^LOWEST is next to the smallest number: a share below it is taken as that
LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 0.693145751953125, 1.4286068203094172e-06  # their sum is ln 2; the first has few digits
ROUNDER = 6755399441055744.0  # 1.5 * 2^52
BIAS, MANTISSA = 1023, 52  # of a number's bits: what its exponent is counted from, and how many are below it


@compiled
def log_density_at(components: FloatArray, places: Points) -> FloatArray:
    """Return ln p (n,) at `places` (n, 2) for the `components` of `plane.gaussians`."""
    n, n_components = len(places), components.shape[1]
    found, logs = np.empty(n), np.empty((n_components, BLOCK))
    x, y, top, total = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    power, series = np.empty(BLOCK), np.empty(BLOCK)
    bits = power.view(np.int64)
    for start in range(0, n, BLOCK):
        size = min(BLOCK, n - start)
        for j in range(BLOCK):  # the last block is filled up with its first place
            i = start + j if j < size else start
            x[j], y[j], top[j], total[j] = places[i, 0], places[i, 1], -np.inf, 0.0
        for k in range(n_components):
            mean_x, mean_y, l11, l21, l22, scale = components[:, k]
            for j in range(BLOCK):
                across = x[j] - mean_x
                first, second = l11 * across, l21 * across + l22 * (y[j] - mean_y)
                log = scale - 0.5 * (first * first + second * second)
                logs[k, j] = log
                top[j] = log if log > top[j] else top[j]
        for k in range(n_components):
            for j in range(BLOCK):
                value = logs[k, j] - top[j]
                value = value if value > LOWEST else LOWEST
                rounded = value * LOG2_E + ROUNDER
                power[j] = rounded
                whole = rounded - ROUNDER
                rest = value - whole * LN2_HIGH - whole * LN2_LOW
                term = 1.0 / 39916800.0 + rest * (1.0 / 479001600.0)
                term = 1.0 / 362880.0 + rest * (1.0 / 3628800.0 + rest * term)
                term = 1.0 / 5040.0 + rest * (1.0 / 40320.0 + rest * term)
                term = 1.0 / 120.0 + rest * (1.0 / 720.0 + rest * term)
                term = 1.0 / 6.0 + rest * (1.0 / 24.0 + rest * term)
                series[j] = 1.0 + rest * (1.0 + rest * (0.5 + rest * term))
            for j in range(BLOCK):
                bits[j] = (bits[j] + BIAS) << MANTISSA
            for j in range(BLOCK):
                total[j] += power[j] * series[j]
        for j in range(size):
            found[start + j] = top[j] + math.log(total[j])
    return found
