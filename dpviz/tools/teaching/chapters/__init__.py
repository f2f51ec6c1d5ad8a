"""All chapters, in the order in which they build on each other; 6 to 10 come from the methods' records."""

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

from dpviz.core import Knob
from dpviz.methods import CATALOGUE
from dpviz.plots import Scene
from dpviz.stories.method import AnyMethod
from dpviz.stories.panel import Sentence
from dpviz.stories.teaching import Chapter, RunChapter, last_step
from dpviz.tools.teaching.chapters.clusters import CLUSTERS, LEAK
from dpviz.tools.teaching.chapters.numbers import AUDIT, AVERAGE, COIN, DECIDE, MEAN

MOST_RUNS = 64  # cached for the next reader: records and seeds are public


def method_chapter(method: AnyMethod, chapter: RunChapter) -> Chapter:
    """Return a method's chapter: its picture is the last step of a run, its words the run's own sentence."""

    @lru_cache(maxsize=MOST_RUNS)
    def run(value: object) -> tuple[Sentence, Scene]:
        return last_step(method, method.run, chapter, value)

    def picture(value: object, *, answered: bool) -> Scene:
        del answered  # the question is about another value of the control than the one that it opens with
        return run(value)[1]

    return Chapter(
        chapter.name,
        chapter.title,
        chapter.words,
        chapter.question,
        chapter.control,
        picture,
        chapter.caption or (lambda value: run(value)[0].curator),
        chapter.explained,
        "" if method.lesson is None else method.lesson.name,
        chapter.note,
        chapter.asked,
        page=method.name,
        link=chapter.link,
        leads=chapter.leads,
    )


_ALL = (
    *(AVERAGE, COIN, MEAN, CLUSTERS, LEAK),
    *(method_chapter(method, method.chapter) for method in CATALOGUE.values() if method.chapter is not None),
    *(AUDIT, DECIDE),
)
CHAPTERS: Mapping[str, Chapter] = MappingProxyType({chapter.name: chapter for chapter in _ALL})
NAMES = tuple(CHAPTERS)
END, END_TITLE = "end", "What you can now explain"  # the page after the last chapter
CHAPTER = Knob(
    "chapter",
    "choice",
    NAMES[0],
    "Chapter",
    "One idea each.",
    choices=(*((chapter.name, chapter.title) for chapter in CHAPTERS.values()), (END, END_TITLE)),
)


def after(name: str) -> str:
    """Return the name of the chapter that follows, `END` after the last."""
    return (*NAMES, END)[NAMES.index(name) + 1]


def after_lesson(name: str) -> str:
    """Return the chapter to go on with after a lesson: the one that follows the lesson's own, else the first."""
    own = next((chapter.name for chapter in CHAPTERS.values() if chapter.lesson == name), "")
    return after(own) if own else NAMES[0]
