"""Steps 7 and 11 on the segment between two hills, with f = -p."""

import numpy as np

x = 4 * np.arange(1, 21) / 21
f = -(np.exp(-(x**2) / 2) + np.exp(-((x - 4) ** 2) / 2)) / 2
for name, index in (("argmax", f.argmax()), ("argmin", f.argmin())):
    print(f"{name} f: point {index + 1} of {x.size}, density {-f[index]:.2f}")
