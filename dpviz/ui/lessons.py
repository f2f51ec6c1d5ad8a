"""All lessons, in the order in which a class can take them: ε first, then one for each system."""

from types import MappingProxyType

from dpviz.ui import lesson_dpm, lesson_epsilon, lesson_kmeans, lesson_laplace, lesson_morse, lesson_target
from dpviz.ui.lesson import Lesson

LESSONS: MappingProxyType[str, Lesson] = MappingProxyType(
    {
        module.LESSON.name: module.LESSON
        for module in (lesson_epsilon, lesson_kmeans, lesson_dpm, lesson_morse, lesson_laplace, lesson_target)
    }
)
