"""The catalogue: one module per paper, all with the same protocol: TITLE, Params, fit, steps.

A new algorithm is one module here and one line in the catalogue; navigation and contract tests find it by themselves.
"""

from types import MappingProxyType, ModuleType

from dpviz.algorithms import convergent_kmeans, dpm, morse, nd_laplace, source_target

CATALOGUE: MappingProxyType[str, ModuleType] = MappingProxyType(
    {
        "convergent_kmeans": convergent_kmeans,
        "dpm": dpm,
        "morse": morse,
        "nd_laplace": nd_laplace,
        "source_target": source_target,
    }
)

__all__ = ["CATALOGUE", "convergent_kmeans", "dpm", "morse", "nd_laplace", "source_target"]
