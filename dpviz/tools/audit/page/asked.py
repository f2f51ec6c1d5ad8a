"""What an audit is asked, the calls behind its pictures, and what of them is taken away."""

from dataclasses import dataclass

from dpviz.audit import Batch
from dpviz.plots import Scene
from dpviz.stories.promise import described, promise
from dpviz.stories.recipe import Calls
from dpviz.tools.audit.batches import CHUNK, CONSTRUCTED
from dpviz.tools.audit.cases import AuditCase
from dpviz.tools.audit.story import reading as audit_reading
from dpviz.ui.export import files
from dpviz.ui.export.shown import Charted, keep
from dpviz.ui.frame import PageFrame

BATCHED = 10  # times the runs where they are one call


@dataclass(frozen=True, slots=True)
class AuditQuestion:
    """What is asked: everything that the answer follows from, beside the data."""

    key: str
    record: int
    epsilon: float
    runs: int
    seed: int


def keep_shown(
    frame: PageFrame, question: AuditQuestion, case: AuditCase, scenes: tuple[Scene, ...], query: str
) -> None:
    """Remember what is on screen, for whoever takes it away. Of records the public has no scenes."""
    public, is_own = frame.public, question.record != CONSTRUCTED
    own = (files.CURATOR,) if is_own else ("Worlds that were made up: nothing in them is secret.",)
    notes = (promise(case.guarantee), *((files.PUBLIC,) if public else own))
    seen = tuple(scene.public() for scene in scenes) if public else scenes
    known = () if public and is_own else (described(case.guarantee),)
    keep(Charted(frame.source, seen, public, query, notes, calls_of(frame, question, case), known))


def calls_of(frame: PageFrame, question: AuditQuestion, case: AuditCase) -> Calls:
    """Return the calls that make the pictures again."""
    data = files.data_of(frame.source, public=frame.public)
    asked = (question.key, question.record, question.epsilon)
    return audit_reading.code(data, asked, sizes_of(question, case), question.seed)


def sizes_of(question: AuditQuestion, case: AuditCase) -> list[int]:
    """Return the runs of each part in each world: one part where many runs are one call."""
    if isinstance(case.runner, Batch):
        return [question.runs * BATCHED]
    return [min(CHUNK, question.runs - start) for start in range(0, question.runs, CHUNK)]
