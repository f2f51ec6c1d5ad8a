"""The comparison as a report: what the Compare page shows, put together for one file."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from dpviz.mechanisms import FROM_DATA
from dpviz.plots import Scene, svg
from dpviz.stories.label import box_words, label_of
from dpviz.stories.panel import number
from dpviz.tools.compare import story
from dpviz.tools.compare.entries import ENTRIES
from dpviz.tools.compare.page import cards as compare_cards
from dpviz.tools.compare.page.runs import looked
from dpviz.tools.compare.trials import RepeatedRun, TrialPart
from dpviz.tools.sweep.trial_runs import versions
from dpviz.ui import panel
from dpviz.ui.export.report import SECRET, PageReport, written
from dpviz.ui.frame import PageFrame
from dpviz.ui.runs import Noise, honest, words_of

Rows = Mapping[str, Sequence[Mapping[str, Any]]]
QUESTION = (
    "How close do differentially private clusterings come to one without privacy on these records, and what does each "
    "promise for it?"
)
REFRAIN = (
    "The runs here protect nobody: their noise follows from seeds. A release needs secret noise, and is one run.",
    "ε was varied on the true records. Choosing it by these figures leaks information that no guarantee here covers.",
    "Dashed lines are not comparable at the same ε: nothing is proved, or it is another promise.",
    "Other records, another number of clusters or another box can reverse the order of the methods.",
    "A low cost says nothing about privacy, and a proved guarantee nothing about how useful the centers are.",
    "A claim that is not proved is not thereby refuted; the Audit page looks for violations.",
)


def offer(frame: PageFrame, scene: Scene, epsilon: float, rows: Rows, findings: Sequence[str], link: str) -> None:
    """Draw the button that saves the report, as soon as everything in it is there; `rows` are complete."""
    typical = {
        key: row
        for key, runs in rows.items()
        if (row := story.median_row([each for each in runs if each["epsilon"] == epsilon])) is not None
    }
    n = frame.source.dataset.n
    parts = [
        TrialPart(key, epsilon, int(row["k"]), int(row["start_seed"]), int(row["noise_seed"]), 1, n)
        for key, row in typical.items()
    ]
    found = looked(frame.source, parts, "report")
    if any(each is None for each in found):
        return
    runs = [each for each in found if each is not None]
    text = written(made(frame, scene, epsilon, rows, findings, dict(zip(typical, runs, strict=True)), link))
    st.download_button(
        "Save the report", text.encode("utf-8", "replace"), "dpviz_comparison.html", "text/html", type="primary"
    )
    st.caption(f"One HTML page that opens without a network and prints. {SECRET}")


def made(
    frame: PageFrame,
    scene: Scene,
    epsilon: float,
    rows: Rows,
    findings: Sequence[str],
    runs: Mapping[str, RepeatedRun],
    link: str,
) -> PageReport:
    """Put the report together; `runs` are one of each method at `epsilon`, for its guarantee."""
    dataset = frame.source.dataset
    public = not dataset.bounds_from_data
    cards, odds = [], []
    for key, run in runs.items():
        guarantee = honest(run.guarantee, frame.source, Noise(0))
        notices = [each for each in guarantee.caveats if each == FROM_DATA]
        label = label_of(guarantee, compare_cards.contents(ENTRIES[key], frame))
        cards.append(panel.guarantee(label, ENTRIES[key].name, notices))
        row = next(each for each in rows[key] if each["epsilon"] == epsilon and each["status"] == story.OK)
        odds.append(f"{ENTRIES[key].name}, ε = {number(epsilon)}: {story.odds_words(row, bounds_public=public)}")
    data = [
        ("Data", dataset.title),
        ("Records", f"{dataset.n:,}"),
        ("Features", ", ".join(dataset.feature_names)),
        ("Box", f"{box_words(words_of(frame.source))}. {dataset.bounds_note}"),
    ]
    table = [line for key, each in rows.items() for line in story.table(ENTRIES[key].name, each, bounds_public=public)]
    return PageReport(
        title=f"Private clusterings of {dataset.title} compared",
        question=QUESTION,
        findings=tuple(findings),
        data=tuple(data),
        pictures=((svg([replace(scene, caption="")]), scene.caption),),  # words of the page, not of the picture
        cards=tuple(cards),
        odds=tuple(odds),
        table=tuple(table),
        refrain=REFRAIN,
        versions=tuple((name, str(value)) for name, value in versions().items()),
        link=link,
    )
