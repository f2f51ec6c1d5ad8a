"""One module per algorithm: from a result to scenes, numbers and sentences. The only place where a Step is drawn."""

from types import MappingProxyType, ModuleType

from dpviz.stories import convergent_kmeans, dpm, morse
from dpviz.stories.panel import Fact, Sentence
from dpviz.stories.view import View, Words

CATALOGUE: MappingProxyType[str, ModuleType] = MappingProxyType(
    {
        "convergent_kmeans": convergent_kmeans,
        "dpm": dpm,
        "morse": morse,
    }
)

__all__ = ["CATALOGUE", "Fact", "Sentence", "View", "Words"]
