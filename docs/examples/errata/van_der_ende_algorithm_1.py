"""Loss per unit of distance between two records at a wall, at ε = 1."""

from dpviz.core import Box
from dpviz.mechanisms import release_law

near = 0.001
for domain in ("redraw", "clamp"):
    law = release_law([[0.0], [near]], epsilon=1.0, domain=domain, box=Box(0.0, 20.0))
    one, other = law.log_likelihood([0.0])
    print(f"{domain}: {abs(one - other) / near:.2f} ε")
