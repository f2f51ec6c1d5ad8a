"""All chapters, in the order in which they build on each other."""

from collections.abc import Mapping
from types import MappingProxyType

from dpviz.core import Knob
from dpviz.methods import CATALOGUE
from dpviz.stories.course.chapter import Chapter
from dpviz.tools.learn.story import audit, average, coin, crowd, decide, groups, leak
from dpviz.tools.learn.story.methods import told

_FIRST = (average, coin, crowd, groups, leak)
_LAST = (audit, decide)
_METHODS = tuple(told(method, method.chapter) for method in CATALOGUE.values() if method.chapter is not None)
_ALL = (*(each.CHAPTER for each in _FIRST), *_METHODS, *(each.CHAPTER for each in _LAST))
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
