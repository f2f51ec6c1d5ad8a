"""A method page's tour: three pop-overs on the first visit, skippable, and remembered by the browser."""

from dpviz.ui import hiding, lessons, state
from dpviz.ui.export import menu
from dpviz.ui.server.served import served

NAME = "tour"
WORDS = {"next": "Next", "done": "Got it", "skip": "Skip"}
STEPS = (  # what each points at, on which side of it there may be room, and what it says
    {
        "at": ".st-key-dpviz-strip",
        "sides": ("below", "above"),
        "title": "This is ε",
        "text": "Less ε: more noise, and less to find out about anyone. Move it, and the picture answers.",
    },
    {
        "at": ".legend .chip[data-audience=curator]",
        "sides": ("right", "left", "above", "below"),
        "title": "A lock means secret",
        "text": "Locked or gray is exact: only the data holder sees it. Choose Public to take it away.",
    },
    {
        "at": ".scrubber .play",
        "sides": ("above", "below", "right"),
        "title": "Press play",
        "text": "See how the method gets there, step by step.",
    },
)
_TOUR = served("tour")


def offer(page: str) -> None:
    """Let the browser show the tour of this page if it is its first; a room has its speaker, a lesson its words.

    Somebody who was sent a picture gets the picture: nothing stands before what a link shows.
    """
    if state.opening_query():
        return
    if not menu.is_large() and lessons.active() is None and not hiding.hides(NAME):
        _TOUR(data={"steps": STEPS, "words": WORDS}, key=f"{NAME}:{page}")
