"""All chapters, in the order in which they build on each other."""

from collections.abc import Mapping
from types import MappingProxyType

from dpviz.core import Knob
from dpviz.stories.chapter import Chapter
from dpviz.tools.learn.story import average, coin, crowd

_ALL = (average.CHAPTER, coin.CHAPTER, crowd.CHAPTER)
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
