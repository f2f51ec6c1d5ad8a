"""The words of the stage, page by page, as plain text.

    python -m tests.stage_words

writes them again. `tests/stories/test_stage_words.py` compares, so that a person reads every changed sentence.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import dpviz
from dpviz.data import Dataset, load
from dpviz.data.target_pairs import load_pair, pair_sizes, source_of
from dpviz.methods import CATALOGUE
from dpviz.methods.nd_laplace.run import PointsLook
from dpviz.plots import StageWords
from dpviz.stories.run import Run

FOLDER = Path(__file__).parent / "stage"
EPSILONS = (0.1, 1.0, 10.0)
# Parameters of the pages. The radius is in meters.
NOISE_SEED, START_SEED, RADIUS = 112, 5, 1000.0
AnyRun = Run[Any, Any, Any]


def _run(name: str, data: Dataset, epsilon: float, **options: Any) -> AnyRun:
    return dpviz.run(name, data, seed=NOISE_SEED, epsilon=epsilon, **options)


def _steps(epsilon: float) -> AnyRun:
    """Return convergent k-means as published, whose slider moves the ε of a step."""
    options = {"mode": "published", "start_seed": START_SEED, "epsilon_per_iteration": epsilon}
    return dpviz.run("convergent_kmeans", load("blobs"), seed=NOISE_SEED, **options)


def _senders(epsilon: float) -> AnyRun:
    run = _run("nd_laplace", load("city"), epsilon / RADIUS)
    return replace(run, look=PointsLook(RADIUS, "m"))


def _served(epsilon: float, **options: Any) -> AnyRun:
    pair = load_pair("first_aid", n=pair_sizes("first_aid").default, seed=0)
    source = source_of("first_aid", pair)
    return _run("source_target", source, epsilon, targets=pair.targets, ball=pair.ball, n_centers=5, **options)


def pages() -> dict[str, dict[str, Any]]:
    """Return for each page its modes, with a function that makes a run at ε."""
    blobs, moons = load("blobs"), load("moons")
    started = partial(_run, "convergent_kmeans", blobs, start_seed=START_SEED)
    family = {name: partial(_run, name, blobs, start_seed=START_SEED) for name in CATALOGUE["convergent_kmeans"].family}
    lloyd = {"lloyd": lambda _: dpviz.run("lloyd", blobs, seed=NOISE_SEED, start_seed=START_SEED)}
    return {
        "k-means": {"repaired": started, "private seeds": partial(started, start="private"), "published": _steps}
        | family
        | lloyd,
        "dpm": {mode: partial(_run, "dpm", blobs, calibration=mode) for mode in ("repaired", "published")},
        "morse": {
            mode: partial(_run, "morse", moons, n_iterations=2, calibration=mode) for mode in ("tight", "published")
        },
        "nd_laplace": {"none": _senders},
        "source_target": {mode: partial(_served, method=mode) for mode in ("nna", "nas")},
    }


def _lines(words: StageWords) -> Iterator[str]:
    yield words.finding
    if words.strip is not None:
        strip, ends = words.strip, f"{words.strip.low:.3g} to {words.strip.high:.3g}"
        lines = "".join(f"; at {value:.3g} {said}" for value, said in strip.lines)
        yield f"    {strip.label} ... {strip.unit} ({strip.short}), {ends}{lines}"
    if words.loss is not None:
        ends = [words.loss.law[at] for at in (0, -1)] if words.loss.law else []
        law = "".join(f"; at {times:.3g} ε {low:.3g} to {high:.3g}" for times, low, _, high in ends)
        yield f"    at {words.loss.value:.3g}: {words.loss.text}{law}"


def text(page: str) -> str:
    """Return the words of a page: for each mode and ε, the text for everyone, then the curator's and the public's."""
    lines = []
    for mode, made in pages()[page].items():
        for epsilon in EPSILONS:
            curator, public = made(epsilon).stage_words()
            risk = "no limit" if curator.risk is None else f"{curator.risk.text} in 100"
            lines += [f"# {mode}, ε = {epsilon:g}", curator.lede, f"{curator.risk_label}: {risk}"]
            lines += [f"{curator.verdict}: {curator.guarantee}"]
            lines += [f"curator: {line}" for line in _lines(curator)]
            lines += [f"everyone: {line}" for line in _lines(public)]
            lines.append("")
    return "\n".join(lines)


def main() -> None:
    """Write the words of all pages down."""
    for page in pages():
        (FOLDER / f"{page}.txt").write_text(text(page), encoding="utf-8")


if __name__ == "__main__":
    main()
