"""The course's chapter on Morse processing: clusters are hills of a noisy landscape, joined over high passes."""

from dpviz.core import Knob
from dpviz.methods.morse.story.lesson import MOONS, PASSES, N, records, right_runs
from dpviz.stories.course.run_chapter import RunChapter
from dpviz.stories.lesson import Answer, Question
from dpviz.stories.panel import number

EPSILON = Knob("course_hills", "float", 1.0, "ε", "For the whole landscape.", 0.5, 20.0, 0.5, 20.0, log=True)


def both() -> Answer:
    """Count the runs that find the moons at ε = 5, beside those at the ε that the picture opens with."""
    found, few = right_runs(5.0), right_runs(1.0)
    return Answer(found.value, {**found.words, "few": few.words["measured"]})


def told(epsilon: float) -> str:
    """Say how to read the picture; what a run finds is to be seen."""
    return (
        f"One run at ε = {number(epsilon)}: each color is a cluster, and lines join its hills. Other noise finds "
        "another "
        "landscape: a run can be lucky."
    )


CHAPTER = RunChapter(
    "hills",
    "Hills and passes",
    f"{N:,} people in two moons, that no straight line separates. The method, Morse processing, makes a noisy "
    "landscape "
    "with hills where many people are; hills whose ridge hardly dips between them are one cluster. At first ε = "
    f"{EPSILON.default:g}.",
    Question(
        "Now ε is 5. In how many of 10 runs are the two clusters the two moons?",
        MOONS,
        both,
        "In **{measured} of {runs}**; at ε = 1 in only {few}: noisy hills break a moon in two, or join both. Once the "
        "landscape is published, cutting it into more or fewer clusters costs no more ε.",
    ),
    EPSILON,
    records,
    lambda epsilon: {"epsilon": float(epsilon), "n_iterations": PASSES, "n_clusters": 2},
    {"Regions": "Cluster", "Records": "A person", "Joined over a pass": "Joined over a pass", "Peak": "Top of a hill"},
    0,  # a run like most of them: wrong at ε = 1, right at 5
    "Clusters may have any shape, as hills of a noisy landscape; what follows from a release costs no more ε.",
    5.0,
    told=told,
)
