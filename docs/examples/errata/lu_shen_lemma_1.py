"""The condition of lemma 1 holds, and the cost rises."""

import numpy as np

records = np.array([0.0, 2.0])
before, mean, after = 0.0, records.mean(), 10.0
print("distances of the new center:", abs(after - mean), "<", abs(after - before))
for center in (before, mean, after):
    print(f"cost at {center:g}: {((records - center) ** 2).sum():g}")
