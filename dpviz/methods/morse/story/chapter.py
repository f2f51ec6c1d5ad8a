"""The course's chapter on Morse processing: clusters are hills of a noisy landscape, joined over high passes."""

from dpviz.core import Knob
from dpviz.methods.morse.story.lesson import MOONS, PASSES, N, records, right_runs
from dpviz.stories.course.run_chapter import RunChapter
from dpviz.stories.lesson import Answer, Question

EPSILON = Knob("course_hills", "float", 1.0, "ε", "For the whole landscape.", 0.5, 20.0, 0.5, 20.0, log=True)


def both() -> Answer:
    """Count the runs that find the moons at ε = 5, beside those at the ε that the picture opens with."""
    found, few = right_runs(5.0), right_runs(1.0)
    return Answer(found.value, {**found.words, "few": few.words["measured"]})


CHAPTER = RunChapter(
    "hills",
    "Hills and passes",
    f"{N:,} people in two moons, that no straight line separates. Morse processing makes a noisy landscape, with hills "
    f"where many people are; hills with a high pass between them are one cluster. At first ε = {EPSILON.default:g}.",
    Question(
        "Now ε is 5. In how many of 10 runs are the two clusters the two moons?",
        MOONS,
        both,
        "In **{measured} of {runs}**; at ε = 1 in only {few}: noisy hills break a chain, or join two. Once the "
        "landscape is published, cutting it into more or fewer clusters is free.",
    ),
    EPSILON,
    records,
    lambda epsilon: {"epsilon": float(epsilon), "n_iterations": PASSES, "n_clusters": 2},
    {"Regions": "Cluster", "Records": "A person", "Joined over a pass": "Joined over a pass", "Peak": "Top of a hill"},
    0,  # a run like most of them: wrong at ε = 1, right at 5
    "Clusters may have any shape, as hills of a noisy landscape; what follows from a release costs no more ε.",
    5.0,
)
