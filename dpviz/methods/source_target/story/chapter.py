"""The course's chapter on source-target clustering: helpers are kept secret, and still used."""

from functools import cache

from dpviz.core import Choices, Knob
from dpviz.data import Dataset
from dpviz.data.target_pairs import source_of
from dpviz.methods.source_target.story.lesson import FARTHER, N_CENTERS, pair, private
from dpviz.stories.course.run_chapter import RunChapter
from dpviz.stories.lesson import Question

EPSILON = Knob("course_helpers", "float", 0.1, "ε", "For all noisy averages.", 0.05, 5.0, 0.05, 5.0, log=True)


@cache
def helpers() -> Dataset:
    """Return the secret helpers."""
    return source_of("first_aid", pair("first_aid"))


def params(epsilon: float) -> Choices:
    """Return the parameters at this ε."""
    given = pair("first_aid")
    return {"targets": given.targets, "ball": given.ball, "epsilon": float(epsilon), "n_centers": N_CENTERS}


CHAPTER = RunChapter(
    "helpers",
    "Helpers kept secret",
    "Green places need first aid nearby. Paramedics live at the gray dots, which stay secret: noisy averages "
    f"of homes (diamonds) stand in for them, and {N_CENTERS} new centers, first-aid points, go where those are far. "
    f"At first ε = {EPSILON.default:g}.",
    Question(
        "Now ε is 1. How much farther do people walk than if the homes were known, in percent?",
        FARTHER,
        lambda: private(1.0),
        "Typically **{measured} %** farther, in {runs} runs. Rough places are enough here: it only matters which "
        "neighborhoods have help already, not who lives where.",
    ),
    EPSILON,
    helpers,
    params,
    {
        "Source record": "Paramedic",
        "Target": "Public place",
        "Noisy average": "Noisy average",
        "New center": "New center",
    },
    112,
    "A secret can be used without being shown: noisy averages of it stand in, and everything after them is public.",
    1.0,
)
