"""Advanced composition of n steps, with δ' = δ/(n + 1) as each step needs it."""

import math

n, delta, epsilon = 100, 1e-5, 3.0
step = epsilon / math.sqrt(9 * n * math.log(1 / delta))
log = math.log((n + 1) / delta)
print(f"short form: {3 * step * math.sqrt(n * log):.2f}")
print(f"full formula: {math.sqrt(2 * n * log) * step + n * step * math.tanh(step / 2):.2f}")
