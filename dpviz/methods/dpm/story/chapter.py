"""The course's chapter on DPM: cuts through empty space find how many clusters there are."""

from dpviz.core import Knob
from dpviz.methods.dpm.story.lesson import CLUSTERS, FULL, found, records
from dpviz.stories.course.run_chapter import RunChapter
from dpviz.stories.lesson import Question

EPSILON = Knob("course_cuts", "float", 0.1, "ε", "All cuts and counts together.", 0.05, 5.0, 0.05, 5.0, log=True)
CHAPTER = RunChapter(
    "cuts",
    "Cuts where nobody is",
    f"{FULL:,} people in five heaps, but the method, DPM, is not told how many. It cuts the box in two where it is "
    "empty, and again. A cut "
    f"counts if noisy counts find enough people on both sides: at ε = {EPSILON.default:g} often they do not.",
    Question(
        "Now ε is 1. How many clusters does it typically find, in 20 runs?",
        CLUSTERS,
        lambda: found(1.0),
        "**{measured}**; {least} to {most} in all {runs} runs. It refuses a cut that it cannot tell from "
        "chance: with little ε it would rather stop early than invent a cluster.",
    ),
    EPSILON,
    lambda: records(FULL),
    lambda epsilon: {"epsilon": float(epsilon)},
    {"Public box": "Public limits", "Records": "A person", "Cuts": "Cut", "Released center": "Published center"},
    112,
    "A method can find the number of clusters by itself, by cuts through empty space; less ε finds fewer.",
    1.0,
)
