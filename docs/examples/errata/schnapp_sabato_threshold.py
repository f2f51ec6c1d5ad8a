"""Probability that an empty cell passes each threshold, and that a noisy count is off by more than the paper says."""

import math

d, epsilon, gamma = 8, 3.0, 0.05
b = (math.sqrt(d) + 1) / epsilon
for words, error in (("printed", math.log(epsilon * b / gamma) / epsilon), ("lemma 5.9", b * math.log(1 / gamma))):
    passes, off = 0.5 * math.exp(-(1 + error) / b), math.exp(-error / b)
    print(f"{words}: {1 + error:.2f}, P(empty cell passes) = {passes:.3f}, P(count is farther off) = {off:.2f}")
