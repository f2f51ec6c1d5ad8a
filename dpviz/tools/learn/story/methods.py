"""Chapters 6 to 10: what each method tells the course, found by its record."""

from functools import lru_cache
from typing import Any

from dpviz.plots import Scene
from dpviz.stories.course.chapter import Chapter
from dpviz.stories.course.run_chapter import RunChapter, last_step
from dpviz.stories.method import AnyMethod
from dpviz.stories.panel import Sentence

MOST_RUNS = 64  # that are kept for the next reader: records and seeds are public


def told(method: AnyMethod, chapter: RunChapter) -> Chapter:
    """Return a method's chapter: its picture is the last step of a run, its words the run's own sentence."""

    @lru_cache(maxsize=MOST_RUNS)
    def run(value: Any) -> tuple[Sentence, Scene]:
        return last_step(method, method.run, chapter, value)

    def picture(value: Any, *, answered: bool) -> Scene:
        del answered  # the question is about another value of the control than the one that it opens with
        return run(value)[1]

    return Chapter(
        chapter.name,
        chapter.title,
        chapter.words,
        chapter.question,
        chapter.control,
        picture,
        chapter.told or (lambda value: run(value)[0].curator),
        chapter.explained,
        "" if method.lesson is None else method.lesson.name,
        chapter.note,
        chapter.asked,
    )
