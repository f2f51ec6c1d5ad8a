"""Noise: value + scale + rng -> value, and the exponential mechanism. What a draw costs is for `dpviz.accounting`.

Every proof is about real numbers. The noise here is floating point, whose last bits can tell neighbours apart
(Mironov 2012, "On significance of the least significant bits for differential privacy"); no guarantee covers that.
"""

from dpviz.mechanisms.additive import gaussian, laplace
from dpviz.mechanisms.selection import Indices, exponential, exponential_probabilities

__all__ = ["Indices", "exponential", "exponential_probabilities", "gaussian", "laplace"]
