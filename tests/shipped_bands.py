"""The bands that the pages' strips of losses open with.

    python -m tests.shipped_bands

opens each page, and writes `dpviz/assets/bands.json`: all of `dpviz.ui.bands.LossBands`, in some minutes.
`tests/ui/test_bands.py` computes a part of them anew.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from streamlit.testing.v1 import AppTest

from dpviz.methods import CATALOGUE
from dpviz.ui.bands import FILE, LossBands

ROOT = Path(__file__).resolve().parents[1]
# Tolerance of a band: a strip is some hundred pixels high.
DIGITS = 6


def questions(page: str) -> LossBands:
    """Return the question for a page's bands: requests, source, noise, slider values."""
    asked = []

    def offered(question: LossBands) -> None:
        assert not question.public
        asked.append(question)

    with patch.object(LossBands, "offered", offered):
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=300)
        app.switch_page(f"pages/{page}.py")
        app.run()
    assert asked, f"{page} asks for no bands."
    return asked[-1]


def computed(page: str, values: Sequence[float] | None = None) -> dict[str, Any]:
    """Return the bands of a page, by its key and the slider's value; all of them, or those at `values`."""
    asked = questions(page)
    chosen = asked.values if values is None else values
    found = replace(asked, values=chosen).computed()
    rounded = {
        repr(value): [float(f"{each:.{DIGITS}g}") for each in band]
        for value, band in zip(chosen, found, strict=True)
        if band is not None
    }
    return {asked.page: rounded}


def main() -> None:
    """Write the bands of all pages down."""
    whole: dict[str, Any] = {}
    for page in CATALOGUE:
        whole |= computed(page)
    FILE.write_text(json.dumps(whole, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
