"""All lessons, in the order in which a class can take them: ε first, then one for each method."""

from collections.abc import Mapping
from types import MappingProxyType

from dpviz.methods import CATALOGUE
from dpviz.stories.lesson import Lesson
from dpviz.ui.lessons import epsilon

_ALL = (epsilon.LESSON, *(method.lesson for method in CATALOGUE.values() if method.lesson is not None))
LESSONS: Mapping[str, Lesson] = MappingProxyType({lesson.name: lesson for lesson in _ALL})
