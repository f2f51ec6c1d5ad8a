"""The five methods, one folder each."""

from types import MappingProxyType, ModuleType

from dpviz.methods import convergent_kmeans, dpm, morse, nd_laplace, source_target

CATALOGUE: MappingProxyType[str, ModuleType] = MappingProxyType(
    {
        "convergent_kmeans": convergent_kmeans.algorithm,
        "dpm": dpm.algorithm,
        "morse": morse.algorithm,
        "nd_laplace": nd_laplace.algorithm,
        "source_target": source_target.algorithm,
    }
)
STORIES: MappingProxyType[str, ModuleType] = MappingProxyType(
    {
        "convergent_kmeans": convergent_kmeans.story,
        "dpm": dpm.story,
        "morse": morse.story,
        "nd_laplace": nd_laplace.story,
        "source_target": source_target.story,
    }
)

__all__ = ["CATALOGUE", "STORIES", "convergent_kmeans", "dpm", "morse", "nd_laplace", "source_target"]
