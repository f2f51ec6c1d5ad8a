"""Error of the best guess between two equally likely points in the plane, at ε d = 1."""

import math

from dpviz.attacks import laplace_total_variation, two_point_success
from dpviz.mechanisms import log_density

points = [[0.0, 0.0], [1.0, 0.0]]
for words, z in (("behind a point", [-1.0, 0.0]), ("between the points", [0.5, 0.0])):
    one, other = log_density(z, points, epsilon=1.0)
    print(f"released {words}: {1 / (1 + math.exp(abs(one - other))):.3f}")
print(f"mean over all releases: {1 - two_point_success(laplace_total_variation(1.0, 1.0, 2)):.3f}")
