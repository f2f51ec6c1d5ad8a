"""File with the audits that the Audit page opens with: its first method as published and repaired, at each ε.

    python -m dpviz.tools.audit.opening

writes the file again. It contains the results that the same runs would give on the page, so that the page opens with a
finished result.
"""

import base64
import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from functools import lru_cache
from typing import Any

import numpy as np

from dpviz.assets import FOLDER as ASSETS
from dpviz.audit import AuditEvent, BoundOptions, EpsilonBound
from dpviz.core import FloatArray, frozen
from dpviz.tools.audit.cases import AUDITED, UNIT, calibrations, cases, scaled
from dpviz.tools.audit.runs import CONSTRUCTED, AuditQuestion, Counted, counted

FILE = ASSETS / "audit" / "opening.json"
# Number of runs and seed on the page when it opens.
RUNS, SEED = 500, 0
# Epsilons of the page's slider. Each one is a separate audit.
EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
# Method that the page opens with.
FIRST = next(iter(AUDITED))


def questions() -> Iterator[AuditQuestion]:
    """Yield the questions that the file answers."""
    for case in calibrations(FIRST):
        for epsilon in EPSILONS:
            yield AuditQuestion(case.key, CONSTRUCTED, epsilon, RUNS, SEED)


def find_answer(question: AuditQuestion) -> Counted | None:
    """Return the answer to a question; None if the file does not have it."""
    bound = _read().get((question.key, question.epsilon))
    if bound is None or replace(question, runs=RUNS, seed=SEED, record=CONSTRUCTED) != question:
        return None
    return scaled(cases()[question.key], question.epsilon), bound


@lru_cache(maxsize=1)
def _read() -> dict[tuple[str, float], EpsilonBound]:
    """Return the bounds of the file, by case and epsilon."""
    rows = json.loads(FILE.read_text("utf-8"))
    return {
        (row["key"], row["epsilon"]): EpsilonBound(
            epsilon_lower=row["epsilon_lower"],
            events=tuple(AuditEvent(**event) for event in row["events"]),
            n_runs=row["n_runs"],
            n_estimating=row["n_estimating"],
            options=BoundOptions(**row["options"]),
            scores=_array(row["scores"]),
            other_scores=_array(row["other_scores"]),
        )
        for row in rows
    }


def _array(text: str) -> FloatArray:
    return frozen(np.frombuffer(base64.b64decode(text), "<f8").astype(np.float64))


def main() -> None:
    """Write the file."""
    lines = []
    for question in questions():
        # Points and box are unused: the pairs of the first method's cases are synthetic.
        _, bound = counted(np.empty((0, 2)), UNIT, question)
        row: dict[str, Any] = {"key": question.key, "epsilon": question.epsilon, **asdict(bound)}
        for name in ("scores", "other_scores"):
            row[name] = base64.b64encode(np.asarray(row[name]).astype("<f8").tobytes()).decode("ascii")
        lines.append(json.dumps(row))
    FILE.write_text("[\n" + ",\n".join(lines) + "\n]\n", "utf-8")


if __name__ == "__main__":
    main()
