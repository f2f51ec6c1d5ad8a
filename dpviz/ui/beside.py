"""What is said beside a picture, as HTML: its headline and its facts, of one method or of two."""

from dataclasses import dataclass

from dpviz.stories import pair
from dpviz.ui import panel
from dpviz.ui.runs import Runs


@dataclass(frozen=True, slots=True)
class Beside:
    """HTML as the audience reads it."""

    headline: str
    side: str


NOTHING_SAID = Beside("", "")


def beside_one(runs: Runs, *, public: bool) -> Beside:
    """Write headline and facts of one method's run."""
    ((request, run),) = runs
    return Beside(
        panel.headline(run.finding(), public=public, name=request.name),
        panel.stacked(
            panel.facts("Run" if public else "Utility", run.utility(), public=public),
            panel.facts("Risk", run.risk(), public=public),
            panel.promise(run.card()),
        ),
    )


def beside_two(runs: Runs, *, public: bool) -> Beside:
    """Write headline and facts of two methods' runs on the same records."""
    (_, left), (_, right) = runs
    return Beside(
        panel.headline(pair.sentence(left, right), public=public),
        panel.stacked(
            panel.facts("What honesty costs", pair.facts(left, right), public=public),
            *(panel.promise(run.card(), request.name.lower()) for request, run in runs),
        ),
    )
