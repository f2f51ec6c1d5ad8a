"""Success of the best attacker against Laplace noise that one known record shifts."""

from collections import Counter
from collections.abc import Iterable
from functools import reduce

import numpy as np
import scipy

from dpviz.core import FloatArray

# Steps of the grid of privacy losses from 0 to the largest loss. Rounding moves a rate by less than half a step.
N_STEPS = 4000
# Parts into which the continuous losses of one value are divided.
N_PARTS = 400
# Equally likely values of each noisy value where some values are held back.
N_VALUES = 64


def best_guess_rate(shifts: Iterable[float]) -> float:
    """Return the rate at which the best attacker tells two equally likely worlds apart, from 0.5 to 1.

    Each of the noisy values is an exact value plus Laplace noise, all independent, and the worlds differ by known
    shifts of the exact values. Shifts are in scales of the noise, at least 0; one world is likelier if the loss is at
    least 0, so the rate is 1/2 + E[max(0, 1 - exp(-L))] / 2. L is the sum of the values' losses. The loss of a value
    with shift a is a with chance 1/2, -a with chance exp(-a)/2, and has density exp((l - a)/2)/4 between them. Its
    distribution is put on a grid and convolved.

    Later values may depend on earlier ones as long as their shifts and scales do not: losses then add up as well.
    """
    counts = Counter(float(shift) for shift in shifts if shift > 0.0)
    # Between equal worlds an attacker can only guess, and an infinite shift shows which one it is.
    if not counts or np.isinf(max(counts)):
        return 1.0 if counts else 0.5
    step = sum(shift * times for shift, times in counts.items()) / N_STEPS
    # A value may round its loss up by a step.
    size = 2 * (N_STEPS + sum(counts.values()) + 1)
    spectrum = np.ones(size // 2 + 1, dtype=np.complex128)
    for shift, times in counts.items():
        spectrum *= np.fft.rfft(_losses(shift, step, size)) ** times
    chances = np.fft.irfft(spectrum, size)[: size // 2]
    return 0.5 + 0.5 * float(chances @ -np.expm1(-step * np.arange(size // 2)))


def best_threshold_rate(shifts: Iterable[float], margin: float) -> float:
    """Return `best_guess_rate` if the values are released only when the first one reaches a threshold.

    `margin` is how far the first exact value of the world with larger values is above the threshold, in scales of its
    noise. The other world is more likely to release nothing, so the rate is 1/2 + E[max(0, 1 - exp(-L)); released] / 2
    in the first world. It takes N_VALUES equally likely values of each noise, so few shifts are feasible.
    """
    noise = scipy.stats.laplace.ppf((np.arange(N_VALUES) + 0.5) / N_VALUES)
    losses: FloatArray = reduce(np.add.outer, [np.abs(noise + shift) - np.abs(noise) for shift in shifts])
    gains = np.maximum(-np.expm1(-losses[noise >= -margin]), 0.0)
    return 0.5 + 0.5 * float(gains.sum()) / losses.size


def _losses(shift: float, step: float, size: int) -> FloatArray:
    """Return the chance of each loss of one value, (size,), on a grid of `step`; negative losses are at its end."""
    edges = np.linspace(-shift, shift, N_PARTS + 1)
    losses = np.array([shift, -shift, *(edges[1:] + edges[:-1]) / 2])
    masses = np.array([0.5, 0.5 * np.exp(-shift), *np.diff(0.5 * np.exp((edges - shift) / 2))])
    # A loss between two places of the grid is split between them, so that its mean stays the same.
    below = np.floor(losses / step)
    above = losses / step - below
    chances = np.zeros(size)
    for place, share in ((below, 1.0 - above), (below + 1.0, above)):
        np.add.at(chances, place.astype(np.intp) % size, share * masses)
    return chances
