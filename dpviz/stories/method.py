"""A method as one record: by it every page, tool, test and file finds what the method has."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

from dpviz.core import Algorithm, Choices, Knob, Release, Step
from dpviz.data import Dataset
from dpviz.stories.course.run_chapter import RunChapter
from dpviz.stories.lesson import Lesson
from dpviz.stories.reading import Reading
from dpviz.stories.run import Run
from dpviz.stories.worlds import Worlds

LEARN = "Learn"  # a group of the menu
P = TypeVar("P")
R = TypeVar("R", bound=Release)
S = TypeVar("S", bound=Step)
RunClass: TypeAlias = type[Run[object, Release, Step]]  # of any method


@dataclass(frozen=True, slots=True, eq=False)
class Thumbnail:
    """What a method is shown with on the home page; all of it public."""

    question: str  # that the method answers, in plain words
    alt: str
    made: Callable[[], tuple[Dataset, Choices]]  # records, and parameters that come with them
    seed: int  # of the noise
    frames: tuple[int, ...]  # stops of the scrubber; negative ones count from the end
    params: Choices = field(default_factory=dict)
    hidden: tuple[str, ...] = ()  # layers


@dataclass(frozen=True, slots=True)
class Attack:
    """Where on a method's page a reader is the attacker: how the home page leads there."""

    words: str  # of the button
    link: tuple[str, str]  # the knob of the page that opens it, and its value
    picture: str  # that the reader arrives at


@dataclass(frozen=True, slots=True, eq=False)
class Page:
    """A page of a method or a tool: made when it is first opened, because it alone needs Streamlit."""

    draw: Callable[[], None]
    knobs: tuple[Knob, ...] = ()  # of the page itself, beside those of the parameters and the choice of a tab
    title: str = ""  # of a tool; a method has its own
    leads: bool = False  # a tool's: it stands before the methods
    group: str = ""  # of the menu; a page in a group is made of words, and has no picture on a stage


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Method(Algorithm[P, R, S], Generic[P, R, S]):
    """One of the methods with a page. What it lacks is None or empty, and does not appear."""

    run: RunClass
    worlds: Worlds[P, R] = field(default_factory=Worlds)
    page: Callable[[], Page] | None = None  # None: a page made from the knobs of its parameters
    reading: Reading | None = None
    lesson: Lesson | None = None
    chapter: RunChapter | None = None  # of the course
    attack: Attack | None = None
    thumbnail: Thumbnail | None = None
    family: Mapping[str, RunClass] = field(default_factory=dict)  # baselines on its page


AnyMethod: TypeAlias = Method[Any, Any, Any]  # of the catalogue
