"""The sensitivity of counts and sums, and the r that zCDP needs."""

import numpy as np

# The record moves from (1, 1) in one cluster to (-1, -1) in another: counts and sums before and after.
before, after = np.array([[1, 1, 1], [0, 0, 0]]), np.array([[0, 0, 0], [1, -1, -1]])
print(f"counts and sums move by {np.abs(after - before).sum()}, not {2 * 2 + 1}")


def suffices(tau, d, second):
    """Return True if the printed r is at least what tau iterations and the second moments need."""
    return (2 * d + 1) ** 2 * tau**2 + d * (2 * d - 1) >= tau * (2 * d + 2) ** 2 + second


for words, second in (("raw", lambda d: d * max(d + 1, 2 * d - 1)), ("scatter", lambda d: 16 * d * (d + 1))):
    enough = [tau for tau in range(1, 100) if all(suffices(tau, d, second(d)) for d in range(1, 100))]
    print(f"{words}: the printed r suffices from {100 - len(enough)} iterations on")
