"""The catalogue of methods: one folder each, and those that other packages declare."""

from collections.abc import Mapping
from types import MappingProxyType

from dpviz.baselines import CATALOGUE as BASELINES
from dpviz.core import AnyAlgorithm
from dpviz.methods import convergent_kmeans, dpm, morse, nd_laplace, source_target
from dpviz.stories.method import AnyMethod
from dpviz.stories.story import AnyStory

_OURS: tuple[AnyMethod, ...] = (
    convergent_kmeans.METHOD,
    dpm.METHOD,
    morse.METHOD,
    nd_laplace.METHOD,
    source_target.METHOD,
)
CATALOGUE: Mapping[str, AnyMethod] = MappingProxyType({method.name: method for method in _OURS})
ALGORITHMS: Mapping[str, AnyAlgorithm] = MappingProxyType({**CATALOGUE, **BASELINES})  # everything that can be run


def story_of(name: str) -> AnyStory:
    """Return the story that tells runs of one of `ALGORITHMS`. Raises KeyError where there is none."""
    if name in CATALOGUE:
        return CATALOGUE[name].story
    return next(method.family for method in CATALOGUE.values() if name in method.family)[name]


__all__ = ["ALGORITHMS", "CATALOGUE", "convergent_kmeans", "dpm", "morse", "nd_laplace", "source_target", "story_of"]
