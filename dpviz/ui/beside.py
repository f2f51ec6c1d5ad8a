"""What is said beside a picture, as HTML: its headline and its facts, of one method or of two."""

from dataclasses import dataclass
from typing import Any

from dpviz.stories import pair
from dpviz.stories.label import Label, label_of
from dpviz.ui import panel
from dpviz.ui.runs import Run
from dpviz.ui.setup import AnySetup, Runs


@dataclass(frozen=True, slots=True)
class Beside:
    """HTML as the audience reads it."""

    headline: str
    side: str


NOTHING_SAID = Beside("", "")


def beside_one(runs: Runs, *, public: bool) -> Beside:
    """Write headline and facts of one method's run."""
    ((method, run),) = runs
    story, told = method.story, run.told
    return Beside(
        panel.headline(story.sentence(told), public=public, name=method.name),
        panel.stacked(
            panel.facts("Run" if public else "Utility", story.utility(told), public=public),
            panel.facts("Risk", story.risk(told), public=public),
            panel.promise(label(method, run)),
        ),
    )


def beside_two(runs: Runs, *, public: bool) -> Beside:
    """Write headline and facts of two methods' runs on the same records."""
    told = [run.told for _, run in runs]
    return Beside(
        panel.headline(pair.sentence(*told), public=public),
        panel.stacked(
            panel.facts("What honesty costs", pair.facts(*told), public=public),
            *(panel.promise(label(method, run), method.name.lower()) for method, run in runs),
        ),
    )


def label(method: AnySetup, run: Run[Any]) -> Label:
    """Return the label of a run's guarantee."""
    return label_of(run.told.result.guarantee, method.story.contents(run.told), run.told.result.events)
