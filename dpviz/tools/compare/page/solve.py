"""The Compare page's two answers: the smallest ε, and the fewest people, that reach an accuracy 90 times in 100."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from dpviz.core import Knob
from dpviz.tools.compare import story
from dpviz.tools.compare.entries import ENTRIES
from dpviz.tools.compare.page.runs import gathered, pieces
from dpviz.tools.compare.trials import TrialPart
from dpviz.tools.sweep.solving import Aim, Solution, solve_epsilon, solve_n
from dpviz.ui import controls, state
from dpviz.ui.frame import PageFrame

LIMIT = Knob("aim", "float", 1.2, "Cost at most, × without privacy", "The accuracy that is wanted.", 1.0, 3.0, 1.0, 1e6)
AT = Knob(
    "people_epsilon",
    "choice",
    "1.0",
    "At ε",
    "Of every method.",
    choices=(("0.1", "0.1"), ("0.3", "0.3"), ("1.0", "1"), ("3.0", "3"), ("10.0", "10")),
)
KNOBS = (LIMIT, AT)
Rows = Mapping[str, Sequence[Mapping[str, Any]]]
PEOPLE_RUNS = 30  # of each method at each n: 29 can just show 90 %
HALVINGS = 6
FEWEST = 20


def epsilon(rows: Rows, *, complete: bool, bounds_public: bool) -> None:
    """Say for each method from which ε on it reaches the accuracy, with what the runs allow to say."""
    aim = _drawn_aim()
    if not complete:
        st.caption("Answers appear when all runs finish.")
        return
    _say(answers(rows, aim, bounds_public=bounds_public))
    st.caption(
        "For these records. Each answer holds by itself, with its confidence. Choosing ε by them leaks information "
        "that no guarantee here covers: choose it on public data like yours."
    )


def people(frame: PageFrame, entries: Sequence[str], n_clusters: int, start_seed: int, seed: int) -> None:
    """Say for each method from how many people on it does, on samples of these records."""
    aim = _drawn_aim()
    at = float(controls.control(AT))
    parts = parts_of(entries, at, frame.source.dataset.n, n_clusters, start_seed, seed)
    runs = gathered(frame.source, parts, "people", "Parts of the runs on samples")
    if not runs.complete:
        st.caption("Answers appear when all runs finish.")
        return
    _say(answers(runs.rows, aim, bounds_public=not frame.source.dataset.bounds_from_data, solve=solve_n))
    st.caption(
        "On random samples of these records, without replacement: nobody can say here what more people than these "
        "would change. Each answer holds by itself, with its confidence."
    )


def parts_of(entries: Sequence[str], at: float, n: int, n_clusters: int, start_seed: int, seed: int) -> list[TrialPart]:
    """Return the runs on n, n/2, n/4, ... records, as long as there are FEWEST and one for each cluster."""
    return [
        TrialPart(entry, at, n_clusters, start_seed, seed + first, count, size, parts=True)
        for size in sizes_of(n, n_clusters)
        for entry in entries
        for first, count in pieces(PEOPLE_RUNS)
    ]


def sizes_of(n: int, n_clusters: int) -> list[int]:
    """Return n, n/2, n/4, ... as long as there are FEWEST and one for each cluster."""
    sizes = [size for size in dict.fromkeys(n >> i for i in range(HALVINGS)) if size >= max(FEWEST, n_clusters)]
    return sizes or [n]


def answers(
    rows: Rows, aim: Aim, *, bounds_public: bool, solve: Callable[..., tuple[Solution, ...]] = solve_epsilon
) -> tuple[tuple[str, str], ...]:
    """Return (method, answer) in words; the method's name says what its ε is not."""
    wanted = f"a cost of at most {aim.limit:g} × that without privacy"
    said = []
    for key, runs in rows.items():
        made = next((row for row in runs if row["status"] == story.OK), None)
        kind = None if made is None else _doubt(made, bounds_public=bounds_public)
        name = f"{ENTRIES[key].name} ({kind})" if kind else ENTRIES[key].name
        said += [(name, answer.sentence.replace(str(aim), wanted)) for answer in solve(runs, aim)]
    return tuple(said)


def aim_now() -> Aim:
    """Return the accuracy that is wanted, drawn or not."""
    return Aim("inertia_ratio", "<=", float(state.value(LIMIT)))


def _doubt(row: Mapping[str, Any], *, bounds_public: bool) -> str:
    """Say what keeps a method's ε from being a proved budget for a whole record, "" where nothing does."""
    kind = story.standing(row, str(row["proved_adjacency"]), bounds_public=bounds_public)
    return kind.words


def _drawn_aim() -> Aim:
    controls.control(LIMIT)
    return aim_now()


def _say(said: Sequence[tuple[str, str]]) -> None:
    for name, words in said:
        st.markdown(f"**{state.plain(name)}**: {state.plain(words)}")
