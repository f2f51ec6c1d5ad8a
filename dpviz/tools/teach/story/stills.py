"""Stills of the course's chapters, for slides."""

from dpviz.plots import svg
from dpviz.tools.learn.story import CHAPTERS

SYNTHETIC = "Synthetic records, curator's view: gray marks are secret."


def chapter_still(name: str) -> str:
    """Return a chapter's picture with its answer as SVG, where its control begins; below it what can be explained.

    Raises KeyError for a chapter that there is not.
    """
    chapter = CHAPTERS[name]
    return svg([chapter.picture(chapter.control.default, answered=True)], notes=(chapter.explained, SYNTHETIC))
