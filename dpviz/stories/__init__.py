"""One module per algorithm: from a result to scenes, numbers and sentences. The only place where a Step is drawn."""

from types import MappingProxyType, ModuleType

from dpviz.stories import convergent_kmeans, dpm, morse, nd_laplace, source_target
from dpviz.stories.panel import Fact, Sentence
from dpviz.stories.view import View, Words

CATALOGUE: MappingProxyType[str, ModuleType] = MappingProxyType(
    {
        "convergent_kmeans": convergent_kmeans,
        "dpm": dpm,
        "morse": morse,
        "nd_laplace": nd_laplace,
        "source_target": source_target,
    }
)

__all__ = ["CATALOGUE", "Fact", "Sentence", "View", "Words"]
