"""With a released count that is far too high, one record moves a score by no more than the bound."""

import numpy as np

from dpviz.methods.dpm.algorithm import centreness, emptiness

n, noisy_count = 1000, 1500.0
ranks = np.arange(n + 1)
center = centreness(ranks + 1, noisy_count) - centreness(ranks, noisy_count)
empty = emptiness(0, noisy_count) - emptiness(1, noisy_count)
print(f"largest change of a score, times the noisy count: {noisy_count * (np.abs(center).max() + 5 * empty):.1f}")
print(f"bound: {0.3 * 12 + 5:.1f}")
