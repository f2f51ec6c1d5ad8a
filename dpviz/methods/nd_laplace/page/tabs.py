"""The tabs under nD-Laplace's picture; only the open one is filled."""

from collections.abc import Callable
from dataclasses import replace

from dpviz.core import Knob
from dpviz.methods.nd_laplace.page import attacks as nd_laplace_attacks
from dpviz.methods.nd_laplace.page import clusters as nd_laplace_clusters
from dpviz.methods.nd_laplace.page import knobs as nd_laplace
from dpviz.methods.nd_laplace.page import law as nd_laplace_law
from dpviz.methods.nd_laplace.page import play as nd_laplace_play
from dpviz.methods.nd_laplace.page.clusters import Recall
from dpviz.methods.nd_laplace.story.told import plane_of
from dpviz.stories import View
from dpviz.tools.many_runs import page as outcomes
from dpviz.tools.many_runs.page import Describe
from dpviz.tools.two_worlds import page as two_worlds
from dpviz.ui import reading, reproduction, state
from dpviz.ui.data.picker import Source
from dpviz.ui.frame import PageFrame
from dpviz.ui.runs import Noise

TABLES = (reproduction.FOLDER / "nd_laplace.json").is_file()
TAB = Knob(
    "under",
    "choice",
    "clusters",
    "Under the picture",
    "",
    choices=(
        ("clusters", "Clusters"),
        ("runs", "Many runs"),
        ("attacks", "Attacks"),
        ("play", "Play the attacker"),
        two_worlds.CHOICE,
        ("walls", "Near the wall"),
        ("dimensions", "High dimensions"),
        *([("reproduction", "Reproduction")] if TABLES else []),
        reading.CHOICE,
    ),
)
OWN = (
    nd_laplace_clusters.METHOD,
    nd_laplace_clusters.CLUSTERS,
    nd_laplace_attacks.AGAIN,
    nd_laplace_law.PLACE,
    nd_laplace_play.HIDDEN,
)


DRAW = "Draw of this record"  # what two worlds are told apart by


def link(source: Source) -> list[tuple[str, str]]:
    """Return which tab is open, and what its clusters are found by, for the link."""
    return [(TAB.name, str(state.value(TAB))), *nd_laplace_clusters.link(source), *nd_laplace_play.link(source)]


def below(
    frame: PageFrame, describe: Describe, recall: Recall, asked: two_worlds.WorldsTab, noise: Noise, shown: View
) -> None:
    """Draw the tabs and fill the open one."""
    fill: dict[str, Callable[[], None]] = {
        "clusters": lambda: nd_laplace_clusters.clusters(frame, recall, noise, shown),
        "runs": lambda: _many(frame, describe, recall, noise, shown),
        "attacks": lambda: nd_laplace_attacks.attacks(frame, recall, noise, shown),
        "play": lambda: nd_laplace_play.game(frame, recall, shown),
        "worlds": lambda: two_worlds.worlds(frame, asked, noise, shown),
        "walls": lambda: nd_laplace_law.walls(frame, recall),
        "dimensions": lambda: nd_laplace_law.dimensions(frame, recall),
        "reproduction": lambda: reproduction.tables("nd_laplace"),
    }
    reading.fill(TAB, "nd_laplace", fill)


def _many(frame: PageFrame, describe: Describe, recall: Recall, noise: Noise, shown: View) -> None:
    """Draw where the chosen person would be seen, run after run, around the place that only that person knows."""
    told = None if frame.public else recall()
    if told is not None and not told.n:
        return
    fields = () if told is None else (("look", told.look),)

    def stand() -> outcomes.Backdrop:
        assert told is not None
        plane = plane_of(replace(shown, z=None), told)
        return outcomes.Backdrop(exact=told.unit[[told.record]], exact_name="Where it is", records=False, plane=plane)

    outcomes.many(frame, describe, nd_laplace.KNOBS["epsilon"], noise, shown, fields=fields, stand=stand)
