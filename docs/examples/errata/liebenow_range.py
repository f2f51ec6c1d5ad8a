"""Records of Synth-10d are outside the range from which its centers are drawn."""

import numpy as np
from sklearn.datasets import make_blobs

points, _ = make_blobs(100_000, 10, centers=64, center_box=(-100, 100), random_state=42)
print(f"{(np.abs(points) > 100).any(axis=1).sum():,} of {len(points):,} records are outside")
