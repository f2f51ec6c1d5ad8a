"""All lessons, in the order in which a class can take them: ε first, then one for each system."""

from types import MappingProxyType

from dpviz.methods.convergent_kmeans.page import lesson as lesson_kmeans
from dpviz.methods.dpm.page import lesson as lesson_dpm
from dpviz.methods.morse.page import lesson as lesson_morse
from dpviz.methods.nd_laplace.page import lesson as lesson_laplace
from dpviz.methods.source_target.page import lesson as lesson_target
from dpviz.ui.lessons import epsilon as lesson_epsilon
from dpviz.ui.lessons.lesson import Lesson

LESSONS: MappingProxyType[str, Lesson] = MappingProxyType(
    {
        module.LESSON.name: module.LESSON
        for module in (lesson_epsilon, lesson_kmeans, lesson_dpm, lesson_morse, lesson_laplace, lesson_target)
    }
)
